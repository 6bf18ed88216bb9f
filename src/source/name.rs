//! Names of files as text, without loss: what is no UTF-8 is escaped and can be turned back.
//!
//! A `doc_id` is text, a file name on Unix is bytes. Names that are UTF-8 stand as they are. Each byte of another
//! name that is no UTF-8 becomes U+FFFD and two hexadecimal digits; so does U+FFFD itself, so that no two names become
//! one and every text leads back to its file.

use std::ffi::{OsStr, OsString};

/// Marks an escaped byte.
const MARK: char = '\u{fffd}';

/// The text of a name.
pub(super) fn to_text(name: &OsStr) -> String {
    match name.to_str() {
        Some(text) if !text.contains(MARK) => text.to_owned(),
        _ => escaped(name),
    }
}

/// The text of a name with its last byte escaped, for names that would be taken for something else.
pub(super) fn with_last_escaped(text: &str) -> String {
    match text.char_indices().last() {
        Some((at, last)) if last.is_ascii() => {
            format!("{}{MARK}{:02X}", text.get(..at).unwrap_or_default(), last as u32)
        }
        _ => text.to_owned(),
    }
}

#[cfg(unix)]
fn escaped(name: &OsStr) -> String {
    use std::os::unix::ffi::OsStrExt as _;
    let mut text = String::new();
    for chunk in name.as_bytes().utf8_chunks() {
        for character in chunk.valid().chars() {
            if character == MARK {
                escape(&mut text, "\u{fffd}".as_bytes());
            } else {
                text.push(character);
            }
        }
        escape(&mut text, chunk.invalid());
    }
    text
}

#[cfg(not(unix))]
fn escaped(name: &OsStr) -> String {
    name.to_string_lossy().into_owned()
}

#[cfg(unix)]
fn escape(text: &mut String, bytes: &[u8]) {
    for byte in bytes {
        text.push(MARK);
        text.push_str(&format!("{byte:02X}"));
    }
}

/// The name a text stands for.
#[cfg(unix)]
pub(super) fn from_text(text: &str) -> OsString {
    use std::os::unix::ffi::OsStringExt as _;
    let mut bytes = Vec::with_capacity(text.len());
    let mut parts = text.split(MARK);
    bytes.extend_from_slice(parts.next().unwrap_or_default().as_bytes());
    for part in parts {
        match part.get(..2).and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            Some(byte) => {
                bytes.push(byte);
                bytes.extend_from_slice(part.get(2..).unwrap_or_default().as_bytes());
            }
            None => {
                bytes.extend_from_slice("\u{fffd}".as_bytes());
                bytes.extend_from_slice(part.as_bytes());
            }
        }
    }
    OsString::from_vec(bytes)
}

/// The name a text stands for.
#[cfg(not(unix))]
pub(super) fn from_text(text: &str) -> OsString {
    OsString::from(text)
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::os::unix::ffi::OsStrExt as _;

    #[test]
    fn every_name_comes_back_and_no_two_become_one() {
        let names: [&[u8]; 7] = [
            b"plain.dxf",
            b"a%FF#1 b.dxf",
            b"caf\xe9.dxf",
            "caf\u{fffd}E9.dxf".as_bytes(),
            b"\xff\xfe",
            b"",
            "é".as_bytes(),
        ];
        let mut seen = std::collections::BTreeSet::new();
        for name in names {
            let name = OsStr::from_bytes(name);
            let text = to_text(name);
            assert_eq!(from_text(&text), name, "{text}");
            assert!(seen.insert(text));
        }
        assert_eq!(from_text(&with_last_escaped("a.zip!")), OsStr::new("a.zip!"));
        assert_ne!(with_last_escaped("a.zip!"), "a.zip!");
    }
}
