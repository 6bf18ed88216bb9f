//! Output on its way from a kernel to a sink: in memory while small, beyond that in a temporary file without a name.
//!
//! A drawing of 200 MB can make 2 GB of output; the spool keeps the memory of a pool thread flat. Length and SHA-256 are
//! taken while writing. The file is unlinked from the start, so a crash leaves nothing behind.
//!
//! An output whose first bytes are known last (counts, hashes) is written body first: [`Spool::finish_behind`] puts
//! the head in front without copying the body.

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::PathBuf;
use std::sync::Arc;

use bytes::Bytes;
use sha2::{Digest, Sha256};

/// How spools behave.
#[derive(Debug, Clone)]
pub struct SpoolSettings {
    /// Bytes kept in memory before a file is used.
    pub memory_bytes: usize,
    /// The most bytes one spool takes; more is an error with the number.
    pub max_bytes: u64,
    /// Where the temporary file is made; `None` is the system's place.
    pub directory: Option<PathBuf>,
    /// Whether the SHA-256 is taken. Without it [`Spooled::sha256`] is all zeros: for who keeps no books.
    pub digest: bool,
}

impl Default for SpoolSettings {
    /// 4 MiB in memory, 16 GiB at most, in the system's temporary directory.
    fn default() -> Self {
        Self { memory_bytes: 4 << 20, max_bytes: 16 << 30, directory: None, digest: true }
    }
}

/// Bytes of the buffer in front of the file.
const FILE_BUFFER: usize = 256 << 10;

/// Takes the bytes of one output. Write, then [`finish`](Spool::finish).
#[derive(Debug)]
pub struct Spool {
    settings: SpoolSettings,
    buffer: Vec<u8>,
    file: Option<(File, Sha256)>,
    len: u64,
    /// The digest is taken at the end, once the head is known.
    head_follows: bool,
}

impl Spool {
    /// An empty spool.
    #[must_use]
    pub fn new(settings: SpoolSettings) -> Self {
        Self { settings, buffer: Vec::new(), file: None, len: 0, head_follows: false }
    }

    /// The same spool, to be ended with [`Spool::finish_behind`]: no digest is taken while writing, since it would not be
    /// that of the whole.
    #[must_use]
    pub fn before_head(mut self) -> Self {
        self.head_follows = true;
        self
    }

    /// Bytes written so far.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Whether nothing was written yet.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Ends writing.
    ///
    /// # Errors
    ///
    /// When the temporary file cannot be written.
    pub fn finish(mut self) -> io::Result<Spooled> {
        if self.head_follows {
            return self.finish_behind(Vec::new());
        }
        self.flush()?;
        let wants_digest = self.settings.digest;
        let (body, sha256) = match self.file {
            Some((file, hasher)) => (Body::File(Arc::new(file)), hasher.finalize().into()),
            None => {
                let sha256 = digest_of(&self.buffer, wants_digest);
                (Body::Memory(Bytes::from(self.buffer)), sha256)
            }
        };
        Ok(Spooled { body, len: self.len, sha256: if wants_digest { sha256 } else { [0; 32] } })
    }

    /// Ends writing and puts `head` in front of everything written. Length and SHA-256 are those of the whole. The body
    /// is read once for the digest.
    ///
    /// # Errors
    ///
    /// When the temporary file cannot be written or read, or the whole exceeds the limit.
    pub fn finish_behind(mut self, head: Vec<u8>) -> io::Result<Spooled> {
        self.admit(head.len())?;
        self.flush()?;
        let len = self.len + head.len() as u64;
        let mut whole = head;
        let (body, sha256) = match self.file {
            None => {
                whole.extend_from_slice(&self.buffer);
                let sha256 = digest_of(&whole, self.settings.digest);
                (Body::Memory(Bytes::from(whole)), sha256)
            }
            Some((file, _)) if !self.settings.digest => (Body::Behind(Bytes::from(whole), Arc::new(file)), [0; 32]),
            Some((file, _)) => {
                let mut hasher = Sha256::new();
                hasher.update(&whole);
                let mut part = vec![0; FILE_BUFFER];
                let mut at = 0;
                loop {
                    let read = read_at(&file, &mut part, at)?;
                    if read == 0 {
                        break;
                    }
                    hasher.update(&part[..read]);
                    at += read as u64;
                }
                (Body::Behind(Bytes::from(whole), Arc::new(file)), hasher.finalize().into())
            }
        };
        Ok(Spooled { body, len, sha256 })
    }

    /// Whether `more` bytes still fit.
    fn admit(&self, more: usize) -> io::Result<u64> {
        let len = self.len + more as u64;
        if len > self.settings.max_bytes {
            return Err(io::Error::new(
                io::ErrorKind::FileTooLarge,
                format!("the output exceeds the limit of {} bytes", self.settings.max_bytes),
            ));
        }
        Ok(len)
    }

    /// Writes to the file: what waits in the buffer, then `bytes`.
    fn write_to_file(&mut self, bytes: &[u8]) -> io::Result<()> {
        let (file, hasher) = match &mut self.file {
            Some(open) => open,
            None => {
                let file = match &self.settings.directory {
                    Some(directory) => tempfile::tempfile_in(directory)?,
                    None => tempfile::tempfile()?,
                };
                self.file.insert((file, Sha256::new()))
            }
        };
        for part in [self.buffer.as_slice(), bytes] {
            if !self.head_follows && self.settings.digest {
                hasher.update(part);
            }
            file.write_all(part)?;
        }
        self.buffer.clear();
        if self.buffer.capacity() > FILE_BUFFER {
            self.buffer = Vec::with_capacity(FILE_BUFFER);
        }
        Ok(())
    }
}

/// The SHA-256, or zeros if it is not wanted.
fn digest_of(bytes: &[u8], is_wanted: bool) -> [u8; 32] {
    if is_wanted { Sha256::digest(bytes).into() } else { [0; 32] }
}

impl Write for Spool {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.len = self.admit(bytes.len())?;
        // Once there is a file, parts go to it as they fill the buffer, so that it never grows again.
        let bound = if self.file.is_some() { FILE_BUFFER } else { self.settings.memory_bytes };
        if self.buffer.len() + bytes.len() > bound {
            self.write_to_file(bytes)?;
        } else {
            self.buffer.extend_from_slice(bytes);
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        if self.file.is_some() && !self.buffer.is_empty() {
            self.write_to_file(&[])?;
        }
        Ok(())
    }
}

/// A finished output: its bytes can be read any number of times. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Spooled {
    body: Body,
    len: u64,
    sha256: [u8; 32],
}

#[derive(Debug, Clone)]
enum Body {
    Memory(Bytes),
    File(Arc<File>),
    /// A head in memory, and the rest in a file.
    Behind(Bytes, Arc<File>),
}

impl Spooled {
    /// An output that is in memory already.
    #[must_use]
    pub fn from_bytes(bytes: impl Into<Bytes>) -> Self {
        let bytes = bytes.into();
        Self { len: bytes.len() as u64, sha256: Sha256::digest(&bytes).into(), body: Body::Memory(bytes) }
    }

    /// Bytes in all.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// SHA-256 of the bytes.
    #[must_use]
    pub fn sha256(&self) -> [u8; 32] {
        self.sha256
    }

    /// SHA-256 of the bytes in lower-case hexadecimal.
    #[must_use]
    pub fn sha256_hex(&self) -> String {
        crate::hex::encode(&self.sha256)
    }

    /// The bytes, if they never left memory.
    #[must_use]
    pub fn in_memory(&self) -> Option<&Bytes> {
        match &self.body {
            Body::Memory(bytes) => Some(bytes),
            Body::File(_) | Body::Behind(..) => None,
        }
    }

    /// Writes all bytes to `out`, in large parts.
    ///
    /// # Errors
    ///
    /// When the temporary file cannot be read, or `out` cannot be written.
    pub fn copy_to(&self, out: &mut impl Write) -> io::Result<()> {
        let (head, file) = match &self.body {
            Body::Memory(bytes) => return out.write_all(bytes),
            Body::File(file) => (&[][..], file),
            Body::Behind(head, file) => (head.as_ref(), file),
        };
        out.write_all(head)?;
        let mut part = vec![0; FILE_BUFFER];
        let mut at = 0;
        loop {
            let read = read_at(file, &mut part, at)?;
            if read == 0 {
                return Ok(());
            }
            out.write_all(&part[..read])?;
            at += read as u64;
        }
    }

    /// Reads from the start; readers do not disturb each other.
    #[must_use]
    pub fn reader(&self) -> SpoolReader {
        SpoolReader { body: self.body.clone(), at: 0 }
    }
}

/// Reads a [`Spooled`] from its start.
#[derive(Debug)]
pub struct SpoolReader {
    body: Body,
    at: u64,
}

impl Read for SpoolReader {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let read = match &self.body {
            Body::Memory(bytes) => {
                let rest = usize::try_from(self.at).ok().and_then(|at| bytes.get(at..)).unwrap_or_default();
                let len = rest.len().min(into.len());
                into[..len].copy_from_slice(&rest[..len]);
                len
            }
            Body::File(file) => read_at(file, into, self.at)?,
            Body::Behind(head, file) => match self.at.checked_sub(head.len() as u64) {
                Some(at) => read_at(file, into, at)?,
                None => {
                    let rest = usize::try_from(self.at).ok().and_then(|at| head.get(at..)).unwrap_or_default();
                    let len = rest.len().min(into.len());
                    into[..len].copy_from_slice(&rest[..len]);
                    len
                }
            },
        };
        self.at += read as u64;
        Ok(read)
    }
}

#[cfg(unix)]
fn read_at(file: &File, into: &mut [u8], at: u64) -> io::Result<usize> {
    std::os::unix::fs::FileExt::read_at(file, into, at)
}

#[cfg(windows)]
fn read_at(file: &File, into: &mut [u8], at: u64) -> io::Result<usize> {
    std::os::windows::fs::FileExt::seek_read(file, into, at)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(settings: SpoolSettings, chunk: usize, total: usize) -> (Spooled, Vec<u8>) {
        let bytes: Vec<u8> = (0..total).map(|i| (i % 251) as u8).collect();
        let mut spool = Spool::new(settings);
        for part in bytes.chunks(chunk) {
            spool.write_all(part).unwrap();
        }
        (spool.finish().unwrap(), bytes)
    }

    #[test]
    fn memory_and_file_hold_the_same_bytes_and_digest() {
        let small = SpoolSettings { memory_bytes: 1000, ..SpoolSettings::default() };
        for (chunk, total) in [(7, 0), (7, 999), (7, 1000), (7, 1001), (4096, 1_000_003)] {
            let (spooled, bytes) = written(small.clone(), chunk, total);
            assert_eq!(spooled.in_memory().is_some(), total <= 1000);
            for _ in 0..2 {
                let mut back = Vec::new();
                spooled.reader().read_to_end(&mut back).unwrap();
                assert!(back == bytes);
            }
            assert_eq!(spooled.len(), total as u64);
            assert_eq!(spooled.sha256(), Spooled::from_bytes(bytes).sha256());
        }
    }

    #[test]
    fn a_head_stands_in_front_wherever_the_body_is() {
        for memory_bytes in [10, 1 << 20] {
            let settings = SpoolSettings { memory_bytes, ..SpoolSettings::default() };
            let body = vec![b'b'; 700_000];
            let mut headless = Spool::new(settings.clone()).before_head();
            headless.write_all(&body).unwrap();
            assert_eq!(headless.finish().unwrap().sha256(), Spooled::from_bytes(body.clone()).sha256());
            let mut spool = Spool::new(settings).before_head();
            spool.write_all(&body).unwrap();
            let spooled = spool.finish_behind(b"head".to_vec()).unwrap();
            assert_eq!(spooled.in_memory().is_some(), memory_bytes > body.len());
            let whole = [b"head".as_slice(), &body].concat();
            let mut back = Vec::new();
            spooled.reader().read_to_end(&mut back).unwrap();
            assert!(back == whole);
            assert_eq!(spooled.len(), whole.len() as u64);
            assert_eq!(spooled.sha256(), Spooled::from_bytes(whole).sha256());
        }
    }

    #[test]
    fn the_limit_is_an_error_with_its_number() {
        let mut spool = Spool::new(SpoolSettings { max_bytes: 10, ..SpoolSettings::default() });
        spool.write_all(b"0123456789").unwrap();
        let error = spool.write_all(b"x").unwrap_err();
        assert_eq!(error.to_string(), "the output exceeds the limit of 10 bytes");
    }
}
