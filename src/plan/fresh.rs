//! What a pass of noding has to look at again: edges that were not there in the pass before, and what lies beside them.
//!
//! Whether two edges meet depends on their ends alone, so of two edges that were compared before and are still there nothing new
//! can be told. After the first pass few edges are new; to find their neighbours, a grid of cells is laid over all edges, and
//! sums over its cells tell for every edge at once whether a cell of its box has a new one.

use super::grid::GridPoint;

/// An edge by its ends.
pub(super) type Ends = (GridPoint, GridPoint);

/// Edges by number.
#[derive(Debug)]
pub(super) struct Fresh {
    is_fresh: Vec<bool>,
    /// The new ones and those that may lie beside one, ascending.
    pub beside: Vec<u32>,
}

impl Fresh {
    /// Compares the edges of two passes, both sorted. Boxes that come within `reach` steps of each other are beside each other.
    pub(super) fn find(before: &[Ends], now: &[Ends], reach: i64) -> Self {
        let mut old = before.iter().peekable();
        let is_fresh: Vec<bool> = now
            .iter()
            .map(|edge| {
                while old.next_if(|known| *known < edge).is_some() {}
                old.peek() != Some(&edge)
            })
            .collect();
        let count = is_fresh.iter().filter(|fresh| **fresh).count();
        let all = || 0..now.len() as u32;
        let beside = if 2 * count > now.len() {
            all().collect()
        } else {
            let mut cells = Cells::over(now);
            for (edge, _) in now.iter().zip(&is_fresh).filter(|(_, fresh)| **fresh) {
                cells.mark(edge, reach);
            }
            cells.sum();
            all().filter(|edge| is_fresh[*edge as usize] || cells.any(&now[*edge as usize])).collect()
        };
        Self { is_fresh, beside }
    }

    /// Whether a pair must be compared.
    #[inline]
    pub(super) fn any_of(&self, one: usize, other: usize) -> bool {
        self.is_fresh[one] || self.is_fresh[other]
    }
}

/// Counts of marks by cell; summed up, over all cells to the left and below.
struct Cells {
    low: (i64, i64),
    /// Width and height of a cell.
    size: (i64, i64),
    side: usize,
    /// Rows of one cell more than there are, so that sums need no border.
    counts: Vec<i64>,
}

impl Cells {
    /// As many cells as edges, but no more than 512 in a row.
    fn over(edges: &[Ends]) -> Self {
        let side = edges.len().isqrt().clamp(1, 512);
        let (mut low, mut high) = ((i64::MAX, i64::MAX), (i64::MIN, i64::MIN));
        for point in edges.iter().flat_map(|(a, b)| [a, b]) {
            let (x, y) = (i64::from(point.x), i64::from(point.y));
            (low, high) = ((low.0.min(x), low.1.min(y)), (high.0.max(x), high.1.max(y)));
        }
        let size = |low: i64, high: i64| high.saturating_sub(low).max(0) / side as i64 + 1;
        let size = (size(low.0, high.0), size(low.1, high.1));
        Self { low, size, side, counts: vec![0; (side + 1) * (side + 1)] }
    }

    /// First and last column and row of the box of an edge, widened.
    fn span(&self, (a, b): &Ends, reach: i64) -> ((usize, usize), (usize, usize)) {
        let place =
            |at: i64, low: i64, size: i64| ((at - low).div_euclid(size)).clamp(0, self.side as i64 - 1) as usize;
        let axis = |p: i32, q: i32, low: i64, size: i64| {
            let (p, q) = (i64::from(p.min(q)) - reach, i64::from(p.max(q)) + reach);
            (place(p, low, size), place(q, low, size))
        };
        (axis(a.x, b.x, self.low.0, self.size.0), axis(a.y, b.y, self.low.1, self.size.1))
    }

    fn at(&mut self, column: usize, row: usize) -> &mut i64 {
        &mut self.counts[row * (self.side + 1) + column]
    }

    /// Adds one to all cells of a box: its sums begin at its corner and end beyond it.
    fn mark(&mut self, edge: &Ends, reach: i64) {
        let ((left, right), (bottom, top)) = self.span(edge, reach);
        *self.at(left, bottom) += 1;
        *self.at(right + 1, bottom) -= 1;
        *self.at(left, top + 1) -= 1;
        *self.at(right + 1, top + 1) += 1;
    }

    /// From marks of corners to whether cells are marked, and from there to sums from the lower left cell to before each.
    fn sum(&mut self) {
        self.accumulate();
        let row_length = self.side + 1;
        let mut marked = vec![0; self.counts.len()];
        for row in 0..self.side {
            for column in 0..self.side {
                marked[(row + 1) * row_length + column + 1] = i64::from(self.counts[row * row_length + column] > 0);
            }
        }
        self.counts = marked;
        self.accumulate();
    }

    fn accumulate(&mut self) {
        let row_length = self.side + 1;
        for row in 0..row_length {
            let mut sum = 0;
            for column in 0..row_length {
                sum += self.counts[row * row_length + column];
                let below = if row > 0 { self.counts[(row - 1) * row_length + column] } else { 0 };
                self.counts[row * row_length + column] = sum + below;
            }
        }
    }

    /// Whether a marked cell is in the box of an edge.
    fn any(&self, edge: &Ends) -> bool {
        let ((left, right), (bottom, top)) = self.span(edge, 0);
        let sum = |column: usize, row: usize| self.counts[row * (self.side + 1) + column];
        sum(right + 1, top + 1) - sum(left, top + 1) - sum(right + 1, bottom) + sum(left, bottom) > 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_lies_beside_a_new_edge_is_found_and_little_else() {
        let at = |x: i32, y: i32| GridPoint { x, y };
        let mut before: Vec<Ends> =
            (0..10_000).map(|i| (at(i / 100 * 100, i % 100 * 100), at(i / 100 * 100 + 90, i % 100 * 100))).collect();
        before.push((at(-50, 5_050), at(10_050, 5_060)));
        before.sort_unstable();
        let mut now = before.clone();
        now.retain(|edge| edge.0 != at(4_000, 4_000));
        let added = [(at(4_000, 4_000), at(4_050, 4_007)), (at(4_050, 4_007), at(4_090, 4_000))];
        now.extend(added);
        now.sort_unstable();
        let fresh = Fresh::find(&before, &now, 20);
        assert_eq!(fresh.is_fresh.iter().filter(|fresh| **fresh).count(), 2);
        let beside = |edge: &Ends| fresh.beside.iter().any(|number| now[*number as usize] == *edge);
        assert!(added.iter().all(beside));
        assert!(beside(&(at(4_100, 4_000), at(4_190, 4_000))));
        assert!(fresh.beside.len() < 40, "{}", fresh.beside.len());
        // A long line beside it.
        now.push((at(4_070, 4_020), at(4_080, 5_055)));
        now.sort_unstable();
        let fresh = Fresh::find(&before, &now, 20);
        assert!(fresh.beside.iter().any(|number| now[*number as usize].1 == at(10_050, 5_060)));
    }
}
