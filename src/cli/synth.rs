//! `plan2geo synth OUT`: floor plans with known truth, for tests and measurements.

use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::path::{Path, PathBuf};

use clap::Args;

use super::{CliError, exit, print};
use crate::synth::{
    self, Campus, DeclaredUnit, Defects, DoorDrawing, Drafting, Format, LabelDrawing, Language, LayerScheme, Plan,
    Shape, Spec, Unit, WallDrawing, huge,
};

#[derive(Debug, Args)]
#[command(
    after_help = "Drawings go to OUT/plans, their truth as GeoJSON to OUT/truth. The same arguments give the same bytes.
Examples:
  plan2geo synth gen --plans 200 --defects all
  plan2geo synth gen --buildings 40 --levels 6 --format dxf --rooms 60
  plan2geo synth gen --huge 2GiB
  plan2geo evaluate gen/truth out"
)]
pub(crate) struct Arguments {
    /// Folder to write to.
    out: PathBuf,
    /// Decides everything that is not stated.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Single plans, with seeds from --seed on.
    #[arg(long, conflicts_with_all = ["buildings", "levels", "huge"])]
    plans: Option<u64>,
    /// A campus: this many buildings.
    #[arg(long)]
    buildings: Option<u32>,
    /// Levels of each building.
    #[arg(long)]
    levels: Option<u32>,
    /// One DXF of at least this size, such as 500MiB; floors side by side, written in flat memory.
    #[arg(long, value_name = "SIZE", conflicts_with_all = ["buildings", "levels"])]
    huge: Option<String>,
    #[command(flatten)]
    choices: Choices,
}

/// What a generated plan shall be; what is not stated is drawn from its seed.
#[derive(Debug, Args)]
pub(crate) struct Choices {
    /// About how many rooms a plan.
    #[arg(long)]
    rooms: Option<u32>,
    /// File format.
    #[arg(long)]
    format: Option<Format>,
    /// Shape of the building.
    #[arg(long)]
    shape: Option<Shape>,
    /// Whose hand drew it.
    #[arg(long)]
    drafting: Option<Drafting>,
    /// How walls are drawn.
    #[arg(long)]
    walls: Option<WallDrawing>,
    /// How doors are drawn.
    #[arg(long)]
    doors: Option<DoorDrawing>,
    /// How rooms are labelled.
    #[arg(long)]
    labels: Option<LabelDrawing>,
    /// Layer names.
    #[arg(long)]
    layers: Option<LayerScheme>,
    /// Drawing unit.
    #[arg(long)]
    unit: Option<Unit>,
    /// What the drawing says about its unit.
    #[arg(long)]
    declared_unit: Option<DeclaredUnit>,
    /// Language of names.
    #[arg(long)]
    language: Option<Language>,
    /// Draw each room as a closed polyline too.
    #[arg(long)]
    room_polylines: Option<bool>,
    /// Dimensions, grid and title block.
    #[arg(long)]
    sheet: Option<bool>,
    /// Faults: `all`, `none`, or names separated by commas, such as `gap,overshoot,furniture`; a name with a minus
    /// in front is taken out again (`all,-wrong_units`).
    #[arg(long, default_value = "none", value_parser = defects, allow_hyphen_values = true)]
    defects: Defects,
}

impl Choices {
    /// The specification of a seed.
    pub(crate) fn spec(&self, seed: u64) -> Spec {
        Spec {
            seed,
            building_seed: None,
            level: 0,
            rooms: self.rooms,
            format: self.format,
            shape: self.shape,
            drafting: self.drafting,
            walls: self.walls,
            doors: self.doors,
            labels: self.labels,
            layers: self.layers,
            unit: self.unit,
            declared_unit: self.declared_unit,
            language: self.language,
            room_polylines: self.room_polylines,
            sheet: self.sheet,
            defects: self.defects,
        }
    }
}

fn defects(text: &str) -> Result<Defects, String> {
    let mut defects = Defects::default();
    for name in text.split(',').map(str::trim).filter(|name| !name.is_empty()) {
        let (name, on) = name.strip_prefix('-').map_or((name, true), |name| (name, false));
        match name {
            "all" if on => defects = Defects::all(),
            "none" if on => defects = Defects::default(),
            _ => match defects.switch(name) {
                Some(switch) => *switch = on,
                None => return Err(format!("no defect `{name}`; known are all, none, {}", Defects::NAMES.join(", "))),
            },
        }
    }
    Ok(defects)
}

pub(crate) fn run(arguments: &Arguments) -> Result<u8, CliError> {
    if let Some(size) = &arguments.huge {
        let bytes = size_of(size)
            .ok_or_else(|| CliError::usage(format!("--huge `{size}` is no size"), "for example 500MiB or 2GiB"))?;
        return write_huge(arguments, bytes);
    }
    let base = arguments.choices.spec(arguments.seed);
    let campus = Campus {
        buildings: arguments.buildings.unwrap_or(1),
        levels: arguments.levels.unwrap_or(1),
        base: base.clone(),
    };
    let (mut plans, mut rooms, mut bytes) = (0u64, 0u64, 0u64);
    let mut write = |plan: Plan| -> Result<(), CliError> {
        let made = synth::generate(&plan.spec).map_err(|error| CliError::failed(error.to_string(), ""))?;
        let extension = made.format.extension();
        store(&arguments.out.join("plans").join(format!("{}.{extension}", plan.path)), &made.drawing)?;
        store(&arguments.out.join("truth").join(format!("{}.geojson", plan.path)), &made.truth)?;
        plans += 1;
        rooms += made.rooms as u64;
        bytes += made.drawing.len() as u64;
        Ok(())
    };
    match arguments.plans {
        Some(count) => {
            for index in 0..count {
                let seed = arguments.seed + index;
                // A hundred a folder, so that 4,000 plans can still be looked at.
                let path = format!("S{:03}/P{seed:05}", seed / 100);
                write(Plan { path, spec: arguments.choices.spec(seed) })?;
            }
        }
        None => campus.plans().try_for_each(&mut write)?,
    }
    print::error(&format!("{plans} plans with {rooms} rooms, {bytes} bytes in {}", arguments.out.display()));
    Ok(exit::ALL)
}

fn store(path: &Path, bytes: &[u8]) -> Result<(), CliError> {
    let write = || {
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder)?;
        }
        File::create(path)?.write_all(bytes)
    };
    write().map_err(|error| CliError::file("write", path, &error))
}

fn write_huge(arguments: &Arguments, bytes: u64) -> Result<u8, CliError> {
    let spec = Spec { format: Some(Format::Dxf), ..arguments.choices.spec(arguments.seed) };
    let plan = arguments.out.join("plans/campus.dxf");
    let truth = arguments.out.join("truth/campus.geojson");
    store(&plan, b"")?;
    store(&truth, b"")?;
    let open =
        |path: &Path| File::create(path).map(BufWriter::new).map_err(|error| CliError::file("write", path, &error));
    let done = huge::write(&spec, bytes, open(&plan)?, open(&truth)?)
        .map_err(|error| CliError::failed(error.to_string(), "check the space on the disk"))?;
    let text = format!("{} floors, {} rooms, {} bytes in {}", done.floors, done.rooms, done.bytes, plan.display());
    print::error(&text);
    Ok(exit::ALL)
}

fn size_of(text: &str) -> Option<u64> {
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let number: u64 = text[..digits].parse().ok()?;
    let factor = match text[digits..].trim() {
        "" | "B" => 1,
        "KiB" => 1 << 10,
        "MiB" => 1 << 20,
        "GiB" => 1 << 30,
        _ => return None,
    };
    number.checked_mul(factor)
}
