//! Transforms: the `transform` attribute and CSS property, `transform-origin`, and the mapping of a `viewBox`
//! into its viewport.
//!
//! Matrices act on column vectors; a list applies its last transform first (SVG 1.1, section 7.6). CSS writes
//! units (`45deg`, `10px`), attributes do not; both are read.

use kurbo::{Affine, Point, Vec2};

use super::number::{Axis, Length, Scanner};

/// Reads a transform list; `none` and nothing are the identity. `None` if it is not understood.
pub(super) fn parse(text: &str) -> Option<Affine> {
    let mut rest = text.trim();
    if rest == "none" {
        return Some(Affine::IDENTITY);
    }
    let mut product = Affine::IDENTITY;
    while !rest.is_empty() {
        let (name, after) = rest.split_once('(')?;
        let (arguments, after) = after.split_once(')')?;
        product *= function(name.trim(), arguments)?;
        rest = after.trim_start_matches(|c: char| c.is_ascii_whitespace() || c == ',');
    }
    Some(product)
}

fn function(name: &str, arguments: &str) -> Option<Affine> {
    let mut values = [0.0f64; 6];
    let mut num_values = 0usize;
    for part in arguments.split(|c: char| c.is_ascii_whitespace() || c == ',').filter(|part| !part.is_empty()) {
        // Numbers may touch, as in "1-2": a scanner takes them apart, a unit ends the part.
        let mut scanner = Scanner::new(part);
        while scanner.at_number() {
            *values.get_mut(num_values)? = scanner.number()?;
            num_values += 1;
        }
        let unit = part.get(scanner.position()..)?;
        if !unit.is_empty() {
            let last = values.get_mut(num_values.checked_sub(1)?)?;
            *last *= unit_factor(unit)?;
        }
    }
    let [a, b, c, d, e, f] = values;
    Some(match (name, num_values) {
        ("matrix", 6) => Affine::new([a, b, c, d, e, f]),
        ("translate", 1) => Affine::translate((a, 0.0)),
        ("translate", 2) => Affine::translate((a, b)),
        ("translateX", 1) => Affine::translate((a, 0.0)),
        ("translateY", 1) => Affine::translate((0.0, a)),
        ("scale", 1) => Affine::scale(a),
        ("scale", 2) => Affine::scale_non_uniform(a, b),
        ("scaleX", 1) => Affine::scale_non_uniform(a, 1.0),
        ("scaleY", 1) => Affine::scale_non_uniform(1.0, a),
        ("rotate", 1) => rotation(a),
        ("rotate", 3) => {
            let centre = Vec2::new(b, c);
            Affine::translate(centre) * rotation(a) * Affine::translate(-centre)
        }
        ("skewX", 1) => Affine::new([1.0, 0.0, a.to_radians().tan(), 1.0, 0.0, 0.0]),
        ("skewY", 1) => Affine::new([1.0, a.to_radians().tan(), 0.0, 1.0, 0.0, 0.0]),
        _ => return None,
    })
}

/// Rotation by degrees; multiples of a right angle are exact.
fn rotation(degrees: f64) -> Affine {
    let quarter = degrees / 90.0;
    if quarter.fract() == 0.0 {
        let (cos, sin) = match quarter.rem_euclid(4.0) as u8 {
            0 => (1.0, 0.0),
            1 => (0.0, 1.0),
            2 => (-1.0, 0.0),
            _ => (0.0, -1.0),
        };
        return Affine::new([cos, sin, -sin, cos, 0.0, 0.0]);
    }
    Affine::rotate(degrees.to_radians())
}

/// To degrees or user units.
fn unit_factor(unit: &str) -> Option<f64> {
    Some(match unit {
        "deg" => 1.0,
        "rad" => 180.0 / std::f64::consts::PI,
        "grad" => 0.9,
        "turn" => 360.0,
        _ => {
            let length = Length::parse(&format!("1{unit}"))?;
            // Relative units have nothing to refer to here.
            if matches!(length.unit, super::number::Unit::Percent) {
                return None;
            }
            length.resolve(Axis::Both, (0.0, 0.0), 16.0)
        }
    })
}

/// `transform-origin`: one or two lengths or keywords; a third one is ignored.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Origin {
    x: Length,
    y: Length,
}

impl Origin {
    pub(super) fn parse(text: &str) -> Option<Self> {
        let percent = |value| Length { value, unit: super::number::Unit::Percent };
        let mut origin = Self { x: percent(50.0), y: percent(50.0) };
        for (index, word) in text.split_ascii_whitespace().take(2).enumerate() {
            match (word, index) {
                ("left", _) => origin.x = percent(0.0),
                ("right", _) => origin.x = percent(100.0),
                ("top", _) => origin.y = percent(0.0),
                ("bottom", _) => origin.y = percent(100.0),
                ("center", _) => {}
                (word, 0) => origin.x = Length::parse(word)?,
                (word, _) => origin.y = Length::parse(word)?,
            }
        }
        Some(origin)
    }

    /// `transform` about this origin.
    pub(super) fn around(self, transform: Affine, viewport: (f64, f64), font_size: f64) -> Affine {
        let x = self.x.resolve(Axis::X, viewport, font_size);
        let y = self.y.resolve(Axis::Y, viewport, font_size);
        Affine::translate((x, y)) * transform * Affine::translate((-x, -y))
    }
}

/// A `viewBox` with a positive size.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct ViewBox {
    pub(super) x: f64,
    pub(super) y: f64,
    pub(super) width: f64,
    pub(super) height: f64,
}

impl ViewBox {
    pub(super) fn parse(text: &str) -> Option<Self> {
        let mut scanner = Scanner::new(text);
        let mut next = || scanner.number().filter(|number| number.is_finite());
        let (x, y, width, height) = (next()?, next()?, next()?, next()?);
        (width > 0.0 && height > 0.0).then_some(Self { x, y, width, height })
    }
}

/// How a `viewBox` is fitted into its viewport.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct AspectRatio {
    /// Part of the free space before the content, per axis; `None` stretches.
    align: Option<(f64, f64)>,
    slice: bool,
}

impl Default for AspectRatio {
    fn default() -> Self {
        Self { align: Some((0.5, 0.5)), slice: false }
    }
}

impl AspectRatio {
    pub(super) fn parse(text: &str) -> Option<Self> {
        let mut words = text.split_ascii_whitespace().filter(|word| *word != "defer");
        let align = match words.next()? {
            "none" => None,
            word => {
                let part = |name: &str| match name {
                    "Min" => Some(0.0),
                    "Mid" => Some(0.5),
                    "Max" => Some(1.0),
                    _ => None,
                };
                Some((part(word.strip_prefix('x')?.get(..3)?)?, part(word.get(4..)?.strip_prefix('Y')?)?))
            }
        };
        let slice = match words.next() {
            None | Some("meet") => false,
            Some("slice") => true,
            Some(_) => return None,
        };
        Some(Self { align, slice })
    }

    /// Scales along x and y for a view box in a viewport of that size.
    pub(super) fn scales(self, view_box: ViewBox, width: f64, height: f64) -> (f64, f64) {
        let (x, y) = (width / view_box.width, height / view_box.height);
        match (self.align, self.slice) {
            (None, _) => (x, y),
            (Some(_), false) => (x.min(y), x.min(y)),
            (Some(_), true) => (x.max(y), x.max(y)),
        }
    }

    /// Maps view box coordinates into a viewport with that origin and size.
    pub(super) fn fit(self, view_box: ViewBox, at: Point, width: f64, height: f64) -> Affine {
        let (x, y) = self.scales(view_box, width, height);
        let (before_x, before_y) = self.align.unwrap_or((0.0, 0.0));
        let free = Vec2::new((width - view_box.width * x) * before_x, (height - view_box.height * y) * before_y);
        Affine::translate(at.to_vec2() + free)
            * Affine::scale_non_uniform(x, y)
            * Affine::translate((-view_box.x, -view_box.y))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str, x: f64, y: f64) -> (f64, f64) {
        let point = parse(text).unwrap() * Point::new(x, y);
        ((point.x * 1e9).round() / 1e9, (point.y * 1e9).round() / 1e9)
    }

    #[test]
    fn lists_apply_their_last_transform_first() {
        assert_eq!(at("translate(10,20) rotate(90)", 1.0, 0.0), (10.0, 21.0));
        assert_eq!(at("scale(2),translate(5 0)", 1.0, 1.0), (12.0, 2.0));
        assert_eq!(at("rotate(90 1 1)", 2.0, 1.0), (1.0, 2.0));
        assert_eq!(at("matrix(1 0 0-1 5-6)", 1.0, 1.0), (6.0, -7.0));
        assert_eq!(at("skewX(45)", 0.0, 1.0), (1.0, 1.0));
        assert_eq!(at("", 3.0, 4.0), (3.0, 4.0));
        assert_eq!(at(" none ", 3.0, 4.0), (3.0, 4.0));
    }

    #[test]
    fn css_units_are_read() {
        assert_eq!(at("translateX(1in) rotate(0.25turn)", 1.0, 0.0), (96.0, 1.0));
        assert_eq!(at("translate(10px, 5px)", 0.0, 0.0), (10.0, 5.0));
        assert_eq!(at("rotate(100grad)", 1.0, 0.0), (0.0, 1.0));
    }

    #[test]
    fn what_is_not_understood_is_refused() {
        for text in ["translate(", "rotate(1,2)", "matrix(1 2 3)", "spin(3)", "scale(1 2 3 4 5 6 7)", "translate(50%)"]
        {
            assert_eq!(parse(text), None, "{text}");
        }
    }

    #[test]
    fn origins_move_the_fixed_point() {
        let origin = Origin::parse("10px 50%").unwrap();
        let turned = origin.around(parse("rotate(90)").unwrap(), (100.0, 40.0), 16.0);
        assert_eq!(turned * Point::new(10.0, 20.0), Point::new(10.0, 20.0));
        let corner = Origin::parse("right bottom").unwrap();
        let scaled = corner.around(Affine::scale(2.0), (100.0, 40.0), 16.0);
        assert_eq!(scaled * Point::new(100.0, 40.0), Point::new(100.0, 40.0));
    }

    #[test]
    fn view_boxes_are_fitted() {
        let view_box = ViewBox::parse("0 0 10 10").unwrap();
        let fit = |text: &str| AspectRatio::parse(text).unwrap().fit(view_box, Point::new(0.0, 50.0), 40.0, 20.0);
        assert_eq!(fit("xMidYMid meet") * Point::ZERO, Point::new(10.0, 50.0));
        assert_eq!(fit("xMaxYMin") * Point::new(10.0, 10.0), Point::new(40.0, 70.0));
        assert_eq!(fit("none") * Point::new(10.0, 10.0), Point::new(40.0, 70.0));
        assert_eq!(fit("xMidYMax slice") * Point::new(0.0, 10.0), Point::new(0.0, 70.0));
        assert_eq!(ViewBox::parse("0,0,0,5"), None);
        assert_eq!(AspectRatio::parse("xMidy"), None);
        assert_eq!(AspectRatio::parse("é"), None);
    }
}
