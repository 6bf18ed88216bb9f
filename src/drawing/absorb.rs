//! Joining one drawing into a block of another: what an external reference is.
//!
//! Everything of the other drawing is renumbered and appended; its layers and blocks are renamed `PREFIX|NAME`, but
//! for layer `0`, which stays the layer that inherits. Its model becomes the content of the block. Units, version
//! and georeference of the other drawing do not count: references are placed in the host's units.

use super::{
    Attribute, BlockId, BuildError, ClipId, Drawing, DrawingBuilder, Geometry, Identity, InsertId, Item, LayerId, Path,
    Point, Properties, Symbol, TextId,
};

/// Old numbers → new numbers.
struct Renumbering {
    symbols: Vec<Symbol>,
    layers: Vec<LayerId>,
    blocks: Vec<BlockId>,
    texts: u32,
    inserts: u32,
    clips: u32,
    properties: u32,
    verbs: u32,
    points: u32,
}

impl DrawingBuilder {
    /// Appends `other` and makes its model the content of `block`.
    ///
    /// # Errors
    /// When both drawings together have more items or points than the limits allow.
    pub fn absorb(&mut self, other: Drawing, block: BlockId, prefix: &str) -> Result<(), BuildError> {
        let base = self.drawing().paths.points.len() as u64 + other.paths.points.len() as u64;
        let limit = self.limits().vertices.min(u64::from(u32::MAX));
        if base > limit {
            return Err(BuildError { what: "number of vertices", key: "vertices", limit });
        }
        let numbers = self.renumber(&other, prefix);
        self.absorb_data(&other, &numbers);
        for (number, inner) in numbers.blocks.iter().zip(&other.blocks) {
            if inner.defined && !self.drawing().block(*number).is_some_and(|block| block.defined) {
                self.open_block(*number, inner.base);
                self.absorb_items(&inner.items, &numbers)?;
            }
        }
        let base = self.drawing().block(block).map_or(Point::ZERO, |block| block.base);
        self.open_block(block, base);
        let result = self.absorb_items(&other.items, &numbers);
        self.close_block();
        result
    }

    fn renumber(&mut self, other: &Drawing, prefix: &str) -> Renumbering {
        let symbols = other.strings.iter().map(|text| self.intern(text)).collect();
        let mut layers = Vec::with_capacity(other.layers.len());
        for layer in &other.layers {
            let name = other.string(layer.name);
            let id = if layer.inherits { self.layer(name) } else { self.layer(&format!("{prefix}|{name}")) };
            if let Some(own) = self.layer_mut(id)
                && !own.declared
            {
                own.colour = layer.colour;
                own.off = layer.off;
                own.frozen = layer.frozen;
                own.inherits = layer.inherits;
                own.declared = layer.declared;
            }
            layers.push(id);
        }
        let blocks =
            other.blocks.iter().map(|block| self.block(&format!("{prefix}|{}", other.string(block.name)))).collect();
        let drawing = self.drawing();
        Renumbering {
            symbols,
            layers,
            blocks,
            texts: drawing.texts.len() as u32,
            inserts: drawing.inserts.len() as u32,
            clips: drawing.clips.len() as u32,
            properties: drawing.properties.len() as u32,
            verbs: drawing.paths.verbs.len() as u32,
            points: drawing.paths.points.len() as u32,
        }
    }

    fn absorb_data(&mut self, other: &Drawing, numbers: &Renumbering) {
        for (name, value) in &other.properties {
            self.property(numbers.symbol(*name), numbers.symbol(*value));
        }
        for text in &other.texts {
            let mut text = text.clone();
            text.tag = text.tag.map(|tag| numbers.symbol(tag));
            self.text(text);
        }
        for clip in &other.clips {
            self.clip(clip.clone());
        }
        for insert in &other.inserts {
            let mut insert = insert.clone();
            insert.block = numbers.blocks.get(insert.block.0 as usize).copied().unwrap_or(insert.block);
            insert.clip = insert.clip.map(|clip| ClipId(clip.0 + numbers.clips));
            for attribute in &mut insert.attributes {
                *attribute = Attribute {
                    tag: numbers.symbol(attribute.tag),
                    text: TextId(attribute.text.0 + numbers.texts),
                    layer: numbers.layer(attribute.layer),
                    visible: attribute.visible,
                    identity: numbers.identity(attribute.identity),
                };
            }
            self.insert(insert);
        }
        self.append_paths(&other.paths);
    }

    fn absorb_items(&mut self, items: &[Item], numbers: &Renumbering) -> Result<(), BuildError> {
        for item in items {
            let mut item = *item;
            item.entity = numbers.symbol(item.entity);
            item.layer = numbers.layer(item.layer);
            item.identity = numbers.identity(item.identity);
            item.clip = item.clip.map(|clip| ClipId(clip.0 + numbers.clips));
            item.properties =
                Properties { start: item.properties.start + numbers.properties, len: item.properties.len };
            item.geometry = match item.geometry {
                Geometry::Point(point) => Geometry::Point(point),
                Geometry::Line(path) => Geometry::Line(numbers.path(path)),
                Geometry::Area(path, rule) => Geometry::Area(numbers.path(path), rule),
                Geometry::Text(text) => Geometry::Text(TextId(text.0 + numbers.texts)),
                Geometry::Insert(insert) => Geometry::Insert(InsertId(insert.0 + numbers.inserts)),
            };
            self.push(item)?;
        }
        Ok(())
    }
}

impl Renumbering {
    fn symbol(&self, symbol: Symbol) -> Symbol {
        self.symbols.get(symbol.0 as usize).copied().unwrap_or(symbol)
    }

    fn layer(&self, layer: LayerId) -> LayerId {
        self.layers.get(layer.0 as usize).copied().unwrap_or(layer)
    }

    fn identity(&self, identity: Identity) -> Identity {
        match identity {
            Identity::Name(name) => Identity::Name(self.symbol(name)),
            other => other,
        }
    }

    fn path(&self, path: Path) -> Path {
        Path { verbs: (path.verbs.0 + self.verbs, path.verbs.1 + self.verbs), points: path.points + self.points }
    }
}
