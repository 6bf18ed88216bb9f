//! How a run begins: its directory is locked and its books are opened, empty or as an earlier attempt left them.
//!
//! On resume the ledger is replayed into a bitmap (one bit a unit), a torn end is moved aside, and the sorted listing is merged with the manifest:
//! what has an outcome is left alone, what was enumerated without one is done first, what is new follows. Memory: the bitmap, and one
//! line of each file.

use std::collections::HashMap;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use jiff::Timestamp;

use crate::config::{EngineConfig, Existing};
use crate::journal::{Claim, Journal};
use crate::ledger::bitmap::Bitmap;
use crate::ledger::checkpoint::Notary;
use crate::ledger::manifest::{ManifestEntry, ManifestLine, ManifestReader, ManifestWriter};
use crate::ledger::record::Event;
use crate::ledger::tree::{Tree, leaf};
use crate::ledger::walk::{Tear, walk_lines};
use crate::ledger::writer::{Head, LedgerWriter};
use crate::ledger::{Closing, LEDGER, LedgerError, MANIFEST, RunHeader, id_hash, sync_directory};
use crate::messages::Books;
use crate::previous::Previous;
use crate::source::Found;
use crate::unit::UnitId;

/// The opened books of a run.
pub(crate) struct OpenBooks {
    pub(crate) header: RunHeader,
    pub(crate) manifest: ManifestWriter,
    pub(crate) ledger: LedgerWriter,
    pub(crate) journal: Journal,
    pub(crate) before: Before,
    pub(crate) recorded: RecordedBefore,
    pub(crate) previous: Option<Previous>,
    /// Whether there was an earlier attempt.
    pub(crate) resumed: bool,
    /// The tear that was moved aside.
    pub(crate) tear: Option<(Tear, PathBuf)>,
    pub(crate) lock: RunLock,
}

/// What the ledger held before this attempt.
#[derive(Debug, Clone, Default)]
pub(crate) struct RecordedBefore {
    pub(crate) books: Books,
    pub(crate) extracted: u64,
    pub(crate) dead_letters: u64,
    pub(crate) by_kind: std::collections::BTreeMap<String, u64>,
}

/// Opens the books in the directory of the configuration.
pub(crate) fn open_books(config: &EngineConfig) -> Result<OpenBooks, LedgerError> {
    let directory = &config.directory;
    std::fs::create_dir_all(directory).map_err(LedgerError::io(directory))?;
    let lock = RunLock::take(directory)?;
    let mut header = RunHeader::new(config.run_id, config.program.clone(), config.settings.clone());
    header.parent_run = config.parent_run;
    header.trace_namespace = config.trace_namespace.unwrap_or(config.run_id.0);
    header.request_id.clone_from(&config.request_id);
    let previous = config.previous.as_deref().map(Previous::open).transpose()?;
    header.previous_run = previous.as_ref().map(Previous::run_id);
    match RunHeader::load(directory)? {
        None => begin(config, header, previous, lock),
        Some(_) if config.existing == Existing::Refuse => Err(LedgerError::Mismatch {
            path: directory.clone(),
            what: "there is a run already; resume it or choose another directory".to_owned(),
        }),
        Some(there) => {
            let differences = there.differences(&header);
            if !differences.is_empty() {
                let what = format!("these would change outputs:\n  {}", differences.join("\n  "));
                return Err(LedgerError::Mismatch { path: directory.clone(), what });
            }
            resume(config, there, previous, lock)
        }
    }
}

fn begin(
    config: &EngineConfig,
    header: RunHeader,
    previous: Option<Previous>,
    lock: RunLock,
) -> Result<OpenBooks, LedgerError> {
    let directory = &config.directory;
    // The header last but one: a directory with a header has a manifest, or died before anything was enumerated.
    header.store(directory)?;
    let manifest = ManifestWriter::create(directory, config.durability, config.faults.clone())?;
    let ledger = open_ledger(config, &header, Head::start(header.run_id), 0, Tree::default())?;
    Ok(OpenBooks {
        journal: Journal::open(directory, config.durability)?,
        header,
        manifest,
        ledger,
        before: Before::default(),
        recorded: RecordedBefore::default(),
        previous,
        resumed: false,
        tear: None,
        lock,
    })
}

fn open_ledger(
    config: &EngineConfig,
    header: &RunHeader,
    head: Head,
    first: u64,
    tree: Tree,
) -> Result<LedgerWriter, LedgerError> {
    let (durability, faults) = (config.durability, config.faults.clone());
    let notary =
        config.checkpoints.clone().map(|settings| Notary::new(settings, &config.directory, header.run_id, tree));
    LedgerWriter::open(&config.directory, header.run_id, head, first, durability, faults, config.rotate_bytes)
        .map(|writer| writer.with_notary(notary))
}

fn resume(
    config: &EngineConfig,
    header: RunHeader,
    previous: Option<Previous>,
    lock: RunLock,
) -> Result<OpenBooks, LedgerError> {
    let directory = &config.directory;
    if !directory.join(MANIFEST).try_exists().map_err(LedgerError::io(directory))? {
        // It died between header and manifest: nothing was enumerated.
        return begin(config, header, previous, lock);
    }
    let (scanned, manifest) = replay_manifest(config)?;
    let mut done = Bitmap::default();
    let mut recorded = RecordedBefore::default();
    // Only a run with checkpoints pays for the tree.
    let mut tree = config.checkpoints.as_ref().map(|_| Tree::default());
    let walked = walk_lines(directory, header.run_id, |envelope, line| {
        if let Some(tree) = &mut tree {
            tree.push(leaf(line));
        }
        recorded.books.add_hash(id_hash(&envelope.doc_id, envelope.page));
        match envelope.event {
            Event::Extracted => recorded.extracted += 1,
            Event::DeadLetter => {
                recorded.dead_letters += 1;
                let kind = envelope.error.as_ref().map_or("unknown", |error| error.kind.as_str());
                *recorded.by_kind.entry(kind.to_owned()).or_default() += 1;
            }
        }
        if envelope.index >= scanned.count {
            return Some(format!("its unit {} was never enumerated", envelope.index));
        }
        (!done.insert(envelope.index)).then(|| format!("its unit {} has a terminal line already", envelope.index))
    })?;
    if let Some(fault) = walked.faults.into_iter().next() {
        return Err(LedgerError::Damaged { path: fault.path, byte: fault.byte, line: fault.line, what: fault.what });
    }
    let tear = walked.tear.map(|tear| move_aside(directory, LEDGER, &tear).map(|to| (tear, to))).transpose()?;
    if let Some(closing) = Closing::load(directory)?
        && (closing.lines != walked.lines || closing.head != crate::hex::encode(&walked.head))
    {
        let what = format!("the run was closed with {} lines and there are {}", closing.lines, walked.lines);
        return Err(LedgerError::Damaged { path: directory.join(LEDGER), byte: 0, line: 0, what });
    }
    Closing::remove(directory)?;
    let last = walked.last_ts.and_then(|ts| ts.parse::<Timestamp>().ok());
    let head = Head { seq: walked.seq, digest: walked.head, last };
    let ledger = open_ledger(config, &header, head, walked.segment_first, tree.unwrap_or_default())?;
    let before = Before {
        books: scanned.books,
        count: scanned.count,
        closed: scanned.closed,
        claims: Journal::claims(directory, &done)?,
        done,
        unfinished: Some(ManifestReader::open(directory)?.unproved()),
        listed: Some(ManifestReader::open(directory)?.unproved()),
        ..Before::default()
    };
    Ok(OpenBooks {
        journal: Journal::open(directory, config.durability)?,
        header,
        manifest,
        ledger,
        before,
        recorded,
        previous,
        resumed: true,
        tear,
        lock,
    })
}

struct Scanned {
    books: Books,
    count: u64,
    closed: bool,
}

fn replay_manifest(config: &EngineConfig) -> Result<(Scanned, ManifestWriter), LedgerError> {
    let directory = &config.directory;
    let mut reader = ManifestReader::open(directory)?;
    let mut books = Books::default();
    while let Some(hash) = reader.next_id(|doc_id, page| id_hash(doc_id, page.get()))? {
        books.add_hash(hash);
    }
    let path = directory.join(MANIFEST);
    let bytes = std::fs::metadata(&path).map_err(LedgerError::io(&path))?.len();
    if bytes > reader.offset() {
        // Never dispatched: a unit is dispatched after its line is durable.
        let tear = Tear { path, byte: reader.offset(), line: reader.count() + 1, bytes: bytes - reader.offset() };
        move_aside(directory, MANIFEST, &tear)?;
    }
    let scanned = Scanned { books, count: reader.count(), closed: reader.is_closed() };
    let writer =
        ManifestWriter::append(directory, reader.hasher(), reader.count(), config.durability, config.faults.clone())?;
    Ok((scanned, writer))
}

/// More torn bytes than a batch can hold are no tear.
const MOST_TORN: u64 = 16 << 20;

/// Moves the torn end of a file into one of its own, so that nothing is thrown away.
fn move_aside(directory: &Path, name: &str, tear: &Tear) -> Result<PathBuf, LedgerError> {
    if tear.bytes > MOST_TORN {
        let what = format!("{} bytes from here on are no records; a crash tears at most {MOST_TORN}", tear.bytes);
        return Err(LedgerError::Damaged { path: tear.path.clone(), byte: tear.byte, line: tear.line, what });
    }
    let stem = name.strip_suffix(".jsonl").unwrap_or(name);
    let aside = directory.join(format!("{stem}.torn.{}", Timestamp::now().as_microsecond()));
    let cut = || -> std::io::Result<()> {
        let mut file = OpenOptions::new().read(true).write(true).open(&tear.path)?;
        file.seek(SeekFrom::Start(tear.byte))?;
        let mut torn = Vec::new();
        file.read_to_end(&mut torn)?;
        let mut kept = OpenOptions::new().write(true).create_new(true).open(&aside)?;
        kept.write_all(&torn)?;
        kept.sync_all()?;
        sync_directory(directory)?;
        file.set_len(tear.byte)?;
        file.sync_all()
    };
    cut().map_err(LedgerError::io(&tear.path))?;
    Ok(aside)
}

/// What an earlier attempt enumerated. Empty for a run that begins.
#[derive(Default)]
pub(crate) struct Before {
    pub(crate) books: Books,
    pub(crate) count: u64,
    /// The listing came to its end.
    pub(crate) closed: bool,
    /// Entries of the manifest that the listing does not yield any more.
    pub(crate) vanished: u64,
    /// Entries that sort among the enumerated ones and were not there then.
    pub(crate) appeared: u64,
    done: Bitmap,
    claims: HashMap<u64, Claim>,
    unfinished: Option<ManifestReader>,
    listed: Option<ManifestReader>,
    ahead: Option<UnitId>,
}

impl Before {
    /// The next enumerated unit without an outcome, and the output that may be there already.
    pub(crate) fn next_unfinished(&mut self) -> Result<Option<(ManifestEntry, Option<Claim>)>, LedgerError> {
        let Some(reader) = &mut self.unfinished else {
            return Ok(None);
        };
        while reader.count() < self.count {
            if self.done.contains(reader.count()) {
                reader.skip_unit()?;
                continue;
            }
            let Some(ManifestLine::Unit(entry)) = reader.next_line()? else { break };
            let claim = self.claims.remove(&entry.index);
            return Ok(Some((*entry, claim)));
        }
        self.unfinished = None;
        Ok(None)
    }

    /// Whether the listing passes over this entry: it was enumerated before, or it sorts among those that were.
    pub(crate) fn knows(&mut self, found: &Found) -> Result<bool, LedgerError> {
        let id = found.id();
        loop {
            if self.ahead.is_none() {
                self.ahead = self.next_listed()?;
            }
            match &self.ahead {
                None => return Ok(false),
                Some(ahead) if *ahead < id => {
                    self.vanished += 1;
                    self.ahead = None;
                }
                Some(ahead) if *ahead == id => {
                    self.ahead = None;
                    return Ok(true);
                }
                Some(_) => {
                    self.appeared += 1;
                    return Ok(true);
                }
            }
        }
    }

    /// The listing is over: what it did not reach is gone.
    pub(crate) fn rest_vanished(&mut self) -> Result<(), LedgerError> {
        self.vanished += u64::from(self.ahead.take().is_some());
        while self.next_listed()?.is_some() {
            self.vanished += 1;
        }
        Ok(())
    }

    fn next_listed(&mut self) -> Result<Option<UnitId>, LedgerError> {
        let Some(reader) = &mut self.listed else {
            return Ok(None);
        };
        if reader.count() < self.count
            && let Some(id) = reader.next_id(|doc_id, page| UnitId { doc_id: doc_id.to_owned(), page })?
        {
            return Ok(Some(id));
        }
        self.listed = None;
        Ok(None)
    }
}

/// The right to write in a run's directory; gone with the process, however that ends.
#[derive(Debug)]
pub(crate) struct RunLock {
    _file: File,
}

const LOCK: &str = "lock";

impl RunLock {
    fn take(directory: &Path) -> Result<Self, LedgerError> {
        let path = directory.join(LOCK);
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(&path)
            .map_err(LedgerError::io(&path))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let mut holder = String::new();
                drop(file.read_to_string(&mut holder));
                let holder = match holder.trim() {
                    "" => "another process".to_owned(),
                    known => known.to_owned(),
                };
                return Err(LedgerError::InUse { path: directory.to_owned(), holder });
            }
            Err(TryLockError::Error(error)) => return Err(LedgerError::io(&path)(error)),
        }
        let holder = format!("process {} since {}\n", std::process::id(), Timestamp::now());
        let write = |file: &mut File| -> std::io::Result<()> {
            file.set_len(0)?;
            file.write_all(holder.as_bytes())
        };
        write(&mut file).map_err(LedgerError::io(&path))?;
        Ok(Self { _file: file })
    }
}
