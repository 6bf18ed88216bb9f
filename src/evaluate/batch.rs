//! Two files, or two directories of files, compared pair by pair in constant memory.
//!
//! Files belong together when their paths below the two roots are the same after the endings `.geojson`,
//! `.truth` and that of a drawing format are taken off: `B1/L02.geojson` and `B1/L02.dxf.geojson`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::{EvaluateError, Scene, Score, Tolerances, compare};

/// How to compare.
#[derive(Debug, Clone, Copy, Default)]
pub struct Options {
    /// Distances.
    pub tolerances: Tolerances,
    /// Scale each prediction by the ratio of the units both files state.
    pub align_units: bool,
}

/// The outcome of one pair.
#[derive(Debug, Clone)]
pub struct Outcome {
    /// Path below the root, endings taken off.
    pub name: String,
    /// The numbers.
    pub score: Score,
    /// What a reader should know: no prediction, another unit, scaled, unreadable.
    pub note: Option<String>,
}

/// All outcomes.
#[derive(Debug, Clone, Default)]
pub struct Comparison {
    /// One a truth, in the order of names.
    pub outcomes: Vec<Outcome>,
    /// Sums.
    pub total: Score,
    /// Predictions without a truth.
    pub extra: Vec<String>,
}

/// Compares `truth` with `predicted`: both files or both directories.
///
/// # Errors
/// If a root cannot be read or a truth is not usable. A prediction that is missing or not usable is no error
/// but a plan of which nothing was found.
pub fn run(truth: &Path, predicted: &Path, options: &Options) -> Result<Comparison, EvaluateError> {
    let mut comparison = Comparison::default();
    if truth.is_file() {
        let name = stem(truth.file_name().map(Path::new).unwrap_or(truth));
        comparison.add(one(&name, truth, Some(predicted), options)?);
        return Ok(comparison);
    }
    let truths = files(truth)?;
    let mut predictions = files(predicted)?;
    for (name, path) in &truths {
        let prediction = predictions.remove(name);
        comparison.add(one(name, path, prediction.as_deref(), options)?);
    }
    comparison.extra = predictions.into_keys().collect();
    Ok(comparison)
}

impl Comparison {
    /// Adds the outcome of one plan.
    pub fn add(&mut self, outcome: Outcome) {
        self.total += outcome.score;
        self.outcomes.push(outcome);
    }

    /// Outcomes, those with the lowest room F1 at 0.5 first, then by F1 at 0.9, labels, openings.
    pub fn worst_first(&self) -> Vec<&Outcome> {
        let mut order: Vec<&Outcome> = self.outcomes.iter().collect();
        let grade = |outcome: &Outcome| {
            ["room_f1_50", "room_f1_90", "label_recall", "opening_f1"]
                .map(|name| outcome.score.metric(name).unwrap_or(0.0))
        };
        order.sort_by(|a, b| {
            let (a_grade, b_grade) = (grade(a), grade(b));
            let mut by = a_grade.iter().zip(&b_grade).map(|(x, y)| x.total_cmp(y));
            by.find(|order| order.is_ne()).unwrap_or(std::cmp::Ordering::Equal).then_with(|| a.name.cmp(&b.name))
        });
        order
    }
}

fn one(name: &str, truth: &Path, predicted: Option<&Path>, options: &Options) -> Result<Outcome, EvaluateError> {
    let truth = Scene::read(truth)?;
    let read = match predicted {
        Some(path) => Scene::read(path).map_err(|error| error.to_string()),
        None => Err("no prediction".to_owned()),
    };
    let mut notes = Vec::new();
    let mut missing = 0;
    let mut scene = read.unwrap_or_else(|reason| {
        missing = 1;
        notes.push(reason);
        Scene::default()
    });
    if let (Some(true_unit), Some(unit)) = (truth.metres_per_unit, scene.metres_per_unit) {
        let factor = true_unit / unit;
        if (factor - 1.0).abs() > 1e-6 {
            if options.align_units {
                scene = scene.scaled(factor);
                notes.push(format!("scaled by {factor:.6}"));
            } else {
                notes.push(format!("unit read as {unit} m, truth is {true_unit} m"));
            }
        }
    }
    let mut score = compare(&truth, &scene, &options.tolerances);
    score.missing = missing;
    let note = (!notes.is_empty()).then(|| notes.join("; "));
    Ok(Outcome { name: name.to_owned(), score, note })
}

/// All GeoJSON files below a root, by name. Directories whose name starts with `_` hold no plans.
fn files(root: &Path) -> Result<BTreeMap<String, PathBuf>, EvaluateError> {
    let mut found = BTreeMap::new();
    let walk = walkdir::WalkDir::new(root)
        .sort_by_file_name()
        .into_iter()
        .filter_entry(|entry| entry.depth() == 0 || !entry.file_name().to_string_lossy().starts_with('_'));
    for entry in walk {
        let entry =
            entry.map_err(|error| EvaluateError::Input { path: root.display().to_string(), source: error.into() })?;
        let path = entry.path();
        if entry.file_type().is_file() && path.extension().is_some_and(|extension| extension == "geojson") {
            let relative = path.strip_prefix(root).unwrap_or(path);
            found.insert(stem(relative), path.to_owned());
        }
    }
    Ok(found)
}

fn stem(path: &Path) -> String {
    let text = path.to_string_lossy().replace('\\', "/");
    let mut name = text.as_str();
    for ending in [".geojson", ".truth", ".dxf", ".dwg", ".svg", ".pdf"] {
        name = name.strip_suffix(ending).unwrap_or(name);
    }
    name.to_owned()
}
