//! The two ends of a run, whichever kind they are: a directory or an object store.

use std::path::{Path, PathBuf};

use async_trait::async_trait;
use bytes::Bytes;
use futures::stream::BoxStream;
use plan2geo_actors::{Extraction, Failure, Found, Sink, Source, SourceError, Stored, Unit};

use crate::config::{Config, Location, StoreLocation};
use crate::sink::{OutputDirectory, naming};
use crate::source::{DrawingFiles, Skipped};
#[cfg(feature = "object-store")]
use crate::store::{connect::connect, sink::ObjectSink, source::ObjectSource};

/// Where drawings come from. Cheap to clone.
#[derive(Debug, Clone)]
pub enum Drawings {
    /// A directory.
    Files(DrawingFiles),
    /// A prefix of an object store.
    #[cfg(feature = "object-store")]
    Objects(Box<ObjectSource>),
}

/// Where outputs go. Cheap to clone.
#[derive(Debug, Clone)]
pub enum Outputs {
    /// A directory.
    Directory(OutputDirectory),
    /// A prefix of an object store.
    #[cfg(feature = "object-store")]
    Objects(ObjectSink),
}

impl Drawings {
    /// The source at a location; `left_out` are places of outputs and state, which may lie in it.
    ///
    /// # Errors
    /// When an object store cannot be opened, or was left out of this build.
    pub fn at(location: &Location, config: &Config, left_out: &[Location]) -> Result<Self, String> {
        match location {
            Location::Directory(root) => {
                let left_out = left_out.iter().filter_map(Location::directory).map(Path::to_owned).collect();
                Ok(Self::Files(DrawingFiles::new(root.clone(), config, left_out)))
            }
            Location::Store(store) => Self::objects(store, config, left_out),
        }
    }

    #[cfg(feature = "object-store")]
    fn objects(store: &StoreLocation, config: &Config, left_out: &[Location]) -> Result<Self, String> {
        let inside = left_out.iter().filter_map(|place| match place {
            Location::Store(place) if place.scheme == store.scheme && place.bucket == store.bucket => {
                let below = place.prefix.strip_prefix(&store.prefix)?.trim_matches('/');
                (!below.is_empty()).then(|| below.to_owned())
            }
            _ => None,
        });
        let left_out = inside.collect();
        let store = connect(store).map_err(|error| error.to_string())?;
        Ok(Self::Objects(Box::new(ObjectSource::new(store, config, left_out))))
    }

    #[cfg(not(feature = "object-store"))]
    fn objects(store: &StoreLocation, _: &Config, _: &[Location]) -> Result<Self, String> {
        Err(without_stores(store))
    }

    /// What the last scan left out so far.
    pub fn skipped(&self) -> Skipped {
        match self {
            Self::Files(files) => files.skipped(),
            #[cfg(feature = "object-store")]
            Self::Objects(objects) => objects.skipped(),
        }
    }
}

impl Outputs {
    /// The sink at a location.
    ///
    /// # Errors
    /// When an object store cannot be opened, or was left out of this build.
    pub fn at(location: &Location) -> Result<Self, String> {
        match location {
            Location::Directory(root) => Ok(Self::Directory(OutputDirectory::new(root.clone()))),
            #[cfg(feature = "object-store")]
            Location::Store(store) => {
                let store = connect(store).map_err(|error| error.to_string())?;
                Ok(Self::Objects(ObjectSink::new(store, naming::output_name)))
            }
            #[cfg(not(feature = "object-store"))]
            Location::Store(store) => Err(without_stores(store)),
        }
    }
}

#[cfg(not(feature = "object-store"))]
fn without_stores(store: &StoreLocation) -> String {
    format!("{store}: this build has no object stores; build it with `--features object-store`")
}

#[async_trait]
impl Source for Drawings {
    fn scan(&self) -> BoxStream<'static, Result<Found, SourceError>> {
        match self {
            Self::Files(files) => files.scan(),
            #[cfg(feature = "object-store")]
            Self::Objects(objects) => objects.scan(),
        }
    }

    async fn read(&self, unit: &Unit) -> Result<Bytes, Failure> {
        match self {
            Self::Files(files) => files.read(unit).await,
            #[cfg(feature = "object-store")]
            Self::Objects(objects) => objects.read(unit).await,
        }
    }
}

#[async_trait]
impl Sink for Outputs {
    async fn prepare(&self) -> Result<(), Failure> {
        match self {
            Self::Directory(directory) => directory.prepare().await,
            #[cfg(feature = "object-store")]
            Self::Objects(objects) => objects.prepare().await,
        }
    }

    fn place(&self, unit: &Unit) -> String {
        naming::output_name(unit)
    }

    async fn store(&self, unit: &Unit, extraction: &Extraction) -> Result<Stored, Failure> {
        match self {
            Self::Directory(directory) => directory.store(unit, extraction).await,
            #[cfg(feature = "object-store")]
            Self::Objects(objects) => objects.store(unit, extraction).await,
        }
    }

    async fn digest(&self, output: &str) -> Result<Option<String>, Failure> {
        match self {
            Self::Directory(directory) => directory.digest(output).await,
            #[cfg(feature = "object-store")]
            Self::Objects(objects) => objects.digest(output).await,
        }
    }
}

/// The folder of the states of runs: as configured, or below a local output.
pub(super) fn state_folder(config: &Config) -> Option<PathBuf> {
    config.run.state.clone().or_else(|| Some(config.output.as_ref()?.directory()?.join(naming::STATE_FOLDER)))
}
