//! Optional content: which layer content belongs to and whether the document shows it by default.
//!
//! Follows the default configuration (`/OCProperties /D`: base state, ON, OFF) of PDF 2.0, 8.11: groups, membership
//! dictionaries with their policy, and visibility expressions. Of usage dictionaries only the state for viewing
//! counts, where `/AS` asks for it: what a viewer shows at first is what a plan shows.

use std::collections::{HashMap, HashSet};

use hayro_syntax::Pdf;
use hayro_syntax::object::{Array, Dict, MaybeRef, Name, Object, ObjectIdentifier, String as PdfString};

use super::objects::text_string;
use crate::drawing::{DrawingBuilder, LayerId};

/// How deep visibility expressions may nest.
const GREATEST_DEPTH: u32 = 16;

/// What content belongs to.
#[derive(Debug, Clone, Copy)]
pub(super) struct Membership {
    pub(super) layer: Option<LayerId>,
    pub(super) visible: bool,
}

/// The optional content groups of a document.
#[derive(Default)]
pub(super) struct Layers {
    off: HashSet<ObjectIdentifier>,
    by_group: HashMap<ObjectIdentifier, Option<LayerId>>,
}

impl Layers {
    /// Reads the groups and declares a layer for each. A layer is off if all groups of its name are.
    pub(super) fn new(pdf: &Pdf, builder: &mut DrawingBuilder) -> Self {
        let mut layers = Self::default();
        let Some(properties) =
            pdf.xref().get::<Dict<'_>>(pdf.xref().root_id()).and_then(|root| root.get::<Dict<'_>>("OCProperties"))
        else {
            return layers;
        };
        let groups = properties.get::<Array<'_>>("OCGs");
        let config = properties.get::<Dict<'_>>("D").unwrap_or_default();
        if config.get::<Name<'_>>("BaseState").is_some_and(|state| &*state == b"OFF") {
            layers.off.extend(groups.iter().flat_map(references));
        }
        for group in config.get::<Array<'_>>("ON").iter().flat_map(references) {
            layers.off.remove(&group);
        }
        layers.off.extend(config.get::<Array<'_>>("OFF").iter().flat_map(references));
        layers.apply_usage(pdf, &config);

        let mut shown = HashSet::new();
        for group in groups.iter().flat_map(references) {
            let Some(dict) = pdf.xref().get::<Dict<'_>>(group) else { continue };
            let Some(layer) = layers.group(&dict, group, builder) else { continue };
            let visible = !layers.off.contains(&group);
            if visible {
                shown.insert(layer);
            }
            if let Some(layer) = builder.layer_mut(layer) {
                layer.off = !visible;
                layer.declared = true;
            }
        }
        for layer in shown {
            if let Some(layer) = builder.layer_mut(layer) {
                layer.off = false;
            }
        }
        layers
    }

    /// Usage applications for viewing (8.11.4.4): groups they list take the state their usage names.
    fn apply_usage(&mut self, pdf: &Pdf, config: &Dict<'_>) {
        let is_view = |name: Option<Name<'_>>| name.is_some_and(|name| &*name == b"View");
        let applications = config.get::<Array<'_>>("AS");
        for application in applications.iter().flat_map(|array| array.iter::<Dict<'_>>()) {
            let categories = application.get::<Array<'_>>("Category");
            let for_viewing = is_view(application.get("Event"))
                && categories.iter().flat_map(|array| array.iter::<Name<'_>>()).any(|name| is_view(Some(name)));
            if !for_viewing {
                continue;
            }
            for group in application.get::<Array<'_>>("OCGs").iter().flat_map(references) {
                let usage = pdf.xref().get::<Dict<'_>>(group).and_then(|group| group.get::<Dict<'_>>("Usage"));
                let view = usage.and_then(|usage| usage.get::<Dict<'_>>("View"));
                match view.and_then(|view| view.get::<Name<'_>>("ViewState")).as_deref() {
                    Some(b"OFF") => {
                        self.off.insert(group);
                    }
                    Some(b"ON") => {
                        self.off.remove(&group);
                    }
                    _ => {}
                }
            }
        }
    }

    /// Resolves a group or membership dictionary; `reference` is how it was referred to.
    pub(super) fn resolve(
        &mut self,
        dict: &Dict<'_>,
        reference: Option<ObjectIdentifier>,
        builder: &mut DrawingBuilder,
    ) -> Membership {
        if dict.get::<Name<'_>>("Type").is_some_and(|kind| &*kind == b"OCMD") {
            return self.membership(dict, builder);
        }
        match reference {
            Some(group) => Membership { layer: self.group(dict, group, builder), visible: !self.off.contains(&group) },
            None => Membership { layer: named(dict, builder), visible: true },
        }
    }

    fn group(&mut self, dict: &Dict<'_>, id: ObjectIdentifier, builder: &mut DrawingBuilder) -> Option<LayerId> {
        *self.by_group.entry(id).or_insert_with(|| named(dict, builder))
    }

    fn membership(&mut self, dict: &Dict<'_>, builder: &mut DrawingBuilder) -> Membership {
        let listed = dict.get::<Array<'_>>("OCGs");
        let mut groups: Vec<ObjectIdentifier> = listed.iter().flat_map(references).collect();
        // Layers of the groups that are on and off; visible content must not hang on a layer that is off.
        let mut layers = [None; 2];
        if let Some(listed) = &listed {
            for (entry, id) in listed.iter::<Dict<'_>>().zip(&groups) {
                let layer = self.group(&entry, *id, builder);
                let slot = &mut layers[usize::from(self.off.contains(id))];
                *slot = slot.or(layer);
            }
        } else if let (Some(id), Some(single)) = (dict.get_ref("OCGs"), dict.get::<Dict<'_>>("OCGs")) {
            let id = id.into();
            groups.push(id);
            layers[usize::from(self.off.contains(&id))] = self.group(&single, id, builder);
        }
        let expression = dict.get::<Array<'_>>("VE").and_then(|array| self.expression(&array, GREATEST_DEPTH));
        let visible = expression.unwrap_or_else(|| self.policy(dict, &groups));
        let [on, off] = layers;
        Membership { layer: if visible { on } else { off.or(on) }, visible }
    }

    fn policy(&self, dict: &Dict<'_>, groups: &[ObjectIdentifier]) -> bool {
        if groups.is_empty() {
            return true;
        }
        let is_on = |group: &ObjectIdentifier| !self.off.contains(group);
        match dict.get::<Name<'_>>("P").as_deref() {
            Some(b"AllOn") => groups.iter().all(is_on),
            Some(b"AnyOff") => !groups.iter().all(is_on),
            Some(b"AllOff") => !groups.iter().any(is_on),
            _ => groups.iter().any(is_on),
        }
    }

    fn expression(&self, array: &Array<'_>, depth: u32) -> Option<bool> {
        let depth = depth.checked_sub(1)?;
        let mut entries = array.raw_iter();
        let MaybeRef::NotRef(Object::Name(operator)) = entries.next()? else { return None };
        let mut operands = entries.map(|entry| match entry {
            MaybeRef::Ref(group) => Some(!self.off.contains(&group.into())),
            MaybeRef::NotRef(Object::Array(nested)) => self.expression(&nested, depth),
            MaybeRef::NotRef(_) => None,
        });
        match &*operator {
            b"And" => operands.try_fold(true, |all, operand| Some(all & operand?)),
            b"Or" => operands.try_fold(false, |any, operand| Some(any | operand?)),
            b"Not" => operands.next()?.map(|operand| !operand),
            _ => None,
        }
    }
}

fn named(dict: &Dict<'_>, builder: &mut DrawingBuilder) -> Option<LayerId> {
    let name = dict.get::<PdfString<'_>>("Name")?;
    Some(builder.layer(&text_string(name.as_bytes())))
}

fn references(array: &Array<'_>) -> Vec<ObjectIdentifier> {
    array.raw_iter().filter_map(|entry| entry.as_obj_ref()).map(Into::into).collect()
}
