//! The floor of a drawing from its path: `A/L02.dxf`, `Haus 3/1.OG.svg`, `2nd floor/plan.dxf`, `RDC.dwg`.
//!
//! The file name is looked at first, then the folders from the inside out; the first of them that names a floor
//! decides. Within one name the kinds of wording are tried from the plainest to the shortest, so that `B1-L02` is
//! the second floor of building B1 and not the first basement. A name that says two floors (`L01-L02`) says none.
//!
//! Rules of the user come first and see the whole path. Unknown is `None`, never 0; a floor that has a name but no
//! number of its own (a mezzanine, a roof) keeps its name. [`report`] makes an issue of both.

use std::sync::LazyLock;

use regex::{Captures, Regex};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::issue::{Code, Issues, Place};

static UNKNOWN: Code = Code::warning(
    "LVL001",
    "the floor is not known",
    "name the floor in the file or folder (L02, 1.OG, B1), or add a rule below levels.rules",
);
static UNNUMBERED: Code = Code::warning(
    "LVL002",
    "the floor has a name but no number",
    "add a rule below levels.rules that gives this name an ordinal",
);

/// Issue codes of levels.
pub static CODES: &[&Code] = &[&UNKNOWN, &UNNUMBERED];

/// How floors are told from paths.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct LevelOptions {
    /// Rules tried first, in order, on the whole path.
    pub rules: Vec<LevelRule>,
    /// Whether the usual names of floors are known (L02, Level 2, 2F, 2nd floor, EG, 1.OG, 1.UG, RDC, R+1, B1, …).
    pub usual_names: bool,
    /// The number drawings give the floor at street level: 0 where the first floor is one flight up, 1 where the ground
    /// floor is called the first (United States, Japan). For L02, Level 2, 2F; OG, UG, R+1 and B1 have a fixed meaning.
    #[schemars(range(min = 0, max = 1))]
    pub ground_number: i32,
}

impl Default for LevelOptions {
    fn default() -> Self {
        Self { rules: Vec::new(), usual_names: true, ground_number: 0 }
    }
}

/// One rule of the user.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct LevelRule {
    /// Regular expression on the path. Groups: `number` (the floor), `below` (floors below ground, counted from 1), `name`.
    pub pattern: String,
    /// The floor of whatever matches, instead of a group: 0 is the ground floor.
    pub ordinal: Option<i32>,
    /// The name of the floor, instead of a group or what matched.
    pub name: Option<String>,
}

/// What a path says about the floor.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Level {
    /// 0 is the ground floor, negative below it.
    pub ordinal: Option<i32>,
    /// As written in the path.
    pub name: Option<String>,
}

/// A rule that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("levels.rules[{index}].pattern: {message}")]
pub struct RuleError {
    /// Position of the rule.
    pub index: usize,
    /// What is wrong with it.
    pub message: String,
}

/// Tells floors from paths.
#[derive(Debug, Clone)]
pub struct Levels {
    rules: Vec<(Regex, LevelRule)>,
    usual_names: bool,
    ground_number: i32,
}

impl Levels {
    /// Compiles the rules.
    ///
    /// # Errors
    /// Every rule that is no regular expression, or that gives no floor at all.
    pub fn new(options: &LevelOptions) -> Result<Self, Vec<RuleError>> {
        let mut rules = Vec::new();
        let mut errors = Vec::new();
        for (index, rule) in options.rules.iter().enumerate() {
            match Regex::new(&rule.pattern) {
                Ok(regex) => {
                    let gives_a_floor = rule.ordinal.is_some()
                        || rule.name.is_some()
                        || regex.capture_names().flatten().any(|name| matches!(name, "number" | "below" | "name"));
                    if gives_a_floor {
                        rules.push((regex, rule.clone()));
                    } else {
                        let message = "has no group `number`, `below` or `name`, and no `ordinal` or `name` beside it";
                        errors.push(RuleError { index, message: message.to_owned() });
                    }
                }
                Err(error) => {
                    let message = match error {
                        regex::Error::Syntax(text) => {
                            text.lines().last().unwrap_or_default().trim_start_matches("error: ").to_owned()
                        }
                        other => other.to_string(),
                    };
                    errors.push(RuleError { index, message });
                }
            }
        }
        if errors.is_empty() {
            Ok(Self { rules, usual_names: options.usual_names, ground_number: options.ground_number })
        } else {
            Err(errors)
        }
    }

    /// The floor a path (`/` between its parts) names.
    pub fn of(&self, path: &str) -> Level {
        if let Some(level) = self.rules.iter().find_map(|(regex, rule)| self.by_rule(regex, rule, path)) {
            return level;
        }
        if !self.usual_names {
            return Level::default();
        }
        let mut parts = path.rsplit('/');
        let file = parts.next().unwrap_or_default();
        let stem = file.rsplit_once('.').map_or(file, |(stem, _)| stem);
        // `L02.dxf.gz` and the like.
        let stem = stem.strip_suffix(".dxf").or_else(|| stem.strip_suffix(".svg")).unwrap_or(stem);
        let folders = parts.map(|folder| (folder.trim_end_matches('!'), false));
        std::iter::once((stem, true))
            .chain(folders)
            .find_map(|(name, is_file)| self.by_usual_names(name, is_file))
            .unwrap_or_default()
    }

    /// The floor that the title of a drawing on a sheet names, if it names one. `is_plan`: other words of it say that it is
    /// the title of a plan, so that the shortest names are trusted too. A title of several floors names none.
    pub fn in_title(&self, title: &str, is_plan: bool) -> Option<Level> {
        let by_rule = self.rules.iter().find_map(|(regex, rule)| self.by_rule(regex, rule, title));
        by_rule
            .or_else(|| self.usual_names.then(|| self.by_usual_names(title, is_plan)).flatten())
            .filter(|level| *level != Level::default())
    }

    fn by_rule(&self, regex: &Regex, rule: &LevelRule, path: &str) -> Option<Level> {
        let found = regex.captures(path)?;
        let number = |group: &str| found.name(group).and_then(|digits| digits.as_str().parse::<i32>().ok());
        let ordinal = rule
            .ordinal
            .or_else(|| number("number").and_then(|number| number.checked_sub(self.ground_number)))
            .or_else(|| number("below").and_then(i32::checked_neg));
        let name = rule.name.clone().or_else(|| found.name("name").map(|name| name.as_str().to_owned()));
        let whole = found.get(0).map(|whole| whole.as_str().to_owned()).filter(|text| !text.is_empty());
        Some(Level { ordinal, name: name.or(whole) })
    }

    /// `None`: this name says nothing about a floor. An empty level: it says two different ones.
    fn by_usual_names(&self, name: &str, is_file: bool) -> Option<Level> {
        let spread = Spread::new(name);
        for tier in USUAL.iter() {
            if tier.files_only && !is_file {
                continue;
            }
            let mut found: Vec<Level> = Vec::new();
            for (regex, meaning) in &tier.names {
                for captures in regex.captures_iter(&spread.text) {
                    let level = Level {
                        ordinal: meaning.ordinal(&captures, self.ground_number),
                        name: captures.name("all").map(|all| spread.original(name, all.start(), all.end())),
                    };
                    // `OG` is found in `1.OG` as well: the longer name of the same floor is the better one.
                    match found.iter_mut().find(|other| other.ordinal == level.ordinal) {
                        Some(other) if other.name.as_ref().map(String::len) < level.name.as_ref().map(String::len) => {
                            *other = level;
                        }
                        Some(_) => {}
                        None => found.push(level),
                    }
                }
            }
            match found.len() {
                0 => {}
                1 => return found.pop(),
                _ => return Some(Level::default()),
            }
        }
        None
    }
}

/// Makes an issue of a floor that is not known.
pub fn report(doc_id: &str, floor_level: Option<i32>, level_name: Option<&str>, issues: &mut Issues) {
    match (floor_level, level_name) {
        (Some(_), _) => {}
        (None, Some(name)) => issues.report(&UNNUMBERED, Place::Document, name),
        (None, None) => issues.report(&UNKNOWN, Place::Document, doc_id),
    }
}

/// A name in lower case with every separator doubled, so that two neighbouring names can share one; with a blank for a separator outside of
/// ASCII, and with U+2212 where a hyphen is a minus sign.
struct Spread {
    text: String,
    /// For every byte of `text` (and its end) the byte of the name it is from.
    from: Vec<usize>,
}

impl Spread {
    fn new(name: &str) -> Self {
        let mut spread = Self { text: String::new(), from: Vec::new() };
        let mut before_separates = true;
        let mut characters = name.char_indices().peekable();
        while let Some((at, character)) = characters.next() {
            let digit_follows = characters.peek().is_some_and(|(_, next)| next.is_ascii_digit());
            if character == '\u{2212}' || (character == '-' && before_separates && digit_follows) {
                spread.push('\u{2212}', at);
                before_separates = false;
            } else if character.is_alphanumeric() || character == '+' {
                for lower in character.to_lowercase() {
                    spread.push(lower, at);
                }
                before_separates = false;
            } else {
                let separator = if character.is_ascii() { character } else { ' ' };
                spread.push(separator, at);
                spread.push(separator, at);
                before_separates = true;
            }
        }
        spread.from.push(name.len());
        spread
    }

    fn push(&mut self, character: char, at: usize) {
        self.text.push(character);
        self.from.resize(self.text.len(), at);
    }

    fn original(&self, name: &str, start: usize, end: usize) -> String {
        let place = |at: usize| self.from.get(at).copied().unwrap_or(name.len());
        name.get(place(start)..place(end)).unwrap_or_default().to_owned()
    }
}

/// What a usual name means.
#[derive(Debug, Clone, Copy)]
enum Meaning {
    /// Group `n` is the number of the floor, counted as the drawings of this place count.
    Number,
    /// Group `n` is an English ordinal in words.
    Word,
    /// Group `n` begins like an ordinal of [`STEMS`].
    Stem,
    /// The same, counted above the ground floor.
    StemAbove,
    /// Group `n` or `m` counts floors above the ground floor; without a number it is the first one.
    Above,
    /// Group `n` or `m` counts floors below it; without a number it is the first one below.
    Below,
    /// One floor.
    Fixed(i32),
    /// A floor without a number.
    Unnumbered,
}

const ORDINAL_WORDS: [&str; 12] = [
    "first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth", "eleventh",
    "twelfth",
];

/// Ordinals in words of other languages, by how they begin.
const STEMS: [(&str, i32); 35] = [
    ("prim", 1),
    ("segund", 2),
    ("second", 2),
    ("terc", 3),
    ("terz", 3),
    ("cuart", 4),
    ("quart", 4),
    ("quint", 5),
    ("sext", 6),
    ("sest", 6),
    ("séptim", 7),
    ("septim", 7),
    ("sétim", 7),
    ("settim", 7),
    ("octav", 8),
    ("oitav", 8),
    ("ottav", 8),
    ("noven", 9),
    ("non", 9),
    ("décim", 10),
    ("decim", 10),
    ("prem", 1),
    ("deuxi", 2),
    ("troisi", 3),
    ("quatri", 4),
    ("cinqui", 5),
    ("erst", 1),
    ("zweit", 2),
    ("dritt", 3),
    ("viert", 4),
    ("fünft", 5),
    ("fuenft", 5),
    ("sechst", 6),
    ("siebt", 7),
    ("acht", 8),
];

impl Meaning {
    fn ordinal(self, captures: &Captures<'_>, ground_number: i32) -> Option<i32> {
        let group = captures.name("n").or_else(|| captures.name("m")).map(|digits| digits.as_str());
        let number = || group.and_then(|digits| digits.replace('\u{2212}', "-").parse::<i32>().ok());
        match self {
            // A basement written as level -1 has no zeroth floor to be counted from.
            Self::Number => number().map(|number| if number < 0 { number } else { number - ground_number }),
            Self::Word => {
                let position = ORDINAL_WORDS.iter().position(|word| Some(*word) == group)?;
                i32::try_from(position).ok().map(|position| position + 1 - ground_number)
            }
            Self::Stem | Self::StemAbove => {
                let number = STEMS.iter().find(|(stem, _)| group.is_some_and(|word| word.starts_with(stem)))?.1;
                Some(if matches!(self, Self::StemAbove) { number } else { number - ground_number })
            }
            Self::Above => number().or(Some(1)),
            Self::Below => number().map_or(Some(-1), |number| Some(-number.abs())),
            Self::Fixed(ordinal) => Some(ordinal),
            Self::Unnumbered => None,
        }
    }
}

struct Tier {
    /// Too short to be trusted in the name of a folder (`B1` is more often a building).
    files_only: bool,
    names: Vec<(Regex, Meaning)>,
}

/// A separator between the parts of a name, as [`Spread`] leaves them. Classes of Unicode letters would take 10 MB for all patterns.
const S: &str = r"[^0-9A-Za-z+\x{80}-\x{10FFFF}]";

static USUAL: LazyLock<Vec<Tier>> = LazyLock::new(|| {
    use Meaning::{Above, Below, Fixed, Number, Stem, StemAbove, Unnumbered, Word};
    let words = ORDINAL_WORDS.join("|");
    let tier = |files_only: bool, names: &[(&str, Meaning)]| Tier {
        files_only,
        names: names
            .iter()
            .filter_map(|(pattern, meaning)| {
                let pattern = pattern.replace('~', &format!("{S}*")).replace("WORDS", &words).replace(r"\d", "[0-9]");
                let bounded = format!("(?:^|{S})(?P<all>{pattern})(?:$|{S})");
                // All of them compile: a test counts.
                Regex::new(&bounded).ok().map(|regex| (regex, *meaning))
            })
            .collect(),
    };
    vec![
        // Floors between floors and below the ground floor, whose names contain other names.
        tier(
            false,
            &[
                (
                    r"mezzanine|mezz|mez|entresol|zwischengeschoss|zwischengeschoß|upper~ground(?:~(?:floor|level))?",
                    Unnumbered,
                ),
                (r"lower~ground(?:~(?:floor|level))?|lgf|lg", Fixed(-1)),
            ],
        ),
        // In words, before the abbreviation in them.
        tier(
            false,
            &[(
                r"(?P<n>erst|zweit|dritt|viert|fünft|fuenft|sechst|siebt|acht)es~(?:obergeschoss|obergeschoß|og|stockwerk)",
                StemAbove,
            )],
        ),
        // Spelled out.
        tier(
            false,
            &[
                (
                    r"(?:level|lvl|lev|floor|flr|storey|story|ebene|etage|étage|niveau|niv|nivel|piso|pavimento|andar|planta|piano|verdieping|våning|kerros|piętro)~(?P<n>−?\d{1,3})",
                    Number,
                ),
                (r"(?P<n>\d{1,3})(?:st|nd|rd|th)~(?:floor|flr|fl|level|storey|story)", Number),
                (r"(?P<n>WORDS)~(?:floor|level|storey|story)", Word),
                (
                    r"(?P<n>primer[oa]?|segund[oa]|tercer[oa]?|cuart[oa]|quint[oa]|sext[oa]|s[eé]ptim[oa]|octav[oa]|noven[oa]|d[eé]cim[oa])~(?:piso|nivel|planta)",
                    Stem,
                ),
                (
                    r"(?P<n>primeir[oa]|segund[oa]|terceir[oa]|quart[oa]|quint[oa]|sext[oa]|s[eé]tim[oa]|oitav[oa]|non[oa]|d[eé]cim[oa])~(?:piso|pavimento|andar|nivel|n[ií]vel)",
                    Stem,
                ),
                (
                    r"(?P<n>prim[oa]|second[oa]|terz[oa]|quart[oa]|quint[oa]|sest[oa]|settim[oa]|ottav[oa]|non[oa]|decim[oa])~piano",
                    Stem,
                ),
                (
                    r"piano~(?P<n>prim[oa]|second[oa]|terz[oa]|quart[oa]|quint[oa]|sest[oa]|settim[oa]|ottav[oa]|non[oa]|decim[oa])",
                    Stem,
                ),
                (
                    r"(?P<n>premi(?:er|ère)|deuxi[eè]me|troisi[eè]me|quatri[eè]me|cinqui[eè]me)~(?:étage|etage|niveau)",
                    Stem,
                ),
                (r"(?P<n>\d{1,2})~(?:er|e|è|ème|eme|ère)?~(?:étage|etage)", Number),
                (
                    r"(?P<n>\d{1,2})(?:[ºª°oa]|er|do)?~(?:piano|planta|piso|nivel|pavimento|andar|verdieping|stock|kerros|våning|piętro)",
                    Number,
                ),
                (r"(?:ground|gnd)(?:~(?:floor|level|flr|storey))?|erdgeschoss|erdgeschoß|parterre", Fixed(0)),
                (
                    r"rez~de~chauss[ée]e|planta~baja|piano~terra|begane~grond|(?:pavimento|piso|andar)~t[ée]rreo|t[ée]rreo",
                    Fixed(0),
                ),
                (r"(?:(?P<n>\d{1,2})~)?(?:obergeschoss|obergeschoß|og)(?:~(?P<m>\d{1,2}))?", Above),
                (r"r\+(?P<n>\d{1,2})", Above),
                (
                    r"(?:(?P<n>\d{1,2})(?:er|e|º|ª)?~)?(?:untergeschoss|untergeschoß|ug|sous~sol|sótano|sotano)(?:~(?P<m>\d{1,2}))?",
                    Below,
                ),
                (r"(?:(?P<n>\d{1,2})(?:st|nd|rd|th)~)?(?:basement|bsmt|cellar)(?:~(?P<m>\d{1,2}))?", Below),
                (r"(?:kellergeschoss|keller|kelder|interrato)(?:~(?P<n>\d{1,2}))?", Below),
            ],
        ),
        // Abbreviated.
        tier(
            false,
            &[
                (r"l[ _.]{0,2}(?P<n>\d{1,3})", Number),
                (r"l--(?P<n>0\d{1,2})", Number),
                (r"(?P<n>\d{1,3})~(?:f|fl|flr|floor)", Number),
                (r"fl~(?P<n>\d{1,3})", Number),
                (r"gf|eg|rdc", Fixed(0)),
                (r"r--(?P<n>\d{1,2})", Below),
            ],
        ),
        // So short that they mean something else elsewhere.
        tier(
            true,
            &[
                (r"b(?P<n>0?[1-9])", Below),
                (r"(?:ss|kg)~(?P<n>\d)", Below),
                (r"(?:ss|kg)", Below),
                (r"pb|pt|bg", Fixed(0)),
            ],
        ),
        tier(false, &[(r"dachgeschoss|dachgeschoß|dg|attic|loft|roof|penthouse|dach|combles|ático|atico", Unnumbered)]),
    ]
});

#[cfg(test)]
mod tests {
    use super::*;

    fn levels() -> Levels {
        Levels::new(&LevelOptions::default()).unwrap()
    }

    fn of(path: &str) -> (Option<i32>, Option<String>) {
        let level = levels().of(path);
        (level.ordinal, level.name)
    }

    #[test]
    fn every_pattern_compiles() {
        assert_eq!(USUAL.iter().map(|tier| tier.names.len()).collect::<Vec<_>>(), [2, 1, 17, 6, 4, 1]);
    }

    #[test]
    fn usual_names_of_floors() {
        for (path, ordinal, name) in [
            ("A/L02.dxf", 2, "L02"),
            ("A/l2.dxf", 2, "l2"),
            ("L00.svg", 0, "L00"),
            ("A-L-02.dxf", 2, "L-02"),
            ("site/Level 2.dxf", 2, "Level 2"),
            ("level-2.dxf", 2, "level-2"),
            ("Level -1.dxf", -1, "Level -1"),
            ("Level_-1.dxf", -1, "Level_-1"),
            ("x_Floor03_rev.dxf", 3, "Floor03"),
            ("plan_2F.dwg", 2, "2F"),
            ("2nd floor.svg", 2, "2nd floor"),
            ("Third Floor.svg", 3, "Third Floor"),
            ("EG.dxf", 0, "EG"),
            ("Haus 3/1.OG.svg", 1, "1.OG"),
            ("OG2.dxf", 2, "OG2"),
            ("2. Obergeschoss.dxf", 2, "2. Obergeschoss"),
            ("OG.dxf", 1, "OG"),
            ("1.UG.dxf", -1, "1.UG"),
            ("UG.dxf", -1, "UG"),
            ("Keller.dxf", -1, "Keller"),
            ("RDC.pdf", 0, "RDC"),
            ("Rez-de-chaussée.pdf", 0, "Rez-de-chaussée"),
            ("R+1.pdf", 1, "R+1"),
            ("R-1.pdf", -1, "R-1"),
            ("1er étage.pdf", 1, "1er étage"),
            ("sous-sol 2.pdf", -2, "sous-sol 2"),
            ("Planta baja.dxf", 0, "Planta baja"),
            ("1_PRIMER_NIVEL.pdf", 1, "PRIMER_NIVEL"),
            ("Tercer piso.dxf", 3, "Tercer piso"),
            ("Piso 2.dxf", 2, "Piso 2"),
            ("Segundo pavimento.dwg", 2, "Segundo pavimento"),
            ("Pavimento térreo.dwg", 0, "Pavimento térreo"),
            ("Piano primo.dwg", 1, "Piano primo"),
            ("Deuxième étage.dwg", 2, "Deuxième étage"),
            ("Zweites OG.dwg", 2, "Zweites OG"),
            ("B1.dxf", -1, "B1"),
            ("hospital_B2.dxf", -2, "B2"),
            ("Basement.dxf", -1, "Basement"),
            ("Basement 2.dxf", -2, "Basement 2"),
            ("Ground.dwg", 0, "Ground"),
            ("Ground Floor.dwg", 0, "Ground Floor"),
            ("Lower Ground.dwg", -1, "Lower Ground"),
            ("2nd floor/plan.dxf", 2, "2nd floor"),
            ("B1/L02.dxf", 2, "L02"),
            ("B1-L02.dxf", 2, "L02"),
            ("pkg.zip!/A/L03.dxf", 3, "L03"),
            ("L02.dxf.gz", 2, "L02"),
            ("Level 3/EG.dxf", 0, "EG"),
        ] {
            assert_eq!(of(path), (Some(ordinal), Some(name.to_owned())), "{path}");
        }
    }

    /// Unknown is null, never 0.
    #[test]
    fn what_says_no_floor_or_two_is_unknown() {
        for path in [
            "plan.dxf",
            "B2/plan.dxf",
            "101.dxf",
            "3.dxf",
            "L01-L02.dxf",
            "L-1.dxf",
            "LEGEND.dxf",
            "Building 2/sheet.dxf",
            "floorplan.dxf",
            "B12_101.dxf",
            "L1234.dxf",
            "ÆØÅ €.dxf",
            "",
        ] {
            assert_eq!(of(path), (None, None), "{path}");
        }
    }

    #[test]
    fn floors_without_a_number_keep_their_name() {
        assert_eq!(of("Mezzanine.dxf"), (None, Some("Mezzanine".into())));
        assert_eq!(of("DG.dxf"), (None, Some("DG".into())));
        assert_eq!(of("L05 Roof.dxf"), (Some(5), Some("L05".into())));
        let mut issues = Issues::new();
        report("DG.dxf", None, Some("DG"), &mut issues);
        report("x.dxf", None, None, &mut issues);
        report("L02.dxf", Some(2), Some("L02"), &mut issues);
        assert_eq!((issues.count(&UNNUMBERED), issues.count(&UNKNOWN), issues.total()), (1, 1, 2));
    }

    #[test]
    fn where_the_ground_floor_is_the_first() {
        let levels = Levels::new(&LevelOptions { ground_number: 1, ..LevelOptions::default() }).unwrap();
        for (path, ordinal) in [
            ("1F.dxf", 0),
            ("Level 2.dxf", 1),
            ("First floor.dxf", 0),
            ("1.OG.dxf", 1),
            ("B1.dxf", -1),
            ("Level -1.dxf", -1),
        ] {
            assert_eq!(levels.of(path).ordinal, Some(ordinal), "{path}");
        }
    }

    #[test]
    fn rules_of_the_user_come_first() {
        let rule = |pattern: &str, ordinal: Option<i32>, name: Option<&str>| LevelRule {
            pattern: pattern.to_owned(),
            ordinal,
            name: name.map(str::to_owned),
        };
        let options = LevelOptions {
            rules: vec![
                rule(r"_(?P<number>\d\d)\.dxf$", None, None),
                rule(r"/P(?P<below>\d)/", None, Some("Parking")),
                rule("(?i)penthouse", Some(12), None),
            ],
            ..LevelOptions::default()
        };
        let levels = Levels::new(&options).unwrap();
        assert_eq!(levels.of("EG_07.dxf").ordinal, Some(7));
        assert_eq!(levels.of("x/P2/y.dxf"), Level { ordinal: Some(-2), name: Some("Parking".into()) });
        assert_eq!(levels.of("a/Penthouse.svg"), Level { ordinal: Some(12), name: Some("Penthouse".into()) });
        assert_eq!(levels.of("EG.dxf").ordinal, Some(0));
    }

    #[test]
    fn every_unusable_rule_is_named() {
        let rule = |pattern: &str| LevelRule { pattern: pattern.to_owned(), ..LevelRule::default() };
        let options =
            LevelOptions { rules: vec![rule("("), rule("(?P<name>x)"), rule("plain")], ..LevelOptions::default() };
        let errors = Levels::new(&options).unwrap_err();
        assert_eq!(errors.iter().map(|error| error.index).collect::<Vec<_>>(), [0, 2]);
    }
}
