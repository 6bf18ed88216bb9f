//! The format of a document by its first bytes; the extension is only a hint that may be wrong.

use crate::drawing::SourceFormat;

/// What the first bytes and the name say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sniffed {
    /// The format, if one was recognized.
    pub format: Option<SourceFormat>,
    /// Whether the extension says something else than the bytes.
    pub extension_disagrees: bool,
}
