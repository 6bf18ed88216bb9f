//! Ink that lies together: how one model space falls into several drawings.
//!
//! The ink is laid on a grid of square cells that stands along the main direction of the sheet and begins at the corner of
//! the ink; cells no further apart than the gap belong together. So the parts do not depend on the order of entities, nor on
//! where the sheet lies, nor on its scale or turn. A line that runs alone over a void joins what it leads to only if
//! something else does too: one projection line does not make an elevation part of the plan above it, the two sides of a
//! hall stay one. Lines around the whole sheet join nothing. Nothing is judged here.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;

use crate::drawing::parts::Parts;
use crate::drawing::{Point, Vec2};
use crate::format::{Interrupt, Pace};

/// No cluster.
pub(crate) const NOWHERE: u32 = u32::MAX;

/// Cells in a gap.
const CELLS: i32 = 4;
/// A cell that more than one line passes.
const SEVERAL: u32 = u32::MAX;
/// A cell without ink.
const EMPTY: u32 = u32::MAX - 1;
/// Cells of all ink; beyond it the sheet is not divided.
pub(crate) const MOST_CELLS: usize = 1 << 22;

/// A straight piece and the item it is of.
pub(crate) type Piece = (Point, Point, u32);

/// A line much longer than a gap: its number, and its ends along the main direction.
type Long = (u32, Vec2, Vec2);

/// What lies together.
#[derive(Debug, Clone)]
pub(crate) struct Cluster {
    /// Low and high corner along the main direction.
    pub low: Vec2,
    pub high: Vec2,
    /// Low and high corner in the drawing.
    pub corners: (Point, Point),
    /// Straight pieces, and their length.
    pub pieces: u64,
    pub length: f64,
    /// Lines much longer than a gap, along the main direction, with their parts over voids.
    pub long: Vec<(Vec2, Vec2)>,
}

impl Cluster {
    /// Extents along and across the main direction.
    pub(crate) fn size(&self) -> Vec2 {
        self.high - self.low
    }

    fn reach(&mut self, point: Point, place: Vec2) {
        self.low = Vec2::new(self.low.x.min(place.x), self.low.y.min(place.y));
        self.high = Vec2::new(self.high.x.max(place.x), self.high.y.max(place.y));
        let (low, high) = self.corners;
        self.corners =
            (Point::new(low.x.min(point.x), low.y.min(point.y)), Point::new(high.x.max(point.x), high.y.max(point.y)));
    }

    /// Whether a place is within the box, widened by a rim.
    pub(crate) fn holds(&self, place: Vec2, rim: f64) -> bool {
        (self.low.x - rim..=self.high.x + rim).contains(&place.x)
            && (self.low.y - rim..=self.high.y + rim).contains(&place.y)
    }
}

/// The parts of a sheet.
#[derive(Debug, Clone)]
pub(crate) struct Clusters {
    pub list: Vec<Cluster>,
    /// By item: where most of it lies; [`NOWHERE`] for frames and what runs over voids.
    pub of_item: Vec<u32>,
    axes: Axes,
    cells: Cells,
}

impl Clusters {
    /// A point along the main direction.
    pub(crate) fn place(&self, point: Point) -> Vec2 {
        self.axes.place(point)
    }

    /// A direction along the main direction.
    pub(crate) fn turned(&self, way: Vec2) -> Vec2 {
        Vec2::new(way.dot(self.axes.along), self.axes.along.cross(way))
    }

    /// The cluster whose ink passes next to a point.
    pub(crate) fn at(&self, point: Point) -> Option<u32> {
        let (x, y) = self.axes.cell(self.axes.place(point));
        let known = |dx: i32, dy: i32| self.cells.get((x + dx, y + dy));
        let sides = [(1, 0), (0, 1), (-1, 0), (0, -1), (1, 1), (-1, 1), (-1, -1), (1, -1)];
        known(0, 0).or_else(|| sides.into_iter().find_map(|(dx, dy)| known(dx, dy)))
    }
}

/// Of some clusters the one with the smallest box around a place.
pub(crate) fn smallest_around(clusters: &Clusters, among: &[usize], place: Vec2) -> Option<usize> {
    let size = |number: usize| clusters.list[number].size().x * clusters.list[number].size().y;
    among
        .iter()
        .copied()
        .filter(|number| clusters.list[*number].holds(place, 0.0))
        .min_by(|p, q| size(*p).total_cmp(&size(*q)).then(p.cmp(q)))
}

/// Column and row.
type Cell = (i32, i32);

#[derive(Debug, Clone, Copy)]
struct Axes {
    along: Vec2,
    low: Vec2,
    cell: f64,
}

impl Axes {
    fn place(&self, point: Point) -> Vec2 {
        let way = point.to_vec2();
        Vec2::new(way.dot(self.along), self.along.cross(way))
    }

    fn cell(&self, place: Vec2) -> Cell {
        let axis = |value: f64, low: f64| ((value - low) / self.cell).floor().clamp(-1e9, 1e9) as i32;
        (axis(place.x, self.low.x), axis(place.y, self.low.y))
    }

    /// How many cells a line passes.
    fn cells_between(&self, from: Vec2, to: Vec2) -> usize {
        let (start, end) = (self.cell(from), self.cell(to));
        (start.0.abs_diff(end.0) as usize).saturating_add(start.1.abs_diff(end.1) as usize) + 1
    }

    /// Calls `visit` with the cells of a line, in order.
    fn walk(&self, from: Vec2, to: Vec2, mut visit: impl FnMut(Cell)) {
        let (start, end) = (self.cell(from), self.cell(to));
        let way = to - from;
        let (mut x, mut y) = start;
        visit(start);
        let step = |delta: f64| if delta > 0.0 { 1 } else { -1 };
        // How far along the line the next border of a cell is, and from one to the next.
        let first = |value: f64, low: f64, cell: i32, delta: f64| {
            let border = low + f64::from(if delta > 0.0 { cell + 1 } else { cell }) * self.cell;
            if delta == 0.0 { f64::INFINITY } else { (border - value) / delta }
        };
        let (mut next_x, mut next_y) = (first(from.x, self.low.x, x, way.x), first(from.y, self.low.y, y, way.y));
        let (over_x, over_y) = (self.cell / way.x.abs(), self.cell / way.y.abs());
        let count = (i64::from(end.0) - i64::from(x)).abs() + (i64::from(end.1) - i64::from(y)).abs();
        for _ in 0..count {
            // Never past the last cell along one of the axes, whatever rounding says.
            if y == end.1 || (x != end.0 && next_x <= next_y) {
                x += step(way.x);
                next_x += over_x;
            } else {
                y += step(way.y);
                next_y += over_y;
            }
            visit((x, y));
        }
    }
}

/// A number for each cell with ink, in blocks of four times four: what lies side by side is kept side by side.
#[derive(Debug, Clone, Default)]
struct Cells {
    blocks: FxHashMap<Cell, u32>,
    numbers: Vec<[u32; 16]>,
    count: usize,
    /// The block that was looked at last.
    last: Option<(Cell, u32)>,
}

impl Cells {
    /// The block of a cell, and its place there.
    fn place((x, y): Cell) -> (Cell, usize) {
        ((x >> 2, y >> 2), ((x & 3) << 2 | (y & 3)) as usize)
    }

    fn get(&self, cell: Cell) -> Option<u32> {
        let (block, place) = Self::place(cell);
        let number = self.numbers[*self.blocks.get(&block)? as usize][place];
        (number != EMPTY).then_some(number)
    }

    /// The same, quicker where cells close by are asked one after the other.
    fn find(&mut self, cell: Cell) -> Option<u32> {
        let (block, place) = Self::place(cell);
        let at = match self.last {
            Some((last, at)) if last == block => at,
            _ => {
                let at = *self.blocks.get(&block)?;
                self.last = Some((block, at));
                at
            }
        };
        let number = self.numbers[at as usize][place];
        (number != EMPTY).then_some(number)
    }

    /// Sets the number of a cell by what it was.
    fn set(&mut self, cell: Cell, number: impl FnOnce(Option<u32>) -> u32) {
        let (block, place) = Self::place(cell);
        let at = match self.last {
            Some((last, at)) if last == block => at,
            _ => {
                let next = self.numbers.len() as u32;
                let at = *self.blocks.entry(block).or_insert(next);
                if at == next {
                    self.numbers.push([EMPTY; 16]);
                }
                self.last = Some((block, at));
                at
            }
        };
        let known = &mut self.numbers[at as usize][place];
        self.count += usize::from(*known == EMPTY);
        *known = number((*known != EMPTY).then_some(*known));
    }

    /// Replaces all numbers.
    fn renumber(&mut self, mut number: impl FnMut(u32) -> u32) {
        for known in self.numbers.iter_mut().flatten().filter(|known| **known != EMPTY) {
            *known = number(*known);
        }
    }

    /// All cells with ink, column by column from the bottom to the top.
    fn sorted(&self) -> Vec<Cell> {
        let mut blocks: Vec<(Cell, u32)> = self.blocks.iter().map(|(block, at)| (*block, *at)).collect();
        blocks.sort_unstable();
        let mut cells = Vec::with_capacity(self.count);
        for column in blocks.chunk_by(|p, q| p.0.0 == q.0.0) {
            for x in 0..4 {
                for ((left, low), at) in column {
                    let numbers = &self.numbers[*at as usize][4 * x..4 * x + 4];
                    let inked = (0..).zip(numbers).filter(|(_, number)| **number != EMPTY);
                    cells.extend(inked.map(|(y, _)| (4 * left + x as i32, 4 * low + y)));
                }
            }
        }
        cells
    }
}

/// Ink as it lies, whatever the gap that divides it. `P` walks over its pieces, the pieces of an item one after the other.
pub(crate) struct Ink<P> {
    pieces: P,
    count: usize,
    along: Vec2,
    low: Vec2,
    high: Vec2,
    /// Pieces of a frame around the sheet, ascending.
    frame: Vec<u32>,
}

impl<P: Iterator<Item = Piece> + Clone> Ink<P> {
    pub(crate) fn of(pieces: P, pace: &Pace<'_>) -> Result<Self, Interrupt> {
        let along = main_direction(pieces.clone(), pace)?;
        let axes = Axes { along, low: Vec2::ZERO, cell: 1.0 };
        let (mut low, mut high) =
            (Vec2::new(f64::INFINITY, f64::INFINITY), Vec2::new(f64::NEG_INFINITY, f64::NEG_INFINITY));
        let mut count = 0u32;
        // Lines that may be as long as a side of all ink.
        let mut long: Vec<Long> = Vec::new();
        for (a, b, _) in pieces.clone() {
            pace.step()?;
            let (from, to) = (axes.place(a), axes.place(b));
            for place in [from, to] {
                low = Vec2::new(low.x.min(place.x), low.y.min(place.y));
                high = Vec2::new(high.x.max(place.x), high.y.max(place.y));
            }
            if side(from, to, low, high).is_some() {
                long.push((count, from, to));
            }
            count += 1;
        }
        // The ink may have grown since.
        long.retain(|(_, from, to)| side(*from, *to, low, high).is_some());
        Ok(Self { pieces, count: count as usize, along, low, high, frame: frame(&long, low, high) })
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.count == 0
    }

    pub(crate) fn pieces(&self) -> P {
        self.pieces.clone()
    }

    /// Numbers and pieces of all that is not the frame.
    fn inner(&self) -> impl Iterator<Item = (u32, Piece)> {
        (0..).zip(self.pieces()).filter(|(number, _)| self.frame.binary_search(number).is_err())
    }

    /// Divides it where gaps are wider than `gap` metres of the drawing; `None` if there is none, or too much of it.
    pub(crate) fn split(&self, num_items: usize, gap: f64, pace: &Pace<'_>) -> Result<Option<Clusters>, Interrupt> {
        pace.steps(2 * self.count)?;
        let (low, high) = (self.low, self.high);
        let axes = Axes { along: self.along, low, cell: gap / f64::from(CELLS) };
        let usable =
            low.x <= high.x && axes.cell > 0.0 && axes.cell.is_finite() && (high - low).hypot() / axes.cell < 1e8;
        if !usable {
            return Ok(None);
        }
        // Who passes a cell: one long line, or several lines.
        let mut cells = Cells::default();
        let mut long: Vec<Long> = Vec::new();
        // What is short often lies in one cell, and so does the next.
        let mut last = None;
        for (number, (a, b, _)) in self.inner() {
            let (from, to) = (axes.place(a), axes.place(b));
            let is_short = from_axis_to_axis(a, b) <= 4.0 * gap || a.distance(b) <= 4.0 * gap;
            let owner = if is_short { SEVERAL } else { number };
            if !is_short {
                long.push((number, from, to));
            }
            let steps = axes.cells_between(from, to);
            let only = (is_short && steps == 1).then(|| axes.cell(from));
            if only.is_some() && only == last {
                pace.step()?;
                continue;
            }
            last = only;
            pace.steps(steps)?;
            if steps > MOST_CELLS {
                return Ok(None);
            }
            axes.walk(from, to, |cell| {
                cells.set(cell, |known| if known.is_none_or(|known| known == owner) { owner } else { SEVERAL });
            });
            if cells.count > MOST_CELLS {
                return Ok(None);
            }
        }
        let voids = voids(&long, &axes, &mut cells, gap, pace)?;
        drop(long);
        for cell in voids.cells {
            cells.set(cell, |_| EMPTY);
        }
        let sorted = cells.sorted();
        for (number, cell) in (0..).zip(&sorted) {
            cells.set(*cell, |_| number);
        }
        let mut parts = Parts::new(sorted.len());
        join_near(&sorted, &mut parts, pace)?;
        drop(sorted);
        // Runs over voids join where they are not the only way.
        let mut ways: Vec<(u32, u32)> = voids
            .runs
            .iter()
            .filter_map(|(before, after)| Some((cells.find(*before)?, cells.find(*after)?)))
            .map(|(before, after)| (parts.of(before), parts.of(after)))
            .map(|(p, q)| (p.min(q), p.max(q)))
            .filter(|(p, q)| p != q)
            .collect();
        ways.sort_unstable();
        for (way, single) in ways.iter().zip(single_ways(&ways)) {
            if !single {
                parts.join(way.0, way.1);
            }
        }
        cells.renumber(|number| parts.of(number));
        Ok(Some(gather(self, num_items, axes, cells, pace)?))
    }
}

/// By how many columns cells lie apart, how many rows they may at most, so that the gap between them is none.
const NEAR: [i32; 5] = [4, 3, 3, 2, 0];

/// Joins cells within a gap of each other; they are sorted, and their place is their number.
fn join_near(cells: &[Cell], parts: &mut Parts, pace: &Pace<'_>) -> Result<(), Interrupt> {
    let mut columns: Vec<(usize, &[Cell])> = Vec::new();
    let mut first = 0;
    for column in cells.chunk_by(|p, q| p.0 == q.0) {
        columns.push((first, column));
        first += column.len();
    }
    for (number, (first, column)) in columns.iter().enumerate() {
        pace.steps(column.len())?;
        for (place, pair) in column.windows(2).enumerate() {
            if pair[1].1 - pair[0].1 <= NEAR[0] {
                parts.join((first + place) as u32, (first + place + 1) as u32);
            }
        }
        let x = column[0].0;
        for (other_first, other) in columns[number + 1..].iter().take(NEAR.len() - 1) {
            let Some(&rows) = usize::try_from(other[0].0 - x).ok().and_then(|apart| NEAR.get(apart)) else { break };
            pace.steps(column.len() + other.len())?;
            let (mut from, mut to) = (0, 0);
            for (place, (_, y)) in column.iter().enumerate() {
                while other.get(from).is_some_and(|cell| cell.1 < y - rows) {
                    from += 1;
                }
                while other.get(to).is_some_and(|cell| cell.1 <= y + rows) {
                    to += 1;
                }
                // What lies between the first and the last is joined to one of them in its own column.
                if from < to {
                    parts.join((first + place) as u32, (other_first + from) as u32);
                    parts.join((first + place) as u32, (other_first + to - 1) as u32);
                }
            }
        }
    }
    Ok(())
}

/// Where long lines run with nothing beside them.
#[derive(Default)]
struct Voids {
    cells: Vec<Cell>,
    /// The cells before and after each such run.
    runs: Vec<(Cell, Cell)>,
}

fn voids(long: &[Long], axes: &Axes, owners: &mut Cells, gap: f64, pace: &Pace<'_>) -> Result<Voids, Interrupt> {
    let mut voids = Voids::default();
    let mut cells: Vec<Cell> = Vec::new();
    for &(number, from, to) in long {
        cells.clear();
        axes.walk(from, to, |cell| cells.push(cell));
        pace.steps(25 * cells.len())?;
        let mut is_own = |x, y| owners.find((x, y)).is_none_or(|owner| owner == number);
        let alone: Vec<bool> = cells
            .iter()
            .map(|&(x, y)| is_own(x, y) && (-2..=2).all(|dx| (-2..=2).all(|dy| is_own(x + dx, y + dy))))
            .collect();
        let mut first = 0;
        for run in alone.chunk_by(|p, q| p == q) {
            let next = first + run.len();
            if run[0] && run.len() as f64 * axes.cell >= 2.0 * gap {
                voids.cells.extend_from_slice(&cells[first..next]);
                if let (Some(before), Some(after)) =
                    (first.checked_sub(1).and_then(|at| cells.get(at)), cells.get(next))
                {
                    voids.runs.push((*before, *after));
                }
            }
            first = next;
        }
    }
    Ok(voids)
}

/// By way (a pair of parts, sorted): whether its ends hang together by nothing else.
fn single_ways(ways: &[(u32, u32)]) -> Vec<bool> {
    let mut nodes: Vec<u32> = ways.iter().flat_map(|(p, q)| [*p, *q]).collect();
    nodes.sort_unstable();
    nodes.dedup();
    let place = |node: u32| nodes.binary_search(&node).unwrap_or(0);
    let mut around: Vec<Vec<(usize, usize)>> = vec![Vec::new(); nodes.len()];
    for (way, (p, q)) in ways.iter().enumerate() {
        let (p, q) = (place(*p), place(*q));
        around[p].push((way, q));
        around[q].push((way, p));
    }
    // Tarjan's bridges, without recursion: the earliest node that is reached from below by another way.
    let mut single = vec![false; ways.len()];
    let mut order = vec![usize::MAX; nodes.len()];
    let mut earliest = vec![usize::MAX; nodes.len()];
    let mut count = 0;
    for root in 0..nodes.len() {
        if order[root] != usize::MAX {
            continue;
        }
        // Node, the way it was come by, the next of its ways.
        let mut path = vec![(root, usize::MAX, 0usize)];
        (order[root], earliest[root], count) = (count, count, count + 1);
        while let Some((node, by, next)) = path.last_mut() {
            let (node, by) = (*node, *by);
            if let Some(&(way, other)) = around[node].get(*next) {
                *next += 1;
                if way == by {
                    continue;
                }
                if order[other] == usize::MAX {
                    (order[other], earliest[other], count) = (count, count, count + 1);
                    path.push((other, way, 0));
                } else {
                    earliest[node] = earliest[node].min(order[other]);
                }
                continue;
            }
            path.pop();
            if let Some((above, ..)) = path.last() {
                earliest[*above] = earliest[*above].min(earliest[node]);
                single[by] = earliest[node] > order[*above];
            }
        }
    }
    single
}

/// Numbers the parts and gathers what they hold. `cells` have the names of their parts.
fn gather<P: Iterator<Item = Piece> + Clone>(
    ink: &Ink<P>,
    num_items: usize,
    axes: Axes,
    mut cells: Cells,
    pace: &Pace<'_>,
) -> Result<Clusters, Interrupt> {
    let empty = || Cluster {
        low: Vec2::new(f64::INFINITY, f64::INFINITY),
        high: Vec2::new(f64::NEG_INFINITY, f64::NEG_INFINITY),
        corners: (Point::new(f64::INFINITY, f64::INFINITY), Point::new(f64::NEG_INFINITY, f64::NEG_INFINITY)),
        pieces: 0,
        length: 0.0,
        long: Vec::new(),
    };
    // By part: its place in the list.
    let mut places: FxHashMap<u32, usize> = FxHashMap::default();
    let mut found: Vec<(u32, Cluster)> = Vec::new();
    let mut last = (EMPTY, 0);
    let mut place_of = |part: u32, found: &mut Vec<(u32, Cluster)>| {
        if last.0 != part {
            let place = *places.entry(part).or_insert(found.len());
            if place == found.len() {
                found.push((part, empty()));
            }
            last = (part, place);
        }
        last.1
    };
    // Item, part, length; the parts of an item one after the other.
    let mut shares: Vec<(u32, u32, f64)> = Vec::new();
    let mut first_share = 0;
    let mut share = |item: u32, part: u32, length: f64| {
        if shares.last().is_none_or(|(last, ..)| *last != item) {
            first_share = shares.len();
        }
        match shares[first_share..].iter_mut().find(|(_, known, _)| *known == part) {
            Some((.., sum)) => *sum += length,
            None => shares.push((item, part, length)),
        }
    };
    for (_, (a, b, item)) in ink.inner() {
        pace.step()?;
        let (from, to) = (axes.place(a), axes.place(b));
        let length = a.distance(b);
        if length <= 4.0 * f64::from(CELLS) * axes.cell {
            let Some(part) = cells.find(axes.cell(from)) else { continue };
            let place = place_of(part, &mut found);
            let cluster = &mut found[place].1;
            cluster.reach(a, from);
            cluster.reach(b, to);
            cluster.pieces += 1;
            cluster.length += length;
            share(item, part, length);
            continue;
        }
        // A long line is where its cells are; what of it runs over a void is nowhere.
        let mut passed: BTreeMap<u32, u32> = BTreeMap::new();
        let mut walked = 0u32;
        axes.walk(from, to, |cell| {
            walked += 1;
            if let Some(part) = cells.find(cell) {
                *passed.entry(part).or_default() += 1;
            }
        });
        pace.steps(walked as usize)?;
        for (part, count) in passed {
            let place = place_of(part, &mut found);
            let cluster = &mut found[place].1;
            for (end, place) in [(a, from), (b, to)] {
                if cells.find(axes.cell(place)) == Some(part) {
                    cluster.reach(end, place);
                }
            }
            let part_length = length * f64::from(count) / f64::from(walked.max(1));
            cluster.pieces += 1;
            cluster.length += part_length;
            cluster.long.push((from, to));
            share(item, part, part_length);
        }
    }
    found.retain(|(_, cluster)| cluster.low.x <= cluster.high.x);
    // From the top to the bottom, from the left to the right.
    found.sort_by(|p, q| {
        let (one, other) = (&p.1.corners, &q.1.corners);
        let places = other.1.y.total_cmp(&one.1.y).then(one.0.x.total_cmp(&other.0.x));
        places.then(one.0.y.total_cmp(&other.0.y)).then(p.0.cmp(&q.0))
    });
    let rank: FxHashMap<u32, u32> = found.iter().map(|(part, _)| *part).zip(0..).collect();
    let mut of_item = vec![NOWHERE; num_items];
    for parts in shares.chunk_by(|p, q| p.0 == q.0) {
        let mut most = (-1.0, NOWHERE);
        for (_, part, length) in parts {
            let part = rank.get(part).copied().unwrap_or(NOWHERE);
            if *length > most.0 || (*length == most.0 && part < most.1) {
                most = (*length, part);
            }
        }
        of_item[parts[0].0 as usize] = most.1;
    }
    let list = found.into_iter().map(|(_, cluster)| cluster).collect();
    let mut last = (EMPTY, EMPTY);
    cells.renumber(|part| {
        if part != last.0 {
            last = (part, rank.get(&part).copied().unwrap_or(EMPTY));
        }
        last.1
    });
    Ok(Clusters { list, of_item, axes, cells })
}

/// The side of all ink that a line is nearly as long as and runs along: 0 upright, 1 level.
fn side(from: Vec2, to: Vec2, low: Vec2, high: Vec2) -> Option<usize> {
    let (way, size) = (to - from, high - low);
    let upright = way.x.abs() < 0.002 * way.y.abs() && way.y.abs() >= 0.8 * size.y;
    let level = way.y.abs() < 0.002 * way.x.abs() && way.x.abs() >= 0.8 * size.x;
    match (upright, level) {
        (true, _) => Some(0),
        (_, true) => Some(1),
        _ => None,
    }
}

/// Which lines are a frame around the sheet: such along all four sides of the ink, each nearly as long as its side.
fn frame(long: &[Long], low: Vec2, high: Vec2) -> Vec<u32> {
    let mut sides = [false; 4];
    let mut along = Vec::new();
    for &(number, from, to) in long {
        let Some(upright) = side(from, to, low, high) else { continue };
        let middle = 0.5 * (from + to) - low;
        let (at, size) = if upright == 0 { (middle.x, high.x - low.x) } else { (middle.y, high.y - low.y) };
        let first = 2 * upright;
        // Left, right, bottom, top.
        let place = if at <= 0.06 * size {
            first
        } else if at >= 0.94 * size {
            first + 1
        } else {
            continue;
        };
        sides[place] = true;
        along.push(number);
    }
    if sides == [true; 4] { along } else { Vec::new() }
}

/// The right angle along which most length runs, as a direction within 45° of the x axis.
fn main_direction(pieces: impl Iterator<Item = Piece>, pace: &Pace<'_>) -> Result<Vec2, Interrupt> {
    const CLASSES: usize = 90;
    let turned = |degrees: f64, class: usize| (degrees - class as f64 + 45.0).rem_euclid(90.0) - 45.0;
    // By class: length, and for what is within half a degree of it the turn from it, weighted, and the weight.
    let mut classes = [(0.0f64, 0.0f64, 0.0f64); CLASSES];
    for (a, b, _) in pieces {
        pace.step()?;
        let degrees = (b - a).angle().to_degrees().rem_euclid(90.0);
        let length = a.distance(b);
        let class = ((degrees + 0.5).rem_euclid(90.0) as usize).min(CLASSES - 1);
        classes[class].0 += length;
        let off = turned(degrees, class);
        // What lies just between two classes is near both.
        let others = [(class + CLASSES - 1) % CLASSES, (class + 1) % CLASSES];
        for near in std::iter::once(class).chain(others.into_iter().filter(|_| off.abs() > 0.499)) {
            let off = turned(degrees, near);
            if off.abs() <= 0.5 {
                classes[near].1 += off * length;
                classes[near].2 += length;
            }
        }
    }
    let most = (0..CLASSES).max_by(|p, q| classes[*p].0.total_cmp(&classes[*q].0).then(q.cmp(p))).unwrap_or(0);
    // Within the class the length decides exactly, and what lies in it to a hair is right as it is.
    let (_, sum, weight) = classes[most];
    let off = if weight > 0.0 { sum / weight } else { 0.0 };
    let degrees = (most as f64 + off + 45.0).rem_euclid(90.0) - 45.0;
    Ok(Vec2::from_angle(degrees.to_radians()))
}

/// Length of the way from one point to another along the axes: at least as long as the straight way.
fn from_axis_to_axis(a: Point, b: Point) -> f64 {
    (b.x - a.x).abs() + (b.y - a.y).abs()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Closed rectangles as pieces, one item each.
    fn boxes(list: &[[f64; 4]]) -> Vec<Piece> {
        let mut pieces = Vec::new();
        for (item, [x0, y0, x1, y1]) in (0..).zip(list) {
            let corners = [(*x0, *y0), (*x1, *y0), (*x1, *y1), (*x0, *y1)].map(|(x, y)| Point::new(x, y));
            pieces.extend((0..4).map(|side| (corners[side], corners[(side + 1) % 4], item)));
        }
        pieces
    }

    fn split(pieces: &[Piece], items: usize, gap: f64) -> Clusters {
        let ink = Ink::of(pieces.iter().copied(), &Pace::free()).unwrap();
        ink.split(items, gap, &Pace::free()).unwrap().unwrap()
    }

    fn parts(pieces: &[Piece]) -> Clusters {
        let items = pieces.iter().map(|piece| piece.2 as usize + 1).max().unwrap_or(0);
        split(pieces, items, 1.5)
    }

    /// A house of two rooms with its corner at a place.
    fn house(x: f64, y: f64) -> Vec<[f64; 4]> {
        vec![[x, y, x + 8.0, y + 5.0], [x + 0.2, y + 0.2, x + 4.0, y + 4.8], [x + 4.2, y + 0.2, x + 7.8, y + 4.8]]
    }

    #[test]
    fn parts_do_not_depend_on_order_place_scale_or_turn() {
        let mut list = house(0.0, 0.0);
        list.extend(house(12.0, 1.0));
        list.extend(house(1.0, -9.0));
        let pieces = boxes(&list);
        let of_item = parts(&pieces).of_item;
        assert_eq!(of_item, [1, 1, 1, 0, 0, 0, 2, 2, 2]);
        let mut reversed = pieces.clone();
        reversed.reverse();
        assert_eq!(parts(&reversed).of_item, of_item);
        let (turn, factor) = (Vec2::from_angle(0.3), 25.4);
        let moved = |p: Point| {
            Point::new(p.x * turn.x - p.y * turn.y, p.x * turn.y + p.y * turn.x).to_vec2() * factor
                + Vec2::new(5e4, -3e5)
        };
        let turned: Vec<Piece> =
            pieces.iter().map(|(a, b, item)| (moved(*a).to_point(), moved(*b).to_point(), *item)).collect();
        let found = split(&turned, 9, 1.5 * factor);
        assert_eq!(found.list.len(), 3);
        for (p, q) in [(0, 1), (0, 2), (3, 4), (3, 5), (6, 7), (6, 8)] {
            assert_eq!(found.of_item[p], found.of_item[q]);
        }
    }

    #[test]
    fn one_line_over_a_void_joins_nothing_and_two_do() {
        let mut pieces = boxes(&[house(0.0, 0.0), house(0.0, -20.0)].concat());
        pieces.push((Point::new(0.0, 30.0), Point::new(0.0, -20.0), 6));
        assert_eq!(parts(&pieces).list.len(), 2);
        pieces.push((Point::new(8.0, 30.0), Point::new(8.0, -20.0), 7));
        assert_eq!(parts(&pieces).list.len(), 1);
        // A hall of single lines with things in its corners is one.
        let corners = [[0.0, 0.0], [29.0, 0.0], [0.0, 19.0], [29.0, 19.0]].map(|[x, y]| [x, y, x + 1.0, y + 1.0]);
        let hall = boxes(&[vec![[0.0, 0.0, 30.0, 20.0]], corners.to_vec(), house(60.0, 5.0)].concat());
        let found = parts(&hall);
        assert_eq!((found.list.len(), &found.of_item[1..5]), (2, &[0, 0, 0, 0][..]));
    }

    #[test]
    fn a_frame_around_the_sheet_joins_nothing() {
        let frame = [[-1.0, -1.0, 30.0, 6.0], [-0.8, -0.8, 29.8, 5.8]];
        let list = [frame.to_vec(), house(0.0, 0.0), house(20.0, 0.0)].concat();
        let found = parts(&boxes(&list));
        assert_eq!(found.of_item, [NOWHERE, NOWHERE, 0, 0, 0, 1, 1, 1]);
    }

    #[test]
    fn cells_near_each_other_are_joined_as_each_with_each() {
        let mut state = 1u32;
        let mut number = |below: u32| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            ((state >> 16) % below) as i32
        };
        for count in [40, 120, 400] {
            let mut cells: Vec<Cell> = (0..count).map(|_| (number(60) - 20, number(60) - 30)).collect();
            cells.sort_unstable();
            cells.dedup();
            let (mut quick, mut plain) = (Parts::new(cells.len()), Parts::new(cells.len()));
            join_near(&cells, &mut quick, &Pace::free()).unwrap();
            for (one, p) in (0..).zip(&cells) {
                for (other, q) in (0..).zip(&cells) {
                    let (columns, rows) = (p.0.abs_diff(q.0) as usize, p.1.abs_diff(q.1) as i32);
                    if NEAR.get(columns).is_some_and(|most| rows <= *most) {
                        plain.join(one, other);
                    }
                }
            }
            for number in 0..cells.len() as u32 {
                assert_eq!(quick.of(number), plain.of(number));
            }
        }
    }
}
