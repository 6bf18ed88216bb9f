//! Walls of several layers: lines between the two faces of a wall, along its masonry, insulation or cavity.
//!
//! Such a line has company on both sides, and the wall is as thick as both together. It bounds no room, and would make a
//! wall of each layer, whose pieces between two openings look like the strips of a window. Told only where walls and
//! windows have names, since a pane of glass lies between two faces as well.

use super::PlanOptions;
use super::company::Company;
use super::lines::LinePiece;

/// No layer of a wall is thicker, metres: what is wider may be a duct one looks into.
const THICKEST_LAYER_M: f64 = 0.4;

/// Less of such lines in a drawing are ducts, niches and linings, metres.
const LEAST_LENGTH_M: f64 = 8.0;

/// By piece: whether it lies between the two faces of a wall of layers.
pub(super) fn between_faces(
    pieces: &[LinePiece],
    company: &[Company],
    scale: f64,
    options: &PlanOptions,
) -> Option<Vec<bool>> {
    let thickest = options.max_wall_thickness_m * scale;
    let mut total = 0.0;
    let inner = pieces.iter().zip(company).map(|((a, b, _, marks), own)| {
        let length = a.distance(*b);
        let beside = |side: usize| {
            let rows = [(own.near[side], own.overlap[side]), (own.main[side].0, own.main[side].1)];
            let along = rows.into_iter().filter(|(distance, overlap)| *distance > 0.0 && *overlap >= 0.7 * length);
            along.map(|row| row.0).fold(f64::INFINITY, f64::min)
        };
        let (left, right) = (beside(0), beside(1));
        let layered = left.max(right) <= THICKEST_LAYER_M * scale && left + right <= thickest;
        let inner = *marks == super::lines::WALL && layered;
        total += if inner { length } else { 0.0 };
        inner
    });
    let inner = inner.collect();
    (total >= LEAST_LENGTH_M * scale).then_some(inner)
}
