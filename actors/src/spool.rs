//! Output on its way from a kernel to a sink: in memory while small, beyond that in a temporary file without a name.
//!
//! A drawing of 200 MB can make 2 GB of output; the spool keeps the memory of a pool thread flat. Length and SHA-256 are
//! taken while writing. The file is unlinked from the start, so a crash leaves nothing behind.
//!
//! An output whose first bytes are known last (counts, hashes) is written body first: [`Spool::finish_behind`] puts
//! the head in front without copying the body. A file leaves room for the head; one that fills it exactly makes the file the
//! whole output, and [`Spooled::save`] gives that file a name instead of writing the bytes again.

use std::fs::File;
use std::io::{self, Read, Seek as _, SeekFrom, Write};
use std::path::{Path, PathBuf};
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
    /// 1 MiB in memory, 16 GiB at most, in the system's temporary directory.
    fn default() -> Self {
        Self { memory_bytes: 1 << 20, max_bytes: 16 << 30, directory: None, digest: true }
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
    /// A head follows, and a file begins with so many bytes of room for it. The digest is taken at the end.
    head_room: Option<u64>,
}

impl Spool {
    /// An empty spool.
    #[must_use]
    pub fn new(settings: SpoolSettings) -> Self {
        Self { settings, buffer: Vec::new(), file: None, len: 0, head_room: None }
    }

    /// The same spool, to be ended with [`Spool::finish_behind`]: no digest is taken while writing, since it would not be
    /// that of the whole. A head of exactly `room` bytes is the cheapest one.
    #[must_use]
    pub fn before_head(mut self, room: u64) -> Self {
        self.head_room = Some(room);
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
        if self.head_room.is_some() {
            return self.finish_behind(Vec::new());
        }
        self.flush()?;
        let wants_digest = self.settings.digest;
        let (body, sha256) = match self.file {
            Some((file, hasher)) => (Body::File(Arc::new(file), 0), hasher.finalize().into()),
            None => {
                let sha256 = digest_of(&[&self.buffer], wants_digest);
                (Body::Memory(Bytes::from(self.buffer)), sha256)
            }
        };
        let sha256 = if wants_digest { sha256 } else { [0; 32] };
        Ok(Spooled { head: Bytes::new(), body, len: self.len, sha256 })
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
        let mut spooled = Spooled {
            len: self.len + head.len() as u64,
            head: Bytes::from(head),
            body: Body::Memory(Bytes::new()),
            sha256: [0; 32],
        };
        let room = self.head_room.unwrap_or(0);
        match self.file {
            None => {
                spooled.sha256 = digest_of(&[&spooled.head, &self.buffer], self.settings.digest);
                spooled.body = Body::Memory(Bytes::from(self.buffer));
                return Ok(spooled);
            }
            Some((mut file, _)) if spooled.head.len() as u64 == room => {
                file.rewind()?;
                file.write_all(&spooled.head)?;
                spooled.head = Bytes::new();
                spooled.body = Body::File(Arc::new(file), 0);
            }
            Some((file, _)) => spooled.body = Body::File(Arc::new(file), room),
        }
        if self.settings.digest {
            let mut hasher = Sha256::new();
            spooled.for_each_part(|part| {
                hasher.update(part);
                Ok(())
            })?;
            spooled.sha256 = hasher.finalize().into();
        }
        Ok(spooled)
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
                // Where no file can be made beside the output, it is copied there from the system's place.
                let beside = self.settings.directory.as_ref().map(tempfile::tempfile_in);
                let mut file = match beside {
                    Some(Ok(file)) => file,
                    Some(Err(_)) | None => tempfile::tempfile()?,
                };
                if let Some(room) = self.head_room {
                    file.seek(SeekFrom::Start(room))?;
                }
                self.file.insert((file, Sha256::new()))
            }
        };
        for part in [self.buffer.as_slice(), bytes] {
            if self.head_room.is_none() && self.settings.digest {
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

/// The SHA-256 of the parts in turn, or zeros if it is not wanted.
fn digest_of(parts: &[&[u8]], is_wanted: bool) -> [u8; 32] {
    if !is_wanted {
        return [0; 32];
    }
    parts.iter().fold(Sha256::new(), |hasher, part| hasher.chain_update(part)).finalize().into()
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
    head: Bytes,
    body: Body,
    len: u64,
    sha256: [u8; 32],
}

/// What follows the head.
#[derive(Debug, Clone)]
enum Body {
    Memory(Bytes),
    /// A file from this offset on.
    File(Arc<File>, u64),
}

impl Spooled {
    /// An output that is in memory already.
    #[must_use]
    pub fn from_bytes(bytes: impl Into<Bytes>) -> Self {
        let bytes = bytes.into();
        let sha256 = Sha256::digest(&bytes).into();
        Self { head: Bytes::new(), len: bytes.len() as u64, sha256, body: Body::Memory(bytes) }
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

    /// The bytes, if they lie in memory in one piece.
    #[must_use]
    pub fn in_memory(&self) -> Option<&Bytes> {
        match &self.body {
            Body::Memory(bytes) if self.head.is_empty() => Some(bytes),
            Body::Memory(_) | Body::File(..) => None,
        }
    }

    /// Writes all bytes to `out`, in large parts.
    ///
    /// # Errors
    ///
    /// When the temporary file cannot be read, or `out` cannot be written.
    pub fn copy_to(&self, out: &mut impl Write) -> io::Result<()> {
        self.for_each_part(|part| out.write_all(part))
    }

    /// Writes all bytes to a new file of this name and syncs it; an older one is removed first. A temporary file on the same
    /// file system is given the name, where the system can do that; nothing is copied then.
    ///
    /// # Errors
    ///
    /// When the file cannot be made, written or synced. What is left of it is the caller's to remove.
    pub fn save(&self, path: &Path) -> io::Result<()> {
        remove_if_there(path)?;
        let mut named = File::create_new(path)?;
        if let Body::File(file, 0) = &self.body
            && self.head.is_empty()
            && is_beside(file, &named)?
        {
            // Synced first, so that a name is there for a moment only before it is the final one.
            file.sync_all()?;
            if give_name(file, path, &named)? {
                return Ok(());
            }
        }
        self.copy_to(&mut named)?;
        named.sync_all()
    }

    fn for_each_part(&self, mut take: impl FnMut(&[u8]) -> io::Result<()>) -> io::Result<()> {
        take(&self.head)?;
        let (file, mut at) = match &self.body {
            Body::Memory(bytes) => return take(bytes),
            Body::File(file, offset) => (file, *offset),
        };
        let mut part = vec![0; FILE_BUFFER];
        loop {
            let read = read_at(file, &mut part, at)?;
            if read == 0 {
                return Ok(());
            }
            take(&part[..read])?;
            at += read as u64;
        }
    }

    /// Reads from the start; readers do not disturb each other.
    #[must_use]
    pub fn reader(&self) -> SpoolReader {
        SpoolReader { spooled: self.clone(), at: 0 }
    }
}

/// Reads a [`Spooled`] from its start.
#[derive(Debug)]
pub struct SpoolReader {
    spooled: Spooled,
    at: u64,
}

impl Read for SpoolReader {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let Spooled { head, body, .. } = &self.spooled;
        let read = match (self.at.checked_sub(head.len() as u64), body) {
            (None, _) => read_from(head, into, self.at),
            (Some(at), Body::Memory(bytes)) => read_from(bytes, into, at),
            (Some(at), Body::File(file, offset)) => read_at(file, into, offset + at)?,
        };
        self.at += read as u64;
        Ok(read)
    }
}

fn read_from(bytes: &[u8], into: &mut [u8], at: u64) -> usize {
    let rest = usize::try_from(at).ok().and_then(|at| bytes.get(at..)).unwrap_or_default();
    let len = rest.len().min(into.len());
    into[..len].copy_from_slice(&rest[..len]);
    len
}

fn remove_if_there(path: &Path) -> io::Result<()> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Whether two files lie on one file system.
#[cfg(target_os = "linux")]
fn is_beside(file: &File, named: &File) -> io::Result<bool> {
    use std::os::unix::fs::MetadataExt as _;
    Ok(file.metadata()?.dev() == named.metadata()?.dev())
}

#[cfg(not(target_os = "linux"))]
fn is_beside(_: &File, _: &File) -> io::Result<bool> {
    Ok(false)
}

/// Gives a nameless file the name and the permissions of `named`, which it replaces. `false` if the system cannot do that, in which
/// case `named` is as it was.
#[cfg(target_os = "linux")]
fn give_name(file: &File, path: &Path, named: &File) -> io::Result<bool> {
    use rustix::fs::{AtFlags, CWD, linkat};
    use std::os::fd::AsRawFd as _;

    let wanted = named.metadata()?;
    // A name beside it first: only a link shows whether links are possible, and one cannot replace a file.
    let mut beside = path.as_os_str().to_owned();
    beside.push(".link");
    let own = format!("/proc/self/fd/{}", file.as_raw_fd());
    remove_if_there(Path::new(&beside))?;
    if linkat(CWD, &own, CWD, &beside, AtFlags::SYMLINK_FOLLOW).is_err() {
        return Ok(false);
    }
    let moved = file.set_permissions(wanted.permissions()).and_then(|()| std::fs::rename(&beside, path));
    if moved.is_err() {
        // The error that follows counts, not one of removing the second name.
        let _ = std::fs::remove_file(&beside);
    }
    moved.map(|()| true)
}

#[cfg(not(target_os = "linux"))]
fn give_name(_: &File, _: &Path, _: &File) -> io::Result<bool> {
    Ok(false)
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
            let mut headless = Spool::new(settings.clone()).before_head(0);
            headless.write_all(&body).unwrap();
            assert_eq!(headless.finish().unwrap().sha256(), Spooled::from_bytes(body.clone()).sha256());
            for room in [0, 4, 100] {
                let mut spool = Spool::new(settings.clone()).before_head(room);
                spool.write_all(&body).unwrap();
                let spooled = spool.finish_behind(b"head".to_vec()).unwrap();
                let whole = [b"head".as_slice(), &body].concat();
                let mut back = Vec::new();
                spooled.reader().read_to_end(&mut back).unwrap();
                assert!(back == whole);
                assert_eq!(spooled.len(), whole.len() as u64);
                assert_eq!(spooled.sha256(), Spooled::from_bytes(whole).sha256());
            }
        }
    }

    /// R135: the file has its name only when it is whole, and storing the same output again changes nothing.
    #[test]
    fn a_spooled_file_is_saved_whole_whether_it_is_copied_or_named() {
        let folder = tempfile::tempdir().unwrap();
        for (room, directory) in [(4, Some(folder.path().to_owned())), (100, Some(folder.path().to_owned())), (4, None)]
        {
            let mut spool = Spool::new(SpoolSettings { memory_bytes: 10, directory, ..SpoolSettings::default() });
            spool = spool.before_head(room);
            spool.write_all(&vec![b'b'; 700_000]).unwrap();
            let spooled = spool.finish_behind(b"head".to_vec()).unwrap();
            for name in ["first", "second"] {
                let path = folder.path().join(name);
                spooled.save(&path).unwrap();
                let plain = folder.path().join("plain");
                File::create(&plain).unwrap();
                let permissions = |path: &Path| std::fs::metadata(path).unwrap().permissions();
                assert_eq!(permissions(&path), permissions(&plain));
                assert_eq!(Spooled::from_bytes(std::fs::read(&path).unwrap()).sha256(), spooled.sha256());
                spooled.save(&path).unwrap();
            }
            let mut names: Vec<_> = folder.path().read_dir().unwrap().map(|entry| entry.unwrap().file_name()).collect();
            names.sort();
            assert_eq!(names, ["first", "plain", "second"]);
            names.iter().for_each(|name| std::fs::remove_file(folder.path().join(name)).unwrap());
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
