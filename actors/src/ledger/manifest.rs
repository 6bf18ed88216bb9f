//! The manifest: what was enumerated, before any of it is worked on.
//!
//! One line per unit, in the order of the source, so the number of the line is the unit's index. The last line closes it with count and digest;
//! a manifest without one belongs to a run whose listing did not come to its end.

use std::borrow::Cow;
use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, Write};
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use uuid::Uuid;

use super::record::write_string;
use super::writer::Durability;
use super::{Faults, LedgerError, MANIFEST, MAX_LINE, sync_directory};
use crate::failure::Failure;
use crate::hex;
use crate::unit::Unit;

/// One enumerated unit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ManifestEntry {
    /// Number of the line, from 0.
    pub index: u64,
    /// The unit.
    #[serde(flatten)]
    pub unit: Unit,
    /// Set when the entry was unusable as listed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<Failure>,
}

/// One line of the manifest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ManifestLine {
    /// A unit.
    Unit(Box<ManifestEntry>),
    /// The end of the listing.
    Closed {
        /// How many units there are.
        count: u64,
        /// SHA-256 of all bytes before this line.
        sha256: String,
    },
}

/// As [`ManifestEntry`], without the detour that flattening takes in serde.
#[derive(Deserialize)]
struct EntryLine {
    doc_id: String,
    #[serde(default)]
    failure: Option<Failure>,
    floor_level: Option<i32>,
    format: String,
    index: u64,
    level_name: Option<String>,
    location: String,
    page: NonZeroU32,
    request_id: Option<String>,
    size: u64,
    trace_id: Uuid,
    version: Option<String>,
}

impl From<EntryLine> for ManifestEntry {
    fn from(line: EntryLine) -> Self {
        let EntryLine {
            doc_id,
            failure,
            floor_level,
            format,
            index,
            level_name,
            location,
            page,
            request_id,
            size,
            trace_id,
            version,
        } = line;
        let unit =
            Unit { doc_id, page, location, format, floor_level, level_name, request_id, size, version, trace_id };
        Self { index, unit, failure }
    }
}

/// What names the unit of a line, when nothing else is asked.
#[derive(Deserialize)]
struct IdLine<'a> {
    #[serde(borrow)]
    doc_id: Cow<'a, str>,
    index: u64,
    page: NonZeroU32,
}

#[derive(Serialize, Deserialize)]
struct CloseLine {
    closed: bool,
    count: u64,
    sha256: String,
}

pub(crate) struct ManifestWriter {
    path: PathBuf,
    file: File,
    hasher: Sha256,
    count: u64,
    durability: Durability,
    faults: Faults,
    poisoned: bool,
}

impl ManifestWriter {
    /// Begins a manifest; one that is there already is refused.
    pub(crate) fn create(directory: &Path, durability: Durability, faults: Faults) -> Result<Self, LedgerError> {
        let path = directory.join(MANIFEST);
        let file = OpenOptions::new().create_new(true).append(true).open(&path).map_err(LedgerError::io(&path))?;
        sync_directory(directory).map_err(LedgerError::io(directory))?;
        Ok(Self { path, file, hasher: Sha256::new(), count: 0, durability, faults, poisoned: false })
    }

    /// Goes on with a manifest of `count` units whose bytes so far gave `hasher`.
    pub(crate) fn append(
        directory: &Path,
        hasher: Sha256,
        count: u64,
        durability: Durability,
        faults: Faults,
    ) -> Result<Self, LedgerError> {
        let path = directory.join(MANIFEST);
        let file = OpenOptions::new().append(true).open(&path).map_err(LedgerError::io(&path))?;
        Ok(Self { path, file, hasher, count, durability, faults, poisoned: false })
    }

    /// Units so far: the index of the next.
    pub(crate) fn count(&self) -> u64 {
        self.count
    }

    /// Writes these units and makes them durable; their indices follow [`ManifestWriter::count`].
    pub(crate) fn add(&mut self, units: &[(&Unit, Option<&Failure>)]) -> Result<(), LedgerError> {
        let mut buffer = Vec::with_capacity(units.len() * 320);
        for (nth, (unit, failure)) in units.iter().enumerate() {
            write_entry(&mut buffer, self.count + nth as u64, unit, *failure);
            buffer.push(b'\n');
        }
        self.write(&buffer)?;
        self.count += units.len() as u64;
        Ok(())
    }

    /// Ends the listing.
    pub(crate) fn close(&mut self) -> Result<(), LedgerError> {
        let sha256 = hex::encode(&self.hasher.clone().finalize());
        let line = format!("{{\"closed\":true,\"count\":{},\"sha256\":\"{sha256}\"}}\n", self.count);
        self.write(line.as_bytes())
    }

    fn write(&mut self, bytes: &[u8]) -> Result<(), LedgerError> {
        if self.poisoned {
            let source = io::Error::other("an earlier write failed; the file is left as it is");
            return Err(LedgerError::Io { path: self.path.clone(), source });
        }
        let outcome = self.try_write(bytes);
        self.poisoned = outcome.is_err();
        outcome.map_err(LedgerError::io(&self.path))?;
        self.hasher.update(bytes);
        Ok(())
    }

    fn try_write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.faults.at("manifest.before_write")?;
        self.file.write_all(bytes)?;
        self.faults.at("manifest.after_write")?;
        if self.durability == Durability::Full {
            self.file.sync_data()?;
        }
        self.faults.at("manifest.after_sync")
    }
}

/// The keys are in order already; this runs once for every unit.
fn write_entry(into: &mut Vec<u8>, index: u64, unit: &Unit, failure: Option<&Failure>) {
    let text = |into: &mut Vec<u8>, key: &str, value: Option<&str>| {
        into.extend_from_slice(key.as_bytes());
        match value {
            Some(value) => write_string(into, value),
            None => into.extend_from_slice(b"null"),
        }
    };
    text(into, r#"{"doc_id":"#, Some(&unit.doc_id));
    if let Some(Failure { kind, message, stage, .. }) = failure {
        text(into, r#","failure":{"kind":"#, Some(kind.as_str()));
        text(into, r#","message":"#, Some(message));
        text(into, r#","stage":"#, Some(stage.as_str()));
        into.push(b'}');
    }
    // Writing into memory does not fail.
    drop(match unit.floor_level {
        Some(level) => write!(into, r#","floor_level":{level}"#),
        None => write!(into, r#","floor_level":null"#),
    });
    text(into, r#","format":"#, Some(&unit.format));
    drop(write!(into, r#","index":{index}"#));
    text(into, r#","level_name":"#, unit.level_name.as_deref());
    text(into, r#","location":"#, Some(&unit.location));
    drop(write!(into, r#","page":{}"#, unit.page));
    text(into, r#","request_id":"#, unit.request_id.as_deref());
    drop(write!(into, r#","size":{},"trace_id":"{}""#, unit.size, unit.trace_id));
    text(into, r#","version":"#, unit.version.as_deref());
    into.push(b'}');
}

/// Reads a manifest line by line. Holds one line at a time.
pub struct ManifestReader {
    path: PathBuf,
    file: BufReader<File>,
    line: Vec<u8>,
    hasher: Sha256,
    count: u64,
    offset: u64,
    closed: bool,
    torn: bool,
    skipped: bool,
}

impl std::fmt::Debug for ManifestReader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ManifestReader").field("path", &self.path).field("count", &self.count).finish_non_exhaustive()
    }
}

impl ManifestReader {
    /// Opens the manifest in a run's directory.
    ///
    /// # Errors
    ///
    /// When the file cannot be opened.
    pub fn open(directory: &Path) -> Result<Self, LedgerError> {
        let path = directory.join(MANIFEST);
        let file = File::open(&path).map_err(LedgerError::io(&path))?;
        Ok(Self {
            path,
            file: BufReader::with_capacity(256 << 10, file),
            line: Vec::new(),
            hasher: Sha256::new(),
            count: 0,
            offset: 0,
            closed: false,
            torn: false,
            skipped: false,
        })
    }

    /// For lines that were proved before: nothing goes into the digest, and the closing line is believed.
    pub(crate) fn unproved(mut self) -> Self {
        self.skipped = true;
        self
    }

    /// Units read so far.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Whether the closing line was read.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.closed
    }

    /// Whether the file ends within a line that was never finished. Its unit was not dispatched.
    #[must_use]
    pub fn is_torn(&self) -> bool {
        self.torn
    }

    /// Bytes of the whole lines read so far.
    #[must_use]
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// The digest state over the whole lines read so far.
    pub(crate) fn hasher(&self) -> Sha256 {
        self.hasher.clone()
    }

    /// The next line, or `None` at the end of the whole lines.
    ///
    /// # Errors
    ///
    /// [`LedgerError::Damaged`] for a line that is not what it must be and is followed by others.
    pub fn next_line(&mut self) -> Result<Option<ManifestLine>, LedgerError> {
        self.next_with(|body, index| {
            let line: EntryLine = serde_json::from_slice(body).map_err(|error| error.to_string())?;
            check_index(line.index, index)?;
            Ok(ManifestLine::Unit(Box::new(line.into())))
        })
    }

    /// As [`ManifestReader::next_line`], handing on no more than what names the unit; `None` for the closing line as well.
    pub(crate) fn next_id<T>(&mut self, then: impl FnOnce(&str, NonZeroU32) -> T) -> Result<Option<T>, LedgerError> {
        let mut answer = None;
        self.next_with(|body, index| {
            let line: IdLine<'_> = serde_json::from_slice(body).map_err(|error| error.to_string())?;
            check_index(line.index, index)?;
            answer = Some(then(&line.doc_id, line.page));
            Ok(ManifestLine::Closed { count: 0, sha256: String::new() })
        })?;
        Ok(answer)
    }

    /// Passes over one unit without looking at it. Only for lines that were read before: nothing is checked and nothing goes into the digest.
    pub(crate) fn skip_unit(&mut self) -> Result<(), LedgerError> {
        read_line(&mut self.file, &mut self.line).map_err(LedgerError::io(&self.path))?;
        self.count += 1;
        self.offset += self.line.len() as u64;
        self.skipped = true;
        Ok(())
    }

    fn next_with(
        &mut self,
        parse: impl FnOnce(&[u8], u64) -> Result<ManifestLine, String>,
    ) -> Result<Option<ManifestLine>, LedgerError> {
        if self.torn {
            return Ok(None);
        }
        let whole = read_line(&mut self.file, &mut self.line).map_err(LedgerError::io(&self.path))?;
        if self.line.is_empty() {
            return Ok(None);
        }
        if !whole {
            self.torn = true;
            return Ok(None);
        }
        let body = self.line.strip_suffix(b"\n").unwrap_or(&self.line);
        let closes = body.starts_with(b"{\"closed\":");
        let parsed = if self.closed {
            Err("a line follows the closing one".to_owned())
        } else if closes {
            self.parse_close(body)
        } else {
            parse(body, self.count)
        };
        let line = match parsed {
            Ok(line) => line,
            // Unreadable and last: what a loss of power leaves.
            Err(_) if !self.closed && self.file.fill_buf().map_err(LedgerError::io(&self.path))?.is_empty() => {
                self.torn = true;
                return Ok(None);
            }
            Err(what) => {
                return Err(LedgerError::Damaged {
                    path: self.path.clone(),
                    byte: self.offset,
                    line: self.count + 1,
                    what,
                });
            }
        };
        if closes {
            self.closed = true;
        } else {
            self.count += 1;
        }
        if !self.skipped {
            self.hasher.update(&self.line);
        }
        self.offset += self.line.len() as u64;
        Ok(Some(line))
    }

    fn parse_close(&self, body: &[u8]) -> Result<ManifestLine, String> {
        let close: CloseLine = serde_json::from_slice(body).map_err(|error| error.to_string())?;
        if !close.closed || close.count != self.count {
            return Err(format!("it closes {} units and {} were listed", close.count, self.count));
        }
        let sha256 = hex::encode(&self.hasher.clone().finalize());
        if !self.skipped && sha256 != close.sha256 {
            return Err("the lines above it do not have the digest it names".to_owned());
        }
        Ok(ManifestLine::Closed { count: close.count, sha256 })
    }
}

fn check_index(has: u64, expected: u64) -> Result<(), String> {
    if has == expected { Ok(()) } else { Err(format!("it has the index {has} and should have {expected}")) }
}

/// Reads one line with its line feed into `line`; `false` if it ended without one. A line longer than [`MAX_LINE`] counts as ended there.
pub(crate) fn read_line(file: &mut impl BufRead, line: &mut Vec<u8>) -> io::Result<bool> {
    line.clear();
    let mut limited = io::Read::take(file, MAX_LINE as u64);
    limited.read_until(b'\n', line)?;
    Ok(line.last() == Some(&b'\n'))
}
