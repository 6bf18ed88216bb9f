//! Chains of dimensions that came without their kind: exploded, or from a picture.
//!
//! A figure stands along a line, in the middle between two marks on it, and says how far they are apart. That alone
//! does not make it a dimension (a room number may stand beside a wall), but if several figures of a drawing are in the
//! same ratio to the distances they stand at, that is no chance. Such lines are no walls and such figures no room
//! numbers; their ratio tells `units.rs` what the unit is.

use super::Role;
use super::classify::Roles;
use super::grid::{Frame, SegmentIndex};
use super::input::{Input, NONE};
use super::units::Stated;
use crate::drawing::{Point, Vec2};
use crate::format::{Checkpoint, Interrupt};

/// Figures that must agree.
const ENOUGH: usize = 3;
/// How far the ratios of figures that agree may be apart: figures are rounded.
const AGREE: f64 = 0.015;
/// Two figures with decimals are enough if they agree so well.
const AGREE_WELL: f64 = 0.0005;
/// Texts looked at.
const MOST_TEXTS: usize = 20_000;
/// Steps from a figure to the marks beside it, each of [`STRIDE`] heights of its letters.
const MOST_STEPS: usize = 200;
const STRIDE: f64 = 6.0;

/// A figure and the line it may belong to.
struct Candidate {
    text: usize,
    item: u32,
    measured: f64,
    stated: Stated,
    ratio: f64,
}

/// Finds the chains, gives their lines and texts the role of dimensions, and what was measured and what is written.
pub(crate) fn find(
    input: &Input,
    roles: &mut Roles,
    checkpoint: &Checkpoint<'_>,
) -> Result<Vec<(f64, Stated)>, Interrupt> {
    let open = |role: Role| matches!(role, Role::Unknown | Role::Annotation | Role::Dimension);
    let figures: Vec<(usize, Stated)> = input
        .texts
        .iter()
        .enumerate()
        .filter(|(number, text)| {
            // Blocks of dimensions are measured as such.
            text.height > 0.0 && open(roles.texts[*number]) && !input.text(text.block).starts_with(['*'])
        })
        .filter_map(|(number, text)| Some((number, Stated::read(&text.value)?)))
        .take(MOST_TEXTS)
        .collect();
    if figures.len() < 2 {
        return Ok(Vec::new());
    }
    let mut pieces: Vec<(Point, Point, u32)> = Vec::new();
    for (number, item) in input.items.iter().enumerate() {
        if open(roles.items[number]) && item.arc == NONE {
            pieces.extend(input.segments(item).map(|(a, b)| (a, b, number as u32)));
        }
    }
    pieces.retain(|(a, b, _)| a != b);
    let mut heights: Vec<f64> = figures.iter().map(|(text, _)| input.texts[*text].height).collect();
    heights.sort_by(f64::total_cmp);
    let frame = Frame::holding(pieces.iter().flat_map(|piece| [piece.0, piece.1]), 0.01 * heights[heights.len() / 2]);
    let index = SegmentIndex::build(pieces.len(), |piece| (frame.grid(pieces[piece].0), frame.grid(pieces[piece].1)));
    let search = Search { pieces: &pieces, frame, index: &index };
    let mut candidates = Vec::new();
    for (turn, (text, stated)) in figures.iter().enumerate() {
        if turn % 64 == 0 {
            checkpoint()?;
        }
        let line = &input.texts[*text];
        for (item, measured) in search.lines_beside(line.middle, line.direction, line.height) {
            let value = match stated {
                Stated::Metres(value) | Stated::Plain(value) => *value,
            };
            candidates.push(Candidate { text: *text, item, measured, stated: *stated, ratio: (measured / value).ln() });
        }
    }
    let mut chains = Vec::new();
    for with_unit in [true, false] {
        let mut kind: Vec<&Candidate> =
            candidates.iter().filter(|known| matches!(known.stated, Stated::Metres(_)) == with_unit).collect();
        kind.sort_by(|p, q| p.ratio.total_cmp(&q.ratio).then(p.text.cmp(&q.text)).then(p.item.cmp(&q.item)));
        let texts = |run: &[&Candidate]| {
            let mut texts: Vec<usize> = run.iter().map(|known| known.text).collect();
            texts.sort_unstable();
            texts.dedup();
            // Equal figures at equal distances are one piece of evidence: doors of a row that are all numbered 1.
            let mut values: Vec<u64> =
                run.iter().map(|known| (known.measured / known.ratio.exp()).to_bits() >> 16).collect();
            values.sort_unstable();
            values.dedup();
            let spread = run.last().map_or(0.0, |last| last.ratio - run[0].ratio);
            let fine = |value: &u64| (f64::from_bits(value << 16).fract() - 0.5).abs() < 0.499;
            let exact = values.len() == 2 && spread <= AGREE_WELL && values.iter().all(fine);
            if values.len() >= ENOUGH {
                texts.len()
            } else if exact {
                texts.len().max(ENOUGH)
            } else {
                0
            }
        };
        let mut best: (usize, usize, usize) = (0, 0, 0);
        let mut end = 0;
        for start in 0..kind.len() {
            end = end.max(start);
            while kind.get(end).is_some_and(|next| next.ratio - kind[start].ratio <= AGREE) {
                end += 1;
            }
            if end - start > best.0 {
                let count = texts(&kind[start..end]);
                if count > best.0 {
                    best = (count, start, end);
                }
            }
        }
        let all = texts(&kind);
        if best.0 >= ENOUGH && 5 * best.0 >= 2 * all {
            chains.extend(
                kind[best.1..best.2].iter().map(|known| (known.text, known.item, known.measured, known.stated)),
            );
        }
    }
    for (text, item, _, _) in &chains {
        roles.texts[*text] = Role::Dimension;
        roles.items[*item as usize] = Role::Dimension;
    }
    Ok(chains.into_iter().map(|(_, _, measured, stated)| (measured, stated)).collect())
}

struct Search<'a> {
    pieces: &'a [(Point, Point, u32)],
    frame: Frame,
    index: &'a SegmentIndex,
}

impl Search<'_> {
    /// Lines along a text with a mark on both sides of its middle: the item, and how far the marks are apart.
    fn lines_beside(&self, middle: Point, along: Vec2, height: f64) -> Vec<(u32, f64)> {
        let reach = 2.2 * height;
        let mut found = Vec::new();
        for piece in self.near(middle, reach) {
            let (a, b, item) = self.pieces[piece as usize];
            let length = a.distance(b);
            let u = (b - a) / length;
            let place = u.dot(middle - a);
            let parallel = u.cross(along).abs() < 0.05;
            if parallel && (0.0..=length).contains(&place) && u.cross(middle - a).abs() <= reach {
                let left = place - self.mark(a, u, place, -1.0, length, height, piece);
                let right = self.mark(a, u, place, 1.0, length, height, piece) - place;
                // In the middle, or beside marks too near for it.
                let measured = left + right;
                if (left - right).abs() <= 0.25 * measured || measured <= 4.0 * height {
                    found.push((item, measured));
                }
                // Grid lines cross it too; its ends are marks in any case.
                if (2.0 * place - length).abs() <= 0.1 * length && measured < length - 0.3 * height {
                    found.push((item, length));
                }
            }
        }
        found.sort_by(|p, q| p.0.cmp(&q.0).then(p.1.total_cmp(&q.1)));
        found.dedup();
        found
    }

    /// The first mark on the line from `place` on; its end if there is none.
    #[allow(clippy::too_many_arguments, reason = "one line and where to look on it")]
    fn mark(&self, a: Point, u: Vec2, place: f64, side: f64, length: f64, height: f64, own: u32) -> f64 {
        let end = if side > 0.0 { length } else { 0.0 };
        let (touch, stride) = (0.15 * height, STRIDE * height);
        let mut from = place;
        for _ in 0..MOST_STEPS {
            let middle = a + u * (from + side * 0.5 * stride);
            let mut best: Option<f64> = None;
            for piece in self.near(middle, 0.5 * stride + touch) {
                let (p, q, _) = self.pieces[piece as usize];
                let (s, t) = (u.dot(p - a), u.dot(q - a));
                let (v, w) = (u.cross(p - a), u.cross(q - a));
                if piece == own || (v - w).abs() < 0.1 * p.distance(q) {
                    continue;
                }
                let at = if v.min(w) <= 0.0 && v.max(w) >= 0.0 {
                    s + (t - s) * v / (v - w)
                } else if v.abs().min(w.abs()) <= touch {
                    if v.abs() <= w.abs() { s } else { t }
                } else {
                    continue;
                };
                let ahead = (at - place) * side;
                if ahead > touch && best.is_none_or(|known| ahead < (known - place) * side) {
                    best = Some(at);
                }
            }
            from += side * stride;
            let past = (end - from) * side <= 0.0;
            match best {
                Some(at) if (at - from) * side <= 0.0 => return if (at - end) * side > 0.0 { end } else { at },
                _ if past => return end,
                _ => {}
            }
        }
        end
    }

    fn near(&self, point: Point, reach: f64) -> Vec<u32> {
        let mut near = Vec::new();
        self.index.around(self.frame.grid(point), self.frame.steps(reach).ceil() as i64, |piece| near.push(piece));
        near.sort_unstable();
        near.dedup();
        near
    }
}
