//! Which rooms an opening joins, and the graph of rooms.
//!
//! From the middle of an opening, points are tried on both sides across the wall until they fall into a room or out
//! of the level. Doors and gaps are passages, windows are not. Rooms from which no chain of passages leads to the
//! outside, or failing any door outside, to the largest part of the graph, are unreachable.

use super::shape::Locator;
use super::{Adjacency, Opening, OpeningKind, Passage, Polygon, Room, Side};
use crate::drawing::parts::Parts;
use crate::drawing::{Point, Vec2};
use crate::format::{Interrupt, Pace};

/// Fills the sides of openings.
///
/// # Errors
/// [`Interrupt`] of the checkpoint.
pub(crate) fn sides(
    openings: &mut [Opening],
    rooms: &[Room],
    outline: &[Polygon],
    scale: f64,
    pace: &Pace<'_>,
) -> Result<(), Interrupt> {
    let locator = Locator::build(rooms.iter().map(|room| (room.index, &room.polygon)));
    let level = Locator::build(outline.iter().enumerate().map(|(number, part)| (number as u32, part)));
    let room_at = |point: Point| -> Result<Option<u32>, Interrupt> {
        let holding = locator.holding(point, pace)?.into_iter();
        Ok(holding.min_by(|p, q| rooms[*p as usize].area_m2.total_cmp(&rooms[*q as usize].area_m2)))
    };
    for opening in openings {
        let [a, b] = opening.line;
        let way = b - a;
        let length = way.hypot();
        if length <= 0.0 {
            continue;
        }
        let left = Vec2::new(-way.y, way.x) / length;
        let half = 0.5 * opening.depth_m.unwrap_or(0.0);
        for (side, normal) in [left, -left].into_iter().enumerate() {
            opening.sides[side] = Side::Unknown;
            'search: for off in [0.05, 0.12, 0.25, 0.4, 0.6, 0.8] {
                for part in [0.5, 0.3, 0.7] {
                    let point = a.lerp(b, part) + normal * (half + off * scale);
                    if let Some(room) = room_at(point)? {
                        opening.sides[side] = Side::Room(room);
                        break 'search;
                    }
                    if off >= 0.25 && !outline.is_empty() && level.holding(point, pace)?.is_empty() {
                        opening.sides[side] = Side::Outside;
                        break 'search;
                    }
                }
            }
        }
    }
    Ok(())
}

/// The graph of rooms.
pub(crate) fn graph(openings: &[Opening], rooms: &[Room]) -> Adjacency {
    let mut passages = Vec::new();
    let outside = rooms.len();
    let mut reached = Parts::new(outside + 1);
    let node = |side: Side| match side {
        Side::Room(room) => Some(room),
        Side::Outside => Some(outside as u32),
        Side::Unknown => None,
    };
    for opening in openings {
        let [from, to] = opening.sides;
        if opening.kind == OpeningKind::Window || from == to {
            continue;
        }
        if let (Some(p), Some(q)) = (node(from), node(to)) {
            passages.push(Passage { from, to, opening: opening.index, width_m: opening.width_m });
            reached.join(p, q);
        }
    }
    let mut unreachable = Vec::new();
    if !passages.is_empty() {
        let has_exit = passages.iter().any(|passage| passage.from == Side::Outside || passage.to == Side::Outside);
        let mut sizes = vec![0u32; outside + 1];
        for room in 0..outside as u32 {
            sizes[reached.of(room) as usize] += 1;
        }
        let home = if has_exit {
            reached.of(outside as u32)
        } else {
            (0..outside as u32).max_by_key(|room| (sizes[*room as usize], std::cmp::Reverse(*room))).unwrap_or(0)
        };
        unreachable.extend((0..outside as u32).filter(|room| reached.of(*room) != home));
    }
    Adjacency { passages, unreachable }
}
