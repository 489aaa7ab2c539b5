//! What holds when several threads work at once? Scans miss nothing, several keys change together, the count is exact.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "helpers of tests; clippy exempts only the tests themselves"
)]

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use plumbkv::{Condition, Database, Expiry, Options, SetOptions};

/// One walk over everything by SCAN: how often each key was returned.
fn scan_all(db: &Database, count: usize) -> HashMap<Vec<u8>, u32> {
    let mut seen = HashMap::new();
    let mut cursor = 0;
    loop {
        cursor = db.scan(cursor, count, &mut |key| *seen.entry(key.to_vec()).or_insert(0) += 1).unwrap();
        if cursor == 0 {
            return seen;
        }
    }
}

#[test]
fn a_scan_returns_each_key_that_stays_exactly_once_while_tables_grow_and_shrink() {
    for shards in [1, 8, 4096] {
        let db = Database::open(Options::memory(u64::MAX).shards(Some(shards))).unwrap();
        let staying = |number: u32| [b"stay", &number.to_be_bytes()[..]].concat();
        for number in 0..2000 {
            db.set(&staying(number), b"").unwrap();
        }
        let stop = AtomicBool::new(false);
        thread::scope(|scope| {
            let (db, stop) = (&db, &stop);
            scope.spawn(move || {
                // Grows each table to many times its size and lets it shrink again.
                while !stop.load(Ordering::Relaxed) {
                    for number in 0..30_000u32 {
                        db.set(&number.to_be_bytes(), b"").unwrap();
                    }
                    for number in 0..30_000u32 {
                        db.delete(&number.to_be_bytes()).unwrap();
                    }
                }
            });
            for count in [1, 10, 1000].repeat(3) {
                let seen = scan_all(db, count);
                for number in 0..2000 {
                    assert_eq!(
                        seen.get(&staying(number)),
                        Some(&1),
                        "key {number}, {shards} shards, COUNT {count}"
                    );
                }
            }
            stop.store(true, Ordering::Relaxed);
        });
    }
}

#[test]
fn a_scan_call_returns_about_what_was_asked_and_ends_for_any_cursor() {
    let db = Database::open(Options::memory(u64::MAX).seed(1)).unwrap();
    for number in 0..50_000u32 {
        db.set(&number.to_be_bytes(), b"").unwrap();
    }
    for count in [0, 1, 10, 100] {
        let (mut cursor, mut calls, mut total) = (0, 0, 0);
        loop {
            let mut returned = 0;
            cursor = db.scan(cursor, count, &mut |_| returned += 1).unwrap();
            assert!(returned <= count.max(1) + 2, "{returned} for COUNT {count}");
            total += returned;
            calls += 1;
            if cursor == 0 {
                break;
            }
        }
        assert_eq!(total, 50_000);
        assert!(calls <= 50_000 / count.max(1) + 4096);
    }
    for cursor in [u64::MAX, 1 << 44, u64::from(u32::MAX), 12_345] {
        db.scan(cursor, 10, &mut |_| ()).unwrap();
    }
    assert_eq!(db.scan(4096 << 32, 10, &mut |_| panic!("there is no shard 4096")).unwrap(), 0);
}

#[test]
fn threads_at_the_cap_neither_lose_count_nor_pass_the_cap() {
    let db = Database::open(Options::memory(4 << 20)).unwrap();
    thread::scope(|scope| {
        for thread in 0..4u64 {
            let db = &db;
            scope.spawn(move || {
                let mut rng = fastrand::Rng::with_seed(thread);
                for _ in 0..30_000 {
                    let number = rng.u32(..8000).to_be_bytes();
                    let other = rng.u32(..8000).to_be_bytes();
                    let value =
                        vec![1; if rng.u32(..200) == 0 { rng.usize(..400_000) } else { rng.usize(..1500) }];
                    match rng.u32(..12) {
                        0..=4 => db.set(&number, &value).unwrap(),
                        5 => db.set_many(&[(&number, &value), (&other, &value)]).unwrap(),
                        6 => drop(db.append(&number, &value[..value.len().min(2000)]).unwrap()),
                        7 => drop(db.rename(&number, &other).unwrap()),
                        8 => drop(db.take(&number).unwrap()),
                        9 => drop(db.get_and_expire(&number, Expiry::At(u64::MAX)).unwrap()),
                        10 => drop(db.multi_get(&[&number, &other]).unwrap()),
                        _ => {
                            let options =
                                SetOptions::new().condition(Condition::IfAbsent).expiry(Expiry::At(1));
                            db.set_with(&number, &value, options).unwrap();
                        }
                    }
                    // Not `stats()`, which would take every lock and order the threads.
                    if rng.u32(..1000) == 0 {
                        assert!(db.stats().accounted_bytes <= 4 << 20);
                    }
                }
            });
        }
    });
    let stats = db.stats();
    assert_eq!(db.recount_entry_bytes(), stats.entry_bytes);
    assert!(stats.evicted > 1000 && stats.accounted_bytes <= stats.cap_bytes, "{stats:?}");
}

#[test]
fn several_keys_change_together() {
    let db = Database::open(Options::memory(64 << 20)).unwrap();
    let keys: Vec<Vec<u8>> = (0..8u8).map(|number| vec![number]).collect();
    let slices: Vec<&[u8]> = keys.iter().map(|key| &key[..]).collect();
    let write = |value: u32| {
        let value = value.to_be_bytes();
        let pairs: Vec<(&[u8], &[u8])> = slices.iter().map(|key| (*key, &value[..])).collect();
        db.set_many(&pairs).unwrap();
    };
    write(0);
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        for writer in 0..2 {
            let (stop, write) = (&stop, &write);
            scope.spawn(move || {
                let mut value = writer;
                while !stop.load(Ordering::Relaxed) {
                    value += 2;
                    write(value);
                }
            });
        }
        let mut different = std::collections::HashSet::new();
        let start = Instant::now();
        // Until the writers have been at it, however late they were scheduled.
        while different.len() < 1000 && start.elapsed() < Duration::from_secs(20) {
            let values = db.multi_get(&slices).unwrap();
            assert!(
                values.iter().all(|value| value == &values[0]),
                "half of a set_many was seen: {values:?}"
            );
            different.insert(values[0].clone());
        }
        stop.store(true, Ordering::Relaxed);
        assert!(different.len() > 1, "the writers did nothing for 20 s");
    });
}

#[test]
fn increments_of_many_threads_add_up() {
    let db = Database::open(Options::memory(1 << 20)).unwrap();
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| (0..20_000).all(|_| db.increment(b"n", 1).unwrap() > 0));
        }
    });
    assert_eq!(db.get(b"n").unwrap(), Some(b"80000".to_vec()));
}

#[test]
fn increments_that_are_synced_have_the_same_errors() {
    let directory = tempfile::tempdir().unwrap();
    let options = Options::durable(directory.path().join("store")).sync_mode(plumbkv::SyncMode::Always);
    let db = Database::open(options.clone()).unwrap();
    db.set(b"count", b"9223372036854775806").unwrap();
    assert_eq!(db.increment(b"count", 1).unwrap(), i64::MAX);
    assert_eq!(db.increment(b"count", 1), Err(plumbkv::Error::Overflow));
    db.set(b"count", b"a word").unwrap();
    assert_eq!(db.increment(b"count", 1), Err(plumbkv::Error::NotAnInteger));
    db.close().unwrap();
    assert_eq!(Database::open(options).unwrap().get(b"count").unwrap(), Some(b"a word".to_vec()));
}
