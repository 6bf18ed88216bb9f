//! One line of the ledger: how it is written and how it is read back.
//!
//! A line is one JSON object with sorted keys in UTF-8; times are RFC 3339 in UTC with microseconds. Facts of a kernel stand among the keys
//! of the ledger and cannot replace them.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::num::NonZeroU32;

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

/// Appends the line of an outcome, without its line feed.
pub(crate) fn write_line(into: &mut Vec<u8>, terminal: &Terminal, at: &Position<'_>) {
    let unit = &terminal.unit;
    let mut keys: BTreeMap<Cow<'_, str>, Value> = BTreeMap::new();
    if let Outcome::Extracted(done) = &terminal.outcome {
        keys.extend(done.facts.iter().map(|(key, value)| (Cow::Borrowed(key.as_str()), value.clone())));
    }
    let mut set = |key: &'static str, value: Value| {
        keys.insert(Cow::Borrowed(key), value);
    };
    set("attempts", terminal.attempts.into());
    set("doc_id", unit.doc_id.as_str().into());
    set("floor_level", unit.floor_level.into());
    set("format", unit.format.as_str().into());
    set("index", terminal.index.into());
    let ms = terminal.times.millis();
    set("ms", serde_json::json!({"parse": ms.parse, "queue": ms.queue, "read": ms.read, "write": ms.write}));
    set("page", unit.page.get().into());
    set("prev", at.prev.into());
    set("request_id", unit.request_id.as_deref().into());
    set("run_id", at.run.to_string().into());
    set("seq", at.seq.into());
    set("trace_id", unit.trace_id.to_string().into());
    set("ts", timestamp(at.ts).into());
    set("v", VERSION.into());
    if !terminal.retry_waits.is_empty() {
        let waits = terminal.retry_waits.iter().map(|wait| Value::from(wait.as_millis() as u64));
        set("retry_ms", waits.collect());
    }
    match &terminal.outcome {
        Outcome::Extracted(done) => {
            set("event", "EXTRACTED".into());
            set("bytes", done.bytes.into());
            set("output", done.stored.output.as_str().into());
            set("output_bytes", done.output_bytes.into());
            set("output_sha256", done.stored.sha256.as_str().into());
        }
        Outcome::DeadLetter(failure) => {
            set("event", "DEAD_LETTER".into());
            set("error", error_value(failure));
            set("level_name", unit.level_name.as_deref().into());
            set("location", unit.location.as_str().into());
            set("size", unit.size.into());
            set("version", unit.version.as_deref().into());
        }
    }
    let mut first = true;
    into.push(b'{');
    for (key, value) in &keys {
        if !first {
            into.push(b',');
        }
        first = false;
        write_string(into, key);
        into.push(b':');
        write_value(into, value);
    }
    into.push(b'}');
}

fn error_value(failure: &Failure) -> Value {
    let mut message = failure.message.as_str();
    if message.len() > MAX_MESSAGE {
        message = &message[..message.floor_char_boundary(MAX_MESSAGE)];
    }
    serde_json::json!({"kind": failure.kind.as_str(), "message": message, "stage": failure.stage.as_str()})
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

fn write_string(into: &mut Vec<u8>, text: &str) {
    // Writing a string into memory does not fail.
    drop(serde_json::to_writer(into, text));
}
