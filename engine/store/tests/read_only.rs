//! Read-only databases on a real file system: several beside each other, none beside a writer, and no
//! change of the directory.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "helpers of tests; clippy exempts only the tests themselves"
)]

use plumbkv::{Batch, Database, Error, Expiry, Options, SetOptions};
use std::collections::BTreeMap;
use std::fs;
use std::io::ErrorKind;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

fn options(path: &Path) -> Options {
    Options::durable(path).memory_budget(1 << 20)
}

fn look(directory: &Path) -> BTreeMap<PathBuf, (SystemTime, Vec<u8>)> {
    let files = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    files
        .chain([directory.to_owned()])
        .map(|path| {
            let about = fs::metadata(&path).unwrap();
            let bytes = if about.is_file() { fs::read(&path).unwrap() } else { Vec::new() };
            (path, (about.modified().unwrap(), bytes))
        })
        .collect()
}

/// A store with tables and something in its log.
fn store(path: &Path) {
    let db = Database::open(options(path)).unwrap();
    for number in 0..3_000_u32 {
        db.set(&number.to_be_bytes(), &[7; 100]).unwrap();
    }
    db.flush().unwrap();
    db.set(b"last", b"1").unwrap();
    drop(db);
}

#[test]
fn every_change_is_refused_by_name_and_nothing_is_written() {
    let directory = tempfile::tempdir().unwrap();
    let path = &directory.path().join("store");
    store(path);
    // A directory that this process may only read has none, and gets none.
    fs::remove_file(path.join("LOCK")).unwrap();
    let before = look(path);
    let db = Database::open(options(path).read_only(true)).unwrap();
    let other = Database::open(options(path).read_only(true)).unwrap();
    assert!(matches!(Database::open(options(path)), Err(Error::InUse { .. })));
    let mut batch = Batch::new();
    batch.set(b"a", b"1");
    let (key, absent): (&[u8], &[u8]) = (b"last", b"absent");
    let until = Expiry::At(u64::MAX);
    let refusals: Vec<(&str, Option<Error>)> = vec![
        ("set", db.set(key, b"2").err()),
        ("set_with", db.set_with(key, b"2", SetOptions::new()).err()),
        ("set_many", db.set_many(&[(key, b"2")]).err()),
        ("set_many_if_absent", db.set_many_if_absent(&[(absent, b"2")]).err()),
        ("compare_and_set", db.compare_and_set(key, Some(b"other"), None).err()),
        ("delete", db.delete(absent).err()),
        ("delete_many", db.delete_many(&[absent]).err()),
        ("take", db.take(absent).err()),
        ("append", db.append(key, b"2").err()),
        ("increment", db.increment(key, 1).err()),
        ("persist", db.persist(absent).err()),
        ("get_and_expire", db.get_and_expire(absent, until).err()),
        ("rename", db.rename(absent, key).err()),
        ("write", db.write(&batch).err()),
        ("delete_range", db.delete_range(&b"a"[..]..).err()),
        ("clear", db.clear().err()),
        ("flush", db.flush().err()),
        ("settle", db.settle().err()),
        ("compact", db.compact().err()),
        ("compact_with", db.compact_with(|_| ControlFlow::Continue(())).err()),
        ("checkpoint", db.checkpoint(directory.path().join("copy")).err()),
        ("ingest", db.ingest([(key, b"2")]).err()),
        ("failure", db.storage_stats().unwrap().failure),
    ];
    for (call, error) in refusals {
        assert_eq!(error, Some(Error::ReadOnly), "{call}");
    }
    for db in [db, other] {
        assert_eq!(db.get(key).unwrap().as_deref(), Some(&b"1"[..]));
        assert_eq!(db.storage_stats().unwrap().versions, 3_001);
        assert_eq!(db.verify(|_| ()), Ok(3_000));
        assert_eq!(db.sync(), Ok(()));
        let snapshot = db.snapshot().unwrap();
        db.close().unwrap();
        assert_eq!(snapshot.get(key).unwrap().as_deref(), Some(&b"1"[..]));
    }
    assert!(look(path) == before && !directory.path().join("copy").exists());
    let db = Database::open(options(path)).unwrap();
    assert!(matches!(Database::open(options(path).read_only(true)), Err(Error::InUse { .. })));
    db.set(key, b"2").unwrap();
    drop(db);
    let db = Database::open(options(path).read_only(true)).unwrap();
    assert_eq!(db.get(key).unwrap().as_deref(), Some(&b"2"[..]));
}

#[test]
fn no_store_is_made() {
    let directory = tempfile::tempdir().unwrap();
    for path in [directory.path().to_owned(), directory.path().join("missing/store")] {
        match Database::open(options(&path).read_only(true)) {
            Err(Error::Io { kind: ErrorKind::NotFound, path: named, .. }) => {
                assert_eq!(Path::new(&named), path.join("CURRENT"));
            }
            Err(error) => panic!("{error}"),
            Ok(_) => panic!("it opened"),
        }
    }
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0);
}
