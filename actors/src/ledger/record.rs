//! One line of the ledger: how it is written and how it is read back.
//!
//! A line is one JSON object with sorted keys in UTF-8; times are RFC 3339 in UTC with microseconds. Facts of a kernel stand among the keys
//! of the ledger and cannot replace them.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::num::NonZeroU32;
use std::time::Duration;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use uuid::Uuid;

use super::VERSION;
use crate::failure::{Failure, FailureKind, Stage};
use crate::messages::{Outcome, Terminal};
use crate::unit::{RunId, UnitId};

/// How a unit ended. There is no third.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum Event {
    /// Its output is stored and durable.
    Extracted,
    /// It has none; the key `error` says why.
    DeadLetter,
}

/// Time spent in each stage, in whole milliseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the names say it")]
pub struct StageMillis {
    pub parse: u64,
    pub queue: u64,
    pub read: u64,
    pub write: u64,
}

/// Why a unit is a dead letter.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ErrorRecord {
    /// The name of a [`FailureKind`]; text, so that older programs read newer ledgers.
    pub kind: String,
    /// For people.
    pub message: String,
    /// Where it happened.
    pub stage: Stage,
}

/// One line of the ledger, read back.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the keys are documented in docs/engine.md")]
pub struct Record {
    pub attempts: u32,
    #[serde(default)]
    pub bytes: Option<u64>,
    pub doc_id: String,
    #[serde(default)]
    pub error: Option<ErrorRecord>,
    pub event: Event,
    #[serde(default)]
    pub floor_level: Option<i32>,
    pub format: String,
    pub index: u64,
    #[serde(default)]
    pub level_name: Option<String>,
    #[serde(default)]
    pub location: Option<String>,
    pub ms: StageMillis,
    #[serde(default)]
    pub output: Option<String>,
    #[serde(default)]
    pub output_bytes: Option<u64>,
    #[serde(default)]
    pub output_sha256: Option<String>,
    pub page: NonZeroU32,
    pub prev: String,
    #[serde(default)]
    pub request_id: Option<String>,
    #[serde(default)]
    pub retry_ms: Vec<u64>,
    pub run_id: RunId,
    pub seq: u64,
    #[serde(default)]
    pub size: Option<u64>,
    pub trace_id: Uuid,
    pub ts: String,
    pub v: u32,
    #[serde(default)]
    pub version: Option<String>,
    /// What the kernel added.
    #[serde(flatten)]
    pub facts: BTreeMap<String, Value>,
}

impl Record {
    /// What names the unit.
    #[must_use]
    pub fn id(&self) -> UnitId {
        UnitId { doc_id: self.doc_id.clone(), page: self.page }
    }

    /// The kind of its error, if it is one this program knows.
    #[must_use]
    pub fn kind(&self) -> Option<FailureKind> {
        FailureKind::from_name(&self.error.as_ref()?.kind)
    }
}

/// The longest message of an error that is kept, in bytes.
const MAX_MESSAGE: usize = 2000;

/// What a line needs besides the outcome itself.
pub(crate) struct Position<'a> {
    pub(crate) run: RunId,
    pub(crate) seq: u64,
    pub(crate) prev: &'a str,
    pub(crate) ts: Timestamp,
}

/// A value of a line, written without a detour over a JSON tree: the ledger's thread does this for every unit.
enum Field<'a> {
    Text(&'a str),
    OptionalText(Option<&'a str>),
    Number(u64),
    Level(Option<i32>),
    Millis(StageMillis),
    Waits(&'a [Duration]),
    Error(&'a Failure),
    Fact(&'a Value),
    Owned(String),
}

/// Appends the line of an outcome, without its line feed.
pub(crate) fn write_line(into: &mut Vec<u8>, terminal: &Terminal, at: &Position<'_>) {
    use Field as F;
    let unit = &terminal.unit;
    let mut fields: Vec<(&str, Field<'_>)> = Vec::with_capacity(32);
    fields.extend([
        ("attempts", F::Number(terminal.attempts.into())),
        ("doc_id", F::Text(&unit.doc_id)),
        ("floor_level", F::Level(unit.floor_level)),
        ("format", F::Text(&unit.format)),
        ("index", F::Number(terminal.index)),
        ("ms", F::Millis(terminal.times.millis())),
        ("page", F::Number(unit.page.get().into())),
        ("prev", F::Text(at.prev)),
        ("request_id", F::OptionalText(unit.request_id.as_deref())),
        ("run_id", F::Owned(at.run.to_string())),
        ("seq", F::Number(at.seq)),
        ("trace_id", F::Owned(unit.trace_id.to_string())),
        ("ts", F::Owned(timestamp(at.ts))),
        ("v", F::Number(VERSION.into())),
    ]);
    if !terminal.retry_waits.is_empty() {
        fields.push(("retry_ms", F::Waits(&terminal.retry_waits)));
    }
    match &terminal.outcome {
        Outcome::Extracted(done) => {
            fields.extend([
                ("event", F::Text("EXTRACTED")),
                ("bytes", F::Number(done.bytes)),
                ("output", F::Text(&done.stored.output)),
                ("output_bytes", F::Number(done.output_bytes)),
                ("output_sha256", F::Text(&done.stored.sha256)),
            ]);
            fields.extend(done.facts.iter().map(|(key, value)| (key.as_str(), F::Fact(value))));
        }
        Outcome::DeadLetter(failure) => fields.extend([
            ("event", F::Text("DEAD_LETTER")),
            ("error", F::Error(failure)),
            ("level_name", F::OptionalText(unit.level_name.as_deref())),
            ("location", F::Text(&unit.location)),
            ("size", F::Number(unit.size)),
            ("version", F::OptionalText(unit.version.as_deref())),
        ]),
    }
    // Stable, so a fact that has the name of a key of the ledger stands behind it, and falls out.
    fields.sort_by_key(|(key, _)| *key);
    fields.dedup_by_key(|(key, _)| *key);
    for (nth, (key, field)) in fields.iter().enumerate() {
        into.push(if nth == 0 { b'{' } else { b',' });
        write_string(into, key);
        into.push(b':');
        write_field(into, field);
    }
    into.push(b'}');
}

fn write_field(into: &mut Vec<u8>, field: &Field<'_>) {
    match field {
        Field::Text(text) | Field::OptionalText(Some(text)) => write_string(into, text),
        Field::Owned(text) => write_string(into, text),
        Field::OptionalText(None) | Field::Level(None) => into.extend_from_slice(b"null"),
        Field::Number(number) => write_display(into, number),
        Field::Level(Some(level)) => write_display(into, level),
        Field::Millis(StageMillis { parse, queue, read, write }) => {
            write_display(into, &format_args!(r#"{{"parse":{parse},"queue":{queue},"read":{read},"write":{write}}}"#));
        }
        Field::Waits(waits) => {
            for (nth, wait) in waits.iter().enumerate() {
                into.push(if nth == 0 { b'[' } else { b',' });
                write_display(into, &wait.as_millis());
            }
            into.push(b']');
        }
        Field::Error(failure) => {
            let mut message = failure.message.as_str();
            if message.len() > MAX_MESSAGE {
                message = &message[..message.floor_char_boundary(MAX_MESSAGE)];
            }
            write_display(into, &format_args!(r#"{{"kind":"{}","message":"#, failure.kind));
            write_string(into, message);
            write_display(into, &format_args!(r#","stage":"{}"}}"#, failure.stage));
        }
        Field::Fact(value) => write_value(into, value),
    }
}

fn write_display(into: &mut Vec<u8>, value: &impl std::fmt::Display) {
    // Writing into memory does not fail.
    drop(write!(into, "{value}"));
}

/// RFC 3339 in UTC with microseconds and a written offset.
pub(crate) fn timestamp(at: Timestamp) -> String {
    at.strftime("%Y-%m-%dT%H:%M:%S%.6f+00:00").to_string()
}

/// Canonical JSON: sorted keys at every depth, no spaces. Does not rely on how `serde_json` keeps its maps.
pub(crate) fn write_value(into: &mut Vec<u8>, value: &Value) {
    match value {
        Value::Object(map) => {
            let mut keys: Vec<_> = map.iter().collect();
            keys.sort_by_key(|(key, _)| key.as_str());
            into.push(b'{');
            for (nth, (key, value)) in keys.into_iter().enumerate() {
                if nth > 0 {
                    into.push(b',');
                }
                write_string(into, key);
                into.push(b':');
                write_value(into, value);
            }
            into.push(b'}');
        }
        Value::Array(values) => {
            into.push(b'[');
            for (nth, value) in values.iter().enumerate() {
                if nth > 0 {
                    into.push(b',');
                }
                write_value(into, value);
            }
            into.push(b']');
        }
        Value::String(text) => write_string(into, text),
        // Writing a number, a boolean or null into memory does not fail.
        scalar => drop(serde_json::to_writer(into, scalar)),
    }
}

pub(crate) fn write_string(into: &mut Vec<u8>, text: &str) {
    // Writing a string into memory does not fail.
    drop(serde_json::to_writer(into, text));
}
