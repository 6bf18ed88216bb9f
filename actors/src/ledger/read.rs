//! Reading a ledger line by line, for people and programs that ask what happened. Holds one line at a time.
//!
//! Reading trusts nothing but proves little: [`verify`](super::verify()) is what proves.

use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};

use super::manifest::read_line;
use super::record::Record;
use super::{LedgerError, segments};

/// The records of the ledger in a run's directory, through all its segments.
///
/// # Errors
///
/// When the directory cannot be listed. Each item is a record, or the error of a line that is none; a line torn at the very end is left out.
pub fn read(directory: &Path) -> Result<Records, LedgerError> {
    let mut paths = segments(directory)?;
    paths.reverse();
    Ok(Records { paths, open: None, line: Vec::new(), number: 0, offset: 0 })
}

/// An iterator over records; see [`read`].
#[derive(Debug)]
pub struct Records {
    /// Still to read, last first.
    paths: Vec<PathBuf>,
    open: Option<(PathBuf, BufReader<File>)>,
    line: Vec<u8>,
    number: u64,
    offset: u64,
}

impl Iterator for Records {
    type Item = Result<Record, LedgerError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let (path, file) = match &mut self.open {
                Some(open) => open,
                None => {
                    let path = self.paths.pop()?;
                    let file = match File::open(&path) {
                        Ok(file) => BufReader::with_capacity(256 << 10, file),
                        Err(source) => return Some(Err(LedgerError::Io { path, source })),
                    };
                    (self.number, self.offset) = (0, 0);
                    self.open.insert((path, file))
                }
            };
            let whole = match read_line(file, &mut self.line) {
                Ok(whole) => whole,
                Err(source) => {
                    let path = path.clone();
                    (self.open, self.paths) = (None, Vec::new());
                    return Some(Err(LedgerError::Io { path, source }));
                }
            };
            if self.line.is_empty() || !whole {
                self.open = None;
                continue;
            }
            self.number += 1;
            let byte = self.offset;
            self.offset += self.line.len() as u64;
            return Some(serde_json::from_slice(&self.line).map_err(|error| LedgerError::Damaged {
                path: path.clone(),
                byte,
                line: self.number,
                what: error.to_string(),
            }));
        }
    }
}
