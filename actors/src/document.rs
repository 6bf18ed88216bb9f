//! The bytes of a document on their way to a kernel: in memory while small, beyond that in a temporary file, mapped.
//!
//! A container counts the pages of a mapped file as cache, which it takes back when memory is short: a document of 900 MB
//! passes through a container of 512 MB. The file is a copy without a name that nobody else can open, so the mapping
//! cannot change or be cut short under the reader; mapping the original would hand both to whoever writes to the source
//! (`docs/decisions/0004-large-documents-are-mapped-copies.md`).
//!
//! The only module of the engine with `unsafe` in it.

use std::fs::File;
use std::io::{self, Write};
use std::path::PathBuf;

use bytes::Bytes;

/// When documents leave memory, and where to.
#[derive(Debug, Clone)]
pub struct DocumentSettings {
    /// Bytes of one document kept in memory.
    pub memory_bytes: u64,
    /// Where the temporary file is made; `None` is the system's place. It should be on a disk: files of a RAM disk are memory.
    pub directory: Option<PathBuf>,
}

impl Default for DocumentSettings {
    /// 64 MiB in memory, in the system's temporary directory.
    fn default() -> Self {
        Self { memory_bytes: 64 << 20, directory: None }
    }
}

/// Takes the bytes of one document. Write, then [`finish`](DocumentWriter::finish).
#[derive(Debug)]
pub struct DocumentWriter {
    settings: DocumentSettings,
    memory: Vec<u8>,
    file: Option<File>,
    len: u64,
}

/// Dirty pages are written back in steps of so many bytes: those of a container cannot be taken back before they are.
const WRITE_BACK: u64 = 64 << 20;

impl DocumentWriter {
    /// An empty one for a document of `expected` bytes; the number is a hint.
    ///
    /// # Errors
    ///
    /// When the temporary file cannot be made, or there is no memory for the bytes (`OutOfMemory`).
    pub fn new(settings: &DocumentSettings, expected: u64) -> io::Result<Self> {
        let mut writer = Self { settings: settings.clone(), memory: Vec::new(), file: None, len: 0 };
        if expected > settings.memory_bytes {
            writer.leave_memory()?;
        } else if let Ok(expected) = usize::try_from(expected) {
            let reserved = writer.memory.try_reserve_exact(expected);
            reserved.map_err(|error| io::Error::new(io::ErrorKind::OutOfMemory, error))?;
        }
        Ok(writer)
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

    fn leave_memory(&mut self) -> io::Result<()> {
        let mut file = match &self.settings.directory {
            Some(directory) => tempfile::tempfile_in(directory)?,
            None => tempfile::tempfile()?,
        };
        file.write_all(&std::mem::take(&mut self.memory))?;
        self.file = Some(file);
        Ok(())
    }

    /// The document.
    ///
    /// # Errors
    ///
    /// When the temporary file cannot be mapped, for want of address space.
    pub fn finish(self) -> io::Result<Bytes> {
        match self.file {
            None => Ok(Bytes::from(self.memory)),
            Some(_) if self.len == 0 => Ok(Bytes::new()),
            Some(file) => map(&file),
        }
    }
}

impl Write for DocumentWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let file = match &mut self.file {
            Some(file) => file,
            None if self.len + bytes.len() as u64 <= self.settings.memory_bytes => {
                self.memory.extend_from_slice(bytes);
                self.len += bytes.len() as u64;
                return Ok(bytes.len());
            }
            // The file is there from now on, so this calls itself once.
            None => {
                self.leave_memory()?;
                return self.write(bytes);
            }
        };
        file.write_all(bytes)?;
        let len = self.len + bytes.len() as u64;
        if len / WRITE_BACK != self.len / WRITE_BACK {
            file.sync_data()?;
        }
        self.len = len;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn map(file: &File) -> io::Result<Bytes> {
    #[expect(unsafe_code, reason = "a mapping is memory that a file could change; this file is nobody else's")]
    // SAFETY: the file was made by `tempfile` without a name and its only handle is dropped with this call, so nobody can
    // write to it or cut it short while the mapping lives: the bytes are as immutable as those of a vector.
    let map = unsafe { memmap2::Mmap::map(file)? };
    // Documents are read from front to back; a hint that fails is none.
    #[cfg(unix)]
    let _ = map.advise(memmap2::Advice::Sequential);
    Ok(Bytes::from_owner(map))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn document(memory_bytes: u64, expected: u64, chunk: usize, bytes: &[u8]) -> Bytes {
        let settings = DocumentSettings { memory_bytes, ..DocumentSettings::default() };
        let mut writer = DocumentWriter::new(&settings, expected).unwrap();
        for part in bytes.chunks(chunk) {
            writer.write_all(part).unwrap();
        }
        assert_eq!(writer.len(), bytes.len() as u64);
        assert_eq!(writer.is_empty(), bytes.is_empty());
        writer.finish().unwrap()
    }

    /// Whatever was expected, and wherever they are held, the bytes are those that were written.
    #[test]
    fn memory_and_file_hold_the_same_bytes() {
        let bytes: Vec<u8> = (0..100_003_u32).map(|n| (n % 251) as u8).collect();
        for memory_bytes in [1, 1000, 100_002, 100_003, 1 << 20] {
            for expected in [0, 5, 100_003, 1 << 19] {
                assert_eq!(document(memory_bytes, expected, 4096, &bytes), bytes);
            }
        }
        assert!(document(1, 1000, 1, &[]).is_empty());
        assert!(document(1, 0, 1, &[]).is_empty());
    }
}
