//! What is compared: rooms, walls and openings in local metres.

use std::path::Path;

use geo::{Area, BoundingRect, Coord, LineString, MultiPolygon, Polygon, Rect};
use serde_json::Value;

use super::EvaluateError;
use crate::plan::{self, Plan};

/// A point, metres.
pub type Point = Coord<f64>;

/// A room.
#[derive(Debug, Clone)]
pub struct Room {
    /// Identifier within its scene; what openings refer to.
    pub id: String,
    /// Net area, holes open.
    pub outline: MultiPolygon<f64>,
    /// Its bounding box.
    pub bounds: Rect<f64>,
    /// Square metres of `outline`.
    pub area_m2: f64,
    /// Number as written.
    pub number: Option<String>,
    /// Name as written.
    pub name: Option<String>,
    /// Finding it is neither right nor wrong (truth only).
    pub optional: bool,
}

/// Windows are compared with windows, passages with passages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum OpeningClass {
    /// A door or a passage without leaf.
    Passage,
    /// A window.
    Window,
}

/// An opening.
#[derive(Debug, Clone)]
pub struct Opening {
    /// Jamb to jamb.
    pub line: [Point; 2],
    /// Passage or window.
    pub class: OpeningClass,
    /// `door`, `double_door`, `sliding_door`, `gap`, `window`.
    pub kind: Option<String>,
    /// Identifiers of the rooms on its sides; `None` is outside or unknown.
    pub rooms: Vec<Option<String>>,
}

impl Opening {
    /// Its middle.
    pub fn middle(&self) -> Point {
        (self.line[0] + self.line[1]) / 2.0
    }

    /// Its length, metres.
    pub fn width_m(&self) -> f64 {
        let along = self.line[1] - self.line[0];
        along.x.hypot(along.y)
    }
}

/// Everything of one plan that is compared.
#[derive(Debug, Clone, Default)]
pub struct Scene {
    /// Rooms in file order.
    pub rooms: Vec<Room>,
    /// Middle lines of walls.
    pub wall_lines: Vec<Vec<Point>>,
    /// Bodies of walls; compared only where there are no middle lines.
    pub wall_areas: Vec<Polygon<f64>>,
    /// Openings in file order.
    pub openings: Vec<Opening>,
    /// Length of a drawing unit in metres, as the file states it.
    pub metres_per_unit: Option<f64>,
}

impl Scene {
    /// Reads a GeoJSON file.
    ///
    /// # Errors
    /// If it cannot be read, is not a FeatureCollection, or is not in local metres.
    pub fn read(path: &Path) -> Result<Self, EvaluateError> {
        let name = path.display().to_string();
        let bytes = std::fs::read(path).map_err(|source| EvaluateError::Input { path: name.clone(), source })?;
        Self::from_geojson(&bytes, &name)
    }

    /// Parses GeoJSON; `name` is for messages.
    ///
    /// # Errors
    /// See [`Scene::read`].
    pub fn from_geojson(bytes: &[u8], name: &str) -> Result<Self, EvaluateError> {
        let json: Value =
            serde_json::from_slice(bytes).map_err(|source| EvaluateError::Json { path: name.to_owned(), source })?;
        let wrong = |reason: &str| EvaluateError::Shape { path: name.to_owned(), reason: reason.to_owned() };
        let features = json
            .get("features")
            .and_then(Value::as_array)
            .ok_or_else(|| wrong("not a GeoJSON FeatureCollection: it has no array `features`"))?;
        let metadata = json.get("metadata");
        let crs = metadata.and_then(|metadata| metadata.get("crs")).and_then(Value::as_str);
        if crs.is_some_and(|crs| crs != "local-metres") {
            return Err(wrong(
                "coordinates are georeferenced: evaluate plans in local metres (convert without georeference)",
            ));
        }
        let unit = |metadata: &Value| {
            let nested = metadata.get("units").and_then(|units| units.get("metres_per_unit"));
            nested.or_else(|| metadata.get("metres_per_unit")).and_then(Value::as_f64)
        };
        let mut scene = Self { metres_per_unit: metadata.and_then(unit), ..Self::default() };
        for (index, feature) in features.iter().enumerate() {
            scene.take(feature, index);
        }
        Ok(scene)
    }

    fn take(&mut self, feature: &Value, index: usize) {
        let properties = feature.get("properties").unwrap_or(&Value::Null);
        let geometry = feature.get("geometry").unwrap_or(&Value::Null);
        let text = |key: &str| {
            let value = properties.get(key)?.as_str()?.trim();
            (!value.is_empty()).then(|| value.to_owned())
        };
        let id = match feature.get("id") {
            Some(Value::String(id)) => id.clone(),
            Some(other) => other.to_string(),
            None => format!("#{index}"),
        };
        match properties.get("class").and_then(Value::as_str) {
            Some("room") => {
                let (number, mut name) = (text("number"), text("room_name"));
                if name.is_none() {
                    // `name` is what a map shows: the number, if there is one.
                    name = text("name").filter(|name| number.as_ref() != Some(name));
                }
                let optional = properties.get("optional").and_then(Value::as_bool).unwrap_or(false);
                self.rooms.extend(Room::new(id, areas(geometry), number, name, optional));
            }
            Some("wall") => match geometry.get("type").and_then(Value::as_str) {
                Some("LineString" | "MultiLineString") => self.wall_lines.extend(lines(geometry)),
                _ => self.wall_areas.extend(areas(geometry).0),
            },
            Some(class @ ("door" | "window" | "opening")) => {
                let line = lines(geometry).into_iter().next().unwrap_or_default();
                if let (Some(first), Some(last)) = (line.first(), line.last()) {
                    let rooms = properties.get("rooms").and_then(Value::as_array).map_or_else(Vec::new, |rooms| {
                        let room = |room: &Value| room.as_str().filter(|id| *id != "outside").map(str::to_owned);
                        rooms.iter().map(room).collect()
                    });
                    let class = if class == "window" { OpeningClass::Window } else { OpeningClass::Passage };
                    self.openings.push(Opening { line: [*first, *last], class, kind: text("kind"), rooms });
                }
            }
            _ => {}
        }
    }

    /// What a derived plan shows, without writing it first.
    pub fn from_plan(plan: &Plan, metres_per_unit: f64) -> Self {
        let point = |p: &crate::drawing::Point| Coord { x: p.x, y: p.y };
        let polygon = |area: &plan::Polygon| {
            let ring = |points: &Vec<crate::drawing::Point>| points.iter().map(point).collect::<LineString<f64>>();
            Polygon::new(ring(&area.shell), area.holes.iter().map(ring).collect())
        };
        let side = |side: &plan::Side| match side {
            plan::Side::Room(index) => Some(format!("room/{index}")),
            plan::Side::Outside | plan::Side::Unknown => None,
        };
        let rooms = plan.rooms.iter().filter_map(|room| {
            let outline = MultiPolygon(vec![polygon(&room.polygon)]);
            Room::new(format!("room/{}", room.index), outline, room.number.clone(), room.name.clone(), false)
        });
        let openings = plan.openings.iter().map(|opening| {
            let (class, kind) = match opening.kind {
                plan::OpeningKind::Door => (OpeningClass::Passage, "door"),
                plan::OpeningKind::DoubleDoor => (OpeningClass::Passage, "double_door"),
                plan::OpeningKind::SlidingDoor => (OpeningClass::Passage, "sliding_door"),
                plan::OpeningKind::Gap => (OpeningClass::Passage, "gap"),
                plan::OpeningKind::Window => (OpeningClass::Window, "window"),
            };
            let line = [point(&opening.line[0]), point(&opening.line[1])];
            Opening { line, class, kind: Some(kind.to_owned()), rooms: opening.sides.iter().map(side).collect() }
        });
        Self {
            rooms: rooms.collect(),
            wall_lines: plan.walls.iter().map(|wall| wall.centre_line.iter().map(point).collect()).collect(),
            wall_areas: plan.wall_areas.iter().map(polygon).collect(),
            openings: openings.collect(),
            metres_per_unit: Some(metres_per_unit),
        }
    }

    /// The scene with every coordinate multiplied: for predictions in a wrong unit.
    #[must_use]
    pub fn scaled(&self, factor: f64) -> Self {
        let ring = |line: &LineString<f64>| line.0.iter().map(|p| *p * factor).collect::<LineString<f64>>();
        let polygon =
            |area: &Polygon<f64>| Polygon::new(ring(area.exterior()), area.interiors().iter().map(ring).collect());
        let rooms = self.rooms.iter().filter_map(|room| {
            let outline = MultiPolygon(room.outline.0.iter().map(polygon).collect());
            Room::new(room.id.clone(), outline, room.number.clone(), room.name.clone(), room.optional)
        });
        let openings = self
            .openings
            .iter()
            .map(|opening| Opening { line: [opening.line[0] * factor, opening.line[1] * factor], ..opening.clone() });
        Self {
            rooms: rooms.collect(),
            wall_lines: self.wall_lines.iter().map(|line| line.iter().map(|p| *p * factor).collect()).collect(),
            wall_areas: self.wall_areas.iter().map(polygon).collect(),
            openings: openings.collect(),
            metres_per_unit: self.metres_per_unit.map(|unit| unit * factor),
        }
    }
}

impl Room {
    fn new(
        id: String,
        outline: MultiPolygon<f64>,
        number: Option<String>,
        name: Option<String>,
        optional: bool,
    ) -> Option<Self> {
        let bounds = outline.bounding_rect()?;
        let area_m2 = outline.unsigned_area();
        (area_m2 > 0.0).then_some(Self { id, outline, bounds, area_m2, number, name, optional })
    }
}

fn position(value: &Value) -> Option<Point> {
    let pair = value.as_array()?;
    Some(Coord { x: pair.first()?.as_f64()?, y: pair.get(1)?.as_f64()? })
}

fn positions(value: &Value) -> Vec<Point> {
    value.as_array().map_or_else(Vec::new, |list| list.iter().filter_map(position).collect())
}

fn polygon(value: &Value) -> Option<Polygon<f64>> {
    let mut rings = value.as_array()?.iter().map(|ring| LineString(positions(ring)));
    let shell = rings.next()?;
    Some(Polygon::new(shell, rings.collect()))
}

fn areas(geometry: &Value) -> MultiPolygon<f64> {
    let coordinates = geometry.get("coordinates").unwrap_or(&Value::Null);
    let parts = match geometry.get("type").and_then(Value::as_str) {
        Some("Polygon") => polygon(coordinates).into_iter().collect(),
        Some("MultiPolygon") => {
            coordinates.as_array().map_or_else(Vec::new, |parts| parts.iter().filter_map(polygon).collect())
        }
        _ => Vec::new(),
    };
    MultiPolygon(parts)
}

fn lines(geometry: &Value) -> Vec<Vec<Point>> {
    let coordinates = geometry.get("coordinates").unwrap_or(&Value::Null);
    match geometry.get("type").and_then(Value::as_str) {
        Some("LineString") => vec![positions(coordinates)],
        Some("MultiLineString") => {
            coordinates.as_array().map_or_else(Vec::new, |lines| lines.iter().map(positions).collect())
        }
        _ => Vec::new(),
    }
}
