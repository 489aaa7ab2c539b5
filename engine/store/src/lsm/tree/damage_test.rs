//! What does a store say when a byte of its files is another one, or a file ends too early? That it is so, with the file, or it holds what it should.
//!
//! Every byte of every file of a small store is flipped, and every file is cut off at every length; of the zeroes at the end of logs that are not written yet,
//! which are thousands of equal bytes, the first and every 16th. A store that was closed never lacks anything silently. Of one
//! that was killed the end of the last log may be missing, for that is what a power cut leaves, too: then what is there is a prefix.

use super::script_test::{DIRECTORY, Step, change, open, options, read};
use super::tree_test::Model;
use super::{SyncMode, Tree};
use crate::error::Error;
use crate::lsm::vfs::SimDisk;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

const SYNC: SyncMode = SyncMode::OnCall;

/// Bytes behind the last one that was written, each of which is damaged.
const SECTOR: usize = 512;

/// How the store ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    Closed,
    Killed,
    /// Killed just after a flush: no log holds anything.
    Flushed,
}

/// A store and what there is to know of it.
struct Store {
    disk: SimDisk,
    end: End,
    /// What it held after each of its writes.
    states: Vec<Model>,
    /// Writes that were in tables, and that were synced, when it ended.
    flushed: usize,
    synced: usize,
    /// The log that was written last.
    last_log: PathBuf,
}

/// A store with tables in several levels and at least two logs.
fn store(end: End) -> Store {
    let disk = SimDisk::new();
    let tree = open(&disk, options(SYNC)).unwrap();
    let mut states = vec![Model::new()];
    let change = |tree: &Tree, step: Step, states: &mut Vec<Model>| {
        let mut model = states[states.len() - 1].clone();
        change(step, states.len(), &mut model).carry_out(tree).unwrap();
        states.push(model);
    };
    let write = |tree: &Tree, writes: usize, states: &mut Vec<Model>| {
        (0..writes).for_each(|_| change(tree, Step::Write, states));
    };
    for (writes, is_settled) in [(8, true), (5, true), (5, false)] {
        write(&tree, writes, &mut states);
        if !is_settled {
            change(&tree, Step::Ingest, &mut states);
        }
        tree.flush().unwrap();
        if is_settled {
            tree.settle().unwrap();
        }
    }
    let flushed = states.len() - 1;
    write(&tree, 3, &mut states);
    tree.sync().unwrap();
    let mut synced = states.len() - 1;
    write(&tree, 9, &mut states);
    if end == End::Flushed {
        tree.flush().unwrap();
    }
    if end != End::Killed {
        synced = states.len() - 1;
    }
    if end == End::Closed {
        tree.close().unwrap()
    } else {
        drop(tree)
    }
    let logs = |path: &&PathBuf| path.extension().is_some_and(|end| end == "log");
    let content = disk.content();
    assert!(end == End::Flushed || content.keys().filter(logs).count() >= 2, "{:?}", content.keys());
    let last_log = content.keys().rfind(logs).unwrap().clone();
    Store { disk, end, states, flushed, synced, last_log }
}

impl Store {
    /// Opens a damaged copy, reads everything, and says what came of it.
    fn look(&self, path: &Path, what: &str, damage: impl FnOnce(&SimDisk)) -> &'static str {
        let disk = self.disk.copy();
        damage(&disk);
        let found = open(&disk, options(SYNC)).and_then(|tree| {
            let found = read(&tree)?;
            tree.verify(|_| ())?;
            Ok(found)
        });
        match found {
            Ok(found) if found == self.states[self.states.len() - 1] => "nothing is missing",
            Ok(found) => {
                let is_log = path.extension().is_some_and(|end| end == "log");
                // A log that was cut off may lack what had been synced, where nothing behind it tells of that.
                let is_cut = what.contains("cut off") && path == self.last_log;
                let least = if is_cut { self.flushed } else { self.synced };
                let number = (0..self.states.len()).find(|number| self.states[*number] == found);
                let is_prefix = number.is_some_and(|number| number >= least);
                let is_fine = self.end == End::Killed && is_log && is_prefix;
                assert!(is_fine, "{what}: served after {number:?} writes, {least} had to be there");
                "an end of the log is missing"
            }
            Err(Error::Corrupt { path, offset, reason }) => {
                assert!(
                    path.starts_with(DIRECTORY) && !reason.is_empty(),
                    "{what}: {path}, {offset}: {reason}"
                );
                "told"
            }
            Err(Error::Io { path, kind: std::io::ErrorKind::NotFound, .. }) => {
                assert!(path.starts_with(DIRECTORY), "{what}: {path}");
                "told that a file is missing"
            }
            Err(error) => panic!("{what}: {error}"),
        }
    }

    fn check(&self) {
        let (mut outcomes, mut bytes) = (BTreeMap::new(), 0);
        for (path, content) in self.disk.content() {
            let name = path.file_name().unwrap().to_str().unwrap();
            let kind = name.split(['.', '-']).next_back().unwrap_or(name);
            let kind = if kind.parse::<u64>().is_ok() { "MANIFEST" } else { kind };
            let used = content.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
            for at in (0..content.len()).filter(|at| *at < used + SECTOR || at.is_multiple_of(16)) {
                let what = format!("{:?}: byte {at} of {} of {name} flipped", self.end, content.len());
                let outcome = self.look(&path, &what, |disk| disk.flip(&path, at, 1 << (at % 8)));
                *outcomes.entry((kind.to_owned(), "flipped", outcome)).or_insert(0) += 1;
                let what = format!("{:?}: {name} of {} cut off at {at}", self.end, content.len());
                let outcome = self.look(&path, &what, |disk| disk.truncate(&path, at));
                *outcomes.entry((kind.to_owned(), "cut off", outcome)).or_insert(0) += 1;
                bytes += 1;
            }
        }
        println!("{:?}: {bytes} bytes flipped, and as many lengths", self.end);
        for ((kind, damage, outcome), count) in outcomes {
            println!("  {kind:<10} {damage:<8} {count:>5} times: {outcome}");
        }
        assert!(bytes > 2_000, "{bytes}");
    }
}

#[test]
fn a_closed_store_never_serves_what_is_wrong() {
    store(End::Closed).check();
}

#[test]
fn a_store_that_was_killed_after_a_flush_lacks_nothing_either() {
    store(End::Flushed).check();
}

#[test]
fn a_killed_store_serves_what_is_right_or_a_prefix() {
    store(End::Killed).check();
}
