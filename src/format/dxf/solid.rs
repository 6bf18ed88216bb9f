//! REGION, BODY, 3DSOLID and PLANESURFACE as far as their ACIS text is simple: faces as areas in the plan.
//!
//! The geometry of these entities is a text of another program (SAT), in groups 1 and 3, with its characters turned
//! round (each but the blank is 159 minus its code). [`SatFile`] takes it into records; a record names others by their
//! number. Read are planar faces whose edges are straight or elliptic: all of a flat sheet (a region), and of a solid
//! with upright walls those that look up, which is what a plan shows of it. What has any other surface or edge, and
//! what is stored in binary (from 2013 on), is counted by name.

use std::f64::consts::TAU;

use super::codes;
use super::ocs::cross;
use super::reader::{Common, Reader};
use crate::drawing::{FillRule, Geometry, PathWriter, Point, Symbol, Vec2};
use crate::format::ReadError;

/// Directions that differ by less than this are the same.
const SAME_DIRECTION: f64 = 1e-6;

type Vector = [f64; 3];

impl<'a> Reader<'a, '_> {
    /// A solid, body or region.
    pub(super) fn solid_model(&mut self, kind: Symbol) -> Result<(), ReadError> {
        let mut common = Common::new();
        let mut text: Vec<u8> = Vec::new();
        while let Some(tag) = self.field() {
            match tag.code {
                1 | 3 => {
                    // Group 1 begins a line, group 3 goes on with it.
                    self.check_length(text.len() + tag.value.len())?;
                    if tag.code == 1 && !text.is_empty() {
                        text.push(b'\n');
                    }
                    decipher(tag.value, &mut text);
                }
                _ => self.common(&mut common, tag),
            }
        }
        if self.is_elsewhere(kind, &common) {
            return Ok(());
        }
        let Some(faces) = SatFile::new(&text).faces() else {
            self.out.count_unsupported_kind(kind);
            return Ok(());
        };
        let mut num_parts = 0u32;
        for face in &faces {
            let mut path = self.out.path();
            for ring in face {
                write_ring(&mut path, ring);
            }
            let Some(path) = path.finish()? else { continue };
            let area = Geometry::Area(path, FillRule::EvenOdd);
            num_parts += 1;
            if num_parts == 1 { self.push(kind, &common, area)? } else { self.push_part(kind, &common, area)? }
        }
        if num_parts == 0 {
            self.left_out(&codes::NO_EXTENT, kind, &common);
        }
        Ok(())
    }
}

/// Turns the characters of a line round; a line that is plain already stays.
fn decipher(line: &[u8], out: &mut Vec<u8>) {
    let mut bytes = line.iter().copied().peekable();
    while let Some(byte) = bytes.next() {
        match byte {
            // A caret is written with a blank behind it.
            b'^' => {
                out.push(b'A');
                bytes.next_if_eq(&b' ');
            }
            0x21..=0x7E => out.push(159 - byte),
            other => out.push(other),
        }
    }
}

/// An edge of a face, in the direction of its ring, in the world.
#[derive(Debug, Clone, PartialEq)]
enum FaceEdge {
    Straight {
        from: Vector,
    },
    /// `centre + u·cos t + v·sin t`.
    Elliptic {
        centre: Vector,
        u: Vector,
        v: Vector,
        start: f64,
        sweep: f64,
    },
}

fn write_ring(path: &mut PathWriter<'_>, ring: &[FaceEdge]) {
    let plan = |point: &Vector| Point::new(point[0], point[1]);
    let flat = |vector: &Vector| Vec2::new(vector[0], vector[1]);
    for (index, edge) in ring.iter().enumerate() {
        match edge {
            FaceEdge::Straight { from } if index == 0 => path.move_to(plan(from)),
            FaceEdge::Straight { from } => path.line_to(plan(from)),
            FaceEdge::Elliptic { centre, u, v, start, sweep } => {
                if index > 0 {
                    let begin = [0, 1, 2].map(|axis| centre[axis] + u[axis] * start.cos() + v[axis] * start.sin());
                    path.line_to(plan(&begin));
                }
                path.arc(plan(centre), flat(u), flat(v), *start, *sweep);
            }
        }
    }
    path.close();
}

/// The records of a SAT text.
struct SatFile<'t> {
    /// Name and values of every record.
    records: Vec<Vec<&'t [u8]>>,
}

impl<'t> SatFile<'t> {
    fn new(text: &'t [u8]) -> Self {
        let mut records = Vec::new();
        let mut record: Vec<&[u8]> = Vec::new();
        // Three lines tell the version, the program and the tolerances.
        let mut rest = text;
        for _ in 0..3 {
            rest = memchr::memchr(b'\n', rest).and_then(|end| rest.get(end + 1..)).unwrap_or(&[]);
        }
        while !rest.is_empty() {
            let start = rest.iter().position(|byte| !byte.is_ascii_whitespace()).unwrap_or(rest.len());
            rest = &rest[start..];
            let end = rest.iter().position(u8::is_ascii_whitespace).unwrap_or(rest.len());
            let (token, after) = rest.split_at(end);
            rest = after;
            match token {
                b"" => break,
                b"#" => records.push(std::mem::take(&mut record)),
                // A string with its length before it.
                [b'@', length @ ..] => {
                    let length = std::str::from_utf8(length).ok().and_then(|length| length.parse::<usize>().ok());
                    rest = rest.get(length.unwrap_or(0).saturating_add(1)..).unwrap_or(&[]);
                }
                // Some programs write the number of a record before it.
                [b'-', digits @ ..] if record.is_empty() && digits.iter().all(u8::is_ascii_digit) => {}
                token if record.is_empty() && (token.starts_with(b"End-of-A")) => break,
                token => record.push(token),
            }
        }
        Self { records }
    }

    fn name(&self, record: usize) -> &'t [u8] {
        self.records.get(record).and_then(|record| record.first()).copied().unwrap_or(b"")
    }

    fn values(&self, record: usize) -> &[&'t [u8]] {
        self.records.get(record).and_then(|record| record.get(1..)).unwrap_or(&[])
    }

    /// The records of that kind that a record refers to, in order.
    fn targets<'s>(&'s self, record: usize, kind: &'s [u8]) -> impl Iterator<Item = usize> + 's {
        let pointer = |value: &&[u8]| std::str::from_utf8(value.strip_prefix(b"$")?).ok()?.parse::<usize>().ok();
        self.values(record).iter().filter_map(pointer).filter(move |target| self.name(*target).ends_with(kind))
    }

    /// The numbers behind the last reference of a record.
    fn numbers(&self, record: usize) -> Vec<f64> {
        let values = self.values(record);
        let start = values.iter().rposition(|value| value.starts_with(b"$")).map_or(0, |last| last + 1);
        let number = |value: &&[u8]| fast_float2::parse::<f64, _>(*value).ok().filter(|value| value.is_finite());
        values.get(start..).unwrap_or(&[]).iter().filter_map(number).collect()
    }

    fn is_reversed(&self, record: usize) -> bool {
        self.values(record).contains(&&b"reversed"[..])
    }

    /// The rings of the faces to be drawn, or `None` if there is anything that is not simple.
    fn faces(&self) -> Option<Vec<Vec<Vec<FaceEdge>>>> {
        let faces: Vec<usize> = (0..self.records.len()).filter(|record| self.name(*record) == b"face").collect();
        let transform = Transform::of(self);
        let mut normals = Vec::with_capacity(faces.len());
        for face in &faces {
            normals.push(self.facing(*face, &transform)?);
        }
        let first = normals.iter().flatten().next().copied()?;
        let is_sheet =
            normals.iter().all(|normal| normal.is_some_and(|normal| length(cross(normal, first)) < SAME_DIRECTION));
        let is_upright = normals
            .iter()
            .flatten()
            .all(|normal| normal[2].abs() < SAME_DIRECTION || normal[2].abs() > 1.0 - SAME_DIRECTION);
        if !is_sheet && !is_upright {
            return None;
        }
        let mut rings: Vec<Vec<Vec<FaceEdge>>> = vec![Vec::new(); self.records.len()];
        for ring in (0..self.records.len()).filter(|record| self.name(*record) == b"loop") {
            if let Some(face) = self.targets(ring, b"face").next() {
                rings[face].push(self.ring(ring, &transform)?);
            }
        }
        let looks_up = |normal: &Option<Vector>| normal.is_some_and(|normal| normal[2] > 1.0 - SAME_DIRECTION);
        // Both sides of a sheet may be faces; one of them is enough.
        let shown = faces.iter().zip(&normals).filter(|(_, normal)| {
            if is_sheet { normal.is_some_and(|normal| dot(normal, first) > 0.0) } else { looks_up(normal) }
        });
        Some(shown.map(|(face, _)| std::mem::take(&mut rings[*face])).filter(|face| !face.is_empty()).collect())
    }

    /// The outward normal of a plane face; `Some(None)` for the wall of an upright cylinder.
    fn facing(&self, face: usize, transform: &Transform) -> Option<Option<Vector>> {
        let surface = self.targets(face, b"-surface").next()?;
        let numbers = self.numbers(surface);
        let direction = unit(transform.vector([*numbers.get(3)?, *numbers.get(4)?, *numbers.get(5)?]))?;
        match self.name(surface) {
            b"plane-surface" => {
                Some(Some(if self.is_reversed(face) { direction.map(|part| -part) } else { direction }))
            }
            // Centre, axis, major axis, ratio; then the sine of the half angle, which a cylinder has at 0.
            b"cone-surface" if direction[2].abs() > 1.0 - SAME_DIRECTION && numbers.get(10) == Some(&0.0) => Some(None),
            _ => None,
        }
    }

    /// The edges around one loop.
    fn ring(&self, ring: usize, transform: &Transform) -> Option<Vec<FaceEdge>> {
        let start = self.targets(ring, b"coedge").next()?;
        let mut edges = Vec::new();
        let mut at = start;
        loop {
            let edge = self.targets(at, b"edge").find(|edge| self.name(*edge) == b"edge")?;
            edges.push(self.edge(edge, self.is_reversed(at), transform)?);
            at = self.targets(at, b"coedge").next()?;
            if at == start {
                return Some(edges);
            }
            // A ring that does not come back.
            if edges.len() > self.records.len() {
                return None;
            }
        }
    }

    fn edge(&self, edge: usize, is_reversed: bool, transform: &Transform) -> Option<FaceEdge> {
        let mut ends = self.targets(edge, b"vertex").filter(|vertex| self.name(*vertex) == b"vertex");
        let place = |vertex: usize| -> Option<Vector> {
            let point = self.targets(vertex, b"point").find(|point| self.name(*point) == b"point")?;
            let numbers = self.numbers(point);
            Some([*numbers.first()?, *numbers.get(1)?, *numbers.get(2)?])
        };
        let from = place(ends.next()?)?;
        let to = ends.next().map_or(Some(from), place)?;
        let curve = self.targets(edge, b"-curve").next()?;
        match self.name(curve) {
            b"straight-curve" => {
                Some(FaceEdge::Straight { from: transform.point(if is_reversed { to } else { from }) })
            }
            b"ellipse-curve" => {
                let numbers = self.numbers(curve);
                let three = |start: usize| -> Option<Vector> {
                    let [x, y, z] = *numbers.get(start..start + 3)?.first_chunk::<3>()?;
                    Some([x, y, z])
                };
                let (centre, normal, major, ratio) = (three(0)?, unit(three(3)?)?, three(6)?, *numbers.get(9)?);
                let minor = cross(normal, major).map(|part| part * ratio);
                let parameter = |point: Vector| {
                    let offset = [0, 1, 2].map(|axis| point[axis] - centre[axis]);
                    (dot(offset, minor) / dot(minor, minor)).atan2(dot(offset, major) / dot(major, major))
                };
                let (start, end) = (parameter(from), parameter(to));
                let turn = (end - start).rem_euclid(TAU);
                // An edge runs with its curve or against it; one that ends where it begins is all of it.
                let turn = if from == to || turn < 1e-9 { TAU } else { turn };
                let sweep = if self.is_reversed(edge) { if turn == TAU { -TAU } else { turn - TAU } } else { turn };
                let (start, sweep) = if is_reversed { (start + sweep, -sweep) } else { (start, sweep) };
                let (centre, u, v) = (transform.point(centre), transform.vector(major), transform.vector(minor));
                sweep.is_finite().then_some(FaceEdge::Elliptic { centre, u, v, start, sweep })
            }
            _ => None,
        }
    }
}

/// Where the body stands: rows of a matrix, a translation, a scale.
struct Transform {
    rows: [Vector; 3],
    shift: Vector,
}

impl Transform {
    fn of(file: &SatFile<'_>) -> Self {
        let found = (0..file.records.len()).find(|record| file.name(*record) == b"transform");
        let numbers = found.map(|record| file.numbers(record)).unwrap_or_default();
        let Some(numbers) = numbers.first_chunk::<13>() else {
            return Self { rows: [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]], shift: [0.0; 3] };
        };
        let three = |start: usize| [numbers[start], numbers[start + 1], numbers[start + 2]];
        Self { rows: [0, 3, 6].map(|start| three(start).map(|part| part * numbers[12])), shift: three(9) }
    }

    fn vector(&self, [x, y, z]: Vector) -> Vector {
        [0, 1, 2].map(|axis| x * self.rows[0][axis] + y * self.rows[1][axis] + z * self.rows[2][axis])
    }

    fn point(&self, point: Vector) -> Vector {
        let turned = self.vector(point);
        [0, 1, 2].map(|axis| turned[axis] + self.shift[axis])
    }
}

fn dot(a: Vector, b: Vector) -> f64 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

fn length(vector: Vector) -> f64 {
    dot(vector, vector).sqrt()
}

fn unit(vector: Vector) -> Option<Vector> {
    let length = length(vector);
    (length > 1e-300 && length.is_finite()).then(|| vector.map(|part| part / length))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn characters_are_turned_round() {
        let mut out = Vec::new();
        decipher(b"=0;& ^ |", &mut out);
        assert_eq!(out, b"body A#");
    }

    #[test]
    fn records_are_split_at_their_ends() {
        let text = b"700 0 1 0\n@5 a # b @2 NT\n1 1e-06\nbody $-1 -1 $1 @7 un#nown x #\n-1 lump $0\n#\nEnd-of-ACIS-data\nmore #";
        let file = SatFile::new(text);
        assert_eq!(file.records.len(), 2);
        assert_eq!(file.name(1), b"lump");
        assert_eq!(file.values(0).last(), Some(&&b"x"[..]));
    }
}
