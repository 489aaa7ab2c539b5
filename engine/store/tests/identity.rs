//! The identity of a store's directory: a store takes, writes and removes only files of its own.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "helpers of tests; clippy exempts only the tests themselves"
)]

use plumbkv::{Database, Direction, Error, Options};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

const KEYS: u32 = 3_000;

fn open(path: &Path) -> Result<Database, Error> {
    Database::open(Options::durable(path).memory_budget(1 << 20))
}

fn fill(db: &Database, value: u8) {
    for number in 0..KEYS {
        db.set(format!("key:{number:06}").as_bytes(), &[value; 400]).unwrap();
    }
}

/// Whether every key has the value.
fn check(db: &Database, value: u8) {
    for number in 0..KEYS {
        let found = db.get(format!("key:{number:06}").as_bytes()).unwrap();
        assert_eq!(found.as_deref(), Some(&[value; 400][..]), "key {number}");
    }
}

/// The files of a directory and their bytes.
fn files(path: &Path) -> BTreeMap<String, Vec<u8>> {
    fs::read_dir(path)
        .unwrap()
        .map(|entry| entry.unwrap())
        .map(|entry| (entry.file_name().into_string().unwrap(), fs::read(entry.path()).unwrap()))
        .collect()
}

/// A store with its tables, a checkpoint of it if requested, and readers that pin tables that are
/// superseded afterwards. The database is closed.
fn outlived(path: &Path, checkpoint: Option<&Path>) -> (plumbkv::Snapshot, plumbkv::Range) {
    let db = open(path).unwrap();
    fill(&db, 1);
    db.flush().unwrap();
    if let Some(checkpoint) = checkpoint {
        db.checkpoint(checkpoint).unwrap();
    }
    let snapshot = db.snapshot().unwrap();
    let mut range = db.snapshot().unwrap().range(.., Direction::Forward);
    range.next().unwrap().unwrap();
    fill(&db, 2);
    db.compact().unwrap();
    db.close().unwrap();
    (snapshot, range)
}

#[test]
fn a_snapshot_that_outlives_its_database_removes_nothing_of_a_restored_store() {
    let folder = tempfile::tempdir().unwrap();
    let (path, copy) = (folder.path().join("store"), folder.path().join("copy"));
    let (snapshot, range) = outlived(&path, Some(&copy));
    fs::remove_dir_all(&path).unwrap();
    fs::rename(&copy, &path).unwrap();
    let restored = open(&path).unwrap();
    let before = files(&path).into_keys().filter(|name| name.ends_with(".table")).count();
    assert!(before > 1, "{before}");
    drop((snapshot, range));
    let after = files(&path).into_keys().filter(|name| name.ends_with(".table")).count();
    assert_eq!(after, before);
    check(&restored, 1);
    restored.close().unwrap();
    check(&open(&path).unwrap(), 1);
}

#[test]
fn a_snapshot_that_outlives_its_database_removes_nothing_of_a_new_store() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store");
    let (snapshot, range) = outlived(&path, None);
    fs::remove_dir_all(&path).unwrap();
    let new = open(&path).unwrap();
    fill(&new, 3);
    new.compact().unwrap();
    let before = files(&path).into_keys().filter(|name| name.ends_with(".table")).count();
    drop((snapshot, range));
    let after = files(&path).into_keys().filter(|name| name.ends_with(".table")).count();
    assert_eq!(after, before);
    new.close().unwrap();
    check(&open(&path).unwrap(), 3);
}

#[test]
fn a_snapshot_that_outlives_its_database_reads_on_and_its_files_go_with_the_next_opening() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store");
    let (snapshot, _) = outlived(&path, None);
    assert_eq!(snapshot.get(b"key:000000").unwrap().as_deref(), Some(&[1; 400][..]));
    drop(snapshot);
    let left = files(&path).into_keys().filter(|name| name.ends_with(".table")).count();
    let db = open(&path).unwrap();
    let after = files(&path).into_keys().filter(|name| name.ends_with(".table")).count();
    assert!(after < left, "{after} of {left}");
    check(&db, 2);
}

#[test]
fn a_snapshot_of_an_open_database_removes_its_files_once_it_is_dropped() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store");
    let db = open(&path).unwrap();
    fill(&db, 1);
    db.flush().unwrap();
    let snapshot = db.snapshot().unwrap();
    fill(&db, 2);
    db.compact().unwrap();
    let held = files(&path).into_keys().filter(|name| name.ends_with(".table")).count();
    drop(snapshot);
    let left = files(&path).into_keys().filter(|name| name.ends_with(".table")).count();
    assert!(left < held, "{left} of {held}");
}

#[test]
fn a_directory_with_files_of_somebody_else_is_refused_and_stays_as_it_was() {
    for (name, bytes) in [
        ("20251124.log", &b"2025-11-24 08:00:00 started\n"[..]),
        ("20251124.log", b""),
        ("000001.log", b"not a log"),
        ("000001.log", b""),
        ("000007.spare", b"a wheel"),
        ("000001.table", b"oak"),
        ("MANIFEST-000002", b"of cargo"),
    ] {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join(name), bytes).unwrap();
        fs::write(folder.path().join("notes.txt"), b"mine").unwrap();
        let before = files(folder.path());
        for _ in 0..2 {
            let error = open(folder.path()).err().unwrap_or_else(|| panic!("{name} was taken"));
            assert!(error.to_string().contains(name), "{error}");
            assert_eq!(files(folder.path()), before, "{name}");
        }
        Database::repair(folder.path(), folder.path().join("aside"), |_, _| ()).unwrap_err();
        assert_eq!(files(folder.path()), before, "{name}, repair");
        fs::remove_file(folder.path().join(name)).unwrap();
        open(folder.path()).unwrap_or_else(|error| panic!("without {name}: {error}"));
        assert!(folder.path().join("notes.txt").exists());
    }
}

#[test]
fn files_whose_names_a_store_never_gives_stay_and_no_number_overflows() {
    const NAMES: [&str; 11] = [
        "1.log",
        "7.spare",
        "0000001.log",
        "+00001.log",
        "MANIFEST-7",
        "MANIFEST-+00007",
        "12345.table",
        "18446744073709551615.log",
        "18446744073709551614.table",
        "MANIFEST-18446744073709551615",
        "9223372036854775808.spare",
    ];
    for is_new in [true, false] {
        let folder = tempfile::tempdir().unwrap();
        if !is_new {
            let db = open(folder.path()).unwrap();
            fill(&db, 1);
            db.close().unwrap();
        }
        NAMES.iter().for_each(|name| fs::write(folder.path().join(name), name).unwrap());
        for value in 1..3 {
            let db = open(folder.path()).unwrap();
            if value == 2 || !is_new {
                check(&db, 1);
            }
            fill(&db, 1);
            db.compact().unwrap();
            db.close().unwrap();
        }
        let left = files(folder.path());
        NAMES.iter().for_each(|name| assert_eq!(left.get(*name).unwrap(), name.as_bytes(), "{name}"));
        Database::repair(folder.path(), folder.path().join("aside"), |_, _| ()).unwrap();
    }
}

#[test]
fn a_store_whose_current_is_missing_is_refused_and_stays_as_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let db = open(folder.path()).unwrap();
    db.set(b"a", b"1").unwrap();
    drop(db);
    fs::rename(folder.path().join("CURRENT"), folder.path().join("kept")).unwrap();
    let before = files(folder.path());
    assert!(!before.keys().any(|name| name.ends_with(".table")), "{:?}", before.keys());
    let error = open(folder.path()).err().unwrap();
    assert!(error.to_string().contains("CURRENT"), "{error}");
    assert_eq!(files(folder.path()), before);
    fs::rename(folder.path().join("kept"), folder.path().join("CURRENT")).unwrap();
    assert_eq!(open(folder.path()).unwrap().get(b"a").unwrap().as_deref(), Some(&b"1"[..]));
}

#[test]
fn missing_parents_are_created_and_a_dangling_link_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a/b/c/store");
    let db = open(&path).unwrap();
    fill(&db, 1);
    db.checkpoint(folder.path().join("d/e/copy")).unwrap();
    drop(db);
    check(&open(&path).unwrap(), 1);
    check(&open(&folder.path().join("d/e/copy")).unwrap(), 1);

    let link = folder.path().join("link");
    std::os::unix::fs::symlink(folder.path().join("nowhere"), &link).unwrap();
    let error = open(&link).err().unwrap().to_string();
    assert!(error.contains("symbolic link"), "{error}");
    fs::create_dir(folder.path().join("nowhere")).unwrap();
    open(&link).unwrap();

    fs::write(folder.path().join("file"), b"mine").unwrap();
    let error = open(&folder.path().join("file")).err().unwrap().to_string();
    assert!(error.contains("not a directory"), "{error}");
    assert!(open(&folder.path().join("file/store")).is_err());
}

#[test]
fn a_store_that_is_open_stays_locked_when_its_lock_file_is_removed() {
    let folder = tempfile::tempdir().unwrap();
    let db = open(folder.path()).unwrap();
    fs::remove_file(folder.path().join("LOCK")).unwrap();
    for _ in 0..2 {
        assert!(matches!(open(folder.path()), Err(Error::InUse { .. })));
        assert!(matches!(
            Database::repair(folder.path(), folder.path().join("aside"), |_, _| ()),
            Err(Error::InUse { .. })
        ));
    }
    db.close().unwrap();
    open(folder.path()).unwrap();
}

/// Tables have the same numbers in the other store, and their blocks would pass for its own.
#[test]
fn a_snapshot_that_outlives_its_database_reads_no_file_of_another_store() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store");
    let open = || Database::open(Options::durable(&path).memory_budget(1 << 20).max_open_files(1)).unwrap();
    let load = |value: u8| {
        let db = open();
        for number in 0..20 * KEYS {
            db.set(format!("key:{number:06}").as_bytes(), &[value; 400]).unwrap();
            if number % KEYS == 0 {
                db.flush().unwrap();
            }
        }
        db.flush().unwrap();
        db
    };
    let db = load(1);
    let snapshot = db.snapshot().unwrap();
    assert!(db.storage_stats().unwrap().tables() > 3);
    db.close().unwrap();
    fs::rename(&path, folder.path().join("moved")).unwrap();
    let other = load(3);
    let (mut right, mut refused) = (0, 0);
    for number in 0..20 * KEYS {
        match snapshot.get(format!("key:{number:06}").as_bytes()) {
            Ok(found) => {
                assert_eq!(found.as_deref(), Some(&[1; 400][..]), "key {number}");
                right += 1;
            }
            Err(Error::Io { message, .. }) => {
                assert!(message.contains("its database was closed"), "{message}");
                refused += 1;
            }
            Err(error) => panic!("{error}"),
        }
    }
    assert!(refused > 0 && right + refused == 20 * KEYS, "{right} right, {refused} refused");
    drop(snapshot);
    other.verify(|_| ()).unwrap();
}

#[test]
fn a_store_whose_directory_is_moved_goes_on_to_read_its_own_files() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store");
    let db = Database::open(Options::durable(&path).memory_budget(1 << 20).max_open_files(1)).unwrap();
    fill(&db, 1);
    db.flush().unwrap();
    fill(&db, 2);
    db.compact().unwrap();
    fs::rename(&path, folder.path().join("moved")).unwrap();
    check(&db, 2);
    assert!(db.storage_stats().unwrap().file_opens > 1);
}
