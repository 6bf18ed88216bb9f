//! The report as one HTML page without anything from outside: it opens from a disk, in a mail, in ten years.

use std::fmt::Write as _;

use super::plot;
use super::{Cause, Check, Outcome, Report, UnitTime};

const STYLE: &str = "body{font:15px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color:#1b1f24}\
h1{font-size:1.5rem}h2{font-size:1.15rem;margin-top:2.2rem}table{border-collapse:collapse;width:100%}\
th,td{text-align:left;padding:.3rem .6rem;border-bottom:1px solid #d8dee4;vertical-align:top}td.n,th.n{text-align:right;\
font-variant-numeric:tabular-nums}.pass{color:#116329}.fail{color:#a40e26}.unknown{color:#656d76}\
.verdict{padding:.8rem 1rem;border-radius:.5rem;background:#dafbe1}.verdict.bad{background:#ffebe9}.verdict.some{background:#fff8c5}\
svg{width:100%;height:auto;font:11px system-ui,sans-serif}svg text{fill:#57606a}.grid{stroke:#eaeef2}.bound{stroke:#a40e26;stroke-dasharray:4 3}\
.curve{fill:none;stroke:#0969da;stroke-width:1.5}.bar{fill:#54aeff}code{font-size:.9em}small{color:#57606a}\
@media print{body{margin:0;max-width:none}}";

/// The page.
pub fn page(report: &Report) -> String {
    let mut page = String::from("<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">");
    let _ = write!(page, "<title>plan2geo run {}</title><style>{STYLE}</style></head><body>", report.summary.run_id);
    head(&mut page, report);
    advice(&mut page, report);
    causes(&mut page, &report.causes, report.other_causes);
    checklist(&mut page, &report.checklist);
    plots(&mut page, report);
    stages(&mut page, report);
    formats(&mut page, report);
    units(&mut page, "Slowest drawings", &report.slowest);
    units(&mut page, "Largest drawings", &report.largest);
    issues(&mut page, report);
    left_out(&mut page, report);
    notes(&mut page, report);
    page.push_str("</body></html>\n");
    page
}

/// Text for HTML, in content and in quoted attributes.
fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            control if control.is_control() && control != '\n' => escaped.push('\u{fffd}'),
            other => escaped.push(other),
        }
    }
    escaped
}

fn megabytes(bytes: f64) -> String {
    format!("{:.1} MB", bytes / 1e6)
}

fn milliseconds(value: f64) -> String {
    if value >= 10_000.0 { format!("{:.1} s", value / 1e3) } else { format!("{value:.1} ms") }
}

fn head(page: &mut String, report: &Report) {
    let summary = &report.summary;
    let (class, words) = match report.exit_code {
        0 => ("", "All drawings were extracted, and the books balance."),
        3 => ("some", "Finished and reconciled, with dead letters."),
        4 => ("bad", "Not reconciled: drawings are missing from the books."),
        130 => ("some", "Interrupted; what was done is recorded, and a second run does the rest."),
        _ => ("bad", "The run failed."),
    };
    let _ = write!(page, "<h1>plan2geo run</h1><p class=\"verdict {class}\"><strong>{words}</strong>");
    if let Some(cause) = &summary.cause {
        let _ = write!(page, " {}.", escape(&cause.to_string()));
    }
    for error in &summary.errors {
        let _ = write!(page, "<br>{}", escape(error));
    }
    page.push_str("</p><table>");
    let mut row = |name: &str, value: String| {
        let _ = write!(page, "<tr><th>{name}</th><td>{value}</td></tr>");
    };
    row("source", escape(&report.source));
    row("output", escape(&report.output));
    if let Some(request) = &report.request_id {
        row("request", escape(request));
    }
    row("run", format!("<code>{}</code>, exit code {}", summary.run_id, report.exit_code));
    row("time", format!("{} to {} ({:.1} s)", summary.started, summary.finished, summary.elapsed_ms as f64 / 1e3));
    if let Some(deadline) = &report.deadline {
        let words = if deadline.met { "met" } else { "<strong class=\"fail\">missed</strong>" };
        row("deadline", format!("{}, {words}, {} s left", deadline.at, deadline.seconds_left));
    }
    row(
        "books",
        format!(
            "<strong>{} enumerated = {} extracted + {} dead letters</strong>{}",
            summary.enumerated,
            summary.extracted,
            summary.dead_letters,
            if summary.unaccounted > 0 { format!(" + {} unaccounted", summary.unaccounted) } else { String::new() }
        ),
    );
    if summary.resumed {
        row("resumed", format!("{} outcomes were recorded by earlier attempts", summary.recorded_before));
    }
    row("peak memory", megabytes(summary.memory.peak as f64));
    row("ledger", format!("{} lines, head <code>{}</code>", summary.ledger_lines, escape(&summary.ledger_head)));
    page.push_str("</table>");
}

fn advice(page: &mut String, report: &Report) {
    if report.advice.is_empty() {
        return;
    }
    page.push_str("<h2>What to do next</h2><ul>");
    for line in &report.advice {
        let _ = write!(page, "<li>{}</li>", escape(line));
    }
    page.push_str("</ul>");
}

fn causes(page: &mut String, causes: &[Cause], others: u64) {
    if causes.is_empty() {
        return;
    }
    page.push_str("<h2>Dead letters by cause</h2><table><tr><th class=\"n\">count</th><th>kind</th><th>cause and examples</th></tr>");
    for cause in causes {
        let _ = write!(
            page,
            "<tr><td class=\"n\">{}</td><td>{}<br><small>{}</small></td><td>{}<br><small>{}.</small>",
            cause.count,
            escape(&cause.kind),
            escape(&cause.stage),
            escape(&cause.cause),
            escape(cause.remedy)
        );
        for example in &cause.examples {
            let _ =
                write!(page, "<br><code>{}</code> <small>{}</small>", escape(&example.unit), escape(&example.message));
        }
        page.push_str("</td></tr>");
    }
    page.push_str("</table>");
    if others > 0 {
        let _ = write!(page, "<p>{others} more have causes of their own; the ledger names each.</p>");
    }
}

fn checklist(page: &mut String, checks: &[Check]) {
    page.push_str("<h2>Checklist</h2><table>");
    for check in checks {
        let (class, word) = match check.outcome {
            Outcome::Pass => ("pass", "PASS"),
            Outcome::Fail => ("fail", "FAIL"),
            Outcome::Unknown => ("unknown", "too short to tell"),
        };
        let _ = write!(
            page,
            "<tr><td class=\"{class}\"><strong>{word}</strong></td><td>{}</td><td>{}</td></tr>",
            check.title,
            escape(&check.evidence)
        );
    }
    page.push_str("</table>");
}

fn plots(page: &mut String, report: &Report) {
    let samples = &report.summary.memory.samples;
    if samples.len() < 2 {
        return;
    }
    let series = |value: fn(&plan2geo_actors::gauge::MemorySample) -> f64| -> Vec<(f64, f64)> {
        samples.iter().map(|sample| (sample.at_ms as f64 / 1e3, value(sample))).collect()
    };
    let resident = series(|sample| sample.resident as f64);
    let private = series(|sample| sample.private() as f64);
    let waiting = series(|sample| sample.waiting as f64);
    page.push_str(
        "<h2>Memory over time</h2><p>Resident, with the pages of large drawings that are mapped from files.</p>",
    );
    page.push_str(&plot::over_time(&resident, None, "resident memory", megabytes));
    page.push_str("<p>Without them: what the system cannot take back. Dashed: <code>limits.memory_budget</code>.</p>");
    let budget = report.limits.memory_budget.map(|bytes| bytes as f64);
    // A budget far above the curve would press it to the floor.
    let budget = budget.filter(|budget| *budget < 4.0 * summary_peak(report));
    page.push_str(&plot::over_time(&private, budget, "private memory", megabytes));
    let _ = write!(page, "<h2>Queue over time</h2><p>bound {} (dashed)</p>", report.limits.queue);
    let bound = Some(report.limits.queue as f64);
    page.push_str(&plot::over_time(&waiting, bound, "drawings waiting", |value| format!("{value:.0}")));
    let queue = &report.summary.queue;
    let _ = write!(
        page,
        "<p>empty {:.0} % of the time, full {:.0} %; mean depth {:.1}, mean wait {}. Verdict: <strong>{}</strong>.</p>",
        100.0 * queue.share_at_zero,
        100.0 * queue.share_at_bound,
        queue.mean,
        milliseconds(queue.mean_wait_ms),
        serde_json::to_value(report.summary.verdict)
            .ok()
            .and_then(|v| v.as_str().map(str::to_owned))
            .unwrap_or_default()
    );
}

fn summary_peak(report: &Report) -> f64 {
    report.summary.memory.peak_private as f64
}

fn stages(page: &mut String, report: &Report) {
    let order = ["queue", "read", "parse", "write", "audit"];
    let stages = &report.summary.stages;
    let rows: Vec<_> = order.iter().filter_map(|name| Some((*name, stages.get(*name)?))).collect();
    page.push_str("<h2>Time per stage</h2>");
    let totals: Vec<_> = rows.iter().map(|(name, times)| ((*name).to_owned(), times.total_ms)).collect();
    page.push_str(&plot::bars(&totals, milliseconds));
    page.push_str("<table><tr><th>stage</th><th class=\"n\">median</th><th class=\"n\">95 %</th><th class=\"n\">longest</th></tr>");
    for (name, times) in rows {
        let _ = write!(
            page,
            "<tr><td>{name}</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td></tr>",
            milliseconds(times.p50_ms),
            milliseconds(times.p95_ms),
            milliseconds(times.max_ms)
        );
    }
    page.push_str("</table>");
}

fn formats(page: &mut String, report: &Report) {
    page.push_str(
        "<h2>Formats</h2><table><tr><th>format</th><th class=\"n\">extracted</th><th class=\"n\">dead letters</th>\
         <th class=\"n\">size</th><th class=\"n\">features</th><th class=\"n\">rooms</th><th class=\"n\">time</th></tr>",
    );
    for (name, tally) in &report.formats {
        let _ = write!(
            page,
            "<tr><td>{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td>\
             <td class=\"n\">{}</td><td class=\"n\">{}</td></tr>",
            escape(name),
            tally.extracted,
            tally.dead_letters,
            megabytes(tally.bytes as f64),
            tally.features,
            tally.rooms,
            milliseconds(tally.parse_ms as f64)
        );
    }
    page.push_str("</table>");
}

fn units(page: &mut String, title: &str, units: &[UnitTime]) {
    if units.is_empty() {
        return;
    }
    let _ = write!(
        page,
        "<h2>{title}</h2><table><tr><th>drawing</th><th class=\"n\">size</th><th class=\"n\">conversion</th></tr>"
    );
    for unit in units {
        let _ = write!(
            page,
            "<tr><td><code>{}</code>{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td></tr>",
            escape(&unit.unit),
            if unit.extracted { "" } else { " <small class=\"fail\">dead letter</small>" },
            megabytes(unit.bytes as f64),
            milliseconds(unit.parse_ms as f64)
        );
    }
    page.push_str("</table>");
}

fn issues(page: &mut String, report: &Report) {
    if report.issues.is_empty() {
        return;
    }
    page.push_str("<h2>Issues in the outputs</h2><table><tr><th class=\"n\">count</th><th>code</th><th>what, and what to do</th></tr>");
    let codes = crate::issue::all_codes();
    let mut rows: Vec<_> = report.issues.iter().collect();
    rows.sort_by(|a, b| b.1.cmp(a.1).then_with(|| a.0.cmp(b.0)));
    for (id, count) in rows {
        let code = codes.iter().find(|code| code.id == id);
        let (title, remedy) = code.map_or(("", ""), |code| (code.title, code.remedy));
        let _ = write!(
            page,
            "<tr><td class=\"n\">{count}</td><td><code>{}</code></td><td>{}<br><small>{}</small></td></tr>",
            escape(id),
            escape(title),
            escape(remedy)
        );
    }
    page.push_str("</table>");
}

fn left_out(page: &mut String, report: &Report) {
    if report.skipped.left_out.is_empty() {
        return;
    }
    page.push_str("<h2>Left out of the batch</h2><table>");
    for (reason, count) in &report.skipped.left_out {
        let _ = write!(page, "<tr><td class=\"n\">{count}</td><td>{}</td></tr>", escape(reason));
    }
    page.push_str("</table>");
}

fn notes(page: &mut String, report: &Report) {
    let summary = &report.summary;
    if summary.notes.is_empty() && summary.missing.is_empty() && summary.vanished_units.is_empty() {
        return;
    }
    page.push_str("<h2>Notes</h2><ul>");
    for note in &summary.notes {
        let _ = write!(page, "<li><code>{}</code> {}</li>", escape(&note.code), escape(&note.message));
    }
    for unit in &summary.missing {
        let _ = write!(page, "<li>without an outcome: <code>{}</code></li>", escape(&unit.to_string()));
    }
    for unit in &summary.vanished_units {
        let _ = write!(page, "<li>no longer in the source: <code>{}</code></li>", escape(&unit.to_string()));
    }
    page.push_str("</ul>");
}
