//! Does a damaged database open again, with everything but what is damaged? And is what was damaged still to be had?

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "helpers of tests; clippy exempts only the tests themselves"
)]

use plumbkv::{Database, Error, LaidAside, Options, SyncMode};
use std::path::{Path, PathBuf};

fn open(path: &Path) -> plumbkv::Result<Database> {
    open_in(path, SyncMode::Never)
}

fn open_in(path: &Path, sync: SyncMode) -> plumbkv::Result<Database> {
    Database::open(Options::durable(path).memory_budget(1 << 20).sync_mode(sync))
}

fn files(path: &Path, end: &str) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = std::fs::read_dir(path)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == end))
        .collect();
    found.sort();
    found
}

/// Changes a byte in the middle of a file.
fn damage(path: &Path) {
    let mut bytes = std::fs::read(path).unwrap();
    // A log is filled with zeros behind its records.
    let middle = bytes.iter().rposition(|byte| *byte != 0).unwrap() / 2;
    bytes[middle] ^= 0x55;
    std::fs::write(path, bytes).unwrap();
}

fn repair(path: &Path) -> Vec<LaidAside> {
    Database::repair(path, path.join("aside"), |_, _| {}).unwrap()
}

#[test]
fn a_damaged_table_is_laid_aside_and_the_rest_stays() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let db = open(path).unwrap();
    for (round, value) in ["old", "new"].iter().enumerate() {
        for i in 0..500 {
            db.set(format!("key:{i}").as_bytes(), value.as_bytes()).unwrap();
            db.set(format!("{round}:{i}").as_bytes(), value.as_bytes()).unwrap();
        }
        db.flush().unwrap();
    }
    db.close().unwrap();
    let tables = files(path, "table");
    assert_eq!(tables.len(), 2);
    let name = tables[1].file_name().unwrap().to_str().unwrap();
    damage(&tables[1]);
    let damaged = std::fs::read(&tables[1]).unwrap();

    let laid = repair(path);
    assert_eq!(laid.len(), 1);
    assert_eq!((&*laid[0].file, laid[0].versions), (name, Some(1_000)));
    assert!(matches!(&laid[0].reason, Error::Corrupt { .. }), "{:?}", laid[0]);
    assert!(std::fs::read(path.join("aside").join(name)).unwrap() == damaged, "nothing is deleted");
    let db = open(path).unwrap();
    db.verify(|_| {}).unwrap();
    assert_eq!(db.get(b"key:7").unwrap().as_deref(), Some(&b"old"[..]), "what the older table says");
    assert_eq!(db.get(b"0:7").unwrap().as_deref(), Some(&b"old"[..]));
    assert_eq!(db.get(b"1:7").unwrap(), None);
    db.set(b"key:7", b"newer").unwrap();
    db.close().unwrap();
    assert_eq!(open(path).unwrap().get(b"key:7").unwrap().as_deref(), Some(&b"newer"[..]));
}

#[test]
fn tables_that_are_cut_or_missing_are_left_out() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let db = open(path).unwrap();
    for round in 0..3 {
        db.set(format!("round:{round}").as_bytes(), &[7; 9_000]).unwrap();
        db.flush().unwrap();
    }
    db.close().unwrap();
    let tables = files(path, "table");
    std::fs::remove_file(&tables[0]).unwrap();
    std::fs::write(&tables[1], b"short").unwrap();
    assert!(open(path).is_err());
    assert_eq!(repair(path).len(), 2);
    let db = open(path).unwrap();
    let is_there = |round: u32| db.exists(format!("round:{round}").as_bytes()).unwrap();
    assert_eq!([is_there(0), is_there(1), is_there(2)], [false, false, true]);
    assert_eq!(std::fs::read(path.join("aside").join(tables[1].file_name().unwrap())).unwrap(), b"short");
}

#[test]
fn a_damaged_log_keeps_what_stands_before_the_damage() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    // Only what had been synced can be damaged: the rest of a log may be missing after a power cut.
    let db = open_in(path, SyncMode::Always).unwrap();
    for i in 0..200u32 {
        db.set(&i.to_be_bytes(), &[i as u8; 100]).unwrap();
    }
    drop(db);
    let logs = files(path, "log");
    let log = logs.iter().max_by_key(|log| log.metadata().unwrap().len()).unwrap();
    damage(log);
    let damaged = std::fs::read(log).unwrap();
    assert!(matches!(open(path), Err(Error::Corrupt { .. })));
    let laid = repair(path);
    assert!(laid.iter().any(|laid| laid.versions.is_none() && log.ends_with(&laid.file)), "{laid:?}");
    assert!(std::fs::read(path.join("aside").join(log.file_name().unwrap())).unwrap() == damaged);
    let db = open(path).unwrap();
    let there: Vec<bool> = (0..200u32).map(|i| db.exists(&i.to_be_bytes()).unwrap()).collect();
    let count = there.iter().filter(|there| **there).count();
    assert!((80..120).contains(&count) && there[..count].iter().all(|there| *there), "{count}");
}

#[test]
fn what_is_whole_is_left_alone_and_what_is_hopeless_too() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let db = open(path).unwrap();
    db.set(b"a", b"1").unwrap();
    assert!(matches!(Database::repair(path, path.join("aside"), |_, _| {}), Err(Error::InUse { .. })));
    db.close().unwrap();
    let mut read = Vec::new();
    let laid = Database::repair(path, path.join("aside"), |done, of| read.push((done, of))).unwrap();
    assert!(laid.is_empty() && !path.join("aside").exists());
    drop(open(path).unwrap());
    std::fs::write(path.join("CURRENT"), b"nonsense").unwrap();
    assert!(matches!(Database::repair(path, path.join("aside"), |_, _| {}), Err(Error::Corrupt { .. })));
    assert!(!path.join("aside").exists());
}
