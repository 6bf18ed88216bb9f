//! plan2geo turns batches of floor plans into GeoJSON FeatureCollections.
//!
//! The way of a drawing: bytes → [`format`] → [`drawing`] → [`plan`] → [`place`] → [`output`] → bytes.

pub mod cli;
pub mod config;
pub mod drawing;
pub mod evaluate;
pub mod format;
pub mod issue;
pub mod kernel;
pub mod output;
pub mod place;
pub mod plan;
pub mod preview;
pub mod report;
pub mod run;
pub mod sink;
pub mod source;
#[cfg(feature = "object-store")]
pub mod store;
pub mod synth;
