//! Counts by the families of entities that both this reader and `cadkit-dxf` know: model, blocks and sheets together. Shared with
//! `examples/dxf_survey.rs`.

use std::collections::BTreeMap;

use cadkit_core::{EntityKind, ReadOptions};
use plan2geo::drawing::Drawing;

/// The counts of a drawing read here.
pub(crate) fn ours(drawing: &Drawing) -> BTreeMap<String, u64> {
    let mut families = BTreeMap::new();
    for counts in [&drawing.census, &drawing.unsupported, &drawing.other_sheets] {
        for (kind, count) in counts {
            let family = match kind.as_str() {
                "LWPOLYLINE" | "POLYLINE" => "polyline",
                "SOLID" | "TRACE" | "3DFACE" => "face",
                "TEXT" => "text",
                "DIMENSION" | "ARC_DIMENSION" | "LARGE_RADIAL_DIMENSION" => "DIMENSION",
                "ATTRIB" | "VERTEX" | "SEQEND" => continue,
                proxy if proxy.starts_with("ACAD_PROXY_ENTITY") => "ACAD_PROXY_ENTITY",
                other => other,
            };
            *families.entry(family.to_owned()).or_default() += count;
        }
    }
    families
}

/// The same counts by `cadkit-dxf`, or why it refuses the file.
pub(crate) fn theirs(bytes: &[u8]) -> Result<BTreeMap<String, u64>, String> {
    let document = cadkit_dxf::read(bytes, &ReadOptions::default()).map_err(|error| error.to_string())?;
    let models = document.models.iter().flat_map(|model| &model.entities);
    let blocks = document.blocks.iter().flat_map(|block| &block.entities);
    let mut families = BTreeMap::new();
    for entity in models.chain(blocks) {
        let family = match &entity.kind {
            EntityKind::Point { .. } => "POINT",
            EntityKind::Line { .. } => "LINE",
            EntityKind::Polyline { .. } | EntityKind::Mesh { .. } => "polyline",
            EntityKind::Circle { .. } => "CIRCLE",
            EntityKind::Arc { .. } => "ARC",
            EntityKind::Ellipse { .. } => "ELLIPSE",
            EntityKind::Spline { .. } => "SPLINE",
            EntityKind::Text { .. } => "text",
            EntityKind::MText { .. } => "MTEXT",
            EntityKind::Insert { .. } => "INSERT",
            EntityKind::Hatch { .. } => "HATCH",
            EntityKind::Dimension { .. } => "DIMENSION",
            EntityKind::Face { .. } => "face",
            EntityKind::Leader { .. } => "LEADER",
            EntityKind::Image { .. } => "IMAGE",
            EntityKind::Viewport { .. } => "VIEWPORT",
            EntityKind::Unknown { type_name } => match type_name.trim_start_matches("dxf.") {
                "ARC_DIMENSION" | "LARGE_RADIAL_DIMENSION" => "DIMENSION",
                other => other,
            },
            _ => "other",
        };
        *families.entry(family.to_owned()).or_default() += 1;
    }
    Ok(families)
}
