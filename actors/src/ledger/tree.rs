//! The Merkle tree of RFC 6962 over the lines of a ledger.
//!
//! A chain proves a line only to whoever reads everything; a tree proves one line by a few digests. A root is made in logarithmic space
//! while lines are added.

use sha2::{Digest, Sha256};

/// A digest of the tree.
pub type Hash = [u8; 32];

/// The digest of a leaf: a line without its line feed.
#[must_use]
pub fn leaf(line: &[u8]) -> Hash {
    Sha256::new().chain_update([0]).chain_update(line).finalize().into()
}

fn node(left: &Hash, right: &Hash) -> Hash {
    Sha256::new().chain_update([1]).chain_update(left).chain_update(right).finalize().into()
}

/// A tree that only grows: the roots of its perfect subtrees, largest first.
#[derive(Debug, Clone, Default)]
pub struct Tree {
    size: u64,
    subtrees: Vec<Hash>,
}

impl Tree {
    /// Adds a leaf by its digest.
    pub fn push(&mut self, leaf: Hash) {
        let mut hash = leaf;
        // As many subtrees are completed as the size has ones at its end.
        for _ in 0..self.size.trailing_ones() {
            if let Some(left) = self.subtrees.pop() {
                hash = node(&left, &hash);
            }
        }
        self.subtrees.push(hash);
        self.size += 1;
    }

    /// How many leaves there are.
    #[must_use]
    pub fn size(&self) -> u64 {
        self.size
    }

    /// The root; of an empty tree the digest of nothing.
    #[must_use]
    pub fn root(&self) -> Hash {
        let mut subtrees = self.subtrees.iter().rev();
        let Some(last) = subtrees.next() else { return Sha256::digest([]).into() };
        subtrees.fold(*last, |right, left| node(left, &right))
    }
}

/// The digests that lead from one leaf to the root of the tree over all of them, nearest first.
#[must_use]
pub fn path(leaves: &[Hash], index: usize) -> Vec<Hash> {
    let mut path = Vec::new();
    let (mut leaves, mut index) = (leaves, index);
    while leaves.len() > 1 {
        let split = leaves.len().next_power_of_two() / 2;
        let (left, right) = leaves.split_at(split);
        let (inside, beside) = if index < split { (left, right) } else { (right, left) };
        path.push(root_of(beside));
        index -= if index < split { 0 } else { split };
        leaves = inside;
    }
    path.reverse();
    path
}

fn root_of(leaves: &[Hash]) -> Hash {
    let mut tree = Tree::default();
    leaves.iter().for_each(|leaf| tree.push(*leaf));
    tree.root()
}

/// The root that a leaf and its path lead to; `None` if the path does not have the length it must have.
#[must_use]
pub fn root_from_path(leaf: Hash, index: u64, size: u64, path: &[Hash]) -> Option<Hash> {
    if index >= size {
        return None;
    }
    let (mut position, mut last) = (index, size - 1);
    let mut hash = leaf;
    for beside in path {
        if last == 0 {
            return None;
        }
        if position & 1 == 1 || position == last {
            hash = node(beside, &hash);
            while position & 1 == 0 && position != 0 {
                position >>= 1;
                last >>= 1;
            }
        } else {
            hash = node(&hash, beside);
        }
        position >>= 1;
        last >>= 1;
    }
    (last == 0).then_some(hash)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hex;

    fn leaves(count: usize) -> Vec<Hash> {
        (0..count).map(|nth| leaf(nth.to_string().as_bytes())).collect()
    }

    /// The values of RFC 6962's empty tree and empty leaf.
    #[test]
    fn the_digests_are_those_of_the_rfc() {
        let empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        assert_eq!(hex::encode(&Tree::default().root()), empty);
        assert_eq!(hex::encode(&leaf(b"")), "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d");
    }

    #[test]
    fn every_leaf_of_every_small_tree_is_proved_and_nothing_else_is() {
        for size in 1..=40 {
            let leaves = leaves(size);
            let root = root_of(&leaves);
            for index in 0..size {
                let path = path(&leaves, index);
                let lead = |leaf, index: usize, path: &[Hash]| root_from_path(leaf, index as u64, size as u64, path);
                assert_eq!(lead(leaves[index], index, &path), Some(root), "{index} of {size}");
                assert_ne!(lead(leaf(b"another"), index, &path), Some(root));
                assert_ne!(lead(leaves[index], (index + 1) % size, &path), (size > 1).then_some(root));
                if let Some((_, shorter)) = path.split_last() {
                    assert_eq!(lead(leaves[index], index, shorter).filter(|found| *found == root), None);
                }
            }
            assert_eq!(root_from_path(leaves[0], size as u64, size as u64, &[]), None);
        }
    }
}
