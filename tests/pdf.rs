//! The PDF reader: pages written by hand below, each for one property.

use std::cell::Cell;
use std::fmt::Write as _;

use bytes::Bytes;
use plan2geo::drawing::{Drawing, Geometry, Item, Point, Segment, SourceFormat};
use plan2geo::format::pdf::count_pages;
use plan2geo::format::{Interrupt, Limits, Read, ReadError, ReadOptions, Readers};

/// Writes documents: objects, a cross-reference table, a trailer.
pub(super) struct Document {
    objects: Vec<Vec<u8>>,
    pub(super) catalog: String,
}

impl Document {
    /// Objects 1 (catalog) and 2 (page tree) are written by [`Document::bytes`].
    pub(super) fn new() -> Self {
        Self { objects: Vec::new(), catalog: String::new() }
    }

    /// Adds an object; gives its number.
    pub(super) fn object(&mut self, body: impl AsRef<[u8]>) -> usize {
        self.objects.push(body.as_ref().to_vec());
        self.objects.len() + 2
    }

    pub(super) fn stream(&mut self, dict: &str, data: impl AsRef<[u8]>) -> usize {
        let data = data.as_ref();
        let mut body = format!("<< {dict} /Length {} >>\nstream\n", data.len()).into_bytes();
        body.extend_from_slice(data);
        body.extend_from_slice(b"\nendstream");
        self.object(body)
    }

    /// The bytes, with these page dictionaries (their content between `<<` and `>>`).
    pub(super) fn bytes(mut self, pages: &[String]) -> Bytes {
        let numbers: Vec<usize> =
            pages.iter().map(|page| self.object(format!("<< /Type /Page /Parent 2 0 R {page} >>"))).collect();
        let kids: String = numbers.iter().map(|number| format!("{number} 0 R ")).collect();
        let mut bytes = b"%PDF-1.7\n".to_vec();
        let mut all = vec![
            format!("<< /Type /Catalog /Pages 2 0 R {} >>", self.catalog).into_bytes(),
            format!("<< /Type /Pages /Kids [{kids}] /Count {} >>", numbers.len()).into_bytes(),
        ];
        all.append(&mut self.objects);
        let mut table = format!("xref\n0 {}\n0000000000 65535 f \n", all.len() + 1);
        for (index, object) in all.iter().enumerate() {
            writeln!(table, "{:010} 00000 n ", bytes.len()).unwrap();
            bytes.extend_from_slice(format!("{} 0 obj\n", index + 1).as_bytes());
            bytes.extend_from_slice(object);
            bytes.extend_from_slice(b"\nendobj\n");
        }
        let start = bytes.len();
        bytes.extend_from_slice(table.as_bytes());
        bytes.extend_from_slice(
            format!("trailer << /Size {} /Root 1 0 R >>\nstartxref\n{start}\n%%EOF\n", all.len() + 1).as_bytes(),
        );
        bytes.into()
    }
}

pub(crate) const FONT: &str = "/Font << /F << /Type /Font /Subtype /Type1 /BaseFont /Helvetica >> >>";

/// A page of 200 × 400 points with this content and these entries beside.
fn page(content: &str, entries: &str) -> Bytes {
    let mut document = Document::new();
    let content = document.stream("", content);
    document.bytes(&[format!("/MediaBox [0 0 200 400] /Contents {content} 0 R {entries}")])
}

fn read_with(bytes: &Bytes, page: u32, options: &ReadOptions) -> Result<Read, ReadError> {
    Readers::default().read(SourceFormat::Pdf, "test", bytes, page, options, &|| Ok(()))
}

fn read(bytes: &Bytes) -> Read {
    read_with(bytes, 1, &ReadOptions::default()).unwrap()
}

fn points(drawing: &Drawing, item: &Item) -> Vec<(f64, f64)> {
    let path = match item.geometry {
        Geometry::Line(path) | Geometry::Area(path, _) => path,
        _ => return Vec::new(),
    };
    let round = |point: Point| ((point.x * 1e4).round() / 1e4 + 0.0, (point.y * 1e4).round() / 1e4 + 0.0);
    drawing
        .paths
        .segments(path)
        .filter_map(|segment| match segment {
            Segment::Move(to) | Segment::Line(to) | Segment::Cubic(_, _, to) => Some(round(to)),
            _ => None,
        })
        .collect()
}

fn shapes(read: &Read) -> Vec<Vec<(f64, f64)>> {
    read.drawing.items.iter().map(|item| points(&read.drawing, item)).collect()
}

fn texts(read: &Read) -> Vec<&str> {
    read.drawing.texts.iter().map(|text| text.value.as_str()).collect()
}

fn layers(read: &Read) -> Vec<(&str, bool)> {
    read.drawing.items.iter().map(|item| (read.drawing.layer_name(item.layer), item.visible)).collect()
}

fn count(read: &Read, code: &str) -> u64 {
    read.issues.iter().find(|(id, _)| *id == code).map_or(0, |(_, tally)| tally.count)
}

#[test]
fn forms_are_placed_by_their_matrix_then_the_page() {
    let mut document = Document::new();
    let form =
        document.stream("/Type /XObject /Subtype /Form /BBox [0 0 50 50] /Matrix [1 0 0 1 5 5]", "0 0 10 10 re S");
    let content = document.stream("", "q 2 0 0 2 10 20 cm /F Do Q");
    let resources = format!("/Resources << /XObject << /F {form} 0 R >> >>");
    let read = read(&document.bytes(&[format!("/MediaBox [0 0 200 400] /Contents {content} 0 R {resources}")]));
    assert_eq!(shapes(&read), [vec![(20.0, 30.0), (40.0, 30.0), (40.0, 50.0), (20.0, 50.0)]]);
}

/// Two layers, the second off; content by marked content, by a form's `/OC`, and by a membership dictionary.
fn layered() -> Bytes {
    let mut document = Document::new();
    let wall = document.object("<< /Type /OCG /Name (A-WALL) >>");
    let furniture = document.object(b"<< /Type /OCG /Name (\xFE\xFF\0M\0\xF6\0b\0e\0l) >>");
    let either = document.object(format!("<< /Type /OCMD /P /AnyOff /OCGs [{wall} 0 R {furniture} 0 R] >>"));
    let none = document.object(format!("<< /Type /OCMD /VE [/And {wall} 0 R [/Not {wall} 0 R]] /OCGs {wall} 0 R >>"));
    let form = document.stream(
        &format!("/Type /XObject /Subtype /Form /BBox [0 0 200 400] /OC {furniture} 0 R"),
        "10 60 m 110 60 l S",
    );
    document.catalog = format!(
        "/OCProperties << /OCGs [{wall} 0 R {furniture} 0 R] /D << /Order [{wall} 0 R] /OFF [{furniture} 0 R] >> >>"
    );
    let content = document.stream(
        "",
        "/OC /L1 BDC 10 10 100 0 re S 10 15 m 110 15 l S EMC \
         /OC /L2 BDC 10 20 m 110 20 l S /Span << /MCID 1 >> BDC 10 25 m 110 25 l S EMC EMC \
         10 30 m 110 30 l S /F Do \
         /OC /L3 BDC 10 70 m 110 70 l S EMC /OC /L4 BDC 10 80 m 110 80 l S EMC",
    );
    document.bytes(&[format!(
        "/MediaBox [0 0 200 400] /Contents {content} 0 R /Resources << /XObject << /F {form} 0 R >> /Properties << \
         /L1 {wall} 0 R /L2 {furniture} 0 R /L3 {either} 0 R /L4 {none} 0 R >> >>"
    )])
}

#[test]
fn layers_are_kept_and_hidden_ones_are_marked() {
    let read = read(&layered());
    assert_eq!(
        layers(&read),
        [
            ("A-WALL", true),
            ("A-WALL", true),
            ("Möbel", false),
            ("Möbel", false),
            ("default", true),
            ("Möbel", false),
            ("A-WALL", true),
            ("A-WALL", false),
        ]
    );
    assert_eq!(shapes(&read)[0], [(10.0, 10.0), (110.0, 10.0)], "a rectangle without height is a line");
    assert_eq!(count(&read, "PDF111"), 4);
    let states: Vec<_> = read.drawing.layers.iter().map(|layer| (read.drawing.string(layer.name), layer.off)).collect();
    assert_eq!(states, [("A-WALL", false), ("Möbel", true), ("default", false)]);
}

#[test]
fn page_space_is_upright_from_the_lower_left_of_the_crop_box() {
    let line = "110 210 m 150 240 l S";
    for (entries, expected) in [
        ("/CropBox [100 200 160 280]", [(10.0, 10.0), (50.0, 40.0)]),
        ("/CropBox [100 200 160 280] /Rotate 90", [(10.0, 50.0), (40.0, 10.0)]),
        ("/CropBox [100 200 160 280] /Rotate 180", [(50.0, 70.0), (10.0, 40.0)]),
        ("/CropBox [100 200 160 280] /Rotate -90", [(70.0, 10.0), (40.0, 50.0)]),
        ("/CropBox [100 200 160 280] /UserUnit 2", [(20.0, 20.0), (100.0, 80.0)]),
    ] {
        assert_eq!(shapes(&read(&page(line, entries))), [expected], "{entries}");
    }
}

#[test]
fn what_lies_outside_of_page_or_clip_is_left_out_and_what_crosses_gets_a_clip() {
    let read = read(&page(
        "0 0 200 400 re W n 10 10 m 100 10 l S 300 300 m 400 400 l S 190 10 m 210 10 l S \
         q 20 20 10 10 re W n 0 25 m 100 25 l S 50 50 m 60 60 l S Q 50 60 m 60 60 l S",
        "",
    ));
    let clips: Vec<_> = read.drawing.items.iter().map(|item| item.clip.is_some()).collect();
    assert_eq!(clips, [false, true, true, false]);
    let clip = read.drawing.clip(read.drawing.items[2].clip.unwrap()).unwrap();
    assert_eq!(clip.rings[0][0], Point::new(20.0, 20.0));
    assert_eq!(clip.rings[0][2], Point::new(30.0, 30.0));
    assert_eq!(count(&read, "PDF112"), 2);
}

#[test]
fn text_that_clips_hides_what_lies_beyond_it() {
    let content =
        "q BT 7 Tr /F 10 Tf 20 20 Td (ROOM) Tj ET 0 0 200 400 re f 100 100 m 150 150 l S Q 100 100 m 150 150 l S";
    let read = read(&page(content, &format!("/Resources << {FONT} >>")));
    let drawn: Vec<bool> =
        read.drawing.items.iter().filter(|item| item.visible).map(|item| item.clip.is_some()).collect();
    assert_eq!(drawn, [true, false], "the fill is cut, the line within is left out");
    assert_eq!(count(&read, "PDF112"), 1);
}

#[test]
fn fills_strokes_and_both_with_colour_and_width() {
    let read = read(&page(
        "1 0 0 RG 0 0 1 rg q 2 0 0 2 0 0 cm 3 w 5 5 10 10 re f 5 5 m 20 5 l S 30 30 10 10 re B Q \
         [3 2] 0 d 10 90 m 50 90 l S 0 1 1 0 k 10 100 20 20 re f 10 100 20 20 re S",
        "",
    ));
    let kinds: Vec<_> = read.drawing.items.iter().map(|item| read.drawing.string(item.entity)).collect();
    assert_eq!(kinds, ["fill", "stroke", "fill-stroke", "stroke", "fill-stroke"]);
    let widths: Vec<_> = read.drawing.items.iter().map(|item| item.width).collect();
    assert_eq!(widths, [0.0, 6.0, 6.0, 1.0, 1.0]);
    assert_eq!(format!("{:?}", read.drawing.items[0].colour), format!("Rgb({})", 0x0000FF));
    assert_eq!(format!("{:?}", read.drawing.items[1].colour), format!("Rgb({})", 0xFF0000));
    let properties: Vec<_> = read.drawing.properties(read.drawing.items[4].properties).collect();
    assert_eq!(properties, [("stroke", "#ff0000"), ("dashed", "true")]);
}

#[test]
fn texts_have_place_height_and_rotation() {
    let read = read(&page(
        "BT /F 10 Tf 20 300 Td (Meeting) Tj ( room) Tj ET BT /F 10 Tf 20 280 Td [(1) -50 (0) 20 (2)] TJ ET \
         BT /F 20 Tf 0 1 -1 0 150 100 Tm (UP) Tj ET BT /F 8 Tf 3 Tr 20 20 Td (ocr) Tj ET",
        &format!("/Resources << {FONT} >>"),
    ));
    assert_eq!(texts(&read), ["Meeting room", "102", "ocr", "UP"]);
    let first = &read.drawing.texts[0];
    assert_eq!((first.at, first.direction.y), (Point::new(20.0, 300.0), 0.0));
    assert!((first.height - 7.0).abs() < 0.5, "{}", first.height);
    let up = &read.drawing.texts[3];
    assert_eq!((up.at, up.direction.x.abs() < 1e-12, up.direction.y > 0.0), (Point::new(150.0, 100.0), true, true));
    assert_eq!(layers(&read).iter().map(|(_, visible)| *visible).collect::<Vec<_>>(), [true, true, false, true]);
    assert_eq!(read.text.as_deref(), Some("Meeting room\n102\nocr\nUP\n"));
    assert_eq!(read.chars(), Some(19));
}

#[test]
fn the_unit_comes_from_viewports_texts_or_the_user() {
    let measured = "/VP [<< /Type /Viewport /BBox [0 0 200 400] /Measure << /Type /Measure /Subtype /RL /R (1:50) \
                    /X [<< /Type /NumberFormat /U (m) /C 0.0176388888888889 >>] >> >>]";
    let read = read(&page("10 10 m 20 20 l S", measured));
    assert_eq!(read.drawing.units.from, "/Measure");
    assert!((read.drawing.units.metres_per_unit / (0.0254 / 72.0) - 50.0).abs() < 1e-9);

    // 200 × 400 points on 20 × 40 m near the equator, east upward on the page
    let (east, north) = (0.000_359_330_5, 0.000_180_873_7);
    let earth = format!(
        "/VP [<< /BBox [0 0 200 400] /Measure << /Subtype /GEO /GCS << /EPSG 4326 >> /GPTS [{north} 0 {north} \
        {east} 0 {east} 0 0] /LPTS [0 0 0 1 1 1 1 0] >> >>]"
    );
    let read = self::read(&page("10 10 m 20 20 l S", &earth));
    assert_eq!(read.drawing.units.from, "/Measure GEO");
    assert!((read.drawing.units.metres_per_unit - 0.1).abs() < 1e-5, "{:?}", read.drawing.units);
    let place = read.drawing.georeference.unwrap();
    assert_eq!((place.system.as_str(), place.design_point), ("EPSG:4326", Point::new(100.0, 200.0)));
    assert!((place.north.x + 1.0).abs() < 1e-6 && (place.reference_point.x - east / 2.0).abs() < 1e-12);

    let written = page("BT /F 10 Tf 20 20 Td (SCALE 1:100) Tj ET", &format!("/Resources << {FONT} >>"));
    let read = self::read(&written);
    assert!((read.drawing.units.metres_per_unit / (0.0254 / 72.0) - 100.0).abs() < 1e-9);
    assert_eq!(read.drawing.units.confidence, Some(0.9));

    let stated = read_with(&written, 1, &ReadOptions { metres_per_unit: Some(0.5), ..Default::default() }).unwrap();
    assert_eq!((stated.drawing.units.metres_per_unit, stated.drawing.units.from.as_str()), (0.5, "config"));

    let none = self::read(&page("10 10 m 20 20 l S", ""));
    assert!((none.drawing.units.metres_per_unit - 0.0254 / 72.0).abs() < 1e-12);
    assert_eq!(count(&none, "PDF101"), 1);
}

// R152
#[test]
fn a_scan_is_refused_or_empty_as_asked_and_never_has_walls() {
    let mut document = Document::new();
    let image = document.stream(
        "/Type /XObject /Subtype /Image /Width 1 /Height 1 /ColorSpace /DeviceGray /BitsPerComponent 8",
        b"\x80",
    );
    let content = document.stream("", "1 g 0 0 200 400 re f q 200 0 0 400 0 0 cm /I Do Q BT /F 9 Tf 3 Tr (ocr) Tj ET");
    let resources = format!("/Resources << /XObject << /I {image} 0 R >> {FONT} >>");
    let bytes = document.bytes(&[format!("/MediaBox [0 0 200 400] /Contents {content} 0 R {resources}")]);
    assert_eq!(read_with(&bytes, 1, &ReadOptions::default()).unwrap_err().kind(), "raster_only");
    let read = read_with(&bytes, 1, &ReadOptions { raster_only_as_empty: true, ..Default::default() }).unwrap();
    assert_eq!(count(&read, "PDF122"), 1);
    assert_eq!(read.text.as_deref(), Some("ocr\n"));
    assert!(!read.drawing.items.iter().any(|item| matches!(item.geometry, Geometry::Line(_))));
}

#[test]
fn encrypted_documents_are_refused_unless_they_open_without_a_password() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/pdf");
    let locked = Bytes::from(std::fs::read(folder.join("user_password.pdf")).unwrap());
    assert_eq!(count_pages(&locked, &Limits::default()).unwrap_err().kind(), "encrypted");
    let open = Bytes::from(std::fs::read(folder.join("owner_password_only.pdf")).unwrap());
    assert_eq!(count_pages(&open, &Limits::default()).unwrap(), 1);
    assert_eq!(texts(&read(&open)), ["ROOM 101"]);
}

#[test]
fn many_pages_are_one_parse_and_pages_are_counted_from_one() {
    let mut document = Document::new();
    let contents: Vec<String> = (1..=500)
        .map(|number| {
            let content = document.stream("", format!("{number} 10 m {number} 20 l S"));
            format!("/MediaBox [0 0 1000 400] /Contents {content} 0 R")
        })
        .collect();
    let bytes = document.bytes(&contents);
    assert_eq!(count_pages(&bytes, &Limits::default()).unwrap(), 500);
    let mut readers = Readers::default();
    let options = ReadOptions::default();
    for page in [250, 1, 500] {
        let read = readers.read(SourceFormat::Pdf, "key", &bytes, page, &options, &|| Ok(())).unwrap();
        assert_eq!(shapes(&read)[0][0], (f64::from(page), 10.0));
    }
    for page in [0, 501] {
        let error = readers.read(SourceFormat::Pdf, "key", &bytes, page, &options, &|| Ok(())).unwrap_err();
        assert!(matches!(error, ReadError::NoSuchPage { pages: 500, .. }), "{error}");
    }
    let few = ReadOptions { limits: Limits { pages: 499, ..Limits::default() }, ..Default::default() };
    let error = readers.read(SourceFormat::Pdf, "key", &bytes, 1, &few, &|| Ok(())).unwrap_err();
    assert_eq!(error.to_string(), "number of pages exceeds `limits.pages` = 499");
}

#[test]
fn another_key_is_another_document() {
    let (first, second) = (page("1 1 m 2 2 l S", ""), page("3 3 m 4 4 l S", ""));
    let mut readers = Readers::default();
    let options = ReadOptions::default();
    for (key, bytes, x) in [("a", &first, 1.0), ("b", &second, 3.0), ("a", &first, 1.0)] {
        let read = readers.read(SourceFormat::Pdf, key, bytes, 1, &options, &|| Ok(())).unwrap();
        assert_eq!(shapes(&read)[0][0].0, x);
    }
}

/// Forms that each show the next one ten times.
fn form_bomb(levels: usize) -> Bytes {
    let mut document = Document::new();
    let mut last = document.stream("/Type /XObject /Subtype /Form /BBox [0 0 9 9]", "0 0 m 195 9 l S");
    for _ in 0..levels {
        let dict =
            format!("/Type /XObject /Subtype /Form /BBox [0 0 9 9] /Resources << /XObject << /F {last} 0 R >> >>");
        last = document.stream(&dict, "/F Do ".repeat(10));
    }
    let content = document.stream("", "/F Do");
    let resources = format!("/Resources << /XObject << /F {last} 0 R >> >>");
    document.bytes(&[format!("/MediaBox [0 0 200 400] /Contents {content} 0 R {resources}")])
}

#[test]
fn bombs_end_at_a_limit_with_its_number_or_at_the_deadline() {
    let limits = Limits { entities: 1_000, ..Limits::default() };
    let error = read_with(&form_bomb(30), 1, &ReadOptions { limits, ..Default::default() }).unwrap_err();
    assert_eq!(error.to_string(), "number of entities exceeds `limits.entities` = 1000");

    let limits = Limits { decompressed_bytes: 100_000, ..Limits::default() };
    let error = read_with(&form_bomb(30), 1, &ReadOptions { limits, ..Default::default() }).unwrap_err();
    assert_eq!(error.kind(), "limit");

    let limits = Limits { block_depth: 2, ..Limits::default() };
    let read = read_with(&form_bomb(4), 1, &ReadOptions { limits, ..Default::default() }).unwrap();
    assert_eq!((read.drawing.items.len(), count(&read, "PDF142")), (0, 100));

    let calls = Cell::new(0);
    let deadline = || {
        calls.set(calls.get() + 1);
        if calls.get() > 50 { Err(Interrupt::Deadline) } else { Ok(()) }
    };
    let error = Readers::default()
        .read(SourceFormat::Pdf, "bomb", &form_bomb(30), 1, &ReadOptions::default(), &deadline)
        .unwrap_err();
    assert_eq!(error.kind(), "timeout");
}

#[test]
fn a_stream_that_outgrows_the_budget_is_refused() {
    let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::best());
    std::io::Write::write_all(&mut encoder, &vec![b' '; 4 << 20]).unwrap();
    let mut document = Document::new();
    let content = document.stream("/Filter /FlateDecode", encoder.finish().unwrap());
    let bytes = document.bytes(&[format!("/MediaBox [0 0 200 400] /Contents {content} 0 R")]);
    let limits = Limits { decompressed_bytes: 1 << 20, ..Limits::default() };
    let error = read_with(&bytes, 1, &ReadOptions { limits, ..Default::default() }).unwrap_err();
    assert!(error.to_string().ends_with("`limits.decompressed_bytes` = 1048576"), "{error}");
}

fn deflate(data: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::best());
    std::io::Write::write_all(&mut encoder, data).unwrap();
    encoder.finish().unwrap()
}

/// A document whose catalog lies in an object stream packed twice: 4 MiB from some hundred bytes.
fn packed_twice() -> Bytes {
    let mut objects = b"1 0 2 33 << /Type /Catalog /Pages 2 0 R >> << /Type /Pages /Kids [] /Count 0 >>".to_vec();
    objects.resize(4 << 20, b' ');
    let packed = deflate(&deflate(&objects));
    let mut bytes = b"%PDF-1.5\n".to_vec();
    let filters = "/Filter [/FlateDecode /FlateDecode]";
    let dict = format!("3 0 obj << /Type /ObjStm /N 2 /First 9 /Length {} {filters} >> stream\n", packed.len());
    bytes.extend_from_slice(dict.as_bytes());
    bytes.extend_from_slice(&packed);
    bytes.extend_from_slice(b"\nendstream endobj\ntrailer << /Root 1 0 R >>\n");
    bytes.into()
}

#[test]
fn a_document_is_weighed_before_it_is_opened() {
    let bytes = packed_twice();
    assert!(bytes.len() < 1_000, "{}", bytes.len());
    let limits = Limits { decompressed_bytes: 1 << 20, ..Limits::default() };
    assert_eq!(count_pages(&bytes, &limits).unwrap_err().kind(), "limit");
    let error = read_with(&bytes, 1, &ReadOptions { limits, ..Default::default() }).unwrap_err();
    assert!(error.to_string().ends_with("`limits.decompressed_bytes` = 1048576"), "{error}");
    // below the limit it is opened, and found to have no pages
    assert_eq!(count_pages(&bytes, &Limits::default()).unwrap_err().kind(), "malformed");
}

#[test]
fn chains_of_filters_are_weighed_and_damaged_ones_shown_up_to_the_fault() {
    let lines: String = (0..90_000).map(|i| format!("{} {} m 195 9 l S\n", i % 190, i % 380)).collect();
    let packed = deflate(lines.as_bytes());
    let hex: String = packed.iter().map(|byte| format!("{byte:02X}")).collect();
    let limits = Limits { decompressed_bytes: 2 << 20, ..Limits::default() };
    let options = ReadOptions { limits, ..Default::default() };
    let document = |dict: &str, data: &[u8]| {
        let mut document = Document::new();
        let content = document.stream(dict, data);
        document.bytes(&[format!("/MediaBox [0 0 200 400] /Contents {content} 0 R")])
    };
    let chain = document("/Filter [/ASCIIHexDecode /FlateDecode]", hex.as_bytes());
    assert_eq!(read_with(&chain, 1, &options).unwrap().drawing.items.len(), 90_000);
    let twice = document("/Filter [/FlateDecode /FlateDecode]", &deflate(&deflate(&vec![b' '; 8 << 20])));
    assert_eq!(read_with(&twice, 1, &options).unwrap_err().kind(), "limit");
    // the second half is garbage
    let mut damaged = packed.clone();
    let half = damaged.len() / 2;
    damaged[half..].iter_mut().for_each(|byte| *byte = 0xFF);
    let read = read_with(&document("/Filter /FlateDecode", &damaged), 1, &options).unwrap();
    assert!(read.drawing.items.len() > 10_000, "{}", read.drawing.items.len());
}

/// The outline of a letter, 5 wide and 8 high, at (x, y).
fn letter(x: f64, y: f64) -> String {
    let at = |dx: f64, dy: f64| format!("{} {}", x + dx, y + dy);
    let [a, b, c, d] = [at(0.0, 0.0), at(0.0, 8.0), at(5.0, 8.0), at(5.0, 0.0)];
    format!("{a} m {b} {b} {c} c {c} {d} {a} c h f\n")
}

#[test]
fn letters_drawn_as_paths_are_marked_and_never_walls() {
    let word: String = (0..5).map(|i| letter(50.0 + 6.5 * f64::from(i), 200.0)).collect();
    let column = letter(150.0, 20.0);
    let read = read(&page(&format!("{word}{column}20 20 m 180 20 l S"), ""));
    let is_letter = |item: &Item| read.drawing.properties(item.properties).any(|pair| pair == ("letter_like", "true"));
    let marked: Vec<bool> = read.drawing.items.iter().map(is_letter).collect();
    assert_eq!(marked, [true, true, true, true, true, false, false]);

    let options = plan2geo::plan::PlanOptions::default();
    let mut input = plan2geo::plan::Input::new(&options);
    let mut taken = |shape: &plan2geo::drawing::expand::Shape<'_>| -> Result<(), std::convert::Infallible> {
        input.push(shape, &read.drawing);
        Ok(())
    };
    let expand = plan2geo::drawing::expand::ExpandOptions::default();
    plan2geo::drawing::expand::expand(&read.drawing, &expand, &|| Ok(()), &mut taken).unwrap();
    assert_eq!(input.num_items(), 2, "the column and the line");
}

#[test]
fn unbalanced_states_marks_and_text_do_no_harm() {
    let read = read(&page("Q Q EMC EMC ET q q q 2 0 0 2 0 0 cm 1 1 m 2 2 l S h f W n BT (x) Tj /No Do /No gs", ""));
    assert_eq!(shapes(&read), [[(2.0, 2.0), (4.0, 4.0)]]);
    let deep = self::read(&page(&"q ".repeat(100_000), ""));
    assert_eq!(count(&deep, "PDF142"), 100_000 - 4_096);
}

#[test]
fn annotations_are_drawn_in_their_place_and_named() {
    let mut document = Document::new();
    let look = document.stream("/Type /XObject /Subtype /Form /BBox [0 0 10 10]", "0 0 m 10 10 l S");
    let content = document.stream("", "");
    let annotation = |flags: u32, rect: &str| {
        format!("<< /Type /Annot /Subtype /Polygon /F {flags} /Rect [{rect}] /AP << /N {look} 0 R >> >>")
    };
    let (shown, hidden) = (annotation(4, "100 100 120 120"), annotation(2, "0 0 10 10"));
    let read =
        read(&document.bytes(&[format!("/MediaBox [0 0 200 400] /Contents {content} 0 R /Annots [{shown} {hidden}]")]));
    assert_eq!(shapes(&read)[0], [(100.0, 100.0), (120.0, 120.0)]);
    let properties: Vec<_> = read.drawing.properties(read.drawing.items[0].properties).collect();
    assert_eq!(properties, [("annotation", "Polygon")]);
    assert_eq!(read.drawing.items.iter().map(|item| item.visible).collect::<Vec<_>>(), [true, false]);
}

#[test]
fn broken_documents_are_refused_or_repaired_and_never_panic() {
    let whole = layered();
    for bytes in [&b"%PDF-1.7\n"[..], b"no pdf", b"%PDF-1.7\ntrailer << /Root 1 0 R >>\n%%EOF"] {
        assert_eq!(count_pages(&Bytes::copy_from_slice(bytes), &Limits::default()).unwrap_err().kind(), "malformed");
    }
    assert_eq!(count_pages(&Bytes::new(), &Limits::default()).unwrap_err().kind(), "empty");
    // a wrong startxref is repaired
    let mut wrong = whole.to_vec();
    let at = wrong.windows(9).rposition(|window| window == b"startxref").unwrap();
    wrong.truncate(at);
    assert_eq!(read(&Bytes::from(wrong)).drawing.items.len(), 8);
    // every cut, and every byte turned, gives a result or an error
    for at in (0..whole.len()).step_by(7) {
        let _ = read_with(&whole.slice(..at), 1, &ReadOptions::default());
        let mut turned = whole.to_vec();
        turned[at] ^= 0x15;
        let _ = read_with(&Bytes::from(turned), 1, &ReadOptions::default());
    }
}

#[test]
fn the_same_bytes_give_the_same_drawing() {
    let bytes = layered();
    let (first, second) = (read(&bytes), read(&bytes));
    assert_eq!(format!("{:?}", first.drawing), format!("{:?}", second.drawing));
}
