//! How is a damaged byte noticed? By the lower half of XXH3 over what it stands among (<https://github.com/Cyan4973/xxHash>).
//!
//! What is zero has a checksum that is not: an empty stretch of a file is no valid record.

use xxhash_rust::xxh3::{Xxh3, xxh3_64_with_seed};

/// So that a file's checksums fit no other file's bytes by chance of a copy: the seed is the file's own number.
#[inline]
pub(crate) fn checksum(bytes: &[u8], seed: u64) -> u32 {
    xxh3_64_with_seed(bytes, seed) as u32
}

/// The same of bytes that are in two places.
pub(crate) fn checksum_of_two(first: &[u8], second: &[u8], seed: u64) -> u32 {
    let mut sum = Xxh3::with_seed(seed);
    sum.update(first);
    sum.update(second);
    sum.digest() as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_parts_have_the_checksum_of_the_whole() {
        let bytes: Vec<u8> = (0..3_000_u32).map(|number| ((number * number) >> 3) as u8).collect();
        for len in [0, 1, 20, 240, 241, 1_023, 1_024, 1_025, 3_000] {
            for at in [0, 1, 20, 256, 1_024] {
                let (first, second) = bytes[..len].split_at(at.min(len));
                assert_eq!(checksum_of_two(first, second, 9), checksum(&bytes[..len], 9), "{len} {at}");
            }
        }
    }
}
