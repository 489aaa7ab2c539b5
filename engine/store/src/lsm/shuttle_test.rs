//! Whoever runs next: does a reader of a memtable see what was published and nothing half, and does every write of a group come back done, once, whole?
//!
//! Each test runs some thousand times with another order of its threads, drawn from a seed that is printed when one fails; `SHUTTLE_REPLAY` with the schedule that is printed beside
//! it runs that one order again. `SHUTTLE_ITERATIONS` says how many.

use super::memtable::{Memtable, MemtableCursor};
use super::record::{Kind, MAX_SEQUENCE, Record, Stamp};
use super::tree::{Batch, SyncMode, Tree, TreeOptions};
use super::vfs::{Fault, SimDisk};
use crate::clock::ManualClock;
use crate::error::Error;
use shuttle::sync::atomic::{AtomicU64, Ordering};
use shuttle::thread;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

/// Runs a test in many orders: drawn at random, and drawn so that few switches decide, which finds other bugs.
fn check(test: fn()) {
    match std::env::var("SHUTTLE_REPLAY") {
        Ok(schedule) => shuttle::replay(test, &schedule),
        Err(_) => {
            let count = std::env::var("SHUTTLE_ITERATIONS").map_or(2_000, |count| count.parse().unwrap());
            shuttle::check_random(test, count);
            shuttle::check_pct(test, count, 3);
        }
    }
}

fn key(number: u64) -> [u8; 8] {
    number.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_be_bytes()
}

/// One inserts, and publishes each number after; two read.
fn insert_and_read() {
    // A page of the memtable has 13 places: it is full soon after the readers have begun, is split, and places in it are used again.
    const BEFORE: u64 = 11;
    const WRITES: u64 = 18;
    let (table, mut inserter) = Memtable::new(1 << 16, b"").unwrap();
    let mut insert = |table: &Memtable, number: u64| {
        let (stamp, value) = (Stamp::new(number, Kind::Set), number.to_le_bytes());
        assert!(table.insert(&mut inserter, &Record { key: &key(number), stamp, value: &value }));
    };
    (1..=BEFORE).for_each(|number| insert(&table, number));
    let (table, published) = (Arc::new(table), Arc::new(AtomicU64::new(BEFORE)));
    let readers: Vec<_> = (0..2)
        .map(|_| {
            let (table, published) = (Arc::clone(&table), Arc::clone(&published));
            thread::spawn(move || {
                for _ in 0..2 {
                    let at = published.load(Ordering::Acquire);
                    for number in 1..=at {
                        let found = table.get(&key(number), at).expect("what was published is there");
                        assert_eq!(
                            (found.stamp.sequence(), found.value),
                            (number, &number.to_le_bytes()[..])
                        );
                    }
                    let mut cursor = MemtableCursor::new(Arc::clone(&table));
                    let (mut seen, mut last) = (0, None);
                    cursor.first();
                    while let Some(record) = cursor.record() {
                        assert!(last < Some(record.key.to_vec()), "out of order");
                        assert_eq!(record.value, record.stamp.sequence().to_le_bytes(), "half a version");
                        last = Some(record.key.to_vec());
                        seen += u64::from(record.stamp.sequence() <= at);
                        cursor.next();
                    }
                    assert_eq!(seen, at, "a walk steps over what was published");
                    let (mut seen, mut last) = (0, None);
                    cursor.last();
                    while let Some(record) = cursor.record() {
                        assert!(last.is_none() || last > Some(record.key.to_vec()), "out of order backward");
                        last = Some(record.key.to_vec());
                        seen += u64::from(record.stamp.sequence() <= at);
                        cursor.previous();
                    }
                    assert_eq!(seen, at, "a backward walk steps over what was published");
                    for number in 1..=at {
                        cursor.seek_before(&key(number), Stamp::newest_at(0));
                        let found = cursor.record().map(|record| record.key.to_vec());
                        assert_eq!(found, Some(key(number).to_vec()), "the last version before a place");
                    }
                }
            })
        })
        .collect();
    for number in BEFORE + 1..=WRITES {
        insert(&table, number);
        published.store(number, Ordering::Release);
    }
    readers.into_iter().for_each(|reader| reader.join().unwrap());
    assert!((1..=WRITES).all(|number| table.get(&key(number), MAX_SEQUENCE).is_some()));
}

#[test]
fn readers_of_a_memtable_see_what_is_published_and_whole() {
    check(insert_and_read);
}

const DIRECTORY: &str = "/d";
const WRITERS: u64 = 3;
const EACH: u64 = 2;

/// Without workers, and with a memtable that a few writes fill: whoever leads freezes it as well.
fn open(disk: &SimDisk) -> Result<Tree, Error> {
    let options = TreeOptions {
        sync: SyncMode::Always,
        memtable_bytes: 1_000,
        cache_bytes: 0,
        has_workers: false,
        ..TreeOptions::default()
    };
    Tree::open(Arc::new(disk.clone()), Path::new(DIRECTORY), options, Arc::new(ManualClock::new(1)))
}

fn content(tree: &Tree) -> BTreeMap<Vec<u8>, Vec<u8>> {
    let (snapshot, mut found) = (tree.snapshot(), BTreeMap::new());
    let mut walk = snapshot.walk();
    walk.first().unwrap();
    while let Some((key, value)) = walk.pair() {
        found.insert(key.to_vec(), value.to_vec());
        walk.next().unwrap();
    }
    found
}

/// Two keys that have the same value, or are both not there.
fn pair(writer: u64, number: u64) -> Batch {
    let mut batch = Batch::default();
    for half in 0..2_u8 {
        batch.set(&[&writer.to_be_bytes()[..], &[half]].concat(), &number.to_be_bytes());
    }
    batch.set(&[writer as u8, number as u8], &[7; 60]);
    batch
}

fn number_of(found: &BTreeMap<Vec<u8>, Vec<u8>>, writer: u64) -> Option<u64> {
    let half = |half: u8| found.get(&[&writer.to_be_bytes()[..], &[half]].concat()[..]);
    assert_eq!(half(0), half(1), "half a batch");
    half(0).map(|value| u64::from_be_bytes(value[..].try_into().unwrap()))
}

/// Writers that come together, and a reader. For each writer the number of its last write that was
/// acknowledged, and how many were refused.
fn write_together(tree: Tree) -> Vec<(u64, u64)> {
    let tree = Arc::new(tree);
    let writers: Vec<_> = (0..WRITERS)
        .map(|writer| {
            let tree = Arc::clone(&tree);
            thread::spawn(move || {
                let (mut done, mut refused) = (0, 0);
                for number in 1..=EACH {
                    match tree.write(&pair(writer, number)) {
                        Ok(()) => {
                            assert_eq!(number_of(&content(&tree), writer), Some(number), "not what it wrote");
                            done = number;
                        }
                        Err(error) => {
                            assert!(matches!(error, Error::Io { .. }), "{error}");
                            refused += 1;
                        }
                    }
                }
                (done, refused)
            })
        })
        .collect();
    let looker = {
        let tree = Arc::clone(&tree);
        thread::spawn(move || {
            let mut last = [None; WRITERS as usize];
            for _ in 0..3 {
                let found = content(&tree);
                for writer in 0..WRITERS {
                    let number = number_of(&found, writer);
                    assert!(number >= last[writer as usize], "time went back");
                    last[writer as usize] = number;
                }
            }
        })
    };
    let done = writers.into_iter().map(|writer| writer.join().unwrap()).collect();
    looker.join().unwrap();
    drop(tree);
    done
}

fn group() {
    let disk = SimDisk::new();
    let tree = open(&disk).unwrap();
    assert_eq!(write_together(tree), [(EACH, 0); WRITERS as usize]);
    // And all of it was in the log.
    let found = content(&open(&disk).unwrap());
    for writer in 0..WRITERS {
        assert_eq!(number_of(&found, writer), Some(EACH));
    }
    assert_eq!(found.len() as u64, WRITERS * (2 + EACH));
}

#[test]
fn writers_that_come_together_are_all_done_when_they_return() {
    check(group);
}

/// The log finds no room once, in a group of any writers, and has room again: a refused write may be
/// lost, an acknowledged one is there.
fn group_that_fails() {
    let disk = SimDisk::new();
    let tree = open(&disk).unwrap();
    let operations = disk.operations();
    disk.fail(operations + 3, Fault::Error(std::io::ErrorKind::StorageFull));
    let done = write_together(tree);
    assert!(done.iter().any(|(_, refused)| *refused > 0), "no writer got the error");
    let found = content(&open(&disk).unwrap());
    for (writer, (done, _)) in (0..WRITERS).zip(done) {
        let number = number_of(&found, writer).unwrap_or(0);
        assert!(number == done || number == done + 1, "{number} of {done} acknowledged writes");
    }
}

#[test]
fn a_failure_is_told_to_all_of_the_group_and_loses_nobody_else() {
    check(group_that_fails);
}
