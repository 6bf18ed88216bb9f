//! plan2geo.
