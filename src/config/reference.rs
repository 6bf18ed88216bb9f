//! The file with every key: made from the schema and the defaults, so that it cannot grow stale.

use serde_json::Value as Json;

use super::raw::RawConfig;
use super::schema;

/// A TOML file with every key, its default and its reason. Keys without a default are commented out.
pub fn all_keys() -> String {
    let schema = schema();
    let defaults = serde_json::to_value(RawConfig::default()).unwrap_or_default();
    let mut text = String::from(
        "# Every key of plan2geo, with its default and its reason.\n\
         # Keys that are commented out have no fixed default; the value is an example.\n",
    );
    for section in sections() {
        let Some(node) = schema.get("properties").and_then(|all| all.get(section.as_str())) else { continue };
        let section = section.as_str();
        let node = resolve(&schema, node);
        text.push('\n');
        comment(&mut text, description(node_of(&schema, section).unwrap_or(node)));
        text.push_str(&format!("[{section}]\n"));
        for (key, node) in properties(node) {
            comment(&mut text, description(node));
            choices(&schema, node, &mut text);
            match defaults.get(section).and_then(|values| values.get(key)) {
                Some(value) if !value.is_null() => text.push_str(&format!("{key} = {}\n", toml_value(value))),
                _ => {
                    text.push_str(&format!("# {key} = {}\n", example(node)));
                }
            }
        }
    }
    text
}

/// The sections in the order of the struct.
fn sections() -> Vec<String> {
    let written = toml::to_string(&RawConfig::default()).unwrap_or_default();
    let headers = written.lines().filter_map(|line| line.strip_prefix('[')?.strip_suffix(']'));
    headers.filter(|header| !header.contains(['.', '['])).map(str::to_owned).collect()
}

/// A value for a key that has no default: its example, or the smallest of its kind.
fn example(node: &Json) -> String {
    if let Some(example) = node.get("examples").and_then(|all| all.get(0)) {
        return toml_value(example);
    }
    let kinds = node.get("type").map(Json::to_string).unwrap_or_default();
    if kinds.contains("integer") || kinds.contains("number") { "1".to_owned() } else { "\"…\"".to_owned() }
}

fn node_of<'s>(schema: &'s Json, section: &str) -> Option<&'s Json> {
    schema.get("properties")?.get(section).filter(|node| node.get("description").is_some())
}

/// Properties by name.
fn properties(node: &Json) -> impl Iterator<Item = (&str, &Json)> {
    node.get("properties").and_then(Json::as_object).into_iter().flatten().map(|(key, value)| (key.as_str(), value))
}

fn resolve<'s>(schema: &'s Json, node: &'s Json) -> &'s Json {
    let name = node.get("$ref").and_then(Json::as_str).and_then(|name| name.strip_prefix("#/$defs/"));
    name.and_then(|name| schema.get("$defs")?.get(name)).unwrap_or(node)
}

fn description(node: &Json) -> &str {
    node.get("description").and_then(Json::as_str).unwrap_or_default()
}

/// The words of an enumeration, where the description does not name them already.
fn choices(schema: &Json, node: &Json, text: &mut String) {
    let target = resolve(schema, node);
    let words: Vec<&str> = target
        .get("oneOf")
        .and_then(Json::as_array)
        .map(|all| all.iter().filter_map(|one| one.get("const").and_then(Json::as_str)).collect())
        .unwrap_or_default();
    if !words.is_empty() && !words.iter().all(|word| description(node).contains(word)) {
        comment(text, &format!("One of: {}.", words.join(", ")));
    }
}

fn comment(text: &mut String, description: &str) {
    const WIDTH: usize = 110;
    let mut line = String::from("#");
    for word in description.split_whitespace() {
        if line.chars().count() + word.chars().count() >= WIDTH {
            text.push_str(&line);
            text.push('\n');
            line = String::from("#");
        }
        line.push(' ');
        line.push_str(word);
    }
    if line.len() > 1 {
        text.push_str(&line);
        text.push('\n');
    }
}

fn toml_value(value: &Json) -> String {
    match value {
        Json::String(text) => toml::Value::from(text.as_str()).to_string(),
        Json::Object(pairs) => {
            let pairs: Vec<String> =
                pairs.iter().map(|(key, value)| format!("{key} = {}", toml_value(value))).collect();
            if pairs.is_empty() { "{}".to_owned() } else { format!("{{ {} }}", pairs.join(", ")) }
        }
        Json::Array(items) => format!("[{}]", items.iter().map(toml_value).collect::<Vec<_>>().join(", ")),
        other => other.to_string(),
    }
}
