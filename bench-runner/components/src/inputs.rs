//! What are the parts asked? The same of ours and of a rival's: keys of 16 bytes, values of 100, in random order.

/// Entries: 4,096, whose keys and values an L2 cache of 1 MiB holds with what a part adds, and a million.
pub const SIZES: [usize; 2] = [4_096, 1_000_000];

/// What every key holds.
pub const VALUE: [u8; 100] = [7; 100];

/// In order.
#[must_use]
pub fn keys(count: usize) -> Vec<[u8; 16]> {
    (0..count).map(key).collect()
}

/// In random order, the same each time.
#[must_use]
pub fn shuffled(count: usize) -> Vec<[u8; 16]> {
    let mut keys = keys(count);
    fastrand::Rng::with_seed(1).shuffle(&mut keys);
    keys
}

/// As [`shuffled`], and each lies between two that are there.
#[must_use]
pub fn absent(count: usize) -> Vec<[u8; 16]> {
    let mut keys = shuffled(count);
    keys.iter_mut().for_each(|key| key[15] = b':');
    keys
}

/// What all keys of [`keys`] begin with, as a database knows it from its tables or its last memtable.
#[must_use]
pub fn common(count: usize) -> Vec<u8> {
    let (first, last) = (key(0), key(count - 1));
    first.iter().zip(&last).take_while(|(a, b)| a == b).map(|(a, _)| *a).collect()
}

fn key(mut number: usize) -> [u8; 16] {
    let mut key = *b"key:000000000000";
    for digit in key[4..].iter_mut().rev() {
        *digit = b'0' + (number % 10) as u8;
        number /= 10;
    }
    key
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn keys_are_in_order_and_absent_ones_lie_between_them() {
        let sorted = keys(1_000);
        assert!(sorted.is_sorted() && sorted[999] == *b"key:000000000999");
        let there: HashSet<_> = shuffled(1_000).into_iter().collect();
        assert!(sorted.iter().all(|key| there.contains(key)));
        for key in absent(1_000) {
            assert!(!there.contains(&key) && sorted[0] < key && key[..15] <= sorted[999][..15]);
        }
        assert_eq!(common(1_000), b"key:000000000");
    }
}
