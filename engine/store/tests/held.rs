//! What leaves the store without being copied, and what a program keeps in its pages: both count under the cap until they are dropped.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "helpers of tests; clippy exempts only the tests themselves"
)]

use plumbkv::{Database, Error, Fetched, Options, Policy, SetOptions, Value};

const MIB: u64 = 1024 * 1024;

fn open(cap: u64) -> Database {
    Database::open(Options::memory(cap).seed(7)).unwrap()
}

fn letters(len: usize, seed: usize) -> Vec<u8> {
    (0..len).map(|at| ((at + seed) / 5) as u8).collect()
}

fn fetch(db: &Database, key: &[u8]) -> Option<Value> {
    db.fetch(key, |found| match found {
        Fetched::Bytes(_) => panic!("it is long"),
        Fetched::Value(value) => value,
    })
    .unwrap()
}

#[test]
fn a_long_value_stays_as_it_was_whatever_becomes_of_its_key() {
    for len in [40_000, 900_000, 3_000_000] {
        let db = open(64 * MIB);
        let other = letters(len, 3);
        type Change = fn(&Database, &[u8]);
        let changes: [Change; 6] = [
            |db, _| assert!(db.delete(b"key").unwrap()),
            |db, other| db.set(b"key", other).unwrap(),
            |db, _| assert!(db.append(b"key", &[9; 100]).unwrap() > 100),
            |db, _| db.clear().unwrap(),
            |db, _| assert!(db.rename(b"key", b"other").unwrap()),
            |db, other| {
                let options = SetOptions::new().want_previous(true);
                let outcome = db.set_with(b"key", other, options).unwrap();
                assert_eq!(outcome.previous.unwrap().len(), other.len());
            },
        ];
        let empty = db.stats().accounted_bytes;
        for (index, change) in changes.into_iter().enumerate() {
            db.set(b"key", &letters(len, 0)).unwrap();
            let value = fetch(&db, b"key").unwrap();
            assert!(value.is_held());
            let second = fetch(&db, b"key").unwrap();
            change(&db, &other);
            assert!(*value == *letters(len, 0), "{len} bytes after change {index}");
            drop(value);
            assert!(*second == *letters(len, 0), "{len} bytes after change {index}, with one holder left");
            db.clear().unwrap();
            while db.maintain(std::time::Duration::from_millis(1)) {}
            let held = db.stats().accounted_bytes - empty;
            assert!(
                held >= len as u64 && held < len as u64 + 2 * MIB,
                "{held} bytes count for {len} that are held"
            );
            drop(second);
            while db.maintain(std::time::Duration::from_millis(1)) {}
            assert!(db.stats().accounted_bytes - empty < 2 * MIB);
            assert_eq!(db.recount_entry_bytes(), db.stats().entry_bytes);
        }
    }
}

#[test]
fn what_is_held_cannot_be_evicted_away() {
    let db = open(2 * MIB);
    db.set(b"held", &letters(1_000_000, 0)).unwrap();
    let value = fetch(&db, b"held").unwrap();
    for number in 0..5000u32 {
        db.set(&number.to_be_bytes(), &[1; 500]).unwrap();
        let stats = db.stats();
        assert!(stats.accounted_bytes <= stats.cap_bytes);
    }
    assert!(!db.exists(b"held").unwrap());
    assert!(matches!(db.set(b"big", &[2; 1_200_000]), Err(Error::OutOfMemory)));
    let keys = db.len();
    assert!(*value == *letters(1_000_000, 0));
    drop(value);
    for number in 0..5000u32 {
        db.set(&number.to_be_bytes(), &[1; 500]).unwrap();
    }
    assert!(db.len() > keys * 3 / 2, "{} keys, {keys} while a value was held", db.len());
}

#[test]
fn a_short_value_is_handed_over_where_it_lies() {
    let db = open(2 * MIB);
    db.set(b"key", b"short").unwrap();
    let is_short = db.fetch(b"key", |found| matches!(found, Fetched::Bytes(b"short"))).unwrap();
    assert_eq!(is_short, Some(true));
    assert_eq!(db.fetch(b"none", |_| ()).unwrap(), None);
    let taken = db.take(b"key").unwrap().unwrap();
    assert!(!taken.is_held() && *taken == *b"short");
    assert_eq!((db.stats().hits, db.stats().misses), (2, 1));
}

#[test]
fn a_buffer_keeps_its_bytes_while_it_grows_and_counts_as_long_as_it_lives() {
    let db = open(64 * MIB);
    let empty = db.stats().accounted_bytes;
    let bytes = letters(5_000_000, 0);
    let mut buffer = db.buffer(1).unwrap();
    assert_eq!((buffer.len(), buffer.capacity()), (0, 4096));
    let mut at = 0;
    for capacity in [4096, 10_000, 300_000, 1 << 20, 3 << 20, 5_000_000] {
        buffer.grow(capacity).unwrap();
        assert!(buffer.capacity() >= capacity && buffer.capacity() < capacity + 4096);
        at += buffer.fill(&bytes[at..]);
        assert!(*buffer == bytes[..at], "at {capacity}");
        assert_eq!(db.stats().reserved_bytes, buffer.capacity() as u64);
        assert_eq!(db.stats().accounted_bytes, empty + buffer.capacity() as u64);
    }
    buffer.consume(1_234_567);
    assert!(*buffer == bytes[1_234_567..at]);
    let room = buffer.spare();
    room[..3].copy_from_slice(b"end");
    buffer.advance(3);
    assert!(buffer.ends_with(b"end"));
    assert!(matches!(buffer.grow(100 << 20), Err(Error::TooLargeForCap { .. })));
    assert!(buffer.ends_with(b"end"));
    buffer.advance(usize::MAX >> 1);
    assert_eq!(buffer.len(), buffer.capacity());
    drop(buffer);
    while db.maintain(std::time::Duration::from_millis(1)) {}
    assert_eq!((db.stats().reserved_bytes, db.stats().accounted_bytes), (0, empty));
}

#[test]
fn buffers_evict_keys_and_never_pass_the_cap() {
    let db = open(2 * MIB);
    for number in 0..3000u32 {
        db.set(&number.to_be_bytes(), &[1; 600]).unwrap();
    }
    let before = db.len();
    let buffers: Vec<_> = (0..100).map(|_| db.buffer(8000).unwrap()).collect();
    let stats = db.stats();
    assert!(stats.keys < before && stats.accounted_bytes <= stats.cap_bytes, "{stats:?}");
    assert!(matches!(db.buffer(3 << 20), Err(Error::TooLargeForCap { .. })));
    drop(buffers);
    let db = Database::open(Options::memory(2 * MIB).policy(Policy::NoEviction)).unwrap();
    while db.set(&db.len().to_be_bytes(), &[1; 1000]).is_ok() {}
    assert!(matches!(db.buffer(100_000), Err(Error::OutOfMemory)));
}

#[test]
fn threads_hold_and_replace_the_same_values() {
    let db = open(32 * MIB);
    std::thread::scope(|scope| {
        for thread in 0..3usize {
            let db = &db;
            scope.spawn(move || {
                let mut rng = fastrand::Rng::with_seed(thread as u64);
                let mut held = Vec::new();
                for _ in 0..2000 {
                    let key = [rng.u8(..8)];
                    let fill = rng.u8(..);
                    match rng.u8(..4) {
                        0 => db.set(&key, &vec![fill; rng.usize(20_000..2_000_000)]).unwrap(),
                        1 => drop(db.delete(&key).unwrap()),
                        2 => assert!(db.append(&key, &[fill; 10]).unwrap() >= 10),
                        _ => held.extend(
                            db.fetch(&key, |found| match found {
                                Fetched::Value(value) => Some((value[0], value)),
                                Fetched::Bytes(_) => None,
                            })
                            .unwrap()
                            .flatten(),
                        ),
                    }
                    if held.len() > 3 {
                        let (first, value) = held.swap_remove(rng.usize(..held.len()));
                        // An append may have added to it before it was held.
                        assert!(value[..10_000].iter().all(|&byte| byte == first));
                    }
                }
            });
        }
    });
    let stats = db.stats();
    assert!(stats.accounted_bytes <= stats.cap_bytes);
    assert_eq!(db.recount_entry_bytes(), stats.entry_bytes);
}
