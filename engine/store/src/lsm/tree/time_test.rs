//! Clocks that jump: an expired value never comes back, whether it was merged or not, and whether the
//! store was opened again.

use super::tree_test::{DIRECTORY, everything, small};
use super::{Batch, Edit, SyncMode, Tree};
use crate::clock::{Clock, ManualClock};
use crate::lsm::compaction::write_tables;
use crate::lsm::iter::Run;
use crate::lsm::manifest::{Manifest, TableFacts};
use crate::lsm::vfs::{SimDisk, Survival};
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

/// Before the end of values, their end, and after it.
const EARLY: u64 = 1_000_000;
const END: u64 = 2_000_000;
const LATE: u64 = 3_000_000;

fn open(disk: &SimDisk, clock: &Arc<ManualClock>) -> Tree {
    let clock = Arc::clone(clock) as Arc<dyn Clock>;
    Tree::open(Arc::new(disk.clone()), Path::new(DIRECTORY), small(SyncMode::Always), clock).unwrap()
}

fn disk() -> SimDisk {
    let disk = SimDisk::new();
    disk.make_dir(Path::new("/"));
    disk
}

fn set_until(tree: &Tree, key: &[u8], until_ms: u64) {
    let mut batch = Batch::default();
    batch.set_until(key, b"value", until_ms);
    tree.write(&batch).unwrap();
}

fn set(tree: &Tree, key: &[u8]) {
    let mut batch = Batch::default();
    batch.set(key, b"value");
    tree.write(&batch).unwrap();
}

/// Whether a key is there, by a get, a snapshot's get, many gets and walks both ways.
fn has(tree: &Tree, key: &[u8]) -> bool {
    let found = tree.get(key, |_| ()).unwrap().is_some();
    let snapshot = tree.snapshot();
    assert_eq!(snapshot.get(key, |_| ()).unwrap().is_some(), found, "a get and a snapshot differ");
    let mut many = false;
    snapshot.get_many(&[key], |_, _| many = true).unwrap();
    assert_eq!(many, found, "many gets differ");
    assert_eq!(everything(&snapshot).unwrap().contains_key(key), found, "a get and a walk differ");
    found
}

/// The times that the manifest holds.
fn kept(disk: &SimDisk) -> Vec<Option<u64>> {
    let edits = Manifest::recover(disk, Path::new(DIRECTORY)).unwrap().unwrap().edits;
    edits.iter().map(|edit| edit.time_ms).collect()
}

#[test]
fn a_clock_that_is_set_back_revives_no_value_merged_or_not() {
    let (disk, clock) = (disk(), Arc::new(ManualClock::new(EARLY)));
    let tree = open(&disk, &clock);
    for key in [b"merged", b"inlogs"] {
        assert!(!has(&tree, key));
    }
    set_until(&tree, b"merged", END);
    clock.set(LATE);
    // Its end has passed: the flush buries it.
    tree.flush().unwrap();
    clock.set(EARLY);
    set_until(&tree, b"inlogs", END);
    assert_eq!((has(&tree, b"merged"), has(&tree, b"inlogs")), (false, false));
    // Of the same store, where time went on from the highest one.
    let later = tree.now_ms() + 10_000;
    set_until(&tree, b"lease", later);
    assert!(has(&tree, b"lease"));
    clock.advance(9_000);
    assert!(has(&tree, b"lease"), "a lifetime ends early");
    clock.advance(3_000);
    assert!(!has(&tree, b"lease"), "a lifetime does not end while the clock is behind");
}

#[test]
fn a_value_that_a_read_found_expired_stays_so() {
    let (disk, clock) = (disk(), Arc::new(ManualClock::new(EARLY)));
    let tree = open(&disk, &clock);
    set_until(&tree, b"read", END);
    set_until(&tree, b"other", END);
    assert!(has(&tree, b"read") && has(&tree, b"other"));
    clock.set(LATE);
    assert_eq!(tree.get(b"read", |_| ()).unwrap(), None);
    clock.set(EARLY);
    assert_eq!((has(&tree, b"read"), has(&tree, b"other")), (false, false));
    // Not even the clock of another process changes that, once the store was closed.
    tree.close().unwrap();
    let tree = open(&disk, &clock);
    assert_eq!((has(&tree, b"read"), has(&tree, b"other")), (false, false));
}

#[test]
fn what_a_merge_dropped_and_what_it_did_not_see_are_gone_after_a_power_cut_too() {
    for is_checkpoint in [false, true] {
        let (disk, clock) = (disk(), Arc::new(ManualClock::new(EARLY)));
        let tree = open(&disk, &clock);
        set_until(&tree, b"merged", END);
        tree.flush().unwrap();
        clock.set(LATE);
        assert!(tree.merge_all(|_| ControlFlow::Continue(())).unwrap());
        assert_eq!(tree.inner.state.lock().view.version.tables().count(), 0, "it was not dropped");
        clock.set(EARLY);
        set_until(&tree, b"unmerged", END);
        if is_checkpoint {
            tree.checkpoint(Path::new("/copy")).unwrap();
            drop(tree);
            let copy = Tree::open(
                Arc::new(disk.clone()),
                Path::new("/copy"),
                small(SyncMode::Always),
                Arc::clone(&clock) as Arc<dyn Clock>,
            );
            let copy = copy.unwrap();
            assert!(copy.now_ms() >= LATE);
            assert_eq!((has(&copy, b"merged"), has(&copy, b"unmerged")), (false, false));
            continue;
        }
        disk.cut();
        drop(tree);
        disk.restart(Survival::Nothing);
        for _ in 0..2 {
            let tree = open(&disk, &clock);
            assert!(tree.now_ms() >= LATE);
            assert_eq!((has(&tree, b"merged"), has(&tree, b"unmerged")), (false, false));
        }
    }
}

#[test]
fn a_replay_at_a_late_time_is_not_undone_by_an_early_one() {
    let (disk, clock) = (disk(), Arc::new(ManualClock::new(EARLY)));
    let tree = open(&disk, &clock);
    set_until(&tree, b"a", END);
    drop(tree);
    clock.set(LATE);
    drop(open(&disk, &clock));
    clock.set(EARLY);
    let tree = open(&disk, &clock);
    assert!(tree.now_ms() >= LATE);
    set_until(&tree, b"b", END);
    assert_eq!((has(&tree, b"a"), has(&tree, b"b")), (false, false));
}

#[test]
fn the_manifest_holds_no_time_unless_values_expire() {
    let (disk, clock) = (disk(), Arc::new(ManualClock::new(EARLY)));
    let tree = open(&disk, &clock);
    set(&tree, b"a");
    tree.flush().unwrap();
    tree.close().unwrap();
    let tree = open(&disk, &clock);
    set(&tree, b"b");
    assert!(tree.merge_all(|_| ControlFlow::Continue(())).unwrap());
    assert!(kept(&disk).len() > 1 && kept(&disk).iter().all(Option::is_none), "{:?}", kept(&disk));
    set_until(&tree, b"c", END);
    tree.flush().unwrap();
    assert_eq!(kept(&disk).last(), Some(&Some(EARLY)));
    clock.set(LATE);
    assert!(tree.merge_all(|_| ControlFlow::Continue(())).unwrap());
    assert_eq!(kept(&disk).last(), Some(&Some(LATE)));
}

/// A merge in slices leaves a version in two levels until its last slice. If another merge buries the
/// upper one, a deletion is above a value of the same number: they agree at any time that the store shows.
#[test]
fn a_buried_value_above_its_own_copy_stays_gone_for_gets_and_walks() {
    let (disk, clock) = (disk(), Arc::new(ManualClock::new(EARLY)));
    let tree = open(&disk, &clock);
    set(&tree, b"key");
    assert!(tree.merge_all(|_| ControlFlow::Continue(())).unwrap());
    set_until(&tree, b"key", END);
    tree.flush().unwrap();
    // The first slice of an interrupted merge: level 3 has the version, and so has level 0.
    let inner = &tree.inner;
    let write = |level: usize| -> Vec<(usize, TableFacts)> {
        let version = Arc::clone(&inner.state.lock().view.version);
        let runs = version.levels[0].iter().map(Run::table).collect();
        let output = inner.output(level, &version, u64::MAX);
        let number = || inner.state.lock().take_number();
        let tables = write_tables(&output, runs, number, |_| Ok(())).unwrap();
        tables.into_iter().map(|table| (level, table)).collect()
    };
    let flushed = inner.state.lock().view.version.levels[0][0].facts.number;
    let added = write(3);
    assert_eq!((added.len(), added[0].1.last_sequence), (1, 2));
    inner.install(&mut inner.state.lock(), Edit { added, ..Edit::default() }, |_| {}).unwrap();
    assert!(has(&tree, b"key"));
    let early = tree.snapshot();
    // Another merge, after its end.
    clock.set(LATE);
    let added = write(2);
    assert_eq!((added.len(), added[0].1.last_sequence, added[0].1.deletions), (1, 2, 1));
    let edit = Edit { added, removed: vec![(0, flushed)], ..Edit::default() };
    inner.install(&mut inner.state.lock(), edit, |_| {}).unwrap();
    clock.set(EARLY);
    assert!(!has(&tree, b"key"));
    // A snapshot keeps its time with its tables.
    assert_eq!(early.get(b"key", |live| live.value.to_vec()).unwrap(), Some(b"value".to_vec()));
    assert!(everything(&early).unwrap().contains_key(&b"key"[..]));
    disk.cut();
    drop((tree, early));
    disk.restart(Survival::Nothing);
    let tree = open(&disk, &clock);
    assert!(!has(&tree, b"key"));
    assert!(tree.merge_all(|_| ControlFlow::Continue(())).unwrap());
    assert!(!has(&tree, b"key"));
}
