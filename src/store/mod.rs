//! Object stores as source and sink: `s3://`, `gs://`, `az://`, `http(s)://`, through the `object_store` crate.
//!
//! [`connect`] opens a store with credentials from the environment, at the moment of use; a [`StoreLocation`] never
//! holds one. [`source`] lists and reads, [`sink`] puts. Retries of a unit are the engine's: the client itself retries
//! requests of a listing only, so that waits do not multiply and every attempt stands in the ledger.
//!
//! What a store asks with `Retry-After` is honoured by [`connect::Pace`]: the wait goes to the engine with the failure, and no
//! other request of the store starts before it is over.

pub mod connect;
mod failure;
pub mod sink;
pub mod source;

use std::sync::Arc;

use object_store::ObjectStore;
use object_store::path::Path as Key;

use crate::config::StoreLocation;

/// An opened store and the prefix within it.
#[derive(Debug, Clone)]
pub struct Store {
    /// For objects: one attempt a request.
    objects: Arc<dyn ObjectStore>,
    /// For listings: a page that fails is asked for again.
    listing: Arc<dyn ObjectStore>,
    prefix: Option<Key>,
    location: StoreLocation,
    pace: connect::Pace,
}

impl Store {
    /// The key of something below the prefix. `relative` is taken as it is, `%` and all.
    fn key(&self, relative: &str) -> Result<Key, object_store::path::Error> {
        match &self.prefix {
            Some(prefix) => Key::parse(format!("{prefix}/{relative}")),
            None => Key::parse(relative),
        }
    }

    /// The name below the prefix of a key that a listing gave.
    fn relative<'a>(&self, key: &'a Key) -> &'a str {
        let whole = key.as_ref();
        let Some(prefix) = &self.prefix else { return whole };
        whole.strip_prefix(prefix.as_ref()).map_or(whole, |rest| rest.trim_start_matches('/'))
    }

    /// What stands in ledgers: scheme, bucket and key, without credentials.
    fn url(&self, key: &Key) -> String {
        format!("{}://{}/{key}", self.location.scheme, self.location.bucket)
    }
}

#[cfg(test)]
mod tests;
