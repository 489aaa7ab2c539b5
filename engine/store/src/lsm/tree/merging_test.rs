//! Merges that several threads share: the same content as by one, and nothing is left of one that fails.

use super::health::Work;
use super::merge::Waiting;
use super::merging::Way;
use super::tree_test::{DIRECTORY, Model, content, open, small};
use super::{Batch, SyncMode, Tree, TreeOptions};
use crate::error::{Error, Result};
use crate::lsm::compaction::Sweep;
use crate::lsm::manifest::LEVELS;
use crate::lsm::vfs::{FaultPlan, SimDisk, Vfs};
use std::collections::{BTreeSet, HashSet};
use std::io::ErrorKind;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::ThreadId;

/// A store with a level of many tables and a merge over all of them to be done.
fn with_a_large_merge(disk: &SimDisk, merge_threads: usize) -> (Tree, Model) {
    let options = TreeOptions { merge_threads, memtable_bytes: 4 << 20, ..small(SyncMode::OnCall) };
    let tree = open(disk, options).unwrap();
    let mut random = fastrand::Rng::with_seed(7);
    let mut model = Model::new();
    for round in 0..4 {
        let mut batch = Batch::default();
        for _ in 0..4_000 {
            let key = random.u16(..10_000).to_be_bytes().to_vec();
            if random.u8(..4) == 0 {
                batch.delete(&key);
                model.remove(&key);
            } else {
                // A merge asks whether to go on after every 256 KiB.
                let value = vec![round; random.usize(..1_000)];
                batch.set(&key, &value);
                model.insert(key, value);
            }
        }
        if round == 3 {
            batch.delete_range(&[9, 9], Some(&[13]));
            model.retain(|key, _| !(&[9, 9][..]..&[13]).contains(&&key[..]));
        }
        tree.write(&batch).unwrap();
        tree.flush().unwrap();
        if round == 1 {
            tree.settle().unwrap();
        }
    }
    (tree, model)
}

/// Merges level 0, and says how many threads did.
fn merge(tree: &Tree, go_on: impl Fn() -> Result<()> + Sync) -> (Result<bool>, usize) {
    let threads: Mutex<HashSet<ThreadId>> = Mutex::default();
    let done = tree.inner.compact(
        |version| Sweep::new(u64::MAX, 0).pick(version),
        Way::AtOnce(&|_| {
            threads.lock().unwrap().insert(std::thread::current().id());
            go_on()
        }),
    );
    (done, threads.into_inner().unwrap().len())
}

#[test]
fn a_merge_is_shared_by_as_many_threads_as_the_options_allow() {
    for merge_threads in [1, 2, 3] {
        let disk = SimDisk::new();
        let (tree, model) = with_a_large_merge(&disk, merge_threads);
        let snapshot = tree.snapshot();
        assert_eq!(merge(&tree, || Ok(())), (Ok(true), merge_threads));
        assert_eq!(content(&tree).unwrap(), model);
        assert_eq!(super::tree_test::everything(&snapshot).unwrap(), model);
        tree.verify(|_| ()).unwrap();
        tree.close().unwrap();
        let tree = open(&disk, small(SyncMode::OnCall)).unwrap();
        assert_eq!(content(&tree).unwrap(), model);
    }
}

#[test]
fn one_thread_merges_until_much_waits_or_a_caller_does() {
    let disk = SimDisk::new();
    let (tree, _) = with_a_large_merge(&disk, 3);
    let debt = tree.stats().debt_bytes;
    assert!(debt > 0);
    tree.close().unwrap();
    // It is known from the first moment on, before anything is flushed.
    for (debt_share, is_awaited, expected) in
        [(debt, false, 1), (debt - 1, false, 3), (debt, true, 3), (u64::MAX, true, 3)]
    {
        let options = TreeOptions { merge_threads: 3, debt_share, ..small(SyncMode::OnCall) };
        let tree = open(&disk, options).unwrap();
        let _waiting = is_awaited.then(|| Waiting::begin(&tree.inner.waiting_for_merges));
        assert_eq!(tree.inner.threads_now(), expected, "{debt_share} {is_awaited}");
    }
    // A call of `settle` that has ended waits no more.
    let (tree, _) = with_a_large_merge(&SimDisk::new(), 3);
    let count = || tree.inner.waiting_for_merges.load(Ordering::Relaxed);
    let waiting = Waiting::begin(&tree.inner.waiting_for_merges);
    assert_eq!(count(), 1);
    drop(waiting);
    tree.settle().unwrap();
    assert_eq!(count(), 0);
}

#[test]
fn more_threads_share_what_is_left_of_a_merge_when_a_caller_begins_to_wait() {
    let disk = SimDisk::new();
    let (tree, model) = with_a_large_merge(&disk, 3);
    tree.close().unwrap();
    let options = TreeOptions { merge_threads: 3, debt_share: u64::MAX, ..small(SyncMode::OnCall) };
    let tree = open(&disk, options).unwrap();
    let (waiting, alone) = (Mutex::new(None), AtomicUsize::new(0));
    let (done, threads) = merge(&tree, || {
        // It has asked several times, and written several parts, before.
        if alone.fetch_add(1, Ordering::Relaxed) == 8 {
            *waiting.lock().unwrap() = Some(Waiting::begin(&tree.inner.waiting_for_merges));
        }
        Ok(())
    });
    assert_eq!((done, threads), (Ok(true), 3));
    assert_eq!(content(&tree).unwrap(), model);
    tree.verify(|_| ()).unwrap();
    drop(waiting);
    tree.close().unwrap();
    assert_eq!(content(&open(&disk, small(SyncMode::OnCall)).unwrap()).unwrap(), model);
}

#[test]
fn nothing_is_left_of_a_merge_one_of_whose_threads_fails() {
    let disk = SimDisk::new();
    let (tree, model) = with_a_large_merge(&disk, 3);
    let files = || disk.list(Path::new(DIRECTORY)).unwrap().into_iter().collect::<BTreeSet<_>>();
    let before = files();
    let full = Error::io(Path::new("/d/t"), "write", &ErrorKind::StorageFull.into());
    // The thread that comes as the second one.
    let asked = Mutex::new(Vec::new());
    let (done, threads) = merge(&tree, || {
        let (mut asked, own) = (asked.lock().unwrap(), std::thread::current().id());
        asked.push(own);
        if own != asked[0] { Err(full.clone()) } else { Ok(()) }
    });
    assert_eq!(done, Err(full));
    assert!(threads > 1);
    assert_eq!(files(), before);
    assert_eq!(content(&tree).unwrap(), model);
    assert_eq!(merge(&tree, || Ok(())).0, Ok(true));
    assert_eq!(content(&tree).unwrap(), model);
}

#[test]
fn a_panic_in_a_thread_of_a_merge_goes_on_in_the_one_that_waits() {
    let disk = SimDisk::new();
    let (tree, model) = with_a_large_merge(&disk, 2);
    let own = std::thread::current().id();
    let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        let _ = merge(&tree, || {
            assert!(std::thread::current().id() == own, "in the other thread");
            Ok(())
        });
    }));
    let text = panicked.unwrap_err();
    assert!(text.downcast_ref::<&str>().is_some_and(|text| text.contains("in the other thread")));
    assert_eq!(content(&tree).unwrap(), model);
}

/// A disk that has room for a slice of a merge, but not for the whole of it.
#[test]
fn a_merge_without_room_goes_on_in_slices() {
    let disk = SimDisk::new();
    let (tree, model) = with_a_large_merge(&disk, 2);
    let version = std::sync::Arc::clone(&tree.inner.view.load().version);
    let (above, all): (u64, u64) = (version.bytes(0), (0..LEVELS).map(|level| version.bytes(level)).sum());
    drop(version);
    let merge = || tree.inner.compact_behind(|version| Sweep::new(u64::MAX, 0).pick(version));
    let room = above + 3 * tree.inner.options.table_bytes;
    assert!(2 * room < all, "{room} of {all} bytes would do for all");
    disk.set_faults(FaultPlan { capacity: Some(disk.used() + room), ..FaultPlan::default() });
    let full = merge().unwrap_err();
    assert!(matches!(full, Error::Io { kind: ErrorKind::StorageFull, .. }), "{full}");
    // As the merge thread does.
    tree.inner.health.fail(Work::Merges, &full);
    assert_eq!(merge(), Ok(true));
    tree.inner.health.recover(Work::Merges);
    assert_eq!(content(&tree).unwrap(), model);
    tree.verify(|_| ()).unwrap();
    tree.close().unwrap();
    assert_eq!(content(&open(&disk, small(SyncMode::OnCall)).unwrap()).unwrap(), model);
}
