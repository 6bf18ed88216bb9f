//! HATCH and MPOLYGON: boundary paths → rings of one area.
//!
//! A path is a polyline with bulges, or edges (lines, arcs, elliptical arcs, splines) that should meet end to end.
//! [`super::boundary`] puts edges into rings; which ring is a hole is decided later, by even-odd nesting. Styles
//! "outer" and "ignore" leave out inner rings as AutoCAD does. Pattern lines are not drawn: the area is what
//! counts, and the pattern's name is kept as a property.

use std::f64::consts::TAU;

use super::boundary::{self, Edge, EdgeShape};
use super::codes;
use super::curve::{Curve, RawSpline};
use super::ocs::Ocs;
use super::polyline::{Vertex, write_polyline};
use super::reader::{Common, Reader};
use super::tag::Tag;
use crate::drawing::{FillRule, Geometry, PathWriter, Point, Properties, Symbol, Vec2};
use crate::format::ReadError;

/// Flags of a boundary path (group 92).
mod path_flag {
    pub(super) const EXTERNAL: i64 = 1;
    pub(super) const POLYLINE: i64 = 2;
    pub(super) const TEXT_BOX: i64 = 8;
    pub(super) const OUTERMOST: i64 = 16;
}

/// Island styles (group 75).
mod style {
    pub(super) const OUTER: i64 = 1;
    pub(super) const IGNORE: i64 = 2;
}

/// One boundary path as its tags say it.
#[derive(Debug)]
struct BoundaryPath {
    flags: i64,
    vertices: Vec<Vertex>,
    edges: Vec<Edge>,
}

/// The edge that is being read.
#[derive(Debug, Default)]
struct RawEdge {
    kind: i64,
    spline: RawSpline,
    ratio_or_radius: f64,
    start: f64,
    end: f64,
    counter_clockwise: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    BeforePaths,
    Polyline,
    Edges,
    AfterPaths,
}

impl<'a> Reader<'a, '_> {
    pub(super) fn hatch(&mut self, kind: Symbol) -> Result<(), ReadError> {
        let mut common = Common::new();
        let mut part = Part::BeforePaths;
        let mut paths: Vec<BoundaryPath> = Vec::new();
        let mut edge: Option<RawEdge> = None;
        let (mut elevation, mut island_style, mut declared) = (0.0, 0, 0);
        let mut pattern: &'a [u8] = b"";
        let mut solid = false;
        while let Some(tag) = self.field() {
            match (part, tag.code) {
                (Part::BeforePaths, 30) => elevation = self.real(tag),
                (Part::BeforePaths, 10 | 20) => {}
                (Part::BeforePaths, 2) => pattern = tag.value,
                (Part::BeforePaths | Part::AfterPaths, 70) => solid = self.integer(tag) == 1,
                (_, 91) => declared = self.integer(tag),
                (Part::AfterPaths, 75) => island_style = self.integer(tag),
                (Part::AfterPaths, _) => self.common(&mut common, tag),
                (_, 92) => {
                    finish_edge(&mut edge, &mut paths);
                    let flags = self.integer(tag);
                    part = if flags & path_flag::POLYLINE != 0 { Part::Polyline } else { Part::Edges };
                    paths.push(BoundaryPath { flags, vertices: Vec::new(), edges: Vec::new() });
                }
                (Part::Polyline | Part::Edges, 75 | 76 | 98 | 450) => {
                    finish_edge(&mut edge, &mut paths);
                    part = Part::AfterPaths;
                    if tag.code == 75 {
                        island_style = self.integer(tag);
                    }
                }
                (Part::Polyline, 10 | 20 | 42) => {
                    let value = self.real(tag);
                    if let Some(path) = paths.last_mut() {
                        polyline_field(&mut path.vertices, tag.code, value);
                    }
                }
                (Part::Edges, 72) => {
                    finish_edge(&mut edge, &mut paths);
                    edge = Some(RawEdge { kind: self.integer(tag), counter_clockwise: true, ..RawEdge::default() });
                }
                (Part::Edges, _) if edge.is_some() => {
                    if let Some(edge) = &mut edge {
                        self.edge_field(edge, tag);
                    }
                }
                (Part::Polyline, 330) | (Part::Edges, 330) => {}
                _ => self.common(&mut common, tag),
            }
        }
        finish_edge(&mut edge, &mut paths);
        if self.is_elsewhere(kind, &common) {
            return Ok(());
        }
        if declared != paths.len() as i64 {
            let found = paths.len();
            self.fixed(&codes::COUNT_MISMATCH, || format!("{declared} boundary paths stated, {found} found"));
        }
        keep_by_style(&mut paths, island_style);
        drop_text_boxes_outside(&mut paths);
        self.push_hatch(kind, &common, paths, elevation, if solid { b"" } else { pattern })
    }

    fn edge_field(&mut self, edge: &mut RawEdge, tag: Tag<'a>) {
        match (edge.kind, tag.code) {
            (_, 10..=13 | 20..=23) => {
                let value = self.real(tag);
                edge.spline.coordinate(tag.code, value);
            }
            (4, 40) => {
                let knot = self.real(tag);
                edge.spline.knots.push(knot);
            }
            (4, 42) => {
                let weight = self.real(tag);
                edge.spline.weights.push(weight);
            }
            (4, 94) => edge.spline.degree = self.integer(tag),
            (_, 40) => edge.ratio_or_radius = self.real(tag),
            (_, 50) => edge.start = self.real(tag),
            (_, 51) => edge.end = self.real(tag),
            (2 | 3, 73) => edge.counter_clockwise = self.integer(tag) != 0,
            _ => {}
        }
    }

    fn push_hatch(
        &mut self,
        kind: Symbol,
        common: &Common,
        paths: Vec<BoundaryPath>,
        elevation: f64,
        pattern: &'a [u8],
    ) -> Result<(), ReadError> {
        let ocs = common.ocs();
        let mut gaps = boundary::Gaps::default();
        let mut num_rings = 0;
        let mut path = self.out.path();
        for boundary_path in paths {
            if boundary_path.vertices.len() >= 2 {
                write_polyline(&mut path, &boundary_path.vertices, true, &ocs, elevation);
                num_rings += 1;
            }
            for ring in boundary::rings(boundary_path.edges, &mut gaps) {
                write_ring(&mut path, &ring, &ocs, elevation);
                num_rings += 1;
            }
        }
        let path = path.finish()?;
        if gaps.count > 0 {
            let (count, widest, handle) = (gaps.count, gaps.widest, common.handle);
            self.fixed(&codes::BOUNDARY_GAP, || format!("hatch {handle:X}: {count} gaps, the widest {widest:.6}"));
        }
        match path {
            Some(path) => {
                let properties = self.pattern_property(pattern);
                self.push_item(kind, common, Geometry::Area(path, FillRule::EvenOdd), 0.0, properties)
            }
            None => {
                let code = if num_rings == 0 { &codes::NO_BOUNDARY } else { &codes::NOT_FINITE };
                self.left_out(code, kind, common);
                Ok(())
            }
        }
    }

    /// The pattern's name as a property, stored once per name.
    fn pattern_property(&mut self, pattern: &'a [u8]) -> Properties {
        if pattern.is_empty() {
            return Properties::default();
        }
        if let Some(properties) = self.patterns.get(pattern) {
            return *properties;
        }
        let value = self.symbol(pattern);
        let name = self.out.intern("pattern");
        let properties = self.out.property(name, value);
        self.patterns.insert(pattern, properties);
        properties
    }
}

fn polyline_field(vertices: &mut Vec<Vertex>, code: i32, value: f64) {
    match code {
        10 => vertices.push(Vertex { x: value, ..Vertex::default() }),
        20 => {
            if let Some(last) = vertices.last_mut() {
                last.y = value;
            }
        }
        _ => {
            if let Some(last) = vertices.last_mut() {
                last.bulge = value;
            }
        }
    }
}

/// Leaves out the rings that the island style does not fill or cut out.
fn keep_by_style(paths: &mut Vec<BoundaryPath>, island_style: i64) {
    let wanted = match island_style {
        style::OUTER => path_flag::EXTERNAL | path_flag::OUTERMOST,
        style::IGNORE => path_flag::EXTERNAL,
        _ => return,
    };
    // Many writers leave the flags empty; then nesting alone decides.
    if paths.iter().any(|path| path.flags & path_flag::EXTERNAL != 0) {
        paths.retain(|path| path.flags & wanted != 0);
    }
}

/// A text box keeps the filling off a text. One that lies in a hole already has nothing to keep off, and must not be
/// taken for an island by even-odd nesting.
fn drop_text_boxes_outside(paths: &mut Vec<BoundaryPath>) {
    let num_boxes = paths.iter().filter(|path| path.flags & path_flag::TEXT_BOX != 0).count();
    let num_corners: usize = paths.iter().map(|path| path.vertices.len() + path.edges.len()).sum();
    // Beyond this the work would be worth more than the few texts in holes.
    if num_boxes == 0 || num_boxes.saturating_mul(num_corners) > 50_000_000 {
        return;
    }
    let rings: Vec<Vec<Point>> =
        paths.iter().filter(|path| path.flags & path_flag::TEXT_BOX == 0).map(BoundaryPath::corners).collect();
    paths.retain(|path| {
        let in_hole = |at: Point| rings.iter().filter(|ring| encloses(ring, at)).count() % 2 == 0;
        path.flags & path_flag::TEXT_BOX == 0 || !path.corners().first().is_some_and(|corner| in_hole(*corner))
    });
}

impl BoundaryPath {
    /// Where its edges meet; curves between do not count.
    fn corners(&self) -> Vec<Point> {
        let vertices = self.vertices.iter().map(|vertex| Point::new(vertex.x, vertex.y));
        vertices.chain(self.edges.iter().map(|edge| edge.start)).collect()
    }
}

/// Whether a polygon encloses a point: an odd number of its sides crosses the ray to the right.
fn encloses(ring: &[Point], at: Point) -> bool {
    let next = ring.iter().cycle().skip(1);
    let crosses = |(a, b): &(&Point, &Point)| {
        (a.y > at.y) != (b.y > at.y) && at.x < (b.x - a.x) * (at.y - a.y) / (b.y - a.y) + a.x
    };
    ring.iter().zip(next).filter(crosses).count() % 2 == 1
}

fn finish_edge(edge: &mut Option<RawEdge>, paths: &mut [BoundaryPath]) {
    if let Some(edge) = edge.take()
        && let Some(path) = paths.last_mut()
    {
        path.edges.extend(edge.finish());
    }
}

impl RawEdge {
    fn finish(self) -> Option<Edge> {
        let centre = self.spline.control.first().copied();
        let second = self.spline.fit.first().copied();
        let shape = match self.kind {
            1 => EdgeShape::Line(centre?, second?),
            2 => {
                let (start, sweep) = self.extent(self.start, self.end);
                let radius = self.ratio_or_radius;
                EdgeShape::Arc { centre: centre?, u: Vec2::new(radius, 0.0), v: Vec2::new(0.0, radius), start, sweep }
            }
            3 => {
                // Unlike ELLIPSE, angles here are seen from the centre and become parameters first.
                let ratio = self.ratio_or_radius;
                let parameter = |degrees: f64| parameter_of_angle(degrees.to_radians(), ratio).to_degrees();
                let (start, sweep) = self.extent(parameter(self.start), parameter(self.end));
                let u = second?.to_vec2();
                EdgeShape::Arc { centre: centre?, u, v: Vec2::new(-u.y, u.x) * ratio, start, sweep }
            }
            4 => {
                let closed = self.spline.closed;
                match self.spline.solve().0 {
                    Curve::Spline(spline) => EdgeShape::Spline(spline),
                    Curve::Through { points, start, end } => EdgeShape::Fit { points, start, end, closed },
                    Curve::Nothing => return None,
                }
            }
            _ => return None,
        };
        Some(Edge::new(shape))
    }

    /// First parameter and signed sweep in radians. Clockwise arcs store their angles mirrored at the x axis.
    fn extent(&self, start: f64, end: f64) -> (f64, f64) {
        let difference = (end - start).to_radians();
        let sweep = if difference.abs() >= TAU * (1.0 - 1e-9) {
            TAU
        } else if difference < 0.0 {
            difference.rem_euclid(TAU)
        } else {
            difference
        };
        let sign = if self.counter_clockwise { 1.0 } else { -1.0 };
        (sign * start.to_radians(), sign * sweep)
    }
}

/// The parameter of the ellipse point seen at `angle` from its centre, in the same turn.
fn parameter_of_angle(angle: f64, ratio: f64) -> f64 {
    if ratio == 0.0 || !ratio.is_finite() {
        return angle;
    }
    let turn = (angle / TAU).round() * TAU;
    let within = angle - turn;
    turn + (within.sin() / ratio.abs()).atan2(within.cos())
}

fn write_ring(path: &mut PathWriter<'_>, ring: &[Edge], ocs: &Ocs, elevation: f64) {
    let place = |point: Point| ocs.point([point.x, point.y, elevation]);
    let Some(first) = ring.first() else { return };
    path.move_to(place(first.start));
    let mut at = first.start;
    for edge in ring {
        if edge.start != at {
            path.line_to(place(edge.start));
        }
        match &edge.shape {
            EdgeShape::Line(_, to) => path.line_to(place(*to)),
            EdgeShape::Arc { centre, u, v, start, sweep } => {
                path.arc(place(*centre), ocs.vector(u.x, u.y), ocs.vector(v.x, v.y), *start, *sweep);
            }
            EdgeShape::Spline(spline) => {
                let mut spline = spline.clone();
                spline.control.iter_mut().for_each(|point| *point = place(*point));
                path.spline(spline);
            }
            EdgeShape::Fit { points, start, end, closed } => {
                let points: Vec<Point> = points.iter().map(|point| place(*point)).collect();
                let turned = |tangent: &Option<Vec2>| tangent.map(|tangent| ocs.vector(tangent.x, tangent.y));
                super::curve::write_fit_segments(path, &points, turned(start), turned(end), *closed);
            }
        }
        at = edge.end;
    }
    path.close();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn angles_and_parameters_of_an_ellipse() {
        use std::f64::consts::{FRAC_PI_2, FRAC_PI_4, PI};
        for angle in [0.0, FRAC_PI_2, PI, -FRAC_PI_2, TAU, 3.0 * FRAC_PI_2] {
            assert!((parameter_of_angle(angle, 0.5) - angle).abs() < 1e-12, "{angle}");
        }
        // At 45° of an ellipse half as high as wide: tan t = 2.
        assert!((parameter_of_angle(FRAC_PI_4, 0.5) - 2f64.atan()).abs() < 1e-12);
    }

    #[test]
    fn clockwise_arcs_run_backwards_below_the_axis() {
        let edge = RawEdge { start: 30.0, end: 90.0, counter_clockwise: false, ..RawEdge::default() };
        let (start, sweep) = edge.extent(edge.start, edge.end);
        assert!((start + 30f64.to_radians()).abs() < 1e-12 && (sweep + 60f64.to_radians()).abs() < 1e-12);
        let edge = RawEdge { start: 270.0, end: 90.0, counter_clockwise: true, ..RawEdge::default() };
        assert!((edge.extent(270.0, 90.0).1 - std::f64::consts::PI).abs() < 1e-12);
    }
}
