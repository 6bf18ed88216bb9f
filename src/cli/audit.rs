//! `plan2geo audit verify|show`: the books of a run, proved and read.

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand, ValueEnum};
use plan2geo_actors::ledger::{self, Event, LedgerError, Record, Verification};
use serde_json::json;

use super::table::{Table, grouped};
use super::{CliError, exit, print, run_directory};

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Prove the books: every link of the chain, one terminal line a drawing, manifest against ledger, and outputs.
    #[command(after_help = "Exit: 0 sound and complete; 1 sound and unfinished; 4 something was changed or is missing.

Examples:
  plan2geo audit verify out
  plan2geo audit verify out/_plan2geo/latest --outputs out")]
    Verify {
        /// The directory of a run, an output directory, or a configuration.
        run: PathBuf,
        /// Also compare each output below this directory with its digest in the ledger.
        #[arg(long, value_name = "DIR")]
        outputs: Option<PathBuf>,
        /// For machines.
        #[arg(long)]
        json: bool,
    },
    /// Show the lines of the ledger.
    #[command(after_help = "Examples:
  plan2geo audit show out
  plan2geo audit show out --event dead-letter
  plan2geo audit show out --doc A/L02.dxf --json")]
    Show {
        /// The directory of a run, an output directory, or a configuration.
        run: PathBuf,
        /// Only lines of this event.
        #[arg(long)]
        event: Option<EventName>,
        /// Only dead letters of this kind.
        #[arg(long)]
        kind: Option<String>,
        /// Only this drawing.
        #[arg(long)]
        doc: Option<String>,
        /// The lines as JSON, one a line.
        #[arg(long)]
        json: bool,
    },
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum EventName {
    Extracted,
    DeadLetter,
}

impl From<EventName> for Event {
    fn from(name: EventName) -> Self {
        match name {
            EventName::Extracted => Self::Extracted,
            EventName::DeadLetter => Self::DeadLetter,
        }
    }
}

impl From<LedgerError> for CliError {
    fn from(error: LedgerError) -> Self {
        let remedy = match &error {
            LedgerError::Damaged { .. } => "run `plan2geo audit verify` for all that is wrong",
            LedgerError::InUse { .. } => "wait until the run has ended",
            _ => "name the directory of a run, an output directory, or the configuration of the run",
        };
        Self::failed(error.to_string(), remedy)
    }
}

pub(crate) fn run(arguments: &Arguments) -> Result<u8, CliError> {
    match &arguments.command {
        Command::Verify { run, outputs, json } => verify(&run_directory(run)?, outputs.as_deref(), *json),
        Command::Show { run, event, kind, doc, json } => {
            let wanted = |record: &Record| {
                event.is_none_or(|event| record.event == event.into())
                    && kind.as_ref().is_none_or(|kind| record.error.as_ref().is_some_and(|error| error.kind == *kind))
                    && doc.as_ref().is_none_or(|doc| record.doc_id == *doc)
            };
            show(&run_directory(run)?, wanted, *json)
        }
    }
}

/// An output that is not as the ledger claims.
fn output_faults(directory: &Path, outputs: &Path) -> Result<Vec<String>, CliError> {
    use plan2geo_actors::Sink as _;
    let sink = crate::sink::OutputDirectory::new(outputs.to_owned());
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .map_err(|error| CliError::failed(format!("cannot start: {error}"), ""))?;
    let mut faults = Vec::new();
    for record in ledger::read(directory)? {
        let record = record?;
        let (Some(output), Some(claimed)) = (&record.output, &record.output_sha256) else { continue };
        match runtime.block_on(sink.digest(output)) {
            Ok(Some(digest)) if digest == *claimed => {}
            Ok(Some(_)) => faults.push(format!("{output} is not what was stored")),
            Ok(None) => faults.push(format!("{output} is missing")),
            Err(failure) => faults.push(failure.to_string()),
        }
    }
    Ok(faults)
}

fn verify(directory: &Path, outputs: Option<&Path>, as_json: bool) -> Result<u8, CliError> {
    let found = ledger::verify(directory)?;
    let output_faults = outputs.map(|outputs| output_faults(directory, outputs)).transpose()?.unwrap_or_default();
    let code = match (found.is_sound() && output_faults.is_empty(), found.is_complete()) {
        (false, _) => exit::NOT_RECONCILED,
        (true, true) => exit::ALL,
        (true, false) => exit::FAILED,
    };
    if as_json {
        print::json(&json!({
            "directory": directory.display().to_string(),
            "sound": found.is_sound() && output_faults.is_empty(),
            "complete": found.is_complete(),
            "verification": found,
            "output_faults": output_faults,
        }))?;
    } else {
        print::line(&verified(directory, &found, &output_faults))?;
    }
    Ok(code)
}

fn verified(directory: &Path, found: &Verification, output_faults: &[String]) -> String {
    let mut table = Table::indented(2);
    table.row(["run", &found.run_id.to_string()]);
    table.row(["enumerated", &grouped(found.enumerated)]);
    table.row(["extracted", &grouped(found.extracted)]);
    table.row(["dead letters", &grouped(found.dead_letters)]);
    table.row(["lines", &grouped(found.lines)]);
    table.row(["head", &found.head]);
    let mut text = format!("{}\n{}\n", directory.display(), table.render());
    for fault in &found.faults {
        text.push_str(&format!("  FAULT {fault}\n"));
    }
    for fault in output_faults {
        text.push_str(&format!("  FAULT {fault}\n"));
    }
    if let Some(tear) = &found.tear {
        text.push_str(&format!(
            "  torn: {} ends with {} unfinished bytes (line {}): what a crash leaves, mended by the next run\n",
            tear.path.display(),
            tear.bytes,
            tear.line
        ));
    }
    for unit in &found.missing {
        text.push_str(&format!("  no outcome: {unit}\n"));
    }
    let faults = found.faults.len() + output_faults.len();
    text.push_str(&match (faults, found.is_complete()) {
        (0, true) => "sound and complete: every drawing of the finished listing has one outcome".to_owned(),
        (0, false) => format!("sound and unfinished: {} drawings without an outcome", grouped(found.unaccounted)),
        (1, _) => "NOT SOUND: 1 fault".to_owned(),
        _ => format!("NOT SOUND: {faults} faults"),
    });
    text
}

fn show(directory: &Path, wanted: impl Fn(&Record) -> bool, as_json: bool) -> Result<u8, CliError> {
    for record in ledger::read(directory)? {
        let record = record?;
        if !wanted(&record) {
            continue;
        }
        let line = if as_json {
            serde_json::to_string(&record).unwrap_or_default()
        } else {
            let what = match (&record.error, &record.output) {
                (Some(error), _) => format!("{} at {}: {}", error.kind, error.stage, error.message),
                (None, Some(output)) => output.clone(),
                (None, None) => String::new(),
            };
            let event = match record.event {
                Event::Extracted => "EXTRACTED  ",
                Event::DeadLetter => "DEAD_LETTER",
            };
            format!("{:>6} {} {event} {}  {what}", record.seq, record.ts, record.id())
        };
        print::line(&line)?;
    }
    Ok(exit::ALL)
}
