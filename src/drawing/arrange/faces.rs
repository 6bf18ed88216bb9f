//! Faces of noded edges: winding numbers, and the boundaries of what is kept.

use super::super::nest::{Effort, GridAreas, GridPoint};
use super::super::way::signed_area;
use super::{Coarsening, Edge, Windings, cross};
use crate::format::Interrupt;

/// The cycle of a half-edge that no cycle was found for yet, the place of a vertex that is not on the path.
const NONE: u32 = u32::MAX;

/// Half-edge 2·i runs from `a` to `b` of edge i, half-edge 2·i + 1 back.
pub(super) struct Graph {
    points: Vec<GridPoint>,
    /// Vertex that a half-edge starts at.
    origin: Vec<u32>,
    /// The half-edge that follows on the boundary of the face to the left.
    next: Vec<u32>,
}

/// Faces as cycles of half-edges.
pub(super) struct Faces {
    /// Cycle that a half-edge is on.
    cycle: Vec<u32>,
    /// Winding numbers left of each cycle.
    windings: Vec<Windings>,
    /// Cycles of one face, as a forest.
    parents: Vec<u32>,
}

impl Graph {
    pub(super) fn new(edges: &[Edge], effort: &Effort<'_>) -> Result<Self, Interrupt> {
        effort.steps(8 * edges.len())?;
        let mut points: Vec<GridPoint> = edges.iter().flat_map(|edge| [edge.a, edge.b]).collect();
        points.sort_unstable();
        points.dedup();
        let vertex = |point: &GridPoint| points.binary_search(point).unwrap_or(0) as u32;
        let origin: Vec<u32> = edges.iter().flat_map(|edge| [vertex(&edge.a), vertex(&edge.b)]).collect();
        let mut around: Vec<u32> = (0..origin.len() as u32).collect();
        let direction = |half: u32| {
            let (from, to) = (origin[half as usize], origin[(half ^ 1) as usize]);
            let (a, b) = (points[from as usize], points[to as usize]);
            (b.x - a.x, b.y - a.y)
        };
        around.sort_unstable_by(|one, other| {
            origin[*one as usize]
                .cmp(&origin[*other as usize])
                .then_with(|| compare_angles(direction(*one), direction(*other)))
        });
        // Coming in on h, the face on the left goes on with the half-edge clockwise of the way back.
        let mut next = vec![0; origin.len()];
        let mut rest = &around[..];
        while let Some(first) = rest.first() {
            let vertex = origin[*first as usize];
            let len = rest.iter().take_while(|half| origin[**half as usize] == vertex).count();
            let (star, others) = rest.split_at(len);
            rest = others;
            for (place, &half) in star.iter().enumerate() {
                let clockwise = star[if place == 0 { len - 1 } else { place - 1 }];
                next[(half ^ 1) as usize] = clockwise;
            }
        }
        Ok(Self { points, origin, next })
    }

    fn point(&self, half: u32) -> GridPoint {
        self.points[self.origin[half as usize] as usize]
    }

    /// Finds the faces and their winding numbers.
    pub(super) fn label(&self, edges: &[Edge], effort: &Effort<'_>) -> Result<Faces, Interrupt> {
        let halves = self.next.len();
        let mut cycle = vec![NONE; halves];
        // By cycle: a half-edge on it, twice its area, its leftmost point.
        let mut cycles: Vec<(u32, i128, GridPoint)> = Vec::new();
        for start in 0..halves as u32 {
            if cycle[start as usize] != NONE {
                continue;
            }
            let number = cycles.len() as u32;
            let (origin, mut area, mut half) = (self.point(start), 0i128, start);
            let mut lowest = origin;
            loop {
                effort.step()?;
                cycle[half as usize] = number;
                lowest = lowest.min(self.point(half));
                area += cross(origin, self.point(half), self.point(half ^ 1));
                half = self.next[half as usize];
                if half == start {
                    break;
                }
            }
            cycles.push((start, area, lowest));
        }
        let count = cycles.len();
        let mut faces = Faces { cycle, windings: vec![[0, 0]; count], parents: (0..count as u32).collect() };

        // Components, from the leftmost vertex on: what may lie around one is labelled before it.
        let mut outer: Vec<(GridPoint, u32)> = (0..)
            .zip(&cycles)
            .filter(|(_, (_, area, _))| *area <= 0)
            .map(|(number, (.., lowest))| (*lowest, number))
            .collect();
        outer.sort_unstable();
        let mut beside: Option<Beside> = None;
        let mut first = true;
        let mut labelled = vec![false; count];
        let mut queue = Vec::new();
        for (lowest, number) in outer {
            if labelled[number as usize] {
                continue;
            }
            // Nothing lies around the first.
            if !std::mem::take(&mut first) {
                let beside = match &beside {
                    Some(beside) => beside,
                    None => beside.insert(Beside::new(edges, effort)?),
                };
                if let Some(face) = self.around(lowest, edges, beside, &faces, &labelled, effort)? {
                    faces.windings[number as usize] = faces.windings[face as usize];
                    faces.join(number, face);
                }
            }
            labelled[number as usize] = true;
            queue.push(number);
            while let Some(inside) = queue.pop() {
                let (start, ..) = cycles[inside as usize];
                let mut half = start;
                loop {
                    effort.step()?;
                    let across = faces.cycle[(half ^ 1) as usize];
                    if !labelled[across as usize] {
                        let winding = edges[half as usize / 2].winding;
                        let sign = if half % 2 == 0 { 1 } else { -1 };
                        let here = faces.windings[inside as usize];
                        faces.windings[across as usize] = [here[0] - sign * winding[0], here[1] - sign * winding[1]];
                        labelled[across as usize] = true;
                        queue.push(across);
                    }
                    half = self.next[half as usize];
                    if half == start {
                        break;
                    }
                }
            }
        }
        Ok(faces)
    }

    /// A cycle of the face just left of `point`, the leftmost vertex of its component; `None` for the outside.
    fn around(
        &self,
        point: GridPoint,
        edges: &[Edge],
        beside: &Beside,
        faces: &Faces,
        labelled: &[bool],
        effort: &Effort<'_>,
    ) -> Result<Option<u32>, Interrupt> {
        let mut nearest: Option<(GridPoint, GridPoint, u32)> = None;
        let near = beside.at(point.y);
        effort.steps(near.len() + 1)?;
        for &index in near {
            let edge = &edges[index as usize];
            // Edges are ordered, so `a` is not right of `b`.
            if edge.a.x >= point.x || !labelled[faces.cycle[2 * index as usize] as usize] {
                continue;
            }
            let upward = edge.a.y < edge.b.y;
            let (low, high) = if upward { (edge.a, edge.b) } else { (edge.b, edge.a) };
            if low.y > point.y || high.y <= point.y || cross(low, high, point) >= 0 {
                continue;
            }
            let nearer = nearest.is_none_or(|(l, h, _)| is_right_of(low, high, l, h, point.y));
            if nearer {
                // To the right of the upward way is to the left of the downward one.
                let downward = 2 * index + u32::from(upward);
                nearest = Some((low, high, faces.cycle[downward as usize]));
            }
        }
        Ok(nearest.map(|(.., cycle)| cycle))
    }

    /// Writes the regions that `keep` accepts.
    pub(super) fn trace(
        &self,
        faces: &Faces,
        keep: impl Fn(Windings) -> bool,
        frame: &Coarsening,
        effort: &Effort<'_>,
        out: &mut GridAreas,
    ) -> Result<(), Interrupt> {
        let halves = self.next.len();
        let kept: Vec<bool> = faces.windings.iter().map(|windings| keep(*windings)).collect();
        let inside = |half: u32| kept[faces.cycle[half as usize] as usize];
        let bounds = |half: u32| inside(half) && !inside(half ^ 1);
        let mut regions = Faces { cycle: Vec::new(), windings: Vec::new(), parents: faces.parents.clone() };
        for half in (0..halves as u32).step_by(2) {
            if inside(half) && inside(half ^ 1) {
                regions.join(faces.cycle[half as usize], faces.cycle[(half ^ 1) as usize]);
            }
        }
        let mut seen = vec![false; halves];
        let mut place = vec![NONE; self.points.len()];
        let mut path: Vec<u32> = Vec::new();
        // Rings: region, whether it is a hole, its points.
        let mut rings: Vec<(u32, bool, Vec<GridPoint>)> = Vec::new();
        for start in 0..halves as u32 {
            if seen[start as usize] || !bounds(start) {
                continue;
            }
            let region = regions.find(faces.cycle[start as usize]);
            let mut half = start;
            while !seen[half as usize] {
                effort.step()?;
                seen[half as usize] = true;
                let vertex = self.origin[half as usize] as usize;
                if place[vertex] != NONE {
                    self.cut(place[vertex] as usize, &mut path, &mut place, region, frame, &mut rings);
                }
                place[vertex] = path.len() as u32;
                path.push(vertex as u32);
                half = self.next[half as usize];
                while !bounds(half) {
                    effort.step()?;
                    half = self.next[(half ^ 1) as usize];
                }
            }
            self.cut(0, &mut path, &mut place, region, frame, &mut rings);
        }
        // Shells by place, holes behind the shell of their region.
        rings.retain(|(.., ring)| ring.len() > 2);
        let mut shells: Vec<usize> = (0..rings.len()).filter(|index| !rings[*index].1).collect();
        shells.sort_by_cached_key(|index| rings[*index].2.iter().min().copied());
        let mut holes: Vec<usize> = (0..rings.len()).filter(|index| rings[*index].1).collect();
        holes.sort_by_cached_key(|index| (rings[*index].0, rings[*index].2.iter().min().copied()));
        let mut spent = vec![false; regions.parents.len()];
        for shell in shells {
            let (region, _, ring) = &rings[shell];
            out.push_ring(ring, false);
            if !std::mem::replace(&mut spent[*region as usize], true) {
                let first = holes.partition_point(|hole| rings[*hole].0 < *region);
                for hole in holes[first..].iter().take_while(|hole| rings[**hole].0 == *region) {
                    out.push_ring(&rings[*hole].2, false);
                }
            }
            out.end_polygon();
        }
        Ok(())
    }

    /// Takes the path from `from` on as a ring of its own.
    fn cut(
        &self,
        from: usize,
        path: &mut Vec<u32>,
        place: &mut [u32],
        region: u32,
        frame: &Coarsening,
        rings: &mut Vec<(u32, bool, Vec<GridPoint>)>,
    ) {
        let ring: Vec<GridPoint> = path
            .drain(from..)
            .map(|vertex| {
                place[vertex as usize] = NONE;
                frame.restore(self.points[vertex as usize])
            })
            .collect();
        if !ring.is_empty() {
            let hole = signed_area(&ring) < 0;
            rings.push((region, hole, ring));
        }
    }
}

impl Faces {
    fn find(&mut self, mut cycle: u32) -> u32 {
        while self.parents[cycle as usize] != cycle {
            let above = self.parents[self.parents[cycle as usize] as usize];
            self.parents[cycle as usize] = above;
            cycle = above;
        }
        cycle
    }

    fn join(&mut self, one: u32, other: u32) {
        let (one, other) = (self.find(one), self.find(other));
        self.parents[one.max(other) as usize] = one.min(other);
    }
}

/// Edges by the heights they reach over, for looks to the left.
struct Beside {
    from: i64,
    size: f64,
    starts: Vec<u32>,
    members: Vec<u32>,
}

impl Beside {
    fn new(edges: &[Edge], effort: &Effort<'_>) -> Result<Self, Interrupt> {
        effort.steps(4 * edges.len())?;
        let heights = |edge: &Edge| (edge.a.y.min(edge.b.y), edge.a.y.max(edge.b.y));
        let (mut low, mut high, mut sum) = (i64::MAX, i64::MIN, 0.0);
        for (from, to) in edges.iter().map(heights) {
            (low, high) = (low.min(from), high.max(to));
            sum += (to - from) as f64;
        }
        let size = high.saturating_sub(low) as f64 + 1.0;
        // About four entries for each edge.
        let strips = ((4.0 * edges.len() as f64 / (sum / size).max(1.0)) as usize).clamp(1, edges.len().max(1));
        let mut beside = Self { from: low, size, starts: vec![0; strips + 1], members: Vec::new() };
        for (from, to) in edges.iter().map(heights) {
            for strip in beside.strip(from)..=beside.strip(to) {
                beside.starts[strip + 1] += 1;
            }
        }
        for strip in 0..strips {
            beside.starts[strip + 1] += beside.starts[strip];
        }
        let mut filled = beside.starts.clone();
        let mut members = vec![0; beside.starts.last().copied().unwrap_or(0) as usize];
        for (index, (from, to)) in (0..).zip(edges.iter().map(heights)) {
            for strip in beside.strip(from)..=beside.strip(to) {
                members[filled[strip] as usize] = index;
                filled[strip] += 1;
            }
        }
        beside.members = members;
        Ok(beside)
    }

    fn strip(&self, y: i64) -> usize {
        let strips = self.starts.len() - 1;
        (((y - self.from) as f64 / self.size * strips as f64) as usize).min(strips - 1)
    }

    /// Edges that may reach over the height `y`, and others.
    fn at(&self, y: i64) -> &[u32] {
        let strip = self.strip(y);
        &self.members[self.starts[strip] as usize..self.starts[strip + 1] as usize]
    }
}

/// Whether the first edge crosses the height `y` further right than the second, or leaves it further right.
fn is_right_of(low: GridPoint, high: GridPoint, than_low: GridPoint, than_high: GridPoint, y: i64) -> bool {
    // x = low.x + (y − low.y)·dx / dy on both, multiplied out.
    let terms = |low: GridPoint, high: GridPoint| {
        let (dx, dy) = (i128::from(high.x - low.x), i128::from(high.y - low.y));
        (i128::from(low.x) * dy + i128::from(y - low.y) * dx, dx, dy)
    };
    let ((x, dx, dy), (than_x, than_dx, than_dy)) = (terms(low, high), terms(than_low, than_high));
    let (here, there) = (x * than_dy, than_x * dy);
    here > there || (here == there && dx * than_dy > than_dx * dy)
}

/// Counter-clockwise from the direction of the x axis.
fn compare_angles(one: (i64, i64), other: (i64, i64)) -> std::cmp::Ordering {
    let lower = |(x, y): (i64, i64)| y < 0 || (y == 0 && x < 0);
    lower(one).cmp(&lower(other)).then_with(|| {
        let turn = i128::from(one.0) * i128::from(other.1) - i128::from(one.1) * i128::from(other.0);
        0.cmp(&turn)
    })
}
