//! Puts outputs into an object store: small ones in one conditional request, large ones in parts.
//!
//! A put is whole or absent by nature. An output is put with *create*; if something is there already, its bytes are
//! compared by digest and replaced only if they differ, so a second run leaves identical objects untouched.

use std::io::Read;

use async_trait::async_trait;
use futures::StreamExt;
use object_store::path::Path as Key;
use object_store::{Error, ObjectStoreExt, PutMode, PutOptions, PutPayload, WriteMultipart};
use plan2geo_actors::{Extraction, Failure, FailureKind, Sink, Spooled, Stage, Stored, Unit};
use sha2::{Digest, Sha256};

use super::Store;

/// Outputs above this size are put in parts.
const PART_BYTES: usize = 8 << 20;
/// Parts of one output on their way at once.
const PARTS_AT_ONCE: usize = 2;

/// A [`Sink`] on a prefix of an object store.
#[derive(Debug, Clone)]
pub struct ObjectSink {
    store: Store,
    /// Names the output of a unit, relative to the prefix.
    place: fn(&Unit) -> String,
}

impl ObjectSink {
    /// A sink that names outputs by `place`.
    pub fn new(store: Store, place: fn(&Unit) -> String) -> Self {
        Self { store, place }
    }

    fn key(&self, output: &str) -> Result<Key, Failure> {
        let refuse = |error| Failure::new(FailureKind::Io, Stage::Write, format!("{output}: {error}"));
        self.store.key(output).map_err(refuse)
    }

    async fn put(&self, output: &str, spooled: &Spooled) -> Result<(), Failure> {
        let key = self.key(output)?;
        let failure = |error: &Error| self.store.failure(Stage::Write, output, error);
        if spooled.len() > PART_BYTES as u64 {
            if self.digest(output).await?.is_some_and(|digest| digest == spooled.sha256_hex()) {
                return Ok(());
            }
            return self.put_in_parts(&key, output, spooled).await;
        }
        let mut bytes = Vec::new();
        spooled.reader().read_to_end(&mut bytes).map_err(|error| Failure::from_io(Stage::Write, output, &error))?;
        let payload = PutPayload::from(bytes);
        let create = PutOptions { mode: PutMode::Create, ..PutOptions::default() };
        match self.store.objects.put_opts(&key, payload.clone(), create).await {
            Ok(_) => Ok(()),
            Err(Error::AlreadyExists { .. } | Error::Precondition { .. }) => {
                if self.digest(output).await?.is_some_and(|digest| digest == spooled.sha256_hex()) {
                    return Ok(());
                }
                self.store.objects.put(&key, payload).await.map(drop).map_err(|error| failure(&error))
            }
            // Stores without conditional puts: what is there is replaced.
            Err(Error::NotImplemented { .. } | Error::NotSupported { .. }) => {
                self.store.objects.put(&key, payload).await.map(drop).map_err(|error| failure(&error))
            }
            Err(error) => Err(failure(&error)),
        }
    }

    async fn put_in_parts(&self, key: &Key, output: &str, spooled: &Spooled) -> Result<(), Failure> {
        let failure = |error: &Error| self.store.failure(Stage::Write, output, error);
        let upload = self.store.objects.put_multipart(key).await.map_err(|error| failure(&error))?;
        let mut writer = WriteMultipart::new_with_chunk_size(upload, PART_BYTES);
        let mut reader = spooled.reader();
        loop {
            let mut part = Vec::with_capacity(PART_BYTES);
            let read = (&mut reader).take(PART_BYTES as u64).read_to_end(&mut part);
            let read = match read {
                Ok(read) => read,
                Err(error) => {
                    let _ = writer.abort().await;
                    return Err(Failure::from_io(Stage::Write, output, &error));
                }
            };
            if read == 0 {
                break;
            }
            if let Err(error) = writer.wait_for_capacity(PARTS_AT_ONCE).await {
                let _ = writer.abort().await;
                return Err(failure(&error));
            }
            writer.put(part.into());
        }
        // A failed completion aborts the upload by itself: nothing half-written becomes visible.
        writer.finish().await.map(drop).map_err(|error| failure(&error))
    }
}

#[async_trait]
impl Sink for ObjectSink {
    /// One listing request tells whether the store can be reached and the credentials are good.
    async fn prepare(&self) -> Result<(), Failure> {
        let mut listing = self.store.listing.list(self.store.prefix.as_ref());
        match listing.next().await {
            None | Some(Ok(_)) => Ok(()),
            Some(Err(error)) => Err(self.store.failure(Stage::Write, &self.store.location.to_string(), &error)),
        }
    }

    fn place(&self, unit: &Unit) -> String {
        (self.place)(unit)
    }

    async fn store(&self, unit: &Unit, extraction: &Extraction) -> Result<Stored, Failure> {
        let output = self.place(unit);
        let base = output.strip_suffix(crate::sink::naming::SUFFIX).unwrap_or(&output);
        for (suffix, attachment) in &extraction.attachments {
            self.put(&format!("{base}{suffix}"), attachment).await?;
        }
        self.put(&output, &extraction.output).await?;
        Ok(Stored { output, sha256: extraction.output.sha256_hex() })
    }

    async fn digest(&self, output: &str) -> Result<Option<String>, Failure> {
        let key = self.key(output)?;
        let failure = |error: &Error| self.store.failure(Stage::Write, output, error);
        let mut body = match self.store.objects.get(&key).await {
            Ok(object) => object.into_stream(),
            Err(Error::NotFound { .. }) => return Ok(None),
            Err(error) => return Err(failure(&error)),
        };
        let mut digest = Sha256::new();
        while let Some(chunk) = body.next().await {
            digest.update(chunk.map_err(|error| failure(&error))?);
        }
        Ok(Some(digest.finalize().iter().map(|byte| format!("{byte:02x}")).collect()))
    }
}
