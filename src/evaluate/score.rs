//! The numbers of a comparison, kept as counts so that plans add up.

use std::ops::{Add, AddAssign};

/// Things to find, things claimed, and how many of both agree.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Tally {
    /// In the truth.
    pub truth: f64,
    /// Of those, found.
    pub found: f64,
    /// In the prediction.
    pub predicted: f64,
    /// Of those, right.
    pub right: f64,
}

impl Tally {
    /// Found things as a part of all true ones; 1 if there are none.
    pub fn recall(&self) -> f64 {
        ratio(self.found, self.truth)
    }

    /// Right things as a part of all predicted ones; 1 if there are none.
    pub fn precision(&self) -> f64 {
        ratio(self.right, self.predicted)
    }

    /// Harmonic mean of precision and recall.
    pub fn f1(&self) -> f64 {
        let (p, r) = (self.precision(), self.recall());
        if p + r > 0.0 { 2.0 * p * r / (p + r) } else { 0.0 }
    }
}

impl Add for Tally {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            truth: self.truth + other.truth,
            found: self.found + other.found,
            predicted: self.predicted + other.predicted,
            right: self.right + other.right,
        }
    }
}

/// A sum over a number of things; a share if every thing adds 0 or 1.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Share {
    /// The sum.
    pub sum: f64,
    /// Of how many.
    pub count: f64,
}

impl Share {
    /// Counts one thing.
    pub fn count(&mut self, value: f64) {
        self.sum += value;
        self.count += 1.0;
    }

    fn mean_or(self, none: f64) -> f64 {
        if self.count > 0.0 { self.sum / self.count } else { none }
    }
}

impl Add for Share {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self { sum: self.sum + other.sum, count: self.count + other.count }
    }
}

fn ratio(part: f64, whole: f64) -> f64 {
    if whole > 0.0 { part / whole } else { 1.0 }
}

/// The outcome of one comparison, or the sum of several.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Score {
    /// Plans compared.
    pub plans: u64,
    /// Truths without a prediction; everything in them counts as missed.
    pub missing: u64,
    /// Rooms matched one to one at an intersection over union of 0.5 or more, best pairs first.
    pub rooms_50: Tally,
    /// The same at 0.9.
    pub rooms_90: Tally,
    /// Intersection over union of each true room with its partner; 0 for those without.
    pub iou: Share,
    /// |predicted − true| ÷ true area of rooms matched at 0.5.
    pub area_error: Share,
    /// Predicted rooms that cover more than half of two or more true rooms.
    pub leaks: u64,
    /// True rooms that hold most of two or more predicted rooms, each at least 5 % of it.
    pub over_splits: u64,
    /// Metres of wall middle line, sampled; stretches within openings are left out.
    pub walls: Tally,
    /// Doors, passages and windows.
    pub openings: Tally,
    /// Doors and passages alone.
    pub passages: Tally,
    /// Windows alone.
    pub windows: Tally,
    /// Matched openings with the right kind.
    pub opening_kinds: Share,
    /// Matched openings that name the right rooms on their sides.
    pub opening_sides: Share,
    /// |predicted − true| width of matched openings, metres.
    pub width_error: Share,
    /// Matched rooms whose true number was read.
    pub numbers: Share,
    /// Matched rooms whose true name was read.
    pub names: Share,
    /// Matched rooms with a true number or name of which all was read.
    pub labels: Share,
    /// The same of all true rooms with a label, unmatched ones counting as wrong.
    pub labels_of_all: Share,
}

impl AddAssign for Score {
    fn add_assign(&mut self, other: Self) {
        self.plans += other.plans;
        self.missing += other.missing;
        self.rooms_50 = self.rooms_50 + other.rooms_50;
        self.rooms_90 = self.rooms_90 + other.rooms_90;
        self.iou = self.iou + other.iou;
        self.area_error = self.area_error + other.area_error;
        self.leaks += other.leaks;
        self.over_splits += other.over_splits;
        self.walls = self.walls + other.walls;
        self.openings = self.openings + other.openings;
        self.passages = self.passages + other.passages;
        self.windows = self.windows + other.windows;
        self.opening_kinds = self.opening_kinds + other.opening_kinds;
        self.opening_sides = self.opening_sides + other.opening_sides;
        self.width_error = self.width_error + other.width_error;
        self.numbers = self.numbers + other.numbers;
        self.names = self.names + other.names;
        self.labels = self.labels + other.labels;
        self.labels_of_all = self.labels_of_all + other.labels_of_all;
    }
}

/// A named number of a score.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Metric {
    /// What `--min` and `--max` call it.
    pub name: &'static str,
    /// Its value.
    pub value: f64,
}

impl Score {
    /// All numbers, in the order of reports.
    pub fn metrics(&self) -> Vec<Metric> {
        let of = |name, value| Metric { name, value };
        // Nothing matched though there was something to read: not a perfect share but none.
        let read = if self.labels_of_all.count > 0.0 { 0.0 } else { 1.0 };
        let opened = if self.openings.truth > 0.0 { 0.0 } else { 1.0 };
        vec![
            of("room_f1_50", self.rooms_50.f1()),
            of("room_precision_50", self.rooms_50.precision()),
            of("room_recall_50", self.rooms_50.recall()),
            of("room_f1_90", self.rooms_90.f1()),
            of("room_precision_90", self.rooms_90.precision()),
            of("room_recall_90", self.rooms_90.recall()),
            of("mean_iou", self.iou.mean_or(1.0)),
            of("area_error", self.area_error.mean_or(0.0)),
            of("leaks", self.leaks as f64),
            of("over_splits", self.over_splits as f64),
            of("label_accuracy", self.labels.mean_or(read)),
            of("label_recall", self.labels_of_all.mean_or(1.0)),
            of("number_accuracy", self.numbers.mean_or(read)),
            of("name_accuracy", self.names.mean_or(read)),
            of("wall_f1", self.walls.f1()),
            of("wall_precision", self.walls.precision()),
            of("wall_recall", self.walls.recall()),
            of("opening_f1", self.openings.f1()),
            of("door_f1", self.passages.f1()),
            of("door_precision", self.passages.precision()),
            of("door_recall", self.passages.recall()),
            of("window_f1", self.windows.f1()),
            of("opening_kind_accuracy", self.opening_kinds.mean_or(opened)),
            of("opening_side_accuracy", self.opening_sides.mean_or(opened)),
            of("opening_width_error", self.width_error.mean_or(0.0)),
            of("missing", self.missing as f64),
        ]
    }

    /// The number of that name.
    pub fn metric(&self, name: &str) -> Option<f64> {
        self.metrics().into_iter().find(|metric| metric.name == name).map(|metric| metric.value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn precision_recall_and_f1_are_those_of_the_book() {
        let tally = Tally { truth: 10.0, found: 8.0, predicted: 16.0, right: 8.0 };
        assert_eq!((tally.recall(), tally.precision()), (0.8, 0.5));
        assert!((tally.f1() - 2.0 * 0.8 * 0.5 / 1.3).abs() < 1e-12);
        assert_eq!(Tally::default().f1(), 1.0);
        assert_eq!(Tally { truth: 3.0, ..Tally::default() }.f1(), 0.0);
    }

    #[test]
    fn scores_of_plans_add_up_by_counts_not_by_means() {
        let one = Score {
            plans: 1,
            rooms_50: Tally { truth: 1.0, found: 0.0, predicted: 1.0, right: 0.0 },
            ..Score::default()
        };
        let many = Score {
            plans: 1,
            rooms_50: Tally { truth: 9.0, found: 9.0, predicted: 9.0, right: 9.0 },
            ..Score::default()
        };
        let mut total = one;
        total += many;
        assert_eq!(total.metric("room_f1_50"), Some(0.9));
        assert_eq!(total.plans, 2);
    }
}
