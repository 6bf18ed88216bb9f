//! The integer grid that topology is computed on, and a cell index of segments over it.
//!
//! All noding and face tracing works on integers, so that orientation tests are exact and results do not depend on
//! the order of operations. A [`Frame`] maps metres to grid points: one step is 0.1 mm for a plan of ordinary size
//! (less for tiny drawings, more where 2³⁰ steps would not span the drawing). Coordinates stay within ±2³⁰, so a
//! cross product of two differences fits an `i64`.
//!
//! [`SegmentIndex`] is a uniform grid in compressed rows: built in two passes, about two entries a segment, no tree. Its
//! cells are as wide and as high as segments are on average, and span where nearly all segments lie: what lies far
//! away goes into the cells at the rim, so that one stray point does not make all cells too large.

use crate::drawing::Point;

/// A point on the grid, steps from the frame's origin.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct GridPoint {
    /// To the right.
    pub x: i32,
    /// Upward.
    pub y: i32,
}

impl GridPoint {
    /// `other - self`.
    #[inline]
    pub fn to(self, other: GridPoint) -> (i64, i64) {
        (i64::from(other.x) - i64::from(self.x), i64::from(other.y) - i64::from(self.y))
    }

    /// Squared distance.
    #[inline]
    pub fn distance_squared(self, other: GridPoint) -> i64 {
        let (dx, dy) = self.to(other);
        dx * dx + dy * dy
    }
}

/// Twice the signed area of a triangle: positive if `c` lies to the left of `a → b`.
#[inline]
pub fn orientation(a: GridPoint, b: GridPoint, c: GridPoint) -> i64 {
    let (abx, aby) = a.to(b);
    let (acx, acy) = a.to(c);
    abx * acy - aby * acx
}

/// Maps metres to grid points and back.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Frame {
    origin: Point,
    step: f64,
}

impl Frame {
    /// Step of a plan of ordinary size, metres.
    pub const STEP_M: f64 = 1e-4;
    const REACH: f64 = (1u32 << 29) as f64;

    /// A frame that holds `points`, with steps of `step` metres, or the next power of ten that spans them.
    /// The origin is a multiple of the step, so equal drawings get equal grid points.
    pub fn holding(points: impl Iterator<Item = Point>, step: f64) -> Self {
        let mut low = Point::new(f64::INFINITY, f64::INFINITY);
        let mut high = Point::new(f64::NEG_INFINITY, f64::NEG_INFINITY);
        for point in points {
            low = Point::new(low.x.min(point.x), low.y.min(point.y));
            high = Point::new(high.x.max(point.x), high.y.max(point.y));
        }
        if !(low.x <= high.x && low.y <= high.y) {
            return Self { origin: Point::ZERO, step };
        }
        let mut step = step;
        while (high.x - low.x).max(high.y - low.y) / step > Self::REACH {
            step *= 10.0;
        }
        let middle = low.midpoint(high);
        let snap = |value: f64| (value / step).round() * step;
        Self { origin: Point::new(snap(middle.x), snap(middle.y)), step }
    }

    /// Metres in a step.
    pub fn step(&self) -> f64 {
        self.step
    }

    /// The nearest grid point; far outside points are held at the rim.
    #[inline]
    pub fn grid(&self, point: Point) -> GridPoint {
        let limit = f64::from(1u32 << 30);
        let axis = |value: f64, origin: f64| ((value - origin) / self.step).round().clamp(-limit, limit) as i32;
        GridPoint { x: axis(point.x, self.origin.x), y: axis(point.y, self.origin.y) }
    }

    /// The point in metres.
    #[inline]
    pub fn metres(&self, point: GridPoint) -> Point {
        Point::new(self.origin.x + f64::from(point.x) * self.step, self.origin.y + f64::from(point.y) * self.step)
    }

    /// A length in steps.
    pub fn steps(&self, metres: f64) -> f64 {
        metres / self.step
    }
}

/// A uniform grid over segments in compressed rows.
#[derive(Debug, Clone)]
pub struct SegmentIndex {
    low: (i64, i64),
    /// Width and height of a cell.
    cell: (i64, i64),
    columns: i64,
    rows: i64,
    starts: Vec<u32>,
    entries: Vec<u32>,
}

impl SegmentIndex {
    /// Indexes `count` segments; `segment(i)` gives their ends.
    pub fn build(count: usize, segment: impl Fn(usize) -> (GridPoint, GridPoint)) -> Self {
        if count == 0 {
            let starts = vec![0, 0];
            return Self { low: (0, 0), cell: (1, 1), columns: 1, rows: 1, starts, entries: Vec::new() };
        }
        let (low_x, high_x) = window(count, |index| {
            let (a, b) = segment(index);
            (i64::from(a.x), i64::from(b.x))
        });
        let (low_y, high_y) = window(count, |index| {
            let (a, b) = segment(index);
            (i64::from(a.y), i64::from(b.y))
        });
        let (mut across, mut upward) = (0.0, 0.0);
        for index in 0..count {
            let (a, b) = segment(index);
            let part = |p: i32, q: i32, low: i64, high: i64| {
                (i64::from(p).clamp(low, high) - i64::from(q).clamp(low, high)).abs() as f64
            };
            across += part(a.x, b.x, low_x, high_x);
            upward += part(a.y, b.y, low_y, high_y);
        }
        // Twice the mean extent, and never more cells than four a segment.
        let (width, height) = ((high_x - low_x + 1) as f64, (high_y - low_y + 1) as f64);
        let mean = |sum: f64, extent: f64| (2.0 * sum / count as f64).max(extent / 16_384.0).clamp(1.0, extent);
        let (mut wide, mut high) = (mean(across, width), mean(upward, height));
        let most = 4.0 * count as f64 + 64.0;
        let excess = (width / wide) * (height / high) / most;
        if excess > 1.0 {
            wide = (wide * excess.sqrt()).min(width);
            // Where the width of the plan stopped it, the height makes up for it, and the other way round.
            high = (high * excess.sqrt()).max(height / (most * wide / width)).min(height);
            wide = wide.max(width / (most * high / height)).min(width);
        }
        let cell = (wide.ceil() as i64, high.ceil() as i64);
        let columns = (high_x - low_x) / cell.0 + 1;
        let rows = (high_y - low_y) / cell.1 + 1;
        let starts = vec![0; (columns * rows + 1) as usize];
        let mut index = Self { low: (low_x, low_y), cell, columns, rows, starts, entries: Vec::new() };
        for item in 0..count {
            let (a, b) = segment(item);
            index.for_cells(a, b, |starts, cell| starts[cell + 1] += 1);
        }
        for cell in 0..index.starts.len() - 1 {
            index.starts[cell + 1] += index.starts[cell];
        }
        let mut cursor = index.starts.clone();
        let mut entries = vec![0u32; index.starts.last().copied().unwrap_or(0) as usize];
        for item in 0..count {
            let (a, b) = segment(item);
            index.for_cells(a, b, |_, cell| {
                entries[cursor[cell] as usize] = item as u32;
                cursor[cell] += 1;
            });
        }
        index.entries = entries;
        index
    }

    /// Calls `visit` for every cell the segment touches, with a step of slack. What lies outside the window touches
    /// the nearest cells of its rim.
    fn for_cells(&mut self, a: GridPoint, b: GridPoint, mut visit: impl FnMut(&mut Vec<u32>, usize)) {
        let (a, b) = if a.x <= b.x { (a, b) } else { (b, a) };
        let first = self.column(i64::from(a.x) - 1);
        let last = self.column(i64::from(b.x) + 1);
        let (dx, dy) = a.to(b);
        for column in first..=last {
            let (mut y0, mut y1) = (i64::from(a.y), i64::from(b.y));
            if first != last && dx > 0 {
                let (mut left, mut right) = (i64::from(a.x), i64::from(b.x));
                if column > 0 {
                    left = left.max(self.low.0 + column * self.cell.0 - 1);
                }
                if column + 1 < self.columns {
                    right = right.min(self.low.0 + (column + 1) * self.cell.0 + 1);
                }
                let slope = dy as f64 / dx as f64;
                y0 = i64::from(a.y) + (slope * (left - i64::from(a.x)) as f64).round() as i64;
                y1 = i64::from(a.y) + (slope * (right - i64::from(a.x)) as f64).round() as i64;
            }
            let bottom = self.row(y0.min(y1) - 1);
            let top = self.row(y0.max(y1) + 1);
            for row in bottom..=top {
                let cell = (row * self.columns + column) as usize;
                visit(&mut self.starts, cell);
            }
        }
    }

    #[inline]
    fn column(&self, x: i64) -> i64 {
        ((x - self.low.0).div_euclid(self.cell.0)).clamp(0, self.columns - 1)
    }

    #[inline]
    fn row(&self, y: i64) -> i64 {
        ((y - self.low.1).div_euclid(self.cell.1)).clamp(0, self.rows - 1)
    }

    /// Width and height of a cell, steps.
    pub fn cell(&self) -> (i64, i64) {
        self.cell
    }

    /// Number of cells.
    pub fn num_cells(&self) -> usize {
        (self.columns * self.rows) as usize
    }

    /// Segments that touch a cell, by number; ascending.
    #[inline]
    pub fn in_cell(&self, cell: usize) -> &[u32] {
        &self.entries[self.starts[cell] as usize..self.starts[cell + 1] as usize]
    }

    /// Calls `visit` with segments that may touch the box around `point` with half-width `reach`; a segment may
    /// come more than once.
    #[inline]
    pub fn around(&self, point: GridPoint, reach: i64, mut visit: impl FnMut(u32)) {
        let (x, y) = (i64::from(point.x), i64::from(point.y));
        for row in self.row(y - reach)..=self.row(y + reach) {
            for column in self.column(x - reach)..=self.column(x + reach) {
                for &segment in self.in_cell((row * self.columns + column) as usize) {
                    visit(segment);
                }
            }
        }
    }

    /// How many segments [`around`](Self::around) visits at most.
    pub fn count_around(&self, point: GridPoint, reach: i64) -> usize {
        let [bottom, top, left, right] = self.cells_around(point, reach);
        // The cells of a row follow each other.
        let row = |row: i64| {
            let cell = |column: i64| self.starts[(row * self.columns + column) as usize] as usize;
            cell(right + 1) - cell(left)
        };
        (bottom..=top).map(row).sum()
    }

    /// The rows and columns that [`around`](Self::around) looks at: equal for neighbours that see the same segments.
    #[inline]
    pub fn cells_around(&self, point: GridPoint, reach: i64) -> [i64; 4] {
        let (x, y) = (i64::from(point.x), i64::from(point.y));
        [self.row(y - reach), self.row(y + reach), self.column(x - reach), self.column(x + reach)]
    }

    /// Calls `visit` with segments that may touch the box; a segment may come more than once.
    pub fn in_box(&self, low: GridPoint, high: GridPoint, mut visit: impl FnMut(u32)) {
        for row in self.row(i64::from(low.y))..=self.row(i64::from(high.y)) {
            for column in self.column(i64::from(low.x))..=self.column(i64::from(high.x)) {
                for &segment in self.in_cell((row * self.columns + column) as usize) {
                    visit(segment);
                }
            }
        }
    }

    /// Walks the cells of `point`'s row from its own to the left. `visit` gets the segments of a cell and the x of
    /// its left rim; it ends the walk with `true`.
    pub fn leftward(&self, point: GridPoint, mut visit: impl FnMut(&[u32], i64) -> bool) {
        let row = self.row(i64::from(point.y));
        for column in (0..=self.column(i64::from(point.x))).rev() {
            let cell = (row * self.columns + column) as usize;
            if visit(self.in_cell(cell), self.low.0 + column * self.cell.0) {
                return;
            }
        }
    }
}

/// From where to where nearly all of the ends lie along an axis, if the rest lies far off; else from the first to the last.
fn window(count: usize, ends: impl Fn(usize) -> (i64, i64)) -> (i64, i64) {
    const SAMPLES: usize = 2_048;
    let (mut low, mut high) = (i64::MAX, i64::MIN);
    let mut sample = Vec::with_capacity(2 * SAMPLES + 2);
    let stride = count.div_ceil(SAMPLES);
    for index in 0..count {
        let (a, b) = ends(index);
        (low, high) = (low.min(a).min(b), high.max(a).max(b));
        if index % stride == 0 {
            sample.extend([a, b]);
        }
    }
    sample.sort_unstable();
    let rest = sample.len() / 100;
    let (from, to) = (sample[rest], sample[sample.len() - 1 - rest]);
    let rim = (to - from) / 4;
    if rim > 0 && high - low > 4 * (to - from) { (low.max(from - rim), high.min(to + rim)) } else { (low, high) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frame_is_a_multiple_of_the_step_and_returns_points() {
        let points = [Point::new(500_000.123_45, 5_000_000.0), Point::new(500_100.0, 5_000_050.5)];
        let frame = Frame::holding(points.into_iter(), Frame::STEP_M);
        for point in points {
            assert!(frame.metres(frame.grid(point)).distance(point) <= 0.8e-4);
        }
        let huge = Frame::holding([Point::ZERO, Point::new(1e9, 0.0)].into_iter(), Frame::STEP_M);
        assert!(huge.step() > Frame::STEP_M);
    }

    #[test]
    fn a_stray_segment_far_away_is_found_and_leaves_the_cells_small() {
        let at = |x: i32, y: i32| GridPoint { x, y };
        let mut segments: Vec<_> =
            (0..10_000).map(|i| (at(i % 100 * 10, i / 100 * 10), at(i % 100 * 10 + 9, i / 100 * 10 + 3))).collect();
        let stray = segments.len();
        segments.push((at(900_000_000, -700_000_000), at(900_000_500, -700_000_000)));
        segments.push((at(500, 500), at(-800_000_000, 600_000_000)));
        let index = SegmentIndex::build(segments.len(), |i| segments[i]);
        assert!((0..index.num_cells()).all(|cell| index.in_cell(cell).len() < 100));
        for (point, segment) in
            [(at(900_000_200, -700_000_001), stray), (at(-399_999_750, 300_000_250), stray + 1), (at(503, 501), 5050)]
        {
            let mut found = false;
            index.around(point, 2, |other| found |= other as usize == segment);
            assert!(found, "{point:?}");
        }
        let mut met = false;
        index.leftward(at(900_000_700, -700_000_000), |inside, _| {
            met |= inside.contains(&(stray as u32));
            false
        });
        assert!(met);
    }

    #[test]
    fn every_segment_is_found_around_each_of_its_points() {
        let at = |x: i32, y: i32| GridPoint { x, y };
        let segments =
            [(at(0, 0), at(1000, 700)), (at(10, 900), at(990, 20)), (at(5, 5), at(5, 5)), (at(0, 0), at(0, 1000))];
        let index = SegmentIndex::build(segments.len(), |i| segments[i]);
        for (number, (a, b)) in segments.iter().enumerate() {
            for step in 0..=100 {
                let along = |p: i32, q: i32| p + ((q - p) as f64 * step as f64 / 100.0).round() as i32;
                let point = at(along(a.x, b.x), along(a.y, b.y));
                let mut found = false;
                index.around(point, 1, |segment| found |= segment as usize == number);
                assert!(found, "segment {number} at step {step}");
            }
        }
    }
}
