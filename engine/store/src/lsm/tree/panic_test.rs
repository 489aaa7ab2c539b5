//! Panics of a writer in the middle of a commit: writers that wait for it get an error, later writes are
//! refused, nothing of its group is seen, and the store opens again with what was acknowledged.

use super::tree_test::{DIRECTORY, Model, content, open, small};
use super::{Batch, SyncMode, Tree, TreeOptions};
use crate::error::{Error, Result};
use crate::lsm::vfs::{SimDisk, Survival};
use crate::nonblocking::NonBlocking;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

fn set(tree: &Tree, key: &[u8]) -> Result<()> {
    let mut batch = Batch::default();
    batch.set(key, b"1");
    batch.set(&[key, b", too"].concat(), b"1");
    tree.write(&batch)
}

fn is_panic(result: &Result<()>) -> bool {
    matches!(result, Err(Error::Panicked { .. }))
}

/// Runs a test in a thread of its own, and fails where it does not end: a store that hangs blocks no other
/// test.
fn within_a_minute(test: impl FnOnce() + Send + 'static) {
    let (done, ended) = mpsc::channel();
    let thread = thread::spawn(move || {
        test();
        let _ = done.send(());
    });
    match ended.recv_timeout(Duration::from_secs(60)) {
        Err(mpsc::RecvTimeoutError::Timeout) => panic!("the store hangs"),
        _ => thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)),
    }
}

/// Everything a program may do with a store one of whose writers panicked, with a batch on its way or not.
fn look(tree: Tree, disk: &SimDisk, sync: SyncMode, before: &Model, is_torn: bool) {
    assert!(matches!(tree.failure(), Some(Error::Panicked { .. })), "{:?}", tree.failure());
    assert!(content(&tree).unwrap() == *before, "a group that was not acknowledged is seen");
    assert!(is_panic(&set(&tree, b"later")));
    let nonblocking = NonBlocking::begin();
    assert!(set(&tree, b"later").is_err());
    drop(nonblocking);
    // What the memtable holds is whole, unless a batch was on its way into it.
    assert_eq!(is_panic(&tree.flush()), is_torn);
    assert!(tree.settle().is_err());
    assert!(tree.merge_all(|_| ControlFlow::Continue(())).is_err());
    assert!(tree.clear().is_err());
    assert!(content(&tree).unwrap() == *before);
    assert!(tree.close().is_err());
    for survival in [Survival::Everything, Survival::Some(1), Survival::Nothing] {
        let disk = disk.copy();
        disk.restart(survival);
        let mut found = content(&open(&disk, small(sync)).unwrap()).unwrap();
        // Batches that were not acknowledged may be there, each of them whole.
        for key in ["leader", "one", "other", "third"] {
            let halves = [found.remove(key.as_bytes()), found.remove(format!("{key}, too").as_bytes())];
            assert!(halves[0] == halves[1], "half a batch");
        }
        assert!(
            found == *before || (sync != SyncMode::Always && survival == Survival::Nothing),
            "{survival:?}"
        );
    }
}

fn lead_and_panic(sync: SyncMode, has_workers: bool, at: u64) {
    let disk = SimDisk::new();
    let tree = Arc::new(open(&disk, TreeOptions { has_workers, ..small(sync) }).unwrap());
    for key in [b"a", b"b"] {
        set(&tree, key).unwrap();
    }
    if sync != SyncMode::Always {
        tree.sync().unwrap();
    }
    let before = content(&tree).unwrap();
    let has_panicked = Arc::new(AtomicBool::new(false));
    let (leader, panicked) = (Arc::clone(&tree), Arc::clone(&has_panicked));
    // Once all others wait for it.
    disk.before(disk.operations() + at, move || {
        while leader.inner.queue.lock().waiting() < 3 {
            thread::yield_now();
        }
        panicked.store(true, Ordering::Relaxed);
        panic!("the file system panics");
    });
    let results = thread::scope(|scope| {
        let leader = scope.spawn(|| set(&tree, b"leader"));
        while !tree.inner.queue.lock().is_led {
            thread::yield_now();
        }
        let others = [&b"one"[..], b"other", b"third"].map(|key| {
            let tree = &tree;
            scope.spawn(move || set(tree, key))
        });
        assert!(leader.join().is_err(), "the leader did not panic");
        others.map(|other| other.join().unwrap())
    });
    assert!(has_panicked.load(Ordering::Relaxed));
    assert!(results.iter().all(is_panic), "{results:?}");
    let tree = Arc::into_inner(tree).expect("the hook is gone");
    look(tree, &disk, sync, &before, true);
}

#[test]
fn writers_that_wait_for_a_leader_that_panics_get_an_error() {
    for has_workers in [false, true] {
        for (sync, operations) in [(SyncMode::Always, 2), (SyncMode::OnCall, 1)] {
            // The write, and its sync.
            for at in 0..operations {
                within_a_minute(move || lead_and_panic(sync, has_workers, at));
            }
        }
    }
}

/// The leader of a group, whose batches waited for an earlier leader that was well.
#[test]
fn writers_of_a_group_whose_leader_panics_get_an_error() {
    within_a_minute(|| {
        let sync = SyncMode::Always;
        let disk = SimDisk::new();
        let tree = Arc::new(open(&disk, small(sync)).unwrap());
        set(&tree, b"a").unwrap();
        let operations = disk.operations();
        let (first, again) = (Arc::clone(&tree), disk.clone());
        disk.before(operations, move || {
            while first.inner.queue.lock().waiting() < 3 {
                thread::yield_now();
            }
            // The write of the group after this write and its sync.
            again.before(operations + 2, || panic!("the file system panics"));
        });
        let results = thread::scope(|scope| {
            let first = scope.spawn(|| set(&tree, b"b"));
            while !tree.inner.queue.lock().is_led {
                thread::yield_now();
            }
            let others = [&b"one"[..], b"other", b"third"].map(|key| {
                let tree = &tree;
                scope.spawn(move || set(tree, key))
            });
            assert_eq!(first.join().unwrap(), Ok(()));
            others.map(|other| other.join().ok())
        });
        assert_eq!(results.iter().filter(|result| result.is_none()).count(), 1, "one of them leads");
        assert!(results.iter().flatten().all(is_panic), "{results:?}");
        let before =
            Model::from([&b"a"[..], b"a, too", b"b", b"b, too"].map(|key| (key.to_vec(), b"1".to_vec())));
        look(Arc::into_inner(tree).expect("the hook is gone"), &disk, sync, &before, true);
    });
}

/// What it added to the log is no part of a later write.
#[test]
fn a_writer_that_waits_for_nothing_and_panics_leaves_an_error_as_well() {
    within_a_minute(|| {
        let disk = SimDisk::new();
        let tree = open(&disk, small(SyncMode::OnCall)).unwrap();
        set(&tree, b"a").unwrap();
        tree.sync().unwrap();
        let before = content(&tree).unwrap();
        disk.before(disk.operations(), || panic!("the file system panics"));
        let panicked = thread::scope(|scope| {
            let writer = || {
                let _nonblocking = NonBlocking::begin();
                set(&tree, b"leader")
            };
            scope.spawn(writer).join()
        });
        assert!(panicked.is_err(), "it did not panic");
        look(tree, &disk, SyncMode::OnCall, &before, true);
    });
}

/// A memtable that is full: the leader begins a log, and holds more locks.
#[test]
fn a_leader_that_panics_where_it_begins_a_log_leaves_an_error() {
    for at in 0..2 {
        within_a_minute(move || {
            let disk = SimDisk::new();
            let tree = open(&disk, small(SyncMode::Always)).unwrap();
            set(&tree, b"a").unwrap();
            let (before, names) = (content(&tree).unwrap(), disk.name_changes());
            disk.before(disk.operations() + at, || panic!("the file system panics"));
            let panicked = thread::scope(|scope| {
                let write = || {
                    let mut batch = Batch::default();
                    batch.set(b"long", &[1; 6_000]);
                    tree.write(&batch)
                };
                scope.spawn(write).join()
            });
            assert!(panicked.is_err(), "it did not panic");
            assert_eq!(disk.name_changes() - names, at as usize);
            assert!(disk.content().contains_key(&Path::new(DIRECTORY).join("LOCK")));
            look(tree, &disk, SyncMode::Always, &before, false);
        });
    }
}
