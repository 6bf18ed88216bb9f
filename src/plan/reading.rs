//! What one text says of a room: a number, a name, an area, or nothing.
//!
//! Every line is read by itself. An area has a unit, a number has digits and little else, a name has letters; captions
//! (tags of attributes, words before a colon) are read word by word in the languages of plans. Heights, loads, sizes and codes
//! of finishes say nothing here. Which room a text belongs to, and how the texts of one room are joined, is for
//! [`super::labels`].

use std::sync::OnceLock;

use regex::Regex;

use super::PlanOptions;
use super::units::Stated;

/// What a line says.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Reading {
    pub(super) number: Option<String>,
    pub(super) name: Option<String>,
    pub(super) area_m2: Option<f64>,
    /// The tag of an attribute says so.
    pub(super) by_tag: bool,
}

pub(super) fn custom(options: &PlanOptions) -> Result<Option<Regex>, String> {
    match &options.room_number {
        None => Ok(None),
        Some(pattern) => {
            Regex::new(&format!("^(?:{pattern})$")).map(Some).map_err(|error| error.to_string().replace('\n', " "))
        }
    }
}

/// What a line says.
pub(super) fn read(value: &str, custom: Option<&Regex>) -> Reading {
    let mut reading = Reading::default();
    let Some(patterns) = patterns() else { return reading };
    let value = value.trim().trim_matches(|c: char| matches!(c, '"' | '“' | '”' | '*')).trim();
    if value.is_empty() || value.chars().count() > 120 {
        return reading;
    }
    if let Some(custom) = custom
        && custom.is_match(value)
    {
        reading.number = Some(value.to_owned());
        return reading;
    }
    if patterns.height.is_match(value) || patterns.load.is_match(value) {
        return reading;
    }
    let mut rest = value;
    if let Some((key, said)) = value.split_once(':')
        && key.chars().count() <= 16
        && !key.chars().any(|c| c.is_ascii_digit())
        && !said.trim().is_empty()
        && !is_area_word(key)
        && super::usage::of_name(key).is_none()
    {
        // A stamp says more of a room than its name: `Boden: Fliesen`, `RH: 2.50`.
        match caption(key) {
            None if !patterns.area.is_match(value) => return reading,
            Some(Caption::Name) => {
                reading.name = Some(said.trim().to_owned());
                return reading;
            }
            Some(Caption::Number | Caption::Room) => rest = said.trim(),
            _ => {}
        }
    }
    if let Some(found) = patterns.unit_first.captures(value) {
        reading.area_m2 = found["value"].replace(',', ".").parse().ok();
        return reading;
    }
    if let Some(found) = patterns.area.captures(value) {
        let figures: String = found["value"].chars().filter(|c| !matches!(c, ' ' | '\'' | '\u{a0}')).collect();
        if let Ok(area) = figures.replace(',', ".").parse::<f64>() {
            let unit = found["unit"].to_lowercase();
            let feet = unit.contains('f');
            reading.area_m2 = Some(if feet { area * 0.092_903_04 } else { area });
            let before = found.name("before").map_or(0, |part| part.end());
            rest = value[..before]
                .trim_end_matches(|c: char| c.is_whitespace() || matches!(c, ':' | '=' | '-' | '(' | ','));
            if is_area_word(rest) {
                rest = "";
            }
        }
    }
    if rest.is_empty() {
        return reading;
    }
    let is_number = |text: &str| match custom {
        Some(custom) => custom.is_match(text),
        None => patterns.number.is_match(text) && text.chars().any(|c| c.is_ascii_digit()),
    };
    if let Some(found) = patterns.prefix.captures(rest).filter(|found| is_number(&found["number"])) {
        reading.number = Some(found["number"].to_owned());
    } else if is_counted_word(rest) && super::usage::of_name(rest).is_some() {
        reading.name = Some(rest.to_owned());
    } else if is_number(rest) {
        reading.number =
            word_and_number(rest).map_or_else(|| Some(rest.to_owned()), |(_, number)| Some(number.to_owned()));
        reading.name = word_and_number(rest).map(|(name, _)| name.to_owned());
    } else if let Some(found) = patterns.leading.captures(rest).filter(|found| is_number(&found["number"])) {
        reading.number = Some(found["number"].to_owned());
        reading.name = Some(found["name"].trim().to_owned());
    } else if let Some(found) = patterns.trailing.captures(rest).filter(|found| {
        is_number(&found["number"]) && found["number"].chars().filter(char::is_ascii_digit).count() >= 3
    }) {
        let name = found["name"].trim().trim_end_matches(':');
        reading.number = Some(found["number"].to_owned());
        if !is_number_word(name) {
            reading.name = Some(name.to_owned());
        }
    } else if !patterns.dimension.is_match(rest)
        && rest.chars().filter(|c| c.is_alphabetic()).count() >= letters_wanted(rest)
        && !is_area_word(rest)
    {
        reading.name = Some(rest.to_owned());
    }
    reading
}

struct Patterns {
    number: Regex,
    area: Regex,
    leading: Regex,
    trailing: Regex,
    prefix: Regex,
    dimension: Regex,
    height: Regex,
    load: Regex,
    unit_first: Regex,
}

fn patterns() -> Option<&'static Patterns> {
    static PATTERNS: OnceLock<Option<Patterns>> = OnceLock::new();
    PATTERNS
        .get_or_init(|| {
            Some(Patterns {
                number: Regex::new(r"^(?:[A-Za-zÀ-žА-я]{1,4}[-._ /]?)?\d{1,5}(?:[-._/]\d{1,4}){0,3}[-._]?[A-Za-z]{0,2}$").ok()?,
                area: Regex::new(
                    r"(?i)^(?P<before>.*?)(?:^|[\s(,;:=~≈])(?:[A-Z]{1,4}\s*[:=]\s*)?(?P<value>\d{1,3}(?:[ '\u{a0}]\d{3})+(?:[.,]\d+)?|\d+(?:[.,]\d+)?)\s*(?P<unit>m²|m2|m\^2|qm|mq|sqm|㎡|sq\.?\s?m\.?|m\.?\s?c\.?a\.?|кв\.?\s?м\.?|平米|平方米|sq\.?\s?ft\.?|sqft|sf|s\.f\.|ft²|ft2)\)?\s*$",
                )
                .ok()?,
                leading: Regex::new(r"^(?P<number>\S*\d\S*)\s*[-–—:|,]?\s+(?P<name>\D*[^\W\d_]{2}.*)$").ok()?,
                trailing: Regex::new(r"^(?P<name>.*[^\W\d_]{2}\D*?)\s+[-–—:#|]?\s*(?P<number>\S*\d\S*)$").ok()?,
                prefix: Regex::new(r"(?i)^(?:room|raum|rm|zimmer|zi|no|nr|nummer|number|№|#|salle|sala|local|pièce)[-.:#\s]*(?:(?:no|nr|num)\b)?[.:\s]*(?P<number>\S*\d\S*)$").ok()?,
                // `M214` is a room.
                unit_first: Regex::new(r"(?i)^(?:mq|m2|m²|qm|sqm)\.?\s*[=:]\s*(?P<value>\d+(?:[.,]\d+)?)$").ok()?,
                load: Regex::new(r"(?i)^(?:\d+(?:[.,]\d+)?\s*(?:kva|va|kw|kwh|hz|lm|btu)|(?:110|115|120|127|208|220|230|240|277|380|400|415|480)\s*v|gfc?i|\d+#.*|\d+\s*['′]\s*-?\s*\d.*x.*)$").ok()?,
                height: Regex::new(concat!(
                    r"(?i)^(?:",
                    // A letter alone may begin a room number: what follows must be a length.
                    r"(?:h|ht|hgt|ok|uk|alt|elev)\.?\s*(?:[=:]\s*[±+\-–]?\d[\d.,]*\s*(?:mm|cm|m|ft)?|[±+\-–]?\d[\d.,]*\s*(?:mm|cm|m|ft))",
                    // So may two; a comma makes it one as well.
                    r"|(?:l?rh|lh|ch)\.?(?:\s*[=:]\s*[±+\-–]?\d[\d.,]*\s*(?:mm|cm|m|ft)?|\s*\d+(?:,\d+\s*(?:mm|cm|m)?|[\d.]*\s*(?:mm|cm|m|ft)))",
                    r"|(?:clg|ceil(?:ing)?|hsp|hsfp|okff|okrf|ukd|ukrd|rdh|aff|ffl|afl|fbok|rbok|n\.?p\.?t\.?|raumhöhe|(?:lichte )?(?:raum)?höhe|hauteur|altura|h\. ?libre)",
                    r"\.?(?:\s*(?:ht|height|libre|sous plafond))?(?:[\s.:=]+[±+\-–]?)?\s*\d+(?:[.,]\d{1,3}\s*(?:m|mm|cm)?|\s*(?:mm|cm|m|ft)|\s*['’′][\s\-]*[\d/ ]*[\x22”″]?)\s*(?:aff|afl)?",
                    r")$"
                )).ok()?,
                dimension: Regex::new(r#"(?i)^[\d.,\s'"/×x+\-±°%]*(?:mm|cm|m|in|ft|"|')?\s*$"#).ok()?,
            })
        })
        .as_ref()
}

/// Whether a line is a room number by its looks and nothing else.
pub(crate) fn reads_as_number(value: &str) -> bool {
    let reading = read(value, None);
    reading.number.as_deref().is_some_and(|number| !is_decimal(number)) && reading.area_m2.is_none()
}

/// Two lengths with their unit, as square metres.
pub(super) fn sides(value: &str) -> Option<f64> {
    let (first, second) = value.trim().split_once(['x', 'X', '×', '*'])?;
    let second = second.trim();
    let (a, b) = match (Stated::read(first)?, Stated::read(second)?) {
        (Stated::Metres(a), Stated::Metres(b)) => (a, b),
        // The unit behind the second is that of both.
        (Stated::Plain(a), Stated::Metres(b)) => {
            let figure: f64 = second.trim_end_matches(|c: char| !c.is_ascii_digit()).replace(',', ".").parse().ok()?;
            (a * b / figure, b)
        }
        _ => return None,
    };
    let is_room = |side: f64| (0.6..=60.0).contains(&side);
    (is_room(a) && is_room(b)).then_some(a * b)
}

pub(super) fn is_decimal(text: &str) -> bool {
    text.contains(['.', ',']) && text.chars().all(|c| c.is_ascii_digit() || c == '.' || c == ',')
}

/// A bare decimal that may state the area of the room, and no number such as `1.04`.
pub(super) fn may_be_area(number: &str, area_m2: f64) -> bool {
    let Some((whole, part)) = number.split_once(['.', ',']).filter(|_| is_decimal(number)) else { return false };
    let is_storey = (whole.len() == 1 || whole.starts_with('0')) && part.len() >= 2;
    let value = number.replace(',', ".").parse::<f64>();
    !is_storey || value.map_or(true, |value| (value - area_m2).abs() <= 0.25 * area_m2)
}

/// A word and a small figure, `Bath 2`, read as a number; beside a number proper it is the name.
pub(super) fn is_counted_word(number: &str) -> bool {
    number.split_once(' ').is_some_and(|(word, figure)| {
        word.chars().count() >= 3
            && word.chars().all(char::is_alphabetic)
            && (1..=2).contains(&figure.len())
            && figure.bytes().all(|byte| byte.is_ascii_digit())
    })
}

/// `BATH 102`: a word and a number that needs no prefix.
fn word_and_number(text: &str) -> Option<(&str, &str)> {
    let (word, number) = text.split_once(' ')?;
    let names = word.chars().count() >= 3 && word.chars().all(char::is_alphabetic);
    let digits = number.chars().take_while(char::is_ascii_digit).count();
    (names && digits >= 3).then_some((word, number))
}

/// Codes of finishes and of levels that stand in stamps below the name.
pub(super) fn is_finish(name: &str) -> bool {
    const CODES: [&str; 31] = [
        "NPT", "N.P.T.", "N.P.T", "SNPT", "NTT", "FFL", "F.F.L.", "SSL", "OKFF", "VCT", "LVT", "LVP", "CPT", "CPT-T",
        "GWB", "ACT", "ACP", "GYP", "QT", "CT", "PT", "PNT", "CONC", "SC", "EPX", "RB", "VB", "WD", "TERR", "SV",
        "MAT",
    ];
    CODES.contains(&name)
}

fn letters_wanted(text: &str) -> usize {
    if text.chars().any(|c| c as u32 >= 0x2e80) { 1 } else { 2 }
}

fn is_area_word(text: &str) -> bool {
    let lower = text.trim().trim_end_matches([':', '=', '.']).trim().to_lowercase();
    matches!(
        lower.as_str(),
        "a" | "f"
            | "s"
            | "area"
            | "fläche"
            | "flaeche"
            | "surface"
            | "superficie"
            | "sup"
            | "nf"
            | "nrf"
            | "ngf"
            | "nuf"
            | "wfl"
            | "opp"
            | "面积"
            | "площадь"
            | "pow"
            | "gross area"
            | "net area"
    )
}

fn is_number_word(text: &str) -> bool {
    let lower = text.trim().trim_end_matches([':', '.', '#']).trim().to_lowercase();
    matches!(
        lower.as_str(),
        "room"
            | "raum"
            | "rm"
            | "zimmer"
            | "no"
            | "nr"
            | "nummer"
            | "number"
            | "salle"
            | "sala"
            | "local"
            | "room no"
            | "room number"
            | "raumnummer"
            | "raum nr"
    )
}

/// What a caption, the tag of an attribute or the word before a colon, says of its value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Caption {
    Number,
    Name,
    Area,
    /// A room as such: `Raum: 12`, `ROOM`.
    Room,
}

/// Reads a caption word by word, in the languages that plans are labelled in: `RAUM_NR`, `NOM_LOCAL`, `ROOMNUMBER`.
fn caption(words: &str) -> Option<Caption> {
    const ROOMS: &[&str] = &[
        "room", "raum", "rm", "zimmer", "local", "pièce", "piece", "salle", "sala", "recinto", "space", "stanza",
        "vano", "locale", "ruimte", "lokaal", "rum",
    ];
    const AREAS: &[&str] = &["area", "fläche", "flaeche", "surf", "面积", "sqm", "m2", "superf", "oppervl"];
    const NAMES: &[&str] =
        &["name", "nom", "bez", "desc", "design", "title", "usage", "nutzung", "intitul", "libell", "名"];
    let mut said = None;
    for token in words.to_lowercase().split(|c: char| !c.is_alphanumeric()).filter(|token| !token.is_empty()) {
        let mut rest = token;
        for room in ROOMS {
            if let Some(without) = rest.strip_prefix(room).or_else(|| rest.strip_suffix(room)) {
                rest = without;
                break;
            }
        }
        let has = |list: &[&str]| list.iter().any(|word| rest.contains(word));
        let is_number = matches!(rest, "no" | "nr" | "n" | "nro" | "nmr" | "number" | "nummer" | "编号")
            || (rest == "id" && (rest != token || said == Some(Caption::Room)))
            || ["num", "núm", "nomer"].iter().any(|word| rest.starts_with(word))
            || rest.ends_with("number")
            || rest.ends_with("nummer");
        let kind = if rest.is_empty() {
            Caption::Room
        } else if has(AREAS) || rest == "sup" {
            Caption::Area
        } else if is_number {
            Caption::Number
        } else if has(NAMES) {
            Caption::Name
        } else if token == "note" || token == "notes" {
            return None;
        } else {
            continue;
        };
        if said.is_none_or(|said| said == Caption::Room) {
            said = Some(kind);
        }
    }
    said
}

/// Lets the tag of an attribute decide what its value is.
pub(super) fn read_tag(tag: &str, value: &str, reading: &mut Reading) {
    let value = value.trim();
    if value.is_empty() {
        *reading = Reading::default();
        return;
    }
    match caption(tag) {
        Some(Caption::Area) => {
            let figures: String = value
                .chars()
                .take_while(|c| c.is_ascii_digit() || matches!(c, '.' | ',' | ' '))
                .filter(|c| *c != ' ')
                .collect();
            if reading.area_m2.is_none() {
                reading.area_m2 = figures.replace(',', ".").parse().ok();
            }
            reading.number = None;
            reading.name = None;
            reading.by_tag = true;
        }
        Some(Caption::Number) if value.chars().any(char::is_alphanumeric) => {
            *reading = Reading { number: Some(value.to_owned()), by_tag: true, ..Reading::default() };
        }
        Some(Caption::Name) => {
            *reading = Reading { name: Some(value.to_owned()), by_tag: true, ..Reading::default() };
        }
        _ => {}
    }
}

/// Number and name from the id or class of a drawn room (`room-101`, `Kitchen`); texts in the room win over it.
pub(crate) fn from_words(words: &str) -> (Option<String>, Option<String>) {
    const GENERIC: &[&str] = &[
        "room",
        "rooms",
        "space",
        "unit",
        "area",
        "polygon",
        "path",
        "rect",
        "shape",
        "layer",
        "group",
        "g",
        "svg",
        "use",
        "raum",
        "zone",
        "fill",
        "poly",
        "polyline",
        "line",
        "x",
        "st",
        "cls",
        "id",
        "surface",
        "object",
        "floor",
        "vector",
        "rectangle",
        "ellipse",
        "frame",
        "union",
        "subtract",
        "star",
        "mask",
        "clip",
        "image",
        "stroke",
        "outline",
        "compound",
        "boolean",
        "component",
        "instance",
    ];
    let Some(first) = words.split_whitespace().next().filter(|first| !first.contains(['{', '"', '<', '='])) else {
        return (None, None);
    };
    let mut rest = first;
    let mut spoke = false;
    loop {
        let trimmed = rest.trim_start_matches(|c: char| !c.is_alphanumeric());
        let letters = trimmed.find(|c: char| !c.is_alphabetic()).unwrap_or(trimmed.len());
        if letters == 0 || !GENERIC.contains(&trimmed[..letters].to_lowercase().as_str()) {
            rest = trimmed;
            break;
        }
        spoke |= matches!(trimmed[..letters].to_lowercase().as_str(), "room" | "rooms" | "space" | "unit" | "raum");
        rest = &trimmed[letters..];
    }
    let rest = rest.replace('_', " ");
    let rest = rest.trim();
    if rest.is_empty() {
        return (None, None);
    }
    let reading = read(rest, None);
    if reading.number.is_some() && (spoke || rest == first) {
        return (reading.number, reading.name);
    }
    let named =
        reading.name.filter(|name| name.chars().filter(|c| c.is_ascii_digit()).count() * 2 < name.chars().count());
    (None, named)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn says(value: &str) -> (Option<String>, Option<String>, Option<f64>) {
        let reading = read(value, None);
        (reading.number, reading.name, reading.area_m2)
    }

    #[test]
    fn captions_in_the_languages_of_plans() {
        for tag in ["NUM", "NUMERO", "N_LOCAL", "ROOMNO", "RAUMNR", "RM_NUMBER", "NUMERO_LOCAL", "ROOM_ID", "NO"] {
            assert_eq!(caption(tag), Some(Caption::Number), "{tag}");
        }
        for tag in ["NOM", "NOMBRE", "NOM_LOCAL", "ROOMNAME", "RAUMBEZ", "DESCRIPTION", "DESIGNATION", "BEZEICHNUNG"] {
            assert_eq!(caption(tag), Some(Caption::Name), "{tag}");
        }
        for tag in ["SURFACE", "AREA", "FLÄCHE", "SUP", "ROOM_AREA"] {
            assert_eq!(caption(tag), Some(Caption::Area), "{tag}");
        }
        for tag in ["NOTE", "PHONE", "BODEN", "1", "KANNO"] {
            assert_eq!(caption(tag), None, "{tag}");
        }
    }

    #[test]
    fn lines_as_people_write_them() {
        let number = |text: &str| (Some(text.to_owned()), None, None);
        let name = |text: &str| (None, Some(text.to_owned()), None);
        assert_eq!(says("101"), number("101"));
        assert_eq!(says("B-101a"), number("B-101a"));
        assert_eq!(says("1.04"), number("1.04"));
        assert_eq!(says("EG.012"), number("EG.012"));
        assert_eq!(says("Room 101"), number("101"));
        assert_eq!(says("Raum-Nr. 0.15"), number("0.15"));
        assert_eq!(says("OFFICE"), name("OFFICE"));
        assert_eq!(says("会议室"), name("会议室"));
        assert_eq!(says("WC"), name("WC"));
        assert_eq!(says("101 Office"), (Some("101".into()), Some("Office".into()), None));
        assert_eq!(says("101 - Open office"), (Some("101".into()), Some("Open office".into()), None));
        assert_eq!(says("Conference Room 204"), (Some("204".into()), Some("Conference Room".into()), None));
        assert_eq!(says("18.42 m²"), (None, None, Some(18.42)));
        assert_eq!(says("A = 18,42 m2"), (None, None, Some(18.42)));
        assert_eq!(says("Fläche: 18,42 qm"), (None, None, Some(18.42)));
        assert_eq!(says("Küche 12,5 m²"), (None, Some("Küche".into()), Some(12.5)));
        let feet = says("100 SF").2.unwrap();
        assert!((feet - 9.290_304).abs() < 1e-9);
        assert_eq!(says("3'-6\""), (None, None, None));
        assert_eq!(says("2.40 x 3.10"), (None, None, None));
        assert_eq!(says("A"), (None, None, None));
        assert_eq!(says("Boden: Fliesen"), (None, None, None));
        assert_eq!(says("RH 2,75"), (None, None, None));
        assert_eq!(says("CLG 9'-0\""), (None, None, None));
        assert_eq!(says("HSP 2.50"), (None, None, None));
        assert_eq!(says("LH: 2.75"), (None, None, None));
        for room in ["H-110", "CH-1.01", "LH 2.14", "H 2.05", "M214", "M2"] {
            assert_eq!(says(room), number(room), "{room}");
        }
        assert_eq!(says("Büro: 101"), (Some("101".into()), Some("Büro".into()), None));
        assert_eq!(says("BEDROOM 12'-0 x 14'-6").1.as_deref(), Some("BEDROOM 12'-0 x 14'-6"));
        assert_eq!(says("100VA"), (None, None, None));
        assert_eq!(says("12'-0\" x 14'-6\""), (None, None, None));
        assert_eq!(says("mq=28.51"), (None, None, Some(28.51)));
        assert_eq!(sides("6.0 X 4.5 m"), Some(27.0));
        assert_eq!(sides("360cm X 420cm").map(|area| (area * 100.0).round()), Some(1512.0));
        assert_eq!(sides("14' X 16'").map(|area| (area * 100.0).round()), Some(2081.0));
        assert_eq!(sides("6 x 4"), None);
        assert_eq!(says("Nutzung: Büro"), name("Büro"));
        assert_eq!(says("BATH 102"), (Some("102".into()), Some("BATH".into()), None));
        assert_eq!(says("Büro 2"), name("Büro 2"));
        assert_eq!(says("Kind 1"), number("Kind 1"));
        assert_eq!(says("EG 12"), number("EG 12"));
    }
}
