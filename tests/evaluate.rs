//! The evaluation command: bounds, pairs of folders, missing predictions.

use plan2geo::evaluate::batch::Comparison;
use plan2geo::evaluate::generated::{self, Help};
use plan2geo::evaluate::{Tolerances, report};
use plan2geo::kernel::ConvertOptions;
use plan2geo::synth::{Defects, Drafting, Spec};

use crate::support::Folder;

fn generated(folder: &Folder) {
    let arguments = ["synth", "gen", "--plans", "3", "--seed", "1", "--rooms", "6"];
    assert!(folder.program().args(arguments).output().unwrap().status.success());
}

#[test]
fn a_truth_is_perfect_against_itself_and_bounds_hold() {
    let folder = Folder::new();
    generated(&folder);
    let bounds = ["--min", "room_f1_90=1", "--min", "label_accuracy=1", "--max", "leaks=0"];
    let output = folder.program().args(["evaluate", "gen/truth", "gen/truth"]).args(bounds).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(String::from_utf8_lossy(&output.stdout).contains("all 3 plans"));
}

#[test]
fn a_missing_prediction_counts_as_nothing_found_and_misses_the_bound() {
    let folder = Folder::new();
    generated(&folder);
    let kept = std::fs::read(folder.join("gen/truth/S000/P00002.geojson")).unwrap();
    folder.write("out/S000/P00002.svg.geojson", kept);
    folder.write("out/_plan2geo/report.geojson", "{}");
    let output = folder
        .program()
        .args(["evaluate", "gen/truth", "out", "--json", "--min", "room_recall_50=0.9"])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1));
    let message = String::from_utf8_lossy(&output.stderr);
    assert!(message.contains("room_recall_50"), "{message}");
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(json["total"]["missing"], 2.0);
    assert_eq!(json["plans"][2]["name"], "S000/P00002");
    assert_eq!(json["plans"][2]["room_f1_50"], 1.0);
    assert_eq!(json["extra"], serde_json::json!([]));
}

#[test]
fn an_unknown_metric_is_refused_with_the_known_ones() {
    let folder = Folder::new();
    let output = folder.program().args(["evaluate", "a", "b", "--min", "beauty=1"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("room_f1_50"));
}

#[test]
fn a_truth_that_does_not_exist_is_named() {
    let folder = Folder::new();
    let output = folder.program().args(["evaluate", "nowhere", "nothing"]).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).contains("nowhere"));
}

fn score(defects: Defects, drafting: Drafting, seeds: std::ops::RangeInclusive<u64>) -> Comparison {
    let specs = seeds.map(|seed| {
        let spec = Spec { defects, drafting: Some(drafting), rooms: Some(14), ..Spec::of_seed(seed) };
        (format!("{seed}"), spec)
    });
    let comparison =
        generated::run(specs, &ConvertOptions::default(), Help::default(), &Tolerances::default()).unwrap();
    assert_eq!(comparison.total.missing, 0, "{}", report::table(&comparison, 10));
    comparison
}

fn at_least(comparison: &Comparison, bounds: &[(&str, f64)]) {
    for (name, bound) in bounds {
        let value = comparison.total.metric(name).unwrap();
        assert!(value >= *bound, "{name} is {value:.4}, below {bound}\n{}", report::table(comparison, 10));
    }
}

#[test]
fn plans_drawn_well_are_read_without_configuration() {
    let score = score(Defects::default(), Drafting::Cad, 1..=8);
    at_least(&score, &[("room_f1_50", 0.98), ("room_f1_90", 0.97), ("label_accuracy", 0.95), ("opening_f1", 0.95)]);
    assert_eq!(score.total.leaks, 0, "{}", report::table(&score, 10));
}

#[test]
fn plans_with_every_defect_of_drawing_are_read_without_configuration() {
    let defects = Defects { wrong_units: false, ..Defects::all() };
    let score = score(defects, Drafting::Cad, 1..=8);
    at_least(&score, &[("room_f1_50", 0.93), ("room_f1_90", 0.88), ("label_accuracy", 0.93), ("opening_f1", 0.88)]);
}

#[test]
fn plans_of_another_hand_are_read_without_configuration() {
    let score = score(Defects { furniture: true, ..Defects::default() }, Drafting::Hand, 1..=6);
    at_least(&score, &[("room_f1_50", 0.93), ("room_f1_90", 0.90), ("label_accuracy", 0.9), ("opening_f1", 0.85)]);
}
