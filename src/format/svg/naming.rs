//! What elements are called: identity, layers, and the properties that go with a feature.
//!
//! **Layers.** A declared layer wins: a group with `inkscape:groupmode="layer"` or `i:layer="yes"`, or a group
//! directly below the root of a file that Adobe Illustrator wrote. Its name is `inkscape:label`, `data-name` or
//! the id. Without one, the nearest group with a label, a `data-name` or an id that a person chose (not `g1234`)
//! names the layer; without such a group, the nearest class that a person chose (not `st0`, `cls-3`); else the
//! layer is `default`.
//!
//! **Properties.** Of the element: `class`, `label`, `title`, `desc`, `aria-label` and every `data-*`. Of what is
//! around it: `group` (names of the groups from the outside in, joined by `/`), `group_title`, `group_class`,
//! `data-*` of groups unless the element has its own, `href` of the link, `use` and `use_href` (ids and targets
//! of the `use` elements it came through, joined by `/`).

use std::borrow::Cow;
use std::fmt::Write as _;

use super::tree::{Kind, NodeId, Tree, collapse_white_space, unescape};
use super::walk::Context;
use crate::drawing::{DrawingBuilder, Identity, LayerId, Properties};

/// Paths of group names and of uses stop growing here.
const MAX_PATH_BYTES: usize = 1024;
/// Longer values are left out of the properties; they are data, not names.
const MAX_VALUE_BYTES: usize = 64 << 10;

/// Names elements; keeps what is needed from element to element.
#[derive(Debug)]
pub(super) struct GroupNames {
    from_illustrator: bool,
    pairs: Vec<(Cow<'static, str>, String)>,
    /// The outline properties written last, as text: most shapes of a plan share them.
    outline: Option<(Option<u32>, f64, String, String)>,
}

impl GroupNames {
    pub(super) fn new(tree: &Tree<'_>) -> Self {
        let from_illustrator = tree.generator.is_some_and(|generator| generator.contains("Adobe Illustrator"));
        Self { from_illustrator, pairs: Vec::new(), outline: None }
    }

    /// Sets layer and inherited properties for the content of a group, link, viewport or `use`.
    pub(super) fn enter(
        &mut self,
        builder: &mut DrawingBuilder,
        tree: &Tree<'_>,
        id: NodeId,
        kind: Kind,
        attributes: &[(&str, &str)],
        context: &mut Context,
    ) {
        let (mut own_id, mut label, mut data_name, mut class) = ("", "", "", "");
        let (mut is_layer, mut has_data) = (false, false);
        for (name, value) in attributes {
            match *name {
                "id" => own_id = value,
                "inkscape:label" => label = value,
                "data-name" => data_name = value,
                "class" => class = value,
                "inkscape:groupmode" => is_layer |= *value == "layer",
                "i:layer" => is_layer |= *value == "yes",
                name => has_data |= name.starts_with("data-"),
            }
        }
        is_layer |= self.from_illustrator && tree.node(id).parent == tree.root && !own_id.is_empty();
        is_layer &= kind == Kind::Group;
        let title = tree.title(id);
        let is_plain = own_id.is_empty() && label.is_empty() && data_name.is_empty() && class.is_empty();
        if is_plain && !has_data && title.is_none() && !matches!(kind, Kind::Anchor | Kind::Use) {
            return;
        }
        self.pairs.clear();
        if kind == Kind::Use {
            let href = tree.attribute(id, "href").unwrap_or("");
            self.extend_path(builder, context.properties, "use", own_id);
            self.extend_path(builder, context.properties, "use_href", href);
        } else {
            let name = [label, data_name].into_iter().find(|name| !name.is_empty());
            let name = name.map(|name| Cow::Owned(unescape(name).trim().to_owned())).or_else(|| {
                let chosen = !own_id.is_empty() && (is_layer || !is_generated_id(own_id));
                chosen.then(|| decode_id(&unescape(own_id)).into_owned().into())
            });
            if is_layer {
                if context.in_declared_layer
                    && let Some(outer) = context.layer
                {
                    let outer = builder.drawing().layer_name(outer).to_owned();
                    self.extend_path(builder, context.properties, "group", &outer);
                }
                let is_hidden = context.hidden || !context.style.visible;
                context.layer = Some(declare_layer(builder, name.as_deref().unwrap_or("default"), is_hidden));
                context.in_declared_layer = true;
            } else if let Some(name) = name.as_deref().filter(|name| !name.is_empty()) {
                if !context.in_declared_layer && kind != Kind::Symbol {
                    context.layer = Some(builder.layer(name));
                }
                self.extend_path(builder, context.properties, "group", name);
            }
        }
        if !class.is_empty() {
            if context.layer.is_none()
                && let Some(class) = chosen_class(class)
            {
                context.layer = Some(builder.layer(class));
            }
            self.add("group_class", &unescape(class));
        }
        if let Some(title) = &title {
            self.add("group_title", title);
        }
        if kind == Kind::Anchor
            && let Some(href) = tree.attribute(id, "href").filter(|href| !href.is_empty())
        {
            self.add("href", &unescape(href));
        }
        if has_data {
            for (name, value) in attributes.iter().filter(|(name, _)| is_data(name)) {
                self.add_owned(Cow::Owned((*name).to_owned()), &unescape(value));
            }
        }
        context.properties = self.flush(builder, context.properties);
    }

    /// Identity, layer and properties of an element. `outline` is the stroke of an area: colour and width.
    pub(super) fn of_element(
        &mut self,
        builder: &mut DrawingBuilder,
        tree: &Tree<'_>,
        id: NodeId,
        attributes: &[(&str, &str)],
        outline: Option<(Option<u32>, f64)>,
        context: &Context,
    ) -> (Identity, LayerId, Properties) {
        self.pairs.clear();
        let mut identity = Identity::None;
        let mut class = "";
        for (name, value) in attributes {
            match *name {
                "id" if !value.is_empty() && value.len() <= MAX_VALUE_BYTES => {
                    identity = Identity::Name(builder.intern(&unescape(value)));
                }
                "class" if !value.trim().is_empty() => {
                    class = value;
                    self.add("class", &collapse_white_space(&unescape(value)));
                }
                "inkscape:label" => self.add("label", &unescape(value)),
                "aria-label" => self.add("aria-label", &unescape(value)),
                name if is_data(name) => self.add_owned(Cow::Owned(name.to_owned()), &unescape(value)),
                _ => {}
            }
        }
        if let Some(title) = tree.title(id) {
            self.add("title", &title);
        }
        if let Some(description) = tree.description(id) {
            self.add("desc", &description);
        }
        if let Some((stroke, width)) = outline {
            self.add_outline(stroke, width);
        }
        let layer = context.layer.unwrap_or_else(|| builder.layer(chosen_class(class).unwrap_or("default")));
        (identity, layer, self.flush(builder, context.properties))
    }

    fn add_outline(&mut self, stroke: Option<u32>, width: f64) {
        let (colour, width) = match self.outline.take() {
            Some((last_stroke, last_width, colour, text)) if (last_stroke, last_width) == (stroke, width) => {
                (colour, text)
            }
            _ => {
                let mut text = String::new();
                // Writing into a string cannot fail. Six digits: single precision, as the item keeps it.
                let _ = write!(text, "{}", (width * 1e6).round() / 1e6);
                (stroke.map_or_else(String::new, |stroke| format!("#{stroke:06x}")), text)
            }
        };
        if stroke.is_some() {
            self.add("stroke", &colour);
        }
        self.add("stroke_width", &width);
        self.outline = Some((stroke, width.parse().unwrap_or(f64::NAN), colour, width));
    }

    fn add(&mut self, name: &'static str, value: &str) {
        self.add_owned(Cow::Borrowed(name), value);
    }

    fn add_owned(&mut self, name: Cow<'static, str>, value: &str) {
        if !value.is_empty() && value.len() <= MAX_VALUE_BYTES {
            self.pairs.push((name, value.to_owned()));
        }
    }

    /// Adds `part` to the path that is inherited under `name`.
    fn extend_path(&mut self, builder: &DrawingBuilder, inherited: Properties, name: &'static str, part: &str) {
        if part.is_empty() {
            return;
        }
        let pending = self.pairs.iter().position(|(pending, _)| pending == name);
        let before = match pending {
            Some(index) => self.pairs.swap_remove(index).1,
            None => {
                let found = builder.drawing().properties(inherited).find(|(inherited, _)| *inherited == name);
                found.map_or_else(String::new, |(_, value)| value.to_owned())
            }
        };
        let path = if before.is_empty() { part.to_owned() } else { format!("{before}/{part}") };
        let path = if path.len() > MAX_PATH_BYTES { before } else { path };
        self.add(name, &path);
    }

    /// The inherited properties with the collected ones instead or added.
    fn flush(&mut self, builder: &mut DrawingBuilder, inherited: Properties) -> Properties {
        if self.pairs.is_empty() {
            return inherited;
        }
        builder.extend_properties(inherited, self.pairs.iter().map(|(name, value)| (name.as_ref(), value.as_str())))
    }
}

fn is_data(name: &str) -> bool {
    name.starts_with("data-") && name.len() > 5
}

/// A layer that the document declares; off if all its occurrences are hidden.
fn declare_layer(builder: &mut DrawingBuilder, name: &str, is_hidden: bool) -> LayerId {
    let num_before = builder.drawing().layers.len();
    let id = builder.layer(name);
    let is_new = builder.drawing().layers.len() > num_before;
    if let Some(layer) = builder.layer_mut(id) {
        layer.off = is_hidden && (is_new || layer.off);
        layer.declared = true;
    }
    id
}

/// Whether drawing programs make up ids like this: `g1234`, `path10-3`, `XMLID_12_`, `_2`.
fn is_generated_id(id: &str) -> bool {
    let rest = id.trim_start_matches('_');
    let rest = ["SVGID", "XMLID", "group", "layer", "svg", "use", "page", "path", "id", "g"]
        .iter()
        .find_map(|prefix| {
            let head = rest.get(..prefix.len())?;
            // "Layer_1" is what Illustrator calls a layer, "layer1" is what Inkscape calls its id.
            head.eq_ignore_ascii_case(prefix).then(|| rest.get(prefix.len()..)).flatten()
        })
        .unwrap_or(rest);
    !rest.is_empty()
        && rest.bytes().any(|byte| byte.is_ascii_digit())
        && rest.bytes().all(|byte| byte.is_ascii_digit() || matches!(byte, b'-' | b'_' | b'.'))
}

/// The first class that a person chose.
fn chosen_class(classes: &str) -> Option<&str> {
    classes.split_ascii_whitespace().take(16).find(|class| {
        let stem = class.trim_end_matches(|c: char| c.is_ascii_digit());
        let generated = stem.len() < class.len()
            && matches!(stem, "st" | "cls-" | "fil" | "str" | "fnt" | "s" | "c" | "a" | "b" | "d" | "e" | "");
        !generated && class.len() <= MAX_PATH_BYTES
    })
}

/// Undoes the escapes that Illustrator and CorelDRAW write into ids: `Ground_x20_floor`, `Layer_x0020_1`.
fn decode_id(id: &str) -> Cow<'_, str> {
    if !id.contains("_x") {
        return Cow::Borrowed(id);
    }
    let mut decoded = String::with_capacity(id.len());
    let mut rest = id;
    while let Some(at) = rest.find("_x") {
        let (before, from) = rest.split_at(at);
        decoded.push_str(before);
        let after = from.get(2..).unwrap_or("");
        let character =
            after.split_once('_').filter(|(digits, _)| (2..=4).contains(&digits.len())).and_then(|(digits, after)| {
                let code = u32::from_str_radix(digits, 16).ok()?;
                Some((char::from_u32(code).filter(|character| !character.is_control())?, after))
            });
        match character {
            Some((character, after)) => {
                decoded.push(character);
                rest = after;
            }
            None => {
                decoded.push_str("_x");
                rest = after;
            }
        }
    }
    decoded.push_str(rest);
    Cow::Owned(decoded)
}

/// Whether a text still holds something like `&name;`.
pub(super) fn has_reference(text: &str) -> bool {
    text.split('&').skip(1).any(|after| {
        let name = after.split(';').next().unwrap_or("");
        name.len() < after.len()
            && !name.is_empty()
            && name.len() <= 32
            && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_of_programs_are_told_from_names() {
        for id in ["g1234", "g10-3-7", "SVGID_1_", "XMLID_12_", "_12", "group-3", "layer1", "svg2", "17", "id5"] {
            assert!(is_generated_id(id), "{id}");
        }
        for id in ["walls", "room101", "g", "Ebene_1a", "floor-2", "G101a", "Gebäude_1", "ü1"] {
            assert!(!is_generated_id(id), "{id}");
        }
    }

    #[test]
    fn classes_of_programs_are_told_from_names() {
        assert_eq!(chosen_class("st0 room"), Some("room"));
        assert_eq!(chosen_class("cls-12 fil3"), None);
        assert_eq!(chosen_class("level2"), Some("level2"));
        assert_eq!(chosen_class(""), None);
    }

    #[test]
    fn escapes_in_ids_are_undone() {
        assert_eq!(decode_id("Ground_x20_floor"), "Ground floor");
        assert_eq!(decode_id("Layer_x0020_1"), "Layer 1");
        assert_eq!(decode_id("K_xFC_che"), "Küche");
        assert_eq!(decode_id("max_x_min"), "max_x_min");
        assert_eq!(decode_id("a_x20"), "a_x20");
    }

    #[test]
    fn unresolved_references_are_seen() {
        assert!(has_reference("a &mine; b"));
        assert!(!has_reference("R & D; yes"));
        assert!(!has_reference("a & b; c"));
    }
}
