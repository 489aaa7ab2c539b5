//! Tests of the index: keys of any shape, of several families, and with long beginnings in common.

use super::*;
use proptest::prelude::*;
use std::collections::BTreeSet;

proptest! {
    #[test]
    fn a_separator_separates(keys in prop::collection::btree_set(prop::collection::vec(0_u8..4, 0..6), 2..3)) {
        let keys: Vec<_> = keys.into_iter().collect();
        let found = separator(&keys[0], &keys[1]);
        prop_assert!(*keys[0] <= *found && *found < *keys[1], "{found:?}");
        prop_assert!(found.len() <= keys[0].len());
    }

    #[test]
    fn a_key_s_block_is_found(
        keys in prop::collection::btree_set(prop::collection::vec(prop::sample::select(vec![0_u8, 1, 7, 255]), 0..14), 1..60),
        shared in prop::collection::vec(any::<u8>(), 0..5),
        per_block in 1_usize..5,
        probes in prop::collection::vec(prop::collection::vec(prop::sample::select(vec![0_u8, 1, 7, 255]), 0..14), 0..20),
    ) {
        let with = |key: &[u8]| [&shared[..], key].concat();
        let keys: Vec<_> = keys.iter().map(|key| with(key)).collect();
        let blocks: Vec<_> = keys.chunks(per_block).collect();
        let mut builder = IndexBuilder::new();
        for (number, block) in blocks.iter().enumerate() {
            let next = blocks.get(number + 1).map(|next| &next[0][..]);
            builder.add(block.last().unwrap(), next, (number as u64 + 1) * 100);
        }
        let mut bytes = Vec::new();
        builder.finish(&mut bytes);
        let index = Index::new(&bytes).unwrap();
        prop_assert_eq!(index.blocks(), blocks.len());
        for (number, block) in blocks.iter().enumerate() {
            prop_assert_eq!(index.range(number), (number as u64 * 100, (number as u64 + 1) * 100));
            for key in *block {
                prop_assert_eq!(index.find(key), number);
            }
        }
        // A key that is not there: nothing at or after it is in an earlier block than the one that is found.
        let all: BTreeSet<_> = keys.iter().cloned().collect();
        for probe in probes.iter().flat_map(|probe| [with(probe), probe.clone()]) {
            let found = index.find(&probe);
            let before = keys.iter().take(found * per_block);
            let is_behind = { before }.all(|key| *key < probe);
            prop_assert!(is_behind);
            prop_assert!(all.range(probe.clone()..).next().is_none_or(|next| index.find(next) >= found));
        }
    }

    #[test]
    fn no_bytes_are_a_panic(bytes in prop::collection::vec(any::<u8>(), 0..200), key in prop::collection::vec(any::<u8>(), 0..9)) {
        if let Ok(index) = Index::new(&bytes) {
            let _ = index.find(&key);
        }
    }
}

/// Beginnings of which some are beginnings of others, some end within a head, and some are long.
fn beginning() -> impl Strategy<Value = Vec<u8>> {
    let long = [&b"session:"[..], &[b'x'; 300]].concat();
    prop_oneof![
        prop::sample::select(vec![
            b"".to_vec(),
            b"account:".to_vec(),
            b"account:eu:".to_vec(),
            b"account:eu:berlin:mitte:".to_vec(),
            b"acc\0\0\0\0\0".to_vec(),
            b"acc".to_vec(),
            b"orderline:".to_vec(),
            long.clone(),
            [&long[..], b"deeper still:"].concat(),
            vec![255; 9],
        ]),
        // Beginnings of each other, for many levels.
        (0_usize..400).prop_map(|len| vec![b'n'; len]),
    ]
}

fn end() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        (0_u16..300).prop_map(|number| format!("{number:04}").into_bytes()),
        prop::collection::vec(prop::sample::select(vec![0_u8, 1, b'a', 255]), 0..12),
    ]
}

fn key() -> impl Strategy<Value = Vec<u8>> {
    (beginning(), end()).prop_map(|(beginning, end)| [beginning, end].concat())
}

fn of(keys: &[Vec<u8>]) -> Index {
    let mut builder = IndexBuilder::new();
    (1..).zip(keys).for_each(|(end, key)| builder.add(key, None, end));
    let mut bytes = Vec::new();
    builder.finish(&mut bytes);
    Index::new(&bytes).unwrap()
}

proptest! {
    #[test]
    fn the_first_key_that_is_not_below_is_found_whatever_families_there_are(
        mut keys in prop::collection::vec(key(), 0..400),
        is_distinct in any::<bool>(),
        probes in prop::collection::vec(key(), 0..60),
    ) {
        keys.sort();
        if is_distinct {
            keys.dedup();
        }
        let index = of(&keys);
        let other = Index::of_keys(keys.iter().map(|key| &key[..])).unwrap();
        for probe in keys.iter().chain(&probes) {
            let expected = keys.partition_point(|key| key < probe);
            prop_assert_eq!(index.find(probe), expected, "{:?}", probe);
            prop_assert_eq!(other.find(probe), expected, "{:?}", probe);
            // Right before it and right behind it.
            let behind = [&probe[..], &[0]].concat();
            prop_assert_eq!(index.find(&behind), keys.partition_point(|key| *key < behind));
            if let Some((last, rest)) = probe.split_last() {
                let before = [rest, &[last.saturating_sub(1), 255][..]].concat();
                prop_assert_eq!(index.find(&before), keys.partition_point(|key| *key < before));
            }
        }
        for number in 0..keys.len() {
            prop_assert_eq!(index.range(number), (number as u64, number as u64 + 1));
        }
    }
}

const FAMILIES: [&str; 5] = ["account:", "invoice:", "orderline:", "product:", "session:"];

/// Blocks of five families, of which each has many.
fn families(digits: fn(u64) -> String) -> Vec<Vec<u8>> {
    let number = |family: &str| {
        let mut keys: Vec<_> = (0..3_000).map(|at| (family.to_owned() + &digits(at)).into_bytes()).collect();
        keys.sort();
        keys
    };
    FAMILIES.iter().flat_map(|family| number(family)).collect()
}

#[test]
fn no_search_goes_through_keys_one_by_one() {
    let shapes: [fn(u64) -> String; 3] = [
        |at| format!("{:016x}", at.wrapping_mul(0x9e37_79b9_7f4a_7c15)),
        |at| format!("{:012}", at * 50),
        // Sixteen with each head, and no more.
        |at| format!("{:08}:{:08}", at / 16, at % 16),
    ];
    for digits in shapes {
        let keys = families(digits);
        let index = of(&keys);
        let mut most = 0;
        for (number, key) in keys.iter().enumerate() {
            COMPARED.set(0);
            assert_eq!(index.find(key), number);
            assert_eq!(index.find(&[&key[..], b"0"].concat()), number + 1);
            most = most.max(COMPARED.get());
        }
        assert!(most > 0, "keys were compared beyond their heads, or this counts nothing");
        assert!(most <= 2 * 6, "{most} comparisons in two searches");
    }
    // Below the last level: beginnings of each other for so long that there is a node for each.
    let keys: Vec<_> = (0..3_000).map(|len| vec![b'n'; len * 9]).collect();
    let index = Index::of_keys(keys.iter().map(|key| &key[..])).unwrap();
    for (number, key) in keys.iter().enumerate().step_by(97) {
        COMPARED.set(0);
        assert_eq!(index.find(key), number);
        assert!(COMPARED.get() <= 14, "{} comparisons among 3,000", COMPARED.get());
    }
}

#[test]
fn families_take_about_the_memory_of_one() {
    let one: Vec<_> =
        (0..15_000_u64).map(|at| format!("session:{:08x}", at * 250_000).into_bytes()).collect();
    let five = families(|at| format!("{:08x}", at * 1_250_000));
    let (one, five) = (of(&one).bytes(), of(&five).bytes());
    assert!(five * 100 <= one * 102, "{five} bytes for five families, {one} for one");
}

/// What the keys share is kept once, whether or not others share nothing with them, and on every level.
#[test]
fn what_keys_share_is_kept_once() {
    let long = |byte: u8| vec![byte; 60 << 10];
    let number = |at: u32| format!("{:016x}", u64::from(at).wrapping_mul(0x9e37_79b9_7f4a_7c15)).into_bytes();
    let mut keys: Vec<_> = (0..3_000).map(|at| [long(b'p'), number(at)].concat()).collect();
    keys.push(b"a:config".to_vec());
    // Few neighbours, and a family within the family.
    keys.extend((0..3).map(|at| [long(b'q'), number(at)].concat()));
    keys.extend((0..200).map(|at| [long(b'p'), long(b'r'), number(at)].concat()));
    keys.sort();
    let distinct = 3 * (60 << 10) + 3_203 * 16;
    let index = of(&keys);
    assert!(index.bytes() * 10 <= distinct * 12, "{} bytes, {distinct} are distinct", index.bytes());
    for (at, key) in keys.iter().enumerate() {
        assert_eq!(index.find(key), at);
    }
}
