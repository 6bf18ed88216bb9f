//! Soft problems: what was wrong with an input, where, and whether it was repaired.
//!
//! Bad input is data, not an exception. A reader returns a result *and* its issues; nothing is dropped
//! without one. Every kind of issue is a [`Code`] with a stable identifier that never changes its meaning
//! (`docs/issues.md` lists them all). [`Issues`] counts every occurrence and keeps the first few as samples,
//! so that a million bad vertices cost one line of output and flat memory.
//!
//! Fatal problems, which end a unit, are errors of their layer and not issues.

use std::collections::BTreeMap;
use std::fmt;

use serde::Serialize;

/// How much a user should care.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Worth knowing; the output is complete and as the drawing says.
    Note,
    /// The output was repaired or something was left out; a look is worthwhile.
    Warning,
    /// A part of the drawing is missing from the output or may be wrong.
    Error,
}

/// A kind of issue. Identifiers are stable: prefix of the area, then a number (`DXF104`, `ROOM201`).
#[derive(Debug, PartialEq, Eq)]
pub struct Code {
    /// Stable identifier, such as `DXF104`.
    pub id: &'static str,
    /// Default weight.
    pub severity: Severity,
    /// One sentence in lower case without a full stop: what happened.
    pub title: &'static str,
    /// One sentence: what a user can do about it.
    pub remedy: &'static str,
}

impl Code {
    /// A code of weight [`Severity::Note`].
    pub const fn note(id: &'static str, title: &'static str, remedy: &'static str) -> Self {
        Self { id, severity: Severity::Note, title, remedy }
    }

    /// A code of weight [`Severity::Warning`].
    pub const fn warning(id: &'static str, title: &'static str, remedy: &'static str) -> Self {
        Self { id, severity: Severity::Warning, title, remedy }
    }

    /// A code of weight [`Severity::Error`].
    pub const fn error(id: &'static str, title: &'static str, remedy: &'static str) -> Self {
        Self { id, severity: Severity::Error, title, remedy }
    }
}

/// Where in the input an issue was met.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
#[serde(untagged)]
pub enum Place {
    /// The document as a whole.
    #[default]
    Document,
    /// 1-based line of a text file.
    Line {
        /// 1-based.
        line: u64,
    },
    /// 0-based byte of a binary or compressed file.
    Byte {
        /// 0-based offset.
        byte: u64,
    },
    /// A position in the plan, in the metres of the output's local frame.
    Position {
        /// Metres, to the right.
        x: f64,
        /// Metres, upward.
        y: f64,
    },
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Document => f.write_str("document"),
            Self::Line { line } => write!(f, "line {line}"),
            Self::Byte { byte } => write!(f, "byte {byte}"),
            Self::Position { x, y } => write!(f, "position ({x:.3}, {y:.3})"),
        }
    }
}

/// One occurrence kept as a sample.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Sample {
    /// Where.
    pub at: Place,
    /// What exactly: the value, the name, the number.
    pub detail: String,
}

/// All occurrences of one code.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Tally {
    /// The weight of the code.
    pub severity: Severity,
    /// The title of the code.
    pub title: &'static str,
    /// Whether the input was repaired (`true`) or the thing was left as it is or left out.
    pub fixed: bool,
    /// How often.
    pub count: u64,
    /// The first occurrences, in input order, at most [`Issues::MAX_SAMPLES`].
    pub samples: Vec<Sample>,
}

/// Counted issues by code. Order of codes is alphabetical, of samples the order of the input.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(transparent)]
pub struct Issues {
    by_code: BTreeMap<&'static str, Tally>,
}

impl Issues {
    /// Samples kept per code; further occurrences are counted only.
    pub const MAX_SAMPLES: usize = 8;

    /// No issues.
    pub fn new() -> Self {
        Self::default()
    }

    /// Counts an occurrence that was repaired.
    pub fn fixed(&mut self, code: &'static Code, at: Place, detail: impl Into<String>) {
        self.record(code, true, at, detail);
    }

    /// Counts an occurrence that was left as it is, or whose subject was left out.
    pub fn report(&mut self, code: &'static Code, at: Place, detail: impl Into<String>) {
        self.record(code, false, at, detail);
    }

    fn record(&mut self, code: &'static Code, fixed: bool, at: Place, detail: impl Into<String>) {
        let tally = self.by_code.entry(code.id).or_insert_with(|| Tally {
            severity: code.severity,
            title: code.title,
            fixed,
            count: 0,
            samples: Vec::new(),
        });
        tally.count += 1;
        tally.fixed &= fixed;
        if tally.samples.len() < Self::MAX_SAMPLES {
            tally.samples.push(Sample { at, detail: detail.into() });
        }
    }

    /// Counts `count` further occurrences without samples (an aggregated finding).
    pub fn add(&mut self, code: &'static Code, count: u64, at: Place, detail: impl Into<String>) {
        if count == 0 {
            return;
        }
        self.record(code, false, at, detail);
        if let Some(tally) = self.by_code.get_mut(code.id) {
            tally.count += count - 1;
        }
    }

    /// Joins what another stage found.
    pub fn merge(&mut self, other: Issues) {
        for (id, theirs) in other.by_code {
            match self.by_code.get_mut(id) {
                None => {
                    self.by_code.insert(id, theirs);
                }
                Some(ours) => {
                    ours.count += theirs.count;
                    ours.fixed &= theirs.fixed;
                    let room = Self::MAX_SAMPLES.saturating_sub(ours.samples.len());
                    ours.samples.extend(theirs.samples.into_iter().take(room));
                }
            }
        }
    }

    /// How often `code` occurred.
    pub fn count(&self, code: &Code) -> u64 {
        self.by_code.get(code.id).map_or(0, |tally| tally.count)
    }

    /// All codes with their tallies, by code.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, &Tally)> {
        self.by_code.iter().map(|(id, tally)| (*id, tally))
    }

    /// Whether nothing was found.
    pub fn is_empty(&self) -> bool {
        self.by_code.is_empty()
    }

    /// Occurrences over all codes.
    pub fn total(&self) -> u64 {
        self.by_code.values().map(|tally| tally.count).sum()
    }

    /// The gravest weight met.
    pub fn worst(&self) -> Option<Severity> {
        self.by_code.values().map(|tally| tally.severity).max()
    }
}

/// Every code of every area, in the order of the areas. `docs/issues.md` is checked against it.
pub fn all_codes() -> Vec<&'static Code> {
    [
        crate::format::CODES,
        crate::format::dxf::CODES,
        crate::format::dwg::CODES,
        crate::format::svg::CODES,
        crate::format::pdf::CODES,
        crate::drawing::CODES,
        crate::plan::CODES,
        crate::place::CODES,
        crate::output::CODES,
    ]
    .concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    static A: Code = Code::warning("TST001", "a thing happened", "do something");

    #[test]
    fn counts_every_occurrence_and_keeps_the_first_samples() {
        let mut issues = Issues::new();
        for line in 1..=20 {
            issues.fixed(&A, Place::Line { line }, format!("value {line}"));
        }
        assert_eq!(issues.count(&A), 20);
        let (_, tally) = issues.iter().next().unwrap();
        assert_eq!(tally.samples.len(), Issues::MAX_SAMPLES);
        assert_eq!(tally.samples[0].at, Place::Line { line: 1 });
        assert!(tally.fixed);
    }

    #[test]
    fn codes_are_unique_and_well_formed() {
        let mut seen = std::collections::BTreeSet::new();
        for code in all_codes() {
            assert!(seen.insert(code.id), "{} is defined twice", code.id);
            let letters = code.id.trim_end_matches(|c: char| c.is_ascii_digit());
            assert!(!letters.is_empty() && letters.bytes().all(|b| b.is_ascii_uppercase()), "{}", code.id);
            assert_eq!(code.id.len(), letters.len() + 3, "{}", code.id);
            assert!(!code.title.ends_with('.'), "{}", code.id);
        }
    }
}
