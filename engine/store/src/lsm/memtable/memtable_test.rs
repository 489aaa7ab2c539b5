//! Does a memtable hold what a sorted map of (key, stamp) holds, while it is being read, too?

use super::{Memtable, MemtableCursor};
use crate::lsm::record::{Kind, MAX_SEQUENCE, Record, Stamp};
use proptest::prelude::*;
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

type Model = BTreeMap<(Vec<u8>, Reverse<Stamp>), Vec<u8>>;

fn filled(writes: &[(Vec<u8>, Vec<u8>)], common: &[u8]) -> (Memtable, Model) {
    let (table, mut inserter) = Memtable::new(1 << 20, common).unwrap();
    let mut model = Model::new();
    for (sequence, (key, value)) in (1..).zip(writes) {
        let stamp = Stamp::new(sequence, if value.is_empty() { Kind::Delete } else { Kind::Set });
        assert!(table.insert(&mut inserter, &Record { key, stamp, value }));
        model.insert((key.clone(), Reverse(stamp)), value.clone());
    }
    (table, model)
}

fn shown(record: Record) -> (Vec<u8>, Stamp, Vec<u8>) {
    (record.key.to_vec(), record.stamp, record.value.to_vec())
}

fn expected((key, value): (&(Vec<u8>, Reverse<Stamp>), &Vec<u8>)) -> (Vec<u8>, Stamp, Vec<u8>) {
    (key.0.clone(), key.1.0, value.clone())
}

/// Few bytes, so that keys are prefixes of each other and come again.
fn key() -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(prop::sample::select(vec![0_u8, 1, b'a', 255]), 0..8)
}

proptest! {
    #[test]
    fn reads_find_what_a_sorted_map_finds(
        writes in prop::collection::vec((key(), prop::collection::vec(any::<u8>(), 0..20)), 0..200),
        probes in prop::collection::vec((key(), 0_u64..250), 0..40),
        common in prop::collection::vec(prop::sample::select(vec![0_u8, 1, b'a', 255]), 0..3),
    ) {
        let (table, model) = filled(&writes, &common);
        let table = Arc::new(table);
        let all: Vec<_> = model.iter().map(expected).collect();
        let mut cursor = MemtableCursor::new(Arc::clone(&table));
        let (mut forward, mut backward) = (Vec::new(), Vec::new());
        cursor.first();
        while let Some(record) = cursor.record() {
            forward.push(shown(record));
            cursor.next();
        }
        cursor.last();
        while let Some(record) = cursor.record() {
            backward.push(shown(record));
            cursor.previous();
        }
        backward.reverse();
        prop_assert_eq!(&forward, &all);
        prop_assert_eq!(&backward, &all);
        for (key, at) in probes {
            let from = (key.clone(), Reverse(Stamp::newest_at(at)));
            cursor.seek(&key, from.1.0);
            prop_assert_eq!(cursor.record().map(shown), model.range(from.clone()..).next().map(expected));
            cursor.seek_before(&key, from.1.0);
            prop_assert_eq!(cursor.record().map(shown), model.range(..from.clone()).next_back().map(expected));
            let newest = model.range(from..).next().filter(|((found, _), _)| *found == key);
            prop_assert_eq!(table.get(&key, at).map(shown), newest.map(expected));
        }
    }
}

/// Thousands of pages: in the order in which they come they are split at their ends, at their beginnings, and anywhere.
#[test]
fn many_versions_are_in_order_whatever_order_they_came_in() {
    const COUNT: u64 = if cfg!(miri) { 300 } else { 20_000 };
    let orders: [fn(u64) -> u64; 3] = [|at| at, |at| COUNT - 1 - at, |at| at * 7_919 % COUNT];
    // The guess fits, fits none, and leaves so much that eight bytes decide nothing.
    for (order, common) in
        orders.into_iter().zip([b"key:".as_slice(), b"other", b""]).chain([(orders[2], b"key:".as_slice())])
    {
        let key = |number: u64| format!("key:{number:012}").into_bytes();
        let room = (COUNT as usize) * 100;
        let (table, mut inserter) = Memtable::new(room, common).unwrap();
        for at in 0..COUNT {
            let stamp = Stamp::new(at + 1, Kind::Set);
            assert!(table.insert(&mut inserter, &Record { key: &key(order(at)), stamp, value: b"value" }));
        }
        assert!(table.bytes() < room, "{}", table.bytes());
        let mut cursor = MemtableCursor::new(Arc::new(table));
        cursor.first();
        for number in 0..COUNT {
            assert_eq!(cursor.record().map(|record| record.key.to_vec()), Some(key(number)));
            cursor.next();
        }
        assert!(cursor.record().is_none());
        for number in (0..COUNT).step_by(997) {
            cursor.seek(&key(number), Stamp::newest_at(MAX_SEQUENCE));
            assert_eq!(cursor.record().map(|record| record.key.to_vec()), Some(key(number)));
            cursor.previous();
            assert_eq!(cursor.record().map(|record| record.key.to_vec()), number.checked_sub(1).map(key));
        }
    }
}

#[test]
fn what_does_not_fit_is_refused_and_changes_nothing() {
    let (table, mut inserter) = Memtable::new(4_096, b"").unwrap();
    let mut sequence = 0;
    let value = [7; 100];
    loop {
        sequence += 1;
        let key = format!("{sequence:04}");
        let fits = table.fits(key.len(), value.len());
        let record = Record { key: key.as_bytes(), stamp: Stamp::new(sequence, Kind::Set), value: &value };
        let done = table.insert(&mut inserter, &record);
        assert_eq!(done, fits, "what is promised to fit fits");
        if !done {
            break;
        }
    }
    assert!(table.versions() == sequence - 1 && table.versions() > 20);
    assert!(table.get(format!("{sequence:04}").as_bytes(), MAX_SEQUENCE).is_none());
    assert!(table.get(b"0001", MAX_SEQUENCE).is_some() && table.bytes() <= 4_096 + 512);
}

#[test]
fn readers_see_whole_versions_in_order_while_one_writes() {
    const WRITES: u64 = if cfg!(miri) { 200 } else { 50_000 };
    let (table, mut inserter) = Memtable::new(16 << 20, b"").unwrap();
    let table = Arc::new(table);
    let published = AtomicU64::new(0);
    std::thread::scope(|scope| {
        for reader in 0..2_u64 {
            let (table, published) = (&table, &published);
            scope.spawn(move || {
                let mut random = fastrand::Rng::with_seed(reader);
                loop {
                    let at = published.load(Ordering::Acquire);
                    if at > 0 {
                        let number = random.u64(1..=at);
                        let key = (number.wrapping_mul(0x9e37_79b9_7f4a_7c15)).to_be_bytes();
                        let found = table.get(&key, at).expect("what was published is there");
                        assert_eq!(
                            (found.stamp.sequence(), found.value),
                            (number, &number.to_le_bytes()[..])
                        );
                        let mut cursor = MemtableCursor::new(Arc::clone(table));
                        cursor.seek(&key, Stamp::newest_at(at));
                        let mut last = None;
                        for _ in 0..5 {
                            let Some(record) = cursor.record() else { break };
                            assert!(last < Some(record.key.to_vec()));
                            last = Some(record.key.to_vec());
                            cursor.next();
                        }
                        cursor.seek(&key, Stamp::newest_at(at));
                        let mut first = cursor.record().map(|record| record.key.to_vec());
                        for _ in 0..5 {
                            cursor.previous();
                            let Some(record) = cursor.record() else { break };
                            assert!(first > Some(record.key.to_vec()));
                            first = Some(record.key.to_vec());
                        }
                    }
                    if at == WRITES {
                        return;
                    }
                }
            });
        }
        for number in 1..=WRITES {
            let key = number.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_be_bytes();
            let (stamp, value) = (Stamp::new(number, Kind::Set), number.to_le_bytes());
            assert!(table.insert(&mut inserter, &Record { key: &key, stamp, value: &value }));
            published.store(number, Ordering::Release);
        }
    });
}

/// Keys that the writer does not touch, each next to one that it writes: the largest of all, and one
/// in eight in between.
#[test]
fn backward_reads_beside_a_writer_pass_nothing_that_was_there_before() {
    const WRITES: u64 = if cfg!(miri) { 100 } else { 150_000 };
    const FIXED: u64 = 64;
    let fixed = |number: u64| format!("event:{number:03}:zzzz").into_bytes();
    let (table, mut inserter) = Memtable::new(64 << 20, b"").unwrap();
    for number in 0..FIXED {
        let record = Record { key: &fixed(number), stamp: Stamp::new(number + 1, Kind::Set), value: b"" };
        assert!(table.insert(&mut inserter, &record));
    }
    let table = Arc::new(table);
    let is_over = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        for reader in 0..2_u64 {
            let (table, is_over) = (&table, &is_over);
            scope.spawn(move || {
                let mut random = fastrand::Rng::with_seed(reader);
                let mut cursor = MemtableCursor::new(Arc::clone(table));
                let newest = Stamp::newest_at(MAX_SEQUENCE);
                while !is_over.load(Ordering::Relaxed) {
                    cursor.last();
                    assert_eq!(cursor.record().map(|record| record.key), Some(&fixed(FIXED - 1)[..]), "last");
                    let number = random.u64(1..FIXED);
                    cursor.seek_before(format!("event:{number:03}").as_bytes(), newest);
                    let found = cursor.record().map(|record| record.key.to_vec());
                    assert_eq!(found, Some(fixed(number - 1)), "before the next family");
                }
            });
        }
        for number in 1..=WRITES {
            // Rising below each fixed key, so that pages split right before it.
            let key = format!("event:{:03}:{number:012}", number % FIXED);
            let stamp = Stamp::new(FIXED + number, Kind::Set);
            assert!(table.insert(&mut inserter, &Record { key: key.as_bytes(), stamp, value: b"" }));
        }
        is_over.store(true, Ordering::Relaxed);
    });
}
