//! Listing and reading.
