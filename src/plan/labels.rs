//! Texts → numbers, names and stated areas of rooms.
//!
//! Every line of text is read by itself: an area has a unit, a number has digits and little else, a name has letters.
//! Attribute tags and label layers count more than looks. The lines in one room are joined round the best number
//! in reading order; what lies off (furniture notes, dimensions) stays as other texts. A text outside every room is
//! led in by a leader that starts beside it, or by nearness to one room, or is an orphan.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::OnceLock;

use regex::Regex;
use rstar::primitives::GeomWithData;
use rstar::{PointDistance as _, RTree};

use super::classify::Roles;
use super::input::{Drawn, Input, NONE, TextItem};
use super::shape::Locator;
use super::units::Stated;
use super::usage;
use super::{Label, LabelKind, PlanOptions, Role, Room};
use crate::drawing::Point;
use crate::format::{Checkpoint, Interrupt, Pace};

/// What labelling found beside the labels in the rooms.
#[derive(Debug, Default)]
pub(crate) struct Labelling {
    pub labels: Vec<Label>,
    /// Texts that look like labels and lie in no room.
    pub orphans: Vec<(Point, String)>,
    /// Rooms with several numbers: room, the numbers.
    pub conflicts: Vec<(u32, String)>,
    /// Rooms whose stated area does not fit: room, stated.
    pub misstated: Vec<(u32, f64)>,
    /// Rooms with their sides written in them (`6.0 x 4.5 m`, `14' x 16'`): room, square metres.
    pub sides: Vec<(u32, f64)>,
    /// The number pattern of the configuration is no regular expression.
    pub bad_pattern: Option<String>,
}

/// A line of text that may be a label.
#[derive(Debug, Clone)]
struct Line {
    text: usize,
    reading: Reading,
    /// Role and tag make it a label.
    trusted: bool,
}

/// What a line says.
#[derive(Debug, Clone, Default, PartialEq)]
struct Reading {
    number: Option<String>,
    name: Option<String>,
    area_m2: Option<f64>,
    /// The tag of an attribute says so.
    by_tag: bool,
}

/// Texts that speak for a room: their middles.
pub(crate) fn speaking_points(input: &Input, roles: &Roles, options: &PlanOptions) -> Vec<Point> {
    let custom = custom(options).ok().flatten();
    input
        .texts
        .iter()
        .enumerate()
        .filter(|(number, text)| {
            let role = roles.texts[*number];
            may_label(role) && {
                let reading = read(&text.value, custom.as_ref());
                reading.number.is_some() || reading.area_m2.is_some() || matches!(role, Role::Label | Role::Room)
            }
        })
        .map(|(_, text)| text.middle)
        .collect()
}

/// A text that rooms have one of: a number or a stated area.
#[derive(Debug, Clone)]
pub(crate) struct RoomText {
    /// Its number among the texts of the drawing.
    pub text: usize,
    pub at: Point,
    pub value: String,
    /// Equal for texts of one layer, height and pattern.
    pub kind: u32,
    /// A role or a tag says that it labels a room.
    pub trusted: bool,
}

/// The numbers and areas among the texts, with what kind each is of.
pub(crate) fn room_texts(input: &Input, roles: &Roles, options: &PlanOptions) -> Vec<RoomText> {
    let custom = custom(options).ok().flatten();
    let mut found: Vec<((u32, u32, String), f64, RoomText)> = Vec::new();
    for (number, text) in input.texts.iter().enumerate() {
        let Some(Line { reading, trusted, .. }) = line_of(input, roles, number, custom.as_ref()) else { continue };
        let value = match (reading.number, reading.area_m2) {
            (Some(number), _) => number,
            (None, Some(area)) => format!("{area} m²"),
            _ => continue,
        };
        let key = (text.layer, text.tag, pattern(&value));
        found.push((key, text.height, RoomText { text: number, at: text.middle, value, kind: 0, trusted }));
    }
    found.sort_by(|p, q| p.0.cmp(&q.0).then(p.1.total_cmp(&q.1)));
    let mut kind = 0;
    for next in 1..found.len() {
        let (before, own) = (&found[next - 1], &found[next]);
        kind += u32::from(before.0 != own.0 || own.1 > 1.15 * before.1);
        found[next].2.kind = kind;
    }
    found.into_iter().map(|(_, _, text)| text).collect()
}

/// Whether texts of a kind label rooms, by how many rooms hold one of them and how many several.
pub(crate) fn label_rooms(single: usize, several: usize, trusted: bool) -> bool {
    let (wanted, least) = if trusted { (several, 1) } else { (2 * several, 3) };
    single >= wanted.max(least)
}

/// Texts outside of all rooms that are of a kind of which most rooms hold one.
fn strays(texts: &[RoomText], homes: &BTreeMap<usize, Option<u32>>) -> Vec<usize> {
    let mut kinds: BTreeMap<u32, BTreeMap<Option<u32>, Vec<&RoomText>>> = BTreeMap::new();
    for text in texts {
        if let Some(home) = homes.get(&text.text) {
            kinds.entry(text.kind).or_default().entry(*home).or_default().push(text);
        }
    }
    let mut found = Vec::new();
    for rooms in kinds.values() {
        let inside = || rooms.iter().filter(|(home, _)| home.is_some());
        let single = inside().filter(|(_, members)| members.iter().all(|text| text.value == members[0].value)).count();
        let outside = rooms.get(&None).map_or(&[][..], |members| members);
        if label_rooms(single, inside().count() - single, false) && 2 * outside.len() <= single {
            found.extend(outside.iter().filter(|text| !text.trusted).map(|text| text.text));
        }
    }
    found.sort_unstable();
    found
}

/// What stands as a number in three rooms and more and has letters or is a level: a type of window (`W1`), a circuit, a
/// load, `0.10`. Whole figures may number the rooms of every flat anew; in two rooms of five they are no numbers either.
fn types(by_room: &[Vec<Line>]) -> BTreeSet<String> {
    let is_code = |value: &str| value.contains(char::is_alphabetic) || is_decimal(value);
    let mut rooms: BTreeMap<&str, usize> = BTreeMap::new();
    let mut numbered = 0;
    for lines in by_room {
        let numbers = lines.iter().filter_map(|line| line.reading.number.as_deref());
        // Flats have a `Bed 2` each.
        let values: BTreeSet<&str> = numbers.filter(|number| !is_counted_word(number)).collect();
        numbered += usize::from(!values.is_empty());
        for value in values {
            *rooms.entry(value).or_default() += 1;
        }
    }
    let most = (2 * numbered).div_ceil(5);
    rooms
        .into_iter()
        .filter(|(value, count)| *count >= if is_code(value) { 3 } else { most.max(4) })
        .map(|(value, _)| value.to_owned())
        .collect()
}

/// Numbers of doors, windows or equipment: texts of a kind that stands several times in some rooms, nearly always beside
/// a number of the kind that every room has one of. Ascending.
fn of_something_else(texts: &[RoomText], homes: &BTreeMap<usize, Option<u32>>) -> Vec<usize> {
    let mut kinds: BTreeMap<u32, BTreeMap<u32, Vec<&RoomText>>> = BTreeMap::new();
    for text in texts.iter().filter(|text| !text.value.ends_with("m²")) {
        if let Some(Some(room)) = homes.get(&text.text) {
            kinds.entry(text.kind).or_default().entry(*room).or_default().push(text);
        }
    }
    let several = |rooms: &BTreeMap<u32, Vec<&RoomText>>| rooms.values().filter(|texts| texts.len() > 1).count();
    let mut found = Vec::new();
    for (kind, rooms) in &kinds {
        let twice = several(rooms);
        if twice == 0 || 10 * twice < rooms.len() || rooms.values().flatten().any(|text| text.trusted) {
            continue;
        }
        let is_numbered = kinds.iter().any(|(other, numbered)| {
            let shared = rooms.keys().filter(|room| numbered.contains_key(room)).count();
            other != kind && several(numbered) == 0 && shared >= 3 && 10 * shared >= 7 * rooms.len()
        });
        if is_numbered {
            found.extend(rooms.values().flatten().map(|text| text.text));
        }
    }
    found.sort_unstable();
    found
}

/// A text with every run of digits and of letters as one: `E.12a` and `E.7b` are alike.
fn pattern(value: &str) -> String {
    let mut pattern = String::new();
    for c in value.chars() {
        let class = match c {
            _ if c.is_ascii_digit() => '9',
            _ if c.is_alphabetic() => 'a',
            _ => c,
        };
        if !matches!(class, '9' | 'a') || !pattern.ends_with(class) {
            pattern.push(class);
        }
    }
    pattern
}

pub(crate) fn may_label(role: Role) -> bool {
    matches!(
        role,
        Role::Label
            | Role::Room
            | Role::Unknown
            | Role::Annotation
            | Role::Zone
            | Role::Stair
            | Role::Shaft
            | Role::Outline
            | Role::Wall
    )
}

/// Whether a line is a room number by its looks and nothing else.
pub(crate) fn reads_as_number(value: &str) -> bool {
    let reading = read(value, None);
    reading.number.as_deref().is_some_and(|number| !is_decimal(number)) && reading.area_m2.is_none()
}

fn custom(options: &PlanOptions) -> Result<Option<Regex>, String> {
    match &options.room_number {
        None => Ok(None),
        Some(pattern) => {
            Regex::new(&format!("^(?:{pattern})$")).map(Some).map_err(|error| error.to_string().replace('\n', " "))
        }
    }
}

/// What a text says of a room, if its role lets it.
fn line_of(input: &Input, roles: &Roles, number: usize, custom: Option<&Regex>) -> Option<Line> {
    let (text, role) = (&input.texts[number], roles.texts[number]);
    if !may_label(role) {
        return None;
    }
    let mut reading = read(&text.value, custom);
    if text.tag != NONE {
        read_tag(input.text(text.tag), &text.value, &mut reading);
    }
    let trusted = matches!(role, Role::Label | Role::Room) || reading.by_tag;
    Some(Line { text: number, reading, trusted })
}

/// Joins texts to rooms.
///
/// # Errors
/// [`Interrupt`] of the checkpoint.
pub(crate) fn assign(
    input: &Input,
    roles: &Roles,
    rooms: &mut [Room],
    leaders: &[(Point, Point)],
    scale: f64,
    options: &PlanOptions,
    checkpoint: &Checkpoint<'_>,
) -> Result<Labelling, Interrupt> {
    let pace = Pace::new(checkpoint);
    let mut out = Labelling::default();
    let custom = match custom(options) {
        Ok(custom) => custom,
        Err(reason) => {
            out.bad_pattern = Some(reason);
            None
        }
    };
    let locator = Locator::build(rooms.iter().enumerate().map(|(number, room)| (number as u32, &room.polygon)));
    // Every text that says something, and its room.
    let mut said: Vec<(Line, Option<u32>)> = Vec::new();
    for (number, text) in input.texts.iter().enumerate() {
        let Some(line) = line_of(input, roles, number, custom.as_ref()) else { continue };
        if let Some(area) = sides(&text.value) {
            pace.step()?;
            out.sides.extend(home(text, rooms, &locator, leaders, scale).map(|room| (room, area)));
        } else if line.reading != Reading::default() {
            let home = home(text, rooms, &locator, leaders, scale);
            pace.step()?;
            said.push((line, home));
        }
    }
    let led = plain_leaders(input, roles, rooms, &locator, &said, scale, &pace)?;
    let mut by_room: Vec<Vec<Line>> = vec![Vec::new(); rooms.len()];
    let mut label_of: Vec<(usize, LabelKind, Option<u32>)> = Vec::new();
    for (line, home) in said {
        let number = line.text;
        let home = home.or_else(|| led.get(&number).copied());
        let kind = if line.reading.number.is_some() {
            LabelKind::Number
        } else if line.reading.name.is_some() {
            LabelKind::Name
        } else {
            LabelKind::Area
        };
        label_of.push((number, kind, home));
        match home {
            Some(room) => by_room[room as usize].push(line),
            None if line.trusted && kind != LabelKind::Area => {
                let text = &input.texts[number];
                out.orphans.push((text.middle, text.value.clone()));
            }
            None => {}
        }
    }
    let homes = label_of.iter().map(|(number, _, home)| (*number, *home)).collect();
    let numbers = room_texts(input, roles, options);
    for stray in strays(&numbers, &homes) {
        let text = &input.texts[stray];
        out.orphans.push((text.middle, text.value.clone()));
    }
    let other = of_something_else(&numbers, &homes);
    let types = types(&by_room);
    for line in by_room.iter_mut().flatten().filter(|line| !line.reading.by_tag) {
        let is_type = line.reading.number.as_deref().is_some_and(|number| types.contains(number));
        if is_type || other.binary_search(&line.text).is_ok() {
            line.reading.number = None;
        }
    }
    for (number, lines) in by_room.into_iter().enumerate() {
        let room = &mut rooms[number];
        compose(room, &lines, input, scale, options, &mut out);
    }
    for (number, kind, home) in label_of {
        let text = &input.texts[number];
        out.labels.push(Label {
            text: text.value.clone(),
            kind,
            at: text.middle,
            height_m: text.height,
            room: home,
            ordinal: text.ordinal,
        });
    }
    out.labels.sort_by(|p, q| (p.ordinal, &p.text).cmp(&(q.ordinal, &q.text)));
    Ok(out)
}

/// Labels outside whose leader is a plain line: it begins beside the text, outside of all rooms, and ends in a room that
/// has no label of its own (or a name alone, where the text outside has the number). By text: the room.
fn plain_leaders(
    input: &Input,
    roles: &Roles,
    rooms: &[Room],
    locator: &Locator,
    said: &[(Line, Option<u32>)],
    scale: f64,
    pace: &Pace<'_>,
) -> Result<BTreeMap<usize, u32>, Interrupt> {
    let mut led = BTreeMap::new();
    if rooms.is_empty() || said.iter().all(|(_, home)| home.is_some()) {
        return Ok(led);
    }
    let mut is_labelled = vec![false; rooms.len()];
    let mut is_numbered = vec![false; rooms.len()];
    for (line, home) in said {
        if let Some(room) = *home {
            is_labelled[room as usize] = true;
            is_numbered[room as usize] |= line.reading.number.is_some();
        }
    }
    let room_of = |point: Point| -> Result<Option<u32>, Interrupt> {
        for room in locator.candidates(point) {
            let polygon = &rooms[room as usize].polygon;
            pace.steps(polygon.shell.len())?;
            if polygon.contains(point) {
                return Ok(Some(room));
            }
        }
        Ok(None)
    };
    let mut tails = Vec::new();
    for (number, item) in input.items.iter().enumerate() {
        let may_lead = matches!(roles.items[number], Role::Unknown | Role::Annotation | Role::Label);
        if !may_lead || item.drawn != Drawn::Lines || item.parts.1 - item.parts.0 != 1 {
            continue;
        }
        let points = input.points_of(item);
        let ([first, .., last], 2..=4) = (points, points.len()) else { continue };
        if !(0.4 * scale..=9.0 * scale).contains(&first.distance(*last)) {
            continue;
        }
        let (tail, room) = match (room_of(*first)?, room_of(*last)?) {
            (None, Some(room)) => (first, room),
            (Some(room), None) => (last, room),
            _ => continue,
        };
        if !is_numbered[room as usize] {
            tails.push(GeomWithData::new([tail.x, tail.y], room));
        }
    }
    let tails = RTree::bulk_load(tails);
    let mut pairs: Vec<(f64, usize, u32, bool)> = Vec::new();
    for (line, _) in said.iter().filter(|(_, home)| home.is_none()) {
        let text = &input.texts[line.text];
        let place = [text.middle.x, text.middle.y];
        let farthest = half_width(text, scale) + leader_gap(text, scale);
        let near = tails.nearest_neighbor_iter(place).take_while(|tail| tail.distance_2(&place) <= farthest * farthest);
        for tail in near.take(MOST_TAILS) {
            pace.step()?;
            let off = off_text(text, Point::new(tail.geom()[0], tail.geom()[1]), scale);
            let area_m2 = rooms[tail.data as usize].area_m2;
            let number = line.reading.number.as_deref();
            let has_number = number.is_some_and(|number| !is_counted_word(number) && !may_be_area(number, area_m2));
            if off <= leader_gap(text, scale) && (has_number || !is_labelled[tail.data as usize]) {
                pairs.push((off, line.text, tail.data, has_number));
            }
        }
    }
    // The closest first; labels that crowd each other have a leader each.
    pairs.sort_by(|p, q| p.0.total_cmp(&q.0).then(p.1.cmp(&q.1)).then(p.2.cmp(&q.2)));
    for (_, text, room, has_number) in pairs {
        let is_taken = led.contains_key(&text) || has_number && is_numbered[room as usize];
        if !is_taken {
            led.insert(text, room);
            is_numbered[room as usize] |= has_number;
        }
    }
    Ok(led)
}

/// Leaders that are weighed for a text.
const MOST_TAILS: usize = 16;

/// How far from its text a leader may begin.
fn leader_gap(text: &TextItem, scale: f64) -> f64 {
    4.0 * text.height.max(0.1 * scale)
}

/// About half the length of a line of text, by its letters.
fn half_width(text: &TextItem, scale: f64) -> f64 {
    let letters: f64 = text.value.chars().map(|c| if (c as u32) < 0x2e80 { 0.65 } else { 1.1 }).sum();
    0.5 * text.height.max(0.05 * scale) * letters
}

/// From the box round a line of text to a point; 0 inside.
fn off_text(text: &TextItem, point: Point, scale: f64) -> f64 {
    let way = point - text.middle;
    let along = (way.dot(text.direction).abs() - half_width(text, scale)).max(0.0);
    let across = (way.cross(text.direction).abs() - 0.5 * text.height).max(0.0);
    along.hypot(across)
}

/// The room a text belongs to.
fn home(text: &TextItem, rooms: &[Room], locator: &Locator, leaders: &[(Point, Point)], scale: f64) -> Option<u32> {
    let smallest = |point: Point| {
        locator
            .candidates(point)
            .into_iter()
            .filter(|room| rooms[*room as usize].polygon.contains(point))
            .min_by(|p, q| rooms[*p as usize].area_m2.total_cmp(&rooms[*q as usize].area_m2))
    };
    if let Some(room) = smallest(text.middle).or_else(|| smallest(text.at)) {
        return Some(room);
    }
    // A leader that starts beside the text.
    let led = leaders
        .iter()
        .map(|(tip, tail)| (off_text(text, *tail, scale), tip))
        .filter(|(off, _)| *off <= leader_gap(text, scale))
        .min_by(|p, q| p.0.total_cmp(&q.0))
        .and_then(|(_, tip)| smallest(*tip));
    if led.is_some() {
        return led;
    }
    // A text on a wall line belongs to the one room that is close.
    let reach = (1.2 * text.height).clamp(0.15 * scale, 0.6 * scale);
    let corner = crate::drawing::Vec2::new(reach, reach);
    let mut near: Vec<(f64, u32)> = locator
        .in_box(text.middle - corner, text.middle + corner)
        .into_iter()
        .map(|room| {
            let polygon = &rooms[room as usize].polygon;
            let distance = super::shape::ring_edges(&polygon.shell)
                .map(|(a, b)| super::net::nearest_on(a, b, text.middle).distance(text.middle))
                .fold(f64::INFINITY, f64::min);
            (distance, room)
        })
        .filter(|(distance, _)| *distance <= reach)
        .collect();
    near.sort_by(|p, q| p.0.total_cmp(&q.0));
    match near.as_slice() {
        [(_, only)] => Some(*only),
        [first, second, ..] if first.0 < 0.6 * second.0 => Some(first.1),
        _ => None,
    }
}

/// Number, name and area of a room from its lines.
fn compose(room: &mut Room, lines: &[Line], input: &Input, scale: f64, options: &PlanOptions, out: &mut Labelling) {
    if lines.is_empty() {
        return;
    }
    let all = &apart(lines, room.area_m2)[..];
    let weighed = foremost(all, room, input);
    let lines = &weighed[..];
    let text = |line: &Line| &input.texts[line.text];
    let tallest = lines.iter().map(|line| text(line).height).fold(0.0, f64::max);
    let any_trusted = lines.iter().any(|line| line.trusted && line.reading.name.is_some());
    let middle = room.label_point;
    let worth = |line: &Line| -> f64 {
        let value = &text(line).value;
        let mut worth = 0.0;
        if line.trusted {
            worth += 4.0;
        }
        if line.reading.by_tag {
            worth += 4.0;
        }
        if line.reading.name.is_some() {
            worth += 1.0;
        }
        let number = line.reading.number.as_deref().unwrap_or(value);
        if number.chars().any(char::is_alphabetic) {
            worth += 0.5;
        }
        if may_be_area(number, room.area_m2) {
            worth -= 2.0;
        }
        if tallest > 0.0 {
            worth += 1.5 * text(line).height / tallest;
        }
        let near_name = lines.iter().any(|other| {
            other.reading.name.is_some()
                && other.text != line.text
                && text(other).middle.distance(text(line).middle)
                    <= 4.0 * text(line).height.max(0.1 * scale) + 0.3 * scale
        });
        if near_name {
            worth += 2.0;
        }
        worth - 0.5 * text(line).middle.distance(middle) / room.area_m2.max(1e-9).sqrt()
    };
    let ranked = |keep: &dyn Fn(&Line) -> bool| -> Vec<&Line> {
        let mut found: Vec<&Line> = lines.iter().filter(|line| keep(line)).collect();
        found.sort_by(|p, q| {
            worth(q)
                .total_cmp(&worth(p))
                .then_with(|| text(p).value.cmp(&text(q).value))
                .then(place_order(text(p).middle, text(q).middle))
        });
        found
    };
    let numbers = ranked(&|line| line.reading.number.is_some());
    let best = numbers.first().copied();
    if let Some(line) = best {
        room.number = line.reading.number.clone();
        let rivals: Vec<&str> = numbers
            .iter()
            .skip(1)
            .filter(|other| other.trusted == line.trusted && worth(other) > worth(line) - 1.5)
            .filter_map(|other| other.reading.number.as_deref())
            .filter(|other| Some(*other) != line.reading.number.as_deref() && !is_decimal(other))
            .collect();
        if !rivals.is_empty() {
            let number = room.number.clone().unwrap_or_default();
            out.conflicts.push((room.index, format!("{number}, {}", rivals.join(", "))));
        }
    }
    // Names: those of labels, or those that gather round the number (or the largest of them). What is written smaller
    // than the name, or says of what the floor is made, is not part of it.
    let mut names = ranked(&|line| line.reading.name.is_some() && (line.trusted || !any_trusted));
    let speaks = |line: &Line| !line.reading.name.as_deref().is_some_and(is_finish);
    names.retain(|line| speaks(line));
    if let Some(height) = names.first().map(|line| text(line).height) {
        names.retain(|line| line.reading.by_tag || text(line).height >= 0.85 * height);
    }
    let seed = best.or_else(|| names.first().copied());
    let mut gathered: Vec<&Line> = Vec::new();
    if let Some(seed) = seed {
        if seed.reading.name.is_some() {
            gathered.push(seed);
        }
        let mut reached: Vec<&Line> = vec![seed];
        loop {
            let before = reached.len();
            for &line in &names {
                if reached.iter().any(|known| known.text == line.text) {
                    continue;
                }
                let close = reached.iter().any(|known| touches(text(known), text(line), scale))
                    || lines.iter().any(|area| {
                        area.reading.area_m2.is_some()
                            && touches(text(area), text(line), scale)
                            && reached.iter().any(|known| touches(text(known), text(area), scale))
                    });
                if close {
                    reached.push(line);
                    gathered.push(line);
                }
            }
            if reached.len() == before {
                break;
            }
        }
        if gathered.is_empty()
            && let Some(first) = names.first()
        {
            gathered.push(first);
        }
    }
    sort_reading(&mut gathered, input);
    let mut parts: Vec<&str> = Vec::new();
    for line in &gathered {
        if let Some(name) = line.reading.name.as_deref()
            && !parts.contains(&name)
        {
            parts.push(name);
        }
    }
    if !parts.is_empty() {
        room.name = Some(parts.join(" "));
    }
    room.stated_area_m2 = ranked(&|line| line.reading.area_m2.is_some()).first().and_then(|line| line.reading.area_m2);
    if room.stated_area_m2.is_none() {
        // A bare decimal that is the area to the last place needs no unit.
        room.stated_area_m2 = numbers
            .iter()
            .filter(|line| best.is_none_or(|best| best.text != line.text))
            .filter_map(|line| line.reading.number.as_deref().filter(|number| is_decimal(number)))
            .filter_map(|number| number.replace(',', ".").parse::<f64>().ok())
            .find(|stated| (stated - room.area_m2).abs() <= 0.02 * room.area_m2);
    }
    if let Some(stated) = room.stated_area_m2
        && (stated - room.area_m2).abs() > options.area_tolerance * room.area_m2
    {
        out.misstated.push((room.index, stated));
    }
    let mut rest: Vec<&Line> = all
        .iter()
        .filter(|line| {
            !gathered.iter().any(|known| known.text == line.text)
                && best.is_none_or(|best| best.text != line.text)
                && line.reading.area_m2.is_none()
        })
        .collect();
    sort_reading(&mut rest, input);
    room.texts = rest.into_iter().map(|line| text(line).value.clone()).collect();
    room.texts.dedup();
    room.usage = room.name.as_deref().and_then(usage::of_name).or(room.usage);
}

fn place_order(p: Point, q: Point) -> std::cmp::Ordering {
    q.y.total_cmp(&p.y).then(p.x.total_cmp(&q.x))
}

/// Two lines that stand close enough to be read together.
fn touches(p: &TextItem, q: &TextItem, scale: f64) -> bool {
    let height = p.height.max(q.height).max(0.08 * scale);
    let way = q.middle - p.middle;
    let along = way.dot(p.direction).abs();
    let across = way.cross(p.direction).abs();
    across <= 2.6 * height && along <= half_width(p, scale) + half_width(q, scale) + 1.5 * height
}

/// Top to bottom, then along the line, in the direction of the texts.
fn sort_reading(lines: &mut [&Line], input: &Input) {
    let Some(first) = lines.first() else { return };
    let along = input.texts[first.text].direction;
    let up = crate::drawing::Vec2::new(-along.y, along.x);
    let height = input.texts[first.text].height.max(1e-9);
    lines.sort_by(|p, q| {
        let (p, q) = (&input.texts[p.text], &input.texts[q.text]);
        let row = |text: &TextItem| (-(text.middle.to_vec2().dot(up)) / (0.7 * height)).round();
        row(p)
            .total_cmp(&row(q))
            .then(p.middle.to_vec2().dot(along).total_cmp(&q.middle.to_vec2().dot(along)))
            .then(p.value.cmp(&q.value))
    });
}

fn is_decimal(text: &str) -> bool {
    text.contains(['.', ',']) && text.chars().all(|c| c.is_ascii_digit() || c == '.' || c == ',')
}

/// Two lengths with their unit, as square metres.
fn sides(value: &str) -> Option<f64> {
    let (first, second) = value.trim().split_once(['x', 'X', '×', '*'])?;
    let second = second.trim();
    let (a, b) = match (Stated::read(first)?, Stated::read(second)?) {
        (Stated::Metres(a), Stated::Metres(b)) => (a, b),
        // The unit behind the second is that of both.
        (Stated::Plain(a), Stated::Metres(b)) => {
            let figure: f64 = second.trim_end_matches(|c: char| !c.is_ascii_digit()).replace(',', ".").parse().ok()?;
            (a * b / figure, b)
        }
        _ => return None,
    };
    let is_room = |side: f64| (0.6..=60.0).contains(&side);
    (is_room(a) && is_room(b)).then_some(a * b)
}

/// A bare decimal that may state the area of the room, and no number such as `1.04`.
fn may_be_area(number: &str, area_m2: f64) -> bool {
    let Some((whole, part)) = number.split_once(['.', ',']).filter(|_| is_decimal(number)) else { return false };
    let is_storey = (whole.len() == 1 || whole.starts_with('0')) && part.len() >= 2;
    let value = number.replace(',', ".").parse::<f64>();
    !is_storey || value.map_or(true, |value| (value - area_m2).abs() <= 0.25 * area_m2)
}

struct Patterns {
    number: Regex,
    area: Regex,
    leading: Regex,
    trailing: Regex,
    prefix: Regex,
    dimension: Regex,
    height: Regex,
    load: Regex,
    unit_first: Regex,
}

fn patterns() -> Option<&'static Patterns> {
    static PATTERNS: OnceLock<Option<Patterns>> = OnceLock::new();
    PATTERNS
        .get_or_init(|| {
            Some(Patterns {
                number: Regex::new(r"^(?:[A-Za-zÀ-žА-я]{1,4}[-._ /]?)?\d{1,5}(?:[-._/]\d{1,4}){0,3}[-._]?[A-Za-z]{0,2}$").ok()?,
                area: Regex::new(
                    r"(?i)^(?P<before>.*?)(?:^|[\s(,;:=~≈])(?:[A-Z]{1,4}\s*[:=]\s*)?(?P<value>\d{1,3}(?:[ '\u{a0}]\d{3})+(?:[.,]\d+)?|\d+(?:[.,]\d+)?)\s*(?P<unit>m²|m2|m\^2|qm|mq|sqm|㎡|sq\.?\s?m\.?|m\.?\s?c\.?a\.?|кв\.?\s?м\.?|平米|平方米|sq\.?\s?ft\.?|sqft|sf|s\.f\.|ft²|ft2)\)?\s*$",
                )
                .ok()?,
                leading: Regex::new(r"^(?P<number>\S*\d\S*)\s*[-–—:|,]?\s+(?P<name>\D*[^\W\d_]{2}.*)$").ok()?,
                trailing: Regex::new(r"^(?P<name>.*[^\W\d_]{2}\D*?)\s+[-–—:#|]?\s*(?P<number>\S*\d\S*)$").ok()?,
                prefix: Regex::new(r"(?i)^(?:room|raum|rm|zimmer|zi|no|nr|nummer|number|№|#|salle|sala|local|pièce)[-.:#\s]*(?:(?:no|nr|num)\b)?[.:\s]*(?P<number>\S*\d\S*)$").ok()?,
                unit_first: Regex::new(r"(?i)^(?:mq|m2|m²|qm|sqm)\.?\s*[=:]?\s*(?P<value>\d+(?:[.,]\d+)?)$").ok()?,
                load: Regex::new(r"(?i)^(?:\d+(?:[.,]\d+)?\s*(?:kva|va|kw|kwh|hz|lm|btu)|(?:110|115|120|127|208|220|230|240|277|380|400|415|480)\s*v|gfc?i|\d+#.*|.*\d\s*['′]\s*-?\s*\d.*x.*)$").ok()?,
                height: Regex::new(concat!(
                    r"(?i)^(?:",
                    // A letter alone may begin a room number: what follows must be a length.
                    r"(?:h|ht|hgt|ok|uk|alt|elev)\.?\s*(?:[=:]\s*[±+\-–]?\d[\d.,]*\s*(?:mm|cm|m|ft)?|[±+\-–]?\d[\d.,]*\s*(?:mm|cm|m|ft))",
                    r"|(?:l?rh|lh|ch|clg|ceil(?:ing)?|hsp|hsfp|okff|okrf|ukd|ukrd|rdh|aff|ffl|afl|fbok|rbok|n\.?p\.?t\.?|raumhöhe|(?:lichte )?(?:raum)?höhe|hauteur|altura|h\. ?libre)",
                    r"\.?(?:\s*(?:ht|height|libre|sous plafond))?[\s.:=]*[±+\-–]?\s*\d+(?:[.,]\d{1,3}\s*(?:m|mm|cm)?|\s*(?:mm|cm|m|ft)|\s*['’′][\s\-]*[\d/ ]*[\x22”″]?)\s*(?:aff|afl)?",
                    r")$"
                )).ok()?,
                dimension: Regex::new(r#"(?i)^[\d.,\s'"/×x+\-±°%]*(?:mm|cm|m|in|ft|"|')?\s*$"#).ok()?,
            })
        })
        .as_ref()
}

/// A word and a small figure, `Bath 2`, read as a number; beside a number proper it is the name.
fn is_counted_word(number: &str) -> bool {
    number.split_once(' ').is_some_and(|(word, figure)| {
        word.chars().count() >= 3
            && word.chars().all(char::is_alphabetic)
            && (1..=2).contains(&figure.len())
            && figure.bytes().all(|byte| byte.is_ascii_digit())
    })
}

/// Lines that are weighed against each other. Who writes more into a room labels something else.
const MOST_LINES: usize = 200;

/// The lines that may name a room: all of them, or of very many the trusted, the tall and those in its middle.
fn foremost(lines: &[Line], room: &Room, input: &Input) -> Vec<Line> {
    let mut lines = lines.to_vec();
    if lines.len() > MOST_LINES {
        let middle = room.label_point;
        lines.sort_by(|p, q| {
            let (a, b) = (&input.texts[p.text], &input.texts[q.text]);
            (q.trusted, q.reading.by_tag)
                .cmp(&(p.trusted, p.reading.by_tag))
                .then(b.height.total_cmp(&a.height))
                .then(a.middle.distance(middle).total_cmp(&b.middle.distance(middle)))
                .then_with(|| a.value.cmp(&b.value))
                .then(place_order(a.middle, b.middle))
        });
        lines.truncate(MOST_LINES);
    }
    lines
}

/// `BATH 102`: a word and a number that needs no prefix.
fn word_and_number(text: &str) -> Option<(&str, &str)> {
    let (word, number) = text.split_once(' ')?;
    let names = word.chars().count() >= 3 && word.chars().all(char::is_alphabetic);
    let digits = number.chars().take_while(char::is_ascii_digit).count();
    (names && digits >= 3).then_some((word, number))
}

/// The lines of a room, counted words told from its number.
fn apart(lines: &[Line], area_m2: f64) -> Vec<Line> {
    let proper = |line: &Line| {
        line.reading.number.as_deref().is_some_and(|number| !is_counted_word(number) && !may_be_area(number, area_m2))
    };
    // Alone it is the name all the same: who numbers rooms does so without a word.
    let has_number = lines.iter().any(proper) || lines.iter().filter(|line| line.reading.number.is_some()).count() == 1;
    let mut lines = lines.to_vec();
    for reading in lines.iter_mut().map(|line| &mut line.reading).filter(|_| has_number) {
        if let Some(number) = reading.number.take_if(|number| is_counted_word(number) && !reading.by_tag) {
            reading.name = Some(number);
        }
    }
    lines
}

/// What a line says.
fn read(value: &str, custom: Option<&Regex>) -> Reading {
    let mut reading = Reading::default();
    let Some(patterns) = patterns() else { return reading };
    let value = value.trim().trim_matches(|c: char| matches!(c, '"' | '“' | '”' | '*')).trim();
    if value.is_empty() || value.chars().count() > 120 {
        return reading;
    }
    if let Some(custom) = custom
        && custom.is_match(value)
    {
        reading.number = Some(value.to_owned());
        return reading;
    }
    if patterns.height.is_match(value) || patterns.load.is_match(value) {
        return reading;
    }
    let mut rest = value;
    if let Some((key, said)) = value.split_once(':')
        && key.chars().count() <= 16
        && !key.chars().any(|c| c.is_ascii_digit())
        && !said.trim().is_empty()
        && !is_area_word(key)
    {
        // A stamp says more of a room than its name: `Boden: Fliesen`, `RH: 2.50`.
        match caption(key) {
            None if !patterns.area.is_match(value) => return reading,
            Some(Caption::Name) => {
                reading.name = Some(said.trim().to_owned());
                return reading;
            }
            Some(Caption::Number | Caption::Room) => rest = said.trim(),
            _ => {}
        }
    }
    if let Some(found) = patterns.unit_first.captures(value) {
        reading.area_m2 = found["value"].replace(',', ".").parse().ok();
        return reading;
    }
    if let Some(found) = patterns.area.captures(value) {
        let figures: String = found["value"].chars().filter(|c| !matches!(c, ' ' | '\'' | '\u{a0}')).collect();
        if let Ok(area) = figures.replace(',', ".").parse::<f64>() {
            let unit = found["unit"].to_lowercase();
            let feet = unit.contains('f');
            reading.area_m2 = Some(if feet { area * 0.092_903_04 } else { area });
            let before = found.name("before").map_or(0, |part| part.end());
            rest = value[..before]
                .trim_end_matches(|c: char| c.is_whitespace() || matches!(c, ':' | '=' | '-' | '(' | ','));
            if is_area_word(rest) {
                rest = "";
            }
        }
    }
    if rest.is_empty() {
        return reading;
    }
    let is_number = |text: &str| match custom {
        Some(custom) => custom.is_match(text),
        None => patterns.number.is_match(text) && text.chars().any(|c| c.is_ascii_digit()),
    };
    if let Some(found) = patterns.prefix.captures(rest).filter(|found| is_number(&found["number"])) {
        reading.number = Some(found["number"].to_owned());
    } else if is_counted_word(rest) && super::usage::of_name(rest).is_some() {
        reading.name = Some(rest.to_owned());
    } else if is_number(rest) {
        reading.number =
            word_and_number(rest).map_or_else(|| Some(rest.to_owned()), |(_, number)| Some(number.to_owned()));
        reading.name = word_and_number(rest).map(|(name, _)| name.to_owned());
    } else if let Some(found) = patterns.leading.captures(rest).filter(|found| is_number(&found["number"])) {
        reading.number = Some(found["number"].to_owned());
        reading.name = Some(found["name"].trim().to_owned());
    } else if let Some(found) = patterns.trailing.captures(rest).filter(|found| {
        is_number(&found["number"]) && found["number"].chars().filter(char::is_ascii_digit).count() >= 3
    }) {
        let name = found["name"].trim();
        reading.number = Some(found["number"].to_owned());
        if !is_number_word(name) {
            reading.name = Some(name.to_owned());
        }
    } else if !patterns.dimension.is_match(rest)
        && rest.chars().filter(|c| c.is_alphabetic()).count() >= letters_wanted(rest)
        && !is_area_word(rest)
    {
        reading.name = Some(rest.to_owned());
    }
    reading
}

/// Codes of finishes and of levels that stand in stamps below the name.
fn is_finish(name: &str) -> bool {
    const CODES: [&str; 31] = [
        "NPT", "N.P.T.", "N.P.T", "SNPT", "NTT", "FFL", "F.F.L.", "SSL", "OKFF", "VCT", "LVT", "LVP", "CPT", "CPT-T",
        "GWB", "ACT", "ACP", "GYP", "QT", "CT", "PT", "PNT", "CONC", "SC", "EPX", "RB", "VB", "WD", "TERR", "SV",
        "MAT",
    ];
    CODES.contains(&name)
}

fn letters_wanted(text: &str) -> usize {
    if text.chars().any(|c| c as u32 >= 0x2e80) { 1 } else { 2 }
}

fn is_area_word(text: &str) -> bool {
    let lower = text.trim().trim_end_matches([':', '=', '.']).trim().to_lowercase();
    matches!(
        lower.as_str(),
        "a" | "f"
            | "s"
            | "area"
            | "fläche"
            | "flaeche"
            | "surface"
            | "superficie"
            | "sup"
            | "nf"
            | "nrf"
            | "ngf"
            | "nuf"
            | "wfl"
            | "opp"
            | "面积"
            | "площадь"
            | "pow"
            | "gross area"
            | "net area"
    )
}

fn is_number_word(text: &str) -> bool {
    let lower = text.trim().trim_end_matches([':', '.', '#']).trim().to_lowercase();
    matches!(
        lower.as_str(),
        "room"
            | "raum"
            | "rm"
            | "zimmer"
            | "no"
            | "nr"
            | "nummer"
            | "number"
            | "salle"
            | "sala"
            | "local"
            | "room no"
            | "room number"
            | "raumnummer"
            | "raum nr"
    )
}

/// Number and name from the id or class of a drawn room (`room-101`, `Kitchen`); texts in the room win over it.
pub(crate) fn from_words(words: &str) -> (Option<String>, Option<String>) {
    const GENERIC: &[&str] = &[
        "room",
        "rooms",
        "space",
        "unit",
        "area",
        "polygon",
        "path",
        "rect",
        "shape",
        "layer",
        "group",
        "g",
        "svg",
        "use",
        "raum",
        "zone",
        "fill",
        "poly",
        "polyline",
        "line",
        "x",
        "st",
        "cls",
        "id",
        "surface",
        "object",
        "floor",
        "vector",
        "rectangle",
        "ellipse",
        "frame",
        "union",
        "subtract",
        "star",
        "mask",
        "clip",
        "image",
        "stroke",
        "outline",
        "compound",
        "boolean",
        "component",
        "instance",
    ];
    let Some(first) = words.split_whitespace().next().filter(|first| !first.contains(['{', '"', '<', '='])) else {
        return (None, None);
    };
    let mut rest = first;
    let mut spoke = false;
    loop {
        let trimmed = rest.trim_start_matches(|c: char| !c.is_alphanumeric());
        let letters = trimmed.find(|c: char| !c.is_alphabetic()).unwrap_or(trimmed.len());
        if letters == 0 || !GENERIC.contains(&trimmed[..letters].to_lowercase().as_str()) {
            rest = trimmed;
            break;
        }
        spoke |= matches!(trimmed[..letters].to_lowercase().as_str(), "room" | "rooms" | "space" | "unit" | "raum");
        rest = &trimmed[letters..];
    }
    let rest = rest.replace('_', " ");
    let rest = rest.trim();
    if rest.is_empty() {
        return (None, None);
    }
    let reading = read(rest, None);
    if reading.number.is_some() && (spoke || rest == first) {
        return (reading.number, reading.name);
    }
    let named =
        reading.name.filter(|name| name.chars().filter(|c| c.is_ascii_digit()).count() * 2 < name.chars().count());
    (None, named)
}

/// What a caption, the tag of an attribute or the word before a colon, says of its value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Caption {
    Number,
    Name,
    Area,
    /// A room as such: `Raum: 12`, `ROOM`.
    Room,
}

/// Reads a caption word by word, in the languages that plans are labelled in: `RAUM_NR`, `NOM_LOCAL`, `ROOMNUMBER`.
fn caption(words: &str) -> Option<Caption> {
    const ROOMS: &[&str] = &[
        "room", "raum", "rm", "zimmer", "local", "pièce", "piece", "salle", "sala", "recinto", "space", "stanza",
        "vano", "locale", "ruimte", "lokaal", "rum",
    ];
    const AREAS: &[&str] = &["area", "fläche", "flaeche", "surf", "面积", "sqm", "m2", "superf", "oppervl"];
    const NAMES: &[&str] =
        &["name", "nom", "bez", "desc", "design", "title", "usage", "nutzung", "intitul", "libell", "名"];
    let mut said = None;
    for token in words.to_lowercase().split(|c: char| !c.is_alphanumeric()).filter(|token| !token.is_empty()) {
        let mut rest = token;
        for room in ROOMS {
            if let Some(without) = rest.strip_prefix(room).or_else(|| rest.strip_suffix(room)) {
                rest = without;
                break;
            }
        }
        let has = |list: &[&str]| list.iter().any(|word| rest.contains(word));
        let is_number = matches!(rest, "no" | "nr" | "n" | "nro" | "nmr" | "number" | "nummer" | "编号")
            || (rest == "id" && (rest != token || said == Some(Caption::Room)))
            || ["num", "núm", "nomer"].iter().any(|word| rest.starts_with(word))
            || rest.ends_with("number")
            || rest.ends_with("nummer");
        let kind = if rest.is_empty() {
            Caption::Room
        } else if has(AREAS) || rest == "sup" {
            Caption::Area
        } else if is_number {
            Caption::Number
        } else if has(NAMES) {
            Caption::Name
        } else if token == "note" || token == "notes" {
            return None;
        } else {
            continue;
        };
        if said.is_none_or(|said| said == Caption::Room) {
            said = Some(kind);
        }
    }
    said
}

/// Lets the tag of an attribute decide what its value is.
fn read_tag(tag: &str, value: &str, reading: &mut Reading) {
    let value = value.trim();
    if value.is_empty() {
        *reading = Reading::default();
        return;
    }
    match caption(tag) {
        Some(Caption::Area) => {
            let figures: String = value
                .chars()
                .take_while(|c| c.is_ascii_digit() || matches!(c, '.' | ',' | ' '))
                .filter(|c| *c != ' ')
                .collect();
            if reading.area_m2.is_none() {
                reading.area_m2 = figures.replace(',', ".").parse().ok();
            }
            reading.number = None;
            reading.name = None;
            reading.by_tag = true;
        }
        Some(Caption::Number) if value.chars().any(char::is_alphanumeric) => {
            *reading = Reading { number: Some(value.to_owned()), by_tag: true, ..Reading::default() };
        }
        Some(Caption::Name) => {
            *reading = Reading { name: Some(value.to_owned()), by_tag: true, ..Reading::default() };
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn says(value: &str) -> (Option<String>, Option<String>, Option<f64>) {
        let reading = read(value, None);
        (reading.number, reading.name, reading.area_m2)
    }

    #[test]
    fn captions_in_the_languages_of_plans() {
        for tag in ["NUM", "NUMERO", "N_LOCAL", "ROOMNO", "RAUMNR", "RM_NUMBER", "NUMERO_LOCAL", "ROOM_ID", "NO"] {
            assert_eq!(caption(tag), Some(Caption::Number), "{tag}");
        }
        for tag in ["NOM", "NOMBRE", "NOM_LOCAL", "ROOMNAME", "RAUMBEZ", "DESCRIPTION", "DESIGNATION", "BEZEICHNUNG"] {
            assert_eq!(caption(tag), Some(Caption::Name), "{tag}");
        }
        for tag in ["SURFACE", "AREA", "FLÄCHE", "SUP", "ROOM_AREA"] {
            assert_eq!(caption(tag), Some(Caption::Area), "{tag}");
        }
        for tag in ["NOTE", "PHONE", "BODEN", "1", "KANNO"] {
            assert_eq!(caption(tag), None, "{tag}");
        }
    }

    #[test]
    fn lines_as_people_write_them() {
        let number = |text: &str| (Some(text.to_owned()), None, None);
        let name = |text: &str| (None, Some(text.to_owned()), None);
        assert_eq!(says("101"), number("101"));
        assert_eq!(says("B-101a"), number("B-101a"));
        assert_eq!(says("1.04"), number("1.04"));
        assert_eq!(says("EG.012"), number("EG.012"));
        assert_eq!(says("Room 101"), number("101"));
        assert_eq!(says("Raum-Nr. 0.15"), number("0.15"));
        assert_eq!(says("OFFICE"), name("OFFICE"));
        assert_eq!(says("会议室"), name("会议室"));
        assert_eq!(says("WC"), name("WC"));
        assert_eq!(says("101 Office"), (Some("101".into()), Some("Office".into()), None));
        assert_eq!(says("101 - Open office"), (Some("101".into()), Some("Open office".into()), None));
        assert_eq!(says("Conference Room 204"), (Some("204".into()), Some("Conference Room".into()), None));
        assert_eq!(says("18.42 m²"), (None, None, Some(18.42)));
        assert_eq!(says("A = 18,42 m2"), (None, None, Some(18.42)));
        assert_eq!(says("Fläche: 18,42 qm"), (None, None, Some(18.42)));
        assert_eq!(says("Küche 12,5 m²"), (None, Some("Küche".into()), Some(12.5)));
        let feet = says("100 SF").2.unwrap();
        assert!((feet - 9.290_304).abs() < 1e-9);
        assert_eq!(says("3'-6\""), (None, None, None));
        assert_eq!(says("2.40 x 3.10"), (None, None, None));
        assert_eq!(says("A"), (None, None, None));
        assert_eq!(says("Boden: Fliesen"), (None, None, None));
        assert_eq!(says("RH 2,75"), (None, None, None));
        assert_eq!(says("CLG 9'-0\""), (None, None, None));
        assert_eq!(says("HSP 2.50"), (None, None, None));
        assert_eq!(says("H-110"), number("H-110"));
        assert_eq!(says("100VA"), (None, None, None));
        assert_eq!(says("12'-0\" x 14'-6\""), (None, None, None));
        assert_eq!(says("mq=28.51"), (None, None, Some(28.51)));
        assert_eq!(sides("6.0 X 4.5 m"), Some(27.0));
        assert_eq!(sides("360cm X 420cm").map(|area| (area * 100.0).round()), Some(1512.0));
        assert_eq!(sides("14' X 16'").map(|area| (area * 100.0).round()), Some(2081.0));
        assert_eq!(sides("6 x 4"), None);
        assert_eq!(says("Nutzung: Büro"), name("Büro"));
        assert_eq!(says("BATH 102"), (Some("102".into()), Some("BATH".into()), None));
        assert_eq!(says("Büro 2"), name("Büro 2"));
        assert_eq!(says("Kind 1"), number("Kind 1"));
        assert_eq!(says("EG 12"), number("EG 12"));
    }
}
