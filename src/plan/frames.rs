//! Frames of sheets among lines that nothing is known of, and what hangs on them.
//!
//! A frame is a rectangle that stands off from what is drawn in it: the plan, on all four sides, further than walls are
//! thick. Rings in rings are frames too. What touches a frame is of the sheet (title blocks, marks of its fields), unless
//! doors are in it. Nothing of all this says how walls are drawn, nor bounds a room. Walls that form a rectangle are no
//! frame, because other walls, doors or windows meet them. Frames that join drawings on a sheet: `clusters.rs`.

use std::collections::{BTreeSet, HashMap};

use super::classify::Roles;
use super::input::{Drawn, Input, NONE};
use super::symbols::Symbols;
use super::{PlanOptions, Role, labels};
use crate::drawing::parts::Parts;
use crate::drawing::{Point, Vec2};
use crate::format::{Checkpoint, Interrupt, Pace};

/// Sides of a frame are longer, metres.
const LEAST_SIDE_M: f64 = 4.0;
/// What is drawn in a frame stands off further, metres: more than a wall is thick.
const STAND_OFF_M: f64 = 0.8;
/// Frames in frames leave at most this between them, metres.
const RING_M: f64 = 3.0;
/// Ink nearer than this is one drawing, metres.
const CELL_M: f64 = 0.3;
/// Rectangles that are looked at.
const MOST: usize = 64;
/// Lines that meet at a corner and are tried as its sides.
const MOST_AT_CORNER: usize = 16;

/// Gives frames and what hangs on them the role of the sheet.
pub(crate) fn set_apart(
    input: &Input,
    roles: &mut Roles,
    symbols: &Symbols,
    scale: f64,
    options: &PlanOptions,
    checkpoint: &Checkpoint<'_>,
) -> Result<(), Interrupt> {
    let pace = Pace::new(checkpoint);
    let sides = long_sides(input, roles, symbols, scale, &pace)?;
    let mut rectangles = rectangles(&sides, scale, &pace)?;
    rectangles.sort_by(|p, q| q.area().total_cmp(&p.area()).then(p.sides.cmp(&q.sides)));
    let Some(along) = rectangles.first().map(|largest| largest.along) else { return Ok(()) };
    let axes = |point: Point| Vec2::new(point.to_vec2().dot(along), along.cross(point.to_vec2()));
    // Rectangles within others, but for those that run round just inside of them, are parts of drawings.
    let mut outer: Vec<(Bounds, Rectangle)> = Vec::new();
    for rectangle in rectangles {
        let own = Bounds::of(rectangle.corners.iter().map(|corner| axes(*corner)));
        let straight = along.cross(rectangle.along).abs().min(along.dot(rectangle.along).abs()) < 0.002;
        let within = |around: &Bounds| around.holds(&own, 0.0) && !around.holds_closely(&own, RING_M * scale);
        if straight && outer.len() < MOST && !outer.iter().any(|(around, _)| within(around)) {
            outer.push((own, rectangle));
        }
    }
    let framing: BTreeSet<(u32, u32)> =
        outer.iter().flat_map(|(_, rectangle)| rectangle.sides.map(|side| sides[side].key)).collect();
    let ink = Ink::of(input, roles, &framing, outer[0].0.size(), scale, axes, &pace)?;
    let doors: Vec<Vec2> = symbols
        .proposals
        .iter()
        .flat_map(|proposal| &proposal.readings)
        .map(|reading| axes(reading.a.midpoint(reading.b)))
        .collect();
    let words: Vec<Vec2> = labels::speaking_points(input, roles, options).into_iter().map(axes).collect();
    let mut frames: Vec<Bounds> = Vec::new();
    let mut framed: HashMap<u32, usize> = HashMap::new();
    for (bounds, rectangle) in &outer {
        pace.steps(ink.list.len() + doors.len() + words.len())?;
        let around = frames.iter().find(|around| around.holds_closely(bounds, RING_M * scale));
        if ink.stand_off(bounds, around, &doors, &words, scale) {
            frames.push(*bounds);
            for side in rectangle.sides {
                *framed.entry(sides[side].key.0).or_default() += 1;
            }
        }
    }
    if frames.is_empty() {
        return Ok(());
    }
    for (item, count) in framed {
        let drawn = &input.items[item as usize];
        if input.segments(drawn).filter(|(a, b)| a != b).count() == count {
            roles.items[item as usize] = Role::Sheet;
        }
    }
    let most = ink.list.iter().map(|part| part.ink).fold(0.0, f64::max);
    let hangs: Vec<bool> = ink
        .list
        .iter()
        .map(|part| {
            let touches = frames
                .iter()
                .any(|frame| frame.holds(&part.bounds, 0.1 * scale) && !frame.clear(&part.bounds, 0.1 * scale));
            touches && part.ink < most && !doors.iter().any(|door| part.bounds.has(*door, 0.1 * scale))
        })
        .collect();
    for (item, part) in ink.of_item.iter().enumerate() {
        if roles.items[item] == Role::Unknown && hangs.get(*part as usize) == Some(&true) {
            roles.items[item] = Role::Sheet;
        }
    }
    Ok(())
}

/// A box along the main direction.
#[derive(Debug, Clone, Copy)]
struct Bounds {
    low: Vec2,
    high: Vec2,
}

impl Bounds {
    const NOTHING: Self =
        Self { low: Vec2::new(f64::INFINITY, f64::INFINITY), high: Vec2::new(f64::NEG_INFINITY, f64::NEG_INFINITY) };

    fn of(places: impl Iterator<Item = Vec2>) -> Self {
        places.fold(Self::NOTHING, |bounds, place| bounds.with(place))
    }

    fn with(self, place: Vec2) -> Self {
        Self {
            low: Vec2::new(self.low.x.min(place.x), self.low.y.min(place.y)),
            high: Vec2::new(self.high.x.max(place.x), self.high.y.max(place.y)),
        }
    }

    fn size(&self) -> Vec2 {
        self.high - self.low
    }

    fn has(&self, place: Vec2, rim: f64) -> bool {
        (self.low.x - rim..=self.high.x + rim).contains(&place.x)
            && (self.low.y - rim..=self.high.y + rim).contains(&place.y)
    }

    fn holds(&self, other: &Self, rim: f64) -> bool {
        self.has(other.low, rim) && self.has(other.high, rim)
    }

    /// Holds it with at most so much left on every side, and a little.
    fn holds_closely(&self, other: &Self, most: f64) -> bool {
        let (low, high) = (other.low - self.low, self.high - other.high);
        let gaps = [low.x, low.y, high.x, high.y];
        gaps.iter().all(|gap| *gap > 0.0 && *gap <= most)
    }

    /// Holds it with more than `least` left on every side.
    fn clear(&self, other: &Self, least: f64) -> bool {
        self.holds(other, -least)
    }

    fn meets(&self, other: &Self, rim: f64) -> bool {
        other.low.x <= self.high.x + rim
            && other.high.x >= self.low.x - rim
            && other.low.y <= self.high.y + rim
            && other.high.y >= self.low.y - rim
    }
}

/// A long piece with its item and number in it.
struct Side {
    a: Point,
    b: Point,
    key: (u32, u32),
}

/// Four long pieces around a rectangle.
struct Rectangle {
    corners: [Point; 4],
    along: Vec2,
    /// Sorted numbers of its sides.
    sides: [usize; 4],
}

impl Rectangle {
    fn area(&self) -> f64 {
        self.corners[0].distance(self.corners[1]) * self.corners[1].distance(self.corners[2])
    }
}

fn long_sides(
    input: &Input,
    roles: &Roles,
    symbols: &Symbols,
    scale: f64,
    pace: &Pace<'_>,
) -> Result<Vec<Side>, Interrupt> {
    let mut sides = Vec::new();
    for (number, item) in input.items.iter().enumerate() {
        pace.step()?;
        let plain = item.drawn == Drawn::Lines && item.arc == NONE && !symbols.taken[number];
        if roles.items[number] != Role::Unknown || !plain {
            continue;
        }
        for (piece, (a, b)) in input.segments(item).enumerate() {
            pace.step()?;
            if a.distance(b) >= LEAST_SIDE_M * scale {
                sides.push(Side { a, b, key: (number as u32, piece as u32) });
            }
        }
    }
    Ok(sides)
}

/// Rectangles whose sides are single pieces that meet at the corners.
fn rectangles(sides: &[Side], scale: f64, pace: &Pace<'_>) -> Result<Vec<Rectangle>, Interrupt> {
    let reach = 0.02 * scale;
    let key = |point: Point| ((point.x / reach).floor() as i64, (point.y / reach).floor() as i64);
    // Only asked, never walked: its order decides nothing.
    let mut ends: HashMap<(i64, i64), Vec<usize>> = HashMap::new();
    for (number, side) in sides.iter().enumerate() {
        for end in [side.a, side.b] {
            ends.entry(key(end)).or_default().push(number);
        }
    }
    // Those that go on at `point` square to `way`, with their far ends.
    let square = |point: Point, way: Vec2| -> Vec<(usize, Point)> {
        let (x, y) = key(point);
        let mut found = Vec::new();
        for cell in (-1..=1).flat_map(|dx| (-1..=1).map(move |dy| (x + dx, y + dy))) {
            for &number in ends.get(&cell).into_iter().flatten().take(MOST_AT_CORNER) {
                let side = &sides[number];
                for (from, to) in [(side.a, side.b), (side.b, side.a)] {
                    if from.distance(point) <= reach && way.dot((to - from) / from.distance(to)).abs() < 0.002 {
                        found.push((number, to));
                    }
                }
            }
        }
        found.sort_by_key(|found| found.0);
        found.truncate(MOST_AT_CORNER);
        found
    };
    let mut found = Vec::new();
    for (first, side) in sides.iter().enumerate() {
        let along = (side.b - side.a) / side.a.distance(side.b);
        let across = Vec2::new(-along.y, along.x);
        let lefts = square(side.a, along);
        pace.steps(64)?;
        for (second, c) in square(side.b, along) {
            for &(fourth, d) in &lefts {
                pace.step()?;
                // The first side of a rectangle is the one with the lowest number.
                let level = (across.dot(c - side.a) - across.dot(d - side.a)).abs() <= reach;
                if second <= first || fourth <= first || second == fourth || !level {
                    continue;
                }
                let closing = square(c, across).into_iter().find(|(_, to)| to.distance(d) <= reach);
                if let Some((third, _)) = closing.filter(|(third, _)| *third > first) {
                    let mut numbers = [first, second, third, fourth];
                    numbers.sort_unstable();
                    found.push(Rectangle { corners: [side.a, side.b, c, d], along, sides: numbers });
                }
            }
        }
    }
    Ok(found)
}

/// Ink that is near to each other.
struct Part {
    bounds: Bounds,
    ink: f64,
}

/// All ink but the rectangles, by nearness.
struct Ink {
    list: Vec<Part>,
    /// By item: the part that it is in, or [`NONE`].
    of_item: Vec<u32>,
}

impl Ink {
    fn of(
        input: &Input,
        roles: &Roles,
        framing: &BTreeSet<(u32, u32)>,
        size: Vec2,
        scale: f64,
        axes: impl Fn(Point) -> Vec2,
        pace: &Pace<'_>,
    ) -> Result<Self, Interrupt> {
        let cell = (CELL_M * scale).max(size.x.max(size.y) / 1024.0);
        // Only asked, never walked: its order decides nothing.
        let mut numbers: HashMap<(i32, i32), u32> = HashMap::new();
        let mut cells: Vec<(i32, i32)> = Vec::new();
        let mut runs: Vec<(usize, u32, Bounds, f64)> = Vec::new();
        for (item, drawn) in input.items.iter().enumerate() {
            if matches!(roles.items[item], Role::Sheet | Role::Dimension | Role::Annotation) {
                continue;
            }
            for (piece, (a, b)) in input.segments(drawn).enumerate() {
                if framing.contains(&(item as u32, piece as u32)) {
                    continue;
                }
                let (a, b) = (axes(a), axes(b));
                let length = (b - a).hypot();
                let steps = (2.0 * length / cell).ceil().clamp(1.0, 8192.0) as usize;
                pace.steps(steps)?;
                let mut first = None;
                let mut last = (i32::MIN, i32::MIN);
                for step in 0..=steps {
                    let place = a + (b - a) * (step as f64 / steps as f64);
                    let axis = |value: f64| (value / cell).floor().clamp(-1e9, 1e9) as i32;
                    let at = (axis(place.x), axis(place.y));
                    if at == last {
                        continue;
                    }
                    last = at;
                    let number = *numbers.entry(at).or_insert_with(|| {
                        cells.push(at);
                        (cells.len() - 1) as u32
                    });
                    first.get_or_insert(number);
                }
                if let Some(first) = first {
                    runs.push((item, first, Bounds::of([a, b].into_iter()), length));
                }
            }
        }
        let mut parts = Parts::new(cells.len());
        for (number, (x, y)) in cells.iter().enumerate() {
            pace.steps(4)?;
            for (dx, dy) in [(1, 0), (0, 1), (1, 1), (1, -1)] {
                if let Some(&other) = numbers.get(&(x + dx, y + dy)) {
                    parts.join(number as u32, other);
                }
            }
        }
        let mut of_set: HashMap<u32, u32> = HashMap::new();
        let mut list: Vec<Part> = Vec::new();
        let mut of_item = vec![NONE; input.items.len()];
        for (item, cell, bounds, length) in runs {
            let part = *of_set.entry(parts.of(cell)).or_insert_with(|| {
                list.push(Part { bounds: Bounds::NOTHING, ink: 0.0 });
                (list.len() - 1) as u32
            });
            let entry = &mut list[part as usize];
            entry.bounds = entry.bounds.with(bounds.low).with(bounds.high);
            entry.ink += length;
            of_item[item] = part;
        }
        Ok(Self { list, of_item })
    }

    /// Whether a rectangle stands off from a plan in it; `around` is a frame just around it.
    fn stand_off(&self, own: &Bounds, around: Option<&Bounds>, doors: &[Vec2], words: &[Vec2], scale: f64) -> bool {
        let slack = 0.1 * scale;
        let outer = around.unwrap_or(own);
        let (mut standing, mut touching, mut beside) = (Bounds::NOTHING, 0.0, 0.0);
        let mut ink = 0.0;
        for part in &self.list {
            if own.clear(&part.bounds, STAND_OFF_M * scale) {
                standing = standing.with(part.bounds.low).with(part.bounds.high);
                ink += part.ink;
            } else if outer.holds(&part.bounds, slack) {
                touching += part.ink;
            } else if own.meets(&part.bounds, -slack) {
                return false;
            } else if own.meets(&part.bounds, STAND_OFF_M * scale) {
                beside += part.ink;
            }
        }
        let (held, whole) = (standing.size(), own.size());
        let large = held.x >= 0.2 * whole.x && held.y >= 0.2 * whole.y;
        if !large || ink < touching || 20.0 * beside > ink {
            return false;
        }
        let entered = doors
            .iter()
            .any(|door| own.has(*door, 0.4 * scale) && !own.clear(&Bounds::of(std::iter::once(*door)), 0.4 * scale));
        let inside = doors.iter().any(|door| standing.has(*door, 0.0));
        let within = || words.iter().filter(|word| own.has(**word, 0.0));
        let outside = within().filter(|word| !standing.has(**word, 0.0)).count();
        !entered && (inside || ink >= 40.0 * scale) && (4 * outside <= within().count() || inside)
    }
}
