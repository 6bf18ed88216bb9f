//! Drawings in a directory: listed lazily and in order, read one at a time.
//!
//! `doc_id` is the path below the directory, with its extension; a member of a package is
//! `package.zip!/A/L02.dxf`. Formats are told by the first bytes. A PDF becomes one unit a page. Hidden files and
//! whatever is no drawing are left out and counted ([`DrawingFiles::skipped`]); everything else that is found
//! becomes a unit or a dead letter.
//!
//! A read checks that the file is still the one that was listed, so that an output never stems from bytes nobody
//! accounted for.

pub(crate) mod entry;
pub(crate) mod external;
pub(crate) mod hold;
mod name;
mod package;
mod skipped;
mod walk;

use std::fs::{File, Metadata};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use bytes::Bytes;
use futures::stream::{self, BoxStream, StreamExt as _};
use plan2geo_actors::{DocumentSettings, Failure, FailureKind, Found, Source, SourceError, Stage, Unit};

pub use skipped::Skipped;

use crate::config::{Config, Links};
use entry::Examiner;
use hold::hold;
use package::PackageError;
use walk::{Walk, package_failure};

/// A directory as a source. Cheap to clone.
#[derive(Debug, Clone)]
pub struct DrawingFiles {
    directory: Arc<Directory>,
}

#[derive(Debug)]
struct Directory {
    root: PathBuf,
    /// The only entry of the root that counts, when one file or package is the whole source.
    only: Option<String>,
    /// The root as it stands in locations.
    location: String,
    links: Links,
    /// Folders that may lie inside the source and are none of it: outputs and state.
    left_out: Vec<PathBuf>,
    examiner: Examiner,
    /// The document of pages that was read last: its pages come one after the other.
    last: Mutex<Option<(String, Option<String>, Bytes)>>,
}

/// A document of pages is kept for its next page up to this size.
const KEEP_BYTES: u64 = 64 << 20;

impl Examiner {
    /// By the options of a configuration.
    pub(crate) fn new(config: &Config) -> Self {
        Self {
            globs: config.source.globs.clone(),
            hidden: config.source.hidden,
            packages: config.source.packages,
            levels: config.levels.clone(),
            limits: config.limits.drawing.clone(),
            documents: DocumentSettings { memory_bytes: config.limits.document_memory, directory: None },
            skipped: skipped::SkipCount::default(),
        }
    }
}

impl DrawingFiles {
    /// The directory `root` with the options of a configuration; one drawing or package is a source of its own. `left_out` are folders that are no part of the source
    /// even if they lie in it; they need not exist yet.
    pub fn new(root: PathBuf, config: &Config, left_out: Vec<PathBuf>) -> Self {
        let (root, only) = match (root.is_file(), root.parent(), root.file_name()) {
            (true, Some(folder), Some(file)) => (Path::new(".").join(folder), Some(name::to_text(file))),
            _ => (root, None),
        };
        let location = root.to_string_lossy().trim_end_matches('/').to_owned();
        let directory = Directory {
            root,
            only,
            location,
            links: config.source.links,
            left_out,
            examiner: Examiner::new(config),
            last: Mutex::new(None),
        };
        Self { directory: Arc::new(directory) }
    }

    /// What the last scan left out so far.
    pub fn skipped(&self) -> Skipped {
        self.directory.examiner.skipped()
    }
}

#[async_trait]
impl Source for DrawingFiles {
    fn scan(&self) -> BoxStream<'static, Result<Found, SourceError>> {
        let walk = Walk::new(Arc::clone(&self.directory));
        let location = self.directory.location.clone();
        stream::unfold(Some(walk), move |walk| {
            let location = location.clone();
            async move {
                let mut walk = walk?;
                let step = tokio::task::spawn_blocking(move || {
                    let next = walk.next();
                    (next, walk)
                });
                match step.await {
                    Ok((Some(Ok(found)), walk)) => Some((Ok(found), Some(walk))),
                    Ok((Some(Err(error)), _)) => Some((Err(error), None)),
                    Ok((None, _)) => None,
                    Err(error) => {
                        let message = format!("the listing was broken off: {error}");
                        Some((Err(SourceError::List { location, message }), None))
                    }
                }
            }
        })
        .boxed()
    }

    async fn read(&self, unit: &Unit) -> Result<Bytes, Failure> {
        let directory = Arc::clone(&self.directory);
        let (doc_id, version, format) = (unit.doc_id.clone(), unit.version.clone(), unit.format.clone());
        let reading = tokio::task::spawn_blocking(move || directory.read(&doc_id, version.as_deref(), format == "pdf"));
        match reading.await {
            Ok(read) => read,
            Err(error) => {
                let message = format!("{}: reading was broken off: {error}", unit.doc_id);
                Err(Failure::new(FailureKind::Io, Stage::Read, message))
            }
        }
    }
}

impl Directory {
    fn read(&self, doc_id: &str, version: Option<&str>, paged: bool) -> Result<Bytes, Failure> {
        if paged {
            let last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some((last_id, last_version, bytes)) = last.as_ref()
                && last_id == doc_id
                && last_version.as_deref() == version
                && version.is_some()
            {
                return Ok(bytes.clone());
            }
        }
        let bytes = match self.package_of(doc_id) {
            Some((package, member)) => self.read_member(doc_id, package, member, version)?,
            None => self.read_file(doc_id, version)?,
        };
        // A mapped one takes no memory, and would be copied anew for each of its pages.
        let length = bytes.len() as u64;
        let keep = paged && (length <= KEEP_BYTES || length > self.examiner.documents.memory_bytes);
        *self.last.lock().unwrap_or_else(PoisonError::into_inner) =
            keep.then(|| (doc_id.to_owned(), version.map(str::to_owned), bytes.clone()));
        Ok(bytes)
    }

    fn path_of(&self, doc_id: &str) -> PathBuf {
        doc_id.split('/').fold(self.root.clone(), |path, part| path.join(name::from_text(part)))
    }

    fn read_file(&self, doc_id: &str, version: Option<&str>) -> Result<Bytes, Failure> {
        let io = |error: std::io::Error| Failure::from_io(Stage::Read, doc_id, &error);
        let mut file = File::open(self.path_of(doc_id)).map_err(io)?;
        let before = file.metadata().map_err(io)?;
        same_version(doc_id, version, &version_of(&before))?;
        let limit = self.examiner.limits.document_bytes;
        if before.len() > limit {
            let message = format!("{doc_id} has {} bytes, more than `limits.document_bytes` = {limit}", before.len());
            return Err(Failure::new(FailureKind::Limit, Stage::Read, message));
        }
        let bytes = hold(&mut file, before.len(), limit, &self.examiner.documents).map_err(io)?;
        let after = file.metadata().map_err(io)?;
        same_version(doc_id, version.map(|_| version_of(&before)).as_deref(), &version_of(&after))?;
        if bytes.len() as u64 != after.len() {
            let message = format!("{doc_id} was cut short while it was read");
            return Err(Failure::new(FailureKind::Changed, Stage::Read, message));
        }
        if bytes.is_empty() {
            return Err(Failure::new(FailureKind::Empty, Stage::Read, format!("{doc_id} has no bytes")));
        }
        Ok(bytes)
    }

    /// Package and member of a `doc_id`. The first `.zip!/` counts: folders of such a name are listed with an escape.
    fn package_of<'d>(&self, doc_id: &'d str) -> Option<(&'d str, &'d str)> {
        let mut places = doc_id.match_indices("!/").map(|(at, _)| at);
        let at = places.find(|at| doc_id.get(..*at).is_some_and(entry::is_package_name))?;
        if self.examiner.packages { Some((doc_id.get(..at)?, doc_id.get(at + 2..)?)) } else { None }
    }

    fn read_member(&self, doc_id: &str, package: &str, member: &str, version: Option<&str>) -> Result<Bytes, Failure> {
        let fail = |error: PackageError| package_failure(Stage::Read, doc_id, &error);
        let mut file = File::open(self.path_of(package)).map_err(|error| fail(error.into()))?;
        let metadata = file.metadata().map_err(|error| fail(error.into()))?;
        let members = package::members(&mut file).map_err(fail)?;
        let Some(member) = members.iter().find(|listed| listed.name == member) else {
            return Err(Failure::new(FailureKind::Vanished, Stage::Read, format!("{doc_id} is not in its package")));
        };
        same_version(doc_id, version, &format!("{}-{:08x}", version_of(&metadata), member.crc))?;
        package::read(&mut file, member, self.examiner.limits.document_bytes, &self.examiner.documents).map_err(fail)
    }
}

fn same_version(doc_id: &str, listed: Option<&str>, now: &str) -> Result<(), Failure> {
    match listed {
        Some(listed) if listed != now => {
            let message = format!("{doc_id} was changed after it was listed");
            Err(Failure::new(FailureKind::Changed, Stage::Read, message))
        }
        _ => Ok(()),
    }
}

/// Identity of a file's content as far as its metadata tells: when it was changed, and its size.
pub(crate) fn version_of(metadata: &Metadata) -> String {
    let nanoseconds = metadata
        .modified()
        .ok()
        .and_then(|time| time.duration_since(std::time::UNIX_EPOCH).ok())
        .map_or(0, |since| since.as_nanos());
    format!("{nanoseconds}-{}", metadata.len())
}

/// The text form of a path below a folder, as a `doc_id`.
pub fn doc_id_of(path: &Path) -> String {
    path.components()
        .filter_map(|part| match part {
            std::path::Component::Normal(part) => Some(name::to_text(part)),
            _ => None,
        })
        .collect::<Vec<_>>()
        .join("/")
}

#[cfg(test)]
mod tests;
