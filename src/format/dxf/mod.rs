//! The dxf reader.

use bytes::Bytes;

use super::{Checkpoint, Read, ReadError, ReadOptions};
use crate::issue::Code;

/// Issue codes of this format.
pub static CODES: &[&Code] = &[];

/// Reads a document.
///
/// # Errors
/// See [`ReadError`].
pub fn read(_bytes: &Bytes, _options: &ReadOptions, _checkpoint: &Checkpoint<'_>) -> Result<Read, ReadError> {
    Err(ReadError::Unsupported { what: "format".to_owned(), remedy: "wait".to_owned() })
}
