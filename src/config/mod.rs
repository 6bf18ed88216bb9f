//! Configuration: as written ([`RawConfig`], unknown keys refused) → as meant ([`Config`], all errors at once).
//!
//! Defaults < file < `--set`. Every document is held against the schema by itself, so that each error has its
//! dotted path, line, caret and remedy; then they are merged, read by serde, and [`check`](self) finds what a schema
//! cannot say. [`Config::effective`] is the whole configuration as it is used, written beside each ledger.
//!
//! Relative locations in a file are meant from the folder of that file, those in `--set` from the working directory.

mod check;
mod document;
mod error;
mod location;
pub mod machine;
mod raw;
mod reference;
mod values;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use globset::GlobSet;
use jiff::Timestamp;
use plan2geo_actors::SpoolSettings;
use uuid::Uuid;

pub use check::MemorySum;
pub(crate) use check::{mib, seconds};
pub use error::{At, ConfigError, ConfigErrors, Document};
pub use location::{Location, LocationError, StoreLocation};
pub use raw::{
    Isolation, Links, OnError, RasterOnly, RawAudit, RawConfig, RawLimits, RawOutput, RawPdf, RawRead, RawRetry,
    RawRun, RawSource,
};
pub use reference::all_keys;
pub use values::{MetresPerUnit, Size, Time};

use crate::format::{self, ReadOptions};
use crate::kernel::{ConvertOptions, ExternalResolver, UnitOverride};
use crate::place::level::Levels;
use crate::source::external;
use document::Parsed;

/// The configuration as meant.
#[derive(Debug, Clone)]
pub struct Config {
    /// The run as a whole.
    pub run: Run,
    /// Where drawings come from.
    pub source: Source,
    /// Where results go; `run` requires it.
    pub output: Option<Location>,
    /// How much at once, every default resolved for this machine.
    pub limits: Limits,
    /// Tells floors from paths.
    pub levels: Levels,
    /// The whole configuration with every default resolved, to be written beside the ledger.
    pub effective: RawConfig,
    /// What is allowed and probably not meant.
    pub warnings: Vec<ConfigError>,
    /// Where the keys that name places on this machine were written.
    places: Vec<(String, At)>,
}

/// See [`RawRun`].
#[derive(Debug, Clone)]
pub struct Run {
    /// Folder of manifest, ledger and report, if not below the output.
    pub state: Option<PathBuf>,
    /// The request the batch answers.
    pub request_id: Option<String>,
    /// When it has to be done.
    pub deadline: Option<Timestamp>,
    /// What a failed drawing means.
    pub on_error: OnError,
    /// More dead letters end the run.
    pub max_failures: Option<u64>,
    /// Threads or child processes.
    pub isolation: Isolation,
    /// How long what does not give up is waited for.
    pub grace: Duration,
}

/// See [`RawSource`].
#[derive(Debug, Clone)]
pub struct Source {
    /// Where; `run` requires it.
    pub location: Option<Location>,
    /// The location as it stands in the configuration.
    pub as_written: Option<String>,
    /// Which of the files.
    pub globs: Globs,
    /// Also hidden files.
    pub hidden: bool,
    /// What becomes of links.
    pub links: Links,
    /// Also drawings in packages.
    pub packages: bool,
}

/// Which paths are wanted.
#[derive(Debug, Clone)]
pub struct Globs {
    include: GlobSet,
    exclude: GlobSet,
    /// No include pattern was given.
    all: bool,
}

impl Globs {
    /// Every path.
    pub fn everything() -> Self {
        Self { include: GlobSet::empty(), exclude: GlobSet::empty(), all: true }
    }

    /// Whether a path below the source is wanted.
    pub fn wants(&self, path: &str) -> bool {
        (self.all || self.include.is_match(path)) && !self.exclude.is_match(path)
    }

    /// Whether nothing below a folder can be wanted, so that it need not be listed.
    pub fn excludes_folder(&self, path: &str) -> bool {
        self.exclude.is_match(path)
    }
}

/// See [`RawLimits`]; all defaults resolved.
#[derive(Debug, Clone)]
pub struct Limits {
    /// Drawings waiting.
    pub queue: u32,
    /// Drawings in progress.
    pub slots: u32,
    /// Threads or child processes that convert.
    pub threads: u32,
    /// Starts in a second.
    pub starts_per_second: Option<f64>,
    /// Bytes of drawings in progress.
    pub in_flight_bytes: u64,
    /// Memory of the run.
    pub memory_budget: u64,
    /// Memory one conversion may hold.
    pub memory_per_drawing: u64,
    /// What a conversion is expected to hold: decides the number of threads, and the sum of all limits.
    pub usual_memory: u64,
    /// Address space of one child process.
    pub process_memory: u64,
    /// Time of one drawing.
    pub unit_deadline: Duration,
    /// Silence of the source before a note.
    pub stall_note: Duration,
    /// Open files of one child process.
    pub process_open_files: u64,
    /// Bytes of a drawing kept in memory.
    pub document_memory: u64,
    /// Bytes of an output kept in memory.
    pub output_memory: u64,
    /// Bytes of an output at most.
    pub output_bytes: u64,
    /// Budgets of reading one drawing.
    pub drawing: format::Limits,
}

impl Config {
    /// Reads a file and overrides of the form `limits.slots=8`.
    ///
    /// # Errors
    /// All errors of all documents, in order; or that the file cannot be read.
    pub fn load(file: Option<&Path>, overrides: &[String]) -> Result<Self, ConfigErrors> {
        let mut documents = Vec::new();
        if let Some(path) = file {
            let text = std::fs::read_to_string(path).map_err(|error| unreadable(path, &error))?;
            documents.push(Document {
                name: path.display().to_string(),
                text: text.trim_start_matches('\u{feff}').into(),
                folder: path.parent().map(Path::to_owned).unwrap_or_default(),
            });
        }
        documents.extend(overrides.iter().map(|text| override_document(text)));
        Self::from_documents(documents)
    }

    /// Reads documents; later ones win.
    ///
    /// # Errors
    /// All errors of all documents, in order.
    pub fn from_documents(documents: Vec<Document>) -> Result<Self, ConfigErrors> {
        Self::on_machine(documents, &check::Machine::this())
    }

    fn on_machine(documents: Vec<Document>, machine: &check::Machine) -> Result<Self, ConfigErrors> {
        let schema = schema();
        let mut errors = Vec::new();
        let mut parsed = Vec::new();
        for document in documents {
            parsed.extend(Parsed::new(document, &schema, &mut errors));
        }
        if !errors.is_empty() {
            return Err(ConfigErrors(errors));
        }
        let mut merged = toml::Table::new();
        for document in &parsed {
            merge(&mut merged, document.table.clone());
        }
        let raw = match RawConfig::deserialize_merged(merged) {
            Ok(raw) => raw,
            Err(error) => return Err(ConfigErrors(vec![Self::placed(&error, &parsed)])),
        };
        match check::check(raw, &parsed, machine, &mut errors) {
            Some(config) if errors.is_empty() => Ok(config),
            _ => Err(ConfigErrors(errors)),
        }
    }

    /// An error of the merged documents, with its place if one of them has it by itself.
    fn placed(error: &toml::de::Error, documents: &[Parsed]) -> ConfigError {
        let alone = documents.iter().find_map(Parsed::read_alone);
        alone.unwrap_or_else(|| ConfigError::new("", error.message().trim_end_matches('.')))
    }

    /// How documents are converted.
    pub fn convert_options(&self) -> ConvertOptions {
        ConvertOptions { memory: Some(self.limits.memory_per_drawing), ..self.effective.convert_options() }
    }

    /// How a document is read.
    pub fn read_options(&self, name: &str) -> ReadOptions {
        let raw = &self.effective;
        ReadOptions {
            limits: self.limits.drawing.clone(),
            encoding: raw.read.encoding.clone(),
            metres_per_unit: raw.units().and_then(|units| units(name)),
            strict: raw.read.strict,
            raster_only_as_empty: raw.pdf.raster_only == RasterOnly::Empty,
            external: None,
        }
    }

    /// How outputs on their way are kept: beside their place, if that is a directory, so that they can move there.
    pub fn spool(&self) -> SpoolSettings {
        SpoolSettings {
            memory_bytes: usize::try_from(self.limits.output_memory).unwrap_or(usize::MAX),
            max_bytes: self.limits.output_bytes,
            directory: match &self.output {
                Some(Location::Directory(folder)) => Some(folder.clone()),
                Some(Location::Store(_)) | None => None,
            },
            ..SpoolSettings::default()
        }
    }

    /// The name space of the trace ids of this batch: the location as it was written and the request, so that the same
    /// configuration gives the same outputs on every machine and in every run.
    pub fn trace_namespace(&self) -> Uuid {
        let location = self.source.as_written.as_deref().unwrap_or_default();
        let request = self.run.request_id.as_deref().unwrap_or_default();
        Uuid::new_v5(&Uuid::NAMESPACE_URL, format!("plan2geo:batch\0{location}\0{request}").as_bytes())
    }

    /// What the limits add up to.
    pub fn memory_sum(&self) -> MemorySum {
        check::memory_sum(&self.limits)
    }

    /// The whole configuration as it is used, as TOML.
    pub fn effective_toml(&self) -> String {
        // Tables of plain values always have a TOML form.
        toml::to_string(&self.effective).unwrap_or_default()
    }

    /// An error about what a key names, at the place where it was written.
    pub fn error_at(&self, key: &str, message: String, remedy: &str) -> ConfigErrors {
        let at = self.places.iter().find(|(path, _)| path == key).map(|(_, at)| at.clone());
        ConfigErrors(vec![ConfigError::new(key, message).remedy(remedy).at(at)])
    }

    /// An error at a key that a command needs and that is not there.
    pub fn missing(key: &str, example: &str) -> ConfigErrors {
        let message = format!("{key} is missing");
        ConfigErrors(vec![ConfigError::new(key, message).remedy(format!("add it, for example {example}"))])
    }
}

impl RawConfig {
    /// How documents are converted. Needs no check: also a child process makes it from what it is handed.
    pub fn convert_options(&self) -> ConvertOptions {
        ConvertOptions {
            limits: self.limits.drawing.clone(),
            memory: self.limits.memory_per_drawing.map(|size| size.0),
            encoding: self.read.encoding.clone(),
            units: self.units(),
            strict: self.read.strict,
            raster_only_as_empty: self.pdf.raster_only == RasterOnly::Empty,
            external: self.external(),
            flattening: self.curves,
            plan: crate::plan::PlanOptions { levels: self.levels.clone(), ..self.plan.clone() },
            output: self.output.features.clone(),
        }
    }

    /// The unit of length the user states for a document.
    fn units(&self) -> Option<UnitOverride> {
        let otherwise = self.read.metres_per_unit;
        // What is no glob was refused when the configuration was checked.
        let mut globs: Vec<_> = self
            .source
            .units
            .iter()
            .filter_map(|(pattern, metres)| Some((crate::glob::glob(pattern).ok()?.compile_matcher(), metres.0)))
            .collect();
        globs.sort_by_key(|(glob, _)| std::cmp::Reverse(glob.glob().glob().len()));
        if globs.is_empty() && otherwise.is_none() {
            return None;
        }
        Some(Arc::new(move |name: &str| {
            globs.iter().find(|(glob, _)| glob.is_match(name)).map(|(_, metres)| *metres).or(otherwise)
        }))
    }

    /// Where external references come from: only directories have them.
    fn external(&self) -> Option<ExternalResolver> {
        let location = Location::parse(self.source.location.as_deref()?, Path::new("")).ok()?;
        let root = location.directory()?.to_owned();
        external::resolver(root, &self.source.external_references, self.limits.drawing.document_bytes)
    }

    fn deserialize_merged(merged: toml::Table) -> Result<Self, toml::de::Error> {
        serde::Deserialize::deserialize(toml::Value::Table(merged))
    }
}

/// The JSON Schema of the configuration.
pub fn schema() -> serde_json::Value {
    let mut schema = schemars::schema_for!(RawConfig).to_value();
    // Sections that take in the options of another area cannot say so by themselves.
    if let Some(sections) = schema.get_mut("$defs").and_then(serde_json::Value::as_object_mut) {
        for section in sections.values_mut().filter_map(serde_json::Value::as_object_mut) {
            if section.contains_key("properties") {
                section.insert("additionalProperties".to_owned(), false.into());
            }
        }
    }
    schema
}

fn unreadable(path: &Path, error: &std::io::Error) -> ConfigErrors {
    let message = format!("cannot read the configuration {}: {error}", path.display());
    let remedy = match error.kind() {
        std::io::ErrorKind::NotFound => {
            "check the path, or write a smallest one: [source] location and [output] location"
        }
        std::io::ErrorKind::InvalidData => "save the file as UTF-8",
        _ => "check that it is a file that may be read",
    };
    ConfigErrors(vec![ConfigError::new("", message).remedy(remedy)])
}

/// `limits.slots=8` is TOML already; a bare word on the right is taken as a text.
fn override_document(text: &str) -> Document {
    let sound = toml::from_str::<toml::Table>(text).is_ok();
    let text = match text.split_once('=') {
        Some((key, value)) if !sound => format!("{} = {}", key.trim(), toml::Value::from(value.trim())),
        _ => text.to_owned(),
    };
    Document { name: "--set".to_owned(), text: text.into(), folder: PathBuf::new() }
}

/// Later values win; tables are joined key by key.
fn merge(into: &mut toml::Table, from: toml::Table) {
    for (key, value) in from {
        match (into.get_mut(&key), value) {
            (Some(toml::Value::Table(into)), toml::Value::Table(from)) => merge(into, from),
            (_, value) => {
                into.insert(key, value);
            }
        }
    }
}

#[cfg(test)]
mod tests;
