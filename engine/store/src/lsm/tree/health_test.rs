//! Failures behind the writes: results of writes beside a failed flush, a full disk that has room again,
//! and threads that panic.

use super::tree_test::{DIRECTORY, content, open, small};
use super::{Batch, SyncMode, Tree, TreeOptions};
use crate::clock::Clock;
use crate::error::Error;
use crate::lsm::vfs::{FaultPlan, SimDisk, Survival};
use std::io::ErrorKind;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

fn options(sync: SyncMode) -> TreeOptions {
    TreeOptions { has_workers: true, frozen_memtables: 1, ..small(sync) }
}

fn set(tree: &Tree, key: u64, value: u64) -> Result<(), Error> {
    let mut batch = Batch::default();
    batch.set(&key.to_be_bytes(), &value.to_be_bytes());
    // Stays, so that the disk fills up.
    batch.set(&[key.to_be_bytes(), value.to_be_bytes()].concat(), &[7; 100]);
    tree.write(&batch)
}

fn value(tree: &Tree, key: u64) -> u64 {
    let value =
        tree.get(&key.to_be_bytes(), |live| live.value.first_chunk().map(|it| u64::from_be_bytes(*it)));
    value.unwrap().flatten().unwrap_or(0)
}

/// Each thread counts the writes that returned `Ok`, and its counter has that number at every moment.
fn count_until_refused(tree: &Tree, threads: u64, begin: &[u64]) -> Vec<u64> {
    std::thread::scope(|scope| {
        let count = |thread: u64, mut done: u64| {
            let until = Instant::now() + Duration::from_secs(20);
            while Instant::now() < until {
                let result = set(tree, thread, done + 1);
                done += u64::from(result.is_ok());
                assert_eq!(value(tree, thread), done, "{result:?}");
                if let Err(error) = result {
                    assert!(matches!(error, Error::Io { kind: ErrorKind::StorageFull, .. }), "{error}");
                    return done;
                }
            }
            panic!("the disk was never full");
        };
        let counting: Vec<_> =
            (0..threads).map(|thread| scope.spawn(move || count(thread, begin[thread as usize]))).collect();
        counting.into_iter().map(|thread| thread.join().unwrap()).collect()
    })
}

fn room(disk: &SimDisk, capacity: Option<u64>) {
    disk.set_faults(FaultPlan { capacity, ..FaultPlan::default() });
}

/// Writes until the disk is full, waits until there is room, again and again.
fn fill_and_free(sync: SyncMode) {
    let disk = SimDisk::new();
    let tree = open(&disk, options(sync)).unwrap();
    let mut done = vec![0; 4];
    for round in 0..20 {
        room(&disk, Some(disk.used() + 5_000 + 1_500 * round));
        done = count_until_refused(&tree, 4, &done);
        assert!(tree.failure().is_some() || round > 0);
        for (thread, done) in (0..).zip(&done) {
            assert_eq!(value(&tree, thread), *done, "reads go on");
        }
        room(&disk, None);
        let until = Instant::now() + Duration::from_secs(20);
        while set(&tree, 100, round).is_err() {
            assert!(Instant::now() < until, "{:?}", tree.failure());
            std::thread::sleep(Duration::from_millis(1));
        }
        if round % 5 == 4 {
            // What a process that ends here leaves.
            let copy = disk.copy();
            copy.restart(if sync == SyncMode::Always { Survival::Nothing } else { Survival::Everything });
            let copy = open(&copy, options(sync)).unwrap();
            (0..).zip(&done).for_each(|(thread, done)| assert_eq!(value(&copy, thread), *done));
        }
    }
    let before = content(&tree).unwrap();
    tree.close().unwrap();
    assert_eq!(content(&open(&disk, options(sync)).unwrap()).unwrap(), before);
}

#[test]
fn writes_go_on_when_a_full_disk_has_room_where_each_is_synced() {
    fill_and_free(SyncMode::Always);
}

#[test]
fn writes_go_on_when_a_full_disk_has_room_where_syncs_are_on_call() {
    fill_and_free(SyncMode::OnCall);
}

/// A clock that panics once its flag is set.
#[derive(Default)]
struct Panicking(AtomicBool);

impl Clock for Panicking {
    fn now_ms(&self) -> u64 {
        assert!(!self.0.load(Ordering::Relaxed), "the clock stops");
        1_000
    }
}

#[test]
fn a_panic_behind_the_writes_ends_them_with_an_error() {
    let disk = SimDisk::new();
    let clock = Arc::new(Panicking::default());
    let tree = Tree::open(
        Arc::new(disk.clone()),
        Path::new(DIRECTORY),
        options(SyncMode::OnCall),
        Arc::clone(&clock) as Arc<dyn Clock>,
    )
    .unwrap();
    set(&tree, 100, 7).unwrap();
    clock.0.store(true, Ordering::Relaxed);
    // Several threads, so that one waits for room while others wait for it.
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let tree = &tree;
            scope.spawn(move || {
                let refusal = (0..100_000).find_map(|number| set(tree, thread, number).err());
                assert!(matches!(refusal, Some(Error::Panicked { .. })), "{refusal:?}");
            });
        }
    });
    assert!(matches!(tree.failure(), Some(Error::Panicked { .. })));
    drop(tree);
    assert_eq!(value(&open(&disk, options(SyncMode::OnCall)).unwrap(), 100), 7);
}

/// A log that failed is left for another one, before there is room for a table of what it held.
#[test]
fn a_sync_fails_until_what_a_failed_log_held_is_in_tables() {
    let disk = SimDisk::new();
    let options = TreeOptions { has_workers: false, memtable_bytes: 1 << 20, ..small(SyncMode::OnCall) };
    let tree = open(&disk, options).unwrap();
    set(&tree, 1, 7).unwrap();
    room(&disk, Some(disk.used()));
    // The log is filled ahead: some writes find room in it.
    let done = (8..1_000).find(|value| set(&tree, 1, *value).is_err()).unwrap() - 1;
    // Begins another log, which takes no room yet, and finds none for a table.
    set(&tree, 1, done + 1).unwrap_err();
    for _ in 0..2 {
        let full = tree.sync().unwrap_err();
        assert!(matches!(full, Error::Io { kind: ErrorKind::StorageFull, .. }), "{full}");
    }
    room(&disk, None);
    set(&tree, 2, 1).unwrap();
    tree.sync().unwrap();
    disk.restart(Survival::Nothing);
    drop(tree);
    let tree = open(&disk, options).unwrap();
    assert_eq!((value(&tree, 1), value(&tree, 2)), (done, 1));
}

/// Room for tables is one thing; what was acknowledged is in a log that is there already.
#[test]
fn a_sync_goes_on_where_only_a_flush_or_a_merge_lacks_room() {
    let full = Error::io(Path::new("/d/000100.table"), "write", &ErrorKind::StorageFull.into());
    for work in [super::health::Work::Writes, super::health::Work::Merges] {
        let disk = SimDisk::new();
        let tree = open(&disk, TreeOptions { has_workers: false, ..small(SyncMode::OnCall) }).unwrap();
        set(&tree, 1, 7).unwrap();
        tree.inner.health.fail(work, &full);
        let done = tree.sync();
        let copy = disk.copy();
        copy.restart(Survival::Nothing);
        let copy = open(&copy, small(SyncMode::OnCall)).unwrap();
        assert_eq!((done, value(&copy, 1)), (Ok(()), 7), "{work:?}");
        if work == super::health::Work::Merges {
            assert_eq!(tree.flush(), Ok(()), "all of it is in tables");
        }
    }
}
