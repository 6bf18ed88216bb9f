//! Damage of every kind: no panic, no hang, no memory beyond what the bytes can hold.
//!
//! Seeds are drawings of this module; mutants follow from a seeded generator, so a failure can be repeated. Longer
//! runs over real files are in `fuzz/`.

use super::*;

/// xorshift64*: small, seeded, good enough to choose places.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }

    fn below(&mut self, end: usize) -> usize {
        (self.next() % end.max(1) as u64) as usize
    }
}

fn mutate(seed: &[u8], random: &mut Random) -> Vec<u8> {
    let mut data = seed.to_vec();
    for _ in 0..1 + random.below(6) {
        let at = random.below(data.len());
        let length = random.below(64).min(data.len() - at);
        match random.below(8) {
            0 => data.truncate(at),
            1 => data[at] = random.next() as u8,
            2 => data[at] ^= 1 << random.below(8),
            3 => data[at..at + length].fill(0),
            4 => drop(data.drain(at..at + length)),
            5 => {
                let copy = data[at..at + length].to_vec();
                let to = random.below(data.len());
                data.splice(to..to, copy);
            }
            6 => {
                let number: &[u8] =
                    [&b"-1"[..], b"2147483647", b"1e308", b"nan", b"-0", b"99999999999999999999"][random.below(6)];
                data.splice(at..at, number.iter().copied());
            }
            _ => data.insert(at, b'\n'),
        }
        if data.is_empty() {
            break;
        }
    }
    data
}

#[test]
fn mutants_are_read_or_refused() {
    let sample = sample();
    let seeds = [sample.bytes(), binary(&sample.text(), false), binary(&sample.text(), true)];
    let mut random = Random(0x2026_1130);
    let (mut num_read, mut num_refused) = (0, 0);
    for round in 0..600 {
        let mutant = Bytes::from(mutate(&seeds[round % seeds.len()], &mut random));
        match read_with(&mutant, &ReadOptions::default()) {
            Ok(read) => {
                num_read += 1;
                // What was counted is there, and everything that is there can be walked.
                assert!(outline(&read.drawing).len() < 1 << 20);
                assert!(read.drawing.paths.num_points() < 4 * mutant.len());
            }
            Err(error) => {
                num_refused += 1;
                assert!(!error.to_string().is_empty());
            }
        }
    }
    assert!(num_read > 500, "{num_read} read, {num_refused} refused");
}
