//! Key schemas: one family of keys with 16 bytes, or five families with 16 hexadecimal digits after their name.
//!
//! In both the order of keys is the order of their indices, so a scan knows which record comes next.

use crate::protocol::{KeySchema, Records};
use crate::values::{KEY_BYTES, write_absent_key, write_key};
use std::ops::Deref;

/// Names of the five families, in their order.
const FAMILIES: [&str; 5] = ["account:", "invoice:", "orderline:", "product:", "session:"];
/// Digits after the name of a family.
const DIGITS: usize = 16;
/// Room for the longest name and its digits.
const LONGEST: usize = 26;

/// A key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Key {
    bytes: [u8; LONGEST],
    length: usize,
}

impl Deref for Key {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        self.bytes.get(..self.length).unwrap_or(&self.bytes)
    }
}

impl From<[u8; KEY_BYTES]> for Key {
    fn from(key: [u8; KEY_BYTES]) -> Self {
        let mut bytes = [0; LONGEST];
        bytes[..KEY_BYTES].copy_from_slice(&key);
        Self { bytes, length: KEY_BYTES }
    }
}

/// Key number `index` of `records`; one number past the last gives a key that sorts after all of them.
pub(crate) fn key(records: &Records, index: u64) -> Key {
    match records.keys {
        KeySchema::OneFamily => plain(index),
        KeySchema::FiveFamilies => in_family(records.count, index, 0),
    }
}

/// A key that sorts after key number `index`, before the next that is there, and is not there itself.
pub(crate) fn absent_key(records: &Records, index: u64) -> Key {
    match records.keys {
        KeySchema::OneFamily => {
            let mut key = [0; KEY_BYTES];
            write_absent_key(index, records.count, &mut key);
            key.into()
        }
        KeySchema::FiveFamilies => in_family(records.count, index, 1),
    }
}

/// `key:` and twelve digits.
pub(crate) fn plain(index: u64) -> Key {
    let mut key = [0; KEY_BYTES];
    write_key(index, &mut key);
    key.into()
}

/// A fifth of the keys in each family, evenly spread over all numbers of sixteen digits.
fn in_family(count: u64, index: u64, after: u64) -> Key {
    let each = count.div_ceil(FAMILIES.len() as u64).max(1);
    let family = (index / each).min(FAMILIES.len() as u64 - 1);
    let spread = u64::MAX / each;
    let mut number = (index - family * each).saturating_mul(spread).saturating_add(after);
    let name = FAMILIES[family as usize].as_bytes();
    let length = name.len() + DIGITS;
    let mut bytes = [0; LONGEST];
    bytes[..name.len()].copy_from_slice(name);
    for digit in bytes[name.len()..length].iter_mut().rev() {
        *digit = b"0123456789abcdef"[(number & 15) as usize];
        number >>= 4;
    }
    Key { bytes, length }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::ValueKind;

    fn five(count: u64) -> Records {
        let keys = KeySchema::FiveFamilies;
        Records { count, value_bytes: 1, values: ValueKind::Incompressible, keys }
    }

    #[test]
    fn keys_of_five_families_are_in_the_order_of_their_indices() {
        for count in [1, 4, 5, 6, 1_000, 1_003] {
            let records = five(count);
            let keys: Vec<Key> = (0..=count).map(|index| key(&records, index)).collect();
            assert!(keys.windows(2).all(|pair| *pair[0] < *pair[1]), "{count}");
            let used = FAMILIES
                .iter()
                .filter(|name| keys[..count as usize].iter().any(|key| key.starts_with(name.as_bytes())));
            assert_eq!(used.count() as u64, count.min(5).min(count.div_ceil(count.div_ceil(5))));
        }
    }

    #[test]
    fn a_key_of_a_family_has_its_name_and_sixteen_digits() {
        assert_eq!(&*key(&five(1_000), 0), b"account:0000000000000000");
        assert_eq!(&*key(&five(1_000), 400), b"orderline:0000000000000000");
        assert_eq!(&*key(&five(1_000), 401), b"orderline:0147ae147ae147ae");
        assert_eq!(key(&five(1_000), 999).len(), "session:".len() + 16);
    }

    #[test]
    fn an_absent_key_of_a_family_is_between_two_that_are_there() {
        let records = five(1_000);
        for index in 0..1_000 {
            let absent = absent_key(&records, index);
            assert!(*key(&records, index) < *absent && *absent < *key(&records, index + 1));
        }
    }
}
