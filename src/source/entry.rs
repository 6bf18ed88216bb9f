//! What one entry of a source is: a drawing, several pages, a package, something that is left out, or a dead letter.
//!
//! The same judgement for directories, packages and object stores: it sees a name, a size and the first bytes,
//! and does no I/O. Every answer is accounted for: what is left out is counted by reason, what calls itself a drawing
//! and is none becomes a dead letter.

use std::num::NonZeroU32;
use std::panic::{AssertUnwindSafe, catch_unwind};

use bytes::Bytes;
use plan2geo_actors::{DocumentSettings, Failure, FailureKind, Found, Stage};

use super::skipped::{SkipCount, Skipped};
use crate::config::Globs;
use crate::drawing::SourceFormat;
use crate::format::sniff::{self, PREFIX};
use crate::format::{Limits, ReadError, pdf};
use crate::place::level::Levels;

/// Bytes from the start of a document that [`Examiner::by_head`] wants to see.
pub(crate) const HEAD: usize = PREFIX;

/// Judges entries by the options of the source.
#[derive(Debug, Clone)]
pub(crate) struct Examiner {
    pub(crate) globs: Globs,
    pub(crate) hidden: bool,
    pub(crate) packages: bool,
    pub(crate) levels: Levels,
    /// Budgets of a document; what has more bytes is never read.
    pub(crate) limits: Limits,
    /// How documents are held between reading and conversion.
    pub(crate) documents: DocumentSettings,
    pub(super) skipped: SkipCount,
}

/// What a name alone says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ByName {
    /// Look at its first bytes.
    Look,
    /// A package of drawings, if its bytes say so.
    Package,
    /// Left out, and counted.
    LeaveOut,
}

/// What the first bytes say.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum ByHead {
    /// One unit of this format.
    Drawing(SourceFormat),
    /// A document of pages, which have to be counted.
    Pages,
    /// Left out, and counted.
    LeaveOut,
    /// A dead letter.
    Dead(Failure),
}

/// One document as listed.
#[derive(Debug, Clone)]
pub(crate) struct Listed {
    /// The path below the source.
    pub(crate) doc_id: String,
    /// Where it is, without credentials.
    pub(crate) location: String,
    /// Bytes.
    pub(crate) size: u64,
    /// Identity of its content.
    pub(crate) version: Option<String>,
}

/// The pages of one document, made one at a time.
#[derive(Debug, Clone)]
pub(crate) struct Pages {
    template: Found,
    next: u32,
    last: u32,
}

impl Iterator for Pages {
    type Item = Found;

    fn next(&mut self) -> Option<Found> {
        if self.next > self.last {
            return None;
        }
        let page = NonZeroU32::new(self.next)?;
        self.next += 1;
        Some(Found { page, ..self.template.clone() })
    }
}

impl Examiner {
    /// What was left out so far.
    pub(crate) fn skipped(&self) -> Skipped {
        self.skipped.get()
    }

    /// Forgets the counts: a scan begins.
    pub(crate) fn begin(&self) {
        self.skipped.reset();
    }

    /// Counts something that is left out.
    pub(crate) fn leave_out(&self, reason: &str) {
        self.skipped.skip(reason);
    }

    /// Whether a folder of that name (its last part) is to be entered.
    pub(crate) fn enters(&self, doc_id: &str, name: &str) -> bool {
        if name == "__MACOSX" {
            self.leave_out("__MACOSX folders");
        } else if name.starts_with('.') && !self.hidden {
            self.leave_out("hidden folders");
        } else if self.globs.excludes_folder(doc_id) {
            self.leave_out("excluded folders");
        } else {
            return true;
        }
        false
    }

    /// Whether and how a file is to be looked at.
    pub(crate) fn by_name(&self, doc_id: &str) -> ByName {
        let name = doc_id.rsplit('/').next().unwrap_or(doc_id);
        if name.starts_with('.') && !self.hidden {
            self.leave_out("hidden files");
            return ByName::LeaveOut;
        }
        if self.packages && is_package_name(name) {
            return ByName::Package;
        }
        if !self.globs.wants(doc_id) {
            self.leave_out("excluded by globs");
            return ByName::LeaveOut;
        }
        ByName::Look
    }

    /// What a document is, by its name, size and first [`HEAD`] bytes.
    pub(crate) fn by_head(&self, doc_id: &str, size: u64, head: &[u8]) -> ByHead {
        let named = sniff::format_of_name(doc_id);
        if size == 0 || head.is_empty() {
            if named.is_some() {
                return ByHead::Dead(dead(FailureKind::Empty, format!("{doc_id} has no bytes")));
            }
            self.leave_out("empty files");
            return ByHead::LeaveOut;
        }
        let sniffed = sniff::sniff(head, doc_id);
        let Some(format) = sniffed.format else {
            let Some(named) = named else {
                self.leave_out(&kind_of_file(doc_id));
                return ByHead::LeaveOut;
            };
            let what = sniffed.other.unwrap_or("of no format that is known");
            let message = format!("{doc_id} is named like {} and is {what}", named.as_str().to_uppercase());
            return ByHead::Dead(dead(FailureKind::Malformed, message));
        };
        if sniffed.extension_disagrees {
            self.skipped.extension_disagrees();
            tracing::warn!(doc_id, format = format.as_str(), "extension disagrees with the first bytes");
        }
        if size > self.limits.document_bytes {
            let limit = self.limits.document_bytes;
            let message = format!("{doc_id} has {size} bytes, more than `limits.document_bytes` = {limit}");
            return ByHead::Dead(dead(FailureKind::Limit, message));
        }
        if format == SourceFormat::Pdf { ByHead::Pages } else { ByHead::Drawing(format) }
    }

    /// The unit of a document of one drawing.
    pub(crate) fn unit(&self, listed: &Listed, format: SourceFormat) -> Found {
        let level = self.levels.of(&listed.doc_id);
        let mut found = Found::new(&listed.doc_id, 1, &listed.location, format.as_str())
            .with_size(listed.size)
            .with_level(level.ordinal, level.name);
        found.version.clone_from(&listed.version);
        found
    }

    /// A document that is enumerated and cannot be worked on. Its format is told from its name.
    pub(crate) fn dead(&self, listed: &Listed, failure: Failure) -> Found {
        let format = sniff::format_of_name(&listed.doc_id).map_or("unknown", SourceFormat::as_str);
        let level = self.levels.of(&listed.doc_id);
        let mut found = Found::new(&listed.doc_id, 1, &listed.location, format)
            .with_size(listed.size)
            .with_level(level.ordinal, level.name);
        found.version.clone_from(&listed.version);
        found.failure = Some(failure);
        found
    }

    /// The units of a PDF document, one a page; one dead letter if its pages cannot be counted.
    pub(crate) fn pages(&self, listed: &Listed, bytes: &Bytes) -> Pages {
        let mut template = self.unit(listed, SourceFormat::Pdf);
        let last = match self.count_pages(bytes) {
            Ok(pages) => pages,
            Err(failure) => {
                template.failure = Some(failure);
                1
            }
        };
        Pages { template, next: 1, last }
    }

    fn count_pages(&self, bytes: &Bytes) -> Result<u32, Failure> {
        let counted = catch_unwind(AssertUnwindSafe(|| pdf::count_pages(bytes, &self.limits))).map_err(|_| {
            dead(FailureKind::Panicked, "the pages cannot be counted: the PDF reader panicked".to_owned())
        })?;
        match counted {
            Ok(0) => Err(dead(FailureKind::Malformed, "the document has no pages".to_owned())),
            Ok(pages) if pages > self.limits.pages => {
                let message =
                    format!("the document has {pages} pages, more than `limits.pages` = {}", self.limits.pages);
                Err(dead(FailureKind::Limit, message))
            }
            Ok(pages) => Ok(pages),
            Err(error) => Err(scan_failure(&error)),
        }
    }
}

/// A read error met while listing.
fn scan_failure(error: &ReadError) -> Failure {
    dead(FailureKind::from_name(error.kind()).unwrap_or(FailureKind::Malformed), error.to_string())
}

pub(super) fn dead(kind: FailureKind, message: String) -> Failure {
    Failure::new(kind, Stage::Scan, message)
}

/// Whether a name is that of a drawing package.
pub(crate) fn is_package_name(name: &str) -> bool {
    name.len() > 4 && name.get(name.len() - 4..).is_some_and(|end| end.eq_ignore_ascii_case(".zip"))
}

/// `.txt files`, `files without extension`: the reason an unknown file is left out.
fn kind_of_file(doc_id: &str) -> String {
    let name = doc_id.rsplit('/').next().unwrap_or(doc_id);
    match name.rsplit_once('.') {
        Some((stem, extension))
            if !stem.is_empty()
                && extension.len() <= 8
                && extension.bytes().all(|byte| byte.is_ascii_alphanumeric()) =>
        {
            format!(".{} files", extension.to_ascii_lowercase())
        }
        _ => "files of no known kind".to_owned(),
    }
}
