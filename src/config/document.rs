//! Holds a TOML document against the JSON Schema of [`RawConfig`](super::RawConfig), so that every error has a place.
//!
//! serde stops at the first error and knows no place once documents are merged. This walk finds all of them: keys
//! that do not exist (with the nearest one that does), values of the wrong kind, numbers out of range, words that
//! are none of the choices. What passes here is merged and read by serde.

use std::ops::Range;

use serde_json::Value as Json;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::error::{At, ConfigError, Document};
use super::values::{KIND, Size, Time};

/// A parsed document with its places.
pub(crate) struct Parsed {
    document: Document,
    /// Path and place of every key, in the order of the text.
    places: Vec<(String, Range<usize>)>,
    /// The values.
    pub(crate) table: toml::Table,
}

impl Parsed {
    /// Parses a document and holds it against the schema; all errors go to `errors`.
    pub(crate) fn new(document: Document, schema: &Json, errors: &mut Vec<ConfigError>) -> Option<Self> {
        let text = document.text.clone();
        let (table, syntax) = DeTable::parse_recoverable(&text);
        if !syntax.is_empty() {
            for error in syntax {
                let at = error.span().map(|span| At { document: document.clone(), span });
                errors.push(ConfigError::new("", format!("not valid TOML: {}", first_line(error.message()))).at(at));
            }
            return None;
        }
        let mut walk = Walk { document: &document, root: schema, places: Vec::new(), errors: Vec::new() };
        walk.table(table.get_ref(), schema, "");
        let places = walk.places;
        let sound = walk.errors.is_empty();
        errors.append(&mut walk.errors);
        if !sound {
            return None;
        }
        match toml::from_str::<toml::Table>(&text) {
            Ok(mut table) => {
                times_to_texts(&mut table, MAX_DEPTH);
                Some(Self { document, places, table })
            }
            Err(error) => {
                let at = error.span().map(|span| At { document: document.clone(), span });
                errors.push(ConfigError::new("", first_line(error.message())).at(at));
                None
            }
        }
    }

    /// What serde says of this document alone, with its place.
    pub(crate) fn read_alone(&self) -> Option<ConfigError> {
        let error = toml::from_str::<super::RawConfig>(&self.document.text).err()?;
        let at = error.span().map(|span| At { document: self.document.clone(), span });
        Some(ConfigError::new("", first_line(error.message())).at(at))
    }

    /// Where the value of a dotted path stands in this document.
    pub(crate) fn find(&self, path: &str) -> Option<At> {
        let (_, span) = self.places.iter().find(|(place, _)| place == path)?;
        Some(At { document: self.document.clone(), span: span.clone() })
    }

    /// The folder relative paths in this document refer to.
    pub(crate) fn folder(&self) -> &std::path::Path {
        &self.document.folder
    }
}

/// Times become the texts that keys of times hold.
fn times_to_texts(table: &mut toml::Table, depth: usize) {
    for (_, value) in table.iter_mut() {
        match value {
            toml::Value::Datetime(time) => *value = toml::Value::String(time.to_string()),
            toml::Value::Table(inner) if depth > 0 => times_to_texts(inner, depth - 1),
            _ => {}
        }
    }
}

fn first_line(message: &str) -> String {
    message.lines().next().unwrap_or_default().trim_end_matches('.').to_owned()
}

struct Walk<'a> {
    document: &'a Document,
    root: &'a Json,
    places: Vec<(String, Range<usize>)>,
    errors: Vec<ConfigError>,
}

/// Deeper documents than any configuration are refused; the walk is recursive.
const MAX_DEPTH: usize = 16;

impl Walk<'_> {
    fn table(&mut self, table: &DeTable<'_>, schema: &Json, path: &str) {
        // TOML tables are sorted by key; people read from top to bottom.
        let mut entries: Vec<_> = table.iter().collect();
        entries.sort_by_key(|(key, _)| key.span().start);
        let properties = schema.get("properties").and_then(Json::as_object);
        for (key, value) in entries {
            let name = key.get_ref().as_ref();
            let inner = if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") };
            if let Some(schema) = properties.and_then(|properties| properties.get(name)) {
                self.places.push((inner.clone(), value.span()));
                self.value(value, schema, &inner);
            } else if let Some(schema) = schema.get("additionalProperties").filter(|schema| schema.is_object()) {
                self.places.push((inner.clone(), value.span()));
                self.value(value, schema, &inner);
            } else {
                let known: Vec<&str> =
                    properties.map(|all| all.keys().map(String::as_str).collect()).unwrap_or_default();
                self.unknown(key, &inner, path, &known);
            }
        }
    }

    fn unknown(&mut self, key: &Spanned<toml::de::DeString<'_>>, inner: &str, path: &str, known: &[&str]) {
        let name = key.get_ref().as_ref();
        let remedy = if let Some(near) = nearest(name, known.iter().copied()) {
            let full = if path.is_empty() { near.to_owned() } else { format!("{path}.{near}") };
            format!("did you mean `{full}`?")
        } else if let Some(elsewhere) = self.elsewhere(name) {
            format!("did you mean `{elsewhere}`?")
        } else {
            format!("keys here are: {}", known.join(", "))
        };
        let at = self.at(key.span());
        self.errors.push(ConfigError::new(inner, format!("unknown key `{inner}`")).remedy(remedy).at(at));
    }

    /// The key of that name in another section.
    fn elsewhere(&self, name: &str) -> Option<String> {
        let sections = self.root.get("properties")?.as_object()?;
        sections.iter().find_map(|(section, schema)| {
            let schema = self.resolve(schema);
            schema.get("properties")?.get(name).map(|_| format!("{section}.{name}"))
        })
    }

    fn at(&self, span: Range<usize>) -> Option<At> {
        Some(At { document: self.document.clone(), span })
    }

    fn resolve<'s>(&'s self, schema: &'s Json) -> &'s Json {
        let Some(name) = schema.get("$ref").and_then(Json::as_str).and_then(|name| name.strip_prefix("#/$defs/"))
        else {
            return schema;
        };
        self.root.get("$defs").and_then(|all| all.get(name)).unwrap_or(schema)
    }

    fn value(&mut self, value: &Spanned<DeValue<'_>>, schema: &Json, path: &str) {
        if path.split('.').count() > MAX_DEPTH {
            let at = self.at(value.span());
            self.errors.push(ConfigError::new(path, format!("{path} is nested deeper than {MAX_DEPTH} levels")).at(at));
            return;
        }
        let root = self.root;
        let schema = resolve_in(root, schema);
        match (value.get_ref(), schema.get("properties").is_some() || schema.get("additionalProperties").is_some()) {
            (DeValue::Table(table), true) => return self.table(table, schema, path),
            (DeValue::Array(items), _) => {
                if let Some(inner) = schema.get("items") {
                    for (index, item) in items.iter().enumerate() {
                        let path = format!("{path}[{index}]");
                        self.places.push((path.clone(), item.span()));
                        self.value(item, inner, &path);
                    }
                    return;
                }
            }
            _ => {}
        }
        if !accepts(root, value.get_ref(), schema) {
            let got = self.shown(value);
            let message = format!("{path} must be {}, got {got}", expected(root, schema));
            let remedy = choice_near(root, value.get_ref(), schema)
                .map(|near| format!("did you mean \"{near}\"?"))
                .or_else(|| {
                    schema
                        .get("examples")
                        .and_then(|all| all.get(0))
                        .map(|example| format!("for example {} = {example}", path.rsplit('.').next().unwrap_or(path)))
                });
            let at = self.at(value.span());
            let mut error = ConfigError::new(path, message).at(at);
            error.remedy = remedy;
            self.errors.push(error);
        }
    }

    /// The value as written, cut short.
    fn shown(&self, value: &Spanned<DeValue<'_>>) -> String {
        match value.get_ref() {
            DeValue::Table(_) => "a table".to_owned(),
            DeValue::Array(_) => "an array".to_owned(),
            _ => {
                let text = self.document.text.get(value.span()).unwrap_or_default();
                let short: String = text.chars().take(40).collect();
                if short.len() < text.len() { format!("{short}…") } else { short }
            }
        }
    }
}

fn resolve_in<'s>(root: &'s Json, schema: &'s Json) -> &'s Json {
    let name = schema.get("$ref").and_then(Json::as_str).and_then(|name| name.strip_prefix("#/$defs/"));
    name.and_then(|name| root.get("$defs")?.get(name)).unwrap_or(schema)
}

/// The alternatives of a schema, without `null`, which TOML does not have.
fn alternatives<'s>(root: &'s Json, schema: &'s Json) -> Option<Vec<&'s Json>> {
    let all = schema.get("anyOf").or_else(|| schema.get("oneOf"))?.as_array()?;
    Some(
        all.iter()
            .map(|inner| resolve_in(root, inner))
            .filter(|inner| inner.get("type").and_then(Json::as_str) != Some("null"))
            .collect(),
    )
}

/// Whether a plain value (no table, no array of known items) fits a schema.
fn accepts(root: &Json, value: &DeValue<'_>, schema: &Json) -> bool {
    if let Some(kind) = kind_of(root, schema) {
        let text = match value {
            DeValue::String(text) => text.to_string(),
            DeValue::Integer(number) => number.to_string().replace('_', ""),
            DeValue::Float(number) => number.as_str().to_owned(),
            _ => return false,
        };
        return if kind == "size" { Size::parse(&text).is_some() } else { Time::parse(&text).is_some() };
    }
    if let Some(inner) = alternatives(root, schema) {
        return inner.iter().any(|schema| accepts(root, value, schema));
    }
    if let Some(only) = schema.get("const") {
        return value.as_str() == only.as_str();
    }
    if let Some(choices) = schema.get("enum").and_then(Json::as_array) {
        return value.as_str().is_some_and(|text| choices.iter().any(|choice| choice.as_str() == Some(text)));
    }
    types(schema).iter().any(|kind| match (*kind, value) {
        // A time may be written as TOML writes it, or in quotes.
        ("boolean", DeValue::Boolean(_)) | ("string", DeValue::String(_) | DeValue::Datetime(_)) => true,
        ("array", DeValue::Array(_)) | ("object", DeValue::Table(_)) => true,
        ("integer", DeValue::Integer(number)) => {
            i128::from_str_radix(&number.as_str().replace('_', ""), number.radix())
                .is_ok_and(|number| within(schema, number as f64) && i64::try_from(number).is_ok())
        }
        ("number", DeValue::Integer(number)) => i64::from_str_radix(&number.as_str().replace('_', ""), number.radix())
            .is_ok_and(|number| within(schema, number as f64)),
        ("number", DeValue::Float(number)) => number
            .as_str()
            .replace('_', "")
            .parse::<f64>()
            .is_ok_and(|number| number.is_finite() && within(schema, number)),
        _ => false,
    })
}

/// `size` or `time`, also behind the alternative of an optional key.
fn kind_of<'s>(root: &'s Json, schema: &'s Json) -> Option<&'s str> {
    schema
        .get(KIND)
        .and_then(Json::as_str)
        .or_else(|| alternatives(root, schema)?.into_iter().find_map(|inner| inner.get(KIND).and_then(Json::as_str)))
}

fn types(schema: &Json) -> Vec<&str> {
    match schema.get("type") {
        Some(Json::String(kind)) => vec![kind.as_str()],
        Some(Json::Array(kinds)) => kinds.iter().filter_map(Json::as_str).filter(|kind| *kind != "null").collect(),
        _ => Vec::new(),
    }
}

fn bound(schema: &Json, key: &str) -> Option<f64> {
    schema.get(key).and_then(Json::as_f64)
}

fn within(schema: &Json, number: f64) -> bool {
    bound(schema, "minimum").is_none_or(|least| number >= least)
        && bound(schema, "exclusiveMinimum").is_none_or(|least| number > least)
        && bound(schema, "maximum").is_none_or(|most| number <= most)
        && bound(schema, "exclusiveMaximum").is_none_or(|most| number < most)
}

/// What a schema wants, in words.
fn expected(root: &Json, schema: &Json) -> String {
    match kind_of(root, schema) {
        Some("size") => return Size::EXPECTED.to_owned(),
        Some(_) => return Time::EXPECTED.to_owned(),
        None => {}
    }
    let words = choices(root, schema);
    let only_words =
        alternatives(root, schema).is_none_or(|all| all.iter().all(|schema| !choices(root, schema).is_empty()));
    if !words.is_empty() && only_words {
        return format!("one of {}", words.iter().map(|word| format!("\"{word}\"")).collect::<Vec<_>>().join(", "));
    }
    if let Some(inner) = alternatives(root, schema) {
        let all: Vec<String> = inner.iter().map(|schema| expected(root, schema)).collect();
        return all.join(" or ");
    }
    let kinds = types(schema);
    let all: Vec<String> = kinds.iter().map(|kind| kind_in_words(kind, schema)).collect();
    if all.is_empty() { "something else".to_owned() } else { all.join(" or ") }
}

fn kind_in_words(kind: &str, schema: &Json) -> String {
    let least = bound(schema, "minimum");
    // What a type of its own bounds (2^32) interests nobody.
    let most = bound(schema, "maximum").filter(|most| *most < 4e9);
    match kind {
        "integer" | "number" => {
            let noun = if kind == "integer" { "integer" } else { "number" };
            let article = if kind == "integer" { "an" } else { "a" };
            match (least, bound(schema, "exclusiveMinimum"), most) {
                (_, Some(0.0), None) => format!("a positive {noun}"),
                (_, Some(least), None) => format!("{article} {noun} above {least}"),
                (Some(1.0), None, None) if kind == "integer" => "a positive integer".to_owned(),
                (Some(least), None, None) => format!("{article} {noun} of at least {least}"),
                (Some(least), None, Some(most)) => format!("{article} {noun} from {least} to {most}"),
                (None, None, Some(most)) => format!("{article} {noun} of at most {most}"),
                (_, Some(least), Some(most)) => format!("{article} {noun} above {least} and up to {most}"),
                (None, None, None) => format!("{article} {noun}"),
            }
        }
        "boolean" => "true or false".to_owned(),
        "string" => "a text in quotes".to_owned(),
        "array" => "an array".to_owned(),
        _ => "a table".to_owned(),
    }
}

/// The words an enumeration allows.
fn choices<'s>(root: &'s Json, schema: &'s Json) -> Vec<&'s str> {
    if let Some(only) = schema.get("const").and_then(Json::as_str) {
        return vec![only];
    }
    if let Some(words) = schema.get("enum").and_then(Json::as_array) {
        return words.iter().filter_map(Json::as_str).collect();
    }
    alternatives(root, schema)
        .map(|inner| inner.into_iter().flat_map(|schema| choices(root, schema)).collect())
        .unwrap_or_default()
}

fn choice_near<'s>(root: &'s Json, value: &DeValue<'_>, schema: &'s Json) -> Option<&'s str> {
    nearest(value.as_str()?, choices(root, schema).into_iter())
}

/// The nearest known name, if it is near enough to be meant.
pub(crate) fn nearest<'k>(name: &str, known: impl Iterator<Item = &'k str>) -> Option<&'k str> {
    let name = name.to_lowercase().replace('-', "_");
    known
        .map(|candidate| (distance(&name, candidate), candidate))
        .filter(|(distance, candidate)| *distance <= 1 + candidate.len().min(name.len()) / 4)
        .min()
        .map(|(_, candidate)| candidate)
}

/// Edits that turn one name into the other: insertions, deletions, replacements and swaps of neighbours.
fn distance(a: &str, b: &str) -> usize {
    let a: Vec<char> = a.chars().take(64).collect();
    let b: Vec<char> = b.chars().take(64).collect();
    let mut before_last = vec![0; b.len() + 1];
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for i in 1..=a.len() {
        let mut row = vec![i; b.len() + 1];
        for j in 1..=b.len() {
            let replaced = last[j - 1] + usize::from(a[i - 1] != b[j - 1]);
            row[j] = replaced.min(last[j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                row[j] = row[j].min(before_last[j - 2] + 1);
            }
        }
        before_last = last;
        last = row;
    }
    last[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_name_is_found_and_far_ones_are_not_offered() {
        let known = ["queue", "slots", "starts_per_second"];
        assert_eq!(nearest("slot", known.into_iter()), Some("slots"));
        assert_eq!(nearest("slosts", known.into_iter()), Some("slots"));
        assert_eq!(nearest("start_per_seconds", known.into_iter()), Some("starts_per_second"));
        assert_eq!(nearest("Queue", known.into_iter()), Some("queue"));
        assert_eq!(nearest("workers", known.into_iter()), None);
    }
}
