//! `plan2geo audit verify|show|keygen|prove|check|forward`: the books of a run, proved and read.

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand, ValueEnum};
use plan2geo_actors::ledger::checkpoint::CheckpointVerification;
use plan2geo_actors::ledger::{self, Event, LedgerError, Record, Verification};
use serde_json::json;

use super::table::{Table, grouped};
use super::{CliError, exit, forward, print, prove, run_directory};

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
  plan2geo audit verify out/_plan2geo/latest --outputs out
  plan2geo audit verify out --checkpoints /mnt/worm/plan2geo.checkpoints --key records-office+0f3a…")]
    Verify {
        /// The directory of a run, an output directory, or a configuration.
        run: PathBuf,
        /// Also compare each output below this directory with its digest in the ledger.
        #[arg(long, value_name = "DIR")]
        outputs: Option<PathBuf>,
        /// Also hold the ledger against signed checkpoints: a file beside it or, better, a copy kept elsewhere.
        #[arg(long, value_name = "FILE", requires = "key")]
        checkpoints: Option<PathBuf>,
        /// The public key of the checkpoints, or a file that holds it.
        #[arg(long, value_name = "KEY")]
        key: Option<String>,
        /// For machines.
        #[arg(long)]
        json: bool,
    },
    /// Make a key pair for signed checkpoints, proofs and certificates.
    #[command(after_help = "Examples:\n  plan2geo audit keygen records-office --out signing.key")]
    Keygen(prove::Keygen),
    /// Prove the outcome of one drawing to somebody who has the public key and nothing else.
    #[command(after_help = "Examples:\n  plan2geo audit prove out A/L02.dxf > proof.json")]
    Prove(prove::Prove),
    /// Check such a proof, offline.
    #[command(after_help = "Examples:\n  plan2geo audit check proof.json --key records-office+0f3a…")]
    Check(prove::Check),
    /// Hand the lines of the ledger on to a log collector, from where it stopped last time.
    #[command(after_help = "Plain TCP: use an agent on this machine for TLS. Run it again for what comes later.

Examples:
  plan2geo audit forward out --syslog 127.0.0.1:601
  plan2geo audit forward out --http 127.0.0.1:8088/ingest --cursor /var/lib/plan2geo/cursor.json")]
    Forward(forward::Forward),
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
        Command::Verify { run, outputs, checkpoints, key, json } => {
            let directory = run_directory(run)?;
            let signed = match (checkpoints, key) {
                (Some(notes), Some(key)) => Some(prove::checkpoints(&directory, notes, key)?),
                _ => None,
            };
            verify(&directory, outputs.as_deref(), signed, *json)
        }
        Command::Keygen(arguments) => prove::keygen(arguments),
        Command::Prove(arguments) => prove::prove_unit(arguments),
        Command::Check(arguments) => prove::check(arguments),
        Command::Forward(arguments) => forward::forward(arguments),
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

fn verify(
    directory: &Path,
    outputs: Option<&Path>,
    signed: Option<CheckpointVerification>,
    as_json: bool,
) -> Result<u8, CliError> {
    let found = ledger::verify(directory)?;
    let mut other_faults = outputs.map(|outputs| output_faults(directory, outputs)).transpose()?.unwrap_or_default();
    if let Some(signed) = &signed {
        other_faults.extend(signed.faults.iter().map(ToString::to_string));
    }
    let code = match (found.is_sound() && other_faults.is_empty(), found.is_complete()) {
        (false, _) => exit::NOT_RECONCILED,
        (true, true) => exit::ALL,
        (true, false) => exit::FAILED,
    };
    if as_json {
        print::json(&json!({
            "directory": directory.display().to_string(),
            "sound": found.is_sound() && other_faults.is_empty(),
            "complete": found.is_complete(),
            "verification": found,
            "other_faults": other_faults,
            "checkpoints": signed.as_ref().map(prove::as_json),
        }))?;
    } else {
        let mut text = verified(directory, &found, &other_faults);
        if let Some(signed) = &signed {
            text.push_str(&format!(
                "\n{} checkpoints hold, over {} of {} lines",
                grouped(signed.good),
                grouped(signed.covered),
                grouped(signed.lines)
            ));
        }
        print::line(&text)?;
    }
    Ok(code)
}

fn verified(directory: &Path, found: &Verification, other_faults: &[String]) -> String {
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
    for fault in other_faults {
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
    let faults = found.faults.len() + other_faults.len();
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
