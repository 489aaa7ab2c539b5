//! A get and a put through the public interface of a durable store.
//!
//! The get copies a value into a buffer of the caller; all data is in the block cache. Beside it is a get from lsm-tree's
//! tree of one table, which gives a slice that shares the block. The put overwrites in random order and appends to the log
//! without a sync; lsm-tree has no log, so none of its calls is beside it. Flushes and compactions run on other threads,
//! whose time and allocations are not counted.

use criterion::Criterion;
use lsm_tree::AbstractTree as _;
use plumbkv::{Database, Options, SyncMode};
use plumbkv_components::{Part, SIZES, VALUE, keys, shuffled};
use std::hint::black_box;
use std::path::Path;

use crate::rival;

pub(crate) fn get_and_put(c: &mut Criterion, home: &Path) {
    let folder = tempfile::tempdir().expect("a folder");
    let mut part = Part::new(c, home, "lsm-database");
    for size in SIZES {
        let (sorted, shuffled) = (keys(size), shuffled(size));
        let open = |name: &str| {
            let options = Options::durable(folder.path().join(format!("{size}{name}")))
                .memory_budget(1 << 30)
                .sync_mode(SyncMode::Never);
            Database::open(options).expect("a database")
        };
        let db = open("");
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
        let db = open("-put");
        part.ours("put", size, |at| db.set(black_box(&shuffled[at]), black_box(&VALUE)).expect("written"));
    }
}
