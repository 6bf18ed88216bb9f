//! The PDF reader.

use bytes::Bytes;

use super::{Checkpoint, Read, ReadError, ReadOptions};
use crate::issue::Code;

/// Issue codes of this format.
pub static CODES: &[&Code] = &[];

/// The document that was read last, kept open.
#[derive(Default)]
pub struct OpenDocument {}

impl OpenDocument {
    /// Reads a page.
    ///
    /// # Errors
    /// See [`ReadError`].
    pub fn read(
        &mut self,
        _key: &str,
        _bytes: &Bytes,
        _page: u32,
        _options: &ReadOptions,
        _checkpoint: &Checkpoint<'_>,
    ) -> Result<Read, ReadError> {
        Err(ReadError::Unsupported { what: "format".to_owned(), remedy: "wait".to_owned() })
    }
}
