//! A table of what is found in a folder of real plans: rooms, labels, openings, the share of wall lines that is used,
//! the unit, and what was reported. `docs/rooms-real-plans.md` is made of it.
//!
//! ```sh
//! cargo run --release --example plan_survey -- CORPUS > table.md
//! ```
//!
//! `CORPUS/PROVENANCE.tsv` lists the files: columns `file`, `repo`, `licence` and `kind`, by the names in its first
//! line; only rows of kind `plan` are read, and of those DXF, DWG and SVG. Nothing is written to the folder.

#![allow(clippy::print_stdout, reason = "a program whose result is its output")]

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;
use std::time::Instant;

use plan2geo::kernel::{ConvertOptions, Document, convert};
use serde_json::Value;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = std::env::args().nth(1).ok_or("usage: plan_survey FOLDER")?;
    let folder = Path::new(&folder);
    let list = std::fs::read_to_string(folder.join("PROVENANCE.tsv"))?;
    let mut rows = list.lines().map(|line| line.split('\t').collect::<Vec<_>>());
    let head = rows.next().ok_or("the list is empty")?;
    let column = |name: &str| head.iter().position(|known| *known == name).ok_or(format!("no column `{name}`"));
    let (file, repository, licence, kind) = (column("file")?, column("repo")?, column("licence")?, column("kind")?);
    let mut totals = Totals::default();
    println!(
        "| plan | origin, licence | unit | rooms | labelled | doors, windows, gaps | wall length used | reported |"
    );
    println!("|---|---|---:|---:|---:|---:|---:|---|");
    for row in rows {
        let cell = |column: usize| row.get(column).copied().unwrap_or("");
        let path = cell(file);
        if cell(kind) != "plan" || !["dxf/", "dwg/", "svg/"].iter().any(|format| path.starts_with(format)) {
            continue;
        }
        let origin = format!("{}, {}", cell(repository), cell(licence).trim_end_matches(" (LICENSE)"));
        println!("{}", line(folder, path, &origin, &mut totals));
    }
    println!("\n{totals}");
    Ok(())
}

#[derive(Default)]
struct Totals {
    plans: u64,
    with_rooms: u64,
    rooms: u64,
    labelled: u64,
    wall_m: f64,
    used_m: f64,
    slowest: (f64, String),
}

impl std::fmt::Display for Totals {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let share = |part: f64, all: f64| if all > 0.0 { (100.0 * part / all).round() } else { 0.0 };
        write!(
            out,
            "{} plans, {} with rooms; {} rooms, {} % labelled; slowest {:.1} s: {}.",
            self.plans,
            self.with_rooms,
            self.rooms,
            share(self.labelled as f64, self.rooms as f64),
            self.slowest.0,
            self.slowest.1,
        )
    }
}

/// One row, and what it adds to the totals.
fn line(folder: &Path, path: &str, origin: &str, totals: &mut Totals) -> String {
    let name = path.rsplit("__").next().unwrap_or(path);
    let start = Instant::now();
    totals.plans += 1;
    let collection = match read(&folder.join(path)) {
        Ok(collection) => collection,
        Err(reason) => return format!("| {name} | {origin} | | | | | | not converted: {reason} |"),
    };
    let seconds = start.elapsed().as_secs_f64();
    if seconds > totals.slowest.0 {
        totals.slowest = (seconds, name.to_owned());
    }
    let metadata = &collection["metadata"];
    let plan = &metadata["counts"]["plan"];
    let number = |value: &Value| value.as_f64().unwrap_or(0.0);
    let rooms = metadata["counts"]["classes"]["room"].as_u64().unwrap_or(0);
    let labelled = plan["labelled_rooms"].as_u64().unwrap_or(0);
    let (wall, used) = (number(&plan["wall_length_m"]), number(&plan["wall_length_used_m"]));
    totals.with_rooms += u64::from(rooms > 0);
    totals.rooms += rooms;
    totals.labelled += labelled;
    totals.wall_m += wall;
    totals.used_m += used;
    let mut kinds: BTreeMap<&str, u64> = BTreeMap::new();
    for feature in collection["features"].as_array().into_iter().flatten() {
        let properties = &feature["properties"];
        let kind = match properties["class"].as_str() {
            Some("door") => "door",
            Some("window") => "window",
            Some("opening") => "gap",
            _ => continue,
        };
        *kinds.entry(kind).or_default() += 1;
    }
    let count = |kind: &str| kinds.get(kind).copied().unwrap_or(0);
    let mut reported = String::new();
    for (code, issue) in metadata["issues"].as_object().into_iter().flatten() {
        if ["PLN", "WAL", "OPN", "ROM", "LBL"].iter().any(|area| code.starts_with(area)) {
            let _ = write!(reported, "{code}×{} ", issue["count"]);
        }
    }
    let percent = |part: f64, all: f64| if all > 0.0 { format!("{:.0} %", 100.0 * part / all) } else { String::new() };
    format!(
        "| {name} | {origin} | {} by {} | {rooms} | {} | {}, {}, {} | {} | {} |",
        number(&metadata["units"]["metres_per_unit"]),
        metadata["units"]["from"].as_str().unwrap_or(""),
        percent(labelled as f64, rooms as f64),
        count("door"),
        count("window"),
        count("gap"),
        percent(used.min(wall), wall),
        reported.trim_end(),
    )
}

fn read(path: &Path) -> Result<Value, Box<dyn std::error::Error>> {
    let bytes = std::fs::read(path)?;
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or("plan");
    let document = Document { name, page: 1, ..Document::default() };
    let converted = convert(bytes, &document, ConvertOptions::default())?;
    let mut text = Vec::new();
    std::io::copy(&mut converted.output.reader(), &mut text)?;
    Ok(serde_json::from_slice(&text)?)
}
