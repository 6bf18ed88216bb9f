//! Bytes → [`Read`] `{ drawing, issues }`. The only place that knows DXF, DWG, SVG and PDF.
//!
//! [`sniff`] tells the format by the first bytes. [`Readers`] reads a document, or one page of it, into the
//! format-free [`Drawing`]; a reader never gives up early: what can be read is read, what cannot is an issue
//! or is counted by name. Fatal is only what leaves nothing to show ([`ReadError`]).
//!
//! Readers do no I/O. What they may need from outside (external references) comes through [`ReadOptions`].

pub mod dwg;
pub mod dxf;
pub(crate) mod lettering;
pub mod limits;
pub mod pdf;
mod proxy;
pub mod sniff;
pub mod svg;

use std::rc::Rc;

use bytes::Bytes;

pub use limits::{Limits, Pace};

use crate::drawing::{BuildError, Drawing, SourceFormat};
use crate::issue::{Code, Issues};

/// Issue codes common to all formats (`FMT…`).
pub static CODES: &[&Code] = &[&EXTENSION_DISAGREES];

/// The name says another format than the bytes.
pub static EXTENSION_DISAGREES: Code = Code::warning(
    "FMT001",
    "extension of the file disagrees with its first bytes, which were believed",
    "rename the file",
);

/// A drawing and what was wrong with its input.
#[derive(Debug)]
pub struct Read {
    /// What was read.
    pub drawing: Drawing,
    /// What was repaired, counted or left out.
    pub issues: Issues,
    /// The plain text of a PDF page in reading order; `None` for formats that have no pages of text.
    pub text: Option<String>,
}

impl Read {
    /// A drawing and its issues, without a page text.
    pub fn new(drawing: Drawing, issues: Issues) -> Self {
        Self { drawing, issues, text: None }
    }

    /// Characters of the page text that are not white space: the `chars` of a PDF page's audit line.
    pub fn chars(&self) -> Option<u64> {
        self.text.as_ref().map(|text| text.chars().filter(|c| !c.is_whitespace()).count() as u64)
    }
}

/// Why the work on a unit must stop now; the engine's checkpoint gives it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Interrupt {
    /// The deadline of the unit has passed.
    #[error("deadline of the unit passed")]
    Deadline,
    /// The run is being aborted.
    #[error("run is being aborted")]
    Cancelled,
    /// The conversion holds more memory than it may.
    #[error("memory of the conversion exceeds `limits.memory_per_drawing` = {limit}")]
    Memory {
        /// Bytes it may hold.
        limit: u64,
    },
}

/// Called every few hundred entities, once a page, and every few thousand steps of work ([`Pace`]); cheap.
pub type Checkpoint<'a> = dyn Fn() -> Result<(), Interrupt> + 'a;

/// Nothing could be read, for a reason a user can act on.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The document is of a version or kind that is not supported. Names what was found and what to do.
    #[error("unsupported {what}: {remedy}")]
    Unsupported {
        /// What was found, such as `DWG version AC1009 (R11/R12)`.
        what: String,
        /// What the user can do.
        remedy: String,
    },
    /// The document is damaged beyond reading.
    #[error("malformed {format}: {reason}")]
    Malformed {
        /// The format.
        format: &'static str,
        /// What is wrong and where.
        reason: String,
    },
    /// A password is needed.
    #[error("document is encrypted: remove the password, for instance with qpdf --decrypt")]
    Encrypted,
    /// A page or picture without vectors: a scan.
    #[error("holds only a raster image: vectorize it first, or set `pdf.raster_only = \"empty\"`")]
    RasterOnly,
    /// There is no such page.
    #[error("page {page} was asked for, the document has {pages}")]
    NoSuchPage {
        /// Asked for, 1-based.
        page: u32,
        /// Pages of the document.
        pages: u32,
    },
    /// The document has no bytes.
    #[error("file is empty")]
    Empty,
    /// A limit was met; the message names it and its number.
    #[error("{what} exceeds `limits.{key}` = {limit}")]
    Limit {
        /// What grew.
        what: String,
        /// Key below `limits`.
        key: &'static str,
        /// Its value.
        limit: u64,
    },
    /// Deadline or cancellation.
    #[error(transparent)]
    Interrupted(#[from] Interrupt),
}

impl ReadError {
    /// The stable kind of a dead letter.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Unsupported { .. } => "unsupported",
            Self::Malformed { .. } | Self::NoSuchPage { .. } => "malformed",
            Self::Encrypted => "encrypted",
            Self::RasterOnly => "raster_only",
            Self::Empty => "empty",
            Self::Limit { .. } | Self::Interrupted(Interrupt::Memory { .. }) => "limit",
            Self::Interrupted(Interrupt::Deadline) => "timeout",
            Self::Interrupted(Interrupt::Cancelled) => "cancelled",
        }
    }
}

impl From<BuildError> for ReadError {
    fn from(error: BuildError) -> Self {
        Self::Limit { what: error.what.to_owned(), key: error.key, limit: error.limit }
    }
}

/// Gives the bytes of an external reference by the path the drawing states, or `None`.
pub type ExternalReferences = dyn Fn(&str) -> Option<Bytes>;

/// What a reader is told beside the bytes.
#[derive(Default)]
pub struct ReadOptions {
    /// Budgets.
    pub limits: Limits,
    /// Text encoding to use instead of the declared one (a WHATWG label or a DXF code page name).
    pub encoding: Option<String>,
    /// Metres in one drawing unit, when the user states it; wins over what the drawing says.
    pub metres_per_unit: Option<f64>,
    /// Strict reading: refuse instead of repair (DXF framing).
    pub strict: bool,
    /// PDF: a page that holds only a raster image is an empty drawing with an issue instead of an error.
    pub raster_only_as_empty: bool,
    /// Resolves external references; none are resolved without it.
    pub external: Option<Rc<ExternalReferences>>,
}

/// The readers with what they keep between units of one document (an open PDF). One a pool thread.
#[derive(Default)]
pub struct Readers {
    pdf: pdf::OpenDocument,
}

impl Readers {
    /// Reads a document, or page `page` (1-based) of it. `key` identifies the document's bytes: two calls with
    /// the same key have the same bytes, so that a document that is still open need not be parsed again.
    ///
    /// # Errors
    /// See [`ReadError`].
    pub fn read(
        &mut self,
        format: SourceFormat,
        key: &str,
        bytes: &Bytes,
        page: u32,
        options: &ReadOptions,
        checkpoint: &Checkpoint<'_>,
    ) -> Result<Read, ReadError> {
        if bytes.is_empty() {
            return Err(ReadError::Empty);
        }
        if page > 1 && format != SourceFormat::Pdf {
            return Err(ReadError::NoSuchPage { page, pages: 1 });
        }
        match format {
            SourceFormat::Dxf => dxf::read(bytes, options, checkpoint),
            SourceFormat::Dwg => dwg::read(bytes, options, checkpoint),
            SourceFormat::Svg => svg::read(bytes, options, checkpoint),
            // Pages have a scale of paper to building, which PDF decides by what is written on them.
            SourceFormat::Pdf => self.pdf.read(key, bytes, page, options, checkpoint),
        }
    }
}
