//! Walls by length: samples of one side's lines against the other side's walls.

use geo::{Contains, Polygon};
use rstar::{PointDistance, RTree, primitives::GeomWithData, primitives::Line as Segment};

use super::Tolerances;
use super::scene::{Opening, Point, Scene};
use super::score::Score;

/// Distance between samples, metres.
const STEP_M: f64 = 0.1;
/// Samples of one side at most (40 km of wall at the usual distance); longer walls are sampled more coarsely, so
/// that a plan read in a unit a thousand times too long costs no more than others.
const MAX_SAMPLES: f64 = 400_000.0;

type Index = RTree<GeomWithData<Segment<[f64; 2]>, usize>>;

/// One side's walls, ready to be asked for the nearest.
struct Walls<'a> {
    lines: Index,
    areas: &'a [Polygon<f64>],
    /// Which area each indexed segment bounds; `usize::MAX` for middle lines.
    by_area: bool,
}

impl<'a> Walls<'a> {
    fn of(scene: &'a Scene) -> Self {
        let by_area = scene.wall_lines.is_empty();
        let mut segments = Vec::new();
        let mut push = |a: &Point, b: &Point, owner: usize| {
            segments.push(GeomWithData::new(Segment::new([a.x, a.y], [b.x, b.y]), owner));
        };
        if by_area {
            for (index, area) in scene.wall_areas.iter().enumerate() {
                for ring in std::iter::once(area.exterior()).chain(area.interiors()) {
                    ring.0.windows(2).for_each(|pair| push(&pair[0], &pair[1], index));
                }
            }
        } else {
            for line in &scene.wall_lines {
                line.windows(2).for_each(|pair| push(&pair[0], &pair[1], usize::MAX));
            }
        }
        Self { lines: RTree::bulk_load(segments), areas: &scene.wall_areas, by_area }
    }

    fn within(&self, at: Point, reach: f64) -> bool {
        let Some(nearest) = self.lines.nearest_neighbor([at.x, at.y]) else { return false };
        let near = nearest.geom().distance_2(&[at.x, at.y]) <= reach * reach;
        near || (self.by_area && self.areas.iter().any(|area| area.contains(&at)))
    }
}

/// Lines to sample: middle lines, or the boundaries of bodies where there are none.
fn sampled(scene: &Scene) -> Vec<(Point, f64)> {
    let mut samples = Vec::new();
    let span = |pair: &[Point]| (pair[1].x - pair[0].x).hypot(pair[1].y - pair[0].y);
    let lines = scene.wall_lines.iter().map(Vec::as_slice);
    let rings = scene.wall_areas.iter().flat_map(|area| std::iter::once(area.exterior()).chain(area.interiors()));
    let total: f64 = if scene.wall_lines.is_empty() {
        rings.flat_map(|ring| ring.0.windows(2)).map(span).sum()
    } else {
        lines.flat_map(|line| line.windows(2)).map(span).sum()
    };
    let step = STEP_M.max(total / MAX_SAMPLES);
    let mut along = |line: &[Point], weight: f64| {
        for pair in line.windows(2) {
            let span = pair[1] - pair[0];
            let length = span.x.hypot(span.y);
            let count = (length / step).ceil().max(1.0);
            for index in 0..count as usize {
                samples.push((pair[0] + span * ((index as f64 + 0.5) / count), weight * length / count));
            }
        }
    };
    if scene.wall_lines.is_empty() {
        for area in &scene.wall_areas {
            // Both long sides of a wall body stand for one wall.
            std::iter::once(area.exterior()).chain(area.interiors()).for_each(|ring| along(&ring.0, 0.5));
        }
    } else {
        scene.wall_lines.iter().for_each(|line| along(line, 1.0));
    }
    samples
}

pub(super) fn compare(truth: &Scene, predicted: &Scene, tolerances: &Tolerances, score: &mut Score) {
    let gaps = Gaps::of(&truth.openings);
    for (from, to, forth) in [(truth, predicted, true), (predicted, truth, false)] {
        let walls = Walls::of(to);
        // Bodies lie up to half a thickness beside middle lines.
        let reach = tolerances.wall_m + if from.wall_lines.is_empty() != to.wall_lines.is_empty() { 0.25 } else { 0.0 };
        for (at, length) in sampled(from) {
            if gaps.contain(at) {
                continue;
            }
            let near = if walls.within(at, reach) { length } else { 0.0 };
            let tally = &mut score.walls;
            if forth {
                tally.truth += length;
                tally.found += near;
            } else {
                tally.predicted += length;
                tally.right += near;
            }
        }
    }
}

/// Stretches of wall that openings take: walls may run through them or stop.
struct Gaps(RTree<GeomWithData<Segment<[f64; 2]>, usize>>);

impl Gaps {
    fn of(openings: &[Opening]) -> Self {
        let segment = |(index, opening): (usize, &Opening)| {
            let [a, b] = opening.line;
            GeomWithData::new(Segment::new([a.x, a.y], [b.x, b.y]), index)
        };
        Self(RTree::bulk_load(openings.iter().enumerate().map(segment).collect()))
    }

    fn contain(&self, at: Point) -> bool {
        let nearest = self.0.nearest_neighbor([at.x, at.y]);
        nearest.is_some_and(|nearest| nearest.geom().distance_2(&[at.x, at.y]) < 0.3 * 0.3)
    }
}
