//! The command line: arguments → what a command does → exit code. One file a command.
//!
//! A command returns the exit code or a [`CliError`], which says what is wrong and what to do. Results go to
//! standard output, everything else to standard error, so that `--json` can be piped. A reader that closes the pipe ends
//! the program quietly.

mod audit;
mod certify;
mod config;
mod convert;
mod dead;
mod evaluate;
mod forward;
mod inspect;
mod preview;
mod print;
mod progress;
mod prove;
mod run;
mod synth;
mod table;
#[cfg(feature = "object-store")]
mod tls;

use std::io::IsTerminal as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use tracing_subscriber::EnvFilter;

use crate::config::{Config, ConfigErrors};

/// Exit codes; they are part of the interface.
pub mod exit {
    /// Everything was extracted.
    pub const ALL: u8 = 0;
    /// The run, or the command, failed.
    pub const FAILED: u8 = 1;
    /// Wrong arguments or configuration; nothing was done.
    pub const USAGE: u8 = 2;
    /// Finished and reconciled, with dead letters.
    pub const DEAD_LETTERS: u8 = 3;
    /// The books do not balance.
    pub const NOT_RECONCILED: u8 = 4;
    /// Interrupted; can be resumed.
    pub const INTERRUPTED: u8 = 130;
}

const AFTER_HELP: &str = "\
Exit codes:
  0    all drawings extracted
  1    the run failed
  2    wrong arguments or configuration
  3    finished and reconciled, with dead letters
  4    the books do not balance
  130  interrupted; run again to go on

Examples:
  plan2geo run nightly.toml
  plan2geo convert A/L02.dxf -o L02.geojson
  plan2geo inspect plans/*.dxf";

/// Batches of floor plans (DXF, DWG, SVG, vector PDF) to GeoJSON, with proof that none was lost.
#[derive(Debug, Parser)]
#[command(name = "plan2geo", version, after_help = AFTER_HELP, arg_required_else_help = true)]
struct Cli {
    /// What is logged to standard error: error, warn, info, debug, or a filter such as `plan2geo=debug`.
    #[arg(long, global = true, env = "PLAN2GEO_LOG", default_value = "warn", value_name = "FILTER")]
    log: String,
    /// Log lines as JSON objects.
    #[arg(long, global = true)]
    log_json: bool,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Convert a batch of drawings as a configuration says, and prove that none was lost.
    Run(run::Arguments),
    /// Convert one drawing.
    Convert(convert::Arguments),
    /// Show what is in drawings: layers, entities, units, extent, version, problems.
    Inspect(inspect::Arguments),
    /// Check or show configurations.
    Config(config::Arguments),
    /// Verify or show the ledger of a run.
    Audit(audit::Arguments),
    /// Convert units that a parent process hands over (`run.isolation = "process"`).
    #[cfg(unix)]
    #[command(name = "__kernel", hide = true)]
    Kernel,
    /// Make or check a signed certificate of a complete search.
    Certify(certify::Arguments),
    /// List, show or replay what could not be converted.
    Dead(dead::Arguments),
    /// Draw a picture of a converted plan, or of a drawing.
    Preview(preview::Arguments),
    /// Generate floor plans with known truth.
    Synth(synth::Arguments),
    /// Score converted plans against their truth.
    Evaluate(evaluate::Arguments),
}

/// Why a command did not do what it was asked.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CliError {
    /// The configuration is wrong.
    #[error(transparent)]
    Config(#[from] ConfigErrors),
    /// The arguments are wrong.
    #[error("{message}")]
    Usage {
        /// What is wrong.
        message: String,
        /// What to do.
        remedy: String,
    },
    /// The command failed.
    #[error("{message}")]
    Failed {
        /// What happened, where.
        message: String,
        /// What to do.
        remedy: String,
    },
    /// Whoever reads standard output has gone; not worth a message.
    #[error("standard output was closed")]
    OutputClosed,
}

impl CliError {
    pub(crate) fn usage(message: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self::Usage { message: message.into(), remedy: remedy.into() }
    }

    pub(crate) fn failed(message: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self::Failed { message: message.into(), remedy: remedy.into() }
    }

    /// An error of a file, with a remedy that fits its kind.
    pub(crate) fn file(doing: &str, path: &Path, error: &std::io::Error) -> Self {
        use std::io::ErrorKind as E;
        let remedy = match error.kind() {
            E::NotFound => "check the path",
            E::PermissionDenied => "check the permissions of the file and of its folder",
            E::StorageFull | E::QuotaExceeded => "make room and try again",
            E::ReadOnlyFilesystem => "choose a place that can be written to",
            E::IsADirectory => "name a file, not a folder",
            _ => "see the message of the system",
        };
        Self::failed(format!("cannot {doing} {}: {error}", path.display()), remedy)
    }

    fn code(&self) -> u8 {
        match self {
            Self::Config(_) | Self::Usage { .. } => exit::USAGE,
            Self::Failed { .. } => exit::FAILED,
            Self::OutputClosed => exit::ALL,
        }
    }

    fn show(&self) {
        match self {
            Self::Config(errors) => print::error(errors.render(print::colours()).trim_end()),
            Self::Usage { message, remedy } | Self::Failed { message, remedy } => {
                print::error(&format!("error: {message}"));
                if !remedy.is_empty() {
                    print::error(&format!("  help: {remedy}"));
                }
            }
            Self::OutputClosed => {}
        }
    }
}

/// Runs the program with the arguments of the process.
pub fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            let code = if error.use_stderr() { exit::USAGE } else { exit::ALL };
            // Nothing can be done when not even help can be shown.
            let _ = error.print();
            return ExitCode::from(code);
        }
    };
    if let Err(error) = start_log(&cli.log, cli.log_json) {
        error.show();
        return ExitCode::from(error.code());
    }
    let result = match cli.command {
        Command::Run(arguments) => run::run(&arguments),
        Command::Convert(arguments) => convert::run(&arguments),
        Command::Inspect(arguments) => inspect::run(&arguments),
        Command::Config(arguments) => config::run(&arguments),
        Command::Audit(arguments) => audit::run(&arguments),
        #[cfg(unix)]
        Command::Kernel => crate::run::serve_kernel()
            .map(|()| exit::ALL)
            .map_err(|error| CliError::failed(format!("cannot serve the parent process: {error}"), "")),
        Command::Certify(arguments) => certify::run(&arguments),
        Command::Dead(arguments) => dead::run(&arguments),
        Command::Preview(arguments) => preview::run(&arguments),
        Command::Synth(arguments) => synth::run(&arguments),
        Command::Evaluate(arguments) => evaluate::run(&arguments),
    };
    match result {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            error.show();
            ExitCode::from(error.code())
        }
    }
}

fn start_log(filter: &str, json: bool) -> Result<(), CliError> {
    let filter = EnvFilter::try_new(filter).map_err(|error| {
        CliError::usage(format!("--log is no filter: {error}"), "for example --log info, or --log plan2geo=debug")
    })?;
    let log = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_ansi(std::io::stderr().is_terminal() && print::colours())
        .with_target(false);
    // A second subscriber in one process can only be a test's own.
    let _ = if json { log.json().try_init() } else { log.try_init() };
    Ok(())
}

/// The overrides that `run` and `convert` share.
#[derive(Debug, clap::Args)]
pub(crate) struct Overrides {
    /// Set a key of the configuration, such as `limits.slots=8`; may be repeated, wins over the file.
    #[arg(long = "set", value_name = "KEY=VALUE")]
    set: Vec<String>,
}

impl Overrides {
    pub(crate) fn load(&self, file: Option<&Path>) -> Result<Config, CliError> {
        let config = Config::load(file, &self.set)?;
        for warning in &config.warnings {
            print::error(warning.render(print::colours()).trim_end());
        }
        Ok(config)
    }
}

/// The directory of a run: the directory itself, the newest below an output or state folder, or that of a configuration.
pub(crate) fn run_directory(place: &Path) -> Result<PathBuf, CliError> {
    crate::run::find_run(place).map_err(|message| {
        CliError::usage(message, "name the directory of a run, an output directory, or the configuration of the run")
    })
}
