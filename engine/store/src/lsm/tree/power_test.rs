//! What is there after the power went, at every single operation of the workload?
//!
//! Each cut is tried with nothing, everything and random parts surviving of what was not synced. Then the store opens, although the power goes once more meanwhile; it holds
//! the state after some number of changes, and that number is not below what was acknowledged as synced; and it goes on from there.
//!
//! A run begins where the store was last opened before the cut, on a copy of the disk of that moment.

use super::script_test::{COPY, Step, change, open, open_at, options, read, script, states};
use super::tree_test::Model;
use super::{Batch, SyncMode, Tree, TreeOptions};
use crate::error::Error;
use crate::lsm::vfs::{Fault, SimDisk, Survival};
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::Path;

/// How far the workload came, in changes.
#[derive(Debug, Default, Clone)]
pub(super) struct Progress {
    /// That were begun.
    begun: usize,
    /// That returned.
    acknowledged: usize,
    /// That were acknowledged, and covered by a sync.
    synced: usize,
    /// That a finished copy holds.
    copied: Option<usize>,
    /// Operations on the disk during each part of the work, and how often it was done.
    parts: BTreeMap<&'static str, (u64, usize)>,
}

impl Progress {
    /// A step returned.
    fn acknowledge(&mut self, step: Step, sync: SyncMode) {
        self.acknowledged = self.begun;
        // A store that is merely dropped is flushed when it is opened.
        if step.is_sync() || step == Step::Drop || sync == SyncMode::Always {
            self.synced = self.acknowledged;
        }
    }
}

/// What has to be cut off, and at how many operations at least. One may be part of several: a flush may begin a manifest anew.
const PARTS: [(&str, u64); 13] = [
    ("writes that begin no log", 100),
    ("a log begun, by a write", 15),
    ("a log used again, by a write", 5),
    ("a manifest begun anew", 200),
    ("a flush", 300),
    ("merges of levels", 200),
    ("a merge of everything", 200),
    ("an ingest", 100),
    ("a checkpoint", 40),
    ("a clear", 5),
    ("closed and opened", 80),
    ("dropped and opened", 200),
    ("a walk", 100),
];

/// The parts of the work that a step did, which changed names on the disk like this.
fn parts(step: Step, names: &[String]) -> Vec<&'static str> {
    let begun = |verb: &str| names.iter().any(|name| name.starts_with(verb) && name.ends_with(".log"));
    let mut parts = match step {
        Step::Write | Step::WriteLong if begun("rename ") => vec!["a log used again, by a write"],
        Step::Write | Step::WriteLong if begun("put ") => vec!["a log begun, by a write"],
        Step::Write | Step::WriteLong => vec!["writes that begin no log"],
        Step::Flush => vec!["a flush"],
        Step::Settle => vec!["merges of levels"],
        Step::MergeAll => vec!["a merge of everything"],
        Step::Ingest | Step::IngestAside => vec!["an ingest"],
        Step::Checkpoint => vec!["a checkpoint"],
        Step::Clear => vec!["a clear"],
        Step::Close => vec!["closed and opened"],
        Step::Drop => vec!["dropped and opened"],
        Step::Read => vec!["a walk"],
        Step::Sync => Vec::new(),
    };
    let is_opened = matches!(step, Step::Close | Step::Drop);
    if !is_opened && names.iter().any(|name| name.starts_with("put /d/MANIFEST")) {
        parts.push("a manifest begun anew");
    }
    parts
}

/// A moment of the workload at which the store is closed and about to be opened.
struct Beginning {
    disk: SimDisk,
    /// The next step of the script.
    place: usize,
    model: Model,
    progress: Progress,
}

/// Runs the workload up to the first error.
pub(super) fn run(disk: &SimDisk, options: TreeOptions, progress: &mut Progress) -> Result<(), Error> {
    run_from(disk, options, (0, Model::new()), progress, |_, _, _| ())
}

/// The same from a step on, before which the store holds what the model does. Every moment at which the store is
/// opened again is handed on.
fn run_from(
    disk: &SimDisk,
    options: TreeOptions,
    (from, mut model): (usize, Model),
    progress: &mut Progress,
    mut at_beginning: impl FnMut(usize, &Model, &Progress),
) -> Result<(), Error> {
    let (script, mut tree) = (script(), open(disk, options)?);
    if from > 0 {
        progress.acknowledge(script[from - 1], options.sync);
    }
    for (place, step) in script.into_iter().enumerate().skip(from) {
        if step.is_change() {
            progress.begun += 1;
        }
        let (before, names) = (disk.operations(), disk.name_changes());
        match step {
            Step::Write | Step::WriteLong | Step::Ingest | Step::IngestAside | Step::Clear => {
                change(step, progress.begun, &mut model).carry_out(&tree)?;
            }
            Step::Read => assert_eq!(read(&tree)?, model),
            Step::Sync => tree.sync()?,
            Step::Flush => tree.flush()?,
            Step::Settle => tree.settle()?,
            Step::MergeAll => assert!(tree.merge_all(|_| ControlFlow::Continue(()))?),
            Step::Checkpoint => {
                tree.checkpoint(Path::new(COPY))?;
                progress.copied = Some(progress.begun);
            }
            Step::Close => {
                tree.close()?;
                progress.synced = progress.begun;
                at_beginning(place + 1, &model, progress);
                tree = open(disk, options)?;
            }
            Step::Drop => {
                drop(tree);
                at_beginning(place + 1, &model, progress);
                tree = open(disk, options)?;
            }
        }
        for part in parts(step, &disk.history()[names..]) {
            let (operations, times) = progress.parts.entry(part).or_default();
            *operations += disk.operations() - before;
            *times += 1;
        }
        progress.acknowledge(step, options.sync);
    }
    Ok(())
}

/// Opens what is left, the power going once more after so many operations, and looks at it.
fn look(disk: &SimDisk, options: TreeOptions, states: &[Model], progress: &Progress, what: &str, again: u64) {
    let mut least = progress.synced;
    disk.fail(disk.operations() + again, Fault::PowerCut);
    let found = open(disk, options).and_then(|tree| read(&tree));
    disk.restart(Survival::Some(again));
    if let Ok(found) = found {
        // What an opened store has shown is in tables.
        let shown = (least..=progress.begun).find(|number| states[*number] == found);
        least =
            shown.unwrap_or_else(|| panic!("{what}: what is there was never so, or lacks what was synced"));
    }
    let tree = open(disk, options).unwrap_or_else(|error| panic!("{what}: {error}"));
    let found = read(&tree).unwrap_or_else(|error| panic!("{what}: {error}"));
    let is_state = (least..=progress.begun).any(|number| states[number] == found);
    assert!(is_state, "{what}: not the state after any of {least} to {} changes", progress.begun);
    go_on(disk, options, tree, found, what);
    look_at_copy(disk, options, states, progress, what);
}

/// A store that came back takes writes, and keeps them.
fn go_on(disk: &SimDisk, options: TreeOptions, tree: Tree, mut expected: Model, what: &str) {
    for number in 0..3_u8 {
        let mut batch = Batch::default();
        batch.set(&[b'k', number], b"afterwards");
        expected.insert(vec![b'k', number], b"afterwards".to_vec());
        tree.write(&batch).unwrap_or_else(|error| panic!("{what}: {error}"));
        if number == 1 {
            tree.sync().unwrap();
            tree.flush().unwrap();
        }
    }
    tree.sync().unwrap();
    drop(tree);
    disk.restart(Survival::Nothing);
    let tree = open(disk, options).unwrap_or_else(|error| panic!("{what}, then: {error}"));
    assert!(read(&tree).unwrap() == expected, "{what}: what was written afterwards is not there");
}

/// A copy that was finished is what it was made of; one that was not says so, or is empty, or whole.
fn look_at_copy(disk: &SimDisk, options: TreeOptions, states: &[Model], progress: &Progress, what: &str) {
    let found = open_at(disk, COPY, options).and_then(|tree| read(&tree));
    match (progress.copied, found) {
        (Some(number), Ok(found)) => assert!(found == states[number], "{what}: the copy is another"),
        (Some(_), Err(error)) => panic!("{what}: the copy: {error}"),
        (None, Ok(found)) => {
            assert!(found.is_empty() || found == states[progress.begun], "{what}: half a copy")
        }
        (None, Err(Error::Corrupt { .. } | Error::NotAStore { .. })) => {}
        (None, Err(error)) => panic!("{what}: half a copy: {error}"),
    }
}

fn cut_everywhere(sync: SyncMode) {
    let (states, options) = (states(), options(sync));
    let whole = SimDisk::new();
    let mut uncut = Progress::default();
    let beginning = |place: usize, model: &Model, progress: &Progress| {
        let (disk, model, progress) = (whole.copy(), model.clone(), progress.clone());
        Beginning { disk, place, model, progress }
    };
    let mut beginnings = vec![beginning(0, &Model::new(), &uncut)];
    run_from(&whole, options, (0, Model::new()), &mut uncut, |place, model, progress| {
        beginnings.push(beginning(place, model, progress));
    })
    .unwrap();
    let resume = |from: &Beginning, fault: (u64, Fault)| {
        let (disk, mut progress) = (from.disk.copy(), from.progress.clone());
        disk.fail(fault.0, fault.1);
        let done = run_from(&disk, options, (from.place, from.model.clone()), &mut progress, |_, _, _| ());
        (disk, progress, done)
    };
    for from in &beginnings {
        let (disk, progress, done) = resume(from, (u64::MAX, Fault::PowerCut));
        assert_eq!((done, progress.synced), (Ok(()), uncut.synced));
        let is_same = disk.operations() == whole.operations() && disk.content() == whole.content();
        assert!(is_same, "a run from step {} on ends otherwise", from.place);
    }
    let mut cuts = 0;
    for cut in 0..whole.operations() {
        let from = beginnings.iter().rfind(|from| from.disk.operations() <= cut).unwrap_or(&beginnings[0]);
        let (broken, progress, done) = resume(from, (cut, Fault::PowerCut));
        assert!(done.is_err() || cut + 100 > whole.operations(), "an error is told: {cut}");
        for survival in [Survival::Nothing, Survival::Everything, Survival::Some(cut), Survival::Some(!cut)] {
            let disk = broken.copy();
            disk.restart(survival);
            let what = format!("{sync:?}, cut at {cut}, {survival:?}");
            look(&disk, options, &states, &progress, &what, cut * 7 % 40);
            cuts += 1;
        }
    }
    println!("{sync:?}: {cuts} power cuts at {} operations", whole.operations());
    for (part, least) in PARTS {
        let (operations, times) = uncut.parts.get(part).copied().unwrap_or_default();
        println!("  {part:<30} {times:>4} times, cut at {operations:>5} operations");
        assert!(operations >= least, "{part} is cut at {operations} operations, {least} wanted");
    }
    assert!(cuts > 5_000, "{cuts}");
}

#[test]
fn no_power_cut_loses_what_was_synced_before_it_was_acknowledged() {
    cut_everywhere(SyncMode::Always);
}

#[test]
fn no_power_cut_loses_what_was_synced_on_call() {
    cut_everywhere(SyncMode::OnCall);
}
