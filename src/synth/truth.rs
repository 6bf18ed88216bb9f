//! The truth of a plan as GeoJSON, in the frame the drawing has once its units are metres.
//!
//! Classes and properties are those of the product's output (`room`, `wall`, `door`, `window`, `opening`,
//! `level`), so that [`crate::evaluate`] compares like with like. Rooms that nobody enters or that a reader may
//! see either way (shafts, courtyards) carry `"optional": true`: finding them is neither right nor wrong.

use serde_json::{Map, Value, json};

use super::layout::{Floor, OpeningKind, Point};
use super::program::RoomKind;
use super::sketch::Frame;

/// Feature collection of a floor; `metadata` stands before the features.
pub fn write(floor: &Floor, frame: Frame, metadata: Map<String, Value>) -> Vec<u8> {
    let mut features = Vec::new();
    collect(floor, frame, "", &mut |feature| features.push(feature));
    let collection = json!({"type": "FeatureCollection", "metadata": metadata, "features": features});
    let mut bytes = collection.to_string().into_bytes();
    bytes.push(b'\n');
    bytes
}

/// Gives every feature of a floor to `each`. Identifiers start with `prefix`.
pub fn collect(floor: &Floor, frame: Frame, prefix: &str, each: &mut dyn FnMut(Value)) {
    let at = |p: Point| {
        let q = frame.point(p) / frame.scale;
        json!([round(q.x), round(q.y)])
    };
    let polygon = |outline: &geo::Polygon<f64>| {
        let rings = std::iter::once(outline.exterior()).chain(outline.interiors());
        let rings: Vec<Vec<Value>> = rings.map(|ring| ring.0.iter().map(|p| at(*p)).collect()).collect();
        json!({"type": "Polygon", "coordinates": rings})
    };
    each(feature(&format!("{prefix}level"), polygon(&floor.outline), json!({"class": "level"})));
    for (index, room) in floor.rooms.iter().enumerate() {
        if room.outline.exterior().0.len() < 4 {
            continue;
        }
        let mut properties = json!({
            "class": "room",
            "kind": kind(room.kind),
            "area_m2": (room.area() * 1e4).round() / 1e4,
        });
        for (key, text) in [("room_name", &room.name), ("number", &room.number)] {
            if !text.is_empty() {
                properties[key] = json!(text);
                // What a map shows: the number, if there is one.
                properties["name"] = json!(text);
            }
        }
        if room.kind == RoomKind::Shaft {
            properties["optional"] = json!(true);
        }
        each(feature(&format!("{prefix}room-{index}"), polygon(&room.outline), properties));
    }
    for (index, court) in floor.outline.interiors().iter().enumerate() {
        let outline = geo::Polygon::new(court.clone(), vec![]);
        let outline = geo::orient::Orient::orient(&outline, geo::orient::Direction::Default);
        let properties = json!({"class": "room", "kind": "courtyard", "optional": true});
        each(feature(&format!("{prefix}court-{index}"), polygon(&outline), properties));
    }
    for (index, wall) in floor.walls.iter().enumerate() {
        let line: Vec<Value> = wall.line.iter().map(|p| at(*p)).collect();
        let geometry = json!({"type": "LineString", "coordinates": line});
        let properties = json!({"class": "wall", "thickness_m": wall.thickness, "exterior": wall.exterior});
        each(feature(&format!("{prefix}wall-{index}"), geometry, properties));
    }
    for (index, opening) in floor.openings.iter().enumerate() {
        let ends: Vec<Value> = opening.ends().iter().map(|p| at(*p)).collect();
        let geometry = json!({"type": "LineString", "coordinates": ends});
        let (class, kind) = match opening.kind {
            OpeningKind::Door => ("door", "door"),
            OpeningKind::DoubleDoor => ("door", "double_door"),
            OpeningKind::SlidingDoor => ("door", "sliding_door"),
            OpeningKind::Gap => ("opening", "gap"),
            OpeningKind::Window => ("window", "window"),
        };
        let rooms: Vec<Option<String>> =
            opening.rooms.iter().map(|room| room.map(|room| format!("{prefix}room-{room}"))).collect();
        let properties = json!({"class": class, "kind": kind, "width_m": opening.width, "rooms": rooms});
        each(feature(&format!("{prefix}opening-{index}"), geometry, properties));
    }
}

fn feature(id: &str, geometry: Value, properties: Value) -> Value {
    json!({"type": "Feature", "id": id, "geometry": geometry, "properties": properties})
}

fn round(value: f64) -> f64 {
    (value * 1e5).round() / 1e5
}

fn kind(kind: RoomKind) -> &'static str {
    match kind {
        RoomKind::Corridor => "corridor",
        RoomKind::Hall => "hall",
        RoomKind::Lobby => "lobby",
        RoomKind::Office => "office",
        RoomKind::Meeting => "meeting",
        RoomKind::OpenSpace => "open_space",
        RoomKind::Classroom => "classroom",
        RoomKind::Storage => "storage",
        RoomKind::Kitchen => "kitchen",
        RoomKind::Toilet => "toilet",
        RoomKind::Bath => "bath",
        RoomKind::Living => "living",
        RoomKind::Bedroom => "bedroom",
        RoomKind::Stairs => "stairs",
        RoomKind::Lift => "lift",
        RoomKind::Shaft => "shaft",
    }
}
