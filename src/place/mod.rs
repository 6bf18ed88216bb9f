//! place.

use crate::issue::Code;

/// Issue codes of this area.
pub static CODES: &[&Code] = &[];
