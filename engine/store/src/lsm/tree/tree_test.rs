//! Does a tree hold what a sorted map holds, whatever is flushed, merged, opened again and looked back at in between?

use super::{Batch, MAX_PAYLOAD, MAX_WRITES, SyncMode, Tree, TreeOptions, TreeSnapshot};
use crate::clock::ManualClock;
use crate::error::Error;
use crate::lsm::compaction::Targets;
use crate::lsm::table::{Compression, Shape};
use crate::lsm::vfs::{Fault, SimDisk, Vfs};
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::io;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

pub(super) type Model = BTreeMap<Vec<u8>, Vec<u8>>;

pub(super) const DIRECTORY: &str = "/d";
pub(super) const NOW_MS: u64 = 1_000;

/// As small as can be, so that few writes make many files.
pub(super) fn small(sync: SyncMode) -> TreeOptions {
    TreeOptions {
        is_cache_shared: true,
        sync,
        memtable_bytes: 4_096,
        frozen_memtables: 2,
        pinned_bytes: u64::MAX,
        cache_bytes: 1_000,
        shape: Shape {
            block_bytes: 64,
            compression: Compression::Lz4,
            filter_bits_per_key: 10,
            piece_bytes: 100,
        },
        table_bytes: 500,
        targets: Targets { level0_tables: 2, base_bytes: 1_000, multiplier: 3 },
        level0_stop: 8,
        merge_bytes_per_second: None,
        queue_bytes: 1_000,
        trim_bytes: 1 << 20,
        merge_ahead_bytes: 1 << 20,
        merge_threads: 1,
        debt_share: 0,
        filters_until: u64::MAX,
        debt_slow: 20_000,
        debt_stop: 40_000,
        open_tables: 3,
        manifest_bytes: 1_000,
        replay_bytes: 1 << 20,
        is_read_only: false,
        has_workers: false,
    }
}

pub(super) fn open(disk: &SimDisk, options: TreeOptions) -> Result<Tree, Error> {
    Tree::open(Arc::new(disk.clone()), Path::new(DIRECTORY), options, Arc::new(ManualClock::new(NOW_MS)))
}

pub(super) fn everything(snapshot: &TreeSnapshot) -> Result<Model, Error> {
    let mut walk = snapshot.walk();
    let mut found = Model::new();
    let mut backward = Vec::new();
    walk.last()?;
    while let Some((key, value)) = walk.pair() {
        backward.push((key.to_vec(), value.to_vec()));
        walk.previous()?;
    }
    walk.first()?;
    while let Some((key, value)) = walk.pair() {
        found.insert(key.to_vec(), value.to_vec());
        walk.next()?;
    }
    assert!(found.iter().eq(backward.iter().rev().map(|(key, value)| (key, value))), "two ways differ");
    Ok(found)
}

pub(super) fn content(tree: &Tree) -> Result<Model, Error> {
    everything(&tree.snapshot())
}

#[derive(Debug, Clone)]
enum Step {
    Write(Vec<(Vec<u8>, Change)>),
    Flush,
    Settle,
    MergeAll,
    Ingest(BTreeMap<Vec<u8>, (Vec<u8>, Option<u64>)>),
    Reopen { is_killed: bool },
    Look,
}

#[derive(Debug, Clone)]
enum Change {
    Set(Vec<u8>),
    SetUntil(Vec<u8>, u64),
    Delete,
    DeleteRange(Option<Vec<u8>>),
}

fn key() -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(prop::sample::select(vec![0_u8, b'a', b'b', 255]), 0..4)
}

fn step() -> impl Strategy<Value = Step> {
    let value = || prop::collection::vec(any::<u8>(), 0..200);
    let change = prop_oneof![
        4 => value().prop_map(Change::Set),
        1 => (value(), 900_u64..1_100).prop_map(|(value, until)| Change::SetUntil(value, until)),
        2 => Just(Change::Delete),
        1 => prop::option::of(key()).prop_map(Change::DeleteRange),
    ];
    prop_oneof![
        20 => prop::collection::vec((key(), change), 1..6).prop_map(Step::Write),
        2 => Just(Step::Flush),
        2 => Just(Step::Settle),
        1 => Just(Step::MergeAll),
        2 => prop::collection::btree_map(key(), (value(), prop::option::of(900_u64..1_100)), 0..12).prop_map(Step::Ingest),
        2 => any::<bool>().prop_map(|is_killed| Step::Reopen { is_killed }),
        1 => Just(Step::Look),
    ]
}

proptest! {
    #[test]
    fn a_tree_is_a_sorted_map(steps in prop::collection::vec(step(), 1..120), workers in any::<bool>(), probes in prop::collection::vec(key(), 0..20)) {
        let disk = SimDisk::new();
        let options = TreeOptions { has_workers: workers, ..small(SyncMode::OnCall) };
        let mut tree = open(&disk, options).unwrap();
        let mut model = Model::new();
        let mut looks = Vec::new();
        for step in steps {
            match step {
                Step::Write(changes) => {
                    let mut batch = Batch::default();
                    for (key, change) in changes {
                        match change {
                            Change::Set(value) => {
                                batch.set(&key, &value);
                                model.insert(key, value);
                            }
                            Change::SetUntil(value, until_ms) => {
                                batch.set_until(&key, &value, until_ms);
                                if until_ms > NOW_MS { model.insert(key, value) } else { model.remove(&key) };
                            }
                            Change::DeleteRange(end) => {
                                batch.delete_range(&key, end.as_deref());
                                let is_within = |other: &Vec<u8>| {
                                    key <= *other && end.as_ref().is_none_or(|end| other < end)
                                };
                                model.retain(|other, _| !is_within(other));
                            }
                            Change::Delete => {
                                batch.delete(&key);
                                model.remove(&key);
                            }
                        }
                    }
                    tree.write(&batch).unwrap();
                }
                Step::Flush => tree.flush().unwrap(),
                Step::Settle => tree.settle().unwrap(),
                Step::MergeAll => assert!(tree.merge_all(|_| ControlFlow::Continue(())).unwrap()),
                Step::Ingest(pairs) => {
                    let mut ingest = tree.ingest();
                    for (key, (value, until_ms)) in &pairs {
                        ingest.add(key, value, *until_ms).unwrap();
                    }
                    ingest.prepare().unwrap();
                    prop_assert_eq!(ingest.install().unwrap(), pairs.len() as u64);
                    for (key, (value, until_ms)) in pairs {
                        let is_there = until_ms.is_none_or(|until_ms| until_ms > NOW_MS);
                        if is_there { model.insert(key, value) } else { model.remove(&key) };
                    }
                }
                Step::Reopen { is_killed } => {
                    looks.clear();
                    if is_killed { drop(tree) } else { tree.close().unwrap() }
                    tree = open(&disk, options).unwrap();
                }
                Step::Look => {
                    looks.push((tree.snapshot(), model.clone()));
                    prop_assert_eq!(&content(&tree).unwrap(), &model);
                }
            }
        }
        prop_assert_eq!(&content(&tree).unwrap(), &model);
        for key in model.keys().chain(&probes) {
            let found = tree.get(key, |live| live.value.to_vec()).unwrap();
            prop_assert_eq!(found.as_ref(), model.get(key));
        }
        looks.push((tree.snapshot(), model.clone()));
        tree.verify(|_| ()).unwrap();
        for (look, then) in looks {
            let keys: Vec<_> = model.keys().chain(then.keys()).chain(&probes).map(|key| &key[..]).collect();
            let mut together = vec![None; keys.len()];
            look.get_many(&keys, |place, live| together[place] = Some(live.value.to_vec())).unwrap();
            for (key, found) in keys.iter().zip(together) {
                let alone = look.get(key, |live| live.value.to_vec()).unwrap();
                prop_assert_eq!(alone.as_ref(), then.get(*key));
                prop_assert_eq!(found.as_ref(), then.get(*key));
            }
            prop_assert_eq!(everything(&look).unwrap(), then);
        }
    }
}

#[test]
fn files_go_when_nothing_refers_to_them() {
    let disk = SimDisk::new();
    let tree = open(&disk, small(SyncMode::OnCall)).unwrap();
    for round in 0..20_u8 {
        for key in 0..100_u8 {
            let mut batch = Batch::default();
            batch.set(&[key], &[round; 50]);
            tree.write(&batch).unwrap();
        }
        tree.flush().unwrap();
        tree.settle().unwrap();
    }
    let bytes: usize = disk.content().values().map(Vec::len).sum();
    assert!(bytes < 20_000, "{bytes} bytes for 5,000: {:?}", disk.content().keys());
    assert!(tree.stats().debt_bytes == 0 && content(&tree).unwrap().len() == 100);
    for key in 0..100_u8 {
        let mut batch = Batch::default();
        batch.delete(&[key]);
        tree.write(&batch).unwrap();
    }
    tree.flush().unwrap();
    tree.settle().unwrap();
    drop(tree);
    let tree = open(&disk, small(SyncMode::OnCall)).unwrap();
    assert!(content(&tree).unwrap().is_empty());
}

#[test]
fn a_store_has_one_process() {
    let disk = SimDisk::new();
    let tree = open(&disk, small(SyncMode::OnCall)).unwrap();
    let Err(Error::InUse { path }) = open(&disk, small(SyncMode::OnCall)) else { panic!() };
    assert_eq!(path, DIRECTORY);
    drop(tree);
    open(&disk, small(SyncMode::OnCall)).unwrap();
}

#[test]
fn writers_who_come_together_go_together_and_none_is_lost() {
    const EACH: u64 = 500;
    let disk = SimDisk::new();
    let options = TreeOptions { has_workers: true, ..small(SyncMode::Always) };
    let tree = open(&disk, options).unwrap();
    std::thread::scope(|scope| {
        for writer in 0..4_u64 {
            let tree = &tree;
            scope.spawn(move || {
                for number in 0..EACH {
                    let mut batch = Batch::default();
                    let key = [writer.to_be_bytes(), number.to_be_bytes()].concat();
                    batch.set(&key, &number.to_le_bytes());
                    batch.set(b"last", &key);
                    tree.write(&batch).unwrap();
                    assert_eq!(
                        tree.get(&key, |live| live.value.to_vec()).unwrap().unwrap(),
                        number.to_le_bytes()
                    );
                }
            });
        }
    });
    assert_eq!(content(&tree).unwrap().len() as u64, 4 * EACH + 1);
    drop(tree);
    let tree = open(&disk, options).unwrap();
    assert_eq!(content(&tree).unwrap().len() as u64, 4 * EACH + 1);
}

#[test]
fn a_failure_in_the_log_ends_writes_and_says_why() {
    let disk = SimDisk::new();
    let tree = open(&disk, small(SyncMode::Always)).unwrap();
    let mut batch = Batch::default();
    batch.set(b"a", b"1");
    tree.write(&batch).unwrap();
    disk.fail(disk.operations() + 1, Fault::Error(io::ErrorKind::Other));
    for _ in 0..3 {
        let Err(Error::Io { kind, .. }) = tree.write(&batch) else { panic!() };
        assert_eq!(kind, io::ErrorKind::Other);
    }
    assert_eq!(content(&tree).unwrap().len(), 1);
    drop(tree);
    assert_eq!(content(&open(&disk, small(SyncMode::Always)).unwrap()).unwrap().len(), 1);
    let _: Vec<String> = disk.list(Path::new(DIRECTORY)).unwrap();
}

#[test]
fn a_batch_may_be_as_long_as_the_log_takes_and_no_longer() {
    let batch = |bytes: usize, writes: u64| Batch { payload: vec![0; bytes].into(), writes };
    assert_eq!(batch(MAX_PAYLOAD, MAX_WRITES).check(), Ok(()));
    let disk = SimDisk::new();
    let tree = open(&disk, small(SyncMode::OnCall)).unwrap();
    let operations = disk.operations();
    let cases = [
        (
            MAX_PAYLOAD + 1,
            1,
            "the batch has 2147483648 bytes and one may have 2147483647; split it: each part",
        ),
        (0, MAX_WRITES + 1, "the batch has 134217729 writes and one may have 134217728; split it: each part"),
    ];
    for (bytes, writes, text) in cases {
        let error = tree.write(&batch(bytes, writes)).unwrap_err();
        assert!(error.to_string().starts_with(text), "{error}");
    }
    assert_eq!(disk.operations(), operations, "nothing was written");
    // Of the most writes with the most bytes the last begins where a link of eight bytes each can lead to.
    let most = super::commit::memtable_bytes(MAX_PAYLOAD, MAX_WRITES);
    assert!(most as u64 / 8 <= u64::from(u32::MAX));
    let mut one = Batch::default();
    one.set(b"a", b"b");
    tree.write(&one).unwrap();
    assert_eq!(content(&tree).unwrap().len(), 1);
}
