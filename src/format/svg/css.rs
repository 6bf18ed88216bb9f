//! Style sheets: rules, their selectors and which of them an element meets.
//!
//! Tokens of selectors come from simplecss; rules and declarations are split, indexed and matched here, because sheets are untrusted:
//! selectors are short, matching takes a bounded number of steps and no recursion, and declarations are stored
//! once however many selectors share them. Rules are found by the class, id or element name of their last
//! part, so that a thousand classes cost an element nothing.
//!
//! Not supported, and reported: at-rules (`@media`, `@import`), pseudo-classes other than `:first-child`,
//! pseudo-elements, general siblings.

use std::collections::HashMap;

use simplecss::{AttributeOperator, SelectorToken, SelectorTokenizer};

use super::tree::{NO_NODE, NodeId, Tree, unescape};

/// Longest selector, in parts joined by combinators.
const MAX_PARTS: usize = 16;
/// Longest selector as text.
const MAX_SELECTOR_BYTES: usize = 1024;
/// Steps up the tree that matching one selector against one element may take.
const MAX_STEPS: u32 = 20_000;

/// `name: value`, later wins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Declaration<'a> {
    pub(super) name: &'a str,
    pub(super) value: &'a str,
    pub(super) important: bool,
}

/// All rules of a document in cascade order.
#[derive(Debug, Default)]
pub(super) struct StyleSheet<'a> {
    rules: Vec<Rule<'a>>,
    declarations: Vec<Declaration<'a>>,
    by_class: HashMap<&'a str, Vec<u32>>,
    by_id: HashMap<&'a str, Vec<u32>>,
    by_name: HashMap<&'a str, Vec<u32>>,
    universal: Vec<u32>,
    /// Elements before each element among its siblings, worked out when a rule asks for them.
    needs_siblings: bool,
}

#[derive(Debug)]
struct Rule<'a> {
    /// Ids, classes, names: the specificity.
    weight: (u16, u16, u16),
    parts: Vec<Part<'a>>,
    /// Range in the declarations.
    declarations: (u32, u32),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Combinator {
    First,
    Descendant,
    Child,
    NextSibling,
}

/// One part of a selector, with the combinator that precedes it.
#[derive(Debug)]
struct Part<'a> {
    combinator: Combinator,
    name: Option<&'a str>,
    tests: Vec<Test<'a>>,
}

#[derive(Debug, Clone, Copy)]
enum Test<'a> {
    Attribute(&'a str, AttributeOperator<'a>),
    FirstChild,
}

impl<'a> StyleSheet<'a> {
    /// Reads the sheets one after the other; returns them and the number of rules that were not understood.
    pub(super) fn parse(sheets: &[&'a str]) -> (Self, u64) {
        let mut sheet = Self::default();
        let mut num_refused = 0;
        for text in sheets {
            num_refused += sheet.parse_one(text);
        }
        sheet.rules.sort_by_key(|rule| rule.weight);
        for (index, rule) in sheet.rules.iter().enumerate() {
            let index = index as u32;
            let Some(last) = rule.parts.last() else { continue };
            let key = |wanted: &str| {
                last.tests.iter().find_map(|test| match test {
                    Test::Attribute(name, AttributeOperator::Matches(value) | AttributeOperator::Contains(value))
                        if *name == wanted =>
                    {
                        Some(*value)
                    }
                    _ => None,
                })
            };
            let bucket = if let Some(id) = key("id") {
                sheet.by_id.entry(id).or_default()
            } else if let Some(class) = key("class") {
                sheet.by_class.entry(class).or_default()
            } else if let Some(name) = last.name {
                sheet.by_name.entry(name).or_default()
            } else {
                &mut sheet.universal
            };
            bucket.push(index);
        }
        (sheet, num_refused)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.rules.is_empty()
    }

    /// Whether [`Element::previous`] will be asked for.
    pub(super) fn needs_siblings(&self) -> bool {
        self.needs_siblings
    }

    fn parse_one(&mut self, text: &'a str) -> u64 {
        let mut rest = text;
        let mut num_refused = 0;
        loop {
            rest = skip_blank(rest);
            if rest.is_empty() {
                return num_refused;
            }
            if rest.starts_with('@') {
                num_refused += u64::from(!rest.starts_with("@charset") && !rest.starts_with("@font-face"));
                rest = after_at_rule(rest);
                continue;
            }
            let Some((selectors, after)) = rest.split_once('{') else { return num_refused + 1 };
            let (block, after) = after.split_once('}').unwrap_or((after, ""));
            rest = after;
            let start = self.declarations.len() as u32;
            self.declarations.extend(declarations(block));
            let range = (start, self.declarations.len() as u32);
            for selector in selectors.split(',') {
                match parse_selector(selector) {
                    Some((parts, weight)) => {
                        let asks = |part: &Part<'_>| {
                            part.combinator == Combinator::NextSibling
                                || part.tests.iter().any(|test| matches!(test, Test::FirstChild))
                        };
                        self.needs_siblings |= parts.iter().any(asks);
                        self.rules.push(Rule { weight, parts, declarations: range });
                    }
                    None => num_refused += 1,
                }
            }
        }
    }

    /// Collects the declarations that `element` meets, in cascade order.
    pub(super) fn collect(&self, element: Element<'_, '_>, class: &str, id: &str, found: &mut Vec<Declaration<'a>>) {
        let mut candidates: Vec<u32> = self.universal.clone();
        let mut add = |rules: Option<&Vec<u32>>| candidates.extend(rules.into_iter().flatten());
        add(self.by_name.get(element.tree.local_name(element.id)));
        if !id.is_empty() {
            add(self.by_id.get(id));
        }
        for class in class.split_ascii_whitespace().take(64) {
            add(self.by_class.get(class));
        }
        candidates.sort_unstable();
        candidates.dedup();
        for index in candidates {
            let Some(rule) = self.rules.get(index as usize) else { continue };
            if matches(&rule.parts, element) {
                let (start, end) = rule.declarations;
                found.extend_from_slice(self.declarations.get(start as usize..end as usize).unwrap_or(&[]));
            }
        }
    }
}

/// The declarations of a block or of a `style` attribute. One that is not understood is skipped.
pub(super) fn declarations(block: &str) -> Declarations<'_> {
    Declarations { rest: block }
}

/// Iterator over declarations.
#[derive(Debug, Clone)]
pub(super) struct Declarations<'a> {
    rest: &'a str,
}

impl<'a> Iterator for Declarations<'a> {
    type Item = Declaration<'a>;

    fn next(&mut self) -> Option<Declaration<'a>> {
        loop {
            self.rest = skip_blank(self.rest);
            if self.rest.is_empty() {
                return None;
            }
            let end = declaration_end(self.rest);
            let text = self.rest.get(..end).unwrap_or("");
            self.rest = self.rest.get(end..).unwrap_or("");
            let Some((name, value)) = text.split_once(':') else { continue };
            let name = name.trim().trim_start_matches('*');
            if name.is_empty() || !name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
            {
                continue;
            }
            let value = value.split_once("/*").map_or(value, |(value, _)| value).trim();
            let important = value.rsplit_once('!').filter(|(_, word)| word.trim().eq_ignore_ascii_case("important"));
            return Some(match important {
                Some((value, _)) => Declaration { name, value: value.trim_end(), important: true },
                None => Declaration { name, value, important: false },
            });
        }
    }
}

/// Where the first declaration ends: at a semicolon outside quotes and parentheses.
fn declaration_end(text: &str) -> usize {
    let (mut quote, mut depth) = (None, 0u32);
    for (index, byte) in text.bytes().enumerate() {
        match (quote, byte) {
            (Some(open), byte) if open == byte => quote = None,
            (Some(_), _) => {}
            (None, b'"' | b'\'') => quote = Some(byte),
            (None, b'(') => depth += 1,
            (None, b')') => depth = depth.saturating_sub(1),
            (None, b';') if depth == 0 => return index,
            (None, _) => {}
        }
    }
    text.len()
}

/// Skips white space, comments and the marks that hide sheets from old browsers.
fn skip_blank(text: &str) -> &str {
    let mut rest = text;
    loop {
        rest = rest.trim_start();
        if let Some(comment) = rest.strip_prefix("/*") {
            rest = comment.split_once("*/").map_or("", |(_, after)| after);
        } else if let Some(after) = rest.strip_prefix("<!--").or_else(|| rest.strip_prefix("-->")) {
            rest = after;
        } else if let Some(after) = rest.strip_prefix(['}', ';']) {
            rest = after;
        } else {
            return rest;
        }
    }
}

/// After `@name …;` or `@name … { … }`, blocks inside counted.
fn after_at_rule(text: &str) -> &str {
    let mut depth = 0u32;
    for (index, byte) in text.bytes().enumerate() {
        match byte {
            b';' if depth == 0 => return text.get(index + 1..).unwrap_or(""),
            b'{' => depth += 1,
            b'}' if depth <= 1 => return text.get(index + 1..).unwrap_or(""),
            b'}' => depth -= 1,
            _ => {}
        }
    }
    ""
}

fn parse_selector(text: &str) -> Option<(Vec<Part<'_>>, (u16, u16, u16))> {
    let text = skip_blank(text);
    let text = match text.split_once("/*") {
        Some((before, comment)) if skip_blank(comment.split_once("*/")?.1).is_empty() => before.trim_end(),
        Some(_) => return None,
        None => text.trim_end(),
    };
    if text.is_empty() || text.len() > MAX_SELECTOR_BYTES {
        return None;
    }
    let mut parts: Vec<Part<'_>> = Vec::new();
    let mut combinator = Some(Combinator::First);
    let mut weight = (0u16, 0u16, 0u16);
    for token in SelectorTokenizer::from(text) {
        let mut begin = |parts: &mut Vec<Part<'_>>| {
            if let Some(combinator) = combinator.take() {
                parts.push(Part { combinator, name: None, tests: Vec::new() });
            }
        };
        let test = match token.ok()? {
            SelectorToken::UniversalSelector => {
                begin(&mut parts);
                continue;
            }
            SelectorToken::TypeSelector(name) => {
                begin(&mut parts);
                parts.last_mut()?.name = Some(name);
                weight.2 = weight.2.saturating_add(1);
                continue;
            }
            SelectorToken::ClassSelector(class) => Test::Attribute("class", AttributeOperator::Contains(class)),
            SelectorToken::IdSelector(id) => Test::Attribute("id", AttributeOperator::Matches(id)),
            SelectorToken::AttributeSelector(name, operator) => Test::Attribute(name, operator),
            SelectorToken::PseudoClass("first-child") => Test::FirstChild,
            SelectorToken::PseudoClass(_) | SelectorToken::LangPseudoClass(_) => return None,
            SelectorToken::DescendantCombinator => {
                combinator = Some(Combinator::Descendant);
                continue;
            }
            SelectorToken::ChildCombinator => {
                combinator = Some(Combinator::Child);
                continue;
            }
            SelectorToken::AdjacentCombinator => {
                combinator = Some(Combinator::NextSibling);
                continue;
            }
        };
        begin(&mut parts);
        let part = parts.last_mut()?;
        if part.tests.len() >= MAX_PARTS {
            return None;
        }
        match test {
            Test::Attribute("id", _) => weight.0 = weight.0.saturating_add(1),
            _ => weight.1 = weight.1.saturating_add(1),
        }
        part.tests.push(test);
    }
    let starts_well = parts.first().is_some_and(|part| part.combinator == Combinator::First);
    (starts_well && parts.len() <= MAX_PARTS && combinator.is_none()).then_some((parts, weight))
}

/// An element as selectors see it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Element<'t, 'a> {
    pub(super) tree: &'t Tree<'a>,
    /// For every node the element before it among its siblings; empty if no rule needs it.
    pub(super) previous: &'t [NodeId],
    pub(super) id: NodeId,
}

impl Element<'_, '_> {
    fn parent(self) -> Option<Self> {
        let parent = self.tree.node(self.id).parent;
        (parent != NO_NODE).then_some(Self { id: parent, ..self })
    }

    fn previous(self) -> Option<Self> {
        let previous = self.previous.get(self.id as usize).copied()?;
        (previous != NO_NODE).then_some(Self { id: previous, ..self })
    }

    fn meets(self, part: &Part<'_>) -> bool {
        part.name.is_none_or(|name| self.tree.local_name(self.id) == name)
            && part.tests.iter().all(|test| match test {
                Test::FirstChild => self.previous().is_none(),
                Test::Attribute(name, operator) => {
                    self.tree.attribute(self.id, name).is_some_and(|value| operator.matches(&unescape(value)))
                }
            })
    }
}

/// Matches from the last part to the first; on failure goes back to the nearest descendant combinator and tries
/// the next ancestor.
fn matches(parts: &[Part<'_>], element: Element<'_, '_>) -> bool {
    let Some(last) = parts.len().checked_sub(1) else { return false };
    if !parts.get(last).is_some_and(|part| element.meets(part)) {
        return false;
    }
    // Where to go on when a branch fails: the part to match, and the element whose ancestors are left to try.
    let mut retries: Vec<(usize, Element<'_, '_>)> = Vec::new();
    let (mut at, mut current) = (last, element);
    let mut steps = 0u32;
    loop {
        let Some(part) = parts.get(at) else { return false };
        let next = match part.combinator {
            Combinator::First => return true,
            Combinator::Child => current.parent(),
            Combinator::NextSibling => current.previous(),
            Combinator::Descendant => {
                let parent = current.parent();
                if let Some(parent) = parent {
                    retries.push((at, parent));
                }
                parent
            }
        };
        let wanted = parts.get(at - 1);
        match next.filter(|next| wanted.is_some_and(|part| next.meets(part))) {
            Some(next) => (at, current) = (at - 1, next),
            None => match retries.pop() {
                Some(retry) => (at, current) = retry,
                None => return false,
            },
        }
        steps += 1;
        if steps > MAX_STEPS {
            return false;
        }
    }
}

/// The element before each element among its siblings.
pub(super) fn previous_siblings(tree: &Tree<'_>) -> Vec<NodeId> {
    let mut previous = vec![NO_NODE; tree.nodes.len()];
    // Last child met of every open element, in document order: one pass.
    let mut last_child: HashMap<NodeId, NodeId> = HashMap::new();
    for (id, node) in tree.nodes.iter().enumerate() {
        if matches!(node.kind, super::tree::Kind::Characters | super::tree::Kind::Verbatim) {
            continue;
        }
        if let (Some(before), Some(slot)) = (last_child.insert(node.parent, id as NodeId), previous.get_mut(id)) {
            *slot = before;
        }
    }
    previous
}

#[cfg(test)]
mod tests {
    use super::super::issues::Report;
    use super::*;
    use crate::format::Limits;
    use crate::issue::Issues;

    /// Value of `fill` that rules give the element with id `x`.
    fn fill(css: &str, svg: &str) -> Option<String> {
        let mut report = Report::new(svg, Issues::new());
        let tree = Tree::index(svg, &Limits::default(), &mut report, &|| Ok(())).unwrap();
        let (sheet, _) = StyleSheet::parse(&[css]);
        let previous = if sheet.needs_siblings() { previous_siblings(&tree) } else { Vec::new() };
        let id = tree.by_id("x").unwrap();
        let class = tree.attribute(id, "class").unwrap_or("");
        let mut found = Vec::new();
        sheet.collect(Element { tree: &tree, previous: &previous, id }, class, "x", &mut found);
        found.iter().rfind(|declaration| declaration.name == "fill").map(|declaration| declaration.value.to_owned())
    }

    const SVG: &str = "<svg><g class='plan'><g id='a' class='rooms big'><rect/><rect id='x' class='room st0' \
                       data-use='office'/></g></g></svg>";

    #[test]
    fn selectors_match() {
        for (css, expected) in [
            ("rect{fill:red}", true),
            ("*{fill:red}", true),
            (".st0{fill:red}", true),
            ("#x{fill:red}", true),
            ("rect.room.st0{fill:red}", true),
            (".plan rect{fill:red}", true),
            (".plan > rect{fill:red}", false),
            ("#a > .room{fill:red}", true),
            ("svg > g > .rooms .room{fill:red}", true),
            ("svg > .rooms rect{fill:red}", false),
            ("rect + rect{fill:red}", true),
            ("rect:first-child{fill:red}", false),
            ("[data-use=office]{fill:red}", true),
            ("[data-use='shop']{fill:red}", false),
            ("circle, .room{fill:red}", true),
            (".roo{fill:red}", false),
            ("/* a { } */ .room /* b */ {fill:red}", true),
            ("<!-- .room{fill:red} -->", true),
            ("@media print{.room{fill:red}}", false),
            ("@media print{.room{fill:blue}} .room{fill:red}", true),
        ] {
            assert_eq!(fill(css, SVG).is_some(), expected, "{css}");
        }
    }

    #[test]
    fn later_and_more_specific_rules_win() {
        assert_eq!(fill(".room{fill:red} .room{fill:blue}", SVG).as_deref(), Some("blue"));
        assert_eq!(fill("#x{fill:red} .room{fill:blue}", SVG).as_deref(), Some("red"));
        assert_eq!(fill("g .room{fill:red} .room{fill:blue}", SVG).as_deref(), Some("red"));
    }

    #[test]
    fn declarations_are_cut_where_they_end() {
        let cut = |block| {
            let each =
                declarations(block).map(|d| format!("{}={}{}", d.name, d.value, if d.important { "!" } else { "" }));
            each.collect::<Vec<_>>().join(" ")
        };
        assert_eq!(cut("fill:red; stroke : blue ;"), "fill=red stroke=blue");
        assert_eq!(cut("fill:url(data:a;b) ! important;font:'a;b'"), "fill=url(data:a;b)! font='a;b'");
        assert_eq!(
            cut("/* a:b; */ fill:red /* dark */; nonsense; *zoom:1; -x-y:2; a b:c; d:e"),
            "fill=red zoom=1 -x-y=2 d=e"
        );
    }

    #[test]
    fn hostile_sheets_end_quickly() {
        let deep = format!("<svg>{}<rect id='x'/>{}</svg>", "<g>".repeat(3000), "</g>".repeat(3000));
        let selector = format!("h1 {} rect{{fill:red}}", "g ".repeat(14));
        assert_eq!(fill(&selector, &deep), None);
        let long = format!("{}rect{{fill:red}}", "g ".repeat(400));
        assert_eq!(fill(&long, SVG), None);
        let wide = format!("{}rect{{{}}}", "a,".repeat(50_000), "x:1;".repeat(50_000));
        assert_eq!(StyleSheet::parse(&[&wide]).0.declarations.len(), 50_000);
        assert_eq!(fill("rect{fill:red", SVG).as_deref(), Some("red"));
        assert_eq!(fill("}}}{;;", SVG), None);
    }
}
