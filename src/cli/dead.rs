//! `plan2geo dead list|show|replay`: what could not be converted, by root cause, and trying it again.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use plan2geo_actors::ledger::{self, ErrorRecord, Event, Record};
use plan2geo_actors::{FailureKind, UnitId};
use serde_json::json;

use super::table::grouped;
use super::{CliError, Overrides, exit, print, run_directory};
use crate::report::root_cause;
use crate::run::{StartOptions, replay, replays_of};

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// List dead letters, grouped by root cause, with what to do about each.
    ///
    /// Messages that say the same of different drawings are one cause: `#` stands for any number in it, `…` for the name
    /// of the drawing. What one of them says word by word stands below. What a replay has extracted since is marked; the
    /// run itself keeps its dead letters.
    #[command(
        after_help = "Examples:\n  plan2geo dead list out\n  plan2geo dead list out --all\n  plan2geo dead list out --json"
    )]
    List {
        /// The directory of a run, an output directory, or a configuration.
        run: PathBuf,
        /// Every drawing of each group, not only the first ones.
        #[arg(long)]
        all: bool,
        /// For machines.
        #[arg(long)]
        json: bool,
    },
    /// Show all that is known of one dead letter.
    #[command(after_help = "Examples:\n  plan2geo dead show out A/L02.dxf")]
    Show {
        /// The directory of a run, an output directory, or a configuration.
        run: PathBuf,
        /// The drawing, as listed.
        doc: String,
    },
    /// Convert the dead letters of a run again, as a run of its own.
    #[command(after_help = "Examples:
  plan2geo dead replay nightly.toml
  plan2geo dead replay nightly.toml --kind timeout --set limits.unit_deadline=1h
  plan2geo dead replay nightly.toml --of out/_plan2geo/b3f5901b-26e7-4a60-9b40-91c0a60037f8")]
    Replay {
        /// The configuration of the run.
        config: PathBuf,
        /// The run whose dead letters are meant; without it the newest.
        #[arg(long, value_name = "RUN")]
        of: Option<PathBuf>,
        /// Only dead letters of this kind, such as `timeout`.
        #[arg(long)]
        kind: Option<String>,
        /// For machines.
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        overrides: Overrides,
    },
}

pub(crate) fn run(arguments: &Arguments) -> Result<u8, CliError> {
    match &arguments.command {
        Command::List { run, all, json } => list(&run_directory(run)?, *all, *json),
        Command::Show { run, doc } => show(&run_directory(run)?, doc),
        Command::Replay { config: file, of, kind, json, overrides } => {
            if file.is_dir() {
                let message = format!("{} is no configuration", file.display());
                return Err(CliError::usage(
                    message,
                    "name the configuration of that run, and the run itself with --of",
                ));
            }
            let config = overrides.load(Some(file))?;
            let parent = run_directory(of.as_deref().unwrap_or(file))?;
            let started = replay(&config, &parent, kind.as_deref(), StartOptions { fresh: true, signals: true })?;
            super::run::watch(&config, started, *json, false)
        }
    }
}

/// Drawings named in a group unless all are asked for.
const NAMED: usize = 5;

/// Dead letters of one cause.
#[derive(Debug, Default)]
struct Group {
    count: u64,
    /// How many of them a replay has extracted since.
    extracted_since: u64,
    /// The drawing whose name is the smallest, and what is said of it word by word.
    example: Option<(UnitId, String)>,
    first: Vec<Dead>,
}

/// A dead letter that is named.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Dead {
    unit: UnitId,
    extracted_since: bool,
}

/// A cause: kind, stage, and the message without what differs from drawing to drawing.
type Cause = (String, String, String);

fn list(directory: &Path, all: bool, as_json: bool) -> Result<u8, CliError> {
    let extracted = extracted_by_replays(directory)?;
    let mut groups: BTreeMap<Cause, Group> = BTreeMap::new();
    for record in ledger::read(directory)? {
        let record = record?;
        let (Event::DeadLetter, Some(error)) = (record.event, &record.error) else { continue };
        let group = groups.entry(cause(&record, error)).or_default();
        let unit = record.id();
        let extracted_since = extracted.contains(&unit);
        group.count += 1;
        group.extracted_since += u64::from(extracted_since);
        if group.example.as_ref().is_none_or(|(first, _)| unit < *first) {
            group.example = Some((unit.clone(), error.message.clone()));
        }
        if all || group.first.len() < NAMED {
            group.first.push(Dead { unit, extracted_since });
        }
    }
    let mut groups: Vec<(Cause, Group)> = groups.into_iter().collect();
    groups.sort_by(|(a_cause, a), (b_cause, b)| b.count.cmp(&a.count).then_with(|| a_cause.cmp(b_cause)));
    for (_, group) in &mut groups {
        group.first.sort();
    }
    if as_json {
        let shown: Vec<_> = groups
            .iter()
            .map(|((kind, stage, message), group)| {
                let drawings: Vec<String> = group.first.iter().map(|dead| dead.unit.to_string()).collect();
                let example = group.example.as_ref().map(|(_, message)| message);
                json!({ "kind": kind, "stage": stage, "message": message, "example": example, "count": group.count,
                        "extracted_since": group.extracted_since, "remedy": remedy(kind), "drawings": drawings })
            })
            .collect();
        print::json(&shown)?;
        return Ok(exit::ALL);
    }
    if groups.is_empty() {
        print::line("no dead letters")?;
        return Ok(exit::ALL);
    }
    let mut text = String::new();
    for ((kind, stage, message), group) in &groups {
        text.push_str(&format!("{} × {kind} at {stage}: {message}\n", grouped(group.count)));
        if let Some((_, example)) = group.example.as_ref().filter(|(_, example)| example != message) {
            text.push_str(&format!("    such as: {example}\n"));
        }
        if !remedy(kind).is_empty() {
            text.push_str(&format!("    to do: {}\n", remedy(kind)));
        }
        if group.extracted_since > 0 {
            text.push_str(&format!("    {} of them extracted by a replay since\n", grouped(group.extracted_since)));
        }
        for Dead { unit, extracted_since } in &group.first {
            text.push_str(&format!("    {unit}{}\n", if *extracted_since { " (extracted since)" } else { "" }));
        }
        let left = group.count - group.first.len() as u64;
        if left > 0 {
            text.push_str(&format!("    and {} more (--all)\n", grouped(left)));
        }
    }
    print::line(text.trim_end())?;
    Ok(exit::ALL)
}

/// What replays of a run have extracted.
fn extracted_by_replays(directory: &Path) -> Result<BTreeSet<UnitId>, CliError> {
    let mut extracted = BTreeSet::new();
    for replay in replays_of(directory).map_err(|message| CliError::failed(message, "see the message"))? {
        for record in ledger::read(&replay)? {
            let record = record?;
            if record.event == Event::Extracted {
                extracted.insert(record.id());
            }
        }
    }
    Ok(extracted)
}

fn remedy(kind: &str) -> &'static str {
    FailureKind::from_name(kind).map_or("", FailureKind::remedy)
}

fn cause(record: &Record, error: &ErrorRecord) -> Cause {
    // The number of a limit is the cause; elsewhere numbers are lines, bytes and sizes.
    let message = if error.kind == FailureKind::Limit.as_str() {
        error.message.replace(record.doc_id.as_str(), "…")
    } else {
        root_cause(&error.message, &record.doc_id)
    };
    (error.kind.clone(), error.stage.to_string(), message)
}

fn show(directory: &Path, doc: &str) -> Result<u8, CliError> {
    let mut found = 0;
    for record in ledger::read(directory)? {
        let record = record?;
        if record.doc_id == doc && record.event == Event::DeadLetter {
            found += 1;
            print::json(&record)?;
            if let Some(error) = &record.error {
                print::error(&format!("to do: {}", remedy(&error.kind)));
            }
            if extracted_by_replays(directory)?.contains(&record.id()) {
                print::error("a replay has extracted it since");
            }
        }
    }
    if found == 0 {
        let message = format!("{doc} is no dead letter of {}", directory.display());
        return Err(CliError::failed(message, "see `plan2geo dead list` for their names"));
    }
    Ok(exit::ALL)
}
