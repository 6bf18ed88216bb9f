//! The name of an output: `A/L02.dxf` → `A/L02.dxf.geojson`, page 3 of `A/set.pdf` → `A/set.pdf.p3.geojson`.
//!
//! Names are pure, portable and never the same for two units: what some system cannot hold or reads as something
//! else (`%`, `:`, control characters, a dot or blank at the end, `CON`, `..`) is written as `%` and two hexadecimal digits
//! a byte, and so is what would make one name of two (a file called `set.pdf.p3`, a folder called `x.geojson`). Names too long
//! are cut and get their digest. What does not need it is left as it is, so that people recognize their files.

use plan2geo_actors::Unit;
use sha2::{Digest as _, Sha256};

use crate::drawing::SourceFormat;

/// Folder below the output that holds the state of runs; no drawing's output can lie in it.
pub(crate) const STATE_FOLDER: &str = "_plan2geo";

/// Suffix of the main output.
pub(crate) const SUFFIX: &str = ".geojson";

/// Bytes of one part of a path, before suffixes; file systems take 255 with them.
const MAX_PART: usize = 200;

/// Ends of a folder's name that could be those of an output.
const FILE_ENDS: [&str; 3] = [".geojson", ".json", ".txt"];

/// The main output of a unit, relative to the root of the sink, with `/`.
pub(crate) fn output_name(unit: &Unit) -> String {
    format!("{}{SUFFIX}", base_name(&unit.doc_id, unit.page.get(), unit.format == SourceFormat::Pdf.as_str()))
}

/// The name without suffix: the document, and the page of a document of pages.
pub(crate) fn base_name(doc_id: &str, page: u32, paged: bool) -> String {
    let mut name = String::with_capacity(doc_id.len() + 16);
    let mut parts = doc_id.split('/').peekable();
    let mut is_first = true;
    while let Some(part) = parts.next() {
        let is_folder = parts.peek().is_some();
        part_name(part, is_folder, is_first, &mut name);
        if is_folder {
            name.push('/');
        }
        is_first = false;
    }
    if paged || page > 1 {
        name.push_str(&format!(".p{page}"));
    }
    name
}

fn part_name(part: &str, is_folder: bool, is_first: bool, into: &mut String) {
    let mut escaped = String::with_capacity(part.len());
    let forced = forced_escape(part, is_folder, is_first);
    for (at, character) in part.char_indices() {
        let is_last = at + character.len_utf8() == part.len();
        let unportable = character.is_control()
            || matches!(character, '%' | '<' | '>' | ':' | '"' | '|' | '?' | '*' | '\\')
            || (is_last && matches!(character, '.' | ' '));
        if unportable || forced == Some(at) {
            for byte in character.to_string().bytes() {
                escaped.push_str(&format!("%{byte:02X}"));
            }
        } else {
            escaped.push(character);
        }
    }
    if escaped.is_empty() {
        // A lone `%` is no escape of anything.
        escaped.push('%');
    }
    if escaped.len() > MAX_PART {
        let digest = Sha256::digest(escaped.as_bytes());
        let end = (0..=MAX_PART - 17).rev().find(|end| escaped.is_char_boundary(*end)).unwrap_or(0);
        escaped.truncate(end);
        escaped.push('~');
        digest.iter().take(8).for_each(|byte| escaped.push_str(&format!("{byte:02x}")));
    }
    into.push_str(&escaped);
}

/// The byte of a part that must be escaped because the part as a whole would be taken for something else.
fn forced_escape(part: &str, is_folder: bool, is_first: bool) -> Option<usize> {
    if is_first && is_folder && part.eq_ignore_ascii_case(STATE_FOLDER) {
        return Some(0);
    }
    let stem = part.split('.').next().unwrap_or_default();
    if is_device(stem.trim_end()) || part == ".." || part == "." {
        return Some(0);
    }
    if let Some((head, digest)) = part.rsplit_once('~')
        && digest.len() == 16
        && digest.bytes().all(|byte| byte.is_ascii_hexdigit())
    {
        return Some(head.len());
    }
    let (head, end) = part.rsplit_once('.')?;
    if is_folder {
        let lower = part.to_lowercase();
        return FILE_ENDS.iter().any(|end| lower.ends_with(end)).then_some(head.len());
    }
    let page = end.strip_prefix(['p', 'P'])?;
    (!page.is_empty() && page.bytes().all(|byte| byte.is_ascii_digit())).then_some(head.len())
}

/// Names Windows takes for devices, whatever follows the first dot.
fn is_device(stem: &str) -> bool {
    let upper = stem.to_ascii_uppercase();
    match upper.as_str() {
        "CON" | "PRN" | "AUX" | "NUL" => true,
        _ => {
            let number = upper.strip_prefix("COM").or_else(|| upper.strip_prefix("LPT"));
            number.is_some_and(|number| number.len() == 1 && number.bytes().all(|byte| byte.is_ascii_digit()))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn name(doc_id: &str) -> String {
        base_name(doc_id, 1, false) + SUFFIX
    }

    #[test]
    fn plain_names_stay_as_they_are() {
        for doc_id in ["A/L02.dxf", "plan #3 (old).svg", "ü/ñ.dxf", "pkg.zip!/a.dxf", "a.b.c"] {
            assert_eq!(name(doc_id), format!("{doc_id}.geojson"));
        }
        assert_eq!(base_name("A/set.pdf", 3, true), "A/set.pdf.p3");
        assert_eq!(base_name("A/set.pdf", 1, true), "A/set.pdf.p1");
        assert_eq!(base_name("A/x.dxf", 2, false), "A/x.dxf.p2");
    }

    #[test]
    fn what_cannot_stand_in_a_name_is_escaped() {
        for (doc_id, expected) in [
            ("100%.dxf", "100%25.dxf.geojson"),
            ("a:b?.dxf", "a%3Ab%3F.dxf.geojson"),
            ("a\nb", "a%0Ab.geojson"),
            ("folder./x. ", "folder%2E/x.%20.geojson"),
            ("../../etc/x", "%2E%2E/%2E%2E/etc/x.geojson"),
            ("/etc/x", "%/etc/x.geojson"),
            ("nul.dxf", "%6Eul.dxf.geojson"),
            ("COM1/x", "%43OM1/x.geojson"),
            ("_plan2geo/x.dxf", "%5Fplan2geo/x.dxf.geojson"),
            ("_plan2geo", "_plan2geo.geojson"),
            ("set.pdf.p3", "set.pdf%2Ep3.geojson"),
            ("x.geojson/y", "x%2Egeojson/y.geojson"),
        ] {
            assert_eq!(name(doc_id), expected, "{doc_id}");
        }
    }

    #[test]
    fn long_names_are_cut_and_stay_apart() {
        let long = "é".repeat(300);
        let a = name(&format!("{long}a"));
        assert!(a.len() < 255, "{}", a.len());
        assert_ne!(a, name(&format!("{long}b")));
        let cut = a.trim_end_matches(SUFFIX).to_owned();
        assert_ne!(name(&cut), a, "a file that is called like a cut name");
    }

    proptest! {
        /// Two units never share an output, and no output leaves the root.
        #[test]
        fn names_are_injective_and_stay_inside(
            a in "([a.%~_ p3:]{0,4}/){0,2}[a.%~_ p3]{0,6}",
            b in "([a.%~_ p3:]{0,4}/){0,2}[a.%~_ p3]{0,6}",
            pages in (1u32..4, 1u32..4, any::<bool>(), any::<bool>()),
        ) {
            let (first, second) = (base_name(&a, pages.0, pages.2), base_name(&b, pages.1, pages.3));
            let differ = a != b || pages.0 != pages.1;
            prop_assert!(!differ || first != second, "{a:?} {b:?} → {first:?}");
            for part in first.split('/') {
                prop_assert!(!part.is_empty() && part != "." && part != "..", "{first:?}");
            }
            // No output is a folder of another.
            let nested = format!("{second}.geojson").starts_with(&format!("{first}.geojson/"));
            prop_assert!(!nested, "{} {}", first, second);
        }
    }
}
