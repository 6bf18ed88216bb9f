//! Roles by names: the configuration first, then kinds of entities, then block and layer tables, then SVG ids and
//! classes. What stays unknown is left to geometry (`lines.rs`, `symbols.rs`), and is listed with a suggestion.

use std::collections::{BTreeMap, HashMap};

use super::input::{Input, Item, NONE};
use super::names::{NameClass, Overrides, classify_name};
use super::{ClassSource, LayerClass, PlanOptions, Role};

/// Roles of all items and texts.
#[derive(Debug, Default)]
pub(crate) struct Roles {
    /// By item.
    pub items: Vec<Role>,
    /// By text.
    pub texts: Vec<Role>,
    /// By layer.
    pub layers: Vec<LayerClass>,
    /// Globs of the configuration that are not valid, with the reason.
    pub faults: Vec<(String, String)>,
}

/// What configuration and names say of layers, before any geometry is looked at: shapes and lengths are 0. A pattern that is
/// not valid counts as absent.
pub fn layers_by_name<'a>(names: impl IntoIterator<Item = &'a str>, options: &PlanOptions) -> Vec<LayerClass> {
    let (overrides, _) = Overrides::compile(&options.layers);
    names.into_iter().map(|name| layer_class(name, &overrides, options)).collect()
}

fn layer_class(name: &str, overrides: &Overrides, options: &PlanOptions) -> LayerClass {
    let mut class = LayerClass {
        layer: name.to_owned(),
        role: Role::Unknown,
        confidence: 0.0,
        source: ClassSource::None,
        reason: "no rule knows the name".to_owned(),
        shapes: 0,
        length_m: 0.0,
        suggestion: None,
    };
    if let Some((role, pattern)) = overrides.role(name) {
        class.role = role;
        class.confidence = 1.0;
        class.source = ClassSource::Config;
        class.reason = format!("`{pattern}` in `plan.layers`");
    } else if let Some(found) = options.names.then(|| classify_name(name)).flatten() {
        class.role = found.role;
        class.confidence = found.confidence;
        class.source = ClassSource::Name;
        class.reason = found.reason;
    }
    class
}

/// Classifies by configuration and names.
pub(crate) fn by_names(input: &Input, options: &PlanOptions) -> Roles {
    let (layer_overrides, mut faults) = Overrides::compile(&options.layers);
    let (block_overrides, more) = Overrides::compile(&options.blocks);
    faults.extend(more);
    let layers: Vec<LayerClass> = input
        .layers
        .iter()
        .map(|layer| LayerClass {
            shapes: layer.shapes,
            length_m: layer.length,
            ..layer_class(&layer.name, &layer_overrides, options)
        })
        .collect();
    let mut blocks: HashMap<u32, (Option<Role>, Option<Role>)> = HashMap::new();
    let mut words: HashMap<u32, Option<NameClass>> = HashMap::new();
    let mut judge = |layer: u32, block: u32, entity: u32, word: u32| -> Role {
        let class = &layers[layer as usize];
        let (forced, by_table) =
            *blocks.entry(block).or_insert_with(|| block_role(input, options, &block_overrides, block));
        if let Some(role) = forced {
            return role;
        }
        if class.source == ClassSource::Config {
            return class.role;
        }
        if options.names
            && let Some(role) = entity_role(input.text(entity))
        {
            return role;
        }
        if let Some(role) = by_table {
            return role;
        }
        if class.role != Role::Unknown && class.role != Role::Sheet {
            return class.role;
        }
        if options.names && word != NONE {
            // Ids and classes name things; `fill` or `thin` speak of style.
            let things = [
                Role::Wall,
                Role::Column,
                Role::Door,
                Role::Window,
                Role::Room,
                Role::Stair,
                Role::Shaft,
                Role::Furniture,
                Role::Dimension,
                Role::Outline,
            ];
            let found = words.entry(word).or_insert_with(|| {
                classify_name(input.text(word)).filter(|class| things.contains(&class.role) && class.confidence >= 0.75)
            });
            if let Some(found) = found {
                return found.role;
            }
        }
        class.role
    };
    let items = input.items.iter().map(|item: &Item| judge(item.layer, item.block, item.entity, item.words)).collect();
    let texts = input.texts.iter().map(|text| judge(text.layer, text.block, text.entity, NONE)).collect();
    Roles { items, texts, layers, faults }
}

/// The role the configuration forces on a block, and what its name says.
fn block_role(input: &Input, options: &PlanOptions, overrides: &Overrides, block: u32) -> (Option<Role>, Option<Role>) {
    let name = input.text(block);
    if name.is_empty() {
        return (None, None);
    }
    if let Some((role, _)) = overrides.role(name) {
        return (Some(role), None);
    }
    if !options.names {
        return (None, None);
    }
    // Anonymous blocks of dimensions and hatches.
    if name.starts_with("*D") || name.starts_with("*d") {
        return (Some(Role::Dimension), None);
    }
    let particular = [
        Role::Door,
        Role::Window,
        Role::Furniture,
        Role::Dimension,
        Role::Grid,
        Role::Sheet,
        Role::Column,
        Role::Label,
        Role::Annotation,
    ];
    let found = classify_name(name).filter(|class| class.confidence >= 0.75).map(|class| class.role);
    (None, found.filter(|role| particular.contains(role)))
}

fn entity_role(entity: &str) -> Option<Role> {
    let upper = entity.to_ascii_uppercase();
    match upper.as_str() {
        "DIMENSION" | "ARC_DIMENSION" | "LARGE_RADIAL_DIMENSION" => Some(Role::Dimension),
        "LEADER" | "MULTILEADER" | "MLEADER" | "TOLERANCE" | "WIPEOUT" | "IMAGE" | "OLE2FRAME" | "XLINE" | "RAY"
        | "VIEWPORT" | "ACAD_TABLE" | "REVCLOUD" => Some(Role::Annotation),
        _ => None,
    }
}

/// Merges layers of one name (they differ only by how they were met) and sorts them.
pub(crate) fn sorted_layers(layers: Vec<LayerClass>) -> Vec<LayerClass> {
    let mut by_name: BTreeMap<String, LayerClass> = BTreeMap::new();
    for layer in layers {
        by_name
            .entry(layer.layer.clone())
            .and_modify(|known| {
                known.shapes += layer.shapes;
                known.length_m += layer.length_m;
            })
            .or_insert(layer);
    }
    by_name.into_values().collect()
}
