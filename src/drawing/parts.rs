//! Things that hang together: numbers from 0 on, joined in pairs, in sets (union-find).
//!
//! The smallest member names a set, so names do not depend on the order of the joins. What may be joined, and what a
//! set means, is the caller's: cells of a cluster, cycles of one face, pieces of one symbol.

/// Numbers below a count, in sets.
#[derive(Debug, Clone)]
pub(crate) struct Parts {
    above: Vec<u32>,
}

impl Parts {
    /// Each of `count` members in a set of its own.
    pub(crate) fn new(count: usize) -> Self {
        Self { above: (0..count as u32).collect() }
    }

    /// How many members there are in all sets.
    pub(crate) fn len(&self) -> usize {
        self.above.len()
    }

    /// The smallest member of the set that `item` is in.
    pub(crate) fn of(&mut self, mut item: u32) -> u32 {
        while self.above[item as usize] != item {
            let above = self.above[self.above[item as usize] as usize];
            self.above[item as usize] = above;
            item = above;
        }
        item
    }

    /// Makes one set of the sets of two members.
    pub(crate) fn join(&mut self, one: u32, other: u32) {
        let (one, other) = (self.of(one), self.of(other));
        self.above[one.max(other) as usize] = one.min(other);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_are_named_by_their_smallest_member_in_whatever_order_they_were_joined() {
        let pairs = [(5, 3), (1, 6), (3, 6), (4, 2), (4, 4)];
        let names = |pairs: &[(u32, u32)]| {
            let mut parts = Parts::new(8);
            for &(one, other) in pairs {
                parts.join(one, other);
            }
            (0..parts.len() as u32).map(|item| parts.of(item)).collect::<Vec<_>>()
        };
        assert_eq!(names(&pairs), [0, 1, 2, 1, 2, 1, 1, 7]);
        let mut reversed = pairs.map(|(one, other)| (other, one));
        reversed.reverse();
        assert_eq!(names(&reversed), names(&pairs));
    }
}
