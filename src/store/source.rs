//! Lists a prefix of an object store lazily, and reads one object at a time.
//!
//! The listing is paged by the store and never held. What an object is, is judged by [`Examiner`] as for files: by its
//! name, size and first bytes, which cost one small ranged request; a PDF is read once to count its pages. A few objects
//! are looked at ahead, in order, to hide the latency of the store.
//!
//! A read demands the entity tag that was listed, so that an object changed in between is a dead letter (`changed`)
//! and not an output nobody can account for.

use std::io::{self, Write as _};
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use bytes::Bytes;
use futures::StreamExt;
use futures::stream::{self, BoxStream};
use object_store::{GetOptions, GetRange, ObjectMeta, ObjectStoreExt};
use plan2geo_actors::{DocumentWriter, Failure, FailureKind, Found, Source, SourceError, Stage, Unit};

use super::Store;
use crate::config::Config;
use crate::source::Skipped;
use crate::source::entry::{ByHead, ByName, Examiner, HEAD, Listed};
use crate::source::hold::of_temporary_file;

/// Objects looked at ahead of the Scanner.
const LOOK_AHEAD: usize = 4;

/// A document of pages is kept for its next page up to this size.
const KEEP_BYTES: usize = 64 << 20;

/// Document, version and bytes.
type LastRead = (String, Option<String>, Bytes);

/// A [`Source`] on a prefix of an object store. Cheap to clone.
#[derive(Debug, Clone)]
pub struct ObjectSource {
    store: Store,
    examiner: Examiner,
    /// Prefixes below this one that are none of the source: outputs and state.
    left_out: Arc<Vec<String>>,
    last: Arc<Mutex<Option<LastRead>>>,
}

impl ObjectSource {
    /// The objects of a store with the options of a configuration. `left_out` are prefixes below that of the store.
    pub fn new(store: Store, config: &Config, left_out: Vec<String>) -> Self {
        Self { store, examiner: Examiner::new(config), left_out: Arc::new(left_out), last: Arc::default() }
    }

    /// What the last scan left out so far.
    pub fn skipped(&self) -> Skipped {
        self.examiner.skipped()
    }

    /// The units of one listed object.
    async fn examine(self, meta: ObjectMeta) -> Vec<Found> {
        let doc_id = self.store.relative(&meta.location).to_owned();
        if doc_id.is_empty() || doc_id.ends_with('/') || self.is_left_out(&doc_id) {
            return Vec::new();
        }
        let listed =
            Listed { location: self.store.url(&meta.location), size: meta.size, version: Some(version(&meta)), doc_id };
        match self.examiner.by_name(&listed.doc_id) {
            ByName::LeaveOut => return Vec::new(),
            ByName::Package => {
                let message = format!(
                    "{}: packages in object stores are not read: unpack it beside, or copy it to a directory",
                    listed.doc_id
                );
                let failure = Failure::new(FailureKind::Unsupported, Stage::Scan, message);
                return vec![self.examiner.dead(&listed, failure)];
            }
            ByName::Look => {}
        }
        match self.judge(&meta, &listed).await {
            Ok(found) => found,
            // Also an object that cannot be looked at is a unit: it goes to the dead letters and not missing.
            Err(failure) => vec![self.examiner.dead(&listed, failure)],
        }
    }

    async fn judge(&self, meta: &ObjectMeta, listed: &Listed) -> Result<Vec<Found>, Failure> {
        let head = match meta.size {
            0 => Bytes::new(),
            size => {
                let range = GetRange::Bounded(0..size.min(HEAD as u64));
                self.get(&listed.doc_id, Some(range), Some(meta), Stage::Scan).await?
            }
        };
        Ok(match self.examiner.by_head(&listed.doc_id, meta.size, &head) {
            ByHead::LeaveOut => Vec::new(),
            ByHead::Dead(failure) => vec![self.examiner.dead(listed, failure)],
            ByHead::Drawing(format) => vec![self.examiner.unit(listed, format)],
            ByHead::Pages => {
                let bytes = self.get(&listed.doc_id, None, Some(meta), Stage::Scan).await?;
                let examiner = self.examiner.clone();
                let document = listed.clone();
                let counting = tokio::task::spawn_blocking(move || examiner.pages(&document, &bytes).collect());
                counting.await.map_err(|error| {
                    Failure::new(FailureKind::Panicked, Stage::Scan, format!("{}: {error}", listed.doc_id))
                })?
            }
        })
    }

    fn is_left_out(&self, doc_id: &str) -> bool {
        let below = |prefix: &String| doc_id.strip_prefix(prefix.as_str()).is_some_and(|rest| rest.starts_with('/'));
        let mut folders = doc_id.match_indices('/').filter_map(|(at, _)| doc_id.get(..at));
        let enters = |folder: &str| self.examiner.enters(folder, folder.rsplit('/').next().unwrap_or(folder));
        self.left_out.iter().any(below) || !folders.all(enters)
    }

    /// The bytes of an object, or of a range of it. With `meta` it must still be the object that was listed.
    async fn get(
        &self,
        doc_id: &str,
        range: Option<GetRange>,
        meta: Option<&ObjectMeta>,
        stage: Stage,
    ) -> Result<Bytes, Failure> {
        let key = self
            .store
            .key(doc_id)
            .map_err(|error| Failure::new(FailureKind::Unreadable, stage, format!("{doc_id}: {error}")))?;
        let mut attempt = 0;
        loop {
            let options = GetOptions {
                if_match: meta.and_then(|meta| meta.e_tag.clone()),
                range: range.clone(),
                ..GetOptions::default()
            };
            let failure = match self.body(&key, doc_id, options, stage).await {
                Ok(bytes) => return Ok(bytes),
                Err(failure) => failure,
            };
            // While listing there is no unit yet that the engine could try again.
            attempt += 1;
            if stage != Stage::Scan || !failure.transient || attempt > 4 {
                return Err(failure);
            }
            let wait = failure.retry_after.unwrap_or(std::time::Duration::from_millis(100 << attempt));
            tokio::time::sleep(wait).await;
        }
    }

    async fn body(
        &self,
        key: &object_store::path::Path,
        doc_id: &str,
        options: GetOptions,
        stage: Stage,
    ) -> Result<Bytes, Failure> {
        let fail = |error: &object_store::Error| self.store.failure(stage, doc_id, error);
        let object = self.store.objects.get_opts(key, options).await.map_err(|error| fail(&error))?;
        let expected = object.range.end - object.range.start;
        if expected > self.examiner.limits.document_bytes {
            let limit = self.examiner.limits.document_bytes;
            let message = format!("{doc_id} has {expected} bytes, more than `limits.document_bytes` = {limit}");
            return Err(Failure::new(FailureKind::Limit, stage, message));
        }
        let held = |error| Failure::from_io(stage, doc_id, &of_temporary_file(error));
        let mut bytes = DocumentWriter::new(&self.examiner.documents, expected).map_err(held)?;
        let mut body = object.into_stream();
        while let Some(chunk) = body.next().await {
            // What breaks off in the middle of a body is worth another attempt whatever the client calls it.
            let chunk = chunk.map_err(|error| fail(&error).transient())?;
            bytes = write(bytes, chunk, expected > self.examiner.documents.memory_bytes).await.map_err(held)?;
        }
        if bytes.len() != expected {
            let message = format!("{doc_id}: the store sent {} of {expected} bytes", bytes.len());
            return Err(Failure::new(FailureKind::Connection, stage, message).transient());
        }
        bytes.finish().map_err(held)
    }
}

#[async_trait]
impl Source for ObjectSource {
    fn scan(&self) -> BoxStream<'static, Result<Found, SourceError>> {
        self.examiner.begin();
        let location = self.store.location.to_string();
        let source = self.clone();
        let broken = move |store: &Store, error: &object_store::Error| SourceError::List {
            location: location.clone(),
            message: store.failure(Stage::Scan, "the listing broke off", error).message,
        };
        let listing = self.store.listing.list(self.store.prefix.as_ref());
        listing
            .map(move |listed| {
                let (source, broken) = (source.clone(), broken.clone());
                async move {
                    match listed {
                        Ok(meta) => source.examine(meta).await.into_iter().map(Ok).collect(),
                        Err(error) => vec![Err(broken(&source.store, &error))],
                    }
                }
            })
            .buffered(LOOK_AHEAD)
            .flat_map(stream::iter)
            .boxed()
    }

    async fn read(&self, unit: &Unit) -> Result<Bytes, Failure> {
        let paged = unit.format == "pdf";
        if paged {
            let last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some((doc_id, version, bytes)) = last.as_ref()
                && (doc_id, version) == (&unit.doc_id, &unit.version)
            {
                return Ok(bytes.clone());
            }
        }
        let bytes = self.get_listed(unit).await?;
        let mapped = bytes.len() as u64 > self.examiner.documents.memory_bytes;
        let keep = paged && (bytes.len() <= KEEP_BYTES || mapped);
        *self.last.lock().unwrap_or_else(PoisonError::into_inner) =
            keep.then(|| (unit.doc_id.clone(), unit.version.clone(), bytes.clone()));
        Ok(bytes)
    }
}

impl ObjectSource {
    async fn get_listed(&self, unit: &Unit) -> Result<Bytes, Failure> {
        let key = self
            .store
            .key(&unit.doc_id)
            .map_err(|error| Failure::new(FailureKind::Unreadable, Stage::Read, format!("{}: {error}", unit.doc_id)))?;
        // An entity tag is demanded of the store; a date is compared after a look.
        let tag = unit.version.as_deref().and_then(|version| version.strip_prefix("etag:"));
        if tag.is_none()
            && let Some(listed) = &unit.version
        {
            let meta = self.store.objects.head(&key).await;
            let meta = meta.map_err(|error| self.store.failure(Stage::Read, &unit.doc_id, &error))?;
            if version(&meta) != *listed {
                let message = format!("{} was changed after it was listed", unit.doc_id);
                return Err(Failure::new(FailureKind::Changed, Stage::Read, message));
            }
        }
        let options = GetOptions { if_match: tag.map(str::to_owned), ..GetOptions::default() };
        let bytes = self.body(&key, &unit.doc_id, options, Stage::Read).await.map_err(|failure| {
            if failure.kind == FailureKind::Changed {
                let message = format!("{} was changed after it was listed", unit.doc_id);
                return Failure { message, ..failure };
            }
            failure
        })?;
        if bytes.is_empty() {
            return Err(Failure::new(FailureKind::Empty, Stage::Read, format!("{} has no bytes", unit.doc_id)));
        }
        Ok(bytes)
    }
}

/// Takes one more piece of a document. What goes to a file goes there on a thread that may block.
async fn write(mut document: DocumentWriter, chunk: Bytes, to_file: bool) -> io::Result<DocumentWriter> {
    if !to_file {
        document.write_all(&chunk)?;
        return Ok(document);
    }
    let writing = tokio::task::spawn_blocking(move || document.write_all(&chunk).map(|()| document));
    writing.await.map_err(io::Error::other)?
}

/// Identity of an object's content: its entity tag, or its date and size.
fn version(meta: &ObjectMeta) -> String {
    match &meta.e_tag {
        Some(tag) => format!("etag:{tag}"),
        None => format!("{}-{}", meta.last_modified.timestamp_millis(), meta.size),
    }
}
