//! Boxes drawn around labels.
//!
//! Room tags are framed: a rectangle or a bubble that hugs the number. On a room layer such a frame is a closed polygon like the rooms
//! themselves, and being the smaller one it would take the label. It is told from a small room by two signs together: it is hardly
//! larger than the text in it, and it floats inside a larger room, drawn or derived.

use super::input::TextItem;
use super::rooms::Candidate;
use super::shape::Locator;
use crate::drawing::Vec2;
use crate::format::{Interrupt, Pace};

/// Width of a letter as a part of its height.
const LETTER: f64 = 0.7;

/// Takes frames of labels out of the drawn rooms, and gives their number.
pub(crate) fn without_label_boxes(
    drawn: &mut Vec<Candidate>,
    derived: &[Candidate],
    texts: &[TextItem],
    pace: &Pace<'_>,
) -> Result<u64, Interrupt> {
    let areas: Vec<f64> = drawn.iter().map(|room| room.polygon.area()).collect();
    let around = Locator::build(numbered(drawn));
    let between = Locator::build(numbered(derived));
    let mut held: Vec<Vec<&TextItem>> = vec![Vec::new(); drawn.len()];
    for text in texts.iter().filter(|text| text.height > 0.0) {
        let mut smallest = None;
        for number in around.candidates(text.middle) {
            let number = number as usize;
            pace.steps(drawn[number].polygon.shell.len())?;
            if drawn[number].polygon.contains(text.middle)
                && smallest.is_none_or(|other: usize| areas[number] < areas[other])
            {
                smallest = Some(number);
            }
        }
        if let Some(number) = smallest {
            held[number].push(text);
        }
    }
    let mut is_box = vec![false; drawn.len()];
    for (number, texts) in held.iter().enumerate() {
        let polygon = &drawn[number].polygon;
        if !hugs(&polygon.shell, texts) {
            continue;
        }
        let middle = polygon.point_inside();
        let mut floats = false;
        for (others, locator) in [(&drawn[..], &around), (derived, &between)] {
            for other in locator.candidates(middle) {
                let other = &others[other as usize].polygon;
                pace.steps(other.shell.len() * polygon.shell.len())?;
                floats |=
                    other.area() > 2.0 * areas[number] && polygon.shell.iter().all(|point| other.contains(*point));
            }
        }
        is_box[number] = floats;
    }
    let before = drawn.len();
    let mut flags = is_box.into_iter();
    drawn.retain(|_| !flags.next().unwrap_or(false));
    Ok((before - drawn.len()) as u64)
}

fn numbered(rooms: &[Candidate]) -> impl Iterator<Item = (u32, &super::Polygon)> {
    rooms.iter().enumerate().map(|(number, room)| (number as u32, &room.polygon))
}

/// Whether a shell leaves the lines of text in it no more room than a frame does.
fn hugs(shell: &[crate::drawing::Point], texts: &[&TextItem]) -> bool {
    let Some(first) = texts.first() else { return false };
    let along = first.direction;
    let across = Vec2::new(-along.y, along.x);
    let span = |values: &mut dyn Iterator<Item = f64>| {
        let (low, high) =
            values.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| (low.min(value), high.max(value)));
        high - low
    };
    let (length, height) = (
        span(&mut shell.iter().map(|point| point.to_vec2().dot(along))),
        span(&mut shell.iter().map(|point| point.to_vec2().dot(across))),
    );
    let letter = texts.iter().map(|text| text.height).fold(0.0, f64::max);
    let longest =
        texts.iter().map(|text| text.value.trim().chars().count() as f64 * LETTER * text.height).fold(0.0, f64::max);
    let block = span(&mut texts.iter().map(|text| text.middle.to_vec2().dot(across))) + letter;
    let is_round = shell.len() > 8 && (0.8..1.25).contains(&(length / height));
    let margin = if is_round { longest.max(1.5 * letter) } else { 1.6 * letter };
    length <= longest + 4.0 * letter && height <= block + margin
}

#[cfg(test)]
mod tests {
    use super::super::{Polygon, RoomOrigin};
    use super::*;
    use crate::drawing::Point;

    fn room(corner: (f64, f64), size: (f64, f64)) -> Candidate {
        let (x, y) = corner;
        let shell = [(x, y), (x + size.0, y), (x + size.0, y + size.1), (x, y + size.1)];
        Candidate {
            polygon: Polygon { shell: shell.map(|(x, y)| Point::new(x, y)).to_vec(), holes: Vec::new() },
            origin: RoomOrigin::Drawn,
            source: None,
            confidence: 1.0,
            reason: String::new(),
            words: None,
        }
    }

    fn text(value: &str, at: (f64, f64), height: f64) -> TextItem {
        let at = Point::new(at.0, at.1);
        TextItem {
            value: value.to_owned(),
            tag: super::super::input::NONE,
            middle: at,
            at,
            direction: Vec2::new(1.0, 0.0),
            height,
            layer: 0,
            block: 0,
            entity: 0,
            ordinal: 0,
        }
    }

    #[test]
    fn a_frame_around_a_number_is_no_room_and_a_closet_is_one() {
        let mut drawn = vec![room((0.0, 0.0), (4.0, 3.0)), room((1.0, 1.0), (1.0, 0.48)), room((2.6, 0.0), (0.9, 0.6))];
        let texts = [text("E.01", (1.5, 1.24), 0.2), text("S1", (3.05, 0.3), 0.1)];
        let dropped = without_label_boxes(&mut drawn, &[], &texts, &Pace::free()).unwrap();
        assert_eq!((dropped, drawn.len()), (1, 2));
        assert!(drawn.iter().all(|room| room.polygon.area() > 0.5), "{drawn:?}");

        // A frame in a room between walls; one that stands alone stays.
        let derived = [room((10.0, 0.0), (4.0, 3.0))];
        let mut drawn = vec![room((11.0, 1.0), (1.0, 0.48)), room((20.0, 1.0), (1.0, 0.48))];
        let texts = [text("E.01", (11.5, 1.24), 0.2), text("E.02", (20.5, 1.24), 0.2)];
        assert_eq!(without_label_boxes(&mut drawn, &derived, &texts, &Pace::free()).unwrap(), 1);
        assert_eq!(drawn.len(), 1);
    }
}
