//! The generator of chance: splitmix64, written here so that a seed means the same plan for ever.
//!
//! `state += 0x9E3779B97F4A7C15`, then two xor-shift-multiply rounds (Steele, Lea and Flood, "Fast splittable
//! pseudorandom number generators", 2014). It passes the usual statistical batteries, needs one word of state
//! and can be forked by label, so that adding furniture to a plan does not move its walls. It is not for secrets.

/// A deterministic sequence of numbers.
#[derive(Debug, Clone)]
pub struct Random {
    state: u64,
}

fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

impl Random {
    /// The sequence of `seed`.
    pub fn new(seed: u64) -> Self {
        Self { state: mix(seed ^ 0x5851_F42D_4C95_7F2D) }
    }

    /// An independent sequence of the same seed, named by `label`; does not advance this one.
    pub fn fork(&self, label: &str) -> Self {
        let mut state = self.state;
        for byte in label.bytes() {
            state = mix(state ^ u64::from(byte)).wrapping_add(0x9E37_79B9_7F4A_7C15);
        }
        Self { state }
    }

    /// The next 64 bits.
    pub fn next_u64(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        mix(self.state)
    }

    /// A number in [0, 1).
    pub fn unit(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// A number in [low, high).
    pub fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.unit()
    }

    /// A whole number in [low, high], both included; `low` if the range is empty.
    pub fn whole(&mut self, low: i64, high: i64) -> i64 {
        if high <= low {
            return low;
        }
        low + (self.next_u64() % (high - low + 1) as u64) as i64
    }

    /// A multiple of `step` in [low, high].
    pub fn stepped(&mut self, low: i64, high: i64, step: i64) -> i64 {
        self.whole(low.div_euclid(step), high.div_euclid(step)) * step
    }

    /// True with probability `p`.
    pub fn chance(&mut self, p: f64) -> bool {
        self.unit() < p
    }

    /// One of `items`, which must not be empty.
    pub fn pick<'a, T>(&mut self, items: &'a [T]) -> &'a T {
        &items[(self.next_u64() % items.len() as u64) as usize]
    }

    /// Puts `items` into a random order.
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            let other = (self.next_u64() % (last as u64 + 1)) as usize;
            items.swap(last, other);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_means_the_same_numbers_for_ever() {
        let mut random = Random::new(1);
        let first: Vec<u64> = (0..3).map(|_| random.next_u64()).collect();
        let mut again = Random::new(1);
        assert_eq!(first, (0..3).map(|_| again.next_u64()).collect::<Vec<_>>());
        assert_ne!(first[0], Random::new(2).next_u64());
    }

    #[test]
    fn a_fork_does_not_depend_on_what_was_drawn_from_others() {
        let parent = Random::new(7);
        let mut walls = parent.fork("walls");
        walls.next_u64();
        assert_eq!(parent.fork("doors").next_u64(), Random::new(7).fork("doors").next_u64());
        assert_ne!(parent.fork("doors").next_u64(), parent.fork("walls").next_u64());
    }

    #[test]
    fn ranges_hold_their_bounds() {
        let mut random = Random::new(3);
        for _ in 0..1000 {
            assert!((2..=5).contains(&random.whole(2, 5)));
            assert!((0.0..1.0).contains(&random.unit()));
            assert_eq!(random.stepped(100, 900, 50) % 50, 0);
        }
    }
}
