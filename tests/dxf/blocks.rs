//! Layers, blocks, references to other drawings, clips, dimensions, sheets.

use super::*;

fn block(name: &str, entities: &str) -> String {
    format!("0|BLOCK|8|0|2|{name}|70|0|10|0|20|0|{entities}|0|ENDBLK|8|0")
}

#[test]
fn layers_keep_their_state() {
    let drawing = Document::new(&line(0.0, 0.0, 1.0, 0.0))
        .tables("0|TABLE|2|LAYER|70|3|0|LAYER|2|0|70|0|62|7|0|LAYER|2|OFF|70|0|62|-3|0|LAYER|2|FROZEN|70|1|62|3|420|66051|0|ENDTAB")
        .drawing();
    let state = |name: &str| {
        let layer = drawing.layers.iter().find(|layer| drawing.string(layer.name) == name).unwrap();
        (layer.off, layer.frozen, layer.inherits, layer.declared, layer.colour)
    };
    assert_eq!(state("0"), (false, false, true, true, Some(0xFF_FFFF)));
    assert_eq!(state("OFF"), (true, false, false, true, Some(0x00_FF00)));
    assert_eq!(state("FROZEN"), (false, true, false, true, Some(0x01_0203)));
    assert_eq!(state("WALL"), (false, false, false, false, None));
}

#[test]
fn references_scale_turn_and_repeat() {
    let document = Document::new(
        "0|INSERT|8|0|2|B|10|3|20|4|41|2|42|-1|50|90|70|3|71|2|44|10|45|20|0|INSERT|8|0|2|b|10|0|20|0|70|0|71|1",
    )
    .blocks(&block("B", "0|POINT|8|0|10|1|20|1"));
    assert_outline(
        &document,
        "INSERT [0] insert B by (0 2 1 0 3 4) 3 × 2 steps (0,10) (-20,0)
         INSERT [0] insert B by (1 0 0 1 0 0) 0 × 1 steps (0,0) (0,0)
         block B at (0,0)
           POINT [0] point (1,1)",
    );
}

#[test]
fn arrays_that_make_no_sense_are_one() {
    let read = Document::new("0|INSERT|8|0|2|B|10|0|20|0|70|-3|71|2|44|1|45|0").read();
    let insert = &read.drawing.inserts[0];
    assert_eq!((insert.columns, insert.rows, count(&read.issues, "DXF407")), (1, 1, 2));
}

#[test]
fn a_second_definition_is_not_mixed_into_the_first() {
    let document = Document::new("0|INSERT|8|0|2|B|10|0|20|0")
        .blocks(&[block("B", "0|POINT|8|0|10|1|20|1"), block("B", "0|POINT|8|0|10|2|20|2|0|3DSOLID|8|0")].join("|"));
    let read = document.read();
    assert_eq!(read.drawing.blocks[0].items.len(), 1);
    assert_eq!(count(&read.issues, "DXF401"), 1);
    assert!(read.drawing.unsupported.is_empty());
}

#[test]
fn sheets_are_counted_and_the_model_block_is_the_model() {
    let document = Document::new("0|LINE|8|0|67|1|10|0|20|0|11|1|21|1|0|INSERT|8|0|67|1|2|B|66|1|10|0|20|0|0|ATTRIB|8|0|1|x|2|T|0|SEQEND|0|POINT|8|0|10|0|20|0")
        .blocks(
            &[
                block("*Model_Space", "0|POINT|8|0|10|5|20|5"),
                block("*Paper_Space", "0|CIRCLE|8|0|10|0|20|0|40|1"),
                block("*PAPER_SPACE0", "0|POLYLINE|8|0|66|1|0|VERTEX|8|0|10|0|20|0|0|SEQEND"),
            ]
            .join("|"),
        );
    let drawing = document.drawing();
    assert_eq!(outline(&drawing), "POINT [0] point (5,5)\nPOINT [0] point (0,0)\n");
    let sheets: Vec<_> = drawing.other_sheets.iter().map(|(kind, count)| (kind.as_str(), *count)).collect();
    assert_eq!(sheets, [("ATTRIB", 1), ("CIRCLE", 1), ("INSERT", 1), ("LINE", 1), ("POLYLINE", 1)]);
}

#[test]
fn the_layout_is_read_where_the_model_is_empty() {
    let line = "0|LINE|8|0|67|1|10|0|20|0|11|1|21|1";
    let document = Document::new(line).blocks(
        &[
            block("*Model_Space", ""),
            block("*Paper_Space", "0|CIRCLE|8|0|10|0|20|0|40|1"),
            block("*Paper_Space0", line),
        ]
        .join("|"),
    );
    let read = document.read();
    let mut kinds: Vec<&str> = read.drawing.census.keys().map(String::as_str).collect();
    kinds.sort_unstable();
    assert_eq!((kinds, read.drawing.items.len()), (vec!["CIRCLE", "LINE"], 2));
    assert_eq!((count(&read.issues, "DXF114"), read.drawing.other_sheets["LINE"]), (1, 1));
    // The frame of a sheet is no reason beside a model of solids.
    let solids = Document::new(&format!("{line}|0|3DSOLID|8|0|0|3DSOLID|8|0"));
    assert_eq!(count(&solids.read().issues, "DXF114"), 0);
}

#[test]
fn dimensions_and_tables_show_their_block() {
    let document = Document::new(
        "0|DIMENSION|8|DIM|2|*D1|10|5|20|5|12|1|22|2|70|32|0|ACAD_TABLE|8|T|100|AcDbBlockReference|2|*T1|10|7|20|8|100|AcDbTable|11|0|21|1|62|3|60|1|1|cell\
         |0|DIMENSION|8|DIM|2|*D9|10|0|20|0|0|DIMENSION|8|DIM|10|0|20|0",
    )
    .blocks(&[block("*D1", "0|POINT|8|0|10|1|20|1"), block("*T1", "0|POINT|8|0|10|1|20|1")].join("|"));
    let read = document.read();
    let text = outline(&read.drawing);
    let shown: Vec<&str> = text.lines().take(2).collect();
    assert_eq!(shown, ["DIMENSION [DIM] insert *D1 by (1 0 0 1 1 2)", "ACAD_TABLE [T] insert *T1 by (0 1 -1 0 7 8)"]);
    assert!(read.drawing.items.iter().all(|item| item.visible));
    assert_eq!((count(&read.issues, "DXF402"), read.drawing.unsupported["DIMENSION"]), (2, 2));
}

// R120
#[test]
fn dimensions_without_their_block_are_drawn_from_their_points() {
    let style = "0|TABLE|2|DIMSTYLE|70|1|0|DIMSTYLE|105|27|100|AcDbSymbolTableRecord|2|Iso|3|<> mm|40|2|140|2.5|144|10|271|2|179|1|0|ENDTAB";
    let drawn = |dimension: &str| {
        let read = Document::new(&format!("0|DIMENSION|8|D|3|ISO|2|*D7|{dimension}")).tables(style).read();
        assert_eq!((count(&read.issues, "DXF408"), read.drawing.census["DIMENSION"]), (1, 1));
        outline(&read.drawing).lines().map(|line| line.replacen("DIMENSION [D] ", "", 1)).collect::<Vec<_>>().join("; ")
    };
    for (what, dimension, expected) in [
        (
            "horizontal",
            "70|32|10|4|20|3|11|2|21|3.5|13|0|23|0|14|4|24|1|42|4",
            "line M(0,0) L(0,3) M(4,1) L(4,3) M(0,3) L(4,3); text \"40 mm\" at (2,3.5) turned 0",
        ),
        (
            "vertical, slanted, own text",
            "70|32|50|90|52|45|1|about <>|10|-2|20|9|13|0|23|0|14|0|24|4",
            "line M(0,0) L(-2,2) M(0,4) L(-2,6) M(-2,2) L(-2,6); text \"about 40 mm\" at (-2,4) turned 90",
        ),
        (
            "aligned, other text",
            "70|33|1|equal|10|3|20|5|13|0|23|0|14|3|24|4",
            "line M(0,0) L(-0.48,0.36) M(3,4) L(2.52,4.36) M(-0.48,0.36) L(2.52,4.36); text \"equal\" at (1.02,2.36) turned 53.130102",
        ),
        ("radius, no text", "70|36|1| |10|1|20|1|15|3|25|1", "line M(1,1) L(3,1)"),
        ("diameter", "70|35|10|5|20|1|15|1|25|1", "line M(5,1) L(1,1); text \"Ø40 mm\" at (3,1) turned 0"),
        (
            "angle by points",
            "70|37|15|0|25|0|13|1|23|0|14|0|24|1|10|2|20|2|42|1.5707963267948966",
            "line M(1,0) L(2.828427,0) M(0,1) L(0,2.828427) A(0,0) u(2.828427,0) v(0,2.828427) 0+90; text \"90°\" at (2,2) turned -45",
        ),
        (
            "ordinate along x",
            "70|102|10|1|20|1|13|4|23|2|14|4|24|6",
            "line M(4,2) L(4,6); text \"30 mm\" at (4,6) turned 90",
        ),
    ] {
        assert_eq!(drawn(dimension), expected, "{what}");
    }
    // Blocks may come in any order, also those that a dimension in a block shows.
    let nested = Document::new("0|INSERT|8|0|2|A|10|0|20|0").blocks(
        &[
            block("A", "0|DIMENSION|8|D|2|*D1|70|0|10|4|20|3|13|0|23|0|14|4|24|1"),
            block("*D1", "0|POINT|8|0|10|1|20|1"),
        ]
        .join("|"),
    );
    assert_eq!(count(&nested.read().issues, "DXF408"), 0);
    // A block that is there and draws nothing is no picture either.
    let blank = Document::new("0|DIMENSION|8|D|2|*D1|70|0|10|4|20|3|13|0|23|0|14|4|24|1")
        .blocks("0|BLOCK|8|0|2|*D1|70|1|10|0|20|0|0|ENDBLK");
    assert_eq!(blank.drawing().census["DIMENSION"], 1);
    assert!(outline(&blank.drawing()).starts_with("DIMENSION [D] line"));
}

#[test]
fn clips_hang_on_three_handles() {
    let identity = "40|1|40|0|40|0|40|0|40|0|40|1|40|0|40|0|40|0|40|0|40|1|40|0";
    let filter = |shown: u32| {
        format!(
            "0|DICTIONARY|5|E1|3|ACAD_FILTER|360|E2|0|DICTIONARY|5|E2|3|SPATIAL|360|E3\
             |0|SPATIAL_FILTER|5|E3|70|2|10|0|20|-1|10|5|20|1|210|0|220|0|230|1|11|0|21|0|31|0|71|{shown}|72|1|40|3.5|73|0|{identity}|{identity}"
        )
    };
    let insert = "0|INSERT|8|0|102|{ACAD_XDICTIONARY|360|E1|102|}|2|B|10|0|20|0";
    let drawing = Document::new(insert).objects(&filter(1)).drawing();
    let clip = drawing.clip(drawing.inserts[0].clip.unwrap()).unwrap();
    let ring: Vec<String> = clip.rings[0].iter().map(|point| shown(*point)).collect();
    assert_eq!(ring, ["(0,-1)", "(5,-1)", "(5,1)", "(0,1)"]);
    assert!(Document::new(insert).objects(&filter(0)).drawing().inserts[0].clip.is_none());
}

#[test]
fn other_drawings_are_joined_under_their_name() {
    let inner = Document::new("0|LINE|8|WALL|10|0|20|0|11|1|21|0|0|INSERT|8|0|2|DOOR|66|1|10|1|20|1|0|ATTRIB|8|WALL|10|1|20|1|40|1|1|7|2|NUMBER|70|0|0|SEQEND|0|HATCH|8|AREA|2|ANSI31|70|0|91|1|92|2|72|0|73|1|93|3|10|0|20|0|10|4|20|0|10|4|20|4|97|0|75|0|76|1|98|0|0|SPLINE|8|0|70|8|71|1|72|4|73|2|40|0|40|0|40|1|40|1|10|0|20|0|10|5|20|0")
        .blocks(&block("DOOR", "0|CIRCLE|8|0|10|0|20|0|40|0.5"));
    let host = Document::new(
        "0|SPLINE|8|0|70|8|71|1|72|4|73|2|40|0|40|0|40|1|40|1|10|7|20|7|10|8|20|8|0|INSERT|8|0|2|GRID|10|100|20|0",
    )
    .blocks("0|BLOCK|8|0|2|GRID|70|4|10|0|20|0|1|.\\refs\\grid.dxf|0|ENDBLK|8|0");
    let bytes = inner.bytes();
    let options = ReadOptions {
        external: Some(std::rc::Rc::new(move |path: &str| (path == ".\\refs\\grid.dxf").then(|| bytes.clone()))),
        ..ReadOptions::default()
    };
    let read = read_with(&host.bytes(), &options).unwrap();
    let expected = "SPLINE [0] line S1/2
        INSERT [0] insert GRID by (1 0 0 1 100 0)
        block GRID at (0,0)
          LINE [GRID|WALL] line M(0,0) L(1,0)
          INSERT [0] insert GRID|DOOR by (1 0 0 1 1 1) NUMBER=\"7\"
          HATCH [GRID|AREA] area M(0,0) L(4,0) L(4,4) Z
          SPLINE [0] line S1/2
        block GRID|DOOR at (0,0)
          CIRCLE [0] line A(0,0) u(0.5,0) v(0,0.5) 0+360 Z";
    let found = outline(&read.drawing);
    assert_eq!(found.lines().map(str::trim).collect::<Vec<_>>(), expected.lines().map(str::trim).collect::<Vec<_>>());
    // The second spline is the inner one.
    let spline = read.drawing.blocks[0].items[3];
    let Geometry::Line(path) = spline.geometry else { panic!("{spline:?}") };
    assert!(
        matches!(read.drawing.paths.segments(path).next(), Some(Segment::Spline(spline)) if spline.control[1].x == 5.0)
    );
    // Without a place to look, or without the file, it is reported.
    let unresolved = host.read();
    assert_eq!(count(&unresolved.issues, "DXF403"), 1);
}

#[test]
fn references_that_lead_back_to_themselves_end() {
    let own = Document::new("0|INSERT|8|0|2|SELF|10|0|20|0")
        .blocks("0|BLOCK|8|0|2|SELF|70|4|10|0|20|0|1|self.dxf|0|ENDBLK|8|0");
    let bytes = own.bytes();
    let options =
        ReadOptions { external: Some(std::rc::Rc::new(move |_: &str| Some(bytes.clone()))), ..ReadOptions::default() };
    let read = read_with(&own.bytes(), &options).unwrap();
    assert_eq!(count(&read.issues, "DXF403"), 1);
}

#[test]
fn georeferences_are_read() {
    let drawing = Document::new(&line(0.0, 0.0, 1.0, 0.0))
        .objects("0|GEODATA|5|A|90|3|70|2|10|100|20|200|30|0|11|500000|21|5200000|31|0|40|1|91|6|41|1|92|6|210|0|220|0|230|1|12|0|22|1|95|1|303|<xml>first |301|second</xml>|302||93|1|10|9|20|9")
        .drawing();
    let reference = drawing.georeference.unwrap();
    assert_eq!(reference.system, "<xml>first second</xml>");
    assert_eq!(reference.design_point, Point::new(100.0, 200.0));
    assert_eq!(reference.reference_point, Point::new(500_000.0, 5_200_000.0));
}

/// The picture of an entity of another program: an outline of 4 x 0.2, a filled square and a text, as hexadecimal.
fn picture() -> String {
    let reals = |values: &[f64]| values.iter().flat_map(|value| value.to_le_bytes()).collect::<Vec<u8>>();
    let points = |points: &[[f64; 2]]| {
        let mut data = (points.len() as u32).to_le_bytes().to_vec();
        points.iter().for_each(|[x, y]| data.extend(reals(&[*x, *y, 0.0])));
        data
    };
    let circle = reals(&[1.0, 2.0, 0.0, 0.5, 0.0, 0.0, 1.0]);
    let mut chunks = Vec::new();
    let wall = points(&[[0.0, 0.0], [4.0, 0.0], [4.0, 0.2], [0.0, 0.2]]);
    for (kind, data) in [(7u32, wall), (2, circle)] {
        chunks.extend((8 + data.len() as u32).to_le_bytes());
        chunks.extend(kind.to_le_bytes());
        chunks.extend(data);
    }
    let mut bytes = (8 + chunks.len() as u32).to_le_bytes().to_vec();
    bytes.extend(2u32.to_le_bytes());
    bytes.extend(chunks);
    bytes.iter().map(|byte| format!("{byte:02X}")).collect()
}

/// Walls of AutoCAD Architecture and proxies are shown by the picture saved with them; a broken picture is none.
#[test]
fn entities_of_other_programs_are_shown_by_their_picture() {
    let picture = picture();
    let (first, second) = picture.split_at(126);
    let length = picture.len() / 2;
    for record in [
        format!(
            "0|AEC_WALL|5|A1|100|AcDbEntity|8|WALL|160|{length}|310|{first}|310|{second}|100|AecDbWall|90|3|310|FFFF"
        ),
        format!(
            "0|ACAD_PROXY_ENTITY|5|A1|100|AcDbEntity|8|WALL|100|AcDbProxyEntity|90|498|91|500|92|{length}|310|{first}|310|{second}|93|2|310|FFFF"
        ),
    ] {
        let read = Document::new(&record).read();
        let kind = record.split('|').nth(1).unwrap();
        assert_eq!((count(&read.issues, "DXF409"), read.drawing.census[kind]), (1, 1), "{record}");
        assert_eq!(read.drawing.items.len(), 2, "{record}");
        assert!(outline(&read.drawing).starts_with(&format!("{kind} [WALL]")), "{}", outline(&read.drawing));
        assert!(read.drawing.unsupported.is_empty());

        for broken in
            [record.replacen(second, "", 1), record.replacen(first, "ZZ", 1), record.replace("|310|", "|311|")]
        {
            let read = Document::new(&broken).read();
            assert_eq!((read.drawing.items.len(), read.drawing.unsupported[kind]), (0, 1), "{broken}");
        }
    }
}
