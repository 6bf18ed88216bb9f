//! A comparison as a table for people and as JSON for machines, and thresholds for builds.

use std::fmt::Write;

use serde_json::{Map, Value, json};

use super::Score;
use super::batch::{Comparison, Outcome};

/// Columns of the table: heading and metric.
const COLUMNS: [(&str, &str); 11] = [
    ("F1@.5", "room_f1_50"),
    ("F1@.9", "room_f1_90"),
    ("IoU", "mean_iou"),
    ("label", "label_accuracy"),
    ("lab.all", "label_recall"),
    ("wall", "wall_f1"),
    ("open", "opening_f1"),
    ("door", "door_f1"),
    ("window", "window_f1"),
    ("leaks", "leaks"),
    ("splits", "over_splits"),
];

/// The table: worst plans first, at most `rows` of them, then the totals.
pub fn table(comparison: &Comparison, rows: usize) -> String {
    let mut text = String::new();
    let _ = write!(text, "{:<28} {:>5}", "plan", "rooms");
    for (heading, _) in COLUMNS {
        let _ = write!(text, " {heading:>7}");
    }
    text.push('\n');
    let worst = comparison.worst_first();
    for outcome in worst.iter().take(rows) {
        row(&mut text, &outcome.name, &outcome.score);
        if let Some(note) = &outcome.note {
            let _ = write!(text, "  ({note})");
        }
        text.push('\n');
    }
    if worst.len() > rows {
        let _ = writeln!(text, "… and {} better ones", worst.len() - rows);
    }
    row(&mut text, &format!("all {} plans", comparison.total.plans), &comparison.total);
    text.push('\n');
    for name in [
        "area_error",
        "number_accuracy",
        "name_accuracy",
        "opening_kind_accuracy",
        "opening_side_accuracy",
        "opening_width_error",
    ] {
        let _ = writeln!(text, "{name:<28} {:.4}", comparison.total.metric(name).unwrap_or(0.0));
    }
    if comparison.total.missing > 0 {
        let _ = writeln!(text, "{} plans without a usable prediction", comparison.total.missing);
    }
    if !comparison.extra.is_empty() {
        let _ =
            writeln!(text, "{} predictions without a truth, first: {}", comparison.extra.len(), comparison.extra[0]);
    }
    text
}

fn row(text: &mut String, name: &str, score: &Score) {
    let _ = write!(text, "{name:<28} {:>5}", score.rooms_50.truth);
    for (_, metric) in COLUMNS {
        let value = score.metric(metric).unwrap_or(0.0);
        let _ = match metric {
            "leaks" | "over_splits" => write!(text, " {value:>7}"),
            _ => write!(text, " {value:>7.4}"),
        };
    }
}

fn numbers(score: &Score) -> Map<String, Value> {
    let mut map = Map::new();
    map.insert("plans".to_owned(), json!(score.plans));
    map.insert("rooms".to_owned(), json!(score.rooms_50.truth));
    for metric in score.metrics() {
        map.insert(metric.name.to_owned(), json!((metric.value * 1e6).round() / 1e6));
    }
    map
}

/// Everything as JSON, worst plans first.
pub fn json(comparison: &Comparison) -> Value {
    let plan = |outcome: &&Outcome| {
        let mut map = numbers(&outcome.score);
        map.insert("name".to_owned(), json!(outcome.name));
        if let Some(note) = &outcome.note {
            map.insert("note".to_owned(), json!(note));
        }
        Value::Object(map)
    };
    json!({
        "total": numbers(&comparison.total),
        "plans": comparison.worst_first().iter().map(plan).collect::<Vec<_>>(),
        "extra": comparison.extra,
    })
}

/// A bound on a metric of the totals, such as `room_f1_50=0.95`.
#[derive(Debug, Clone, PartialEq)]
pub struct Threshold {
    /// Name of the metric.
    pub metric: String,
    /// The bound.
    pub bound: f64,
}

impl std::str::FromStr for Threshold {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (metric, bound) =
            text.split_once('=').ok_or_else(|| format!("`{text}` is not of the form metric=number"))?;
        let known: Vec<&str> = Score::default().metrics().iter().map(|metric| metric.name).collect();
        if !known.contains(&metric.trim()) {
            return Err(format!("no metric `{}`; known are {}", metric.trim(), known.join(", ")));
        }
        let bound = bound.trim().parse().map_err(|_| format!("`{}` is not a number", bound.trim()))?;
        Ok(Self { metric: metric.trim().to_owned(), bound })
    }
}

/// Which bounds the totals miss, in words.
pub fn missed(total: &Score, at_least: &[Threshold], at_most: &[Threshold]) -> Vec<String> {
    // A metric that is not known misses every bound; `Threshold` lets none in.
    let value = |threshold: &Threshold| total.metric(&threshold.metric).unwrap_or(f64::NAN);
    let low = at_least.iter().filter(|threshold| value(threshold).is_nan() || value(threshold) < threshold.bound);
    let high = at_most.iter().filter(|threshold| value(threshold).is_nan() || value(threshold) > threshold.bound);
    low.map(|t| format!("{} is {:.4}, below {}", t.metric, value(t), t.bound))
        .chain(high.map(|t| format!("{} is {:.4}, above {}", t.metric, value(t), t.bound)))
        .collect()
}
