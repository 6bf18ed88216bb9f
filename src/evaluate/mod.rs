//! How well a plan was read: predicted rooms, walls, openings and labels against the truth.
//!
//! [`Scene`] is what is compared, from GeoJSON ([`scene`]) or straight from a [`crate::plan::Plan`]; [`compare`]
//! gives a [`Score`], which adds up over plans; [`batch`] walks two directories, [`generated`] plans of the generator; [`report`] prints. Everything
//! is deterministic: ties are broken by index. Frames are never aligned silently: a prediction in the wrong unit
//! scores as wrong, unless the caller asks to scale it by the ratio of the stated units.
//!
//! How each number is made stands at its method in [`Score`].

pub mod batch;
pub mod generated;
mod openings;
pub mod report;
mod rooms;
pub mod scene;
mod score;
mod walls;

pub use scene::{Opening, OpeningClass, Room, Scene};
pub use score::{Metric, Score, Share, Tally};

/// Distances within which things count as found.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Tolerances {
    /// Between a sample of one wall line and the nearest wall of the other side, metres.
    pub wall_m: f64,
    /// Between the middles of two openings, metres.
    pub opening_m: f64,
    /// Between the directions of two openings, degrees.
    pub opening_degrees: f64,
}

impl Default for Tolerances {
    fn default() -> Self {
        Self { wall_m: 0.15, opening_m: 0.5, opening_degrees: 30.0 }
    }
}

/// Compares one prediction with its truth. Both must be in the same frame, metres.
pub fn compare(truth: &Scene, predicted: &Scene, tolerances: &Tolerances) -> Score {
    let mut score = Score { plans: 1, ..Score::default() };
    let pairs = rooms::compare(truth, predicted, &mut score);
    walls::compare(truth, predicted, tolerances, &mut score);
    openings::compare(truth, predicted, &pairs, tolerances, &mut score);
    score
}

/// Why two files could not be compared.
#[derive(Debug, thiserror::Error)]
pub enum EvaluateError {
    /// A file cannot be read.
    #[error("cannot read {path}: {source}")]
    Input {
        /// Which.
        path: String,
        /// The cause.
        source: std::io::Error,
    },
    /// Not JSON.
    #[error("{path} is not JSON: {source}")]
    Json {
        /// Which.
        path: String,
        /// The cause.
        source: serde_json::Error,
    },
    /// JSON, but not what is compared.
    #[error("{path}: {reason}")]
    Shape {
        /// Which.
        path: String,
        /// What is wrong.
        reason: String,
    },
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn scene(features: &[Value]) -> Scene {
        let collection = json!({"type": "FeatureCollection", "features": features}).to_string();
        Scene::from_geojson(collection.as_bytes(), "test").unwrap()
    }

    fn room(id: &str, low: [f64; 2], high: [f64; 2], number: &str) -> Value {
        let ring = json!([low, [high[0], low[1]], high, [low[0], high[1]], low]);
        json!({"type": "Feature", "id": id, "geometry": {"type": "Polygon", "coordinates": [ring]},
            "properties": {"class": "room", "number": number}})
    }

    fn line(class: &str, a: [f64; 2], b: [f64; 2], rooms: Value) -> Value {
        json!({"type": "Feature", "geometry": {"type": "LineString", "coordinates": [a, b]},
            "properties": {"class": class, "rooms": rooms}})
    }

    fn two_rooms() -> Vec<Value> {
        vec![
            room("a", [0.0, 0.0], [4.0, 5.0], "101"),
            room("b", [4.2, 0.0], [9.0, 5.0], "102"),
            line("wall", [4.1, 0.0], [4.1, 5.0], Value::Null),
            line("door", [4.1, 1.0], [4.1, 2.0], json!(["a", "b"])),
        ]
    }

    fn score(truth: &[Value], predicted: &[Value]) -> Score {
        compare(&scene(truth), &scene(predicted), &Tolerances::default())
    }

    #[test]
    fn a_truth_compared_with_itself_is_perfect() {
        let score = score(&two_rooms(), &two_rooms());
        for metric in score.metrics() {
            // This truth has no names and states no kinds.
            if matches!(metric.name, "name_accuracy" | "opening_kind_accuracy") {
                continue;
            }
            let perfect = match metric.name {
                "area_error" | "leaks" | "over_splits" | "opening_width_error" | "missing" => 0.0,
                _ => 1.0,
            };
            assert!((metric.value - perfect).abs() < 1e-6, "{} is {}", metric.name, metric.value);
        }
    }

    #[test]
    fn a_merged_room_is_a_leak_and_finds_at_most_one() {
        let score = score(&two_rooms(), &[room("x", [0.0, 0.0], [9.0, 5.0], "101")]);
        assert_eq!((score.leaks, score.over_splits), (1, 0));
        assert_eq!(score.rooms_50.found, 1.0);
        assert_eq!(score.metric("room_f1_50"), Some(2.0 / 3.0));
        assert_eq!(score.metric("label_recall"), Some(0.0), "102 was lost and 101 given to its room");
    }

    #[test]
    fn a_divided_room_is_an_over_split() {
        let predicted = [room("x", [0.0, 0.0], [2.0, 5.0], ""), room("y", [2.0, 0.0], [4.0, 5.0], "101")];
        let score = score(&two_rooms(), &predicted);
        assert_eq!((score.leaks, score.over_splits), (0, 1));
        assert_eq!(score.rooms_90.found, 0.0);
    }

    #[test]
    fn a_box_around_a_number_is_a_wrong_room_but_no_split() {
        let mut predicted = two_rooms();
        predicted.push(room("box", [1.0, 1.0], [1.8, 1.4], ""));
        let score = score(&two_rooms(), &predicted);
        assert_eq!((score.over_splits, score.rooms_50.right, score.rooms_50.predicted), (0, 2.0, 3.0));
    }

    #[test]
    fn optional_rooms_count_neither_way() {
        let mut truth = two_rooms();
        let mut shaft = room("s", [0.0, 6.0], [1.0, 7.0], "");
        shaft["properties"]["optional"] = json!(true);
        truth.push(shaft.clone());
        for predicted in [two_rooms(), [two_rooms(), vec![shaft]].concat()] {
            assert_eq!(score(&truth, &predicted).metric("room_f1_50"), Some(1.0));
        }
    }

    #[test]
    fn openings_match_by_place_class_and_direction() {
        let shifted = [line("door", [4.2, 1.2], [4.2, 2.1], Value::Null)];
        assert_eq!(score(&two_rooms(), &shifted).passages.found, 1.0);
        let crossing = [line("door", [3.6, 1.5], [4.6, 1.5], Value::Null)];
        assert_eq!(score(&two_rooms(), &crossing).passages.found, 0.0);
        let window = [line("window", [4.1, 1.0], [4.1, 2.0], Value::Null)];
        assert_eq!(score(&two_rooms(), &window).openings.found, 0.0);
    }

    #[test]
    fn walls_are_compared_by_length_without_the_openings() {
        let half =
            [line("wall", [4.1, 2.5], [4.1, 5.0], Value::Null), line("wall", [20.0, 0.0], [20.0, 2.5], Value::Null)];
        let score = score(&two_rooms(), &half);
        let recall = score.metric("wall_recall").unwrap();
        let precision = score.metric("wall_precision").unwrap();
        assert!((0.7..0.85).contains(&recall), "{recall}");
        assert!((0.45..0.55).contains(&precision), "{precision}");
    }

    #[test]
    fn a_prediction_in_another_unit_is_only_scaled_when_asked() {
        let inches: Vec<Value> = vec![room("a", [0.0, 0.0], [4.0 / 0.0254, 5.0 / 0.0254], "101")];
        let truth = [room("a", [0.0, 0.0], [4.0, 5.0], "101")];
        assert_eq!(score(&truth, &inches).rooms_50.found, 0.0);
        let scaled = scene(&inches).scaled(0.0254);
        assert_eq!(
            compare(&scene(&truth), &scaled, &Tolerances::default()).metric("mean_iou").map(|x| x > 0.999),
            Some(true)
        );
    }

    #[test]
    fn georeferenced_files_are_refused_with_a_remedy() {
        let json = br#"{"type":"FeatureCollection","metadata":{"crs":"EPSG:4326"},"features":[]}"#;
        let error = Scene::from_geojson(json, "a.geojson").unwrap_err().to_string();
        assert!(error.contains("local metres"), "{error}");
    }

    #[test]
    fn every_generated_truth_is_perfect_against_itself() {
        for seed in 0..8 {
            let plan = crate::synth::generate(&crate::synth::Spec::of_seed(seed)).unwrap();
            let truth = Scene::from_geojson(&plan.truth, "truth").unwrap();
            let score = compare(&truth, &truth, &Tolerances::default());
            assert_eq!(score.metric("room_f1_90"), Some(1.0), "seed {seed}");
            assert_eq!((score.leaks, score.over_splits), (0, 0), "seed {seed}");
            assert_eq!(score.metric("opening_side_accuracy"), Some(1.0), "seed {seed}");
            assert_eq!(score.metric("wall_f1"), Some(1.0), "seed {seed}");
        }
    }
}
