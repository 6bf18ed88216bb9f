//! Texts → numbers, names and stated areas of rooms.
//!
//! What a line of text says is read in [`super::reading`]. Attribute tags and label layers count more than looks. The
//! lines in one room are joined round the best number in reading order; what lies off (furniture notes, dimensions) stays
//! as other texts. A text outside every room is led in by a leader that starts beside it, or by nearness to one room, or
//! is an orphan.

use std::collections::{BTreeMap, BTreeSet};

use regex::Regex;
use rstar::primitives::GeomWithData;
use rstar::{PointDistance as _, RTree};

use super::classify::Roles;
use super::input::{Drawn, Input, NONE, TextItem};
use super::reading::{Reading, custom, is_counted_word, is_decimal, is_finish, may_be_area, read, read_tag, sides};
use super::shape::Locator;
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
            out.sides.extend(home(text, rooms, &locator, leaders, scale, &pace)?.map(|room| (room, area)));
        } else if line.reading != Reading::default() {
            let home = home(text, rooms, &locator, leaders, scale, &pace)?;
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
    // Who states the pattern of numbers knows what is one.
    if custom.is_none() {
        let other = of_something_else(&numbers, &homes);
        let types = types(&by_room);
        for line in by_room.iter_mut().flatten().filter(|line| !line.reading.by_tag) {
            let is_type = line.reading.number.as_deref().is_some_and(|number| types.contains(number));
            if is_type || other.binary_search(&line.text).is_ok() {
                line.reading.number = None;
            }
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
    let room_of = |point: Point| Ok(locator.holding(point, pace)?.first().copied());
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
fn home(
    text: &TextItem,
    rooms: &[Room],
    locator: &Locator,
    leaders: &[(Point, Point)],
    scale: f64,
    pace: &Pace<'_>,
) -> Result<Option<u32>, Interrupt> {
    let smallest = |point: Point| -> Result<Option<u32>, Interrupt> {
        let holding = locator.holding(point, pace)?.into_iter();
        Ok(holding.min_by(|p, q| rooms[*p as usize].area_m2.total_cmp(&rooms[*q as usize].area_m2)))
    };
    for place in [text.middle, text.at] {
        if let Some(room) = smallest(place)? {
            return Ok(Some(room));
        }
    }
    // A leader that starts beside the text.
    pace.steps(leaders.len())?;
    let tip = leaders
        .iter()
        .map(|(tip, tail)| (off_text(text, *tail, scale), tip))
        .filter(|(off, _)| *off <= leader_gap(text, scale))
        .min_by(|p, q| p.0.total_cmp(&q.0))
        .map(|(_, tip)| *tip);
    if let Some(room) = tip.map(smallest).transpose()?.flatten() {
        return Ok(Some(room));
    }
    // A text on a wall line belongs to the one room that is close.
    let reach = (1.2 * text.height).clamp(0.15 * scale, 0.6 * scale);
    let corner = crate::drawing::Vec2::new(reach, reach);
    let beside = locator.in_box(text.middle - corner, text.middle + corner);
    pace.steps(beside.iter().map(|room| rooms[*room as usize].polygon.shell.len()).sum())?;
    let mut near: Vec<(f64, u32)> = beside
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
    Ok(match near.as_slice() {
        [(_, only)] => Some(*only),
        [first, second, ..] if first.0 < 0.6 * second.0 => Some(first.1),
        _ => None,
    })
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
