//! Opening without room, and read-only.

use super::tree_test::{DIRECTORY, Model, content, open, small};
use super::{Batch, SyncMode, Tree, TreeOptions};
use crate::error::Error;
use crate::lsm::vfs::{Fault, FaultPlan, SimDisk, Survival};
use std::io::ErrorKind;
use std::path::Path;
use std::time::{Duration, Instant};

fn options(sync: SyncMode) -> TreeOptions {
    // Longer than what is written when it is opened again: then several memtables come of the logs.
    TreeOptions { memtable_bytes: 3_000, ..small(sync) }
}

fn written(sync: SyncMode) -> TreeOptions {
    TreeOptions { memtable_bytes: 10_000, ..options(sync) }
}

fn set(tree: &Tree, key: &str, value: &str) -> Result<(), Error> {
    let mut batch = Batch::default();
    batch.set(key.as_bytes(), value.as_bytes());
    tree.write(&batch)
}

/// A store that was killed with tables, a deleted range and more in its logs than a memtable holds.
fn killed(sync: SyncMode) -> (SimDisk, Model) {
    let disk = SimDisk::new();
    let tree = open(&disk, written(sync)).unwrap();
    for number in 0..300_u32 {
        set(&tree, &format!("key {:03}", number * 7 % 120), &format!("value {number} {}", "x".repeat(30)))
            .unwrap();
        if number == 150 {
            tree.flush().unwrap();
        }
        if number == 200 || number == 260 {
            let mut batch = Batch::default();
            batch.delete_range(format!("key {:03}", number % 90).as_bytes(), Some(b"key 085"));
            tree.write(&batch).unwrap();
        }
    }
    let model = content(&tree).unwrap();
    // A process that ends here writes nothing more.
    let left = disk.copy();
    left.restart(Survival::Everything);
    assert!(model.len() > 50 && tree.stats().memtable_bytes > 6_000, "{:?}", tree.stats());
    (left, model)
}

fn limit(disk: &SimDisk, capacity: Option<u64>) {
    disk.set_faults(FaultPlan { capacity, ..FaultPlan::default() });
}

fn is_full(error: &Error) -> bool {
    matches!(error, Error::Io { kind: ErrorKind::StorageFull, .. })
}

/// With each number of bytes that are left, from none to more than enough.
#[test]
fn a_store_opens_without_room_and_takes_writes_when_there_is_some() {
    let mut refused = 0;
    let mut with_memtables = [0; 4];
    for sync in [SyncMode::OnCall, SyncMode::Always] {
        let (origin, model) = killed(sync);
        let mut room = 0;
        loop {
            let disk = origin.copy();
            limit(&disk, Some(disk.used() + room));
            let tree = open(&disk, options(sync)).unwrap();
            assert_eq!(content(&tree).unwrap(), model, "room {room}");
            let stats = tree.stats();
            with_memtables[stats.frozen_memtables.min(3)] += 1;
            let first = set(&tree, "new", "1");
            if let Err(error) = &first {
                refused += 1;
                assert!(is_full(error), "{error}");
                assert_eq!(content(&tree).unwrap(), model, "room {room}: refused, and reads go on");
                // Killed now, or when the power goes, and opened again without room: all of it is there.
                for survival in [Survival::Everything, Survival::Nothing, Survival::Some(room)] {
                    let copy = disk.copy();
                    copy.restart(survival);
                    limit(&copy, Some(copy.used()));
                    let again = open(&copy, options(sync)).unwrap();
                    assert_eq!(content(&again).unwrap(), model, "room {room}, {survival:?}");
                }
                limit(&disk, None);
                assert_eq!(set(&tree, "new", "1"), Ok(()), "room {room}");
            }
            limit(&disk, None);
            let mut after = model.clone();
            after.insert(b"new".to_vec(), b"1".to_vec());
            assert_eq!(content(&tree).unwrap(), after);
            let copy = disk.copy();
            copy.restart(if sync == SyncMode::Always { Survival::Nothing } else { Survival::Everything });
            assert_eq!(content(&open(&copy, options(sync)).unwrap()).unwrap(), after, "room {room}");
            tree.flush().unwrap();
            tree.settle().unwrap();
            tree.close().unwrap();
            let tree = open(&disk, options(sync)).unwrap();
            assert_eq!((content(&tree).unwrap(), tree.stats().frozen_memtables), (after, 0));
            let logs = disk.content().into_keys().filter(|path| path.extension() == Some("log".as_ref()));
            assert_eq!(logs.count(), 1, "old logs stay");
            if first.is_ok() && room > 20_000 {
                break;
            }
            room += if room < 100 { 9 } else { 211 };
        }
    }
    assert!(refused > 60 && with_memtables.iter().all(|count| *count > 2), "{refused} {with_memtables:?}");
}

#[test]
fn a_thread_resumes_a_store_that_was_opened_without_room() {
    let (disk, mut model) = killed(SyncMode::OnCall);
    limit(&disk, Some(disk.used()));
    let tree = open(&disk, TreeOptions { has_workers: true, ..options(SyncMode::OnCall) }).unwrap();
    assert!(tree.failure().is_some_and(|error| is_full(&error)));
    assert_eq!(content(&tree).unwrap(), model);
    limit(&disk, None);
    let until = Instant::now() + Duration::from_secs(20);
    while tree.failure().is_some() {
        assert!(Instant::now() < until, "{:?}", tree.failure());
        std::thread::sleep(Duration::from_millis(1));
    }
    set(&tree, "new", "1").unwrap();
    model.insert(b"new".to_vec(), b"1".to_vec());
    tree.close().unwrap();
    assert_eq!(content(&open(&disk, options(SyncMode::OnCall)).unwrap()).unwrap(), model);
}

/// As after any other open, what was found lasts, although an earlier process had not synced it.
#[test]
fn what_a_store_without_room_has_found_lasts() {
    let disk = SimDisk::new();
    let tree = open(&disk, written(SyncMode::OnCall)).unwrap();
    for number in 0..100 {
        set(&tree, &format!("key {number}"), "value").unwrap();
    }
    let model = content(&tree).unwrap();
    drop(tree);
    let unsynced = disk.copy();
    unsynced.restart(Survival::Nothing);
    assert!(content(&open(&unsynced, options(SyncMode::OnCall)).unwrap()).unwrap().is_empty());
    limit(&disk, Some(disk.used()));
    let tree = open(&disk, options(SyncMode::OnCall)).unwrap();
    assert!(tree.failure().is_some_and(|error| is_full(&error)) && content(&tree).unwrap() == model);
    let copy = disk.copy();
    copy.restart(Survival::Nothing);
    assert_eq!(content(&open(&copy, options(SyncMode::OnCall)).unwrap()).unwrap(), model);
}

/// A sync of the earlier process failed, and the system dropped what it was to write but shows it still:
/// another sync of the same file brings nothing back.
#[test]
fn what_a_failed_sync_dropped_lasts_once_a_store_without_room_has_shown_it() {
    let mut shown = 0;
    for seed in 0..20 {
        let disk = SimDisk::new();
        let tree = open(&disk, written(SyncMode::Always)).unwrap();
        set(&tree, "key", "old").unwrap();
        disk.set_faults(FaultPlan { seed, dropped_syncs: 1, ..FaultPlan::default() });
        assert!(set(&tree, "key", "new").unwrap_err().is_in_doubt());
        limit(&disk, Some(disk.used()));
        drop(tree);
        let tree = open(&disk, options(SyncMode::Always)).unwrap();
        assert!(tree.failure().is_some_and(|error| is_full(&error)));
        let found = content(&tree).unwrap();
        shown += usize::from(found[&b"key"[..]] == b"new");
        let copy = disk.copy();
        copy.restart(Survival::Nothing);
        assert_eq!(content(&open(&copy, options(SyncMode::Always)).unwrap()).unwrap(), found, "seed {seed}");
    }
    assert!((1..20).contains(&shown), "{shown}");
}

/// What other processes have left makes room for the logs.
#[test]
fn leftovers_make_room() {
    let (disk, model) = killed(SyncMode::OnCall);
    for name in ["000900.table", "000901.spare", "MANIFEST-000902"] {
        let path = Path::new(DIRECTORY).join(name);
        let file = &mut *crate::lsm::vfs::Vfs::create(&disk, &path).unwrap();
        file.write_at(&[7; 10_000], 0).unwrap();
    }
    limit(&disk, Some(disk.used()));
    let tree = open(&disk, options(SyncMode::OnCall)).unwrap();
    assert_eq!((tree.failure(), content(&tree).unwrap()), (None, model));
}

/// Any other error fails the open.
#[test]
fn a_device_that_fails_is_no_full_disk() {
    let (origin, model) = killed(SyncMode::OnCall);
    let begin = origin.operations();
    let count = {
        let disk = origin.copy();
        drop(open(&disk, options(SyncMode::OnCall)).unwrap());
        disk.operations() - begin
    };
    let mut failed = 0;
    for at in begin..begin + count {
        let disk = origin.copy();
        disk.fail(at, Fault::Error(ErrorKind::Other));
        match open(&disk, options(SyncMode::OnCall)) {
            Ok(tree) => assert_eq!((tree.failure(), content(&tree).unwrap()), (None, model.clone())),
            Err(_) => failed += 1,
        }
    }
    assert!(failed > count / 2, "{failed} of {count}");
}

fn read_only(options: TreeOptions) -> TreeOptions {
    TreeOptions { is_read_only: true, has_workers: true, ..options }
}

#[test]
fn a_store_opens_read_only_without_a_change_of_the_disk() {
    for (room, is_closed) in [(Some(0), false), (None, false), (Some(0), true)] {
        let (disk, model) = killed(SyncMode::OnCall);
        if is_closed {
            open(&disk, options(SyncMode::OnCall)).unwrap().close().unwrap();
        }
        limit(&disk, room.map(|room| disk.used() + room));
        let (before, history) = (disk.content(), disk.history());
        let tree = open(&disk, read_only(options(SyncMode::OnCall))).unwrap();
        let other = open(&disk, read_only(options(SyncMode::OnCall))).unwrap();
        assert!(matches!(open(&disk, options(SyncMode::OnCall)), Err(Error::InUse { .. })));
        for tree in [&tree, &other] {
            assert_eq!(content(tree).unwrap(), model);
            assert_eq!(
                (tree.stats().frozen_memtables > 1, tree.failure()),
                (!is_closed, Some(Error::ReadOnly))
            );
            let snapshot = tree.snapshot();
            assert_eq!(super::tree_test::everything(&snapshot).unwrap(), model);
            assert!(tree.verify(|_| ()).unwrap() > 0);
            let mut ingest = tree.ingest();
            let refusals = [
                set(tree, "new", "1"),
                tree.flush(),
                tree.settle(),
                tree.clear(),
                tree.merge_all(|_| std::ops::ControlFlow::Continue(())).map(drop),
                tree.checkpoint(Path::new("/copy")),
                ingest.add(b"new", b"1", None),
                ingest.prepare(),
            ];
            assert_eq!(refusals, [(); 8].map(|()| Err(Error::ReadOnly)));
            assert_eq!(tree.sync(), Ok(()));
        }
        drop(other);
        tree.close().unwrap();
        assert!(disk.content() == before && disk.history() == history, "the disk has changed");
        limit(&disk, None);
        let tree = open(&disk, options(SyncMode::OnCall)).unwrap();
        assert!(matches!(open(&disk, read_only(options(SyncMode::OnCall))), Err(Error::InUse { .. })));
        assert_eq!(content(&tree).unwrap(), model);
    }
}

#[test]
fn read_only_makes_no_store() {
    let disk = SimDisk::new();
    for directory in [DIRECTORY, "/d/deeper"] {
        let clock = std::sync::Arc::new(crate::clock::ManualClock::new(0));
        let options = read_only(options(SyncMode::OnCall));
        let opened = Tree::open(std::sync::Arc::new(disk.clone()), Path::new(directory), options, clock);
        let Err(Error::Io { kind, path, .. }) = opened else { panic!("it opened") };
        assert_eq!((kind, path), (ErrorKind::NotFound, format!("{directory}/CURRENT")));
    }
    assert!(disk.content().is_empty() && disk.history().is_empty());
}

#[test]
fn logs_that_do_not_fit_the_memory_are_refused_by_name() {
    let (disk, model) = killed(SyncMode::OnCall);
    for is_read_only in [false, true] {
        let small = TreeOptions { replay_bytes: 5_000, is_read_only, ..options(SyncMode::OnCall) };
        limit(&disk, Some(disk.used()));
        let Err(Error::InvalidOption { option, reason }) = open(&disk, small) else { panic!("it opened") };
        assert!(option == "memory_budget" && reason.contains("5000 bytes"), "{option}: {reason}");
    }
    limit(&disk, None);
    let small = TreeOptions { replay_bytes: 5_000, ..options(SyncMode::OnCall) };
    assert_eq!(content(&open(&disk, small).unwrap()).unwrap(), model, "there is room for tables");
}
