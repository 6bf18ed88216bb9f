//! Walls of several layers: lines between the two faces of a wall, along its masonry, insulation or cavity.
//!
//! Such a line has company on both sides, and the wall is as thick as both together. It bounds no room, and would make a
//! wall of each layer, whose pieces between two openings look like the strips of a window. A pane of glass lies between
//! two faces as well; but layers turn round the corners of a building, at the same distances from the faces everywhere.

use rstar::{RTree, primitives::GeomWithData};

use super::PlanOptions;
use super::company::Company;
use super::lines::LinePiece;

/// No layer of a wall is thicker, metres: what is wider may be a duct one looks into.
const THICKEST_LAYER_M: f64 = 0.4;

/// Less of such lines in a drawing are ducts, niches and linings, metres.
const LEAST_LENGTH_M: f64 = 8.0;

/// How many times a layer goes round the box of a drawing: windows make it shorter, wings and courtyards longer.
const ROUNDS: std::ops::RangeInclusive<f64> = 0.4..=1.3;

/// Walls have no more layers of different depth.
const MOST_LAYERS: usize = 8;

/// Depths at corners that are looked into, the first in the order of drawing: a drawing with more has no rule to be found, and each
/// costs a pass over all pieces.
const MOST_DEPTHS: usize = 64;

/// By piece: whether it lies between the two faces of a wall of layers. `named`: walls and windows have names, so that no
/// piece is of a window.
pub(super) fn between_faces(
    pieces: &[LinePiece],
    company: &[Company],
    named: bool,
    scale: f64,
    options: &PlanOptions,
) -> Option<Vec<bool>> {
    let thickest = options.max_wall_thickness_m * scale;
    let mut depths: Vec<Option<[f64; 2]>> = pieces
        .iter()
        .zip(company)
        .map(|((a, b, _, marks), own)| {
            let length = a.distance(*b);
            let beside = |side: usize| {
                let rows = [(own.near[side], own.overlap[side]), (own.main[side].0, own.main[side].1)];
                let along = rows.into_iter().filter(|(distance, overlap)| *distance > 0.0 && *overlap >= 0.7 * length);
                along.map(|row| row.0).fold(f64::INFINITY, f64::min)
            };
            let (left, right) = (beside(0), beside(1));
            let layered = left.max(right) <= THICKEST_LAYER_M * scale && left + right <= thickest;
            (*marks == super::lines::WALL && layered).then_some([left.min(right), left.max(right)])
        })
        .collect();
    if !named {
        let layers = at_corners(pieces, &depths, scale);
        let like = |p: &[f64; 2], q: &[f64; 2]| (0..2).all(|side| (p[side] - q[side]).abs() <= 0.01 * scale);
        // A layer goes round the building about once; lines that go round one room or every room are no layers.
        let around = perimeter(pieces);
        let length_of = |layer: &[f64; 2]| -> f64 {
            let own = pieces.iter().zip(&depths).filter(|(_, depth)| depth.is_some_and(|own| like(layer, &own)));
            own.map(|((a, b, ..), _)| a.distance(*b)).sum()
        };
        let layers: Vec<[f64; 2]> = layers
            .into_iter()
            .filter(|layer| ROUNDS.contains(&(length_of(layer) / around)))
            .take(MOST_LAYERS)
            .collect();
        for depth in &mut depths {
            *depth = depth.filter(|own| layers.iter().any(|layer| like(layer, own)));
        }
    }
    let lengths = pieces.iter().zip(&depths).filter(|(_, depth)| depth.is_some()).map(|((a, b, ..), _)| a.distance(*b));
    let total: f64 = lengths.sum();
    (total >= LEAST_LENGTH_M * scale).then(|| depths.into_iter().map(|depth| depth.is_some()).collect())
}

/// How far off the faces those lines lie that turn round a corner at the same distances, each but once.
fn at_corners(pieces: &[LinePiece], depths: &[Option<[f64; 2]>], scale: f64) -> Vec<[f64; 2]> {
    let inner = || pieces.iter().zip(depths).enumerate().filter(|(_, (_, depth))| depth.is_some());
    let ends =
        inner().flat_map(|(number, ((a, b, ..), _))| [*a, *b].map(|end| GeomWithData::new([end.x, end.y], number)));
    let ends = RTree::bulk_load(ends.collect());
    let (meets, like) = (0.02 * scale, 0.01 * scale);
    let mut found: Vec<[f64; 2]> = Vec::new();
    for (number, ((a, b, ..), depth)) in inner() {
        if found.len() == MOST_DEPTHS {
            break;
        }
        let Some(own) = depth else { continue };
        if found.iter().any(|known| (0..2).all(|side| (known[side] - own[side]).abs() <= 0.5 * like)) {
            continue;
        }
        let turns = [*a, *b].into_iter().any(|end| {
            ends.locate_within_distance([end.x, end.y], meets * meets).take(64).any(|other| {
                let (p, q, ..) = pieces[other.data];
                let turned = (*b - *a).cross(q - p).abs() > 0.3 * a.distance(*b) * p.distance(q);
                let same = |mate: [f64; 2]| (0..2).all(|side| (mate[side] - own[side]).abs() <= like);
                other.data != number && turned && depths[other.data].is_some_and(same)
            })
        });
        if turns {
            found.push(*own);
        }
    }
    found
}

/// Once round the box of all pieces.
fn perimeter(pieces: &[LinePiece]) -> f64 {
    let ends: Vec<_> = pieces.iter().flat_map(|(a, b, ..)| [*a, *b]).collect();
    super::input::bounds(&ends).map_or(0.0, |(low, high)| 2.0 * (high.x - low.x + high.y - low.y))
}
