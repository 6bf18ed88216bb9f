//! Plans drawn stroke by stroke, as input of the derivation without a file: for tests and benchmarks.

use plan2geo::drawing::expand::{CircularArc, Form, Polylines, Shape};
use plan2geo::drawing::{Colour, DrawingBuilder, Identity, Point, Properties, SourceFormat};
use plan2geo::format::Limits;
use plan2geo::plan::{Input, PlanOptions};

/// A polyline on a layer, metres.
#[derive(Clone)]
pub(crate) struct Stroke<'a> {
    /// Name of its layer.
    pub(crate) layer: &'a str,
    /// Its vertices.
    pub(crate) points: Vec<Point>,
    /// Whether it goes back to its first vertex.
    pub(crate) closed: bool,
    /// The arc that the vertices lie on, if they do.
    pub(crate) arc: Option<CircularArc>,
}

impl<'a> Stroke<'a> {
    /// One straight line.
    pub(crate) fn line(layer: &'a str, a: Point, b: Point) -> Self {
        Self { layer, points: vec![a, b], closed: false, arc: None }
    }

    fn entity(&self) -> &'static str {
        match (self.arc, self.points.len(), self.closed) {
            (Some(_), ..) => "ARC",
            (None, 2, false) => "LINE",
            _ => "LWPOLYLINE",
        }
    }
}

/// What the derivation sees of the strokes, in their order.
pub(crate) fn input(strokes: Vec<Stroke<'_>>, options: &PlanOptions) -> Input {
    let mut builder = DrawingBuilder::new(SourceFormat::Dxf, &Limits::default());
    let layers: Vec<_> = strokes.iter().map(|stroke| builder.layer(stroke.layer)).collect();
    let drawing = builder.finish();
    let mut input = Input::new(options);
    for ((ordinal, stroke), layer) in (0..).zip(strokes).zip(layers) {
        let entity = stroke.entity();
        let lines = Polylines { ends: vec![(stroke.points.len() as u32, stroke.closed)], points: stroke.points };
        let shape = Shape {
            form: Form::Lines { lines: &lines, arc: stroke.arc },
            ordinal,
            entity,
            layer,
            layer_name: stroke.layer,
            block: None,
            depth: 0,
            insert_ordinal: None,
            identity: Identity::None,
            colour: None,
            drawn_colour: Colour::ByLayer,
            width_m: 0.0,
            visible: true,
            properties: Properties::default(),
        };
        input.push(&shape, &drawing);
    }
    input
}
