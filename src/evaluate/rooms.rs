//! Rooms: one-to-one matching by intersection over union, leaks, over-splits, labels.

use geo::{Area, BooleanOps};
use rstar::{AABB, RTree, primitives::GeomWithData, primitives::Rectangle};

use super::scene::{Room, Scene};
use super::score::{Score, Share};

/// A predicted room is a part of a true one if it is at least this part of it.
const SPLIT_SHARE: f64 = 0.05;

/// Partners: for every true room the index of its predicted room at an intersection over union of 0.5.
pub(super) type Pairs = Vec<Option<usize>>;

struct Overlap {
    truth: usize,
    predicted: usize,
    common: f64,
    iou: f64,
}

pub(super) fn compare(truth: &Scene, predicted: &Scene, score: &mut Score) -> Pairs {
    let mut overlaps = overlaps(&truth.rooms, &predicted.rooms);
    count_leaks(truth, predicted, &overlaps, score);
    overlaps.sort_by(|a, b| b.iou.total_cmp(&a.iou).then(a.truth.cmp(&b.truth)).then(a.predicted.cmp(&b.predicted)));
    let mut partner: Vec<Option<(usize, f64)>> = vec![None; truth.rooms.len()];
    let mut taken = vec![false; predicted.rooms.len()];
    for overlap in &overlaps {
        if partner[overlap.truth].is_none() && !taken[overlap.predicted] {
            partner[overlap.truth] = Some((overlap.predicted, overlap.iou));
            taken[overlap.predicted] = true;
        }
    }
    // What lies for the most part in an optional room is neither right nor wrong.
    let mut ignored = vec![false; predicted.rooms.len()];
    for overlap in &overlaps {
        if truth.rooms[overlap.truth].optional && overlap.common > 0.5 * predicted.rooms[overlap.predicted].area_m2 {
            ignored[overlap.predicted] = true;
        }
    }
    let wanted = |threshold: f64| {
        let counted = truth.rooms.iter().zip(&partner).filter(|(room, _)| !room.optional);
        counted.filter(|(_, partner)| partner.is_some_and(|(_, iou)| iou >= threshold)).count() as f64
    };
    let true_rooms = truth.rooms.iter().filter(|room| !room.optional).count() as f64;
    let claimed = ignored.iter().filter(|ignored| !**ignored).count() as f64;
    for (tally, threshold) in [(&mut score.rooms_50, 0.5), (&mut score.rooms_90, 0.9)] {
        let matched = wanted(threshold);
        (tally.truth, tally.found, tally.predicted, tally.right) = (true_rooms, matched, claimed, matched);
    }
    for (room, partner) in truth.rooms.iter().zip(&partner).filter(|(room, _)| !room.optional) {
        score.iou.count(partner.map_or(0.0, |(_, iou)| iou));
        let found = partner.filter(|(_, iou)| *iou >= 0.5).map(|(index, _)| &predicted.rooms[index]);
        if let Some(found) = found {
            score.area_error.count((found.area_m2 - room.area_m2).abs() / room.area_m2);
        }
        compare_labels(room, found, score);
    }
    partner.iter().map(|partner| partner.filter(|(_, iou)| *iou >= 0.5).map(|(index, _)| index)).collect()
}

/// All pairs of rooms that share area.
fn overlaps(truth: &[Room], predicted: &[Room]) -> Vec<Overlap> {
    let boxed = |(index, room): (usize, &Room)| {
        let (low, high) = (room.bounds.min(), room.bounds.max());
        GeomWithData::new(Rectangle::from_corners([low.x, low.y], [high.x, high.y]), index)
    };
    let tree = RTree::bulk_load(predicted.iter().enumerate().map(boxed).collect());
    let mut overlaps = Vec::new();
    for (index, room) in truth.iter().enumerate() {
        let (low, high) = (room.bounds.min(), room.bounds.max());
        let window = AABB::from_corners([low.x, low.y], [high.x, high.y]);
        let mut near: Vec<usize> = tree.locate_in_envelope_intersecting(window).map(|found| found.data).collect();
        near.sort_unstable();
        for other in near {
            let common = room.outline.intersection(&predicted[other].outline).unsigned_area();
            if common > 0.0 {
                let union = room.area_m2 + predicted[other].area_m2 - common;
                overlaps.push(Overlap { truth: index, predicted: other, common, iou: common / union });
            }
        }
    }
    overlaps
}

fn count_leaks(truth: &Scene, predicted: &Scene, overlaps: &[Overlap], score: &mut Score) {
    let mut swallowed = vec![0u32; predicted.rooms.len()];
    let mut parts = vec![0u32; truth.rooms.len()];
    for overlap in overlaps {
        let room = &truth.rooms[overlap.truth];
        if room.optional {
            continue;
        }
        if overlap.common > 0.5 * room.area_m2 {
            swallowed[overlap.predicted] += 1;
        }
        let part = predicted.rooms[overlap.predicted].area_m2;
        if overlap.common > 0.5 * part && overlap.common >= SPLIT_SHARE * room.area_m2 {
            parts[overlap.truth] += 1;
        }
    }
    score.leaks += swallowed.iter().filter(|count| **count > 1).count() as u64;
    score.over_splits += parts.iter().filter(|count| **count > 1).count() as u64;
}

fn compare_labels(room: &Room, found: Option<&Room>, score: &mut Score) {
    let same = |wanted: &Option<String>, read: Option<&Option<String>>| {
        wanted.as_deref().map(|wanted| read.and_then(Option::as_deref).is_some_and(|read| plain(read) == plain(wanted)))
    };
    let number = same(&room.number, found.map(|found| &found.number));
    let mut name = same(&room.name, found.map(|found| &found.name));
    if name == Some(false) && room.number.is_none() && found.is_some_and(|found| found.name.is_none()) {
        // A truth with names only may hold numbers as names.
        name = same(&room.name, found.map(|found| &found.number));
    }
    let all = [number, name].into_iter().flatten().reduce(|a, b| a && b);
    let Some(all) = all else { return };
    let count = |share: &mut Share, right: bool| share.count(f64::from(u8::from(right)));
    count(&mut score.labels_of_all, all);
    if found.is_some() {
        count(&mut score.labels, all);
        if let Some(right) = number {
            count(&mut score.numbers, right);
        }
        if let Some(right) = name {
            count(&mut score.names, right);
        }
    }
}

/// Case and white space do not matter.
fn plain(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase()
}
