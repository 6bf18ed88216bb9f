//! Characters: code pages, escapes, and the texts of TEXT, MTEXT and attributes.

use super::*;

/// The text of a document whose bytes are not UTF-8.
fn text_of(header: &str, value: &[u8]) -> (String, Issues) {
    let mut data =
        Document { header: pairs(header), ..Document::new("") }.text().replace("  0\nEOF\n", "").into_bytes();
    data.extend(b"  0\nSECTION\n  2\nENTITIES\n  0\nTEXT\n  8\n0\n 10\n0\n 20\n0\n 40\n1\n  1\n");
    data.extend(value);
    data.extend(b"\n  0\nENDSEC\n  0\nEOF\n");
    let read = read(&data.into());
    (read.drawing.texts[0].value.clone(), read.issues)
}

// R140
#[test]
fn every_code_page_of_autocad() {
    for (page, value, expected) in [
        ("ANSI_1252", &b"Rep\xe8re"[..], "Repère"),
        ("ANSI_1251", b"\xca\xf3\xf5\xed\xff", "Кухня"),
        ("ANSI_936", b"\xb3\xf8\xb7\xbf", "厨房"),
        ("ANSI_932", b"\x91\xe4\x8f\x8a", "台所"),
        ("ANSI_949", b"\xb9\xe6", "방"),
        ("ANSI_950", b"\xbc\x70\xa9\xd0", "廚房"),
        ("DOS850", b"K\x81che", "Küche"),
        ("dos437", b"20\xf8", "20°"),
        ("ANSI_1250", b"\x8cciana", "Ściana"),
        ("ANSI_1253", b"\xca\xef\xf5", "Κου"),
        ("ANSI_874", b"\xcb\xe9", "ห้"),
    ] {
        let (text, issues) = text_of(&format!("9|$ACADVER|1|AC1015|9|$DWGCODEPAGE|3|{page}"), value);
        assert_eq!(text, expected, "{page}");
        assert!(codes(&issues).iter().all(|code| !code.starts_with("DXF2")), "{page}: {:?}", codes(&issues));
    }
}

#[test]
fn utf8_where_it_should_be_and_where_it_should_not() {
    let (text, issues) = text_of("9|$ACADVER|1|AC1021|9|$DWGCODEPAGE|3|ANSI_1252", "Кухня".as_bytes());
    assert_eq!((text.as_str(), count(&issues, "DXF201")), ("Кухня", 0));
    let (text, issues) = text_of("9|$ACADVER|1|AC1015|9|$DWGCODEPAGE|3|ANSI_1251", "Кухня".as_bytes());
    assert_eq!((text.as_str(), count(&issues, "DXF201")), ("Кухня", 1));
    let (text, issues) = text_of("9|$ACADVER|1|AC1027|9|$DWGCODEPAGE|3|ANSI_1251", b"\xca\xf3\xf5\xed\xff");
    assert_eq!((text.as_str(), count(&issues, "DXF202")), ("Кухня", 1));
    let (text, issues) = text_of("9|$ACADVER|1|AC1009", b"caf\xe9");
    assert_eq!((text.as_str(), count(&issues, "DXF204")), ("café", 1));
    let (text, issues) = text_of("9|$ACADVER|1|AC1015|9|$DWGCODEPAGE|3|ANSI_4711", b"caf\xe9");
    assert_eq!((text.as_str(), count(&issues, "DXF203")), ("café", 1));
}

#[test]
fn a_stated_encoding_wins() {
    let mut data = Document::new("").text().replace("  0\nEOF\n", "").into_bytes();
    data.extend(b"  0\nSECTION\n  2\nENTITIES\n  0\nTEXT\n  8\n\x8d\x90\n  1\n\x91\xe4\n  0\nENDSEC\n  0\nEOF\n");
    let options = ReadOptions { encoding: Some("shift_jis".to_owned()), ..ReadOptions::default() };
    let drawing = read_with(&data.into(), &options).unwrap().drawing;
    assert_eq!(drawing.texts[0].value, "台");
    assert_eq!(drawing.layer_name(drawing.items[0].layer), "告");
}

#[test]
fn layers_and_blocks_differ_by_more_than_case() {
    let document = Document::new(
        "0|POINT|8|Wall|10|0|20|0|0|POINT|8|WALL|10|1|20|0|0|POINT|8|wänd|10|1|20|0|0|POINT|8|WÄND|10|1|20|0",
    )
    .tables("0|TABLE|2|LAYER|70|1|0|LAYER|2|WALL|70|0|62|1|0|ENDTAB");
    let read = document.read();
    let names: Vec<&str> = read.drawing.layers.iter().map(|layer| read.drawing.string(layer.name)).collect();
    assert_eq!(names, ["WALL", "wänd"]);
    assert_eq!(read.drawing.items[0].layer, read.drawing.items[1].layer);
    assert_eq!(count(&read.issues, "DXF406"), 1);
}

#[test]
fn chunks_are_joined_before_they_are_decoded() {
    // The escape is split between two chunks, and so is a formatting code.
    let document = Document::new("0|MTEXT|8|0|10|1|20|2|40|1|3|B\\U+0|3|0FCro \\|1|P101");
    assert_eq!(document.drawing().texts[0].value, "Büro \n101");
}

#[test]
fn embedded_objects_do_not_overwrite() {
    let document = Document::new(
        "0|MTEXT|8|0|10|1|20|2|40|0.5|71|5|1|kept|101|Embedded Object|70|1|10|9|20|9|11|0|21|5|40|7|1|not this",
    );
    let drawing = document.drawing();
    let text = &drawing.texts[0];
    assert_eq!((text.value.as_str(), text.at, text.height), ("kept", Point::new(1.0, 2.0), 0.5));
    assert_eq!((text.horizontal, text.vertical), (HorizontalAlign::Centre, VerticalAlign::Middle));
}

#[test]
fn attributes_of_several_lines() {
    let document = Document::new(
        "0|INSERT|8|0|2|B|66|1|10|0|20|0\
         |0|ATTRIB|8|0|10|3|20|4|40|0.2|1|first|2|NAME|70|0|101|Embedded Object|10|9|20|9|40|7|3|first\\P|1|second\
         |0|ATTRIB|8|0|10|3|20|4|40|0.2|1|one|2|NOTE|70|0|0|MTEXT|8|0|10|3|20|4|40|0.2|1|one\\Ptwo|0|SEQEND",
    );
    assert_outline(&document, r#"INSERT [0] insert B by (1 0 0 1 0 0) NAME="first\nsecond" NOTE="one\ntwo""#);
    assert_eq!(document.drawing().texts[0].at, Point::new(3.0, 4.0));
}

#[test]
fn alignment_decides_the_insertion_point() {
    let text = |more: &str| format!("0|TEXT|8|0|10|1|20|1|40|1|1|a|{more}");
    for (more, at, direction, horizontal, vertical) in [
        ("50|30", (1.0, 1.0), 30.0, HorizontalAlign::Left, VerticalAlign::Baseline),
        ("72|1|11|5|21|6", (5.0, 6.0), 0.0, HorizontalAlign::Centre, VerticalAlign::Baseline),
        ("72|2|73|3|11|5|21|6", (5.0, 6.0), 0.0, HorizontalAlign::Right, VerticalAlign::Top),
        ("72|4|11|5|21|6", (5.0, 6.0), 0.0, HorizontalAlign::Centre, VerticalAlign::Middle),
        ("72|0|73|1|11|5|21|6", (5.0, 6.0), 0.0, HorizontalAlign::Left, VerticalAlign::Bottom),
        ("72|3|11|5|21|5|50|0", (1.0, 1.0), 45.0, HorizontalAlign::Left, VerticalAlign::Baseline),
        ("72|1", (1.0, 1.0), 0.0, HorizontalAlign::Left, VerticalAlign::Baseline),
        ("50|90|210|0|220|0|230|-1", (-1.0, 1.0), 90.0, HorizontalAlign::Left, VerticalAlign::Baseline),
    ] {
        let drawing = Document::new(&text(more)).drawing();
        let text = &drawing.texts[0];
        assert_eq!((text.at.x, text.at.y), at, "{more}");
        let angle = text.direction.y.atan2(text.direction.x).to_degrees();
        assert!((angle - direction).abs() < 1e-9, "{more}: {angle}");
        assert_eq!((text.horizontal, text.vertical), (horizontal, vertical), "{more}");
    }
}

#[test]
fn the_last_of_axis_and_angle_turns_an_mtext() {
    for (more, expected) in [("50|30|11|0|21|2", 90.0), ("11|0|21|2|50|30", 30.0), ("71|1", 0.0)] {
        let drawing = Document::new(&format!("0|MTEXT|8|0|10|0|20|0|40|1|1|a|{more}")).drawing();
        let direction = drawing.texts[0].direction;
        assert!((direction.y.atan2(direction.x).to_degrees() - expected).abs() < 1e-9, "{more}");
    }
}

#[test]
fn templates_are_not_drawn_in_blocks_but_constants_are() {
    let blocks = "0|BLOCK|2|B|10|0|20|0|0|ATTDEF|8|0|10|0|20|0|40|1|1|XXX|2|NUMBER|3|Number?|70|0\
                  |0|ATTDEF|8|0|10|0|20|1|40|1|1|Made here|2|MAKER|70|2|0|ENDBLK";
    let document = Document::new("0|ATTDEF|8|0|10|5|20|5|40|1|1|XXX|2|NUMBER|3|Number?|70|0").blocks(blocks);
    assert_outline(
        &document,
        r#"ATTDEF [0] text "NUMBER" at (5,5) turned 0
           block B at (0,0)
             ATTDEF [0] text "Made here" at (0,1) turned 0"#,
    );
    assert_eq!(document.drawing().census["ATTDEF"], 3);
}

#[test]
fn attributes_without_announcement_or_reference() {
    let document = Document::new(
        "0|INSERT|8|0|2|B|10|0|20|0|0|ATTRIB|8|A|10|1|20|1|40|1|1|101|2|NUMBER|70|0|0|SEQEND|8|0\
         |0|LINE|8|0|10|0|20|0|11|1|21|0|0|ATTRIB|8|A|10|2|20|2|40|1|1|102|2|NUMBER|70|1",
    );
    let read = document.read();
    assert_eq!(
        outline(&read.drawing),
        "INSERT [0] insert B by (1 0 0 1 0 0) NUMBER=\"101\"\nLINE [0] line M(0,0) L(1,0)\nATTRIB [A] text \"102\" at (2,2) turned 0\n"
    );
    assert!(!read.drawing.items[2].visible);
    assert_eq!(count(&read.issues, "DXF404"), 1);
}

#[test]
fn feature_control_frames_are_texts() {
    let document = Document::new("0|TOLERANCE|8|0|3|Standard|10|1|20|2|11|0|21|1|1|{\\Fgdt;j}%%v0.05%%vA");
    assert_outline(&document, r#"TOLERANCE [0] text "j | 0.05 | A" at (1,2) turned 90"#);
}
