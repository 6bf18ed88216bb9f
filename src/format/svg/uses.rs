//! How many elements `use` will visit, counted before any is drawn.
//!
//! Two kilobytes of nested `use` can ask for 10⁸ shapes. The number follows from the tree alone, so a document
//! that exceeds `limits.expanded_shapes` is refused before it costs anything. Groups count like shapes: visiting
//! them costs as much. Circles of references are cut here and while walking; what a tangle of circles can still
//! ask for is bounded by the walk's own counter.

use std::collections::HashMap;

use super::tree::{Kind, NO_NODE, NodeId, Tree};

/// Elements visited through the `use` elements outside definitions. Saturates; circular references count once.
pub(super) fn count_expanded(tree: &Tree<'_>) -> u64 {
    let counter = Counter::new(tree);
    let mut totals: HashMap<NodeId, u64> = HashMap::new();
    let outside = counter.uses.iter().filter(|(id, _)| !counter.in_definition(*id));
    outside.fold(0u64, |sum, (_, target)| sum.saturating_add(counter.total(*target, &mut totals)))
}

struct Counter<'t, 'a> {
    tree: &'t Tree<'a>,
    /// Every `use` with its target, in document order.
    uses: Vec<(NodeId, NodeId)>,
}

impl<'t, 'a> Counter<'t, 'a> {
    fn new(tree: &'t Tree<'a>) -> Self {
        let ids = tree.nodes.iter().enumerate().filter(|(_, node)| node.kind == Kind::Use).map(|(id, _)| id as NodeId);
        let uses = ids.filter_map(|id| Some((id, tree.by_reference(tree.attribute(id, "href")?)?))).collect();
        Self { tree, uses }
    }

    fn in_definition(&self, id: NodeId) -> bool {
        let mut current = self.tree.node(id).parent;
        while current != NO_NODE {
            let node = self.tree.node(current);
            if node.kind.is_definition() {
                return true;
            }
            current = node.parent;
        }
        false
    }

    fn uses_in(&self, target: NodeId) -> &[(NodeId, NodeId)] {
        let end = self.tree.node(target).end;
        let first = self.uses.partition_point(|(id, _)| *id < target);
        let last = self.uses.partition_point(|(id, _)| *id < end);
        self.uses.get(first..last).unwrap_or(&[])
    }

    /// Elements that one reference to `target` visits. Depth first over an explicit stack, every target once; a
    /// target that is still being counted counts 0, which ends a circle.
    fn total(&self, target: NodeId, totals: &mut HashMap<NodeId, u64>) -> u64 {
        if let Some(total) = totals.get(&target) {
            return *total;
        }
        totals.insert(target, 0);
        let mut stack = vec![(target, 0usize)];
        while let Some((current, next)) = stack.last_mut() {
            let inner = self.uses_in(*current);
            match inner.get(*next) {
                Some((_, wanted)) => {
                    *next += 1;
                    if !totals.contains_key(wanted) {
                        totals.insert(*wanted, 0);
                        stack.push((*wanted, 0));
                    }
                }
                None => {
                    let own = u64::from(self.tree.node(*current).end.saturating_sub(*current));
                    let total = inner
                        .iter()
                        .fold(own, |sum, (_, wanted)| sum.saturating_add(totals.get(wanted).copied().unwrap_or(0)));
                    totals.insert(*current, total);
                    stack.pop();
                }
            }
        }
        totals.get(&target).copied().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::super::issues::Report;
    use super::*;
    use crate::format::Limits;
    use crate::issue::Issues;

    fn count(svg: &str) -> u64 {
        let mut report = Report::new(svg, Issues::new());
        count_expanded(&Tree::index(svg, &Limits::default(), &mut report, &|| Ok(())).unwrap())
    }

    #[test]
    fn counts() {
        assert_eq!(count("<svg><rect/><g><path/></g><defs><rect/></defs></svg>"), 0);
        assert_eq!(count("<svg><defs><g id='a'><rect/><rect/></g></defs><use href='#a'/><use href='#a'/></svg>"), 6);
        assert_eq!(count("<svg><rect id='a'/><use xlink:href='#a'/><use href='#gone'/></svg>"), 1);
        assert_eq!(count("<svg><g id='a'><rect/><use href='#a'/></g></svg>"), 3);
        assert_eq!(count("<svg><rect id='a'/><defs><use href='#a'/></defs></svg>"), 0);
    }

    #[test]
    fn a_bomb_is_counted_not_drawn() {
        let mut svg = "<svg><defs><rect id='a0'/>".to_owned();
        for level in 1..=30 {
            let uses = format!("<use href='#a{}'/>", level - 1).repeat(10);
            svg.push_str(&format!("<g id='a{level}'>{uses}</g>"));
        }
        svg.push_str("</defs><use href='#a30'/></svg>");
        assert_eq!(count(&svg), u64::MAX);
        assert!(count(&svg.replace("#a30", "#a8")) > 100_000_000);
    }
}
