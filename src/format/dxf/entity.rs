//! One entity: dispatch by its name, and the simple kinds (LINE, POINT, SOLID, 3DFACE, RAY …).
//!
//! Corners and points of LINE, POINT, 3DFACE, RAY and XLINE are world coordinates whatever their extrusion says;
//! SOLID and TRACE lie in their object coordinate system.

use super::codes;
use super::reader::{Common, Endless, Reader};
use crate::drawing::{FillRule, Geometry, Point, Symbol, Vec2};
use crate::format::ReadError;

/// Names that are read; used to recognize them in other spellings.
const KNOWN: &[&[u8]] = &[
    b"LINE",
    b"LWPOLYLINE",
    b"POLYLINE",
    b"VERTEX",
    b"SEQEND",
    b"ARC",
    b"CIRCLE",
    b"ELLIPSE",
    b"SPLINE",
    b"HELIX",
    b"TEXT",
    b"MTEXT",
    b"ATTRIB",
    b"ATTDEF",
    b"INSERT",
    b"HATCH",
    b"MPOLYGON",
    b"SOLID",
    b"TRACE",
    b"3DFACE",
    b"3DLINE",
    b"POINT",
    b"RAY",
    b"XLINE",
    b"MLINE",
    b"LEADER",
    b"MULTILEADER",
    b"TOLERANCE",
    b"DIMENSION",
    b"ARC_DIMENSION",
    b"LARGE_RADIAL_DIMENSION",
    b"ACAD_TABLE",
    b"IMAGE",
    b"WIPEOUT",
    b"MESH",
    b"REGION",
    b"BODY",
    b"3DSOLID",
    b"PLANESURFACE",
];

/// Reads the entity of that name up to the next record.
pub(super) fn read<'a>(reader: &mut Reader<'a, '_>, name: &'a [u8]) -> Result<(), ReadError> {
    let kind = reader.symbol(name);
    reader.dictionary = 0;
    match name {
        b"LINE" | b"3DLINE" => reader.line(kind),
        b"LWPOLYLINE" => reader.lwpolyline(kind),
        b"INSERT" => reader.insert(kind),
        b"HATCH" | b"MPOLYGON" => reader.hatch(kind),
        b"POLYLINE" => reader.polyline(kind),
        b"ARC" => reader.arc(kind),
        b"CIRCLE" => reader.circle(kind),
        b"TEXT" => reader.text(kind),
        b"MTEXT" => reader.mtext(kind),
        b"ATTDEF" => reader.attribute_definition(kind),
        b"ATTRIB" => reader.attribute_alone(kind),
        b"ELLIPSE" => reader.ellipse(kind),
        b"SPLINE" | b"HELIX" => reader.spline(kind),
        b"SOLID" | b"TRACE" => reader.solid(kind),
        b"3DFACE" => reader.face(kind),
        b"POINT" => reader.point(kind),
        b"DIMENSION" | b"ARC_DIMENSION" | b"LARGE_RADIAL_DIMENSION" => reader.dimension(kind, name),
        b"ACAD_TABLE" => reader.table(kind),
        b"LEADER" => reader.leader(kind),
        b"MULTILEADER" => reader.multileader(kind),
        b"TOLERANCE" => reader.tolerance(kind),
        b"MLINE" => reader.mline(kind),
        b"RAY" | b"XLINE" => reader.endless(kind, name == b"XLINE"),
        b"IMAGE" | b"WIPEOUT" => reader.image_frame(kind),
        b"MESH" => reader.mesh(kind),
        b"REGION" | b"BODY" | b"3DSOLID" | b"PLANESURFACE" => reader.solid_model(kind),
        b"SEQEND" => {
            reader.skip_record();
            Ok(())
        }
        b"ACAD_PROXY_ENTITY" => reader.proxy(kind),
        _ => reader.unknown(kind, name),
    }
}

impl<'a> Reader<'a, '_> {
    /// An entity of a kind that is not represented, or of a known one in lower case.
    #[cold]
    fn unknown(&mut self, kind: Symbol, name: &'a [u8]) -> Result<(), ReadError> {
        let known = KNOWN.iter().find(|known| known.eq_ignore_ascii_case(name) && **known != name);
        if let Some(known) = known {
            self.fixed(&codes::NAME_CASE, || super::reader::shown(name));
            return read(self, known);
        }
        let (mut common, mut graphics) = (Common::new(), self.graphics());
        while let Some(tag) = self.field() {
            if !graphics.take(&tag) {
                self.common(&mut common, tag);
            }
        }
        self.pictured(kind, &common, graphics)
    }

    /// A proxy stands for an entity of an application: shown by its picture, and counted under that entity's name.
    fn proxy(&mut self, kind: Symbol) -> Result<(), ReadError> {
        let (mut common, mut graphics) = (Common::new(), self.graphics());
        let mut class = 0;
        while let Some(tag) = self.field() {
            if graphics.take(&tag) {
                continue;
            }
            match tag.code {
                91 if class == 0 => class = self.integer(tag),
                _ => self.common(&mut common, tag),
            }
        }
        // Class numbers start at 500 in the order of the CLASSES section.
        let name = usize::try_from(class - 500).ok().and_then(|index| self.classes.get(index).copied());
        let kind = match name {
            Some(name) => {
                let name = format!("ACAD_PROXY_ENTITY {}", self.name(name));
                self.out.intern(&name)
            }
            None => kind,
        };
        self.pictured(kind, &common, graphics)
    }

    fn line(&mut self, kind: Symbol) -> Result<(), ReadError> {
        let mut common = Common::new();
        let (mut from, mut to) = (Point::ZERO, Point::ZERO);
        while let Some(tag) = self.field() {
            match tag.code {
                10 => from.x = self.real(tag),
                20 => from.y = self.real(tag),
                11 => to.x = self.real(tag),
                21 => to.y = self.real(tag),
                _ => self.common(&mut common, tag),
            }
        }
        if self.is_elsewhere(kind, &common) {
            return Ok(());
        }
        if from == to {
            self.left_out(&codes::NO_EXTENT, kind, &common);
            return Ok(());
        }
        let mut path = self.out.path();
        path.move_to(from);
        path.line_to(to);
        let path = path.finish()?;
        self.push_line(kind, &common, path)
    }

    fn point(&mut self, kind: Symbol) -> Result<(), ReadError> {
        let mut common = Common::new();
        let mut at = Point::ZERO;
        while let Some(tag) = self.field() {
            match tag.code {
                10 => at.x = self.real(tag),
                20 => at.y = self.real(tag),
                _ => self.common(&mut common, tag),
            }
        }
        if self.is_elsewhere(kind, &common) {
            return Ok(());
        }
        if !at.is_finite() {
            self.left_out(&codes::NOT_FINITE, kind, &common);
            return Ok(());
        }
        self.push(kind, &common, Geometry::Point(at))
    }

    /// SOLID and TRACE: the third and fourth corners are swapped by definition; a repeated fourth is a triangle.
    fn solid(&mut self, kind: Symbol) -> Result<(), ReadError> {
        let (common, corners) = self.corners();
        if self.is_elsewhere(kind, &common) {
            return Ok(());
        }
        let ocs = common.ocs();
        let [a, b, c, d] = corners.map(|corner| ocs.point(corner));
        self.push_corners(kind, &common, [a, b, d, c])
    }

    /// 3DFACE: corners in order, in the world.
    fn face(&mut self, kind: Symbol) -> Result<(), ReadError> {
        let (common, corners) = self.corners();
        if self.is_elsewhere(kind, &common) {
            return Ok(());
        }
        self.push_corners(kind, &common, corners.map(|[x, y, _]| Point::new(x, y)))
    }

    fn corners(&mut self) -> (Common, [[f64; 3]; 4]) {
        let mut common = Common::new();
        let mut corners = [[0.0; 3]; 4];
        let mut num_corners = 0;
        while let Some(tag) = self.field() {
            let (axis, corner) = (tag.code / 10, tag.code % 10);
            if (1..=3).contains(&axis) && (0..4).contains(&corner) {
                corners[corner as usize][axis as usize - 1] = self.real(tag);
                num_corners = num_corners.max(corner + 1);
            } else {
                self.common(&mut common, tag);
            }
        }
        // Corners that are missing repeat the last one.
        let last = num_corners.clamp(1, 4) as usize - 1;
        let repeated = corners[last];
        corners[last..].fill(repeated);
        (common, corners)
    }

    fn push_corners(&mut self, kind: Symbol, common: &Common, corners: [Point; 4]) -> Result<(), ReadError> {
        let twice_area: f64 = (0..4).map(|i| corners[i].to_vec2().cross(corners[(i + 1) % 4].to_vec2())).sum();
        // Corners in a bow tie may enclose nothing in sum, so what is left out must be flat and not only balanced.
        let is_flat = twice_area == 0.0 && {
            let span = corners[1] - corners[0];
            corners.iter().all(|corner| span.cross(*corner - corners[0]) == 0.0) && corners[1] != corners[0]
                || corners.iter().all(|corner| *corner == corners[0])
        };
        if is_flat {
            return self.push_flat(kind, common, corners);
        }
        let mut path = self.out.path();
        path.move_to(corners[0]);
        for index in 1..4 {
            if corners[index] != corners[index - 1] && !(index == 3 && corners[3] == corners[0]) {
                path.line_to(corners[index]);
            }
        }
        path.close();
        match path.finish()? {
            Some(path) => self.push(kind, common, Geometry::Area(path, FillRule::EvenOdd)),
            None => {
                self.left_out(&codes::NOT_FINITE, kind, common);
                Ok(())
            }
        }
    }

    /// Corners on one line are that line: an upright face seen from above, a SOLID of two corners.
    fn push_flat(&mut self, kind: Symbol, common: &Common, corners: [Point; 4]) -> Result<(), ReadError> {
        let key = |point: &Point| (point.x, point.y);
        let (mut low, mut high) = (corners[0], corners[0]);
        for corner in corners {
            low = if key(&corner) < key(&low) { corner } else { low };
            high = if key(&corner) > key(&high) { corner } else { high };
        }
        if low == high {
            self.left_out(&codes::NO_EXTENT, kind, common);
            return Ok(());
        }
        let mut path = self.out.path();
        path.move_to(low);
        path.line_to(high);
        let path = path.finish()?;
        self.push_line(kind, common, path)
    }

    /// RAY and XLINE wait for the extents of what they cross.
    fn endless(&mut self, kind: Symbol, both_ways: bool) -> Result<(), ReadError> {
        let mut common = Common::new();
        let (mut base, mut direction) = (Point::ZERO, Vec2::ZERO);
        while let Some(tag) = self.field() {
            match tag.code {
                10 => base.x = self.real(tag),
                20 => base.y = self.real(tag),
                11 => direction.x = self.real(tag),
                21 => direction.y = self.real(tag),
                _ => self.common(&mut common, tag),
            }
        }
        if self.is_elsewhere(kind, &common) {
            return Ok(());
        }
        if !base.is_finite() || !direction.is_finite() {
            self.left_out(&codes::NOT_FINITE, kind, &common);
        } else if direction == Vec2::ZERO {
            self.left_out(&codes::NO_EXTENT, kind, &common);
        } else {
            let block = self.open_block;
            self.later.endless.push(Endless { kind, common, base, direction, both_ways, block });
        }
        Ok(())
    }
}
