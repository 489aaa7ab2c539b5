//! What is there when the power goes while a store is repaired? What is damaged, under one name at least; and a store that a second repair makes whole.

use super::repair::repair;
use super::tree_test::{DIRECTORY, Model, content, open, small};
use super::{Batch, SyncMode, TreeOptions};
use crate::error::{Error, Result};
use crate::lsm::vfs::{Fault, SimDisk, Survival, Vfs};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Writes in the log, one batch each.
const LOGGED: u8 = 20;

/// A store of three tables and a log, with one of the tables and the log damaged; and the damaged files.
fn damaged() -> (SimDisk, Vec<(PathBuf, Vec<u8>)>) {
    let disk = SimDisk::new();
    let tree = open(&disk, small(SyncMode::Always)).unwrap();
    let set = |key: [u8; 2]| {
        let mut batch = Batch::default();
        batch.set(&key, &[key[0]; 40]);
        tree.write(&batch).unwrap();
    };
    for table in 0..3 {
        (0..10).for_each(|number| set([table, number]));
        tree.flush().unwrap();
    }
    (0..LOGGED).for_each(|number| set([9, number]));
    drop(tree);
    let files = disk.content();
    let of = |end: &str| -> Vec<PathBuf> {
        files.keys().filter(|path| path.extension().is_some_and(|kind| kind == end)).cloned().collect()
    };
    let damaged = [of("table")[1].clone(), of("log").pop().unwrap()];
    for path in &damaged {
        // A log is filled with zeros behind its records.
        let held = files[path].iter().rposition(|byte| *byte != 0).unwrap();
        disk.flip(path, held / 2, 0x55);
    }
    let files = disk.content();
    (disk, damaged.into_iter().map(|path| (path.clone(), files[&path].clone())).collect())
}

/// Two tables, and the log up to the damage.
fn look(found: &Model, what: &str) {
    for table in [0, 2] {
        assert!((0..10).all(|number| found.contains_key(&[table, number][..])), "{what}");
    }
    assert!(!found.contains_key(&[1, 0][..]), "{what}");
    let logged = found.keys().filter(|key| key[0] == 9).count() as u8;
    assert!((5..LOGGED - 5).contains(&logged), "{what}: {logged}");
    assert!((0..logged).all(|number| found.contains_key(&[9, number][..])), "{what}");
}

fn mend(disk: &SimDisk, aside: &str) -> Result<usize> {
    let aside = Path::new(DIRECTORY).join(aside);
    repair(Arc::new(disk.clone()), Path::new(DIRECTORY), &aside, |_, _| {}).map(|laid| laid.len())
}

#[test]
fn a_power_cut_at_every_operation_of_a_repair_loses_no_file() {
    let (whole, _) = damaged();
    let before = whole.operations();
    assert_eq!(mend(&whole, "aside"), Ok(2));
    let after = whole.operations();
    look(&content(&open(&whole, small(SyncMode::Always)).unwrap()).unwrap(), "whole");
    assert!(after - before > 10, "{before} {after}");
    for cut in before..after {
        for survival in [Survival::Nothing, Survival::Everything, Survival::Some(cut)] {
            let what = format!("cut at {cut}, {survival:?}");
            let (disk, files) = damaged();
            disk.fail(cut, Fault::PowerCut);
            let _ = mend(&disk, "aside");
            disk.restart(survival);
            // Whoever opens it meanwhile may remove what the manifest does not name.
            let _ = open(&disk, small(SyncMode::Always)).map(drop);
            mend(&disk, "again").unwrap_or_else(|error| panic!("{what}: {error}"));
            let left = disk.content();
            for (path, bytes) in &files {
                let is_kept = |(other, kept): (&PathBuf, &Vec<u8>)| {
                    other.file_name() == path.file_name() && kept == bytes
                };
                assert!(left.iter().any(is_kept), "{what}: {} is gone", path.display());
            }
            let tree = open(&disk, small(SyncMode::Always)).unwrap_or_else(|error| panic!("{what}: {error}"));
            look(&content(&tree).unwrap_or_else(|error| panic!("{what}: {error}")), &what);
        }
    }
}

/// Writes in several logs, of a store that was closed or killed.
fn logged(is_closed: bool) -> SimDisk {
    let disk = SimDisk::new();
    let options = TreeOptions { frozen_memtables: 8, ..small(SyncMode::OnCall) };
    let tree = open(&disk, options).unwrap();
    for number in 0..90 {
        let mut batch = Batch::default();
        batch.set(&[9, number], &[number; 60]);
        tree.write(&batch).unwrap();
        if number % 8 == 7 {
            tree.sync().unwrap();
        }
    }
    if is_closed {
        tree.close().unwrap()
    } else {
        drop(tree)
    }
    disk
}

/// Whatever of the logs is missing: what no longer opens is repaired to a prefix, and opens.
#[test]
fn logs_that_end_too_early_or_are_missing_are_repaired() {
    let mut reasons = std::collections::BTreeMap::new();
    for is_closed in [false, true] {
        let whole = logged(is_closed);
        let files = whole.content();
        let logs: Vec<_> =
            files.iter().filter(|(path, _)| path.extension().is_some_and(|kind| kind == "log")).collect();
        assert!(logs.len() > 2, "{}", logs.len());
        for (path, bytes) in logs {
            let used = bytes.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
            let damages = (0..=used).step_by(40).map(Some).chain([None]);
            for damage in damages {
                let (disk, what) =
                    (whole.copy(), format!("closed {is_closed}, {}: {damage:?}", path.display()));
                match damage {
                    Some(len) => disk.truncate(path, len),
                    None => disk.remove(path).unwrap(),
                }
                let opened = open(&disk.copy(), small(SyncMode::OnCall)).map(drop);
                let laid = mend(&disk, "aside").unwrap_or_else(|error| panic!("{what}: {error}"));
                assert_eq!(laid > 0, opened.is_err(), "{what}: {laid} files laid aside, and {opened:?}");
                if let Err(Error::Corrupt { reason, .. }) = opened {
                    *reasons.entry(reason).or_insert(0) += 1;
                }
                let tree =
                    open(&disk, small(SyncMode::OnCall)).unwrap_or_else(|error| panic!("{what}: {error}"));
                let found = content(&tree).unwrap();
                let count = found.len() as u8;
                assert!((0..count).all(|number| found.contains_key(&[9, number][..])), "{what}: no prefix");
            }
        }
    }
    // A gap that a later log tells of, an end that the manifest tells of, and a log that is not there.
    assert!(reasons.len() >= 3, "{reasons:?}");
}
