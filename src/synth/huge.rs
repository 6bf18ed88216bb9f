//! One DXF larger than memory: many floors side by side, written floor by floor.
//!
//! The `dxf` crate builds a whole drawing first, so this file is written by [`super::tags`]. All blocks that a
//! floor may insert are defined up front ([`super::symbols::catalogue`]); labels are texts. Memory is that of one
//! floor whatever the size; the truth is streamed beside it.

use std::io::{self, Write};

use serde_json::json;

use super::layout::{bounds, point};
use super::names::layer;
use super::sketch::{Frame, Role};
use super::spec::{DeclaredUnit, DoorDrawing, Drafting, Format, LabelDrawing, Spec};
use super::style::Style;
use super::tags::TagWriter;
use super::{SynthError, floor, symbols, truth};

/// Width of the site in metres; floors wrap to the next row beyond it.
const SITE_WIDTH_M: f64 = 2000.0;
/// Free space between floors, metres.
const SPACE_M: f64 = 25.0;

/// What was written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Written {
    /// Floors.
    pub floors: u64,
    /// Rooms on them.
    pub rooms: u64,
    /// Bytes of the drawing.
    pub bytes: u64,
}

struct Counted<W> {
    out: W,
    bytes: u64,
}

impl<W: Write> Write for Counted<W> {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        let written = self.out.write(buffer)?;
        self.bytes += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// Writes floors of `spec` (its seed counting up) until the drawing has at least `bytes` bytes.
///
/// # Errors
/// Of the outputs.
pub fn write(spec: &Spec, bytes: u64, drawing: impl Write, mut facts: impl Write) -> Result<Written, SynthError> {
    let spec = Spec {
        format: Some(Format::Dxf),
        drafting: Some(Drafting::Cad),
        labels: Some(LabelDrawing::Texts),
        doors: Some(DoorDrawing::Blocks),
        rooms: Some(spec.rooms.unwrap_or(60)),
        ..spec.clone()
    };
    let style = Style { sheet: false, rotation: 0.0, ..Style::decide(&spec) };
    let scale = 1.0 / style.unit.metres();
    let mut tags = TagWriter::new(Counted { out: drawing, bytes: 0 }, 0x100);
    head(&mut tags, &style, Frame { scale, rotation: 0.0, offset: point(0.0, 0.0) })?;
    let metadata = json!({"schema": "plan2geo-truth/1", "crs": "local-metres", "metres_per_unit": style.unit.metres()});
    write!(facts, "{{\"type\":\"FeatureCollection\",\"metadata\":{metadata},\"features\":[")?;

    let mut done = Written::default();
    let mut cursor = point(0.0, 0.0);
    let mut row_height: f64 = 0.0;
    while tags.output().bytes < bytes {
        let one = Spec { seed: spec.seed + done.floors, level: 0, ..spec.clone() };
        let floor = floor(&one, &style);
        let (low, high) = bounds(&floor.outline);
        let offset = (cursor - low) * scale;
        let frame = Frame { scale, rotation: 0.0, offset: point(offset.x.round(), offset.y.round()) };
        for mark in &super::sketch(&one, &style, &floor).marks {
            tags.shape(&mark.shape, layer(style.layers, mark.role), frame)?;
        }
        let mut failed = None;
        truth::collect(&floor, frame, &format!("f{}-", done.floors), &mut |feature| {
            let comma = if done.floors > 0 || !feature["id"].as_str().is_some_and(|id| id.ends_with("level")) {
                ","
            } else {
                ""
            };
            if failed.is_none() {
                failed = write!(facts, "{comma}\n{feature}").err();
            }
        });
        if let Some(error) = failed {
            return Err(error.into());
        }
        done.floors += 1;
        done.rooms += floor.rooms.iter().filter(|room| room.outline.exterior().0.len() > 3).count() as u64;
        row_height = row_height.max(high.y - low.y);
        cursor.x += high.x - low.x + SPACE_M;
        if cursor.x > SITE_WIDTH_M {
            cursor = point(0.0, cursor.y + row_height + SPACE_M);
            row_height = 0.0;
        }
    }
    tags.tag(0, "ENDSEC")?;
    tags.tag(0, "EOF")?;
    let (mut out, _) = tags.into_inner();
    out.flush()?;
    done.bytes = out.bytes;
    writeln!(facts, "\n]}}")?;
    facts.flush()?;
    Ok(done)
}

fn head<W: Write>(tags: &mut TagWriter<W>, style: &Style, frame: Frame) -> io::Result<()> {
    let unit = match style.declared {
        DeclaredUnit::Right => style.unit.insunits(),
        DeclaredUnit::Missing => 0,
        DeclaredUnit::Wrong => super::dxf::wrong(style.unit).insunits(),
    };
    tags.tag(0, "SECTION")?;
    tags.tag(2, "HEADER")?;
    tags.tag(9, "$ACADVER")?;
    tags.tag(1, "AC1024")?;
    tags.tag(9, "$INSUNITS")?;
    tags.tag(70, unit)?;
    tags.tag(0, "ENDSEC")?;
    tags.tag(0, "SECTION")?;
    tags.tag(2, "TABLES")?;
    tags.tag(0, "TABLE")?;
    tags.tag(2, "LAYER")?;
    tags.tag(70, Role::ALL.len())?;
    let mut seen = std::collections::BTreeSet::new();
    for role in Role::ALL {
        let name = layer(style.layers, role);
        if seen.insert(name) {
            tags.tag(0, "LAYER")?;
            tags.tag(2, name)?;
            tags.tag(70, 0)?;
            tags.tag(62, super::dxf::colour(role))?;
            tags.tag(6, "CONTINUOUS")?;
        }
    }
    tags.tag(0, "ENDTAB")?;
    tags.tag(0, "ENDSEC")?;
    tags.tag(0, "SECTION")?;
    tags.tag(2, "BLOCKS")?;
    for (name, marks) in symbols::catalogue(style) {
        tags.entity("BLOCK", "0", "AcDbBlockBegin")?;
        tags.tag(2, &name)?;
        tags.tag(70, 0)?;
        for code in [10, 20, 30] {
            tags.tag(code, "0.0")?;
        }
        tags.tag(3, &name)?;
        for mark in marks {
            let on = if style.telling_blocks { "0" } else { layer(style.layers, mark.role) };
            tags.shape(&mark.shape, on, frame)?;
        }
        tags.entity("ENDBLK", "0", "AcDbBlockEnd")?;
    }
    tags.tag(0, "ENDSEC")?;
    tags.tag(0, "SECTION")?;
    tags.tag(2, "ENTITIES")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::synth::sketch::Shape;

    #[test]
    fn every_block_that_floors_insert_is_in_the_catalogue() {
        for seed in 0..20 {
            let spec = Spec { drafting: Some(Drafting::Cad), labels: Some(LabelDrawing::Texts), ..Spec::of_seed(seed) };
            let spec = Spec { defects: crate::synth::Defects::all(), ..spec };
            let style = Style { sheet: false, ..Style::decide(&spec) };
            let known = symbols::catalogue(&style);
            for mark in crate::synth::sketch(&spec, &style, &floor(&spec, &style)).marks {
                if let Shape::Insert { block, .. } = mark.shape {
                    assert!(known.contains_key(&block), "seed {seed}: {block}");
                }
            }
        }
    }

    #[test]
    fn a_file_of_a_stated_size_is_written_with_its_truth() {
        let (mut drawing, mut facts) = (Vec::new(), Vec::new());
        let spec = Spec { rooms: Some(12), ..Spec::of_seed(5) };
        let done = write(&spec, 300_000, &mut drawing, &mut facts).unwrap();
        assert!(done.bytes >= 300_000 && done.bytes == drawing.len() as u64);
        assert!(done.floors > 1);
        let truth = crate::evaluate::Scene::from_geojson(&facts, "truth").unwrap();
        assert_eq!(truth.rooms.iter().filter(|room| !room.id.contains("court")).count() as u64, done.rooms);
    }
}
