//! `plan2geo certify`: a signed statement that a set of drawings was searched whole, with every gap named.
//!
//! It is made from the files of the run alone, and refused unless they prove that every drawing of the finished listing has
//! one outcome. The statement is signed by digest as a signed note; whoever has the public key checks it offline.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use clap::Args;
use plan2geo_actors::RunHeader;
use plan2geo_actors::ledger::{self, Closing, Event, Verification};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use super::table::grouped;
use super::{CliError, exit, print, prove, run_directory};

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  PLAN2GEO_SIGNING_KEY=$(cat key) plan2geo certify out -o certificate
  plan2geo certify certificate.json --check --key records-office+0f3a…")]
pub(crate) struct Arguments {
    /// The directory of a run, an output directory, or a configuration; with --check a certificate.
    run: PathBuf,
    /// Where it goes: NAME.json, and NAME.html for people to print.
    #[arg(short, long, default_value = "certificate", value_name = "NAME")]
    output: PathBuf,
    /// Check a certificate instead of making one.
    #[arg(long, requires = "key")]
    check: bool,
    /// The public key, or a file that holds it.
    #[arg(long, value_name = "KEY")]
    key: Option<String>,
    /// The variable of the environment that holds the signing key.
    #[arg(long, default_value = prove::KEY_VARIABLE, value_name = "VARIABLE")]
    key_env: String,
}

/// The statement and the signed note over its digest.
#[derive(Debug, Serialize, Deserialize)]
struct Certificate {
    statement: Value,
    note: String,
}

/// A drawing without an output.
#[derive(Debug, Serialize)]
struct Gap {
    document: String,
    page: u32,
    kind: String,
    message: String,
}

pub(crate) fn run(arguments: &Arguments) -> Result<u8, CliError> {
    match &arguments.key {
        Some(key) if arguments.check => check(&arguments.run, key),
        _ => certify(&run_directory(&arguments.run)?, &arguments.output, &arguments.key_env),
    }
}

fn certify(directory: &Path, output: &Path, key_env: &str) -> Result<u8, CliError> {
    let verification = ledger::verify(directory)?;
    if !verification.is_complete() || !verification.closed {
        let message = format!("{} cannot be certified: {}", directory.display(), why_not(&verification));
        print::error(&format!("error: {message}\n  help: finish the run, then see `plan2geo audit verify`"));
        return Ok(exit::NOT_RECONCILED);
    }
    let signer = prove::signer(key_env)?;
    let (statement, gaps) = statement(directory, &verification)?;
    let note = signer.sign(&signed_text(&statement));
    let certificate = Certificate { statement, note };
    let json = serde_json::to_vec_pretty(&certificate)
        .map_err(|error| CliError::failed(error.to_string(), "report it: this is a fault"))?;
    let (json_path, html_path) = (output.with_extension("json"), output.with_extension("html"));
    prove::write(&json_path, &json)?;
    prove::write(&html_path, page(&certificate, &gaps).as_bytes())?;
    print::line(&format!(
        "certified: {} enumerated = {} extracted + {} dead letters, all named\n{}\n{}",
        grouped(verification.enumerated),
        grouped(verification.extracted),
        grouped(verification.dead_letters),
        json_path.display(),
        html_path.display()
    ))?;
    Ok(exit::ALL)
}

fn why_not(found: &Verification) -> String {
    if let Some(fault) = found.faults.first() {
        fault.to_string()
    } else if !found.manifest_closed {
        "the listing did not come to its end".to_owned()
    } else if found.unaccounted > 0 {
        format!("unaccounted_pages:{}", found.unaccounted)
    } else {
        "its ledger was not closed".to_owned()
    }
}

/// What is stated, with sorted keys, and the gaps in it.
fn statement(directory: &Path, found: &Verification) -> Result<(Value, Vec<Gap>), CliError> {
    let header = RunHeader::load(directory)?
        .ok_or_else(|| CliError::failed("there is no run.json", "name the directory of a run"))?;
    let closing = Closing::load(directory)?;
    let mut gaps = Vec::new();
    for record in ledger::read(directory)? {
        let record = record?;
        if let (Event::DeadLetter, Some(error)) = (record.event, record.error) {
            let (document, page) = (record.doc_id, record.page.get());
            gaps.push(Gap { document, page, kind: error.kind, message: error.message });
        }
    }
    gaps.sort_by(|a, b| (&a.document, a.page).cmp(&(&b.document, b.page)));
    let statement = serde_json::json!({
        "schema": "plan2geo-certificate/1",
        "run": header.run_id,
        "request": header.request_id,
        "searched": {
            "source": header.settings.get("source.location"),
            "include": header.settings.get("source.include"),
            "exclude": header.settings.get("source.exclude"),
            "listing": "complete",
        },
        "method": "every document of the source was listed before it was read; each ended as one line of a hash-chained ledger",
        "program": header.program,
        "settings_sha256": header.settings_sha256,
        "begun": header.created,
        "ended": closing.map(|closing| closing.ts),
        "counts": {
            "enumerated": found.enumerated,
            "extracted": found.extracted,
            "dead_letters": found.dead_letters,
            "by_kind": found.by_kind,
        },
        "gaps": gaps,
        "ledger": { "lines": found.lines, "head": found.head },
    });
    Ok((statement, gaps))
}

/// The text that is signed: the digest of the statement with sorted keys and no blanks.
fn signed_text(statement: &Value) -> String {
    let digest = Sha256::digest(statement.to_string().as_bytes());
    let mut text = String::from("plan2geo certificate\nsha256 ");
    for byte in digest {
        // Writing to a string does not fail.
        let _ = write!(text, "{byte:02x}");
    }
    text.push('\n');
    text
}

fn check(file: &Path, key: &str) -> Result<u8, CliError> {
    let text = std::fs::read(file).map_err(|error| CliError::file("read", file, &error))?;
    let certificate: Certificate = serde_json::from_slice(&text).map_err(|error| {
        CliError::failed(format!("{} is no certificate: {error}", file.display()), "see `plan2geo certify`")
    })?;
    let verifier = prove::verifier(key)?;
    let said = match verifier.open(&certificate.note) {
        Ok(signed) if signed == signed_text(&certificate.statement) => Ok(()),
        Ok(_) => Err("the statement is not the one that was signed".to_owned()),
        Err(error) => Err(error.to_string()),
    };
    match said {
        Ok(()) => {
            let counts = certificate.statement.get("counts").map(Value::to_string).unwrap_or_default();
            print::line(&format!("good: signed by {}: {counts}", verifier.name()))?;
            Ok(exit::ALL)
        }
        Err(error) => {
            print::line(&format!("NOT GOOD: {error}"))?;
            Ok(exit::NOT_RECONCILED)
        }
    }
}

/// The page for people: everything that is stated, to be printed and filed.
fn page(certificate: &Certificate, gaps: &[Gap]) -> String {
    let statement = &certificate.statement;
    let shown = |pointer: &str| match statement.pointer(pointer) {
        None | Some(Value::Null) => "–".to_owned(),
        Some(Value::String(text)) => escape(text),
        Some(other) => escape(&other.to_string()),
    };
    let mut html = String::from(
        "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><title>Certificate of a complete search</title>\
         <style>body{font:11pt/1.45 Georgia,serif;max-width:46em;margin:3em auto;padding:0 1em}table{border-collapse:collapse;width:100%}\
         th,td{text-align:left;vertical-align:top;border-bottom:1px solid #bbb;padding:.25em .6em .25em 0}th{font-weight:600}\
         pre{white-space:pre-wrap;word-break:break-all;background:#f4f4f4;padding:.8em}.n{text-align:right}</style>\
         <h1>Certificate of a complete search</h1><p>Every drawing that was found in the source below has one recorded outcome: \
         it was extracted, or it is named here as a gap.</p><table>",
    );
    for (title, pointer) in [
        ("Run", "/run"),
        ("Request", "/request"),
        ("Source", "/searched/source"),
        ("Only", "/searched/include"),
        ("Without", "/searched/exclude"),
        ("Method", "/method"),
        ("Program", "/program"),
        ("Digest of all settings", "/settings_sha256"),
        ("Begun", "/begun"),
        ("Ended", "/ended"),
        ("Drawings found", "/counts/enumerated"),
        ("Extracted", "/counts/extracted"),
        ("Dead letters", "/counts/dead_letters"),
        ("Lines of the ledger", "/ledger/lines"),
        ("Digest of the last line", "/ledger/head"),
    ] {
        let _ = write!(html, "<tr><th>{title}</th><td>{}</td></tr>", shown(pointer));
    }
    html.push_str("</table><h2>Gaps</h2>");
    if gaps.is_empty() {
        html.push_str("<p>None.</p>");
    } else {
        html.push_str("<table><tr><th>Drawing</th><th class=\"n\">Page</th><th>Cause</th><th>What was said</th></tr>");
        for gap in gaps {
            let (document, kind, message) = (escape(&gap.document), escape(&gap.kind), escape(&gap.message));
            let page = gap.page;
            let _ = write!(
                html,
                "<tr><td>{document}</td><td class=\"n\">{page}</td><td>{kind}</td><td>{message}</td></tr>"
            );
        }
        html.push_str("</table>");
    }
    let _ = write!(
        html,
        "<h2>Signature</h2><p>Check with <code>plan2geo certify certificate.json --check --key KEY</code>.</p><pre>{}</pre></html>",
        escape(&certificate.note)
    );
    html
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
