//! How is a damaged byte noticed? By the lower half of XXH3 over what it stands among (<https://github.com/Cyan4973/xxHash>).
//!
//! What is zero has a checksum that is not: an empty stretch of a file is no valid record.

use xxhash_rust::xxh3::xxh3_64_with_seed;

/// So that a file's checksums fit no other file's bytes by chance of a copy: the seed is the file's own number.
#[inline]
pub(crate) fn checksum(bytes: &[u8], seed: u64) -> u32 {
    xxh3_64_with_seed(bytes, seed) as u32
}
