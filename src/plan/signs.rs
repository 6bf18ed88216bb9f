//! What speaks for and against a plan in each part of a sheet: doors, rooms and their names on one side, marks of levels, the
//! line a building stands on, captions of a title block on the other. Only collected here; `views.rs` judges.

use std::collections::BTreeMap;

use super::classify::Roles;
use super::clusters::{Clusters, NOWHERE, Piece, smallest_around};
use super::input::{Input, NONE};
use super::symbols::Symbols;
use super::titles::{ViewKind, title_block_words};
use super::{OpeningKind, Role, labels, usage};
use crate::drawing::Vec2;
use crate::format::{Interrupt, Pace};

/// What speaks for and against a plan in one cluster.
#[derive(Debug, Clone, Default)]
pub(crate) struct Signs {
    pub swings: u32,
    pub drawn_rooms: u32,
    /// Texts that say what a room is used for.
    pub usages: u32,
    pub areas: u32,
    /// Heights with a sign, by how high they stand.
    pub level_marks: Vec<f64>,
    pub texts: u32,
    pub title_block_words: Vec<usize>,
    pub title_block_texts: u32,
    /// It stands on a line that runs past it on both sides.
    pub ground_line: bool,
    /// Length of lines that names call walls.
    pub named_walls: f64,
}

impl Signs {
    pub(crate) fn is_plan(&self) -> bool {
        self.swings > 0 || self.drawn_rooms > 0 || self.usages >= 2 || self.areas >= 2
    }

    /// Whether what is in it contradicts a title that calls it something else. Sections name rooms too.
    pub(crate) fn contradicts(&self, kind: ViewKind) -> bool {
        let named = match kind {
            ViewKind::Section => self.areas >= 2,
            _ => self.usages >= 2 || self.areas >= 1,
        };
        self.swings > 0 || self.drawn_rooms > 0 || named
    }
}

/// Looks through all clusters.
pub(crate) fn find(
    input: &Input,
    roles: &Roles,
    symbols: &Symbols,
    (clusters, drawings): (&Clusters, &[usize]),
    (pieces, endless): (impl Iterator<Item = Piece>, &[Piece]),
    scale: f64,
    pace: &Pace<'_>,
) -> Result<Vec<Signs>, Interrupt> {
    let mut all = vec![Signs::default(); clusters.list.len()];
    for proposal in &symbols.proposals {
        let swings =
            matches!(proposal.kind, OpeningKind::Door | OpeningKind::DoubleDoor) && !proposal.hinges.is_empty();
        let cluster = clusters.of_item.get(proposal.item as usize).copied().unwrap_or(NOWHERE);
        if let Some(signs) = all.get_mut(cluster as usize).filter(|_| swings) {
            signs.swings += 1;
        }
    }
    for ((item, role), cluster) in input.items.iter().zip(&roles.items).zip(&clusters.of_item) {
        let Some(signs) = all.get_mut(*cluster as usize) else { continue };
        match role {
            Role::Room => signs.drawn_rooms += 1,
            Role::Wall => signs.named_walls += input.segments(item).map(|(a, b)| a.distance(b)).sum::<f64>(),
            _ => {}
        }
    }
    let up = upward(input, clusters);
    for (text, role) in input.texts.iter().zip(&roles.texts) {
        pace.steps(drawings.len())?;
        let place = clusters.place(text.middle);
        let Some(number) = smallest_around(clusters, drawings, place) else { continue };
        let signs = &mut all[number];
        signs.texts += 1;
        if text.tag == NONE || labels::may_label(*role) {
            signs.usages += u32::from(is_usage(&text.value));
            signs.areas += u32::from(is_area(&text.value));
        }
        if is_level_mark(&text.value) {
            signs.level_marks.push(place.dot(up));
        }
        let words = title_block_words(&text.value);
        signs.title_block_texts += u32::from(!words.is_empty());
        signs.title_block_words.extend(words);
    }
    for signs in &mut all {
        signs.title_block_words.sort_unstable();
        signs.title_block_words.dedup();
    }
    ground_lines(clusters, pieces, endless, up, scale, &mut all, pace)?;
    Ok(all)
}

/// Where up is, by how most texts are read: one of four directions.
fn upward(input: &Input, clusters: &Clusters) -> Vec2 {
    let mut counts: BTreeMap<(i8, i8), u64> = BTreeMap::new();
    for text in &input.texts {
        let way = clusters.turned(text.direction);
        let up = if way.x.abs() >= way.y.abs() { (0, way.x.signum() as i8) } else { (-way.y.signum() as i8, 0) };
        *counts.entry(up).or_default() += 1;
    }
    let most = counts.iter().max_by(|p, q| p.1.cmp(q.1).then(p.0.cmp(q.0))).map(|(up, _)| *up);
    let level = clusters.turned(Vec2::new(0.0, 1.0));
    let upright =
        if level.y.abs() >= level.x.abs() { (0, level.y.signum() as i8) } else { (level.x.signum() as i8, 0) };
    let (x, y) = most.unwrap_or(upright);
    Vec2::new(f64::from(x), f64::from(y))
}

fn is_usage(text: &str) -> bool {
    text.split_whitespace().count() <= 4 && usage::of_name(text).is_some() || is_room_word(text)
}

/// Names of rooms that say no use of their own.
fn is_room_word(text: &str) -> bool {
    let lower = text.to_lowercase();
    let words = [
        "bedroom",
        "bed room",
        "living",
        "dining",
        "study",
        "garage",
        "schlafen",
        "wohnen",
        "zimmer",
        "chambre",
        "séjour",
        "salon",
        "dormitorio",
        "salón",
        "sala",
        "quarto",
        "camera",
        "soggiorno",
        "slaapkamer",
        "спальня",
        "гостиная",
        "комната",
        "卧室",
        "客厅",
        "餐厅",
        "教室",
    ];
    text.split_whitespace().count() <= 4 && words.iter().any(|word| lower.contains(word))
}

fn is_area(text: &str) -> bool {
    let lower = text.trim().to_lowercase();
    let units =
        ["m²", "m2", "sqm", "sq m", "sq. m", "qm", "㎡", "平米", "sf", "sq ft", "sq. ft", "sqft", "кв.м", "кв. м"];
    lower.chars().any(|c| c.is_ascii_digit()) && units.iter().any(|unit| lower.trim_end_matches('.').ends_with(unit))
}

/// A height with a sign: `+3.50`, `±0.00`, `-1,20`.
fn is_level_mark(text: &str) -> bool {
    let text = text.trim();
    let Some(figures) = text.strip_prefix(['+', '±', '-', '−']).or_else(|| text.strip_prefix("%%p")) else {
        return false;
    };
    let figures = figures.trim().trim_end_matches(['m', 'M']).trim();
    let point = figures.find(['.', ',']);
    point.is_some_and(|at| at > 0 && at <= 3 && figures.len() - at > 2)
        && figures.chars().all(|c| c.is_ascii_digit() || matches!(c, '.' | ','))
}

/// Finds drawings that stand on a line: it runs past them on both sides, all else is above it, and uprights end on it.
/// A construction line without end may run through anything: it counts only below a roof.
fn ground_lines(
    clusters: &Clusters,
    pieces: impl Iterator<Item = Piece>,
    endless: &[Piece],
    up: Vec2,
    scale: f64,
    all: &mut [Signs],
    pace: &Pace<'_>,
) -> Result<(), Interrupt> {
    let along = Vec2::new(up.y, -up.x);
    let level = |a: Vec2, b: Vec2| -> Option<Ground> {
        let way = b - a;
        let (p, q) = (a.dot(along), b.dot(along));
        let height = 0.5 * (a.dot(up) + b.dot(up));
        let flat = way.dot(up).abs() <= 0.005 * way.dot(along).abs();
        flat.then_some(Ground { height, from: p.min(q), to: p.max(q), endless: false })
    };
    let endless: Vec<Ground> = endless
        .iter()
        .filter_map(|(a, b, _)| level(clusters.place(*a), clusters.place(*b)))
        .map(|ground| Ground { endless: true, ..ground })
        .collect();
    // By cluster: the lowest long level line; of several, the longest.
    let mut lowest: Vec<Option<Ground>> = vec![None; clusters.list.len()];
    for (cluster, found) in clusters.list.iter().zip(&mut lowest) {
        pace.steps(cluster.long.len() + endless.len() + 1)?;
        let bottom = cluster.low.dot(up).min(cluster.high.dot(up));
        let below = endless.iter().copied().filter(|ground| (ground.height - bottom).abs() <= 0.3 * scale);
        for ground in cluster.long.iter().filter_map(|(a, b)| level(*a, *b)).chain(below) {
            let near = 0.3 * scale;
            let better = found.is_none_or(|known| {
                let longer = ground.to - ground.from > known.to - known.from;
                ground.height < known.height - near || ((ground.height - known.height).abs() <= near && longer)
            });
            if better {
                *found = Some(ground);
            }
        }
    }
    let mut rest: Vec<Rest> = vec![Rest::default(); clusters.list.len()];
    for (a, b, item) in pieces {
        pace.step()?;
        let number = clusters.of_item.get(item as usize).copied().unwrap_or(NOWHERE) as usize;
        let Some(ground) = lowest.get(number).copied().flatten() else { continue };
        let ends = [clusters.place(a), clusters.place(b)];
        let heights = ends.map(|end| end.dot(up) - ground.height);
        let way = ends[1] - ends[0];
        let (rise, run) = (way.dot(up), way.dot(along));
        if rise.abs() < 0.05 * run.abs() && heights.iter().all(|height| height.abs() <= 0.3 * scale) {
            continue;
        }
        let rest = &mut rest[number];
        for (end, height) in ends.iter().zip(heights) {
            rest.low = rest.low.min(height);
            rest.high = rest.high.max(height);
            rest.left = rest.left.min(end.dot(along));
            rest.right = rest.right.max(end.dot(along));
            if height.abs() <= 0.05 * scale && run.abs() < 0.05 * rise.abs() {
                rest.feet.push((end.dot(along) / (0.05 * scale)).round() as i64);
            }
        }
        // From a flat roof of a tenth to a steep one.
        if (0.1 * run.abs()..=2.0 * run.abs()).contains(&rise.abs()) && way.hypot() >= 1.5 * scale {
            rest.slopes[usize::from(rise * run > 0.0)] += 1;
        }
    }
    for ((signs, ground), rest) in all.iter_mut().zip(lowest).zip(&mut rest) {
        let Some(ground) = ground else { continue };
        rest.feet.sort_unstable();
        rest.feet.dedup();
        let past = if ground.endless { 0.0 } else { 0.05 * (rest.right - rest.left) };
        // Earth may be drawn below the line.
        signs.ground_line = rest.low >= -0.3 * scale
            && ground.from <= rest.left - past
            && ground.to >= rest.right + past
            && rest.right - rest.left >= 3.0 * scale
            && rest.high >= 2.0 * scale
            && rest.feet.len() >= 4
            && (!ground.endless || rest.slopes.iter().all(|count| *count > 0));
    }
    Ok(())
}

/// A level line.
#[derive(Debug, Clone, Copy)]
struct Ground {
    height: f64,
    from: f64,
    to: f64,
    endless: bool,
}

/// What there is beside it: heights over it, extents along it.
#[derive(Debug, Clone)]
struct Rest {
    low: f64,
    high: f64,
    left: f64,
    right: f64,
    /// Where uprights end on it, in steps.
    feet: Vec<i64>,
    /// Long slopes that fall and rise to the right.
    slopes: [u32; 2],
}

impl Default for Rest {
    fn default() -> Self {
        let (most, least) = (f64::INFINITY, f64::NEG_INFINITY);
        Self { low: most, high: least, left: most, right: least, feet: Vec::new(), slopes: [0, 0] }
    }
}
