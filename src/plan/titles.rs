//! What the title of a drawing on a sheet says: a plan, an elevation, a section, a detail …, and of which floor.
//!
//! The words are data, in `configs/sheets/titles.toml`; globs of the configuration (`plan.titles`) come first. The longest
//! phrases count: `site plan` is no plan of a floor. A text that speaks of several kinds, refers to something else (`see
//! detail 3`) or states a height (`elevation +3.50`) is no title. Floors are read as those of paths are ([`crate::place::level`]).
//! Whether a text stands where titles stand is judged in `views.rs`.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use globset::GlobMatcher;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::place::level::{Level, Levels};

/// What a drawing on a sheet is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ViewKind {
    /// The plan of a floor.
    Plan,
    /// A view of a side.
    Elevation,
    /// A cut.
    Section,
    /// A part at a larger scale.
    Detail,
    /// A view in space.
    Perspective,
    /// The ground around the building.
    Site,
    /// A roof from above.
    Roof,
    /// Legends, notes and schedules.
    Legend,
    /// The title block of the sheet.
    TitleBlock,
    /// Nothing tells; rooms are looked for as in a plan.
    Unknown,
}

impl ViewKind {
    /// As in the configuration and in outputs.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Plan => "plan",
            Self::Elevation => "elevation",
            Self::Section => "section",
            Self::Detail => "detail",
            Self::Perspective => "perspective",
            Self::Site => "site",
            Self::Roof => "roof",
            Self::Legend => "legend",
            Self::TitleBlock => "title_block",
            Self::Unknown => "unknown",
        }
    }

    /// Whether rooms are made in it.
    pub fn has_rooms(self) -> bool {
        matches!(self, Self::Plan | Self::Unknown)
    }
}

/// What a text says that reads as a title.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Title {
    pub kind: ViewKind,
    /// The floor it names.
    pub floor: Option<Level>,
    /// Only the floor tells that it is a plan: beside an elevation it marks a height.
    pub bare_floor: bool,
    /// The configuration says so.
    pub certain: bool,
}

/// Reads titles.
pub(crate) struct Titles {
    globs: Vec<(ViewKind, GlobMatcher)>,
    levels: Option<Levels>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Words {
    phrases: Vec<String>,
    parts: Vec<String>,
}

struct Table {
    /// Longest first.
    phrases: Vec<(Vec<String>, ViewKind)>,
    parts: Vec<(String, ViewKind)>,
}

const FILE: &str = include_str!("../../configs/sheets/titles.toml");

fn table() -> &'static Table {
    static TABLE: OnceLock<Table> = OnceLock::new();
    TABLE.get_or_init(|| {
        // The table is part of the program; a test holds that it parses.
        let kinds: BTreeMap<ViewKind, Words> = toml::from_str(FILE).unwrap_or_default();
        let mut table = Table { phrases: Vec::new(), parts: Vec::new() };
        for (kind, words) in kinds {
            table.phrases.extend(words.phrases.iter().map(|phrase| (split_words(phrase), kind)));
            table.parts.extend(words.parts.into_iter().map(|part| (part, kind)));
        }
        table.phrases.sort_by(|p, q| q.0.len().cmp(&p.0.len()).then_with(|| p.cmp(q)));
        table.parts.sort_by(|p, q| q.0.len().cmp(&p.0.len()).then_with(|| p.cmp(q)));
        table
    })
}

/// Titles are short.
const MOST_WORDS: usize = 9;
const MOST_CHARACTERS: usize = 80;

/// A text that begins so refers to something else.
const REFERRING: &[&str] = &[
    "see", "refer", "ref", "as", "per", "for", "typ", "siehe", "gemäß", "vgl", "voir", "selon", "ver", "según", "vedi",
    "zie", "см",
];

impl Titles {
    /// With globs of the configuration that are valid, and names of floors.
    pub(crate) fn new(globs: Vec<(ViewKind, GlobMatcher)>, levels: Option<Levels>) -> Self {
        Self { globs, levels }
    }

    /// What a line of text says as a title; `None` if it is none.
    pub(crate) fn read(&self, text: &str) -> Option<Title> {
        let text = text.trim();
        if text.is_empty() || text.chars().count() > MOST_CHARACTERS {
            return None;
        }
        if let Some((kind, _)) = self.globs.iter().find(|(_, glob)| glob.is_match(text)) {
            let floor = (*kind == ViewKind::Plan).then(|| self.floor(text, true)).flatten();
            return Some(Title { kind: *kind, floor, bare_floor: false, certain: true });
        }
        let words = split_words(text);
        let refers = words.first().is_some_and(|first| REFERRING.contains(&first.as_str()));
        // Heights and sizes, but not scales (1:100) and numbers of cuts (1-1).
        let measures = text.contains(['=', '+', '±', '≥', '<', '>', '@']) || has_decimal(text);
        if words.len() > MOST_WORDS || refers || measures {
            return None;
        }
        let mut kinds = kinds(&words, text);
        kinds.retain(|kind| *kind != ViewKind::TitleBlock);
        match kinds[..] {
            [ViewKind::Plan] => {
                let floor = self.floor(text, true);
                Some(Title { kind: ViewKind::Plan, floor, bare_floor: false, certain: false })
            }
            [kind] => Some(Title { kind, floor: None, bare_floor: false, certain: false }),
            [] => {
                // A floor and hardly anything else.
                let floor = self.floor(text, false)?;
                let named = floor.name.as_ref().map_or(0, |name| split_words(name).len());
                (floor.ordinal.is_some() && words.len() <= named + 2).then_some(Title {
                    kind: ViewKind::Plan,
                    floor: Some(floor),
                    bare_floor: true,
                    certain: false,
                })
            }
            _ => None,
        }
    }

    fn floor(&self, text: &str, in_plan_title: bool) -> Option<Level> {
        self.levels.as_ref()?.in_title(text, in_plan_title)
    }
}

/// The different words of title blocks in a text.
pub(crate) fn title_block_words(text: &str) -> Vec<usize> {
    if text.chars().count() > MOST_CHARACTERS {
        return Vec::new();
    }
    let (words, lower) = (split_words(text), text.to_lowercase());
    let phrases = table().phrases.iter().enumerate().filter(|(_, (phrase, kind))| {
        // The caption is the whole text, or stands before its value.
        *kind == ViewKind::TitleBlock && words.starts_with(phrase) && words.len() <= phrase.len() + 6
    });
    let found: Vec<usize> = phrases.map(|(number, _)| number).take(1).collect();
    if !found.is_empty() {
        return found;
    }
    let first = table().phrases.len();
    let parts = table().parts.iter().enumerate();
    parts
        .filter(|(_, (part, kind))| *kind == ViewKind::TitleBlock && lower.contains(part.as_str()))
        .map(|(number, _)| first + number)
        .take(1)
        .collect()
}

/// The kinds a text speaks of.
fn kinds(words: &[String], text: &str) -> Vec<ViewKind> {
    let mut left: Vec<Option<&str>> = words.iter().map(|word| Some(word.as_str())).collect();
    let mut found = Vec::new();
    for (phrase, kind) in &table().phrases {
        if phrase.is_empty() || phrase.len() > left.len() || *kind == ViewKind::TitleBlock {
            continue;
        }
        for start in 0..=left.len() - phrase.len() {
            let here = &mut left[start..start + phrase.len()];
            if here.iter().zip(phrase).all(|(word, wanted)| *word == Some(wanted.as_str())) {
                here.fill(None);
                found.push(*kind);
            }
        }
    }
    if found.is_empty() {
        let mut rest = text.to_lowercase();
        for (part, kind) in &table().parts {
            if *kind != ViewKind::TitleBlock && rest.contains(part.as_str()) {
                rest = rest.replace(part.as_str(), " ");
                found.push(*kind);
            }
        }
    }
    found.sort_unstable();
    found.dedup();
    found
}

/// Words in lower case, divided at everything that is neither letter nor digit.
fn split_words(text: &str) -> Vec<String> {
    text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).map(str::to_lowercase).collect()
}

/// A figure with decimals, which is no part of a scale.
fn has_decimal(text: &str) -> bool {
    let characters: Vec<char> = text.chars().collect();
    characters
        .windows(3)
        .any(|three| three[0].is_ascii_digit() && matches!(three[1], '.' | ',') && three[2].is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::place::level::LevelOptions;

    fn read(text: &str) -> Option<(ViewKind, Option<i32>)> {
        let titles = Titles::new(Vec::new(), Levels::new(&LevelOptions::default()).ok());
        titles.read(text).map(|title| (title.kind, title.floor.and_then(|floor| floor.ordinal)))
    }

    #[test]
    fn the_table_parses() {
        let kinds: BTreeMap<ViewKind, Words> = toml::from_str(FILE).unwrap();
        assert_eq!(kinds.len(), 9);
        assert!(!kinds.contains_key(&ViewKind::Unknown));
        // Every phrase is as it is compared, and none says two things.
        let mut known: BTreeMap<&String, ViewKind> = BTreeMap::new();
        for (kind, words) in &kinds {
            for phrase in words.phrases.iter().chain(&words.parts) {
                assert_eq!(*phrase, split_words(phrase).join(" "));
                assert_eq!(*known.entry(phrase).or_insert(*kind), *kind, "{phrase}");
            }
        }
    }

    #[test]
    fn titles_as_people_write_them() {
        use ViewKind::{Detail, Elevation, Legend, Perspective, Plan, Roof, Section, Site};
        for (text, kind, floor) in [
            ("FIRST FLOOR PLAN", Plan, Some(1)),
            ("GROUND FLOOR PLAN  SCALE 1:100", Plan, Some(0)),
            ("Grundriss EG", Plan, Some(0)),
            ("GRUNDRISS 1. OBERGESCHOSS M 1:50", Plan, Some(1)),
            ("Erdgeschossgrundriss", Plan, None),
            ("Level 2", Plan, Some(2)),
            ("2nd Floor", Plan, Some(2)),
            ("1.OG", Plan, Some(1)),
            ("PLAN DU RDC", Plan, Some(0)),
            ("PLANTA BAJA", Plan, Some(0)),
            ("一层平面图", Plan, None),
            ("TYPICAL FLOOR PLAN (LEVEL 2 - LEVEL 5)", Plan, None),
            ("FRONT ELEVATION", Elevation, None),
            ("ELEVATION A", Elevation, None),
            ("Front View", Elevation, None),
            ("ANSICHT NORD", Elevation, None),
            ("Nordansicht", Elevation, None),
            ("FAÇADE SUD", Elevation, None),
            ("南立面图", Elevation, None),
            ("SECTION A-A", Section, None),
            ("SCHNITT B-B", Section, None),
            ("COUPE AA'", Section, None),
            ("1-1剖面图", Section, None),
            ("DETAIL 3", Detail, None),
            ("LEGEND", Legend, None),
            ("DOOR SCHEDULE", Legend, None),
            ("SITE PLAN", Site, None),
            ("Lageplan", Site, None),
            ("ROOF PLAN", Roof, None),
            ("3D VIEW", Perspective, None),
        ] {
            assert_eq!(read(text), Some((kind, floor)), "{text}");
        }
    }

    #[test]
    fn texts_that_are_no_titles() {
        for text in [
            "SEE DETAIL 3/A5",
            "ELEVATION +3.50",
            "ELEV. 102.35",
            "FLOOR PLAN & ELEVATIONS",
            "BEDROOM",
            "ELEVATOR",
            "101",
            "PLANTER",
            "SECTIONAL SOFA",
            "REFER TO SECTION B",
            "THE CONTRACTOR SHALL VERIFY ALL DIMENSIONS SHOWN ON PLAN BEFORE WORK BEGINS",
            "",
        ] {
            assert_eq!(read(text), None, "{text}");
        }
    }

    #[test]
    fn captions_of_title_blocks() {
        let different = |texts: &[&str]| {
            let mut found: Vec<usize> = texts.iter().flat_map(|text| title_block_words(text)).collect();
            found.sort_unstable();
            found.dedup();
            found.len()
        };
        assert_eq!(different(&["SCALE: 1:100", "DATE", "DRAWN BY: AB", "SHEET NO.", "KITCHEN", "Scale"]), 4);
        assert_eq!(different(&["Maßstab 1:50", "Bauherr", "Gez.", "Plan-Nr. 12"]), 4);
        assert_eq!(different(&["OFFICE", "101", "STORAGE"]), 0);
    }

    #[test]
    fn the_configuration_comes_first() {
        let glob = |pattern: &str| globset::Glob::new(pattern).unwrap().compile_matcher();
        let titles = Titles::new(vec![(ViewKind::Elevation, glob("VISTA*"))], None);
        assert_eq!(titles.read("VISTA 2").map(|title| (title.kind, title.certain)), Some((ViewKind::Elevation, true)));
    }
}
