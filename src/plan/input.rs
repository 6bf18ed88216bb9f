//! The shapes of one drawing, reduced to what plans need: points, circles, texts, and who drew them.
//!
//! [`Input::push`] is called once a shape while the drawing is expanded, so one walk serves features and plan.
//! Names are interned; curves stay as the expansion flattened them, with the exact circle beside them where the
//! shape is one. Nothing is judged here, except that invisible shapes are left out.

use std::collections::HashMap;

use super::PlanOptions;
use crate::drawing::expand::{CircularArc, Form, Polylines, Shape};
use crate::drawing::{Drawing, HorizontalAlign, Identity, LayerId, Point, SourceFormat, Vec2, VerticalAlign};
use crate::format::lettering;

/// Marks the absence of a name, arc or group.
pub(crate) const NONE: u32 = u32::MAX;

/// What [`super::derive`] works on.
#[derive(Debug, Clone, Default)]
pub struct Input {
    pub(crate) items: Vec<Item>,
    pub(crate) texts: Vec<TextItem>,
    pub(crate) parts: Vec<(u32, bool)>,
    pub(crate) points: Vec<Point>,
    pub(crate) arcs: Vec<CircularArc>,
    pub(crate) layers: Vec<LayerUse>,
    pub(crate) groups: Vec<Group>,
    pub(crate) names: Vec<Box<str>>,
    /// Shapes refused because [`PlanOptions::max_segments`] was met.
    pub(crate) refused: u64,
    /// Metres of a unit of the drawing.
    pub(crate) metres_per_unit: f64,
    /// Drawn by a CAD program, not a picture or a print.
    pub(crate) is_cad: bool,
    numbers: HashMap<Box<str>, u32>,
    layer_numbers: HashMap<LayerId, u32>,
    open_groups: Vec<(u32, u32)>,
    max_points: usize,
}

/// How an item is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Drawn {
    /// Strokes.
    Lines,
    /// A fill.
    Area,
}

/// One stroked or filled shape.
#[derive(Debug, Clone)]
pub(crate) struct Item {
    pub drawn: Drawn,
    /// Width of a polyline in the building, metres; 0 for strokes, whose width is that of a pen.
    pub width: f64,
    pub parts: (u32, u32),
    pub first_point: u32,
    pub arc: u32,
    pub layer: u32,
    pub block: u32,
    pub group: u32,
    pub entity: u32,
    /// Id, class and the like of the source, interned as one string.
    pub words: u32,
    pub identity: Identity,
    pub ordinal: u64,
}

/// One line of a text.
#[derive(Debug, Clone)]
pub(crate) struct TextItem {
    pub value: String,
    /// Attribute tag.
    pub tag: u32,
    /// Middle of the line.
    pub middle: Point,
    /// Insertion point.
    pub at: Point,
    /// Direction of reading, unit length.
    pub direction: Vec2,
    pub height: f64,
    pub layer: u32,
    pub block: u32,
    pub entity: u32,
    pub ordinal: u64,
}

/// A layer that shapes lie on.
#[derive(Debug, Clone)]
pub(crate) struct LayerUse {
    pub name: String,
    pub shapes: u64,
    pub length: f64,
}

/// An instance of a block.
#[derive(Debug, Clone)]
pub(crate) struct Group {
    pub ordinal: u64,
}

impl Input {
    /// Nothing yet. The options decide how much is kept.
    pub fn new(options: &PlanOptions) -> Self {
        Self {
            max_points: usize::try_from(options.max_segments.saturating_mul(4)).unwrap_or(usize::MAX),
            ..Self::default()
        }
    }

    /// Stroked and filled shapes taken.
    pub fn num_items(&self) -> usize {
        self.items.len()
    }

    /// All straight pieces, for pictures and measurements.
    pub fn straight_pieces(&self) -> Vec<(Point, Point)> {
        self.items.iter().flat_map(|item| self.segments(item).collect::<Vec<_>>()).collect()
    }

    /// Takes a shape of the expanded drawing. Invisible shapes are not taken.
    pub fn push(&mut self, shape: &Shape<'_>, drawing: &Drawing) {
        if !shape.visible {
            return;
        }
        if self.max_points == 0 {
            self.max_points = usize::MAX;
        }
        self.metres_per_unit = drawing.units.metres_per_unit;
        self.is_cad = matches!(drawing.format, SourceFormat::Dxf | SourceFormat::Dwg);
        let layer = self.layer(shape);
        match &shape.form {
            Form::Point(_) => {}
            Form::Symbol(symbol) => {
                let block = self.name(symbol.block);
                let group = self.groups.len() as u32;
                self.groups.push(Group { ordinal: shape.ordinal });
                self.open_groups.retain(|(depth, _)| *depth < shape.depth);
                self.open_groups.push((shape.depth, group));
                for (tag, value) in &symbol.attributes {
                    let tag = self.name(tag);
                    self.texts.push(TextItem {
                        value: (*value).trim().to_owned(),
                        tag,
                        middle: symbol.at,
                        at: symbol.at,
                        direction: Vec2::new(1.0, 0.0),
                        height: 0.0,
                        layer,
                        block,
                        entity: NONE,
                        ordinal: shape.ordinal,
                    });
                }
            }
            Form::Text(text) => {
                let block = shape.block.map_or(NONE, |block| self.name(block));
                let entity = self.name(shape.entity);
                let tag = text.tag.map_or(NONE, |tag| self.name(tag));
                let angle = text.rotation_deg.to_radians();
                let direction = Vec2::new(angle.cos(), angle.sin());
                let up = Vec2::new(-direction.y, direction.x);
                let height = if text.height_m.is_finite() { text.height_m.max(0.0) } else { 0.0 };
                let lines: Vec<&str> = text.text.value.split('\n').collect();
                let spacing = 1.66 * height;
                let block_height = spacing * (lines.len().saturating_sub(1)) as f64 + height;
                let first = match text.text.vertical {
                    VerticalAlign::Baseline => 0.5 * height,
                    VerticalAlign::Top => -0.5 * height,
                    VerticalAlign::Middle => 0.5 * (block_height - height),
                    VerticalAlign::Bottom => block_height - 0.5 * height,
                };
                for (number, line) in lines.iter().enumerate() {
                    let value = line.trim();
                    if value.is_empty() {
                        continue;
                    }
                    let width =
                        height * value.chars().map(|c| if (c as u32) < 0x2e80 { 0.65 } else { 1.1 }).sum::<f64>();
                    let along = match text.text.horizontal {
                        HorizontalAlign::Left => 0.5 * width,
                        HorizontalAlign::Centre => 0.0,
                        HorizontalAlign::Right => -0.5 * width,
                    };
                    let middle = text.at + direction * along + up * (first - spacing * number as f64);
                    self.texts.push(TextItem {
                        value: value.to_owned(),
                        tag,
                        middle,
                        at: text.at,
                        direction,
                        height,
                        layer,
                        block,
                        entity,
                        ordinal: shape.ordinal,
                    });
                }
            }
            Form::Lines { lines, arc } => {
                let arc = arc.map_or(NONE, |arc| {
                    self.arcs.push(arc);
                    (self.arcs.len() - 1) as u32
                });
                self.item(shape, drawing, layer, Drawn::Lines, lines, arc);
            }
            // Texts that were turned into paths are no walls.
            Form::Area { .. } if drawing.properties(shape.properties).any(|(name, _)| name == lettering::PROPERTY) => {}
            Form::Area { rings } => self.item(shape, drawing, layer, Drawn::Area, rings, NONE),
        }
    }

    fn item(&mut self, shape: &Shape<'_>, drawing: &Drawing, layer: u32, drawn: Drawn, lines: &Polylines, arc: u32) {
        if self.points.len() + lines.points.len() > self.max_points {
            self.refused += 1;
            return;
        }
        if lines.points.iter().any(|point| !point.is_finite()) {
            return;
        }
        let group = self.group(shape);
        let block = shape.block.map_or(NONE, |block| self.name(block));
        let entity = self.name(shape.entity);
        let words = self.words(shape, drawing);
        let first_point = self.points.len() as u32;
        let first_part = self.parts.len() as u32;
        self.points.extend_from_slice(&lines.points);
        self.parts.extend(lines.ends.iter().map(|(end, closed)| (first_point + end, *closed)));
        let length: f64 = lines.iter().map(|(points, closed)| path_length(points, closed)).sum();
        self.layers[layer as usize].length += length;
        let has_width = matches!(drawing.format, SourceFormat::Dxf | SourceFormat::Dwg) && drawn == Drawn::Lines;
        self.items.push(Item {
            drawn,
            width: if has_width { shape.width_m } else { 0.0 },
            parts: (first_part, self.parts.len() as u32),
            first_point,
            arc,
            layer,
            block,
            group,
            entity,
            words,
            identity: shape.identity,
            ordinal: shape.ordinal,
        });
    }

    /// Id and describing properties, as words for the tables of names.
    fn words(&mut self, shape: &Shape<'_>, drawing: &Drawing) -> u32 {
        let mut text = String::new();
        if let Identity::Name(symbol) = shape.identity {
            text.push_str(drawing.string(symbol));
        }
        for (key, value) in drawing.properties(shape.properties) {
            let key = key.to_ascii_lowercase();
            if matches!(key.as_str(), "class" | "pattern" | "title" | "role")
                || key.ends_with("label")
                || key.starts_with("data-")
            {
                text.push(' ');
                text.push_str(value);
            }
        }
        if text.is_empty() { NONE } else { self.name(&text) }
    }

    fn layer(&mut self, shape: &Shape<'_>) -> u32 {
        let number = *self.layer_numbers.entry(shape.layer).or_insert_with(|| {
            self.layers.push(LayerUse { name: shape.layer_name.to_owned(), shapes: 0, length: 0.0 });
            (self.layers.len() - 1) as u32
        });
        self.layers[number as usize].shapes += 1;
        number
    }

    /// The innermost block instance a shape came through.
    fn group(&mut self, shape: &Shape<'_>) -> u32 {
        if shape.depth == 0 {
            return NONE;
        }
        while let Some(&(depth, group)) = self.open_groups.last() {
            if depth < shape.depth {
                return group;
            }
            self.open_groups.pop();
        }
        NONE
    }

    fn name(&mut self, text: &str) -> u32 {
        if let Some(&number) = self.numbers.get(text) {
            return number;
        }
        let number = self.names.len() as u32;
        self.names.push(text.into());
        self.numbers.insert(text.into(), number);
        number
    }

    /// An interned name; empty for none.
    pub(crate) fn text(&self, name: u32) -> &str {
        self.names.get(name as usize).map_or("", |text| text)
    }

    /// The subpaths of an item.
    pub(crate) fn subpaths(&self, item: &Item) -> impl Iterator<Item = (&[Point], bool)> + Clone {
        let mut start = item.first_point as usize;
        let parts = self.parts.get(item.parts.0 as usize..item.parts.1 as usize).unwrap_or(&[]);
        parts.iter().map(move |(end, closed)| {
            let run = self.points.get(start..*end as usize).unwrap_or(&[]);
            start = *end as usize;
            (run, *closed)
        })
    }

    /// The straight pieces of an item.
    pub(crate) fn segments(&self, item: &Item) -> impl Iterator<Item = (Point, Point)> + Clone {
        let area = item.drawn == Drawn::Area;
        self.subpaths(item).flat_map(move |(points, closed)| {
            let closing = if closed || area { points.last().copied().zip(points.first().copied()) } else { None };
            points.windows(2).map(|pair| (pair[0], pair[1])).chain(closing)
        })
    }

    /// All points of an item.
    pub(crate) fn points_of(&self, item: &Item) -> &[Point] {
        let end = self.parts.get((item.parts.1 as usize).wrapping_sub(1)).map_or(item.first_point, |part| part.0);
        self.points.get(item.first_point as usize..end as usize).unwrap_or(&[])
    }

    /// Low and high corner of an item.
    pub(crate) fn bounds(&self, item: &Item) -> Option<(Point, Point)> {
        bounds(self.points_of(item))
    }
}

/// Low and high corner of points.
pub(crate) fn bounds(points: &[Point]) -> Option<(Point, Point)> {
    let first = points.first()?;
    Some(points.iter().fold((*first, *first), |(low, high), point| {
        (Point::new(low.x.min(point.x), low.y.min(point.y)), Point::new(high.x.max(point.x), high.y.max(point.y)))
    }))
}

/// Length of a polyline.
pub(crate) fn path_length(points: &[Point], closed: bool) -> f64 {
    let open: f64 = points.windows(2).map(|pair| pair[0].distance(pair[1])).sum();
    match (closed, points.first(), points.last()) {
        (true, Some(first), Some(last)) => open + first.distance(*last),
        _ => open,
    }
}
