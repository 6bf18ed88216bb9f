//! The SVG reader: text → element tree → items, with names, layers and hidden things kept.
//!
//! A renderer throws away what a plan is about (ids, classes, layers, what is switched off), so the document is
//! walked here. In reading order: `encoding` makes text of bytes, `tree` indexes it, `css` and `style` say how
//! elements look, `transform`, `number`, `shape`, `path` and `text` make geometry, `clip` cuts it, `naming` says
//! what things are called, `walk` puts it together, `uses` bounds what `use` may ask for, `scale` finds the unit.
//!
//! Frame: x as in the root's user space, y mirrored about the middle of the `viewBox`, so that it points upward
//! and coordinates stay within the box. Without a `viewBox` the height takes its place.
//!
//! Decisions: a filled shape is an area, with its stroke as a property; a shape that is only stroked is a line,
//! a ring if it is closed. `line` and what consists of single segments is never filled. Opacity is not looked at.

mod clip;
mod css;
mod encoding;
mod issues;
mod naming;
mod number;
mod path;
mod scale;
mod shape;
mod style;
mod text;
mod transform;
mod tree;
mod uses;
mod walk;

use bytes::Bytes;
use kurbo::Affine;

use super::{Checkpoint, Read, ReadError, ReadOptions, lettering};
use crate::drawing::{DrawingBuilder, SourceFormat};
use crate::issue::{Code, Issues};
use css::StyleSheet;
use issues::Report;
use number::{Axis, Length};
use scale::RootSize;
use transform::{AspectRatio, ViewBox};
use tree::Tree;
use walk::Walk;

/// Issue codes of this format.
pub static CODES: &[&Code] = issues::ALL;

/// Size of the viewport where a document states none; only percentages refer to it.
const FALLBACK_VIEWPORT: f64 = 100.0;

/// Reads a document, gzipped or not.
///
/// # Errors
/// When there is no `svg` element, or a limit is met: `document_bytes`, `decompressed_bytes`, `entities`,
/// `vertices`, `expanded_shapes`.
pub fn read(bytes: &Bytes, options: &ReadOptions, checkpoint: &Checkpoint<'_>) -> Result<Read, ReadError> {
    let limits = &options.limits;
    if bytes.len() as u64 > limits.document_bytes {
        let limit = limits.document_bytes;
        return Err(ReadError::Limit { what: "size of the document".to_owned(), key: "document_bytes", limit });
    }
    let mut found = Issues::new();
    let inflated = encoding::inflate(bytes, limits, &mut found)?;
    checkpoint()?;
    let text = encoding::decode(&inflated, options.encoding.as_deref(), &mut found);
    checkpoint()?;
    let mut report = Report::new(&text, found);
    let tree = Tree::index(&text, limits, &mut report, checkpoint)?;
    if uses::count_expanded(&tree) > limits.expanded_shapes {
        return Err(walk::expansion_error(limits.expanded_shapes));
    }

    let sheets: Vec<_> = tree.styles.iter().map(|id| tree.all_characters(*id)).collect();
    let sheets: Vec<&str> = sheets.iter().map(AsRef::as_ref).collect();
    let (sheet, num_refused) = StyleSheet::parse(&sheets);
    if num_refused > 0 {
        let at = tree.styles.first().map_or(0, |id| tree.offset(*id));
        report.left(&issues::STYLE_RULE, at, || format!("{num_refused} rules"));
    }

    let size = root_size(&tree);
    let mut builder = DrawingBuilder::new(SourceFormat::Svg, limits);
    let (units, stretch) = scale::units(&size, options.metres_per_unit, &mut report, tree.offset(tree.root));
    builder.set_units(units);
    let version = tree.attribute(tree.root, "version").map(|version| format!("SVG {version}"));
    builder.set_origin(version, application(&tree));

    let (to_drawing, viewport) = frame(&size, stretch);
    let walk = Walk::new(&tree, &sheet, builder, report, limits);
    let (builder, report) = walk.run(to_drawing, viewport, checkpoint)?;
    let read = Read::new(lettering::finish(builder, None), report.issues);
    let drawing = &read.drawing;
    let shows_nothing = drawing.items.is_empty() && drawing.texts.is_empty() && drawing.inserts.is_empty();
    if shows_nothing && drawing.unsupported.contains_key("image") && !options.raster_only_as_empty {
        return Err(ReadError::RasterOnly);
    }
    Ok(read)
}

fn root_size(tree: &Tree<'_>) -> RootSize {
    let attribute = |name| tree.attribute(tree.root, name);
    RootSize {
        width: attribute("width").and_then(Length::parse),
        height: attribute("height").and_then(Length::parse),
        view_box: attribute("viewBox").and_then(ViewBox::parse),
        aspect_ratio: attribute("preserveAspectRatio").and_then(AspectRatio::parse).unwrap_or_default(),
    }
}

/// The transform from root coordinates to the drawing, and the viewport that percentages refer to.
fn frame(size: &RootSize, stretch: f64) -> (Affine, (f64, f64)) {
    let pixels = |length: Option<Length>| {
        let length = length.filter(|length| length.unit != number::Unit::Percent)?;
        Some(length.resolve(Axis::Both, (0.0, 0.0), 16.0)).filter(|size| *size > 0.0 && size.is_finite())
    };
    let (mirror, viewport) = match size.view_box {
        Some(view_box) => (2.0 * view_box.y + view_box.height, (view_box.width, view_box.height)),
        None => {
            let (width, height) = (pixels(size.width), pixels(size.height));
            let viewport = (width.unwrap_or(FALLBACK_VIEWPORT), height.unwrap_or(FALLBACK_VIEWPORT));
            (height.unwrap_or(0.0), viewport)
        }
    };
    (Affine::new([1.0, 0.0, 0.0, -stretch, 0.0, mirror * stretch]), viewport)
}

/// The program that wrote the document, by its comment or the attributes of Inkscape.
fn application(tree: &Tree<'_>) -> Option<String> {
    if let Some(version) = tree.attribute(tree.root, "inkscape:version") {
        return Some(format!("Inkscape {version}"));
    }
    let comment = tree.generator?;
    let name = ["Generator:", "Created with", "Creator:", "Exported by"]
        .iter()
        .find_map(|lead| comment.split_once(lead).map(|(_, name)| name))
        .unwrap_or(comment);
    let name = name.split([',', '(', '\n']).next().unwrap_or(name).trim();
    (!name.is_empty()).then(|| name.chars().take(100).collect())
}
