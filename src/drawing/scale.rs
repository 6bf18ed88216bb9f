//! scale.
