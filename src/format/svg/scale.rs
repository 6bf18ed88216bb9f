//! Metres in a user unit of the root element, as its width, height and `viewBox` state it.
//!
//! A physical width (mm, cm, in, pt, pc, Q) over the width of the `viewBox` is a scale; without a `viewBox` a
//! user unit is a CSS pixel, 1/96 inch. A width in pixels, in percent or none at all says nothing about a plan:
//! the unit is then *assumed*, and a later stage or the user decides.

use super::issues::{self, Report};
use super::number::{Length, PIXELS_PER_INCH};
use super::transform::{AspectRatio, ViewBox};
use crate::drawing::Units;

/// What the root element says about its size.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct RootSize {
    pub(super) width: Option<Length>,
    pub(super) height: Option<Length>,
    pub(super) view_box: Option<ViewBox>,
    pub(super) aspect_ratio: AspectRatio,
}

/// Units of the drawing and the factor by which y is stretched against x (1 but for `preserveAspectRatio="none"`).
pub(super) fn units(size: &RootSize, stated: Option<f64>, report: &mut Report<'_>, offset: usize) -> (Units, f64) {
    let positive = |length: Option<Length>| length.and_then(Length::metres).filter(|m| *m > 0.0 && m.is_finite());
    let (width, height) = (positive(size.width), positive(size.height));
    let (scale, stretch, from) = match (size.view_box, width, height) {
        (_, None, None) => (None, 1.0, ""),
        (None, width, _) => {
            let from = if width.is_some() { "svg width" } else { "svg height" };
            (Some(0.0254 / PIXELS_PER_INCH), 1.0, from)
        }
        (Some(view_box), Some(width), None) => (Some(width / view_box.width), 1.0, "svg width"),
        (Some(view_box), None, Some(height)) => (Some(height / view_box.height), 1.0, "svg height"),
        (Some(view_box), Some(width), Some(height)) => {
            let (x, y) = size.aspect_ratio.scales(view_box, width, height);
            let (free_x, free_y) = (width / view_box.width, height / view_box.height);
            if (free_x / free_y - 1.0).abs() > 0.01 {
                report.left(&issues::UNEQUAL_SCALE, offset, || {
                    format!("{:.6} m by the width, {:.6} m by the height", free_x, free_y)
                });
            }
            (Some(x), y / x, "svg width")
        }
    };
    let stretch = if (stretch - 1.0).abs() < 1e-6 { 1.0 } else { stretch };
    let units = match (stated, scale) {
        (Some(metres_per_unit), _) => Units { metres_per_unit, from: "config".to_owned(), confidence: None },
        (None, Some(metres_per_unit)) => Units { metres_per_unit, from: from.to_owned(), confidence: None },
        (None, None) => {
            report.left(&issues::NO_SIZE, offset, || "one unit is taken as one metre".to_owned());
            Units { metres_per_unit: 1.0, from: "assumed".to_owned(), confidence: Some(0.0) }
        }
    };
    (units, stretch)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::issue::Issues;

    fn scale(width: &str, height: &str, view_box: &str, aspect_ratio: &str) -> (f64, String, f64, u64) {
        let size = RootSize {
            width: Length::parse(width),
            height: Length::parse(height),
            view_box: ViewBox::parse(view_box),
            aspect_ratio: AspectRatio::parse(aspect_ratio).unwrap_or_default(),
        };
        let mut report = Report::new("", Issues::new());
        let (units, stretch) = units(&size, None, &mut report, 0);
        ((units.metres_per_unit * 1e9).round() / 1e9, units.from, stretch, report.issues.total())
    }

    #[test]
    fn sizes_give_scales() {
        assert_eq!(scale("100mm", "100mm", "0 0 100 100", ""), (0.001, "svg width".into(), 1.0, 0));
        assert_eq!(scale("", "20cm", "0 0 100 100", ""), (0.002, "svg height".into(), 1.0, 0));
        assert_eq!(scale("1in", "1in", "", ""), (0.000264583, "svg width".into(), 1.0, 0));
        assert_eq!(scale("100px", "100px", "0 0 100 100", ""), (1.0, "assumed".into(), 1.0, 1));
        assert_eq!(scale("100%", "", "0 0 100 100", ""), (1.0, "assumed".into(), 1.0, 1));
        assert_eq!(scale("200mm", "100mm", "0 0 100 100", ""), (0.001, "svg width".into(), 1.0, 1));
        assert_eq!(scale("200mm", "100mm", "0 0 100 100", "none"), (0.002, "svg width".into(), 0.5, 1));
    }
}
