//! A second opinion: what `cadkit-dxf` counts in the same bytes.

use std::collections::BTreeMap;

use cadkit_core::EntityKind;

use super::*;

/// Counts of a drawing by families both readers know, model, blocks and sheets together.
fn ours(drawing: &Drawing) -> BTreeMap<&str, u64> {
    let mut families = BTreeMap::new();
    for counts in [&drawing.census, &drawing.unsupported, &drawing.other_sheets] {
        for (kind, count) in counts {
            let family = match kind.as_str() {
                "LWPOLYLINE" | "POLYLINE" => "polyline",
                "SOLID" | "TRACE" | "3DFACE" => "face",
                "TEXT" => "text",
                "ATTRIB" => continue,
                other => other,
            };
            *families.entry(family).or_default() += count;
        }
    }
    families
}

fn theirs(bytes: &Bytes) -> BTreeMap<String, u64> {
    let document = cadkit_dxf::read(bytes, &cadkit_core::ReadOptions::default()).unwrap();
    let models = document.models.iter().flat_map(|model| &model.entities);
    let blocks = document.blocks.iter().flat_map(|block| &block.entities);
    let mut families: BTreeMap<String, u64> = BTreeMap::new();
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
            EntityKind::Unknown { type_name } => type_name.trim_start_matches("dxf."),
            _ => "other",
        };
        *families.entry(family.to_owned()).or_default() += 1;
    }
    families
}

#[track_caller]
fn assert_agree(bytes: &Bytes) {
    let drawing = read(bytes).drawing;
    let theirs = theirs(bytes);
    let theirs: BTreeMap<&str, u64> = theirs.iter().map(|(family, count)| (family.as_str(), *count)).collect();
    assert_eq!(ours(&drawing), theirs);
}

#[test]
fn the_same_counts_in_text_and_binary() {
    let sample = sample();
    assert_agree(&sample.bytes());
    assert_agree(&binary(&sample.text(), true));
}

#[test]
fn the_same_counts_in_many_random_drawings() {
    let kinds = [
        line(0.0, 0.0, 1.0, 0.0),
        "0|CIRCLE|8|A|10|0|20|0|40|1".to_owned(),
        "0|TEXT|8|A|10|0|20|0|40|1|1|x".to_owned(),
        "0|INSERT|8|A|2|DOOR|10|0|20|0".to_owned(),
        "0|LWPOLYLINE|8|A|90|2|70|0|10|0|20|0|10|1|20|1".to_owned(),
        "0|POLYLINE|8|A|66|1|0|VERTEX|8|A|10|0|20|0|0|VERTEX|8|A|10|1|20|0|0|SEQEND|8|A".to_owned(),
        "0|3DSOLID|8|A|1|x".to_owned(),
        "0|RAY|8|A|10|0|20|0|11|1|21|0".to_owned(),
        "0|POINT|8|A|67|1|10|0|20|0".to_owned(),
    ];
    for seed in 0..20usize {
        let entities: Vec<&str> =
            (0..30).map(|index| kinds[(seed * 7 + index * index + index * seed) % kinds.len()].as_str()).collect();
        let document = Document { entities: pairs(&entities.join("|")), ..sample() };
        assert_agree(&document.bytes());
    }
}
