//! The PDF reader: one page of a document → a drawing in points, y upward, origin at the lower left of the crop box.
//!
//! [`count_pages`] tells in milliseconds how many units a document is. [`OpenDocument`] keeps the document that was
//! read last, so that 500 pages cost one parse.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use bytes::Bytes;
use hayro_syntax::{DecryptionError, LoadPdfError, Pdf};

use super::{Checkpoint, Read, ReadError, ReadOptions};
use crate::issue::Code;

/// Issue codes of this format.
pub static CODES: &[&Code] = &[];

/// How many pages a document has. Reads the cross-reference table and the page tree only. Callers compare it with
/// `limits.pages`.
///
/// # Errors
/// [`ReadError::Empty`], [`ReadError::Encrypted`] when a password is needed to open it,
/// [`ReadError::Malformed`] when there is no page tree to be found.
pub fn count_pages(bytes: &Bytes) -> Result<u32, ReadError> {
    let pdf = open(bytes)?;
    Ok(u32::try_from(pdf.pages().len()).unwrap_or(u32::MAX))
}

/// The document that was read last, kept open.
#[derive(Default)]
pub struct OpenDocument {
    open: Option<(String, Pdf)>,
}

impl OpenDocument {
    /// Reads a page.
    ///
    /// # Errors
    /// See [`ReadError`].
    pub fn read(
        &mut self,
        key: &str,
        bytes: &Bytes,
        page: u32,
        options: &ReadOptions,
        _checkpoint: &Checkpoint<'_>,
    ) -> Result<Read, ReadError> {
        let pdf = self.document(key, bytes)?;
        let pages = u32::try_from(pdf.pages().len()).unwrap_or(u32::MAX);
        if pages > options.limits.pages {
            let limit = u64::from(options.limits.pages);
            return Err(ReadError::Limit { what: "number of pages".to_owned(), key: "pages", limit });
        }
        let index = page.checked_sub(1).map(|index| index as usize);
        match index.and_then(|index| pdf.pages().get(index)) {
            None => Err(ReadError::NoSuchPage { page, pages }),
            Some(_) => Err(ReadError::Unsupported { what: "format".to_owned(), remedy: "wait".to_owned() }),
        }
    }

    fn document(&mut self, key: &str, bytes: &Bytes) -> Result<&Pdf, ReadError> {
        if self.open.as_ref().is_none_or(|(open, _)| open != key) {
            self.open = None; // free the old one before the new one is read
            let pdf = open(bytes)?;
            return Ok(&self.open.insert((key.to_owned(), pdf)).1);
        }
        match &self.open {
            Some((_, pdf)) => Ok(pdf),
            None => Err(malformed("no document is open")),
        }
    }
}

fn open(bytes: &Bytes) -> Result<Pdf, ReadError> {
    if bytes.is_empty() {
        return Err(ReadError::Empty);
    }
    let data = Arc::new(bytes.clone());
    let pdf = guarded(|| Pdf::new(data))?.map_err(|error| match error {
        LoadPdfError::Decryption(DecryptionError::PasswordProtected) => ReadError::Encrypted,
        LoadPdfError::Decryption(error) => ReadError::Unsupported {
            what: format!("PDF encryption ({error:?})"),
            remedy: "save it without encryption, for instance with qpdf --decrypt".to_owned(),
        },
        LoadPdfError::Invalid => malformed("no cross-reference table, trailer or page tree could be found"),
    })?;
    if pdf.pages().is_empty() {
        return Err(malformed("document has no pages"));
    }
    Ok(pdf)
}

/// Runs library code on input bytes; a panic in it is a malformed document, not the end of the thread.
fn guarded<T>(work: impl FnOnce() -> T) -> Result<T, ReadError> {
    catch_unwind(AssertUnwindSafe(work)).map_err(|_| malformed("its structure made the PDF library fail"))
}

fn malformed(reason: impl Into<String>) -> ReadError {
    ReadError::Malformed { format: "pdf", reason: reason.into() }
}
