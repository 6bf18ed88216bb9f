//! hash.
