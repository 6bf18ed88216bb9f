//! Openings: matched by place, direction and class; then kind, width and the rooms on their sides.

use rstar::{RTree, primitives::GeomWithData};

use super::Tolerances;
use super::rooms::Pairs;
use super::scene::{Opening, OpeningClass, Scene};
use super::score::{Score, Tally};

pub(super) fn compare(truth: &Scene, predicted: &Scene, pairs: &Pairs, tolerances: &Tolerances, score: &mut Score) {
    let matched = matches(&truth.openings, &predicted.openings, tolerances);
    for class in [OpeningClass::Passage, OpeningClass::Window] {
        let count = |list: &[Opening]| list.iter().filter(|opening| opening.class == class).count() as f64;
        let right = matched.iter().filter(|(index, _)| truth.openings[*index].class == class).count() as f64;
        let tally = Tally { truth: count(&truth.openings), found: right, predicted: count(&predicted.openings), right };
        match class {
            OpeningClass::Passage => score.passages = score.passages + tally,
            OpeningClass::Window => score.windows = score.windows + tally,
        }
        score.openings = score.openings + tally;
    }
    let true_room = |id: &str| truth.rooms.iter().position(|room| room.id == id);
    for (wanted, found) in matched.iter().map(|(t, p)| (&truth.openings[*t], &predicted.openings[*p])) {
        score.width_error.count((wanted.width_m() - found.width_m()).abs());
        if wanted.kind.is_some() {
            score.opening_kinds.count(f64::from(u8::from(wanted.kind == found.kind)));
        }
        if wanted.rooms.len() == 2 {
            // Rooms are compared as a set: which side is left depends on the direction of the line.
            let mut expected: Vec<Option<&str>> = wanted
                .rooms
                .iter()
                .map(|room| {
                    let partner = pairs.get(true_room(room.as_deref()?)?).copied().flatten();
                    // A room that was not found cannot be named.
                    Some(partner.map_or("?", |index| predicted.rooms[index].id.as_str()))
                })
                .collect();
            let mut named: Vec<Option<&str>> = found.rooms.iter().map(Option::as_deref).collect();
            expected.sort_unstable();
            named.sort_unstable();
            score.opening_sides.count(f64::from(u8::from(expected == named)));
        }
    }
}

/// One-to-one pairs, nearest first; of equal distance, the one that comes first in the truth.
fn matches(truth: &[Opening], predicted: &[Opening], tolerances: &Tolerances) -> Vec<(usize, usize)> {
    let middles = predicted.iter().enumerate().map(|(index, opening)| {
        let middle = opening.middle();
        GeomWithData::new([middle.x, middle.y], index)
    });
    let tree = RTree::bulk_load(middles.collect());
    let limit = tolerances.opening_degrees.to_radians().sin();
    let mut candidates = Vec::new();
    for (index, wanted) in truth.iter().enumerate() {
        let middle = wanted.middle();
        let reach = tolerances.opening_m * tolerances.opening_m;
        for found in tree.locate_within_distance([middle.x, middle.y], reach) {
            let other = &predicted[found.data];
            let (u, v) = (wanted.line[1] - wanted.line[0], other.line[1] - other.line[0]);
            let turned = (u.x * v.y - u.y * v.x).abs() > limit * wanted.width_m() * other.width_m();
            if other.class == wanted.class && !turned {
                let offset = other.middle() - middle;
                candidates.push((offset.x.hypot(offset.y), index, found.data));
            }
        }
    }
    candidates.sort_by(|a, b| a.0.total_cmp(&b.0).then((a.1, a.2).cmp(&(b.1, b.2))));
    let (mut used_truth, mut used) = (vec![false; truth.len()], vec![false; predicted.len()]);
    let mut pairs = Vec::new();
    for (_, t, p) in candidates {
        if !used_truth[t] && !used[p] {
            (used_truth[t], used[p]) = (true, true);
            pairs.push((t, p));
        }
    }
    pairs.sort_unstable();
    pairs
}
