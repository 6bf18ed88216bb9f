//! Planar arrangements of rings on an integer grid: boolean operations whose result is valid, always.
//!
//! Three steps, all in exact integers:
//!
//! 1. *Noding.* Edges are split where they cross (rounded to the grid) and at every vertex whose unit square they pass
//!    through, until none does: iterated snap rounding after Hobby (1999) and Halperin, Packer (2002). Edges on
//!    top of each other become one, with the sum of their windings; those that cancel vanish.
//! 2. *Labelling.* The faces of the resulting graph get their winding numbers, by walking across edges inside a
//!    component and by a ray between components.
//! 3. *Tracing.* Faces that are kept are joined; their boundaries are cut at repeated vertices, which gives simple
//!    rings that touch at points only: one shell and its holes for each region.

mod faces;
mod near;

use faces::Graph;
pub(crate) use near::near_pairs;

use super::nest::{Effort, GridAreas, GridPoint, GridRings};
use crate::format::Interrupt;

/// Rounds of noding; two or three are usual.
const MAX_ROUNDS: u32 = 40;

/// Places where one edge is split, for each crossing that is allowed: vertices close to edges split them too.
const SPLITS_PER_CROSSING: u64 = 4;

/// Half the largest extent that exact arithmetic allows; larger coordinates are made coarser.
const REACH_BITS: u32 = 40;

/// Why an arrangement was not made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Stop {
    /// The rings have more crossings than [`Effort::crossings`], or would take as long as if they had.
    Entangled,
    /// Deadline, memory or cancellation.
    Interrupted(Interrupt),
}

impl From<Interrupt> for Stop {
    fn from(interrupt: Interrupt) -> Self {
        Self::Interrupted(interrupt)
    }
}

/// Winding numbers with regard to the subject and to the clip.
pub(crate) type Windings = [i32; 2];

/// Appends to `out` the area of `subject` and `clip` whose winding numbers `keep` accepts. It must refuse `[0, 0]`.
pub(crate) fn arrange(
    subject: &GridRings,
    clip: Option<&GridRings>,
    keep: impl Fn(Windings) -> bool,
    effort: &Effort<'_>,
    out: &mut GridAreas,
) -> Result<(), Stop> {
    let Some(frame) = Coarsening::of(subject, clip) else { return Ok(()) };
    let mut edges = Vec::new();
    for (layer, rings) in [Some(subject), clip].into_iter().flatten().enumerate() {
        let mut winding = [0, 0];
        winding[layer] = 1;
        for ring in rings.iter() {
            effort.steps(ring.len())?;
            let mut before = ring.last().map(|point| frame.shrink(*point));
            for point in ring {
                let after = frame.shrink(*point);
                if let Some(a) = before {
                    edges.push(Edge { a, b: after, winding });
                }
                before = Some(after);
            }
        }
    }
    node(&mut edges, effort)?;
    if edges.is_empty() {
        return Ok(());
    }
    let graph = Graph::new(&edges, effort)?;
    let faces = graph.label(&edges, effort)?;
    graph.trace(&faces, keep, &frame, effort, out)?;
    Ok(())
}

/// Brings coordinates near the origin, and to fewer bits if they need too many; what comes back is on the given grid.
struct Coarsening {
    x: i64,
    y: i64,
    shift: u32,
}

impl Coarsening {
    fn of(subject: &GridRings, clip: Option<&GridRings>) -> Option<Self> {
        let points = [Some(subject), clip].into_iter().flatten().flat_map(|rings| rings.iter().flatten());
        let mut bounds: Option<[i64; 4]> = None;
        for p in points {
            let [x0, y0, x1, y1] = bounds.unwrap_or([p.x, p.y, p.x, p.y]);
            bounds = Some([x0.min(p.x), y0.min(p.y), x1.max(p.x), y1.max(p.y)]);
        }
        let [x0, y0, x1, y1] = bounds?;
        let (x, y) = (x0.midpoint(x1), y0.midpoint(y1));
        let reach = (i128::from(x1) - i128::from(x)).max(i128::from(y1) - i128::from(y));
        Some(Self { x, y, shift: (128 - reach.leading_zeros()).saturating_sub(REACH_BITS) })
    }

    fn shrink(&self, point: GridPoint) -> GridPoint {
        let half = if self.shift > 0 { 1i64 << (self.shift - 1) } else { 0 };
        let one = |value: i64, centre: i64| value.saturating_sub(centre).saturating_add(half) >> self.shift;
        GridPoint { x: one(point.x, self.x), y: one(point.y, self.y) }
    }

    fn restore(&self, point: GridPoint) -> GridPoint {
        GridPoint { x: (point.x << self.shift) + self.x, y: (point.y << self.shift) + self.y }
    }
}

/// An edge; its winding counts along the way from `a` to `b`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Edge {
    a: GridPoint,
    b: GridPoint,
    winding: Windings,
}

/// Puts edges in order, joins those on top of each other and drops those that cancel.
fn tidy(edges: &mut Vec<Edge>) {
    for edge in edges.iter_mut() {
        if edge.b < edge.a {
            std::mem::swap(&mut edge.a, &mut edge.b);
            edge.winding = edge.winding.map(|w| -w);
        }
    }
    edges.sort_unstable_by_key(|edge| (edge.a, edge.b));
    edges.dedup_by(|next, kept| {
        let same = (next.a, next.b) == (kept.a, kept.b);
        if same {
            kept.winding = [kept.winding[0] + next.winding[0], kept.winding[1] + next.winding[1]];
        }
        same
    });
    edges.retain(|edge| edge.a != edge.b && edge.winding != [0, 0]);
}

/// Splits edges until they meet at common vertices only.
///
/// Every round is a snap rounding of its own: the crossings of *all* edges as they stand are found first, then every
/// edge is led through every vertex and crossing whose square it passes. Splitting at once instead would let nearly
/// parallel edges cross anew one step further on, again and again. A second round only finds that nothing is left.
fn node(edges: &mut Vec<Edge>, effort: &Effort<'_>) -> Result<(), Stop> {
    let most_crossings = usize::try_from(effort.crossings).unwrap_or(usize::MAX);
    let most_splits = usize::try_from(effort.crossings.saturating_mul(SPLITS_PER_CROSSING)).unwrap_or(usize::MAX);
    for _ in 0..MAX_ROUNDS {
        tidy(edges);
        effort.steps(edges.len())?;
        let mut found: (Vec<(u32, GridPoint)>, Vec<GridPoint>) = Default::default();
        let ends = |index: usize| (edges[index].a, edges[index].b);
        near_pairs(edges.len(), ends, 1, effort, &mut found, |(splits, crossings), one, other| {
            let (s, t) = (&edges[one], &edges[other]);
            splits.extend([t.a, t.b].into_iter().filter(|p| passes_through(s, *p)).map(|p| (one as u32, p)));
            splits.extend([s.a, s.b].into_iter().filter(|p| passes_through(t, *p)).map(|p| (other as u32, p)));
            if let Some(p) = crossing(s, t) {
                crossings.push(p);
                for (index, edge) in [(one, s), (other, t)] {
                    if p != edge.a && p != edge.b {
                        splits.push((index as u32, p));
                    }
                }
            }
            if crossings.len() > most_crossings || splits.len() > most_splits { Err(Stop::Entangled) } else { Ok(()) }
        })?;
        let (mut splits, mut crossings) = found;
        if splits.is_empty() {
            return Ok(());
        }
        crossings.sort_unstable();
        crossings.dedup();
        if !crossings.is_empty() {
            let ends = |index: usize| match index.checked_sub(edges.len()) {
                Some(point) => (crossings[point], crossings[point]),
                None => (edges[index].a, edges[index].b),
            };
            let (known, mut found) = (splits.len(), Vec::new());
            near_pairs(edges.len() + crossings.len(), ends, 1, effort, &mut found, |found, one, other| {
                let (edge, point) = (one.min(other), one.max(other));
                if edge < edges.len() && point >= edges.len() {
                    let p = crossings[point - edges.len()];
                    if passes_through(&edges[edge], p) {
                        found.push((edge as u32, p));
                    }
                }
                if known + found.len() > 2 * most_splits { Err(Stop::Entangled) } else { Ok(()) }
            })?;
            splits.append(&mut found);
        }
        effort.steps(splits.len())?;
        split(edges, &mut splits);
    }
    Err(Stop::Entangled)
}

fn split(edges: &mut Vec<Edge>, splits: &mut [(u32, GridPoint)]) {
    splits.sort_unstable_by_key(|(index, point)| {
        let Edge { a, b, .. } = edges[*index as usize];
        (*index, along(a, b, *point), *point)
    });
    let mut rest = &splits[..];
    while let Some(&(index, _)) = rest.first() {
        let len = rest.iter().take_while(|(other, _)| *other == index).count();
        let (own, others) = rest.split_at(len);
        rest = others;
        let Edge { a, b, winding } = edges[index as usize];
        let mut before = a;
        for &(_, point) in own {
            if point != before {
                edges.push(Edge { a: before, b: point, winding });
                before = point;
            }
        }
        edges[index as usize] = Edge { a: before, b, winding };
    }
}

/// How far `p` lies along the way from `a` to `b`, times its length.
fn along(a: GridPoint, b: GridPoint, p: GridPoint) -> i128 {
    let (dx, dy) = (i128::from(b.x - a.x), i128::from(b.y - a.y));
    i128::from(p.x - a.x) * dx + i128::from(p.y - a.y) * dy
}

fn cross(a: GridPoint, b: GridPoint, p: GridPoint) -> i128 {
    i128::from(b.x - a.x) * i128::from(p.y - a.y) - i128::from(b.y - a.y) * i128::from(p.x - a.x)
}

/// Whether the edge passes through the unit square around `p`, between its ends.
fn passes_through(edge: &Edge, p: GridPoint) -> bool {
    let Edge { a, b, .. } = *edge;
    if p == a || p == b {
        return false;
    }
    let reach = i128::from((b.x - a.x).abs()) + i128::from((b.y - a.y).abs());
    if 2 * cross(a, b, p).abs() >= reach {
        return false;
    }
    let position = along(a, b, p);
    position > 0 && position < along(a, b, b)
}

/// The grid point nearest to where two edges properly cross.
fn crossing(s: &Edge, t: &Edge) -> Option<GridPoint> {
    let (c, d) = (cross(s.a, s.b, t.a), cross(s.a, s.b, t.b));
    if c.signum() * d.signum() >= 0 {
        return None;
    }
    let (a, b) = (cross(t.a, t.b, s.a), cross(t.a, t.b, s.b));
    if a.signum() * b.signum() >= 0 {
        return None;
    }
    // s.a + (s.b − s.a)·a / (a − b), rounded; 41 + 83 bits at most.
    let part = |from: i64, to: i64| {
        let (numerator, denominator) = (i128::from(to - from) * a, a - b);
        let (numerator, denominator) =
            if denominator < 0 { (-numerator, -denominator) } else { (numerator, denominator) };
        from + (2 * numerator + denominator).div_euclid(2 * denominator) as i64
    };
    Some(GridPoint { x: part(s.a.x, s.b.x), y: part(s.a.y, s.b.y) })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rings(list: &[&[(i64, i64)]]) -> GridRings {
        let mut rings = GridRings::default();
        for ring in list {
            rings.push(ring.iter().map(|&(x, y)| GridPoint { x, y }));
        }
        rings
    }

    fn doubled_area(areas: &GridAreas) -> i128 {
        areas.iter().flatten().map(super::super::way::signed_area).sum()
    }

    #[test]
    fn nearly_parallel_edges_are_noded_in_two_rounds() {
        // Splitting where edges cross, one pair after the other, creeps along these for hundreds of rounds.
        let tangled: [&[(i64, i64)]; 2] =
            [&[(339, 128), (940, 876), (254, 0)], &[(330, 373), (516, 50), (731, 821), (522, 74), (0, 0)]];
        let mut edges = Vec::new();
        for ring in tangled {
            for (index, &a) in ring.iter().enumerate() {
                let b = ring[(index + 1) % ring.len()];
                let point = |(x, y)| GridPoint { x, y };
                edges.push(Edge { a: point(a), b: point(b), winding: [1, 0] });
            }
        }
        assert_eq!(node(&mut edges, &Effort::unbounded()), Ok(()));
        assert!(edges.len() < 40, "{}", edges.len());
    }

    #[test]
    fn operations_on_two_squares() {
        let (a, b) = (rings(&[&[(0, 0), (10, 0), (10, 10), (0, 10)]]), rings(&[&[(5, 5), (15, 5), (15, 15), (5, 15)]]));
        for (keep, expected) in [
            ((|[a, b]: Windings| a != 0 && b != 0) as fn(Windings) -> bool, 25),
            (|[a, b]| a != 0 && b == 0, 75),
            (|[a, b]| a != 0 || b != 0, 175),
        ] {
            let mut out = GridAreas::default();
            arrange(&a, Some(&b), keep, &Effort::unbounded(), &mut out).unwrap();
            assert_eq!((out.len(), doubled_area(&out)), (1, 2 * expected));
        }
    }

    #[test]
    fn winding_and_parity_differ_where_a_ring_covers_itself() {
        let twice = rings(&[&[(0, 0), (10, 0), (10, 10), (0, 10)], &[(2, 2), (4, 2), (4, 4), (2, 4)]]);
        let area = |keep: fn(Windings) -> bool| {
            let mut out = GridAreas::default();
            arrange(&twice, None, keep, &Effort::unbounded(), &mut out).unwrap();
            doubled_area(&out)
        };
        assert_eq!(area(|[w, _]| w != 0), 200);
        assert_eq!(area(|[w, _]| w % 2 != 0), 192);
    }

    #[test]
    fn coordinates_far_out_are_made_coarser_and_stay_on_the_grid() {
        let far = 1i64 << 50;
        let bow_tie = rings(&[&[(-far, -far), (far, far), (far, -far), (-far, far)]]);
        let mut out = GridAreas::default();
        arrange(&bow_tie, None, |[w, _]| w % 2 != 0, &Effort::unbounded(), &mut out).unwrap();
        assert_eq!(out.len(), 2);
        assert_eq!(doubled_area(&out) >> 100, 4);
    }

    #[test]
    fn more_crossings_than_allowed_are_refused() {
        let teeth: Vec<(i64, i64)> = (0..200).map(|i| (i * 10, if i % 2 == 0 { 0 } else { 1000 })).collect();
        let back: Vec<(i64, i64)> = (0..200).map(|i| (if i % 2 == 0 { 2000 } else { -5 }, 1000 - i * 5)).collect();
        let ring: Vec<(i64, i64)> = teeth.into_iter().chain(back).collect();
        let mut out = GridAreas::default();
        let few = Effort { crossings: 100, ..Effort::unbounded() };
        assert_eq!(arrange(&rings(&[&ring]), None, |[w, _]| w % 2 != 0, &few, &mut out), Err(Stop::Entangled));
        assert_eq!(arrange(&rings(&[&ring]), None, |[w, _]| w % 2 != 0, &Effort::unbounded(), &mut out), Ok(()));
        assert!(out.len() > 1_000, "{}", out.len());
    }
}
