//! `plan2geo preview`: pictures of samples, the same every time.

use super::support::Folder;

fn sample(name: &str) -> String {
    format!("{}/samples/campus/{name}", env!("CARGO_MANIFEST_DIR"))
}

#[test]
fn a_drawing_and_its_geojson_give_the_same_picture() {
    let folder = Folder::new();
    let plan = sample("B2/EG.svg");
    let converted = folder.run(["convert", &plan, "-o", "eg.geojson"]);
    assert_eq!(converted.code, 0, "{}", converted.stderr);
    for input in [plan.as_str(), "eg.geojson"] {
        let drawn = folder.run(["preview", input, "-o", "eg.svg"]);
        assert_eq!(drawn.code, 0, "{}", drawn.stderr);
        let picture = folder.read("eg.svg");
        for part in ["id=\"rooms\"", "id=\"walls\"", "id=\"openings\"", ">A0-01</text>", " rooms · ", ">5 m</text>"] {
            assert!(picture.contains(part), "{part}");
        }
        let again = folder.run(["preview", input, "-o", "-"]);
        assert_eq!(again.stdout, picture);
    }
}

#[test]
fn the_output_says_what_picture_it_is() {
    let folder = Folder::new();
    let plan = sample("B1/L01.dxf");
    let refused = folder.run(["preview", &plan, "-o", "picture.jpg"]);
    assert_eq!(refused.code, 2, "{}", refused.stderr);
    assert!(refused.stderr.contains(".svg or .png"), "{}", refused.stderr);
    let drawn = folder.run(["preview", &plan, "--show", "drawing", "--width", "300", "-o", "picture.png"]);
    assert_eq!(drawn.code, 0, "{}", drawn.stderr);
    assert!(std::fs::read(folder.join("picture.png")).unwrap().starts_with(b"\x89PNG"));
    let broken = folder.run(["preview", &sample("B1/L03.dxf"), "-o", "x.svg"]);
    assert_eq!(broken.code, 1, "{}", broken.stderr);
}
