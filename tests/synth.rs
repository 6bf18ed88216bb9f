//! Generated plans: the command, determinism, and the samples of this repository.

use std::path::{Path, PathBuf};

use plan2geo::synth::{Defects, Drafting, Format, LabelDrawing, LayerScheme, Shape, Spec, Unit, WallDrawing, generate};

use crate::support::Folder;

/// The sample drawings and what they are made from.
fn samples() -> Vec<(&'static str, Spec)> {
    let furnished = Defects { furniture: true, ..Defects::default() };
    let office = Spec {
        building_seed: Some(OFFICE),
        shape: Some(Shape::Bar),
        rooms: Some(10),
        layers: Some(LayerScheme::Aia),
        walls: Some(WallDrawing::Hatched),
        labels: Some(LabelDrawing::Texts),
        unit: Some(Unit::Millimetre),
        format: Some(Format::Dxf),
        drafting: Some(Drafting::Cad),
        sheet: Some(false),
        room_polylines: Some(false),
        defects: furnished,
        ..Spec::default()
    };
    let ell = Spec {
        building_seed: Some(ELL),
        shape: Some(Shape::Ell),
        rooms: Some(12),
        layers: Some(LayerScheme::German),
        walls: Some(WallDrawing::Filled),
        unit: Some(Unit::Centimetre),
        format: Some(Format::Svg),
        sheet: Some(true),
        ..office.clone()
    };
    let flat = Spec {
        building_seed: Some(FLAT),
        shape: Some(Shape::Compact),
        rooms: Some(6),
        layers: Some(LayerScheme::French),
        walls: Some(WallDrawing::DoubleLines),
        unit: Some(Unit::Inch),
        drafting: Some(Drafting::Hand),
        sheet: Some(true),
        ..office.clone()
    };
    vec![
        ("B1/L00.dxf", Spec { seed: 3_144_856_076_818_447, level: 0, ..office.clone() }),
        ("B1/L01.dxf", Spec { seed: 3_334_426_482_431_663, level: 1, ..office.clone() }),
        ("B1/L02.svg", Spec { seed: 502, level: 2, format: Some(Format::Svg), ..office }),
        ("B2/EG.svg", Spec { seed: 140, level: 0, ..ell.clone() }),
        ("B2/1.OG.svg", Spec { seed: 141, level: 1, ..ell }),
        ("B3/RDC.dxf", Spec { seed: 40, level: 0, ..flat }),
    ]
}

const OFFICE: u64 = 451_756_693_880_087;
const ELL: u64 = 14;
const FLAT: u64 = 4;

fn sample(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("samples/campus").join(name)
}

#[test]
fn samples_are_what_the_generator_makes() {
    for (name, spec) in samples() {
        let made = generate(&spec).unwrap().drawing;
        if std::env::var_os("BLESS").is_some() {
            std::io::Write::write_all(&mut std::fs::File::create(sample(name)).unwrap(), &made).unwrap();
        }
        let kept = std::fs::read(sample(name)).unwrap();
        assert!(kept == made, "{name} differs from what its specification makes (BLESS=1 writes it again)");
        assert!(kept.len() < 100_000, "{name} has {} bytes", kept.len());
    }
}

#[test]
fn the_command_writes_plans_and_their_truth_the_same_every_time() {
    let folder = Folder::new();
    for name in ["one", "two"] {
        let output =
            folder.program().args(["synth", name, "--plans", "3", "--seed", "7", "--defects", "all"]).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
    for path in ["truth/S000/P00007.geojson", "truth/S000/P00009.geojson"] {
        assert_eq!(folder.read(format!("one/{path}")), folder.read(format!("two/{path}")));
    }
    let drawings = |root: &str| {
        let mut found: Vec<(String, Vec<u8>)> = std::fs::read_dir(folder.join(format!("{root}/plans/S000")))
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .map(|path| (path.file_name().unwrap().to_string_lossy().into_owned(), std::fs::read(&path).unwrap()))
            .collect();
        found.sort();
        found
    };
    assert_eq!(drawings("one").len(), 3);
    assert!(drawings("one") == drawings("two"));
}

#[test]
fn a_campus_has_levels_that_the_path_names() {
    let folder = Folder::new();
    let arguments = ["synth", ".", "--buildings", "2", "--levels", "2", "--rooms", "8", "--format", "dxf"];
    assert!(folder.program().args(arguments).output().unwrap().status.success());
    for path in ["plans/B01/L00.dxf", "plans/B02/L01.dxf", "truth/B02/L01.geojson"] {
        assert!(folder.join(path).is_file(), "{path}");
    }
}

#[test]
fn an_unknown_defect_is_refused_with_the_known_ones() {
    let folder = Folder::new();
    let output = folder.program().args(["synth", ".", "--defects", "gap,gremlins"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    let message = String::from_utf8_lossy(&output.stderr);
    assert!(message.contains("gremlins") && message.contains("mirrored_blocks"), "{message}");
}

#[test]
fn one_huge_file_reaches_its_size_and_reads_as_dxf() {
    let folder = Folder::new();
    let arguments = ["synth", ".", "--huge", "400KiB", "--rooms", "10"];
    assert!(folder.program().args(arguments).output().unwrap().status.success());
    let bytes = std::fs::read(folder.join("plans/campus.dxf")).unwrap();
    assert!(bytes.len() >= 400 << 10);
    assert!(bytes.ends_with(b"EOF\r\n"));
}
