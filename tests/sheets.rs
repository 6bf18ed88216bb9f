//! Several drawings on one sheet: floors, an elevation, a legend side by side, with and without titles and layers.

use std::fmt::Write as _;

use plan2geo::drawing::SourceFormat;
use plan2geo::drawing::expand::{ExpandOptions, Shape, expand};
use plan2geo::format::{ReadOptions, Readers};
use plan2geo::kernel::{ConvertOptions, Document, convert};
use plan2geo::plan::{Input, Plan, PlanOptions, ViewKind, codes, derive};
use serde_json::Value;

/// A drawing in metres that is moved, turned and scaled as it is written.
#[derive(Clone)]
struct Sheet {
    /// Layer, then a line, or a text with its height, or an arc with radius and angles.
    entities: Vec<(String, Entity)>,
    one_layer: bool,
}

#[derive(Clone)]
enum Entity {
    Line([f64; 4]),
    Text(f64, f64, f64, String),
    Arc(f64, f64, f64, f64, f64),
}

impl Sheet {
    fn new() -> Self {
        Self { entities: Vec::new(), one_layer: false }
    }

    fn line(&mut self, layer: &str, ends: [f64; 4]) {
        self.entities.push((layer.to_owned(), Entity::Line(ends)));
    }

    fn ring(&mut self, layer: &str, [x0, y0, x1, y1]: [f64; 4]) {
        for ends in [[x0, y0, x1, y0], [x1, y0, x1, y1], [x1, y1, x0, y1], [x0, y1, x0, y0]] {
            self.line(layer, ends);
        }
    }

    fn text(&mut self, layer: &str, x: f64, y: f64, height: f64, value: &str) {
        self.entities.push((layer.to_owned(), Entity::Text(x, y, height, value.to_owned())));
    }

    /// Two rooms of 4 m by 4 m with walls of 0.2 m, a door between them and one to the outside.
    fn house(&mut self, x: f64, y: f64, names: [&str; 2]) {
        let wall = "A-WALL";
        let at = |ends: [f64; 4]| [ends[0] + x, ends[1] + y, ends[2] + x, ends[3] + y];
        for ends in [
            // Outside, with a door of 0.9 m in the south.
            [0.0, 0.0, 1.0, 0.0],
            [1.9, 0.0, 8.6, 0.0],
            [8.6, 0.0, 8.6, 4.4],
            [8.6, 4.4, 0.0, 4.4],
            [0.0, 4.4, 0.0, 0.0],
            // Inside of the left room, with a door of 0.9 m in the east.
            [0.2, 0.2, 1.0, 0.2],
            [1.9, 0.2, 4.2, 0.2],
            [4.2, 0.2, 4.2, 1.0],
            [4.2, 1.9, 4.2, 4.2],
            [4.2, 4.2, 0.2, 4.2],
            [0.2, 4.2, 0.2, 0.2],
            // Inside of the right room.
            [4.4, 0.2, 8.4, 0.2],
            [8.4, 0.2, 8.4, 4.2],
            [8.4, 4.2, 4.4, 4.2],
            [4.4, 4.2, 4.4, 1.9],
            [4.4, 1.0, 4.4, 0.2],
            // Jambs.
            [1.0, 0.0, 1.0, 0.2],
            [1.9, 0.0, 1.9, 0.2],
            [4.2, 1.0, 4.4, 1.0],
            [4.2, 1.9, 4.4, 1.9],
        ] {
            self.line(wall, at(ends));
        }
        self.line("A-DOOR", at([1.0, 0.2, 1.0, 1.1]));
        self.entities.push(("A-DOOR".to_owned(), Entity::Arc(x + 1.0, y + 0.2, 0.9, 0.0, 90.0)));
        self.line("A-DOOR", at([4.4, 1.0, 5.3, 1.0]));
        self.entities.push(("A-DOOR".to_owned(), Entity::Arc(x + 4.4, y + 1.0, 0.9, 0.0, 90.0)));
        self.text("A-ROOM-IDEN", x + 1.5, y + 2.4, 0.2, names[0]);
        self.text("A-ROOM-IDEN", x + 5.8, y + 2.4, 0.2, names[1]);
    }

    /// A side of the house: walls and slabs in double lines, windows, a roof, and the ground.
    fn elevation(&mut self, x: f64, y: f64, ground: f64) {
        let layer = "A-WALL";
        self.ring(layer, [x, y, x + 8.6, y + 6.0]);
        self.ring(layer, [x + 0.2, y + 0.2, x + 8.4, y + 2.8]);
        self.ring(layer, [x + 0.2, y + 3.0, x + 8.4, y + 5.8]);
        for column in 0..3 {
            for floor in 0..2 {
                let (left, low) = (x + 1.0 + 2.6 * f64::from(column), y + 1.0 + 2.8 * f64::from(floor));
                self.ring(layer, [left, low, left + 1.6, low + 1.3]);
                self.ring(layer, [left + 0.1, low + 0.1, left + 1.5, low + 1.2]);
            }
        }
        for across in [2.0, 4.0, 6.0] {
            self.line(layer, [x + across, y, x + across, y + 0.2]);
        }
        self.line(layer, [x - 0.5, y + 6.0, x + 4.3, y + 8.5]);
        self.line(layer, [x + 4.3, y + 8.5, x + 9.1, y + 6.0]);
        if ground > 0.0 {
            self.line(layer, [x - ground, y, x + 8.6 + ground, y]);
        }
    }

    /// Written in units of `metres`, turned by `degrees`.
    fn dxf(&self, metres: f64, degrees: f64) -> String {
        let (sin, cos) = degrees.to_radians().sin_cos();
        let place = |x: f64, y: f64| ((x * cos - y * sin) / metres, (x * sin + y * cos) / metres);
        let units = if metres == 0.001 { 4 } else { 6 };
        let mut out = format!("0\nSECTION\n2\nHEADER\n9\n$INSUNITS\n70\n{units}\n0\nENDSEC\n0\nSECTION\n2\nENTITIES\n");
        for (layer, entity) in &self.entities {
            let layer = if self.one_layer { "0" } else { layer };
            let _ = match entity {
                Entity::Line([x0, y0, x1, y1]) => {
                    let ((a, b), (c, d)) = (place(*x0, *y0), place(*x1, *y1));
                    write!(out, "0\nLINE\n8\n{layer}\n10\n{a}\n20\n{b}\n11\n{c}\n21\n{d}\n")
                }
                Entity::Text(x, y, height, value) => {
                    let ((a, b), height) = (place(*x, *y), height / metres);
                    write!(out, "0\nTEXT\n8\n{layer}\n10\n{a}\n20\n{b}\n40\n{height}\n1\n{value}\n50\n{degrees}\n")
                }
                Entity::Arc(x, y, radius, from, to) => {
                    let ((a, b), radius) = (place(*x, *y), radius / metres);
                    let (from, to) = (from + degrees, to + degrees);
                    write!(out, "0\nARC\n8\n{layer}\n10\n{a}\n20\n{b}\n40\n{radius}\n50\n{from}\n51\n{to}\n")
                }
            };
        }
        out + "0\nENDSEC\n0\nEOF\n"
    }

    fn plan(&self, options: &PlanOptions) -> Plan {
        plan(&self.dxf(1.0, 0.0), options)
    }
}

fn plan(dxf: &str, options: &PlanOptions) -> Plan {
    let read = Readers::default().read(
        SourceFormat::Dxf,
        "test",
        &dxf.to_owned().into_bytes().into(),
        1,
        &ReadOptions::default(),
        &|| Ok(()),
    );
    let drawing = read.unwrap().drawing;
    let mut input = Input::new(options);
    let mut take = |shape: &Shape<'_>| -> Result<(), std::convert::Infallible> {
        input.push(shape, &drawing);
        Ok(())
    };
    expand(&drawing, &ExpandOptions::default(), &|| Ok(()), &mut take).unwrap();
    derive(&input, options, &|| Ok(())).unwrap()
}

fn whole() -> PlanOptions {
    PlanOptions { sheets: false, ..PlanOptions::default() }
}

/// Two floors one above the other and an elevation beside them, each with its title below.
fn three() -> Sheet {
    let mut sheet = Sheet::new();
    sheet.house(0.0, 10.0, ["KITCHEN", "OFFICE"]);
    sheet.text("A-ANNO", 2.0, 8.6, 0.5, "GROUND FLOOR PLAN");
    sheet.house(0.0, 0.0, ["BATHROOM", "STORAGE"]);
    sheet.text("A-ANNO", 2.0, -1.4, 0.5, "FIRST FLOOR PLAN");
    sheet.elevation(15.0, 0.0, 0.0);
    sheet.text("A-ANNO", 17.0, -1.4, 0.5, "SOUTH ELEVATION");
    sheet
}

/// Names of rooms with the floor of the drawing they are in.
fn floors(plan: &Plan) -> Vec<(String, Option<i32>)> {
    let mut found: Vec<_> = plan
        .rooms
        .iter()
        .map(|room| {
            let view = room.view.and_then(|view| plan.views.get(view as usize));
            (room.name.clone().unwrap_or_default(), view.and_then(|view| view.floor_level))
        })
        .collect();
    found.sort();
    found
}

fn kinds(plan: &Plan) -> Vec<ViewKind> {
    plan.views.iter().map(|view| view.kind).collect()
}

fn expected() -> Vec<(String, Option<i32>)> {
    [("BATHROOM", 1), ("KITCHEN", 0), ("OFFICE", 0), ("STORAGE", 1)]
        .map(|(name, floor)| (name.to_owned(), Some(floor)))
        .to_vec()
}

#[test]
fn two_floors_and_an_elevation_by_their_titles() {
    for one_layer in [false, true] {
        let sheet = Sheet { one_layer, ..three() };
        let plan = sheet.plan(&PlanOptions::default());
        assert_eq!(floors(&plan), expected(), "one layer: {one_layer}");
        assert_eq!(kinds(&plan), [ViewKind::Plan, ViewKind::Elevation, ViewKind::Plan]);
        assert_eq!(plan.views[1].title.as_deref(), Some("SOUTH ELEVATION"));
        assert_eq!(plan.views.iter().map(|view| view.rooms).collect::<Vec<_>>(), [2, 0, 2]);
        assert_eq!((plan.issues.count(&codes::NO_PLAN), plan.issues.count(&codes::SEVERAL_FLOORS)), (1, 1));
        // Without it, the elevation is taken for rooms, and nothing is said of floors.
        let plan = sheet.plan(&whole());
        assert!(plan.rooms.len() > 4 && plan.views.is_empty());
        assert!(plan.rooms.iter().all(|room| room.view.is_none()));
    }
}

#[test]
fn drawings_do_not_depend_on_order_turn_and_unit() {
    let mut sheet = three();
    sheet.one_layer = true;
    for (metres, degrees) in [(0.001, 0.0), (1.0, 30.0), (0.001, 90.0), (1.0, -117.0)] {
        let plan = plan(&sheet.dxf(metres, degrees), &PlanOptions::default());
        assert_eq!(floors(&plan), expected(), "{metres} m, {degrees}°");
        assert_eq!(plan.views.len(), 3);
    }
    sheet.entities.reverse();
    assert_eq!(floors(&sheet.plan(&PlanOptions::default())), expected());
}

#[test]
fn titles_above_the_drawings() {
    let mut sheet = Sheet::new();
    for (y, names, title) in [
        (20.0, ["KITCHEN", "OFFICE"], "LEVEL 2"),
        (10.0, ["LOBBY", "STORAGE"], "LEVEL 1"),
        (0.0, ["HALL", "LAB"], "LEVEL 0"),
    ] {
        sheet.house(0.0, y, names);
        sheet.text("A-ANNO", 2.0, y + 5.4, 0.5, title);
    }
    let plan = sheet.plan(&PlanOptions::default());
    assert_eq!(plan.views.iter().map(|view| view.floor_level).collect::<Vec<_>>(), [Some(2), Some(1), Some(0)]);
    assert_eq!(plan.rooms.len(), 6);
}

#[test]
fn an_elevation_without_a_title_stands_on_the_ground() {
    let mut sheet = Sheet::new();
    sheet.house(0.0, 0.0, ["KITCHEN", "OFFICE"]);
    sheet.elevation(20.0, 0.0, 3.0);
    sheet.one_layer = true;
    let plan = sheet.plan(&PlanOptions::default());
    assert_eq!(kinds(&plan), [ViewKind::Elevation, ViewKind::Plan]);
    assert_eq!(plan.rooms.len(), 2);
    // Alone on its sheet nothing confirms that it is none.
    let mut alone = Sheet::new();
    alone.elevation(0.0, 0.0, 3.0);
    assert!(alone.plan(&PlanOptions::default()).views.is_empty());
}

#[test]
fn a_detached_garage_loses_nothing() {
    let mut sheet = Sheet::new();
    sheet.house(0.0, 0.0, ["KITCHEN", "OFFICE"]);
    sheet.ring("A-WALL", [12.0, 0.0, 16.0, 6.0]);
    sheet.ring("A-WALL", [12.2, 0.2, 15.8, 5.8]);
    let before = sheet.plan(&whole());
    assert_eq!(before.rooms.len(), 3);
    let plan = sheet.plan(&PlanOptions::default());
    assert!(plan.views.is_empty());
    assert_eq!(plan.rooms, before.rooms);
    // With a title for both of them the rooms are the same.
    sheet.text("A-ANNO", 2.0, -1.4, 0.5, "GROUND FLOOR PLAN");
    let plan = sheet.plan(&PlanOptions::default());
    assert_eq!(plan.rooms.len(), 3);
    assert_eq!(floors(&plan).iter().filter(|(_, floor)| *floor == Some(0)).count(), 2);
}

#[test]
fn a_title_that_the_drawing_contradicts_takes_no_rooms() {
    let mut sheet = Sheet::new();
    sheet.house(0.0, 0.0, ["KITCHEN", "OFFICE"]);
    sheet.text("A-ANNO", 2.0, -1.4, 0.5, "SECTION A-A");
    sheet.house(20.0, 0.0, ["LOBBY", "LAB"]);
    sheet.text("A-ANNO", 22.0, -1.4, 0.5, "GROUND FLOOR PLAN");
    sheet.text("A-ANNO", 2.0, 2.0, 0.6, "LEGEND");
    let plan = sheet.plan(&PlanOptions::default());
    assert_eq!(plan.rooms.len(), 4);
    assert!(kinds(&plan).iter().all(|kind| kind.has_rooms()));
}

#[test]
fn a_title_block_and_a_frame_are_no_rooms() {
    let mut sheet = three();
    sheet.ring("0", [-5.0, -8.0, 40.0, 25.0]);
    // Captions in cells.
    let captions = ["PROJECT: HOUSE", "SCALE 1:100", "DATE", "DRAWN BY", "SHEET NO", "CHECKED BY"];
    for (number, caption) in (0..).zip(captions) {
        let (x, y) = (26.0 + 4.0 * f64::from(number % 3), -7.6 + 1.5 * f64::from(number / 3));
        sheet.ring("0", [x, y, x + 4.0, y + 1.5]);
        sheet.text("0", x + 0.2, y + 0.6, 0.25, caption);
    }
    sheet.one_layer = true;
    let plan = sheet.plan(&PlanOptions::default());
    assert_eq!(floors(&plan), expected());
    assert!(kinds(&plan).contains(&ViewKind::TitleBlock));
}

#[test]
fn the_configuration_names_kinds_of_titles() {
    let mut sheet = three();
    for (_, entity) in &mut sheet.entities {
        if let Entity::Text(.., value) = entity
            && value == "SOUTH ELEVATION"
        {
            *value = "VISTA 3".to_owned();
        }
    }
    let plan = sheet.plan(&PlanOptions::default());
    assert!(plan.rooms.len() > 4);
    let mut options = PlanOptions::default();
    options.titles.insert(ViewKind::Elevation, vec!["vista *".to_owned()]);
    assert_eq!(floors(&sheet.plan(&options)), expected());
    options.titles.insert(ViewKind::Roof, vec!["[".to_owned()]);
    assert_eq!(sheet.plan(&options).issues.count(&codes::BAD_GLOB), 1);
}

#[test]
fn rooms_and_levels_of_the_output_know_their_floor() {
    let document = Document { name: "sheet.dxf", ..Document::default() };
    let converted = convert(three().dxf(1.0, 0.0), &document, ConvertOptions::default()).unwrap();
    let mut text = Vec::new();
    std::io::copy(&mut converted.output.reader(), &mut text).unwrap();
    let collection: Value = serde_json::from_slice(&text).unwrap();
    let views = collection["metadata"]["views"].as_array().unwrap();
    assert_eq!(views.len(), 3);
    assert_eq!(
        (&views[1]["kind"], &views[1]["bbox"]),
        (&"elevation".into(), &serde_json::json!([14.5, 0.0, 24.1, 8.5]))
    );
    let of_class = |class: &str| {
        let features = collection["features"].as_array().unwrap().iter();
        features
            .map(|feature| feature["properties"].clone())
            .filter(|properties| properties["class"] == class)
            .collect::<Vec<_>>()
    };
    let levels: Vec<_> =
        of_class("level").iter().map(|level| (level["name"].clone(), level["room_count"].clone())).collect();
    assert_eq!(levels, [("GROUND FLOOR".into(), 2.into()), ("FIRST FLOOR".into(), 2.into())]);
    let kitchen = of_class("room").into_iter().find(|room| room["name"] == "KITCHEN").unwrap();
    assert_eq!(
        (&kitchen["floor_level"], &kitchen["level_name"], &kitchen["view"]),
        (&0.into(), &"GROUND FLOOR".into(), &0.into())
    );
}
