//! The configuration as written: one struct a section, every key with its default and its reason.
//!
//! The doc comments here are the documentation of the keys: the JSON Schema, `configs/all-keys.toml` and the
//! error messages are made from them. A section that configures one area *is* the options struct of that area.
//! Nothing is interpreted here; [`super::check`] turns this into what is meant.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::values::{MetresPerUnit, Size, Time};
use crate::drawing::expand::Flattening;
use crate::format;
use crate::output::OutputOptions;
use crate::place::level::LevelOptions;
use crate::plan::PlanOptions;

/// Configuration of plan2geo.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RawConfig {
    /// The run as a whole: its state, its clock, what a failed drawing means.
    pub run: RawRun,
    /// Where the drawings are.
    pub source: RawSource,
    /// Where the results go.
    pub output: RawOutput,
    /// How much at once: work in progress, work waiting, memory, time, and the budgets of one drawing.
    pub limits: RawLimits,
    /// Second attempts after failures that may pass by themselves (a throttled store, too many open files).
    pub retry: RawRetry,
    /// How drawings are read.
    pub read: RawRead,
    /// PDF documents.
    pub pdf: RawPdf,
    /// How curves become points.
    pub curves: Flattening,
    /// Floors: `floor_level` and `level_name` from the path.
    pub levels: LevelOptions,
    /// How rooms, walls, openings and labels are found.
    pub plan: PlanOptions,
    /// The ledger: its segments, its signed checkpoints.
    pub audit: RawAudit,
}

/// See [`RawConfig::run`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RawRun {
    /// Folder of manifest, ledger and report. Default: `_plan2geo` below the output.
    #[schemars(extend("examples" = ["/var/lib/plan2geo"]))]
    pub state: Option<String>,
    /// Identifier of the request this batch answers; stands in every unit, ledger line and output.
    #[schemars(extend("examples" = ["REQ-77"]))]
    pub request_id: Option<String>,
    /// When the batch has to be done (RFC 3339): the expected end is held against it, and a warning says so in time.
    #[schemars(extend("examples" = ["2026-12-31T17:00:00-05:00"]))]
    pub deadline: Option<String>,
    /// `isolate`: a failed drawing becomes a dead letter and the rest goes on. `fail_fast`: the first failure ends the
    /// run. Either way every drawing is accounted for.
    pub on_error: OnError,
    /// Ends the run after more dead letters than this: a sign that something else is broken. Default: never.
    #[schemars(extend("examples" = [100]))]
    pub max_failures: Option<u64>,
    /// Ends the run when 80 % of the last 50 drawings failed for one cause that lies outside them: a disk that is full, a
    /// share that went away. Damaged drawings never do.
    pub breaker: bool,
    /// Where drawings are converted. `thread`: on a pool in this process, the fastest. `process`: in child processes with
    /// limits on memory and time, so that a crash costs one drawing.
    pub isolation: Isolation,
    /// How long, after the second Ctrl-C, a conversion or a write that does not give up is waited for before the run is closed
    /// without it.
    pub grace: Time,
}

impl Default for RawRun {
    fn default() -> Self {
        Self {
            state: None,
            request_id: None,
            deadline: None,
            on_error: OnError::Isolate,
            max_failures: None,
            breaker: true,
            isolation: Isolation::Thread,
            grace: Time(std::time::Duration::from_secs(10)),
        }
    }
}

/// What a failed drawing means for the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OnError {
    /// It becomes a dead letter; the rest goes on.
    Isolate,
    /// It becomes a dead letter and ends the run.
    FailFast,
}

/// Where drawings are converted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Isolation {
    /// On threads of this process.
    Thread,
    /// In child processes with limits of their own.
    Process,
}

/// See [`RawConfig::source`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RawSource {
    /// A directory, a package (.zip) or one drawing (relative to the configuration file), or `s3://bucket/prefix`, `gs://…`, `az://…`. Required by `run`.
    #[schemars(extend("examples" = ["plans"]))]
    pub location: Option<String>,
    /// Globs on the path below the location; a drawing must match one of them. Empty: all.
    pub include: Vec<String>,
    /// Globs on the path below the location; what matches is left out and counted.
    pub exclude: Vec<String>,
    /// Also what is hidden (a name that starts with a dot). Off, because such files are leftovers of other programs.
    pub hidden: bool,
    /// Symbolic links. `inside`: those that lead to a place inside the location; others are dead letters. `follow`: all.
    /// `skip`: none, counted.
    pub links: Links,
    /// Drawings inside `.zip` packages, each as a unit of its own (`package.zip!/A/L02.dxf`).
    pub packages: bool,
    /// Units of length of drawings that state none or the wrong one, by glob on the path: `"A/**" = "mm"`, `"old/*" = 0.0254`
    /// (metres). Of several that match the longest decides; `read.metres_per_unit` holds for the rest.
    pub units: BTreeMap<String, MetresPerUnit>,
    /// Folders to look in for external references (XREFs), from the folder of the drawing, then from the location. Nothing outside
    /// the location is opened, unless an absolute folder is named here. Empty: references are reported missing.
    pub external_references: Vec<String>,
    /// How many connections or open files the storage grants; more slots than that are refused.
    #[schemars(range(min = 1), extend("examples" = [32]))]
    pub max_connections: Option<u32>,
}

impl Default for RawSource {
    fn default() -> Self {
        Self {
            location: None,
            include: Vec::new(),
            exclude: Vec::new(),
            hidden: false,
            links: Links::Inside,
            packages: true,
            units: BTreeMap::new(),
            external_references: vec![".".to_owned()],
            max_connections: None,
        }
    }
}

/// What becomes of symbolic links.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Links {
    /// Followed when they lead to a place inside the source; others become dead letters.
    Inside,
    /// Followed wherever they lead.
    Follow,
    /// Left out and counted.
    Skip,
}

/// See [`RawConfig::output`].
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct RawOutput {
    /// A directory (relative to the configuration file), or `s3://bucket/prefix`, `gs://…`, `az://…`. Required by `run`.
    #[schemars(extend("examples" = ["out"]))]
    pub location: Option<String>,
    /// What is written.
    #[serde(flatten)]
    pub features: OutputOptions,
}

/// See [`RawConfig::limits`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct RawLimits {
    /// Drawings found and waiting. It buffers a slow listing and adds no speed. Default: 2 × slots.
    #[schemars(range(min = 1), extend("examples" = [8]))]
    pub queue: Option<u32>,
    /// Drawings in progress: being read, converted or written. Default: 2 × threads.
    #[schemars(range(min = 1), extend("examples" = [4]))]
    pub slots: Option<u32>,
    /// Threads (or child processes) that convert. Default: the smaller of the physical cores and how often
    /// `memory_per_drawing` fits into what `in_flight_bytes` leaves of `memory_budget`.
    #[schemars(range(min = 1), extend("examples" = [2]))]
    pub threads: Option<u32>,
    /// How many drawings may start in a second, for storage that grants a number of requests. Default: as many as can.
    #[schemars(extend("exclusiveMinimum" = 0, "examples" = [50.0]))]
    pub starts_per_second: Option<f64>,
    /// Bytes of drawings in progress at once, by file size; a larger file runs alone. Default: a quarter of
    /// `memory_budget`.
    #[schemars(extend("examples" = ["256MiB"]))]
    pub in_flight_bytes: Option<Size>,
    /// Memory the run may take. Default: three quarters of what the container, `ulimit -v` or the machine grants.
    #[schemars(extend("examples" = ["2GiB"]))]
    pub memory_budget: Option<Size>,
    /// Memory the conversion of one drawing may hold beside its bytes; what needs more is a dead letter `limit`. It also
    /// decides how many threads fit into the budget. Default: 1 GiB, or what `in_flight_bytes` leaves of `memory_budget` if
    /// that is less; for the number of threads 256 MiB, or half of `memory_budget`.
    #[schemars(extend("examples" = ["256MiB"]))]
    pub memory_per_drawing: Option<Size>,
    /// Address space one child process may take, with `run.isolation = "process"`; what needs more is a dead letter
    /// `out_of_memory`. Default: `memory_budget` ÷ threads, at least 1 GiB, of which a program uses little by itself.
    #[schemars(extend("examples" = ["2GiB"]))]
    pub process_memory: Option<Size>,
    /// Files one child process may have open, with `run.isolation = "process"`.
    #[schemars(range(min = 16))]
    pub process_open_files: u32,
    /// The longest the conversion of one drawing may take before it is a dead letter.
    pub unit_deadline: Time,
    /// How long nothing may come from the source before a note says so.
    pub stall_note: Time,
    /// Bytes of one drawing kept in memory. A larger one is copied into a temporary file without a name and mapped from there, so
    /// that the system can take its memory back at any time.
    pub document_memory: Size,
    /// Bytes of one output kept in memory before a temporary file takes over.
    pub output_memory: Size,
    /// The most bytes one output may have.
    pub output_bytes: Size,
    /// Budgets of reading one drawing.
    #[serde(flatten)]
    pub drawing: format::Limits,
}

impl Default for RawLimits {
    fn default() -> Self {
        Self {
            queue: None,
            slots: None,
            threads: None,
            starts_per_second: None,
            in_flight_bytes: None,
            memory_budget: None,
            memory_per_drawing: None,
            process_memory: None,
            process_open_files: 64,
            unit_deadline: Time(std::time::Duration::from_secs(600)),
            stall_note: Time(std::time::Duration::from_secs(30)),
            document_memory: Size(64 << 20),
            output_memory: Size(1 << 20),
            output_bytes: Size(16 << 30),
            drawing: format::Limits::default(),
        }
    }
}

/// See [`RawConfig::audit`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RawAudit {
    /// Name of the variable of the environment that holds the signing key (`plan2geo audit keygen`). Nothing is signed
    /// while it is not set.
    pub key_env: String,
    /// How often a checkpoint is signed at most; one more at the end.
    pub checkpoint_every: Time,
    /// A file that checkpoints are also appended to, out of reach of whoever can write the ledger: only such a copy shows that
    /// a ledger was cut or written anew.
    #[schemars(extend("examples" = ["/mnt/worm/plan2geo.checkpoints"]))]
    pub checkpoints_also: Option<String>,
    /// Size at which a segment of the ledger is closed, made read-only and followed by the next. Default: one file.
    #[schemars(extend("examples" = ["256MiB"]))]
    pub rotate_bytes: Option<Size>,
}

impl Default for RawAudit {
    fn default() -> Self {
        Self {
            key_env: "PLAN2GEO_SIGNING_KEY".to_owned(),
            checkpoint_every: Time(std::time::Duration::from_secs(60)),
            checkpoints_also: None,
            rotate_bytes: None,
        }
    }
}

/// See [`RawConfig::retry`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RawRetry {
    /// Attempts in all, the first included.
    #[schemars(range(min = 1))]
    pub attempts: u32,
    /// Wait before the second attempt; it doubles from then on, with jitter.
    pub first_wait: Time,
    /// The longest wait.
    pub longest_wait: Time,
}

impl Default for RawRetry {
    fn default() -> Self {
        Self {
            attempts: 4,
            first_wait: Time(std::time::Duration::from_millis(200)),
            longest_wait: Time(std::time::Duration::from_secs(30)),
        }
    }
}

/// See [`RawConfig::read`].
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RawRead {
    /// Metres in one drawing unit, for drawings that say nothing or the wrong thing. It wins over the drawing.
    #[schemars(extend("exclusiveMinimum" = 0, "examples" = [0.001]))]
    pub metres_per_unit: Option<f64>,
    /// Encoding of texts, for drawings that declare none or the wrong one.
    #[schemars(extend("examples" = ["windows-1252"]))]
    pub encoding: Option<String>,
    /// Refuse DXF files whose framing is damaged instead of repairing them.
    pub strict: bool,
}

/// See [`RawConfig::pdf`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RawPdf {
    /// A page, or an SVG, that holds only a raster image: `dead_letter`, or `empty` for an output without features and with an issue.
    pub raster_only: RasterOnly,
}

impl Default for RawPdf {
    fn default() -> Self {
        Self { raster_only: RasterOnly::DeadLetter }
    }
}

/// What becomes of a scanned page.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RasterOnly {
    /// A dead letter.
    DeadLetter,
    /// An output without features.
    Empty,
}
