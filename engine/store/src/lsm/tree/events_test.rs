//! Events: each is sent when it happens, in order and with the right figures, whatever the function of
//! the program does.

use super::events::Events;
use super::tree_test::{DIRECTORY, NOW_MS, small};
use super::{Batch, SyncMode, Tree, TreeOptions};
use crate::clock::ManualClock;
use crate::error::Error;
use crate::event::{Event, StallReason};
use crate::lsm::vfs::{Fault, FaultPlan, SimDisk, Survival};
use parking_lot::{Condvar, Mutex};
use std::io::ErrorKind;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// What was delivered.
#[derive(Default)]
struct Seen {
    events: Mutex<Vec<Event>>,
    changed: Condvar,
}

impl Seen {
    fn events(self: &Arc<Self>) -> Events {
        let seen = Arc::clone(self);
        Events::new(Some(Arc::new(move |event: &Event| {
            seen.events.lock().push(event.clone());
            seen.changed.notify_all();
        })))
    }

    /// Waits for an event, and returns all until then.
    fn wait(&self, is_it: impl Fn(&Event) -> bool) -> Vec<Event> {
        let mut events = self.events.lock();
        while !events.iter().any(&is_it) {
            let is_late = self.changed.wait_for(&mut events, Duration::from_secs(60)).timed_out();
            assert!(!is_late, "it never came: {events:?}");
        }
        events.clone()
    }
}

fn open(disk: &SimDisk, options: TreeOptions, events: Events) -> Tree {
    let clock = Arc::new(ManualClock::new(NOW_MS));
    Tree::open_with(Arc::new(disk.clone()), Path::new(DIRECTORY), options, clock, events).unwrap()
}

fn set(tree: &Tree, key: u64) -> Result<(), Error> {
    let mut batch = Batch::default();
    batch.set(&key.to_be_bytes(), &[7; 100]);
    tree.write(&batch)
}

#[test]
fn a_flush_tells_its_bytes_and_tables() {
    let seen = Arc::new(Seen::default());
    let tree = open(&SimDisk::new(), small(SyncMode::OnCall), seen.events());
    (0..10).for_each(|key| set(&tree, key).unwrap());
    let in_memory = tree.stats().memtable_bytes;
    tree.flush().unwrap();
    let flushed = tree.stats().flushed;
    drop(tree);
    let events = std::mem::take(&mut *seen.events.lock());
    assert_eq!(events.len(), 2, "{events:?}");
    assert_eq!(events[0], Event::FlushBegun { bytes: in_memory });
    assert!(
        matches!(events[1], Event::FlushEnded { bytes, tables: 1, error: None, .. } if bytes == flushed),
        "{events:?}"
    );
}

#[test]
fn a_log_tells_what_came_back_and_what_was_dropped() {
    let disk = SimDisk::new();
    let tree = open(&disk, small(SyncMode::OnCall), Events::default());
    (0..7).for_each(|key| set(&tree, key).unwrap());
    drop(tree);
    let seen = Arc::new(Seen::default());
    drop(open(&disk, small(SyncMode::OnCall), seen.events()));
    assert_eq!(*seen.events.lock(), [Event::LogRecovered { writes: 7, dropped_writes: 0 }]);
    seen.events.lock().clear();
    drop(open(&disk, small(SyncMode::OnCall), seen.events()));
    assert_eq!(*seen.events.lock(), [], "nothing was in the log");
    // Two logs, of which the power cut takes the first or a part of it.
    let told = (0..200).find_map(|seed| {
        let disk = SimDisk::new();
        let options = TreeOptions { frozen_memtables: 9, ..small(SyncMode::OnCall) };
        let tree = open(&disk, options, Events::default());
        for key in 0..60 {
            set(&tree, key).unwrap();
        }
        drop(tree);
        disk.restart(Survival::Some(seed));
        let seen = Arc::new(Seen::default());
        let clock = Arc::new(ManualClock::new(NOW_MS));
        let directory = Path::new(DIRECTORY);
        let tree = Tree::open_with(Arc::new(disk.clone()), directory, options, clock, seen.events()).ok()?;
        let there =
            (0..60_u64).filter(|key| tree.get(&key.to_be_bytes(), |_| ()).unwrap().is_some()).count() as u64;
        drop(tree);
        let events = seen.events.lock().clone();
        let [Event::LogRecovered { writes, dropped_writes }] = events[..] else { return None };
        assert_eq!(writes, there);
        assert!(writes + dropped_writes <= 60);
        (dropped_writes > 0).then_some((writes, dropped_writes))
    });
    assert!(told.is_some(), "no power cut took a write and left a later one");
}

#[test]
fn a_merge_tells_its_levels_and_bytes() {
    let seen = Arc::new(Seen::default());
    let tree = open(&SimDisk::new(), small(SyncMode::OnCall), seen.events());
    for round in 0..4 {
        (0..40).for_each(|key| set(&tree, key * 4 + round).unwrap());
        tree.flush().unwrap();
    }
    tree.settle().unwrap();
    // One that is ended.
    set(&tree, 0).unwrap();
    assert_eq!(tree.merge_all(|_| std::ops::ControlFlow::Break(())), Ok(false));
    let merged = tree.stats().merged;
    drop(tree);
    let events: Vec<_> = std::mem::take(&mut *seen.events.lock())
        .into_iter()
        .filter(|event| matches!(event, Event::MergeBegun { .. } | Event::MergeEnded { .. }))
        .collect();
    let mut sum = 0;
    for pair in events.chunks(2) {
        let [
            Event::MergeBegun { level, target, tables, bytes },
            Event::MergeEnded { level: from, target: to, bytes_read, bytes_written, error, .. },
        ] = pair
        else {
            panic!("{pair:?} of {events:?}");
        };
        assert!((level, target, bytes) == (from, to, bytes_read) && target >= level, "{pair:?}");
        assert!(*tables > 0 && *bytes > 0, "{pair:?}");
        assert_eq!(error.is_some(), *bytes_written == 0, "{pair:?}");
        sum += bytes_written;
    }
    assert!(events.len() >= 4 && sum == merged, "{sum} of {merged} bytes: {events:?}");
    assert!(
        matches!(events.last(), Some(Event::MergeEnded { error: Some(Error::Closed), .. })),
        "{:?}",
        events.last()
    );
}

#[test]
fn no_room_and_its_end_are_told_once_each() {
    let disk = SimDisk::new();
    let seen = Arc::new(Seen::default());
    let options = TreeOptions { has_workers: true, frozen_memtables: 1, ..small(SyncMode::OnCall) };
    let tree = open(&disk, options, seen.events());
    disk.set_faults(FaultPlan { capacity: Some(disk.used()), ..FaultPlan::default() });
    let refused = (0..).find_map(|key| set(&tree, key).err()).unwrap();
    assert!(matches!(refused, Error::Io { kind: ErrorKind::StorageFull, .. }), "{refused}");
    let events = seen.wait(|event| matches!(event, Event::NoRoom { .. }));
    assert!(events.contains(&Event::NoRoom { error: refused.of_later_calls() }), "{events:?}");
    disk.set_faults(FaultPlan::default());
    let events = seen.wait(|event| *event == Event::Resumed);
    set(&tree, 0).unwrap();
    let place = |is_it: fn(&Event) -> bool| events.iter().position(is_it);
    assert!(place(|event| matches!(event, Event::NoRoom { .. })) < place(|event| *event == Event::Resumed));
    drop(tree);
    let events = seen.events.lock();
    assert_eq!(events.iter().filter(|event| matches!(event, Event::NoRoom { .. })).count(), 1, "{events:?}");
    assert!(!events.iter().any(|event| matches!(event, Event::Failed { .. })), "{events:?}");
}

#[test]
fn a_failure_that_stays_is_told_with_its_error() {
    let disk = SimDisk::new();
    let seen = Arc::new(Seen::default());
    let tree = open(&disk, small(SyncMode::Always), seen.events());
    disk.fail(disk.operations() + 1, Fault::Error(ErrorKind::Other));
    let error = set(&tree, 1).unwrap_err();
    assert!(error.is_in_doubt(), "its sync failed: {error}");
    let later = set(&tree, 2).unwrap_err();
    assert!(!later.is_in_doubt() && matches!(later, Error::Io { kind: ErrorKind::Other, .. }), "{later}");
    drop(tree);
    assert_eq!(*seen.events.lock(), [Event::Failed { error: later }]);
}

#[test]
fn a_stall_tells_what_writes_wait_for_and_how_long() {
    let disk = SimDisk::new();
    let seen = Arc::new(Seen::default());
    let options = TreeOptions { has_workers: true, frozen_memtables: 1, ..small(SyncMode::OnCall) };
    let tree = open(&disk, options, seen.events());
    // Without it nothing is flushed.
    let flushing = tree.inner.flushing.lock();
    std::thread::scope(|scope| {
        let writer = scope.spawn(|| (0..200).for_each(|key| set(&tree, key).unwrap()));
        let begun = Event::StallBegun { reason: StallReason::Memtables };
        seen.wait(|event| *event == begun);
        drop(flushing);
        writer.join().unwrap();
    });
    let stalls = tree.stats().stalls as usize;
    drop(tree);
    let events = seen.events.lock();
    let ended = events.iter().filter(|event| matches!(event, Event::StallEnded { .. })).count();
    let begun = events.iter().filter(|event| matches!(event, Event::StallBegun { .. })).count();
    assert!(stalls > 0 && begun == stalls && ended == stalls, "{stalls} stalls: {events:?}");
}

#[test]
fn a_function_that_panics_or_drops_the_store_takes_nothing_down() {
    let disk = SimDisk::new();
    let calls = Arc::new(Mutex::new(0));
    let counted = Arc::clone(&calls);
    let events = Events::new(Some(Arc::new(move |_: &Event| {
        *counted.lock() += 1;
        panic!("the function of the program panics");
    })));
    let tree = open(&disk, small(SyncMode::OnCall), events);
    for round in 0..3 {
        set(&tree, round).unwrap();
        tree.flush().unwrap();
    }
    tree.close().unwrap();
    assert_eq!(*calls.lock(), 6, "three flushes, begun and ended");
    // It drops the store, and then the lock of the directory is free.
    let slot = Arc::new(Mutex::new(None::<Tree>));
    let dropped = Arc::new(Seen::default());
    let (own, seen) = (Arc::clone(&slot), Arc::clone(&dropped));
    let events = Events::new(Some(Arc::new(move |event: &Event| {
        let tree = own.lock().take();
        if tree.is_some() {
            drop(tree);
            seen.events.lock().push(event.clone());
            seen.changed.notify_all();
        }
    })));
    let tree = open(&disk, small(SyncMode::OnCall), events);
    let mut held = slot.lock();
    set(&tree, 9).unwrap();
    tree.flush().unwrap();
    *held = Some(tree);
    drop(held);
    dropped.wait(|_| true);
    let tree = open(&disk, small(SyncMode::OnCall), Events::default());
    assert!(tree.get(&9_u64.to_be_bytes(), |_| ()).unwrap().is_some());
}
