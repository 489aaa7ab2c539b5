//! Creation of a store, interrupted anywhere: the next opening makes it, and takes nothing of another.

use super::tree_test::{Model, content, open, small};
use super::{Batch, SyncMode, Tree};
use crate::clock::ManualClock;
use crate::error::Error;
use crate::lsm::vfs::{Fault, SimDisk, Survival, Vfs, write_all_at};
use std::path::Path;
use std::sync::Arc;

const DEEP: &str = "/x/y/store";

fn open_deep(disk: &SimDisk) -> Result<Tree, Error> {
    let clock = Arc::new(ManualClock::new(1_000));
    Tree::open(Arc::new(disk.clone()), Path::new(DEEP), small(SyncMode::Always), clock)
}

fn set(tree: &Tree) -> Result<(), Error> {
    let mut batch = Batch::default();
    batch.set(b"a", b"1");
    tree.write(&batch)
}

#[test]
fn a_creation_that_is_interrupted_at_any_operation_is_made_good() {
    let total = {
        let disk = SimDisk::new();
        drop(open_deep(&disk).unwrap());
        disk.operations()
    };
    assert!(total > 20, "{total}");
    let expected = Model::from([(b"a".to_vec(), b"1".to_vec())]);
    let mut interrupted = 0;
    for cut in 0..total {
        for survival in [
            Survival::Nothing,
            Survival::Everything,
            Survival::Some(cut),
            Survival::Some(cut + 1_000),
            Survival::Some(cut + 2_000),
        ] {
            // A second cut meets what the first has left.
            for second in [None, Some(cut / 2), Some(cut)] {
                let what = format!("cut at {cut} and {second:?}, {survival:?}");
                let disk = SimDisk::new();
                disk.fail(cut, Fault::PowerCut);
                interrupted += u32::from(open_deep(&disk).is_err());
                disk.restart(survival);
                if let Some(second) = second {
                    disk.fail(disk.operations() + second, Fault::PowerCut);
                    let _ = open_deep(&disk).map(drop);
                    disk.restart(survival);
                }
                let tree = open_deep(&disk).unwrap_or_else(|error| panic!("{what}: {error}"));
                set(&tree).unwrap();
                drop(tree);
                disk.restart(Survival::Nothing);
                let tree = open_deep(&disk).unwrap_or_else(|error| panic!("{what}, again: {error}"));
                assert_eq!(content(&tree).unwrap(), expected, "{what}");
            }
        }
    }
    assert!(interrupted > 300, "{interrupted}");
}

#[test]
fn a_creation_that_fails_at_any_operation_can_be_tried_again() {
    let total = {
        let disk = SimDisk::new();
        drop(open_deep(&disk).unwrap());
        disk.operations()
    };
    for at in 0..total {
        let disk = SimDisk::new();
        disk.fail(at, Fault::Error(std::io::ErrorKind::Other));
        let _ = open_deep(&disk).map(drop);
        let tree = open_deep(&disk).unwrap_or_else(|error| panic!("{at}: {error}"));
        set(&tree).unwrap();
    }
}

#[test]
fn what_is_left_of_a_store_without_current_is_refused_and_stays() {
    let disk = SimDisk::new();
    let tree = open(&disk, small(SyncMode::Always)).unwrap();
    set(&tree).unwrap();
    drop(tree);
    let before = disk.content();
    for (kept, bytes) in &before {
        let disk = SimDisk::new();
        disk.make_dir(Path::new("/d"));
        let mut file = disk.create(kept).unwrap();
        write_all_at(&mut *file, bytes, 0).unwrap();
        let name = kept.file_name().unwrap().to_str().unwrap();
        let before = disk.content();
        match (open(&disk, small(SyncMode::Always)), name) {
            (Ok(_), "LOCK") => {}
            (Err(Error::Io { .. }), "CURRENT") => {}
            (Err(Error::NotAStore { file, .. }), _) => {
                assert_eq!((&*file, disk.content()), (name, before));
            }
            (done, _) => panic!("{name}: {:?}", done.map(drop)),
        }
    }
    assert!(before.len() >= 4, "{:?}", before.keys());
}
