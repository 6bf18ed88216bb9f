//! One pass over the ledger: dead letters by cause, extremes, issues, formats. Memory is bounded whatever the ledger.

use std::collections::BTreeMap;

use plan2geo_actors::FailureKind;
use plan2geo_actors::ledger::{Event, Record};
use serde::Serialize;

/// Causes kept apart; more are counted together.
const MAX_CAUSES: usize = 200;
/// Units named for a cause.
const MAX_EXAMPLES: usize = 5;
/// Units in a list of extremes.
const MAX_EXTREMES: usize = 10;

/// Dead letters with one root cause.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Cause {
    /// Kind of the failure.
    pub kind: String,
    /// Stage it happened in.
    pub stage: String,
    /// The message without what differs from unit to unit.
    pub cause: String,
    /// How many.
    pub count: u64,
    /// What to do about this kind.
    pub remedy: &'static str,
    /// The first of them, in the order of the ledger.
    pub examples: Vec<Example>,
}

/// A dead letter that stands for its cause.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Example {
    /// Document and page.
    pub unit: String,
    /// The whole message.
    pub message: String,
    /// See [`plan2geo_actors::Unit::trace_id`].
    pub trace_id: String,
}

/// Units of one format.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct FormatTally {
    /// Extracted.
    pub extracted: u64,
    /// Dead letters.
    pub dead_letters: u64,
    /// Bytes of their documents.
    pub bytes: u64,
    /// Features written.
    pub features: u64,
    /// Rooms found.
    pub rooms: u64,
    /// Time in the kernel.
    pub parse_ms: u64,
}

/// One unit in a list of extremes.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct UnitTime {
    /// Document and page.
    pub unit: String,
    /// Bytes of the document.
    pub bytes: u64,
    /// Time in the kernel.
    pub parse_ms: u64,
    /// Whether it was extracted.
    pub extracted: bool,
}

/// The greatest few of many, by a key; ties by name, so that the list is the same for every order.
#[derive(Debug)]
pub(super) struct Extremes {
    key: fn(&UnitTime) -> u64,
    units: Vec<UnitTime>,
}

impl Extremes {
    fn new(key: fn(&UnitTime) -> u64) -> Self {
        Self { key, units: Vec::new() }
    }

    fn add(&mut self, unit: &UnitTime) {
        let rank = |unit: &UnitTime| (std::cmp::Reverse((self.key)(unit)), unit.unit.clone());
        let place = self.units.partition_point(|other| rank(other) <= rank(unit));
        if place < MAX_EXTREMES {
            self.units.insert(place, unit.clone());
            self.units.truncate(MAX_EXTREMES);
        }
    }

    pub(super) fn into_sorted(self) -> Vec<UnitTime> {
        self.units
    }
}

#[derive(Debug)]
pub(super) struct Tally {
    causes: BTreeMap<(String, String, String), Cause>,
    other_causes: u64,
    pub(super) issues: BTreeMap<String, u64>,
    pub(super) formats: BTreeMap<String, FormatTally>,
    pub(super) slowest: Extremes,
    pub(super) largest: Extremes,
}

impl Default for Tally {
    fn default() -> Self {
        Self {
            causes: BTreeMap::new(),
            other_causes: 0,
            issues: BTreeMap::new(),
            formats: BTreeMap::new(),
            slowest: Extremes::new(|unit| unit.parse_ms),
            largest: Extremes::new(|unit| unit.bytes),
        }
    }
}

impl Tally {
    pub(super) fn add(&mut self, record: &Record) {
        let number = |name: &str| record.facts.get(name).and_then(serde_json::Value::as_u64).unwrap_or(0);
        let bytes = record.bytes.or(record.size).unwrap_or(0);
        let extracted = record.event == Event::Extracted;
        let format = self.formats.entry(record.format.clone()).or_default();
        format.bytes += bytes;
        format.parse_ms += record.ms.parse;
        format.features += number("features");
        format.rooms += number("rooms");
        *(if extracted { &mut format.extracted } else { &mut format.dead_letters }) += 1;
        if let Some(codes) = record.facts.get("issue_codes").and_then(serde_json::Value::as_object) {
            for (code, count) in codes {
                *self.issues.entry(code.clone()).or_default() += count.as_u64().unwrap_or(0);
            }
        }
        let unit = UnitTime { unit: record.id().to_string(), bytes, parse_ms: record.ms.parse, extracted };
        self.slowest.add(&unit);
        self.largest.add(&unit);
        self.dead_letter(record);
    }

    fn dead_letter(&mut self, record: &Record) {
        let Some(error) = &record.error else { return };
        let cause = root_cause(&error.message, &record.doc_id);
        let key = (error.kind.clone(), error.stage.to_string(), cause.clone());
        if !self.causes.contains_key(&key) && self.causes.len() >= MAX_CAUSES {
            self.other_causes += 1;
            return;
        }
        let entry = self.causes.entry(key).or_insert_with(|| Cause {
            kind: error.kind.clone(),
            stage: error.stage.to_string(),
            cause,
            count: 0,
            remedy: FailureKind::from_name(&error.kind).map_or("", FailureKind::remedy),
            examples: Vec::new(),
        });
        entry.count += 1;
        if entry.examples.len() < MAX_EXAMPLES {
            entry.examples.push(Example {
                unit: record.id().to_string(),
                message: error.message.clone(),
                trace_id: record.trace_id.to_string(),
            });
        }
    }

    /// The causes, the most frequent first, and how many dead letters are in none of them.
    pub(super) fn causes(&mut self) -> (Vec<Cause>, u64) {
        let mut causes: Vec<Cause> = std::mem::take(&mut self.causes).into_values().collect();
        causes.sort_by(|a, b| b.count.cmp(&a.count).then_with(|| a.cause.cmp(&b.cause)));
        (causes, self.other_causes)
    }
}

/// A message without what differs from unit to unit: the name of the document becomes `…`, each number `#`. Messages
/// that say the same of different drawings become one.
pub fn root_cause(message: &str, doc_id: &str) -> String {
    let mut cause = String::with_capacity(message.len());
    let without_name = if doc_id.is_empty() { message.to_owned() } else { message.replace(doc_id, "…") };
    let mut in_number = false;
    for character in without_name.chars() {
        let digit = character.is_ascii_digit() || (in_number && matches!(character, '.' | ','));
        // Digits inside a word are part of a name: AC1009, R11, L02.
        let in_word = !in_number && cause.chars().last().is_some_and(char::is_alphanumeric);
        match (digit, in_word) {
            (true, false) => {
                if !in_number {
                    cause.push('#');
                }
                in_number = true;
            }
            _ => {
                in_number = false;
                cause.push(character);
            }
        }
    }
    cause
}
