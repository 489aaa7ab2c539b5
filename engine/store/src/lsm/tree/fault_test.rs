//! What is there after a call of the system failed, at every single one of the workload?
//!
//! The workload goes on after the error. A write that failed in the log may be there or not after the next
//! open, and writes are refused with the same error: until the store is opened again, or, where there was
//! no room, until it has recovered by itself; what was refused is gone for good then. Readers never see
//! anything that was not written, and everything that was acknowledged is there.
//!
//! A run begins where the store was last opened before the failing call, on a copy of the disk of that moment,
//! and ends one lifetime of the store after the one in which the call failed.

use super::script_test::{COPY, Step, change, open, open_at, options, read, script};
use super::tree_test::Model;
use super::{SyncMode, Tree, TreeOptions};
use crate::error::Error;
use crate::lsm::vfs::{Fault, SimDisk};
use std::io::ErrorKind;
use std::ops::ControlFlow;
use std::path::Path;

/// A moment of the workload at which the store is closed and about to be opened.
struct Beginning {
    disk: SimDisk,
    /// The next step of the script.
    place: usize,
    model: Model,
    changes: usize,
}

/// The store under the workload, and what it should hold.
struct Run<'a> {
    disk: SimDisk,
    /// The call that fails.
    at: u64,
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

impl<'a> Run<'a> {
    /// A run from a beginning on, in which one call fails.
    fn new(from: &Beginning, sync: SyncMode, (at, fault): (u64, Fault), what: &'a str) -> Self {
        let disk = from.disk.copy();
        disk.fail(at, fault);
        Run {
            disk,
            at,
            options: options(sync),
            what,
            model: from.model.clone(),
            perhaps: None,
            refusal: None,
            changes: from.changes,
            errors: Vec::new(),
            resumed: 0,
        }
    }

    /// A failure that may come up once; then the disk is as it should be.
    fn open(&mut self) -> Tree {
        let tree = open(&self.disk, self.options).or_else(|error| {
            self.errors.push(error);
            open(&self.disk, self.options)
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

    /// The workload from a place in the script on, with the moments at which the store is opened again. The error
    /// that writes are refused with may come from a sync that failed before them.
    fn run(&mut self, from: usize) -> Vec<Beginning> {
        let (mut beginnings, mut opened_since) = (Vec::new(), 0);
        let mut tree = self.open();
        for (place, step) in script().into_iter().enumerate().skip(from) {
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
                Step::Close | Step::Drop => {
                    if step == Step::Close {
                        let done = tree.close();
                        self.keep(done);
                    } else {
                        drop(tree);
                    }
                    beginnings.push(self.beginning(place + 1));
                    opened_since += u32::from(self.disk.operations() > self.at);
                    tree = self.open();
                    if opened_since == 2 {
                        break;
                    }
                }
            }
            if !self.errors.is_empty() && (!step.is_change() || self.changes.is_multiple_of(8)) {
                self.read(&tree);
            }
        }
        drop(tree);
        self.disk.fail(u64::MAX, Fault::Short);
        drop(self.open());
        beginnings
    }

    fn beginning(&self, place: usize) -> Beginning {
        Beginning { disk: self.disk.copy(), place, model: self.model.clone(), changes: self.changes }
    }

    fn checkpoint(&mut self, tree: &Tree) {
        if !self.keep(tree.checkpoint(Path::new(COPY))) {
            return;
        }
        let copy = open_at(&self.disk, COPY, self.options).and_then(|tree| read(&tree));
        match copy {
            Ok(found) => assert!(found == self.model, "{}: the copy is another", self.what),
            Err(error) => self.errors.push(error),
        }
    }
}

fn fail_everywhere(sync: SyncMode) {
    let first = Beginning { disk: SimDisk::new(), place: 0, model: Model::new(), changes: 0 };
    let mut faults = 0;
    let mut whole = Run::new(&first, sync, (u64::MAX, Fault::Short), "no fault");
    let later = whole.run(0);
    assert_eq!(whole.errors, []);
    let (operations, content) = (whole.disk.operations(), whole.disk.content());
    let writes = whole.disk.writes();
    assert!(writes.len() > 500, "{}", writes.len());
    let beginnings: Vec<_> = std::iter::once(first).chain(later).collect();
    for from in &beginnings {
        let mut rest = Run::new(from, sync, (u64::MAX, Fault::Short), "no fault");
        rest.run(from.place);
        let is_same = rest.disk.operations() == operations && rest.disk.content() == content;
        assert!(is_same, "a run from step {} on ends otherwise", from.place);
    }
    for fault in [Fault::Error(ErrorKind::Other), Fault::Error(ErrorKind::StorageFull), Fault::Short] {
        let (mut told, mut resumed) = (0, 0);
        // A call that writes nothing cannot be cut short.
        let calls = if fault == Fault::Short { writes.clone() } else { (0..operations).collect() };
        for &at in &calls {
            let what = format!("{sync:?}, {fault:?} at {at}");
            let from = beginnings.iter().rfind(|from| from.disk.operations() <= at).unwrap_or(&beginnings[0]);
            let mut run = Run::new(from, sync, (at, fault), &what);
            run.run(from.place);
            let Run { errors, resumed: times, .. } = run;
            resumed += times;
            if let Fault::Error(expected) = fault {
                let first = errors.first();
                // A sync of a directory does not pass, but says why it failed.
                let words = expected.to_string();
                let is_ours = first.is_none_or(|error| {
                    matches!(error, Error::Io { kind, message, .. } if *kind == expected || *message == words)
                });
                assert!(is_ours, "{what}: {first:?}");
                told += u64::from(first.is_some());
            } else {
                assert_eq!(errors, [], "{what}: a short write is continued");
            }
            faults += 1;
        }
        println!(
            "{sync:?}, {fault:?}: {} calls failed, {told} of them were told, {resumed} resumed",
            calls.len()
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
