//! Small plots as inline SVG, drawn the same for the same numbers.

use std::fmt::Write as _;

const WIDTH: f64 = 720.0;
const HEIGHT: f64 = 180.0;
const LEFT: f64 = 64.0;
const BOTTOM: f64 = 24.0;
const TOP: f64 = 10.0;

/// A line over time: points of (seconds, value), an optional bound drawn dashed, and how values are worded.
pub(super) fn over_time(points: &[(f64, f64)], bound: Option<f64>, label: &str, word: fn(f64) -> String) -> String {
    let last = points.last().map_or(0.0, |(time, _)| *time).max(1e-3);
    let highest = points.iter().map(|(_, value)| *value).chain(bound).fold(0.0, f64::max).max(1e-9) * 1.08;
    let x = |time: f64| LEFT + (WIDTH - LEFT - 8.0) * time / last;
    let y = |value: f64| TOP + (HEIGHT - TOP - BOTTOM) * (1.0 - value / highest);
    let mut svg = format!(r#"<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{label}">"#);
    for part in 0..=4 {
        let value = highest / 1.08 * f64::from(part) / 4.0;
        let at = y(value);
        let _ = write!(svg, r#"<line class="grid" x1="{LEFT}" x2="{WIDTH}" y1="{at:.1}" y2="{at:.1}"/>"#);
        let _ =
            write!(svg, r#"<text x="{:.1}" y="{:.1}" text-anchor="end">{}</text>"#, LEFT - 6.0, at + 4.0, word(value));
    }
    for part in 0..=4 {
        let time = last * f64::from(part) / 4.0;
        let _ =
            write!(svg, r#"<text x="{:.1}" y="{:.1}" text-anchor="middle">{time:.1} s</text>"#, x(time), HEIGHT - 6.0);
    }
    if let Some(bound) = bound {
        let at = y(bound);
        let _ = write!(svg, r#"<line class="bound" x1="{LEFT}" x2="{WIDTH}" y1="{at:.1}" y2="{at:.1}"/>"#);
    }
    svg.push_str(r#"<polyline class="curve" points=""#);
    for (time, value) in points {
        let _ = write!(svg, "{:.1},{:.1} ", x(*time), y(*value));
    }
    svg.push_str(r#""/></svg>"#);
    svg
}

/// Horizontal bars of one unit.
pub(super) fn bars(rows: &[(String, f64)], word: fn(f64) -> String) -> String {
    let highest = rows.iter().map(|(_, value)| *value).fold(0.0, f64::max).max(1e-9);
    let height = 24.0 * rows.len() as f64 + 4.0;
    let mut svg = format!(r#"<svg viewBox="0 0 {WIDTH} {height}" role="img">"#);
    for (row, (name, value)) in rows.iter().enumerate() {
        let y = 24.0 * row as f64 + 4.0;
        let width = (WIDTH - LEFT - 100.0) * value / highest;
        let _ = write!(svg, r#"<text x="{:.1}" y="{:.1}" text-anchor="end">{name}</text>"#, LEFT - 6.0, y + 13.0);
        let _ = write!(svg, r#"<rect class="bar" x="{LEFT}" y="{y:.1}" width="{width:.1}" height="17"/>"#);
        let _ = write!(svg, r#"<text x="{:.1}" y="{:.1}">{}</text>"#, LEFT + width + 6.0, y + 13.0, word(*value));
    }
    svg.push_str("</svg>");
    svg
}
