//! What is there after a call of the system failed, at every single one of the workload?
//!
//! The workload goes on after the error. A write that failed in the log may be there or not after the next
//! open, and writes are refused with the same error: until the store is opened again, or, where there was
//! no room, until it has recovered by itself; what was refused is gone for good then. Readers never see
//! anything that was not written, and everything that was acknowledged is there.

use super::script_test::{COPY, Step, change, open, open_at, options, read, script};
use super::tree_test::Model;
use super::{SyncMode, Tree, TreeOptions};
use crate::error::Error;
use crate::lsm::vfs::{Fault, SimDisk};
use std::io::ErrorKind;
use std::ops::ControlFlow;
use std::path::Path;

/// The store under the workload, and what it should hold.
struct Run<'a> {
    disk: &'a SimDisk,
    options: TreeOptions,
    what: &'a str,
    /// What was acknowledged.
    model: Model,
    /// The same and the first change that failed since the store was opened: it may have happened.
    perhaps: Option<Model>,
    /// Why writes are refused.
    refusal: Option<Error>,
    changes: usize,
    errors: Vec<Error>,
    /// Times that writes were taken again without opening the store.
    resumed: usize,
}

impl Run<'_> {
    /// A failure that may come up once; then the disk is as it should be.
    fn open(&mut self) -> Tree {
        let tree = open(self.disk, self.options).or_else(|error| {
            self.errors.push(error);
            open(self.disk, self.options)
        });
        let tree = tree.unwrap_or_else(|error| panic!("{}: {error}", self.what));
        self.refusal = None;
        let found = read(&tree).or_else(|error| {
            self.errors.push(error);
            read(&tree)
        });
        let found = found.unwrap_or_else(|error| panic!("{}: {error}", self.what));
        let is_right = found == self.model || self.perhaps.as_ref() == Some(&found);
        let number = |model: &Model| model.get(&b"number"[..]).and_then(|number| number.last().copied());
        assert!(
            is_right,
            "{}: change {:?} is the last that is there, of {:?} acknowledged; {:?}",
            self.what,
            number(&found),
            number(&self.model),
            self.errors
        );
        (self.model, self.perhaps) = (found, None);
        tree
    }

    fn change(&mut self, tree: &Tree, step: Step) {
        self.changes += 1;
        let mut after = self.model.clone();
        let done = change(step, self.changes, &mut after).carry_out(tree);
        match (done, &self.refusal) {
            (Ok(()), None) => self.model = after,
            (Ok(()), Some(refusal)) => {
                let is_passing = matches!(refusal, Error::Io { kind: ErrorKind::StorageFull, .. });
                assert!(is_passing, "{}: a write was taken after {refusal}", self.what);
                // There is room again, and what was refused is gone for good.
                (self.model, self.refusal, self.perhaps) = (after, None, None);
                self.resumed += 1;
            }
            // What fails before a log or the manifest may know of it has not happened, and is no reason to refuse writes.
            (Err(error), None) if tree.failure().is_none() => {
                self.errors.push(error);
                self.read(tree);
            }
            (Err(error), None) => {
                // Only a write that says so may be there after the next opening.
                self.perhaps = error.is_in_doubt().then_some(after);
                self.refusal = Some(error.of_later_calls());
                self.errors.push(error);
            }
            (Err(error), Some(refusal)) => {
                assert_eq!(&error, refusal, "{}: the first error is the one that is told", self.what);
            }
        }
    }

    /// Something that changes only how things are kept.
    fn keep(&mut self, done: Result<(), Error>) -> bool {
        let is_done = done.is_ok();
        self.errors.extend(done.err());
        is_done
    }

    fn read(&mut self, tree: &Tree) {
        match read(tree) {
            Ok(found) => assert!(found == self.model, "{}: a reader sees something else", self.what),
            Err(error) => self.errors.push(error),
        }
    }

    /// The whole workload. The error that writes are refused with may come from a sync that failed before them.
    fn run(&mut self) {
        let mut tree = self.open();
        for step in script() {
            match step {
                Step::Write | Step::WriteLong | Step::Ingest | Step::IngestAside | Step::Clear => {
                    self.change(&tree, step);
                }
                Step::Read => self.read(&tree),
                Step::Sync => {
                    let done = tree.sync();
                    if let (Err(error), None) = (&done, &self.refusal)
                        && tree.failure().is_some()
                    {
                        self.refusal = Some(error.clone());
                    }
                    self.keep(done);
                }
                Step::Flush => drop(self.keep(tree.flush())),
                Step::Settle => drop(self.keep(tree.settle())),
                Step::MergeAll => {
                    let done = tree.merge_all(|_| ControlFlow::Continue(()));
                    self.keep(done.map(|is_whole| assert!(is_whole)));
                }
                Step::Checkpoint => self.checkpoint(&tree),
                Step::Close => {
                    let done = tree.close();
                    self.keep(done);
                    tree = self.open();
                }
                Step::Drop => {
                    drop(tree);
                    tree = self.open();
                }
            }
            if !self.errors.is_empty() && (!step.is_change() || self.changes.is_multiple_of(8)) {
                self.read(&tree);
            }
        }
        drop(tree);
        self.disk.fail(u64::MAX, Fault::Short);
        drop(self.open());
    }

    fn checkpoint(&mut self, tree: &Tree) {
        if !self.keep(tree.checkpoint(Path::new(COPY))) {
            return;
        }
        let copy = open_at(self.disk, COPY, self.options).and_then(|tree| read(&tree));
        match copy {
            Ok(found) => assert!(found == self.model, "{}: the copy is another", self.what),
            Err(error) => self.errors.push(error),
        }
    }
}

fn fail_everywhere(sync: SyncMode) {
    let mut faults = 0;
    for fault in [Fault::Error(ErrorKind::Other), Fault::Error(ErrorKind::StorageFull), Fault::Short] {
        let run = |at: u64, what: &str| {
            let disk = SimDisk::new();
            disk.fail(at, fault);
            let mut run = Run {
                disk: &disk,
                options: options(sync),
                what,
                model: Model::new(),
                perhaps: None,
                refusal: None,
                changes: 0,
                errors: Vec::new(),
                resumed: 0,
            };
            run.run();
            (disk.operations(), run.errors, run.resumed)
        };
        let (operations, errors, _) = run(u64::MAX, "no fault");
        assert_eq!(errors, []);
        let (mut told, mut resumed) = (0, 0);
        for at in 0..operations {
            let what = format!("{sync:?}, {fault:?} at {at}");
            let (_, errors, times) = run(at, &what);
            resumed += times;
            if let Fault::Error(expected) = fault {
                let first = errors.first();
                let is_ours =
                    first.is_none_or(|error| matches!(error, Error::Io { kind, .. } if *kind == expected));
                assert!(is_ours, "{what}: {first:?}");
                told += u64::from(first.is_some());
            } else {
                assert_eq!(errors, [], "{what}: a short write is continued");
            }
            faults += 1;
        }
        println!(
            "{sync:?}, {fault:?}: {operations} calls failed, {told} of them were told, {resumed} resumed"
        );
        let is_full = fault == Fault::Error(ErrorKind::StorageFull);
        assert!(is_full == (resumed > 0) && (!is_full || resumed > 50), "{resumed} resumed");
        // Those that are not: files that could not be removed, and are when the store is opened.
        assert!(fault == Fault::Short || told > operations * 4 / 5, "{told} of {operations}");
    }
    assert!(faults > 4_000, "{faults}");
}

#[test]
fn no_failure_loses_what_was_acknowledged_where_every_write_is_synced() {
    fail_everywhere(SyncMode::Always);
}

#[test]
fn no_failure_loses_what_was_acknowledged_where_syncs_are_asked_for() {
    fail_everywhere(SyncMode::OnCall);
}
