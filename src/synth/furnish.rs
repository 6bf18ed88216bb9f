//! What stands in rooms: stairs, lift crosses, furniture, sanitary objects.

use geo::Contains;

use super::layout::{Floor, Point, Room, bounds, clearance, left_of, length, point};
use super::program::RoomKind;
use super::random::Random;
use super::sketch::{Role, Shape, Sketch};
use super::style::Style;
use super::symbols;

/// Draws the fixed and the movable things of every room.
pub(super) fn furnish(sketch: &mut Sketch, floor: &Floor, style: &Style, random: &Random) {
    let mut stairs_taste = random.fork("stairs");
    let mut taste = random.fork("furniture");
    for room in floor.rooms.iter().filter(|room| room.outline.exterior().0.len() > 3) {
        match room.kind {
            RoomKind::Stairs => stairs(sketch, room, &mut stairs_taste),
            RoomKind::Lift | RoomKind::Shaft => cross(sketch, room),
            _ => {}
        }
        if style.furniture {
            let wanted: &[&str] = match room.kind {
                RoomKind::Office => &["DESK", "DESK", "SHELF"],
                RoomKind::OpenSpace | RoomKind::Classroom => &["DESK", "DESK", "DESK", "DESK", "SHELF", "TABLE"],
                RoomKind::Meeting => &["TABLE", "SHELF"],
                RoomKind::Storage => &["SHELF", "SHELF", "SHELF"],
                RoomKind::Kitchen => &["COUNTER"],
                RoomKind::Toilet => &["WC", "WC", "BASIN"],
                RoomKind::Bath => &["TUB", "WC", "BASIN"],
                RoomKind::Living => &["SOFA", "TABLE", "SHELF"],
                RoomKind::Bedroom => &["BED", "SHELF"],
                _ => &[],
            };
            let mut placed = Vec::new();
            for name in wanted {
                against_a_wall(sketch, floor, room, name, style, &mut placed, &mut taste);
            }
        }
    }
}

/// Two flights with treads from wall to middle, a cut line and an arrow.
fn stairs(sketch: &mut Sketch, room: &Room, random: &mut Random) {
    let (low, high) = bounds(&room.outline);
    let along_x = high.x - low.x > high.y - low.y;
    let size = if along_x { high.x - low.x } else { high.y - low.y };
    let across = if along_x { (low.y, high.y) } else { (low.x, high.x) };
    let at = |along: f64, cross: f64| {
        if along_x { point(low.x + along, cross) } else { point(cross, low.y + along) }
    };
    let landing = 1.3_f64.min(size / 4.0);
    let middle = (across.0 + across.1) / 2.0;
    let treads = ((size - 2.0 * landing) / 0.28).floor().max(2.0) as usize;
    // Treads end at the wall face in some offices and a finger's breadth before it in others.
    let air = if random.chance(0.5) { 0.0 } else { 0.05 };
    for index in 0..=treads {
        let along = landing + index as f64 * 0.28;
        sketch.draw(Role::Stairs, Shape::Line(at(along, across.0 + air), at(along, middle - 0.08)));
        sketch.draw(Role::Stairs, Shape::Line(at(along, middle + 0.08), at(along, across.1 - air)));
    }
    let top = landing + treads as f64 * 0.28;
    sketch.ring(
        Role::Stairs,
        &[at(landing, middle - 0.08), at(top, middle - 0.08), at(top, middle + 0.08), at(landing, middle + 0.08)],
    );
    let lane = (across.0 + middle) / 2.0;
    sketch.draw(Role::Stairs, Shape::Line(at(landing - 0.3, lane), at(top + 0.3, lane)));
    sketch.draw(Role::Stairs, Shape::Line(at(top + 0.1, lane - 0.1), at(top + 0.3, lane)));
    sketch.draw(Role::Stairs, Shape::Line(at(top + 0.1, lane + 0.1), at(top + 0.3, lane)));
}

/// Diagonals through a lift or shaft; a lift has its car as an inner box.
fn cross(sketch: &mut Sketch, room: &Room) {
    let (low, high) = bounds(&room.outline);
    let inset = if room.kind == RoomKind::Lift { point(0.2, 0.2) } else { point(0.0, 0.0) };
    let (low, high) = (low + inset, high - inset);
    if high.x - low.x < 0.3 || high.y - low.y < 0.3 {
        return;
    }
    sketch.draw(Role::Stairs, Shape::Line(low, high));
    sketch.draw(Role::Stairs, Shape::Line(point(low.x, high.y), point(high.x, low.y)));
    if room.kind == RoomKind::Lift {
        sketch.ring(Role::Stairs, &super::sketch::box_corners(low, high));
    }
}

/// Puts a block with its back to a wall where it stands in the room and clear of doors and other blocks.
fn against_a_wall(
    sketch: &mut Sketch,
    floor: &Floor,
    room: &Room,
    name: &str,
    style: &Style,
    placed: &mut Vec<(Point, f64)>,
    random: &mut Random,
) {
    let (symbol, width, depth) = symbols::furniture(name);
    let edges: Vec<(Point, Point)> = room
        .outline
        .exterior()
        .lines()
        .map(|line| (line.start, line.end))
        .filter(|(a, b)| length(*b - *a) > width + 0.1)
        .collect();
    if edges.is_empty() {
        return;
    }
    for _ in 0..8 {
        let (a, b) = *random.pick(&edges);
        let along = (b - a) / length(b - a);
        // The shell of an outline runs counter-clockwise: the room is on the left.
        let inward = left_of(along);
        let slack = length(b - a) - width;
        let gap = if random.chance(0.3) { 0.0 } else { random.stepped(20, 120, 10) as f64 / 1000.0 };
        let back = a + along * (width / 2.0 + slack * random.unit()) + inward * gap;
        let middle = back + inward * (depth / 2.0);
        let reach = (width / 2.0).hypot(depth / 2.0);
        let corners = [(-0.5, 0.06), (0.5, 0.06), (-0.5, 1.0), (0.5, 1.0)];
        let inside = corners.iter().all(|&(x, y)| {
            room.outline.contains(&(back + along * (width * x * 0.98) + inward * (depth * y).max(0.03)))
        });
        let door_near = floor
            .openings
            .iter()
            .any(|o| o.kind != super::layout::OpeningKind::Window && length(o.centre - middle) < reach + o.width);
        let label_near = length(room.label_at - middle) < reach.min(clearance(&room.outline, room.label_at)) * 0.5;
        let crowded = placed.iter().any(|(at, size)| length(*at - middle) < reach + size);
        if !inside || door_near || label_near || crowded {
            continue;
        }
        placed.push((middle, reach));
        let name = symbols::furniture_block(name, style);
        sketch.blocks.entry(name.clone()).or_insert(symbol);
        let rotation = along.y.atan2(along.x).to_degrees();
        let role = match room.kind {
            RoomKind::Toilet | RoomKind::Bath => Role::Sanitary,
            _ => Role::Furniture,
        };
        sketch.draw(role, Shape::Insert { block: name, at: back, rotation, scale: (1.0, 1.0), attributes: vec![] });
        return;
    }
}
