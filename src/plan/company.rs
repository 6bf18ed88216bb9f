//! What runs along a line at the distance of a wall, and how thick the walls of a drawing are.
//!
//! Every straight piece gets its company: the nearest parallel neighbour on each side, and the distance at which most
//! runs along it. The distances that occur most in a drawing, or along lines longer than any furniture, are those of its
//! walls. Which lines are walls is decided in `lines.rs`.

use super::PlanOptions;
use super::grid::{Frame, SegmentIndex};
use super::input::NONE;
use super::lines::LinePiece;
use crate::format::{Checkpoint, Interrupt};

/// Longer than furniture that runs along a wall, metres.
const LONG_M: f64 = 2.8;

/// Parallel company of a segment.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Company {
    /// Nearest distance on the left and right, 0 for none.
    pub near: [f64; 2],
    /// Overlap with that neighbour.
    pub overlap: [f64; 2],
    /// The neighbour on each side, by number.
    pub partner: [u32; 2],
    /// By side: the distance at which most runs along it, how much, and the neighbour that does most of it.
    pub main: [(f64, f64, u32); 2],
    /// Length along which some neighbour runs, at most the own length.
    pub cover: f64,
    /// A line at least as long lies on it, or nearer than any wall is thick.
    pub touched: bool,
}

impl Company {
    /// Equal neighbours on both sides: hatching, decking, treads.
    pub(super) fn is_pattern(&self, length: f64) -> bool {
        let [left, right] = self.near;
        left > 0.0
            && right > 0.0
            && (left - right).abs() < 0.04 * left
            && self.overlap.iter().all(|overlap| *overlap > 0.5 * length)
    }
}

/// Looks at neighbours between two looks at the deadline.
const CHECK_EVERY: usize = 1 << 16;

/// Within the thickness of a wall no wall line has so many neighbours: it is one of a dense pattern, and is not looked
/// at further.
pub(super) const CROWD: usize = 1024;

/// For every piece its nearest parallel neighbours at the distance of a wall.
pub(super) fn keep_company(
    pieces: &[LinePiece],
    boxy: &[bool],
    scale: f64,
    options: &PlanOptions,
    checkpoint: &Checkpoint<'_>,
) -> Result<Vec<Company>, Interrupt> {
    let (thin, thick) = (options.min_wall_thickness_m * scale, options.max_wall_thickness_m * scale);
    let frame = Frame::holding(pieces.iter().flat_map(|piece| [piece.0, piece.1]), Frame::STEP_M * scale.min(1.0));
    let index = SegmentIndex::build(pieces.len(), |piece| (frame.grid(pieces[piece].0), frame.grid(pieces[piece].1)));
    // From near to far, where cells are small beside a wall: what is near on both sides hides the rest.
    let cell = frame.step() * index.cell().0.max(index.cell().1) as f64;
    let first_reach = if cell < 0.5 * thick { cell } else { thick };
    let mut all = vec![Company::default(); pieces.len()];
    let mut near: Vec<u32> = Vec::new();
    // By piece: the last look it was met in, so that none is weighed twice however often the steps meet it.
    let mut met = vec![0u32; pieces.len()];
    let (mut look, mut work) = (0u32, 0usize);
    for (number, (a, b, _, _)) in pieces.iter().enumerate() {
        let length = a.distance(*b);
        if length < 0.04 * scale {
            continue;
        }
        let mut reach = first_reach;
        loop {
            if work > CHECK_EVERY || number.is_multiple_of(1024) {
                checkpoint()?;
                work = 0;
            }
            look = look.wrapping_add(1);
            near.clear();
            let steps = (length / (1.5 * reach)).ceil().clamp(1.0, 4096.0) as usize;
            let grid_reach = frame.steps(reach).ceil() as i64;
            let mut seen = None;
            for step in 0..=steps {
                let point = frame.grid(a.lerp(*b, step as f64 / steps as f64));
                // One stray point far away makes the cells so large that many steps look at the same ones.
                let cells = index.cells_around(point, grid_reach);
                if seen.replace(cells) == Some(cells) {
                    continue;
                }
                index.around(point, grid_reach, |other| {
                    work += 1;
                    if other as usize != number && met[other as usize] != look {
                        met[other as usize] = look;
                        near.push(other);
                    }
                });
                if near.len() > 16 * CROWD {
                    break;
                }
            }
            near.sort_unstable();
            work += near.len();
            let company = company_among(pieces, boxy, number, &near, (thin, thick), scale);
            all[number] = company;
            let hidden = company.near.iter().all(|near| *near > 0.0 && *near <= 0.75 * reach)
                && company.cover >= (1.0 - 1e-9) * length;
            if reach >= thick || hidden || near.len() > CROWD {
                break;
            }
            reach = (2.0 * reach).min(thick);
        }
    }
    Ok(all)
}

/// The company that a piece has among its neighbours.
fn company_among(
    pieces: &[LinePiece],
    boxy: &[bool],
    number: usize,
    near: &[u32],
    (thin, thick): (f64, f64),
    scale: f64,
) -> Company {
    let (a, b, own_item, _) = pieces[number];
    let length = a.distance(b);
    let along = (b - a) / length;
    let mut best = Company::default();
    let mut covered: Vec<(f64, f64)> = Vec::new();
    let mut rows: [Vec<(f64, f64, u32)>; 2] = [Vec::new(), Vec::new()];
    let own_box = boxy.get(own_item as usize).copied().unwrap_or(false);
    for &other in near {
        let (p, q, item, _) = pieces[other as usize];
        let other_length = p.distance(q);
        // The sides of a box keep each other company; that makes furniture no wall. But a pier is a box too,
        // and its own sides tell its thickness.
        let other_box = boxy.get(item as usize).copied().unwrap_or(false);
        if other_length < 0.04 * scale || (other_box && (!own_box || item != own_item)) {
            continue;
        }
        let slack = if length.min(other_length) < 0.6 * scale { 0.2 } else { 0.06 };
        if along.cross((q - p) / other_length).abs() > slack {
            continue;
        }
        let (u, v) = (along.dot(p - a), along.dot(q - a));
        let overlap = u.max(v).min(length) - u.min(v).max(0.0);
        let distance = 0.5 * (along.cross(p - a) + along.cross(q - a));
        let size = distance.abs();
        best.touched |= size < thin && other_length >= 1.2 * length && overlap >= 0.5 * length;
        if overlap < 0.3 * length.min(other_length) || size < thin || size > thick {
            continue;
        }
        // Wall faces are longer than the wall is thick.
        if overlap.max(length.min(other_length)) < 0.9 * size {
            continue;
        }
        covered.push((u.min(v).max(0.0), u.max(v).min(length)));
        let side = usize::from(distance < 0.0);
        rows[side].push((size, overlap, other));
        if best.near[side] == 0.0 || size < best.near[side] - 1e-9 {
            best.near[side] = size;
            best.overlap[side] = overlap;
            best.partner[side] = other;
        } else if (size - best.near[side]).abs() < 0.01 * scale {
            best.overlap[side] += overlap;
        }
    }
    best.cover = union_length(&mut covered);
    for (side, rows) in rows.iter_mut().enumerate() {
        best.main[side] = main_row(rows, 0.01 * scale);
    }
    best
}

/// Of neighbours (distance, overlap, number) the distance at which most of them run, within `slack`: with the sum of
/// their overlaps and the one with the largest.
fn main_row(rows: &mut [(f64, f64, u32)], slack: f64) -> (f64, f64, u32) {
    rows.sort_by(|p, q| p.0.total_cmp(&q.0).then(p.2.cmp(&q.2)));
    let mut best = (0.0, 0.0, NONE);
    let (mut first, mut sum) = (0, 0.0);
    for (last, row) in rows.iter().enumerate() {
        sum += row.1;
        while row.0 - rows[first].0 > slack {
            sum -= rows[first].1;
            first += 1;
        }
        if sum > best.1 + 1e-9 {
            let longest = rows[first..=last].iter().max_by(|p, q| p.1.total_cmp(&q.1).then(q.2.cmp(&p.2)));
            best = longest.map_or(best, |longest| (longest.0, sum, longest.2));
        }
    }
    best
}

/// Length of the union of intervals.
fn union_length(intervals: &mut [(f64, f64)]) -> f64 {
    intervals.sort_by(|p, q| p.0.total_cmp(&q.0));
    let (mut total, mut reached) = (0.0, f64::NEG_INFINITY);
    for &(from, to) in intervals.iter() {
        total += (to - from.max(reached)).max(0.0);
        reached = reached.max(to);
    }
    total
}

/// Lines with an equal neighbour on both sides at the depth of a step.
pub(super) fn is_tread(company: &Company, length: f64, scale: f64) -> bool {
    let [left, right] = company.near;
    left > 0.18 * scale
        && right > 0.18 * scale
        && left < 0.42 * scale
        && (left - right).abs() < 0.03 * scale
        && length > 0.4 * scale
        && length < 5.0 * scale
        && company.overlap.iter().all(|overlap| *overlap > 0.6 * length)
}

/// How thick walls are in this drawing.
pub(super) struct Thickness {
    bin: f64,
    /// By bin: whether walls of that thickness occur, and whether they are common.
    bins: Vec<(bool, bool)>,
    pub max: f64,
    pub double: bool,
}

impl Thickness {
    pub(super) fn read(
        pieces: &[LinePiece],
        company: &[Company],
        scale: f64,
        options: &PlanOptions,
        named: bool,
        double: bool,
    ) -> Self {
        let bin = 0.01 * scale;
        let thick = options.max_wall_thickness_m * scale;
        let mut weights = vec![0.0; (thick / bin).ceil() as usize + 2];
        let mut long = weights.clone();
        let (mut total, mut paired) = (0.0, 0.0);
        for ((a, b, _, _), own) in pieces.iter().zip(company) {
            let length = a.distance(*b);
            total += length;
            if !named && (is_tread(own, length, scale) || own.is_pattern(length)) {
                continue;
            }
            let side = match own.near {
                [left, right] if left > 0.0 && (right == 0.0 || left <= right) => Some(0),
                [_, right] if right > 0.0 => Some(1),
                _ => None,
            };
            if let Some(side) = side {
                let overlap = own.overlap[side].min(length);
                paired += overlap;
                let place = (own.near[side] / bin).round() as usize;
                if let Some(weight) = weights.get_mut(place) {
                    *weight += overlap;
                }
            }
            for (distance, overlap, _) in own.main.iter().filter(|(_, overlap, _)| *overlap >= LONG_M * scale) {
                if let Some(weight) = long.get_mut((distance / bin).round() as usize) {
                    *weight += overlap.min(length);
                }
            }
        }
        let sum: f64 = weights.iter().sum();
        let floor = 0.03 * sum;
        let smoothed = |weights: &[f64]| -> Vec<f64> {
            (0..weights.len())
                .map(|place| weights[place.saturating_sub(1)..(place + 2).min(weights.len())].iter().sum())
                .collect()
        };
        let (smooth, long) = (smoothed(&weights), smoothed(&long));
        let double = if named { total > 0.0 && paired >= 0.35 * total } else { double };
        let thickest = smooth.iter().rposition(|weight| sum > 0.0 && *weight >= floor);
        let max = match thickest {
            Some(place) if double => place as f64 * bin,
            _ => 0.3 * scale,
        };
        // Walls of the core may be few; but no furniture is so long.
        let lasting = |place: usize| place as f64 * bin <= max && long[place] >= 3.0 * LONG_M * scale;
        let bins = (0..smooth.len()).map(|place| {
            let common = smooth[place] >= floor;
            (common || lasting(place), common)
        });
        Self { bin, bins: bins.collect(), max, double }
    }

    /// Whether walls of this thickness occur.
    pub(super) fn occurs(&self, distance: f64) -> bool {
        self.bin_of(distance).0
    }

    /// Whether they are a good part of all walls.
    pub(super) fn is_common(&self, distance: f64) -> bool {
        self.bin_of(distance).1
    }

    fn bin_of(&self, distance: f64) -> (bool, bool) {
        let bin = (distance > 0.0).then(|| self.bins.get((distance / self.bin).round() as usize));
        bin.flatten().copied().unwrap_or_default()
    }
}
