//! `text` elements → one text each: all spans in order, new lines where the pen moves to another line.
//!
//! A plan's text is a label, so what counts is what it says, where it starts, how it is turned and how tall it
//! is. Glyph positions, kerning and text paths are not followed: a text on a path stands where the path starts.
//! A new `y`, or a `dy` of at least half an em, starts a line; a new `x` on the same line is a gap.

use kurbo::{Affine, Point, Vec2};

use super::number::{Axis, Length, Scanner};
use super::shape::Metrics;
use super::style::{Cascade, Own, Paint, Style};
use super::tree::{Kind, NodeId, Tree, unescape};
use crate::drawing::{HorizontalAlign, VerticalAlign};

/// Height of a capital letter as a part of the font size. Between 0.66 and 0.73 in the usual typefaces
/// (Arial and Helvetica 0.716).
const CAPITAL_HEIGHT: f64 = 0.7;

/// What a text element says, and where; positions in user units.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Label {
    pub(super) value: String,
    pub(super) at: Point,
    pub(super) font_size: f64,
    pub(super) horizontal: HorizontalAlign,
    pub(super) vertical: VerticalAlign,
    /// 0xRRGGBB of the first visible span.
    pub(super) colour: Option<u32>,
    pub(super) visible: bool,
    pub(super) painted: bool,
}

impl Label {
    /// Insertion point, baseline direction and capital height in drawing units.
    pub(super) fn place(&self, to_drawing: Affine) -> (Point, Vec2, f64) {
        let [a, b, c, d, _, _] = to_drawing.as_coeffs();
        (to_drawing * self.at, Vec2::new(a, b), self.font_size * CAPITAL_HEIGHT * c.hypot(d))
    }
}

/// Pen and text so far.
struct Writer {
    value: String,
    pen: Point,
    /// Baseline of the line being written.
    line_y: f64,
    /// A separator to write before the next character.
    pending: Option<char>,
    first: Option<(Point, Style)>,
    any_visible: bool,
}

impl Writer {
    fn write(&mut self, characters: &str, style: &Style, preserve: bool) {
        if preserve {
            for character in characters.chars() {
                let blank = matches!(character, '\n' | '\r' | '\t' | ' ');
                if blank && self.value.is_empty() {
                    continue;
                }
                self.put(if blank { ' ' } else { character }, style);
            }
            return;
        }
        for character in characters.chars() {
            if matches!(character, ' ' | '\t' | '\n' | '\r') {
                if self.pending.is_none() && !self.value.is_empty() && !self.value.ends_with('\n') {
                    self.pending = Some(' ');
                }
            } else {
                self.put(character, style);
            }
        }
    }

    fn put(&mut self, character: char, style: &Style) {
        if self.first.is_none() {
            self.first = Some((self.pen, *style));
            self.line_y = self.pen.y;
        }
        if let Some(separator) = self.pending.take() {
            self.value.push(separator);
        }
        self.any_visible |= style.visible;
        self.value.push(character);
    }

    /// The pen was moved by a span.
    fn moved(&mut self, style: &Style, absolute_x: bool) {
        if self.first.is_none() {
            return;
        }
        let em = style.font_size.max(f64::MIN_POSITIVE);
        if (self.pen.y - self.line_y).abs() >= 0.5 * em {
            self.new_line();
        } else if absolute_x && self.pending.is_none() {
            self.pending = Some(' ');
        }
    }

    fn new_line(&mut self) {
        if self.first.is_some() {
            self.line_y = self.pen.y;
            self.pending = Some('\n');
        }
    }
}

/// Reads the text element `id`, whose own style is `style`. `None` if it says nothing.
pub(super) fn read<'a>(
    tree: &Tree<'a>,
    cascade: &mut Cascade<'_, 'a>,
    id: NodeId,
    style: &Style,
    viewport: (f64, f64),
    max_bytes: u64,
) -> Option<Label> {
    let end = tree.node(id).end;
    let mut writer =
        Writer { value: String::new(), pen: Point::ZERO, line_y: 0.0, pending: None, first: None, any_visible: false };
    let mut attributes: Vec<(&str, &str)> = tree.attributes(id).collect();
    let preserve = |attributes: &[(&str, &str)], inherited: bool| {
        let space = attributes.iter().find(|(name, _)| *name == "xml:space").map(|(_, value)| *value);
        space.map_or(inherited, |space| space == "preserve")
    };
    move_pen(&mut writer, &attributes, Metrics { viewport, font_size: style.font_size });
    // Style and end of the spans around the current node.
    let mut open: Vec<(NodeId, Style, bool)> = vec![(end, *style, preserve(&attributes, false))];
    let mut current = id + 1;
    while current < end {
        while open.len() > 1 && open.last().is_some_and(|(span_end, _, _)| current >= *span_end) {
            open.pop();
        }
        let Some((_, around, keeps_space)) = open.last().copied() else { break };
        let node = tree.node(current);
        match node.kind {
            Kind::Characters | Kind::Verbatim => {
                writer.write(&tree.characters(current), &around, keeps_space);
                current += 1;
            }
            Kind::Tspan | Kind::TextPath | Kind::Anchor | Kind::Switch | Kind::FlowParagraph => {
                attributes.clear();
                attributes.extend(tree.attributes(current));
                let (span, Own { displayed, .. }) = cascade.compute(current, &attributes, &around);
                if !displayed {
                    current = node.end;
                    continue;
                }
                let metrics = Metrics { viewport, font_size: span.font_size };
                let is_line = attributes.iter().any(|(name, value)| *name == "sodipodi:role" && *value == "line");
                if node.kind == Kind::FlowParagraph || (is_line && open.len() == 1) {
                    writer.new_line();
                }
                if node.kind == Kind::TextPath {
                    start_of_text_path(tree, current, &mut writer);
                }
                let absolute_x = move_pen(&mut writer, &attributes, metrics);
                writer.moved(&span, absolute_x);
                open.push((node.end, span, preserve(&attributes, keeps_space)));
                current += 1;
            }
            Kind::FlowRegion => {
                flow_region(tree, current, &mut writer, Metrics { viewport, font_size: style.font_size });
                current = node.end;
            }
            // Titles, animations and what else may stand in a text.
            _ => current = node.end.max(current + 1),
        }
        if writer.value.len() as u64 > max_bytes {
            break;
        }
    }
    let (at, first) = writer.first?;
    let value = writer.value.trim_end();
    if value.is_empty() {
        return None;
    }
    let colour = match (first.fill, first.stroke) {
        (Paint::Colour(colour), _) | (_, Paint::Colour(colour)) => Some(colour),
        _ => None,
    };
    Some(Label {
        value: value.to_owned(),
        at,
        font_size: first.font_size,
        horizontal: first.anchor,
        vertical: first.baseline,
        colour,
        visible: writer.any_visible,
        painted: first.fill != Paint::None || first.stroke != Paint::None,
    })
}

/// Applies x, y, dx and dy of a span; tells whether x was set.
fn move_pen(writer: &mut Writer, attributes: &[(&str, &str)], metrics: Metrics) -> bool {
    let first = |text: &str, axis: Axis| {
        let word = text.split(|c: char| c.is_ascii_whitespace() || c == ',').find(|word| !word.is_empty())?;
        // A list may touch ("1-2"): only its first number counts.
        let length = Length::parse(word).or_else(|| Scanner::new(word).number().map(user));
        length.map(|length| length.resolve(axis, metrics.viewport, metrics.font_size)).filter(|value| value.is_finite())
    };
    let mut absolute_x = false;
    let mut shift = Vec2::ZERO;
    for (name, value) in attributes {
        match *name {
            "x" => {
                if let Some(x) = first(value, Axis::X) {
                    writer.pen.x = x;
                    absolute_x = true;
                }
            }
            "y" => writer.pen.y = first(value, Axis::Y).unwrap_or(writer.pen.y),
            "dx" => shift.x = first(value, Axis::X).unwrap_or(0.0),
            "dy" => shift.y = first(value, Axis::Y).unwrap_or(0.0),
            _ => {}
        }
    }
    writer.pen += shift;
    absolute_x
}

fn user(value: f64) -> Length {
    Length { value, unit: super::number::Unit::User }
}

/// The first point of the path that a `textPath` refers to.
fn start_of_text_path(tree: &Tree<'_>, id: NodeId, writer: &mut Writer) {
    let target = tree.attribute(id, "href").and_then(|href| tree.by_reference(href));
    let Some(data) = target.and_then(|target| tree.attribute(target, "d")) else { return };
    let data = unescape(data);
    let mut scanner = Scanner::new(data.trim_start().trim_start_matches(['M', 'm']));
    if let (Some(x), Some(y)) = (scanner.number(), scanner.number())
        && x.is_finite()
        && y.is_finite()
    {
        writer.pen = Point::new(x, y);
    }
}

/// Flowed text of Inkscape starts one line below the corner of its first rectangle.
fn flow_region(tree: &Tree<'_>, id: NodeId, writer: &mut Writer, metrics: Metrics) {
    let inside = id + 1..tree.node(id).end;
    if let Some(rect) = inside.into_iter().find(|child| tree.node(*child).kind == Kind::Rect) {
        let attributes: Vec<_> = tree.attributes(rect).collect();
        move_pen(writer, &attributes, metrics);
        writer.pen.y += metrics.font_size;
    }
}

#[cfg(test)]
mod tests {
    use super::super::css::StyleSheet;
    use super::super::issues::Report;
    use super::*;
    use crate::format::Limits;
    use crate::issue::Issues;

    fn label(text: &str) -> Option<Label> {
        let svg = format!("<svg><path id='p' d='M7 8L9 9'/>{text}</svg>");
        let mut report = Report::new(&svg, Issues::new());
        let tree = Tree::index(&svg, &Limits::default(), &mut report, &|| Ok(())).unwrap();
        let sheet = StyleSheet::default();
        let id = tree.nodes.iter().position(|node| matches!(node.kind, Kind::Text | Kind::FlowRoot)).unwrap() as NodeId;
        let attributes: Vec<_> = tree.attributes(id).collect();
        let mut cascade = Cascade::new(&tree, &sheet);
        let (style, _) = cascade.compute(id, &attributes, &Style::default());
        read(&tree, &mut cascade, id, &style, (100.0, 100.0), 1000)
    }

    fn says(text: &str) -> (String, f64, f64) {
        let label = label(text).unwrap();
        (label.value, label.at.x, label.at.y)
    }

    #[test]
    fn spans_are_joined_in_order() {
        assert_eq!(
            says("<text x='1' y='2'>Room <tspan font-weight='b'>101</tspan> a</text>"),
            ("Room 101 a".into(), 1., 2.)
        );
        assert_eq!(says("<text>\n  Room\n  101\n</text>"), ("Room 101".into(), 0., 0.));
        assert_eq!(
            says("<text><tspan x='3' y='4'>A</tspan><tspan x='3' y='24'>B</tspan></text>"),
            ("A\nB".into(), 3., 4.)
        );
        assert_eq!(says("<text x='3' y='4'>A<tspan x='3' dy='1.2em'>B</tspan></text>"), ("A\nB".into(), 3., 4.));
        assert_eq!(says("<text x='3' y='4'>A<tspan x='30'>B</tspan></text>"), ("A B".into(), 3., 4.));
        assert_eq!(says("<text>12 m<tspan dy='-3'>2</tspan></text>"), ("12 m2".into(), 0., 0.));
        assert_eq!(says("<text x='1 2 3' y='5,6'>ABC</text>"), ("ABC".into(), 1., 5.));
        assert_eq!(says("<text dx='2' y='10%'>A</text>"), ("A".into(), 2., 10.));
        assert_eq!(says("<text>K&#252;che &amp; <![CDATA[<Bad>]]></text>"), ("Küche & <Bad>".into(), 0., 0.));
        assert_eq!(says("<text xml:space='preserve'> a  b </text>"), ("a  b".into(), 0., 0.));
        assert_eq!(says("<text><a href='x'>Room</a> 1<title>no</title></text>"), ("Room 1".into(), 0., 0.));
    }

    #[test]
    fn places_lines_and_visibility() {
        assert_eq!(says("<text><textPath href='#p'>on path</textPath></text>"), ("on path".into(), 7., 8.));
        let inkscape =
            "<text x='1' y='2'><tspan sodipodi:role='line'>A</tspan><tspan sodipodi:role='line'>B</tspan></text>";
        assert_eq!(says(inkscape), ("A\nB".into(), 1., 2.));
        let flow = "<flowRoot font-size='10'><flowRegion><rect x='5' y='6' width='9' height='9'/></flowRegion>\
                    <flowPara>A</flowPara><flowPara>B</flowPara></flowRoot>";
        assert_eq!(says(flow), ("A\nB".into(), 5., 16.));
        assert_eq!(says("<text>A<tspan display='none'>B</tspan>C</text>").0, "AC");
        assert_eq!(label("<text>  </text>"), None);
        assert!(!label("<text visibility='hidden'>A</text>").unwrap().visible);
        let end = label("<text font-size='20' text-anchor='end' fill='red'>A</text>").unwrap();
        assert_eq!((end.horizontal, end.colour), (HorizontalAlign::Right, Some(0xff0000)));
        let (_, direction, height) = end.place(Affine::new([0.0, 1.0, -1.0, 0.0, 0.0, 0.0]));
        assert_eq!((direction, height), (Vec2::new(0.0, 1.0), 14.0));
    }
}
