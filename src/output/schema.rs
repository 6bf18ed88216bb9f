//! schema.
