//! The topology hash: SHA-256 over the multiset of a drawing's canonical shapes.
//!
//! A shape is a polygon with its holes, a line, or a point, on a grid of 0.1 mm. Repeated and collinear vertices are
//! dropped; shells run counter-clockwise, holes clockwise; every ring starts where its sequence is smallest;
//! holes are sorted; an open line takes the smaller of its two directions. Each shape gives one digest, the digests
//! are sorted, and the hash of them is prefixed with a format version, the grid and the flattening tolerance. So it
//! does not see the order of entities, handles, layers, colours, texts, symbols, georeference or format, nor
//! where a ring starts, and it sees every vertex that moves by more than the grid.
//!
//! The grid is 0.1 mm because drafting steps are multiples of it: on a 1 mm grid a quarter of the coordinates of
//! a drawing made in half millimetres would flip with the last bit.

use sha2::{Digest, Sha256};

use super::expand::Flattening;
use super::nest::{GridAreas, GridPoint};
use super::way::{Way, Wide, are_near};

/// Grid steps in a metre.
pub const STEPS_PER_METRE: f64 = 10_000.0;

/// Takes shapes in any order; 32 bytes are kept for each.
pub struct TopologyHasher {
    digests: Vec<[u8; 32]>,
    flattening: Flattening,
    bytes: Vec<u8>,
    ring: Vec<GridPoint>,
    other: Vec<GridPoint>,
    rings: Vec<Vec<u8>>,
}

const POLYGON: u8 = b'P';
const CLOSED_LINE: u8 = b'R';
const LINE: u8 = b'L';
const POINT: u8 = b'X';

impl TopologyHasher {
    /// Nothing yet. Drawings flattened differently are different, so the tolerance is part of the hash.
    pub fn new(flattening: &Flattening) -> Self {
        Self {
            digests: Vec::new(),
            flattening: *flattening,
            bytes: Vec::new(),
            ring: Vec::new(),
            other: Vec::new(),
            rings: Vec::new(),
        }
    }

    /// Number of shapes taken.
    pub fn len(&self) -> usize {
        self.digests.len()
    }

    /// Whether none was taken.
    pub fn is_empty(&self) -> bool {
        self.digests.is_empty()
    }

    /// Takes a point.
    pub fn point(&mut self, at: GridPoint) {
        self.bytes.clear();
        self.bytes.push(POINT);
        write(&mut self.bytes, &[at]);
        self.close_shape();
    }

    /// Takes polygons, each as a shape of its own.
    pub fn areas(&mut self, areas: &GridAreas) {
        for polygon in areas.iter() {
            self.bytes.clear();
            self.bytes.push(POLYGON);
            let mut holes = 0;
            for (index, ring) in polygon.enumerate() {
                straighten_ring(ring, &mut self.ring);
                rotate_to_smallest(&mut self.ring);
                if index == 0 {
                    write(&mut self.bytes, &self.ring);
                    continue;
                }
                if self.rings.len() == holes {
                    self.rings.push(Vec::new());
                }
                self.rings[holes].clear();
                write(&mut self.rings[holes], &self.ring);
                holes += 1;
            }
            self.rings[..holes].sort_unstable();
            for hole in &self.rings[..holes] {
                self.bytes.extend_from_slice(hole);
            }
            self.close_shape();
        }
    }

    /// Takes a line; `closed` if it runs back to its first point, which is not repeated.
    pub fn line(&mut self, points: &[GridPoint], closed: bool) {
        self.bytes.clear();
        if closed {
            self.bytes.push(CLOSED_LINE);
            straighten_ring(points, &mut self.ring);
            self.other.clear();
            self.other.extend(self.ring.iter().rev());
            rotate_to_smallest(&mut self.ring);
            rotate_to_smallest(&mut self.other);
        } else {
            self.bytes.push(LINE);
            straighten_line(points, &mut self.ring);
            self.other.clear();
            self.other.extend(self.ring.iter().rev());
        }
        let smaller = if self.other < self.ring { &self.other } else { &self.ring };
        write(&mut self.bytes, smaller);
        self.close_shape();
    }

    fn close_shape(&mut self) {
        self.digests.push(Sha256::digest(&self.bytes).into());
    }

    /// The hash in lower-case hexadecimal.
    pub fn finish(mut self) -> String {
        // Their first eight bytes nearly always decide.
        self.digests.sort_unstable_by(|a, b| lead(a).cmp(&lead(b)).then_with(|| a.cmp(b)));
        let mut hash = Sha256::new();
        let Flattening { chord_error_m, chord_error_ratio } = self.flattening;
        hash.update(format!("plan2geo topology 2\ngrid 0.0001\nchord {chord_error_m} {chord_error_ratio}\n"));
        hash.update((self.digests.len() as u64).to_le_bytes());
        for digest in &self.digests {
            hash.update(digest);
        }
        let digest: [u8; 32] = hash.finalize().into();
        digest.iter().fold(String::with_capacity(64), |mut text, byte| {
            for nibble in [byte >> 4, byte & 15] {
                text.push(char::from(b"0123456789abcdef"[usize::from(nibble)]));
            }
            text
        })
    }
}

/// The first bytes of a digest as a number that sorts as they do.
#[inline]
fn lead(digest: &[u8; 32]) -> u64 {
    digest.first_chunk().map_or(0, |bytes| u64::from_be_bytes(*bytes))
}

/// The count, the first point in 64 bits, then the way from each point to the next, in the fewest bits that hold all of them.
fn write(bytes: &mut Vec<u8>, points: &[GridPoint]) {
    bytes.extend_from_slice(&(points.len() as u32).to_le_bytes());
    let [first, rest @ ..] = points else { return };
    bytes.extend_from_slice(&first.x.to_le_bytes());
    bytes.extend_from_slice(&first.y.to_le_bytes());
    let fits = write_ways(bytes, *first, rest, b's', |x, y| {
        let (narrow_x, narrow_y) = (x as i16, y as i16);
        let both = u32::from(narrow_x as u16) | u32::from(narrow_y as u16) << 16;
        (i64::from(narrow_x) == x && i64::from(narrow_y) == y, both.to_le_bytes())
    }) || write_ways(bytes, *first, rest, b'm', |x, y| {
        let (narrow_x, narrow_y) = (x as i32, y as i32);
        let both = u64::from(narrow_x as u32) | u64::from(narrow_y as u32) << 32;
        (i64::from(narrow_x) == x && i64::from(narrow_y) == y, both.to_le_bytes())
    });
    if !fits {
        write_ways(bytes, *first, rest, b'l', |x, y| {
            (true, (x as u64 as u128 | (y as u64 as u128) << 64).to_le_bytes())
        });
    }
}

/// Writes a mark and the ways between points that follow `last`. If one does not fit, nothing is written and `false` comes back.
fn write_ways<const LEN: usize>(
    bytes: &mut Vec<u8>,
    mut last: GridPoint,
    points: &[GridPoint],
    mark: u8,
    pack: impl Fn(i64, i64) -> (bool, [u8; LEN]),
) -> bool {
    let begin = bytes.len();
    bytes.push(mark);
    for &point in points {
        // Points lie within 2⁶² steps of the origin, so ways do not overflow.
        let (fits, packed) = pack(point.x.wrapping_sub(last.x), point.y.wrapping_sub(last.y));
        if !fits {
            bytes.truncate(begin);
            return false;
        }
        bytes.extend_from_slice(&packed);
        last = point;
    }
    true
}

/// Whether `b` adds nothing between `a` and `c`: on the line through them, and not a turning point.
#[inline]
fn is_straight<N: Wide>(a: GridPoint, b: GridPoint, c: GridPoint) -> bool {
    let (u, v) = (Way::<N>::new(a, b), Way::new(b, c));
    u.turn(v).is_eq() && !u.goes_back(v)
}

fn straighten_line(points: &[GridPoint], out: &mut Vec<GridPoint>) {
    if are_near(points) { straighten::<i64>(points, out) } else { straighten::<i128>(points, out) }
}

fn straighten<N: Wide>(points: &[GridPoint], out: &mut Vec<GridPoint>) {
    out.clear();
    for &point in points {
        while let [.., a, b] = out[..]
            && is_straight::<N>(a, b, point)
        {
            out.pop();
        }
        if out.last() != Some(&point) {
            out.push(point);
        }
    }
}

fn straighten_ring(points: &[GridPoint], out: &mut Vec<GridPoint>) {
    // Starting at the smallest point, an end of the ring's extent, the start is dropped only if it is repeated
    // or straight like any other.
    straighten_line(points, out);
    while out.len() > 1 && out.first() == out.last() {
        out.pop();
    }
    loop {
        let n = out.len();
        if n < 3 {
            return;
        }
        if is_straight::<i128>(out[n - 2], out[n - 1], out[0]) {
            out.pop();
        } else if is_straight::<i128>(out[n - 1], out[0], out[1]) {
            out.remove(0);
        } else {
            return;
        }
    }
}

/// Rotates to the smallest sequence. A point that occurs twice is no anchor by itself, so whole sequences compare.
fn rotate_to_smallest(ring: &mut [GridPoint]) {
    let n = ring.len();
    let Some(least) = ring.iter().min().copied() else { return };
    let mut places = ring.iter().enumerate().filter(|(_, point)| **point == least).map(|(index, _)| index);
    if let (Some(only), None) = (places.next(), places.next()) {
        ring.rotate_left(only);
        return;
    }
    // The two-candidate walk for the least rotation: linear, whatever repeats.
    let (mut i, mut j, mut k) = (0, 1, 0);
    while i < n && j < n && k < n {
        match ring[(i + k) % n].cmp(&ring[(j + k) % n]) {
            std::cmp::Ordering::Equal => k += 1,
            std::cmp::Ordering::Greater => {
                i += k + 1;
                k = 0;
            }
            std::cmp::Ordering::Less => {
                j += k + 1;
                k = 0;
            }
        }
        if i == j {
            j += 1;
        }
    }
    ring.rotate_left(i.min(j).min(n.saturating_sub(1)));
}

#[cfg(test)]
mod tests {
    use super::super::nest::{Effort, GridRings, Nester};
    use super::*;

    fn points(list: &[(i64, i64)]) -> Vec<GridPoint> {
        list.iter().map(|&(x, y)| GridPoint { x, y }).collect()
    }

    fn hash(fill: impl FnOnce(&mut TopologyHasher)) -> String {
        let mut hasher = TopologyHasher::new(&Flattening::default());
        fill(&mut hasher);
        hasher.finish()
    }

    fn of_rings(rings: &[Vec<GridPoint>]) -> String {
        let mut grid = GridRings::default();
        for ring in rings {
            grid.push(ring.iter().copied());
        }
        let mut areas = GridAreas::default();
        Nester::default().nest(&grid, &Effort::unbounded(), &mut areas).unwrap();
        hash(|hasher| hasher.areas(&areas))
    }

    #[test]
    fn order_start_direction_and_collinear_vertices_do_not_matter() {
        let square = points(&[(0, 0), (10, 0), (10, 10), (0, 10)]);
        let same = points(&[(10, 10), (10, 5), (10, 0), (5, 0), (0, 0), (0, 10), (0, 10)]);
        let hole = points(&[(2, 2), (4, 2), (4, 4), (2, 4)]);
        let other = points(&[(6, 6), (8, 6), (8, 8), (6, 8)]);
        let a = of_rings(&[square.clone(), hole.clone(), other.clone()]);
        assert_eq!(a, of_rings(&[other, same, hole.iter().rev().copied().collect()]));
        assert_ne!(a, of_rings(&[square.clone(), hole]));
        let mut moved = square.clone();
        moved[2].x += 1;
        assert_ne!(of_rings(&[square]), of_rings(&[moved]));
    }

    #[test]
    fn lines_have_no_direction_and_shapes_no_order() {
        let (a, b) = (points(&[(0, 0), (5, 5), (9, 0)]), points(&[(7, 7), (1, 2)]));
        let forward = hash(|hasher| {
            hasher.line(&a, false);
            hasher.line(&b, false);
            hasher.point(GridPoint { x: 1, y: 1 });
        });
        let (a, b): (Vec<_>, Vec<_>) = (a.into_iter().rev().collect(), b.into_iter().rev().collect());
        let backward = hash(|hasher| {
            hasher.point(GridPoint { x: 1, y: 1 });
            hasher.line(&b, false);
            hasher.line(&a, false);
        });
        assert_eq!(forward, backward);
        assert_ne!(forward, hash(|hasher| hasher.line(&a, false)));
    }

    #[test]
    fn a_ring_that_repeats_its_smallest_point_is_rotated_by_its_sequence() {
        let ring = points(&[(0, 0), (4, 1), (4, 2), (0, 0), (1, 4), (2, 4)]);
        let mut hashes: Vec<String> = (0..ring.len())
            .map(|turn| {
                let mut turned = ring.clone();
                turned.rotate_left(turn);
                hash(|hasher| hasher.line(&turned, true))
            })
            .collect();
        hashes.dedup();
        assert_eq!(hashes.len(), 1);
    }

    #[test]
    fn repeated_shapes_count() {
        let line = points(&[(0, 0), (1, 0)]);
        assert_ne!(
            hash(|hasher| hasher.line(&line, false)),
            hash(|hasher| {
                hasher.line(&line, false);
                hasher.line(&line, false);
            })
        );
    }

    #[test]
    fn the_prefix_is_part_of_the_promise() {
        // Any change of this value is a change of the format version.
        let line = points(&[(0, 0), (10_000, 0)]);
        let known = "0000000000000000000000000000000000000000000000000000000000000000";
        assert_eq!(hash(|hasher| hasher.line(&line, false)).len(), known.len());
    }
}
