//! Which bytes is a key, and which bytes must its value have?
//!
//! A value follows from the index of its key, its length and the seed, so that every reply can be checked
//! over its whole length without the generator keeping a copy per key: eight bytes that name the key, then a
//! slice of a pool of random bytes. Values do not compress unless that is asked for, and the value of one key is
//! never right for another. A longer value of a key begins with the shorter one.
//!
//! A key that is written again may be given a value of another generation: the same but for its first eight bytes.
//! So a write that is acknowledged and not carried out can be told from one that is. Within one run of load the
//! generation is raised once more ([`Values::turning`]): else only the first write of a key would have to be carried out.

use std::sync::Arc;

/// Length of every key: `key:` and twelve digits.
pub const KEY_BYTES: usize = 16;

/// Offsets into the pool: a power of two, so that consecutive keys are spread by a multiplication and a mask.
const SPREAD: usize = 1 << 20;
const STAMP_BYTES: usize = 8;
/// Length of a run of noise, and of the run of one byte that follows it, in values that half compress.
const RUN_BYTES: usize = 16;

/// Writes key number `index` into `out`.
#[inline]
pub fn write_key(index: u64, out: &mut [u8; KEY_BYTES]) {
    out[..4].copy_from_slice(b"key:");
    if let Some(digits) = out.last_chunk_mut() {
        write_twelve_digits(index, digits);
    }
}

/// Writes a key that is between two of the keys 0 to `count` - 1 and is none of them: the first eleven digits of one, then a character above `9`. So it sorts
/// between that key's ten and the next ten. There are as many as there are keys, but for those behind the last ten; `count` is at least
/// [`LEAST_WITH_ABSENT`].
#[inline]
pub fn write_absent_key(index: u64, count: u64, out: &mut [u8; KEY_BYTES]) {
    // Behind the last ten, nothing follows.
    let tens = (count.max(LEAST_WITH_ABSENT) - 1) / 10;
    write_key(index / 10 % tens * 10, out);
    out[KEY_BYTES - 1] = b':' + (index % 10) as u8;
}

/// Fewer keys have none between them that [`write_absent_key`] could write.
pub const LEAST_WITH_ABSENT: u64 = 11;

/// Pairs of digits, `00` to `99`.
static PAIRS: [[u8; 2]; 100] = {
    let mut pairs = [[b'0'; 2]; 100];
    let mut number = 0;
    while number < pairs.len() {
        pairs[number] = [b'0' + (number / 10) as u8, b'0' + (number % 10) as u8];
        number += 1;
    }
    pairs
};

/// As [`write_digits`] for twelve digits, as every key has them: six pairs that do not wait for each other.
#[inline]
pub fn write_twelve_digits(index: u64, out: &mut [u8; 12]) {
    let mut pair = |place: usize, number: u32| {
        out[place..place + 2].copy_from_slice(&PAIRS[(number % 100) as usize]);
    };
    let high = (index / 100_000_000 % 10_000) as u32;
    let low = (index % 100_000_000) as u32;
    let (middle, low) = (low / 10_000, low % 10_000);
    pair(0, high / 100);
    pair(2, high);
    pair(4, middle / 100);
    pair(6, middle);
    pair(8, low / 100);
    pair(10, low);
}

/// Writes `index` in decimal, right-aligned with leading zeros, into `out`.
pub fn write_digits(mut index: u64, out: &mut [u8]) {
    for digit in out.iter_mut().rev() {
        *digit = b'0' + (index % 10) as u8;
        index /= 10;
    }
}

/// The values of one run of load.
#[derive(Debug, Clone)]
pub struct Values {
    seed: u64,
    /// The oldest that is right, and the newest, which is written unless another one is first.
    generations: (u8, u8),
    /// The one that is written at first, in the first half of a stretch of load.
    first: u8,
    /// Shared, because a generator's writes and checks need it both, at different generations.
    pool: Arc<[u8]>,
}

impl Values {
    /// Values of up to `longest` bytes.
    #[must_use]
    pub fn new(seed: u64, longest: usize) -> Self {
        Self::of_pool(seed, noise(seed, longest))
    }

    fn of_pool(seed: u64, pool: Vec<u8>) -> Self {
        Self { seed, generations: (0, 0), first: 0, pool: pool.into() }
    }

    /// As [`Values::new`], with every second run of sixteen bytes all the same: a compressor takes about half away.
    #[must_use]
    pub fn half_compressible(seed: u64, longest: usize) -> Self {
        let mut pool = noise(seed, longest);
        for run in pool.chunks_mut(RUN_BYTES).skip(1).step_by(2) {
            run.fill(b'.');
        }
        Self::of_pool(seed, pool)
    }

    /// Writes values of this generation; those of earlier ones are right, too.
    #[must_use]
    pub fn of_generation(self, generation: u8) -> Self {
        Self { generations: (0, generation), first: generation, ..self }
    }

    /// As [`Values::of_generation`] with `newest`, but a generator writes `first` until half of its load is sent.
    #[must_use]
    pub fn turning(self, first: u8, newest: u8) -> Self {
        Self { first: first.min(newest), ..self.of_generation(newest) }
    }

    /// Whether a generator writes another generation at first than at last.
    #[must_use]
    pub fn turns(&self) -> bool {
        self.first != self.generations.1
    }

    /// The values that a generator writes at first.
    #[must_use]
    pub fn at_first(&self) -> Self {
        self.clone().of_generation(self.first)
    }

    /// From here on the newest generation alone is written.
    pub fn turned(&mut self) {
        self.first = self.generations.1;
    }

    /// Only what it writes is right.
    #[must_use]
    pub fn of_this_generation_only(self) -> Self {
        Self { generations: (self.generations.1, self.generations.1), first: self.generations.1, ..self }
    }

    /// Eight bytes that only this key has, with this seed.
    #[inline]
    #[must_use]
    pub fn stamp(&self, index: u64) -> [u8; STAMP_BYTES] {
        // The finaliser of splitmix64 is a bijection: two keys never share a stamp.
        let mut mixed = index ^ self.seed;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)).to_le_bytes()
    }

    #[inline]
    fn slice(&self, index: u64, length: usize) -> &[u8] {
        let start = (index.wrapping_mul(0x9e37_79b1) as usize) & (SPREAD - 1);
        &self.pool[start..start + length]
    }

    /// The first bytes of the value that is written.
    #[inline]
    fn mark(&self, index: u64) -> [u8; STAMP_BYTES] {
        (u64::from_le_bytes(self.stamp(index)) ^ u64::from(self.generations.1)).to_le_bytes()
    }

    /// Whether a value begins as one of a right generation does.
    #[inline]
    fn is_marked(&self, index: u64, value: &[u8]) -> bool {
        let (mut found, mut stamp) = ([0; STAMP_BYTES], self.stamp(index));
        match value.first_chunk() {
            Some(whole) => found = *whole,
            None if value.is_empty() => return true,
            None => {
                found[..value.len()].copy_from_slice(value);
                stamp[value.len()..].fill(0);
            }
        }
        let generation = u64::from_le_bytes(found) ^ u64::from_le_bytes(stamp);
        let (oldest, newest) = self.generations;
        (u64::from(oldest)..=u64::from(newest)).contains(&generation)
    }

    /// Writes the value of key `index` over the whole of `out`, which must not be longer than `longest`.
    #[inline]
    pub fn write(&self, index: u64, out: &mut [u8]) {
        let noise = self.slice(index, out.len());
        match out.first_chunk_mut() {
            Some(stamp) => {
                *stamp = self.mark(index);
                out[STAMP_BYTES..].copy_from_slice(&noise[STAMP_BYTES..]);
            }
            None => out.copy_from_slice(&self.mark(index)[..out.len()]),
        }
    }

    /// Whether `value` is the value of key `index` at its length. Looks at every byte.
    #[inline]
    #[must_use]
    pub fn is_right(&self, index: u64, value: &[u8]) -> bool {
        if value.len() > self.pool.len() - SPREAD {
            return false;
        }
        let stamped = value.len().min(STAMP_BYTES);
        self.is_marked(index, value) && value[stamped..] == self.slice(index, value.len())[stamped..]
    }

    /// The place of the first byte of `value`, which is not longer than `longest`, that key `index` does not have.
    #[must_use]
    pub fn first_difference(&self, index: u64, value: &[u8]) -> usize {
        let mut right = vec![0; value.len()];
        self.write(index, &mut right);
        let from = if self.is_marked(index, value) { value.len().min(STAMP_BYTES) } else { 0 };
        let differs = |place: &usize| value[*place] != right[*place];
        (from..value.len()).find(differs).unwrap_or(0)
    }
}

/// Random bytes that values of up to `longest` bytes are slices of.
fn noise(seed: u64, longest: usize) -> Vec<u8> {
    let mut pool = vec![0; SPREAD + longest];
    fastrand::Rng::with_seed(seed).fill(&mut pool);
    pool
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn keys_have_sixteen_bytes_and_twelve_digits() {
        let mut key = [0; KEY_BYTES];
        write_key(1_234, &mut key);
        assert_eq!(&key, b"key:000000001234");
    }

    #[test]
    fn an_absent_key_is_between_two_that_are_there() {
        for count in [11_u64, 12, 20, 21, 1_000] {
            let keys: std::collections::BTreeSet<[u8; KEY_BYTES]> = (0..count)
                .map(|index| {
                    let mut key = [0; KEY_BYTES];
                    write_key(index, &mut key);
                    key
                })
                .collect();
            for index in 0..count {
                let mut absent = [0; KEY_BYTES];
                write_absent_key(index, count, &mut absent);
                assert!(!keys.contains(&absent), "{}", absent.escape_ascii());
                assert!(keys.range(..absent).next().is_some() && keys.range(absent..).next().is_some());
            }
        }
    }

    #[test]
    fn half_of_a_compressible_value_is_one_byte() {
        let values = Values::half_compressible(7, 4_096);
        let mut value = vec![0; 4_096];
        values.write(3, &mut value);
        let same = value.iter().filter(|byte| **byte == b'.').count();
        assert!((2_000..2_200).contains(&same), "{same}");
        assert!(values.is_right(3, &value) && !Values::new(7, 4_096).is_right(3, &value));
    }

    #[test]
    fn a_value_of_an_earlier_generation_is_right_unless_only_the_newest_may_be_there() {
        let values = |generation| Values::new(7, 100).of_generation(generation);
        for length in [1, 7, 8, 9, 100] {
            let of = |generation| {
                let mut value = vec![0; length];
                values(generation).write(3, &mut value);
                value
            };
            assert_ne!(of(0), of(1), "{length}");
            assert!(values(2).is_right(3, &of(0)) && values(2).is_right(3, &of(2)), "{length}");
            assert!(!values(1).is_right(3, &of(2)), "{length}: a generation that is not written yet");
            let newest = values(2).of_this_generation_only();
            assert!(newest.is_right(3, &of(2)) && !newest.is_right(3, &of(1)), "{length}");
        }
        assert!(values(1).of_this_generation_only().is_right(3, &[]));
        let mut value = vec![0; 100];
        values(0).write(3, &mut value);
        value[40] ^= 1;
        assert_eq!(values(2).first_difference(3, &value), 40, "its generation is no difference");
    }

    #[test]
    fn a_turn_goes_from_one_generation_to_the_next() {
        let mut values = Values::new(7, 100).turning(1, 2);
        let (mut early, mut late) = (vec![0; 100], vec![0; 100]);
        assert!(values.turns());
        values.at_first().write(3, &mut early);
        values.write(3, &mut late);
        assert_ne!(early, late);
        assert!(values.is_right(3, &early) && values.is_right(3, &late));
        values.turned();
        assert!(!values.turns() && values.clone().of_this_generation_only().is_right(3, &late));
        assert!(!Values::new(7, 100).of_generation(2).turns());
    }

    proptest! {
        #[test]
        fn twelve_digits_are_the_digits(index in 0u64..2_000_000_000_000) {
            let (mut fast, mut plain) = ([0; 12], [0; 12]);
            write_twelve_digits(index, &mut fast);
            write_digits(index, &mut plain);
            prop_assert_eq!(fast, plain);
        }

        #[test]
        fn a_value_is_right_for_its_key_only(index in 0u64..10_000_000, other in 0u64..10_000_000, length in 8usize..2_000) {
            let values = Values::new(7, 2_000);
            let mut value = vec![0; length];
            values.write(index, &mut value);
            prop_assert!(values.is_right(index, &value));
            prop_assert_eq!(values.is_right(other, &value), index == other);
        }

        #[test]
        fn any_changed_byte_is_seen(index in 0u64..1_000_000, length in 1usize..300, place in any::<prop::sample::Index>(), flip in 1u8..) {
            let values = Values::new(7, 300);
            let mut value = vec![0; length];
            values.write(index, &mut value);
            value[place.index(length)] ^= flip;
            prop_assert!(!values.is_right(index, &value));
        }
    }
}
