//! As written → as meant: everything a schema cannot say, all errors at once, and the sums behind the warnings.

use std::path::PathBuf;
use std::time::Duration;

use globset::{GlobSet, GlobSetBuilder};
use jiff::Timestamp;

use super::document::Parsed;
use super::error::{At, ConfigError};
use super::location::Location;
use super::machine::{self, MemoryLimit};
use super::raw::{RawConfig, RawLimits};
use super::values::Size;
use super::{Config, Globs, Limits, Run, Source};
use crate::glob::glob;
use crate::place::level::Levels;

/// What globs on paths look like.
const PATHS: &str = "for example \"**/*.dxf\" or \"A/**\"";
/// Memory of the program itself, with no drawing in progress.
const BASE_MEMORY: u64 = 48 << 20;
/// What the conversion of most drawings keeps within: decides the number of threads unless something else is stated. Half a small
/// budget is less.
const USUAL_MEMORY_PER_DRAWING: u64 = 256 << 20;
/// What a conversion may hold on any machine unless something else is stated: hardly an honest drawing needs it.
const MOST_MEMORY_PER_DRAWING: u64 = 1 << 30;
/// Memory of a unit that waits.
const UNIT_MEMORY: u64 = 1 << 10;
/// Assumed when neither container nor machine says how much memory there is.
const UNKNOWN_MEMORY: u64 = 2 << 30;

/// What the program runs on; a parameter so that tests can ask for any machine.
#[derive(Debug, Clone)]
pub(crate) struct Machine {
    pub(crate) cores: u32,
    pub(crate) memory: Option<MemoryLimit>,
}

impl Machine {
    pub(crate) fn this() -> Self {
        Self { cores: machine::cores(), memory: machine::memory_limit() }
    }
}

/// Checks what was read from `documents`; errors and warnings go where they belong.
pub(crate) fn check(
    mut raw: RawConfig,
    documents: &[Parsed],
    machine: &Machine,
    errors: &mut Vec<ConfigError>,
) -> Option<Config> {
    let before = errors.len();
    let mut check = Check { documents, errors, warnings: Vec::new() };

    let source_location = check.location("source.location", raw.source.location.as_deref());
    let output_location = check.location("output.location", raw.output.location.as_deref());
    let state = check.location("run.state", raw.run.state.as_deref());
    let also = check.location("audit.checkpoints_also", raw.audit.checkpoints_also.as_deref());
    raw.audit.checkpoints_also = also.as_ref().map(ToString::to_string);
    if let Some(Location::Store(_)) = also {
        let remedy = "name a file: notes are appended, which object stores cannot";
        check.error("audit.checkpoints_also", "audit.checkpoints_also must be a file", remedy);
    }
    let state = match state {
        Some(Location::Store(_)) => {
            let remedy = "name a directory: an append-only file needs a file system";
            check.error("run.state", "run.state must be a directory", remedy);
            None
        }
        Some(Location::Directory(path)) => Some(path),
        None => None,
    };
    if source_location.is_some() && source_location == output_location {
        let remedy = "write to another place: outputs must never be taken for drawings";
        check.error("output.location", "output.location must differ from source.location", remedy);
    }
    let include = check.globs("source.include", &raw.source.include, PATHS);
    let exclude = check.globs("source.exclude", &raw.source.exclude, PATHS);
    for (table, roles) in [("layers", &raw.plan.layers), ("blocks", &raw.plan.blocks)] {
        for (role, patterns) in roles {
            // Roles are single words, written small.
            let role = format!("{role:?}").to_lowercase();
            check.globs(&format!("plan.{table}.{role}"), patterns, "for example \"A-WALL*\"");
        }
    }
    for (kind, patterns) in &raw.plan.titles {
        check.globs(&format!("plan.titles.{}", kind.as_str()), patterns, "for example \"GROUND FLOOR*\"");
    }
    for pattern in raw.source.units.keys() {
        if let Err(error) = glob(pattern) {
            let path = format!("source.units.{pattern}");
            check.error(&path, &format!("{path} is no glob: {}", error.kind()), "for example \"A/**\" = \"mm\"");
        }
    }
    let deadline = raw.run.deadline.as_deref().and_then(|text| check.deadline(text));
    let levels = match Levels::new(&raw.levels) {
        Ok(levels) => Some(levels),
        Err(errors) => {
            for error in errors {
                let path = format!("levels.rules[{}].pattern", error.index);
                let message = format!("{path} {}", error.message);
                check.error(&path, &message, "see docs/configuration.md for the groups a pattern may have");
            }
            None
        }
    };
    check.curves(&raw);
    check.drawing_limits(&raw.limits);
    if raw.retry.longest_wait < raw.retry.first_wait {
        let message = format!(
            "retry.longest_wait must not be shorter than retry.first_wait ({}), got {}",
            raw.retry.first_wait, raw.retry.longest_wait
        );
        check.error("retry.longest_wait", &message, "raise it, or lower retry.first_wait");
    }

    let limits = check.limits(&raw, machine);
    raw.limits.queue = Some(limits.queue);
    raw.limits.slots = Some(limits.slots);
    raw.limits.threads = Some(limits.threads);
    raw.limits.in_flight_bytes = Some(Size(limits.in_flight_bytes));
    raw.limits.process_memory = Some(Size(limits.process_memory));
    raw.limits.memory_budget = Some(Size(limits.memory_budget));
    let as_written = raw.source.location.take();
    raw.source.location = source_location.as_ref().map(ToString::to_string);
    raw.output.location = output_location.as_ref().map(ToString::to_string);
    raw.run.state = state.as_ref().map(|path: &PathBuf| path.display().to_string());

    let named = ["source.location", "output.location", "run.state"];
    let places = named.into_iter().filter_map(|path| Some((path.to_owned(), check.at(path)?))).collect();
    let warnings = check.warnings;
    if errors.len() > before {
        return None;
    }
    Some(Config {
        run: Run {
            state,
            request_id: raw.run.request_id.clone(),
            deadline,
            on_error: raw.run.on_error,
            max_failures: raw.run.max_failures,
            isolation: raw.run.isolation,
            grace: raw.run.grace.0,
        },
        source: Source {
            location: source_location,
            as_written,
            globs: Globs { include: include?, exclude: exclude?, all: raw.source.include.is_empty() },
            hidden: raw.source.hidden,
            links: raw.source.links,
            packages: raw.source.packages,
        },
        output: output_location,
        limits,
        levels: levels?,
        effective: raw,
        warnings,
        places,
    })
}

struct Check<'a> {
    documents: &'a [Parsed],
    errors: &'a mut Vec<ConfigError>,
    warnings: Vec<ConfigError>,
}

impl Check<'_> {
    /// Where a path was written, the last document first.
    fn at(&self, path: &str) -> Option<At> {
        self.documents.iter().rev().find_map(|document| document.find(path))
    }

    fn error(&mut self, path: &str, message: &str, remedy: &str) {
        let at = self.at(path);
        self.errors.push(ConfigError::new(path, message).remedy(remedy).at(at));
    }

    fn warning(&mut self, path: &str, message: String, remedy: &str) {
        let at = self.at(path);
        let mut warning = ConfigError::new(path, message).remedy(remedy).at(at);
        warning.warning = true;
        self.warnings.push(warning);
    }

    fn location(&mut self, path: &str, text: Option<&str>) -> Option<Location> {
        let text = text?;
        let document = self.documents.iter().rev().find(|document| document.find(path).is_some());
        let folder = document.map_or_else(PathBuf::new, |document| document.folder().to_owned());
        match Location::parse(text, &folder) {
            Ok(location) => Some(location),
            Err(error) if error.secret => {
                // The line itself holds the secret and must not be shown.
                let place = self.at(path);
                let shown = ConfigError::new(path, "").at(place);
                let line = shown.line().map(|line| format!(" (line {line})")).unwrap_or_default();
                let message = format!("{path} {}{line}", error.message);
                self.errors.push(ConfigError::new(path, message).remedy(error.remedy));
                None
            }
            Err(error) => {
                self.error(path, &format!("{path} {}", error.message), &error.remedy);
                None
            }
        }
    }

    fn globs(&mut self, path: &str, patterns: &[String], example: &str) -> Option<GlobSet> {
        let mut set = GlobSetBuilder::new();
        for (index, pattern) in patterns.iter().enumerate() {
            match glob(pattern) {
                Ok(glob) => {
                    set.add(glob);
                }
                Err(error) => {
                    let path = format!("{path}[{index}]");
                    let message = format!("{path} is no glob: {}", error.kind());
                    self.error(&path, &message, example);
                }
            }
        }
        set.build().ok()
    }

    fn deadline(&mut self, text: &str) -> Option<Timestamp> {
        match text.parse::<Timestamp>() {
            Ok(deadline) => Some(deadline),
            Err(_) => {
                let message = format!("run.deadline must be a time with date and offset, got \"{text}\"");
                self.error("run.deadline", &message, "for example deadline = \"2026-12-31T17:00:00-05:00\"");
                None
            }
        }
    }

    fn curves(&mut self, raw: &RawConfig) {
        for (key, value, most) in [
            ("chord_error_m", raw.curves.chord_error_m, f64::INFINITY),
            ("chord_error_ratio", raw.curves.chord_error_ratio, 1.0),
        ] {
            if !(value > 0.0 && value <= most) {
                let path = format!("curves.{key}");
                let bound = if most.is_finite() { " of at most 1" } else { "" };
                self.error(
                    &path,
                    &format!("{path} must be a positive number{bound}, got {value}"),
                    "the default is good",
                );
            }
        }
    }

    fn drawing_limits(&mut self, limits: &RawLimits) {
        let values = serde_json::to_value(&limits.drawing).unwrap_or_default();
        for (key, value) in values.as_object().into_iter().flatten() {
            if value.as_u64() == Some(0) {
                let path = format!("limits.{key}");
                let message = format!("{path} must be a positive integer, got 0");
                self.error(&path, &message, "with 0 no drawing could be read");
            }
        }
    }

    fn limits(&mut self, raw: &RawConfig, machine: &Machine) -> Limits {
        let given = &raw.limits;
        let granted = machine.memory.as_ref().map_or(UNKNOWN_MEMORY, |limit| limit.bytes);
        let memory_budget = given.memory_budget.map_or(granted / 4 * 3, |size| size.0);
        let in_flight_bytes = given.in_flight_bytes.map_or((memory_budget / 4).max(1), |size| size.0);
        // R139: what fits into the budget, at least one.
        let usual = given.memory_per_drawing.map_or(USUAL_MEMORY_PER_DRAWING.min(memory_budget / 2), |size| size.0);
        let room = memory_budget.saturating_sub(in_flight_bytes).saturating_sub(BASE_MEMORY);
        let fitting = u32::try_from(room / usual.max(1)).unwrap_or(u32::MAX);
        let threads = given.threads.unwrap_or_else(|| machine.cores.min(fitting).max(1));
        let default_slots = threads.saturating_mul(2);
        let connections = raw.source.max_connections;
        let slots = given.slots.unwrap_or_else(|| connections.map_or(default_slots, |most| default_slots.min(most)));
        let queue = given.queue.unwrap_or_else(|| slots.saturating_mul(2));

        // What the engine can hold at most; beyond it there is no machine that would gain.
        for (key, got, most) in [("threads", threads, 1_024), ("slots", slots, 1 << 19), ("queue", queue, 1 << 20)] {
            if got > most {
                let path = format!("limits.{key}");
                let message = format!("{path} must be at most {most}, got {got}");
                self.error(&path, &message, "two or three for each core are plenty");
            }
        }
        if let Some(connections) = connections.filter(|most| slots > *most) {
            let message = format!("limits.slots must not exceed source.max_connections ({connections}), got {slots}");
            self.error(
                "limits.slots",
                &message,
                "lower the slots, or raise source.max_connections if storage grants it",
            );
        }
        if queue < slots {
            let message =
                format!("limits.queue ({queue}) is below limits.slots ({slots}): slots starve when listing is slow");
            self.warning("limits.queue", message, "2 × slots is the working default: leave the key out");
        }
        if queue > slots.saturating_mul(8) {
            let message = format!(
                "limits.queue ({queue}) is above 8 × limits.slots ({slots}): it hides backpressure and adds no speed"
            );
            self.warning("limits.queue", message, "2 × slots is the working default: leave the key out");
        }
        if let Some(limit) = machine.memory.as_ref().filter(|limit| memory_budget > limit.bytes) {
            let message = format!(
                "limits.memory_budget ({}) exceeds what the {} grants ({})",
                mib(memory_budget),
                limit.from,
                mib(limit.bytes)
            );
            self.warning("limits.memory_budget", message, "the run may be killed: lower it, or grant more memory");
        }
        let limits = Limits {
            queue,
            slots,
            threads,
            starts_per_second: given.starts_per_second,
            in_flight_bytes,
            memory_budget,
            // Not a share of the budget: what becomes of a drawing must not hang on how many are converted at once.
            memory_per_drawing: given
                .memory_per_drawing
                .map_or(MOST_MEMORY_PER_DRAWING.min(room.max(memory_budget / 4)), |size| size.0),
            usual_memory: usual,
            process_memory: given
                .process_memory
                .map_or((memory_budget / u64::from(threads)).max(1 << 30), |size| size.0),
            unit_deadline: given.unit_deadline.0,
            stall_note: given.stall_note.0,
            process_open_files: given.process_open_files.into(),
            document_memory: given.document_memory.0,
            output_memory: given.output_memory.0,
            output_bytes: given.output_bytes.0,
            drawing: given.drawing.clone(),
        };
        let sum = memory_sum(&limits);
        if sum.total() > memory_budget {
            let message = format!(
                "the limits add up to {} of memory ({sum}), more than limits.memory_budget ({})",
                mib(sum.total()),
                mib(memory_budget)
            );
            let path = if given.memory_budget.is_some() { "limits.memory_budget" } else { "limits.threads" };
            self.warning(path, message, "lower limits.threads, limits.in_flight_bytes or limits.memory_per_drawing");
        }
        limits
    }
}

/// Where the memory of a run goes, by its limits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemorySum {
    /// The program itself.
    pub base: u64,
    /// Conversions at once × memory of each.
    pub conversion: u64,
    /// Bytes of drawings in progress.
    pub in_flight: u64,
    /// Outputs held before they are stored.
    pub outputs: u64,
    /// Units that wait.
    pub waiting: u64,
}

impl MemorySum {
    /// All of it.
    pub fn total(&self) -> u64 {
        [self.base, self.conversion, self.in_flight, self.outputs, self.waiting]
            .into_iter()
            .fold(0, u64::saturating_add)
    }
}

impl std::fmt::Display for MemorySum {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "program {}, conversion {}, drawings in flight {}, outputs {}",
            mib(self.base),
            mib(self.conversion),
            mib(self.in_flight),
            mib(self.outputs)
        )
    }
}

/// R48: the sum behind the memory warnings.
pub(crate) fn memory_sum(limits: &Limits) -> MemorySum {
    MemorySum {
        base: BASE_MEMORY,
        conversion: limits.usual_memory.saturating_mul(limits.threads.into()),
        in_flight: limits.in_flight_bytes,
        outputs: limits.output_memory.saturating_mul(limits.slots.into()),
        waiting: UNIT_MEMORY.saturating_mul(limits.queue.into()),
    }
}

/// Bytes in whole mebibytes, for people.
pub(crate) fn mib(bytes: u64) -> String {
    if bytes < 1 << 20 { format!("{} KiB", bytes >> 10) } else { format!("{} MiB", bytes >> 20) }
}

/// A span of time for people: `850 ms`, `12.4 s`, `3 min 20 s`, `2 h 5 min`.
pub(crate) fn seconds(time: Duration) -> String {
    let whole = time.as_secs();
    match whole {
        0 => format!("{} ms", time.as_millis()),
        1..=59 => format!("{:.1} s", time.as_secs_f64()),
        60..=3_599 => format!("{} min {} s", whole / 60, whole % 60),
        _ => format!("{} h {} min", whole / 3_600, whole / 60 % 60),
    }
}
