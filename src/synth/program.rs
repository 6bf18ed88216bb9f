//! The programme of a floor: which rooms lie where, as cells on a millimetre grid without wall thickness.
//!
//! Cells meet at wall centre lines. A room is one cell or several that are joined without a wall (an L-shaped
//! room, a corridor that turns). [`super::layout`] gives the walls their bodies and the rooms their net outlines.

use super::random::Random;
use super::spec::Shape;

/// A point of the grid, millimetres.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Spot {
    /// To the right.
    pub x: i64,
    /// Upward.
    pub y: i64,
}

/// What a room is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum RoomKind {
    /// Access to other rooms of a wing.
    Corridor,
    /// Access to the rooms of a flat.
    Hall,
    /// Entrance of a building.
    Lobby,
    /// A desk room.
    Office,
    /// A room with a large table.
    Meeting,
    /// A large undivided room with columns.
    OpenSpace,
    /// A room with rows of tables.
    Classroom,
    /// Shelves.
    Storage,
    /// A kitchen or tea kitchen.
    Kitchen,
    /// Toilets.
    Toilet,
    /// A bathroom.
    Bath,
    /// A living room.
    Living,
    /// A bedroom.
    Bedroom,
    /// A staircase.
    Stairs,
    /// A lift.
    Lift,
    /// A vertical duct that nobody enters.
    Shaft,
}

/// A convex piece of a room, counter-clockwise.
#[derive(Debug, Clone)]
pub struct Cell {
    /// Corners, counter-clockwise.
    pub corners: Vec<Spot>,
    /// Index of its room.
    pub room: usize,
}

/// All cells and the kinds of their rooms.
#[derive(Debug, Clone, Default)]
pub struct Program {
    /// The pieces.
    pub cells: Vec<Cell>,
    /// The kind of each room.
    pub kinds: Vec<RoomKind>,
}

#[derive(Debug, Clone, Copy)]
struct Block {
    x0: i64,
    y0: i64,
    x1: i64,
    y1: i64,
}

impl Block {
    fn width(self) -> i64 {
        self.x1 - self.x0
    }

    fn height(self) -> i64 {
        self.y1 - self.y0
    }

    fn corners(self) -> Vec<Spot> {
        let Self { x0, y0, x1, y1 } = self;
        vec![Spot { x: x0, y: y0 }, Spot { x: x1, y: y0 }, Spot { x: x1, y: y1 }, Spot { x: x0, y: y1 }]
    }

    /// The part between `low` and `high` along x (`true`) or y.
    fn slice(self, along_x: bool, low: i64, high: i64) -> Self {
        if along_x { Self { x0: low, x1: high, ..self } } else { Self { y0: low, y1: high, ..self } }
    }

    fn extent(self, along_x: bool) -> (i64, i64) {
        if along_x { (self.x0, self.x1) } else { (self.y0, self.y1) }
    }
}

impl Program {
    fn room(&mut self, kind: RoomKind, blocks: &[Block]) -> usize {
        let room = self.kinds.len();
        self.kinds.push(kind);
        for block in blocks {
            if block.width() > 0 && block.height() > 0 {
                self.cells.push(Cell { corners: block.corners(), room });
            }
        }
        room
    }
}

/// A floor of about `rooms` rooms. `building` decides what all levels of a building share, `level` the rest.
pub fn program(shape: Shape, rooms: u32, building: &Random, level: &Random) -> Program {
    match shape {
        Shape::Compact => compact(rooms.max(1), &mut building.fork("compact"), &mut level.fork("compact")),
        Shape::Bar => wings(rooms, [true, false, false, false], building, level),
        Shape::Ell => wings(rooms, [true, true, false, false], building, level),
        Shape::You => wings(rooms, [true, true, true, false], building, level),
        Shape::Court => wings(rooms, [true, true, true, true], building, level),
    }
}

/// A rectangle cut by random splits; the room with the most neighbours in the middle is the hall.
fn compact(rooms: u32, building: &mut Random, level: &mut Random) -> Program {
    let area_mm2 = rooms as f64 * building.between(11.0e6, 19.0e6);
    let aspect = building.between(1.0, 1.9);
    let width = ((area_mm2 * aspect).sqrt() / 10.0).round() as i64 * 10;
    let height = ((area_mm2 / aspect).sqrt() / 10.0).round() as i64 * 10;
    let mut blocks = vec![Block { x0: 0, y0: 0, x1: width.max(2600), y1: height.max(2400) }];
    while blocks.len() < rooms as usize {
        blocks.sort_by_key(|block| std::cmp::Reverse((block.width() * block.height(), block.x0, block.y0)));
        let Some(found) = blocks.iter().position(|block| block.width().max(block.height()) >= 4200) else { break };
        let block = blocks.remove(found);
        let along_x = block.width() >= block.height();
        let (low, high) = block.extent(along_x);
        let cut = level.stepped(low + (high - low) * 35 / 100, low + (high - low) * 65 / 100, 10);
        blocks.push(block.slice(along_x, low, cut));
        blocks.push(block.slice(along_x, cut, high));
    }
    blocks.sort_by_key(|block| (block.y0, block.x0));
    let mut program = Program::default();
    if blocks.len() == 1 {
        program.room(*level.pick(&[RoomKind::Living, RoomKind::Office, RoomKind::Meeting]), &blocks);
        return program;
    }
    let touches = |a: &Block, b: &Block| {
        let across = (a.x0.max(b.x0) < a.x1.min(b.x1), a.y0.max(b.y0) < a.y1.min(b.y1));
        (across.0 && (a.y1 == b.y0 || b.y1 == a.y0)) || (across.1 && (a.x1 == b.x0 || b.x1 == a.x0))
    };
    let degree = |a: &Block| blocks.iter().filter(|b| touches(a, b)).count();
    let hall = (0..blocks.len()).max_by_key(|&i| (degree(&blocks[i]), std::cmp::Reverse(i))).unwrap_or(0);
    // Sometimes two neighbours of equal side make one L-shaped or longer room with the hall.
    let partner = (0..blocks.len()).find(|&i| i != hall && touches(&blocks[i], &blocks[hall]));
    let joined = partner.filter(|_| blocks.len() > 4 && level.chance(0.4));
    let kinds = [RoomKind::Bedroom, RoomKind::Living, RoomKind::Kitchen, RoomKind::Bath, RoomKind::Bedroom];
    let mut number = level.whole(0, 4) as usize;
    for (index, block) in blocks.iter().enumerate() {
        if index == hall {
            let mut parts = vec![*block];
            parts.extend(joined.map(|other| blocks[other]));
            program.room(RoomKind::Hall, &parts);
        } else if Some(index) != joined {
            let small = block.width() * block.height() < 6_000_000;
            let kind = if small { *level.pick(&[RoomKind::Bath, RoomKind::Storage]) } else { kinds[number % 5] };
            number += 1;
            if level.chance(0.12) && block.width() > 4600 && block.height() > 3000 {
                split_diagonally(&mut program, *block, kind, level);
            } else {
                program.room(kind, &[*block]);
            }
        }
    }
    program
}

/// Two rooms with a slanting wall between them, 60° or steeper.
fn split_diagonally(program: &mut Program, block: Block, kind: RoomKind, random: &mut Random) {
    let slant = (block.height() / 2).min(block.width() / 4);
    let middle = (block.x0 + block.x1) / 2;
    let shift = random.stepped(slant / 2, slant.max(20), 10) * if random.chance(0.5) { 1 } else { -1 } / 2;
    let (below, above) = (middle - shift, middle + shift);
    let corners = block.corners();
    let (foot, head) = (Spot { x: below, y: block.y0 }, Spot { x: above, y: block.y1 });
    let room = program.kinds.len();
    program.kinds.extend([kind, kind]);
    program.cells.push(Cell { corners: vec![corners[0], foot, head, corners[3]], room });
    program.cells.push(Cell { corners: vec![foot, corners[1], corners[2], head], room: room + 1 });
}

/// Double-loaded wings: bottom, left, right, top. The bottom wing is always there.
fn wings(rooms: u32, sides: [bool; 4], building: &Random, level: &Random) -> Program {
    let mut shared = building.fork("wings");
    let mut random = level.fork("wings");
    // Stairs and lifts stand above each other: their strip is the same on all levels.
    let mut core_random = building.fork("core strip");
    let [_, left, right, top] = sides;
    let outer = shared.stepped(4200, 6600, 50);
    let corridor = shared.stepped(1600, 2600, 50);
    let inner = if shared.chance(0.12) { 0 } else { shared.stepped(3800, 6200, 50) };
    let depth = outer + corridor + inner;
    let rooms_per_metre = if inner > 0 { 2.0 } else { 1.0 } / 4.1;
    let length = ((f64::from(rooms.max(4)) / rooms_per_metre).max(9.0) * 1000.0) as i64;
    let uprights = i64::from(left) + i64::from(right);
    // Each corner takes a depth away from what the wings share.
    let spread = length + uprights * depth;
    let (width, height) = match (uprights, top) {
        (0, _) => (length, depth),
        (1, _) => (spread * 6 / 10, spread * 4 / 10 + depth),
        (_, false) => (spread * 5 / 10, spread * 25 / 100 + depth),
        (_, true) => (spread * 28 / 100, spread * 22 / 100 + depth),
    };
    let width = (width.max(uprights * depth + 7000) / 10) * 10;
    let height = if uprights == 0 { depth } else { (height.max(depth * (1 + i64::from(top)) + 7000) / 10) * 10 };
    let mut plan = Wings {
        program: Program::default(),
        random: &mut random,
        core_left: 0,
        toilets_left: 1 + usize::from(rooms > 24),
    };

    // Rooms at the ends of a bar close its corridor; elsewhere the corridor runs to the façade.
    let ends = (
        if !left && shared.chance(0.35) { shared.stepped(3600, 5600, 50) } else { 0 },
        if !right && shared.chance(0.35) { shared.stepped(3600, 5600, 50) } else { 0 },
    );
    let mut corridors = Vec::new();
    let (x0, x1) = (if left { outer } else { ends.0 }, if right { width - outer } else { width - ends.1 });
    corridors.push(Block { x0, y0: outer, x1, y1: outer + corridor });
    let (y_low, y_high) = (outer + corridor, if top { height - outer - corridor } else { height });
    if left {
        corridors.push(Block { x0: outer, y0: y_low, x1: outer + corridor, y1: y_high });
    }
    if right {
        corridors.push(Block { x0: width - outer - corridor, y0: y_low, x1: width - outer, y1: y_high });
    }
    if top {
        corridors.push(Block { x0, y0: height - outer - corridor, x1, y1: height - outer });
    }
    plan.corridors(&corridors, shared.chance(0.3));

    let need = outer + 1600;
    if ends.0 > 0 {
        plan.end_room(Block { x0: 0, y0: 0, x1: ends.0, y1: depth });
    }
    if ends.1 > 0 {
        plan.end_room(Block { x0: width - ends.1, y0: 0, x1: width, y1: depth });
    }
    let bottom = Block { x0: ends.0, y0: 0, x1: width - ends.1, y1: outer };
    let corners = (if left { need } else { 0 }, if right { need } else { 0 });
    let cores = if rooms >= 8 { 1 + usize::from(rooms > 30) } else { 0 };
    if inner == 0 {
        plan.core_left = cores;
        std::mem::swap(plan.random, &mut core_random);
    }
    plan.strip(bottom, Side { along_x: true, access_high: true }, corners, true);
    if inner == 0 {
        std::mem::swap(plan.random, &mut core_random);
    }
    let inner_x =
        (if left { outer + corridor } else { ends.0 }, if right { width - outer - corridor } else { width - ends.1 });
    plan.core_left = if inner > 0 { cores } else { 0 };
    std::mem::swap(plan.random, &mut core_random);
    plan.strip(
        Block { x0: inner_x.0, y0: outer + corridor, x1: inner_x.1, y1: depth },
        Side { along_x: true, access_high: false },
        (0, 0),
        false,
    );
    std::mem::swap(plan.random, &mut core_random);
    plan.core_left = 0;
    let upper = if top { height - outer } else { height };
    let upper_inner = if top { height - depth } else { height };
    if left {
        plan.strip(
            Block { x0: 0, y0: outer, x1: outer, y1: upper },
            Side { along_x: false, access_high: true },
            (0, 0),
            false,
        );
        plan.strip(
            Block { x0: outer + corridor, y0: depth, x1: depth, y1: upper_inner },
            Side { along_x: false, access_high: false },
            (0, 0),
            false,
        );
    }
    if right {
        plan.strip(
            Block { x0: width - outer, y0: outer, x1: width, y1: upper },
            Side { along_x: false, access_high: false },
            (0, 0),
            false,
        );
        plan.strip(
            Block { x0: width - depth, y0: depth, x1: width - outer - corridor, y1: upper_inner },
            Side { along_x: false, access_high: true },
            (0, 0),
            false,
        );
    }
    if top {
        plan.strip(
            Block { x0: 0, y0: height - outer, x1: width, y1: height },
            Side { along_x: true, access_high: false },
            (need, need),
            false,
        );
        plan.strip(
            Block { x0: inner_x.0, y0: height - depth, x1: inner_x.1, y1: height - outer - corridor },
            Side { along_x: true, access_high: true },
            (0, 0),
            false,
        );
    }
    plan.program
}

/// How a strip of rooms lies: its direction, and whether its corridor is on the high side across it.
#[derive(Debug, Clone, Copy)]
struct Side {
    along_x: bool,
    access_high: bool,
}

/// Least frontage of stairs with a lift beside them, millimetres.
const CORE_WIDTH: i64 = 4600;

struct Wings<'a> {
    program: Program,
    random: &'a mut Random,
    core_left: usize,
    toilets_left: usize,
}

impl Wings<'_> {
    /// One corridor for all wings, or one a wing with fire doors between them.
    fn corridors(&mut self, blocks: &[Block], divided: bool) {
        if divided {
            for block in blocks {
                self.program.room(RoomKind::Corridor, &[*block]);
            }
        } else {
            self.program.room(RoomKind::Corridor, blocks);
        }
    }

    fn end_room(&mut self, block: Block) {
        let kind = *self.random.pick(&[RoomKind::Meeting, RoomKind::OpenSpace, RoomKind::Office]);
        self.program.room(kind, &[block]);
    }

    /// Rooms side by side along x (`true`) or y. The first and last are at least so wide.
    fn strip(&mut self, block: Block, side: Side, (first, last): (i64, i64), entrance: bool) {
        let along_x = side.along_x;
        if block.width() < 1200 || block.height() < 1200 {
            return;
        }
        let (low, high) = block.extent(along_x);
        let mut cuts = vec![low];
        let mut at = low;
        let mut need = first;
        while high - at > 0 {
            let wide = self.random.chance(0.12);
            let mut width = self.random.stepped(2600, if wide { 9500 } else { 5200 }, 50).max(need);
            if cuts.len() == 2 && self.core_left > 0 {
                // The second room of the strip with the core is wide enough for it.
                width = width.max(CORE_WIDTH);
            }
            need = 0;
            if high - (at + width) < last.max(2600) {
                break;
            }
            at += width;
            cuts.push(at);
        }
        cuts.push(high);
        let count = cuts.len() - 1;
        let lobby = (entrance && count > 4).then(|| self.random.whole(1, count as i64 - 2) as usize);
        for (index, pair) in cuts.windows(2).enumerate() {
            let part = block.slice(along_x, pair[0], pair[1]);
            let corner = (index == 0 && first > 0) || (index + 1 == count && last > 0);
            let width = pair[1] - pair[0];
            let middle = index > 0 && index + 1 < count;
            if lobby == Some(index) {
                self.program.room(RoomKind::Lobby, &[part]);
            } else if middle
                && width >= CORE_WIDTH
                && self.core_left > 0
                && (index + 2 == count || self.random.chance(0.6))
            {
                self.core_left -= 1;
                self.core(part, side);
            } else if middle && width >= 3400 && self.toilets_left > 0 && self.random.chance(0.5) {
                self.toilets_left -= 1;
                self.side_by_side(part, along_x, &[RoomKind::Toilet, RoomKind::Toilet]);
            } else if width > 7600 {
                let kind = *self.random.pick(&[RoomKind::OpenSpace, RoomKind::Classroom, RoomKind::Meeting]);
                self.program.room(kind, &[part]);
            } else {
                self.ordinary(part, along_x, corner);
            }
        }
    }

    fn ordinary(&mut self, part: Block, along_x: bool, corner: bool) {
        let kinds = [
            RoomKind::Office,
            RoomKind::Office,
            RoomKind::Office,
            RoomKind::Office,
            RoomKind::Meeting,
            RoomKind::Storage,
            RoomKind::Kitchen,
        ];
        let kind = *self.random.pick(&kinds);
        let (low, high) = part.extent(along_x);
        if !corner && high - low > 5000 && self.random.chance(0.25) && along_x {
            split_diagonally(&mut self.program, part, kind, self.random);
        } else if !corner && high - low >= 4200 && self.random.chance(0.15) {
            // A small room cut out of a corner of a larger one, which becomes an L.
            self.nook(part, along_x, kind);
        } else {
            self.program.room(kind, &[part]);
        }
    }

    /// An L-shaped room around a store; both reach across the whole depth of their side.
    fn nook(&mut self, part: Block, along_x: bool, kind: RoomKind) {
        let (low, high) = part.extent(along_x);
        let (deep_low, deep_high) = part.extent(!along_x);
        let cut = self.random.stepped(low + 1700, high - 2000, 50);
        let deep = self.random.stepped(deep_low + 1600, deep_high - 1700, 50);
        let first = part.slice(along_x, low, cut);
        let rest = part.slice(along_x, cut, high);
        let (near, far) = (first.slice(!along_x, deep_low, deep), first.slice(!along_x, deep, deep_high));
        if self.random.chance(0.5) {
            self.program.room(kind, &[rest, near]);
            self.program.room(RoomKind::Storage, &[far]);
        } else {
            self.program.room(kind, &[rest, far]);
            self.program.room(RoomKind::Storage, &[near]);
        }
    }

    fn side_by_side(&mut self, part: Block, along_x: bool, kinds: &[RoomKind]) {
        let (low, high) = part.extent(along_x);
        let step = (high - low) / kinds.len() as i64 / 10 * 10;
        for (index, kind) in kinds.iter().enumerate() {
            let from = low + step * index as i64;
            let to = if index + 1 == kinds.len() { high } else { from + step };
            self.program.room(*kind, &[part.slice(along_x, from, to)]);
        }
    }

    /// Stairs, and beside them a lift at the corridor with a shaft and sometimes a store behind it.
    fn core(&mut self, part: Block, side: Side) {
        let along_x = side.along_x;
        let (low, high) = part.extent(along_x);
        let (deep_low, deep_high) = part.extent(!along_x);
        let cut = high - self.random.stepped(1700, 2000, 50);
        self.program.room(RoomKind::Stairs, &[part.slice(along_x, low, cut)]);
        let rest = part.slice(along_x, cut, high);
        let lift = self.random.stepped(1900, 2400, 50);
        let (lift, behind) = if side.access_high {
            (rest.slice(!along_x, deep_high - lift, deep_high), rest.slice(!along_x, deep_low, deep_high - lift))
        } else {
            (rest.slice(!along_x, deep_low, deep_low + lift), rest.slice(!along_x, deep_low + lift, deep_high))
        };
        self.program.room(RoomKind::Lift, &[lift]);
        self.program.room(RoomKind::Shaft, &[behind]);
    }
}
