//! LWPOLYLINE, POLYLINE in its four kinds, and MESH.
//!
//! A two-dimensional polyline lies in its object coordinate system and may have bulges, the last one on the closing
//! edge. Curve-fit polylines carry their extra vertices as plain ones; of spline-fit ones the control frame (flag
//! 16) is left out and the curve kept. Meshes become one area a face, seen from above, as single faces (3DFACE) are.

use super::codes;
use super::ocs::Ocs;
use super::reader::{Common, Reader};
use crate::drawing::{FillRule, Geometry, PathWriter, Point, Properties, Symbol, Vec2};
use crate::format::ReadError;

/// A vertex of a polyline.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Vertex {
    pub(super) x: f64,
    pub(super) y: f64,
    pub(super) bulge: f64,
}

/// Widths seen along a polyline: one number if they are all the same.
#[derive(Debug, Default)]
struct Widths {
    constant: Option<f64>,
    varied: bool,
}

impl Widths {
    #[inline]
    fn see(&mut self, width: f64) {
        match self.constant {
            None => self.constant = Some(width),
            Some(known) if known != width => self.varied = true,
            Some(_) => {}
        }
    }

    /// The width if it is the same everywhere, else 0.
    fn uniform(&self) -> f64 {
        if self.varied { 0.0 } else { self.constant.unwrap_or(0.0) }
    }
}

/// Flags of a VERTEX (group 70).
mod vertex_flag {
    pub(super) const FRAME: i64 = 16;
    pub(super) const MESH: i64 = 64;
    pub(super) const FACE: i64 = 128;
}

/// Flags of a POLYLINE (group 70).
mod polyline_flag {
    pub(super) const CLOSED: i64 = 1;
    pub(super) const SPLINE_FIT: i64 = 4;
    pub(super) const THREE_D: i64 = 8;
    pub(super) const MESH: i64 = 16;
    pub(super) const CLOSED_ACROSS: i64 = 32;
    pub(super) const POLYFACE: i64 = 64;
}

impl<'a> Reader<'a, '_> {
    pub(super) fn lwpolyline(&mut self, kind: Symbol) -> Result<(), ReadError> {
        let mut common = Common::new();
        let mut vertices = std::mem::take(&mut self.vertices);
        vertices.clear();
        let (mut flags, mut elevation, mut declared) = (0, 0.0, None);
        let mut constant_width = None;
        let mut widths = Widths::default();
        while let Some(tag) = self.field() {
            match tag.code {
                10 => {
                    let x = self.real(tag);
                    vertices.push(Vertex { x, y: 0.0, bulge: 0.0 });
                }
                20 => {
                    let y = self.real(tag);
                    if let Some(last) = vertices.last_mut() {
                        last.y = y;
                    }
                }
                42 => {
                    let bulge = self.real(tag);
                    if let Some(last) = vertices.last_mut() {
                        last.bulge = bulge;
                    }
                }
                40 | 41 => {
                    let width = self.real(tag);
                    widths.see(width);
                }
                43 => constant_width = Some(self.real(tag)),
                70 => flags = self.integer(tag),
                90 => declared = Some(self.integer(tag)),
                38 => elevation = self.real(tag),
                _ => self.common(&mut common, tag),
            }
        }
        let result = if self.is_elsewhere(kind, &common) {
            Ok(())
        } else {
            if let Some(declared) = declared.filter(|declared| *declared != vertices.len() as i64) {
                let found = vertices.len();
                self.fixed(&codes::COUNT_MISMATCH, || format!("{declared} vertices stated, {found} found"));
            }
            let width = constant_width.unwrap_or_else(|| widths.uniform());
            self.push_polyline(kind, &common, &vertices, flags & polyline_flag::CLOSED != 0, elevation, width)
        };
        self.vertices = vertices;
        result
    }

    fn push_polyline(
        &mut self,
        kind: Symbol,
        common: &Common,
        vertices: &[Vertex],
        closed: bool,
        elevation: f64,
        width: f64,
    ) -> Result<(), ReadError> {
        let is_spot = |first: &Vertex| vertices.iter().all(|vertex| vertex.x == first.x && vertex.y == first.y);
        if vertices.first().is_none_or(is_spot) {
            self.left_out(&codes::NO_EXTENT, kind, common);
            return Ok(());
        }
        let mut path = self.out.path();
        write_polyline(&mut path, vertices, closed, &common.ocs(), elevation);
        match path.finish()? {
            Some(path) => self.push_item(kind, common, Geometry::Line(path), width, Properties::default()),
            None => {
                self.left_out(&codes::NOT_FINITE, kind, common);
                Ok(())
            }
        }
    }

    pub(super) fn polyline(&mut self, kind: Symbol) -> Result<(), ReadError> {
        let mut common = Common::new();
        let (mut flags, mut elevation) = (0, 0.0);
        let mut counts = [0i64; 4];
        let mut widths = Widths::default();
        while let Some(tag) = self.field() {
            match tag.code {
                70 => flags = self.integer(tag),
                71..=74 => counts[tag.code as usize - 71] = self.integer(tag),
                30 => elevation = self.real(tag),
                40 | 41 => {
                    let width = self.real(tag);
                    widths.see(width);
                }
                _ => self.common(&mut common, tag),
            }
        }
        let is_mesh = flags & (polyline_flag::MESH | polyline_flag::POLYFACE) != 0;
        let mut vertices = std::mem::take(&mut self.vertices);
        vertices.clear();
        let mut faces: Vec<[i64; 4]> = Vec::new();
        while let Some(record) = self.record {
            if record.eq_ignore_ascii_case(b"VERTEX") {
                let vertex = self.vertex(&mut widths);
                if vertex.flags & vertex_flag::FACE != 0 && vertex.flags & vertex_flag::MESH == 0 {
                    faces.push(vertex.corners);
                } else if flags & polyline_flag::SPLINE_FIT == 0 || vertex.flags & vertex_flag::FRAME == 0 {
                    vertices.push(vertex.vertex);
                }
            } else {
                if record.eq_ignore_ascii_case(b"SEQEND") {
                    self.skip_record();
                }
                break;
            }
        }
        let result = if self.is_elsewhere(kind, &common) {
            Ok(())
        } else if flags & polyline_flag::POLYFACE != 0 || !is_mesh && !faces.is_empty() {
            let rings = faces.iter().map(|corners| corners.iter().map(|corner| corner.unsigned_abs()).collect());
            self.push_faces(kind, &common, &vertices, rings)
        } else if is_mesh {
            // A smoothed mesh counts its surface vertices in groups 73 and 74.
            let smooth = flags & polyline_flag::SPLINE_FIT != 0 && counts[2] > 0 && counts[3] > 0;
            let (rows, columns) = if smooth { (counts[2], counts[3]) } else { (counts[0], counts[1]) };
            let closed = [flags & polyline_flag::CLOSED != 0, flags & polyline_flag::CLOSED_ACROSS != 0];
            let rings = grid_faces(rows, columns, closed, vertices.len());
            if rings.is_empty() {
                let found = vertices.len();
                self.report(&codes::COUNT_MISMATCH, || format!("mesh of {rows} × {columns} has {found} vertices"));
            }
            self.push_faces(kind, &common, &vertices, rings.into_iter().map(|ring| ring.to_vec()))
        } else {
            let closed = flags & polyline_flag::CLOSED != 0;
            if flags & polyline_flag::THREE_D != 0 {
                common.normal = [0.0, 0.0, 1.0];
                vertices.iter_mut().for_each(|vertex| vertex.bulge = 0.0);
            }
            self.push_polyline(kind, &common, &vertices, closed, elevation, widths.uniform())
        };
        self.vertices = vertices;
        result
    }

    fn vertex(&mut self, widths: &mut Widths) -> RawVertex {
        let mut raw = RawVertex::default();
        while let Some(tag) = self.field() {
            match tag.code {
                10 => raw.vertex.x = self.real(tag),
                20 => raw.vertex.y = self.real(tag),
                42 => raw.vertex.bulge = self.real(tag),
                40 | 41 => {
                    let width = self.real(tag);
                    widths.see(width);
                }
                70 => raw.flags = self.integer(tag),
                71..=74 => raw.corners[tag.code as usize - 71] = self.integer(tag),
                _ => {}
            }
        }
        raw
    }

    /// MESH: the cage at subdivision level 0.
    pub(super) fn mesh(&mut self, kind: Symbol) -> Result<(), ReadError> {
        let mut common = Common::new();
        let mut vertices: Vec<Vertex> = Vec::new();
        let mut face_list: Vec<u64> = Vec::new();
        let mut reading_faces = false;
        while let Some(tag) = self.field() {
            match tag.code {
                10 => {
                    let x = self.real(tag);
                    vertices.push(Vertex { x, ..Vertex::default() });
                }
                20 => {
                    let y = self.real(tag);
                    if let Some(last) = vertices.last_mut() {
                        last.y = y;
                    }
                }
                93 => reading_faces = true,
                94 | 95 => reading_faces = false,
                90 if reading_faces => {
                    let value = self.integer(tag);
                    face_list.push(u64::try_from(value).unwrap_or(u64::MAX));
                }
                // Overridden properties follow the crease values.
                140 => reading_faces = false,
                _ => self.common(&mut common, tag),
            }
        }
        if self.is_elsewhere(kind, &common) {
            return Ok(());
        }
        let mut rings: Vec<Vec<u64>> = Vec::new();
        let mut rest = face_list.as_slice();
        while let Some((count, tail)) = rest.split_first() {
            let count = usize::try_from(*count).unwrap_or(usize::MAX).min(tail.len());
            let (corners, after) = tail.split_at(count);
            rings.push(corners.iter().map(|corner| corner.saturating_add(1)).collect());
            rest = after;
        }
        self.push_faces(kind, &common, &vertices, rings.into_iter())
    }

    /// One area a face; corners are 1-based, 0 ends a face early. Faces that stand on edge in the plan are lines.
    fn push_faces(
        &mut self,
        kind: Symbol,
        common: &Common,
        vertices: &[Vertex],
        faces: impl Iterator<Item = Vec<u64>>,
    ) -> Result<(), ReadError> {
        let (mut num_invalid, mut num_parts) = (0u64, 0u32);
        let mut upright: Vec<[Point; 2]> = Vec::new();
        for corners in faces {
            let ring: Option<Vec<Point>> = corners
                .iter()
                .take_while(|corner| **corner != 0)
                .map(|corner| {
                    let index = usize::try_from(*corner).ok()?.checked_sub(1)?;
                    vertices.get(index).map(|vertex| Point::new(vertex.x, vertex.y))
                })
                .collect();
            let Some(ring) = ring.filter(|ring| ring.len() >= 2) else {
                num_invalid += 1;
                continue;
            };
            if let Some(edge) = on_edge(&ring) {
                upright.extend(Some(edge).filter(|[from, to]| from != to));
                continue;
            }
            let mut path = self.out.path();
            if let [first, rest @ ..] = ring.as_slice() {
                path.move_to(*first);
                rest.iter().for_each(|corner| path.line_to(*corner));
                path.close();
            }
            match path.finish()? {
                Some(path) => {
                    self.push_more(kind, common, Geometry::Area(path, FillRule::EvenOdd), &mut num_parts)?;
                }
                None => num_invalid += 1,
            }
        }
        if num_invalid > 0 {
            self.report(&codes::FACE_INVALID, || format!("{num_invalid} faces"));
        }
        if !upright.is_empty() {
            let mut path = self.out.path();
            for [from, to] in upright {
                path.move_to(from);
                path.line_to(to);
            }
            if let Some(path) = path.finish()? {
                self.push_more(kind, common, Geometry::Line(path), &mut num_parts)?;
            }
        }
        if num_parts == 0 {
            self.left_out(&codes::NO_EXTENT, kind, common);
        }
        Ok(())
    }
}

/// The ends of a face that encloses nothing in the plan: it stands on edge, or has two corners only.
fn on_edge(ring: &[Point]) -> Option<[Point; 2]> {
    let first = *ring.first()?;
    let turned = ring.windows(2).map(|pair| (pair[0] - first).cross(pair[1] - first).abs()).sum::<f64>();
    let farthest = |from: Point| {
        let distance = |point: &Point| (*point - from).hypot2();
        ring.iter().copied().max_by(|a, b| distance(a).total_cmp(&distance(b))).unwrap_or(from)
    };
    let from = farthest(first);
    let to = farthest(from);
    (turned <= 1e-9 * (to - from).hypot2()).then_some([from, to])
}

#[derive(Debug, Default)]
struct RawVertex {
    vertex: Vertex,
    flags: i64,
    corners: [i64; 4],
}

/// The four corners of every face of a grid of `rows` × `columns` vertices, 1-based; none if there are too few.
fn grid_faces(rows: i64, columns: i64, closed: [bool; 2], num_vertices: usize) -> Vec<[u64; 4]> {
    let (Ok(rows), Ok(columns)) = (u64::try_from(rows), u64::try_from(columns)) else { return Vec::new() };
    let fits = rows >= 2 && columns >= 2 && rows.checked_mul(columns).is_some_and(|all| all <= num_vertices as u64);
    if !fits {
        return Vec::new();
    }
    let (last_row, last_column) = (rows - u64::from(!closed[0]), columns - u64::from(!closed[1]));
    let corner = |row: u64, column: u64| (row % rows) * columns + column % columns + 1;
    (0..last_row)
        .flat_map(|row| {
            (0..last_column).map(move |column| {
                [corner(row, column), corner(row, column + 1), corner(row + 1, column + 1), corner(row + 1, column)]
            })
        })
        .collect()
}

/// Writes a polyline with bulges into a path. A closed one ends with [`PathWriter::close`], after its closing arc.
pub(super) fn write_polyline(path: &mut PathWriter<'_>, vertices: &[Vertex], closed: bool, ocs: &Ocs, elevation: f64) {
    let Some(first) = vertices.first() else { return };
    let place = |vertex: &Vertex| ocs.point([vertex.x, vertex.y, elevation]);
    let sign = if ocs.is_mirrored() { -1.0 } else { 1.0 };
    let flat = ocs.is_flat();
    path.move_to(place(first));
    let mut step = |from: &Vertex, to: &Vertex| {
        if from.bulge == 0.0 {
            path.line_to(place(to));
        } else if flat {
            path.bulge_to(place(to), from.bulge * sign);
        } else {
            tilted_bulge(path, from, to, ocs, elevation);
        }
    };
    for pair in vertices.windows(2) {
        step(&pair[0], &pair[1]);
    }
    if closed {
        if let Some(last) = vertices.last()
            && last.bulge != 0.0
        {
            step(last, first);
        }
        path.close();
    }
}

/// An arc by bulge in a plane that is not flat in the plan: seen from above it is a part of an ellipse.
fn tilted_bulge(path: &mut PathWriter<'_>, from: &Vertex, to: &Vertex, ocs: &Ocs, elevation: f64) {
    let (start, end) = (Point::new(from.x, from.y), Point::new(to.x, to.y));
    let Some(arc) = bulge_arc(start, end, from.bulge) else {
        path.line_to(ocs.point([to.x, to.y, elevation]));
        return;
    };
    let centre = ocs.point([arc.centre.x, arc.centre.y, elevation]);
    path.arc(centre, ocs.vector(arc.radius, 0.0), ocs.vector(0.0, arc.radius), arc.start, arc.sweep);
}

/// A circular arc in its own plane.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct PlaneArc {
    pub(super) centre: Point,
    pub(super) radius: f64,
    pub(super) start: f64,
    pub(super) sweep: f64,
}

/// The arc between two points whose included angle is 4 · atan(bulge); `None` if the points coincide.
pub(super) fn bulge_arc(start: Point, end: Point, bulge: f64) -> Option<PlaneArc> {
    let chord = end - start;
    let length = chord.hypot();
    if length == 0.0 || bulge == 0.0 || !bulge.is_finite() {
        return None;
    }
    let to_centre = Vec2::new(-chord.y, chord.x) * ((1.0 - bulge * bulge) / (4.0 * bulge));
    let centre = start.midpoint(end) + to_centre;
    let radius = length * (1.0 + bulge * bulge) / (4.0 * bulge.abs());
    let from_centre = start - centre;
    Some(PlaneArc { centre, radius, start: from_centre.y.atan2(from_centre.x), sweep: 4.0 * bulge.atan() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bulges_are_arcs_of_any_size() {
        // A half circle to the right of the way from (0, 0) to (10, 0) lies below the chord.
        let arc = bulge_arc(Point::ZERO, Point::new(10.0, 0.0), 1.0).unwrap();
        assert!((arc.centre - Point::new(5.0, 0.0)).hypot() < 1e-12 && (arc.radius - 5.0).abs() < 1e-12);
        let middle = arc.start + arc.sweep / 2.0;
        assert!((arc.centre + Vec2::from_angle(middle) * arc.radius - Point::new(5.0, -5.0)).hypot() < 1e-12);
        // More than a half circle: the sagitta is bulge × chord ÷ 2.
        let arc = bulge_arc(Point::ZERO, Point::new(10.0, 0.0), 2.0).unwrap();
        let middle = arc.start + arc.sweep / 2.0;
        assert!((arc.centre + Vec2::from_angle(middle) * arc.radius - Point::new(5.0, -10.0)).hypot() < 1e-12);
        assert_eq!(bulge_arc(Point::ZERO, Point::ZERO, 1.0), None);
    }

    #[test]
    fn grids_count_their_faces() {
        assert_eq!(grid_faces(3, 4, [false, false], 12).len(), 6);
        assert_eq!(grid_faces(3, 4, [true, true], 12).len(), 12);
        assert_eq!(grid_faces(3, 4, [false, false], 11).len(), 0);
        assert_eq!(grid_faces(-1, 4, [false, false], 11).len(), 0);
        assert_eq!(grid_faces(i64::MAX, i64::MAX, [true, true], 11).len(), 0);
        assert_eq!(grid_faces(2, 2, [false, false], 4), vec![[1, 2, 4, 3]]);
    }
}
