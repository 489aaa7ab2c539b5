//! File descriptors of a durable store: a child process with `RLIMIT_NOFILE` of 64 loads, reads, walks,
//! copies, checks and reopens a store of hundreds of tables.

#![cfg(target_os = "linux")]
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "helpers of tests; clippy exempts only the tests themselves"
)]

use plumbkv::{Database, Direction, Error, Options, Profile};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::fs::File;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

/// Set for the child.
const CHILD: &str = "PLUMBKV_DESCRIPTORS_CHILD";
const LIMIT: u64 = 64;
const KEYS: u32 = 20_000;
const VALUE: usize = 10_000;

fn options(path: &Path) -> Options {
    Options::durable(path).profile(Profile::LowMemory).memory_budget(1 << 20)
}

/// In no order: what is written in order is never merged.
fn key(number: u32) -> [u8; 4] {
    number.wrapping_mul(0x9e37_79b1).to_be_bytes()
}

fn value(number: u32) -> Vec<u8> {
    let mut random = fastrand::Rng::with_seed(number.into());
    (0..VALUE).map(|_| random.u8(..)).collect()
}

fn open_descriptors() -> usize {
    std::fs::read_dir("/proc/self/fd").unwrap().count()
}

/// Runs a test of this file again in a child process, with little to open. True in the child.
fn is_child(test: &str) -> bool {
    if std::env::var_os(CHILD).is_some() {
        let limit = getrlimit(Resource::Nofile);
        setrlimit(Resource::Nofile, Rlimit { current: Some(LIMIT), ..limit }).unwrap();
        return true;
    }
    let child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", test, "--nocapture", "--test-threads=1"])
        .env(CHILD, "1")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&child.stdout).into_owned() + &String::from_utf8_lossy(&child.stderr);
    assert!(child.status.success() && said.contains("1 passed"), "{said}");
    false
}

fn all_is_there(db: &Database) {
    for number in (0..KEYS).step_by(37) {
        assert_eq!(db.get(&key(number)).unwrap().as_deref(), Some(&value(number)[..]), "key {number}");
    }
    for direction in [Direction::Forward, Direction::Backward] {
        let mut range = db.snapshot().unwrap().range(.., direction);
        let mut found = 0;
        while let Some((key, value)) = range.next_pair().unwrap() {
            assert!(key.len() == 4 && value.len() == VALUE);
            found += 1;
        }
        assert_eq!(found, KEYS);
    }
}

#[test]
fn hundreds_of_tables_need_few_descriptors() {
    if !is_child("hundreds_of_tables_need_few_descriptors") {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("store");
    let db = Database::open(options(&path)).unwrap();
    for number in 0..KEYS {
        db.set(&key(number), &value(number)).unwrap();
    }
    // Its tables are held while they are merged away.
    let snapshot = db.snapshot().unwrap();
    for number in (0..KEYS).step_by(3) {
        db.set(&key(number), &value(number)).unwrap();
    }
    db.settle().unwrap();
    let tables = db.storage_stats().unwrap().tables();
    assert!(tables > LIMIT as usize, "{tables} tables");
    for number in (0..KEYS).step_by(101) {
        assert_eq!(snapshot.get(&key(number)).unwrap().as_deref(), Some(&value(number)[..]));
    }
    drop(snapshot);
    all_is_there(&db);
    let copy = directory.path().join("copy");
    db.checkpoint(&copy).unwrap();
    assert_eq!(db.verify(|_| ()).unwrap(), db.storage_stats().unwrap().versions);
    println!("{tables} tables, {} of {LIMIT} descriptors", open_descriptors());
    assert!(open_descriptors() < LIMIT as usize - 8);
    db.close().unwrap();
    for path in [&path, &copy] {
        let db = Database::open(options(path)).unwrap();
        all_is_there(&db);
        db.compact().unwrap();
        assert!(db.storage_stats().unwrap().open_files <= LIMIT as usize / 2);
        all_is_there(&db);
    }
}

/// The rest of the program may leave no descriptor at all: what needs one closes a table's.
#[test]
fn a_store_gives_up_its_own_descriptors_before_it_fails() {
    if !is_child("a_store_gives_up_its_own_descriptors_before_it_fails") {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let db = Database::open(options(&directory.path().join("store"))).unwrap();
    for number in 0..KEYS / 4 {
        db.set(&key(number), &value(number)).unwrap();
    }
    db.settle().unwrap();
    assert!(db.storage_stats().unwrap().open_files > 8);
    let mut others = Vec::new();
    while let Ok(file) = File::open("/dev/null") {
        others.push(file);
    }
    for number in KEYS / 4..KEYS / 2 {
        db.set(&key(number), &value(number)).unwrap();
        // As a leak would.
        others.extend(File::open("/dev/null").ok().filter(|_| number % 500 == 0));
    }
    db.flush().unwrap();
    for number in (0..KEYS / 2).step_by(11) {
        assert_eq!(db.get(&key(number)).unwrap().as_deref(), Some(&value(number)[..]));
    }
    // With no merge beside it, a read takes the place of another table.
    others.truncate(others.len().saturating_sub(8));
    db.settle().unwrap();
    for number in (0..KEYS / 2).step_by(7) {
        while let Ok(file) = File::open("/dev/null") {
            others.push(file);
        }
        assert!(db.get(&key(number)).unwrap().is_some());
    }
    drop(others);
    for number in (0..KEYS / 2).step_by(11) {
        assert_eq!(db.get(&key(number)).unwrap().as_deref(), Some(&value(number)[..]));
    }
    assert_eq!(db.storage_stats().unwrap().failure, None);
    db.set(b"still", b"here").unwrap();
    let path: PathBuf = directory.path().join("copy");
    db.checkpoint(&path).unwrap();
    db.close().unwrap();
}

/// Without a table there is nothing to close: writes are refused for as long as that is so.
#[test]
fn a_store_without_any_descriptor_left_takes_writes_again_when_there_are_some() {
    if !is_child("a_store_without_any_descriptor_left_takes_writes_again_when_there_are_some") {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("store");
    let db = Database::open(options(&path)).unwrap();
    let mut others = Vec::new();
    while let Ok(file) = File::open("/dev/null") {
        others.push(file);
    }
    let refused =
        (0..KEYS).find_map(|number| db.set(&key(number), &value(number)).err().map(|error| (number, error)));
    let (number, error) = refused.unwrap();
    assert!(matches!(error, Error::Io { kind: ErrorKind::QuotaExceeded, .. }), "{error:?}");
    assert!(error.to_string().contains("Too many open files"), "{error}");
    let is_there = |db: &Database| {
        for number in 0..number {
            assert_eq!(db.get(&key(number)).unwrap().as_deref(), Some(&value(number)[..]), "key {number}");
        }
    };
    is_there(&db);
    drop(others);
    let begin = Instant::now();
    while let Err(error) = db.set(b"again", b"1") {
        assert!(begin.elapsed() < Duration::from_secs(60), "{error}");
        std::thread::yield_now();
    }
    assert_eq!(db.storage_stats().unwrap().failure, None);
    is_there(&db);
    db.close().unwrap();
    let db = Database::open(options(&path)).unwrap();
    is_there(&db);
    assert_eq!(db.get(b"again").unwrap().as_deref(), Some(&b"1"[..]));
}
