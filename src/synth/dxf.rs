//! A sketch as DXF of AutoCAD 2010, written by the `dxf` crate. What the crate cannot be told is put right in
//! its output: dates and random identifiers (the same plan must be the same bytes), and HATCH entities.

use std::collections::BTreeSet;

use ::dxf::entities::{
    Arc, Attribute, Circle, Entity, EntityType, Insert, Line, LwPolyline, MText, RotatedDimension, Text,
};
use ::dxf::enums::{AcadVersion, AttachmentPoint, HorizontalTextJustification, Units, VerticalTextJustification};
use ::dxf::tables::Layer;
use ::dxf::{Block, Color, Drawing, LwPolylineVertex};

use super::SynthError;
use super::layout::Point;
use super::names::layer;
use super::sketch::{Align, Frame, Mark, Role, Shape, Sketch, dimension_parts};
use super::spec::{DeclaredUnit, LayerScheme, Unit};
use super::style::Style;
use super::tags::{TagWriter, paragraph};

/// First handle of entities that are not written by the crate.
const FIRST_OWN_HANDLE: u64 = 0x10_0000;

/// The bytes of a DXF file.
///
/// # Errors
/// What the crate reports.
pub(super) fn write(sketch: &Sketch, style: &Style, frame: Frame) -> Result<Vec<u8>, SynthError> {
    let mut drawing = Drawing::new();
    drawing.header.version = AcadVersion::R2010;
    let inches = matches!(style.unit, Unit::Inch | Unit::Foot);
    drawing.header.drawing_units =
        if inches { ::dxf::enums::DrawingUnits::English } else { ::dxf::enums::DrawingUnits::Metric };
    drawing.header.default_drawing_units = declared(style);
    let used: BTreeSet<Role> =
        sketch.marks.iter().chain(sketch.blocks.values().flatten()).map(|mark| mark.role).collect();
    let mut named = BTreeSet::new();
    for role in used {
        let name = layer(style.layers, role);
        if name != "0" && named.insert(name) {
            let color = Color::from_index(colour(role));
            drawing.add_layer(Layer { name: name.to_owned(), color, ..Layer::default() });
        }
    }
    let block_frame = frame.unit_only();
    for (name, marks) in &sketch.blocks {
        let mut block = Block { name: name.clone(), layer: "0".to_owned(), ..Block::default() };
        for mark in marks {
            // Content of telling blocks lies on layer 0 and takes the layer of the insert.
            let on = if style.telling_blocks { "0" } else { layer(style.layers, mark.role) };
            if let Some(specific) = simple(&mark.shape, block_frame) {
                block.entities.push(entity(specific, on, false));
            }
        }
        drawing.add_block(block);
    }
    let mut hatches = TagWriter::new(Vec::new(), FIRST_OWN_HANDLE);
    let mut dimensions = 0;
    for mark in &sketch.marks {
        draw(&mut drawing, &mut hatches, &mut dimensions, mark, style, frame)?;
    }
    let mut bytes = Vec::new();
    drawing.save(&mut bytes).map_err(|error| SynthError::Dxf { reason: error.to_string() })?;
    let (own, next_handle) = hatches.into_inner();
    Ok(settle(&bytes, &own, next_handle))
}

fn declared(style: &Style) -> Units {
    let unit = match style.declared {
        DeclaredUnit::Missing => return Units::Unitless,
        DeclaredUnit::Right => style.unit,
        DeclaredUnit::Wrong => wrong(style.unit),
    };
    match unit {
        Unit::Millimetre => Units::Millimeters,
        Unit::Centimetre => Units::Centimeters,
        Unit::Metre => Units::Meters,
        Unit::Inch => Units::Inches,
        Unit::Foot => Units::Feet,
    }
}

/// The unit that careless files declare instead: the default of the template.
pub(super) fn wrong(unit: Unit) -> Unit {
    match unit {
        Unit::Millimetre => Unit::Inch,
        Unit::Inch | Unit::Foot | Unit::Metre | Unit::Centimetre => Unit::Millimetre,
    }
}

/// AutoCAD colour index of a role.
pub(super) fn colour(role: Role) -> u8 {
    match role {
        Role::WallOuter | Role::Column => 7,
        Role::WallInner => 2,
        Role::WallHatch | Role::Furniture => 8,
        Role::Door => 3,
        Role::Window => 4,
        Role::Stairs | Role::Frame => 6,
        Role::Sanitary => 5,
        Role::Grid => 1,
        _ => 9,
    }
}

fn entity(specific: EntityType, layer: &str, paper: bool) -> Entity {
    let mut entity = Entity::new(specific);
    entity.common.layer = layer.to_owned();
    entity.common.is_in_paper_space = paper;
    entity
}

fn place(p: Point) -> ::dxf::Point {
    ::dxf::Point::new(p.x, p.y, 0.0)
}

/// Shapes that are one entity without a context.
fn simple(shape: &Shape, frame: Frame) -> Option<EntityType> {
    Some(match shape {
        Shape::Line(a, b) => EntityType::Line(Line::new(place(frame.point(*a)), place(frame.point(*b)))),
        Shape::Polyline { vertices, closed } => {
            let vertices = vertices.iter().map(|vertex| {
                let at = frame.point(vertex.at);
                LwPolylineVertex { x: at.x, y: at.y, bulge: vertex.bulge, ..LwPolylineVertex::default() }
            });
            let mut polyline = LwPolyline { vertices: vertices.collect(), ..LwPolyline::default() };
            polyline.set_is_closed(*closed);
            EntityType::LwPolyline(polyline)
        }
        Shape::Arc { centre, radius, start, end } => EntityType::Arc(Arc::new(
            place(frame.point(*centre)),
            frame.length(*radius),
            frame.angle(*start),
            frame.angle(*end),
        )),
        Shape::Circle { centre, radius } => {
            EntityType::Circle(Circle::new(place(frame.point(*centre)), frame.length(*radius)))
        }
        Shape::Text { at, height, rotation, value, align } => {
            let at = place(frame.point(*at));
            let mut text = Text {
                location: at.clone(),
                text_height: frame.length(*height),
                rotation: frame.angle(*rotation),
                value: value.clone(),
                ..Text::default()
            };
            if *align == Align::Centre {
                text.horizontal_text_justification = HorizontalTextJustification::Center;
                text.vertical_text_justification = VerticalTextJustification::Middle;
                text.second_alignment_point = at;
            }
            EntityType::Text(text)
        }
        Shape::Paragraph { at, height, rotation, lines, formatted } => EntityType::MText(MText {
            insertion_point: place(frame.point(*at)),
            initial_text_height: frame.length(*height),
            attachment_point: AttachmentPoint::MiddleCenter,
            rotation_angle: frame.angle(*rotation),
            text: paragraph(lines, *formatted),
            ..MText::default()
        }),
        Shape::Insert { .. } | Shape::Hatch { .. } | Shape::Dimension { .. } => return None,
    })
}

fn draw(
    drawing: &mut Drawing,
    hatches: &mut TagWriter<Vec<u8>>,
    dimensions: &mut u32,
    mark: &Mark,
    style: &Style,
    frame: Frame,
) -> Result<(), SynthError> {
    let on = layer(style.layers, mark.role);
    let frame = if mark.paper { Frame { scale: 1000.0, ..frame.unit_only() } } else { frame };
    match &mark.shape {
        Shape::Insert { block, at, rotation, scale, attributes } => {
            let mut insert = Insert {
                name: block.clone(),
                location: place(frame.point(*at)),
                x_scale_factor: scale.0,
                y_scale_factor: scale.1,
                rotation: frame.angle(*rotation),
                ..Insert::default()
            };
            for value in attributes {
                let at = place(frame.point(value.at));
                let attribute = Attribute {
                    location: at.clone(),
                    second_alignment_point: at,
                    text_height: frame.length(value.height),
                    rotation: frame.angle(*rotation),
                    value: value.value.clone(),
                    attribute_tag: value.tag.to_owned(),
                    horizontal_text_justification: HorizontalTextJustification::Center,
                    vertical_text_justification: VerticalTextJustification::Middle,
                    ..Attribute::default()
                };
                insert.add_attribute(drawing, attribute);
            }
            drawing.add_entity(entity(EntityType::Insert(insert), on, mark.paper));
        }
        Shape::Hatch { .. } => {
            hatches.shape(&mark.shape, on, frame).map_err(|error| SynthError::Dxf { reason: error.to_string() })?;
        }
        Shape::Dimension { a, b, through, height, value } => {
            *dimensions += 1;
            let name = format!("*D{dimensions}");
            let mut block = Block { name: name.clone(), layer: "0".to_owned(), flags: 1, ..Block::default() };
            for part in dimension_parts(*a, *b, *through, *height, value) {
                if let Some(specific) = simple(&part, frame) {
                    block.entities.push(entity(
                        specific,
                        if style.layers == LayerScheme::Zero { "0" } else { on },
                        false,
                    ));
                }
            }
            drawing.add_block(block);
            let direction = *b - *a;
            let mut dimension = RotatedDimension {
                definition_point_2: place(frame.point(*a)),
                definition_point_3: place(frame.point(*b)),
                rotation_angle: frame.angle(direction.y.atan2(direction.x).to_degrees()),
                ..RotatedDimension::default()
            };
            dimension.dimension_base.block_name = name;
            dimension.dimension_base.text.clone_from(value);
            dimension.dimension_base.definition_point_1 = place(frame.point(*through));
            dimension.dimension_base.text_mid_point = place(frame.point((*a + *b) / 2.0 + (*through - *a)));
            drawing.add_entity(entity(EntityType::RotatedDimension(dimension), on, mark.paper));
        }
        shape => {
            if let Some(specific) = simple(shape, frame) {
                drawing.add_entity(entity(specific, on, mark.paper));
            }
        }
    }
    Ok(())
}

/// Fixes dates, identifiers and handles and puts `own` entities at the end of the ENTITIES section.
fn settle(bytes: &[u8], own: &[u8], next_handle: u64) -> Vec<u8> {
    let text = String::from_utf8_lossy(bytes);
    let mut lines = text.split("\r\n");
    let mut out: Vec<u8> = Vec::with_capacity(bytes.len() + own.len());
    let mut variable = String::new();
    let mut section = String::new();
    let mut section_follows = false;
    let mut handles = BTreeSet::new();
    let mut entity = String::new();
    let mut skipping = false;
    let mut next_handle = next_handle;
    while let (Some(code), Some(value)) = (lines.next(), lines.next()) {
        let number = code.trim();
        if number == "0" {
            // The crate writes an empty MTEXT after every ATTRIB, which stricter readers refuse.
            skipping = value == "MTEXT" && entity == "ATTRIB";
            if !skipping {
                value.clone_into(&mut entity);
            }
        }
        if skipping {
            continue;
        }
        if number == "9" {
            value.clone_into(&mut variable);
        }
        if section_follows && number == "2" {
            value.clone_into(&mut section);
        }
        section_follows = number == "0" && value == "SECTION";
        if number == "0" && value == "ENDSEC" {
            if section == "ENTITIES" {
                out.extend_from_slice(own);
            }
            section.clear();
            variable.clear();
        }
        let value = match (variable.as_str(), number) {
            ("$TDCREATE" | "$TDUCREATE" | "$TDUPDATE" | "$TDUUPDATE", "40") => "2460000.5".to_owned(),
            ("$FINGERPRINTGUID", "2") => "{7A2C9D10-5E21-4C0B-9F5B-000000000001}".to_owned(),
            ("$VERSIONGUID", "2") => "{7A2C9D10-5E21-4C0B-9F5B-000000000002}".to_owned(),
            ("$HANDSEED", "5") => format!("{:X}", 1u64 << 40),
            // The crate leaves entities of blocks without a handle and gives some twice.
            (_, "5") if section == "BLOCKS" || section == "ENTITIES" => {
                if value != "0" && handles.insert(value.to_owned()) {
                    value.to_owned()
                } else {
                    next_handle += 1;
                    format!("{next_handle:X}")
                }
            }
            _ => value.to_owned(),
        };
        out.extend_from_slice(code.as_bytes());
        out.extend_from_slice(b"\r\n");
        out.extend_from_slice(value.as_bytes());
        out.extend_from_slice(b"\r\n");
    }
    out
}
