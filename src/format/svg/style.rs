//! The computed style of an element, as far as a floor plan needs it.
//!
//! Cascade: presentation attributes < style sheets < `style` attribute, each `!important` above all normal ones.
//! Inherited: paint, stroke width, rules of fill and clip, `visibility`, `color`, font size, text anchor and
//! baseline, markers. Not inherited: `display`, `clip-path`, `mask`, `filter`, `overflow`, `transform`.

use kurbo::Affine;
use svgtypes::{Color, Paint as PaintValue, PaintFallback};

use super::css::{self, Declaration, Element, StyleSheet};
use super::number::{Axis, Length};
use super::transform::{self, Origin};
use super::tree::{NodeId, Tree, local_reference, unescape};
use crate::drawing::{FillRule, HorizontalAlign, VerticalAlign};

/// What an area or a stroke is painted with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Paint {
    None,
    /// 0xRRGGBB
    Colour(u32),
    /// A gradient or pattern; what it looks like does not matter.
    Server,
}

/// Inherited properties.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Style {
    pub(super) fill: Paint,
    pub(super) stroke: Paint,
    /// User units.
    pub(super) stroke_width: f64,
    pub(super) fill_rule: FillRule,
    pub(super) clip_rule: FillRule,
    pub(super) visible: bool,
    /// 0xRRGGBB
    pub(super) colour: u32,
    /// User units.
    pub(super) font_size: f64,
    pub(super) anchor: HorizontalAlign,
    pub(super) baseline: VerticalAlign,
    pub(super) has_markers: bool,
}

impl Default for Style {
    fn default() -> Self {
        Self {
            fill: Paint::Colour(0),
            stroke: Paint::None,
            stroke_width: 1.0,
            fill_rule: FillRule::NonZero,
            clip_rule: FillRule::NonZero,
            visible: true,
            colour: 0,
            font_size: 16.0,
            anchor: HorizontalAlign::Left,
            baseline: VerticalAlign::Baseline,
            has_markers: false,
        }
    }
}

/// A reference by `url(#…)`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reference {
    None,
    To(NodeId),
    Dead,
}

/// Properties of the element alone.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Own {
    pub(super) displayed: bool,
    pub(super) clip_path: Reference,
    pub(super) has_mask: bool,
    pub(super) has_filter: bool,
    pub(super) overflow_visible: bool,
    pub(super) transform: Affine,
    pub(super) origin: Option<Origin>,
    /// Offset-free count of values that were not understood.
    pub(super) num_refused: u32,
}

impl Default for Own {
    fn default() -> Self {
        Self {
            displayed: true,
            clip_path: Reference::None,
            has_mask: false,
            has_filter: false,
            overflow_visible: false,
            transform: Affine::IDENTITY,
            origin: None,
            num_refused: 0,
        }
    }
}

/// Computes styles; keeps what is needed from element to element.
#[derive(Debug)]
pub(super) struct Cascade<'t, 'a> {
    tree: &'t Tree<'a>,
    sheet: &'t StyleSheet<'t>,
    previous: Vec<NodeId>,
    met: Vec<Declaration<'t>>,
    /// What style says about the geometry of the last element (SVG 2, section 8.10), the last declaration first.
    pub(super) geometry: Vec<(&'static str, String)>,
}

impl<'t, 'a: 't> Cascade<'t, 'a> {
    pub(super) fn new(tree: &'t Tree<'a>, sheet: &'t StyleSheet<'t>) -> Self {
        let previous = if sheet.needs_siblings() { css::previous_siblings(tree) } else { Vec::new() };
        Self { tree, sheet, previous, met: Vec::new(), geometry: Vec::new() }
    }

    /// Style of an element with these attributes inside an element with style `parent`.
    pub(super) fn compute(&mut self, id: NodeId, attributes: &[(&str, &str)], parent: &Style) -> (Style, Own) {
        let mut style = *parent;
        let mut own = Own::default();
        let (mut class, mut name, mut inline) = ("", "", "");
        self.geometry.clear();
        let geometry = &mut self.geometry;
        let mut target = Target { tree: self.tree, parent, style: &mut style, own: &mut own, geometry };
        for (key, value) in attributes {
            match *key {
                "class" => class = value,
                "id" => name = value,
                "style" => inline = value,
                key => target.apply_raw(key, value),
            }
        }
        if inline.is_empty() && self.sheet.is_empty() {
            return (style, own);
        }
        self.met.clear();
        if !self.sheet.is_empty() {
            let element = Element { tree: self.tree, previous: &self.previous, id };
            self.sheet.collect(element, &unescape(class), &unescape(name), &mut self.met);
        }
        let inline = unescape(inline);
        let normal = self.met.iter().copied().filter(|declaration| !declaration.important);
        normal.for_each(|declaration| target.declare(declaration));
        for declaration in css::declarations(&inline).filter(|declaration| !declaration.important) {
            target.declare(declaration);
        }
        let important = self.met.iter().copied().filter(|declaration| declaration.important);
        important.for_each(|declaration| target.declare(declaration));
        if inline.contains('!') {
            for declaration in css::declarations(&inline).filter(|declaration| declaration.important) {
                target.declare(declaration);
            }
        }
        self.geometry.reverse();
        (style, own)
    }
}

struct Target<'p, 't, 'a> {
    tree: &'t Tree<'a>,
    parent: &'p Style,
    style: &'p mut Style,
    own: &'p mut Own,
    geometry: &'p mut Vec<(&'static str, String)>,
}

impl Target<'_, '_, '_> {
    /// A declaration of a style sheet or of the `style` attribute, which may set geometry as well.
    fn declare(&mut self, declaration: Declaration<'_>) {
        let value = declaration.value.trim();
        match geometry_name(declaration.name) {
            Some("d") => {
                let inner = value.strip_prefix("path(").and_then(|value| value.strip_suffix(')'));
                let data = inner.map_or("", |quoted| quoted.trim().trim_matches(['"', '\'']));
                if inner.is_some() || value == "none" {
                    self.geometry.push(("d", data.to_owned()));
                }
            }
            Some(_) if matches!(value, "" | "auto" | "inherit" | "initial" | "unset" | "revert") => {}
            Some(name) => self.geometry.push((name, value.to_owned())),
            None => self.apply(declaration.name, value),
        }
    }

    /// A value as written in an attribute.
    fn apply_raw(&mut self, name: &str, value: &str) {
        if memchr::memchr(b'&', value.as_bytes()).is_some() {
            self.apply(name, &unescape(value));
        } else {
            self.apply(name, value);
        }
    }

    fn apply(&mut self, name: &str, value: &str) {
        let understood = match name {
            "fill" => self.paint(value, self.parent.fill, true),
            "stroke" => self.paint(value, self.parent.stroke, false),
            "stroke-width" => match value.trim() {
                "inherit" => true,
                value => self.length(value).is_some_and(|width| {
                    self.style.stroke_width = width;
                    width >= 0.0
                }),
            },
            "fill-rule" => rule(value, &mut self.style.fill_rule, self.parent.fill_rule),
            "clip-rule" => rule(value, &mut self.style.clip_rule, self.parent.clip_rule),
            "visibility" => match value.trim() {
                "visible" => set(&mut self.style.visible, true),
                "hidden" | "collapse" => set(&mut self.style.visible, false),
                "inherit" => set(&mut self.style.visible, self.parent.visible),
                _ => false,
            },
            "color" => match colour(value) {
                Some(colour) => set(&mut self.style.colour, colour),
                None => value.trim() == "inherit",
            },
            "font-size" => self.font_size(value.trim()),
            "font" => {
                let size = value.split_ascii_whitespace().find(|word| word.starts_with(|c: char| c.is_ascii_digit()));
                size.is_none_or(|size| self.font_size(size.split('/').next().unwrap_or(size)))
            }
            "text-anchor" => match value.trim() {
                "start" => set(&mut self.style.anchor, HorizontalAlign::Left),
                "middle" => set(&mut self.style.anchor, HorizontalAlign::Centre),
                "end" => set(&mut self.style.anchor, HorizontalAlign::Right),
                "inherit" => set(&mut self.style.anchor, self.parent.anchor),
                _ => false,
            },
            "dominant-baseline" => {
                self.style.baseline = match value.trim() {
                    "middle" | "central" => VerticalAlign::Middle,
                    "hanging" | "text-before-edge" | "text-top" => VerticalAlign::Top,
                    "text-after-edge" | "text-bottom" | "ideographic" => VerticalAlign::Bottom,
                    "inherit" => self.parent.baseline,
                    _ => VerticalAlign::Baseline,
                };
                true
            }
            "marker" | "marker-start" | "marker-mid" | "marker-end" => {
                set(&mut self.style.has_markers, !matches!(value.trim(), "none" | ""))
            }
            "display" => set(&mut self.own.displayed, value.trim() != "none"),
            "clip-path" => {
                self.own.clip_path = match local_reference(value) {
                    Some(id) => self.tree.by_id(id).map_or(Reference::Dead, Reference::To),
                    None => Reference::None,
                };
                matches!(value.trim(), "none" | "" | "inherit") || self.own.clip_path != Reference::None
            }
            "mask" => set(&mut self.own.has_mask, !matches!(value.trim(), "none" | "")),
            "filter" => set(&mut self.own.has_filter, !matches!(value.trim(), "none" | "")),
            "overflow" => set(&mut self.own.overflow_visible, matches!(value.trim(), "visible" | "auto")),
            "transform" => match transform::parse(value) {
                Some(transform) => set(&mut self.own.transform, transform),
                None => false,
            },
            "transform-origin" => {
                self.own.origin = Origin::parse(value);
                self.own.origin.is_some()
            }
            _ => true,
        };
        if !understood && !matches!(value.trim(), "" | "inherit" | "initial" | "unset") {
            self.own.num_refused += 1;
        }
    }

    fn paint(&mut self, value: &str, inherited: Paint, is_fill: bool) -> bool {
        let paint = match value {
            "none" | "transparent" => Some(Paint::None),
            "#000" | "#000000" => Some(Paint::Colour(0)),
            _ => self.parse_paint(value, inherited),
        };
        let Some(mut paint) = paint else { return false };
        // A transparent fill still makes an area: plans use it for rooms that react to the pointer.
        if is_fill && value == "transparent" {
            paint = Paint::Server;
        }
        *(if is_fill { &mut self.style.fill } else { &mut self.style.stroke }) = paint;
        true
    }

    fn parse_paint(&self, value: &str, inherited: Paint) -> Option<Paint> {
        Some(match PaintValue::from_str(value).ok()? {
            PaintValue::None => Paint::None,
            PaintValue::Inherit => inherited,
            PaintValue::CurrentColor => Paint::Colour(self.style.colour),
            PaintValue::Color(colour) => Paint::Colour(rgb(colour)),
            PaintValue::ContextFill | PaintValue::ContextStroke => Paint::Server,
            PaintValue::FuncIRI(id, fallback) => match (self.tree.by_id(id), fallback) {
                (Some(_), _) => Paint::Server,
                (None, Some(PaintFallback::Color(colour))) => Paint::Colour(rgb(colour)),
                (None, Some(PaintFallback::CurrentColor)) => Paint::Colour(self.style.colour),
                (None, Some(PaintFallback::None)) => Paint::None,
                // A paint that is missing says nothing about whether there is an area.
                (None, None) => Paint::Server,
            },
        })
    }

    fn length(&self, value: &str) -> Option<f64> {
        let length = Length::parse(value)?.resolve(Axis::Both, (0.0, 0.0), self.style.font_size);
        length.is_finite().then_some(length)
    }

    fn font_size(&mut self, value: &str) -> bool {
        let inherited = self.parent.font_size;
        let size = match value {
            "inherit" | "medium" if value == "inherit" => Some(inherited),
            "medium" => Some(16.0),
            "xx-small" => Some(9.0),
            "x-small" => Some(10.0),
            "small" => Some(13.0),
            "large" => Some(18.0),
            "x-large" => Some(24.0),
            "xx-large" => Some(32.0),
            "smaller" => Some(inherited / 1.2),
            "larger" => Some(inherited * 1.2),
            _ => Length::parse(value).map(|length| length.resolve(Axis::X, (inherited, inherited), inherited)),
        };
        match size.filter(|size| size.is_finite() && *size >= 0.0) {
            Some(size) => set(&mut self.style.font_size, size),
            None => false,
        }
    }
}

/// The properties of style that say where a shape is and how large.
fn geometry_name(name: &str) -> Option<&'static str> {
    ["x", "y", "width", "height", "cx", "cy", "r", "rx", "ry", "d"].into_iter().find(|known| *known == name)
}

fn set<T>(slot: &mut T, value: T) -> bool {
    *slot = value;
    true
}

fn rule(value: &str, slot: &mut FillRule, inherited: FillRule) -> bool {
    *slot = match value.trim() {
        "evenodd" => FillRule::EvenOdd,
        "nonzero" => FillRule::NonZero,
        "inherit" => inherited,
        _ => return false,
    };
    true
}

fn rgb(colour: Color) -> u32 {
    u32::from(colour.red) << 16 | u32::from(colour.green) << 8 | u32::from(colour.blue)
}

fn colour(value: &str) -> Option<u32> {
    value.trim().parse::<Color>().ok().map(rgb)
}

#[cfg(test)]
mod tests {
    use super::super::issues::Report;
    use super::*;
    use crate::format::Limits;
    use crate::issue::Issues;

    fn computed(css: &str, attributes: &str) -> (Style, Own) {
        let svg = format!("<svg><clipPath id='c'/><rect id='x' {attributes}/></svg>");
        let mut report = Report::new(&svg, Issues::new());
        let tree = Tree::index(&svg, &Limits::default(), &mut report, &|| Ok(())).unwrap();
        let (sheet, _) = StyleSheet::parse(&[css]);
        let id = tree.by_id("x").unwrap();
        let attributes: Vec<_> = tree.attributes(id).collect();
        Cascade::new(&tree, &sheet).compute(id, &attributes, &Style::default())
    }

    #[test]
    fn attributes_lose_to_sheets_and_sheets_to_the_style_attribute() {
        let fill = |css: &str, attributes: &str| computed(css, attributes).0.fill;
        assert_eq!(fill("", ""), Paint::Colour(0));
        assert_eq!(fill("", "fill='red'"), Paint::Colour(0xff0000));
        assert_eq!(fill("rect{fill:#00f}", "fill='red'"), Paint::Colour(0x0000ff));
        assert_eq!(fill("rect{fill:blue}", "fill='red' style='fill:none'"), Paint::None);
        assert_eq!(fill("rect{fill:blue!important}", "style='fill:none'"), Paint::Colour(0x0000ff));
        assert_eq!(fill("rect{fill:blue!important}", "style='fill:none !important'"), Paint::None);
        assert_eq!(fill("", "fill='url(#c) red'"), Paint::Server);
        assert_eq!(fill("", "fill='url(#gone) red'"), Paint::Colour(0xff0000));
        assert_eq!(fill("", "fill='no such colour'"), Paint::Colour(0));
        assert_eq!(fill("", "color='#0f0' fill='currentColor'"), Paint::Colour(0x00ff00));
        assert_eq!(fill("", "fill='transparent'"), Paint::Server);
    }

    #[test]
    fn geometry_comes_from_style_as_well() {
        let svg = "<svg><rect id='x' style='width: 3px; x:1; y:auto; d:path(\"M0 0\")'/></svg>";
        let mut report = Report::new(svg, Issues::new());
        let tree = Tree::index(svg, &Limits::default(), &mut report, &|| Ok(())).unwrap();
        let (sheet, _) = StyleSheet::parse(&["rect{width:9px;height:2px}"]);
        let id = tree.by_id("x").unwrap();
        let attributes: Vec<_> = tree.attributes(id).collect();
        let mut cascade = Cascade::new(&tree, &sheet);
        cascade.compute(id, &attributes, &Style::default());
        let found: Vec<_> = cascade.geometry.iter().map(|(name, value)| (*name, value.as_str())).collect();
        assert_eq!(found, [("d", "M0 0"), ("x", "1"), ("width", "3px"), ("height", "2px"), ("width", "9px")]);
    }

    #[test]
    fn the_rest() {
        let (style, own) = computed(
            "",
            "stroke-width='2mm' visibility='hidden' display='none' clip-path='url(#c)' font-size='200%' \
             transform='scale(2)' style='text-anchor:middle;overflow:visible;fill-rule:evenodd'",
        );
        assert!((style.stroke_width - 7.559).abs() < 1e-3);
        assert!(!style.visible && !own.displayed && own.overflow_visible);
        assert!(matches!(own.clip_path, Reference::To(_)));
        assert_eq!((style.font_size, style.anchor), (32.0, HorizontalAlign::Centre));
        assert_eq!((style.fill_rule, own.transform), (FillRule::EvenOdd, Affine::scale(2.0)));
        assert_eq!(computed("", "stroke-width='wide' transform='bend(1)' clip-path='url(#gone)'").1.num_refused, 2);
    }
}
