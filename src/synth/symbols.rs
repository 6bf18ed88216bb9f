//! Doors, windows, furniture: drawn once in their own coordinates, inserted as blocks or exploded.
//!
//! Door symbols lie with the hinge at the origin, the wall along +x and the swing towards +y.

use std::collections::BTreeMap;

use super::layout::{Opening, OpeningKind, Point, left_of, point};
use super::sketch::{AttributeValue, Mark, Role, Shape, Sketch, Vertex, arc_point, box_corners, closed};
use super::style::Style;

fn mark(role: Role, shape: Shape) -> Mark {
    Mark { role, shape, paper: false }
}

/// A swinging leaf of `width` metres, its arc from the latch to the leaf's end.
fn leaf(width: f64, style: &Style) -> Vec<Mark> {
    let tip = arc_point(point(0.0, 0.0), width, style.open_degrees);
    let mut marks = vec![mark(
        Role::Door,
        Shape::Arc { centre: point(0.0, 0.0), radius: width, start: 0.0, end: style.open_degrees },
    )];
    if style.leaf_boxes {
        let side = left_of(tip) / width * -0.04;
        marks.push(mark(Role::Door, closed(&[point(0.0, 0.0), side, tip + side, tip])));
    } else {
        marks.push(mark(Role::Door, Shape::Line(point(0.0, 0.0), tip)));
    }
    marks
}

/// The symbol of an opening of `width` metres in a wall `thickness` metres thick.
fn door_symbol(kind: OpeningKind, width: f64, style: &Style) -> Vec<Mark> {
    match kind {
        OpeningKind::DoubleDoor => {
            let mut marks = leaf(width / 2.0, style);
            let other = marks.iter().map(|m| mark(m.role, mirror_x(&m.shape, width))).collect::<Vec<_>>();
            marks.extend(other);
            marks
        }
        OpeningKind::SlidingDoor => vec![
            mark(Role::Door, closed(&box_corners(point(-0.05, 0.01), point(width * 0.55, 0.05)))),
            mark(Role::Door, closed(&box_corners(point(width * 0.45, 0.05), point(width + 0.05, 0.09)))),
        ],
        _ => leaf(width, style),
    }
}

/// Mirrors a shape at the line x = `axis` / 2.
fn mirror_x(shape: &Shape, axis: f64) -> Shape {
    map(shape, &|p| point(axis - p.x, p.y), &|degrees| 180.0 - degrees, true)
}

/// Applies a rigid map given for points and angles; `mirrored` maps turn arcs and bulges around.
pub(super) fn map(shape: &Shape, at: &dyn Fn(Point) -> Point, turn: &dyn Fn(f64) -> f64, mirrored: bool) -> Shape {
    let sign = if mirrored { -1.0 } else { 1.0 };
    let vertices = |list: &[Vertex]| list.iter().map(|v| Vertex { at: at(v.at), bulge: v.bulge * sign }).collect();
    match shape {
        Shape::Line(a, b) => Shape::Line(at(*a), at(*b)),
        Shape::Polyline { vertices: list, closed } => Shape::Polyline { vertices: vertices(list), closed: *closed },
        Shape::Arc { centre, radius, start, end } => {
            let (start, end) = if mirrored { (turn(*end), turn(*start)) } else { (turn(*start), turn(*end)) };
            Shape::Arc { centre: at(*centre), radius: *radius, start, end }
        }
        Shape::Circle { centre, radius } => Shape::Circle { centre: at(*centre), radius: *radius },
        Shape::Text { at: place, height, rotation, value, align } => Shape::Text {
            at: at(*place),
            height: *height,
            rotation: turn(*rotation),
            value: value.clone(),
            align: *align,
        },
        Shape::Paragraph { at: place, height, rotation, lines, formatted } => Shape::Paragraph {
            at: at(*place),
            height: *height,
            rotation: turn(*rotation),
            lines: lines.clone(),
            formatted: *formatted,
        },
        Shape::Insert { block, at: place, rotation, scale, attributes } => Shape::Insert {
            block: block.clone(),
            at: at(*place),
            rotation: turn(*rotation),
            scale: (scale.0, scale.1 * sign),
            attributes: attributes
                .iter()
                .map(|attribute| AttributeValue { at: at(attribute.at), ..attribute.clone() })
                .collect(),
        },
        Shape::Hatch { rings, solid } => {
            Shape::Hatch { rings: rings.iter().map(|ring| vertices(ring)).collect(), solid: *solid }
        }
        Shape::Dimension { a, b, through, height, value } => {
            Shape::Dimension { a: at(*a), b: at(*b), through: at(*through), height: *height, value: value.clone() }
        }
    }
}

/// Inserts a symbol at `at` with its x axis along `axis`; `flipped` mirrors it to the right of `axis`.
fn put(sketch: &mut Sketch, symbol: &[Mark], at: Point, axis: Point, flipped: bool) {
    let angle = axis.y.atan2(axis.x).to_degrees();
    let side = left_of(axis) * if flipped { -1.0 } else { 1.0 };
    let place = |p: Point| at + axis * p.x + side * p.y;
    let turn = |degrees: f64| if flipped { angle - degrees } else { angle + degrees };
    for m in symbol {
        sketch.draw(m.role, map(&m.shape, &place, &turn, flipped));
    }
}

/// Draws a door or passage.
pub(super) fn draw_door(sketch: &mut Sketch, opening: &Opening, style: &Style, as_block: bool) {
    let normal = left_of(opening.along) * if opening.swings_left { 1.0 } else { -1.0 };
    let axis = if opening.hinge_at_end { opening.along * -1.0 } else { opening.along };
    let hinge = opening.centre - axis * (opening.width / 2.0)
        + if style.hinge_on_axis || opening.kind == OpeningKind::SlidingDoor {
            point(0.0, 0.0)
        } else {
            normal * (opening.thickness / 2.0)
        };
    if opening.kind == OpeningKind::Gap {
        return;
    }
    let flipped = left_of(axis).x * normal.x + left_of(axis).y * normal.y < 0.0;
    let symbol = door_symbol(opening.kind, opening.width, style);
    if !as_block {
        put(sketch, &symbol, hinge, axis, flipped);
        return;
    }
    let millimetres = (opening.width * 1000.0).round() as i64;
    let (word, code) = match opening.kind {
        OpeningKind::DoubleDoor => ("DOOR_DOUBLE", "D2"),
        OpeningKind::SlidingDoor => ("DOOR_SLIDE", "DS"),
        _ => ("DOOR", "D1"),
    };
    let stem = if style.telling_blocks { format!("{word}_{millimetres}") } else { format!("B{code}{millimetres}") };
    let angle = axis.y.atan2(axis.x).to_degrees();
    let (name, scale) = match (flipped, style.mirrored) {
        (false, _) => (stem, (1.0, 1.0)),
        (true, true) => (stem, (1.0, -1.0)),
        (true, false) => (format!("{stem}_L"), (1.0, 1.0)),
    };
    if !sketch.blocks.contains_key(&name) {
        let marks = if flipped && !style.mirrored {
            let flip = |p: Point| point(p.x, -p.y);
            symbol.iter().map(|m| mark(m.role, map(&m.shape, &flip, &|degrees| -degrees, true))).collect()
        } else {
            symbol
        };
        sketch.blocks.insert(name.clone(), marks);
    }
    sketch.draw(Role::Door, Shape::Insert { block: name, at: hinge, rotation: angle, scale, attributes: vec![] });
}

/// Draws a window: glass and, where the wall is cut, both sills.
pub(super) fn draw_window(sketch: &mut Sketch, opening: &Opening, style: &Style) {
    let half = opening.thickness / 2.0;
    let mut depths = vec![-0.02, 0.02];
    if half < 0.05 {
        depths = vec![-0.05, 0.05];
    } else if style.windows_cut {
        depths.extend([-half, half]);
    }
    if style.window_blocks && half >= 0.05 {
        // A unit square in x, wall thickness in y: inserted with unequal scales.
        let name = if style.telling_blocks { "WINDOW".to_owned() } else { "BW01".to_owned() };
        let cut = style.windows_cut;
        sketch.blocks.entry(name.clone()).or_insert_with(|| {
            let mut lines: Vec<f64> = vec![-0.06, 0.06];
            if cut {
                lines.extend([-0.5, 0.5]);
            }
            lines.iter().map(|&y| mark(Role::Window, Shape::Line(point(-0.5, y), point(0.5, y)))).collect()
        });
        let rotation = opening.along.y.atan2(opening.along.x).to_degrees();
        let scale = (opening.width, opening.thickness);
        sketch
            .draw(Role::Window, Shape::Insert { block: name, at: opening.centre, rotation, scale, attributes: vec![] });
        return;
    }
    let [a, b] = opening.ends();
    let normal = left_of(opening.along);
    for depth in depths {
        sketch.draw(Role::Window, Shape::Line(a + normal * depth, b + normal * depth));
    }
    if half < 0.05 {
        for end in [a, b] {
            sketch.draw(Role::Window, Shape::Line(end - normal * 0.05, end + normal * 0.05));
        }
    }
}

/// A furniture block by name, its back at y = 0, centred on x; with width and depth in metres.
pub(super) fn furniture(name: &str) -> (Vec<Mark>, f64, f64) {
    let boxed = |role, w: f64, d: f64| mark(role, closed(&box_corners(point(-w / 2.0, 0.0), point(w / 2.0, d))));
    let circle = |role, x: f64, y: f64, r: f64| mark(role, Shape::Circle { centre: point(x, y), radius: r });
    let f = Role::Furniture;
    let s = Role::Sanitary;
    match name {
        "DESK" => {
            let chair = closed(&box_corners(point(-0.25, 0.9), point(0.25, 1.4)));
            let back = Shape::Arc { centre: point(0.0, 1.15), radius: 0.3, start: 30.0, end: 150.0 };
            (vec![boxed(f, 1.6, 0.8), mark(f, chair), mark(f, back)], 1.6, 1.5)
        }
        "TABLE" => {
            let mut marks = vec![mark(f, closed(&box_corners(point(-1.0, 0.5), point(1.0, 1.5))))];
            for x in [-0.6, 0.0, 0.6] {
                marks.push(circle(f, x, 0.25, 0.22));
                marks.push(circle(f, x, 1.75, 0.22));
            }
            (marks, 2.0, 2.0)
        }
        "SHELF" => (vec![boxed(f, 1.2, 0.4), mark(f, Shape::Line(point(-0.6, 0.0), point(0.6, 0.4)))], 1.2, 0.4),
        "SOFA" => {
            let seat = closed(&box_corners(point(-0.8, 0.2), point(0.8, 0.85)));
            (vec![boxed(f, 2.0, 0.85), mark(f, seat)], 2.0, 0.85)
        }
        "BED" => {
            let pillow = closed(&box_corners(point(-0.7, 0.05), point(-0.1, 0.45)));
            let other = closed(&box_corners(point(0.1, 0.05), point(0.7, 0.45)));
            (vec![boxed(f, 1.6, 2.0), mark(f, pillow), mark(f, other)], 1.6, 2.0)
        }
        "WC" => {
            let bowl = Shape::Polyline {
                vertices: vec![
                    Vertex { at: point(-0.18, 0.18), bulge: 0.0 },
                    Vertex { at: point(-0.18, 0.4), bulge: -1.0 },
                    Vertex { at: point(0.18, 0.4), bulge: 0.0 },
                    Vertex { at: point(0.18, 0.18), bulge: 0.0 },
                ],
                closed: true,
            };
            (vec![boxed(s, 0.45, 0.18), mark(s, bowl)], 0.45, 0.6)
        }
        "BASIN" => (vec![boxed(s, 0.6, 0.45), circle(s, 0.0, 0.24, 0.15)], 0.6, 0.45),
        "TUB" => {
            let inner = closed(&box_corners(point(-0.75, 0.06), point(0.75, 0.64)));
            (vec![boxed(s, 1.7, 0.7), mark(s, inner)], 1.7, 0.7)
        }
        _ => {
            // A kitchen counter with a sink and a hob.
            let hob = [(-0.75, 0.2), (-0.45, 0.2), (-0.75, 0.45), (-0.45, 0.45)];
            let mut marks = vec![boxed(f, 2.1, 0.6)];
            marks.extend(hob.iter().map(|&(x, y)| circle(f, x, y, 0.1)));
            marks.push(mark(s, closed(&box_corners(point(0.3, 0.1), point(0.8, 0.5)))));
            (marks, 2.1, 0.6)
        }
    }
}

/// Every block that floors of a style may insert, labels apart.
pub(super) fn catalogue(style: &Style) -> BTreeMap<String, Vec<Mark>> {
    let mut sketch = Sketch::default();
    let widths = [
        (OpeningKind::Door, super::layout::DOOR_WIDTHS),
        (OpeningKind::DoubleDoor, super::layout::DOUBLE_DOOR_WIDTHS),
        (OpeningKind::SlidingDoor, super::layout::SLIDING_DOOR_WIDTHS),
        (OpeningKind::Window, &[1.2]),
    ];
    for (kind, widths) in widths {
        for &width in widths {
            for swings_left in [true, false] {
                let opening = Opening {
                    kind,
                    centre: point(0.0, 0.0),
                    along: point(1.0, 0.0),
                    width,
                    thickness: 0.2,
                    rooms: [None, None],
                    hinge_at_end: false,
                    swings_left,
                };
                if kind == OpeningKind::Window {
                    draw_window(&mut sketch, &opening, style);
                } else {
                    draw_door(&mut sketch, &opening, style, true);
                }
            }
        }
    }
    for name in FURNITURE {
        sketch.blocks.insert(furniture_block(name, style), furniture(name).0);
    }
    sketch.blocks
}

/// Names of all furniture.
const FURNITURE: [&str; 9] = ["DESK", "TABLE", "SHELF", "SOFA", "BED", "WC", "BASIN", "TUB", "COUNTER"];

/// The name of a furniture block: telling, or as a program makes it up.
pub(super) fn furniture_block(name: &str, style: &Style) -> String {
    if style.telling_blocks {
        return name.to_owned();
    }
    let number = FURNITURE.iter().position(|other| *other == name).unwrap_or(0);
    format!("A$C{:04X}", 0x2F1 * (number + 3))
}
