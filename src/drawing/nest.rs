//! Rings → valid MultiPolygons.
