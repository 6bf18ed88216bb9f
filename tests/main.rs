//! The one integration test binary. Each area is a module; add yours with `mod name;`, alphabetically.
//!
//! Helpers that more than one module needs are in [`support`]: a fresh folder per test, the built program, and
//! its runs.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stdout, clippy::print_stderr)]

mod architecture;
mod batch;
mod cases;
mod cli;
mod config;
mod dwg;
mod dxf;
mod evaluate;
#[cfg(feature = "object-store")]
mod forward;
mod hostile;
mod isolation;
mod issues;
mod mixed;
mod openings;
mod output;
mod pdf;
mod plan;
mod preview;
mod probes;
mod properties;
mod requirements;
mod sheets;
mod store;
mod support;
mod svg;
mod svg_against_usvg;
mod synth;
mod walls;
