//! How long a point of the page is in the building.
//!
//! In the order of trust: the user; a measured viewport of the page (`/VP` with `/Measure`, PDF 2.0, 12.9), also a
//! geospatial one; a scale
//! written on the sheet ("Scale 1:100", "M 1:50", "1/4" = 1'-0""); else the page's own millimetres, with an issue.
//! A written scale is only as good as the sheet: its confidence is stated, and other scales on it are an issue.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use hayro_syntax::object::{Array, Dict, Name, Number, Rect, String as PdfString};
use regex::Regex;

use super::geospatial;
use super::objects::text_string;
use crate::drawing::{Affine, GeoReference, Units};
use crate::issue::{Code, Issues, Place};

/// Metres in a point (1/72 inch).
pub(super) const METRES_PER_POINT: f64 = 0.0254 / 72.0;

pub(super) static NO_SCALE: Code = Code::warning(
    "PDF101",
    "no scale was found: lengths are those of the paper",
    "state metres per unit in the configuration; at 1:100 a point is 0.035278 m",
);
pub(super) static WRITTEN_SCALE: Code = Code::note(
    "PDF102",
    "the scale was taken from a text on the page",
    "compare a known length, or state metres per unit in the configuration",
);
pub(super) static SCALES_DISAGREE: Code = Code::warning(
    "PDF103",
    "the page states more than one scale",
    "the one with the most weight was taken: state metres per unit in the configuration if it is another",
);

/// Greatest denominator that is believed.
const GREATEST_RATIO: f64 = 100_000.0;
/// Denominators that are believed without the word "scale" beside them.
const USUAL_RATIOS: [u32; 20] =
    [5, 10, 20, 25, 50, 75, 100, 125, 150, 200, 250, 300, 400, 500, 750, 1_000, 1_250, 2_000, 2_500, 5_000];

/// Decides the unit of a page by what its viewports and its `texts` say.
pub(super) fn decide<'t>(
    stated: Option<f64>,
    viewports: &Viewports,
    texts: impl Iterator<Item = &'t str>,
    issues: &mut Issues,
) -> Units {
    if let Some(metres_per_unit) = stated {
        return Units { metres_per_unit, from: "config".to_owned(), confidence: None };
    }
    if let Some((metres_per_unit, from)) = viewports.metres_per_unit(issues) {
        return Units { metres_per_unit, from: from.to_owned(), confidence: None };
    }
    let votes = votes(texts);
    let total: u32 = votes.values().map(|vote| vote.weight).sum();
    // The greatest weight; among equals the smaller scale, which is the plan rather than a detail.
    let Some(best) = votes.values().max_by(|a, b| a.weight.cmp(&b.weight).then(a.ratio.total_cmp(&b.ratio))) else {
        issues.report(&NO_SCALE, Place::Document, "neither a measured viewport nor a text such as 1:100");
        return Units { metres_per_unit: METRES_PER_POINT, from: Units::PAPER.to_owned(), confidence: Some(0.0) };
    };
    let mut confidence = if best.weight >= Vote::NAMED { 0.9 } else { 0.7 };
    if votes.len() > 1 {
        confidence *= f64::from(best.weight) / f64::from(total);
        let found: Vec<String> = votes.values().map(|vote| format!("{:?}", vote.text)).collect();
        issues.report(&SCALES_DISAGREE, Place::Document, format!("{} taken, found {}", best.name(), found.join(", ")));
    }
    issues.report(&WRITTEN_SCALE, Place::Document, format!("{} from {:?}", best.name(), best.text));
    Units {
        metres_per_unit: METRES_PER_POINT * best.ratio,
        from: format!("text {}", best.name()),
        confidence: Some((confidence * 100.0).round() / 100.0),
    }
}

/// The measured viewports of a page.
#[derive(Debug, Default)]
pub(super) struct Viewports {
    found: Vec<Viewport>,
}

#[derive(Debug)]
struct Viewport {
    area: f64,
    metres_per_unit: f64,
    from: &'static str,
    georeference: Option<GeoReference>,
}

impl Viewports {
    /// Reads `/VP`. `to_page` maps user space to page space.
    pub(super) fn of_page(page: &Dict<'_>, user_unit: f64, to_page: Affine) -> Self {
        let viewport = |viewport: Dict<'_>| -> Option<Viewport> {
            let measure = viewport.get::<Dict<'_>>("Measure")?;
            let area = viewport.get::<Rect>("BBox").map_or(0.0, |rect| (rect.width() * rect.height()).abs());
            match measure.get::<Name<'_>>("Subtype").as_deref() {
                Some(b"GEO") => {
                    let georeference = geospatial::georeference(&viewport, &measure, to_page)?;
                    let metres_per_unit = georeference.scale;
                    Some(Viewport { area, metres_per_unit, from: "/Measure GEO", georeference: Some(georeference) })
                }
                None | Some(b"RL") => {
                    let metres_per_unit = rectilinear(&measure)? / user_unit;
                    Some(Viewport { area, metres_per_unit, from: "/Measure", georeference: None })
                }
                Some(_) => None,
            }
        };
        let all = page.get::<Array<'_>>("VP");
        Self { found: all.iter().flat_map(|all| all.iter::<Dict<'_>>()).filter_map(viewport).collect() }
    }

    /// The georeference of the largest viewport that has one.
    pub(super) fn georeference(&self) -> Option<GeoReference> {
        largest(self.found.iter().filter(|viewport| viewport.georeference.is_some()))?.georeference.clone()
    }

    /// Metres in a point by the largest viewport, and where that is from.
    fn metres_per_unit(&self, issues: &mut Issues) -> Option<(f64, &'static str)> {
        let best = largest(self.found.iter())?;
        let differs = |other: &Viewport| (other.metres_per_unit / best.metres_per_unit - 1.0).abs() > 0.01;
        if self.found.iter().any(differs) {
            let ratio = |viewport: &Viewport| format!("1:{:.4}", viewport.metres_per_unit / METRES_PER_POINT);
            let ratios: Vec<String> = self.found.iter().map(ratio).collect();
            issues.report(&SCALES_DISAGREE, Place::Document, format!("measured viewports at {}", ratios.join(", ")));
        }
        Some((best.metres_per_unit, best.from))
    }
}

/// The first of the largest.
fn largest<'v>(viewports: impl Iterator<Item = &'v Viewport>) -> Option<&'v Viewport> {
    viewports.reduce(|best, next| if next.area > best.area { next } else { best })
}

/// Metres in a unit of user space by a rectilinear measure dictionary.
fn rectilinear(measure: &Dict<'_>) -> Option<f64> {
    let format = measure.get::<Array<'_>>("X")?.iter::<Dict<'_>>().next()?;
    let factor = format.get::<Number>("C")?.as_f64();
    let unit = text_string(format.get::<PdfString<'_>>("U")?.as_bytes());
    let metres = match unit.trim().to_lowercase().trim_end_matches('.') {
        "m" | "metre" | "metres" | "meter" | "meters" => 1.0,
        "mm" | "millimetre" | "millimetres" | "millimeter" | "millimeters" => 0.001,
        "cm" | "centimetre" | "centimetres" | "centimeter" | "centimeters" => 0.01,
        "km" | "kilometre" | "kilometres" | "kilometer" | "kilometers" => 1_000.0,
        "ft" | "foot" | "feet" | "'" => 0.3048,
        "in" | "inch" | "inches" | "\"" => 0.0254,
        "yd" | "yard" | "yards" => 0.9144,
        "mi" | "mile" | "miles" => 1_609.344,
        "pt" | "point" | "points" => METRES_PER_POINT,
        _ => return None,
    };
    let metres = factor * metres;
    (metres.is_finite() && metres > 0.0).then_some(metres)
}

/// What speaks for a ratio.
#[derive(Debug, Clone, PartialEq)]
struct Vote {
    ratio: f64,
    weight: u32,
    text: String,
}

impl Vote {
    /// Weight of a scale that calls itself one.
    const NAMED: u32 = 3;
    const BARE: u32 = 1;

    fn name(&self) -> String {
        format!("1:{}", (self.ratio * 1_000.0).round() / 1_000.0)
    }
}

fn votes<'t>(texts: impl Iterator<Item = &'t str>) -> BTreeMap<u64, Vote> {
    let mut votes: BTreeMap<u64, Vote> = BTreeMap::new();
    for text in texts {
        for (ratio, weight) in scales(text) {
            let vote = votes.entry((ratio * 1_000.0).round() as u64).or_insert_with(|| Vote {
                ratio,
                weight: 0,
                text: text.chars().take(60).collect(),
            });
            vote.weight = vote.weight.saturating_add(weight);
        }
    }
    votes
}

/// The scales a text states, with their weights.
fn scales(text: &str) -> Vec<(f64, u32)> {
    static NAMES: LazyLock<Option<Regex>> = LazyLock::new(|| {
        compile(
            r"(?i)\b(scale|ma(ß|ss)stab|mst|échelle|echelle|schaal|escala|scala|skala|skali|skale|měřítko|mittakaava|масштаб|м|m)\b|比例|縮尺",
        )
    });
    static SLOPES: LazyLock<Option<Regex>> = LazyLock::new(|| {
        compile(r"(?i)slope|ramp|gradient|\bfalls?\b|gef(ä|ae)lle|neigung|pente|pendiente|pendenza|уклон|пандус")
    });
    static RATIO: LazyLock<Option<Regex>> =
        LazyLock::new(|| compile(r"(?:^|[^\d:/.,])1\s*([:/])\s*(\d{1,3}(?:[ .,'’]\d{3})+|\d{1,6})(?:$|[^\d:/])"));
    static IMPERIAL: LazyLock<Option<Regex>> = LazyLock::new(|| {
        compile(concat!(
            r#"(?i)(\d+(?:[- ]\d+/\d+)?|\d+/\d+|\d*\.\d+)\s*(?:"|″|”|''|in\b\.?|inch(?:es)?\b)\s*=\s*"#,
            r#"(\d+)\s*(?:'|′|’|ft\b\.?|feet\b)\s*(?:-?\s*(\d+)\s*(?:"|″|”|''|in\b))?"#
        ))
    });
    let (Some(names), Some(slopes), Some(ratios), Some(imperial)) = (&*NAMES, &*SLOPES, &*RATIO, &*IMPERIAL) else {
        return Vec::new();
    };
    if !text.contains(['1', '=']) || slopes.is_match(text) {
        return Vec::new();
    }
    let named = names.is_match(text);
    let in_inches = imperial.is_match(text);
    let mut found = Vec::new();
    for capture in ratios.captures_iter(text) {
        let digits: String = capture[2].chars().filter(char::is_ascii_digit).collect();
        let Ok(denominator) = digits.parse::<u32>() else { continue };
        let is_fraction = &capture[1] == "/";
        let believed = match (named, is_fraction) {
            (true, true) => denominator > 0 && !in_inches, // 1/4" = 1'-0"
            (true, false) => denominator > 0,
            (false, true) => false,
            (false, false) => USUAL_RATIOS.contains(&denominator),
        };
        if believed && f64::from(denominator) <= GREATEST_RATIO {
            found.push((f64::from(denominator), if named { Vote::NAMED } else { Vote::BARE }));
        }
    }
    for capture in imperial.captures_iter(text) {
        let Some(paper) = inches(&capture[1]) else { continue };
        let feet: f64 = capture[2].parse().unwrap_or(0.0);
        let rest: f64 = capture.get(3).and_then(|rest| rest.as_str().parse().ok()).unwrap_or(0.0);
        let ratio = (feet * 12.0 + rest) / paper;
        if ratio.is_finite() && (1.0..=GREATEST_RATIO).contains(&ratio) {
            found.push((ratio, Vote::NAMED));
        }
    }
    found
}

fn compile(pattern: &str) -> Option<Regex> {
    Regex::new(pattern).ok()
}

/// Inches such as `1/4`, `1-1/2`, `3`, `.125`.
fn inches(text: &str) -> Option<f64> {
    let (whole, fraction) = match text.split_once(['-', ' ']) {
        Some((whole, fraction)) => (whole.parse::<f64>().ok()?, fraction),
        None => (0.0, text),
    };
    let fraction = match fraction.split_once('/') {
        Some((numerator, denominator)) => numerator.parse::<f64>().ok()? / denominator.parse::<f64>().ok()?,
        None => fraction.parse().ok()?,
    };
    let inches = whole + fraction;
    (inches.is_finite() && inches > 0.0).then_some(inches)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn best(texts: &[&str]) -> (f64, Option<f64>, Issues) {
        let mut issues = Issues::new();
        let units = decide(None, &Viewports::default(), texts.iter().copied(), &mut issues);
        ((units.metres_per_unit / METRES_PER_POINT * 1e6).round() / 1e6, units.confidence, issues)
    }

    #[test]
    fn written_scales() {
        for (text, ratio) in [
            ("SCALE 1:100", 100.0),
            ("M 1:50", 50.0),
            ("Maßstab: 1 : 200", 200.0),
            ("1:1.000", 1_000.0),
            ("Scale 1/100", 100.0),
            ("Масштаб 1:75", 75.0),
            ("SCALE: 1/4\" = 1'-0\"", 48.0),
            ("1/8\"=1'", 96.0),
            ("1-1/2\" = 1'-0\"", 8.0),
            ("1\" = 20'-0\"", 240.0),
            ("1 in = 30 ft", 360.0),
        ] {
            assert_eq!(best(&[text]).0, ratio, "{text}");
        }
    }

    #[test]
    fn what_is_not_a_scale() {
        for text in ["ramp 1:12", "slope 1:100", "11:100", "1:37", "21/10/2024", "1:100:3", "10:15", "Gefälle 1:50"] {
            let (ratio, confidence, issues) = best(&[text]);
            assert_eq!((ratio, confidence), (1.0, Some(0.0)), "{text}");
            assert_eq!(issues.count(&NO_SCALE), 1);
        }
    }

    #[test]
    fn scales_that_disagree_are_reported_and_lower_the_confidence() {
        let (ratio, confidence, issues) = best(&["Scale 1:100", "1:20", "1:20"]);
        assert_eq!(ratio, 100.0);
        assert_eq!(confidence, Some(0.54));
        assert_eq!(issues.count(&SCALES_DISAGREE), 1);
    }
}
