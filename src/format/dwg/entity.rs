//! One entity of a database as a DXF record, field by field.
//!
//! Values are stored alike in both formats; angles are radians here and degrees there. What the database keeps
//! apart (polyline kinds, array inserts) has one name in DXF.

use cadkit_dwg::native::{
    Attrib, Dimension, DwgObject, Face, FaceKind, Hatch, HatchEdgeData, HatchPath, Image, Insert, LwPolyline, MText,
    ObjectData, Polyline, PolylineKind, Spline, Text,
};

use super::document::{Colour, Writer};
use super::{acis, fit, raw};

/// Put before the name of a kind that has no content, so that no reader looks for it.
pub(super) const UNKNOWN: &str = "?";
/// ATTRIB.
const ATTRIBUTES: [u16; 1] = [0x02];
/// VERTEX_2D, _3D, _MESH, _PFACE and _PFACE_FACE.
const VERTICES: [u16; 5] = [0x0A, 0x0B, 0x0C, 0x0D, 0x0E];

impl Writer<'_> {
    /// Writes an entity, or counts it if its content is not known.
    pub(super) fn entity(&mut self, object: &DwgObject) {
        match &object.data {
            ObjectData::Line(line) => {
                self.begin("LINE", object);
                self.tags.point3(10, line.start);
                self.tags.point3(11, line.end);
                self.tags.extrusion(line.extrusion);
            }
            ObjectData::Point(point) => {
                self.begin("POINT", object);
                self.tags.point3(10, point.position);
            }
            ObjectData::Circle(circle) => {
                self.begin("CIRCLE", object);
                self.tags.point3(10, circle.center);
                self.tags.real(40, circle.radius);
                self.tags.extrusion(circle.extrusion);
            }
            ObjectData::Arc(arc) => {
                self.begin("ARC", object);
                self.tags.point3(10, arc.center);
                self.tags.real(40, arc.radius);
                self.tags.extrusion(arc.extrusion);
                self.tags.angle(50, arc.start_angle);
                self.tags.angle(51, arc.end_angle);
            }
            ObjectData::Ellipse(ellipse) => {
                self.begin("ELLIPSE", object);
                self.tags.point3(10, ellipse.center);
                self.tags.point3(11, ellipse.major_axis);
                self.tags.extrusion(ellipse.extrusion);
                self.tags.real(40, ellipse.ratio);
                self.tags.real(41, ellipse.start);
                self.tags.real(42, ellipse.end);
            }
            ObjectData::Spline(spline) => self.spline(object, spline),
            ObjectData::LwPolyline(polyline) => self.lwpolyline(object, polyline),
            ObjectData::Polyline(polyline) => self.polyline(object, polyline),
            ObjectData::Face(face) => self.face(object, face),
            ObjectData::Text(text) => {
                self.begin("TEXT", object);
                self.text(text, &text.value, 73);
            }
            ObjectData::MText(text) => {
                self.begin("MTEXT", object);
                self.mtext(text);
            }
            ObjectData::AttDef(attribute) => self.attribute("ATTDEF", object, attribute),
            ObjectData::Attrib(attribute) => self.attribute("ATTRIB", object, attribute),
            ObjectData::Insert(insert) => self.insert(object, insert),
            ObjectData::Dimension(dimension) => self.dimension(object, dimension),
            ObjectData::Leader(leader) => {
                self.begin("LEADER", object);
                self.tags.integer(71, i64::from(leader.arrowhead));
                self.tags.integer(72, i64::from(leader.path_type));
                self.tags.integer(73, i64::from(leader.annotation_type));
                self.tags.count(76, leader.points.len());
                for point in &leader.points {
                    self.tags.point3(10, *point);
                }
                self.tags.extrusion(leader.extrusion);
            }
            ObjectData::Hatch(hatch) => self.hatch(object, hatch),
            ObjectData::Image(image) => self.image(object, image),
            ObjectData::Viewport(viewport) => {
                self.begin("VIEWPORT", object);
                self.tags.point3(10, viewport.center);
                self.tags.real(40, viewport.width);
                self.tags.real(41, viewport.height);
            }
            ObjectData::RayLine(ray) => {
                self.begin(&object.type_name, object);
                self.tags.point3(10, ray.point);
                self.tags.point3(11, ray.direction);
            }
            ObjectData::Tolerance(tolerance) => {
                self.begin("TOLERANCE", object);
                self.tags.point3(10, tolerance.insertion);
                self.tags.text(1, &tolerance.text);
                self.tags.point3(11, tolerance.direction);
                self.tags.extrusion(tolerance.extrusion);
            }
            ObjectData::MLine(_) => self.mline(object),
            ObjectData::Block { .. }
            | ObjectData::EndBlock
            | ObjectData::Seqend
            | ObjectData::Vertex(_)
            | ObjectData::PfaceFace(_) => {}
            ObjectData::Unparsed | ObjectData::Acis(_) => self.pictured(object),
            _ => self.begin(&object.type_name, object),
        }
    }

    /// Begins a record with the fields every entity has.
    pub(super) fn begin(&mut self, name: &str, object: &DwgObject) {
        self.tags.record(name);
        self.tags.handle(5, object.handle);
        if self.in_paper {
            self.tags.integer(67, 1);
        }
        let Some(common) = &object.common.entity else { return };
        if let Some(layer) = self.layer_name(common.layer) {
            self.tags.text(8, layer);
        }
        let book = common.color_book.and_then(|handle| self.object(handle)).map(|object| &object.data);
        let stored = match book {
            Some(ObjectData::DbColor(colour)) => colour,
            _ => &common.color,
        };
        match Colour::of(stored) {
            Colour::ByLayer => {}
            Colour::ByBlock => self.tags.integer(62, 0),
            Colour::Index(index) => self.tags.integer(62, i64::from(index)),
            Colour::Rgb(rgb) => self.tags.integer(420, i64::from(rgb)),
        }
        if common.invisible {
            self.tags.integer(60, 1);
        }
    }

    fn spline(&mut self, object: &DwgObject, spline: &Spline) {
        self.begin("SPLINE", object);
        if let Some(curve) = curve_of(spline) {
            self.tags.integer(70, 0);
            self.tags.integer(71, 3);
            self.tags.count(72, curve.knots.len());
            self.tags.count(73, curve.control_points.len());
            for knot in &curve.knots {
                self.tags.real(40, *knot);
            }
            for point in &curve.control_points {
                self.tags.point3(10, *point);
            }
            return;
        }
        let flags = i64::from(spline.closed) | i64::from(spline.periodic) << 1 | i64::from(spline.rational) << 2;
        self.tags.integer(70, flags);
        self.tags.integer(71, i64::from(spline.degree));
        self.tags.count(72, spline.knots.len());
        self.tags.count(73, spline.control_points.len());
        self.tags.count(74, spline.fit_points.len());
        for (code, tangent) in [(12, spline.start_tangent), (13, spline.end_tangent)] {
            // A tangent without length is one that was never given.
            if let Some(tangent) = tangent.filter(|tangent| *tangent != [0.0; 3]) {
                self.tags.point3(code, tangent);
            }
        }
        for knot in &spline.knots {
            self.tags.real(40, *knot);
        }
        for (index, point) in spline.control_points.iter().enumerate() {
            self.tags.point3(10, *point);
            if let Some(weight) = spline.weights.get(index) {
                self.tags.real(41, *weight);
            }
        }
        for point in &spline.fit_points {
            self.tags.point3(11, *point);
        }
    }

    fn lwpolyline(&mut self, object: &DwgObject, polyline: &LwPolyline) {
        const CONSTANT_WIDTH: u16 = 0x4;
        self.begin("LWPOLYLINE", object);
        self.tags.count(90, polyline.points.len());
        self.tags.integer(70, i64::from(polyline.closed()));
        if polyline.flags & CONSTANT_WIDTH != 0 || polyline.widths.is_empty() {
            self.tags.real(43, polyline.const_width);
        }
        self.tags.real(38, polyline.elevation);
        for (index, point) in polyline.points.iter().enumerate() {
            self.tags.point2(10, *point);
            if let Some([start, end]) = polyline.widths.get(index) {
                self.tags.real(40, *start);
                self.tags.real(41, *end);
            }
            if let Some(bulge) = polyline.bulges.get(index).filter(|bulge| **bulge != 0.0) {
                self.tags.real(42, *bulge);
            }
        }
        self.tags.extrusion(polyline.extrusion);
    }

    fn polyline(&mut self, object: &DwgObject, polyline: &Polyline) {
        let kind = match polyline.kind {
            PolylineKind::ThreeD => 8,
            PolylineKind::Mesh => 16,
            PolylineKind::PolyFace => 64,
            _ => 0,
        };
        self.begin("POLYLINE", object);
        self.tags.integer(66, 1);
        self.tags.point3(10, [0.0, 0.0, polyline.elevation]);
        self.tags.integer(70, i64::from(polyline.flags) | kind);
        self.tags.real(40, polyline.start_width);
        self.tags.real(41, polyline.end_width);
        for (code, count) in [(71, polyline.m), (72, polyline.n), (73, polyline.m_density), (74, polyline.n_density)] {
            self.tags.integer(code, i64::from(count));
        }
        self.tags.integer(75, i64::from(polyline.curve_type));
        self.tags.extrusion(polyline.extrusion);
        for child in self.children(&polyline.vertices, polyline.vertices_are_range, &VERTICES) {
            match &child.data {
                ObjectData::Vertex(vertex) => {
                    self.begin("VERTEX", child);
                    self.tags.point3(10, vertex.position);
                    let kind = match child.type_code {
                        0x0B => 32,
                        0x0C => 64,
                        0x0D => 64 | 128,
                        _ => 0,
                    };
                    self.tags.integer(70, i64::from(vertex.flags) | kind);
                    self.tags.real(40, vertex.start_width);
                    self.tags.real(41, vertex.end_width);
                    self.tags.real(42, vertex.bulge);
                }
                ObjectData::PfaceFace(face) => {
                    self.begin("VERTEX", child);
                    self.tags.integer(70, 128);
                    for (code, index) in (71..).zip(face.indices) {
                        self.tags.integer(code, i64::from(index));
                    }
                }
                _ => {}
            }
        }
        self.tags.record("SEQEND");
    }

    fn face(&mut self, object: &DwgObject, face: &Face) {
        let name = match face.kind {
            FaceKind::Trace => "TRACE",
            FaceKind::Face3d => "3DFACE",
            _ => "SOLID",
        };
        self.begin(name, object);
        for (code, corner) in (10..).zip(face.corners) {
            self.tags.point3(code, corner);
        }
        if face.kind != FaceKind::Face3d {
            self.tags.extrusion(face.extrusion);
        }
    }

    fn text(&mut self, text: &Text, value: &str, vertical: i16) {
        self.tags.point3(10, [text.insertion[0], text.insertion[1], text.elevation]);
        if let Some([x, y]) = text.alignment {
            self.tags.point3(11, [x, y, text.elevation]);
        }
        self.tags.real(40, text.height);
        self.tags.text(1, value);
        self.tags.angle(50, text.rotation);
        self.tags.real(41, text.width_factor);
        self.tags.integer(71, i64::from(text.generation));
        self.tags.integer(72, i64::from(text.halign));
        self.tags.integer(vertical, i64::from(text.valign));
        self.tags.extrusion(text.extrusion);
    }

    fn mtext(&mut self, text: &MText) {
        self.tags.point3(10, text.insertion);
        self.tags.real(40, text.height);
        self.tags.real(41, text.rect_width);
        self.tags.integer(71, i64::from(text.attachment));
        self.tags.integer(72, i64::from(text.direction));
        self.tags.text(1, &text.value);
        self.tags.extrusion(text.extrusion);
        self.tags.point3(11, text.x_axis);
        self.tags.real(42, text.extents_width);
        self.tags.real(43, text.extents_height);
    }

    fn attribute(&mut self, name: &str, object: &DwgObject, attribute: &Attrib) {
        self.begin(name, object);
        self.text(&attribute.text, &attribute.text.value, 74);
        self.tags.text(2, &attribute.tag);
        self.tags.integer(70, i64::from(attribute.flags));
        if let Some(prompt) = &attribute.prompt {
            self.tags.text(3, prompt);
        }
        // An attribute of several lines carries its MTEXT within.
        if let Some(text) = &attribute.mtext {
            self.tags.text(101, "Embedded Object");
            self.mtext(text);
        }
    }

    fn insert(&mut self, object: &DwgObject, insert: &Insert) {
        self.begin("INSERT", object);
        if let Some(dictionary) = object.common.xdictionary {
            self.tags.text(102, "{ACAD_XDICTIONARY");
            self.tags.handle(360, dictionary);
            self.tags.text(102, "}");
            self.dictionaries.push(dictionary);
        }
        let attributes = self.children(&insert.attribs, insert.attribs_are_range, &ATTRIBUTES);
        if !attributes.is_empty() {
            self.tags.integer(66, 1);
        }
        let block = self.block_name(insert.block_header).unwrap_or("").to_owned();
        self.tags.text(2, &block);
        self.tags.point3(10, insert.position);
        for (code, scale) in (41..).zip(insert.scale) {
            self.tags.real(code, scale);
        }
        self.tags.angle(50, insert.rotation);
        if let Some(array) = insert.array {
            self.tags.integer(70, i64::from(array.columns));
            self.tags.integer(71, i64::from(array.rows));
            self.tags.real(44, array.column_spacing);
            self.tags.real(45, array.row_spacing);
        }
        self.tags.extrusion(insert.extrusion);
        if attributes.is_empty() {
            return;
        }
        for attribute in attributes {
            match &attribute.data {
                ObjectData::Attrib(data) => self.attribute("ATTRIB", attribute, data),
                _ => self.pictured(attribute),
            }
        }
        self.tags.record("SEQEND");
    }

    fn dimension(&mut self, object: &DwgObject, dimension: &Dimension) {
        self.begin("DIMENSION", object);
        if let Some(block) = self.block_name(dimension.block).map(str::to_owned) {
            self.tags.text(2, &block);
        }
        let kind = match dimension.type_code {
            0x14 => 6,
            0x15 => 0,
            0x16 => 1,
            0x17 => 5,
            0x18 => 2,
            0x19 => 4,
            0x1A => 3,
            _ => 0,
        };
        const OWN_BLOCK: i64 = 32;
        self.tags.integer(70, kind | OWN_BLOCK);
        self.tags.point3(10, dimension.pt10);
        let [x, y] = dimension.text_midpoint;
        self.tags.point3(11, [x, y, dimension.elevation]);
        let [x, y] = dimension.pt12;
        self.tags.point3(12, [x, y, dimension.elevation]);
        for (code, point) in [(13, dimension.pt13), (14, dimension.pt14), (15, dimension.pt15)] {
            if let Some(point) = point {
                self.tags.point3(code, point);
            }
        }
        if let Some([x, y]) = dimension.pt16 {
            self.tags.point3(16, [x, y, dimension.elevation]);
        }
        self.tags.text(1, &dimension.user_text);
        if let Some(measurement) = dimension.measurement {
            self.tags.real(42, measurement);
        }
        if let Some(rotation) = dimension.rotation {
            self.tags.angle(50, rotation);
        }
        self.tags.extrusion(dimension.extrusion);
    }

    fn hatch(&mut self, object: &DwgObject, hatch: &Hatch) {
        self.begin("HATCH", object);
        self.tags.point3(10, [0.0, 0.0, hatch.elevation]);
        self.tags.extrusion(hatch.extrusion);
        self.tags.text(2, &hatch.pattern);
        self.tags.integer(70, i64::from(hatch.solid));
        self.tags.integer(71, i64::from(hatch.associative));
        self.tags.count(91, hatch.paths.len());
        for path in &hatch.paths {
            self.hatch_path(path);
        }
        self.tags.integer(75, i64::from(hatch.style));
        self.tags.integer(76, i64::from(hatch.pattern_type));
        if !hatch.solid {
            self.tags.angle(52, hatch.angle);
            self.tags.real(41, hatch.scale);
        }
        self.tags.integer(98, 0);
        if hatch.gradient == Some(true) {
            self.tags.integer(450, 1);
            self.tags.text(470, &hatch.gradient_name);
        }
    }

    fn hatch_path(&mut self, path: &HatchPath) {
        const POLYLINE: i32 = 2;
        self.tags.integer(92, i64::from(path.flags));
        if path.flags & POLYLINE != 0 {
            self.tags.integer(72, i64::from(!path.bulges.is_empty()));
            self.tags.integer(73, i64::from(path.closed));
            self.tags.count(93, path.polyline.len());
            for (index, point) in path.polyline.iter().enumerate() {
                self.tags.point2(10, *point);
                if let Some(bulge) = path.bulges.get(index) {
                    self.tags.real(42, *bulge);
                }
            }
        } else {
            self.tags.count(93, path.edges.len());
            for edge in &path.edges {
                self.hatch_edge(edge);
            }
        }
        self.tags.integer(97, 0);
    }

    fn hatch_edge(&mut self, edge: &HatchEdgeData) {
        match edge {
            HatchEdgeData::Line { start, end } => {
                self.tags.integer(72, 1);
                self.tags.point2(10, *start);
                self.tags.point2(11, *end);
            }
            HatchEdgeData::Arc { center, radius, start, end, ccw } => {
                self.tags.integer(72, 2);
                self.tags.point2(10, *center);
                self.tags.real(40, *radius);
                self.tags.angle(50, *start);
                self.tags.angle(51, *end);
                self.tags.integer(73, i64::from(*ccw));
            }
            HatchEdgeData::Ellipse { center, major_axis, ratio, start, end, ccw } => {
                self.tags.integer(72, 3);
                self.tags.point2(10, *center);
                self.tags.point2(11, *major_axis);
                self.tags.real(40, *ratio);
                self.tags.angle(50, *start);
                self.tags.angle(51, *end);
                self.tags.integer(73, i64::from(*ccw));
            }
            HatchEdgeData::Spline {
                degree,
                rational,
                periodic,
                knots,
                control_points,
                weights,
                fit_points,
                tangents,
            } => {
                self.tags.integer(72, 4);
                self.tags.integer(94, i64::from(*degree));
                self.tags.integer(73, i64::from(*rational));
                self.tags.integer(74, i64::from(*periodic));
                self.tags.count(95, knots.len());
                self.tags.count(96, control_points.len());
                for knot in knots {
                    self.tags.real(40, *knot);
                }
                for (index, point) in control_points.iter().enumerate() {
                    self.tags.point2(10, *point);
                    if let Some(weight) = weights.get(index) {
                        self.tags.real(42, *weight);
                    }
                }
                self.tags.count(97, fit_points.len());
                for point in fit_points {
                    self.tags.point2(11, *point);
                }
                if let Some([start, end]) = tangents {
                    self.tags.point2(12, *start);
                    self.tags.point2(13, *end);
                }
            }
            _ => {}
        }
    }

    fn image(&mut self, object: &DwgObject, image: &Image) {
        self.begin(&object.type_name, object);
        self.tags.point3(10, image.insertion);
        self.tags.point3(11, image.u);
        self.tags.point3(12, image.v);
        self.tags.point2(13, image.size);
        self.tags.integer(70, i64::from(image.flags));
        self.tags.integer(280, i64::from(image.clipping));
        self.tags.integer(71, i64::from(image.clip_type));
        self.tags.count(91, image.clip_vertices.len());
        for point in &image.clip_vertices {
            self.tags.point2(14, *point);
        }
        if let Some(inside) = image.clip_inside {
            self.tags.integer(290, i64::from(inside));
        }
    }

    /// MLINE: the vertices with the directions of their joints and where each element of the style crosses them.
    fn mline(&mut self, object: &DwgObject) {
        let Some(mline) = raw::mline(self.file.version, object) else {
            self.unsupported(object);
            return;
        };
        self.begin("MLINE", object);
        self.tags.real(40, mline.scale);
        self.tags.integer(70, i64::from(mline.justification));
        self.tags.integer(71, i64::from(mline.flags));
        self.tags.count(72, mline.vertices.len());
        self.tags.integer(73, i64::from(mline.num_lines));
        self.tags.point3(10, mline.base);
        self.tags.extrusion(mline.extrusion);
        for vertex in &mline.vertices {
            self.tags.point3(11, vertex.at);
            self.tags.point3(12, vertex.direction);
            self.tags.point3(13, vertex.miter);
            for element in &vertex.elements {
                self.tags.count(74, element.len());
                for parameter in element {
                    self.tags.real(41, *parameter);
                }
                self.tags.integer(75, 0);
            }
        }
    }

    /// An entity without decoded content: by the block or the curve it consists of, else by its picture.
    fn pictured(&mut self, object: &DwgObject) {
        match object.type_name.as_str() {
            "HELIX" => {
                if let Some(spline) = raw::helix(self.file.version, object) {
                    self.helix(object, &spline);
                    return;
                }
            }
            "ARC_DIMENSION" | "LARGE_RADIAL_DIMENSION" => {
                if let Some(block) = self.dimension_block(object) {
                    self.begin(&object.type_name, object);
                    self.tags.text(2, &block);
                    self.tags.integer(70, 32);
                    return;
                }
            }
            "MULTILEADER" if self.multileader(object) => return,
            "MESH" if self.mesh(object) => return,
            "ACAD_TABLE" if self.table_by_block(object) => return,
            _ => {}
        }
        if !self.picture(object) && !self.solid(object) {
            self.unsupported(object);
        }
    }

    /// A solid, body or region whose geometry can be told; whether it can.
    fn solid(&mut self, object: &DwgObject) -> bool {
        /// Longest value of a group.
        const LONGEST: usize = 255;
        if !matches!(object.type_name.as_str(), "3DSOLID" | "REGION" | "BODY") {
            return false;
        }
        let Some(text) = acis::lines(self.file.version, object) else { return false };
        self.begin(&object.type_name, object);
        for line in text.split(|byte| matches!(byte, b'\n' | b'\r')).filter(|line| !line.is_empty()) {
            for (index, chunk) in line.chunks(LONGEST).enumerate() {
                let value = String::from_utf8_lossy(chunk).replace('^', "^ ");
                self.tags.text(if index == 0 { 1 } else { 3 }, &value);
            }
        }
        true
    }

    /// The anonymous block of a dimension, among the handles an object refers to.
    fn dimension_block(&self, object: &DwgObject) -> Option<String> {
        let names = raw::handles(object).into_iter().filter_map(|handle| self.block_name(Some(handle)));
        names.map(str::to_owned).find(|name| name.starts_with("*D"))
    }

    fn helix(&mut self, object: &DwgObject, spline: &raw::Spline) {
        self.begin("HELIX", object);
        self.tags.integer(70, i64::from(spline.closed) | i64::from(!spline.weights.is_empty()) << 2);
        self.tags.integer(71, i64::from(spline.degree));
        self.tags.count(72, spline.knots.len());
        self.tags.count(73, spline.control_points.len());
        self.tags.count(74, spline.fit_points.len());
        for knot in &spline.knots {
            self.tags.real(40, *knot);
        }
        for (index, point) in spline.control_points.iter().enumerate() {
            self.tags.point3(10, *point);
            if let Some(weight) = spline.weights.get(index) {
                self.tags.real(41, *weight);
            }
        }
        for point in &spline.fit_points {
            self.tags.point3(11, *point);
        }
    }

    /// A record without content: the reader counts it by its name, on its sheet.
    fn unsupported(&mut self, object: &DwgObject) {
        self.begin(&format!("{UNKNOWN}{}", object.type_name), object);
    }
}

/// The curve of a spline that is given by fit points alone, spaced otherwise than by chords.
fn curve_of(spline: &Spline) -> Option<fit::Cubic> {
    let spacing = match spline.knot_parameter? {
        1 => fit::Spacing::SquareRoot,
        2 => fit::Spacing::Uniform,
        _ => return None,
    };
    if !spline.control_points.is_empty() || spline.closed {
        return None;
    }
    let given = |tangent: Option<[f64; 3]>| tangent.filter(|tangent| *tangent != [0.0; 3]);
    fit::through(&spline.fit_points, [given(spline.start_tangent), given(spline.end_tangent)], spacing)
}
