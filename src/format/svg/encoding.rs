//! Bytes → text: gzip, byte order marks, declared and undeclared encodings.
//!
//! Order: a byte order mark, the encoding the user states, UTF-16 by its zero bytes, the XML declaration, UTF-8.
//! Text that claims UTF-8 and is not is read as windows-1252, which loses nothing, with an issue.

use std::borrow::Cow;
use std::io::Read as _;

use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE, WINDOWS_1252};

use super::issues;
use crate::format::{Limits, ReadError};
use crate::issue::{Issues, Place};

/// Inflates a gzipped document; others are given back as they are.
///
/// # Errors
/// When the inflated size exceeds `limits.decompressed_bytes`, or nothing could be inflated.
pub(super) fn inflate<'b>(bytes: &'b [u8], limits: &Limits, issues: &mut Issues) -> Result<Cow<'b, [u8]>, ReadError> {
    if !bytes.starts_with(&[0x1f, 0x8b]) {
        return Ok(Cow::Borrowed(bytes));
    }
    let limit = limits.decompressed_bytes;
    let mut inflated = Vec::new();
    let outcome = flate2::read::MultiGzDecoder::new(bytes).take(limit.saturating_add(1)).read_to_end(&mut inflated);
    if inflated.len() as u64 > limit {
        return Err(ReadError::Limit { what: "size of the inflated SVG".to_owned(), key: "decompressed_bytes", limit });
    }
    if let Err(error) = outcome {
        if inflated.is_empty() {
            return Err(ReadError::Malformed { format: "SVG", reason: format!("gzip data is damaged: {error}") });
        }
        let detail = format!("{error} after {} inflated bytes", inflated.len());
        issues.report(&issues::COMPRESSION, Place::Document, detail);
    }
    Ok(Cow::Owned(inflated))
}

/// Decodes the text of a document. `stated` is the user's encoding: a WHATWG label or a DXF code page name.
pub(super) fn decode<'b>(bytes: &'b [u8], stated: Option<&str>, issues: &mut Issues) -> Cow<'b, str> {
    if let Some((encoding, mark)) = Encoding::for_bom(bytes) {
        return decode_with(encoding, bytes.get(mark..).unwrap_or(&[]), issues);
    }
    let stated_encoding = stated.and_then(by_label);
    if let (Some(label), None) = (stated, stated_encoding) {
        issues.report(&issues::ENCODING, Place::Document, format!("`{label}` is not a known encoding"));
    }
    let declared = match (stated_encoding, bytes) {
        (Some(encoding), _) => Some(encoding),
        (None, [b'<', 0, ..]) => Some(UTF_16LE),
        (None, [0, b'<', ..]) => Some(UTF_16BE),
        (None, _) => declared_encoding(bytes, issues),
    };
    match declared {
        Some(encoding) if encoding != UTF_8 => decode_with(encoding, bytes, issues),
        _ => match std::str::from_utf8(bytes) {
            Ok(text) => Cow::Borrowed(text),
            // Cut in the middle of a character: the rest is fine.
            Err(error) if error.error_len().is_none() => decode_with(UTF_8, bytes, issues),
            Err(error) => {
                let detail = format!("not UTF-8 from byte {} on, read as windows-1252", error.valid_up_to());
                issues.fixed(&issues::ENCODING, Place::Byte { byte: error.valid_up_to() as u64 }, detail);
                decode_with(WINDOWS_1252, bytes, issues)
            }
        },
    }
}

fn decode_with<'b>(encoding: &'static Encoding, bytes: &'b [u8], issues: &mut Issues) -> Cow<'b, str> {
    let (text, had_errors) = encoding.decode_without_bom_handling(bytes);
    if had_errors {
        issues.fixed(&issues::UNDECODABLE, Place::Document, encoding.name());
    }
    text
}

fn by_label(label: &str) -> Option<&'static Encoding> {
    let label = label.trim();
    Encoding::for_label(label.as_bytes()).or_else(|| {
        let lower = label.to_ascii_lowercase();
        let page = lower.strip_prefix("ansi_").or_else(|| lower.strip_prefix("cp"))?;
        Encoding::for_label(format!("windows-{page}").as_bytes())
    })
}

/// `encoding="…"` of the XML declaration.
fn declared_encoding(bytes: &[u8], issues: &mut Issues) -> Option<&'static Encoding> {
    let head = bytes.trim_ascii_start();
    let head = head.get(..256.min(head.len()))?;
    let declaration = head.strip_prefix(b"<?xml")?;
    let declaration = declaration.get(..memchr::memmem::find(declaration, b"?>")?)?;
    let after = declaration.get(memchr::memmem::find(declaration, b"encoding")? + 8..)?;
    let value = after.trim_ascii_start().strip_prefix(b"=")?.trim_ascii_start();
    let (quote, value) = value.split_first()?;
    let label = value.get(..memchr::memchr(*quote, value)?)?;
    match Encoding::for_label(label) {
        // It could be read up to here byte by byte, so it is not UTF-16 whatever it says.
        Some(encoding) if encoding == UTF_16LE || encoding == UTF_16BE => {
            issues.fixed(&issues::ENCODING, Place::Document, "declared as UTF-16, read as UTF-8");
            None
        }
        Some(encoding) => Some(encoding),
        None => {
            let detail = format!("unknown encoding `{}`, read as UTF-8", String::from_utf8_lossy(label));
            issues.fixed(&issues::ENCODING, Place::Document, detail);
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decoded(bytes: &[u8], stated: Option<&str>) -> (String, u64) {
        let mut issues = Issues::new();
        let text = decode(bytes, stated, &mut issues).into_owned();
        (text, issues.total())
    }

    #[test]
    fn encodings() {
        let latin = b"<?xml version='1.0' encoding='ISO-8859-1'?><t>K\xfcche</t>";
        let (text, issues) = decoded(latin, None);
        assert!(text.contains("Küche") && issues == 0);
        let (text, issues) = decoded(b"<t>K\xfcche</t>", None);
        assert!(text.contains("Küche") && issues == 1);
        let wide: Vec<u8> = "<t>Küche</t>".encode_utf16().flat_map(u16::to_be_bytes).collect();
        assert_eq!(decoded(&wide, None), ("<t>Küche</t>".to_owned(), 0));
        let marked = [&[0xff, 0xfe][..], &"<t>ü</t>".encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<_>>()];
        assert_eq!(decoded(&marked.concat(), Some("latin1")), ("<t>ü</t>".to_owned(), 0));
        assert_eq!(decoded(b"<t>\xfc</t>", Some("ANSI_1252")), ("<t>ü</t>".to_owned(), 0));
        assert_eq!(decoded("<t>ü</t>".as_bytes(), Some("klingon")), ("<t>ü</t>".to_owned(), 1));
        let (_, issues) = decoded(b"<?xml version='1.0' encoding='utf-16'?><t/>", None);
        assert_eq!(issues, 1);
        assert_eq!(decoded("<t>ü".as_bytes().get(..4).unwrap(), None), ("<t>\u{fffd}".to_owned(), 1));
    }
}
