//! The format of a document by its first bytes; the extension is only a hint that may be wrong.
//!
//! [`sniff`] needs the first [`PREFIX`] bytes (more do no harm) and the name. Bytes decide; the name breaks ties
//! where the bytes alone cannot (a licence comment longer than the prefix, a DXF whose head was cut off). What is
//! recognized but not a floor plan we read is named in [`Sniffed::other`], so that a dead letter can say "a ZIP
//! archive" instead of "unknown". Gzip is looked into: `.svgz` and `.dxf.gz` are SVG and DXF.
//!
//! No I/O, no allocation beyond the inflated or decoded prefix, no judgement about whether the rest is sound.

use std::borrow::Cow;
use std::io::Read as _;

use super::dxf;
use crate::drawing::SourceFormat;

/// Bytes of a document that [`sniff`] wants to see.
pub const PREFIX: usize = 4096;

/// How far into a file `%PDF-` may stand; other readers are as lenient.
const PDF_JUNK: usize = 1024;

/// What the first bytes and the name say.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Sniffed {
    /// The format, if one was recognized.
    pub format: Option<SourceFormat>,
    /// Whether the extension says something else than the bytes.
    pub extension_disagrees: bool,
    /// What the document is instead, when it is none of our formats but known: `a ZIP archive`, a page, a pointer …
    pub other: Option<&'static str>,
}

/// Tells the format of a document from its first bytes and its name (or path).
pub fn sniff(first_bytes: &[u8], name: &str) -> Sniffed {
    let expected = format_of_name(name);
    let (format, other) = match by_bytes(first_bytes, expected, true) {
        Found::Format(format) => (Some(format), None),
        Found::Other(what) => (None, Some(what)),
        Found::Nothing => (None, None),
    };
    Sniffed { format, extension_disagrees: expected.is_some() && expected != format, other }
}

/// The format that the extension of `name` promises: `.dxf`, `.dwg`, `.svg`, `.svgz`, `.pdf`, or the first and
/// third followed by `.gz`; in any case of letters.
pub fn format_of_name(name: &str) -> Option<SourceFormat> {
    let base = name.rsplit(['/', '\\']).next().unwrap_or(name);
    let lower = base.to_ascii_lowercase();
    let (stem, gzipped) = lower.strip_suffix(".gz").map_or((lower.as_str(), false), |stem| (stem, true));
    let (_, extension) = stem.rsplit_once('.')?;
    match extension {
        "dxf" => Some(SourceFormat::Dxf),
        "svg" => Some(SourceFormat::Svg),
        "svgz" if !gzipped => Some(SourceFormat::Svg),
        "dwg" if !gzipped => Some(SourceFormat::Dwg),
        "pdf" if !gzipped => Some(SourceFormat::Pdf),
        _ => None,
    }
}

/// What a server sends for a file it does not have, or does not give without a login.
const HTML: &str = "an HTML page, perhaps a server's answer in place of the file: download it again";

enum Found {
    Format(SourceFormat),
    Other(&'static str),
    Nothing,
}

fn by_bytes(bytes: &[u8], expected: Option<SourceFormat>, may_inflate: bool) -> Found {
    if bytes.starts_with(&[0x1f, 0x8b]) && may_inflate {
        return by_inflated_bytes(bytes, expected);
    }
    if dxf::is_binary(bytes) || dxf::is_first_form(bytes) {
        return Found::Format(SourceFormat::Dxf);
    }
    if is_dwg(bytes) {
        return Found::Format(SourceFormat::Dwg);
    }
    if bytes.starts_with(b"%PDF-") {
        return Found::Format(SourceFormat::Pdf);
    }
    if let Some(what) = known_stranger(bytes) {
        return Found::Other(what);
    }
    let text = as_ascii_text(bytes);
    match xml_root(&text) {
        XmlRoot::Svg => return Found::Format(SourceFormat::Svg),
        XmlRoot::Html => return Found::Other(HTML),
        XmlRoot::Other => return Found::Other("an XML document without an `svg` root"),
        XmlRoot::Undecided if expected == Some(SourceFormat::Svg) => return Found::Format(SourceFormat::Svg),
        XmlRoot::Undecided | XmlRoot::NotXml => {}
    }
    if is_dxf_text(&text, expected == Some(SourceFormat::Dxf)) {
        return Found::Format(SourceFormat::Dxf);
    }
    let head = bytes.get(..PDF_JUNK.min(bytes.len())).unwrap_or(bytes);
    if memchr::memmem::find(head, b"%PDF-").is_some() {
        return Found::Format(SourceFormat::Pdf);
    }
    // Junk before the root element: only believed when the name says so as well.
    if expected == Some(SourceFormat::Svg) && memchr::memmem::find(&text, b"<svg").is_some() {
        return Found::Format(SourceFormat::Svg);
    }
    Found::Nothing
}

fn by_inflated_bytes(bytes: &[u8], expected: Option<SourceFormat>) -> Found {
    let mut head = Vec::with_capacity(PREFIX);
    // The end of the prefix cuts the stream: what was inflated before the error is what counts.
    let _cut = flate2::read::MultiGzDecoder::new(bytes).take(PREFIX as u64).read_to_end(&mut head);
    match by_bytes(&head, expected, false) {
        found @ Found::Format(SourceFormat::Dxf | SourceFormat::Svg) => found,
        _ => Found::Other("a gzip archive that holds neither DXF nor SVG"),
    }
}

/// `AC1015`, and the forms before Release 9: `AC1.40`, `AC2.10`, `MC0.0`.
fn is_dwg(bytes: &[u8]) -> bool {
    let Some(head) = bytes.first_chunk::<6>() else { return false };
    let digits = |from: &[u8]| from.iter().all(u8::is_ascii_digit);
    match head {
        [b'A', b'C', b'1', rest @ ..] if digits(rest) => true,
        [b'A', b'C', b'1' | b'2', b'.', rest @ ..] => digits(rest),
        [b'M', b'C', b'0', b'.', b'0', _] => true,
        _ => false,
    }
}

/// Signatures of files that people put beside their plans.
fn known_stranger(bytes: &[u8]) -> Option<&'static str> {
    const SIGNATURES: &[(&[u8], &str)] = &[
        (b"PK\x03\x04", "a ZIP archive"),
        (b"PK\x05\x06", "an empty ZIP archive"),
        (b"\x89PNG\r\n\x1a\n", "a PNG image"),
        (b"\xff\xd8\xff", "a JPEG image"),
        (b"GIF8", "a GIF image"),
        (b"II*\0", "a TIFF image"),
        (b"MM\0*", "a TIFF image"),
        (b"BM", "a BMP image"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "an OLE compound file (Revit, MicroStation V8 or old Office)"),
        (b"ISO-10303-21", "a STEP or IFC file"),
        (b"(DWF V", "a DWF file"),
        (b"%!PS", "a PostScript file"),
        (b"7z\xbc\xaf\x27\x1c", "a 7z archive"),
        (b"Rar!", "a RAR archive"),
        (b"{", "a JSON document"),
        (b"\x08\x09\xfe\x02", "a MicroStation V7 design file"),
        (
            b"version https://git-lfs.github.com/spec/",
            "a pointer of Git LFS in place of the file, which `git lfs pull` fetches",
        ),
        (b"/annex/objects/", "a pointer of git-annex in place of the file, which `git annex get` fetches"),
    ];
    if bytes.starts_with(b"BM") && bytes.first_chunk::<10>().is_none_or(|head| head[6..10] != [0; 4]) {
        return None;
    }
    SIGNATURES.iter().find(|(signature, _)| bytes.starts_with(signature)).map(|(_, what)| *what)
}

/// The prefix with its byte order mark removed and UTF-16 folded to ASCII (other characters become `?`).
fn as_ascii_text(bytes: &[u8]) -> Cow<'_, [u8]> {
    let fold = |wide: &[u8], unit: fn([u8; 2]) -> u16| {
        let (pairs, _) = wide.as_chunks::<2>();
        Cow::Owned(pairs.iter().map(|pair| u8::try_from(unit(*pair)).unwrap_or(b'?')).collect())
    };
    match bytes {
        [0xef, 0xbb, 0xbf, rest @ ..] => Cow::Borrowed(rest),
        [0xff, 0xfe, rest @ ..] => fold(rest, u16::from_le_bytes),
        [0xfe, 0xff, rest @ ..] => fold(rest, u16::from_be_bytes),
        [b'<', 0, ..] => fold(bytes, u16::from_le_bytes),
        [0, b'<', ..] => fold(bytes, u16::from_be_bytes),
        _ => Cow::Borrowed(bytes),
    }
}

#[derive(Debug, PartialEq, Eq)]
enum XmlRoot {
    Svg,
    Html,
    Other,
    /// XML so far, but the prefix ends before the root element.
    Undecided,
    NotXml,
}

/// Skips the XML declaration, comments, instructions and the document type, then looks at the root's name.
fn xml_root(text: &[u8]) -> XmlRoot {
    let mut rest = text.trim_ascii_start();
    let mut met_markup = false;
    loop {
        if rest.is_empty() {
            return if met_markup { XmlRoot::Undecided } else { XmlRoot::NotXml };
        }
        let Some(inner) = rest.strip_prefix(b"<") else { return XmlRoot::NotXml };
        let after = if let Some(comment) = inner.strip_prefix(b"!--") {
            after_needle(comment, b"-->")
        } else if inner.starts_with(b"?") {
            after_needle(inner, b"?>")
        } else if inner.starts_with(b"!") {
            let head = inner.get(..64.min(inner.len())).unwrap_or(inner).to_ascii_lowercase();
            let names = |root: &[u8]| head.strip_prefix(b"!doctype").is_some_and(|n| n.trim_ascii().starts_with(root));
            if names(b"html") {
                return XmlRoot::Html;
            }
            if names(b"svg") {
                return XmlRoot::Svg;
            }
            after_document_type(inner)
        } else {
            let end = inner.iter().position(|byte| matches!(byte, b'>' | b'/' | b' ' | b'\t' | b'\r' | b'\n'));
            let name = inner.get(..end.unwrap_or(inner.len())).unwrap_or(inner);
            let local = name.rsplit(|byte| *byte == b':').next().unwrap_or(name);
            let plausible = name.first().is_some_and(|byte| byte.is_ascii_alphabetic() || *byte == b'_');
            return match local.to_ascii_lowercase().as_slice() {
                b"svg" => XmlRoot::Svg,
                b"html" => XmlRoot::Html,
                _ if !plausible => XmlRoot::NotXml,
                _ if end.is_none() => XmlRoot::Undecided,
                _ => XmlRoot::Other,
            };
        };
        met_markup = true;
        match after {
            Some(after) => rest = after.trim_ascii_start(),
            None => return XmlRoot::Undecided,
        }
    }
}

fn after_needle<'a>(text: &'a [u8], needle: &[u8]) -> Option<&'a [u8]> {
    text.get(memchr::memmem::find(text, needle)? + needle.len()..)
}

/// The text after a document type with or without an internal subset in brackets.
fn after_document_type(text: &[u8]) -> Option<&[u8]> {
    let mut in_subset = false;
    let mut quote = None;
    for (index, byte) in text.iter().enumerate() {
        match (quote, byte) {
            (Some(open), byte) if open == *byte => quote = None,
            (Some(_), _) => {}
            (None, b'"' | b'\'') => quote = Some(*byte),
            (None, b'[') => in_subset = true,
            (None, b']') => in_subset = false,
            (None, b'>') if !in_subset => return text.get(index + 1..),
            (None, _) => {}
        }
    }
    None
}

/// Pairs of lines, group code and value. The first pair that is not a comment (999) opens a section. With a name
/// that says DXF, a run of plausible pairs is enough: the head of the file may be lost.
fn is_dxf_text(text: &[u8], named_dxf: bool) -> bool {
    let mut lines = Lines(text).skip_while(|line| line.trim_ascii().is_empty());
    let mut num_pairs = 0u32;
    let mut num_comments = 0u32;
    while let Some(code) = lines.next().and_then(group_code) {
        let Some(value) = lines.next().map(<[u8]>::trim_ascii) else { break };
        match code {
            999 => num_comments += 1,
            0 if num_pairs == 0 && (value.eq_ignore_ascii_case(b"SECTION") || value.eq_ignore_ascii_case(b"EOF")) => {
                return true;
            }
            _ => {}
        }
        num_pairs += u32::from(code != 999);
        if num_pairs >= 3 {
            return named_dxf;
        }
    }
    // A comment that fills the prefix.
    num_pairs == 0 && num_comments > 0
}

fn group_code(line: &[u8]) -> Option<i32> {
    let line = line.trim_ascii();
    if line.len() > 6 {
        return None;
    }
    let code: i32 = std::str::from_utf8(line).ok()?.parse().ok()?;
    (-5..=1071).contains(&code).then_some(code)
}

/// Lines ended by `\n`, `\r\n` or `\r` alone; a last line without an end counts.
struct Lines<'a>(&'a [u8]);

impl<'a> Iterator for Lines<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        if self.0.is_empty() {
            return None;
        }
        let Some(end) = memchr::memchr2(b'\n', b'\r', self.0) else { return Some(std::mem::take(&mut self.0)) };
        let (line, rest) = self.0.split_at(end);
        self.0 = rest.strip_prefix(b"\r\n").or_else(|| rest.get(1..)).unwrap_or(&[]);
        Some(line)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    fn format(bytes: &[u8], name: &str) -> Option<SourceFormat> {
        sniff(bytes, name).format
    }

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    fn utf16(text: &str, mark: bool, unit: fn(u16) -> [u8; 2]) -> Vec<u8> {
        let marked = mark.then_some(0xfeff);
        marked.into_iter().chain(text.encode_utf16()).flat_map(unit).collect()
    }

    #[test]
    fn dxf_is_told_from_its_first_pair() {
        for text in [
            "0\nSECTION\n2\nHEADER\n",
            "  0\r\nSECTION\r\n  2\r\nENTITIES\r\n",
            "\u{feff}  0\nSECTION\n",
            "999\nmade by hand\n999\n\n0\nSECTION\n",
            "0\rSECTION\r2\rHEADER\r",
            "\n\n  0\nSECTION\n",
            "0\nsection\n",
            "0\nEOF\n",
        ] {
            assert_eq!(format(text.as_bytes(), "x"), Some(SourceFormat::Dxf), "{text:?}");
        }
        for binary in [&b"AutoCAD Binary DXF\r\n\x1a\0\0\0SECTION"[..], b"AutoCAD Binary DXF\n\x1a\0\0SECTION"] {
            assert_eq!(format(binary, ""), Some(SourceFormat::Dxf));
        }
        assert_eq!(format(b"EXTENTS,1\r\n0.0,8.0,0.0,8.0\r\n", "old.dxf"), Some(SourceFormat::Dxf));
        let long_comment = format!("999\n{}", "licence ".repeat(1000));
        assert_eq!(format(&long_comment.as_bytes()[..PREFIX], "a.dxf"), Some(SourceFormat::Dxf));
        assert_eq!(format(&gzip(b"  0\nSECTION\n  2\nHEADER\n"), "a.dxf.gz"), Some(SourceFormat::Dxf));
        let wide = utf16("  0\r\nSECTION\r\n", true, u16::to_le_bytes);
        assert_eq!(format(&wide, "a.dxf"), Some(SourceFormat::Dxf));
    }

    #[test]
    fn a_beheaded_dxf_needs_its_name() {
        let text = b" 10\n1.0\n 20\n2.0\n 30\n0.0\n  0\nLINE\n";
        assert_eq!(format(text, "a.dxf"), Some(SourceFormat::Dxf));
        assert_eq!(format(text, "a.txt"), None);
        assert_eq!(format(b"hello world\n", "a.dxf"), None);
    }

    #[test]
    fn dwg_is_told_by_its_version() {
        for head in ["AC1009", "AC1015", "AC1032", "AC1.40", "AC2.10", "MC0.0\0"] {
            assert_eq!(format(head.as_bytes(), ""), Some(SourceFormat::Dwg), "{head}");
        }
        assert_eq!(format(b"ACME corporation", "a.dwg"), None);
    }

    #[test]
    fn svg_is_told_by_its_root() {
        for text in [
            "<svg xmlns='http://www.w3.org/2000/svg'/>",
            "\u{feff}<?xml version='1.0'?>\n<!-- drawn by hand -->\n<svg/>",
            "<?xml version='1.0'?><!DOCTYPE svg PUBLIC '-//W3C//DTD SVG 1.1//EN' 'x.dtd'><svg/>",
            "<!DOCTYPE svg [<!ENTITY a \"<svg>]>\">]>\n<svg/>",
            "<!DOCTYPE x [<!ENTITY a \"]>\">]>\n<ns0:svg/>",
            "<svg:svg xmlns:svg='http://www.w3.org/2000/svg'>",
            " \n\t<svg\nwidth='3'>",
        ] {
            assert_eq!(format(text.as_bytes(), "x"), Some(SourceFormat::Svg), "{text:?}");
        }
        for mark in [true, false] {
            for unit in [u16::to_le_bytes, u16::to_be_bytes] {
                let wide = utf16("<?xml version='1.0' encoding='UTF-16'?><svg/>", mark, unit);
                assert_eq!(format(&wide, "x"), Some(SourceFormat::Svg));
            }
        }
        assert_eq!(format(&gzip(b"<svg/>"), "x.svgz"), Some(SourceFormat::Svg));
        let long = format!("<!-- {} --><svg/>", "x".repeat(5000));
        assert_eq!(format(&long.as_bytes()[..PREFIX], "a.svg"), Some(SourceFormat::Svg));
        assert_eq!(format(&long.as_bytes()[..PREFIX], "a.xml"), None);
        assert_eq!(format(b"This is our plan: <svg/>", "a.svg"), Some(SourceFormat::Svg));
        assert_eq!(format(b"This is our plan: <svg/>", "a.txt"), None);
    }

    #[test]
    fn pdf_may_have_a_kibibyte_of_junk_before_it() {
        assert_eq!(format(b"%PDF-1.7\n", ""), Some(SourceFormat::Pdf));
        let junk = |n: usize| [vec![b'x'; n], b"%PDF-1.4\n".to_vec()].concat();
        assert_eq!(format(&junk(1019), ""), Some(SourceFormat::Pdf));
        assert_eq!(format(&junk(1020), ""), None);
    }

    #[test]
    fn strangers_are_named() {
        assert_eq!(sniff(b"PK\x03\x04....", "plans.zip").other, Some("a ZIP archive"));
        assert_eq!(sniff(b"<!DOCTYPE html><html>", "a.svg").other, Some(HTML));
        let pointer = b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n";
        assert!(sniff(pointer, "a.dwg").other.is_some_and(|what| what.contains("`git lfs pull`")));
        assert!(
            sniff(b"/annex/objects/SHA256E-s12--ab.dxf\n", "a.dxf")
                .other
                .is_some_and(|what| what.contains("git-annex"))
        );
        assert_eq!(sniff(b"<kml xmlns='x'>", "a.svg").other, Some("an XML document without an `svg` root"));
        assert!(sniff(&gzip(b"%PDF-1.4"), "a.gz").other.is_some());
        assert_eq!(sniff(b"", "a.svg"), Sniffed { format: None, extension_disagrees: true, other: None });
        assert_eq!(sniff(b"BMW plant, ground floor", "a").other, None);
    }

    #[test]
    fn an_extension_that_disagrees_is_told() {
        assert!(sniff(b"<svg/>", "a/b.PDF").extension_disagrees);
        assert!(!sniff(b"<svg/>", "a/b.SVG").extension_disagrees);
        assert!(!sniff(&gzip(b"<svg/>"), "b.svg.gz").extension_disagrees);
        assert!(!sniff(b"<svg/>", "b.backup").extension_disagrees);
        assert!(!sniff(b"%PDF-1.5", "b.ai").extension_disagrees);
        assert_eq!(format_of_name("x.d/plan"), None);
    }

    #[test]
    fn cut_prefixes_never_panic() {
        let samples: [&[u8]; 4] = [
            b"<?xml version='1.0'?><!DOCTYPE svg [<!ENTITY a 'b'>]><svg/>",
            b"999\nx\n  0\nSECTION\n",
            b"AutoCAD Binary DXF\r\n\x1a\0",
            &gzip(b"<?xml version='1.0'?><svg/>"),
        ];
        for sample in samples {
            for end in 0..sample.len() {
                sniff(&sample[..end], "a.svg");
                sniff(&sample[..end], "a.dxf");
            }
        }
    }
}
