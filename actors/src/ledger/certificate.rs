//! A signed statement that a run is finished and balanced: what was searched, by what method, with what result.
//!
//! It is refused for books that are not complete, so it cannot be had for a production with a gap.

use std::collections::BTreeMap;
use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::checkpoint::{NoteError, Signer, Verifier};
use super::manifest::{ManifestLine, ManifestReader};
use super::record::{timestamp, write_value};
use super::tree::{Tree, leaf};
use super::walk::walk_lines;
use super::{Closing, LedgerError, RunHeader, verify};
use crate::unit::RunId;

/// What is certified.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Statement {
    /// Always `plan2geo-actors certificate/1`.
    pub schema: String,
    /// The run.
    pub run_id: RunId,
    /// The run whose dead letters it replayed.
    pub parent_run: Option<RunId>,
    /// The request the batch belongs to.
    pub request_id: Option<String>,
    /// The method: name and version of the program.
    pub program: String,
    /// The method: every setting that decides what outputs are.
    pub settings: BTreeMap<String, Value>,
    /// SHA-256 over program and settings.
    pub settings_sha256: String,
    /// When the run was begun and closed, RFC 3339.
    pub begun: String,
    /// See `begun`.
    pub closed: String,
    /// The searched set: units in the manifest, and the digest that closes it.
    pub enumerated: u64,
    /// See `enumerated`.
    pub manifest_sha256: String,
    /// Units extracted.
    pub extracted: u64,
    /// Units named as dead letters.
    pub dead_letters: u64,
    /// Dead letters by kind.
    pub by_kind: BTreeMap<String, u64>,
    /// Units without an outcome: 0, or there is no certificate.
    pub gaps: u64,
    /// Lines in the ledger.
    pub ledger_lines: u64,
    /// Digest of the last line.
    pub ledger_head: String,
    /// Root of the tree over all lines, in base64.
    pub ledger_root: String,
    /// When it was certified, RFC 3339.
    pub issued: String,
}

/// A statement and the signed note over it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Certificate {
    /// What is certified.
    pub statement: Statement,
    /// The public key of the signer.
    pub key: String,
    /// The signed note: the canonical JSON of the statement, signed.
    pub note: String,
}

/// There is no certificate.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CertifyError {
    /// The books cannot be read.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    /// The books are not complete.
    #[error("not certified: {}", .0.join("; "))]
    Incomplete(Vec<String>),
}

/// Certifies the run in a directory, after proving its books.
///
/// # Errors
///
/// [`CertifyError::Incomplete`] names everything that is in the way.
pub fn certify(directory: &Path, signer: &Signer) -> Result<Certificate, CertifyError> {
    let proof = verify(directory)?;
    let closing = Closing::load(directory)?;
    let mut reasons: Vec<String> = proof.faults.iter().map(ToString::to_string).collect();
    if proof.unaccounted > 0 {
        reasons.push(format!("unaccounted_pages:{}", proof.unaccounted));
    }
    if let Some(tear) = &proof.tear {
        reasons.push(format!("{} ends with {} torn bytes", tear.path.display(), tear.bytes));
    }
    if !proof.manifest_closed {
        reasons.push("the listing did not come to its end".to_owned());
    }
    let closing = match closing {
        Some(closing) if closing.complete => closing,
        _ => {
            reasons.push("the run was not finished; resume it".to_owned());
            return Err(CertifyError::Incomplete(reasons));
        }
    };
    if !reasons.is_empty() {
        return Err(CertifyError::Incomplete(reasons));
    }
    let header = RunHeader::load(directory)?.ok_or_else(|| CertifyError::Incomplete(vec!["no run.json".to_owned()]))?;
    let mut tree = Tree::default();
    walk_lines(directory, header.run_id, |_, line| {
        tree.push(leaf(line));
        None
    })?;
    let statement = Statement {
        schema: "plan2geo-actors certificate/1".to_owned(),
        run_id: header.run_id,
        parent_run: header.parent_run,
        request_id: header.request_id,
        program: header.program,
        settings: header.settings,
        settings_sha256: header.settings_sha256,
        begun: header.created,
        closed: closing.ts,
        enumerated: proof.enumerated,
        manifest_sha256: manifest_digest(directory)?,
        extracted: proof.extracted,
        dead_letters: proof.dead_letters,
        by_kind: proof.by_kind,
        gaps: 0,
        ledger_lines: proof.lines,
        ledger_head: proof.head,
        ledger_root: BASE64.encode(tree.root()),
        issued: timestamp(Timestamp::now()),
    };
    let note = signer.sign(&statement.text());
    Ok(Certificate { statement, key: signer.verifier().to_string(), note })
}

fn manifest_digest(directory: &Path) -> Result<String, LedgerError> {
    let mut manifest = ManifestReader::open(directory)?;
    while let Some(line) = manifest.next_line()? {
        if let ManifestLine::Closed { sha256, .. } = line {
            return Ok(sha256);
        }
    }
    Ok(String::new())
}

impl Statement {
    fn text(&self) -> String {
        let mut bytes = Vec::new();
        // A structure of plain values always has a JSON form.
        write_value(&mut bytes, &serde_json::to_value(self).unwrap_or_default());
        bytes.push(b'\n');
        String::from_utf8_lossy(&bytes).into_owned()
    }
}

impl Certificate {
    /// Checks that the statement is the one that was signed, by that key. Offline.
    ///
    /// # Errors
    ///
    /// When the signature is not by that key or the statement was changed.
    pub fn check(&self, verifier: &Verifier) -> Result<(), NoteError> {
        let signed = verifier.open(&self.note)?;
        if signed == self.statement.text() { Ok(()) } else { Err(NoteError::changed()) }
    }

    /// A page to print.
    #[must_use]
    pub fn to_html(&self) -> String {
        let of = &self.statement;
        let mut rows = String::new();
        let mut row = |name: &str, value: &str| {
            rows.push_str(&format!("<tr><th>{}</th><td>{}</td></tr>\n", escape(name), escape(value)));
        };
        row("Run", &of.run_id.to_string());
        if let Some(parent) = of.parent_run {
            row("Replay of run", &parent.to_string());
        }
        row("Request", of.request_id.as_deref().unwrap_or("none"));
        row("Method", &of.program);
        row("Settings (SHA-256)", &of.settings_sha256);
        row("Begun", &of.begun);
        row("Closed", &of.closed);
        row("Searched", &format!("{} units, manifest {}", of.enumerated, of.manifest_sha256));
        row("Extracted", &of.extracted.to_string());
        row("Dead letters", &of.dead_letters.to_string());
        for (kind, count) in &of.by_kind {
            row(&format!("— {kind}"), &count.to_string());
        }
        row("Without an outcome", &of.gaps.to_string());
        row("Ledger", &format!("{} lines, head {}, root {}", of.ledger_lines, of.ledger_head, of.ledger_root));
        row("Certified", &of.issued);
        row("Key", &self.key);
        let settings: String = of.settings.iter().map(|(key, value)| format!("{key} = {value}\n")).collect();
        format!(
            "<!doctype html>\n<html lang=\"en\"><meta charset=\"utf-8\"><title>Certificate {run}</title>\n\
             <style>body{{font:11pt/1.5 serif;max-width:46em;margin:3em auto}}th{{text-align:left;vertical-align:top;\
             padding-right:2em;white-space:nowrap}}td,pre{{font:9pt/1.5 monospace;overflow-wrap:anywhere;\
             white-space:pre-wrap}}</style>\n<h1>Certificate of completeness</h1>\n<p>Each of the {count} units that were \
             enumerated was either extracted or named as a dead letter.</p>\n<table>\n{rows}</table>\n\
             <h2>Settings</h2>\n<pre>{settings}</pre>\n<h2>Signed note</h2>\n<pre>{note}</pre>\n</html>\n",
            run = of.run_id,
            count = of.enumerated,
            settings = escape(&settings),
            note = escape(&self.note),
        )
    }
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
