//! Scores what is told of drawing packages of the retired indoor map service against their own manifests, which name the
//! layers of walls, doors, rooms and labels: roles of layers, units, and rooms, package by package.
//!
//! ```sh
//! for zip in CORPUS/zip/*Drawing_Package*.zip; do unzip -q "$zip" -d "packages/$(basename "$zip" .zip)"; done
//! cargo run --release --example azure_score -- packages
//! ```
//!
//! A role is right if the layer has the one its feature class stands for; layers that a drawing does not use do not count. A unit is right
//! if it is the one that drawings of the package state, which must be the same in all of them; where none states one, if the doors come
//! out as wide as doors are. A room is found if a closed
//! outline on the layers of rooms has become one. What is missed is named.

#![allow(clippy::print_stdout, reason = "a program whose result is its output")]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use plan2geo::kernel::{ConvertOptions, Document, convert};
use serde_json::Value;

type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

fn main() -> Outcome<()> {
    let folder = std::env::args().nth(1).ok_or("usage: azure_score FOLDER")?;
    let mut packages: Vec<PathBuf> = Vec::new();
    let mut folders = vec![PathBuf::from(folder)];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder)? {
            let path = entry?.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.file_name().is_some_and(|name| name == "manifest.json") {
                packages.push(folder.clone());
            }
        }
    }
    packages.sort();
    println!("| package | drawing | roles right | unit | rooms found | labelled |");
    println!("|---|---|---:|---|---:|---:|");
    let mut missed = Vec::new();
    let (mut right, mut of) = ([0u64; 3], [0u64; 3]);
    for package in packages {
        let manifest: Value = serde_json::from_slice(&std::fs::read(package.join("manifest.json"))?)?;
        let Some(levels) = manifest["buildingLevels"]["levels"].as_array() else { continue };
        let truth = Truth::of(&manifest);
        let mut drawings = Vec::new();
        for level in levels {
            let name = level["filename"].as_str().unwrap_or_default().trim_start_matches("./").to_owned();
            let path = package.join(&name);
            drawings.push((name, Read::of(&path, true)?, Read::of(&path, false)?));
        }
        let stated: Vec<f64> = drawings
            .iter()
            .filter(|(_, drawing, _)| drawing.states_unit())
            .map(|(_, drawing, _)| drawing.unit())
            .collect();
        for (name, drawing, plain) in &drawings {
            let roles = truth.roles(drawing, name, &mut missed);
            let unit = u64::from(if stated.is_empty() {
                drawing.has_usual_doors()
            } else {
                stated.iter().all(|stated| *stated == drawing.unit())
            });
            let rooms: Vec<&Value> = drawing.on_layers("room", &truth.rooms).collect();
            let found = rooms.len() as u64;
            // Outlines that do not quite close are lines as entities, and rooms all the same.
            let areas: Vec<&Value> = plain.on_layers("area", &truth.rooms).map(|area| &area["handle"]).collect();
            let unclosed = rooms.iter().filter(|room| !areas.contains(&&room["handle"])).count();
            let outlines = (areas.len() + unclosed) as u64;
            if found < outlines {
                let known: Vec<&Value> = rooms.iter().map(|room| &room["handle"]).collect();
                let lost = plain.on_layers("area", &truth.rooms).filter(|area| !known.contains(&&area["handle"]));
                let handles: Vec<&str> = lost.filter_map(|area| area["handle"].as_str()).collect();
                missed.push(format!("{name}: {} outlines are no rooms: {}", outlines - found, handles.join(", ")));
            }
            let labelled = rooms.iter().filter(|room| room.get("name").is_some()).count();
            let from = drawing.0["metadata"]["units"]["from"].as_str().unwrap_or_default();
            let package = package.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            println!(
                "| {package} | {name} | {}/{} | {} m by {from} | {found}/{outlines} | {labelled} |",
                roles.0,
                roles.1,
                drawing.unit()
            );
            for (number, (one, all)) in [roles, (unit, 1), (found, outlines)].into_iter().enumerate() {
                right[number] += one;
                of[number] += all;
            }
        }
    }
    println!("\nroles {}/{}, units {}/{}, rooms {}/{}", right[0], of[0], right[1], of[1], right[2], of[2]);
    for line in missed {
        println!("* {line}");
    }
    Ok(())
}

/// What a manifest says of layers.
struct Truth {
    /// By layer: roles that stand for its class.
    roles: BTreeMap<String, &'static [&'static str]>,
    rooms: Vec<String>,
}

impl Truth {
    fn of(manifest: &Value) -> Self {
        let mut truth = Self { roles: BTreeMap::new(), rooms: Vec::new() };
        let names = |list: &Value| -> Vec<String> {
            list.as_array().into_iter().flatten().filter_map(|name| name.as_str().map(str::to_owned)).collect()
        };
        truth.add(names(&manifest["buildingLevels"]["dwgLayers"]), &["outline"]);
        for (class, roles) in [
            ("exterior", &["outline"] as &[&str]),
            ("unit", &["room"]),
            ("wall", &["wall"]),
            ("door", &["door"]),
            ("unitLabel", &["label"]),
            ("zone", &["zone"]),
            ("zoneLabel", &["label", "zone"]),
        ] {
            truth.add(names(&manifest["dwgLayers"][class]), roles);
        }
        truth.rooms = names(&manifest["dwgLayers"]["unit"]);
        // Version 2: classes that the author names.
        for class in manifest["featureClasses"].as_array().into_iter().flatten() {
            let name = class["featureClassName"].as_str().unwrap_or_default().to_lowercase();
            let layers = names(&class["dwgLayers"]);
            // Windows are walls to a map of a floor.
            let roles: &[&str] = match name.as_str() {
                "room" | "unit" => &["room"],
                "wall" => &["wall", "window"],
                "door" => &["door"],
                name if name.contains("furniture") => &["furniture"],
                "workspace" | "zone" => &["zone", "room"],
                _ => continue,
            };
            if roles == ["room"] {
                truth.rooms.extend(layers.clone());
            }
            truth.add(layers, roles);
            for property in class["featureClassProperties"].as_array().into_iter().flatten() {
                truth.add(names(&property["dwgLayers"]), &["label"]);
            }
        }
        truth
    }

    fn add(&mut self, layers: Vec<String>, roles: &'static [&'static str]) {
        self.roles.extend(layers.into_iter().map(|layer| (layer, roles)));
    }

    /// Roles that are right, of those that count.
    fn roles(&self, drawing: &Read, name: &str, missed: &mut Vec<String>) -> (u64, u64) {
        let (mut right, mut all) = (0, 0);
        for class in drawing.0["metadata"]["layers"].as_array().into_iter().flatten() {
            let layer = class["layer"].as_str().unwrap_or_default();
            let Some((_, wanted)) = self.roles.iter().find(|(known, _)| known.eq_ignore_ascii_case(layer)) else {
                continue;
            };
            let role = class["role"].as_str().unwrap_or_default();
            all += 1;
            if wanted.contains(&role) {
                right += 1;
            } else {
                missed.push(format!("{name}: `{layer}` is {}, not {role}", wanted.join(" or ")));
            }
        }
        (right, all)
    }
}

/// A converted drawing.
struct Read(Value);

impl Read {
    fn of(path: &Path, derived: bool) -> Outcome<Self> {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or("plan");
        let document = Document { name, page: 1, ..Document::default() };
        let mut options = ConvertOptions::default();
        options.plan.enabled = derived;
        let converted = convert(std::fs::read(path)?, &document, options)?;
        let mut text = Vec::new();
        std::io::copy(&mut converted.output.reader(), &mut text)?;
        Ok(Self(serde_json::from_slice(&text)?))
    }

    fn unit(&self) -> f64 {
        self.0["metadata"]["units"]["metres_per_unit"].as_f64().unwrap_or(0.0)
    }

    fn states_unit(&self) -> bool {
        self.0["metadata"]["units"]["from"] == "$INSUNITS"
    }

    /// Half of the doors are as wide as doors are.
    fn has_usual_doors(&self) -> bool {
        let doors = self.0["features"].as_array().into_iter().flatten().map(|feature| &feature["properties"]);
        let mut widths: Vec<f64> =
            doors.filter(|own| own["class"] == "door").filter_map(|own| own["width_m"].as_f64()).collect();
        widths.sort_by(f64::total_cmp);
        widths.get(widths.len() / 2).is_some_and(|width| (0.7..=1.5).contains(width))
    }

    /// Properties of the features of a class on some layers.
    fn on_layers<'a>(&'a self, class: &'a str, layers: &'a [String]) -> impl Iterator<Item = &'a Value> {
        self.0["features"].as_array().into_iter().flatten().map(|feature| &feature["properties"]).filter(move |own| {
            let layer = own["layer"].as_str().unwrap_or_default();
            own["class"] == class && layers.iter().any(|known| known.eq_ignore_ascii_case(layer))
        })
    }
}
