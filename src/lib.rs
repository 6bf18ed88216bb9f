//! plan2geo turns batches of floor plans (DXF, DWG, SVG, vector PDF pages) into GeoJSON FeatureCollections, with rooms,
//! walls and openings derived where the drawing allows it, and proves that none was lost.
//!
//! # The way of a drawing
//!
//! bytes → [`mod@format`] (readers, the only place that knows formats) → [`drawing`] (format-free, curves and blocks kept) →
//! [`plan`] (walls, openings, rooms, labels, in metres) → [`place`] (levels) → [`output`] (GeoJSON) → bytes. [`kernel`] is that way in
//! one screen. Bad input is data: what is wrong with a drawing is counted in [`issue`]s, and only what leaves nothing to
//! show is an error.
//!
//! # The way of a batch
//!
//! [`config`] says what to do; [`run`] hands a [`source`], the [`kernel`] and a [`sink`] to the engine, which is the crate
//! `plan2geo-actors`; [`report`] tells what came of it. [`cli`] is the program.
//!
//! # One drawing
//!
//! ```
//! use plan2geo::kernel::{ConvertOptions, Document, convert};
//!
//! let svg = r#"<svg xmlns="http://www.w3.org/2000/svg" width="4m" height="3m" viewBox="0 0 4000 3000">
//!   <g id="rooms"><rect id="101" width="4000" height="3000" fill="none" stroke="black"/></g></svg>"#;
//! let document = Document { name: "L02.svg", floor_level: Some(2), ..Document::default() };
//! let converted = convert(svg.as_bytes(), &document, ConvertOptions::default())?;
//! assert!(converted.features >= 1);
//! # Ok::<(), plan2geo::kernel::ConvertError>(())
//! ```
//!
//! # Limitations
//!
//! Outputs are in local metres: a georeference is read and not yet applied. Scanned pages are refused; nothing is made
//! of pixels.

pub mod cli;
pub mod config;
pub mod drawing;
pub mod evaluate;
pub mod format;
mod glob;
pub mod issue;
pub mod kernel;
pub mod memory;
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
