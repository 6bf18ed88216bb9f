//! The element tree as a tape: one small record an element, in document order, pointing into the text.
//!
//! A drawing tool needs to look ahead (`use` of what comes later, style sheets at the end, a `title` inside its
//! element), so the document is indexed once. A record holds where its tag lies, its parent and where its
//! subtree ends; attributes are parsed again when the element is visited, which costs less than storing them.
//! 20 bytes an element keep the tape smaller than the file.
//!
//! Faults of the XML are repaired where the rest can still be read (mismatched end tags, bare `&`), and end the
//! tape where it cannot (a tag that is never closed): everything before the fault is kept. Entities declared in
//! the document are never expanded. Nothing here recurses.

use std::borrow::Cow;
use std::collections::HashMap;

use quick_xml::Reader;
use quick_xml::events::Event;

use super::issues::{self, Report};
use crate::format::{Checkpoint, Limits, ReadError};

/// Index of a node.
pub(super) type NodeId = u32;

/// No node: the parent of the root.
pub(super) const NO_NODE: NodeId = NodeId::MAX;

/// What a node is. Elements of other vocabularies are [`Kind::Foreign`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Characters inside a text, title or style element, as written.
    Characters,
    /// A CDATA section.
    Verbatim,
    Svg,
    Group,
    Anchor,
    Switch,
    Defs,
    Symbol,
    Use,
    Path,
    Rect,
    Circle,
    Ellipse,
    Line,
    Polyline,
    Polygon,
    Text,
    Tspan,
    TextPath,
    FlowRoot,
    FlowRegion,
    FlowParagraph,
    Style,
    Title,
    Description,
    ClipPath,
    /// Marker, pattern, gradient, mask, filter: drawn only by reference, and not by us.
    Definition,
    Image,
    ForeignObject,
    /// Metadata, scripts, animation, named views: nothing to draw.
    Ignored,
    /// Another vocabulary (`sodipodi:namedview`, `rdf:RDF`).
    Foreign,
    /// An element without prefix that SVG does not know.
    Unknown,
}

impl Kind {
    fn of(local_name: &str) -> Self {
        match local_name {
            "svg" => Self::Svg,
            "g" => Self::Group,
            "a" => Self::Anchor,
            "switch" => Self::Switch,
            "defs" => Self::Defs,
            "symbol" => Self::Symbol,
            "use" => Self::Use,
            "path" => Self::Path,
            "rect" => Self::Rect,
            "circle" => Self::Circle,
            "ellipse" => Self::Ellipse,
            "line" => Self::Line,
            "polyline" => Self::Polyline,
            "polygon" => Self::Polygon,
            "text" => Self::Text,
            "tspan" | "tref" | "altGlyph" | "flowSpan" => Self::Tspan,
            "textPath" => Self::TextPath,
            "flowRoot" => Self::FlowRoot,
            "flowRegion" => Self::FlowRegion,
            "flowPara" | "flowDiv" | "flowLine" => Self::FlowParagraph,
            "style" => Self::Style,
            "title" => Self::Title,
            "desc" => Self::Description,
            "clipPath" => Self::ClipPath,
            "marker" | "pattern" | "linearGradient" | "radialGradient" | "meshgradient" | "hatch" | "mask"
            | "filter" | "solidColor" | "font" | "font-face" | "cursor" => Self::Definition,
            "image" => Self::Image,
            "foreignObject" => Self::ForeignObject,
            "metadata" | "script" | "animate" | "animateTransform" | "animateMotion" | "animateColor" | "set"
            | "mpath" | "view" | "stop" | "discard" | "color-profile" => Self::Ignored,
            _ => Self::Unknown,
        }
    }

    /// Whether characters inside it are kept.
    fn holds_characters(self) -> bool {
        matches!(
            self,
            Self::Text
                | Self::Tspan
                | Self::TextPath
                | Self::FlowRoot
                | Self::FlowParagraph
                | Self::Style
                | Self::Title
                | Self::Description
        )
    }

    /// Whether it draws something by itself.
    pub(super) fn is_drawn(self) -> bool {
        matches!(
            self,
            Self::Path
                | Self::Rect
                | Self::Circle
                | Self::Ellipse
                | Self::Line
                | Self::Polyline
                | Self::Polygon
                | Self::Text
                | Self::FlowRoot
                | Self::Image
                | Self::ForeignObject
        )
    }

    /// Whether its content is drawn only by reference.
    pub(super) fn is_definition(self) -> bool {
        matches!(self, Self::Defs | Self::Symbol | Self::ClipPath | Self::Definition)
    }
}

/// One record of the tape.
#[derive(Debug, Clone, Copy)]
pub(super) struct Node {
    /// Where its tag's name, or its characters, start.
    start: u32,
    /// Bytes of name and attributes, or of the characters.
    len: u32,
    /// The element it is in.
    pub(super) parent: NodeId,
    /// One past the last node of its subtree.
    pub(super) end: NodeId,
    name_len: u16,
    pub(super) kind: Kind,
}

/// The indexed document.
#[derive(Debug)]
pub(super) struct Tree<'a> {
    text: &'a str,
    pub(super) nodes: Vec<Node>,
    /// The first `svg` element.
    pub(super) root: NodeId,
    /// First element of every id.
    ids: HashMap<&'a str, NodeId>,
    /// `title` and `desc` children by parent.
    titles: HashMap<NodeId, NodeId>,
    descriptions: HashMap<NodeId, NodeId>,
    /// All style elements.
    pub(super) styles: Vec<NodeId>,
    /// Comments at the top that name the writing program.
    pub(super) generator: Option<&'a str>,
}

impl<'a> Tree<'a> {
    /// Indexes `text`.
    ///
    /// # Errors
    /// When there is no `svg` element, or more elements than `limits.entities`.
    pub(super) fn index(
        text: &'a str,
        limits: &Limits,
        report: &mut Report<'a>,
        checkpoint: &Checkpoint<'_>,
    ) -> Result<Self, ReadError> {
        if u32::try_from(text.len()).is_err() {
            let limit = limits.document_bytes.min(u64::from(u32::MAX));
            return Err(ReadError::Limit { what: "size of the decoded SVG".to_owned(), key: "document_bytes", limit });
        }
        let tree = Self {
            text,
            nodes: Vec::with_capacity(text.len() / 128),
            root: NO_NODE,
            ids: HashMap::new(),
            titles: HashMap::new(),
            descriptions: HashMap::new(),
            styles: Vec::new(),
            generator: None,
        };
        let mut indexer = Indexer {
            tree,
            open: Vec::new(),
            skipped_depth: 0,
            root_prefix: None,
            svg_prefixes: vec!["svg"],
            limits,
            has_id: memchr::memmem::Finder::new(b"id"),
        };
        indexer.run(report, checkpoint)?;
        indexer.finish(report)
    }

    /// A node; ids that are not of this tree give an empty one.
    pub(super) fn node(&self, id: NodeId) -> Node {
        const NOTHING: Node = Node { start: 0, len: 0, parent: NO_NODE, end: 0, name_len: 0, kind: Kind::Ignored };
        self.nodes.get(id as usize).copied().unwrap_or(NOTHING)
    }

    fn slice(&self, start: usize, len: usize) -> &'a str {
        self.text.get(start..start + len).unwrap_or("")
    }

    /// Offset of a node in the text.
    pub(super) fn offset(&self, id: NodeId) -> usize {
        self.node(id).start as usize
    }

    /// Name as written, with its prefix.
    pub(super) fn name(&self, id: NodeId) -> &'a str {
        let node = self.node(id);
        self.slice(node.start as usize, usize::from(node.name_len))
    }

    /// Name without its prefix.
    pub(super) fn local_name(&self, id: NodeId) -> &'a str {
        let name = self.name(id);
        name.rsplit_once(':').map_or(name, |(_, local)| local)
    }

    /// Attributes as written.
    pub(super) fn attributes(&self, id: NodeId) -> AttributeIter<'a> {
        let node = self.node(id);
        if matches!(node.kind, Kind::Characters | Kind::Verbatim) {
            return AttributeIter { rest: "" };
        }
        let name = usize::from(node.name_len);
        AttributeIter { rest: self.slice(node.start as usize + name, (node.len as usize).saturating_sub(name)) }
    }

    /// One attribute by local name, as written. `href` finds `xlink:href` as well.
    pub(super) fn attribute(&self, id: NodeId, local_name: &str) -> Option<&'a str> {
        find_attribute(self.attributes(id), local_name)
    }

    /// Characters of a node, references resolved.
    pub(super) fn characters(&self, id: NodeId) -> Cow<'a, str> {
        let node = self.node(id);
        let raw = self.slice(node.start as usize, node.len as usize);
        match node.kind {
            Kind::Characters => unescape(raw),
            Kind::Verbatim => Cow::Borrowed(raw),
            _ => Cow::Borrowed(""),
        }
    }

    /// All characters below a node, joined, without those of nested titles.
    pub(super) fn all_characters(&self, id: NodeId) -> Cow<'a, str> {
        let end = self.node(id).end;
        let mut joined = Cow::Borrowed("");
        for child in id + 1..end {
            let characters = self.characters(child);
            if joined.is_empty() {
                joined = characters;
            } else if !characters.is_empty() {
                joined.to_mut().push_str(&characters);
            }
        }
        joined
    }

    /// The element with that id.
    pub(super) fn by_id(&self, id: &str) -> Option<NodeId> {
        self.ids.get(id).copied()
    }

    /// The element a reference such as `#walls` or `url(#walls)` names; references into other documents give none.
    pub(super) fn by_reference(&self, reference: &str) -> Option<NodeId> {
        self.by_id(local_reference(reference)?)
    }

    /// Text of the `title` child.
    pub(super) fn title(&self, id: NodeId) -> Option<Cow<'a, str>> {
        self.note_text(&self.titles, id)
    }

    /// Text of the `desc` child.
    pub(super) fn description(&self, id: NodeId) -> Option<Cow<'a, str>> {
        self.note_text(&self.descriptions, id)
    }

    fn note_text(&self, notes: &HashMap<NodeId, NodeId>, id: NodeId) -> Option<Cow<'a, str>> {
        if notes.is_empty() {
            return None;
        }
        let text = collapse_white_space(&self.all_characters(*notes.get(&id)?)).into_owned();
        (!text.is_empty()).then_some(Cow::Owned(text))
    }
}

struct Indexer<'a, 'l> {
    tree: Tree<'a>,
    open: Vec<NodeId>,
    /// Levels below the deepest allowed one.
    skipped_depth: u64,
    root_prefix: Option<&'a str>,
    svg_prefixes: Vec<&'a str>,
    limits: &'l Limits,
    has_id: memchr::memmem::Finder<'static>,
}

impl<'a> Indexer<'a, '_> {
    fn run(&mut self, report: &mut Report<'a>, checkpoint: &Checkpoint<'_>) -> Result<(), ReadError> {
        let text = self.tree.text;
        let mut reader = Reader::from_str(text);
        let config = reader.config_mut();
        config.allow_dangling_amp = true;
        config.allow_unmatched_ends = true;
        config.check_end_names = false;
        let mut num_events = 0u64;
        loop {
            num_events += 1;
            if num_events.is_multiple_of(1024) {
                checkpoint()?;
            }
            match reader.read_event() {
                Ok(Event::Start(tag)) => {
                    let name_len = tag.name().as_ref().len();
                    self.start(name_len, offset_in(text, &tag), tag.len(), false, report)?;
                }
                Ok(Event::Empty(tag)) => {
                    let name_len = tag.name().as_ref().len();
                    self.start(name_len, offset_in(text, &tag), tag.len(), true, report)?;
                }
                Ok(Event::End(tag)) => self.end(tag.name().as_ref(), offset_in(text, &tag), report),
                Ok(Event::Text(part)) => self.characters(Kind::Characters, offset_in(text, &part), part.len()),
                Ok(Event::GeneralRef(part)) => {
                    // The name alone is borrowed: take `&` and `;` with it.
                    self.characters(Kind::Characters, offset_in(text, &part).saturating_sub(1), part.len() + 2);
                }
                Ok(Event::CData(part)) => self.characters(Kind::Verbatim, offset_in(text, &part), part.len()),
                Ok(Event::Comment(part)) => {
                    let comment = self.tree.slice(offset_in(text, &part), part.len());
                    let names_program = ["Generator:", "Created with", "Creator:", "Exported by"];
                    if self.tree.generator.is_none() && names_program.iter().any(|name| comment.contains(name)) {
                        self.tree.generator = Some(comment.trim());
                    }
                }
                Ok(Event::Eof) => break,
                Ok(_) => {}
                // A declaration or document type that is not as it should be changes nothing for us.
                Err(quick_xml::Error::IllFormed(_)) => {}
                Err(error) => {
                    let at = usize::try_from(reader.error_position()).unwrap_or(usize::MAX);
                    report.left(&issues::XML_FAULT, at, || error.to_string());
                    break;
                }
            }
        }
        if let Some(open) = self.open.last() {
            let name = self.tree.name(*open);
            report.fixed(&issues::UNCLOSED, text.len(), || format!("`{name}` and {} around it", self.open.len() - 1));
        }
        Ok(())
    }

    fn start(
        &mut self,
        name_len: usize,
        start: usize,
        len: usize,
        empty: bool,
        report: &mut Report<'a>,
    ) -> Result<(), ReadError> {
        let depth_limit = self.limits.element_depth as usize;
        if self.skipped_depth > 0 || self.open.len() >= depth_limit {
            report.left(&issues::TOO_DEEP, start, || format!("`limits.element_depth` = {depth_limit}"));
            self.skipped_depth += u64::from(!empty);
            return Ok(());
        }
        if self.tree.nodes.len() as u64 >= self.limits.entities.min(u64::from(NO_NODE)) {
            let limit = self.limits.entities;
            return Err(ReadError::Limit { what: "number of XML nodes".to_owned(), key: "entities", limit });
        }
        let name = self.tree.slice(start, name_len);
        let attributes = self.tree.slice(start + name_len, len.saturating_sub(name_len));
        let kind = self.kind(name, attributes);
        let id = self.tree.nodes.len() as NodeId;
        let parent = self.open.last().copied().unwrap_or(NO_NODE);
        self.tree.nodes.push(Node {
            start: start as u32,
            len: len as u32,
            parent,
            end: id + 1,
            name_len: u16::try_from(name_len).unwrap_or(u16::MAX),
            kind,
        });
        if self.has_id.find(attributes.as_bytes()).is_some() {
            let named = AttributeIter { rest: attributes }.find(|(name, _)| matches!(*name, "id" | "xml:id"));
            if let Some((_, value)) = named.filter(|(_, value)| !value.is_empty()) {
                self.tree.ids.entry(value).or_insert(id);
            }
        }
        match kind {
            Kind::Svg if self.tree.root == NO_NODE => self.tree.root = id,
            Kind::Svg if parent == NO_NODE => {
                report.left(&issues::SECOND_ROOT, start, || "content after the first root element".to_owned());
            }
            Kind::Title => {
                self.tree.titles.entry(parent).or_insert(id);
            }
            Kind::Description => {
                self.tree.descriptions.entry(parent).or_insert(id);
            }
            Kind::Style => self.tree.styles.push(id),
            _ => {}
        }
        if !empty {
            self.open.push(id);
        }
        Ok(())
    }

    fn kind(&mut self, name: &'a str, attributes: &'a str) -> Kind {
        let (prefix, local) = name.split_once(':').map_or((None, name), |(prefix, local)| (Some(prefix), local));
        if local == "svg" {
            for (name, value) in (AttributeIter { rest: attributes }) {
                if let Some(bound) = name.strip_prefix("xmlns:")
                    && value == "http://www.w3.org/2000/svg"
                {
                    self.svg_prefixes.push(bound);
                }
            }
            if self.tree.root == NO_NODE {
                self.root_prefix = prefix;
            }
        }
        match prefix {
            Some(prefix) if self.root_prefix != Some(prefix) && !self.svg_prefixes.contains(&prefix) => Kind::Foreign,
            _ => Kind::of(local),
        }
    }

    fn end(&mut self, name: &str, at: usize, report: &mut Report<'a>) {
        if self.skipped_depth > 0 {
            self.skipped_depth -= 1;
            return;
        }
        let name = name.trim_ascii_end();
        if self.open.last().is_some_and(|id| self.tree.name(*id) == name) {
            self.close();
            return;
        }
        // Only nearby elements are searched, so that a million stray end tags stay linear.
        const REACH: usize = 64;
        let nearest = self.open.iter().rev().take(REACH).position(|id| self.tree.name(*id) == name);
        report.fixed(&issues::END_TAG, at, || match nearest {
            Some(levels) => format!("`</{name}>` closes {} elements", levels + 1),
            None => format!("`</{name}>` closes nothing and is ignored"),
        });
        for _ in 0..nearest.map_or(0, |levels| levels + 1) {
            self.close();
        }
    }

    fn close(&mut self) {
        if let Some(id) = self.open.pop() {
            let end = self.tree.nodes.len() as NodeId;
            if let Some(node) = self.tree.nodes.get_mut(id as usize) {
                node.end = end;
            }
        }
    }

    fn characters(&mut self, kind: Kind, start: usize, len: usize) {
        let Some(parent) = self.open.last().copied().filter(|_| self.skipped_depth == 0) else { return };
        if !self.keeps_characters(parent) {
            return;
        }
        // The reader cuts text at every reference: join what is adjacent.
        if kind == Kind::Characters
            && let Some(last) = self.tree.nodes.last_mut()
            && last.kind == Kind::Characters
            && last.parent == parent
            && (last.start + last.len) as usize == start
        {
            last.len += len as u32;
            return;
        }
        let id = self.tree.nodes.len() as NodeId;
        self.tree.nodes.push(Node { start: start as u32, len: len as u32, parent, end: id + 1, name_len: 0, kind });
    }

    /// Characters directly in a text-like element, or in a link inside a text.
    fn keeps_characters(&self, parent: NodeId) -> bool {
        let node = self.tree.node(parent);
        match node.kind {
            Kind::Anchor | Kind::Switch => {
                let around = self.open.iter().rev().map(|id| self.tree.node(*id).kind);
                around.take(4).any(|kind| matches!(kind, Kind::Text | Kind::Tspan | Kind::TextPath))
            }
            kind => kind.holds_characters(),
        }
    }

    fn finish(mut self, report: &mut Report<'a>) -> Result<Tree<'a>, ReadError> {
        while !self.open.is_empty() {
            self.close();
        }
        if self.tree.root == NO_NODE {
            let reason = match report.first_fault() {
                Some(fault) => format!("no `svg` element before the first fault ({fault})"),
                None => "no `svg` element".to_owned(),
            };
            return Err(ReadError::Malformed { format: "SVG", reason });
        }
        self.tree.nodes.shrink_to_fit();
        Ok(self.tree)
    }
}

/// Where a part that was borrowed from `text` lies in it.
fn offset_in(text: &str, part: &str) -> usize {
    (part.as_ptr() as usize).saturating_sub(text.as_ptr() as usize)
}

/// Name and value pairs of a tag, as written. Tolerates missing quotes, missing values and repeated names.
#[derive(Debug, Clone)]
pub(super) struct AttributeIter<'a> {
    rest: &'a str,
}

impl<'a> Iterator for AttributeIter<'a> {
    type Item = (&'a str, &'a str);

    fn next(&mut self) -> Option<(&'a str, &'a str)> {
        let rest = self.rest.trim_start_matches(|c: char| c.is_ascii_whitespace() || matches!(c, '/' | '"' | '\''));
        let bytes = rest.as_bytes();
        if bytes.is_empty() {
            return None;
        }
        let name_end = bytes.iter().position(|byte| *byte == b'=' || byte.is_ascii_whitespace()).unwrap_or(bytes.len());
        let (name, after_name) = rest.split_at(name_end);
        let Some(value) = after_name.trim_ascii_start().strip_prefix('=') else {
            // At least one byte is taken, so the iterator always moves on.
            self.rest = after_name;
            return Some((name, ""));
        };
        let value = value.trim_ascii_start();
        let (value, rest) = match value.as_bytes().first() {
            Some(quote @ (b'"' | b'\'')) => {
                let inner = value.get(1..).unwrap_or("");
                match memchr::memchr(*quote, inner.as_bytes()) {
                    Some(end) => (inner.get(..end).unwrap_or(""), inner.get(end + 1..).unwrap_or("")),
                    None => (inner, ""),
                }
            }
            _ => value.split_at(value.find(|c: char| c.is_ascii_whitespace()).unwrap_or(value.len())),
        };
        self.rest = rest;
        Some((name, value))
    }
}

/// One attribute by local name. `href` finds `xlink:href` as well; other prefixes count only if asked for.
pub(super) fn find_attribute<'a>(
    attributes: impl IntoIterator<Item = (&'a str, &'a str)>,
    local_name: &str,
) -> Option<&'a str> {
    let mut found = None;
    for (name, value) in attributes {
        if name == local_name {
            return Some(value);
        }
        if local_name == "href" && found.is_none() && name.ends_with(":href") {
            found = Some(value);
        }
    }
    found
}

/// The id in `#id`, `url(#id)`, `url('#id')`.
pub(super) fn local_reference(reference: &str) -> Option<&str> {
    let reference = reference.trim();
    let inner = match reference.strip_prefix("url(") {
        Some(inner) => inner.split_once(')').map_or(inner, |(inner, _)| inner),
        None => reference,
    };
    inner.trim().trim_matches(['"', '\'']).trim().strip_prefix('#')
}

/// Resolves character references, the five entities of XML and the Latin-1 and common ones of HTML. Others,
/// among them all that a document declares, stay as written.
pub(super) fn unescape(raw: &str) -> Cow<'_, str> {
    let Some(first) = memchr::memchr(b'&', raw.as_bytes()) else { return Cow::Borrowed(raw) };
    let (head, mut rest) = raw.split_at(first);
    let mut text = String::with_capacity(raw.len());
    text.push_str(head);
    while let Some(at) = memchr::memchr(b'&', rest.as_bytes()) {
        let (before, from) = rest.split_at(at);
        text.push_str(before);
        let name_end = from.as_bytes().iter().take(16).position(|byte| *byte == b';');
        let resolved = name_end.and_then(|end| from.get(1..end)).and_then(resolve);
        match (resolved, name_end) {
            (Some(character), Some(end)) => {
                text.push(character);
                rest = from.get(end + 1..).unwrap_or("");
            }
            _ => {
                text.push('&');
                rest = from.get(1..).unwrap_or("");
            }
        }
    }
    text.push_str(rest);
    Cow::Owned(text)
}

fn resolve(name: &str) -> Option<char> {
    if let Some(number) = name.strip_prefix('#') {
        let code = match number.strip_prefix(['x', 'X']) {
            Some(digits) => u32::from_str_radix(digits, 16).ok()?,
            None => number.parse().ok()?,
        };
        return char::from_u32(code).filter(|character| *character != '\0');
    }
    let named = match name {
        "amp" => '&',
        "lt" => '<',
        "gt" => '>',
        "quot" => '"',
        "apos" => '\'',
        "euro" => '€',
        "ndash" => '–',
        "mdash" => '—',
        "lsquo" => '‘',
        "rsquo" => '’',
        "sbquo" => '‚',
        "ldquo" => '“',
        "rdquo" => '”',
        "bdquo" => '„',
        "hellip" => '…',
        "bull" => '•',
        "trade" => '™',
        "minus" => '−',
        "le" => '≤',
        "ge" => '≥',
        "ne" => '≠',
        "asymp" => '≈',
        "empty" => '∅',
        "Oslash" => 'Ø',
        "thinsp" => '\u{2009}',
        "ensp" => '\u{2002}',
        "emsp" => '\u{2003}',
        "rarr" => '→',
        "larr" => '←',
        "uarr" => '↑',
        "darr" => '↓',
        _ => {
            let index = LATIN_1.iter().position(|entity| *entity == name)?;
            return char::from_u32(160 + index as u32);
        }
    };
    Some(named)
}

/// HTML names of U+00A0 to U+00FF, in order.
const LATIN_1: [&str; 96] = [
    "nbsp", "iexcl", "cent", "pound", "curren", "yen", "brvbar", "sect", "uml", "copy", "ordf", "laquo", "not", "shy",
    "reg", "macr", "deg", "plusmn", "sup2", "sup3", "acute", "micro", "para", "middot", "cedil", "sup1", "ordm",
    "raquo", "frac14", "frac12", "frac34", "iquest", "Agrave", "Aacute", "Acirc", "Atilde", "Auml", "Aring", "AElig",
    "Ccedil", "Egrave", "Eacute", "Ecirc", "Euml", "Igrave", "Iacute", "Icirc", "Iuml", "ETH", "Ntilde", "Ograve",
    "Oacute", "Ocirc", "Otilde", "Ouml", "times", "Oslash", "Ugrave", "Uacute", "Ucirc", "Uuml", "Yacute", "THORN",
    "szlig", "agrave", "aacute", "acirc", "atilde", "auml", "aring", "aelig", "ccedil", "egrave", "eacute", "ecirc",
    "euml", "igrave", "iacute", "icirc", "iuml", "eth", "ntilde", "ograve", "oacute", "ocirc", "otilde", "ouml",
    "divide", "oslash", "ugrave", "uacute", "ucirc", "uuml", "yacute", "thorn", "yuml",
];

/// Runs of white space become one space; ends are trimmed.
pub(super) fn collapse_white_space(text: &str) -> Cow<'_, str> {
    let trimmed = text.trim();
    let is_plain = |pair: &[u8]| !(pair[0].is_ascii_whitespace() && pair[1].is_ascii_whitespace());
    let bytes = trimmed.as_bytes();
    if bytes.windows(2).all(is_plain) && !bytes.iter().any(|byte| matches!(byte, b'\n' | b'\r' | b'\t')) {
        return Cow::Borrowed(trimmed);
    }
    Cow::Owned(trimmed.split_ascii_whitespace().collect::<Vec<_>>().join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pairs(raw: &str) -> Vec<(&str, &str)> {
        AttributeIter { rest: raw }.collect()
    }

    #[test]
    fn attributes_are_read_as_people_write_them() {
        assert_eq!(pairs(" a=\"1\"  b='x y' "), [("a", "1"), ("b", "x y")]);
        assert_eq!(pairs(" a=1 b = 2/"), [("a", "1"), ("b", "2/")]);
        assert_eq!(pairs("a=\"1\"b=\"2\""), [("a", "1"), ("b", "2")]);
        assert_eq!(pairs(" checked a=\"never closed"), [("checked", ""), ("a", "never closed")]);
        assert_eq!(pairs(" = = "), [("", "="),]);
        assert_eq!(pairs("é=\"ü\""), [("é", "ü")]);
    }

    #[test]
    fn references_are_resolved_and_declared_entities_stay() {
        assert_eq!(unescape("a &amp; b &lt;&#65;&#x42;&gt;"), "a & b <AB>");
        assert_eq!(unescape("K&uuml;che&nbsp;12&sup2;"), "Küche\u{a0}12²");
        assert_eq!(unescape("R&D, &mine; &#xD800; &; & &"), "R&D, &mine; &#xD800; &; & &");
        assert_eq!(unescape("no reference"), "no reference");
        assert_eq!(LATIN_1.len(), 96);
    }

    #[test]
    fn references_to_elements() {
        assert_eq!(local_reference("#a"), Some("a"));
        assert_eq!(local_reference(" url( '#a b' ) none"), Some("a b"));
        assert_eq!(local_reference("other.svg#a"), None);
    }
}
