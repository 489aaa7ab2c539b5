//! Syncs of a directory that fail for want of room and drop the names that they were to make last: nothing
//! that was synced afterwards is gone after a power cut, at each such sync of a workload.

use super::tree_test::{DIRECTORY, Model, content, open, small};
use super::{Batch, SyncMode, Tree};
use crate::error::Error;
use crate::lsm::vfs::{Fault, SimDisk, Survival};
use std::io::ErrorKind;
use std::ops::ControlFlow;

/// Rounds of writes and what follows them.
const ROUNDS: u64 = 24;

fn set(tree: &Tree, key: u64) -> Result<(), Error> {
    let mut batch = Batch::default();
    batch.set(&key.to_be_bytes(), &[7; 200]);
    tree.write(&batch)
}

/// Writes, flushes, merges and syncs, whatever fails, and then the power goes. How many calls failed.
fn run(disk: &SimDisk, sync: SyncMode, what: &str) -> usize {
    let (mut written, mut lasting) = (Model::new(), Model::new());
    let mut failed = 0;
    if let Ok(tree) = open(disk, small(sync)) {
        for round in 0..ROUNDS {
            for key in round * 10..round * 10 + 10 {
                match set(&tree, key) {
                    Ok(()) => drop(written.insert(key.to_be_bytes().to_vec(), vec![7; 200])),
                    Err(_) => failed += 1,
                }
            }
            let done = match round % 4 {
                0 => tree.flush(),
                1 => tree.settle(),
                2 => tree.merge_all(|_| ControlFlow::Continue(())).map(drop),
                _ => Ok(()),
            };
            failed += usize::from(done.is_err());
            let had_failed = failed > 0;
            let is_synced = round % 3 == 0 && tree.sync().inspect_err(|_| failed += 1).is_ok();
            if is_synced || sync == SyncMode::Always {
                lasting.clone_from(&written);
            }
            if is_synced && had_failed {
                // What it promised is to be there.
                break;
            }
        }
        disk.cut();
        drop(tree);
    } else {
        failed += 1;
        disk.cut();
    }
    disk.fail(u64::MAX, Fault::Short);
    disk.restart(Survival::Nothing);
    let tree = open(disk, small(sync)).unwrap_or_else(|error| panic!("{what}: {error}"));
    let found = content(&tree).unwrap_or_else(|error| panic!("{what}: {error}"));
    for (key, value) in &lasting {
        assert!(found.get(key) == Some(value), "{what}: {key:?} was synced and is gone");
    }
    failed
}

fn each_sync_of_the_directory(sync: SyncMode) {
    let disk = SimDisk::new();
    disk.make_dir(DIRECTORY.as_ref());
    let before = disk.copy();
    assert_eq!(run(&disk, sync, "no fault"), 0);
    let mut struck = 0;
    for at in 0..disk.operations() {
        let disk = before.copy();
        disk.fail(at, Fault::NamesDropped(ErrorKind::StorageFull));
        struck += usize::from(run(&disk, sync, &format!("{sync:?}, operation {at}")) > 0);
    }
    assert!(struck >= 10, "{struck}");
}

#[test]
fn no_name_that_a_failed_sync_dropped_is_taken_for_lasting() {
    each_sync_of_the_directory(SyncMode::OnCall);
}

#[test]
fn no_name_that_a_failed_sync_dropped_is_taken_for_lasting_with_always() {
    each_sync_of_the_directory(SyncMode::Always);
}
