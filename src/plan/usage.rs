//! What rooms are used for, by words of their names in some ten languages.
//!
//! Short words must stand alone, longer ones may be part of a compound. The uses are those of the output (`usage` of a
//! room); what a layer or a symbol says about use is told where those are read.

/// What a name says a room is used for.
pub(crate) fn of_name(name: &str) -> Option<&'static str> {
    const WORDS: &[(&str, &[&str])] = &[
        (
            "stairs",
            &[
                "stair",
                "treppe",
                "escalier",
                "escalera",
                "scala",
                "trap",
                "trapp",
                "лестниц",
                "楼梯",
                "階段",
                "escada",
                "schody",
                "steps",
            ],
        ),
        (
            "elevator",
            &["elevator", "lift", "aufzug", "ascenseur", "ascensor", "лифт", "电梯", "elevador", "hissi", "winda"],
        ),
        ("escalator", &["escalator", "rolltreppe"]),
        ("shaft", &["shaft", "schacht", "gaine", "duct", "riser", "patinillo", "шахта", "管井"]),
        (
            "outdoor",
            &[
                "courtyard",
                "patio",
                "innenhof",
                "lichthof",
                "terrace",
                "terrasse",
                "terraza",
                "balcony",
                "balkon",
                "balcon",
                "atrium open",
                "cour ",
                "阳台",
            ],
        ),
        (
            "restroom",
            &[
                "restroom",
                "toilet",
                "lavatory",
                "bathroom",
                "washroom",
                "wc",
                "bad",
                "baño",
                "bano",
                "sanitär",
                "toilette",
                "卫生间",
                "туалет",
                "санузел",
                "banheiro",
            ],
        ),
        (
            "corridor",
            &[
                "corridor",
                "hallway",
                "hall",
                "flur",
                "gang",
                "couloir",
                "pasillo",
                "passage",
                "corridoio",
                "коридор",
                "走廊",
                "circulation",
                "corredor",
            ],
        ),
        ("lobby", &["lobby", "foyer", "entrance", "eingang", "vestibule", "reception", "empfang"]),
        (
            "kitchen",
            &["kitchen", "küche", "kueche", "cuisine", "cocina", "cucina", "кухня", "厨房", "teeküche", "cozinha"],
        ),
        (
            "storage",
            &["storage", "store", "lager", "abstell", "closet", "archiv", "depot", "almacen", "storeroom", "кладов"],
        ),
        ("conferenceroom", &["conference", "meeting", "besprechung", "sitzung", "réunion", "reunion", "会议"]),
        ("office", &["office", "büro", "buero", "bureau", "oficina", "ufficio", "kontor", "кабинет", "офис", "办公"]),
        ("classroom", &["classroom", "class", "seminar", "klasse", "unterricht", "aula", "lecture"]),
        ("laboratory", &["laboratory", "lab ", "labor", "laboratoire", "laboratorio"]),
        ("serverroom", &["server", "it room", "data center"]),
    ];
    let lower = format!("{} ", name.to_lowercase());
    for (usage, words) in WORDS {
        for word in *words {
            let whole = word.chars().count() <= 4 && word.is_ascii();
            let hit = if whole {
                lower.split(|c: char| !c.is_alphanumeric()).any(|part| part == word.trim())
            } else {
                lower.contains(word)
            };
            if hit {
                return Some(usage);
            }
        }
    }
    None
}
