//! A drawing before it has a format: marks with a role, in metres, and the blocks they insert.
//!
//! Writers apply a [`Frame`] (drawing unit, rotation, offset) while they write, so a sketch is never copied.

use std::collections::BTreeMap;

use super::layout::{Point, left_of, length, point};

/// What a mark is for; decides its layer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Role {
    /// Façade lines.
    WallOuter,
    /// Interior wall lines.
    WallInner,
    /// Patterns and fills in walls.
    WallHatch,
    /// Doors.
    Door,
    /// Windows.
    Window,
    /// Columns.
    Column,
    /// Stairs, lifts.
    Stairs,
    /// Movable things.
    Furniture,
    /// Sanitary objects.
    Sanitary,
    /// Room numbers.
    RoomNumber,
    /// Room names and areas.
    RoomName,
    /// Closed polylines of rooms.
    RoomOutline,
    /// Leaders.
    Leader,
    /// Dimensions.
    Dimension,
    /// Axes.
    Grid,
    /// Frame and title block.
    Frame,
    /// Free texts.
    Notes,
}

impl Role {
    /// All roles.
    pub const ALL: [Role; 17] = [
        Role::WallOuter,
        Role::WallInner,
        Role::WallHatch,
        Role::Door,
        Role::Window,
        Role::Column,
        Role::Stairs,
        Role::Furniture,
        Role::Sanitary,
        Role::RoomNumber,
        Role::RoomName,
        Role::RoomOutline,
        Role::Leader,
        Role::Dimension,
        Role::Grid,
        Role::Frame,
        Role::Notes,
    ];
}

/// A vertex of a polyline and the bulge (tan of a quarter of the included angle) of the segment that leaves it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Vertex {
    /// Where.
    pub at: Point,
    /// 0 for straight segments.
    pub bulge: f64,
}

/// Where the insertion point lies in a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Align {
    /// Left end of the baseline.
    Left,
    /// In the middle.
    Centre,
}

/// An attribute value of an inserted block.
#[derive(Debug, Clone, PartialEq)]
pub struct AttributeValue {
    /// Tag.
    pub tag: &'static str,
    /// Value.
    pub value: String,
    /// Middle of the text, in the coordinates of the drawing.
    pub at: Point,
    /// Metres.
    pub height: f64,
}

/// What is drawn.
#[derive(Debug, Clone, PartialEq)]
pub enum Shape {
    /// A straight line.
    Line(Point, Point),
    /// A polyline.
    Polyline {
        /// Its vertices.
        vertices: Vec<Vertex>,
        /// Back to the first.
        closed: bool,
    },
    /// A circular arc, counter-clockwise from `start` to `end` (degrees).
    Arc {
        /// Centre.
        centre: Point,
        /// Metres.
        radius: f64,
        /// Degrees.
        start: f64,
        /// Degrees.
        end: f64,
    },
    /// A circle.
    Circle {
        /// Centre.
        centre: Point,
        /// Metres.
        radius: f64,
    },
    /// A text of one line.
    Text {
        /// Insertion point.
        at: Point,
        /// Metres.
        height: f64,
        /// Degrees counter-clockwise.
        rotation: f64,
        /// The text.
        value: String,
        /// Where `at` lies in it.
        align: Align,
    },
    /// Several lines in one text, centred on `at`.
    Paragraph {
        /// Middle.
        at: Point,
        /// Metres.
        height: f64,
        /// Degrees counter-clockwise.
        rotation: f64,
        /// Lines from top to bottom.
        lines: Vec<String>,
        /// The first line is bold and larger, by format codes.
        formatted: bool,
    },
    /// A block reference.
    Insert {
        /// Name of the block.
        block: String,
        /// Insertion point.
        at: Point,
        /// Degrees counter-clockwise.
        rotation: f64,
        /// Scale along the block's axes.
        scale: (f64, f64),
        /// Attribute values.
        attributes: Vec<AttributeValue>,
    },
    /// A fill: rings by even-odd rule.
    Hatch {
        /// Boundaries.
        rings: Vec<Vec<Vertex>>,
        /// Solid instead of a line pattern.
        solid: bool,
    },
    /// A linear dimension between two points, its line through `through`.
    Dimension {
        /// First point.
        a: Point,
        /// Second point; the dimension is measured along `a` → `b`.
        b: Point,
        /// A point on the dimension line.
        through: Point,
        /// Text height, metres.
        height: f64,
        /// The text.
        value: String,
    },
}

/// A shape with its role.
#[derive(Debug, Clone, PartialEq)]
pub struct Mark {
    /// What it is for.
    pub role: Role,
    /// What is drawn.
    pub shape: Shape,
    /// On the sheet (paper space) instead of in the model.
    pub paper: bool,
}

/// Marks in drawing order and block definitions by name.
#[derive(Debug, Clone, Default)]
pub struct Sketch {
    /// The model, and paper space where marked.
    pub marks: Vec<Mark>,
    /// Block definitions, base point at the origin, metres.
    pub blocks: BTreeMap<String, Vec<Mark>>,
}

impl Sketch {
    /// Draws a shape.
    pub fn draw(&mut self, role: Role, shape: Shape) {
        self.marks.push(Mark { role, shape, paper: false });
    }

    /// Draws a closed polyline through corners.
    pub fn ring(&mut self, role: Role, corners: &[Point]) {
        self.draw(role, closed(corners));
    }

    /// Draws a line of text.
    pub fn text(&mut self, role: Role, at: Point, height: f64, value: impl Into<String>) {
        self.draw(role, Shape::Text { at, height, rotation: 0.0, value: value.into(), align: Align::Centre });
    }
}

/// A closed polyline through corners.
pub fn closed(corners: &[Point]) -> Shape {
    Shape::Polyline { vertices: corners.iter().map(|&at| Vertex { at, bulge: 0.0 }).collect(), closed: true }
}

/// Corners of an upright box.
pub fn box_corners(low: Point, high: Point) -> [Point; 4] {
    [low, point(high.x, low.y), high, point(low.x, high.y)]
}

/// What a dimension looks like: two extension lines, the dimension line with ticks, the text.
pub fn dimension_parts(a: Point, b: Point, through: Point, height: f64, value: &str) -> Vec<Shape> {
    let along = b - a;
    let size = length(along);
    let unit = if size > 0.0 { along / size } else { point(1.0, 0.0) };
    let normal = left_of(unit);
    let depth = (through - a).x * normal.x + (through - a).y * normal.y;
    let side = depth.signum();
    let (a1, b1) = (a + normal * depth, b + normal * depth);
    let tick = (unit + normal) * (height / 2.0);
    let over = normal * (side * height / 2.0);
    let start = normal * (side * height);
    vec![
        Shape::Line(a + start, a1 + over),
        Shape::Line(b + start, b1 + over),
        Shape::Line(a1, b1),
        Shape::Line(a1 - tick, a1 + tick),
        Shape::Line(b1 - tick, b1 + tick),
        Shape::Text {
            at: (a1 + b1) / 2.0 + normal * (height * 0.8),
            height,
            rotation: unit.y.atan2(unit.x).to_degrees(),
            value: value.to_owned(),
            align: Align::Centre,
        },
    ]
}

/// From metres of the plan to units of the drawing.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Frame {
    /// Drawing units in a metre.
    pub scale: f64,
    /// Degrees counter-clockwise.
    pub rotation: f64,
    /// Offset in drawing units, after rotation.
    pub offset: Point,
}

impl Frame {
    /// Only the unit: for block definitions and paper space.
    pub fn unit_only(self) -> Self {
        Self { rotation: 0.0, offset: point(0.0, 0.0), ..self }
    }

    /// A point in drawing units, rounded to 1e-7 units of a metre so that files stay short.
    pub fn point(self, p: Point) -> Point {
        let (sin, cos) = self.rotation.to_radians().sin_cos();
        let q = point(p.x * cos - p.y * sin, p.x * sin + p.y * cos) * self.scale + self.offset;
        point(self.round(q.x), self.round(q.y))
    }

    /// A length in drawing units.
    pub fn length(self, metres: f64) -> f64 {
        self.round(metres * self.scale)
    }

    /// An angle in the drawing, degrees in [0, 360).
    pub fn angle(self, degrees: f64) -> f64 {
        let turned = ((degrees + self.rotation).rem_euclid(360.0) * 1e6).round() / 1e6;
        if turned >= 360.0 { 0.0 } else { turned }
    }

    fn round(self, value: f64) -> f64 {
        // A tenth of a micrometre or finer, as a power of ten of the drawing unit.
        let digits = if self.scale >= 100.0 { 1e5 } else { 1e7 };
        let rounded = (value * digits).round() / digits;
        if rounded == 0.0 { 0.0 } else { rounded }
    }
}

/// The end points, in the plan's metres, of an arc.
pub fn arc_point(centre: Point, radius: f64, degrees: f64) -> Point {
    let (sin, cos) = degrees.to_radians().sin_cos();
    centre + point(cos, sin) * radius
}
