//! Where doors, windows and passages go: every room that people enter can be reached, and every opening lies in a
//! straight stretch of wall between exactly the rooms it claims to join.

use geo::{Contains, Polygon};

use super::layout::{
    Build, DOOR_WIDTHS, DOUBLE_DOOR_WIDTHS, Floor, Opening, OpeningKind, Piece, SLIDING_DOOR_WIDTHS, bounds, left_of,
    rectangle, unit_vector,
};
use super::program::RoomKind;
use super::random::Random;

/// Places all openings of a floor.
pub(super) fn place_openings(
    floor: &mut Floor,
    interior: &[Piece],
    exterior: &[Piece],
    build: &Build,
    random: &Random,
) {
    let mut places = Places { floor, taken: Vec::new() };
    let mut doors = random.fork("doors");
    connect(&mut places, interior, &mut doors);
    let mut entrances = random.fork("entrances");
    if build.ground {
        enter(&mut places, exterior, &mut entrances);
    }
    windows(&mut places, exterior, &mut random.fork("windows"));
}

struct Places<'a> {
    floor: &'a mut Floor,
    taken: Vec<Polygon<f64>>,
}

impl Places<'_> {
    /// Adds an opening if wall is all around it and the rooms beside it are those it names.
    fn place(&mut self, opening: Opening) -> bool {
        let normal = left_of(opening.along);
        let mut sides = opening.rooms.iter().zip([1.0, -1.0]);
        let reach = opening.thickness / 2.0 + 0.06;
        let fits = sides.all(|(room, sign)| {
            (0..9).all(|step| {
                let along = (f64::from(step) / 8.0 - 0.5) * (opening.width + 0.16);
                let at = opening.centre + opening.along * along + normal * (sign * reach);
                match room {
                    Some(room) => self.floor.rooms[*room].outline.contains(&at),
                    None => !self.floor.outline.contains(&at),
                }
            })
        });
        let [a, b] = opening.ends();
        let body = rectangle(a - opening.along * 0.15, b + opening.along * 0.15, opening.thickness / 2.0);
        let clear = fits && !self.taken.iter().any(|other| overlap(other, &body));
        if clear {
            self.taken.push(body);
            self.floor.openings.push(opening);
        }
        clear
    }
}

/// Whether the boxes of two opening bodies meet; enough for walls that run along the axes or are far apart.
fn overlap(a: &Polygon<f64>, b: &Polygon<f64>) -> bool {
    let ((a0, a1), (b0, b1)) = (bounds(a), bounds(b));
    a0.x < b1.x && b0.x < a1.x && a0.y < b1.y && b0.y < a1.y
}

fn is_access(kind: RoomKind) -> bool {
    matches!(kind, RoomKind::Corridor | RoomKind::Hall | RoomKind::Lobby)
}

/// Doors until every room that people enter can be reached from the first corridor or hall, and a few more.
fn connect(places: &mut Places<'_>, interior: &[Piece], random: &mut Random) {
    let kinds: Vec<RoomKind> = places.floor.rooms.iter().map(|room| room.kind).collect();
    let mut reached = vec![false; kinds.len()];
    let start = kinds.iter().position(|kind| is_access(*kind)).unwrap_or(0);
    if let Some(first) = reached.get_mut(start) {
        *first = true;
    }
    let mut order: Vec<&Piece> = interior.iter().collect();
    order.sort_by(|a, b| b.length().total_cmp(&a.length()));
    loop {
        let mut progress = false;
        // Access rooms first, so that corridors join before rooms look for the nearest door.
        for access_only in [true, false] {
            for piece in &order {
                let [Some(a), Some(b)] = piece.sides else { continue };
                if reached[a] == reached[b] || kinds[a] == RoomKind::Shaft || kinds[b] == RoomKind::Shaft {
                    continue;
                }
                let from = if reached[a] { a } else { b };
                let lift = kinds[a] == RoomKind::Lift || kinds[b] == RoomKind::Lift;
                if (access_only || lift) && !is_access(kinds[from]) {
                    continue;
                }
                if interior_door(places, piece, &kinds, random) {
                    reached[a] = true;
                    reached[b] = true;
                    progress = true;
                }
            }
            if progress {
                break;
            }
        }
        if !progress {
            break;
        }
    }
    for piece in order {
        let [Some(a), Some(b)] = piece.sides else { continue };
        let closed = |room: usize| matches!(kinds[room], RoomKind::Shaft | RoomKind::Lift | RoomKind::Toilet);
        if !closed(a) && !closed(b) && random.chance(0.07) {
            interior_door(places, piece, &kinds, random);
        }
    }
}

fn interior_door(places: &mut Places<'_>, piece: &Piece, kinds: &[RoomKind], random: &mut Random) -> bool {
    let [Some(a), Some(b)] = piece.sides else { return false };
    let any = |wanted: RoomKind| kinds[a] == wanted || kinds[b] == wanted;
    let kind = if any(RoomKind::Lift) {
        OpeningKind::SlidingDoor
    } else if is_access(kinds[a]) && is_access(kinds[b]) {
        *random.pick(&[OpeningKind::DoubleDoor, OpeningKind::DoubleDoor, OpeningKind::Gap])
    } else if any(RoomKind::Meeting) || any(RoomKind::OpenSpace) || any(RoomKind::Classroom) || any(RoomKind::Living) {
        *random.pick(&[OpeningKind::Door, OpeningKind::Door, OpeningKind::DoubleDoor, OpeningKind::SlidingDoor])
    } else if any(RoomKind::Kitchen) {
        *random.pick(&[OpeningKind::Door, OpeningKind::Gap, OpeningKind::SlidingDoor])
    } else {
        *random.pick(&[
            OpeningKind::Door,
            OpeningKind::Door,
            OpeningKind::Door,
            OpeningKind::Door,
            OpeningKind::Door,
            OpeningKind::Door,
            OpeningKind::SlidingDoor,
        ])
    };
    let widths: &[f64] = match kind {
        OpeningKind::DoubleDoor => DOUBLE_DOOR_WIDTHS,
        OpeningKind::Gap => &[1.0, 1.2, 1.5],
        OpeningKind::SlidingDoor => &SLIDING_DOOR_WIDTHS[1..],
        _ => DOOR_WIDTHS,
    };
    let mut width = *random.pick(widths);
    let mut kind = kind;
    let swings_left =
        if is_access(kinds[a]) != is_access(kinds[b]) { !is_access(kinds[a]) } else { random.chance(0.5) };
    for attempt in 0..14 {
        if attempt == 7 {
            (kind, width) = (if kind == OpeningKind::SlidingDoor { kind } else { OpeningKind::Door }, 0.76);
        }
        let slack = piece.length() - width;
        if slack < 0.3 {
            continue;
        }
        let near = random.stepped(150, 600, 10) as f64 / 1000.0;
        let offset = match random.whole(0, 3) {
            0 => (slack / 2.0 * 100.0).round() / 100.0,
            1 => slack - near,
            2 => near,
            _ => (random.between(0.2, 0.8) * slack * 100.0).round() / 100.0,
        };
        let along = unit_vector(piece.b - piece.a);
        let opening = Opening {
            kind,
            centre: piece.a + along * (offset + width / 2.0),
            along,
            width,
            thickness: piece.thickness,
            rooms: piece.sides,
            hinge_at_end: random.chance(0.5),
            swings_left,
        };
        if places.place(opening) {
            return true;
        }
    }
    false
}

/// Entrances from outside: one to an access room, sometimes more.
fn enter(places: &mut Places<'_>, exterior: &[Piece], random: &mut Random) {
    let kinds: Vec<RoomKind> = places.floor.rooms.iter().map(|room| room.kind).collect();
    let mut made = 0;
    for wanted in [
        is_access as fn(RoomKind) -> bool,
        |kind| kind == RoomKind::Stairs,
        |kind| !matches!(kind, RoomKind::Shaft | RoomKind::Lift | RoomKind::Toilet),
    ] {
        for piece in exterior {
            let Some(room) = piece.sides.iter().flatten().next().copied() else { continue };
            if made > 0 && (!wanted(kinds[room]) || random.chance(0.6)) || !wanted(kinds[room]) || made > 2 {
                continue;
            }
            let double = random.chance(0.5) && piece.length() > 2.6;
            let (kind, width) = if double { (OpeningKind::DoubleDoor, 1.8) } else { (OpeningKind::Door, 1.01) };
            let along = unit_vector(piece.b - piece.a);
            let opening = Opening {
                kind,
                centre: (piece.a + piece.b) / 2.0,
                along,
                width,
                thickness: piece.thickness,
                rooms: piece.sides,
                hinge_at_end: random.chance(0.5),
                swings_left: piece.sides[0].is_some() == random.chance(0.5),
            };
            if places.place(opening) {
                made += 1;
            }
        }
        if made > 0 {
            return;
        }
    }
}

fn windows(places: &mut Places<'_>, exterior: &[Piece], random: &mut Random) {
    let kinds: Vec<RoomKind> = places.floor.rooms.iter().map(|room| room.kind).collect();
    let width = *random.pick(&[1.0, 1.2, 1.5, 1.8]);
    for piece in exterior {
        let Some(room) = piece.sides.iter().flatten().next().copied() else { continue };
        if matches!(kinds[room], RoomKind::Shaft | RoomKind::Lift) || random.chance(0.06) {
            continue;
        }
        let width =
            if matches!(kinds[room], RoomKind::Toilet | RoomKind::Bath | RoomKind::Storage) { 0.8 } else { width };
        let count = ((piece.length() - 0.6) / (width + 1.0)).floor().max(0.0) as usize;
        let along = unit_vector(piece.b - piece.a);
        for index in 0..count {
            let share = (index as f64 + 0.5) / count as f64;
            places.place(Opening {
                kind: OpeningKind::Window,
                centre: piece.a + along * (piece.length() * share),
                along,
                width,
                thickness: piece.thickness,
                rooms: piece.sides,
                hinge_at_end: false,
                swings_left: false,
            });
        }
    }
}
