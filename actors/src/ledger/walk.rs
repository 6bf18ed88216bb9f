//! One pass over a ledger that checks every link of its chain; verification and replay are built on it.
//!
//! # Torn or damaged
//!
//! A loss of power can leave the last batch half written: bytes that are no record, with nothing after them. That is a *tear*; it can be moved aside,
//! because nothing in it was acknowledged. Bytes that are no record with records after them, a link that does not fit, or a number out of
//! sequence is a *fault*: somebody or something changed the past.

use std::borrow::Cow;
use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::manifest::read_line;
use super::record::{ErrorRecord, Event};
use super::{LedgerError, VERSION, genesis, segments};
use crate::hex;
use crate::unit::RunId;

/// The keys of a line that the books rest on; the rest is skipped without being kept.
#[derive(Deserialize)]
pub(crate) struct Envelope<'a> {
    #[serde(borrow)]
    pub(crate) doc_id: Cow<'a, str>,
    #[serde(default)]
    pub(crate) error: Option<ErrorRecord>,
    pub(crate) event: Event,
    pub(crate) index: u64,
    pub(crate) page: u32,
    prev: &'a str,
    run_id: &'a str,
    pub(crate) seq: u64,
    #[serde(borrow, default)]
    pub(crate) ts: Cow<'a, str>,
    v: u32,
}

/// Something that was changed after it was written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fault {
    /// The file.
    pub path: PathBuf,
    /// Offset of the line in the file.
    pub byte: u64,
    /// Number of the line in the file, counted from 1.
    pub line: u64,
    /// What is wrong with it.
    pub what: String,
}

impl std::fmt::Display for Fault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} is damaged at byte {} (line {}): {}", self.path.display(), self.byte, self.line, self.what)
    }
}

/// Bytes at the end that were never finished.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tear {
    /// The file.
    pub path: PathBuf,
    /// Where the whole lines end.
    pub byte: u64,
    /// Number of the first torn line, counted from 1.
    pub line: u64,
    /// How many bytes are torn.
    pub bytes: u64,
}

/// What a walk found.
#[derive(Debug)]
pub(crate) struct Walk {
    /// Number of the next line.
    pub(crate) seq: u64,
    /// Digest of the last line.
    pub(crate) head: [u8; 32],
    /// Time of the last line.
    pub(crate) last_ts: Option<String>,
    /// Number of the first line in the open segment.
    pub(crate) segment_first: u64,
    pub(crate) bytes: u64,
    pub(crate) lines: u64,
    pub(crate) faults: Vec<Fault>,
    pub(crate) tear: Option<Tear>,
}

/// The most faults that are named.
pub(crate) const MOST_FAULTS: usize = 100;

struct Walker {
    /// The name of the run as it stands in every line.
    run: String,
    out: Walk,
    head_hex: String,
    /// Shared, because every line remembers where the one before it stood.
    path: Arc<PathBuf>,
    offset: u64,
    number: u64,
    /// Where the line before the present one begins: a link that does not fit points at it.
    before: Option<(Arc<PathBuf>, u64, u64)>,
    /// A link that does not fit. Which of its two lines was changed is known when the next link is seen: if that is broken too, the
    /// line they share.
    broken_link: Option<(Fault, Fault)>,
    /// Lines that are no records, not yet known to be a tear or a fault.
    bad: Option<Bad>,
}

struct Bad {
    byte: u64,
    line: u64,
    count: u64,
    what: String,
}

/// Reads the whole ledger of a run; `visit` sees each record that parses and may name a fault of its own.
pub(crate) fn walk(
    directory: &Path,
    run: RunId,
    mut visit: impl FnMut(&Envelope<'_>) -> Option<String>,
) -> Result<Walk, LedgerError> {
    walk_lines(directory, run, |envelope, _| visit(envelope))
}

/// As [`walk`]; `visit` sees the bytes of the line as well, without their line feed.
pub(crate) fn walk_lines(
    directory: &Path,
    run: RunId,
    mut visit: impl FnMut(&Envelope<'_>, &[u8]) -> Option<String>,
) -> Result<Walk, LedgerError> {
    let head = genesis(run);
    let out =
        Walk { seq: 0, head, last_ts: None, segment_first: 0, bytes: 0, lines: 0, faults: Vec::new(), tear: None };
    let mut walker = Walker {
        run: run.to_string(),
        out,
        head_hex: hex::encode(&head),
        path: Arc::default(),
        offset: 0,
        number: 0,
        before: None,
        broken_link: None,
        bad: None,
    };
    let paths = segments(directory)?;
    for (nth, path) in paths.iter().enumerate() {
        walker.segment(path, &mut visit)?;
        if nth + 1 < paths.len() {
            // Only the open segment may be torn.
            walker.settle_bad();
        }
    }
    walker.settle_link();
    if paths.last().is_none_or(|path| path.file_name().is_none_or(|name| name != super::LEDGER)) {
        // A crash between closing a segment and opening the next: the open one begins here.
        walker.out.segment_first = walker.out.seq;
    }
    if let Some(bad) = walker.bad.take() {
        let bytes = walker.offset - bad.byte;
        walker.out.tear = Some(Tear { path: walker.path.to_path_buf(), byte: bad.byte, line: bad.line, bytes });
    }
    Ok(walker.out)
}

impl Walker {
    fn segment(
        &mut self,
        path: &Path,
        visit: &mut impl FnMut(&Envelope<'_>, &[u8]) -> Option<String>,
    ) -> Result<(), LedgerError> {
        self.path = Arc::new(path.to_owned());
        (self.offset, self.number) = (0, 0);
        if path.file_name().is_some_and(|name| name == super::LEDGER) {
            self.out.segment_first = self.out.seq;
        }
        let file = File::open(path).map_err(LedgerError::io(path))?;
        let mut file = BufReader::with_capacity(1 << 20, file);
        let mut line = Vec::new();
        loop {
            let whole = read_line(&mut file, &mut line).map_err(LedgerError::io(path))?;
            if line.is_empty() {
                return Ok(());
            }
            self.number += 1;
            self.line(&line, whole, visit);
            self.offset += line.len() as u64;
            self.out.bytes += line.len() as u64;
        }
    }

    fn line(&mut self, line: &[u8], whole: bool, visit: &mut impl FnMut(&Envelope<'_>, &[u8]) -> Option<String>) {
        let body = if whole { &line[..line.len() - 1] } else { line };
        let parsed = if whole {
            serde_json::from_slice::<Envelope<'_>>(body).map_err(|error| error.to_string())
        } else {
            Err("it has no end".to_owned())
        };
        let envelope = match parsed {
            Ok(envelope) => envelope,
            Err(what) => {
                let (byte, number) = (self.offset, self.number);
                let bad = self.bad.get_or_insert(Bad { byte, line: number, count: 0, what });
                bad.count += 1;
                return;
            }
        };
        let skipped = self.settle_bad();
        self.check_link(&envelope, skipped);
        if let Some(what) = visit(&envelope, body) {
            self.fault(self.offset, self.number, what);
        }
        self.out.seq = envelope.seq.saturating_add(1);
        self.out.lines += 1;
        if !envelope.ts.is_empty() {
            envelope.ts.as_ref().clone_into(self.out.last_ts.get_or_insert_default());
        }
        self.out.head = Sha256::digest(body).into();
        self.head_hex = hex::encode(&self.out.head);
        self.before = Some((Arc::clone(&self.path), self.offset, self.number));
    }

    fn check_link(&mut self, envelope: &Envelope<'_>, skipped: u64) {
        let (byte, number) = (self.offset, self.number);
        let expected = self.out.seq + skipped;
        let seq = envelope.seq;
        if envelope.v > VERSION {
            self.fault(byte, number, format!("it has the version {} and this program knows {VERSION}", envelope.v));
        } else if envelope.run_id != self.run {
            self.fault(byte, number, format!("it belongs to the run {}", envelope.run_id));
        } else if seq > expected {
            self.fault(
                byte,
                number,
                format!("its seq is {seq} and should be {expected}: {} missing before it", seq - expected),
            );
        } else if seq < expected {
            self.fault(byte, number, format!("its seq is {seq} and should be {expected}: repeated or out of order"));
        } else if skipped == 0 && envelope.prev != self.head_hex {
            self.link_is_broken(byte, number);
            return;
        }
        self.settle_link();
    }

    fn link_is_broken(&mut self, byte: u64, line: u64) {
        if let Some((_, shared)) = self.broken_link.take() {
            self.push(shared);
            return;
        }
        let this = Fault {
            path: self.path.to_path_buf(),
            byte,
            line,
            what: "its digest and the one it holds do not fit: it was changed".to_owned(),
        };
        match self.before.clone() {
            Some((path, byte, line)) => {
                let what = "its digest is not the one the next line holds: it was changed".to_owned();
                self.broken_link = Some((Fault { path: path.to_path_buf(), byte, line, what }, this));
            }
            None => {
                self.broken_link =
                    Some((Fault { what: "it does not begin the ledger of this run".to_owned(), ..this.clone() }, this))
            }
        }
    }

    fn settle_link(&mut self) {
        if let Some((before, _)) = self.broken_link.take() {
            self.push(before);
        }
    }

    /// Lines that were no records turn out to have records after them: faults. Returns how many lines they were.
    fn settle_bad(&mut self) -> u64 {
        let Some(bad) = self.bad.take() else { return 0 };
        self.fault(bad.byte, bad.line, format!("it is no record: {}", bad.what));
        bad.count
    }

    fn fault(&mut self, byte: u64, line: u64, what: String) {
        let path = self.path.to_path_buf();
        self.push(Fault { path, byte, line, what });
    }

    fn push(&mut self, fault: Fault) {
        if self.out.faults.len() < MOST_FAULTS {
            self.out.faults.push(fault);
        }
    }
}
