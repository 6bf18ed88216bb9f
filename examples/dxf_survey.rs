//! Reads DXF files and prints a JSON line about each: what was read, what was not, what was odd, lengths, areas and
//! labels of every layer after blocks are expanded, and what `cadkit-dxf` counts in the same file. `benches/peers/`
//! compares these lines with other readers.
//!
//! `cargo run --release --example dxf_survey -- FILE…`

#![allow(clippy::print_stdout, reason = "a program whose result is its output")]

use std::collections::BTreeMap;
use std::time::Instant;

use bytes::Bytes;
use plan2geo::drawing::expand::{ExpandOptions, Form, Polylines, expand};
use plan2geo::format::{ReadOptions, dxf};
use serde_json::json;

#[path = "../tests/dxf/families.rs"]
mod families;

fn main() {
    for path in std::env::args().skip(1) {
        let bytes = match std::fs::read(&path) {
            Ok(bytes) => Bytes::from(bytes),
            Err(error) => {
                println!("{}", json!({ "file": path, "error": error.to_string() }));
                continue;
            }
        };
        let started = Instant::now();
        // Lengths are compared in drawing units.
        let options = ReadOptions { metres_per_unit: Some(1.0), ..ReadOptions::default() };
        let line = match dxf::read(&bytes, &options, &|| Ok(())) {
            Err(error) => json!({ "file": path, "error": error.to_string(), "peer": peer_counts(&bytes) }),
            Ok(read) => {
                let milliseconds = started.elapsed().as_secs_f64() * 1000.0;
                let drawing = &read.drawing;
                json!({
                    "file": path,
                    "version": drawing.version,
                    "units": drawing.units,
                    "layers": drawing.layers.len(),
                    "read": drawing.census,
                    "unsupported": drawing.unsupported,
                    "sheets": drawing.other_sheets,
                    "issues": read.issues,
                    "families": families::ours(drawing),
                    "expanded": expanded(drawing),
                    "peer": peer_counts(&bytes),
                    "ms": milliseconds,
                })
            }
        };
        println!("{line}");
    }
}

/// Length of lines, area of fills (rings by even-odd) and labels by layer and kind of entity, blocks expanded, hidden
/// things included.
fn expanded(drawing: &plan2geo::drawing::Drawing) -> serde_json::Value {
    #[derive(Default, serde::Serialize)]
    struct Layer {
        length: BTreeMap<String, f64>,
        area: BTreeMap<String, f64>,
        labels: BTreeMap<String, Vec<String>>,
    }
    let mut layers: BTreeMap<String, Layer> = BTreeMap::new();
    let options = ExpandOptions { include_hidden: true, ..ExpandOptions::default() };
    let result = expand::<()>(drawing, &options, &|| Ok(()), &mut |shape| {
        let layer = layers.entry(shape.layer_name.to_owned()).or_default();
        let kind = shape.entity.to_owned();
        match &shape.form {
            Form::Lines { lines, .. } => *layer.length.entry(kind).or_default() += length(lines),
            Form::Area { rings } => *layer.area.entry(kind).or_default() += area(rings),
            Form::Text(text) => layer.labels.entry(kind).or_default().push(text.text.value.clone()),
            _ => {}
        }
        Ok(())
    });
    match result {
        Ok(_) => json!(layers),
        Err(error) => json!({ "error": format!("{error:?}") }),
    }
}

fn length(lines: &Polylines) -> f64 {
    lines
        .iter()
        .map(|(points, closed)| {
            let open: f64 = points.windows(2).map(|pair| (pair[1] - pair[0]).hypot()).sum();
            match (points.first(), points.last()) {
                (Some(first), Some(last)) if closed => open + (*first - *last).hypot(),
                _ => open,
            }
        })
        .sum()
}

/// Area between rings that do not cross: each ring counts by how many others it lies in.
fn area(rings: &Polylines) -> f64 {
    let rings: Vec<_> = rings.iter().map(|(points, _)| points).collect();
    let signed = |ring: &[plan2geo::drawing::Point]| -> f64 {
        let next = ring.iter().cycle().skip(1);
        ring.iter().zip(next).map(|(a, b)| a.to_vec2().cross(b.to_vec2())).sum::<f64>() / 2.0
    };
    let inside = |ring: &[plan2geo::drawing::Point], at: plan2geo::drawing::Point| {
        let next = ring.iter().cycle().skip(1);
        let crossings = ring
            .iter()
            .zip(next)
            .filter(|(a, b)| (a.y > at.y) != (b.y > at.y) && at.x < (b.x - a.x) * (at.y - a.y) / (b.y - a.y) + a.x);
        crossings.count() % 2 == 1
    };
    let mut total = 0.0;
    for (index, ring) in rings.iter().enumerate() {
        let Some(first) = ring.first() else { continue };
        let depth = rings.iter().enumerate().filter(|(other, outer)| *other != index && inside(outer, *first)).count();
        total += if depth % 2 == 0 { 1.0 } else { -1.0 } * signed(ring).abs();
    }
    total
}

/// The same counts by `cadkit-dxf`.
fn peer_counts(bytes: &[u8]) -> serde_json::Value {
    match families::theirs(bytes) {
        Ok(families) => json!(families),
        Err(error) => json!({ "error": error }),
    }
}
