//! Where a plan lies: the floor it shows, and later the place on Earth.
//!
//! [`level`] tells the floor from the path of the drawing. Nothing here guesses: what is not known stays
//! unknown and becomes an issue, because a plan on the wrong floor is worse than one without a floor.
//!
//! Georeferencing (metres on a floor → longitude and latitude) is to stand beside it, on the plan that
//! [`crate::plan`] makes and before [`crate::output`] writes.

pub mod level;

use crate::issue::Code;

/// Issue codes of this area.
pub static CODES: &[&Code] = level::CODES;
