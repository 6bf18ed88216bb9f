//! The planar graph: half-edges, dangles, faces, holes.
//!
//! Works on noded edges. Dangles (edges that end nowhere) and bridges (edges with the same face on both sides) bound
//! nothing and are taken out, and are listed. Faces are traced by turning clockwise at every vertex; a ring with
//! positive area is the shell of a face, any other ring is the outer boundary of a component and becomes a hole of
//! the face that contains it, found by a ray to the left through the cell index. Exact integer arithmetic throughout;
//! explicit loops, no recursion; near n log n.

use super::grid::{GridPoint, SegmentIndex, orientation};
use super::noding::{Marks, Noded};
use crate::format::{Checkpoint, Interrupt};

/// Number of the face outside of everything.
pub const OUTSIDE: u32 = u32::MAX;

/// A chain of edges that ended nowhere.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dangle {
    /// From the free end to where it meets the rest (or to its other free end).
    pub chain: Vec<GridPoint>,
}

/// A face: a connected area without edges inside.
#[derive(Debug, Clone, PartialEq)]
pub struct Face {
    /// Ring number of the shell.
    pub shell: u32,
    /// Ring numbers of the holes.
    pub holes: Vec<u32>,
    /// Twice the area in square steps, holes subtracted.
    pub area_twice: i128,
}

/// The planar graph. Edge `e` has the half-edges `2e` (from its smaller vertex) and `2e + 1`.
#[derive(Debug, Clone, Default)]
pub struct Graph {
    /// Points.
    pub vertices: Vec<GridPoint>,
    /// Edges that bound faces.
    pub edges: Vec<(u32, u32)>,
    /// Their marks.
    pub marks: Vec<Marks>,
    /// Next half-edge along the face on the left.
    pub next: Vec<u32>,
    /// Ring of a half-edge.
    pub ring_of: Vec<u32>,
    /// A half-edge of each ring.
    pub ring_start: Vec<u32>,
    /// Twice the signed area of each ring.
    pub ring_area: Vec<i128>,
    /// Face of each ring; [`OUTSIDE`] for outer boundaries that nothing contains.
    pub face_of_ring: Vec<u32>,
    /// Faces.
    pub faces: Vec<Face>,
    /// Chains taken out.
    pub dangles: Vec<Dangle>,
    /// Edges taken out because the same face lay on both sides.
    pub bridges: Vec<(GridPoint, GridPoint)>,
    index: Option<SegmentIndex>,
}

impl Graph {
    /// Builds graph and faces of noded edges.
    ///
    /// # Errors
    /// [`Interrupt`] of the checkpoint.
    pub fn build(noded: &Noded, checkpoint: &Checkpoint<'_>) -> Result<Self, Interrupt> {
        let mut graph = Self { vertices: noded.vertices.clone(), ..Self::default() };
        let alive = graph.prune(noded, checkpoint)?;
        for (edge, _) in alive.iter().enumerate().filter(|(_, alive)| **alive) {
            graph.edges.push(noded.edges[edge]);
            graph.marks.push(noded.marks[edge]);
        }
        graph.link(checkpoint)?;
        graph.trace(checkpoint)?;
        if graph.cut_bridges() {
            graph.link(checkpoint)?;
            graph.trace(checkpoint)?;
        }
        graph.nest(checkpoint)?;
        Ok(graph)
    }

    /// Start vertex of a half-edge.
    #[inline]
    pub fn origin(&self, half: u32) -> u32 {
        let (a, b) = self.edges[(half / 2) as usize];
        if half.is_multiple_of(2) { a } else { b }
    }

    /// End vertex of a half-edge.
    #[inline]
    pub fn target(&self, half: u32) -> u32 {
        self.origin(half ^ 1)
    }

    /// Point of a vertex.
    #[inline]
    pub fn point(&self, vertex: u32) -> GridPoint {
        self.vertices[vertex as usize]
    }

    /// Face on the left of a half-edge.
    #[inline]
    pub fn face(&self, half: u32) -> u32 {
        self.face_of_ring[self.ring_of[half as usize] as usize]
    }

    /// Half-edges of a ring in order.
    pub fn ring(&self, ring: u32) -> RingWalk<'_> {
        let start = self.ring_start[ring as usize];
        RingWalk { graph: self, start, at: Some(start) }
    }

    /// Half-edges of all rings of a face.
    pub fn boundary(&self, face: u32) -> impl Iterator<Item = u32> + '_ {
        let face = &self.faces[face as usize];
        std::iter::once(face.shell).chain(face.holes.iter().copied()).flat_map(|ring| self.ring(ring))
    }

    /// The simple rings of a face: one shell counter-clockwise, holes clockwise. A ring that meets itself at a
    /// vertex is divided there, as simple features demand.
    pub fn simple_rings(&self, face: u32) -> (Vec<GridPoint>, Vec<Vec<GridPoint>>) {
        let mut shell = Vec::new();
        let mut shell_area = 0;
        let mut holes = Vec::new();
        let rings = &self.faces[face as usize];
        for ring in std::iter::once(rings.shell).chain(rings.holes.iter().copied()) {
            for part in self.divided(ring) {
                let area = area_twice(&part);
                if area > shell_area {
                    if !shell.is_empty() {
                        holes.push(std::mem::take(&mut shell));
                    }
                    shell = part;
                    shell_area = area;
                } else if area < 0 {
                    holes.push(part);
                }
            }
        }
        (shell, holes)
    }

    /// A ring divided where it meets itself.
    pub(crate) fn divided(&self, ring: u32) -> Vec<Vec<GridPoint>> {
        let mut parts = Vec::new();
        let mut stack: Vec<u32> = Vec::new();
        let mut seen: std::collections::HashMap<u32, usize> = std::collections::HashMap::new();
        for half in self.ring(ring) {
            let vertex = self.origin(half);
            if let Some(&position) = seen.get(&vertex) {
                let part: Vec<u32> = stack.drain(position..).collect();
                for inner in &part {
                    seen.remove(inner);
                }
                parts.push(part.into_iter().map(|vertex| self.point(vertex)).collect());
            }
            seen.insert(vertex, stack.len());
            stack.push(vertex);
        }
        parts.push(stack.into_iter().map(|vertex| self.point(vertex)).collect());
        parts.retain(|part: &Vec<GridPoint>| part.len() >= 3);
        parts
    }

    /// Takes out edges that end nowhere; lists them as chains.
    fn prune(&mut self, noded: &Noded, checkpoint: &Checkpoint<'_>) -> Result<Vec<bool>, Interrupt> {
        let around = Incidence::build(noded.vertices.len(), &noded.edges);
        let mut degree: Vec<u32> = (0..noded.vertices.len()).map(|vertex| around.of(vertex).len() as u32).collect();
        let mut alive = vec![true; noded.edges.len()];
        let free: Vec<u32> = (0..noded.vertices.len() as u32).filter(|vertex| degree[*vertex as usize] == 1).collect();
        for (turn, start) in free.into_iter().enumerate() {
            if turn % 4096 == 0 {
                checkpoint()?;
            }
            let mut chain = vec![noded.vertices[start as usize]];
            let mut vertex = start;
            while degree[vertex as usize] == 1 {
                let Some(&edge) = around.of(vertex as usize).iter().find(|edge| alive[**edge as usize]) else {
                    break;
                };
                alive[edge as usize] = false;
                let (a, b) = noded.edges[edge as usize];
                degree[a as usize] -= 1;
                degree[b as usize] -= 1;
                vertex = if a == vertex { b } else { a };
                chain.push(noded.vertices[vertex as usize]);
            }
            if chain.len() > 1 {
                self.dangles.push(Dangle { chain });
            }
        }
        Ok(alive)
    }

    /// Sorts half-edges round their vertices and links each to the next along its face.
    fn link(&mut self, checkpoint: &Checkpoint<'_>) -> Result<(), Interrupt> {
        checkpoint()?;
        let num_half = self.edges.len() * 2;
        let mut starts = vec![0u32; self.vertices.len() + 1];
        for &(a, b) in &self.edges {
            starts[a as usize + 1] += 1;
            starts[b as usize + 1] += 1;
        }
        for vertex in 0..self.vertices.len() {
            starts[vertex + 1] += starts[vertex];
        }
        let mut cursor = starts.clone();
        let mut out = vec![0u32; num_half];
        for half in 0..num_half as u32 {
            let slot = &mut cursor[self.origin(half) as usize];
            out[*slot as usize] = half;
            *slot += 1;
        }
        let mut next = vec![0u32; num_half];
        for vertex in 0..self.vertices.len() {
            let run = &mut out[starts[vertex] as usize..starts[vertex + 1] as usize];
            let here = self.vertices[vertex];
            if run.len() > 2 {
                run.sort_unstable_by(|&p, &q| {
                    by_angle(here, self.vertices[self.target(p) as usize], self.vertices[self.target(q) as usize])
                });
            }
            // Arriving by the twin of run[i], the face on the left goes on along the clockwise neighbour.
            for position in 0..run.len() {
                let before = run[(position + run.len() - 1) % run.len()];
                next[(run[position] ^ 1) as usize] = before;
            }
        }
        self.next = next;
        Ok(())
    }

    fn trace(&mut self, checkpoint: &Checkpoint<'_>) -> Result<(), Interrupt> {
        self.ring_of = vec![u32::MAX; self.next.len()];
        self.ring_start.clear();
        self.ring_area.clear();
        for start in 0..self.next.len() as u32 {
            if start % 8192 == 0 {
                checkpoint()?;
            }
            if self.ring_of[start as usize] != u32::MAX {
                continue;
            }
            let ring = self.ring_start.len() as u32;
            let base = self.point(self.origin(start));
            let mut area: i128 = 0;
            let mut half = start;
            loop {
                self.ring_of[half as usize] = ring;
                area += i128::from(orientation(base, self.point(self.origin(half)), self.point(self.target(half))));
                half = self.next[half as usize];
                if half == start {
                    break;
                }
            }
            self.ring_start.push(start);
            self.ring_area.push(area);
        }
        Ok(())
    }

    fn cut_bridges(&mut self) -> bool {
        let keep: Vec<bool> =
            (0..self.edges.len()).map(|edge| self.ring_of[2 * edge] != self.ring_of[2 * edge + 1]).collect();
        if keep.iter().all(|keep| *keep) {
            return false;
        }
        for (edge, &(a, b)) in self.edges.iter().enumerate() {
            if !keep[edge] {
                self.bridges.push((self.point(a), self.point(b)));
            }
        }
        let mut flags = keep.iter();
        self.edges.retain(|_| *flags.next().unwrap_or(&true));
        let mut flags = keep.iter();
        self.marks.retain(|_| *flags.next().unwrap_or(&true));
        true
    }

    /// Gives every outer boundary to the face that contains it.
    fn nest(&mut self, checkpoint: &Checkpoint<'_>) -> Result<(), Interrupt> {
        self.face_of_ring = vec![OUTSIDE; self.ring_start.len()];
        self.faces.clear();
        for ring in 0..self.ring_start.len() {
            if self.ring_area[ring] > 0 {
                self.face_of_ring[ring] = self.faces.len() as u32;
                let area_twice = self.ring_area[ring];
                self.faces.push(Face { shell: ring as u32, holes: Vec::new(), area_twice });
            }
        }
        // Leftmost vertex of every outer boundary; vertices are sorted by x, so the smallest number is leftmost.
        let mut outer: Vec<(u32, u32)> = (0..self.ring_start.len() as u32)
            .filter(|ring| self.ring_area[*ring as usize] <= 0)
            .map(|ring| (self.ring(ring).map(|half| self.origin(half)).min().unwrap_or(0), ring))
            .collect();
        outer.sort_unstable();
        let index = SegmentIndex::build(self.edges.len(), |edge| {
            let (a, b) = self.edges[edge];
            (self.point(a), self.point(b))
        });
        for (turn, (vertex, ring)) in outer.into_iter().enumerate() {
            if turn % 1024 == 0 {
                checkpoint()?;
            }
            let Some(half) = self.left_of(&index, self.point(vertex)) else { continue };
            let beside = self.ring_of[half as usize];
            let face = self.face_of_ring[beside as usize];
            self.face_of_ring[ring as usize] = face;
            if face != OUTSIDE {
                let area = self.ring_area[ring as usize];
                let container = &mut self.faces[face as usize];
                container.holes.push(ring);
                container.area_twice += area;
            }
        }
        self.index = Some(index);
        Ok(())
    }

    /// The face a point lies in; for a point on an edge, the face on either side. [`OUTSIDE`] if it is in none.
    pub fn locate(&self, point: GridPoint) -> u32 {
        let half = self.index.as_ref().and_then(|index| self.left_of(index, point));
        half.map_or(OUTSIDE, |half| self.face(half))
    }

    /// The half-edge that a ray from `point` to the left meets first, directed so that the ray is on its left.
    fn left_of(&self, index: &SegmentIndex, point: GridPoint) -> Option<u32> {
        let mut best: Option<(f64, u32)> = None;
        index.leftward(point, |segments, rim| {
            for &edge in segments {
                let (a, b) = self.edges[edge as usize];
                let (p, q) = (self.point(a), self.point(b));
                let (low, high, down) = if p.y < q.y { (p, q, 2 * edge + 1) } else { (q, p, 2 * edge) };
                // Half-open in y: the ray runs just above `point.y`.
                if low.y > point.y || high.y <= point.y || orientation(low, high, point) >= 0 {
                    continue;
                }
                let x = crossing_x(low, high, point.y);
                let better = match best {
                    None => true,
                    Some((best_x, best_half)) => {
                        x > best_x || (x == best_x && self.leans_right(low, high, best_half, point.y))
                    }
                };
                if better {
                    best = Some((x, down));
                }
            }
            best.is_some_and(|(x, _)| x >= rim as f64 + 2.0)
        });
        best.map(|(_, half)| half)
    }

    /// Of two edges that meet the ray at one point, whether `low → high` lies further right just above it.
    fn leans_right(&self, low: GridPoint, high: GridPoint, other: u32, _y: i32) -> bool {
        let (p, q) = (self.point(self.target(other)), self.point(self.origin(other)));
        let (ax, ay) = low.to(high);
        let (bx, by) = p.to(q);
        i128::from(ax) * i128::from(by) > i128::from(bx) * i128::from(ay)
    }
}

fn crossing_x(low: GridPoint, high: GridPoint, y: i32) -> f64 {
    let (dx, dy) = low.to(high);
    f64::from(low.x) + dx as f64 * (i64::from(y) - i64::from(low.y)) as f64 / dy as f64
}

/// Twice the signed area of a ring of points.
pub fn area_twice(ring: &[GridPoint]) -> i128 {
    let Some(&base) = ring.first() else { return 0 };
    ring.windows(2).map(|pair| i128::from(orientation(base, pair[0], pair[1]))).sum()
}

/// Order of directions from `here`, counter-clockwise from the positive x axis.
fn by_angle(here: GridPoint, p: GridPoint, q: GridPoint) -> std::cmp::Ordering {
    let half = |(dx, dy): (i64, i64)| u8::from(dy < 0 || (dy == 0 && dx < 0));
    let (u, v) = (here.to(p), here.to(q));
    half(u).cmp(&half(v)).then_with(|| 0.cmp(&(u.0 * v.1 - u.1 * v.0)))
}

/// Walks the half-edges of a ring.
#[derive(Debug, Clone)]
pub struct RingWalk<'a> {
    graph: &'a Graph,
    start: u32,
    at: Option<u32>,
}

impl Iterator for RingWalk<'_> {
    type Item = u32;

    fn next(&mut self) -> Option<u32> {
        let half = self.at?;
        let next = self.graph.next[half as usize];
        self.at = (next != self.start).then_some(next);
        Some(half)
    }
}

/// Edges at every vertex, in compressed rows.
#[derive(Debug, Clone)]
pub struct Incidence {
    starts: Vec<u32>,
    edges: Vec<u32>,
}

impl Incidence {
    /// Of `num_vertices` vertices.
    pub fn build(num_vertices: usize, edges: &[(u32, u32)]) -> Self {
        let mut starts = vec![0u32; num_vertices + 1];
        for &(a, b) in edges {
            starts[a as usize + 1] += 1;
            starts[b as usize + 1] += 1;
        }
        for vertex in 0..num_vertices {
            starts[vertex + 1] += starts[vertex];
        }
        let mut cursor = starts.clone();
        let mut list = vec![0u32; edges.len() * 2];
        for (edge, &(a, b)) in edges.iter().enumerate() {
            for vertex in [a, b] {
                list[cursor[vertex as usize] as usize] = edge as u32;
                cursor[vertex as usize] += 1;
            }
        }
        Self { starts, edges: list }
    }

    /// Edges at a vertex.
    #[inline]
    pub fn of(&self, vertex: usize) -> &[u32] {
        &self.edges[self.starts[vertex] as usize..self.starts[vertex + 1] as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::super::noding::{Noding, Segment, node};
    use super::*;

    fn graph(lines: &[[i32; 4]]) -> Graph {
        let segments: Vec<Segment> = lines
            .iter()
            .map(|l| Segment { a: GridPoint { x: l[0], y: l[1] }, b: GridPoint { x: l[2], y: l[3] }, marks: 1 })
            .collect();
        let free = || Ok(());
        Graph::build(&node(&segments, Noding { tolerance: 1.0, max_crossings: 1_000 }, &free).unwrap(), &free).unwrap()
    }

    fn square(x: i32, y: i32, side: i32) -> [[i32; 4]; 4] {
        [[x, y, x + side, y], [x + side, y, x + side, y + side], [x + side, y + side, x, y + side], [x, y + side, x, y]]
    }

    #[test]
    fn crossing_walls_give_two_rooms_and_list_their_overshoots() {
        let graph = graph(&[
            [-20, 0, 220, 0],
            [-20, 100, 220, 100],
            [0, -20, 0, 120],
            [100, -20, 100, 120],
            [200, -20, 200, 120],
        ]);
        assert_eq!(graph.faces.iter().map(|face| face.area_twice).collect::<Vec<_>>(), [20_000, 20_000]);
        assert_eq!(graph.dangles.len(), 10);
    }

    #[test]
    fn islands_are_holes_of_the_face_around_them_at_any_depth() {
        let mut lines = square(0, 0, 1000).to_vec();
        lines.extend(square(100, 100, 100));
        lines.extend(square(120, 120, 20));
        lines.extend(square(500, 100, 300));
        lines.extend(square(2000, 0, 50));
        let graph = graph(&lines);
        let mut areas: Vec<i128> = graph.faces.iter().map(|face| face.area_twice / 2).collect();
        areas.sort_unstable();
        assert_eq!(areas, [400, 2500, 9600, 90_000, 1_000_000 - 10_000 - 90_000]);
    }

    #[test]
    fn a_bridge_to_an_island_does_not_divide_or_bound() {
        let mut lines = square(0, 0, 1000).to_vec();
        lines.extend(square(400, 400, 100));
        lines.push([0, 450, 400, 450]);
        let graph = graph(&lines);
        assert_eq!(graph.bridges.len(), 1);
        assert_eq!(graph.faces.len(), 2);
        assert!(graph.faces.iter().any(|face| face.holes.len() == 1));
    }

    #[test]
    fn a_hole_that_touches_the_shell_at_a_point_is_a_hole() {
        let mut lines = square(0, 0, 1000).to_vec();
        lines.extend([[0, 0, 300, 100], [300, 100, 100, 300], [100, 300, 0, 0]]);
        let graph = graph(&lines);
        let outer = (0..graph.faces.len() as u32).max_by_key(|face| graph.faces[*face as usize].area_twice).unwrap();
        let (shell, holes) = graph.simple_rings(outer);
        assert_eq!(shell.len(), 4);
        assert_eq!(holes.len(), 1);
        assert_eq!(holes[0].len(), 3);
    }
}
