//! Which units of a manifest have their outcome: one bit each, so a million units take 125 KB.

/// A growing set of indices.
#[derive(Debug, Clone, Default)]
pub(crate) struct Bitmap {
    words: Vec<u64>,
    count: u64,
}

impl Bitmap {
    /// Adds an index; `false` if it was in already.
    pub(crate) fn insert(&mut self, index: u64) -> bool {
        let (word, bit) = place(index);
        if word >= self.words.len() {
            self.words.resize(word + 1, 0);
        }
        let fresh = self.words[word] & bit == 0;
        self.words[word] |= bit;
        self.count += u64::from(fresh);
        fresh
    }

    pub(crate) fn contains(&self, index: u64) -> bool {
        let (word, bit) = place(index);
        self.words.get(word).is_some_and(|word| word & bit != 0)
    }

    /// Adds everything in another set.
    pub(crate) fn union(&mut self, other: &Self) {
        if other.words.len() > self.words.len() {
            self.words.resize(other.words.len(), 0);
        }
        for (ours, theirs) in self.words.iter_mut().zip(&other.words) {
            *ours |= theirs;
        }
        self.count = self.words.iter().map(|word| u64::from(word.count_ones())).sum();
    }

    pub(crate) fn count(&self) -> u64 {
        self.count
    }
}

fn place(index: u64) -> (usize, u64) {
    ((index / 64) as usize, 1 << (index % 64))
}
