//! How the pairs are framed must not matter: every damaged form reads as the sound one, and says what was odd.

use super::*;

/// The drawing of the sound document, and what a damaged one reads as.
#[track_caller]
fn assert_same(damaged: &Bytes, code: &str) -> Issues {
    let sound = sample().drawing();
    let read = read(damaged);
    assert_eq!(outline(&read.drawing), outline(&sound));
    assert_eq!(read.drawing.census, sound.census);
    assert!(code.is_empty() || count(&read.issues, code) > 0, "{code} is not among {:?}", codes(&read.issues));
    read.issues
}

#[test]
fn a_sound_document_has_no_issues_of_framing() {
    let issues = assert_same(&sample().bytes(), "");
    assert!(codes(&issues).iter().all(|code| !code.starts_with("DXF1")), "{:?}", codes(&issues));
}

#[test]
fn line_ends_and_paddings_of_all_kinds() {
    let text = sample().text();
    let returns = text.replace('\n', "\r\n");
    assert_same(&returns.into(), "");
    assert_same(&text.replace('\n', "\r").into(), "DXF111");
    assert_same(&format!("\u{FEFF}{text}").into(), "DXF111");
    let padded: String = text
        .lines()
        .enumerate()
        .map(|(index, line)| if index % 2 == 0 { format!("      {} \n", line.trim()) } else { format!("{line}\n") })
        .collect();
    assert_same(&padded.into(), "");
    let unpadded: String = text.lines().map(|line| format!("{}\n", line.trim())).collect();
    assert_same(&unpadded.into(), "");
}

#[test]
fn comments_anywhere() {
    let text = sample().text();
    let commented = text.replace("  0\n", "999\nwritten by a test\n  0\n");
    assert_same(&commented.into(), "");
}

#[test]
fn missing_ends_of_document_section_and_header() {
    let text = sample().text();
    assert_same(&text.replace("  0\nEOF\n", "").into(), "DXF102");
    assert_same(&text.replace("  0\nENDSEC\n", "").into(), "DXF104");
    assert_same(&text.replace("  0\nENDBLK\n  8\n0\n", "").into(), "DXF104");
    assert_same(&format!("{text}\n\n  trash beyond the end\n123\n").into(), "DXF107");
    assert_same(&format!("{text}\n\n   \n\x1a").into(), "");
    let document = Document { header: String::new(), ..sample() };
    assert_eq!(outline(&document.drawing()), outline(&sample().drawing()));
}

#[test]
fn names_in_lower_case_or_padded_with_blanks() {
    let text = sample().text();
    let lower = text.replace("\nENTITIES\n", "\nentities\n").replace("\nSECTION\n", "\nsection\n");
    assert_same(&lower.into(), "DXF109");
    let padded = text.replace("\nLINE\n", "\nLINE   \n").replace("\nENTITIES\n", "\nENTITIES  \n");
    assert_same(&padded.into(), "");
    let entity = text.replace("\nCIRCLE\n", "\nCircle\n");
    let read = read(&entity.into());
    assert_eq!(count(&read.issues, "DXF109"), 1);
    assert_eq!(read.drawing.census.values().sum::<u64>(), sample().drawing().census.values().sum::<u64>());
}

#[test]
fn a_document_cut_off_keeps_what_came_before() {
    let text = sample().text();
    for cut in (0..text.len()).step_by(7).filter(|cut| text.is_char_boundary(*cut)) {
        match read_with(&Bytes::from(text[..cut].to_owned()), &ReadOptions::default()) {
            Ok(read) => {
                let ended = ["DXF102", "DXF103"].iter().any(|code| count(&read.issues, code) > 0);
                assert!(ended || cut > text.len() - 5, "cut at {cut} went unnoticed: {:?}", codes(&read.issues));
            }
            Err(error) => assert!(matches!(error, ReadError::Empty | ReadError::Malformed { .. }), "{error}"),
        }
    }
    let half = Document::new(&[line(0.0, 0.0, 1.0, 0.0), line(5.0, 5.0, 6.0, 5.0)].join("|")).text();
    let cut = half.rfind(" 21\n").unwrap() + 4;
    let read = read(&Bytes::from(half[..cut].to_owned()));
    assert_eq!(read.drawing.census["LINE"], 2);
    assert_eq!(count(&read.issues, "DXF103"), 1);
}

#[test]
fn lines_that_are_no_code_are_skipped_and_named() {
    let text = sample().text().replace("\n101\n", "\n101\nsecond line of the text\n");
    let issues = assert_same(&text.clone().into(), "DXF101");
    let expected = text.lines().position(|line| line.starts_with("second line")).unwrap() as u64 + 1;
    assert_eq!(first_place(&issues, "DXF101"), Some(Place::Line { line: expected }));
}

#[test]
fn numbers_with_commas_blanks_and_nonsense() {
    let document = Document::new("0|LINE|8|0|10|1,5|20|0|11|1.0E 1|21|2|0|LINE|8|0|10|1.#QNAN|20|0|11|1|21|2");
    let read = document.read();
    assert_eq!(outline(&read.drawing), "LINE [0] line M(1.5,0) L(10,2)\n");
    assert_eq!(
        (count(&read.issues, "DXF105"), count(&read.issues, "DXF106"), count(&read.issues, "DXF301")),
        (2, 1, 1)
    );
    assert_eq!(read.drawing.unsupported["LINE"], 1);
}

#[test]
fn unknown_codes_subclass_marks_and_extended_data_change_nothing() {
    let document = Document::new(
        "0|LINE|5|A1|330|1F|100|AcDbEntity|8|0|5555|what|-7|x|100|AcDbLine|10|0|20|0|11|1|21|0|\
         102|{ACAD_REACTORS|330|10|10|99|102|}|1001|ACAD|1010|5|1020|6|1030|7|1040|8",
    );
    assert_outline(&document, "LINE [0] line M(0,0) L(1,0)");
    // A group that never ends must not swallow the entity.
    let open = Document::new("0|LINE|102|{APP|330|10|100|AcDbEntity|8|0|10|0|20|0|11|1|21|0");
    assert_outline(&open, "LINE [0] line M(0,0) L(1,0)");
}

// R120
#[test]
fn binary_documents_read_as_text_ones() {
    let text = sample().text();
    for long in [false, true] {
        let data = binary(&text, long);
        // The strings are UTF-8 in a version that should not have it, which a binary file cannot prove as a whole.
        assert_same(&data, "");
        let cut = data.slice(..data.len() / 2);
        let read = read(&cut);
        assert!(!read.drawing.items.is_empty() || !read.drawing.blocks.is_empty());
        assert_eq!(count(&read.issues, "DXF103"), 1);
    }
}

#[test]
fn gzipped_documents_are_unpacked_within_the_limit() {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    std::io::Write::write_all(&mut encoder, sample().text().as_bytes()).unwrap();
    let packed = Bytes::from(encoder.finish().unwrap());
    assert_same(&packed, "");
    let options =
        ReadOptions { limits: Limits { decompressed_bytes: 100, ..Limits::default() }, ..ReadOptions::default() };
    let error = read_with(&packed, &options).unwrap_err();
    assert_eq!(error.to_string(), "unpacked size exceeds `limits.decompressed_bytes` = 100");
    // A damaged end is a document cut off.
    let read = read(&packed.slice(..packed.len() - 40));
    assert!(read.issues.iter().any(|(id, _)| id == "DXF103" || id == "DXF102"));
}

#[test]
fn entities_without_any_section_are_read() {
    let bare = format!("{}  0\nEOF\n", pairs(&line(0.0, 0.0, 1.0, 0.0)));
    let read = read(&bare.into());
    assert_eq!(read.drawing.census["LINE"], 1);
    assert_eq!(count(&read.issues, "DXF108"), 1);
}

#[test]
fn what_is_no_dxf_is_refused_with_a_reason() {
    for (data, words) in [
        (&b"<svg xmlns='http://www.w3.org/2000/svg'/>"[..], "no section found"),
        (b"AC1027\0\0\0\0\0\0\0\0\0\0", "rename it to .dwg"),
        (b"   \n\n", "empty"),
        (b"", "empty"),
        (b"\x1f\x8b\x08\x00broken", "gzip"),
    ] {
        let error = read_with(&Bytes::from_static(data), &ReadOptions::default()).unwrap_err();
        assert!(error.to_string().contains(words), "{error}");
    }
}

#[test]
fn strict_reading_refuses_what_was_repaired() {
    let strict = ReadOptions { strict: true, ..ReadOptions::default() };
    assert!(read_with(&sample().bytes(), &strict).is_ok());
    let text = sample().text();
    for (damaged, words) in [
        (text.replace("  0\nEOF\n", ""), "DXF102"),
        (text.replace("\n101\n", "\n101\nsecond\n"), "DXF101 at line"),
        (text.replace("\n0.25\n", "\n0,25\n"), "`0,25` was read as 0.25"),
    ] {
        let error = read_with(&damaged.into(), &strict).unwrap_err();
        assert!(error.to_string().contains(words), "{error}");
    }
}

#[test]
fn the_checkpoint_ends_reading() {
    let many = vec![line(0.0, 0.0, 1.0, 0.0); 1000].join("|");
    let result = dxf::read(&Document::new(&many).bytes(), &ReadOptions::default(), &|| {
        Err(plan2geo::format::Interrupt::Deadline)
    });
    assert!(matches!(result, Err(ReadError::Interrupted(_))));
}

#[test]
fn the_checkpoint_ends_reading_within_a_record() {
    let endless = format!("0|LWPOLYLINE|8|0|70|0{}", "|10|1|20|2".repeat(50_000));
    let passed_over = format!("0|OLE2FRAME|8|0{}", "|310|00FF".repeat(100_000));
    for entity in [endless, passed_over] {
        let bytes = Document::new(&entity).bytes();
        assert!(read_with(&bytes, &ReadOptions::default()).is_ok());
        let result = dxf::read(&bytes, &ReadOptions::default(), &|| Err(plan2geo::format::Interrupt::Deadline));
        assert!(matches!(result, Err(ReadError::Interrupted(_))));
    }
}

#[test]
fn limits_name_their_number() {
    let limits = |change: fn(&mut Limits)| {
        let mut limits = Limits::default();
        change(&mut limits);
        ReadOptions { limits, ..ReadOptions::default() }
    };
    let lines = Document::new(&vec![line(0.0, 0.0, 1.0, 0.0); 20].join("|")).bytes();
    let texts = Document::new(&format!("0|TEXT|8|0|10|0|20|0|40|1|1|{}", "x".repeat(5000))).bytes();
    let chunks = Document::new(&format!("0|MTEXT|8|0|10|0|20|0|40|1{}", "|3|xxxxxxxxxx".repeat(500))).bytes();
    let array = Document::new("0|INSERT|8|0|2|B|70|32767|71|32767|44|1|45|1").bytes();
    for (bytes, options, words) in [
        (&lines, limits(|limits| limits.entities = 10), "`limits.entities` = 10"),
        (&lines, limits(|limits| limits.vertices = 10), "`limits.vertices` = 10"),
        (&texts, limits(|limits| limits.string_bytes = 1000), "`limits.string_bytes` = 1000"),
        (&chunks, limits(|limits| limits.string_bytes = 1000), "`limits.string_bytes` = 1000"),
        (&array, ReadOptions::default(), "array of 32767 × 32767 block references"),
    ] {
        let error = read_with(bytes, &options).unwrap_err();
        assert!(error.to_string().contains(words), "{error}");
        assert_eq!(error.kind(), "limit");
    }
}

#[test]
fn a_million_bad_values_cost_flat_memory_and_linear_time() {
    let bad = "0|LINE|8|0|10|x|20|y|11|z|21|w|".repeat(20_000);
    let read = Document::new(bad.trim_end_matches('|')).read();
    assert_eq!(count(&read.issues, "DXF106"), 80_000);
    assert_eq!(read.drawing.unsupported["LINE"], 20_000);
}

// R120
#[test]
fn wide_characters_read_as_narrow_ones() {
    let text = sample().text();
    for unit in [u16::to_le_bytes, u16::to_be_bytes] {
        for mark in ["", "\u{FEFF}"] {
            let wide: Vec<u8> = mark.encode_utf16().chain(text.encode_utf16()).flat_map(unit).collect();
            assert_same(&wide.into(), "DXF111");
        }
    }
}

// R120
#[test]
fn line_ends_of_several_kinds_in_one_document() {
    let sample = sample().text().replace("\n101\n", "\n101\nmore\n");
    let mut text = String::new();
    for (index, line) in sample.lines().enumerate() {
        text.push_str(line);
        text.push_str(["\r", "\n", "\r\n"][index % 3]);
    }
    let issues = assert_same(&text.into(), "DXF111");
    let expected = sample.lines().position(|line| line == "more").unwrap() as u64 + 1;
    assert_eq!(first_place(&issues, "DXF101"), Some(Place::Line { line: expected }));
}

// R120
#[test]
fn binary_marks_damaged_by_a_transfer() {
    for long in [false, true] {
        let sound = binary(&sample().text(), long);
        let content = &sound[22..];
        for mark in [&b"AutoCAD Binary DXF\n\x1a\0"[..], b"AutoCAD Binary DXF\r\r\n\x1a\0", b"AutoCAD binary DXF\r\n"] {
            assert_same(&[mark, content].concat().into(), "DXF112");
        }
    }
}

// R120
#[test]
fn table_and_object_names_in_any_case() {
    let lower = sample().text().replace("\nLAYER\n", "\nlayer\n").replace("\nTABLE\n", "\ntable\n");
    let drawing = read(&lower.into()).drawing;
    assert!(drawing.layers.iter().any(|layer| drawing.string(layer.name) == "HIDDEN" && layer.frozen));
}

// R120
#[test]
fn drawings_from_before_sections() {
    let text = "EXTENTS,1\n0.0,8.0,0.0,8.0\nLAYERC,1\n0,15,255\n255,255\nPOINT,1\n1.0,2.0\nLINE,2\n2,3,3,4\n\
                ARC,1\n5,5,1,270,0\nCIRCLE,1\n3,1,1\nTEXT,1\n1,4,0.75,90\nFOO\nSOLID,1\n7,1,8,2\n7,3,8,4\n\
                REPEAT,1\nPOINT,1\n1,7\nENDREP,1\n3,2,1,1.5\nBLOCK,1\n6,1\nDESK\nLINE,1\n6,1,7,2\nENDBLK,1\n\
                INSERT,1\n6,1,0.5,0.5,0\nDESK\nLOAD,1\nES\nSHAPE,1\n6,6,1,30,131\n\x1a,255\n";
    let read = read(&text.replace('\n', "\r\n").into());
    let expected = [
        "POINT [1] point (1,2)",
        "LINE [2] line M(2,3) L(3,4)",
        "ARC [1] line A(5,5) u(1,0) v(0,1) 270+90",
        "CIRCLE [1] line A(3,1) u(1,0) v(0,1) 0+360 Z",
        "TEXT [1] text \"FOO\" at (1,4) turned 90",
        "SOLID [1] area M(7,1) L(8,2) L(8,4) L(7,3) Z",
        "INSERT [1] insert *REPEAT1 by (1 0 0 1 0 0) 3 × 2 steps (1,0) (0,1.5)",
        "INSERT [1] insert DESK by (0.5 0 0 0.5 6 1)",
        "block *REPEAT1 at (0,0)",
        "  POINT [1] point (1,7)",
        "block DESK at (6,1)",
        "  LINE [1] line M(6,1) L(7,2)",
    ];
    assert_eq!(outline(&read.drawing).lines().collect::<Vec<_>>(), expected);
    assert_eq!(read.drawing.unsupported["SHAPE"], 1);
    assert_eq!(count(&read.issues, "DXF113"), 1);
    assert_eq!(read.drawing.version.as_deref(), Some("AC1.40"));
}
