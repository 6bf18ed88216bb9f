//! plan2geo.
fn main() {}
