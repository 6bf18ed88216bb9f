//! How a run shows that it lives: a bar on a terminal, a plain line every few seconds elsewhere, JSON lines on request.

use std::io::IsTerminal as _;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};
use jiff::Timestamp;
use plan2geo_actors::{Level, Progress};
use serde_json::json;

use super::print;
use super::table::grouped;
use crate::config::seconds;

/// How often plain lines are written.
const LINE_EVERY: Duration = Duration::from_secs(5);
/// How often a reading is taken.
pub(crate) const READ_EVERY: Duration = Duration::from_millis(100);

/// Shows readings as the place they go to allows.
pub(crate) struct Display {
    kind: Kind,
    deadline: Option<Timestamp>,
    warned_of_deadline: bool,
    level: Level,
}

enum Kind {
    Bar(ProgressBar),
    Lines { last: Instant, json: bool },
    Nothing,
}

impl Display {
    pub(crate) fn new(json: bool, quiet: bool, deadline: Option<Timestamp>) -> Self {
        let kind = if quiet {
            Kind::Nothing
        } else if !json && std::io::stderr().is_terminal() {
            Kind::Bar(bar())
        } else {
            Kind::Lines { last: Instant::now(), json }
        };
        Self { kind, deadline, warned_of_deadline: false, level: Level::Run }
    }

    pub(crate) fn show(&mut self, progress: &Progress) {
        self.warn_of_deadline(progress);
        if progress.level > self.level {
            self.level = progress.level;
            self.say(match progress.level {
                Level::Abort => "ending: what runs becomes a dead letter; once more to leave at once",
                _ => "draining: nothing new is begun, what runs is finished; once more to abort",
            });
        }
        match &mut self.kind {
            Kind::Bar(bar) => {
                bar.set_length(progress.enumerated.max(1));
                bar.set_position(progress.done());
                bar.set_message(tail(progress));
            }
            Kind::Lines { last, json } if last.elapsed() >= LINE_EVERY => {
                *last = Instant::now();
                print::error(&if *json { as_json(progress) } else { as_text(progress) });
            }
            Kind::Lines { .. } | Kind::Nothing => {}
        }
    }

    /// R2: told once, while something can still be done about it.
    fn warn_of_deadline(&mut self, progress: &Progress) {
        let (Some(deadline), Some(remaining)) = (self.deadline, progress.remaining()) else { return };
        let now = Timestamp::now();
        let late = now.checked_add(remaining).is_ok_and(|end| end > deadline);
        if late && !self.warned_of_deadline && progress.elapsed >= LINE_EVERY {
            self.warned_of_deadline = true;
            self.say(&format!("warning: about {} to go, past run.deadline ({deadline})", seconds(remaining)));
        }
    }

    fn say(&self, text: &str) {
        match &self.kind {
            Kind::Bar(bar) => bar.println(text),
            _ => print::error(text),
        }
    }

    pub(crate) fn finish(self) {
        if let Kind::Bar(bar) = self.kind {
            bar.finish_and_clear();
        }
    }
}

fn bar() -> ProgressBar {
    let bar = ProgressBar::new(1);
    // The template is a constant; were it wrong, the plain bar of the library would be shown.
    if let Ok(style) = ProgressStyle::with_template("{wide_bar:.cyan} {pos}/{len} {msg}") {
        bar.set_style(style);
    }
    bar
}

fn rate(progress: &Progress) -> f64 {
    progress.done().saturating_sub(progress.resumed) as f64 / progress.elapsed.as_secs_f64().max(0.001)
}

fn tail(progress: &Progress) -> String {
    let mut text = format!(
        "{}{:.1}/s · queue {} · {} MB in flight",
        if progress.listed { "" } else { "listing · " },
        rate(progress),
        progress.waiting,
        progress.bytes_in_flight / 1_000_000
    );
    if progress.dead_letters > 0 {
        text.push_str(&format!(" · {} dead", progress.dead_letters));
    }
    if let Some(remaining) = progress.remaining() {
        text.push_str(&format!(" · {} left", seconds(remaining)));
    }
    text
}

fn as_text(progress: &Progress) -> String {
    let total =
        if progress.listed { grouped(progress.enumerated) } else { format!("{}+", grouped(progress.enumerated)) };
    format!("{} {}/{total} {}", seconds(progress.elapsed), grouped(progress.done()), tail(progress))
}

fn as_json(progress: &Progress) -> String {
    json!({
        "event": "progress",
        "elapsed_ms": u64::try_from(progress.elapsed.as_millis()).unwrap_or(u64::MAX),
        "enumerated": progress.enumerated,
        "listed": progress.listed,
        "extracted": progress.extracted,
        "dead_letters": progress.dead_letters,
        "resumed": progress.resumed,
        "waiting": progress.waiting,
        "active": progress.active,
        "oldest_waiting_ms": u64::try_from(progress.oldest_waiting.as_millis()).unwrap_or(u64::MAX),
        "bytes_in_flight": progress.bytes_in_flight,
        "retries": progress.retries,
        "remaining_ms": progress.remaining().map(|left| u64::try_from(left.as_millis()).unwrap_or(u64::MAX)),
    })
    .to_string()
}
