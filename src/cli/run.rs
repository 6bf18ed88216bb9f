//! `plan2geo run CONFIG`: a batch, from its configuration to the proof that nothing was lost.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use clap::Args;
use plan2geo_actors::ledger::{self, Event, Record};
use plan2geo_actors::summary::Ended;
use plan2geo_actors::{FailureKind, RunError, RunSummary, Verdict};
use serde_json::json;

use super::progress::{Display, READ_EVERY};
use super::table::{Table, grouped};
use super::{CliError, Overrides, exit, print};
use crate::config::{Config, Isolation, Location, mib, seconds};
use crate::report::{Context, LimitsInForce, Report, html};
use crate::run::{Begun, StartError, StartOptions, Started, explain, start, write_whole};
use crate::source::Skipped;

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  plan2geo run nightly.toml
  plan2geo run nightly.toml --set limits.slots=8 --set output.location=/mnt/out
  plan2geo run nightly.toml --json > summary.json

The smallest configuration:
  [source]
  location = \"plans\"
  [output]
  location = \"out\"

Run again after an interruption to go on where it stopped; after a finished run only new and changed
drawings are done. The first Ctrl-C finishes what runs, the second gives it up, the third leaves at once.")]
pub(crate) struct Arguments {
    /// The configuration.
    config: PathBuf,
    /// Begin anew: make all outputs again, whatever earlier runs left.
    #[arg(long)]
    fresh: bool,
    /// Say of each drawing whether it would be done and why, and do nothing.
    #[arg(long)]
    explain: bool,
    /// For machines: progress as JSON lines on standard error, the summary as JSON on standard output.
    #[arg(long)]
    json: bool,
    /// No progress.
    #[arg(long, short)]
    quiet: bool,
    #[command(flatten)]
    overrides: Overrides,
}

pub(crate) fn run(arguments: &Arguments) -> Result<u8, CliError> {
    let config = arguments.overrides.load(Some(&arguments.config))?;
    let options = StartOptions { fresh: arguments.fresh, signals: true };
    if arguments.explain {
        return explain_run(&config, options, arguments.json);
    }
    let started = start(&config, options)?;
    watch(&config, started, arguments.json, arguments.quiet)
}

/// Prints what a run would do with each drawing, and the sums.
fn explain_run(config: &Config, options: StartOptions, json: bool) -> Result<u8, CliError> {
    let mut sums: BTreeMap<String, u64> = BTreeMap::new();
    let mut printed = Ok(());
    explain(config, options, |unit, reason| {
        *sums.entry(reason.to_string()).or_default() += 1;
        if printed.is_ok() {
            printed = print::line(&if json {
                json!({ "doc_id": unit.doc_id, "page": unit.page, "reason": reason, "runs": reason.runs() }).to_string()
            } else {
                format!("{unit}: {reason}")
            });
        }
    })?;
    printed?;
    for (reason, count) in sums {
        print::error(&format!("{} {reason}", grouped(count)));
    }
    Ok(exit::ALL)
}

/// Shows a run until it ends, and what it came to.
pub(crate) fn watch(config: &Config, started: Started, json: bool, quiet: bool) -> Result<u8, CliError> {
    if !json && !quiet {
        match &started.begun {
            Begun::New => {}
            Begun::Resumed(run) => print::error(&format!("going on with run {run}, which was not finished")),
            Begun::TakenOver(run) => {
                print::error(&format!("run {run} had given up drawings: they are done, and what it extracted is kept"))
            }
            Begun::Replay(run) => print::error(&format!("replaying the dead letters of run {run}")),
            Begun::Again(run) => {
                print::error(&format!("run {run} was finished: only new and changed drawings are done"))
            }
        }
    }
    let leftovers = started.leftovers as u64;
    if leftovers > 0 && !json && !quiet {
        let files = plural(leftovers, "half-written file", "half-written files");
        print::error(&format!("removed {files} that a killed run left in the output"));
    }
    let directory = started.directory.clone();
    let drawings = started.drawings.clone();
    let reader = started.progress();
    let mut display = Display::new(json, quiet, config.run.deadline);
    while !started.is_finished() {
        display.show(&reader.read());
        std::thread::sleep(READ_EVERY);
    }
    display.finish();
    let summary = started.join().map_err(StartError::from)?;
    let skipped = drawings.skipped();
    report(&directory, config, &summary, &skipped);
    if json {
        print::json(&as_json(&directory, &summary, &skipped, leftovers))?;
    } else {
        print::line(&as_text(&directory, &summary, &skipped))?;
    }
    Ok(summary.exit_code())
}

impl From<StartError> for CliError {
    fn from(error: StartError) -> Self {
        match error {
            StartError::Config(errors) => Self::Config(errors),
            StartError::Refused { message, remedy } => Self::failed(message, remedy),
            StartError::Engine(RunError::Ledger(error)) => {
                Self::failed(error.to_string(), "see the message; --fresh begins a run of its own")
            }
            StartError::Engine(RunError::Sink(failure)) => Self::failed(failure.message, failure.kind.remedy()),
            StartError::Engine(error) => Self::failed(error.to_string(), ""),
        }
    }
}

fn as_json(directory: &Path, summary: &RunSummary, skipped: &Skipped, leftovers: u64) -> serde_json::Value {
    json!({
        "directory": directory.display().to_string(),
        "exit_code": summary.exit_code(),
        "summary": summary,
        "skipped": skipped,
        "leftovers_removed": leftovers,
    })
}

/// Writes `report.json` and `report.html` beside the ledger. That they cannot be written is said and changes nothing
/// about the run.
fn report(directory: &Path, config: &Config, summary: &RunSummary, skipped: &Skipped) {
    let limits = &config.limits;
    let shown = |location: &Option<Location>| location.as_ref().map(ToString::to_string).unwrap_or_default();
    let context = Context {
        source: shown(&config.source.location),
        output: shown(&config.output),
        skipped: skipped.clone(),
        request_id: config.run.request_id.clone(),
        deadline: config.run.deadline,
        limits: LimitsInForce {
            queue: limits.queue as usize,
            slots: limits.slots as usize,
            threads: limits.threads as usize,
            memory_budget: Some(limits.memory_budget),
            in_flight_bytes: Some(limits.in_flight_bytes),
            isolation: match config.run.isolation {
                Isolation::Thread => "thread",
                Isolation::Process => "process",
            },
        },
    };
    let written =
        Report::new(summary.clone(), directory, context).map_err(|error| error.to_string()).and_then(|report| {
            let json = serde_json::to_vec_pretty(&report).map_err(|error| error.to_string())?;
            write_whole(&directory.join("report.json"), &json).map_err(|error| error.to_string())?;
            write_whole(&directory.join("report.html"), html::page(&report).as_bytes())
                .map_err(|error| error.to_string())
        });
    if let Err(error) = written {
        print::error(&format!("warning: cannot write the report in {}: {error}", directory.display()));
    }
}

/// A run over nothing is complete, and hardly what was meant.
const NOTHING_FOUND: &str = "\n  no drawings were found: check source.location, source.include and source.exclude\n";

/// Dead letters shown by name.
const SHOWN: usize = 10;

fn as_text(directory: &Path, summary: &RunSummary, skipped: &Skipped) -> String {
    let mut text = String::new();
    let mut counts = Table::indented(2);
    counts.row(["enumerated", &grouped(summary.enumerated)]);
    counts.row(["extracted", &grouped(summary.extracted)]);
    counts.row(["dead letters", &grouped(summary.dead_letters)]);
    if summary.unaccounted > 0 {
        counts.row(["unaccounted", &grouped(summary.unaccounted)]);
    }
    if summary.recorded_before > 0 {
        counts.row(["recorded before", &grouped(summary.recorded_before)]);
    }
    if summary.vanished > 0 {
        counts.row(["vanished since", &grouped(summary.vanished)]);
    }
    if skipped.total() > 0 {
        counts.row(["left out", &grouped(skipped.total())]);
    }
    text.push_str(&counts.render());
    if skipped.total() > 0 {
        let reasons: Vec<String> =
            skipped.left_out.iter().map(|(reason, count)| format!("{} {reason}", grouped(*count))).collect();
        text.push_str(&format!("  ({})", reasons.join(", ")));
    }
    text.push('\n');
    if summary.enumerated == 0 && summary.ended == Ended::Completed {
        text.push_str(NOTHING_FOUND);
    }
    text.push_str(&dead_letters(directory, summary));

    let mut stages = Table::indented(2);
    stages.row(["time per drawing", "median", "95 %", "longest", "sum"]);
    for name in ["queue", "read", "parse", "write", "audit"] {
        let Some(stage) = summary.stages.get(name).filter(|stage| stage.count > 0) else { continue };
        stages.row([name, &ms(stage.p50_ms), &ms(stage.p95_ms), &ms(stage.max_ms), &ms(stage.total_ms)]);
    }
    text.push_str(&format!("\n{}\n\n", stages.render()));
    let elapsed = std::time::Duration::from_millis(summary.elapsed_ms);
    let fresh = (summary.extracted + summary.dead_letters).saturating_sub(summary.recorded_before);
    text.push_str(&format!(
        "  {} in {} ({:.1} a second), peak memory {}, {}\n",
        plural(fresh, "drawing", "drawings"),
        seconds(elapsed),
        fresh as f64 / elapsed.as_secs_f64().max(0.001),
        peak_memory(summary),
        verdict(summary)
    ));
    for note in &summary.notes {
        text.push_str(&format!("  note {}: {}\n", note.code, note.message));
    }
    if skipped.extension_disagrees > 0 {
        let files = plural(skipped.extension_disagrees, "file has", "files have");
        text.push_str(&format!("  note EXTENSION: {files} another format than the extension says\n"));
    }
    text.push_str(&format!("  books and report.html in {}\n\n{}", directory.display(), ending(summary)));
    text
}

/// With the pages of mapped drawings, and without them where they make a difference.
fn peak_memory(summary: &RunSummary) -> String {
    let (peak, private) = (summary.memory.peak, summary.memory.peak_private);
    if peak.saturating_sub(private) < 64 << 20 {
        mib(peak)
    } else {
        format!("{} ({} without mapped files)", mib(peak), mib(private))
    }
}

fn dead_letters(directory: &Path, summary: &RunSummary) -> String {
    if summary.dead_letters == 0 {
        return String::new();
    }
    let mut text = String::from("\n");
    text.push_str("  dead letters by cause\n");
    let mut kinds = Table::indented(4);
    for (kind, count) in &summary.by_kind {
        let remedy = FailureKind::from_name(kind).map_or("", FailureKind::remedy);
        kinds.row([kind.as_str(), &grouped(*count), remedy]);
    }
    text.push_str(&kinds.render());
    text.push('\n');
    let (shown, left) = first_dead(directory);
    for record in &shown {
        if let Some(error) = &record.error {
            text.push_str(&format!("      {} ({} at {}): {}\n", record.id(), error.kind, error.stage, error.message));
        }
    }
    if left > 0 {
        text.push_str(&format!(
            "      and {}: plan2geo dead list {}\n",
            plural(left, "more", "more"),
            directory.display()
        ));
    }
    text
}

/// The first dead letters of the ledger, and how many follow.
fn first_dead(directory: &Path) -> (Vec<Record>, u64) {
    let mut shown = Vec::new();
    let mut left = 0;
    let records = ledger::read(directory).into_iter().flatten().flatten();
    for record in records.filter(|record| record.event == Event::DeadLetter) {
        if shown.len() < SHOWN {
            shown.push(record);
        } else {
            left += 1;
        }
    }
    shown.sort_by_key(Record::id);
    (shown, left)
}

fn ms(milliseconds: f64) -> String {
    if milliseconds < 10.0 {
        format!("{milliseconds:.1} ms")
    } else {
        seconds(std::time::Duration::from_secs_f64(milliseconds / 1e3))
    }
}

fn plural(count: u64, one: &str, many: &str) -> String {
    format!("{} {}", grouped(count), if count == 1 { one } else { many })
}

/// R161: who waited for whom.
fn verdict(summary: &RunSummary) -> String {
    match summary.verdict {
        Verdict::ScannerBound => "scanner-bound: the queue stood empty, listing takes the time".to_owned(),
        Verdict::WorkerBound => "worker-bound: the queue stood full, converting takes the time".to_owned(),
        Verdict::Balanced => "balanced: the queue was neither full nor empty".to_owned(),
        Verdict::TooShort => "too short a batch for a verdict on the queue".to_owned(),
    }
}

fn ending(summary: &RunSummary) -> String {
    let mut text = String::new();
    if let Some(cause) = &summary.cause {
        text.push_str(&format!("{cause}\n"));
    }
    for error in &summary.errors {
        text.push_str(&format!("error: {error}\n"));
    }
    for unit in summary.missing.iter().take(SHOWN) {
        text.push_str(&format!("error: no outcome: {unit}\n"));
    }
    let balance = format!(
        "enumerated {} = extracted {} + dead letters {}",
        grouped(summary.enumerated),
        grouped(summary.extracted),
        grouped(summary.dead_letters)
    );
    let last = match (summary.reconciled, summary.ended) {
        (false, _) => format!("NOT RECONCILED: {balance} does not hold or is not proved"),
        (true, Ended::Completed) if summary.dead_letters == 0 => format!("complete: {balance}"),
        (true, Ended::Completed) => format!("complete with dead letters: {balance}"),
        (true, Ended::Interrupted) => format!("interrupted, reconciled so far: {balance}; run again to go on"),
        (true, Ended::Failed) => format!("failed, reconciled so far: {balance}; run again to go on"),
    };
    text.push_str(&last);
    text
}
