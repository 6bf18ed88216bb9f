//! Lower-case hexadecimal, as digests stand in the ledger.

use std::fmt::Write as _;

/// The digits of `bytes`.
pub(crate) fn encode(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len() * 2);
    for byte in bytes {
        // Writing to a string does not fail.
        let _ = write!(text, "{byte:02x}");
    }
    text
}
