//! Small inputs after further public reports of wrong results, each with the right answer by the format's definition.
//!
//! A table: the report, the input, what must come out in drawing units. Where a report gives no file, the input is the
//! smallest one of its kind.

use bytes::Bytes;

use super::cases::{Case, Feature, converted, near, passes};
use super::pdf;

/// What must come out.
enum Right {
    /// Boxes of all lines and areas, in any order.
    Boxes(&'static [[f64; 4]]),
    /// Ends of all lines, in any order and direction.
    Lines(&'static [[f64; 4]]),
    /// Polygons, and their area in all.
    Area(usize, f64),
    /// Texts in drawing order.
    Texts(&'static [&'static str]),
    /// A line or area whose boundary passes here.
    Through(&'static [[f64; 2]]),
    /// What is hidden is counted.
    Hidden(u64),
    /// Told by this code.
    Issue(&'static str),
}

use Right::{Area, Boxes, Hidden, Issue, Lines, Texts, Through};

fn shapes(case: &Case) -> Vec<Feature<'_>> {
    let is_shape =
        |feature: &Feature<'_>| feature.properties["class"] == "line" || feature.properties["class"] == "area";
    case.drawn().into_iter().filter(is_shape).collect()
}

/// Whether two lists hold the same rows in some order.
fn same(got: &[[f64; 4]], expected: &[[f64; 4]], tolerance: f64, either_way: bool) -> bool {
    let mut left = got.to_vec();
    let equal = |a: &[f64; 4], b: &[f64; 4]| a.iter().zip(b).all(|(a, b)| near(*a, *b, tolerance));
    for row in expected {
        let turned = [row[2], row[3], row[0], row[1]];
        let found = left.iter().position(|other| equal(other, row) || (either_way && equal(other, &turned)));
        match found {
            Some(found) => left.swap_remove(found),
            None => return false,
        };
    }
    left.is_empty()
}

fn check(report: &str, case: &Case, right: &[Right]) {
    let shapes = shapes(case);
    for right in right {
        match right {
            Boxes(expected) => {
                let got: Vec<[f64; 4]> = shapes.iter().map(Feature::bounds).collect();
                assert!(same(&got, expected, 0.03, false), "{report}: {got:?} are not {expected:?}");
            }
            Lines(expected) => {
                let got = case.lines();
                assert!(same(&got, expected, 0.002, true), "{report}: {got:?} are not {expected:?}");
            }
            Area(count, area) => {
                let polygons = shapes.iter().filter(|shape| shape.area() > 0.0).count();
                let got: f64 = shapes.iter().map(Feature::area).sum();
                assert_eq!(polygons, *count, "{report}");
                assert!(near(got, *area, 0.003 * area), "{report}: {got} is not {area}");
            }
            Texts(expected) => assert_eq!(case.texts(), *expected, "{report}"),
            Through(points) => {
                let on_boundary = |feature: &Feature<'_>, point: [f64; 2]| match &feature.geometry {
                    geo::Geometry::Polygon(polygon) => {
                        use geo::{Distance as _, Euclidean};
                        Euclidean.distance(&geo::Point::from(point), polygon.exterior()) < 0.03
                    }
                    _ => passes(feature, point, 0.03),
                };
                for point in *points {
                    assert!(shapes.iter().any(|shape| on_boundary(shape, *point)), "{report}: nothing at {point:?}");
                }
            }
            Hidden(count) => {
                assert_eq!(case.collection["metadata"]["counts"]["hidden"]["total"], *count, "{report}");
            }
            Issue(code) => assert!(case.has_issue(code), "{report}: no {code}"),
        }
    }
}

fn case(name: &str, bytes: Bytes) -> Case {
    converted(name, &bytes, |options| {
        options.units = Some(std::sync::Arc::new(|_| Some(1.0)));
        options.plan.enabled = false;
    })
}

/// `0|LINE|8|A` as lines of a file; sections are divided by `||`, the last one holds entities, one before it blocks.
fn dxf(sections: &str) -> Bytes {
    let parts: Vec<&str> = sections.split("||").collect();
    let names: &[&str] = if parts.len() == 2 { &["BLOCKS", "ENTITIES"] } else { &["ENTITIES"] };
    let mut text = "0\nSECTION\n2\nHEADER\n9\n$ACADVER\n1\nAC1024\n0\nENDSEC\n".to_owned();
    for (name, content) in names.iter().zip(parts) {
        text += &format!("0\nSECTION\n2\n{name}\n{}\n0\nENDSEC\n", content.replace('|', "\n"));
    }
    Bytes::from(text + "0\nEOF\n")
}

fn svg(content: &str) -> Bytes {
    let root = r#"<svg xmlns="http://www.w3.org/2000/svg" width="100mm" height="100mm" viewBox="0 0 100 100">"#;
    Bytes::from(format!("{root}{content}</svg>"))
}

/// Content, entries of the page.
fn page(content: &str, entries: &str) -> Bytes {
    let mut document = pdf::Document::new();
    let content = document.stream("", content);
    document.bytes(&[format!("/MediaBox [0 0 200 100] /Contents {content} 0 R {entries}")])
}

/// A page with the groups WALL and FURN as /A and /B, and a membership dictionary /M of both.
fn layered(content: &str, config: &str, membership: &str) -> Bytes {
    let mut document = pdf::Document::new();
    let usage = "/Usage << /View << /ViewState /OFF >> >>";
    let wall = document.object(format!("<< /Type /OCG /Name (WALL) {usage} >>"));
    let furniture = document.object("<< /Type /OCG /Name (FURN) >>");
    let named = |text: &str| text.replace("WALL", &format!("{wall} 0 R")).replace("FURN", &format!("{furniture} 0 R"));
    let member = document.object(format!("<< /Type /OCMD {} >>", named(membership)));
    document.catalog = format!("/OCProperties << /OCGs [{}] /D << {} >> >>", named("WALL FURN"), named(config));
    let content = document.stream("", content);
    let properties = format!("/A {wall} 0 R /B {furniture} 0 R /M {member} 0 R");
    document.bytes(&[format!(
        "/MediaBox [0 0 200 100] /Contents {content} 0 R /Resources << /Properties << {properties} >> >>"
    )])
}

const SQUARE: &str = "10|0|20|0|10|10|20|0|10|10|20|10|10|0|20|10";
/// A hatch of these paths.
fn hatch(paths: &str, count: u32, rest: &str) -> String {
    format!("0|HATCH|8|0|10|0|20|0|30|0|210|0|220|0|230|1|2|SOLID|70|1|71|0|91|{count}|{paths}|{rest}")
}

#[test]
fn hatches() {
    let polyline = |vertices: &str, bulges: u32| format!("92|2|72|{bulges}|73|1|93|4|{vertices}|97|0");
    let bulged = "10|0|20|0|42|0|10|10|20|0|42|1|10|10|20|10|42|0|10|0|20|10|42|0";
    let end = "75|0|76|1|98|0";
    let probes: &[(&str, String, &[Right])] = &[
        ("DomCR/ACadSharp#282", hatch(&polyline(bulged, 1), 1, end), &[Area(1, 139.27), Boxes(&[[0., 0., 15., 10.]])]),
        // A clockwise arc has its angles mirrored: this one is the upper half.
        (
            "HakanSeven12/OpenCADStudio PR#1310",
            hatch("92|1|93|2|72|1|10|8|20|5|11|2|21|5|72|2|10|5|20|5|40|3|50|180|51|360|73|0|97|0", 1, end),
            &[Boxes(&[[2., 5., 8., 8.]])],
        ),
        // Seed points are no boundary.
        ("KLayout/klayout#243", hatch(&polyline(SQUARE, 0), 1, "75|0|76|1|98|1|10|500|20|500"), &[Area(1, 100.)]),
        (
            "mozman/ezdxf#338",
            format!(
                "0|BLOCK|8|0|2|B|70|0|10|0|20|0|{}|0|ENDBLK||0|INSERT|8|0|2|B|10|0|20|0|41|2|42|3",
                hatch("92|1|93|1|72|2|10|5|20|5|40|3|50|0|51|360|73|1|97|0", 1, end)
            ),
            &[Area(1, 169.65), Boxes(&[[4., 6., 16., 24.]])],
        ),
    ];
    for (report, input, right) in probes {
        check(report, &case("probe.dxf", dxf(input)), right);
    }
}

#[test]
fn curves_and_polylines() {
    let ellipse = |more: &str| format!("0|ELLIPSE|8|0|10|0|20|0|30|0|11|4|21|0|31|0|40|0.5|{more}");
    let probes: &[(&str, String, &[Right])] = &[
        // A bulge on one vertex only; a negative one turns clockwise.
        (
            "vlachoudis/bCNC#458",
            "0|LWPOLYLINE|8|0|90|4|70|1|10|0|20|0|10|10|20|0|42|1|10|10|20|10|10|0|20|10".into(),
            &[Boxes(&[[0., 0., 15., 10.]])],
        ),
        (
            "gumyr/build123d#1368",
            "0|LWPOLYLINE|8|0|90|2|70|0|10|0|20|0|42|-0.41421356|10|10|20|0".into(),
            &[Through(&[[5., 2.071]])],
        ),
        // An open polyline that ends where it began, but for the last digit.
        ("OSGeo/gdal#10153", format!("0|LWPOLYLINE|8|0|90|5|70|0|{SQUARE}|10|0|20|0.000000001"), &[Area(1, 100.)]),
        // Parameters of a whole ellipse cut off after six digits.
        ("antonioaja/dxf2elmt#2", ellipse("41|0|42|6.283185"), &[Area(1, 25.13)]),
        // About a normal that points down, parameters run clockwise.
        (
            "gdsestimating/dxf-parser PR#119",
            ellipse("210|0|220|0|230|-1|41|0|42|1.5707963"),
            &[Lines(&[[4., 0., 0., -2.]])],
        ),
        (
            "mozman/ezdxf PR#154",
            format!(
                "0|BLOCK|8|0|2|B|70|0|10|0|20|0|{}|0|ENDBLK||0|INSERT|8|0|2|B|10|0|20|0|42|-1",
                ellipse("41|0|42|1.5707963")
            ),
            &[Lines(&[[4., 0., 0., -2.]])],
        ),
        // Knots inside of a spline as often as its degree, and oftener.
        (
            "CadQuery/cadquery#1014",
            format!(
                "0|SPLINE|8|0|70|8|71|3|72|11|73|7|74|0|{}|10|0|20|0|10|0|20|5|10|5|20|10|10|10|20|10|10|10|20|0|10|15|20|0|10|20|20|0",
                "40|0|40|0|40|0|40|0|40|1|40|1|40|1|40|2|40|2|40|2|40|2"
            ),
            &[Lines(&[[0., 0., 20., 0.]]), Through(&[[10., 10.]])],
        ),
        (
            "fougue/mayo#250",
            format!(
                "0|SPLINE|8|0|70|8|71|3|72|12|73|8|74|0|{}|10|0|20|0|10|0|20|5|10|5|20|10|10|10|20|10|10|10|20|10|10|10|20|0|10|15|20|0|10|20|20|0",
                "40|0|40|0|40|0|40|0|40|1|40|1|40|1|40|1|40|2|40|2|40|2|40|2"
            ),
            &[Lines(&[[0., 0., 20., 0.]]), Through(&[[10., 10.]])],
        ),
        // Tangents without length say nothing.
        (
            "LibreDWG/libredwg#275",
            "0|SPLINE|8|0|70|8|71|3|72|0|73|0|74|3|12|0|22|0|32|0|13|0|23|0|33|0|11|0|21|0|11|5|21|5|11|10|21|0".into(),
            &[Lines(&[[0., 0., 10., 0.]]), Through(&[[5., 5.]])],
        ),
        (
            "mozman/ezdxf#186",
            "0|ARC|8|0|10|0|20|0|40|0|50|0|51|90|0|LINE|8|0|10|0|20|0|11|1|21|1".into(),
            &[Lines(&[[0., 0., 1., 1.]]), Issue("DXF302")],
        ),
        (
            "LibreCAD/LibreCAD PR#430",
            "0|ARC|8|0|10|-10|20|0|40|1|50|0|51|90|210|0|220|0|230|-1".into(),
            &[Lines(&[[9., 0., 10., 1.]]), Through(&[[9.293, 0.708]])],
        ),
    ];
    for (report, input, right) in probes {
        check(report, &case("probe.dxf", dxf(input)), right);
    }
}

#[test]
fn faces_and_meshes() {
    let corners = |flags: u32| -> String {
        let corner = |x: u32, y: u32| format!("0|VERTEX|8|0|10|{x}|20|{y}|30|0|70|{flags}");
        [corner(0, 0), corner(10, 0), corner(10, 10), corner(0, 10)].join("|")
    };
    let face = |a: i32, b: i32, c: i32| format!("0|VERTEX|8|0|10|0|20|0|30|0|70|128|71|{a}|72|{b}|73|{c}");
    let face_of = |more: &str| format!("0|3DFACE|8|0|10|0|20|0|30|0|11|10|21|0|31|0|12|10|22|10|32|0{more}");
    let probes: &[(&str, String, &[Right])] = &[
        // Corners count from 1, negative ones hide an edge, faces share theirs.
        (
            "assimp/assimp PR#5118",
            format!(
                "0|POLYLINE|8|0|66|1|10|0|20|0|30|0|70|64|71|4|72|2|{}|{}|{}|0|SEQEND",
                corners(192),
                face(1, 2, -3),
                face(-1, 3, 4)
            ),
            &[Area(2, 100.), Boxes(&[[0., 0., 10., 10.], [0., 0., 10., 10.]])],
        ),
        // Vertices with 0 as fourth corner end there.
        (
            "mozman/ezdxf#589",
            format!(
                "0|POLYLINE|8|0|66|1|10|0|20|0|30|0|70|64|71|4|72|1|{}|{}|74|0|0|SEQEND",
                corners(192),
                face(1, 2, 3)
            ),
            &[Area(1, 50.)],
        ),
        (
            "skymakerolof/dxf#24",
            format!(
                "0|POLYLINE|8|0|66|1|10|0|20|0|30|0|70|16|71|2|72|2|{}|0|SEQEND",
                corners(64).replacen("10|10|20|10", "10|0|20|10", 1).replacen(
                    "10|0|20|10|30|0|70|64|0|VERTEX|8|0|10|0|20|10",
                    "10|0|20|10|30|0|70|64|0|VERTEX|8|0|10|10|20|10",
                    1
                )
            ),
            &[Area(1, 100.)],
        ),
        // A box seen from above: top and bottom are areas, its sides are lines.
        (
            "IfcOpenShell/IfcOpenShell PR#1414",
            format!(
                "0|POLYLINE|8|0|66|1|10|0|20|0|30|0|70|64|71|4|72|2|{}|{}|{}|0|SEQEND",
                corners(192),
                face(1, 2, 3),
                face(1, 2, 1)
            ),
            &[Area(1, 50.), Boxes(&[[0., 0., 10., 10.], [0., 0., 10., 0.]])],
        ),
        ("mozman/ezdxf PR#513", face_of("|13|0|23|10|33|0|70|1"), &[Area(1, 100.)]),
        ("gdsestimating/dxf-parser PR#26", face_of(""), &[Area(1, 50.)]),
    ];
    for (report, input, right) in probes {
        check(report, &case("probe.dxf", dxf(input)), right);
    }
}

#[test]
fn block_references() {
    let arc = "0|ARC|8|0|10|10|20|5|40|2|50|0|51|90";
    let line = "0|LINE|8|0|10|0|20|0|11|3|21|1";
    let placed = |content: &str, more: &str| {
        format!("0|BLOCK|8|0|2|B|70|0|10|0|20|0|{content}|0|ENDBLK||0|INSERT|8|0|2|B|{more}")
    };
    let probes: &[(&str, String, &[Right])] = &[
        (
            "mozman/ezdxf#389",
            placed(arc, "10|100|20|50|41|-1"),
            &[Lines(&[[88., 55., 90., 57.]]), Through(&[[88.5858, 56.4142]])],
        ),
        (
            "FreeCAD/FreeCAD#28905",
            placed(arc, "10|0|20|0|41|-1|50|90"),
            &[Lines(&[[-5., -12., -7., -10.]]), Through(&[[-6.4142, -11.4142]])],
        ),
        (
            "svenhb/GRBL-Plotter#375",
            placed("0|CIRCLE|8|0|10|0|20|0|40|10", "10|0|20|0|41|0.16|42|1"),
            &[Boxes(&[[-1.6, -10., 1.6, 10.]])],
        ),
        (
            "ieskudero/three-dxf-viewer PR#15",
            placed(line, "10|-100|20|50|210|0|220|0|230|-1"),
            &[Lines(&[[100., 50., 97., 51.]])],
        ),
        (
            "gdsestimating/three-dxf#47",
            placed(line, "10|-100|20|50|50|90|210|0|220|0|230|-1"),
            &[Lines(&[[100., 50., 101., 53.]])],
        ),
        // Spacings of an array are not scaled, and mirrored scales do not mirror the array.
        (
            "haplokuon/netDxf PR#214",
            placed(line, "10|0|20|0|41|-1|70|2|44|10"),
            &[Lines(&[[0., 0., -3., 1.], [10., 0., 7., 1.]])],
        ),
        (
            "mozman/ezdxf#139",
            placed("0|ELLIPSE|8|0|10|0|20|0|11|4|21|0|40|0.5|41|0|42|3.14159265", "10|0|20|0|41|2|42|2"),
            &[Boxes(&[[-8., 0., 8., 4.]])],
        ),
    ];
    for (report, input, right) in probes {
        check(report, &case("probe.dxf", dxf(input)), right);
    }
}

#[test]
fn texts() {
    let mtext = |more: &str, value: &str| format!("0|MTEXT|8|0|10|1|20|2|30|0|40|1|{more}1|{value}");
    let probes: &[(&str, String, &[Right])] = &[
        ("mozman/ezdxf#782", "0|TEXT|8|0|10|0|20|0|40|1|1|T\\U+00FCr".into(), &[Texts(&["Tür"])]),
        ("LibreDWG/libredwg#428", mtext("", "\\M+5BFCD\\M+5B7BF"), &[Texts(&["客房"])]),
        ("mozman/ezdxf#1316", mtext("", "{\\fArial;\\H1.5x;Room} \\C1;12\\Pm\\S2^ ;"), &[Texts(&["Room 12\nm2"])]),
        // A text of blanks or of formatting alone shows nothing, and is counted.
        ("vagran/dxf-viewer#48", mtext("", "{\\fArial;} "), &[Texts(&[]), Issue("DXF302")]),
    ];
    for (report, input, right) in probes {
        check(report, &case("probe.dxf", dxf(input)), right);
    }
    let turned = case("probe.dxf", dxf(&mtext("11|0|21|-1|31|0|", "A")));
    assert_eq!(turned.drawn()[0].properties["rotation"], 270, "prolincur/three-dxf-loader#31");
}

#[test]
fn svg_structure_and_style() {
    let line = r#"fill="none" stroke="black""#;
    let box_clip = |more: &str| format!(r#"<clipPath id="c" {more}</clipPath>"#);
    let probes: &[(&str, String, &[Right])] = &[
        ("mathandy/svgpathtools PR#245", format!(r#"<path d="M10 50a20 20 0 0140 0" {line}/>"#), &[Boxes(&[[10., 50., 50., 70.]])]),
        ("davecranwell/svg-to-geojson#7", r#"<path d="M0 0h10v10h-10z m20 0h10v10h-10z"/>"#.into(), &[Boxes(&[[0., 90., 30., 100.]])]),
        (
            "linebender/resvg#883",
            r##"<symbol id="w" x="-10" y="-10" width="20" height="20" viewBox="-10 -10 20 20"><rect x="-8" y="-8" width="16" height="16"/></symbol><use href="#w" x="50" y="50"/>"##.into(),
            &[Boxes(&[[42., 42., 58., 58.]])],
        ),
        (
            "mozilla/standards-positions#1262",
            r##"<symbol id="w" viewBox="0 0 10 10"><rect width="10" height="10"/></symbol><use href="#w" style="width:40px;height:20px"/>"##.into(),
            &[Boxes(&[[10., 80., 30., 100.]])],
        ),
        (
            "svg/svgo#822",
            format!(r#"<style>.a{{x:10px;y:10px;width:20px;height:20px}}</style><rect class="a" width="5"/><path style="d:path('M0 0L5 0')" {line}/>"#),
            &[Boxes(&[[10., 70., 30., 90.], [0., 100., 5., 100.]])],
        ),
        (
            "jhaygood86/PeachPDF#168",
            box_clip(r#"clipPathUnits="objectBoundingBox"><rect width="0.5" height="1"/>"#) + r#"<rect x="20" y="20" width="40" height="30" clip-path="url(#c)"/>"#,
            &[Boxes(&[[20., 50., 40., 80.]])],
        ),
        // The box places the clip, then its transform moves it.
        (
            "WebKit/WebKit PR#56046",
            box_clip(r#"clipPathUnits="objectBoundingBox" transform="translate(10 0)"><rect width="0.5" height="1"/>"#) + r#"<rect x="20" y="20" width="40" height="30" clip-path="url(#c)"/>"#,
            &[Boxes(&[[30., 50., 50., 80.]])],
        ),
        (
            "jhaygood86/PeachPDF#169",
            box_clip(r#"><rect width="40" height="40" transform="translate(30,30)"/>"#) + r#"<rect width="100" height="100" clip-path="url(#c)"/>"#,
            &[Boxes(&[[30., 30., 70., 70.]])],
        ),
        // What `use` shows inherits from where it stands, not from where it was defined.
        (
            "svgdotjs/svg.js#1060",
            r##"<g style="display:none"><rect id="a" width="5" height="5"/></g><use href="#a" x="20"/>"##.into(),
            &[Boxes(&[[20., 95., 25., 100.]]), Hidden(1)],
        ),
    ];
    for (report, input, right) in probes {
        check(report, &case("probe.svg", svg(input)), right);
    }
}

#[test]
fn round_sizes_give_round_units() {
    let text = r#"<svg xmlns="http://www.w3.org/2000/svg" width="4007cm" height="4431cm" viewBox="0 0 4007 4431"><rect width="9" height="9"/></svg>"#;
    let case = converted("probe.svg", &Bytes::from(text), |_| {});
    assert_eq!(case.collection["metadata"]["units"]["metres_per_unit"], 0.01);
}

#[test]
fn pdf_pages_and_layers() {
    let square = "10 20 30 40 re f";
    let both = "/OC /A BDC 0 10 m 50 10 l S EMC /OC /B BDC 0 20 m 50 20 l S EMC";
    let member = "/OC /M BDC 0 10 m 50 10 l S EMC";
    const SHOWN: &[Right] = &[Lines(&[[0., 10., 50., 10.]])];
    const NOTHING: &[Right] = &[Lines(&[]), Hidden(1)];
    let probes: &[(&str, Bytes, &[Right])] = &[
        ("UglyToad/PdfPig#560", page(square, "/CropBox [5 10 150 90] /Rotate 90"), &[Boxes(&[[10., 110., 50., 140.]])]),
        ("cantoo-scribe/pdf-lib#59", page(square, "/CropBox [200 100 0 0]"), &[Boxes(&[[10., 20., 40., 60.]])]),
        ("rschroll/rmrl#2", page(square, "/Rotate 270"), &[Boxes(&[[40., 10., 80., 40.]])]),
        ("pdfminer/pdfminer.six#1065", page("10 20 m 40 20 l 40 60 l 10 60 l 10 20 l h S", ""), &[Area(1, 1200.)]),
        ("pdfminer/pdfminer.six#904", page("10 20 m 40 20 l 40 60 l 10 60 l S", ""), &[Lines(&[[10., 20., 10., 60.]])]),
        ("pdfminer/pdfminer.six PR#371", page("10 10 10 10 re 30 10 10 10 re f", ""), &[Area(1, 200.)]),
        (
            "pdfminer/pdfminer.six#414",
            page("q 0 0 20 100 re W n 0 50 m 99 50 l S Q 0 60 m 99 60 l S", ""),
            &[Lines(&[[0., 50., 20., 50.], [0., 60., 99., 60.]])],
        ),
        ("py-pdf/fpdf2#1895", layered(both, "/BaseState /OFF /ON [WALL]", ""), SHOWN),
        ("ArtifexSoftware/mupdf PR#51", layered(member, "/OFF [FURN]", "/P /AllOn /OCGs [WALL FURN]"), NOTHING),
        ("veraPDF/veraPDF-parser PR#682", layered(member, "/OFF [WALL]", "/P /AnyOff /OCGs [WALL FURN]"), SHOWN),
        ("veraPDF/veraPDF-parser PR#682", layered(member, "/OFF [WALL]", "/OCGs [WALL FURN]"), SHOWN),
        ("ArtifexSoftware/mupdf PR#23", layered(member, "/OFF [WALL]", "/OCGs WALL"), NOTHING),
        ("mozilla/pdf.js#12097", layered(member, "/OFF [WALL]", "/VE [/Not WALL]"), SHOWN),
        (
            "pdf-association/pdf-issues#262",
            layered(both, "/AS [<< /Event /View /Category [/View] /OCGs [WALL FURN] >>]", ""),
            &[Lines(&[[0., 20., 50., 20.]]), Hidden(1)],
        ),
    ];
    for (report, input, right) in probes {
        check(report, &case("probe.pdf", input.clone()), right);
    }
}

/// Rooms between walls that are drawn in unusual ways: areas, ascending.
#[test]
fn rooms() {
    let walls = |points: &[[f64; 2]], closed: u32, more: &str| {
        let vertices: String = points.iter().map(|[x, y]| format!("|10|{x}|20|{y}")).collect();
        format!("0|LWPOLYLINE|8|A-WALL|90|{}|70|{closed}{more}{vertices}", points.len())
    };
    let square = |low: f64, high: f64| walls(&[[low, low], [high, low], [high, high], [low, high]], 1, "");
    let wide = |points: &[[f64; 2]], closed: u32| walls(points, closed, "|43|0.2");
    let outline = wide(&[[0., 0.], [10., 0.], [10., 8.], [0., 8.]], 1);
    let around = walls(&[[-0.2, -0.2], [10.2, -0.2], [10.2, 8.2], [-0.2, 8.2]], 1, "");
    let stub = [[0., 0.], [4., 0.], [4., 2.], [4.2, 2.], [4.2, 0.], [10., 0.], [10., 8.], [0., 8.]];
    let jogs = [[0., 0.], [5., 0.], [5., 0.02], [5.02, 0.02], [5.02, 0.04], [10., 0.04], [10., 8.], [0., 8.]];
    let rings = [square(-0.2, 20.2), square(0., 20.), square(6., 14.), square(6.2, 13.8)].join("|");
    let door = "0|ARC|8|A-DOOR|10|5|20|3|40|1|50|0|51|90|0|LINE|8|A-DOOR|10|5|20|3|11|6|21|3";
    let probes: &[(&str, String, &[f64])] = &[
        // Walls as polylines with a width: rooms end at the faces, not at the middle lines.
        ("FreeCAD/FreeCAD#6112", outline.clone(), &[9.8 * 7.8]),
        ("OSGeo/gdal#3636", format!("{outline}|{}", wide(&[[4., 0.], [4., 8.]], 0)), &[3.8 * 7.8, 5.8 * 7.8]),
        (
            "danghoangnhan/ArchAgent#100",
            format!("{outline}|{}|{}|{door}", wide(&[[5., 0.], [5., 3.]], 0), wide(&[[5., 4.], [5., 8.]], 0)),
            &[4.8 * 7.8 + 0.1, 4.8 * 7.8 + 0.1],
        ),
        // A wall that ends in the room; a room round another; pieces of wall shorter than it is thick.
        ("LTplus-AG/ifc-lite#4488", format!("{around}|{}", walls(&stub, 1, "")), &[79.6]),
        ("brunopostle/homemaker-addon#15", rings, &[57.76, 336.]),
        ("PedestrianDynamics/jupedsim#114", walls(&jogs, 1, ""), &[79.8]),
    ];
    for (report, input, areas) in probes {
        let metres = |options: &mut plan2geo::kernel::ConvertOptions| {
            options.units = Some(std::sync::Arc::new(|_| Some(1.0)));
        };
        let case = converted("probe.dxf", &dxf(input), metres);
        let mut got: Vec<f64> = case.of_class("room").iter().map(Feature::area).collect();
        got.sort_by(f64::total_cmp);
        let right = got.len() == areas.len() && got.iter().zip(*areas).all(|(got, area)| near(*got, *area, 0.15));
        assert!(right, "{report}: {got:?} are not {areas:?}");
    }
}
