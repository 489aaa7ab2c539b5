//! A get through the front door of a durable store whose data is all in its cache, into a buffer of the caller's.
//!
//! lsm-tree's tree of one table stands beside it: a get there gives a slice that shares the block.

use criterion::Criterion;
use lsm_tree::AbstractTree as _;
use plumbkv::{Database, Options, SyncMode};
use plumbkv_components::{Part, SIZES, VALUE, keys, shuffled};
use std::hint::black_box;
use std::path::Path;

use crate::rival;

pub(crate) fn get(c: &mut Criterion, home: &Path) {
    let folder = tempfile::tempdir().expect("a folder");
    let mut part = Part::new(c, home, "lsm-database");
    for size in SIZES {
        let (sorted, shuffled) = (keys(size), shuffled(size));
        let options = Options::durable(folder.path().join(format!("{size}")))
            .memory_budget(1 << 30)
            .sync_mode(SyncMode::Never);
        let db = Database::open(options).expect("a database");
        sorted.iter().for_each(|key| db.set(key, &VALUE).expect("written"));
        db.compact().expect("compacted");
        let mut buffer = [0; VALUE.len()];
        let mut get = |key: &[u8; 16]| {
            let found = db.read(key, |value| buffer.copy_from_slice(value)).expect("read");
            assert!(found.is_some() && buffer[0] == 7);
        };
        // Twice, so that all of it is cached.
        sorted.iter().chain(&sorted).for_each(&mut get);
        part.ours("get", size, |at| get(black_box(&shuffled[at])));
        drop(db);
        let tree = rival::tree(&folder.path().join(format!("{size}-{}", rival::NAME)), &sorted, 1 << 30);
        let mut get = |key: &[u8; 16]| {
            let found = tree.get(key, u64::MAX).expect("read");
            assert!(found.is_some_and(|value| {
                buffer.copy_from_slice(&value);
                buffer[0] == 7
            }));
        };
        sorted.iter().for_each(&mut get);
        part.theirs(rival::NAME, |at| get(black_box(&shuffled[at])));
    }
}
