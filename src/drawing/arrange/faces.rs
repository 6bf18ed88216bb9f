//! Faces of noded edges: winding numbers, and the boundaries of what is kept.

use std::cmp::Ordering;
use std::collections::BTreeSet;

use super::super::nest::{Effort, GridAreas, GridPoint};
use super::super::parts::Parts;
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
    /// Cycles of one face.
    parts: Parts,
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
        let mut faces = Faces { cycle, windings: vec![[0, 0]; count], parts: Parts::new(count) };

        // Components, from the leftmost vertex on: what may lie around one is labelled before it.
        let mut outer: Vec<(GridPoint, u32)> = (0..)
            .zip(&cycles)
            .filter(|(_, (_, area, _))| *area <= 0)
            .map(|(number, (.., lowest))| (*lowest, number))
            .collect();
        outer.sort_unstable();
        let mut sweep: Option<Sweep> = None;
        let mut first = true;
        let mut labelled = vec![false; count];
        let mut queue = Vec::new();
        for (lowest, number) in outer {
            if labelled[number as usize] {
                continue;
            }
            // Nothing lies around the first.
            if !std::mem::take(&mut first) {
                let sweep = match &mut sweep {
                    Some(sweep) => sweep,
                    None => sweep.insert(Sweep::new(edges, effort)?),
                };
                if let Some(below) = sweep.below(lowest, effort)? {
                    // To the left of the way from `a` to `b`, which is above it.
                    let face = faces.cycle[2 * below as usize];
                    faces.windings[number as usize] = faces.windings[face as usize];
                    faces.parts.join(number, face);
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
        let mut regions = faces.parts.clone();
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
            let region = regions.of(faces.cycle[start as usize]);
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
        let mut spent = vec![false; regions.len()];
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

/// A vertical line that moves to the right over the edges and knows which of them it crosses, from the lowest up.
///
/// It stands just left of where it is asked: what starts there is not met yet, what ends there still is. So no end of
/// an edge lies on it, and the edges it crosses have one order, which holds until one of them ends.
struct Sweep<'a> {
    edges: &'a [Edge],
    /// Edges that are not vertical, by where they start and by where they end.
    starts: Vec<u32>,
    ends: Vec<u32>,
    started: usize,
    ended: usize,
    crossed: BTreeSet<Crossed>,
}

impl<'a> Sweep<'a> {
    fn new(edges: &'a [Edge], effort: &Effort<'_>) -> Result<Self, Interrupt> {
        effort.steps(4 * edges.len())?;
        let mut starts: Vec<u32> =
            (0..).zip(edges).filter(|(_, edge)| edge.a.x < edge.b.x).map(|(index, _)| index).collect();
        let mut ends = starts.clone();
        starts.sort_unstable_by_key(|index| (edges[*index as usize].a.x, *index));
        ends.sort_unstable_by_key(|index| (edges[*index as usize].b.x, *index));
        Ok(Self { edges, starts, ends, started: 0, ended: 0, crossed: BTreeSet::new() })
    }

    /// The edge below a point and next to it, the leftmost vertex of its component. Points come from the left to the right.
    fn below(&mut self, point: GridPoint, effort: &Effort<'_>) -> Result<Option<u32>, Interrupt> {
        while let Some(&index) = self.starts.get(self.started) {
            let edge = &self.edges[index as usize];
            if edge.a.x >= point.x {
                break;
            }
            self.leave(edge.a.x, effort)?;
            effort.step()?;
            self.crossed.insert(Crossed { a: edge.a, b: edge.b, index });
            self.started += 1;
        }
        self.leave(point.x - 1, effort)?;
        effort.step()?;
        let asked = Crossed { a: point, b: point, index: NONE };
        Ok(self.crossed.range(..asked).next_back().map(|crossed| crossed.index))
    }

    /// Lets go of the edges that end at `x` or before.
    fn leave(&mut self, x: i64, effort: &Effort<'_>) -> Result<(), Interrupt> {
        while let Some(&index) = self.ends.get(self.ended) {
            let edge = &self.edges[index as usize];
            if edge.b.x > x {
                break;
            }
            effort.step()?;
            self.crossed.remove(&Crossed { a: edge.a, b: edge.b, index });
            self.ended += 1;
        }
        Ok(())
    }
}

/// An edge that the line crosses, or (with equal ends) the place that is asked about. Edges meet at their ends only.
#[derive(Debug, Clone, Copy)]
struct Crossed {
    a: GridPoint,
    b: GridPoint,
    index: u32,
}

impl Ord for Crossed {
    fn cmp(&self, other: &Self) -> Ordering {
        if self.index == other.index {
            return Ordering::Equal;
        }
        // Which side of the other edge an end of the later one lies on.
        let side = |one: &Self, other: &Self| {
            let at = |point: GridPoint| cross(one.a, one.b, point).signum();
            match at(other.a) {
                0 => at(other.b),
                side => side,
            }
        };
        if self.a.x >= other.a.x && other.a.x < other.b.x {
            side(other, self).cmp(&0)
        } else {
            0.cmp(&side(self, other))
        }
    }
}

impl PartialOrd for Crossed {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Crossed {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Crossed {}

/// Counter-clockwise from the direction of the x axis.
fn compare_angles(one: (i64, i64), other: (i64, i64)) -> Ordering {
    let lower = |(x, y): (i64, i64)| y < 0 || (y == 0 && x < 0);
    lower(one).cmp(&lower(other)).then_with(|| {
        let turn = i128::from(one.0) * i128::from(other.1) - i128::from(one.1) * i128::from(other.0);
        0.cmp(&turn)
    })
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;
    use crate::format::Pace;

    /// Edges of squares with the low corner and the size given, counter-clockwise.
    fn squares(list: &[(i64, i64, i64)]) -> Vec<Edge> {
        let mut edges = Vec::new();
        for &(x, y, size) in list {
            let corners = [(x, y), (x + size, y), (x + size, y + size), (x, y + size)].map(|(x, y)| GridPoint { x, y });
            for (number, &from) in corners.iter().enumerate() {
                let to = corners[(number + 1) % 4];
                let (a, b, turn) = if from < to { (from, to, 1) } else { (to, from, -1) };
                edges.push(Edge { a, b, winding: [turn, 0] });
            }
        }
        edges.sort_unstable_by_key(|edge| (edge.a, edge.b));
        edges
    }

    fn label(edges: &[Edge]) -> Faces {
        let effort = Effort::unbounded();
        Graph::new(edges, &effort).unwrap().label(edges, &effort).unwrap()
    }

    /// The winding numbers above level edges.
    #[test]
    fn windings_of_squares_in_squares() {
        // Two in one, one of them with one more inside; one on its own whose corners stand at the height of others' edges.
        let edges = squares(&[(0, 0, 100), (10, 10, 30), (20, 20, 10), (60, 10, 30), (200, 10, 30)]);
        let faces = label(&edges);
        let mut by_edge: Vec<((i64, i64), i32)> = Vec::new();
        for (index, edge) in edges.iter().enumerate().filter(|(_, edge)| edge.a.y == edge.b.y) {
            by_edge.push(((edge.a.x, edge.a.y), faces.windings[faces.cycle[2 * index] as usize][0]));
        }
        by_edge.sort_unstable();
        let expected = [
            ((0, 0), 1),
            ((0, 100), 0),
            ((10, 10), 2),
            ((10, 40), 1),
            ((20, 20), 3),
            ((20, 30), 2),
            ((60, 10), 2),
            ((60, 40), 1),
            ((200, 10), 1),
            ((200, 40), 0),
        ];
        assert_eq!(by_edge, expected);
    }

    /// Rings in a row, and rings in each other, cost for each ring what a few cost.
    #[test]
    fn the_work_of_labelling_grows_with_the_number_of_rings() {
        let row = |count: i64| (0..count).map(|i| (3 * i, 0, 2)).collect::<Vec<_>>();
        let nest = |count: i64| (0..count).map(|i| (i, i, 4 * count - 2 * i)).collect::<Vec<_>>();
        for list in [row(20_000), nest(20_000)] {
            let edges = squares(&list);
            let looks = Cell::new(0usize);
            let count = || {
                looks.set(looks.get() + 1);
                Ok(())
            };
            let effort = Effort { pace: Pace::new(&count), ..Effort::unbounded() };
            let graph = Graph::new(&edges, &effort).unwrap();
            graph.label(&edges, &effort).unwrap();
            // A look comes after 16,384 steps.
            assert!(looks.get() * 16_384 < 40 * edges.len(), "{} looks for {} edges", looks.get(), edges.len());
        }
    }
}
