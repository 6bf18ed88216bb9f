//! From a reader to the bytes of a document: in memory, or beyond a bound in a temporary file that is mapped.
//!
//! Whatever documents come from, a file, a member of a package or an object, they pass through here, so one bound holds for
//! all. What is wrong with the temporary file is told apart from what is wrong with the document.

use std::io::{self, Read, Write as _};

use bytes::Bytes;
use plan2geo_actors::{DocumentSettings, DocumentWriter};

/// The bytes of a document, at most `limit` of them: in memory, or beyond the settings in a temporary file that is mapped.
///
/// # Errors
/// Of reading, or of the temporary file, which the message then names.
pub(crate) fn hold(from: &mut impl Read, expected: u64, limit: u64, settings: &DocumentSettings) -> io::Result<Bytes> {
    let mut document = DocumentWriter::new(settings, expected).map_err(of_temporary_file)?;
    let mut part = vec![0; COPY.min(usize::try_from(expected).unwrap_or(COPY)).max(1 << 10)];
    let mut from = from.take(limit);
    loop {
        let read = match from.read(&mut part) {
            Ok(0) => return document.finish().map_err(of_temporary_file),
            Ok(read) => read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        document.write_all(part.get(..read).unwrap_or_default()).map_err(of_temporary_file)?;
    }
}

/// Bytes copied at one time.
const COPY: usize = 256 << 10;

/// Names the temporary file in an error of it.
pub(crate) fn of_temporary_file(error: io::Error) -> io::Error {
    const EMFILE: i32 = 24;
    match error.raw_os_error() {
        // Too many open files may pass, and whoever decides that looks at the number.
        Some(EMFILE) | None => error,
        Some(_) => io::Error::new(error.kind(), format!("the temporary file of a large document: {error}")),
    }
}
