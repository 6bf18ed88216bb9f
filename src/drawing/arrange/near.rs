//! Pairs of edges that lie near each other.
//!
//! The plane is cut into strips along the axis on which boxes of edges are shorter, and each strip is swept along the
//! other. That is quick unless many long edges run slantwise side by side (a comb, a hatching), since their upright
//! boxes all overlap: a search that takes more steps than hoped is given up, and the plane is turned until most of them run
//! along an axis. How many steps each way takes is counted then, so a search that would take too long is refused.

use super::super::nest::{Effort, GridPoint};
use super::Stop;

/// A box around an edge: least x and y, greatest x and y.
type Bounds = [i64; 4];

/// So few edges are compared each with each.
const FEW: usize = 24;
/// Fewer edges than this are compared without counting.
const MANY: usize = 2_000;
/// Steps for each edge beyond which another direction is tried.
const STEPS_HOPED: u64 = 32;
/// Steps a search may take for each edge, and for each crossing that may be found.
const STEPS_PER_EDGE: u64 = 128;
const STEPS_PER_CROSSING: u64 = 128;

/// Calls `visit` once for every pair of edges whose boxes, widened by `slack`, overlap. What it finds goes into `found`, which is
/// emptied when the search begins again another way.
///
/// # Errors
/// [`Stop::Entangled`] when that would take too long, an interrupt, or what `visit` returned.
pub(crate) fn near_pairs<F: Default>(
    count: usize,
    ends: impl Fn(usize) -> (GridPoint, GridPoint),
    slack: i64,
    effort: &Effort<'_>,
    found: &mut F,
    mut visit: impl FnMut(&mut F, usize, usize) -> Result<(), Stop>,
) -> Result<(), Stop> {
    let upright = |index: usize| {
        let (a, b) = ends(index);
        [
            a.x.min(b.x).saturating_sub(slack),
            a.y.min(b.y).saturating_sub(slack),
            a.x.max(b.x).saturating_add(slack),
            a.y.max(b.y).saturating_add(slack),
        ]
    };
    if count <= FEW {
        let mut boxes = [[0; 4]; FEW];
        for (index, bounds) in boxes.iter_mut().enumerate().take(count) {
            *bounds = upright(index);
        }
        effort.steps(count)?;
        for one in 0..count {
            for other in one + 1..count {
                if overlap(&boxes[one], &boxes[other]) {
                    visit(found, one, other)?;
                }
            }
        }
        return Ok(());
    }
    effort.steps(count)?;
    let mut strips = Strips::new((0..count).map(upright).collect(), effort)?;
    let hoped = if count > MANY { STEPS_HOPED * count as u64 } else { u64::MAX };
    if strips.visit(hoped, effort, found, &mut visit)? {
        return Ok(());
    }
    *found = F::default();
    let allowed = STEPS_PER_EDGE * count as u64 + STEPS_PER_CROSSING.saturating_mul(effort.crossings);
    let mut steps = strips.steps(allowed, effort)?;
    let (cos, sin) = prevailing_direction((0..count).map(&ends));
    let turned = Strips::new((0..count).map(|index| turned(ends(index), cos, sin, slack)).collect(), effort)?;
    let turned_steps = turned.steps(allowed, effort)?;
    if turned_steps < steps {
        (strips, steps) = (turned, turned_steps);
    }
    if steps > allowed {
        return Err(Stop::Entangled);
    }
    strips.visit(u64::MAX, effort, found, &mut visit)?;
    Ok(())
}

fn overlap(a: &Bounds, b: &Bounds) -> bool {
    a[0] <= b[2] && b[0] <= a[2] && a[1] <= b[3] && b[1] <= a[3]
}

/// The box of an edge in axes turned so that (cos, sin) runs along x; widened by what rounding may take away.
fn turned((a, b): (GridPoint, GridPoint), cos: f64, sin: f64, slack: i64) -> Bounds {
    let place = |p: GridPoint| {
        let (x, y) = (p.x as f64, p.y as f64);
        (x * cos + y * sin, y * cos - x * sin)
    };
    let ((ax, ay), (bx, by)) = (place(a), place(b));
    let error = (ax.abs() + ay.abs() + bx.abs() + by.abs()) * 1e-15 + slack as f64 * std::f64::consts::SQRT_2 + 1.0;
    [
        (ax.min(bx) - error).floor() as i64,
        (ay.min(by) - error).floor() as i64,
        (ax.max(bx) + error).ceil() as i64,
        (ay.max(by) + error).ceil() as i64,
    ]
}

/// Cosine and sine of the direction in which the greatest length runs, to two degrees and the mean within them.
fn prevailing_direction(edges: impl Iterator<Item = (GridPoint, GridPoint)>) -> (f64, f64) {
    const BINS: usize = 90;
    // Angles are doubled: there and back is one direction.
    let mut bins = [(0.0f64, 0.0f64, 0.0f64); BINS];
    for (a, b) in edges {
        let (dx, dy) = ((b.x as f64) - (a.x as f64), (b.y as f64) - (a.y as f64));
        let length = dx.hypot(dy);
        if length > 0.0 {
            let (cos, sin) = ((dx * dx - dy * dy) / length, 2.0 * dx * dy / length);
            let turn = sin.atan2(cos) / std::f64::consts::TAU + 0.5;
            let bin = &mut bins[((turn * BINS as f64) as usize).min(BINS - 1)];
            *bin = (bin.0 + length, bin.1 + cos, bin.2 + sin);
        }
    }
    let around = |middle: usize| {
        [middle + BINS - 1, middle, middle + 1]
            .map(|bin| bins[bin % BINS])
            .into_iter()
            .fold((0.0, 0.0, 0.0), |sum, bin| (sum.0 + bin.0, sum.1 + bin.1, sum.2 + bin.2))
    };
    let best = (0..BINS).max_by(|one, other| around(*one).0.total_cmp(&around(*other).0)).unwrap_or(0);
    let (_, cos, sin) = around(best);
    let angle = sin.atan2(cos) / 2.0;
    (angle.cos(), angle.sin())
}

/// Boxes sorted into strips.
struct Strips {
    boxes: Vec<Bounds>,
    strip_axis: usize,
    from: i64,
    size: f64,
    starts: Vec<u32>,
    /// Boxes strip by strip, each strip in the order of the sweep.
    members: Vec<u32>,
}

impl Strips {
    fn new(boxes: Vec<Bounds>, effort: &Effort<'_>) -> Result<Self, Stop> {
        let mut whole = boxes.first().copied().unwrap_or([0; 4]);
        let (mut wide, mut tall) = (0.0f64, 0.0f64);
        for b in &boxes {
            whole = [whole[0].min(b[0]), whole[1].min(b[1]), whole[2].max(b[2]), whole[3].max(b[3])];
            wide += b[2] as f64 - b[0] as f64;
            tall += b[3] as f64 - b[1] as f64;
        }
        // Average number of boxes over a line across each axis.
        let extent = |low: i64, high: i64| (high as f64 - low as f64).max(1.0);
        let over = [wide / extent(whole[0], whole[2]), tall / extent(whole[1], whole[3])];
        let strip_axis = usize::from(over[1] < over[0]);
        let count = boxes.len();
        let strips = ((4.0 * count as f64 / over[strip_axis].max(1.0)) as usize).clamp(1, count.max(1));
        let size = extent(whole[strip_axis], whole[strip_axis + 2]) + 1.0;
        let mut sorted =
            Self { boxes, strip_axis, from: whole[strip_axis], size, starts: vec![0; strips + 1], members: Vec::new() };
        effort.steps(2 * count + strips)?;
        let mut order: Vec<u32> = (0..count as u32).collect();
        order.sort_unstable_by_key(|index| sorted.boxes[*index as usize][1 - strip_axis]);
        for index in 0..count {
            let (first, last) = sorted.span(index);
            for strip in first..=last {
                sorted.starts[strip + 1] += 1;
            }
        }
        for strip in 0..strips {
            sorted.starts[strip + 1] += sorted.starts[strip];
        }
        let mut filled = sorted.starts.clone();
        let mut members = vec![0u32; sorted.starts.last().copied().unwrap_or(0) as usize];
        effort.steps(members.len())?;
        for index in order {
            let (first, last) = sorted.span(index as usize);
            for strip in first..=last {
                members[filled[strip] as usize] = index;
                filled[strip] += 1;
            }
        }
        sorted.members = members;
        Ok(sorted)
    }

    fn count(&self) -> usize {
        self.starts.len() - 1
    }

    fn strip_of(&self, at: i64) -> usize {
        let place = (at as f64 - self.from as f64) / self.size * self.count() as f64;
        (place as usize).min(self.count() - 1)
    }

    fn span(&self, index: usize) -> (usize, usize) {
        let b = &self.boxes[index];
        (self.strip_of(b[self.strip_axis]), self.strip_of(b[self.strip_axis + 2]))
    }

    fn members_of(&self, strip: usize) -> &[u32] {
        &self.members[self.starts[strip] as usize..self.starts[strip + 1] as usize]
    }

    /// How many pairs a visit compares; counts no further than a little beyond `enough`.
    fn steps(&self, enough: u64, effort: &Effort<'_>) -> Result<u64, Stop> {
        let sweep_axis = 1 - self.strip_axis;
        let mut steps = 0u64;
        for strip in 0..self.count() {
            let members = self.members_of(strip);
            effort.steps(4 * members.len())?;
            for (place, &one) in members.iter().enumerate() {
                let end = self.boxes[one as usize][sweep_axis + 2];
                let rest = &members[place + 1..];
                steps += rest.partition_point(|other| self.boxes[*other as usize][sweep_axis] <= end) as u64;
            }
            if steps > enough {
                break;
            }
        }
        Ok(steps)
    }

    /// Compares all pairs, or gives up with `false` after `enough` steps.
    fn visit<F>(
        &self,
        enough: u64,
        effort: &Effort<'_>,
        found: &mut F,
        visit: &mut impl FnMut(&mut F, usize, usize) -> Result<(), Stop>,
    ) -> Result<bool, Stop> {
        let sweep_axis = 1 - self.strip_axis;
        let mut steps = 0u64;
        for strip in 0..self.count() {
            let members = self.members_of(strip);
            for (place, &one) in members.iter().enumerate() {
                let a = &self.boxes[one as usize];
                let mut looked = 1;
                for &other in &members[place + 1..] {
                    let b = &self.boxes[other as usize];
                    if b[sweep_axis] > a[sweep_axis + 2] {
                        break;
                    }
                    looked += 1;
                    // A pair that shares several strips is seen in the first of them.
                    if overlap(a, b) && strip == self.strip_of(a[self.strip_axis].max(b[self.strip_axis])) {
                        visit(found, one as usize, other as usize)?;
                    }
                }
                effort.steps(looked)?;
                steps += looked as u64 - 1;
                if steps > enough {
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point(x: i64, y: i64) -> GridPoint {
        GridPoint { x, y }
    }

    #[test]
    fn pairs_are_found_once_whatever_the_strips() {
        // A lattice of long thin boxes: every horizontal one meets every vertical one.
        let mut edges = Vec::new();
        for index in 0..60i64 {
            edges.push((point(0, 10 * index), point(1000, 10 * index + 1)));
            edges.push((point(10 * index, 0), point(10 * index + 1, 1000)));
        }
        let mut seen = std::collections::HashSet::new();
        let visit = |_: &mut (), one: usize, other: usize| {
            assert!(seen.insert((one.min(other), one.max(other))));
            Ok(())
        };
        assert_eq!(near_pairs(edges.len(), |index| edges[index], 0, &Effort::unbounded(), &mut (), visit), Ok(()));
        assert_eq!(seen.len(), 3600);
    }

    #[test]
    fn slanting_edges_side_by_side_are_looked_at_along_their_direction() {
        // 40,000 long parallels: by upright boxes each is near each, 800 million pairs.
        let count = 40_000;
        let edges = |index: usize| {
            let shift = 50 * index as i64;
            (point(3_000_000 - shift, 4 * shift / 3), point(3_000_000_000 - shift, 4_000_000_000 + 4 * shift / 3))
        };
        let effort = Effort { crossings: 1_000, ..Effort::unbounded() };
        let mut pairs = 0;
        let visit = |pairs: &mut usize, _, _| {
            *pairs += 1;
            Ok(())
        };
        assert_eq!(near_pairs(count, edges, 1, &effort, &mut pairs, visit), Ok(()));
        assert!(pairs < 10 * count, "{pairs}");
    }

    #[test]
    fn a_search_that_would_take_too_long_is_refused_soon() {
        // A star: every edge through the middle.
        let edges = |index: usize| {
            let angle = index as f64 / 20_000.0 * std::f64::consts::PI;
            let (x, y) = ((1e9 * angle.cos()) as i64, (1e9 * angle.sin()) as i64);
            (point(x, y), point(-x, -y))
        };
        let effort = Effort { crossings: 1_000, ..Effort::unbounded() };
        let mut visited = 0;
        let visit = |_: &mut (), _, _| {
            visited += 1;
            Ok(())
        };
        assert_eq!(near_pairs(20_000, edges, 1, &effort, &mut (), visit), Err(Stop::Entangled));
        assert!(visited <= 20_000 * (STEPS_HOPED + 1), "{visited}");
    }
}
