//! The walk over the element tree: elements → items of the drawing.
//!
//! One explicit stack of frames stands for the nesting, `use` included: a frame of a `use` runs over its target.
//! A frame carries what its children inherit: transform, style, layer, clip, properties. Nothing recurses.

use std::borrow::Cow;

use kurbo::{Affine, Point, Rect};

use super::clip::{self, Outside, RegionId, Regions};
use super::css::StyleSheet;
use super::issues::{self, Report};
use super::naming::{self, GroupNames};
use super::number::Axis;
use super::path::Pen;
use super::shape::{self, Attributes, Metrics, Problem};
use super::style::{Cascade, Own, Paint, Reference, Style};
use super::text;
use super::transform::{AspectRatio, ViewBox};
use super::tree::{Kind, NodeId, Tree};
use crate::drawing::{ClipId, Colour, DrawingBuilder, Geometry, Item, LayerId, Path, Properties, Segment, Text};
use crate::format::{Checkpoint, Limits, ReadError};

/// What an element gets from those around it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Context {
    /// User coordinates → drawing coordinates.
    pub(super) to_drawing: Affine,
    pub(super) style: Style,
    pub(super) hidden: bool,
    pub(super) layer: Option<LayerId>,
    /// The layer was declared as one, so groups below do not change it.
    pub(super) in_declared_layer: bool,
    pub(super) region: Option<RegionId>,
    pub(super) properties: Properties,
    /// Width and height that percentages refer to.
    pub(super) viewport: (f64, f64),
    use_depth: u32,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Role {
    Group,
    /// Only the first child that can be shown is.
    Switch {
        done: bool,
    },
    /// Runs over the target of a `use`, which may set the size of a symbol or svg.
    Use {
        width: Option<f64>,
        height: Option<f64>,
    },
}

#[derive(Debug)]
struct Frame {
    next: NodeId,
    end: NodeId,
    role: Role,
    context: Context,
}

/// See the module's page.
pub(super) struct Walk<'t, 'a> {
    pub(super) tree: &'t Tree<'a>,
    pub(super) cascade: Cascade<'t, 'a>,
    pub(super) builder: DrawingBuilder,
    pub(super) report: Report<'a>,
    limits: Limits,
    names: GroupNames,
    regions: Regions,
    /// Last clip path that was worked out, and its region.
    last_clip: Option<(NodeId, Affine, Option<RegionId>, Option<RegionId>)>,
    attributes: Vec<(&'a str, &'a str)>,
    /// Targets of the `use` elements around the current element.
    targets: Vec<NodeId>,
    num_expanded: u64,
    num_visited: u64,
}

impl<'t, 'a> Walk<'t, 'a> {
    pub(super) fn new(
        tree: &'t Tree<'a>,
        sheet: &'t StyleSheet<'t>,
        builder: DrawingBuilder,
        report: Report<'a>,
        limits: &Limits,
    ) -> Self {
        Self {
            tree,
            cascade: Cascade::new(tree, sheet),
            builder,
            report,
            limits: limits.clone(),
            names: GroupNames::new(tree),
            regions: Regions::default(),
            last_clip: None,
            attributes: Vec::new(),
            targets: Vec::new(),
            num_expanded: 0,
            num_visited: 0,
        }
    }

    /// Walks the root's content. `to_drawing` maps root coordinates to the drawing.
    pub(super) fn run(
        mut self,
        to_drawing: Affine,
        viewport: (f64, f64),
        checkpoint: &Checkpoint<'_>,
    ) -> Result<(DrawingBuilder, Report<'a>), ReadError> {
        let root = self.tree.root;
        self.load_attributes(root);
        let attributes = std::mem::take(&mut self.attributes);
        let (style, own) = self.cascade.compute(root, &attributes, &Style::default());
        self.attributes = attributes;
        let context = Context {
            to_drawing: to_drawing * self.own_transform(&own, viewport, style.font_size),
            style,
            hidden: !own.displayed,
            layer: None,
            in_declared_layer: false,
            region: None,
            properties: Properties::default(),
            viewport,
            use_depth: 0,
        };
        let end = self.tree.node(root).end;
        let mut stack = vec![Frame { next: root + 1, end, role: Role::Group, context }];
        while let Some(frame) = stack.last_mut() {
            if frame.next >= frame.end {
                if let Some(Frame { role: Role::Use { .. }, .. }) = stack.pop() {
                    self.targets.pop();
                }
                continue;
            }
            let id = frame.next;
            let node = self.tree.node(id);
            frame.next = node.end.max(id + 1);
            let (role, context) = (frame.role, frame.context);
            if let Role::Switch { done } = &mut frame.role {
                if *done || !self.can_be_shown(id, node.kind) {
                    continue;
                }
                *done = true;
            }
            self.num_visited += 1;
            if self.num_visited.is_multiple_of(256) {
                checkpoint()?;
            }
            if context.use_depth > 0 {
                self.num_expanded += 1;
                if self.num_expanded > self.limits.expanded_shapes {
                    return Err(expansion_error(self.limits.expanded_shapes));
                }
            }
            if let Some(frame) = self.visit(id, node.kind, &context, role)? {
                stack.push(frame);
            }
        }
        if self.regions.num_too_large > 0 {
            let number = self.regions.num_too_large;
            self.report.left(&issues::CLIP, 0, || format!("{number} clips are too detailed to be combined"));
        }
        Ok((self.builder, self.report))
    }

    fn load_attributes(&mut self, id: NodeId) {
        self.attributes.clear();
        self.attributes.extend(self.tree.attributes(id));
    }

    fn own_transform(&self, own: &Own, viewport: (f64, f64), font_size: f64) -> Affine {
        own.origin.map_or(own.transform, |origin| origin.around(own.transform, viewport, font_size))
    }

    /// Whether a child of `switch` may be chosen: it needs no extension and speaks any language.
    fn can_be_shown(&self, id: NodeId, kind: Kind) -> bool {
        let extension = self.tree.attribute(id, "requiredExtensions");
        kind != Kind::ForeignObject
            && (kind.is_drawn() || matches!(kind, Kind::Group | Kind::Anchor | Kind::Svg | Kind::Use | Kind::Switch))
            && extension.is_none_or(|extension| extension.trim().is_empty())
    }

    /// Draws an element, or gives the frame that runs over its content.
    fn visit(&mut self, id: NodeId, kind: Kind, around: &Context, role: Role) -> Result<Option<Frame>, ReadError> {
        let through_use = matches!(role, Role::Use { .. });
        match kind {
            Kind::Unknown => {
                let name = self.tree.name(id);
                self.builder.count_unsupported(name.get(..64).unwrap_or(name));
                return Ok(None);
            }
            Kind::Symbol if through_use => {}
            _ if kind.is_drawn() => {}
            Kind::Group | Kind::Anchor | Kind::Switch | Kind::Svg | Kind::Use => {}
            _ => return Ok(None),
        }
        self.load_attributes(id);
        let attributes = std::mem::take(&mut self.attributes);
        let outcome = self.visit_with(id, kind, around, role, &attributes);
        self.attributes = attributes;
        outcome
    }

    fn visit_with(
        &mut self,
        id: NodeId,
        kind: Kind,
        around: &Context,
        role: Role,
        attributes: &[(&'a str, &'a str)],
    ) -> Result<Option<Frame>, ReadError> {
        let (style, own) = self.cascade.compute(id, attributes, &around.style);
        let styled = std::mem::take(&mut self.cascade.geometry);
        let merged = with_style(&styled, attributes);
        let geometry = Attributes(merged.as_deref().unwrap_or(attributes));
        if own.num_refused > 0 {
            let tree = self.tree;
            self.report.fixed(&issues::VALUE, tree.offset(id), || format!("an attribute of {}", describe(tree, id)));
        }
        let mut context = Context { style, hidden: around.hidden || !own.displayed, ..*around };
        context.to_drawing *= self.own_transform(&own, around.viewport, style.font_size);
        if own.has_mask || own.has_filter {
            let effect = if own.has_mask { "mask" } else { "filter" };
            self.builder.count_unsupported(effect);
            let tree = self.tree;
            self.report.left(&issues::EFFECT, tree.offset(id), || format!("{effect} of {}", describe(tree, id)));
        }
        match own.clip_path {
            Reference::None => {}
            Reference::Dead => self.dead_reference(id, "clip-path"),
            Reference::To(clip) => self.apply_clip(clip, id, kind, &mut context)?,
        }
        let metrics = Metrics { viewport: around.viewport, font_size: style.font_size };
        let own_attributes = Attributes(attributes);
        match kind {
            Kind::Group | Kind::Anchor | Kind::Switch => {
                self.names.enter(&mut self.builder, self.tree, id, kind, attributes, &mut context);
                let role = if kind == Kind::Switch { Role::Switch { done: false } } else { Role::Group };
                Ok(Some(Frame { next: id + 1, end: self.tree.node(id).end, role, context }))
            }
            Kind::Svg | Kind::Symbol => {
                self.names.enter(&mut self.builder, self.tree, id, kind, attributes, &mut context);
                self.enter_viewport(id, geometry, metrics, role, &own, &mut context)?;
                Ok(Some(Frame { next: id + 1, end: self.tree.node(id).end, role: Role::Group, context }))
            }
            Kind::Use => self.enter_use(id, own_attributes, geometry, metrics, context),
            Kind::Text | Kind::FlowRoot => {
                self.text(id, attributes, &context)?;
                Ok(None)
            }
            Kind::Image | Kind::ForeignObject => {
                self.builder.count_unsupported(self.tree.local_name(id));
                Ok(None)
            }
            _ => {
                self.shape(id, kind, own_attributes, geometry, metrics, &context)?;
                Ok(None)
            }
        }
    }

    fn dead_reference(&mut self, id: NodeId, name: &str) {
        let tree = self.tree;
        let value = tree.attribute(id, name).unwrap_or("");
        self.report
            .left(&issues::DEAD_REFERENCE, tree.offset(id), || format!("{name}=\"{value}\" of {}", describe(tree, id)));
    }

    /// A length of an element; one that is not understood is reported and taken as missing.
    fn length(
        &mut self,
        id: NodeId,
        attributes: Attributes<'_, '_>,
        name: &'static str,
        axis: Axis,
        metrics: Metrics,
    ) -> Option<f64> {
        attributes.length(name, axis, metrics).unwrap_or_else(|_| {
            let tree = self.tree;
            self.report.fixed(&issues::VALUE, tree.offset(id), || format!("{name} of {}", describe(tree, id)));
            None
        })
    }

    fn enter_use(
        &mut self,
        id: NodeId,
        attributes: Attributes<'_, 'a>,
        geometry: Attributes<'_, '_>,
        metrics: Metrics,
        mut context: Context,
    ) -> Result<Option<Frame>, ReadError> {
        let tree = self.tree;
        let href = tree.attribute(id, "href").unwrap_or("");
        let Some(target) = tree.by_reference(href) else {
            self.dead_reference(id, "href");
            return Ok(None);
        };
        let node = tree.node(target);
        if self.targets.contains(&target) || (target <= id && id < node.end) {
            self.report.left(&issues::SELF_REFERENCE, tree.offset(id), || format!("href=\"{href}\""));
            return Ok(None);
        }
        if context.use_depth >= self.limits.block_depth {
            let limit = self.limits.block_depth;
            self.report.left(&issues::USE_TOO_DEEP, tree.offset(id), || format!("`limits.block_depth` = {limit}"));
            return Ok(None);
        }
        let x = self.length(id, geometry, "x", Axis::X, metrics).unwrap_or(0.0);
        let y = self.length(id, geometry, "y", Axis::Y, metrics).unwrap_or(0.0);
        let width = self.length(id, geometry, "width", Axis::X, metrics);
        let height = self.length(id, geometry, "height", Axis::Y, metrics);
        context.to_drawing *= Affine::translate((x, y));
        context.use_depth += 1;
        self.names.enter(&mut self.builder, tree, id, Kind::Use, attributes.0, &mut context);
        self.targets.push(target);
        Ok(Some(Frame { next: target, end: node.end, role: Role::Use { width, height }, context }))
    }

    /// The coordinate system of a nested `svg` or a `symbol`.
    fn enter_viewport(
        &mut self,
        id: NodeId,
        attributes: Attributes<'_, '_>,
        metrics: Metrics,
        role: Role,
        own: &Own,
        context: &mut Context,
    ) -> Result<(), ReadError> {
        let (use_width, use_height) = match role {
            Role::Use { width, height } => (width, height),
            _ => (None, None),
        };
        let own_width = self.length(id, attributes, "width", Axis::X, metrics);
        let own_height = self.length(id, attributes, "height", Axis::Y, metrics);
        let width = use_width.or(own_width).unwrap_or(metrics.viewport.0);
        let height = use_height.or(own_height).unwrap_or(metrics.viewport.1);
        // A symbol is placed as a nested `svg` is (SVG 2, section 5.5).
        let x = self.length(id, attributes, "x", Axis::X, metrics).unwrap_or(0.0);
        let at = Point::new(x, self.length(id, attributes, "y", Axis::Y, metrics).unwrap_or(0.0));
        if width <= 0.0 || height <= 0.0 {
            // An empty viewport shows nothing.
            context.hidden = true;
            return Ok(());
        }
        if !own.overflow_visible {
            let corners = clip::corners(Rect::from_origin_size(at, (width, height)));
            let ring = corners.map(|corner| context.to_drawing * corner).to_vec();
            self.clip_to(id, vec![ring], context)?;
        }
        match attributes.get("viewBox").and_then(ViewBox::parse) {
            Some(view_box) => {
                let ratio = attributes.get("preserveAspectRatio").and_then(AspectRatio::parse).unwrap_or_default();
                context.to_drawing *= ratio.fit(view_box, at, width, height);
                context.viewport = (view_box.width, view_box.height);
            }
            None => {
                context.to_drawing *= Affine::translate(at.to_vec2());
                context.viewport = (width, height);
            }
        }
        Ok(())
    }

    /// Narrows the region of `context`; content that is clipped away is hidden.
    fn clip_to(&mut self, id: NodeId, rings: clip::Rings, context: &mut Context) -> Result<(), ReadError> {
        if context.hidden {
            return Ok(());
        }
        match self.regions.intersect(context.region, rings, self.limits.vertices)? {
            Some(region) => context.region = Some(region),
            None => {
                let tree = self.tree;
                self.report.left(&issues::CLIPPED_AWAY, tree.offset(id), || describe(tree, id));
                context.hidden = true;
            }
        }
        Ok(())
    }

    fn apply_clip(&mut self, clip: NodeId, id: NodeId, kind: Kind, context: &mut Context) -> Result<(), ReadError> {
        if context.hidden {
            return Ok(());
        }
        if let Some((last, frame, outer, region)) = self.last_clip
            && (last, frame, outer) == (clip, context.to_drawing, context.region)
        {
            context.region = region;
            return Ok(());
        }
        let (frame, outer) = (context.to_drawing, context.region);
        // A clip path may be clipped itself.
        let mut current = clip;
        for _ in 0..8 {
            match self.clip_rings(current, id, kind, context) {
                Some(rings) => self.clip_to(id, rings, context)?,
                None => return Ok(()),
            }
            match self.tree.attribute(current, "clip-path").and_then(|value| self.tree.by_reference(value)) {
                Some(next) if next != current => current = next,
                _ => break,
            }
        }
        if !context.hidden && self.tree.attribute(clip, "clipPathUnits") != Some("objectBoundingBox") {
            self.last_clip = Some((clip, frame, outer, context.region));
        }
        Ok(())
    }

    /// The area of a clip path for element `id`, in drawing coordinates; `None` (reported) if it cannot be told.
    fn clip_rings(&mut self, clip: NodeId, id: NodeId, kind: Kind, context: &Context) -> Option<clip::Rings> {
        let tree = self.tree;
        let node = tree.node(clip);
        let refuse = |report: &mut Report<'a>, why: &str| {
            report.left(&issues::CLIP, tree.offset(clip), || format!("{}: {why}", describe(tree, clip)));
            None
        };
        if node.kind != Kind::ClipPath {
            return refuse(&mut self.report, "is not a clip path");
        }
        let mut to_drawing = context.to_drawing;
        let mut unit_box = Affine::IDENTITY;
        let clip_attributes: Vec<_> = tree.attributes(clip).collect();
        let (style, own) = self.cascade.compute(clip, &clip_attributes, &Style::default());
        if Attributes(&clip_attributes).get("clipPathUnits") == Some("objectBoundingBox") {
            let bounds = if kind.is_drawn() && kind != Kind::Text {
                self.outline(id, kind, Affine::IDENTITY, context).and_then(|(rings, _)| bounds_of(&rings))
            } else {
                None
            };
            let Some(bounds) = bounds else { return refuse(&mut self.report, "is relative to the box of its content") };
            unit_box =
                Affine::translate((bounds.x0, bounds.y0)) * Affine::scale_non_uniform(bounds.width(), bounds.height());
        }
        // The clip path's own transform moves what the box has placed.
        to_drawing *= self.own_transform(&own, context.viewport, style.font_size) * unit_box;
        let inner = Context { to_drawing, style, ..*context };
        let mut shapes = Vec::new();
        let mut child = clip + 1;
        while child < node.end {
            let child_node = tree.node(child);
            let (target, shift) = if child_node.kind == Kind::Use {
                let number = |name| tree.attribute(child, name).and_then(|text| text.trim().parse::<f64>().ok());
                let target = tree.attribute(child, "href").and_then(|href| tree.by_reference(href));
                (target, Affine::translate((number("x").unwrap_or(0.0), number("y").unwrap_or(0.0))))
            } else {
                (Some(child), Affine::IDENTITY)
            };
            let kind = target.map_or(Kind::Ignored, |target| tree.node(target).kind);
            match (target, kind) {
                (_, Kind::Text | Kind::Group) => {
                    let _: Option<clip::Rings> = refuse(&mut self.report, "texts and groups do not clip");
                }
                (Some(target), kind) if kind.is_drawn() => {
                    let (through, _) = match child_node.kind {
                        Kind::Use => {
                            let attributes: Vec<_> = tree.attributes(child).collect();
                            let (_, own) = self.cascade.compute(child, &attributes, &style);
                            (own.transform * shift, own)
                        }
                        _ => (Affine::IDENTITY, Own::default()),
                    };
                    if let Some((rings, true)) = self.outline(target, kind, to_drawing * through, &inner) {
                        shapes.push(rings);
                    }
                }
                _ => {}
            }
            child = child_node.end.max(child + 1);
        }
        Some(clip::union(shapes))
    }

    /// Outline of a shape by even-odd, and whether it is shown.
    fn outline(&mut self, id: NodeId, kind: Kind, frame: Affine, context: &Context) -> Option<(clip::Rings, bool)> {
        let attributes: Vec<_> = self.tree.attributes(id).collect();
        let (style, own) = self.cascade.compute(id, &attributes, &context.style);
        // The element's own transform is part of `frame` when its bounding box is wanted.
        let frame = if frame == Affine::IDENTITY {
            frame
        } else {
            frame * self.own_transform(&own, context.viewport, style.font_size)
        };
        let metrics = Metrics { viewport: context.viewport, font_size: style.font_size };
        let styled = std::mem::take(&mut self.cascade.geometry);
        let merged = with_style(&styled, &attributes);
        let geometry = Attributes(merged.as_deref().unwrap_or(&attributes));
        let rings = shape::outline(kind, geometry, metrics, frame, style.clip_rule, &self.limits)?;
        Some((rings, own.displayed && style.visible))
    }

    fn shape(
        &mut self,
        id: NodeId,
        kind: Kind,
        attributes: Attributes<'_, 'a>,
        geometry: Attributes<'_, '_>,
        metrics: Metrics,
        context: &Context,
    ) -> Result<(), ReadError> {
        let mut writer = self.builder.path();
        let mut pen = Pen::new(&mut writer, context.to_drawing);
        let outcome = shape::draw(kind, geometry, metrics, self.limits.string_bytes, &mut pen);
        let path_shape = pen.shape();
        let is_drawn = !writer.is_empty();
        let path = writer.finish()?;
        let tree = self.tree;
        match outcome {
            Ok(()) => {}
            Err(Problem::Data(name, at)) => {
                let detail = || format!("byte {at} of {name} of {}", describe(tree, id));
                self.report.fixed(&issues::PATH_DATA, tree.offset(id), detail);
            }
            Err(Problem::Value(name)) => {
                self.report.left(&issues::VALUE, tree.offset(id), || format!("{name} of {}", describe(tree, id)));
            }
            Err(Problem::TooLong(name)) => {
                let limit = self.limits.string_bytes;
                let detail = || format!("{name} of {}, `limits.string_bytes` = {limit}", describe(tree, id));
                self.report.left(&issues::TOO_LONG, tree.offset(id), detail);
            }
        }
        let Some(path) = path else {
            if is_drawn {
                self.report.left(&issues::NOT_FINITE, tree.offset(id), || describe(tree, id));
            }
            return Ok(());
        };
        self.emit_shape(id, kind, attributes, path, path_shape.can_be_filled, context)
    }

    fn emit_shape(
        &mut self,
        id: NodeId,
        kind: Kind,
        attributes: Attributes<'_, 'a>,
        path: Path,
        can_be_filled: bool,
        context: &Context,
    ) -> Result<(), ReadError> {
        let style = &context.style;
        let is_filled = style.fill != Paint::None && can_be_filled && kind != Kind::Line;
        let is_stroked = style.stroke != Paint::None && style.stroke_width > 0.0;
        let mut visible = style.visible && !context.hidden;
        if !is_filled && !is_stroked {
            let tree = self.tree;
            self.report.left(&issues::UNPAINTED, tree.offset(id), || describe(tree, id));
            visible = false;
        }
        let clip = match self.clip_of(path, context) {
            Ok(clip) => clip,
            Err(Outside) => {
                let tree = self.tree;
                self.report.left(&issues::CLIPPED_AWAY, tree.offset(id), || describe(tree, id));
                visible = false;
                None
            }
        };
        let width = match is_stroked {
            false => 0.0,
            true if attributes.get("vector-effect") == Some("non-scaling-stroke") => style.stroke_width,
            true => style.stroke_width * context.to_drawing.determinant().abs().sqrt(),
        };
        if style.has_markers && is_stroked && matches!(kind, Kind::Path | Kind::Line | Kind::Polyline | Kind::Polygon) {
            self.builder.count_unsupported("marker");
        }
        let outline = match (is_filled && is_stroked, style.stroke) {
            (true, Paint::Colour(stroke)) => Some((Some(stroke), width)),
            (true, _) => Some((None, width)),
            (false, _) => None,
        };
        let (identity, layer, properties) =
            self.names.of_element(&mut self.builder, self.tree, id, attributes.0, outline, context);
        let colour = match if is_filled { style.fill } else { style.stroke } {
            Paint::Colour(colour) => Colour::Rgb(colour),
            _ => Colour::ByLayer,
        };
        let geometry = if is_filled { Geometry::Area(path, style.fill_rule) } else { Geometry::Line(path) };
        let entity = self.builder.intern(self.tree.local_name(id));
        let width = width as f32;
        self.builder.push(Item { geometry, entity, layer, colour, width, identity, visible, properties, clip })?;
        Ok(())
    }

    /// The clip a path needs in its region.
    fn clip_of(&mut self, path: Path, context: &Context) -> Result<Option<ClipId>, Outside> {
        let Some(region) = context.region else { return Ok(None) };
        let bounds = control_bounds(self.builder.drawing().paths.segments(path));
        match bounds {
            Some(bounds) => self.regions.clip_for(region, bounds, &mut self.builder),
            None => Ok(None),
        }
    }

    fn text(&mut self, id: NodeId, attributes: &[(&'a str, &'a str)], context: &Context) -> Result<(), ReadError> {
        let max_bytes = self.limits.string_bytes;
        let style = &context.style;
        let label = text::read(self.tree, &mut self.cascade, id, style, context.viewport, max_bytes);
        let Some(label) = label else { return Ok(()) };
        let tree = self.tree;
        if label.value.len() as u64 > max_bytes {
            let detail = || format!("{}, `limits.string_bytes` = {max_bytes}", describe(tree, id));
            self.report.left(&issues::TOO_LONG, tree.offset(id), detail);
            return Ok(());
        }
        if naming::has_reference(&label.value) {
            let detail = || label.value.chars().take(60).collect();
            self.report.left(&issues::ENTITY, tree.offset(id), detail);
        }
        let (at, direction, height) = label.place(context.to_drawing);
        if !(at.is_finite() && direction.is_finite() && height.is_finite()) {
            self.report.left(&issues::NOT_FINITE, tree.offset(id), || describe(tree, id));
            return Ok(());
        }
        let mut visible = label.visible && !context.hidden;
        if !label.painted {
            self.report.left(&issues::UNPAINTED, tree.offset(id), || describe(tree, id));
            visible = false;
        }
        let bounds = Rect::from_points(at, at);
        let clip = match context.region.map(|region| self.regions.clip_for(region, bounds, &mut self.builder)) {
            Some(Ok(clip)) => clip,
            Some(Err(Outside)) => {
                self.report.left(&issues::CLIPPED_AWAY, tree.offset(id), || describe(tree, id));
                visible = false;
                None
            }
            None => None,
        };
        let (identity, layer, properties) =
            self.names.of_element(&mut self.builder, tree, id, attributes, None, context);
        let text = self.builder.text(Text {
            value: label.value,
            tag: None,
            at,
            direction,
            height,
            horizontal: label.horizontal,
            vertical: label.vertical,
            box_width: None,
        });
        let entity = self.builder.intern(tree.local_name(id));
        let colour = label.colour.map_or(Colour::ByLayer, Colour::Rgb);
        let geometry = Geometry::Text(text);
        self.builder.push(Item { geometry, entity, layer, colour, width: 0.0, identity, visible, properties, clip })?;
        Ok(())
    }
}

/// Attributes behind what style says about geometry, which wins; `None` if it says nothing.
fn with_style<'s>(
    styled: &'s [(&'static str, String)],
    attributes: &[(&'s str, &'s str)],
) -> Option<Vec<(&'s str, &'s str)>> {
    let declared = styled.iter().map(|(name, value)| (*name, value.as_str()));
    (!styled.is_empty()).then(|| declared.chain(attributes.iter().copied()).collect())
}

/// The error of too many elements through `use`.
pub(super) fn expansion_error(limit: u64) -> ReadError {
    ReadError::Limit { what: "number of elements drawn through `use`".to_owned(), key: "expanded_shapes", limit }
}

/// `<path id="wall-3">`, for issues.
fn describe(tree: &Tree<'_>, id: NodeId) -> String {
    let name = tree.name(id);
    match tree.attribute(id, "id") {
        Some(own) => format!("<{name} id=\"{}\">", Cow::Borrowed(own)),
        None => format!("<{name}>"),
    }
}

/// A box that holds a path: that of its control points.
fn control_bounds<'p>(segments: impl Iterator<Item = Segment<'p>>) -> Option<Rect> {
    let mut bounds: Option<Rect> = None;
    let mut add = |point: Point| {
        bounds = Some(bounds.map_or(Rect::from_points(point, point), |bounds| bounds.union_pt(point)));
    };
    for segment in segments {
        match segment {
            Segment::Move(to) | Segment::Line(to) => add(to),
            Segment::Cubic(a, b, to) => [a, b, to].into_iter().for_each(&mut add),
            Segment::Arc { centre, u, v, .. } => {
                // The box of the whole ellipse.
                let reach = kurbo::Vec2::new(u.x.hypot(v.x), u.y.hypot(v.y));
                add(centre - reach);
                add(centre + reach);
            }
            // SVG makes no other segments.
            Segment::Bulge { .. } | Segment::Spline(_) | Segment::Close => {}
        }
    }
    bounds
}

fn bounds_of(rings: &clip::Rings) -> Option<Rect> {
    let mut points = rings.iter().flatten();
    let first = *points.next()?;
    Some(points.fold(Rect::from_points(first, first), |bounds, point| bounds.union_pt(*point)))
}
