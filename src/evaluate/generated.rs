//! Generated plans through the whole conversion, in process: generate → convert → compare, plan by plan.

use std::collections::BTreeMap;

use bytes::Bytes;
use plan2geo_actors::{Spool, SpoolSettings};

use super::batch::{Comparison, Outcome};
use super::{Scene, Tolerances, compare};
use crate::kernel::{ConvertOptions, Converter, Document};
use crate::plan;
use crate::synth::{self, LayerScheme, Spec, Style, SynthError, sketch::Role};

/// What the converter is told about each plan beside its bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Help {
    /// The role of every layer, as a user would configure it.
    pub layers: bool,
    /// The true unit, as a user would configure it.
    pub units: bool,
    /// Scale predictions by the ratio of read and true unit before comparing.
    pub align_units: bool,
}

/// Converts and compares the plans of `specs`. A plan that cannot be converted counts as one of which nothing was found.
///
/// # Errors
/// If a plan cannot be generated.
pub fn run(
    specs: impl IntoIterator<Item = (String, Spec)>,
    options: &ConvertOptions,
    help: Help,
    tolerances: &Tolerances,
) -> Result<Comparison, SynthError> {
    let mut comparison = Comparison::default();
    for (name, spec) in specs {
        comparison.add(one(name, &spec, options, help, tolerances)?);
    }
    Ok(comparison)
}

/// Converts and compares one plan.
///
/// # Errors
/// If it cannot be generated.
pub fn one(
    name: String,
    spec: &Spec,
    options: &ConvertOptions,
    help: Help,
    tolerances: &Tolerances,
) -> Result<Outcome, SynthError> {
    let style = Style::decide(spec);
    let plan = synth::generate(spec)?;
    let mut options = options.clone();
    let unit = style.unit.metres();
    if help.layers {
        options.plan.layers = layer_roles(style.layers);
    }
    if help.units {
        options.units = Some(std::sync::Arc::new(move |_| Some(unit)));
    }
    let mut notes = Vec::new();
    let mut missing = 0;
    let scene = convert(&name, plan.drawing, options).unwrap_or_else(|reason| {
        missing = 1;
        notes.push(reason);
        Scene::default()
    });
    let read_unit = scene.metres_per_unit.unwrap_or(unit);
    let mut scene = scene;
    if (read_unit / unit - 1.0).abs() > 1e-6 {
        notes.push(format!("unit read as {read_unit} m, truth is {unit} m"));
        if help.align_units {
            scene = scene.scaled(unit / read_unit);
        }
    }
    let truth = Scene::from_geojson(&plan.truth, &name);
    let mut score = truth.map(|truth| compare(&truth, &scene, tolerances)).unwrap_or_default();
    score.missing = missing;
    let style = format!("{:?} {:?} {:?} {:?}", style.format, style.walls, style.layers, style.labels).to_lowercase();
    notes.push(style);
    Ok(Outcome { name, score, note: Some(notes.join("; ")) })
}

fn convert(name: &str, drawing: Vec<u8>, options: ConvertOptions) -> Result<Scene, String> {
    let document = Document { name, page: 1, floor_level: Some(0), level_name: Some("L00"), ..Document::default() };
    let spool = Spool::new(SpoolSettings::default());
    let converted = Converter::new(options)
        .convert(&document, Bytes::from(drawing), spool, &|| Ok(()))
        .map_err(|error| error.to_string())?;
    let mut bytes = Vec::new();
    std::io::copy(&mut converted.output.reader(), &mut bytes).map_err(|error| error.to_string())?;
    Scene::from_geojson(&bytes, name).map_err(|error| error.to_string())
}

/// Roles of the layers of a scheme, as configuration; empty for schemes whose layers mean nothing.
pub fn layer_roles(scheme: LayerScheme) -> BTreeMap<plan::Role, Vec<String>> {
    let mut roles: BTreeMap<plan::Role, Vec<String>> = BTreeMap::new();
    if scheme == LayerScheme::Zero {
        return roles;
    }
    for role in Role::ALL {
        let meant = match role {
            Role::WallOuter | Role::WallInner => plan::Role::Wall,
            Role::WallHatch => plan::Role::Wall,
            Role::Door => plan::Role::Door,
            Role::Window => plan::Role::Window,
            Role::Column => plan::Role::Column,
            Role::Stairs => plan::Role::Stair,
            Role::Furniture | Role::Sanitary => plan::Role::Furniture,
            Role::RoomNumber | Role::RoomName => plan::Role::Label,
            Role::RoomOutline => plan::Role::Room,
            Role::Leader | Role::Notes => plan::Role::Annotation,
            Role::Dimension => plan::Role::Dimension,
            Role::Grid => plan::Role::Grid,
            Role::Frame => plan::Role::Sheet,
        };
        let names = roles.entry(meant).or_default();
        let name = synth::layer_name(scheme, role).to_owned();
        if !names.contains(&name) {
            names.push(name);
        }
    }
    roles
}
