//! Frames on a pipe: eight bytes of length, little endian, then the bytes.
//!
//! To the child: one setup frame ([`Setup`]), then for each unit a [`Request`] and the document. From the child:
//! a [`Reply`], then for an extraction its output and its attachments, a frame each.

use std::collections::BTreeMap;
use std::io::{self, Read, Write};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::ProcessLimits;
use crate::failure::Failure;
use crate::unit::Unit;

/// What a child is told once.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Setup {
    pub(super) limits: ProcessLimits,
    /// For the maker of the kernel; the engine does not look into it.
    pub(super) settings: serde_json::Value,
    pub(super) spool_memory_bytes: usize,
    pub(super) spool_max_bytes: u64,
    pub(super) document_memory_bytes: u64,
}

/// What a child is told before the bytes of a unit.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Request {
    pub(super) unit: Unit,
    pub(super) time_left: Option<Duration>,
}

/// How a unit ended in the child.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Reply {
    /// The output and the attachments follow.
    Extracted { suffixes: Vec<String>, facts: BTreeMap<String, serde_json::Value> },
    /// Nothing follows.
    Failed(Failure),
}

/// A header is small; a larger one is no header.
const MAX_HEADER: u64 = 16 << 20;

pub(super) fn write(to: &mut impl Write, bytes: &[u8]) -> io::Result<()> {
    to.write_all(&(bytes.len() as u64).to_le_bytes())?;
    to.write_all(bytes)
}

pub(super) fn write_header(to: &mut impl Write, header: &impl Serialize) -> io::Result<()> {
    write(to, &serde_json::to_vec(header)?)
}

/// The length of the next frame, or `None` at the end of the stream.
pub(super) fn read_len(from: &mut impl Read) -> io::Result<Option<u64>> {
    let mut len = [0; 8];
    let mut have = 0;
    while have < len.len() {
        match from.read(&mut len[have..]) {
            Ok(0) if have == 0 => return Ok(None),
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(read) => have += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(Some(u64::from_le_bytes(len)))
}

pub(super) fn read_header<T: for<'a> Deserialize<'a>>(from: &mut impl Read) -> io::Result<Option<T>> {
    let Some(len) = read_len(from)? else { return Ok(None) };
    if len > MAX_HEADER {
        return Err(io::Error::new(io::ErrorKind::InvalidData, format!("a header of {len} bytes")));
    }
    let mut bytes = Vec::new();
    from.take(len).read_to_end(&mut bytes)?;
    Ok(Some(serde_json::from_slice(&bytes)?))
}
