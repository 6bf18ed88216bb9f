//! Numbers, names, stated areas and layer names, as offices in three countries write them.

use super::layout::Floor;
use super::program::RoomKind;
use super::random::Random;
use super::sketch::Role;
use super::spec::{Language, LayerScheme};

/// Gives every room that has space a number and a name, in reading order (upper rows first, then to the right).
pub(super) fn label_rooms(
    floor: &mut Floor,
    level: i32,
    language: Language,
    named: bool,
    building: &mut Random,
    random: &mut Random,
) {
    let pattern = building.whole(0, 5);
    let flat = floor.rooms.iter().any(|room| room.kind == RoomKind::Hall) || floor.rooms.len() == 1;
    let numbered = !flat || building.chance(0.5) || !named;
    let mut order: Vec<usize> =
        (0..floor.rooms.len()).filter(|&i| floor.rooms[i].outline.exterior().0.len() > 3).collect();
    order.sort_by_key(|&i| {
        let at = floor.rooms[i].label_at;
        ((-at.y / 3.0).round() as i64, (at.x * 1000.0) as i64, i)
    });
    let prefix = *building.pick(&["E", "EG", "0"]);
    let mut serial = 0;
    for index in order {
        let room = &mut floor.rooms[index];
        if room.kind == RoomKind::Shaft {
            continue;
        }
        serial += 1;
        if numbered {
            room.number = match pattern {
                0 | 1 => format!("{}", (level + 1) * 100 + serial),
                2 => format!("{level}.{serial:02}"),
                3 if level == 0 => format!("{prefix}.{serial:02}"),
                3 => format!("{level}.{serial:03}"),
                4 => format!("A{level}-{serial:02}"),
                _ => format!("{}{serial:02}", level + 1),
            };
        }
        if named {
            name_of(room.kind, language, random).clone_into(&mut room.name);
        }
    }
}

fn name_of(kind: RoomKind, language: Language, random: &mut Random) -> &'static str {
    use Language::{English, French, German};
    use RoomKind as K;
    let choices: &[&str] = match (language, kind) {
        (English, K::Corridor) => &["Corridor", "Hallway"],
        (English, K::Hall) => &["Hall", "Entry"],
        (English, K::Lobby) => &["Lobby", "Foyer"],
        (English, K::Office) => &["Office", "Open Office", "Manager", "Private Office"],
        (English, K::Meeting) => &["Meeting", "Conference", "Conference Room"],
        (English, K::OpenSpace) => &["Open Office", "Lab", "Workshop"],
        (English, K::Classroom) => &["Classroom", "Seminar"],
        (English, K::Storage) => &["Storage", "Store", "Closet", "Copy"],
        (English, K::Kitchen) => &["Kitchen", "Pantry", "Break Room"],
        (English, K::Toilet) => &["WC Men", "WC Women", "Toilet"],
        (English, K::Bath) => &["Bath", "Shower"],
        (English, K::Living) => &["Living Room", "Dining"],
        (English, K::Bedroom) => &["Bedroom", "Bed 2", "Guest Room"],
        (English, K::Stairs) => &["Stairs", "Stair A"],
        (English, K::Lift) => &["Elevator", "Lift"],
        (English, K::Shaft) | (French, K::Shaft) | (German, K::Shaft) => &[""],
        (German, K::Corridor) => &["Flur", "Gang"],
        (German, K::Hall) => &["Diele", "Flur"],
        (German, K::Lobby) => &["Eingangshalle", "Foyer"],
        (German, K::Office) => &["Büro", "Einzelbüro", "Sekretariat", "Leitung"],
        (German, K::Meeting) => &["Besprechung", "Besprechungsraum"],
        (German, K::OpenSpace) => &["Großraumbüro", "Labor", "Werkstatt"],
        (German, K::Classroom) => &["Seminarraum", "Klasse 3b"],
        (German, K::Storage) => &["Lager", "Abstellraum", "Putzraum", "Archiv"],
        (German, K::Kitchen) => &["Küche", "Teeküche"],
        (German, K::Toilet) => &["WC Herren", "WC Damen", "WC"],
        (German, K::Bath) => &["Bad", "Dusche"],
        (German, K::Living) => &["Wohnen", "Wohnzimmer"],
        (German, K::Bedroom) => &["Schlafen", "Kind 1", "Gast"],
        (German, K::Stairs) => &["Treppenhaus", "Treppe 1"],
        (German, K::Lift) => &["Aufzug"],
        (French, K::Corridor) => &["Couloir", "Dégagement"],
        (French, K::Hall) => &["Entrée", "Dégagement"],
        (French, K::Lobby) => &["Hall", "Accueil"],
        (French, K::Office) => &["Bureau", "Bureau partagé", "Secrétariat"],
        (French, K::Meeting) => &["Salle de réunion", "Réunion"],
        (French, K::OpenSpace) => &["Atelier", "Laboratoire"],
        (French, K::Classroom) => &["Salle de cours"],
        (French, K::Storage) => &["Rangement", "Archives", "Local ménage"],
        (French, K::Kitchen) => &["Cuisine", "Tisanerie"],
        (French, K::Toilet) => &["WC H", "WC F", "Sanitaires"],
        (French, K::Bath) => &["Salle de bain", "Douche"],
        (French, K::Living) => &["Séjour", "Salon"],
        (French, K::Bedroom) => &["Chambre 1", "Chambre"],
        (French, K::Stairs) => &["Escalier"],
        (French, K::Lift) => &["Ascenseur"],
    };
    random.pick::<&'static str>(choices)
}

/// A stated area as written on plans, from the net area in m².
pub(super) fn stated_area(area_m2: f64, language: Language, variant: usize) -> String {
    let comma = |text: String| text.replace('.', ",");
    match language {
        Language::English => match variant % 2 {
            0 => format!("{area_m2:.2} m²"),
            _ => format!("{area_m2:.1} m2"),
        },
        Language::German => match variant % 3 {
            0 => comma(format!("{area_m2:.2} m²")),
            1 => comma(format!("A = {area_m2:.2} m²")),
            _ => comma(format!("NGF: {area_m2:.2} m²")),
        },
        Language::French => match variant % 2 {
            0 => comma(format!("{area_m2:.2} m²")),
            _ => comma(format!("S = {area_m2:.1} m²")),
        },
    }
}

/// The layer of a role.
pub(super) fn layer(scheme: LayerScheme, role: Role) -> &'static str {
    let row = match role {
        Role::WallOuter => 0,
        Role::WallInner => 1,
        Role::WallHatch => 2,
        Role::Door => 3,
        Role::Window => 4,
        Role::Column => 5,
        Role::Stairs => 6,
        Role::Furniture => 7,
        Role::Sanitary => 8,
        Role::RoomNumber => 9,
        Role::RoomName => 10,
        Role::RoomOutline => 11,
        Role::Leader => 12,
        Role::Dimension => 13,
        Role::Grid => 14,
        Role::Frame => 15,
        Role::Notes => 16,
    };
    let names: [&str; 17] = match scheme {
        LayerScheme::Aia => [
            "A-WALL-EXTR",
            "A-WALL",
            "A-WALL-PATT",
            "A-DOOR",
            "A-GLAZ",
            "S-COLS",
            "A-FLOR-STRS",
            "A-FURN",
            "A-FLOR-PFIX",
            "A-AREA-IDEN",
            "A-AREA-IDEN",
            "A-AREA",
            "A-ANNO-NOTE",
            "A-ANNO-DIMS",
            "S-GRID",
            "A-ANNO-TTLB",
            "A-ANNO-TEXT",
        ],
        LayerScheme::German => [
            "AUSSENWAND",
            "INNENWAND",
            "WAND_SCHRAFFUR",
            "TÜREN",
            "FENSTER",
            "STÜTZEN",
            "TREPPE",
            "MÖBEL",
            "SANITÄR",
            "RAUMNUMMER",
            "RAUMBEZEICHNUNG",
            "RAUMPOLYGON",
            "HINWEISE",
            "BEMASSUNG",
            "ACHSEN",
            "PLANKOPF",
            "TEXT",
        ],
        LayerScheme::French => [
            "MURS_EXT",
            "CLOISONS",
            "HACHURES",
            "PORTES",
            "FENETRES",
            "POTEAUX",
            "ESCALIERS",
            "MOBILIER",
            "SANITAIRES",
            "NUM_LOCAUX",
            "NOM_LOCAUX",
            "SURFACES",
            "REPERES",
            "COTATION",
            "AXES",
            "CARTOUCHE",
            "TEXTES",
        ],
        LayerScheme::Iso13567 => [
            "A-B21---E-",
            "A-B22---E-",
            "A-B22---H-",
            "A-B32---E-",
            "A-B31---E-",
            "A-B28---E-",
            "A-B24---E-",
            "A-B82---E-",
            "A-B74---E-",
            "A-B90---T1",
            "A-B90---T2",
            "A-B90---E-",
            "A-B90---N-",
            "A-B00---D-",
            "A-B00---G-",
            "A-B00---B-",
            "A-B00---T-",
        ],
        LayerScheme::Numeric => {
            ["1", "2", "21", "3", "4", "7", "11", "20", "18", "50", "51", "60", "13", "30", "31", "99", "55"]
        }
        LayerScheme::Zero => ["0"; 17],
    };
    names[row]
}
