//! Room labels: numbers, names and stated areas as texts, paragraphs, attributes, with leaders and frames.

use geo::Contains;

use super::layout::{Floor, OpeningKind, Point, Room, bounds, clearance, length, point};
use super::names::stated_area;
use super::random::Random;
use super::sketch::{AttributeValue, Mark, Role, Shape, Sketch, Vertex, box_corners};
use super::spec::LabelDrawing;
use super::style::Style;

/// Width of a character as a part of its height; close to what simple fonts have.
const ADVANCE: f64 = 0.8;

struct Label {
    number: String,
    name: String,
    area: String,
    at: Point,
    height: f64,
    rotation: f64,
}

impl Label {
    fn lines(&self) -> Vec<(Role, &str)> {
        [(Role::RoomNumber, &self.number), (Role::RoomName, &self.name), (Role::RoomName, &self.area)]
            .into_iter()
            .filter(|(_, text)| !text.is_empty())
            .map(|(role, text)| (role, text.as_str()))
            .collect()
    }

    /// The middle of line `index` of `count`.
    fn line_at(&self, index: usize, count: usize) -> Point {
        let step = 1.6 * self.height;
        let down = (index as f64 - (count as f64 - 1.0) / 2.0) * step;
        let (sin, cos) = self.rotation.to_radians().sin_cos();
        self.at + point(sin, -cos) * down
    }
}

/// Draws all labels.
pub(super) fn label(sketch: &mut Sketch, floor: &Floor, style: &Style, random: &mut Random) {
    for (index, room) in floor.rooms.iter().enumerate() {
        if room.number.is_empty() && room.name.is_empty() {
            continue;
        }
        let label = fit(room, style);
        if style.leaders && label.height < style.text_height * 0.75 && outside(sketch, floor, index, style, &label) {
            continue;
        }
        draw(sketch, &label, style, random);
    }
}

/// Chooses height and direction so that the longest line fits the room.
fn fit(room: &Room, style: &Style) -> Label {
    let area = style.areas.map_or_else(String::new, |variant| stated_area(room.area(), style.language, variant));
    let mut label = Label {
        number: room.number.clone(),
        name: room.name.clone(),
        area,
        at: room.label_at,
        height: style.text_height,
        rotation: 0.0,
    };
    let one_line = style.labels == LabelDrawing::OneLine;
    let longest = if one_line {
        label.number.chars().count() + 1 + label.name.chars().count()
    } else {
        label.lines().iter().map(|(_, text)| text.chars().count()).max().unwrap_or(1)
    };
    let wide = longest as f64 * ADVANCE;
    let tall = if one_line { 2.6 } else { 1.6 * label.lines().len() as f64 };
    let free = |horizontal: bool| {
        let reach = |direction: Point| {
            let mut reach = 0.0;
            while reach < 12.0 && room.outline.contains(&(label.at + direction * (reach + 0.05))) {
                reach += 0.05;
            }
            reach
        };
        let (x, y) = (point(1.0, 0.0), point(0.0, 1.0));
        let (u, v) = if horizontal { (x, y) } else { (y, x) };
        let along = 2.0 * reach(u).min(reach(u * -1.0)) - 0.1;
        let across = 2.0 * reach(v).min(reach(v * -1.0)) - 0.1;
        (along / wide).min(across / tall)
    };
    let (flat, upright) = (free(true), free(false));
    if upright > flat * 1.5 && flat < label.height {
        label.rotation = 90.0;
    }
    label.height = label.height.min(flat.max(upright)).max(0.06);
    label.height = (label.height * 1000.0).floor() / 1000.0;
    label
}

fn draw(sketch: &mut Sketch, label: &Label, style: &Style, random: &mut Random) {
    let lines = label.lines();
    let count = lines.len();
    match style.labels {
        LabelDrawing::Texts => {
            for (index, (role, text)) in lines.iter().enumerate() {
                line(sketch, *role, label, label.line_at(index, count), text, random);
            }
            if style.number_frames && !label.number.is_empty() {
                frame(sketch, label, label.line_at(0, count));
            }
        }
        LabelDrawing::Mtext => sketch.draw(
            Role::RoomName,
            Shape::Paragraph {
                at: label.at,
                height: label.height,
                rotation: label.rotation,
                lines: lines.iter().map(|(_, text)| (*text).to_owned()).collect(),
                formatted: style.number_frames || random.chance(0.5),
            },
        ),
        LabelDrawing::Attributes => {
            let tags = [("NUMBER", &label.number), ("NAME", &label.name), ("AREA", &label.area)];
            let present: Vec<(&'static str, &String)> = tags.into_iter().filter(|(_, text)| !text.is_empty()).collect();
            let attributes = present
                .iter()
                .enumerate()
                .map(|(index, (tag, text))| AttributeValue {
                    tag,
                    value: (*text).clone(),
                    at: label.line_at(index, present.len()),
                    height: label.height,
                })
                .collect();
            let half = point(0.5, 0.32) * (label.height / 0.2);
            let name = format!("ROOMTAG{}", (label.height * 1000.0) as i64);
            sketch.blocks.entry(name.clone()).or_insert_with(|| {
                let shape = super::sketch::closed(&box_corners(half * -1.0, half));
                vec![Mark { role: Role::RoomNumber, shape, paper: false }]
            });
            let at = label.at;
            sketch.draw(
                Role::RoomNumber,
                Shape::Insert { block: name, at, rotation: label.rotation, scale: (1.0, 1.0), attributes },
            );
        }
        LabelDrawing::OneLine => {
            let text = format!("{} {}", label.number, label.name);
            line(sketch, Role::RoomName, label, label.line_at(0, 2), text.trim(), random);
            if !label.area.is_empty() {
                line(sketch, Role::RoomName, label, label.line_at(1, 2), &label.area, random);
            }
        }
    }
}

/// One text, centred or from its left end.
fn line(sketch: &mut Sketch, role: Role, label: &Label, at: Point, text: &str, random: &mut Random) {
    let left = random.chance(0.3);
    let (sin, cos) = label.rotation.to_radians().sin_cos();
    let (at, align) = if left {
        let back = text.chars().count() as f64 * ADVANCE * label.height / 2.0;
        let along = point(cos, sin);
        let up = point(-sin, cos);
        (at - along * back - up * (label.height / 2.0), super::sketch::Align::Left)
    } else {
        (at, super::sketch::Align::Centre)
    };
    let (height, rotation) = (label.height, label.rotation);
    sketch.draw(role, Shape::Text { at, height, rotation, value: text.to_owned(), align });
}

/// A box around a number: not a room.
fn frame(sketch: &mut Sketch, label: &Label, at: Point) {
    let half_along = (label.number.chars().count() as f64 * ADVANCE / 2.0 + 0.5) * label.height;
    let half = if label.rotation == 0.0 {
        point(half_along, 0.75 * label.height)
    } else {
        point(0.75 * label.height, half_along)
    };
    sketch.ring(Role::RoomNumber, &box_corners(at - half, at + half));
}

/// Puts the label of a small façade room outside, with a leader into the room; false if there is no window.
fn outside(sketch: &mut Sketch, floor: &Floor, index: usize, style: &Style, label: &Label) -> bool {
    let window = floor
        .openings
        .iter()
        .find(|opening| opening.kind == OpeningKind::Window && opening.rooms.contains(&Some(index)));
    let Some(window) = window else { return false };
    let normal = super::layout::left_of(window.along) * if window.rooms[0].is_some() { -1.0 } else { 1.0 };
    let at = window.centre + normal * 1.6;
    if floor.outline.contains(&(window.centre + normal * 3.0)) || clearance(&floor.outline, at) < 1.2 {
        return false;
    }
    let text = [label.number.as_str(), label.name.as_str()].join(" ");
    sketch.text(Role::RoomName, at + normal * 0.3, style.text_height, text.trim());
    let tip = label.at;
    let knee = window.centre + normal * 1.2;
    let vertices = [knee, tip].map(|at| Vertex { at, bulge: 0.0 }).to_vec();
    sketch.draw(Role::Leader, Shape::Polyline { vertices, closed: false });
    sketch.draw(Role::Leader, Shape::Circle { centre: tip, radius: 0.04 });
    true
}

/// A label point near a wall or corner of the room, as careless drafting leaves it.
pub(super) fn off_centre(room: &Room, random: &mut Random) -> Point {
    let (low, high) = bounds(&room.outline);
    let best = room.label_at;
    let room_enough = clearance(&room.outline, best);
    for _ in 0..24 {
        let at = point(random.between(low.x, high.x), random.between(low.y, high.y));
        let near = clearance(&room.outline, at);
        if room.outline.contains(&at) && near > 0.35 && near < room_enough && length(at - best) > 0.3 {
            return at;
        }
    }
    best
}
