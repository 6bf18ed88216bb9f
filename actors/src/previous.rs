//! A batch that was finished before: what has not changed since is carried over instead of being done again.
//!
//! The new run enumerates everything and has a line for everything; a unit whose size and version are as they were, and whose output stands there
//! with the digest the earlier ledger claims, is recorded without being read. Memory: 8 bytes a unit of the earlier run.

use std::fs::File;
use std::io::{BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use crate::journal::Claim;
use crate::ledger::manifest::{ManifestEntry, ManifestLine, ManifestReader, read_line};
use crate::ledger::record::{Event, Record};
use crate::ledger::{LedgerError, MAX_LINE, RunHeader, segments};
use crate::unit::{RunId, Unit, UnitId};

/// An earlier run of the same batch, read along with the new listing.
pub(crate) struct Previous {
    header: RunHeader,
    manifest: ManifestReader,
    ahead: Option<Box<ManifestEntry>>,
    lines: LineIndex,
    /// What was there and is not any more.
    pub(crate) vanished: u64,
    pub(crate) vanished_names: Vec<UnitId>,
}

/// Why a unit runs, or does not.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Carry {
    /// Not in the earlier run.
    New,
    /// Its size or version differs.
    Changed,
    /// It was a dead letter, or had no outcome.
    NotExtracted,
    /// Nothing changed: the earlier output stands if its digest is right.
    Unchanged { trace_id: uuid::Uuid, claim: Box<Claim> },
}

const MOST_NAMES: usize = 100;

impl Previous {
    pub(crate) fn open(directory: &Path) -> Result<Self, LedgerError> {
        let header = RunHeader::load(directory)?.ok_or_else(|| LedgerError::Mismatch {
            path: directory.to_owned(),
            what: "there is no run.json".to_owned(),
        })?;
        Ok(Self {
            header,
            manifest: ManifestReader::open(directory)?,
            ahead: None,
            lines: LineIndex::build(directory)?,
            vanished: 0,
            vanished_names: Vec::new(),
        })
    }

    /// The earlier run.
    pub(crate) fn run_id(&self) -> RunId {
        self.header.run_id
    }

    /// A unit that an earlier attempt of this run has enumerated: the earlier run is read on behind it.
    pub(crate) fn pass(&mut self, id: &UnitId) -> Result<(), LedgerError> {
        loop {
            if self.ahead.is_none() {
                self.ahead = self.next_entry()?;
            }
            let Some(entry) = self.ahead.take() else { return Ok(()) };
            match entry.unit.id().cmp(id) {
                std::cmp::Ordering::Less => self.vanish(entry.unit.id()),
                std::cmp::Ordering::Equal => return Ok(()),
                std::cmp::Ordering::Greater => {
                    self.ahead = Some(entry);
                    return Ok(());
                }
            }
        }
    }

    /// What the earlier run says about a unit; units must be asked for in order.
    pub(crate) fn look_up(&mut self, unit: &Unit) -> Result<Carry, LedgerError> {
        let id = unit.id();
        loop {
            if self.ahead.is_none() {
                self.ahead = self.next_entry()?;
            }
            let Some(entry) = self.ahead.take() else {
                return Ok(Carry::New);
            };
            match entry.unit.id().cmp(&id) {
                std::cmp::Ordering::Less => self.vanish(entry.unit.id()),
                std::cmp::Ordering::Greater => {
                    self.ahead = Some(entry);
                    return Ok(Carry::New);
                }
                std::cmp::Ordering::Equal => return self.compare(&entry, unit),
            }
        }
    }

    /// The listing is over: what it did not reach is gone.
    pub(crate) fn rest_vanished(&mut self) -> Result<(), LedgerError> {
        if let Some(entry) = self.ahead.take() {
            self.vanish(entry.unit.id());
        }
        while let Some(entry) = self.next_entry()? {
            self.vanish(entry.unit.id());
        }
        Ok(())
    }

    fn compare(&mut self, entry: &ManifestEntry, unit: &Unit) -> Result<Carry, LedgerError> {
        let same = entry.unit.size == unit.size
            && entry.unit.version == unit.version
            && entry.unit.format == unit.format
            && entry.unit.floor_level == unit.floor_level
            && entry.unit.level_name == unit.level_name
            && entry.unit.request_id == unit.request_id;
        if !same || unit.version.is_none() {
            return Ok(Carry::Changed);
        }
        let Some(record) = self.lines.record(entry.index)? else {
            return Ok(Carry::NotExtracted);
        };
        let claim = match (record.event, record.output, record.output_sha256) {
            (Event::Extracted, Some(output), Some(output_sha256)) => {
                let mut facts = record.facts;
                facts.entry("carried_from".to_owned()).or_insert_with(|| self.header.run_id.to_string().into());
                Claim {
                    bytes: record.bytes.unwrap_or(unit.size),
                    facts,
                    output,
                    output_bytes: record.output_bytes.unwrap_or(0),
                    output_sha256,
                }
            }
            _ => return Ok(Carry::NotExtracted),
        };
        Ok(Carry::Unchanged { trace_id: record.trace_id, claim: Box::new(claim) })
    }

    fn next_entry(&mut self) -> Result<Option<Box<ManifestEntry>>, LedgerError> {
        match self.manifest.next_line()? {
            Some(ManifestLine::Unit(entry)) => Ok(Some(entry)),
            Some(ManifestLine::Closed { .. }) | None => Ok(None),
        }
    }

    fn vanish(&mut self, id: UnitId) {
        self.vanished += 1;
        if self.vanished_names.len() < MOST_NAMES {
            self.vanished_names.push(id);
        }
    }
}

/// Where the line of each unit begins, by its index.
struct LineIndex {
    files: Vec<(PathBuf, File)>,
    /// Which file in the upper 16 bits, which byte in the lower 48; 0 is none, so bytes count from 1.
    places: Vec<u64>,
}

const FILE_SHIFT: u32 = 48;

impl LineIndex {
    fn build(directory: &Path) -> Result<Self, LedgerError> {
        #[derive(serde::Deserialize)]
        struct Index {
            index: u64,
        }
        let mut files = Vec::new();
        let mut places = Vec::new();
        for (nth, path) in segments(directory)?.into_iter().enumerate() {
            let file = File::open(&path).map_err(LedgerError::io(&path))?;
            let mut reader = BufReader::with_capacity(256 << 10, &file);
            let mut line = Vec::new();
            let mut offset = 0_u64;
            loop {
                let whole = read_line(&mut reader, &mut line).map_err(LedgerError::io(&path))?;
                if line.is_empty() {
                    break;
                }
                if whole && let Ok(Index { index }) = serde_json::from_slice::<Index>(&line) {
                    let index = usize::try_from(index).unwrap_or(usize::MAX);
                    if index < MOST_UNITS {
                        if index >= places.len() {
                            places.resize(index + 1, 0);
                        }
                        places[index] = ((nth as u64) << FILE_SHIFT) | (offset + 1);
                    }
                }
                offset += line.len() as u64;
            }
            files.push((path, file));
        }
        Ok(Self { files, places })
    }

    fn record(&mut self, index: u64) -> Result<Option<Record>, LedgerError> {
        let place = usize::try_from(index).ok().and_then(|index| self.places.get(index)).copied().unwrap_or(0);
        if place == 0 {
            return Ok(None);
        }
        let Some((path, file)) = self.files.get_mut((place >> FILE_SHIFT) as usize) else {
            return Ok(None);
        };
        let offset = (place & ((1 << FILE_SHIFT) - 1)) - 1;
        let mut line = Vec::new();
        let read = file.seek(SeekFrom::Start(offset)).and_then(|_| {
            let mut reader = BufReader::with_capacity(1024, file.by_ref());
            read_line(&mut reader, &mut line)
        });
        read.map_err(LedgerError::io(path))?;
        debug_assert!(line.len() <= MAX_LINE);
        Ok(serde_json::from_slice(&line).ok())
    }
}

/// A line of a damaged ledger must not make the index grow without bound.
const MOST_UNITS: usize = 1 << 28;
