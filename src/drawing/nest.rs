//! Rings → valid MultiPolygons, exactly, on an integer grid.
//!
//! Coordinates are rounded to the grid *before* anything is decided, so what is valid here is valid in the output
//! and in the topology hash, to the last digit. Rings nest by the even-odd rule: a ring in a hole is a part of its
//! own, rings beside each other are parts. Most input is a few rings that do not meet, which one sweep proves;
//! everything else (bow ties, rings that cross, touch or repeat an edge) is arranged anew. The result follows RFC 7946 and OGC: shells counter-clockwise, holes clockwise, no crossings,
//! connected interiors, rings that touch at points only.

use std::cmp::Ordering;

use super::Point;
use super::arrange::{Stop, arrange, near_pairs};
use super::way::{Way, Wide, are_near, signed_area, turn};
use crate::format::{Interrupt, Pace};

/// A point on the grid.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct GridPoint {
    /// To the right, grid steps.
    pub x: i64,
    /// Upward, grid steps.
    pub y: i64,
}

impl GridPoint {
    /// The nearest grid point, for `steps` grid steps in one unit of `point`; halves go away from zero.
    pub fn nearest(point: Point, steps: f64) -> Self {
        Self { x: nearest(point.x * steps), y: nearest(point.y * steps) }
    }
}

/// Rounds halves away from zero; beyond 2⁶² it saturates, so that products of two differences fit into 128 bits.
pub(crate) fn nearest(value: f64) -> i64 {
    const END: f64 = (1u64 << 62) as f64;
    (value + 0.5f64.copysign(value)).clamp(-END, END) as i64
}

/// Rings, one after the other; the first point of a ring is not repeated.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct GridRings {
    points: Vec<GridPoint>,
    ends: Vec<u32>,
}

impl GridRings {
    /// Empties it and keeps the memory.
    pub fn clear(&mut self) {
        self.points.clear();
        self.ends.clear();
    }

    /// Adds a ring without repeated points. Gives whether three are left; otherwise nothing is added.
    pub fn push(&mut self, ring: impl Iterator<Item = GridPoint>) -> bool {
        let start = self.points.len();
        for point in ring {
            if self.points.len() == start || self.points.last() != Some(&point) {
                self.points.push(point);
            }
        }
        while self.points.len() > start + 1 && self.points.last() == self.points.get(start) {
            self.points.pop();
        }
        if self.points.len() < start + 3 {
            self.points.truncate(start);
            return false;
        }
        self.ends.push(self.points.len() as u32);
        true
    }

    /// Number of rings.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// The rings.
    pub fn iter(&self) -> impl Iterator<Item = &[GridPoint]> {
        runs(&self.points, &self.ends)
    }

    fn ring(&self, index: usize) -> &[GridPoint] {
        let start = if index == 0 { 0 } else { self.ends[index - 1] };
        &self.points[start as usize..self.ends[index] as usize]
    }
}

/// Polygons: shells counter-clockwise, each followed by its holes, clockwise; first points are not repeated.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct GridAreas {
    points: Vec<GridPoint>,
    rings: Vec<u32>,
    polygons: Vec<u32>,
}

impl GridAreas {
    /// Empties it and keeps the memory.
    pub fn clear(&mut self) {
        self.points.clear();
        self.rings.clear();
        self.polygons.clear();
    }

    /// Whether there are no polygons.
    pub fn is_empty(&self) -> bool {
        self.polygons.is_empty()
    }

    /// Number of polygons.
    pub fn len(&self) -> usize {
        self.polygons.len()
    }

    /// All points.
    pub fn points(&self) -> &[GridPoint] {
        &self.points
    }

    /// The polygons, each as its rings, shell first.
    pub fn iter(&self) -> impl Iterator<Item = impl Iterator<Item = &[GridPoint]>> {
        let mut start = 0usize;
        self.polygons.iter().map(move |end| {
            let from = std::mem::replace(&mut start, *end as usize);
            (from..*end as usize).map(|index| self.ring(index))
        })
    }

    fn ring(&self, index: usize) -> &[GridPoint] {
        let start = if index == 0 { 0 } else { self.rings[index - 1] };
        &self.points[start as usize..self.rings[index] as usize]
    }

    pub(super) fn push_ring(&mut self, ring: &[GridPoint], reversed: bool) {
        if reversed {
            // The drawn start stays the start.
            self.points.extend(ring.iter().take(1));
            self.points.extend(ring.iter().skip(1).rev());
        } else {
            self.points.extend_from_slice(ring);
        }
        self.rings.push(self.points.len() as u32);
    }

    pub(super) fn end_polygon(&mut self) {
        self.polygons.push(self.rings.len() as u32);
    }
}

fn runs<'a>(points: &'a [GridPoint], ends: &'a [u32]) -> impl Iterator<Item = &'a [GridPoint]> {
    let mut start = 0usize;
    ends.iter().map(move |end| {
        let from = std::mem::replace(&mut start, *end as usize);
        points.get(from..*end as usize).unwrap_or(&[])
    })
}

/// What may be spent on one shape, and when to look whether to go on.
#[derive(Debug)]
pub struct Effort<'a> {
    /// Work is counted here.
    pub pace: Pace<'a>,
    /// Crossings that are resolved within one area: `limits.crossings`.
    pub crossings: u64,
}

impl Effort<'static> {
    /// Any effort.
    pub fn unbounded() -> Self {
        Self { pace: Pace::free(), crossings: u64::from(u32::MAX) }
    }
}

impl Effort<'_> {
    #[inline]
    pub(crate) fn step(&self) -> Result<(), Interrupt> {
        self.pace.step()
    }

    #[inline]
    pub(crate) fn steps(&self, steps: usize) -> Result<(), Interrupt> {
        self.pace.steps(steps)
    }
}

/// How rings lie to each other, gravest last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Meeting {
    Apart,
    /// They share points, or different rings share parts of edges.
    Touch,
    /// Edges cross, or a ring runs along itself.
    Cross,
}

/// What became of the rings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Outcome {
    /// Rings crossed themselves or each other, and the area was noded anew.
    pub repaired: bool,
    /// The rings are too entangled to be resolved within the budget; nothing was made.
    pub entangled: bool,
}

/// Nests rings; keeps its working memory.
#[derive(Default)]
pub struct Nester {
    /// By point of all rings: the one that follows it on its ring.
    next: Vec<u32>,
    order: Vec<u32>,
    areas: Vec<i128>,
    parents: Vec<Option<u32>>,
    depths: Vec<u32>,
}

/// Rings up to this number are nested by looking at pairs.
const MAX_PAIRED_RINGS: usize = 2_000;

impl Nester {
    /// Turns the even-odd area of `rings` into polygons in `out`, which is emptied first. It stays empty if the
    /// rings enclose nothing.
    ///
    /// # Errors
    /// [`Interrupt`] of the effort's checkpoint.
    pub fn nest(&mut self, rings: &GridRings, effort: &Effort<'_>, out: &mut GridAreas) -> Result<Outcome, Interrupt> {
        out.clear();
        if rings.is_empty() {
            return Ok(Outcome::default());
        }
        if take_convex(rings, out) {
            return Ok(Outcome::default());
        }
        match self.meeting(rings, effort)? {
            Some(Meeting::Apart) if rings.len() <= MAX_PAIRED_RINGS => {
                self.nest_apart(rings, effort, out)?;
                Ok(Outcome::default())
            }
            meeting => match arrange(rings, None, |[winding, _]| winding % 2 != 0, effort, out) {
                Ok(()) => Ok(Outcome { repaired: meeting == Some(Meeting::Cross), entangled: false }),
                Err(Stop::Entangled) => {
                    out.clear();
                    Ok(Outcome { repaired: false, entangled: true })
                }
                Err(Stop::Interrupted(interrupt)) => Err(interrupt),
            },
        }
    }

    /// Turns rings into polygons as they stand, if none of them meets or retraces itself or another. Otherwise it gives `false`
    /// and `out` is empty.
    ///
    /// # Errors
    /// [`Interrupt`] of the effort's checkpoint.
    pub fn nest_if_apart(
        &mut self,
        rings: &GridRings,
        effort: &Effort<'_>,
        out: &mut GridAreas,
    ) -> Result<bool, Interrupt> {
        out.clear();
        if take_convex(rings, out) {
            return Ok(true);
        }
        if rings.is_empty() || self.meeting(rings, effort)? != Some(Meeting::Apart) {
            return Ok(false);
        }
        if rings.len() > MAX_PAIRED_RINGS {
            return self.nest(rings, effort, out).map(|outcome| !outcome.entangled);
        }
        self.nest_apart(rings, effort, out)?;
        Ok(true)
    }

    /// Rings that do not meet: each lies wholly inside or outside each other.
    fn nest_apart(&mut self, rings: &GridRings, effort: &Effort<'_>, out: &mut GridAreas) -> Result<(), Interrupt> {
        let count = rings.len();
        self.areas.clear();
        self.areas.extend((0..count).map(|index| signed_area(rings.ring(index))));
        if count == 1 {
            out.push_ring(rings.ring(0), self.areas[0] < 0);
            out.end_polygon();
            return Ok(());
        }
        let boxes: Vec<[i64; 4]> = (0..count).map(|index| bounds(rings.ring(index))).collect();
        self.order.clear();
        self.order.extend(0..count as u32);
        let areas = &self.areas;
        self.order.sort_by_key(|index| (std::cmp::Reverse(areas[*index as usize].unsigned_abs()), *index));
        self.parents.clear();
        self.parents.resize(count, None);
        self.depths.clear();
        self.depths.resize(count, 0);
        for place in 0..count {
            let inner = self.order[place] as usize;
            let probe = rings.ring(inner)[0];
            // The smallest of the larger rings around it is the one directly around it.
            effort.steps(place)?;
            let mut looked = 0;
            let around = self.order[..place].iter().rev().copied().find(|outer| {
                let [x0, y0, x1, y1] = boxes[*outer as usize];
                probe.x > x0 && probe.x < x1 && probe.y > y0 && probe.y < y1 && {
                    let ring = rings.ring(*outer as usize);
                    looked += ring.len();
                    contains(ring, probe)
                }
            });
            effort.steps(looked)?;
            self.parents[inner] = around;
            self.depths[inner] = around.map_or(0, |outer| self.depths[outer as usize] + 1);
        }
        // Holes are gathered by shell in the order they were drawn.
        self.order.clear();
        self.order.extend((0..count as u32).filter(|index| self.depths[*index as usize] % 2 == 1));
        let parents = &self.parents;
        self.order.sort_by_key(|index| (parents[*index as usize], *index));
        for shell in 0..count {
            if self.depths[shell] % 2 == 1 {
                continue;
            }
            out.push_ring(rings.ring(shell), self.areas[shell] < 0);
            let holes_from = self.order.partition_point(|index| parents[*index as usize] < Some(shell as u32));
            for hole in &self.order[holes_from..] {
                if parents[*hole as usize] != Some(shell as u32) {
                    break;
                }
                out.push_ring(rings.ring(*hole as usize), self.areas[*hole as usize] > 0);
            }
            out.end_polygon();
        }
        Ok(())
    }

    /// How the rings meet; `None` if that would take too long to tell.
    fn meeting(&mut self, rings: &GridRings, effort: &Effort<'_>) -> Result<Option<Meeting>, Interrupt> {
        self.next.clear();
        effort.steps(rings.points.len())?;
        for ring in rings.iter() {
            let Some(&(mut before)) = ring.last() else { continue };
            let start = self.next.len() as u32;
            for (index, &a) in ring.iter().enumerate() {
                let b = ring[(index + 1) % ring.len()];
                if turn(before, a, b) == Ordering::Equal && Way::<i128>::new(before, a).goes_back(Way::new(a, b)) {
                    return Ok(Some(Meeting::Cross));
                }
                self.next.push(start + ((index + 1) % ring.len()) as u32);
                before = a;
            }
        }
        let (points, next) = (&rings.points, &self.next);
        let mut worst = Meeting::Apart;
        let ends = |edge: usize| (points[edge], points[next[edge] as usize]);
        let visited = near_pairs(points.len(), ends, 0, effort, &mut (), |(), one, other| {
            if next[one] as usize == other || next[other] as usize == one {
                return Ok(());
            }
            let same_ring = || {
                let (first, last) = (one.min(other) as u32, one.max(other) as u32);
                let ring = rings.ends.partition_point(|end| *end <= first);
                rings.ends.get(ring).is_some_and(|end| last < *end)
            };
            worst = worst.max(meeting_of(ends(one), ends(other), same_ring));
            // Nothing is graver, so the rest need not be looked at.
            if worst == Meeting::Cross { Err(Stop::Entangled) } else { Ok(()) }
        });
        match visited {
            Ok(()) => Ok(Some(worst)),
            Err(Stop::Entangled) if worst == Meeting::Cross => Ok(Some(worst)),
            Err(Stop::Entangled) => Ok(None),
            Err(Stop::Interrupted(interrupt)) => Err(interrupt),
        }
    }
}

fn meeting_of((a, b): (GridPoint, GridPoint), (c, d): (GridPoint, GridPoint), same_ring: impl Fn() -> bool) -> Meeting {
    let (to_c, to_d) = (turn(a, b, c) as i8, turn(a, b, d) as i8);
    if to_c * to_d > 0 {
        return Meeting::Apart;
    }
    let (to_a, to_b) = (turn(c, d, a) as i8, turn(c, d, b) as i8);
    if to_a * to_b > 0 {
        return Meeting::Apart;
    }
    if to_c * to_d < 0 && to_a * to_b < 0 {
        return Meeting::Cross;
    }
    if to_c == 0 && to_d == 0 {
        // On one line: compare along the axis on which it is longer.
        let along_x = (b.x - a.x).abs() >= (b.y - a.y).abs();
        let key = |p: GridPoint| if along_x { p.x } else { p.y };
        let (low, high) = (key(a).min(key(b)).max(key(c).min(key(d))), key(a).max(key(b)).min(key(c).max(key(d))));
        return match low.cmp(&high) {
            Ordering::Greater => Meeting::Apart,
            Ordering::Equal => Meeting::Touch,
            Ordering::Less if same_ring() => Meeting::Cross,
            Ordering::Less => Meeting::Touch,
        };
    }
    Meeting::Touch
}

fn bounds(points: &[GridPoint]) -> [i64; 4] {
    points.iter().fold([i64::MAX, i64::MAX, i64::MIN, i64::MIN], |[x0, y0, x1, y1], p| {
        [x0.min(p.x), y0.min(p.y), x1.max(p.x), y1.max(p.y)]
    })
}

/// Puts the one convex ring there is, the usual case, which needs no search for crossings.
fn take_convex(rings: &GridRings, out: &mut GridAreas) -> bool {
    if rings.len() != 1 {
        return false;
    }
    let ring = rings.ring(0);
    let turn = if are_near(ring) { convex_turn::<i64>(ring) } else { convex_turn::<i128>(ring) };
    let Some(turn) = turn else { return false };
    out.push_ring(ring, turn == Ordering::Less);
    out.end_polygon();
    true
}

/// The side to which the ring turns, greater for counter-clockwise, if it is one side only and the ring goes round once.
fn convex_turn<N: Wide>(ring: &[GridPoint]) -> Option<Ordering> {
    let [.., before_last, last] = *ring else { return None };
    let (mut turned, mut flips, mut before) = (Ordering::Equal, 0u32, Ordering::Equal);
    let (mut b, mut u) = (last, Way::<N>::new(before_last, last));
    for &c in ring {
        let v = Way::new(b, c);
        match u.turn(v) {
            Ordering::Equal if u.goes_back(v) => return None,
            Ordering::Equal => {}
            turn if turned != Ordering::Equal && turn != turned => return None,
            turn => turned = turn,
        }
        let direction = u.x.cmp(&N::default());
        if direction != Ordering::Equal {
            flips += u32::from(before != Ordering::Equal && direction != before);
            before = direction;
        }
        (b, u) = (c, v);
    }
    (turned != Ordering::Equal && flips <= 2).then_some(turned)
}

/// Whether `point` lies in `ring`; it must not lie on it.
fn contains(ring: &[GridPoint], point: GridPoint) -> bool {
    let mut inside = false;
    let Some(&(mut before)) = ring.last() else { return false };
    for &after in ring {
        if (before.y > point.y) != (after.y > point.y) {
            let left = turn(before, after, point) == Ordering::Greater;
            inside ^= left == (after.y > before.y);
        }
        before = after;
    }
    inside
}
