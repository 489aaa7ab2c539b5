//! Which key is asked for next? A trace that is the same on every machine: Zipf's law with exponent 0.99 over ten times as many keys as fit, values of
//! 64 B to 4 KiB.
//!
//! A length belongs to its key and is uniform on a logarithmic scale, so there are as many values of 64 to 128 bytes as of 2 to 4 KiB. A read that
//! misses is followed by a write of that key: a cache in front of something slower.

const EXPONENT: f64 = 0.99;
const SHORTEST: f64 = 64.0;
const LONGEST: f64 = 4096.0;
pub(crate) const KEY_BYTES: usize = 16;
/// Of the values: (longest − shortest) / ln(longest / shortest).
const MEAN_BYTES: u64 = 970;

pub(crate) struct Trace {
    /// Of the weights of all keys up to this one.
    sums: Vec<f64>,
    rng: fastrand::Rng,
}

impl Trace {
    /// The trace for a cache of so many bytes.
    pub(crate) fn new(cap_bytes: u64) -> Self {
        let keys = 10 * cap_bytes / (MEAN_BYTES + KEY_BYTES as u64);
        let mut sum = 0.0;
        let weights = (1..=keys).map(|rank| {
            sum += (rank as f64).powf(-EXPONENT);
            sum
        });
        Self { sums: weights.collect(), rng: fastrand::Rng::with_seed(0x2013) }
    }

    pub(crate) fn keys(&self) -> usize {
        self.sums.len()
    }

    /// Requests before those that count, and those that do: 25 for each key, but no more than 4M unless that were fewer than two for each key.
    pub(crate) fn requests(&self) -> (usize, usize) {
        let warm_up = (25 * self.keys()).min(4_000_000).max(2 * self.keys());
        (warm_up, warm_up)
    }

    pub(crate) fn next(&mut self) -> u32 {
        let drawn = self.rng.f64() * self.sums.last().copied().unwrap_or(1.0);
        self.sums.partition_point(|sum| *sum < drawn) as u32
    }
}

pub(crate) fn key(number: u32) -> [u8; KEY_BYTES] {
    let mut key = *b"key:000000000000";
    let mut left = number;
    for digit in key.iter_mut().rev() {
        if left == 0 {
            break;
        }
        *digit = b'0' + (left % 10) as u8;
        left /= 10;
    }
    key
}

pub(crate) fn value_len(number: u32) -> usize {
    // The upper bits of a multiple of the golden ratio are spread evenly (Knuth, TAOCP vol. 3, §6.4).
    let share = (u64::from(number) + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 11;
    let share = share as f64 / (1u64 << 53) as f64;
    (SHORTEST * (LONGEST / SHORTEST).powf(share)) as usize
}
