//! Glyphs to words, words to lines, lines to reading order.
//!
//! PDF shows glyphs, often a word or a letter at a time. Consecutive glyphs on one baseline with small gaps are one
//! run; runs that stand side by side are one line. A gap of more than [`WORD_GAP`] is a space, a gap of more than
//! [`LABEL_GAP`] begins another text: plans set labels beside each other, and they must not run together.
//! Reading order is by direction, then from the top down, then along the line.

use crate::drawing::{LayerId, Point, Vec2};

/// Gap between words as a part of the font size.
const WORD_GAP: f64 = 0.18;
/// Gap between independent texts as a part of the font size.
const LABEL_GAP: f64 = 0.75;
/// How far a glyph may stand back from the end of the one before it (kerning, sloppy widths).
const OVERLAP: f64 = 0.6;
/// Distance of baselines that are the same, as a part of the font size.
const BASELINE: f64 = 0.3;
/// Least cosine of the angle between equal directions (2.5°).
const SAME_DIRECTION: f64 = 0.999;

/// A glyph as shown, in page space (points, y upward).
#[derive(Debug, Clone, Copy)]
pub(super) struct Glyph<'t> {
    pub(super) text: &'t str,
    pub(super) origin: Point,
    pub(super) end: Point,
    /// Unit vector along the baseline.
    pub(super) direction: Vec2,
    /// Height of the line, points.
    pub(super) size: f64,
    /// Height of a capital letter, points.
    pub(super) capital: f64,
    pub(super) style: Style,
}

/// What must be equal for glyphs to belong to one text.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Style {
    pub(super) layer: LayerId,
    pub(super) visible: bool,
    /// Shown as an OCR layer is: not painted, but meant to be found.
    pub(super) invisible_ink: bool,
    pub(super) colour: Option<u32>,
}

/// A piece of text on one baseline.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Run {
    pub(super) text: String,
    pub(super) start: Point,
    pub(super) end: Point,
    pub(super) direction: Vec2,
    pub(super) size: f64,
    pub(super) capital: f64,
    pub(super) style: Style,
}

/// Collects glyphs into runs.
#[derive(Debug, Default)]
pub(super) struct Collector {
    runs: Vec<Run>,
    open: Option<Run>,
    last_origin: Point,
}

impl Collector {
    pub(super) fn push(&mut self, glyph: Glyph<'_>) {
        if let Some(run) = &mut self.open
            && let Some(gap) = gap_between(run, &glyph)
        {
            let again = (glyph.origin - self.last_origin).hypot() < 0.1 * glyph.size && run.text.ends_with(glyph.text);
            if !again {
                if gap > WORD_GAP && !run.text.ends_with(' ') && !glyph.text.starts_with(' ') {
                    run.text.push(' ');
                }
                run.text.push_str(glyph.text);
                run.end = glyph.end;
                self.last_origin = glyph.origin;
            }
            return;
        }
        self.flush();
        self.last_origin = glyph.origin;
        self.open = Some(Run {
            text: glyph.text.to_owned(),
            start: glyph.origin,
            end: glyph.end,
            direction: glyph.direction,
            size: glyph.size,
            capital: glyph.capital,
            style: glyph.style,
        });
    }

    fn flush(&mut self) {
        let Some(mut run) = self.open.take() else { return };
        let trimmed = run.text.trim();
        if trimmed.is_empty() {
            return;
        }
        if trimmed.len() != run.text.len() {
            run.text = trimmed.to_owned();
        }
        // Bold by printing twice: the same text a hair beside the one before.
        let twice = self.runs.last().is_some_and(|last| {
            last.text == run.text && last.style == run.style && (last.start - run.start).hypot() < 0.15 * run.size
        });
        if !twice {
            self.runs.push(run);
        }
    }

    /// The lines in reading order.
    pub(super) fn finish(mut self) -> Vec<Line> {
        self.flush();
        in_reading_order(self.runs)
    }
}

/// The gap before `glyph` as a part of its size, if it continues `run`.
fn gap_between(run: &Run, glyph: &Glyph<'_>) -> Option<f64> {
    let size = run.size.max(glyph.size);
    let step = glyph.origin - run.end;
    let gap = step.dot(run.direction) / size;
    let continues = run.style == glyph.style
        && run.direction.dot(glyph.direction) > SAME_DIRECTION
        && glyph.size > 0.5 * run.size
        && glyph.size < 2.0 * run.size
        && step.cross(run.direction).abs() < BASELINE * size
        && gap > -OVERLAP
        && gap < LABEL_GAP;
    continues.then_some(gap)
}

/// Texts that stand on one baseline.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Line {
    pub(super) runs: Vec<Run>,
}

impl Line {
    /// The text of the line, its parts separated by spaces.
    pub(super) fn text(&self) -> String {
        self.runs.iter().map(|run| run.text.as_str()).collect::<Vec<_>>().join(" ")
    }
}

fn in_reading_order(runs: Vec<Run>) -> Vec<Line> {
    struct Placed {
        angle: i32,
        across: f64,
        along: f64,
        run: Run,
    }
    let mut placed: Vec<Placed> = runs
        .into_iter()
        .map(|run| Placed {
            // Whole degrees, so that nearly equal directions sort together; 0 first.
            angle: (run.direction.y.atan2(run.direction.x).to_degrees().round() as i32).rem_euclid(360),
            across: run.start.to_vec2().cross(run.direction),
            along: run.start.to_vec2().dot(run.direction),
            run,
        })
        .collect();
    // `across` grows downward: the cross product of a place with the direction of reading.
    placed.sort_by(|a, b| a.angle.cmp(&b.angle).then(a.across.total_cmp(&b.across)).then(a.along.total_cmp(&b.along)));

    let mut lines: Vec<Line> = Vec::new();
    let mut rest = placed.into_iter().peekable();
    while let Some(first) = rest.next() {
        let (angle, across, reach) = (first.angle, first.across, BASELINE * first.run.size);
        let mut line = vec![first];
        while let Some(next) = rest.next_if(|next| next.angle == angle && next.across - across <= reach) {
            line.push(next);
        }
        line.sort_by(|a, b| a.along.total_cmp(&b.along));
        lines.push(Line { runs: joined(line.into_iter().map(|placed| placed.run)) });
    }
    lines
}

/// Joins runs of a line that were shown apart but stand side by side.
fn joined(runs: impl Iterator<Item = Run>) -> Vec<Run> {
    let mut line: Vec<Run> = Vec::new();
    for run in runs {
        let head = Glyph {
            text: "",
            origin: run.start,
            end: run.end,
            direction: run.direction,
            size: run.size,
            capital: run.capital,
            style: run.style,
        };
        match line.last_mut().and_then(|last| gap_between(last, &head).map(|gap| (last, gap))) {
            Some((last, gap)) => {
                if gap > WORD_GAP {
                    last.text.push(' ');
                }
                last.text.push_str(&run.text);
                last.end = run.end;
            }
            None => line.push(run),
        }
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    const STYLE: Style = Style { layer: LayerId(0), visible: true, invisible_ink: false, colour: None };

    fn show(collector: &mut Collector, text: &str, x: f64, y: f64, size: f64) {
        for (index, character) in text.chars().enumerate() {
            let origin = Point::new(x + 0.5 * size * index as f64, y);
            let end = origin + Vec2::new(0.5 * size, 0.0);
            let text = character.to_string();
            let direction = Vec2::new(1.0, 0.0);
            collector.push(Glyph { text: &text, origin, end, direction, size, capital: 0.7 * size, style: STYLE });
        }
    }

    fn texts(lines: &[Line]) -> Vec<&str> {
        lines.iter().flat_map(|line| &line.runs).map(|run| run.text.as_str()).collect()
    }

    #[test]
    fn words_shown_apart_are_one_text_and_labels_stay_apart() {
        let mut collector = Collector::default();
        show(&mut collector, "Meeting", 0.0, 0.0, 10.0);
        show(&mut collector, "room", 38.0, 0.0, 10.0);
        show(&mut collector, "102", 90.0, 0.0, 10.0);
        assert_eq!(texts(&collector.finish()), ["Meeting room", "102"]);
    }

    #[test]
    fn reading_order_is_downward_then_to_the_right() {
        let mut collector = Collector::default();
        show(&mut collector, "third", 0.0, 80.0, 10.0);
        show(&mut collector, "second", 200.0, 101.0, 10.0);
        show(&mut collector, "first", 0.0, 100.0, 10.0);
        let lines = collector.finish();
        assert_eq!(texts(&lines), ["first", "second", "third"]);
        assert_eq!(lines[0].text(), "first second");
    }

    #[test]
    fn bold_by_printing_twice_is_one_text() {
        let mut collector = Collector::default();
        show(&mut collector, "101", 0.0, 0.0, 10.0);
        show(&mut collector, "101", 0.3, 0.0, 10.0);
        assert_eq!(texts(&collector.finish()), ["101"]);
    }
}
