//! What entities of a database become: each is put into the model of a real drawing, told over, and read.

use std::collections::BTreeMap;

use bytes::Bytes;
use cadkit_dwg::native::{
    Arc, Attrib, Circle, DwgFile, DwgObject, Hatch, HatchPath, Insert, InsertArray, Line, LwPolyline, MText,
    ObjectData, Spline, Text, read_native,
};

use super::document::Writer;
use crate::drawing::{Drawing, Geometry, Item, Point, Segment};
use crate::format::{Limits, ReadOptions, dxf};

const SAMPLE: &[u8] = include_bytes!("../../../tests/data/dwg/block_visibility.dwg");
const FIRST: u64 = 0xF0_0000;

/// The sample with nothing in its model but `entities`, in this order; their handles count from [`FIRST`].
struct Database {
    file: DwgFile,
    model: u64,
    template: DwgObject,
    next: u64,
}

impl Database {
    fn new() -> Self {
        let mut file = read_native(SAMPLE, &cadkit_core::ReadOptions::new()).unwrap();
        let model = file.header.handle("BLOCK_RECORD_MODEL_SPACE").unwrap();
        let is_line = |object: &&DwgObject| matches!(object.data, ObjectData::Line(_));
        let mut template = file.objects.values().find(is_line).unwrap().clone();
        template.common.xdictionary = None;
        let common = template.common.entity.as_mut().unwrap();
        (common.entity_mode, common.color.index, common.color.value) = (0, 256, None);
        if let Some(ObjectData::BlockHeader(header)) = file.objects.get_mut(&model).map(|object| &mut object.data) {
            header.entities.clear();
        }
        Self { file, model, template, next: FIRST }
    }

    fn object(&mut self, type_code: u16, data: ObjectData) -> u64 {
        let handle = self.next;
        self.next += 1;
        let mut object = self.template.clone();
        (object.handle, object.type_code, object.data) = (handle, type_code, data);
        object.common.owner = Some(self.model);
        self.file.objects.insert(handle, object);
        handle
    }

    fn entity(&mut self, type_code: u16, data: ObjectData) -> u64 {
        let handle = self.object(type_code, data);
        if let Some(ObjectData::BlockHeader(header)) =
            self.file.objects.get_mut(&self.model).map(|object| &mut object.data)
        {
            header.entities.push(handle);
        }
        handle
    }

    fn drawing(&self) -> Drawing {
        let limits = Limits::default();
        let (document, _) = Writer::new(&self.file, &limits, &|| Ok(())).document().unwrap();
        dxf::read(&Bytes::from(document), &ReadOptions::default(), &|| Ok(())).unwrap().drawing
    }
}

fn drawing_of(type_code: u16, data: ObjectData) -> Drawing {
    let mut database = Database::new();
    database.entity(type_code, data);
    database.drawing()
}

fn only(drawing: &Drawing) -> &Item {
    assert_eq!(drawing.items.len(), 1, "{:?}", drawing.census);
    &drawing.items[0]
}

fn segments<'d>(drawing: &'d Drawing, item: &Item) -> Vec<Segment<'d>> {
    match item.geometry {
        Geometry::Line(path) | Geometry::Area(path, _) => drawing.paths.segments(path).collect(),
        _ => panic!("no path: {item:?}"),
    }
}

fn extruded<T>(mut data: T, set: impl FnOnce(&mut T)) -> T {
    set(&mut data);
    data
}

#[test]
fn lines_are_in_the_world_and_circles_in_their_plane() {
    let line = extruded(Line::default(), |line| {
        (line.start, line.end, line.extrusion) = ([1.0, 2.0, 0.0], [5.0, 2.0, 0.0], [0.0, 0.0, -1.0]);
    });
    let drawing = drawing_of(0x13, ObjectData::Line(line));
    let ends = [Segment::Move(Point::new(1.0, 2.0)), Segment::Line(Point::new(5.0, 2.0))];
    assert_eq!(segments(&drawing, only(&drawing)), ends);

    let circle = extruded(Circle::default(), |circle| {
        (circle.center, circle.radius, circle.extrusion) = ([-20.0, 5.0, 0.0], 2.0, [0.0, 0.0, -1.0]);
    });
    let drawing = drawing_of(0x12, ObjectData::Circle(circle));
    let Segment::Arc { centre, .. } = segments(&drawing, only(&drawing))[0] else { panic!("no arc") };
    assert_eq!(centre, Point::new(20.0, 5.0));
}

#[test]
fn arcs_keep_their_angles() {
    let arc = extruded(Arc::default(), |arc| {
        (arc.center, arc.radius, arc.extrusion) = ([-131.9, 7.0, 0.0], 5.0, [0.0, 0.0, -1.0]);
        (arc.start_angle, arc.end_angle) = (30f64.to_radians(), 60f64.to_radians());
    });
    let drawing = drawing_of(0x11, ObjectData::Arc(arc));
    let Segment::Arc { centre, u, v, start, sweep } = segments(&drawing, only(&drawing))[0] else { panic!("no arc") };
    let at = |angle: f64| centre + u * angle.cos() + v * angle.sin();
    let expected =
        |degrees: f64| Point::new(131.9 - 5.0 * degrees.to_radians().cos(), 7.0 + 5.0 * degrees.to_radians().sin());
    assert!((at(start) - expected(30.0)).hypot() < 1e-9 && (at(start + sweep) - expected(60.0)).hypot() < 1e-9);
}

#[test]
fn polylines_keep_their_closing_bulge() {
    let polyline = extruded(LwPolyline::default(), |polyline| {
        polyline.flags = 0x200 | 0x10;
        polyline.extrusion = [0.0, 0.0, 1.0];
        polyline.points = vec![[0.0, 0.0], [10.0, 0.0], [10.0, 10.0], [0.0, 10.0]];
        polyline.bulges = vec![0.0, 0.0, 0.0, 1.0];
    });
    let drawing = drawing_of(0x4D, ObjectData::LwPolyline(polyline));
    let segments = segments(&drawing, only(&drawing));
    assert!(segments.contains(&Segment::Bulge { to: Point::ZERO, bulge: 1.0 }), "{segments:?}");
    assert_eq!(segments.last(), Some(&Segment::Close));
    assert_eq!(drawing.string(only(&drawing).entity), "LWPOLYLINE");
}

#[test]
fn texts_turn_and_lose_their_codes() {
    let mut database = Database::new();
    for degrees in [0.0f64, 90.0, 180.0, 270.0] {
        let text = extruded(Text::default(), |text| {
            (text.height, text.width_factor, text.extrusion) = (2.5, 1.0, [0.0, 0.0, 1.0]);
            (text.rotation, text.value) = (degrees.to_radians(), format!("T{degrees}%%d"));
        });
        database.entity(0x01, ObjectData::Text(text));
    }
    let mtext = extruded(MText::default(), |text| {
        (text.height, text.x_axis, text.extrusion, text.attachment) = (1.0, [1.0, 0.0, 0.0], [0.0, 0.0, 1.0], 5);
        text.value = "{\\fArial;Room \\C1;101}\\POffice".to_owned();
    });
    database.entity(0x2C, ObjectData::MText(mtext));
    let drawing = database.drawing();
    let texts: Vec<(&str, f64)> = drawing
        .texts
        .iter()
        .map(|text| {
            (text.value.as_str(), text.direction.y.atan2(text.direction.x).to_degrees().rem_euclid(360.0).round())
        })
        .collect();
    let expected = [("T0°", 0.0), ("T90°", 90.0), ("T180°", 180.0), ("T270°", 270.0), ("Room 101\nOffice", 0.0)];
    assert_eq!(texts, expected);
}

#[test]
fn array_inserts_turn_and_attributes_stay_with_them() {
    let mut database = Database::new();
    let attribute = extruded(Attrib::default(), |attribute| {
        (attribute.tag, attribute.text.value) = ("NUMBER".to_owned(), "101".to_owned());
        (attribute.text.insertion, attribute.text.height) = ([50.0, 60.0], 2.0);
        attribute.text.extrusion = [0.0, 0.0, 1.0];
    });
    let attribute = database.object(0x02, ObjectData::Attrib(attribute));
    let is_block = |object: &DwgObject| match &object.data {
        ObjectData::BlockHeader(header) => {
            !header.entry.name.starts_with("*Model") && !header.entry.name.starts_with("*Paper")
        }
        _ => false,
    };
    let block = database.file.objects.values().find(|object| is_block(object)).unwrap().handle;
    let mut array = InsertArray::default();
    (array.columns, array.rows, array.column_spacing) = (3, 1, 10.0);
    let insert = extruded(Insert::default(), |insert| {
        (insert.scale, insert.extrusion, insert.rotation) = ([1.0; 3], [0.0, 0.0, 1.0], 90f64.to_radians());
        (insert.block_header, insert.array) = (Some(block), Some(array));
        insert.attribs = vec![attribute];
    });
    database.entity(0x08, ObjectData::Insert(insert));
    let drawing = database.drawing();
    let Geometry::Insert(insert) = only(&drawing).geometry else { panic!("no insert") };
    let insert = drawing.insert(insert).unwrap();
    assert_eq!((insert.columns, insert.rows), (3, 1));
    assert!((insert.column_step.x.abs() < 1e-9) && (insert.column_step.y - 10.0).abs() < 1e-9);
    assert_eq!(insert.attributes.len(), 1);
    assert_eq!(drawing.text(insert.attributes[0].text).unwrap().value, "101");
    assert_eq!(drawing.string(only(&drawing).entity), "INSERT");
}

#[test]
fn splines_through_fit_points_are_curves_through_them() {
    let spline = extruded(Spline::default(), |spline| {
        (spline.scenario, spline.degree) = (2, 3);
        spline.fit_points = vec![[0.0, 0.0, 0.0], [10.0, 10.0, 0.0], [20.0, 0.0, 0.0]];
    });
    let drawing = drawing_of(0x24, ObjectData::Spline(spline));
    assert!(matches!(only(&drawing).geometry, Geometry::Line(_)));
    assert!(!segments(&drawing, only(&drawing)).is_empty());
}

#[test]
fn hatches_are_areas_with_all_their_rings() {
    let ring = |from: f64, to: f64| {
        extruded(HatchPath::default(), |path| {
            (path.flags, path.closed) = (2, true);
            path.polyline = vec![[from, from], [to, from], [to, to], [from, to]];
        })
    };
    let hatch = extruded(Hatch::default(), |hatch| {
        (hatch.pattern, hatch.solid, hatch.extrusion) = ("SOLID".to_owned(), true, [0.0, 0.0, 1.0]);
        hatch.paths = vec![ring(0.0, 30.0), ring(10.0, 20.0)];
    });
    let drawing = drawing_of(0x4E, ObjectData::Hatch(hatch));
    assert!(matches!(only(&drawing).geometry, Geometry::Area(..)));
    let closes = segments(&drawing, only(&drawing)).iter().filter(|segment| **segment == Segment::Close).count();
    assert_eq!(closes, 2);
}

#[test]
fn layers_keep_their_state_and_entities_their_colour() {
    let mut database = Database::new();
    let line = extruded(Line::default(), |line| line.end = [1.0, 0.0, 0.0]);
    let handle = database.entity(0x13, ObjectData::Line(line));
    let layer =
        database.file.objects.values().find(|object| matches!(object.data, ObjectData::Layer(_))).unwrap().handle;
    if let Some(ObjectData::Layer(layer)) = database.file.objects.get_mut(&layer).map(|object| &mut object.data) {
        (layer.on, layer.frozen, layer.color.index, layer.color.value) = (false, true, 3, None);
    }
    let common = database.file.objects.get_mut(&handle).unwrap().common.entity.as_mut().unwrap();
    (common.layer, common.invisible, common.color.value) = (Some(layer), true, Some(0xC200_1020));
    let drawing = database.drawing();
    let item = only(&drawing);
    let state = drawing.layer(item.layer).unwrap();
    assert_eq!((state.off, state.frozen, state.colour), (true, true, Some(0x00FF00)));
    assert_eq!((item.visible, item.colour), (false, crate::drawing::Colour::Rgb(0x1020)));
}

#[test]
fn a_repeated_reference_does_not_repeat_the_entity() {
    let mut database = Database::new();
    let line = extruded(Line::default(), |line| line.end = [1.0, 0.0, 0.0]);
    let handle = database.entity(0x13, ObjectData::Line(line));
    let model = database.model;
    if let Some(ObjectData::BlockHeader(header)) = database.file.objects.get_mut(&model).map(|object| &mut object.data)
    {
        header.entities.extend([handle; 1_000]);
        header.entities.push(0xDEAD_BEEF);
    }
    let limits = Limits::default();
    let (_, beside) = Writer::new(&database.file, &limits, &|| Ok(())).document().unwrap();
    assert_eq!(beside.misplaced, 1_001);
    assert_eq!(beside.pictured, BTreeMap::new());
    assert_eq!(database.drawing().items.len(), 1);
}

#[test]
fn what_has_neither_content_nor_picture_is_counted_by_its_name() {
    let mut database = Database::new();
    let handle = database.entity(0x1F9, ObjectData::Unparsed);
    database.file.objects.get_mut(&handle).unwrap().type_name = "ACME_WALL".to_owned();
    let mut drawing = database.drawing();
    super::restore_unknown(&mut drawing);
    assert_eq!(drawing.unsupported, BTreeMap::from([("ACME_WALL".to_owned(), 1)]));
}

/// Bits from the most significant on, as databases have them.
#[derive(Default)]
struct Bits {
    bytes: Vec<u8>,
    used: usize,
}

impl Bits {
    fn push(&mut self, value: u64, width: usize) {
        for bit in (0..width).rev() {
            if self.used.is_multiple_of(8) {
                self.bytes.push(0);
            }
            if value >> bit & 1 == 1 {
                let last = self.bytes.len() - 1;
                self.bytes[last] |= 0x80 >> (self.used % 8);
            }
            self.used += 1;
        }
    }
}

/// The start of an entity of AC1032 with a picture: type, handle, no extended data, the graphics.
fn with_graphics(graphics: &[u8]) -> Vec<u8> {
    let mut bits = Bits::default();
    bits.push(0b00, 2); // a type of one byte
    bits.push(0x13, 8);
    bits.push(0x01, 8); // a handle of one byte
    bits.push(0x55, 8);
    bits.push(0b10, 2); // extended data of size 0
    bits.push(1, 1); // graphics
    bits.push(2, 3); // their size in two bytes
    bits.push(graphics.len() as u64 & 0xFF, 8);
    bits.push(graphics.len() as u64 >> 8, 8);
    graphics.iter().for_each(|byte| bits.push(u64::from(*byte), 8));
    bits.bytes
}

/// A box with the name of its class, as AutoCAD Architecture saves walls.
fn box_picture(width: f64, height: f64) -> Vec<u8> {
    let reals = |values: &[f64]| values.iter().flat_map(|value| value.to_le_bytes()).collect::<Vec<u8>>();
    let chunk = |kind: u32, data: &[u8]| {
        let mut bytes = (data.len() as u32 + 8).to_le_bytes().to_vec();
        bytes.extend(kind.to_le_bytes());
        bytes.extend_from_slice(data);
        bytes
    };
    let mut label = reals(&[0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 1.0, 0.0, 0.0, 2.5, 1.0, 0.0]);
    label.extend("AecDbWall (AecArchBase70)".encode_utf16().chain([0]).flat_map(u16::to_le_bytes));
    let mut outline = 5u32.to_le_bytes().to_vec();
    for [x, y] in [[0.0, 0.0], [width, 0.0], [width, height], [0.0, height], [0.0, 0.0]] {
        outline.extend(reals(&[x, y, 0.0]));
    }
    let body = [chunk(36, &label), chunk(6, &outline)].concat();
    let mut graphics = (body.len() as u32 + 8).to_le_bytes().to_vec();
    graphics.extend(2u32.to_le_bytes());
    graphics.extend(body);
    graphics
}

#[test]
fn walls_known_by_a_box_are_drawn_if_they_run_along_an_axis() {
    let mut database = Database::new();
    // The sample is drawn in inches: a wall of 0.2 m, and one whose box is 3 m thick.
    for (width, height) in [(200.0, 8.0), (200.0, 120.0)] {
        let handle = database.entity(0x1F9, ObjectData::Unparsed);
        let object = database.file.objects.get_mut(&handle).unwrap();
        object.type_name = "AEC_WALL".to_owned();
        object.raw = with_graphics(&box_picture(width, height));
    }
    let limits = Limits::default();
    let (document, beside) = Writer::new(&database.file, &limits, &|| Ok(())).document().unwrap();
    assert_eq!((beside.pictured.len(), beside.boxes_left_out), (1, 1));
    let mut drawing = dxf::read(&Bytes::from(document), &ReadOptions::default(), &|| Ok(())).unwrap().drawing;
    super::pictures::restore_kinds(&mut drawing, &beside.pictured);
    super::restore_unknown(&mut drawing);
    let wall = only(&drawing);
    assert_eq!(drawing.string(wall.entity), "AEC_WALL");
    assert_eq!(drawing.properties(wall.properties).collect::<Vec<_>>(), [("outline", "bounding-box")]);
    assert_eq!(segments(&drawing, wall).last(), Some(&Segment::Close));
    assert_eq!(drawing.unsupported, BTreeMap::from([("AEC_WALL".to_owned(), 1)]));
    let census: Vec<_> =
        drawing.census.iter().filter(|(kind, _)| *kind == "AEC_WALL" || *kind == "LWPOLYLINE").collect();
    assert_eq!(census[0], (&"AEC_WALL".to_owned(), &1));
}
