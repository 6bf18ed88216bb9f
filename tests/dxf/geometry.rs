//! Every kind of entity: what becomes of it in the plan.

use super::*;

#[test]
fn polylines_of_all_kinds() {
    let entities = [
        "0|LWPOLYLINE|8|0|90|3|70|1|43|0.5|10|0|20|0|42|1|10|4|20|0|10|4|20|3|42|-0.5",
        "0|POLYLINE|8|0|66|1|70|1|0|VERTEX|8|0|10|0|20|0|42|0.5|0|VERTEX|8|0|10|2|20|0|0|VERTEX|8|0|10|2|20|2|0|SEQEND",
        // Curve-fit: the extra vertices belong to the line.
        "0|POLYLINE|8|0|70|2|0|VERTEX|10|0|20|0|42|0.2|70|0|0|VERTEX|10|1|20|1|70|1|0|VERTEX|10|2|20|0|70|0|0|SEQEND",
        // Spline-fit: the frame does not.
        "0|POLYLINE|8|0|70|4|0|VERTEX|10|0|20|9|70|16|0|VERTEX|10|0|20|0|70|8|0|VERTEX|10|2|20|0|70|8|0|SEQEND",
        // Three-dimensional: no bulges, no extrusion.
        "0|POLYLINE|8|0|70|8|210|0|220|0|230|-1|0|VERTEX|10|0|20|0|30|5|70|32|42|1|0|VERTEX|10|3|20|0|30|9|70|32|0|SEQEND",
    ];
    let document = Document::new(&entities.join("|"));
    assert_outline(
        &document,
        "LWPOLYLINE [0] line M(0,0) B(4,0)~1 L(4,3) B(0,0)~-0.5 Z
         POLYLINE [0] line M(0,0) B(2,0)~0.5 L(2,2) Z
         POLYLINE [0] line M(0,0) B(1,1)~0.2 L(2,0)
         POLYLINE [0] line M(0,0) L(2,0)
         POLYLINE [0] line M(0,0) L(3,0)",
    );
    assert_eq!(document.drawing().items[0].width, 0.5);
}

#[test]
fn wrong_counts_are_repaired() {
    let read = Document::new("0|LWPOLYLINE|8|0|90|9|70|0|10|0|20|0|10|4|20|0").read();
    assert_eq!(outline(&read.drawing), "LWPOLYLINE [0] line M(0,0) L(4,0)\n");
    assert_eq!(count(&read.issues, "DXF110"), 1);
}

#[test]
fn meshes_are_their_faces() {
    let vertex = |x: f64, y: f64, flags: u32| format!("|0|VERTEX|8|0|10|{x}|20|{y}|70|{flags}");
    let polyface = format!(
        "0|POLYLINE|8|0|70|64|71|4|72|2{}{}{}{}|0|VERTEX|8|0|10|0|20|0|70|128|71|1|72|2|73|-3\
         |0|VERTEX|8|0|10|0|20|0|70|128|71|1|72|3|73|4|74|9|0|SEQEND",
        vertex(0.0, 0.0, 192),
        vertex(1.0, 0.0, 192),
        vertex(1.0, 1.0, 192),
        vertex(0.0, 1.0, 192)
    );
    let grid = format!(
        "0|POLYLINE|8|0|70|16|71|2|72|3{}{}{}{}{}{}|0|SEQEND",
        vertex(0.0, 0.0, 64),
        vertex(1.0, 0.0, 64),
        vertex(2.0, 0.0, 64),
        vertex(0.0, 1.0, 64),
        vertex(1.0, 1.0, 64),
        vertex(2.0, 1.0, 64)
    );
    let mesh = "0|MESH|8|0|71|2|72|0|91|0|92|4|10|0|20|0|30|0|10|2|20|0|30|0|10|2|20|2|30|0|10|0|20|2|30|0|93|5|90|4|90|0|90|1|90|2|90|3|94|1|90|0|90|1|95|1|140|0|90|0";
    let read = Document::new(&[polyface.as_str(), &grid, mesh].join("|")).read();
    assert_eq!(
        outline(&read.drawing),
        "POLYLINE [0] area M(0,0) L(1,0) L(1,1) Z\n\
         POLYLINE [0] area M(0,0) L(1,0) L(1,1) L(0,1) Z\n\
         POLYLINE [0] area M(1,0) L(2,0) L(2,1) L(1,1) Z\n\
         MESH [0] area M(0,0) L(2,0) L(2,2) L(0,2) Z\n"
    );
    assert_eq!(count(&read.issues, "DXF306"), 1);
}

#[test]
fn extrusions_of_planar_entities() {
    let down = "210|0|220|0|230|-1";
    let entities = [
        format!("0|ARC|8|0|10|10|20|5|40|2|50|0|51|90|{down}"),
        format!("0|LWPOLYLINE|8|0|90|2|70|0|10|0|20|0|42|1|10|4|20|0|{down}"),
        format!("0|SOLID|8|0|10|0|20|0|11|1|21|0|12|0|22|1|13|1|23|1|{down}"),
        format!("0|INSERT|8|0|2|B|10|3|20|4|41|2|42|2|50|90|{down}"),
        // In the world whatever the extrusion says.
        format!("0|LINE|8|0|10|1|20|2|11|5|21|2|{down}"),
        format!("0|POINT|8|0|10|1|20|2|{down}"),
        format!("0|3DFACE|8|0|10|0|20|0|11|1|21|0|12|1|22|1|13|0|23|1|{down}"),
    ];
    assert_outline(
        &Document::new(&entities.join("|")),
        "ARC [0] line A(-10,5) u(-2,0) v(0,2) 0+90
         LWPOLYLINE [0] line M(0,0) B(-4,0)~-1
         SOLID [0] area M(0,0) L(-1,0) L(-1,1) L(0,1) Z
         INSERT [0] insert B by (0 2 2 0 -3 4)
         LINE [0] line M(1,2) L(5,2)
         POINT [0] point (1,2)
         3DFACE [0] area M(0,0) L(1,0) L(1,1) L(0,1) Z",
    );
}

#[test]
fn tilted_planes_are_seen_from_above() {
    // A plane tilted by 60° about the world's y axis: its x axis is (0, 1, 0), its y axis (-0.5, 0, 0.866).
    let tilted = "210|0.866025403784|220|0|230|0.5";
    let entities = [
        format!("0|CIRCLE|8|0|10|0|20|0|30|4|40|2|{tilted}"),
        format!("0|LWPOLYLINE|8|0|38|2|90|2|70|0|10|0|20|0|42|1|10|2|20|0|{tilted}"),
    ];
    assert_outline(
        &Document::new(&entities.join("|")),
        "CIRCLE [0] line A(3.464102,0) u(0,2) v(-1,0) 0+360 Z
         LWPOLYLINE [0] line M(1.732051,0) A(1.732051,1) u(0,1) v(-0.5,0) 180+180",
    );
    // A circle on edge is a line, a wall upright has no extent but its foot.
    let upright = Document::new("0|LINE|8|0|10|1|20|1|30|0|11|1|21|1|31|3").read();
    assert_eq!((upright.drawing.items.len(), count(&upright.issues, "DXF302")), (0, 1));
    assert_eq!(upright.drawing.unsupported["LINE"], 1);
}

#[test]
fn arcs_ellipses_and_their_turns() {
    let entities = [
        "0|ARC|8|0|10|0|20|0|40|1|50|270|51|90",
        "0|ARC|8|0|10|0|20|0|40|1|50|30|51|30",
        "0|ELLIPSE|8|0|10|1|20|1|11|0|21|4|40|0.5|41|0|42|6.283185307179586",
        "0|ELLIPSE|8|0|10|1|20|1|11|2|21|0|40|0.5|41|4.71238898038469|42|1.5707963267948966",
        "0|ELLIPSE|8|0|10|0|20|0|11|2|21|0|40|0.5|41|0|42|1.5707963267948966|210|0|220|0|230|-1",
    ];
    assert_outline(
        &Document::new(&entities.join("|")),
        "ARC [0] line A(0,0) u(1,0) v(0,1) 270+180
         ARC [0] line A(0,0) u(1,0) v(0,1) 30+360 Z
         ELLIPSE [0] line A(1,1) u(0,4) v(-2,0) 0+360 Z
         ELLIPSE [0] line A(1,1) u(2,0) v(0,1) 270+180
         ELLIPSE [0] line A(0,0) u(2,0) v(0,-1) 0+90",
    );
}

#[test]
fn splines_by_control_points_fit_points_and_damage() {
    let entities = [
        "0|SPLINE|8|0|70|8|71|2|72|6|73|3|40|0|40|0|40|0|40|1|40|1|40|1|10|0|20|0|10|1|20|2|10|2|20|0|11|0|21|0|11|2|21|0",
        "0|SPLINE|8|0|70|8|71|3|74|3|11|0|21|0|11|1|21|0|11|2|21|0",
        "0|SPLINE|8|0|70|8|71|3|74|2|12|0|22|1|13|0|23|-1|11|0|21|0|11|3|21|0",
        "0|SPLINE|8|0|70|8|71|3|72|2|73|4|40|0|40|1|10|0|20|0|10|1|20|2|10|3|20|2|10|4|20|0",
        "0|HELIX|8|0|100|AcDbSpline|70|8|71|1|72|4|73|2|40|0|40|0|40|1|40|1|10|0|20|0|10|5|20|0|100|AcDbHelix|10|77|20|77|40|3|41|9",
    ];
    let read = Document::new(&entities.join("|")).read();
    assert_eq!(
        outline(&read.drawing),
        "SPLINE [0] line S2/3\n\
         SPLINE [0] line M(0,0) C(0.333333,0)(0.666667,0)(1,0) C(1.333333,0)(1.666667,0)(2,0)\n\
         SPLINE [0] line M(0,0) C(0,1)(3,1)(3,0)\n\
         SPLINE [0] line S3/4\n\
         HELIX [0] line S1/2\n"
    );
    assert_eq!(count(&read.issues, "DXF305"), 1);
}

#[test]
fn hatches_by_polylines_and_edges() {
    let edge_hatch = "0|HATCH|8|A|2|ANSI31|70|0|91|2\
        |92|7|72|1|73|1|93|4|10|0|20|0|42|0|10|4|20|0|42|0.5|10|4|20|4|42|0|10|0|20|4|42|0|97|0\
        |92|0|93|2|72|1|10|1|20|1|11|2|21|1|72|2|10|1.5|20|1|40|0.5|50|0|51|180|73|1|97|0|75|0|76|1|52|0|41|1|77|0|78|1|53|45|43|0|44|0|45|-1|46|1|79|0|98|1|10|9|20|9";
    let clockwise = "0|HATCH|8|A|2|SOLID|70|1|91|1|92|1|93|2|72|2|10|0|20|0|40|1|50|0|51|180|73|0|72|1|10|-1|20|0|11|1|21|0|97|0|75|1|76|1|98|0";
    let ellipse =
        "0|HATCH|8|A|2|SOLID|70|1|91|1|92|1|93|1|72|3|10|1|20|1|11|2|21|0|40|0.5|50|0|51|360|73|1|97|0|75|1|76|1|98|0";
    let spline = "0|HATCH|8|A|2|SOLID|70|1|91|1|92|1|93|2|72|4|94|2|73|0|74|0|95|6|96|3|40|0|40|0|40|0|40|1|40|1|40|1|10|0|20|0|10|1|20|2|10|2|20|0|97|0|72|1|10|2|20|0|11|0|21|0|97|0|75|1|76|1|98|0";
    let document = Document::new(&[edge_hatch, clockwise, ellipse, spline].join("|"));
    assert_outline(
        &document,
        "HATCH [A] area M(0,0) L(4,0) B(4,4)~0.5 L(0,4) Z M(1,1) L(2,1) A(1.5,1) u(0.5,0) v(0,0.5) 0+180 Z
         HATCH [A] area M(1,0) A(0,0) u(1,0) v(0,1) 0+-180 L(1,0) Z
         HATCH [A] area M(3,1) A(1,1) u(2,0) v(0,1) 0+360 Z
         HATCH [A] area M(0,0) S2/3 L(0,0) Z",
    );
    let drawing = document.drawing();
    let properties: Vec<_> = drawing.properties(drawing.items[0].properties).collect();
    assert_eq!(properties, [("pattern", "ANSI31")]);
    assert_eq!(drawing.properties(drawing.items[1].properties).count(), 0);
}

#[test]
fn gaps_in_hatch_boundaries_are_closed_and_told() {
    let read = Document::new(
        "0|HATCH|8|A|2|SOLID|70|1|91|1|92|1|93|3|72|1|10|0|20|0|11|4|21|0|72|1|10|4|20|0.01|11|4|21|4|72|1|10|4|20|4|11|0|21|0|97|0|75|0|76|1|98|0",
    )
    .read();
    assert_eq!(outline(&read.drawing), "HATCH [A] area M(0,0) L(4,0) L(4,0.01) L(4,4) L(0,0) Z\n");
    assert_eq!(count(&read.issues, "DXF303"), 1);
    let empty = Document::new("0|HATCH|8|A|2|SOLID|70|1|91|0|75|0|76|1|98|0").read();
    assert_eq!((empty.drawing.items.len(), count(&empty.issues, "DXF304")), (0, 1));
}

#[test]
fn island_styles_leave_out_inner_rings() {
    let ring = |flags: u32, low: f64, high: f64| {
        format!(
            "92|{flags}|72|0|73|1|93|4|10|{low}|20|{low}|10|{high}|20|{low}|10|{high}|20|{high}|10|{low}|20|{high}|97|0"
        )
    };
    let hatch = |style: u32| {
        let rings = [ring(3, 0.0, 9.0), ring(18, 1.0, 8.0), ring(2, 2.0, 7.0)].join("|");
        let drawing = Document::new(&format!("0|HATCH|8|A|2|SOLID|70|1|91|3|{rings}|75|{style}|76|1|98|0")).drawing();
        outline(&drawing).matches('Z').count()
    };
    assert_eq!([hatch(0), hatch(1), hatch(2)], [3, 2, 1]);
}

#[test]
fn text_boxes_cut_fillings_but_are_no_islands() {
    let ring = |flags: u32, low: f64, high: f64| {
        format!(
            "92|{flags}|72|0|73|1|93|4|10|{low}|20|{low}|10|{high}|20|{low}|10|{high}|20|{high}|10|{low}|20|{high}|97|0"
        )
    };
    let hatch = |rings: &[String]| {
        let count = rings.len();
        let rings = rings.join("|");
        let drawing = Document::new(&format!("0|HATCH|8|A|2|SOLID|70|1|91|{count}|{rings}|75|0|76|1|98|0")).drawing();
        outline(&drawing).matches('Z').count()
    };
    assert_eq!(hatch(&[ring(3, 0.0, 9.0), ring(10, 4.0, 5.0)]), 2);
    assert_eq!(hatch(&[ring(3, 0.0, 9.0), ring(18, 3.0, 6.0), ring(10, 4.0, 5.0)]), 2);
}

#[test]
fn polygons_of_map_drawings() {
    let document = Document::new(
        "0|MPOLYGON|8|A|70|1|10|0|20|0|30|0|2|SOLID|71|1|91|1|92|2|73|1|72|0|93|3|10|0|20|0|10|4|20|0|10|4|20|4|76|1|63|3|11|0|21|0|99|0",
    );
    assert_outline(&document, "MPOLYGON [A] area M(0,0) L(4,0) L(4,4) Z");
}

#[test]
fn lines_with_several_parts() {
    let mline = "0|MLINE|8|0|2|STANDARD|40|1|70|0|71|1|72|2|73|2|10|0|20|0\
        |11|0|21|0|12|1|22|0|13|0|23|1|74|2|41|0.5|41|0|75|0|74|2|41|-0.5|41|0|75|0\
        |11|6|21|0|12|1|22|0|13|0|23|1|74|2|41|0.5|41|0|75|0|74|2|41|-0.5|41|0|75|0";
    let leader = "0|LEADER|8|0|3|STANDARD|71|1|72|0|73|3|76|3|10|0|20|0|10|2|20|2|10|3|20|2";
    let multileader = "0|MULTILEADER|8|0|270|2|300|CONTEXT_DATA{|40|1|10|5|20|5|41|0.18|290|1|304|Fire \\Pdoor|12|6|22|7|13|1|23|0|42|0|171|1|296|0\
        |302|LEADER{|290|1|291|1|10|4|20|4|11|1|21|0|90|0|40|0.5|304|LEADER_LINE{|10|0|20|0|91|0|305|}|303|}|301|}|340|11|90|1";
    let document = Document::new(&[mline, leader, multileader].join("|"));
    assert_outline(
        &document,
        r#"MLINE [0] line M(0,0.5) L(6,0.5) M(0,-0.5) L(6,-0.5)
           LEADER [0] line M(0,0) L(2,2) L(3,2)
           MULTILEADER [0] line M(0,0) L(4,4) L(4.5,4)
           MULTILEADER [0] text "Fire \ndoor" at (6,7) turned 0"#,
    );
    assert_eq!(document.drawing().census["MULTILEADER"], 1);
}

#[test]
fn frames_of_images_and_wipeouts() {
    let image =
        "0|IMAGE|8|0|10|10|20|20|11|0.5|21|0|12|0|22|0.5|13|8|23|4|70|7|71|1|91|2|14|-0.5|24|-0.5|14|7.5|24|3.5";
    let wipeout = "0|WIPEOUT|8|0|10|1|20|1|11|4|21|0|12|0|22|4|13|1|23|1|71|2|91|4|14|-0.5|24|0.5|14|0.5|24|0.5|14|0|24|-0.5|14|-0.5|24|0.5";
    assert_outline(
        &Document::new(&[image, wipeout].join("|")),
        "IMAGE [0] line M(10,22) L(14,22) L(14,20) L(10,20) Z
         WIPEOUT [0] line M(1,1) L(5,1) L(3,5) L(1,1) Z",
    );
}

#[test]
fn endless_lines_end_at_the_extents() {
    let document =
        Document::new("0|XLINE|8|0|10|5|20|5|11|1|21|0|0|RAY|8|0|10|5|20|5|11|0|21|1|0|LINE|8|0|10|0|20|0|11|10|21|10");
    assert_outline(
        &document,
        "LINE [0] line M(0,0) L(10,10)
         XLINE [0] line M(0,5) L(10,5)
         RAY [0] line M(5,5) L(5,10)",
    );
    let alone = Document::new("0|XLINE|8|0|10|5|20|5|11|1|21|0").read();
    assert_eq!(count(&alone.issues, "DXF307"), 1);
    assert_eq!(alone.drawing.unsupported["XLINE"], 1);
}

#[test]
fn corners_of_solids_and_faces() {
    let entities = [
        "0|TRACE|8|0|10|0|20|0|11|2|21|0|12|0|22|2|13|2|23|2",
        "0|SOLID|8|0|10|0|20|0|11|2|21|0|12|0|22|2",
        "0|3DFACE|8|0|10|0|20|0|11|2|21|0|12|2|22|2|13|2|23|2",
        "0|3DFACE|8|0|10|0|20|0|30|0|11|2|21|0|31|0|12|2|22|0|32|3|13|0|23|0|33|3",
    ];
    let read = Document::new(&entities.join("|")).read();
    assert_eq!(
        outline(&read.drawing),
        "TRACE [0] area M(0,0) L(2,0) L(2,2) L(0,2) Z\n\
         SOLID [0] area M(0,0) L(2,0) L(0,2) Z\n\
         3DFACE [0] area M(0,0) L(2,0) L(2,2) Z\n\
         3DFACE [0] line M(0,0) L(2,0)\n"
    );
}

#[test]
fn entities_without_representation_are_counted_by_name() {
    let document = Document::new(
        "0|3DSOLID|8|0|1|xyz|0|AEC_WALL|8|0|0|ACAD_PROXY_ENTITY|8|0|90|498|91|501|0|VIEWPORT|8|0|67|1|0|LIGHT|8|0",
    );
    let mut text = document.text();
    let classes =
        format!("  0\nSECTION\n  2\nCLASSES\n{}  0\nENDSEC\n", pairs("0|CLASS|1|ONE|2|A|0|CLASS|1|AEC_DOOR|2|B"));
    text.insert_str(0, &classes);
    let drawing = read(&text.into()).drawing;
    let names: Vec<&str> = drawing.unsupported.keys().map(String::as_str).collect();
    assert_eq!(names, ["3DSOLID", "ACAD_PROXY_ENTITY AEC_DOOR", "AEC_WALL", "LIGHT"]);
    assert_eq!(drawing.other_sheets["VIEWPORT"], 1);
}

#[test]
fn colours_visibility_and_handles() {
    use plan2geo::drawing::{Colour, Identity};
    let document = Document::new(
        "0|POINT|5|2F|8|0|62|1|10|0|20|0|0|POINT|8|0|62|5|420|1193046|10|0|20|0|0|POINT|8|0|420|255|62|5|10|0|20|0\
         |0|POINT|8|0|62|0|60|1|10|0|20|0|0|POINT|8|0|62|256|10|0|20|0",
    );
    let drawing = document.drawing();
    let colours: Vec<Colour> = drawing.items.iter().map(|item| item.colour).collect();
    let expected =
        [Colour::Rgb(0xFF_0000), Colour::Rgb(0x12_3456), Colour::Rgb(0x00_00FF), Colour::ByBlock, Colour::ByLayer];
    assert_eq!(colours, expected);
    assert_eq!(drawing.items[0].identity, Identity::Handle(0x2F));
    assert_eq!(drawing.items.iter().map(|item| item.visible).collect::<Vec<_>>(), [true, true, true, false, true]);
}

#[test]
fn faces_seen_from_their_edge_are_lines() {
    let document = Document::new(
        "0|3DFACE|8|0|10|0|20|0|30|0|11|4|21|2|31|0|12|4|22|2|32|3|13|0|23|0|33|3\
         |0|SOLID|8|0|10|0|20|1|11|1.5|21|1|0|SOLID|8|0|10|1|20|1|11|1|21|1|12|1|22|1|13|1|23|1",
    );
    let read = document.read();
    assert_eq!(outline(&read.drawing), "3DFACE [0] line M(0,0) L(4,2)\nSOLID [0] line M(0,1) L(1.5,1)\n");
    assert_eq!(count(&read.issues, "DXF302"), 1);
}

/// A SAT text as the lines of a drawing: characters turned round, long lines in chunks.
fn enciphered(records: &str) -> String {
    let text = format!("400 9 1 0\n16 a test of records 8 ASM 1 OSX 0\n1 1e-06 1e-10\n{records}\nEnd-of-ACIS-data");
    let turn = |byte: &u8| if *byte == b' ' { ' ' } else { char::from(159 - byte) };
    let mut lines = String::new();
    for line in text.lines() {
        for (index, chunk) in line.as_bytes().chunks(40).enumerate() {
            let turned = chunk.iter().map(turn).collect::<String>().replace('^', "^ ");
            write!(lines, "{:>3}\n{turned}\n", if index == 0 { 1 } else { 3 }).unwrap();
        }
    }
    lines
}

// R120
#[test]
fn regions_and_upright_solids_are_areas() {
    // A half disc with a round hole, moved by (10, 0, 5).
    let region = "body $-1 $1 $-1 $2 #\nlump $-1 $-1 $3 $0 #\ntransform $-1 1 0 0 0 1 0 0 0 1 10 0 5 1 no_rotate no_reflect no_shear #\n\
        shell $-1 $-1 $-1 $4 $-1 $1 #\nface $-1 $-1 $5 $3 $-1 $6 forward double out #\nloop $-1 $7 $8 $4 #\n\
        plane-surface $-1 0 0 0 0 0 1 1 0 0 forward_v I I I I #\nloop $-1 $-1 $10 $4 #\n\
        coedge $-1 $9 $9 $-1 $11 forward $5 $-1 #\ncoedge $-1 $8 $8 $-1 $12 reversed $5 $-1 #\n\
        coedge $-1 $10 $10 $-1 $13 forward $7 $-1 #\nedge $-1 $14 $15 $8 $16 forward #\nedge $-1 $14 $15 $9 $17 forward #\n\
        edge $-1 $18 $18 $10 $19 reversed #\nvertex $-1 $11 $20 #\nvertex $-1 $11 $21 #\nstraight-curve $-1 -2 0 0 1 0 0 I I #\n\
        ellipse-curve $-1 0 0 0 0 0 -1 -2 0 0 1 I I #\nvertex $-1 $13 $22 #\nellipse-curve $-1 0 1 0 0 0 1 0.5 0 0 1 I I #\n\
        point $-1 -2 0 0 #\npoint $-1 2 0 0 #\npoint $-1 0.5 1 0 #";
    let with = |kind: &str, records: &str| Document {
        entities: pairs(&format!("0|{kind}|8|A|70|1")) + &enciphered(records),
        ..Document::new("")
    };
    let expected =
        "REGION [A] area M(8,0) L(12,0) A(10,0) u(-2,0) v(0,2) 180+-180 Z A(10,1) u(0.5,0) v(0,0.5) 0+-360 Z\n";
    assert_eq!(outline(&with("REGION", region).drawing()), expected);
    // Edges of other curves, rings that do not come back, records that are cut off: counted by name.
    for damaged in [
        region.replace("straight-curve", "intcurve-curve"),
        region.replace("coedge $-1 $9 $9", "coedge $-1 $10 $10"),
        region[..region.len() / 2].to_owned(),
        region.replace("plane-surface", "sphere-surface"),
    ] {
        let drawing = with("REGION", &damaged).drawing();
        assert_eq!((drawing.items.len(), drawing.unsupported["REGION"]), (0, 1), "{damaged}");
    }
}

// R120
#[test]
fn of_an_upright_solid_the_plan_shows_its_top() {
    let corners = [(0, 0), (4, 0), (4, 3), (0, 3)];
    let mut records = vec!["body $-1 $-1 $-1 $-1 #".to_owned()];
    for (height, normal, faces) in [(2, 1, "forward"), (0, 1, "reversed")] {
        let face = records.len();
        let number = |offset: usize| face + offset;
        records.push(format!("face $-1 $-1 ${} $-1 $-1 ${} {faces} single #", number(1), number(2)));
        records.push(format!("loop $-1 $-1 ${} ${face} #", number(3)));
        records.push(format!("plane-surface $-1 0 0 {height} 0 0 {normal} 1 0 0 forward_v I I I I #"));
        for side in 0..4 {
            let next = number(3 + (side + 1) % 4);
            records.push(format!("coedge $-1 ${next} $-1 $-1 ${} forward ${} $-1 #", number(7 + side), number(1)));
        }
        for side in 0..4 {
            let (from, to) = (number(12 + side), number(12 + (side + 1) % 4));
            records.push(format!("edge $-1 ${from} ${to} ${} ${} forward #", number(3 + side), number(11)));
        }
        records.push("straight-curve $-1 0 0 0 1 0 0 I I #".to_owned());
        for side in 0..4 {
            records.push(format!("vertex $-1 ${} ${} #", number(7 + side), number(16 + side)));
        }
        for (x, y) in corners {
            records.push(format!("point $-1 {x} {y} {height} #"));
        }
    }
    let wall = records.len() + 1;
    records.push(format!("face $-1 $-1 $-1 $-1 $-1 ${wall} forward single #"));
    records.push("plane-surface $-1 0 0 0 1 0 0 0 0 1 forward_v I I I I #".to_owned());
    let solid = |records: &[String]| Document {
        entities: pairs("0|3DSOLID|8|A|70|1") + &enciphered(&records.join("\n")),
        ..Document::new("")
    };
    let expected = "3DSOLID [A] area M(0,0) L(4,0) L(4,3) L(0,3) Z\n";
    assert_eq!(outline(&solid(&records).drawing()), expected);
    // A slanted wall may hide what looks up.
    records[wall] = "plane-surface $-1 0 0 0 1 0 1 0 0 1 forward_v I I I I #".to_owned();
    assert_eq!(solid(&records).drawing().unsupported["3DSOLID"], 1);
}
