//! How long is the value of a key?
//!
//! But for [`Length::Growing`], which is for writes alone, the length follows from the key, so that a read knows
//! what it has to find.

use super::values::Values;

/// Value lengths, bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Length {
    /// All the same.
    Fixed(u32),
    /// From the first to the second over the given time, ns.
    Growing(u32, u32, u64),
    /// Each length from the first to the second as likely as any other.
    Uniform(u32, u32),
    /// These lengths with these weights.
    Weighted(Vec<(u32, u32)>),
}

/// Keeps the draw of a length apart from the value's own bytes.
const LENGTHS: u64 = 0xbb67_ae85_84ca_a73b;

impl Length {
    /// The longest there will be.
    #[must_use]
    pub fn longest(&self) -> u32 {
        self.bounds().1
    }

    /// The shortest and the longest there will be.
    #[must_use]
    pub fn bounds(&self) -> (u32, u32) {
        match self {
            Self::Fixed(bytes) => (*bytes, *bytes),
            Self::Growing(from, to, _) | Self::Uniform(from, to) => (*from.min(to), *from.max(to)),
            Self::Weighted(list) => {
                let lengths = || list.iter().filter(|(_, weight)| *weight > 0).map(|(bytes, _)| *bytes);
                (lengths().min().unwrap_or(0), lengths().max().unwrap_or(0))
            }
        }
    }

    /// Of the value of key `index`, set `since_start_ns` after the beginning.
    #[inline]
    #[must_use]
    pub fn of(&self, index: u64, since_start_ns: u64, values: &Values) -> u32 {
        match self {
            Self::Fixed(bytes) => *bytes,
            Self::Growing(from, to, over_ns) => {
                let share = (since_start_ns as f64 / (*over_ns).max(1) as f64).min(1.0);
                (f64::from(*from) + (f64::from(*to) - f64::from(*from)) * share) as u32
            }
            Self::Uniform(..) => {
                let (from, to) = self.bounds();
                from + scaled(index, values, u64::from(to - from) + 1) as u32
            }
            Self::Weighted(list) => {
                let all: u64 = list.iter().map(|(_, weight)| u64::from(*weight)).sum();
                let mut left = scaled(index, values, all.max(1));
                for (bytes, weight) in list {
                    if left < u64::from(*weight) {
                        return *bytes;
                    }
                    left -= u64::from(*weight);
                }
                0
            }
        }
    }
}

/// A number below `below` that follows from the key alone.
fn scaled(index: u64, values: &Values, below: u64) -> u64 {
    let mixed = u64::from_le_bytes(values.stamp(index ^ LENGTHS));
    ((u128::from(mixed) * u128::from(below)) >> 64) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_grow_from_the_first_to_the_last() {
        let values = Values::new(1, 2_000);
        let length = Length::Growing(100, 1_100, 1_000);
        assert_eq!([0, 500, 2_000].map(|ns| length.of(5, ns, &values)), [100, 600, 1_100]);
        assert_eq!(length.bounds(), (100, 1_100));
    }

    #[test]
    fn a_keys_length_is_always_the_same_and_another_seed_gives_others() {
        let (one, other) = (Values::new(1, 2_000), Values::new(2, 2_000));
        let length = Length::Uniform(10, 1_000);
        let of = |values: &Values, ns| (0..100).map(|key| length.of(key, ns, values)).collect::<Vec<_>>();
        assert_eq!(of(&one, 0), of(&one, 99));
        assert_ne!(of(&one, 0), of(&other, 0));
    }

    #[test]
    fn uniform_lengths_reach_both_ends_and_no_further() {
        let values = Values::new(1, 16);
        let length = Length::Uniform(3, 12);
        let mut count = [0u32; 16];
        for key in 0..100_000 {
            count[length.of(key, 0, &values) as usize] += 1;
        }
        for (bytes, count) in count.iter().enumerate() {
            let expected = if (3..=12).contains(&bytes) { 9_500..10_500 } else { 0..1 };
            assert!(expected.contains(count), "{bytes} bytes {count} times");
        }
    }

    #[test]
    fn weighted_lengths_follow_their_weights() {
        let values = Values::new(1, 2_000);
        let length = Length::Weighted(vec![(10, 3), (999, 0), (200, 1)]);
        assert_eq!((length.bounds(), length.longest()), ((10, 200), 200));
        let tens = (0..100_000).filter(|key| length.of(*key, 0, &values) == 10).count();
        assert!((74_000..76_000).contains(&tens), "{tens}");
    }
}
