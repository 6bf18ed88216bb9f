//! `plan2geo evaluate TRUTH PREDICTED`: how well plans were read.

use std::path::PathBuf;

use clap::Args;

use super::synth::Choices;
use super::{CliError, Overrides, exit, print};
use crate::evaluate::batch::{self, Comparison, Options};
use crate::evaluate::generated::{self, Help};
use crate::evaluate::report::{self, Threshold};
use crate::evaluate::{EvaluateError, Tolerances};

#[derive(Debug, Args)]
#[command(
    after_help = "Files belong together when their paths are the same without .geojson and the ending of the drawing.
Exit codes: 0 all bounds held; 1 a bound was missed or a truth could not be read; 2 wrong arguments.
Examples:
  plan2geo evaluate gen/truth out --min room_f1_50=0.95 --max leaks=0
  plan2geo evaluate --generate 200 --defects all --min label_accuracy=0.95
  plan2geo evaluate L02.truth.geojson L02.geojson --json"
)]
pub(crate) struct Arguments {
    /// GeoJSON with the truth, or a folder of such files.
    #[arg(required_unless_present = "generate")]
    truth: Option<PathBuf>,
    /// GeoJSON to be judged, or a folder of such files.
    #[arg(required_unless_present = "generate")]
    predicted: Option<PathBuf>,
    /// Generate this many plans, convert them in this process and judge the outcome.
    #[arg(long, value_name = "PLANS", conflicts_with_all = ["truth", "predicted"])]
    generate: Option<u64>,
    /// First seed of generated plans.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Configure the layers of generated plans, as a user would.
    #[arg(long)]
    with_layers: bool,
    /// Configure the unit of generated plans, as a user would.
    #[arg(long)]
    with_units: bool,
    /// Fail unless a metric of the totals is at least this, such as `room_f1_50=0.95`; may be repeated.
    #[arg(long, value_name = "METRIC=NUMBER")]
    min: Vec<Threshold>,
    /// Fail unless a metric of the totals is at most this, such as `leaks=0`; may be repeated.
    #[arg(long, value_name = "METRIC=NUMBER")]
    max: Vec<Threshold>,
    /// Scale a prediction by the ratio of the units that both files state. Never done unless asked for.
    #[arg(long)]
    align_units: bool,
    /// Greatest distance between wall lines, metres.
    #[arg(long, default_value_t = Tolerances::default().wall_m)]
    wall_tolerance: f64,
    /// Greatest distance between the middles of openings, metres.
    #[arg(long, default_value_t = Tolerances::default().opening_m)]
    opening_tolerance: f64,
    /// Plans listed, worst first.
    #[arg(long, default_value_t = 20)]
    rows: usize,
    /// For machines: totals and every plan.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    choices: Choices,
    #[command(flatten)]
    overrides: Overrides,
}

pub(crate) fn run(arguments: &Arguments) -> Result<u8, CliError> {
    let tolerances = Tolerances {
        wall_m: arguments.wall_tolerance,
        opening_m: arguments.opening_tolerance,
        ..Tolerances::default()
    };
    let comparison = match (&arguments.truth, &arguments.predicted) {
        (Some(truth), Some(predicted)) => {
            let options = Options { tolerances, align_units: arguments.align_units };
            batch::run(truth, predicted, &options).map_err(|error| match error {
                EvaluateError::Input { .. } => CliError::failed(error.to_string(), "check the path"),
                _ => CliError::failed(error.to_string(), "name GeoJSON files that plan2geo or `plan2geo synth` wrote"),
            })?
        }
        _ => generate(arguments, &tolerances)?,
    };
    if arguments.json {
        print::json(&report::json(&comparison))?;
    } else {
        print::line(report::table(&comparison, arguments.rows).trim_end())?;
    }
    let missed = report::missed(&comparison.total, &arguments.min, &arguments.max);
    for reason in &missed {
        print::error(&format!("missed: {reason}"));
    }
    Ok(if missed.is_empty() { exit::ALL } else { exit::FAILED })
}

fn generate(arguments: &Arguments, tolerances: &Tolerances) -> Result<Comparison, CliError> {
    let config = arguments.overrides.load(None)?;
    let options = config.convert_options();
    let help = Help { layers: arguments.with_layers, units: arguments.with_units, align_units: arguments.align_units };
    let seeds = arguments.seed..arguments.seed + arguments.generate.unwrap_or(0);
    let specs = seeds.map(|seed| (format!("P{seed:05}"), arguments.choices.spec(seed)));
    generated::run(specs, &options, help, tolerances).map_err(|error| CliError::failed(error.to_string(), ""))
}
