//! flatten.
