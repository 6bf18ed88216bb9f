//! The output contract: form, order, classes, ids, counts, issues; what `docs/geojson.md` and the schema promise.

use std::path::PathBuf;

use plan2geo::drawing::expand::{ExpandOptions, Flattening, expand};
use plan2geo::drawing::{
    Affine, Attribute, Colour, Drawing, DrawingBuilder, FillRule, Geometry, HorizontalAlign, Identity, Insert, Item,
    Point, Properties, SourceFormat, Text, Vec2, VerticalAlign,
};
use plan2geo::format::Limits;
use plan2geo::issue::Issues;
use plan2geo::kernel::{ConvertOptions, Converted, Document, convert};
use plan2geo::output::geojson::{FeatureWriter, LevelFacts, Summary};
use plan2geo::output::{Entities, Frame, OutputOptions, schema};
use plan2geo::plan::{
    Diagnostic, DiagnosticGeometry, Label, LabelKind, Opening, OpeningKind, Plan, Polygon, Room, RoomOrigin, Side,
    SourceRef, Wall,
};
use serde_json::{Value, json};

struct Sheet(DrawingBuilder);

impl Sheet {
    fn new() -> Self {
        Self(DrawingBuilder::new(SourceFormat::Dxf, &Limits::default()))
    }

    fn item(&mut self, geometry: Geometry, entity: &str, handle: u64) -> Item {
        Item {
            geometry,
            entity: self.0.intern(entity),
            layer: self.0.layer("A-WALL"),
            colour: Colour::ByLayer,
            width: 0.0,
            identity: Identity::Handle(handle),
            visible: true,
            properties: Properties::default(),
            clip: None,
        }
    }

    fn path(&mut self, subpaths: &[(&[(f64, f64)], bool)]) -> plan2geo::drawing::Path {
        let mut path = self.0.path();
        for (points, closed) in subpaths {
            path.move_to(Point::new(points[0].0, points[0].1));
            for (x, y) in &points[1..] {
                path.line_to(Point::new(*x, *y));
            }
            if *closed {
                path.close();
            }
        }
        path.finish().unwrap().unwrap()
    }

    fn lines(&mut self, subpaths: &[(&[(f64, f64)], bool)], handle: u64) {
        let path = self.path(subpaths);
        let item = self.item(Geometry::Line(path), "LWPOLYLINE", handle);
        self.0.push(item).unwrap();
    }

    fn area(&mut self, rings: &[&[(f64, f64)]], handle: u64) {
        let rings: Vec<_> = rings.iter().map(|ring| (*ring, true)).collect();
        let path = self.path(&rings);
        let item = self.item(Geometry::Area(path, FillRule::EvenOdd), "HATCH", handle);
        self.0.push(item).unwrap();
    }

    fn text(&mut self, value: &str, tag: Option<&str>) -> plan2geo::drawing::TextId {
        let tag = tag.map(|tag| self.0.intern(tag));
        self.0.text(Text {
            value: value.to_owned(),
            tag,
            at: Point::new(2.0, 3.0),
            direction: Vec2::new(0.0, 1.0),
            height: 0.25,
            horizontal: HorizontalAlign::Left,
            vertical: VerticalAlign::Baseline,
            box_width: None,
        })
    }
}

fn write(drawing: &Drawing, plan: &Plan, options: &OutputOptions, frame: &Frame<'_>) -> (Vec<Value>, Summary) {
    let flattening = Flattening::default();
    let mut writer = FeatureWriter::new(b"{\"features\":[\n".to_vec(), drawing, &flattening, options, frame);
    writer.derived(plan, LevelFacts { floor_level: Some(2), level_name: Some("L02") }).unwrap();
    let expansion = ExpandOptions { include_hidden: options.include_hidden, ..ExpandOptions::default() };
    expand(drawing, &expansion, &|| Ok(()), &mut |shape| writer.shape(shape)).unwrap();
    let (bytes, summary) = writer.finish().unwrap();
    let mut collection: Value = serde_json::from_slice(&bytes).unwrap();
    let Value::Array(features) = collection["features"].take() else { panic!("no features") };
    (features, summary)
}

fn plain(sheet: Sheet) -> (Vec<Value>, Summary) {
    write(&sheet.0.finish(), &Plan::default(), &OutputOptions::default(), &Frame::local_metres())
}

fn geometries(features: &[Value]) -> Vec<&Value> {
    features.iter().map(|feature| &feature["geometry"]).collect()
}

const SQUARE: [(f64, f64); 4] = [(0.0, 0.0), (0.0, 10.0), (10.0, 10.0), (10.0, 0.0)];

// B64
#[test]
fn closed_lines_are_polygons_by_the_right_hand_rule_and_open_ones_lines() {
    let mut sheet = Sheet::new();
    sheet.lines(&[(&SQUARE, true)], 1);
    sheet.lines(&[(&SQUARE, false)], 2);
    sheet.lines(&[(&[(0.0, 0.0), (1.0, 0.0)], false), (&[(5.0, 5.0), (6.0, 5.5)], false)], 3);
    let (features, summary) = plain(sheet);
    assert_eq!(
        geometries(&features),
        [
            &json!({"type": "Polygon", "coordinates": [[[0, 0], [10, 0], [10, 10], [0, 10], [0, 0]]]}),
            &json!({"type": "LineString", "coordinates": [[0, 0], [0, 10], [10, 10], [10, 0]]}),
            &json!({"type": "MultiLineString", "coordinates": [[[0, 0], [1, 0]], [[5, 5], [6, 5.5]]]}),
        ]
    );
    let classes: Vec<_> = features.iter().map(|feature| feature["properties"]["class"].as_str().unwrap()).collect();
    assert_eq!(classes, ["area", "line", "line"]);
    assert_eq!((summary.features, summary.classes["line"], summary.classes["area"]), (3, 2, 1));
    assert_eq!(String::from_utf8(summary.bbox).unwrap(), "0,0,10,10");
}

#[test]
fn a_closed_line_that_crosses_itself_stays_a_line_and_says_so() {
    let mut sheet = Sheet::new();
    sheet.lines(&[(&[(0.0, 0.0), (4.0, 4.0), (4.0, 0.0), (0.0, 4.0)], true)], 1);
    let (features, summary) = plain(sheet);
    assert_eq!(
        features[0]["geometry"],
        json!({"type": "LineString", "coordinates": [[0, 0], [4, 4], [4, 0], [0, 4], [0, 0]]})
    );
    assert_eq!(codes(&summary.issues), ["OUT004"]);
}

// B01, B02, B38
#[test]
fn areas_nest_are_repaired_or_become_lines() {
    let mut sheet = Sheet::new();
    let hole = SQUARE.map(|(x, y)| (2.0 + x / 5.0, 2.0 + y / 5.0));
    let beside = SQUARE.map(|(x, y)| (20.0 + x, y));
    sheet.area(&[&hole, &beside, &SQUARE], 1);
    sheet.area(&[&[(0.0, 0.0), (4.0, 4.0), (4.0, 0.0), (0.0, 4.0)]], 2);
    sheet.area(&[&[(0.0, 0.0), (4.0, 4.0), (8.0, 8.0)]], 3);
    let (features, summary) = plain(sheet);
    let nested = &features[0]["geometry"]["coordinates"];
    assert_eq!(features[0]["geometry"]["type"], "MultiPolygon");
    assert_eq!(nested[0].as_array().unwrap().len(), 1);
    assert_eq!(nested[1].as_array().unwrap().len(), 2);
    assert_eq!(nested[1][1], json!([[2, 2], [2, 4], [4, 4], [4, 2], [2, 2]]));
    assert_eq!(features[1]["geometry"]["type"], "MultiPolygon");
    assert_eq!(features[2]["geometry"]["type"], "LineString");
    assert_eq!(codes(&summary.issues), ["OUT002", "OUT003"]);
}

#[test]
fn what_vanishes_on_the_grid_is_left_out_and_counted() {
    let mut sheet = Sheet::new();
    sheet.lines(&[(&[(1.0, 1.0), (1.00001, 1.00001)], false)], 1);
    sheet.lines(&[(&[(0.0, 0.0), (0.00001, 0.0), (1.0, 0.0), (1.0, 0.00002)], false)], 2);
    let (features, summary) = plain(sheet);
    assert_eq!(geometries(&features), [&json!({"type": "LineString", "coordinates": [[0, 0], [1, 0]]})]);
    assert_eq!(summary.dropped, 1);
    assert_eq!(codes(&summary.issues), ["OUT001"]);
}

fn codes(issues: &Issues) -> Vec<&'static str> {
    issues.iter().map(|(code, _)| code).collect()
}

// B22
#[test]
fn texts_symbols_and_attributes_carry_what_they_are() {
    let mut sheet = Sheet::new();
    let block = sheet.0.block("DOOR");
    sheet.0.open_block(block, Point::ZERO);
    sheet.lines(&[(&[(0.0, 0.0), (1.0, 0.0)], false)], 0x10);
    sheet.0.close_block();
    let (value, layer) = (sheet.text("101", Some("NUMBER")), sheet.0.layer("A-WALL"));
    let (first, second) = (sheet.0.intern("NUMBER"), sheet.0.intern("NUMBER"));
    let attribute = |tag| Attribute { tag, text: value, layer, visible: true, identity: Identity::Handle(0x12) };
    let insert = Insert {
        block,
        transform: Affine::translate((5.0, 6.0)) * Affine::scale_non_uniform(2.0, -2.0),
        columns: 2,
        rows: 1,
        column_step: Vec2::new(1.0, 0.0),
        row_step: Vec2::ZERO,
        attributes: vec![attribute(first), attribute(second)],
        clip: None,
    };
    let insert = sheet.0.insert(insert);
    let mut item = sheet.item(Geometry::Insert(insert), "INSERT", 0x11);
    item.colour = Colour::Rgb(0x00ff7f);
    sheet.0.push(item).unwrap();
    let text = sheet.text("Büro \"A\"\n", None);
    let mut item = sheet.item(Geometry::Text(text), "MTEXT", 0x13);
    item.properties = sheet.0.properties([("style", "ARIAL"), ("style", "BOLD")]);
    sheet.0.push(item).unwrap();
    let (features, _) = plain(sheet);
    let properties: Vec<_> = features.iter().map(|feature| &feature["properties"]).collect();
    assert_eq!(
        properties[0],
        &json!({
            "class": "symbol", "layer": "A-WALL", "entity": "INSERT", "handle": "11", "block": "DOOR", "rotation": 0,
            "scale": [2, -2], "attributes": {"NUMBER": "101", "NUMBER_2": "101"}, "colour": "#00ff7f"
        })
    );
    assert_eq!(
        properties[1],
        &json!({
            "class": "label", "name": "101", "layer": "A-WALL", "entity": "ATTRIB", "handle": "12", "tag": "NUMBER",
            "rotation": 90, "height_m": 0.25, "block": "DOOR"
        })
    );
    assert_eq!(properties[3]["block"], "DOOR");
    let last = properties[properties.len() - 1];
    assert_eq!(
        (&last["name"], &last["source"]),
        (&json!("Büro \"A\"\n"), &json!({"style": "ARIAL", "style_2": "BOLD"}))
    );
    let ids: Vec<_> = features.iter().map(|feature| feature["id"].as_str().unwrap()).collect();
    assert_eq!(ids, ["11", "12#1", "12#2", "10#3", "11#4", "12#5", "12#6", "10#7", "13"]);
}

#[test]
fn hidden_shapes_are_marked_and_leave_the_hash_alone() {
    let build = || {
        let mut sheet = Sheet::new();
        sheet.lines(&[(&SQUARE, true)], 1);
        let path = sheet.path(&[(&[(50.0, 50.0), (60.0, 60.0)], false)]);
        let mut item = sheet.item(Geometry::Line(path), "LINE", 2);
        item.visible = false;
        sheet.0.push(item).unwrap();
        sheet.0.finish()
    };
    let options = OutputOptions { include_hidden: true, ..OutputOptions::default() };
    let frame = Frame::local_metres();
    let (all, with) = write(&build(), &Plan::default(), &options, &frame);
    let (shown, without) = write(&build(), &Plan::default(), &OutputOptions::default(), &frame);
    assert_eq!((all.len(), shown.len()), (2, 1));
    assert_eq!(all[1]["properties"]["visible"], false);
    assert!(all[0]["properties"].get("visible").is_none());
    assert_eq!(with.topology_hash, without.topology_hash);
}

// R156
#[test]
fn a_placed_output_has_its_own_grid_and_the_hash_of_the_drawing() {
    let build = || {
        let mut sheet = Sheet::new();
        sheet.lines(&[(&SQUARE, true)], 1);
        sheet.0.finish()
    };
    let place = |p: Point| Point::new(9.0 + p.x * 1e-5, 48.0 + p.y * 1e-5);
    let frame = Frame { crs: "OGC:CRS84".to_owned(), decimals: 8, place: Some(&place) };
    let (placed, with) = write(&build(), &Plan::default(), &OutputOptions::default(), &frame);
    let (_, without) = write(&build(), &Plan::default(), &OutputOptions::default(), &Frame::local_metres());
    assert_eq!(placed[0]["geometry"]["coordinates"][0][2], json!([9.0001, 48.0001]));
    assert_eq!(with.topology_hash, without.topology_hash);
    let nowhere = |_: Point| Point::new(f64::NAN, 0.0);
    let frame = Frame { crs: "x".to_owned(), decimals: 8, place: Some(&nowhere) };
    let (features, summary) = write(&build(), &Plan::default(), &OutputOptions::default(), &frame);
    assert!(features.is_empty());
    assert_eq!((codes(&summary.issues), summary.dropped), (vec!["OUT006"], 1));
}

fn square_at(x: f64) -> Polygon {
    Polygon { shell: SQUARE.iter().map(|p| Point::new(x + p.0, p.1)).collect(), holes: Vec::new() }
}

fn plan() -> Plan {
    let source = |ordinal| SourceRef {
        layer: "A-ROOM".to_owned(),
        entity: "LWPOLYLINE".to_owned(),
        identity: Identity::Handle(0x2f),
        ordinal,
    };
    let room = |index: u32| Room {
        index,
        polygon: square_at(f64::from(index) * 12.0),
        area_m2: 100.0,
        perimeter_m: 40.0,
        label_point: Point::new(5.0 + f64::from(index) * 12.0, 5.0),
        number: Some(format!("10{index}")),
        name: Some("OFFICE".to_owned()),
        stated_area_m2: Some(99.5),
        texts: vec!["quiet".to_owned()],
        usage: None,
        origin: RoomOrigin::Drawn,
        source: Some(source(u64::from(index))),
        view: None,
        confidence: 0.95,
        reason: "closed polyline on a room layer".to_owned(),
    };
    Plan {
        rooms: vec![room(0), room(1)],
        walls: vec![Wall {
            centre_line: vec![Point::new(0.0, 0.0), Point::new(10.0, 0.0)],
            thickness_m: Some(0.24),
            length_m: 10.0,
            nodes: (0, 1),
            exterior: true,
            confidence: 0.9,
            reason: "two parallel lines".to_owned(),
        }],
        wall_areas: vec![square_at(50.0)],
        openings: vec![Opening {
            index: 0,
            kind: OpeningKind::DoubleDoor,
            line: [Point::new(11.0, 4.0), Point::new(11.0, 6.0)],
            width_m: 2.0,
            depth_m: Some(0.24),
            hinges: vec![Point::new(11.0, 4.0), Point::new(11.0, 6.0)],
            swing: Some(Point::new(10.5, 5.0)),
            sides: [Side::Room(0), Side::Outside],
            block: Some("DOOR-2".to_owned()),
            source: None,
            confidence: 0.8,
            reason: "two arcs".to_owned(),
        }],
        labels: vec![Label {
            text: "100".to_owned(),
            kind: LabelKind::Number,
            at: Point::new(2.0, 3.0),
            height_m: 0.25,
            room: Some(0),
            ordinal: 2,
        }],
        level_outline: vec![square_at(0.0), square_at(12.0)],
        diagnostics: vec![Diagnostic {
            code: "ROOM201",
            detail: "dangle".to_owned(),
            geometry: DiagnosticGeometry::Point(Point::new(1.0, 1.0)),
        }],
        ..Plan::default()
    }
}

fn drawn_rooms() -> Drawing {
    let mut sheet = Sheet::new();
    for index in 0..2 {
        let ring = SQUARE.map(|(x, y)| (f64::from(index) * 12.0 + x, y));
        sheet.lines(&[(&ring, true)], 0x2f);
    }
    let text = sheet.text("100", None);
    let item = sheet.item(Geometry::Text(text), "TEXT", 0x30);
    sheet.0.push(item).unwrap();
    sheet.0.finish()
}

// R153
#[test]
fn derived_things_stand_first_and_refer_to_each_other() {
    let (features, summary) = write(&drawn_rooms(), &plan(), &OutputOptions::default(), &Frame::local_metres());
    let ids: Vec<_> = features.iter().map(|feature| feature["id"].as_str().unwrap()).collect();
    assert_eq!(
        ids,
        ["level/0", "room/0", "room/1", "wall/0", "wall-body/0", "opening/0", "diagnostic/0", "2F", "2F#1", "30"]
    );
    assert_eq!(
        features[1]["properties"],
        json!({
            "class": "room", "name": "100", "number": "100", "room_name": "OFFICE", "floor_level": 2, "level_name": "L02", "area_m2": 100, "stated_area_m2": 99.5,
            "perimeter_m": 40, "label_point": [5, 5], "texts": ["quiet"], "origin": "drawn", "layer": "A-ROOM",
            "entity": "LWPOLYLINE", "handle": "2F", "confidence": 0.95, "reason": "closed polyline on a room layer"
        })
    );
    assert_eq!(features[0]["geometry"]["type"], "MultiPolygon");
    assert_eq!(features[0]["properties"]["floor_level"], 2);
    assert_eq!(features[5]["properties"]["rooms"], json!(["room/0", "outside"]));
    assert_eq!(features[9]["properties"]["room"], "room/0");
    assert_eq!(summary.classes["door"], 1);
}

#[test]
fn entities_can_be_left_out_and_are_then_counted() {
    let ids = |entities, derived| {
        let options = OutputOptions { entities, derived, ..OutputOptions::default() };
        let (features, summary) = write(&drawn_rooms(), &plan(), &options, &Frame::local_metres());
        let classes: Vec<String> =
            features.iter().map(|feature| feature["properties"]["class"].as_str().unwrap().to_owned()).collect();
        (classes, summary.omitted, summary.topology_hash)
    };
    let (all, omitted, hash) = ids(Entities::All, true);
    assert_eq!((all.len(), omitted), (10, 0));
    let (none, omitted, same) = ids(Entities::None, true);
    assert_eq!((none.iter().filter(|class| *class == "label").count(), omitted), (1, 3));
    assert!(!none.iter().any(|class| class == "area"));
    let (unmapped, omitted, _) = ids(Entities::Unmapped, true);
    assert_eq!((unmapped.len(), omitted), (7, 3));
    let (bare, ..) = ids(Entities::All, false);
    assert_eq!(bare, ["area", "area", "label"]);
    assert_eq!(hash, same);
}

const SVG: &str = r##"<svg xmlns="http://www.w3.org/2000/svg" xmlns:inkscape="http://www.inkscape.org/namespaces/inkscape"
  width="10m" height="8m" viewBox="0 0 10 8">
  <g inkscape:groupmode="layer" inkscape:label="Walls" id="walls">
    <path id="a" d="M0 0H10V8H0Z M2 2V4H4V2Z" fill="#888"/>
    <line id="b" x1="0" y1="4" x2="10" y2="4" stroke="#f00" stroke-width="0.2"/>
  </g>
  <g inkscape:groupmode="layer" inkscape:label="Furniture" style="display:none"><rect id="c" width="1" height="1"/></g>
  <text id="d" x="5" y="5" font-size="0.5">Hall</text>
</svg>"##;

fn converted(name: &str, options: ConvertOptions) -> Converted {
    let document = Document {
        name,
        floor_level: Some(2),
        level_name: Some("L02"),
        trace_id: Some("0190".to_owned()),
        request_id: Some("REQ-77"),
        ..Document::default()
    };
    convert(SVG.as_bytes().to_vec(), &document, options).unwrap()
}

fn collection(converted: &Converted) -> Value {
    let mut bytes = Vec::new();
    std::io::Read::read_to_end(&mut converted.output.reader(), &mut bytes).unwrap();
    serde_json::from_slice(&bytes).unwrap()
}

// R133, R155
#[test]
fn metadata_stands_first_and_counts_what_is_there() {
    let converted = converted("A/L02.svg", ConvertOptions::default());
    let value = collection(&converted);
    let members: Vec<_> = value.as_object().unwrap().keys().cloned().collect();
    assert!(members.contains(&"metadata".to_owned()));
    let text = {
        let mut text = String::new();
        std::io::Read::read_to_string(&mut converted.output.reader(), &mut text).unwrap();
        text
    };
    assert!(text.starts_with(r#"{"type":"FeatureCollection","metadata":{"schema":"plan2geo/1","source":"A/L02.svg""#));
    assert!(text.ends_with("\n]}\n"));
    let metadata = &value["metadata"];
    assert_eq!(metadata["source_format"], "svg");
    assert_eq!((&metadata["floor_level"], &metadata["level_name"]), (&json!(2), &json!("L02")));
    assert_eq!((&metadata["trace_id"], &metadata["request_id"]), (&json!("0190"), &json!("REQ-77")));
    assert_eq!(metadata["topology_hash"], json!(converted.topology_hash));
    assert_eq!(metadata["crs"], "local-metres");
    let counts = &metadata["counts"];
    assert_eq!(counts["features"], json!(value["features"].as_array().unwrap().len()));
    assert_eq!(counts["hidden"]["by_layer"]["Furniture"], 1);
    assert_eq!(converted.features, counts["features"].as_u64().unwrap());
    let issues: u64 =
        metadata["issues"].as_object().unwrap().values().map(|issue| issue["count"].as_u64().unwrap()).sum();
    assert_eq!(issues, converted.issues.total());
    assert_eq!(converted.output.sha256(), plan2geo_actors::Spooled::from_bytes(text.into_bytes()).sha256());
}

#[test]
fn an_extension_that_lies_is_an_issue_and_foreign_bytes_an_error() {
    let converted = converted("A/L02.dxf", ConvertOptions::default());
    assert_eq!(converted.format, SourceFormat::Svg);
    assert_eq!(converted.issues.count(&plan2geo::format::EXTENSION_DISAGREES), 1);
    let document = Document { name: "x.svg", ..Document::default() };
    let error = convert(b"GIF89a".to_vec(), &document, ConvertOptions::default()).unwrap_err();
    assert_eq!(error.kind().as_str(), "unsupported");
    let error = convert(Vec::new(), &document, ConvertOptions::default()).unwrap_err();
    assert_eq!(error.kind().as_str(), "empty");
}

#[test]
fn the_same_bytes_give_the_same_bytes() {
    let bytes = |converted: &Converted| converted.output.sha256_hex();
    assert_eq!(
        bytes(&converted("a.svg", ConvertOptions::default())),
        bytes(&converted("a.svg", ConvertOptions::default()))
    );
}

#[test]
fn outputs_are_as_the_schema_says() {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("schemas/featurecollection.json");
    let mut expected = serde_json::to_string_pretty(&schema::featurecollection()).unwrap();
    expected.push('\n');
    if std::env::var_os("BLESS").is_some() {
        std::io::Write::write_all(&mut std::fs::File::create(&path).unwrap(), expected.as_bytes()).unwrap();
    }
    assert_eq!(std::fs::read_to_string(&path).unwrap(), expected, "run BLESS=1 cargo test outputs_are");
    let validator = jsonschema::validator_for(&schema::featurecollection()).unwrap();
    let options = ConvertOptions {
        output: OutputOptions { include_hidden: true, ..OutputOptions::default() },
        ..ConvertOptions::default()
    };
    for options in [ConvertOptions::default(), options] {
        let value = collection(&converted("A/L02.svg", options));
        let errors: Vec<_> =
            validator.iter_errors(&value).map(|error| format!("{}: {error}", error.instance_path())).collect();
        assert!(errors.is_empty(), "{errors:#?}");
    }
    // Everything that derivation can add, in one collection.
    let mut value = collection(&converted("A/L02.svg", ConvertOptions::default()));
    let (features, _) = write(&drawn_rooms(), &plan(), &OutputOptions::default(), &Frame::local_metres());
    value["features"] = Value::Array(features);
    let errors: Vec<_> =
        validator.iter_errors(&value).map(|error| format!("{}: {error}", error.instance_path())).collect();
    assert!(errors.is_empty(), "{errors:#?}");
}
