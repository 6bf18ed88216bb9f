//! Hands the lines of a ledger on to a log collector, from a cursor, at least once.
//!
//! The forwarder reads the ledger as anybody else does, so it can neither block nor slow its writer; how far it is behind is in its answer. The
//! cursor is advanced after a batch was handed over, so a crash in between repeats the batch: the other side recognises a line by run and `seq`.
//!
//! How connections are made is a function ([`Connect`]): plain TCP is [`tcp`]; TLS comes from whoever has a TLS library.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::manifest::read_line;
use super::record::Event;
use super::{LEDGER, LedgerError, RunHeader, segments, sync_directory};
use crate::unit::RunId;

/// How far a ledger was handed on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cursor {
    /// Which ledger.
    pub run_id: RunId,
    /// Number of the next line.
    pub seq: u64,
}

/// A line to be handed on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// The ledger it stands in.
    pub run_id: RunId,
    /// Its number.
    pub seq: u64,
    /// When it was written, RFC 3339.
    pub ts: String,
    /// How the unit ended.
    pub event: Event,
    /// The line itself, one JSON object.
    pub json: String,
}

/// Somebody who takes lines.
pub trait Target {
    /// Takes a batch. `Ok` means it need not be offered again.
    ///
    /// # Errors
    ///
    /// When it could not be handed over; it is offered again then.
    fn send(&mut self, lines: &[Line]) -> io::Result<()>;
}

/// What [`forward`] did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Forwarded {
    /// Lines handed over.
    pub sent: u64,
    /// Number of the next line.
    pub next: u64,
}

/// Forwarding stopped.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ForwardError {
    /// The ledger or the cursor cannot be read or written.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    /// The other side did not take a batch; everything before line `seq` was taken.
    #[error("line {seq} and those after it were not taken: {source}")]
    Target {
        /// The first line that was not taken.
        seq: u64,
        /// What the connection said.
        source: io::Error,
    },
}

#[derive(Deserialize)]
struct Head {
    event: Event,
    run_id: RunId,
    seq: u64,
    ts: String,
}

/// Hands on every whole line that was not handed on before, in batches, and returns. Call it again for what comes later.
///
/// # Errors
///
/// See [`ForwardError`]; the cursor then stands behind the last batch that was taken.
pub fn forward(
    directory: &Path,
    cursor: &Path,
    target: &mut dyn Target,
    batch: usize,
) -> Result<Forwarded, ForwardError> {
    let run_id = RunHeader::load(directory)?
        .ok_or_else(|| LedgerError::Mismatch { path: directory.to_owned(), what: "there is no run.json".to_owned() })?
        .run_id;
    let mut next = load_cursor(cursor)?.filter(|cursor| cursor.run_id == run_id).map_or(0, |cursor| cursor.seq);
    let mut sent = 0;
    let mut lines = Vec::new();
    for path in segments_from(directory, next)? {
        let mut reader = open_at(&path, next)?;
        let mut line = Vec::new();
        loop {
            let whole = read_line(&mut reader, &mut line).map_err(LedgerError::io(&path))?;
            let ended = line.is_empty() || !whole;
            // A line that cannot be parsed is the end for now: half written, or damaged, which verification names.
            let parsed = if ended { None } else { serde_json::from_slice::<Head>(&line).ok() };
            if let Some(Head { event, run_id, seq, ts }) = parsed {
                if seq >= next + lines.len() as u64 {
                    let json = String::from_utf8_lossy(&line).trim_end().to_owned();
                    lines.push(Line { run_id, seq, ts, event, json });
                }
            } else if !ended {
                break;
            }
            if lines.len() >= batch.max(1) || (ended && !lines.is_empty()) {
                target.send(&lines).map_err(|source| ForwardError::Target { seq: next, source })?;
                next = lines.last().map_or(next, |line| line.seq + 1);
                sent += lines.len() as u64;
                lines.clear();
                store_cursor(cursor, &Cursor { run_id, seq: next })?;
            }
            if ended {
                break;
            }
        }
    }
    Ok(Forwarded { sent, next })
}

fn load_cursor(path: &Path) -> Result<Option<Cursor>, LedgerError> {
    match std::fs::read(path) {
        // An unreadable cursor starts over: lines come twice rather than not at all.
        Ok(bytes) => Ok(serde_json::from_slice(&bytes).ok()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(LedgerError::io(path)(error)),
    }
}

fn store_cursor(path: &Path, cursor: &Cursor) -> Result<(), LedgerError> {
    let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let write = || -> io::Result<()> {
        let mut file = tempfile::NamedTempFile::new_in(directory)?;
        serde_json::to_writer(&mut file, cursor)?;
        file.as_file().sync_all()?;
        file.persist(path).map_err(|error| error.error)?;
        sync_directory(directory)
    };
    write().map_err(LedgerError::io(path))
}

/// The segments that may hold the line `next` or later ones.
fn segments_from(directory: &Path, next: u64) -> Result<Vec<PathBuf>, LedgerError> {
    let paths = segments(directory)?;
    let first = |path: &PathBuf| {
        let name = path.file_name()?.to_str()?;
        name.strip_prefix("ledger.")?.strip_suffix(".jsonl")?.parse::<u64>().ok()
    };
    let begin = paths.iter().rposition(|path| first(path).is_some_and(|first| first <= next)).unwrap_or(0);
    Ok(paths[begin..].to_vec())
}

/// Opens a segment near the line `next`: a search by halves over a file whose lines are in order, so a long ledger is not read from its start.
fn open_at(path: &Path, next: u64) -> Result<BufReader<File>, LedgerError> {
    let seek = || -> io::Result<BufReader<File>> {
        let mut file = BufReader::with_capacity(64 << 10, File::open(path)?);
        if next == 0 || path.file_name().is_none_or(|name| name != LEDGER) && file.get_ref().metadata()?.len() < 1 << 20
        {
            return Ok(file);
        }
        let (mut low, mut high) = (0, file.get_ref().metadata()?.len());
        // `low` is always the begin of a line at or before the wanted one.
        while high - low > 64 << 10 {
            let middle = low + (high - low) / 2;
            match line_after(&mut file, middle)? {
                Some((begin, seq)) if seq <= next && begin < high => low = begin,
                _ => high = middle,
            }
        }
        file.seek(SeekFrom::Start(low))?;
        Ok(file)
    };
    seek().map_err(LedgerError::io(path))
}

/// Where the first whole line after that offset begins, and its number.
fn line_after(file: &mut BufReader<File>, offset: u64) -> io::Result<Option<(u64, u64)>> {
    file.seek(SeekFrom::Start(offset))?;
    let mut line = Vec::new();
    read_line(file, &mut line)?;
    let begin = offset + line.len() as u64;
    let whole = read_line(file, &mut line)?;
    let head = if whole { serde_json::from_slice::<Head>(&line).ok() } else { None };
    Ok(head.map(|head| (begin, head.seq)))
}

/// A connection to a collector.
pub trait Connection: Read + Write {}

impl<T: Read + Write> Connection for T {}

/// Makes a connection; called for the first batch and after a failure.
pub type Connect = Box<dyn Fn() -> io::Result<Box<dyn Connection>>>;

/// Plain TCP to `host:port`.
#[must_use]
pub fn tcp(address: impl Into<String>) -> Connect {
    let address = address.into();
    Box::new(move || Ok(Box::new(connect(&address)?)))
}

/// RFC 5424, framed by octet counts as over TCP (RFC 6587) and over TLS (RFC 5425). The stream says that bytes left, not that they
/// were kept.
pub struct Syslog {
    connect: Connect,
    host: String,
    app: String,
    stream: Option<Box<dyn Connection>>,
}

impl std::fmt::Debug for Syslog {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Syslog").field("host", &self.host).field("app", &self.app).finish_non_exhaustive()
    }
}

/// How long a connection may say nothing.
const PATIENCE: Duration = Duration::from_secs(10);
/// Facility `local0`.
const FACILITY: u8 = 16;

impl Syslog {
    /// Lines go over such connections, as from that host and program.
    #[must_use]
    pub fn over(connect: Connect, host: impl Into<String>, app: impl Into<String>) -> Self {
        Self { connect, host: host.into(), app: app.into(), stream: None }
    }

    fn message(&self, line: &Line) -> String {
        // Severity 6 is informational, 4 a warning.
        let severity = if line.event == Event::Extracted { 6 } else { 4 };
        let id = if line.event == Event::Extracted { "EXTRACTED" } else { "DEAD_LETTER" };
        let word = |text: &str, limit: usize| -> String {
            let kept: String = text.chars().filter(char::is_ascii_graphic).take(limit).collect();
            if kept.is_empty() { "-".to_owned() } else { kept }
        };
        format!(
            "<{}>1 {} {} {} - {id} [plan2geo@32473 run=\"{}\" seq=\"{}\"] \u{feff}{}",
            FACILITY * 8 + severity,
            line.ts,
            word(&self.host, 255),
            word(&self.app, 48),
            line.run_id,
            line.seq,
            line.json
        )
    }
}

impl Target for Syslog {
    fn send(&mut self, lines: &[Line]) -> io::Result<()> {
        let mut bytes = Vec::new();
        for line in lines {
            let message = self.message(line);
            write!(bytes, "{} {message}", message.len())?;
        }
        let mut stream = match self.stream.take() {
            Some(stream) => stream,
            None => (self.connect)()?,
        };
        stream.write_all(&bytes)?;
        stream.flush()?;
        // Kept only if it worked: a broken one is made anew for the next attempt.
        self.stream = Some(stream);
        Ok(())
    }
}

/// A TCP connection that gives up when nothing moves for ten seconds, to build others on.
///
/// # Errors
///
/// When no address of the host answers.
pub fn connect(address: &str) -> io::Result<TcpStream> {
    use std::net::ToSocketAddrs as _;
    let mut last = io::Error::new(io::ErrorKind::NotFound, format!("{address} has no address"));
    for address in address.to_socket_addrs()? {
        match TcpStream::connect_timeout(&address, PATIENCE) {
            Ok(stream) => {
                stream.set_write_timeout(Some(PATIENCE))?;
                stream.set_read_timeout(Some(PATIENCE))?;
                return Ok(stream);
            }
            Err(error) => last = error,
        }
    }
    Err(last)
}

/// Newline-delimited JSON by HTTP POST; taken when the answer is a success.
pub struct HttpJson {
    connect: Connect,
    host: String,
    path: String,
}

impl std::fmt::Debug for HttpJson {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("HttpJson").field("host", &self.host).field("path", &self.path).finish_non_exhaustive()
    }
}

impl HttpJson {
    /// Lines are posted over such connections, to that path of that host (`host:port`).
    #[must_use]
    pub fn over(connect: Connect, host: impl Into<String>, path: impl Into<String>) -> Self {
        Self { connect, host: host.into(), path: path.into() }
    }
}

impl Target for HttpJson {
    fn send(&mut self, lines: &[Line]) -> io::Result<()> {
        let body: String = lines.iter().flat_map(|line| [line.json.as_str(), "\n"]).collect();
        let mut stream = (self.connect)()?;
        write!(
            stream,
            "POST {} HTTP/1.1\r\nHost: {}\r\nContent-Type: application/x-ndjson\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
            self.path,
            self.host,
            body.len()
        )?;
        stream.write_all(body.as_bytes())?;
        stream.flush()?;
        let mut status = String::new();
        BufReader::new(stream.take(4096)).read_line(&mut status)?;
        let code = status.split_ascii_whitespace().nth(1).unwrap_or_default();
        if status.starts_with("HTTP/1.") && code.len() == 3 && code.starts_with('2') {
            return Ok(());
        }
        Err(io::Error::other(format!("the answer was `{}`", status.trim_end())))
    }
}
