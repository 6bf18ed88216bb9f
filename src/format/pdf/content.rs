//! Runs the content of a page: operators → items of the drawing and glyphs.
//!
//! Own, rather than a renderer's, for what a renderer does not tell: the layer of a form, what a hidden layer holds,
//! which paint belongs to which path, when to stop. Everything is brought to page space as it is met.
//! Forms run in their own call, at most [`DEEPEST_FORM`] deep; each costs at least [`LEAST_FORM_COST`] bytes of the
//! budget, so that forms that show forms end.

mod show;

use std::collections::HashMap;
use std::rc::Rc;

use hayro_syntax::content::TypedIter;
use hayro_syntax::content::ops::TypedInstruction as Operator;
use hayro_syntax::object::{Array, Dict, Name, Number, Object, ObjectIdentifier, Rect as PdfRect, Stream};
use hayro_syntax::page::{Page, Resources};

use super::clip::{Clipper, Region, Relation};
use super::colour::Space;
use super::font::Fonts;
use super::layers::{Layers, Membership};
use super::objects::Budget;
use super::path::{self, Element, Shown};
use super::state::{Paint, State};
use super::text::Collector;
use crate::drawing::{
    Affine, ClipId, Colour, DrawingBuilder, FillRule, Geometry, Identity, Item, LayerId, Point, Properties, Rect,
    Symbol,
};
use crate::format::{Checkpoint, ReadError};

/// What running a form counts against `limits.expanded_shapes`.
const SHAPES_PER_FORM: u64 = 32;

/// Greatest depth of forms in forms, whatever `limits.block_depth` allows: each level is a call.
const DEEPEST_FORM: u32 = 40;
/// What running a form costs of the budget of decompressed bytes, at least.
const LEAST_FORM_COST: u64 = 256;
/// Deepest nesting of `q`; further ones are counted, but not kept.
const MOST_STATES: usize = 4_096;
/// Decoded forms that are kept to be run again, bytes.
const KEPT_FORMS: usize = 64 << 20;
/// Operators between two looks at the deadline.
const CHECK_EVERY: u64 = 512;

/// What was met and not drawn.
#[derive(Debug, Default)]
pub(super) struct Tallies {
    /// Paths and glyphs, hidden layers included.
    pub(super) paths: u64,
    /// Paths that are more than a background of the page.
    pub(super) vectors: u64,
    pub(super) hidden: u64,
    pub(super) outside: u64,
    pub(super) dots: u64,
    pub(super) images: u64,
    /// Area of images in page space, square points.
    pub(super) image_area: f64,
    pub(super) unreadable_fonts: u64,
    pub(super) unknown_characters: u64,
    pub(super) unreadable_streams: u64,
    pub(super) forms_too_deep: u64,
    pub(super) states_too_deep: u64,
}

/// Names of entities.
struct Names {
    fill: Symbol,
    stroke: Symbol,
    both: Symbol,
}

/// The stroke and whether there is one.
#[derive(Clone, Copy, PartialEq)]
enum Stroke {
    No,
    Yes,
    Closing,
}

/// Runs the content of one page.
pub(super) struct Interpreter<'a, 'b> {
    pub(super) builder: &'b mut DrawingBuilder,
    pub(super) tallies: Tallies,
    pub(super) texts: Collector,
    pub(super) clipper: Clipper,
    checkpoint: &'b Checkpoint<'b>,
    layers: Layers,
    fonts: Fonts<'a>,
    budget: Budget,
    page: Rect,
    names: Names,
    base_layer: LayerId,
    state: State<'a>,
    saved: Vec<State<'a>>,
    skipped_saves: u64,
    marks: Vec<Membership>,
    path: Vec<Element>,
    /// A filled path that may yet be stroked: producers write `f`, then the same path again with `S`.
    filled: Option<(Vec<Element>, Item)>,
    start: Point,
    current: Point,
    pending_clip: Option<FillRule>,
    /// Around the glyphs of the text object that clip.
    text_clip: Option<Rect>,
    annotation: Option<String>,
    forms: HashMap<ObjectIdentifier, Rc<[u8]>>,
    kept_forms: usize,
    depth: u32,
    /// Forms run so far: forms of forms multiply without drawing anything.
    forms_run: u64,
    operators: u64,
}

impl<'a, 'b> Interpreter<'a, 'b> {
    /// `to_page` maps user space to page space, `page` is the page there.
    pub(super) fn new(
        builder: &'b mut DrawingBuilder,
        checkpoint: &'b Checkpoint<'b>,
        layers: Layers,
        to_page: Affine,
        page: Rect,
    ) -> Self {
        let names = Names {
            fill: builder.intern("fill"),
            stroke: builder.intern("stroke"),
            both: builder.intern("fill-stroke"),
        };
        Self {
            base_layer: builder.layer("default"),
            budget: Budget::new(builder.limits().decompressed_bytes),
            builder,
            tallies: Tallies::default(),
            texts: Collector::default(),
            clipper: Clipper::default(),
            checkpoint,
            layers,
            fonts: Fonts::new(),
            page,
            names,
            state: State::new(to_page, Region::rectangle(page)),
            saved: Vec::new(),
            skipped_saves: 0,
            marks: Vec::new(),
            path: Vec::new(),
            filled: None,
            start: Point::ZERO,
            current: Point::ZERO,
            pending_clip: None,
            text_clip: None,
            annotation: None,
            forms: HashMap::new(),
            kept_forms: 0,
            depth: 0,
            forms_run: 0,
            operators: 0,
        }
    }

    /// Runs the page's own content, then the appearances of its annotations.
    pub(super) fn run_page(&mut self, page: &Page<'a>) -> Result<(), ReadError> {
        let content = self.page_content(page)?;
        self.run(&content, page.resources())?;
        drop(content);
        if let Some(annotations) = page.raw().get::<Array<'a>>("Annots") {
            for annotation in annotations.iter::<Dict<'a>>() {
                self.annotation(&annotation, page.resources())?;
            }
        }
        self.flush_filled()
    }

    fn page_content(&mut self, page: &Page<'a>) -> Result<Vec<u8>, ReadError> {
        let streams: Vec<Stream<'a>> = match page.raw().get::<Object<'a>>("Contents") {
            Some(Object::Stream(stream)) => vec![stream],
            Some(Object::Array(array)) => array.iter::<Stream<'a>>().collect(),
            _ => Vec::new(),
        };
        let mut content = Vec::new();
        for stream in &streams {
            match self.budget.decode(stream)? {
                Some(data) => content.extend_from_slice(&data),
                None => self.tallies.unreadable_streams += 1,
            }
            content.push(b'\n'); // an operator does not run on from one stream into the next
        }
        Ok(content)
    }

    /// Runs operators. Whatever they leave open is closed at their end.
    fn run(&mut self, content: &[u8], resources: &Resources<'a>) -> Result<(), ReadError> {
        let (states, marks) = (self.saved.len(), self.marks.len());
        let skipped = std::mem::take(&mut self.skipped_saves);
        let before = self.state.clone();
        self.path.clear();
        let mut operators = TypedIter::new(content);
        while let Some(operator) = operators.next() {
            self.operators += 1;
            if self.operators.is_multiple_of(CHECK_EVERY) {
                (self.checkpoint)()?;
            }
            self.operator(operator, resources, states, marks)?;
        }
        self.path.clear();
        self.pending_clip = None;
        self.saved.truncate(states);
        self.marks.truncate(marks);
        self.skipped_saves = skipped;
        self.state = before;
        Ok(())
    }

    fn operator(
        &mut self,
        operator: Operator<'_, '_>,
        resources: &Resources<'a>,
        states: usize,
        marks: usize,
    ) -> Result<(), ReadError> {
        match operator {
            // paths
            Operator::MoveTo(to) => self.move_to(self.at(to.0, to.1)),
            Operator::LineTo(to) => self.line_to(self.at(to.0, to.1)),
            Operator::CubicTo(c) => self.cubic_to(self.at(c.0, c.1), self.at(c.2, c.3), self.at(c.4, c.5)),
            Operator::CubicStartTo(c) => self.cubic_to(self.current, self.at(c.0, c.1), self.at(c.2, c.3)),
            Operator::CubicEndTo(c) => {
                let end = self.at(c.2, c.3);
                self.cubic_to(self.at(c.0, c.1), end, end);
            }
            Operator::ClosePath(_) => self.close(),
            Operator::RectPath(r) => self.rectangle([r.0, r.1, r.2, r.3].map(|number| number.as_f64())),
            Operator::StrokePath(_) => self.paint(None, Stroke::Yes)?,
            Operator::CloseAndStrokePath(_) => self.paint(None, Stroke::Closing)?,
            Operator::FillPathNonZero(_) | Operator::FillPathNonZeroCompatibility(_) => {
                self.paint(Some(FillRule::NonZero), Stroke::No)?;
            }
            Operator::FillPathEvenOdd(_) => self.paint(Some(FillRule::EvenOdd), Stroke::No)?,
            Operator::FillAndStrokeNonZero(_) => self.paint(Some(FillRule::NonZero), Stroke::Yes)?,
            Operator::FillAndStrokeEvenOdd(_) => self.paint(Some(FillRule::EvenOdd), Stroke::Yes)?,
            Operator::CloseFillAndStrokeNonZero(_) => self.paint(Some(FillRule::NonZero), Stroke::Closing)?,
            Operator::CloseFillAndStrokeEvenOdd(_) => self.paint(Some(FillRule::EvenOdd), Stroke::Closing)?,
            Operator::EndPath(_) => self.end_path()?,
            Operator::ClipNonZero(_) => self.pending_clip = Some(FillRule::NonZero),
            Operator::ClipEvenOdd(_) => self.pending_clip = Some(FillRule::EvenOdd),

            // graphics state
            Operator::SaveState(_) => self.save(),
            Operator::RestoreState(_) => self.restore(states),
            Operator::Transform(m) => {
                self.state.ctm *= Affine::new([m.0, m.1, m.2, m.3, m.4, m.5].map(|number| number.as_f64()));
            }
            Operator::LineWidth(width) => self.state.width = width.0.as_f64(),
            Operator::DashPattern(dash) => self.state.dashed = is_dashed(dash.0),
            Operator::SetGraphicsState(name) => {
                if let Some(dict) = resources.get_ext_g_state(name.0) {
                    self.graphics_state(&dict)?;
                }
            }

            // colours
            Operator::StrokeColorDeviceGray(c) => self.state.stroke.set(Space::Gray, &[c.0]),
            Operator::NonStrokeColorDeviceGray(c) => self.state.fill.set(Space::Gray, &[c.0]),
            Operator::StrokeColorDeviceRgb(c) => self.state.stroke.set(Space::Rgb, &[c.0, c.1, c.2]),
            Operator::NonStrokeColorDeviceRgb(c) => self.state.fill.set(Space::Rgb, &[c.0, c.1, c.2]),
            Operator::StrokeColorCmyk(c) => self.state.stroke.set(Space::Cmyk, &[c.0, c.1, c.2, c.3]),
            Operator::NonStrokeColorCmyk(c) => self.state.fill.set(Space::Cmyk, &[c.0, c.1, c.2, c.3]),
            Operator::ColorSpaceStroke(name) => set_space(&mut self.state.stroke, name.0, resources),
            Operator::ColorSpaceNonStroke(name) => set_space(&mut self.state.fill, name.0, resources),
            Operator::StrokeColor(c) => self.state.stroke.set_colour(&c.0, false),
            Operator::NonStrokeColor(c) => self.state.fill.set_colour(&c.0, false),
            Operator::StrokeColorNamed(c) => self.state.stroke.set_colour(&c.0, c.1.is_some()),
            Operator::NonStrokeColorNamed(c) => self.state.fill.set_colour(&c.0, c.1.is_some()),

            // things of their own
            Operator::XObject(name) => self.x_object(name.0, resources)?,
            Operator::InlineImage(_) => self.image(),
            Operator::Shading(_) => self.builder.count_unsupported("shading"),

            // marked content
            Operator::BeginMarkedContent(_) => self.marks.push(self.membership()),
            Operator::BeginMarkedContentWithProperties(mark) => {
                let membership = self.optional_content(mark.0, mark.1, resources);
                self.marks.push(membership);
            }
            Operator::EndMarkedContent(_) if self.marks.len() > marks => {
                self.marks.pop();
            }

            operator => self.text_operator(operator, resources)?,
        }
        Ok(())
    }

    // paths

    fn at(&self, x: Number, y: Number) -> Point {
        self.state.ctm * Point::new(x.as_f64(), y.as_f64())
    }

    fn move_to(&mut self, to: Point) {
        self.path.push(Element::Move(to));
        self.start = to;
        self.current = to;
    }

    /// A subpath goes on from where the last one was closed without being moved to.
    fn ensure_open(&mut self) {
        if matches!(self.path.last(), None | Some(Element::Close)) {
            self.move_to(self.current);
        }
    }

    fn line_to(&mut self, to: Point) {
        self.ensure_open();
        self.path.push(Element::Line(to));
        self.current = to;
    }

    fn cubic_to(&mut self, a: Point, b: Point, to: Point) {
        self.ensure_open();
        self.path.push(Element::Cubic(a, b, to));
        self.current = to;
    }

    fn close(&mut self) {
        if !matches!(self.path.last(), None | Some(Element::Close)) {
            self.path.push(Element::Close);
            self.current = self.start;
        }
    }

    fn rectangle(&mut self, [x, y, width, height]: [f64; 4]) {
        let corner = |x: f64, y: f64| self.state.ctm * Point::new(x, y);
        let corners = [corner(x, y), corner(x + width, y), corner(x + width, y + height), corner(x, y + height)];
        self.move_to(corners[0]);
        self.path.extend(corners[1..].iter().copied().map(Element::Line));
        self.close();
    }

    fn end_path(&mut self) -> Result<(), ReadError> {
        if let Some(rule) = self.pending_clip.take()
            && path::bounds(&self.path).is_some()
        {
            let limit = self.builder.limits().vertices;
            self.state.region = self.clipper.intersect(&self.state.region, &self.path, rule, limit)?;
        }
        self.path.clear();
        Ok(())
    }

    fn paint(&mut self, fill: Option<FillRule>, stroke: Stroke) -> Result<(), ReadError> {
        if stroke == Stroke::Closing {
            self.close();
        }
        if let Some(bounds) = path::bounds(&self.path) {
            self.tallies.paths += 1;
            match self.state.region.relation(bounds) {
                Relation::Outside => self.tallies.outside += 1,
                relation => self.draw(bounds, relation, fill, stroke != Stroke::No)?,
            }
        }
        self.end_path()
    }

    fn draw(
        &mut self,
        bounds: Rect,
        relation: Relation,
        fill: Option<FillRule>,
        stroke: bool,
    ) -> Result<(), ReadError> {
        let covers = bounds.width() >= 0.9 * self.page.width() && bounds.height() >= 0.9 * self.page.height();
        if !(covers && fill.is_some() && self.path.len() <= 6) {
            self.tallies.vectors += 1;
        }
        let Membership { layer, visible } = self.membership();
        let clear = (fill.is_none() || self.state.fill.is_clear()) && (!stroke || self.state.stroke.is_clear());
        let visible = visible && !clear;
        if !visible {
            self.tallies.hidden += 1;
        }
        let clip = (relation == Relation::Across).then(|| self.clipper.id(&self.state.region, self.builder));
        if fill.is_none() && self.outline_filled(layer.unwrap_or(self.base_layer), visible, clip)? {
            return Ok(());
        }
        self.flush_filled()?;
        let shown: Vec<(&[Element], Shown)> = path::subpaths(&self.path)
            .map(|subpath| {
                let shown = if fill.is_some() { path::shown_filled(subpath) } else { path::shown_stroked(subpath) };
                (subpath, shown)
            })
            .collect();
        let is_area = |shown: &Shown| fill.is_some() && *shown == Shown::Path;
        let area = path::write(self.builder, shown.iter().copied().filter(|(_, shown)| is_area(shown)))?;
        let line = path::write(self.builder, shown.iter().copied().filter(|(_, shown)| !is_area(shown)))?;
        if area.is_none() && line.is_none() {
            self.tallies.dots += 1;
            return Ok(());
        }
        let pattern =
            (fill.is_some() && self.state.fill.colour.is_none()) || (stroke && self.state.stroke.colour.is_none());
        let properties = self.properties(fill.is_some() && stroke, stroke, pattern);
        let entity = match (fill.is_some(), stroke) {
            (true, true) => self.names.both,
            (true, false) => self.names.fill,
            _ => self.names.stroke,
        };
        let (fill_colour, stroke_colour) = (colour(&self.state.fill), colour(&self.state.stroke));
        let width = if stroke { self.state.page_width() } else { 0.0 };
        let item = |geometry, colour| Item {
            geometry,
            entity,
            layer: layer.unwrap_or(self.base_layer),
            colour,
            width,
            identity: Identity::None,
            visible,
            properties,
            clip,
        };
        let area = area.zip(fill).map(|(area, rule)| item(Geometry::Area(area, rule), fill_colour));
        let line = line.map(|line| item(Geometry::Line(line), if stroke { stroke_colour } else { fill_colour }));
        match (area, line) {
            (Some(area), None) if !stroke => self.filled = Some((self.path.clone(), area)),
            (area, line) => {
                for item in area.into_iter().chain(line) {
                    self.builder.push(item)?;
                }
            }
        }
        Ok(())
    }

    /// Makes one item of a fill and the stroke of the same path that follows it.
    fn outline_filled(&mut self, layer: LayerId, visible: bool, clip: Option<ClipId>) -> Result<bool, ReadError> {
        let same = self.filled.as_ref().is_some_and(|(path, item)| {
            unclosed(path) == unclosed(&self.path)
                && item.layer == layer
                && item.visible == visible
                && item.clip == clip
        });
        if !same {
            return Ok(false);
        }
        let Some((_, mut item)) = self.filled.take() else { return Ok(false) };
        item.entity = self.names.both;
        item.width = self.state.page_width();
        item.properties = self.properties(true, true, item.colour == Colour::ByLayer);
        self.builder.push(item)?;
        Ok(true)
    }

    fn flush_filled(&mut self) -> Result<(), ReadError> {
        if let Some((_, item)) = self.filled.take() {
            self.builder.push(item)?;
        }
        Ok(())
    }

    fn properties(&mut self, both: bool, stroke: bool, pattern: bool) -> Properties {
        let mut pairs: Vec<(&str, String)> = Vec::new();
        if both && let Some(colour) = self.state.stroke.colour {
            pairs.push(("stroke", format!("#{colour:06x}")));
        }
        if stroke && self.state.dashed {
            pairs.push(("dashed", "true".to_owned()));
        }
        if pattern {
            pairs.push(("paint", "pattern".to_owned()));
        }
        if let Some(kind) = &self.annotation {
            pairs.push(("annotation", kind.clone()));
        }
        if pairs.is_empty() {
            return Properties::default();
        }
        self.builder.properties(pairs.iter().map(|(name, value)| (*name, value.as_str())))
    }

    // graphics state

    fn save(&mut self) {
        if self.saved.len() < MOST_STATES {
            self.saved.push(self.state.clone());
        } else {
            self.skipped_saves += 1;
            self.tallies.states_too_deep += 1;
        }
    }

    /// `Q`; states saved outside of the running content stay.
    fn restore(&mut self, states: usize) {
        if self.skipped_saves > 0 {
            self.skipped_saves -= 1;
        } else if self.saved.len() > states
            && let Some(state) = self.saved.pop()
        {
            self.state = state;
        }
    }

    fn graphics_state(&mut self, dict: &Dict<'a>) -> Result<(), ReadError> {
        if let Some(width) = dict.get::<f32>("LW") {
            self.state.width = f64::from(width);
        }
        if let Some(alpha) = dict.get::<f32>("CA") {
            self.state.stroke.alpha = alpha;
        }
        if let Some(alpha) = dict.get::<f32>("ca") {
            self.state.fill.alpha = alpha;
        }
        if let Some(dash) = dict.get::<Array<'_>>("D").and_then(|dash| dash.iter::<Array<'_>>().next()) {
            self.state.dashed = is_dashed(&dash);
        }
        if let Some(font) = dict.get::<Array<'a>>("Font") {
            let mut entries = font.flex_iter();
            let dict = entries.next::<Dict<'a>>();
            if let Some(size) = entries.next::<Number>() {
                self.state.text.size = size.as_f64();
            }
            self.set_font(dict)?;
        }
        Ok(())
    }

    // layers

    /// What is in force: the innermost layer, and whether all groups around are shown.
    fn membership(&self) -> Membership {
        self.marks.last().copied().unwrap_or(Membership { layer: None, visible: true })
    }

    fn optional_content(&mut self, tag: &Name<'_>, properties: &Object<'_>, resources: &Resources<'a>) -> Membership {
        if &**tag != b"OC" {
            return self.membership();
        }
        let Object::Name(name) = properties else { return self.membership() };
        let Some(dict) = resources.properties.get::<Dict<'_>>(&**name) else { return self.membership() };
        self.within(&dict, resources.properties.get_ref(&**name).map(Into::into))
    }

    /// The membership of a group inside of what is in force.
    fn within(&mut self, dict: &Dict<'_>, reference: Option<ObjectIdentifier>) -> Membership {
        let around = self.membership();
        let own = self.layers.resolve(dict, reference, self.builder);
        Membership { layer: own.layer.or(around.layer), visible: own.visible && around.visible }
    }

    /// Enters the group in `/OC` of a form, image or annotation; the mark must be popped after it.
    fn enter(&mut self, dict: &Dict<'_>) {
        let membership = match dict.get::<Dict<'_>>("OC") {
            Some(group) => self.within(&group, dict.get_ref("OC").map(Into::into)),
            None => self.membership(),
        };
        self.marks.push(membership);
    }

    // forms, images, annotations

    fn x_object(&mut self, name: &Name<'_>, resources: &Resources<'a>) -> Result<(), ReadError> {
        let Some(stream) = resources.x_objects.get::<Stream<'a>>(&**name) else { return Ok(()) };
        self.enter(stream.dict());
        match stream.dict().get::<Name<'_>>("Subtype").as_deref() {
            Some(b"Image") => self.image(),
            Some(b"Form") => self.form(&stream, Affine::IDENTITY, resources)?,
            _ => {}
        }
        self.marks.pop();
        Ok(())
    }

    fn image(&mut self) {
        self.tallies.images += 1;
        if self.membership().visible {
            let unit = self.state.ctm.transform_rect_bbox(Rect::new(0.0, 0.0, 1.0, 1.0));
            self.tallies.image_area += unit.intersect(self.page).area();
        }
        self.builder.count_unsupported("image");
    }

    /// Runs a form; `before` maps its space (after its own matrix) to user space.
    fn form(&mut self, stream: &Stream<'a>, before: Affine, resources: &Resources<'a>) -> Result<(), ReadError> {
        if self.depth >= DEEPEST_FORM.min(self.builder.limits().block_depth) {
            self.tallies.forms_too_deep += 1;
            return Ok(());
        }
        self.forms_run += 1;
        // A form costs as much as some shapes even if it draws none.
        let limit = self.builder.limits().expanded_shapes;
        if self.forms_run.saturating_mul(SHAPES_PER_FORM) > limit {
            let what = format!("number of shapes through {} forms", self.forms_run);
            return Err(ReadError::Limit { what, key: "expanded_shapes", limit });
        }
        (self.checkpoint)()?;
        let Some(content) = self.form_content(stream)? else {
            self.tallies.unreadable_streams += 1;
            return Ok(());
        };
        let dict = stream.dict();
        let outside = self.state.clone();
        self.state.ctm *= before * matrix(dict);
        self.path.clear();
        if let Some(bounds) = dict.get::<PdfRect>("BBox") {
            self.rectangle([bounds.x0, bounds.y0, bounds.width(), bounds.height()]);
            self.pending_clip = Some(FillRule::NonZero);
            self.end_path()?;
        }
        let own = dict.get::<Dict<'a>>("Resources").map(Resources::new);
        self.depth += 1;
        let result = self.run(&content, own.as_ref().unwrap_or(resources));
        self.depth -= 1;
        self.state = outside;
        result
    }

    fn form_content(&mut self, stream: &Stream<'a>) -> Result<Option<Rc<[u8]>>, ReadError> {
        let id = stream.obj_id();
        if let Some(content) = self.forms.get(&id) {
            self.budget.charge((content.len() as u64).max(LEAST_FORM_COST))?;
            return Ok(Some(Rc::clone(content)));
        }
        let Some(content) = self.budget.decode(stream)? else { return Ok(None) };
        self.budget.charge(LEAST_FORM_COST)?;
        let content: Rc<[u8]> = content.as_ref().into();
        if self.kept_forms + content.len() <= KEPT_FORMS {
            self.kept_forms += content.len();
            self.forms.insert(id, Rc::clone(&content));
        }
        Ok(Some(content))
    }

    /// Draws the normal appearance of an annotation (PDF 2.0, 12.5.5).
    fn annotation(&mut self, annotation: &Dict<'a>, resources: &Resources<'a>) -> Result<(), ReadError> {
        const HIDDEN_OR_NO_VIEW: u32 = (1 << 1) | (1 << 5);
        (self.checkpoint)()?;
        let (Some(appearance), Some(place)) = (appearance(annotation), annotation.get::<PdfRect>("Rect")) else {
            return Ok(());
        };
        let kind = annotation.get::<Name<'_>>("Subtype").map_or_else(String::new, |name| name.as_str().to_owned());
        if kind == "Popup" {
            return Ok(());
        }
        let dict = appearance.dict();
        let Some(bounds) = dict.get::<PdfRect>("BBox") else { return Ok(()) };
        let transformed = matrix(dict).transform_rect_bbox(Rect::new(bounds.x0, bounds.y0, bounds.x1, bounds.y1));
        let fit = |place: f64, own: f64| if own > 0.0 { place / own } else { 1.0 };
        let (sx, sy) = (fit(place.width(), transformed.width()), fit(place.height(), transformed.height()));
        let fitted = Affine::translate((place.x0 - sx * transformed.x0, place.y0 - sy * transformed.y0))
            * Affine::scale_non_uniform(sx, sy);

        self.enter(annotation);
        if annotation.get::<u32>("F").unwrap_or(0) & HIDDEN_OR_NO_VIEW != 0
            && let Some(mark) = self.marks.last_mut()
        {
            mark.visible = false;
        }
        self.enter(dict);
        self.annotation = Some(kind);
        let result = self.form(&appearance, fitted, resources);
        self.annotation = None;
        self.marks.pop();
        self.marks.pop();
        result
    }
}

/// A path without the closing at its end: a fill closes by itself.
fn unclosed(path: &[Element]) -> &[Element] {
    path.strip_suffix(&[Element::Close]).unwrap_or(path)
}

fn colour(paint: &Paint) -> Colour {
    paint.colour.map_or(Colour::ByLayer, Colour::Rgb)
}

fn set_space(paint: &mut Paint, name: &Name<'_>, resources: &Resources<'_>) {
    let named = Space::by_name(name);
    let space = named.or_else(|| Space::of_object(&resources.get_color_space(name)?));
    paint.set_space(Rc::new(space.unwrap_or(Space::Gray)));
}

fn is_dashed(array: &Array<'_>) -> bool {
    array.iter::<f32>().any(|length| length > 0.0)
}

fn matrix(form: &Dict<'_>) -> Affine {
    form.get::<[f64; 6]>("Matrix").map_or(Affine::IDENTITY, Affine::new)
}

/// The normal appearance, of the state the annotation is in.
fn appearance<'a>(annotation: &Dict<'a>) -> Option<Stream<'a>> {
    match annotation.get::<Dict<'a>>("AP")?.get::<Object<'a>>("N")? {
        Object::Stream(stream) => Some(stream),
        Object::Dict(states) => states.get::<Stream<'a>>(&*annotation.get::<Name<'_>>("AS")?),
        _ => None,
    }
}
