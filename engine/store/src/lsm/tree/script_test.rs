//! What is the workload that power, system calls and bytes are taken away from? One list of steps that rolls logs over and uses them again, flushes, merges level by level and everything,
//! ingests, begins manifests anew, clears, copies, closes, and opens again.
//!
//! Each write leaves its number in the store: so every state is another one, and what is found says how many writes came back.

use super::tree_test::{Model, content, small};
use super::{Batch, SyncMode, Tree, TreeOptions};
use crate::clock::ManualClock;
use crate::error::Error;
use crate::lsm::vfs::SimDisk;
use std::path::Path;
use std::sync::Arc;

pub(super) const DIRECTORY: &str = "/d";
pub(super) const COPY: &str = "/copy";

/// A step, and what it does to what is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Step {
    /// A batch of a few writes.
    Write,
    /// A batch longer than a memtable.
    WriteLong,
    /// Sorted pairs for several tables, of keys that are there and of keys that are not.
    Ingest,
    /// Sorted pairs of keys that no other change has.
    IngestAside,
    Clear,
    Read,
    Sync,
    Flush,
    Settle,
    MergeAll,
    Checkpoint,
    Close,
    Drop,
}

impl Step {
    /// Whether it changes what is there: the others only change how it is kept.
    pub(super) fn is_change(self) -> bool {
        matches!(self, Self::Write | Self::WriteLong | Self::Ingest | Self::IngestAside | Self::Clear)
    }

    /// Whether all that was acknowledged lasts once it returned.
    pub(super) fn is_sync(self) -> bool {
        matches!(
            self,
            Self::Clear
                | Self::Sync
                | Self::Flush
                | Self::MergeAll
                | Self::Ingest
                | Self::IngestAside
                | Self::Checkpoint
                | Self::Close
        )
    }
}

/// The workload.
pub(super) fn script() -> Vec<Step> {
    use Step::{
        Checkpoint, Clear, Close, Drop, Flush, Ingest, IngestAside, MergeAll, Read, Settle, Sync, Write,
        WriteLong,
    };
    let parts: [(usize, &[Step]); 25] = [
        // Into an empty memtable, which is flushed to no table, while the manifest is short.
        (0, &[WriteLong, Flush]),
        (5, &[Sync]),
        (20, &[Sync, Flush]),
        (4, &[WriteLong, Read]),
        (12, &[Flush, Settle]),
        (3, &[Drop]),
        (15, &[Checkpoint]),
        (12, &[Flush, Settle, Sync]),
        (3, &[Flush, Settle, Clear]),
        (2, &[Close]),
        (18, &[Flush]),
        (14, &[Sync, Flush]),
        (14, &[Flush]),
        (14, &[Settle, Flush]),
        (14, &[Flush]),
        (3, &[WriteLong, Settle, Read]),
        (2, &[Drop]),
        // Behind writes that are in memory, and with nothing there; before and after an end without warning.
        (9, &[IngestAside, Ingest, Read]),
        (0, &[Ingest]),
        (5, &[Drop]),
        (6, &[Flush, MergeAll, Read]),
        (7, &[IngestAside, Drop]),
        (3, &[Sync, MergeAll]),
        (9, &[Flush, Settle]),
        (4, &[Close]),
    ];
    parts.iter().flat_map(|(writes, rest)| [&vec![Write; *writes], *rest].concat()).collect()
}

/// As small as can be, and a manifest that is begun anew every few edits.
pub(super) fn options(sync: SyncMode) -> TreeOptions {
    TreeOptions { memtable_bytes: 2_500, manifest_bytes: 250, ..small(sync) }
}

/// What a change does.
pub(super) enum Change {
    Write(Batch),
    Ingest(Model),
    Clear,
}

impl Change {
    pub(super) fn carry_out(&self, tree: &Tree) -> Result<(), Error> {
        match self {
            Self::Write(batch) => tree.write(batch),
            Self::Ingest(pairs) => {
                let mut ingest = tree.ingest();
                pairs.iter().try_for_each(|(key, value)| ingest.add(key, value, None))?;
                ingest.prepare()?;
                assert_eq!(ingest.install()?, pairs.len() as u64);
                Ok(())
            }
            Self::Clear => tree.clear(),
        }
    }
}

/// The change that a step is, and what it does to a model.
pub(super) fn change(step: Step, number: usize, model: &mut Model) -> Change {
    let mut random = fastrand::Rng::with_seed(number as u64);
    match step {
        Step::Clear => {
            model.clear();
            Change::Clear
        }
        Step::Ingest | Step::IngestAside => {
            let mut pairs: Model = (0..8_u8)
                .filter(|place| step == Step::IngestAside || place % 3 > 0)
                .map(|place| {
                    let key = if step == Step::Ingest { [b'k', place * 2] } else { [b'p', place] };
                    (key.to_vec(), (0..200).map(|_| random.u8(..)).collect())
                })
                .collect();
            pairs.insert(b"number".to_vec(), (number as u64).to_be_bytes().to_vec());
            model.extend(pairs.clone());
            Change::Ingest(pairs)
        }
        _ => Change::Write(batch(step, number, &mut random, model)),
    }
}

fn batch(step: Step, number: usize, random: &mut fastrand::Rng, model: &mut Model) -> Batch {
    let mut batch = Batch::default();
    // By range: of keys that the batch writes then, too, and up to the end of all.
    if number % 6 == 4 {
        let first = random.u8(0..20);
        let (start, end) = ([b'k', first], [b'k', first + random.u8(0..4)]);
        let end = (number % 90 > 4).then_some(&end[..]);
        batch.delete_range(&start, end);
        let is_within = |key: &[u8]| &start[..] <= key && end.is_none_or(|end| key < end);
        model.retain(|key, _| !is_within(key));
    }
    let mut set = |key: Vec<u8>, value: Vec<u8>| {
        batch.set(&key, &value);
        model.insert(key, value);
    };
    set(b"number".to_vec(), (number as u64).to_be_bytes().to_vec());
    if step == Step::WriteLong {
        set(b"long".to_vec(), (0..3_000).map(|_| random.u8(..)).collect());
    }
    for _ in 0..random.u32(1..4) {
        let key = vec![b'k', random.u8(0..20)];
        if random.u8(0..4) == 0 {
            batch.delete(&key);
            model.remove(&key);
        } else {
            let value = vec![number as u8; random.usize(0..200)];
            batch.set(&key, &value);
            model.insert(key, value);
        }
    }
    batch
}

/// What is there after each number of changes.
pub(super) fn states() -> Vec<Model> {
    let mut states = vec![Model::new()];
    for step in script().into_iter().filter(|step| step.is_change()) {
        let mut model = states[states.len() - 1].clone();
        change(step, states.len(), &mut model);
        states.push(model);
    }
    states
}

pub(super) fn open_at(disk: &SimDisk, directory: &str, options: TreeOptions) -> Result<Tree, Error> {
    Tree::open(Arc::new(disk.clone()), Path::new(directory), options, Arc::new(ManualClock::new(1_000)))
}

pub(super) fn open(disk: &SimDisk, options: TreeOptions) -> Result<Tree, Error> {
    open_at(disk, DIRECTORY, options)
}

/// Everything, found in two ways: by a walk, and key by key.
pub(super) fn read(tree: &Tree) -> Result<Model, Error> {
    let walked = content(tree)?;
    let keys = (0..20).flat_map(|number| [vec![b'k', number], vec![b'p', number]]);
    let keys = keys.chain([b"number".to_vec(), b"long".to_vec()]);
    let mut asked = Model::new();
    for key in keys {
        if let Some(value) = tree.get(&key, |live| live.value.to_vec())? {
            asked.insert(key, value);
        }
    }
    assert_eq!(walked, asked, "a walk and reads differ");
    Ok(walked)
}

#[test]
fn the_workload_does_all_that_it_is_for() {
    for sync in [SyncMode::Always, SyncMode::OnCall] {
        let disk = SimDisk::new();
        super::power_test::run(&disk, options(sync), &mut super::power_test::Progress::default()).unwrap();
        let history = disk.history();
        let count = |begin: &str, within: &str| {
            history.iter().filter(|change| change.starts_with(begin) && change.contains(within)).count()
        };
        let counts = [
            ("logs begun", count("put /d/", ".log"), 10),
            (
                "logs used again",
                history.iter().filter(|name| name.starts_with("rename") && name.ends_with(".log")).count(),
                5,
            ),
            ("tables written", count("put /d/", ".table"), 30),
            ("tables merged away", count("remove /d/", ".table"), 20),
            // Five of them because the store was opened.
            ("manifests begun", count("put /d/MANIFEST", ""), 10),
            ("tables copied", count("put /copy/", ".table"), 1),
        ];
        println!("{sync:?}: {counts:?}");
        assert!(counts.iter().all(|(_, count, least)| count >= least), "{counts:?}");
    }
}
