//! Issue codes of the derivation: `PLN` classification and limits, `WAL` wall lines, `OPN` openings, `ROM` rooms,
//! `LBL` labels, `LVL` is of `place/`.

use crate::issue::Code;

/// All of them.
pub static ALL: &[&Code] = &[
    &TOO_MANY,
    &SCALE,
    &BAD_GLOB,
    &UNMAPPED,
    &NO_WALLS,
    &UNSTABLE,
    &BAD_PATTERN,
    &CROWDED,
    &UNIT_REPLACED,
    &NO_PLAN,
    &SEVERAL_FLOORS,
    &SHEET_TOO_LARGE,
    &DANGLE,
    &GAP_CLOSED,
    &GAP_OPEN,
    &OVERSHOOT,
    &DUPLICATE,
    &BRIDGE,
    &HOMELESS,
    &UNSURE_OPENING,
    &BLIND,
    &NECK,
    &DRAWN_DIFFERS,
    &UNREACHABLE,
    &NO_ROOMS,
    &FACE_DISCARDED,
    &OUTLINE_OPEN,
    &OVERLAP,
    &UNLABELLED,
    &ORPHAN,
    &CONFLICT,
    &MISSTATED,
];

/// Limit met.
pub static TOO_MANY: Code = Code::error(
    "PLN001",
    "the drawing has more lines than the limit, so no rooms were derived",
    "raise `plan.max_segments`, or map layers so that only walls are taken",
);
/// Units doubted.
pub static SCALE: Code = Code::warning(
    "PLN002",
    "what is drawn does not fit the unit of length",
    "state the unit with `read.metres_per_unit` for this drawing",
);
/// Read anew in another unit.
pub static UNIT_REPLACED: Code = Code::warning(
    "PLN009",
    "what is drawn and written contradicts the unit of the drawing; another unit was used",
    "check the unit in the drawing, or state it with `read.metres_per_unit`",
);
/// A drawing on the sheet that is no plan.
pub static NO_PLAN: Code = Code::note(
    "PLN010",
    "a drawing on the sheet is no plan of a floor, so no rooms were made in it",
    "if it is one, say so by its title in `plan.titles`, or set `plan.sheets = false`",
);
/// Several floors.
pub static SEVERAL_FLOORS: Code = Code::warning(
    "PLN011",
    "the sheet holds several floors",
    "take the floor of a room from its `floor_level`, or give each floor a drawing of its own",
);
/// Too much ink.
pub static SHEET_TOO_LARGE: Code = Code::note(
    "PLN012",
    "the sheet has too much ink to tell drawings on it apart, and was read as one plan",
    "raise `plan.sheet_gap_m`, or set `plan.sheets = false`",
);
/// Bad glob.
pub static BAD_GLOB: Code = Code::error(
    "PLN003",
    "a pattern of layers, blocks or titles is not valid",
    "correct the glob in `plan.layers`, `plan.blocks` or `plan.titles`",
);
/// Unmapped layers.
pub static UNMAPPED: Code = Code::note(
    "PLN004",
    "no rule knows the name of a layer",
    "give the layer a role in `plan.layers`; the detail suggests one where the geometry does",
);
/// No walls.
pub static NO_WALLS: Code = Code::note(
    "PLN005",
    "no wall lines were found",
    "name the wall layers in `plan.layers`, or switch the derivation off with `plan.enabled = false`",
);
/// Noding did not settle.
pub static UNSTABLE: Code = Code::warning(
    "PLN006",
    "the wall lines did not settle into a planar graph within the bound on passes",
    "look for many nearly equal lines, and lower `plan.snap_tolerance_m`",
);
/// Bad pattern.
pub static BAD_PATTERN: Code =
    Code::error("PLN007", "the pattern of room numbers is not a regular expression", "correct `plan.room_number`");
/// Too many crossings.
pub static CROWDED: Code = Code::error(
    "PLN008",
    "the wall lines cross each other more often than the limit, so no rooms were derived from them",
    "map layers so that only walls are taken, or raise `plan.max_crossings`",
);
/// Dangle.
pub static DANGLE: Code = Code::note(
    "WAL001",
    "a wall line has a free end and bounds nothing",
    "check whether a wall is missing its continuation there",
);
/// Gap closed.
pub static GAP_CLOSED: Code =
    Code::note("WAL002", "a small gap between wall lines was closed", "join the lines in the drawing");
/// Gap left open.
pub static GAP_OPEN: Code = Code::warning(
    "WAL003",
    "wall lines nearly meet and were not joined",
    "raise `plan.snap_tolerance_m`, or join the lines in the drawing",
);
/// Overshoot.
pub static OVERSHOOT: Code =
    Code::note("WAL004", "a wall line runs a little past the line it meets", "trim the line in the drawing");
/// Duplicate.
pub static DUPLICATE: Code =
    Code::note("WAL005", "wall lines lie on one another and were merged", "remove the duplicates in the drawing");
/// Bridge.
pub static BRIDGE: Code = Code::note(
    "WAL006",
    "a wall line has the same space on both sides and bounds nothing",
    "check whether it is a wall at all",
);
/// Symbol without wall.
pub static HOMELESS: Code = Code::note(
    "OPN001",
    "a door or window symbol lies in no wall",
    "check the layer of the walls around it, or whether the symbol is furniture",
);
/// Unsure opening.
pub static UNSURE_OPENING: Code = Code::note(
    "OPN002",
    "an opening was joined to walls that do not line up with it",
    "check the walls on both sides of it",
);
/// Opening without rooms.
pub static BLIND: Code =
    Code::note("OPN003", "an opening has no room on either side", "check whether the walls around it are closed");
/// Opening told by texts.
pub static NECK: Code = Code::note(
    "OPN004",
    "an opening was assumed, because two room numbers would share one room",
    "draw the door or the missing piece of wall, or tell that the texts are no room numbers",
);
/// Drawn differs.
pub static DRAWN_DIFFERS: Code = Code::note(
    "ROM001",
    "a drawn room outline and the walls around it differ by more than a tenth of the area",
    "check whether the outline is net or gross, and whether a wall is missing",
);
/// Unreachable.
pub static UNREACHABLE: Code = Code::note(
    "ROM002",
    "no chain of doors leads to a room",
    "check whether its door is drawn, and whether the door's layer has a role",
);
/// No rooms.
pub static NO_ROOMS: Code = Code::warning(
    "ROM003",
    "the drawing has walls but no room was found",
    "look at the gaps and dangles, and at the roles of the layers",
);
/// Face discarded.
pub static FACE_DISCARDED: Code = Code::note(
    "ROM004",
    "a closed face is too small or too narrow for a room",
    "lower `plan.min_room_area_m2` or `plan.min_room_width_m` if it is one",
);
/// Outline open.
pub static OUTLINE_OPEN: Code = Code::warning(
    "ROM005",
    "a line on an outline layer closes nothing",
    "close the outline of the level, or move the line to another layer",
);
/// Overlap.
pub static OVERLAP: Code =
    Code::warning("ROM006", "two drawn room outlines overlap", "correct the outlines in the drawing");
/// Unlabelled.
pub static UNLABELLED: Code =
    Code::note("LBL001", "a room has neither number nor name", "check whether its label lies inside the room");
/// Orphan.
pub static ORPHAN: Code =
    Code::note("LBL002", "a room label lies in no room", "check whether the walls around it are closed");
/// Conflict.
pub static CONFLICT: Code =
    Code::warning("LBL003", "a room has several numbers", "check whether a wall or door between two rooms is missing");
/// Misstated.
pub static MISSTATED: Code = Code::warning(
    "LBL004",
    "the area written in a room differs from the measured one",
    "check the unit of the drawing, and whether the written area is up to date",
);
