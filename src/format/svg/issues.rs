//! Issue codes of SVG reading (`SVG…`), and the line numbers they are reported with.

use crate::issue::{Code, Issues, Place};

pub(super) static ENCODING: Code = Code::warning(
    "SVG101",
    "text is not in the encoding that is declared, and was read in another",
    "save the file as UTF-8, or set `encoding`",
);
pub(super) static UNDECODABLE: Code = Code::warning(
    "SVG102",
    "characters cannot be decoded and were replaced",
    "save the file as UTF-8, or set `encoding`",
);
pub(super) static COMPRESSION: Code =
    Code::error("SVG103", "compressed data is damaged, what could be inflated was read", "export the drawing again");
pub(super) static XML_FAULT: Code = Code::error(
    "SVG104",
    "reading stopped at a fault in the XML, everything before it was kept",
    "repair the file at the place given, or export the drawing again",
);
pub(super) static UNCLOSED: Code = Code::error(
    "SVG105",
    "the document ends inside elements, it is probably cut off",
    "look whether the file was transferred whole",
);
pub(super) static END_TAG: Code = Code::warning("SVG106", "an end tag does not match", "export the drawing again");
pub(super) static TOO_DEEP: Code = Code::error(
    "SVG107",
    "elements are nested deeper than the limit and were left out",
    "raise `limits.element_depth`, or ungroup the drawing",
);
pub(super) static SECOND_ROOT: Code =
    Code::warning("SVG108", "a second root element was left out", "split the file into one drawing each");
pub(super) static ENTITY: Code = Code::note(
    "SVG109",
    "an entity declared by the document is not expanded, for safety",
    "export without entities if a text depends on it",
);
pub(super) static DEAD_REFERENCE: Code =
    Code::warning("SVG120", "a reference leads nowhere in this document", "embed what is referred to before exporting");
pub(super) static SELF_REFERENCE: Code =
    Code::error("SVG121", "a `use` refers to itself and is left out", "remove the circular reference");
pub(super) static USE_TOO_DEEP: Code =
    Code::error("SVG122", "`use` nests deeper than the limit and is left out", "raise `limits.block_depth`");
pub(super) static PATH_DATA: Code = Code::warning(
    "SVG130",
    "path data has a fault, the path is drawn up to it",
    "repair the path at the element given",
);
pub(super) static VALUE: Code = Code::warning(
    "SVG131",
    "a value is not understood and its default is used",
    "write the value as SVG 1.1 or 2 defines it",
);
pub(super) static NOT_FINITE: Code =
    Code::error("SVG132", "coordinates are not finite numbers, the shape is left out", "repair the element given");
pub(super) static TOO_LONG: Code =
    Code::error("SVG133", "a value is longer than the limit and is left out", "raise `limits.string_bytes`");
pub(super) static NO_SIZE: Code = Code::warning(
    "SVG140",
    "no physical width or height, the length of a unit is not known",
    "state `metres_per_unit`, or give the root a width in mm, cm or in and a viewBox",
);
pub(super) static UNEQUAL_SCALE: Code = Code::warning(
    "SVG141",
    "width and height give different lengths of a unit, preserveAspectRatio decided",
    "make width and height fit the viewBox",
);
pub(super) static STYLE_RULE: Code = Code::note(
    "SVG150",
    "a style rule is not understood and has no effect",
    "use element, class, id, attribute and descendant selectors",
);
pub(super) static UNPAINTED: Code = Code::note(
    "SVG151",
    "a shape has neither fill nor stroke and counts as hidden",
    "set `include_hidden` if such shapes matter (they often are click areas)",
);
pub(super) static CLIP: Code = Code::warning(
    "SVG152",
    "a clip path cannot be applied as defined",
    "apply the clip in the drawing program before exporting",
);
pub(super) static CLIPPED_AWAY: Code =
    Code::note("SVG153", "content lies outside its clip path and counts as hidden", "nothing, if that is intended");
pub(super) static EFFECT: Code = Code::note(
    "SVG154",
    "masks and filters are not applied, content is kept whole",
    "apply them in the drawing program if they hide content",
);

pub(super) static ALL: &[&Code] = &[
    &ENCODING,
    &UNDECODABLE,
    &COMPRESSION,
    &XML_FAULT,
    &UNCLOSED,
    &END_TAG,
    &TOO_DEEP,
    &SECOND_ROOT,
    &ENTITY,
    &DEAD_REFERENCE,
    &SELF_REFERENCE,
    &USE_TOO_DEEP,
    &PATH_DATA,
    &VALUE,
    &NOT_FINITE,
    &TOO_LONG,
    &NO_SIZE,
    &UNEQUAL_SCALE,
    &STYLE_RULE,
    &UNPAINTED,
    &CLIP,
    &CLIPPED_AWAY,
    &EFFECT,
];

/// Issues with the line of the text they occurred on. Lines and details are worked out only for the samples
/// that are kept.
#[derive(Debug)]
pub(super) struct Report<'a> {
    text: &'a str,
    pub(super) issues: Issues,
    /// Offset and line counted last.
    counted: (usize, u64),
}

impl<'a> Report<'a> {
    pub(super) fn new(text: &'a str, issues: Issues) -> Self {
        Self { text, issues, counted: (0, 1) }
    }

    /// Counts an occurrence that was repaired.
    pub(super) fn fixed(&mut self, code: &'static Code, offset: usize, detail: impl FnOnce() -> String) {
        let (at, detail) = self.sample(code, offset, detail);
        self.issues.fixed(code, at, detail);
    }

    /// Counts an occurrence whose subject was left as it is or left out.
    pub(super) fn left(&mut self, code: &'static Code, offset: usize, detail: impl FnOnce() -> String) {
        let (at, detail) = self.sample(code, offset, detail);
        self.issues.report(code, at, detail);
    }

    /// Detail of the first fault that damaged the XML.
    pub(super) fn first_fault(&self) -> Option<String> {
        let (_, tally) = self.issues.iter().find(|(id, _)| *id == XML_FAULT.id)?;
        tally.samples.first().map(|sample| format!("{}: {}", sample.at, sample.detail))
    }

    fn sample(&mut self, code: &'static Code, offset: usize, detail: impl FnOnce() -> String) -> (Place, String) {
        if self.issues.count(code) >= Issues::MAX_SAMPLES as u64 {
            return (Place::Document, String::new());
        }
        let mut detail = detail();
        if detail.len() > 200 {
            let end = (0..=200).rev().find(|at| detail.is_char_boundary(*at)).unwrap_or(0);
            detail.truncate(end);
            detail.push('…');
        }
        (Place::Line { line: self.line(offset) }, detail)
    }

    fn line(&mut self, offset: usize) -> u64 {
        let offset = offset.min(self.text.len());
        let (from, line) = if offset >= self.counted.0 { self.counted } else { (0, 1) };
        let between = self.text.as_bytes().get(from..offset).unwrap_or(&[]);
        self.counted = (offset, line + memchr::memchr_iter(b'\n', between).count() as u64);
        self.counted.1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_counted_forward_and_back() {
        let mut report = Report::new("a\nb\nc\nd", Issues::new());
        assert_eq!(report.line(0), 1);
        assert_eq!(report.line(6), 4);
        assert_eq!(report.line(2), 2);
        assert_eq!(report.line(99), 4);
    }
}
