//! What names say: layers, blocks, SVG ids and classes → [`Role`], by the tables in `configs/layers/`.
//!
//! Three kinds of pattern, from sure to less sure: a *glob* must match the whole name, a *word* must equal one of
//! its words, a *part* must occur in it (for scripts without spaces and for compound words). A name may speak of
//! several things (`DOOR_TAGS`, `A-WALL-PATT`); [`resolve`] says which counts. Case, external-reference prefixes
//! (`plan|A-WALL`, `plan$0$A-WALL`) and digits stuck to words do not matter. The tables are data: a user overrides
//! them with globs in `[plan.layers]` and `[plan.blocks]`.

use std::collections::{BTreeMap, HashMap};
use std::sync::OnceLock;

use globset::GlobMatcher;
use serde::Deserialize;

use super::Role;
use crate::glob::glob;

/// What a name was found to mean.
#[derive(Debug, Clone, PartialEq)]
pub struct NameClass {
    /// The role.
    pub role: Role,
    /// 0 to 1.
    pub confidence: f64,
    /// Table and pattern, in words.
    pub reason: String,
}

/// The class of a name by the shipped tables.
pub fn classify_name(name: &str) -> Option<NameClass> {
    tables().classify(name)
}

/// Patterns of the configuration, compiled.
#[derive(Debug, Clone, Default)]
pub struct Overrides {
    globs: Vec<(Role, String, GlobMatcher)>,
}

impl Overrides {
    /// Compiles the globs of every role; gives those that are not valid with the reason.
    pub fn compile(patterns: &BTreeMap<Role, Vec<String>>) -> (Self, Vec<(String, String)>) {
        let (globs, faults) = compile_globs(patterns);
        (Self { globs }, faults)
    }

    /// The role the configuration gives to `name`, with the pattern.
    pub fn role(&self, name: &str) -> Option<(Role, &str)> {
        let bare = bare(name);
        self.globs
            .iter()
            .find(|(_, _, matcher)| matcher.is_match(name) || matcher.is_match(bare))
            .map(|(role, pattern, _)| (*role, pattern.as_str()))
    }

    /// Whether nothing is overridden.
    pub fn is_empty(&self) -> bool {
        self.globs.is_empty()
    }
}

/// A pattern with what it stands for.
type Compiled<T> = (T, String, GlobMatcher);

/// Globs of a map, the longest first, and those that are not valid with the reason.
pub(crate) fn compile_globs<T: Copy>(patterns: &BTreeMap<T, Vec<String>>) -> (Vec<Compiled<T>>, Vec<(String, String)>) {
    let mut globs = Vec::new();
    let mut faults = Vec::new();
    for (meaning, list) in patterns {
        for pattern in list {
            match glob(pattern) {
                Ok(glob) => globs.push((*meaning, pattern.clone(), glob.compile_matcher())),
                Err(error) => faults.push((pattern.clone(), error.to_string())),
            }
        }
    }
    // The longest pattern is the most particular one.
    globs.sort_by(|a, b| b.1.len().cmp(&a.1.len()).then_with(|| a.1.cmp(&b.1)));
    (globs, faults)
}

#[derive(Debug, Deserialize)]
struct TableFile {
    name: String,
    #[serde(flatten)]
    roles: BTreeMap<Role, Patterns>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Patterns {
    globs: Vec<String>,
    words: Vec<String>,
    parts: Vec<String>,
}

const FILES: &[(&str, &str)] = &[
    ("aia.toml", include_str!("../../configs/layers/aia.toml")),
    ("asian.toml", include_str!("../../configs/layers/asian.toml")),
    ("codes.toml", include_str!("../../configs/layers/codes.toml")),
    ("english.toml", include_str!("../../configs/layers/english.toml")),
    ("german.toml", include_str!("../../configs/layers/german.toml")),
    ("northern.toml", include_str!("../../configs/layers/northern.toml")),
    ("romance.toml", include_str!("../../configs/layers/romance.toml")),
    ("slavic.toml", include_str!("../../configs/layers/slavic.toml")),
];

struct Tables {
    /// Most literal characters first.
    globs: Vec<(Role, String, GlobMatcher, usize)>,
    words: HashMap<String, Vec<(Role, usize)>>,
    parts: Vec<(String, Role, usize)>,
    names: Vec<String>,
}

fn tables() -> &'static Tables {
    static TABLES: OnceLock<Tables> = OnceLock::new();
    TABLES.get_or_init(Tables::load)
}

impl Tables {
    fn load() -> Self {
        let mut tables = Self { globs: Vec::new(), words: HashMap::new(), parts: Vec::new(), names: Vec::new() };
        for (_, text) in FILES {
            // The tables are part of the program; a test holds that every one of them parses.
            let Ok(file) = toml::from_str::<TableFile>(text) else { continue };
            let number = tables.names.len();
            tables.names.push(file.name);
            for (role, patterns) in file.roles {
                for pattern in patterns.globs {
                    if let Ok(glob) = glob(&pattern) {
                        tables.globs.push((role, pattern, glob.compile_matcher(), number));
                    }
                }
                for word in patterns.words {
                    tables.words.entry(word).or_default().push((role, number));
                }
                for part in patterns.parts {
                    tables.parts.push((part, role, number));
                }
            }
        }
        tables.globs.sort_by(|a, b| literal(&b.1, false).cmp(&literal(&a.1, false)).then_with(|| a.1.cmp(&b.1)));
        tables.parts.sort();
        tables
    }

    fn classify(&self, name: &str) -> Option<NameClass> {
        let lower = bare(name).to_lowercase();
        if lower.is_empty() || lower == "0" {
            return None;
        }
        let mut hits: Vec<(Role, f64, String)> = Vec::new();
        let words = split_words(bare(name));
        if let Some((role, pattern, _, table)) = self.globs.iter().find(|(_, _, matcher, _)| matcher.is_match(&lower)) {
            let sure = if literal(pattern, true) >= 3 { 0.97 } else { 0.7 };
            hits.push((*role, sure, format!("name matches `{pattern}` ({})", self.names[*table])));
            if literal(pattern, true) >= 3 {
                return hits.pop().map(|(role, confidence, reason)| NameClass { role, confidence, reason });
            }
        }
        let mut by_word = Vec::new();
        for word in &words {
            for (role, table) in self.words.get(word).into_iter().flatten() {
                by_word.push((*role, 0.9, format!("word `{word}` ({})", self.names[*table])));
            }
        }
        if by_word.is_empty() {
            for (part, role, table) in &self.parts {
                if lower.contains(part.as_str()) {
                    by_word.push((*role, 0.75, format!("part `{part}` ({})", self.names[*table])));
                }
            }
        }
        // A discipline code (`E-`, `M-`) gives way to a word that says more.
        if !by_word.is_empty() {
            hits = by_word;
        }
        resolve(hits)
    }
}

/// Characters of a glob that stand for themselves; `letters`: only letters and digits of them.
fn literal(pattern: &str, letters: bool) -> usize {
    let mut in_class = false;
    pattern
        .chars()
        .filter(|c| {
            in_class = (in_class || *c == '[') && *c != ']';
            !in_class && !matches!(c, '*' | '?' | ']') && (!letters || c.is_alphanumeric())
        })
        .count()
}

/// Of several meanings in one name: what writes on a thing beats the thing, what fills it too, and the part of a
/// wall beats the wall.
fn resolve(hits: Vec<(Role, f64, String)>) -> Option<NameClass> {
    let has = |role: Role| hits.iter().any(|hit| hit.0 == role);
    let things = [Role::Door, Role::Window, Role::Wall, Role::Furniture, Role::Stair, Role::Column, Role::Services];
    let order = [
        Role::Dimension,
        Role::Label,
        Role::Hatch,
        Role::Sheet,
        Role::Annotation,
        Role::Grid,
        Role::Furniture,
        Role::Services,
        Role::Door,
        Role::Window,
        Role::Column,
        Role::Wall,
        Role::Stair,
        Role::Shaft,
        Role::Room,
        Role::Outline,
        Role::Zone,
        Role::Site,
    ];
    // `walls doors windows`: what is drawn tells which is which.
    if has(Role::Wall) && has(Role::Door) && has(Role::Window) {
        return None;
    }
    let first = order.into_iter().find(|role| has(*role))?;
    let role = match first {
        // `ROOM_TEXT` and `room notes` name rooms; `DOOR_LABELS` do not.
        Role::Label if things.into_iter().any(has) => Role::Annotation,
        Role::Annotation if has(Role::Room) => Role::Label,
        // `CARTOUCHE_LOCAL`: the frame round the words of a room.
        Role::Sheet if has(Role::Room) => Role::Label,
        // `wall grid`, `glass partition`: a wall is drawn.
        Role::Window if has(Role::Wall) => Role::Wall,
        Role::Grid if has(Role::Wall) => Role::Wall,
        // `service room`, `electrical room`: an area.
        Role::Services if has(Role::Room) => Role::Room,
        // `beam wall` is still a wall, a word of services beside a wall is its use (`fire wall`).
        Role::Services if has(Role::Wall) => Role::Wall,
        Role::Services if has(Role::Door) => Role::Door,
        other => other,
    };
    let source = hits.iter().find(|hit| hit.0 == role).or_else(|| hits.iter().find(|hit| hit.0 == first))?;
    Some(NameClass { role, confidence: source.1, reason: source.2.clone() })
}

/// Without the prefix of an external reference.
fn bare(name: &str) -> &str {
    let name = name.rsplit('|').next().unwrap_or(name);
    match name.rfind('$') {
        // `xref$0$LAYER`
        Some(position) if name[..position].contains('$') && position + 1 < name.len() => &name[position + 1..],
        _ => name,
    }
}

/// Words in lower case: divided at everything that is no letter, and where lower case turns to upper.
fn split_words(name: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    let mut lower_before = false;
    for c in name.chars() {
        if (!c.is_alphabetic() || (c.is_uppercase() && lower_before)) && !word.is_empty() {
            words.push(std::mem::take(&mut word));
        }
        if c.is_alphabetic() {
            word.extend(c.to_lowercase());
        }
        lower_before = c.is_lowercase();
    }
    if !word.is_empty() {
        words.push(word);
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_table_parses() {
        for (file, text) in FILES {
            let table: Result<TableFile, _> = toml::from_str(text);
            assert!(table.is_ok(), "{file}: {}", table.err().map_or_else(String::new, |e| e.to_string()));
            for (role, patterns) in table.unwrap().roles {
                for pattern in patterns.globs {
                    assert!(glob(&pattern).is_ok(), "{file}: {role:?} {pattern}");
                }
                for word in patterns.words.iter().chain(&patterns.parts) {
                    assert_eq!(*word, word.to_lowercase(), "{file}");
                }
            }
        }
    }

    #[test]
    fn names_people_use() {
        let cases = [
            ("A-WALL", Role::Wall),
            ("A-WALL-FULL", Role::Wall),
            ("xref-Bishop$0$A-WALL", Role::Wall),
            ("plan|A-WALL-PRHT", Role::Wall),
            ("A-WALL-PATT", Role::Hatch),
            ("A-WALL-IDEN", Role::Annotation),
            ("A-DOOR", Role::Door),
            ("A-DOOR-IDEN", Role::Annotation),
            ("A-GLAZ", Role::Window),
            ("A-AREA", Role::Room),
            ("A-AREA-IDEN", Role::Label),
            ("A-ANNO-DIMS", Role::Dimension),
            ("A-FURN", Role::Furniture),
            ("S-COLS", Role::Column),
            ("S-GRID", Role::Grid),
            ("M-DUCT", Role::Services),
            ("M-WALL", Role::Wall),
            ("Walls", Role::Wall),
            ("WALLS_NEW", Role::Wall),
            ("A.Wall_Internal", Role::Wall),
            ("ROOM_LABELS", Role::Label),
            ("Door tags", Role::Annotation),
            ("Außenwand", Role::Wall),
            ("AUSSENWAND_TRAGEND", Role::Wall),
            ("Innenwände", Role::Wall),
            ("TÜR", Role::Door),
            ("Innentuer", Role::Door),
            ("FENSTER", Role::Window),
            ("Raumpolygone", Role::Room),
            ("RAUM", Role::Room),
            ("Raumstempel", Role::Label),
            ("Bemaßung", Role::Dimension),
            ("Möbel", Role::Furniture),
            ("Plankopf", Role::Sheet),
            ("MURS", Role::Wall),
            ("Cloisons", Role::Wall),
            ("PORTES", Role::Door),
            ("fenêtres", Role::Window),
            ("MUROS", Role::Wall),
            ("PUERTAS", Role::Door),
            ("Ventanas", Role::Window),
            ("墙", Role::Wall),
            ("A-墙体", Role::Wall),
            ("门窗", Role::Door),
            ("窗", Role::Window),
            ("家具", Role::Furniture),
            ("尺寸标注", Role::Dimension),
            ("轴线", Role::Grid),
            ("壁", Role::Wall),
            ("建具", Role::Door),
            ("Стены", Role::Wall),
            ("Двери", Role::Door),
            ("Окна", Role::Window),
            ("Мебель", Role::Furniture),
            ("KYL-ULKOSEINA", Role::Wall),
            ("väggar", Role::Wall),
            ("Exterior", Role::Outline),
            ("EXTERIOR WALL", Role::Wall),
            ("curtainWall", Role::Wall),
            ("FURNITURE_AL MAJD", Role::Furniture),
            ("ARCHICAD Windows_Pen_No__36", Role::Window),
            ("fire wall", Role::Wall),
            ("A-G251-M-Walls", Role::Wall),
            ("Defpoints", Role::Sheet),
            ("UNIT", Role::Room),
            ("UNITLABEL", Role::Label),
            ("A-B21---E-", Role::Wall),
            ("A-B22---E-", Role::Wall),
            ("A-B22---H-", Role::Hatch),
            ("A-B32---E-", Role::Door),
            ("A-B31---E-", Role::Window),
            ("A-B28---E-", Role::Column),
            ("A-B90---T1", Role::Label),
            ("CARTOUCHE_LOCAL", Role::Label),
            ("CARTOUCHE", Role::Sheet),
            ("A-B00---G-", Role::Grid),
            ("A-B00---D-", Role::Dimension),
        ];
        for (name, role) in cases {
            let found = classify_name(name);
            assert_eq!(found.as_ref().map(|class| class.role), Some(role), "{name}: {found:?}");
        }
        for name in ["0", "Layer1", "path1234", "blue", "Ebene 3", "стены двери окна", "walls, doors, windows"]
        {
            assert_eq!(classify_name(name), None, "{name}");
        }
    }

    #[test]
    fn the_configuration_wins_and_the_longest_pattern_first() {
        let mut patterns = BTreeMap::new();
        patterns.insert(Role::Wall, vec!["X*".to_owned()]);
        patterns.insert(Role::Furniture, vec!["XF*".to_owned(), "[".to_owned()]);
        let (overrides, faults) = Overrides::compile(&patterns);
        assert_eq!(faults.len(), 1);
        assert_eq!(overrides.role("xfurn").map(|hit| hit.0), Some(Role::Furniture));
        assert_eq!(overrides.role("ref|XW").map(|hit| hit.0), Some(Role::Wall));
        assert_eq!(overrides.role("A"), None);
    }
}
