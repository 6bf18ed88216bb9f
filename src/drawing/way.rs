//! Ways between grid points and how they turn, exactly.
//!
//! Points lie within 2⁶² steps of the origin. A product of two ways needs 128 bits in the worst case and 64 nearly always: within [`NEAR`] of the origin. Loops over
//! many points ask once with [`are_near`] and then work with ways of the type that suffices.

use std::cmp::Ordering;
use std::ops::{Add, Mul};

use super::nest::GridPoint;

/// Numbers wide enough for the products of the ways made of them, and for sums of two.
pub(crate) trait Wide: Copy + Ord + Default + Mul<Output = Self> + Add<Output = Self> {
    /// From `a` to `b`, to the right.
    fn between(a: i64, b: i64) -> Self;
}

impl Wide for i128 {
    #[inline]
    fn between(a: i64, b: i64) -> Self {
        Self::from(b) - Self::from(a)
    }
}

/// Between points that [`are_near`].
impl Wide for i64 {
    #[inline]
    fn between(a: i64, b: i64) -> Self {
        b - a
    }
}

/// Grid steps, 54 km on the grid of 0.1 mm.
const NEAR: u64 = 1 << 29;

/// Whether the products of ways between these points, and sums of two, fit into 64 bits.
pub(crate) fn are_near(points: &[GridPoint]) -> bool {
    points.iter().all(|point| point.x.unsigned_abs() < NEAR && point.y.unsigned_abs() < NEAR)
}

/// The way from a grid point to another, grid steps.
#[derive(Clone, Copy)]
pub(crate) struct Way<N> {
    /// To the right.
    pub x: N,
    /// Upward.
    pub y: N,
}

impl<N: Wide> Way<N> {
    /// From `a` to `b`.
    #[inline]
    pub(crate) fn new(a: GridPoint, b: GridPoint) -> Self {
        Self { x: N::between(a.x, b.x), y: N::between(a.y, b.y) }
    }

    /// Greater if `other` turns to the left of it, less if to the right.
    #[inline]
    pub(crate) fn turn(self, other: Self) -> Ordering {
        (self.x * other.y).cmp(&(self.y * other.x))
    }

    /// Whether `other` goes back.
    #[inline]
    pub(crate) fn goes_back(self, other: Self) -> bool {
        self.x * other.x + self.y * other.y < N::default()
    }
}

/// Greater if `c` lies to the left of the way from `a` to `b`.
#[inline]
pub(crate) fn turn(a: GridPoint, b: GridPoint, c: GridPoint) -> Ordering {
    if are_near(&[a, b, c]) {
        Way::<i64>::new(a, b).turn(Way::new(a, c))
    } else {
        Way::<i128>::new(a, b).turn(Way::new(a, c))
    }
}

/// Twice the signed area of a ring, positive counter-clockwise, square grid steps.
pub(crate) fn signed_area(ring: &[GridPoint]) -> i128 {
    let Some(&origin) = ring.first() else { return 0 };
    let twice = |pair: &[GridPoint]| match *pair {
        [a, b] => {
            let (u, v) = (Way::<i128>::new(origin, a), Way::<i128>::new(origin, b));
            u.x * v.y - u.y * v.x
        }
        _ => 0,
    };
    ring.windows(2).map(twice).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The farthest points there are.
    const END: i64 = 1 << 62;

    #[test]
    fn turns_are_the_same_near_and_far() {
        let point = |x, y| GridPoint { x, y };
        for far in [0, 1 << 28, 1 << 29, 1 << 61] {
            let [a, b] = [point(far, -far), point(far + 3, 1 - far)];
            for (c, expected) in [
                (point(far + 6, 2 - far), Ordering::Equal),
                (point(far + 6, 3 - far), Ordering::Greater),
                (point(far + 6, 1 - far), Ordering::Less),
            ] {
                assert_eq!(turn(a, b, c), expected, "{far}");
            }
            let square = [a, point(far + 10, -far), point(far + 10, 10 - far), point(far, 10 - far)];
            assert_eq!(signed_area(&square), 200);
        }
        assert_eq!(turn(point(-END, -END), point(END, END), point(-END, END)), Ordering::Greater);
    }
}
