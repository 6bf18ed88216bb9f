//! The outline of the level: closed shapes on outline layers, dissolved; else the outer boundary of the walls.
//!
//! Overlapping and touching outlines become one, separate ones stay parts of one level. Lines that close nothing are
//! reported with their place and do no harm.

use super::classify::Roles;
use super::dissolve::union;
use super::graph::Graph;
use super::grid::Frame;
use super::input::Input;
use super::lines::WALL;
use super::net::{Net, mend, node_metres};
use super::noding::Noding;
use super::shape::Locator;
use super::{Polygon, Role, Room};
use crate::drawing::Point;
use crate::drawing::nest::Effort;
use crate::format::{Checkpoint, Interrupt, Pace};

/// Drawn outline of the level and the lines that are no part of it.
#[derive(Debug, Default)]
pub(crate) struct Outline {
    pub parts: Vec<Polygon>,
    pub open: Vec<(Point, Point)>,
    pub drawn: bool,
}

/// The parts of a level that hold rooms, and where rooms lie outside of all of them (drawn without walls around them), those rooms as well.
/// Rooms that are too entangled to be dissolved leave the outline as it is.
///
/// # Errors
/// [`Interrupt`] of the checkpoint.
pub(crate) fn around_rooms(
    parts: Vec<Polygon>,
    rooms: &[Room],
    max_crossings: u64,
    checkpoint: &Checkpoint<'_>,
) -> Result<Vec<Polygon>, Interrupt> {
    let pace = Pace::new(checkpoint);
    let mut holds = vec![false; parts.len()];
    let locator = Locator::build(parts.iter().enumerate().map(|(number, part)| (number as u32, part)));
    let mut loose = Vec::new();
    for room in rooms {
        let around = locator.holding(room.label_point, &pace)?;
        if around.is_empty() {
            loose.push(&room.polygon);
        }
        for part in around {
            holds[part as usize] = true;
        }
    }
    let mut flags = holds.into_iter();
    let mut kept = parts;
    kept.retain(|_| flags.next().unwrap_or(false));
    if loose.is_empty() {
        return Ok(kept);
    }
    let shells = loose.into_iter().chain(&kept).map(|polygon| polygon.shell.as_slice());
    let covered = union(shells, &Effort { pace, crossings: max_crossings })?;
    Ok(covered.unwrap_or(kept))
}

/// Dissolves what lies on outline layers.
pub(crate) fn drawn(
    input: &Input,
    roles: &Roles,
    scale: f64,
    tolerance: f64,
    max_crossings: u64,
    checkpoint: &Checkpoint<'_>,
) -> Result<Outline, Interrupt> {
    let mut segments = Vec::new();
    for (number, item) in input.items.iter().enumerate() {
        if roles.items[number] == Role::Outline {
            segments.extend(input.segments(item).map(|(a, b)| (a, b, WALL)));
        }
    }
    let mut outline = Outline { drawn: !segments.is_empty(), ..Outline::default() };
    if segments.is_empty() {
        return Ok(outline);
    }
    let frame =
        Frame::holding(segments.iter().flat_map(|segment| [segment.0, segment.1]), Frame::STEP_M * scale.min(1.0));
    let noding = Noding { tolerance: frame.steps(0.1 * tolerance), max_crossings };
    let noded = node_metres(&frame, &segments, noding, checkpoint)?;
    if noded.crowded {
        return Ok(outline);
    }
    let (net, _) = mend(Net::build(frame, noded), tolerance, tolerance, (0.0, 0.0), false, noding, checkpoint)?;
    if net.noded.crowded {
        return Ok(outline);
    }
    let graph = Graph::build(&net.noded, checkpoint)?;
    outline.parts = super::walls::outline(&graph, &frame);
    outline.parts.sort_by(|p, q| {
        let corner = |part: &Polygon| part.bounds().map_or((0.0, 0.0), |(low, _)| (low.x, low.y));
        let (p, q) = (corner(p), corner(q));
        p.0.total_cmp(&q.0).then(p.1.total_cmp(&q.1))
    });
    for dangle in &graph.dangles {
        if let (Some(first), Some(last)) = (dangle.chain.first(), dangle.chain.last()) {
            outline.open.push((frame.metres(*first), frame.metres(*last)));
        }
    }
    Ok(outline)
}
