//! `plan2geo inspect FILE…`: what is in drawings, without converting them.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::path::{Path, PathBuf};

use bytes::Bytes;
use clap::Args;
use serde::Serialize;

use super::convert::HOLDS_DRAWINGS;
use super::table::{Table, grouped};
use super::{CliError, Overrides, exit, print};
use crate::config::Config;
use crate::drawing::expand::{ExpandOptions, ExpandReport, Hidden, expand};
use crate::drawing::{Drawing, SourceFormat, Units};
use crate::format::sniff::sniff;
use crate::format::{ReadOptions, Readers, pdf};
use crate::issue::{Issues, Severity};
use crate::plan::{ClassSource, PlanOptions, Role, layers_by_name};
use crate::source::doc_id_of;

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  plan2geo inspect A/L02.dxf
  plan2geo inspect set.pdf --page 3
  plan2geo inspect --config nightly.toml A/L02.dxf
  plan2geo inspect --json plans/*.svg | jq '.[].units'")]
pub(crate) struct Arguments {
    /// Drawings.
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Page of documents that have pages, counted from 1.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    page: u32,
    /// A configuration whose keys hold here too: roles of layers, units, floors.
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// For machines: an array with one object a drawing.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    overrides: Overrides,
}

/// What was found in one drawing, or why nothing was.
#[derive(Debug, Serialize)]
struct Inspection {
    file: String,
    bytes: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    #[serde(flatten)]
    content: Option<Content>,
}

#[derive(Debug, Serialize)]
struct Content {
    format: SourceFormat,
    version: Option<String>,
    application: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pages: Option<u32>,
    floor_level: Option<i32>,
    level_name: Option<String>,
    units: Units,
    /// Metres: left, lower, right, upper.
    extent: Option<[f64; 4]>,
    shapes: u64,
    vertices: u64,
    layers: Vec<Layer>,
    blocks: usize,
    entities: BTreeMap<String, u64>,
    hidden: Hidden,
    unsupported: BTreeMap<String, u64>,
    other_sheets: BTreeMap<String, u64>,
    issues: Issues,
}

#[derive(Debug, Serialize)]
struct Layer {
    name: String,
    /// Shapes drawn on it, blocks expanded.
    shapes: u64,
    /// Shapes it has and does not show.
    hidden: u64,
    off: bool,
    frozen: bool,
    /// What it stands for by configuration and name; where these do not know it, the conversion looks at its geometry.
    role: Role,
    /// Which of the two told it.
    role_from: ClassSource,
    /// In words: the pattern.
    role_reason: String,
}

pub(crate) fn run(arguments: &Arguments) -> Result<u8, CliError> {
    let config = arguments.overrides.load(arguments.config.as_deref())?;
    let inspections: Vec<Inspection> =
        arguments.files.iter().map(|file| inspect(file, arguments.page, &config)).collect();
    let failed = inspections.iter().any(|inspection| inspection.error.is_some());
    if arguments.json {
        print::json(&inspections)?;
    } else {
        let texts: Vec<String> = inspections.iter().map(Inspection::text).collect();
        print::line(&texts.join("\n\n"))?;
    }
    Ok(if failed { exit::FAILED } else { exit::ALL })
}

fn inspect(file: &Path, page: u32, config: &Config) -> Inspection {
    let mut inspection = Inspection { file: file.display().to_string(), bytes: 0, error: None, content: None };
    let bytes = super::convert::read(file, config.limits.drawing.document_bytes);
    let bytes = bytes
        .map_err(|error| if file.is_dir() { format!("it is a folder: {HOLDS_DRAWINGS}") } else { error.to_string() });
    let read = bytes.and_then(|bytes| {
        inspection.bytes = bytes.len() as u64;
        content(file, &bytes, page, config)
    });
    match read {
        Ok(content) => inspection.content = Some(content),
        Err(error) => inspection.error = Some(error),
    }
    inspection
}

fn content(file: &Path, bytes: &Bytes, page: u32, config: &Config) -> Result<Content, String> {
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    let sniffed = sniff(bytes, &name);
    let format = sniffed.format.ok_or_else(|| match sniffed.other {
        Some(other) if bytes.starts_with(b"PK\x03\x04") => format!("it is {other}: {HOLDS_DRAWINGS}"),
        Some(other) => format!("it is {other}, not a drawing"),
        None if bytes.is_empty() => "file is empty".to_owned(),
        None => "its first bytes are those of no format that is known".to_owned(),
    })?;
    let options = config.read_options(&super::convert::place_in_source(file, config));
    let read = read(format, &name, bytes, page, &options)?;
    let expand_options = ExpandOptions {
        flattening: config.effective.curves,
        include_hidden: false,
        limits: config.limits.drawing.clone(),
    };
    let report = expand::<Infallible>(&read.drawing, &expand_options, &|| Ok(()), &mut |_| Ok(()))
        .map_err(|error| error.to_string())?;
    let level = config.levels.of(&doc_id_of(file));
    let mut issues = read.issues;
    issues.merge(report.issues.clone());
    let pages = (format == SourceFormat::Pdf).then(|| pdf::count_pages(bytes, &config.limits.drawing).ok()).flatten();
    Ok(Content {
        format,
        version: read.drawing.version.clone(),
        application: read.drawing.application.clone(),
        pages,
        floor_level: level.ordinal,
        level_name: level.name,
        units: read.drawing.units.clone(),
        extent: report.bounds.map(|bounds| [bounds.x0, bounds.y0, bounds.x1, bounds.y1]),
        shapes: report.shapes,
        vertices: report.vertices,
        layers: layers(&read.drawing, &report, &config.effective.plan),
        blocks: read.drawing.blocks.len(),
        entities: read.drawing.census.clone(),
        hidden: report.hidden,
        unsupported: read.drawing.unsupported.clone(),
        other_sheets: read.drawing.other_sheets.clone(),
        issues,
    })
}

/// Reads with the readers, and takes a panic for what it is: a fault of ours that must not end the command.
fn read(
    format: SourceFormat,
    name: &str,
    bytes: &Bytes,
    page: u32,
    options: &ReadOptions,
) -> Result<crate::format::Read, String> {
    let reading = std::panic::AssertUnwindSafe(|| {
        Readers::default().read(format, name, bytes, page, options, &|| Ok(())).map_err(|error| error.to_string())
    });
    std::panic::catch_unwind(reading).unwrap_or_else(|_| Err("the reader panicked: please report this file".to_owned()))
}

fn layers(drawing: &Drawing, report: &ExpandReport, options: &PlanOptions) -> Vec<Layer> {
    let classes = layers_by_name(drawing.layers.iter().map(|layer| drawing.string(layer.name)), options);
    let layers = drawing.layers.iter().zip(classes);
    layers
        .map(|(layer, class)| {
            let name = drawing.string(layer.name);
            Layer {
                name: name.to_owned(),
                shapes: report.by_layer.get(name).copied().unwrap_or(0),
                hidden: report.hidden.by_layer.get(name).copied().unwrap_or(0),
                off: layer.off,
                frozen: layer.frozen,
                role: class.role,
                role_from: class.source,
                role_reason: class.reason,
            }
        })
        .collect()
}

impl Inspection {
    fn text(&self) -> String {
        match (&self.content, &self.error) {
            (Some(content), _) => format!("{}\n{}", self.file, content.text(self.bytes)),
            (None, error) => format!("{}\n  error: {}", self.file, error.as_deref().unwrap_or("unknown")),
        }
    }
}

impl Content {
    fn text(&self, bytes: u64) -> String {
        let mut head = Table::indented(2);
        let mut format = self.format.as_str().to_uppercase();
        if let Some(version) = &self.version {
            format.push_str(&format!(", version {version}"));
        }
        if let Some(pages) = self.pages {
            format.push_str(&format!(", {pages} page{}", if pages == 1 { "" } else { "s" }));
        }
        head.row(["format", &format]);
        if let Some(application) = &self.application {
            head.row(["made by", application]);
        }
        head.row(["size", &format!("{} bytes", grouped(bytes))]);
        let level = match (self.floor_level, &self.level_name) {
            (Some(ordinal), Some(name)) => format!("{ordinal} ({name})"),
            (Some(ordinal), None) => ordinal.to_string(),
            (None, Some(name)) => format!("unknown ({name})"),
            (None, None) => "unknown".to_owned(),
        };
        head.row(["floor", &format!("level {level}")]);
        let confidence =
            self.units.confidence.map(|confidence| format!(", confidence {confidence:.2}")).unwrap_or_default();
        head.row(["units", &format!("{} m a unit, from {}{confidence}", self.units.metres_per_unit, self.units.from)]);
        let extent = self.extent.map_or_else(
            || "nothing visible".to_owned(),
            |[x0, y0, x1, y1]| {
                format!("{:.2} × {:.2} m, from ({x0:.2}, {y0:.2}) to ({x1:.2}, {y1:.2})", x1 - x0, y1 - y0)
            },
        );
        head.row(["extent", &extent]);
        head.row(["shapes", &format!("{} with {} vertices, {} blocks", self.shapes, self.vertices, self.blocks)]);
        let mut text = head.render();
        let mut section = |title: &str, table: &Table| {
            if !table.is_empty() {
                text.push_str(&format!("\n  {title}\n{}", table.render()));
            }
        };
        let mut layers = Table::indented(4);
        for layer in &self.layers {
            let state = match (layer.off, layer.frozen) {
                (_, true) => "frozen",
                (true, false) => "off",
                _ => "",
            };
            let hidden = if layer.hidden > 0 { format!("hides {}", layer.hidden) } else { String::new() };
            let role = match layer.role_from {
                ClassSource::None => "unknown".to_owned(),
                _ => format!("{} ({})", word(layer.role), layer.role_reason),
            };
            layers.row([layer.shapes.to_string().as_str(), &layer.name, &role, state, &hidden]);
        }
        section(&format!("layers ({}), with roles by configuration and name", self.layers.len()), &layers);
        section("entities", &census(&self.entities));
        section("not supported", &census(&self.unsupported));
        section("on other sheets", &census(&self.other_sheets));
        let mut issues = Table::indented(4);
        for (code, tally) in self.issues.iter() {
            let severity = match tally.severity {
                Severity::Note => "note",
                Severity::Warning => "warning",
                Severity::Error => "error",
            };
            let sample =
                tally.samples.first().map(|sample| format!("{}: {}", sample.at, sample.detail)).unwrap_or_default();
            issues.row([tally.count.to_string().as_str(), code, severity, tally.title, &sample]);
        }
        section("issues", &issues);
        text
    }
}

/// What a value of a few is called in JSON.
fn word(value: impl Serialize) -> String {
    serde_json::to_value(value).ok().and_then(|value| value.as_str().map(str::to_owned)).unwrap_or_default()
}

fn census(counts: &BTreeMap<String, u64>) -> Table {
    let mut table = Table::indented(4);
    for (name, count) in counts {
        table.row([count.to_string().as_str(), name]);
    }
    table
}
