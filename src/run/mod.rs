//! Builds source, kernel and sink from a configuration and runs the engine on them.
//!
//! Also decides which run it is: an unfinished run of the same batch is gone on with, after a finished one only what is
//! new or changed is done again, and outputs that would come out differently are refused until told otherwise.

mod books;
mod ends;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use plan2geo_actors::ledger::checkpoint::{CheckpointSettings, Signer};
use plan2geo_actors::ledger::{RunHeader, holds_dead_letter};
#[cfg(unix)]
use plan2geo_actors::process::{ProcessKernel, ProcessLimits};
use plan2geo_actors::{
    Breaker, Engine, EngineConfig, Existing, FailureKind, Kernel, Limits, OnFailure, ProgressReader, Reason, Replay,
    RetryPolicy, RunError, RunHandle, RunId, RunSummary, Source, UnitId,
};
use serde_json::Value;

pub use books::{find_run, replays_of};
pub use ends::{Drawings, Outputs};

use crate::config::{Config, ConfigErrors, Isolation, Location, OnError, RawConfig};
use crate::kernel::PlanKernel;
use crate::output::metadata::GENERATOR;
use books::{Last, Locks};

/// Why a run did not begin.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// Something is missing in the configuration, or wrong with what it names.
    #[error(transparent)]
    Config(#[from] ConfigErrors),
    /// The run cannot begin as things are.
    #[error("{message}")]
    Refused {
        /// Why.
        message: String,
        /// What to do.
        remedy: String,
    },
    /// The engine did not start.
    #[error(transparent)]
    Engine(#[from] RunError),
}

impl StartError {
    fn refused(message: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self::Refused { message: message.into(), remedy: remedy.into() }
    }
}

/// How to begin.
#[derive(Debug, Clone, Copy, Default)]
pub struct StartOptions {
    /// Begin anew, whatever is there.
    pub fresh: bool,
    /// End on SIGINT and SIGTERM.
    pub signals: bool,
}

/// Whether there was something before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Begun {
    /// The first run of its kind here.
    New,
    /// An unfinished run is gone on with.
    Resumed(RunId),
    /// A finished run was found: what has not changed since is carried over.
    Again(RunId),
    /// An unfinished run had given drawings up because of how it ended: they are done, and what it extracted is carried over.
    TakenOver(RunId),
    /// The dead letters of a run are done again.
    Replay(RunId),
}

/// A run that was started.
#[derive(Debug)]
pub struct Started {
    /// Where its books are.
    pub directory: PathBuf,
    /// What it began with.
    pub begun: Begun,
    /// Knows what was left out.
    pub drawings: Drawings,
    /// Half-written outputs of a killed run that were removed.
    pub leftovers: usize,
    handle: RunHandle,
    locks: Locks,
}

impl Started {
    /// Takes readings while it runs.
    pub fn progress(&self) -> ProgressReader {
        self.handle.progress()
    }

    /// Whether [`Started::join`] returns at once.
    pub fn is_finished(&self) -> bool {
        self.handle.is_finished()
    }

    /// Waits for the end; state and output are locked until then.
    ///
    /// # Errors
    /// When the run could not begin.
    pub fn join(self) -> Result<RunSummary, RunError> {
        let summary = self.handle.join();
        drop(self.locks);
        summary
    }
}

/// Starts the run of a configuration.
///
/// # Errors
/// See [`StartError`]; nothing was enumerated then.
pub fn start(config: &Config, options: StartOptions) -> Result<Started, StartError> {
    let Prepared { drawings, outputs, state } = prepare(config)?;
    let (locks, leftovers) = prepare_places(config, &state)?;
    let (mut engine, begun) = decide(config, options, &state)?;
    if !matches!(begun, Begun::Resumed(_)) {
        new_directory(config, &mut engine, &state)?;
        books::point_to(&state, engine.run_id).map_err(|error| no_state(&state, &error))?;
    }
    let directory = engine.directory.clone();
    let handle = start_engine(config, engine, drawings.clone(), outputs)?;
    Ok(Started { directory, begun, drawings, leftovers, handle, locks })
}

/// Which run it is: a new one, an unfinished one to go on with, or one after a finished one.
fn decide(config: &Config, options: StartOptions, state: &Path) -> Result<(EngineConfig, Begun), StartError> {
    let mut engine = engine_config(config, options.signals)?;
    engine.directory = state.join(engine.run_id.to_string());
    if options.fresh {
        return Ok((engine, Begun::New));
    }
    let begun = match books::last(state).map_err(refuse)? {
        Last::None => Begun::New,
        // Its dead letters have their lines, and a run has one line a drawing: a new run does them again and takes over the rest.
        Last::Unfinished { directory, header } if gave_up(&directory)? => {
            refuse_differences(&header, &engine)?;
            engine.previous = Some(directory);
            Begun::TakenOver(header.run_id)
        }
        Last::Unfinished { directory, header } => {
            engine.directory = directory;
            engine.run_id = header.run_id;
            engine.existing = Existing::Resume;
            let taken_over = header.previous_run.map(|run| state.join(run.to_string()));
            engine.previous = taken_over.filter(|directory| directory.is_dir());
            Begun::Resumed(header.run_id)
        }
        Last::Finished { directory, header } => {
            refuse_differences(&header, &engine)?;
            engine.previous = Some(directory);
            Begun::Again(header.run_id)
        }
    };
    Ok((engine, begun))
}

/// Whether a run has dead letters that say nothing about their drawings, only about how the run ended.
fn gave_up(directory: &Path) -> Result<bool, StartError> {
    let kinds = [FailureKind::Cancelled, FailureKind::DiskFull];
    holds_dead_letter(directory, &kinds).map_err(|error| refuse(error.to_string()))
}

/// Tells of each drawing what [`start`] would do with it and why, and does nothing.
///
/// # Errors
/// See [`StartError`]; also when the source cannot be listed.
pub fn explain(config: &Config, options: StartOptions, tell: impl FnMut(UnitId, Reason)) -> Result<Begun, StartError> {
    let Prepared { drawings, state, .. } = prepare(config)?;
    let (engine, begun) = decide(config, options, &state)?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| StartError::refused(format!("cannot start: {error}"), "see the message of the system"))?;
    runtime.block_on(plan2geo_actors::explain(&engine, &drawings, tell))?;
    Ok(begun)
}

/// Starts a run of its own over the dead letters of the run in `parent`; of one kind, if one is named.
///
/// # Errors
/// See [`StartError`]; nothing was enumerated then.
pub fn replay(
    config: &Config,
    parent: &Path,
    kind: Option<&str>,
    options: StartOptions,
) -> Result<Started, StartError> {
    let Prepared { drawings, outputs, state } = prepare(config)?;
    let (locks, leftovers) = prepare_places(config, &state)?;
    let wanted = |found: &str| kind.is_none_or(|kind| kind == found);
    let source = Replay::open(parent, drawings.clone(), wanted).map_err(|error| refuse(error.to_string()))?;
    let run = source.parent_run();
    if source.is_empty() {
        let kind = kind.map(|kind| format!(" of kind {kind}")).unwrap_or_default();
        return Err(StartError::refused(format!("run {run} has no dead letters{kind}"), "there is nothing to replay"));
    }
    let mut engine = engine_config(config, options.signals)?;
    engine.parent_run = Some(run);
    new_directory(config, &mut engine, &state)?;
    let directory = engine.directory.clone();
    let handle = start_engine(config, engine, source, outputs)?;
    Ok(Started { directory, begun: Begun::Replay(run), drawings, leftovers, handle, locks })
}

/// What every run needs before its books are opened.
struct Prepared {
    drawings: Drawings,
    outputs: Outputs,
    state: PathBuf,
}

fn prepare(config: &Config) -> Result<Prepared, StartError> {
    let (source, output) = locations(config)?;
    let state = ends::state_folder(config).ok_or_else(|| {
        StartError::Config(Config::missing(
            "run.state",
            "state = \"/var/lib/plan2geo\": a ledger needs a local directory, and the output is an object store",
        ))
    })?;
    let open =
        |message: String| StartError::refused(message, "check the location and the credentials in the environment");
    let left_out = [output.clone(), Location::Directory(state.clone())];
    let drawings = Drawings::at(source, config, &left_out).map_err(open)?;
    let outputs = Outputs::at(output).map_err(open)?;
    check_directories(config, source)?;
    Ok(Prepared { drawings, outputs, state })
}

/// Proves that the output can be written to, locks state and output, and removes what a killed run left half written; how many
/// files those were.
fn prepare_places(config: &Config, state: &Path) -> Result<(Locks, usize), StartError> {
    prepare_output(config)?;
    let output = config.output.as_ref().and_then(Location::directory);
    let locks = Locks::take(state, output)?;
    let leftovers = match output {
        Some(output) if locks.killed_before => crate::sink::remove_leftovers(output),
        _ => 0,
    };
    Ok((locks, leftovers))
}

fn refuse(message: String) -> StartError {
    StartError::refused(message, "mend or move the state directory, or use --fresh")
}

fn no_state(place: &Path, error: &std::io::Error) -> StartError {
    let message = format!("cannot keep the state of the run in {}: {error}", place.display());
    StartError::refused(message, "make it writable, make room, or set run.state")
}

/// Makes the directory of a new run, with the configuration as it is used.
fn new_directory(config: &Config, engine: &mut EngineConfig, state: &Path) -> Result<(), StartError> {
    engine.directory = state.join(engine.run_id.to_string());
    std::fs::create_dir_all(&engine.directory)
        .and_then(|()| write_whole(&engine.directory.join("config.toml"), config.effective_toml().as_bytes()))
        .map_err(|error| no_state(&engine.directory, &error))
}

/// Source and output, which a run needs.
fn locations(config: &Config) -> Result<(&Location, &Location), ConfigErrors> {
    let mut missing = Vec::new();
    if config.source.location.is_none() {
        missing.extend(Config::missing("source.location", "location = \"plans\" below [source]").0);
    }
    if config.output.is_none() {
        missing.extend(Config::missing("output.location", "location = \"out\" below [output]").0);
    }
    match (&config.source.location, &config.output) {
        (Some(source), Some(output)) => Ok((source, output)),
        _ => Err(ConfigErrors(missing)),
    }
}

/// A directory that is not there is a mistake of the configuration and is told before anything is made.
fn check_directories(config: &Config, source: &Location) -> Result<(), ConfigErrors> {
    let Some(root) = source.directory() else { return Ok(()) };
    let (message, remedy) = match std::fs::metadata(root) {
        Ok(metadata) if metadata.is_dir() || metadata.is_file() => return Ok(()),
        Ok(_) => (
            format!("source.location is neither a directory nor a file: {}", root.display()),
            "name a directory, a package (.zip) or a drawing",
        ),
        Err(error) => (
            format!("source.location cannot be read: {}: {error}", root.display()),
            "check the path; a relative one is taken from the folder of the configuration",
        ),
    };
    Err(config.error_at("source.location", message, remedy))
}

/// Proves that an output directory can be written to, before state is kept below it.
fn prepare_output(config: &Config) -> Result<(), StartError> {
    let Some(root) = config.output.as_ref().and_then(Location::directory) else { return Ok(()) };
    crate::sink::prepare_directory(root).map_err(|error| no_output(root, &error))
}

fn no_output(root: &Path, error: &std::io::Error) -> StartError {
    let message = format!("cannot write to the output directory {}: {error}", root.display());
    StartError::refused(message, "make it writable, make room, or set output.location")
}

fn engine_config(config: &Config, signals: bool) -> Result<EngineConfig, StartError> {
    let limits = &config.limits;
    let retry = &config.effective.retry;
    let mut engine = EngineConfig::new(PathBuf::new());
    engine.request_id.clone_from(&config.run.request_id);
    engine.trace_namespace = Some(config.trace_namespace());
    engine.program = GENERATOR.to_owned();
    engine.settings = settings(config);
    engine.limits = Limits {
        slots: limits.slots as usize,
        waiting: limits.queue as usize,
        threads: limits.threads as usize,
        starts_per_second: limits.starts_per_second,
        bytes_in_flight: Some(limits.in_flight_bytes),
        deadline: Some(limits.unit_deadline),
        // Children have limits of their own.
        memory_bytes: (config.run.isolation == Isolation::Thread).then_some(limits.memory_budget),
        ..Limits::default()
    };
    engine.retry = RetryPolicy { attempts: retry.attempts, base: retry.first_wait.0, cap: retry.longest_wait.0 };
    engine.on_failure = match config.run.on_error {
        OnError::Isolate => OnFailure::Isolate,
        OnError::FailFast => OnFailure::FailFast,
    };
    engine.max_failures = config.run.max_failures;
    engine.breaker = config.effective.run.breaker.then(Breaker::default);
    engine.checkpoints = checkpoints(config)?;
    engine.rotate_bytes = config.effective.audit.rotate_bytes.map(|size| size.0);
    engine.grace = config.run.grace;
    engine.relieve = Some(crate::memory::give_back);
    engine.spool = config.spool();
    engine.stall_after = limits.stall_note;
    engine.signals = signals;
    Ok(engine)
}

/// Signed checkpoints, if the environment holds a key.
fn checkpoints(config: &Config) -> Result<Option<CheckpointSettings>, StartError> {
    let audit = &config.effective.audit;
    let Some(signer) = signing_key(&audit.key_env)? else { return Ok(None) };
    let also = audit.checkpoints_also.as_ref().map(PathBuf::from);
    Ok(Some(CheckpointSettings { signer, every: audit.checkpoint_every.0, also }))
}

/// The signing key in a variable of the environment; `None` while that is not set. Its text stands in no message.
///
/// # Errors
/// When it is set and is no key.
pub fn signing_key(variable: &str) -> Result<Option<Signer>, StartError> {
    let Some(text) = std::env::var_os(variable) else { return Ok(None) };
    let signer = Signer::from_text(&text.to_string_lossy()).map_err(|error| {
        let message = format!("the variable {variable} holds no signing key: {error}");
        StartError::refused(message, "make one with `plan2geo audit keygen`, or unset the variable")
    })?;
    Ok(Some(signer))
}

/// Every setting that decides what outputs are, by dotted key: what must be equal for a resume.
pub fn settings(config: &Config) -> BTreeMap<String, Value> {
    let effective = serde_json::to_value(&config.effective).unwrap_or_default();
    let mut settings = BTreeMap::new();
    for section in ["source", "output", "read", "pdf", "curves", "levels", "plan"] {
        let Some(Value::Object(keys)) = effective.get(section) else { continue };
        for (key, value) in keys.iter().filter(|(_, value)| !value.is_null()) {
            settings.insert(format!("{section}.{key}"), value.clone());
        }
    }
    // Where things lie on this machine decides nothing; what the configuration calls them does.
    settings.remove("output.location");
    settings.remove("source.max_connections");
    if let Some(location) = &config.source.as_written {
        settings.insert("source.location".to_owned(), location.as_str().into());
    }
    if let Some(request) = &config.run.request_id {
        settings.insert("run.request_id".to_owned(), request.as_str().into());
    }
    let drawing = serde_json::to_value(&config.limits.drawing).unwrap_or_default();
    for (key, value) in drawing.as_object().into_iter().flatten() {
        settings.insert(format!("limits.{key}"), value.clone());
    }
    settings
}

/// After a finished run under other settings, outputs of two kinds would stand side by side.
fn refuse_differences(header: &RunHeader, engine: &EngineConfig) -> Result<(), StartError> {
    let now = RunHeader::new(engine.run_id, engine.program.clone(), engine.settings.clone());
    let differences = header.differences(&now);
    if differences.is_empty() {
        return Ok(());
    }
    let message = format!(
        "the outputs here were made by run {} under other settings:\n    {}",
        header.run_id,
        differences.join("\n    ")
    );
    Err(StartError::refused(message, "use --fresh to make all outputs anew, or another output directory"))
}

fn start_engine(
    config: &Config,
    engine: EngineConfig,
    source: impl Source,
    outputs: Outputs,
) -> Result<RunHandle, StartError> {
    match config.run.isolation {
        Isolation::Thread => {
            let options = config.convert_options();
            Ok(start_with(engine, source, outputs, move || PlanKernel::new(options.clone()))?)
        }
        Isolation::Process => isolated(config, engine, source, outputs),
    }
}

/// Each pool thread drives a child: this program, started as [`KERNEL_COMMAND`].
#[cfg(unix)]
fn isolated(
    config: &Config,
    engine: EngineConfig,
    source: impl Source,
    outputs: Outputs,
) -> Result<RunHandle, StartError> {
    let program = std::env::current_exe().map_err(|error| {
        let message = format!("cannot find the program to start child processes with: {error}");
        StartError::refused(message, "use run.isolation = \"thread\"")
    })?;
    let settings = serde_json::to_value(&config.effective).unwrap_or_default();
    let limits_of = &config.limits;
    let limits = ProcessLimits {
        memory_bytes: Some(limits_of.process_memory),
        cpu_seconds: Some(limits_of.unit_deadline.as_secs().saturating_add(1)),
        open_files: Some(limits_of.process_open_files),
    };
    let (spool, document_memory) = (config.spool(), limits_of.document_memory);
    let factory = move || {
        let program = program.clone();
        let command = move || {
            let mut command = std::process::Command::new(&program);
            command.arg(KERNEL_COMMAND);
            command
        };
        ProcessKernel::new(command, settings.clone(), limits, spool.clone()).with_document_memory(document_memory)
    };
    Ok(start_with(engine, source, outputs, factory)?)
}

#[cfg(not(unix))]
fn isolated(_: &Config, _: EngineConfig, _: impl Source, _: Outputs) -> Result<RunHandle, StartError> {
    let message = "run.isolation = \"process\" is not available on this system".to_owned();
    Err(StartError::refused(message, "use run.isolation = \"thread\""))
}

/// The hidden command of child processes.
pub const KERNEL_COMMAND: &str = "__kernel";

/// The work of a child process: units from standard input, outcomes to standard output, until the parent closes the pipe.
///
/// # Errors
/// When the pipe breaks, or the settings are not those of this program.
#[cfg(unix)]
pub fn serve_kernel() -> std::io::Result<()> {
    plan2geo_actors::process::serve(|settings| {
        let raw: RawConfig = serde_json::from_value(settings).map_err(|error| error.to_string())?;
        Ok(PlanKernel::new(raw.convert_options()))
    })
}

fn start_with<K: Kernel>(
    engine: EngineConfig,
    source: impl Source,
    outputs: Outputs,
    factory: impl Fn() -> K + Send + Sync + 'static,
) -> Result<RunHandle, RunError> {
    Engine::new(engine, source, outputs, factory).start()
}

/// Writes a file whole or not at all.
pub(crate) fn write_whole(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    use std::io::Write as _;
    let folder = path.parent().unwrap_or(Path::new("."));
    let mut builder = tempfile::Builder::new();
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    let mut file = builder.prefix(".plan2geo-").tempfile_in(folder)?;
    file.write_all(bytes)?;
    file.as_file().sync_all()?;
    file.persist(path).map_err(|error| error.error)?;
    Ok(())
}
