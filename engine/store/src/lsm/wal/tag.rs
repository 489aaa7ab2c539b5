//! The tag of a log: what its records carry and their checksums are seeded with.
//!
//! A file that is used again holds values of its earlier log, and a client chooses values. If it could
//! compute a tag to come, it could write values that are records. So a store draws 64 random bits at
//! each opening, the *salt*, which only its manifest holds, and the tag of a file is a hash of salt and
//! number. A store of 0.5.0 or 0.5.1 has no salt: there the number is the tag.

use xxhash_rust::xxh3::xxh3_64_with_seed;

/// The tag of the log or manifest with this number.
pub(crate) fn tag(salt: Option<u64>, number: u64) -> u64 {
    salt.map_or(number, |salt| xxh3_64_with_seed(&number.to_le_bytes(), salt))
}

#[cfg(test)]
mod tests {
    use super::tag;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_tag_depends_on_salt_and_number(salt: u64, number: u64, bit in 0..64_u32) {
            prop_assert_eq!(tag(None, number), number);
            prop_assert_ne!(tag(Some(salt), number), tag(Some(salt ^ 1 << bit), number));
            prop_assert_ne!(tag(Some(salt), number), tag(Some(salt), number ^ 1 << bit));
        }
    }
}
