//! Paths: runs of segments in two shared vectors, one of verbs and one of points.
//!
//! A path is a pair of ranges, so an entity costs no allocation. Arcs keep their exact form: a bulge between two
//! points, or an elliptical arc by centre and two conjugate half axes, which any affine map keeps exact.
//! Splines are kept as control points, weights and knots. [`super::flatten`] turns segments into points.

use super::{Point, Vec2};

/// A path inside [`Paths`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Path {
    pub(crate) verbs: (u32, u32),
    pub(crate) points: u32,
}

impl Path {
    /// Whether it has no segments.
    pub fn is_empty(&self) -> bool {
        self.verbs.0 == self.verbs.1
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verb {
    Move,
    Line,
    Bulge,
    Arc,
    Cubic,
    Spline,
    Close,
}

impl Verb {
    /// Stored points of a segment of this kind.
    pub(crate) fn num_points(self) -> usize {
        match self {
            Self::Move | Self::Line | Self::Spline => 1,
            Self::Bulge => 2,
            Self::Cubic => 3,
            Self::Arc => 4,
            Self::Close => 0,
        }
    }
}

/// One step of a path, drawing units.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Segment<'a> {
    /// Starts a subpath.
    Move(Point),
    /// Straight to.
    Line(Point),
    /// Circular arc from the current point; `bulge` is tan(sweep ÷ 4), positive counter-clockwise.
    Bulge {
        /// End point.
        to: Point,
        /// tan of a quarter of the included angle.
        bulge: f64,
    },
    /// Elliptical arc `centre + u·cos t + v·sin t` for t from `start` to `start + sweep` (radians). Its start
    /// point is joined to the current point by a straight line if they differ; it starts a subpath if none is open.
    Arc {
        /// Centre.
        centre: Point,
        /// Half axis at t = 0.
        u: Vec2,
        /// Half axis at t = π/2.
        v: Vec2,
        /// First parameter.
        start: f64,
        /// Signed extent of the parameter; at most 2π in size.
        sweep: f64,
    },
    /// Cubic Bézier.
    Cubic(Point, Point, Point),
    /// A rational or plain B-spline, from its first to its last point; joined like an arc.
    Spline(&'a Spline),
    /// Back to the start of the subpath, which becomes a ring.
    Close,
}

/// A B-spline curve (NURBS).
#[derive(Debug, Clone, PartialEq)]
pub struct Spline {
    /// Degree, at least 1.
    pub degree: u32,
    /// Control points.
    pub control: Vec<Point>,
    /// Weights, one a control point, or empty for all 1.
    pub weights: Vec<f64>,
    /// Knots: `control.len() + degree + 1`, not decreasing.
    pub knots: Vec<f64>,
}

/// All path data of a drawing.
#[derive(Debug, Clone, Default)]
pub struct Paths {
    pub(crate) verbs: Vec<Verb>,
    pub(crate) points: Vec<Point>,
    pub(crate) splines: Vec<Spline>,
}

impl Paths {
    /// The segments of `path`.
    pub fn segments(&self, path: Path) -> Segments<'_> {
        let verbs = self.verbs.get(path.verbs.0 as usize..path.verbs.1 as usize).unwrap_or(&[]);
        let points = self.points.get(path.points as usize..).unwrap_or(&[]);
        Segments { verbs, points, splines: &self.splines }
    }

    /// Stored points over all paths; arcs count 4, bulges 2.
    pub fn num_points(&self) -> usize {
        self.points.len()
    }
}

/// Iterator over the segments of a path.
#[derive(Debug, Clone)]
pub struct Segments<'a> {
    verbs: &'a [Verb],
    points: &'a [Point],
    splines: &'a [Spline],
}

impl<'a> Segments<'a> {
    fn take<const N: usize>(&mut self) -> Option<[Point; N]> {
        let (head, tail) = self.points.split_first_chunk::<N>()?;
        self.points = tail;
        Some(*head)
    }
}

impl<'a> Iterator for Segments<'a> {
    type Item = Segment<'a>;

    fn next(&mut self) -> Option<Segment<'a>> {
        let (verb, rest) = self.verbs.split_first()?;
        self.verbs = rest;
        Some(match verb {
            Verb::Move => {
                let [to] = self.take()?;
                Segment::Move(to)
            }
            Verb::Line => {
                let [to] = self.take()?;
                Segment::Line(to)
            }
            Verb::Bulge => {
                let [to, bulge] = self.take()?;
                Segment::Bulge { to, bulge: bulge.x }
            }
            Verb::Arc => {
                let [centre, u, v, extent] = self.take()?;
                Segment::Arc { centre, u: u.to_vec2(), v: v.to_vec2(), start: extent.x, sweep: extent.y }
            }
            Verb::Cubic => {
                let [a, b, to] = self.take()?;
                Segment::Cubic(a, b, to)
            }
            Verb::Spline => {
                let [index] = self.take()?;
                Segment::Spline(self.splines.get(index.x as usize)?)
            }
            Verb::Close => Segment::Close,
        })
    }
}
