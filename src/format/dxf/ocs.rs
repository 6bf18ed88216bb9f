//! Object coordinates → plan: the arbitrary axis algorithm of the DXF reference ("Object Coordinate Systems").
//!
//! Planar entities (ARC, CIRCLE, TEXT, INSERT, LWPOLYLINE, HATCH, SOLID …) are stored in a plane given by its
//! normal alone; x and y follow by rule. The plan is the world's xy plane seen from above, so heights fall away
//! after the transform, not before it: a wall sketched on a tilted plane lands where it belongs.

use crate::drawing::{Point, Vec2};

/// The axes of an object coordinate system in world coordinates.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Ocs {
    x: [f64; 3],
    y: [f64; 3],
    z: [f64; 3],
}

impl Ocs {
    /// The world itself.
    pub(super) const WORLD: Self = Self { x: [1.0, 0.0, 0.0], y: [0.0, 1.0, 0.0], z: [0.0, 0.0, 1.0] };

    /// The system of that normal; the world if the normal is none (zero or not finite).
    pub(super) fn new(normal: [f64; 3]) -> Self {
        let length = dot(normal, normal).sqrt();
        if !length.is_finite() || length < 1e-12 {
            return Self::WORLD;
        }
        let z = normal.map(|part| part / length);
        if z[0].abs() < 1e-9 && z[1].abs() < 1e-9 && z[2] > 0.0 {
            return Self::WORLD;
        }
        let near_world_z = z[0].abs() < 1.0 / 64.0 && z[1].abs() < 1.0 / 64.0;
        let x = unit(if near_world_z { cross([0.0, 1.0, 0.0], z) } else { cross([0.0, 0.0, 1.0], z) });
        Self { x, y: unit(cross(z, x)), z }
    }

    /// Whether it is the world.
    #[inline]
    pub(super) fn is_world(&self) -> bool {
        self.z == [0.0, 0.0, 1.0]
    }

    /// Whether its plane is seen flat in the plan, perhaps mirrored; then circles stay circles.
    pub(super) fn is_flat(&self) -> bool {
        self.z[2].abs() > 1.0 - 1e-9
    }

    /// Whether the plan shows it from behind.
    pub(super) fn is_mirrored(&self) -> bool {
        self.z[2] < 0.0
    }

    /// A point of the system in the plan.
    #[inline]
    pub(super) fn point(&self, point: [f64; 3]) -> Point {
        if self.is_world() {
            return Point::new(point[0], point[1]);
        }
        let [a, b, c] = point;
        Point::new(a * self.x[0] + b * self.y[0] + c * self.z[0], a * self.x[1] + b * self.y[1] + c * self.z[1])
    }

    /// A direction of the system's own plane in the plan.
    #[inline]
    pub(super) fn vector(&self, x: f64, y: f64) -> Vec2 {
        self.point([x, y, 0.0]).to_vec2()
    }
}

fn dot(a: [f64; 3], b: [f64; 3]) -> f64 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

/// The cross product.
pub(super) fn cross(a: [f64; 3], b: [f64; 3]) -> [f64; 3] {
    [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
}

fn unit(vector: [f64; 3]) -> [f64; 3] {
    let length = dot(vector, vector).sqrt();
    vector.map(|part| part / length)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_downward_normal_mirrors_x() {
        let ocs = Ocs::new([0.0, 0.0, -1.0]);
        assert_eq!(ocs.point([10.0, 5.0, 3.0]), Point::new(-10.0, 5.0));
        assert!(ocs.is_flat() && ocs.is_mirrored() && !ocs.is_world());
    }

    #[test]
    fn an_upright_plane_shows_its_x_axis_and_its_height() {
        // Normal along +x: x axis is (0, 1, 0), y axis is (0, 0, 1).
        let ocs = Ocs::new([2.0, 0.0, 0.0]);
        assert_eq!(ocs.point([3.0, 9.0, 4.0]), Point::new(4.0, 3.0));
        assert!(!ocs.is_flat());
    }

    #[test]
    fn no_normal_is_the_world() {
        for normal in [[0.0, 0.0, 0.0], [f64::NAN, 0.0, 1.0], [1e-12, 0.0, 5.0], [0.0, 0.0, 1.0]] {
            assert!(Ocs::new(normal).is_world(), "{normal:?}");
        }
    }
}
