//! The faces of a wall that is drawn as one line with a width.
//!
//! Polylines of DXF and DWG may have a width, and there are drawings whose walls are such polylines on their middle
//! line. What bounds a room is then the face, half a width beside it: both faces with mitred corners, and a cap at
//! each free end. Which lines are walls is decided elsewhere, and so is what becomes of faces that cross.

use crate::drawing::{Point, Vec2};

/// Corners sharper than this (cosine between the normals of the two sides) are cut instead of mitred.
const SHARPEST: f64 = -0.7;

/// The faces of a line of this width, as straight pieces; nothing for a line without length.
pub(crate) fn faces(points: &[Point], closed: bool, width: f64) -> Vec<(Point, Point)> {
    let mut path: Vec<Point> = points.to_vec();
    path.dedup();
    if closed && path.len() > 1 && path.first() == path.last() {
        path.pop();
    }
    let closed = closed && path.len() > 2;
    let normals: Vec<Vec2> = path
        .iter()
        .zip(path.iter().skip(1).chain(path.first().filter(|_| closed)))
        .map(|(from, to)| {
            let side = *to - *from;
            Vec2::new(-side.y, side.x) / side.hypot()
        })
        .collect();
    let Some(last_normal) = normals.last().copied() else { return Vec::new() };
    let (mut left, mut right) = (Vec::new(), Vec::new());
    let mut before = if closed { Some(last_normal) } else { None };
    for (number, point) in path.iter().enumerate() {
        let after = normals.get(number).copied();
        let offsets = match (before, after) {
            (Some(before), Some(after)) if before.dot(after) > SHARPEST => {
                [Some((before + after) / (1.0 + before.dot(after))), None]
            }
            (before, after) => [before, after],
        };
        for offset in offsets.into_iter().flatten() {
            left.push(*point + offset * (width / 2.0));
            right.push(*point - offset * (width / 2.0));
        }
        before = after.or(before);
    }
    let mut pieces = Vec::with_capacity(2 * left.len() + 2);
    for side in [&left, &right] {
        pieces.extend(side.windows(2).map(|pair| (pair[0], pair[1])));
        if let (true, Some(last), Some(first)) = (closed, side.last(), side.first()) {
            pieces.push((*last, *first));
        }
    }
    if !closed {
        pieces.extend(left.first().copied().zip(right.first().copied()));
        pieces.extend(left.last().copied().zip(right.last().copied()));
    }
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    fn length(pieces: &[(Point, Point)]) -> f64 {
        pieces.iter().map(|(from, to)| from.distance(*to)).sum()
    }

    #[test]
    fn a_wall_has_two_faces_and_two_ends() {
        let wall = [Point::new(0.0, 0.0), Point::new(0.0, 0.0), Point::new(5.0, 0.0)];
        let pieces = faces(&wall, false, 0.2);
        assert_eq!(pieces.len(), 4);
        assert!((length(&pieces) - 10.4).abs() < 1e-12);
        // Round a corner the outer face is longer than the inner one by as much as it is shorter.
        let corner = [Point::new(0.0, 0.0), Point::new(5.0, 0.0), Point::new(5.0, 5.0)];
        assert!((length(&faces(&corner, false, 0.2)) - 20.4).abs() < 1e-12);
        // Back on itself: cut, not mitred to infinity.
        let hairpin = [Point::new(0.0, 0.0), Point::new(5.0, 0.0), Point::new(0.0, 0.0)];
        assert!(length(&faces(&hairpin, false, 0.2)) < 25.0);
        assert!(faces(&[Point::ZERO, Point::ZERO], true, 0.2).is_empty());
    }

    #[test]
    fn a_closed_wall_is_a_ring_in_a_ring() {
        let ring = [Point::new(0.0, 0.0), Point::new(5.0, 0.0), Point::new(5.0, 4.0), Point::new(0.0, 4.0)];
        let pieces = faces(&ring, true, 0.2);
        assert_eq!(pieces.len(), 8);
        assert!((length(&pieces) - 36.0).abs() < 1e-12);
    }
}
