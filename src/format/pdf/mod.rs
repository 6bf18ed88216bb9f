//! The PDF reader: one page of a document → a drawing in points, y upward, origin at the lower left of the crop box.
//!
//! [`count_pages`] tells in milliseconds how many units a document is. [`OpenDocument`] keeps the document that was
//! read last, so that 500 pages cost one parse. `objects` and `font` stand between the PDF library and the rest,
//! `content` runs a page, `layers` says what is shown, `text` makes lines of glyphs, `scale` finds the unit.
//!
//! Page space: points of 1/72 inch after `UserUnit` and `Rotate`. Pixels are not read: an image is counted.

mod clip;
mod colour;
mod content;
mod filters;
mod font;
mod geospatial;
mod layers;
mod objects;
mod path;
mod scale;
mod state;
mod streams;
mod text;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use bytes::Bytes;
use hayro_syntax::page::{Page, Rotation};
use hayro_syntax::{DecryptionError, LoadPdfError, Pdf, PdfVersion};

use super::{Checkpoint, Limits, Read, ReadError, ReadOptions, lettering};
use crate::drawing::{
    Affine, Colour, DrawingBuilder, Geometry, HorizontalAlign, Identity, Item, Properties, Rect, SourceFormat, Text,
    VerticalAlign,
};
use crate::issue::{Code, Issues, Place};
use content::{Interpreter, Tallies};
use layers::Layers;
use scale::Viewports;
use text::Line;

static HIDDEN: Code = Code::note(
    "PDF111",
    "content of hidden layers, hidden annotations or without colour",
    "show the layer in the source, or include hidden content",
);
static OUTSIDE: Code = Code::note(
    "PDF112",
    "paths outside of the page or of their clip were left out",
    "nothing needs to be done: a viewer does not show them either",
);
static IMAGES: Code = Code::warning(
    "PDF121",
    "the page holds raster images, which are not vectorized",
    "if walls are in the images, export the page as vectors",
);
static RASTER_ONLY: Code = Code::warning(
    "PDF122",
    "the page holds only a raster image",
    "export the page as vectors, or vectorize the scan first",
);
static BLANK: Code = Code::note("PDF123", "the page is blank", "check whether the right page was exported");
static NO_UNICODE: Code = Code::warning(
    "PDF131",
    "characters without a meaning in their font",
    "export the page with embedded fonts and Unicode maps",
);
static BAD_FONT: Code =
    Code::warning("PDF132", "a font could not be read: its text is missing", "export the page with embedded fonts");
static BAD_STREAM: Code = Code::error(
    "PDF141",
    "a content stream could not be decoded: what it shows is missing",
    "repair or re-export the file",
);
static TOO_DEEP: Code = Code::error(
    "PDF142",
    "forms or states nest too deep: what is below is missing",
    "raise `limits.block_depth` (at most 40 count), or re-export the file",
);
static CLIP_NOT_APPLIED: Code = Code::warning(
    "PDF143",
    "two large clip regions were not intersected: the later one was taken",
    "check what lies at the border of the clipped part",
);

/// Issue codes of this format.
pub static CODES: &[&Code] = &[
    &scale::NO_SCALE,
    &scale::WRITTEN_SCALE,
    &scale::SCALES_DISAGREE,
    &HIDDEN,
    &OUTSIDE,
    &IMAGES,
    &RASTER_ONLY,
    &BLANK,
    &NO_UNICODE,
    &BAD_FONT,
    &BAD_STREAM,
    &TOO_DEEP,
    &CLIP_NOT_APPLIED,
];

/// Least part of a page that images cover for it to be a scan.
const SCAN_COVERS: f64 = 0.25;

/// Greatest height of a letter that was turned into a path, points: larger ones are titles.
const LARGEST_LETTER: f64 = 16.0;

/// How many pages a document has. Reads the cross-reference table and the page tree only. Callers compare it with
/// `limits.pages`.
///
/// # Errors
/// [`ReadError::Empty`], [`ReadError::Encrypted`] when a password is needed to open it,
/// [`ReadError::Malformed`] when there is no page tree to be found, [`ReadError::Limit`] for `decompressed_bytes`.
pub fn count_pages(bytes: &Bytes, limits: &Limits) -> Result<u32, ReadError> {
    let pdf = open(bytes, limits.decompressed_bytes)?;
    Ok(u32::try_from(pdf.pages().len()).unwrap_or(u32::MAX))
}

/// The document that was read last, kept open.
#[derive(Default)]
pub struct OpenDocument {
    open: Option<(String, Pdf)>,
}

impl OpenDocument {
    /// Reads a page. `key` identifies the bytes: the document of the last key is still open.
    ///
    /// # Errors
    /// See [`ReadError`].
    pub fn read(
        &mut self,
        key: &str,
        bytes: &Bytes,
        page: u32,
        options: &ReadOptions,
        checkpoint: &Checkpoint<'_>,
    ) -> Result<Read, ReadError> {
        checkpoint()?;
        let result = self.read_open(key, bytes, page, options, checkpoint);
        if matches!(result, Err(ReadError::Malformed { .. })) {
            self.open = None; // what made the library fail may have left it in any state
        }
        result
    }

    fn read_open(
        &mut self,
        key: &str,
        bytes: &Bytes,
        page: u32,
        options: &ReadOptions,
        checkpoint: &Checkpoint<'_>,
    ) -> Result<Read, ReadError> {
        let pdf = self.document(key, bytes, &options.limits)?;
        let pages = u32::try_from(pdf.pages().len()).unwrap_or(u32::MAX);
        if pages > options.limits.pages {
            let limit = u64::from(options.limits.pages);
            return Err(ReadError::Limit { what: "number of pages".to_owned(), key: "pages", limit });
        }
        let index = page.checked_sub(1).map(|index| index as usize);
        let page = index.and_then(|index| pdf.pages().get(index)).ok_or(ReadError::NoSuchPage { page, pages })?;
        guarded(|| read_page(pdf, page, options, checkpoint))?
    }

    fn document(&mut self, key: &str, bytes: &Bytes, limits: &Limits) -> Result<&Pdf, ReadError> {
        if self.open.as_ref().is_none_or(|(open, _)| open != key) {
            self.open = None; // free the old one before the new one is read
            let pdf = open(bytes, limits.decompressed_bytes)?;
            return Ok(&self.open.insert((key.to_owned(), pdf)).1);
        }
        match &self.open {
            Some((_, pdf)) => Ok(pdf),
            None => Err(malformed("no document is open")),
        }
    }
}

fn open(bytes: &Bytes, most_decompressed: u64) -> Result<Pdf, ReadError> {
    if bytes.is_empty() {
        return Err(ReadError::Empty);
    }
    streams::check(bytes, most_decompressed)?;
    let data = Arc::new(bytes.clone());
    let pdf = guarded(|| Pdf::new(data))?.map_err(|error| match error {
        LoadPdfError::Decryption(DecryptionError::PasswordProtected) => ReadError::Encrypted,
        LoadPdfError::Decryption(error) => ReadError::Unsupported {
            what: format!("PDF encryption ({error:?})"),
            remedy: "save it without encryption, for instance with qpdf --decrypt".to_owned(),
        },
        LoadPdfError::Invalid => malformed("no cross-reference table, trailer or page tree could be found"),
    })?;
    if pdf.pages().is_empty() {
        return Err(malformed("document has no pages"));
    }
    Ok(pdf)
}

fn read_page(
    pdf: &Pdf,
    page: &Page<'_>,
    options: &ReadOptions,
    checkpoint: &Checkpoint<'_>,
) -> Result<Read, ReadError> {
    let mut builder = DrawingBuilder::new(SourceFormat::Pdf, &options.limits);
    builder.set_origin(Some(version(pdf.version())), application(pdf));
    let mut issues = Issues::new();
    let frame = Frame::new(page);
    let layers = Layers::new(pdf, &mut builder);
    let mut interpreter = Interpreter::new(&mut builder, checkpoint, layers, frame.to_page, frame.page);
    interpreter.run_page(page)?;
    let Interpreter { tallies, texts, clipper, .. } = interpreter;
    let lines = texts.finish();

    let shows_text = lines.iter().flat_map(|line| &line.runs).any(|run| !run.style.invisible_ink);
    let is_scan = tallies.image_area >= SCAN_COVERS * frame.page.area() && tallies.vectors == 0 && !shows_text;
    if is_scan && !options.raster_only_as_empty {
        return Err(ReadError::RasterOnly);
    }
    let shown = lines.iter().flat_map(|line| &line.runs).filter(|run| run.style.visible && !run.style.invisible_ink);
    let texts = shown.map(|run| run.text.as_str());
    let viewports = Viewports::of_page(page.raw(), frame.user_unit, frame.to_page);
    builder.set_units(scale::decide(options.metres_per_unit, &viewports, texts, &mut issues));
    if let Some(georeference) = viewports.georeference() {
        builder.set_georeference(georeference);
    }
    push_texts(&lines, &mut builder)?;
    report(&tallies, clipper.too_large, is_scan, lines.is_empty(), &mut builder, &mut issues);
    let text = plain_text(&lines, options.limits.string_bytes)?;
    Ok(Read { drawing: lettering::finish(builder, Some(LARGEST_LETTER)), issues, text: Some(text) })
}

/// Where the page lies in user space.
struct Frame {
    /// User space to page space.
    to_page: Affine,
    /// The page in page space: its lower left corner is the origin.
    page: Rect,
    user_unit: f64,
}

impl Frame {
    fn new(page: &Page<'_>) -> Self {
        let stated = page.intersected_crop_box();
        let is_empty = !(stated.width() > 0.0 && stated.height() > 0.0);
        let crop = if is_empty { hayro_syntax::page::A4 } else { stated };
        let user_unit = page.raw().get::<f32>("UserUnit").map_or(1.0, f64::from);
        let user_unit = if user_unit.is_finite() && user_unit > 0.0 { user_unit } else { 1.0 };
        // `Rotate` turns the page clockwise.
        let turned = match page.rotation() {
            Rotation::None => Affine::translate((-crop.x0, -crop.y0)),
            Rotation::Horizontal => Affine::new([0.0, -1.0, 1.0, 0.0, -crop.y0, crop.x1]),
            Rotation::Flipped => Affine::new([-1.0, 0.0, 0.0, -1.0, crop.x1, crop.y1]),
            Rotation::FlippedHorizontal => Affine::new([0.0, 1.0, -1.0, 0.0, crop.y1, -crop.x0]),
        };
        let to_page = Affine::scale(user_unit) * turned;
        let page = to_page.transform_rect_bbox(Rect::new(crop.x0, crop.y0, crop.x1, crop.y1));
        Self { to_page, page, user_unit }
    }
}

fn push_texts(lines: &[Line], builder: &mut DrawingBuilder) -> Result<(), ReadError> {
    let entity = builder.intern("text");
    for run in lines.iter().flat_map(|line| &line.runs) {
        let text = builder.text(Text {
            value: run.text.clone(),
            tag: None,
            at: run.start,
            direction: run.direction,
            height: run.capital,
            horizontal: HorizontalAlign::Left,
            vertical: VerticalAlign::Baseline,
            box_width: None,
        });
        builder.push(Item {
            geometry: Geometry::Text(text),
            entity,
            layer: run.style.layer,
            colour: run.style.colour.map_or(Colour::ByLayer, Colour::Rgb),
            width: 0.0,
            identity: Identity::None,
            visible: run.style.visible && !run.style.invisible_ink,
            properties: Properties::default(),
            clip: None,
        })?;
    }
    Ok(())
}

/// The text that is shown (or lies invisibly over a scan), a line a line.
fn plain_text(lines: &[Line], longest: u64) -> Result<String, ReadError> {
    let mut text = String::new();
    for line in lines {
        let shown = Line { runs: line.runs.iter().filter(|run| run.style.visible).cloned().collect() };
        if shown.runs.is_empty() {
            continue;
        }
        text.push_str(&shown.text());
        text.push('\n');
        if text.len() as u64 > longest {
            return Err(ReadError::Limit { what: "text of the page".to_owned(), key: "string_bytes", limit: longest });
        }
    }
    Ok(text)
}

fn report(
    tallies: &Tallies,
    clips: u64,
    is_scan: bool,
    no_text: bool,
    builder: &mut DrawingBuilder,
    issues: &mut Issues,
) {
    let at = Place::Document;
    for _ in 0..tallies.dots {
        builder.count_unsupported("dot");
    }
    issues.add(&HIDDEN, tallies.hidden, at, "paths and characters");
    issues.add(&OUTSIDE, tallies.outside, at, "paths");
    if is_scan {
        issues.add(&RASTER_ONLY, 1, at, format!("{} images and no vectors", tallies.images));
    } else {
        issues.add(&IMAGES, tallies.images, at, "images");
    }
    if tallies.paths == 0 && tallies.images == 0 && no_text {
        issues.report(&BLANK, at, "no paths, no text, no images");
    }
    issues.add(&NO_UNICODE, tallies.unknown_characters, at, "characters");
    issues.add(&BAD_FONT, tallies.unreadable_fonts, at, "fonts");
    issues.add(&BAD_STREAM, tallies.unreadable_streams, at, "streams");
    issues.add(&TOO_DEEP, tallies.forms_too_deep + tallies.states_too_deep, at, "forms and states");
    issues.add(&CLIP_NOT_APPLIED, clips, at, "clips");
}

fn version(version: PdfVersion) -> String {
    let number = match version {
        PdfVersion::Pdf10 => "1.0",
        PdfVersion::Pdf11 => "1.1",
        PdfVersion::Pdf12 => "1.2",
        PdfVersion::Pdf13 => "1.3",
        PdfVersion::Pdf14 => "1.4",
        PdfVersion::Pdf15 => "1.5",
        PdfVersion::Pdf16 => "1.6",
        PdfVersion::Pdf17 => "1.7",
        PdfVersion::Pdf20 => "2.0",
    };
    format!("PDF {number}")
}

/// The program a document says it was made with.
fn application(pdf: &Pdf) -> Option<String> {
    let metadata = pdf.metadata();
    let names = [&metadata.creator, &metadata.producer];
    let mut names = names.into_iter().flatten().map(|name| objects::text_string(name).trim().to_owned());
    names.find(|name| !name.is_empty())
}

/// Runs library code on input bytes; a panic in it is a malformed document, not the end of the thread.
fn guarded<T>(work: impl FnOnce() -> T) -> Result<T, ReadError> {
    catch_unwind(AssertUnwindSafe(work)).map_err(|_| malformed("its structure made the PDF library fail"))
}

fn malformed(reason: impl Into<String>) -> ReadError {
    ReadError::Malformed { format: "pdf", reason: reason.into() }
}
