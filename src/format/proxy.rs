//! Pictures of entities whose program is not here: walls of AutoCAD Architecture, of Tangent, and others.
//!
//! A program that adds its own kinds of entities may leave with each a picture in simple figures (Open Design
//! Specification, "Proxy Entity Graphics"): a size and a count, then chunks of size, kind and little-endian values.
//! Lines, circles, arcs, polygons, shells and texts are taken; colours, layers and line types within the picture are
//! not (those of the entity count).
//!
//! A picture may be no more than a box around the entity with the name of its class. Such boxes are marked.

use std::f64::consts::TAU;

use cadkit_dwg::native::BitReader;

/// Figures of one picture that are kept.
const MOST_FIGURES: usize = 100_000;
/// Depth of transforms.
const MOST_TRANSFORMS: usize = 64;

type Point3 = [f64; 3];

/// A figure in world coordinates.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Figure {
    /// Points, whether it is closed, and whether it is filled.
    Polyline {
        points: Vec<Point3>,
        closed: bool,
        filled: bool,
    },
    /// A circle, or an arc counter-clockwise in the plan from `start` to `end` (radians).
    Arc {
        centre: Point3,
        radius: f64,
        start: f64,
        end: Option<f64>,
    },
    /// Points and the faces between them (indices from 0).
    Shell {
        points: Vec<Point3>,
        faces: Vec<Vec<usize>>,
    },
    Text {
        at: Point3,
        direction: Point3,
        height: f64,
        value: String,
    },
    /// A polyline with arcs, in its plane.
    Bulged {
        points: Vec<[f64; 2]>,
        bulges: Vec<f64>,
        closed: bool,
        elevation: f64,
        normal: Point3,
    },
}

/// A picture.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Picture {
    pub(super) figures: Vec<Figure>,
    /// The figures are one box around the entity; its width and height in the plan.
    pub(super) boxed: Option<[f64; 2]>,
}

/// Reads a picture; whatever cannot be understood is passed over.
pub(super) fn picture(graphics: &[u8]) -> Picture {
    let mut reading = Reading::default();
    let mut rest = graphics.get(8..).unwrap_or(&[]);
    while let Some((size, kind)) = integer(rest, 0).zip(integer(rest, 4)) {
        let size = size as usize;
        if size < 8 || size > rest.len() || reading.figures.len() >= MOST_FIGURES {
            break;
        }
        reading.chunk(kind, rest.get(8..size).unwrap_or(&[]));
        rest = rest.get(size..).unwrap_or(&[]);
    }
    let mut figures = joined(reading.figures);
    let boxed = box_around(&figures);
    if boxed.is_some() {
        figures.retain(is_rectangle);
        figures.truncate(1);
    }
    Picture { figures, boxed }
}

#[derive(Default)]
struct Reading {
    figures: Vec<Figure>,
    transforms: Vec<[f64; 12]>,
    filled: bool,
}

impl Reading {
    fn chunk(&mut self, kind: u32, data: &[u8]) {
        match kind {
            2 => self.circle(data),
            3 => self.circle_through(data),
            4 => self.arc(data),
            5 => self.arc_through(data),
            6 | 32 => self.polyline(data, false),
            7 => self.polyline(data, true),
            8 => self.mesh(data),
            9 => self.shell(data),
            10 => self.text(data, false),
            36 => self.text(data, true),
            11 => self.styled_text(data, false),
            38 => self.styled_text(data, true),
            20 => self.filled = integer(data, 0).is_some_and(|fill| fill != 0),
            29 | 30 => self.push_transform(data),
            31 => {
                self.transforms.pop();
            }
            33 => self.bulged(data),
            _ => {}
        }
    }

    fn place(&self, point: Point3) -> Point3 {
        self.transforms.iter().rev().fold(point, |[x, y, z], m| {
            [
                m[0] * x + m[1] * y + m[2] * z + m[3],
                m[4] * x + m[5] * y + m[6] * z + m[7],
                m[8] * x + m[9] * y + m[10] * z + m[11],
            ]
        })
    }

    fn push_transform(&mut self, data: &[u8]) {
        let mut matrix = [0.0; 12];
        for (index, value) in matrix.iter_mut().enumerate() {
            *value = real(data, index * 8).unwrap_or(f64::from(u8::from(index % 5 == 0)));
        }
        if self.transforms.len() < MOST_TRANSFORMS {
            self.transforms.push(matrix);
        }
    }

    /// The arc `centre + radius (u cos t + v sin t)` for t from 0 to `sweep`. One that is not flat in the plan, or
    /// lies in a transform, becomes points.
    fn push_arc(&mut self, centre: Point3, radius: f64, u: Point3, v: Point3, sweep: f64) {
        const STEPS: u32 = 72;
        let whole = sweep.abs() >= TAU;
        let is_flat = u[2].abs() < 1e-9 && v[2].abs() < 1e-9;
        if is_flat && self.transforms.is_empty() {
            let turn = if cross(u, v)[2] < 0.0 { -sweep } else { sweep };
            let first = u[1].atan2(u[0]);
            let (start, end) = if turn < 0.0 { (first + turn, first) } else { (first, first + turn) };
            self.figures.push(Figure::Arc { centre, radius, start, end: (!whole).then_some(end) });
            return;
        }
        let at = |step: u32| {
            let (sin, cos) = (sweep * f64::from(step) / f64::from(STEPS)).sin_cos();
            let axis = |axis: usize| centre[axis] + radius * (u[axis] * cos + v[axis] * sin);
            self.place([axis(0), axis(1), axis(2)])
        };
        let points = (0..if whole { STEPS } else { STEPS + 1 }).map(at).collect();
        self.figures.push(Figure::Polyline { points, closed: whole, filled: false });
    }

    fn circle(&mut self, data: &[u8]) {
        let (Some(centre), Some(radius), Some(normal)) = (point(data, 0), real(data, 24), point(data, 32)) else {
            return;
        };
        // Any axis in the plane will do.
        let aside = if normal[0].abs() < 0.5 { [1.0, 0.0, 0.0] } else { [0.0, 1.0, 0.0] };
        let (Some(v), Some(normal)) = (unit(cross(normal, aside)), unit(normal)) else { return };
        self.push_arc(centre, radius, cross(v, normal), v, TAU);
    }

    fn circle_through(&mut self, data: &[u8]) {
        let (Some(a), Some(b), Some(c)) = (point(data, 0), point(data, 24), point(data, 48)) else { return };
        if let Some((centre, radius)) = circle_of(a, b, c) {
            self.push_arc(centre, radius, [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], TAU);
        }
    }

    fn arc(&mut self, data: &[u8]) {
        let (Some(centre), Some(radius), Some(normal)) = (point(data, 0), real(data, 24), point(data, 32)) else {
            return;
        };
        let (Some(direction), Some(sweep)) = (point(data, 56), real(data, 80)) else { return };
        let (Some(u), Some(normal)) = (unit(direction), unit(normal)) else { return };
        self.push_arc(centre, radius, u, cross(normal, u), sweep);
    }

    fn arc_through(&mut self, data: &[u8]) {
        let (Some(a), Some(b), Some(c)) = (point(data, 0), point(data, 24), point(data, 48)) else { return };
        let Some((centre, radius)) = circle_of(a, b, c) else {
            let points = vec![self.place(a), self.place(c)];
            self.figures.push(Figure::Polyline { points, closed: false, filled: false });
            return;
        };
        let angle = |point: Point3| (point[1] - centre[1]).atan2(point[0] - centre[0]);
        let turn = |from: f64, to: f64| (to - from).rem_euclid(TAU);
        let (start, middle, end) = (angle(a), angle(b), angle(c));
        let sweep = turn(start, end);
        let sweep = if turn(start, middle) <= sweep { sweep } else { sweep - TAU };
        let (sin, cos) = start.sin_cos();
        self.push_arc(centre, radius, [cos, sin, 0.0], [-sin, cos, 0.0], sweep);
    }

    fn polyline(&mut self, data: &[u8], closed: bool) {
        let Some(points) = integer(data, 0).and_then(|count| points(data, 4, count as usize)) else { return };
        let points = points.into_iter().map(|point| self.place(point)).collect();
        self.figures.push(Figure::Polyline { points, closed, filled: closed && self.filled });
    }

    /// A grid of rows by columns.
    fn mesh(&mut self, data: &[u8]) {
        let (Some(rows), Some(columns)) = (integer(data, 0), integer(data, 4)) else { return };
        let (rows, columns) = (rows as usize, columns as usize);
        let Some(points) = rows.checked_mul(columns).and_then(|count| points(data, 8, count)) else { return };
        let mut faces = Vec::new();
        for row in 1..rows {
            for column in 1..columns {
                let last = row * columns + column;
                faces.push(vec![last - columns - 1, last - columns, last, last - 1]);
            }
        }
        let points = points.into_iter().map(|point| self.place(point)).collect();
        self.figures.push(Figure::Shell { points, faces });
    }

    fn shell(&mut self, data: &[u8]) {
        let Some(count) = integer(data, 0).map(|count| count as usize) else { return };
        let Some(points) = points(data, 4, count) else { return };
        let mut at = 4 + count * 24;
        let Some(entries) = integer(data, at).map(|entries| entries as usize) else { return };
        let mut faces = Vec::new();
        let mut read = 0;
        while read < entries {
            at += 4;
            // A negative count is a hole in the face before.
            let Some(corners) = integer(data, at).map(|corners| corners as i32) else { break };
            let corners = corners.unsigned_abs() as usize;
            let face: Option<Vec<usize>> = (1..=corners.min(entries))
                .map(|corner| integer(data, at + corner * 4).map(|index| index as usize))
                .collect();
            let Some(face) = face else { break };
            if face.iter().all(|index| *index < points.len()) && face.len() >= 3 {
                faces.push(face);
            }
            at += corners * 4;
            read += corners + 1;
        }
        let points = points.into_iter().map(|point| self.place(point)).collect();
        self.figures.push(Figure::Shell { points, faces });
    }

    fn text(&mut self, data: &[u8], wide: bool) {
        let (Some(at), Some(direction), Some(height)) = (point(data, 0), point(data, 48), real(data, 72)) else {
            return;
        };
        let (value, _) = string(data, 96, wide);
        self.push_text(at, direction, height, value);
    }

    fn styled_text(&mut self, data: &[u8], wide: bool) {
        let (Some(at), Some(direction)) = (point(data, 0), point(data, 48)) else { return };
        let (value, end) = string(data, 72, wide);
        // Length and a flag stand between the text and its height.
        let Some(height) = real(data, end + 8) else { return };
        self.push_text(at, direction, height, value);
    }

    fn push_text(&mut self, at: Point3, direction: Point3, height: f64, value: String) {
        let (from, to) =
            (self.place(at), self.place([at[0] + direction[0], at[1] + direction[1], at[2] + direction[2]]));
        let direction = [to[0] - from[0], to[1] - from[1], to[2] - from[2]];
        if !value.is_empty() {
            self.figures.push(Figure::Text { at: from, direction, height, value });
        }
    }

    /// A light-weight polyline as bits, behind their number.
    fn bulged(&mut self, data: &[u8]) {
        if let Some(figure) = data.get(4..).and_then(bulged)
            && self.transforms.is_empty()
        {
            self.figures.push(figure);
        }
    }
}

/// The bits of an LWPOLYLINE (20.4.85).
fn bulged(data: &[u8]) -> Option<Figure> {
    let mut bits = BitReader::new(data);
    let flags = bits.bs().ok()? as u16;
    let mut optional = |flag: u16| Some(if flags & flag != 0 { bits.bd().ok()? } else { 0.0 });
    let (_width, elevation, _thickness) = (optional(0x4)?, optional(0x8)?, optional(0x2)?);
    let normal = if flags & 0x1 != 0 { bits.bd3().ok()? } else { [0.0, 0.0, 1.0] };
    let mut count = |present: bool| {
        let count = if present { usize::try_from(bits.bl().ok()?).ok()? } else { 0 };
        (count <= data.len() * 8).then_some(count)
    };
    let num_points = count(true)?;
    let num_bulges = count(flags & 0x10 != 0)?;
    let _num_widths = count(flags & 0x20 != 0)?;
    let mut points: Vec<[f64; 2]> = Vec::new();
    for _ in 0..num_points {
        let next = match points.last() {
            None => bits.rd2(),
            Some(last) => bits.dd2(*last),
        };
        points.push(next.ok()?);
    }
    let bulges = (0..num_bulges).map(|_| bits.bd().ok()).collect::<Option<Vec<_>>>()?;
    Some(Figure::Bulged { points, bulges, closed: flags & 0x200 != 0, elevation, normal })
}

fn integer(data: &[u8], at: usize) -> Option<u32> {
    data.get(at..)?.first_chunk::<4>().map(|bytes| u32::from_le_bytes(*bytes))
}

fn real(data: &[u8], at: usize) -> Option<f64> {
    data.get(at..)?.first_chunk::<8>().map(|bytes| f64::from_le_bytes(*bytes))
}

fn point(data: &[u8], at: usize) -> Option<Point3> {
    Some([real(data, at)?, real(data, at + 8)?, real(data, at + 16)?])
}

fn points(data: &[u8], at: usize, count: usize) -> Option<Vec<Point3>> {
    if count > data.len() / 24 {
        return None;
    }
    (0..count).map(|index| point(data, at + index * 24)).collect()
}

/// A string that ends with a zero and is filled up to four bytes; and where the next value stands.
fn string(data: &[u8], at: usize, wide: bool) -> (String, usize) {
    let bytes = data.get(at..).unwrap_or(&[]);
    let (value, length) = if wide {
        let units: Vec<u16> = bytes
            .chunks_exact(2)
            .map(|pair| u16::from_le_bytes([pair[0], pair[1]]))
            .take_while(|unit| *unit != 0)
            .collect();
        (String::from_utf16_lossy(&units), (units.len() + 1) * 2)
    } else {
        let bytes: Vec<u8> = bytes.iter().copied().take_while(|byte| *byte != 0).collect();
        (bytes.iter().map(|byte| char::from(*byte)).collect(), bytes.len() + 1)
    };
    (value, at + length.next_multiple_of(4))
}

fn cross(a: Point3, b: Point3) -> Point3 {
    [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
}

fn unit(vector: Point3) -> Option<Point3> {
    let length = vector.iter().map(|part| part * part).sum::<f64>().sqrt();
    (length > 0.0 && length.is_finite()).then(|| vector.map(|part| part / length))
}

/// The circle through three points in the plan.
fn circle_of(a: Point3, b: Point3, c: Point3) -> Option<(Point3, f64)> {
    let (bx, by, cx, cy) = (b[0] - a[0], b[1] - a[1], c[0] - a[0], c[1] - a[1]);
    let d = 2.0 * (bx * cy - by * cx);
    if d == 0.0 {
        return None;
    }
    let (b2, c2) = (bx * bx + by * by, cx * cx + cy * cy);
    let (x, y) = ((cy * b2 - by * c2) / d, (bx * c2 - cx * b2) / d);
    Some(([a[0] + x, a[1] + y, a[2]], x.hypot(y)))
}

/// Joins open polylines that follow each other end to start, and closes those that come back.
fn joined(figures: Vec<Figure>) -> Vec<Figure> {
    let mut out: Vec<Figure> = Vec::new();
    for figure in figures {
        if let Figure::Polyline { points: next, closed: false, filled: false } = &figure
            && let Some(Figure::Polyline { points, closed: false, filled: false }) = out.last_mut()
            && points.last() == next.first()
        {
            points.extend(next.iter().skip(1));
        } else {
            out.push(figure);
        }
    }
    for figure in &mut out {
        if let Figure::Polyline { points, closed, .. } = figure
            && points.len() > 3
            && points.first() == points.last()
        {
            points.pop();
            *closed = true;
        }
    }
    out
}

/// Width and height if all there is are boxes (flat or with height) and the name of a class of Autodesk's.
fn box_around(figures: &[Figure]) -> Option<[f64; 2]> {
    let is_label = |figure: &Figure| matches!(figure, Figure::Text { value, .. } if value.starts_with("Aec") && value.ends_with(')'));
    if !figures.iter().any(is_label) {
        return None;
    }
    let is_edge = |figure: &Figure| matches!(figure, Figure::Polyline { points, .. } if points.len() == 2);
    if !figures.iter().all(|figure| is_label(figure) || is_rectangle(figure) || is_edge(figure)) {
        return None;
    }
    let rectangle = figures.iter().find(|figure| is_rectangle(figure))?;
    let Figure::Polyline { points, .. } = rectangle else { return None };
    let extent = |axis: usize| {
        let values = || points.iter().filter_map(move |point| point.get(axis).copied());
        values().fold(f64::NEG_INFINITY, f64::max) - values().fold(f64::INFINITY, f64::min)
    };
    Some([extent(0), extent(1)])
}

/// Whether it is a closed rectangle along the axes.
fn is_rectangle(figure: &Figure) -> bool {
    let Figure::Polyline { points, closed: true, .. } = figure else { return false };
    let [a, b, c, d] = points.as_slice() else { return false };
    let level = |a: &Point3, b: &Point3| a[1] == b[1];
    let upright = |a: &Point3, b: &Point3| a[0] == b[0];
    level(a, b) && upright(b, c) && level(c, d) && upright(d, a)
        || upright(a, b) && level(b, c) && upright(c, d) && level(d, a)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chunk(kind: u32, data: &[u8]) -> Vec<u8> {
        let mut bytes = (data.len() as u32 + 8).to_le_bytes().to_vec();
        bytes.extend(kind.to_le_bytes());
        bytes.extend_from_slice(data);
        bytes
    }

    fn graphics(chunks: &[Vec<u8>]) -> Vec<u8> {
        let body = chunks.concat();
        let mut bytes = (body.len() as u32 + 8).to_le_bytes().to_vec();
        bytes.extend((chunks.len() as u32).to_le_bytes());
        bytes.extend(body);
        bytes
    }

    fn reals(values: &[f64]) -> Vec<u8> {
        values.iter().flat_map(|value| value.to_le_bytes()).collect()
    }

    fn line(points: &[[f64; 2]]) -> Vec<u8> {
        let mut data = (points.len() as u32).to_le_bytes().to_vec();
        for [x, y] in points {
            data.extend(reals(&[*x, *y, 0.0]));
        }
        chunk(6, &data)
    }

    fn label(text: &str) -> Vec<u8> {
        let mut data = reals(&[0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 1.0, 0.0, 0.0, 2.5, 1.0, 0.0]);
        data.extend(text.encode_utf16().chain([0]).flat_map(u16::to_le_bytes));
        chunk(36, &data)
    }

    #[test]
    fn lines_that_follow_each_other_are_one_and_may_close() {
        let picture = picture(&graphics(&[
            line(&[[0.0, 0.0], [4.0, 0.0]]),
            line(&[[4.0, 0.0], [4.0, 1.0]]),
            line(&[[4.0, 1.0], [0.0, 0.0]]),
            line(&[[9.0, 9.0], [8.0, 8.0]]),
        ]));
        assert_eq!(picture.figures.len(), 2);
        assert!(matches!(&picture.figures[0], Figure::Polyline { points, closed: true, .. } if points.len() == 3));
        assert_eq!(picture.boxed, None);
    }

    #[test]
    fn a_box_with_the_name_of_its_class_is_a_box() {
        let rectangle = line(&[[0.0, 0.0], [5.0, 0.0], [5.0, 0.2], [0.0, 0.2], [0.0, 0.0]]);
        let boxed = picture(&graphics(&[label("AecDbWall (AecArchBase70)"), rectangle.clone()]));
        assert_eq!((boxed.figures.len(), boxed.boxed), (1, Some([5.0, 0.2])));
        let labelled = picture(&graphics(&[label("M0921"), rectangle]));
        assert_eq!((labelled.figures.len(), labelled.boxed), (2, None));
    }

    #[test]
    fn transforms_apply_and_damage_ends_the_picture() {
        let mut matrix = vec![0.0, -1.0, 0.0, 10.0, 1.0, 0.0, 0.0, 20.0, 0.0, 0.0, 1.0, 0.0];
        matrix.extend([0.0, 0.0, 0.0, 1.0]);
        let chunks = [chunk(29, &reals(&matrix)), line(&[[1.0, 0.0], [2.0, 0.0]]), chunk(31, &[]), vec![255, 0, 0, 0]];
        let picture = picture(&graphics(&chunks));
        let Figure::Polyline { points, .. } = &picture.figures[0] else { panic!("no polyline") };
        assert_eq!(points, &[[10.0, 21.0, 0.0], [10.0, 22.0, 0.0]]);
        for end in 0..40 {
            let _ = super::picture(&graphics(&chunks)[..end]);
        }
    }

    #[test]
    fn an_arc_through_three_points_goes_through_the_middle_one() {
        let arc = chunk(5, &reals(&[1.0, 0.0, 0.0, 0.0, 1.0, 0.0, -1.0, 0.0, 0.0]));
        let picture = picture(&graphics(&[arc]));
        let Figure::Arc { centre, radius, start, end, .. } = picture.figures[0] else { panic!("no arc") };
        assert!(centre[0].abs() < 1e-12 && (radius - 1.0).abs() < 1e-12 && start.abs() < 1e-12);
        assert!((end.unwrap() - std::f64::consts::PI).abs() < 1e-12);
    }
}
