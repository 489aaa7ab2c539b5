//! Does a store that was written by format version 1 still open, with exactly what it held?
//!
//! `fixtures/v1/store` was closed, `fixtures/v1/killed` was not: its last writes are in a log alone. `UPDATE_FIXTURES=1` writes both anew, which only a format that was never
//! released may need. The single kinds of files are read by `src/lsm/fixture_test.rs`.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "helpers of tests; clippy exempts only the tests themselves"
)]

use plumbkv::{
    Batch, Compression, Database, Direction, Expiry, Lifetime, ManualClock, Options, SetOptions, SyncMode,
};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

const NOW_MS: u64 = 1_700_000_000_000;
const UNTIL_MS: u64 = 1_800_000_000_000;

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/v1").join(name)
}

fn open(path: &Path, compression: Compression) -> Database {
    let options = Options::durable(path)
        .memory_budget(1 << 20)
        .sync_mode(SyncMode::Never)
        .compression(compression)
        .clock(Arc::new(ManualClock::new(NOW_MS)));
    Database::open(options).unwrap()
}

/// Three tables on two levels, compressed and not, and a log; says what is there at the end.
fn write(path: &Path) -> Database {
    let db = open(path, Compression::Lz4);
    for number in 0..40_u32 {
        db.set(format!("key:{number:04}").as_bytes(), &[number as u8; 50]).unwrap();
    }
    db.compact().unwrap();
    db.close().unwrap();
    let db = open(path, Compression::None);
    for number in (0..40_u32).step_by(4) {
        db.delete(format!("key:{number:04}").as_bytes()).unwrap();
    }
    let expiring = SetOptions::new().expiry(Expiry::At(UNTIL_MS));
    db.set_with(b"ends", b"in 2027", expiring).unwrap();
    db.flush().unwrap();
    let mut batch = Batch::new();
    batch.set(b"", b"under no key");
    batch.set(&[0, 255, b'\n'], b"");
    batch.delete(b"key:0001");
    db.write(&batch).unwrap();
    db.increment(b"count", 41).unwrap();
    db.increment(b"count", 1).unwrap();
    db
}

fn expected() -> BTreeMap<Vec<u8>, Vec<u8>> {
    let kept = (0..40_u32).filter(|number| number % 4 != 0 && *number != 1);
    let mut expected: BTreeMap<_, _> =
        kept.map(|number| (format!("key:{number:04}").into_bytes(), vec![number as u8; 50])).collect();
    expected.insert(b"ends".to_vec(), b"in 2027".to_vec());
    expected.insert(Vec::new(), b"under no key".to_vec());
    expected.insert(vec![0, 255, b'\n'], Vec::new());
    expected.insert(b"count".to_vec(), b"42".to_vec());
    expected
}

/// A copy that may be opened: a store that is opened is written to.
fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        std::fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
    }
}

#[test]
fn stores_of_version_1_open_with_what_they_held() {
    for name in ["store", "killed"] {
        let path = fixture(name);
        if std::env::var_os("UPDATE_FIXTURES").is_some() {
            let _ = std::fs::remove_dir_all(&path);
            let scratch = tempfile::tempdir().unwrap();
            let db = write(scratch.path());
            if name == "store" {
                db.close().unwrap();
                copy(scratch.path(), &path);
            } else {
                copy(scratch.path(), &path);
                drop(db);
            }
        }
        let has = |ending: &str| {
            std::fs::read_dir(&path)
                .unwrap()
                .any(|entry| entry.unwrap().file_name().to_string_lossy().ends_with(ending))
        };
        assert!(has(".log") && has(".table") && has("CURRENT"), "{name}: files of the fixture are missing");
        let scratch = tempfile::tempdir().unwrap();
        copy(&path, scratch.path());
        // What is read is written again by today's version, and opened once more.
        for _ in 0..2 {
            let db = open(scratch.path(), Compression::Lz4);
            let found: Result<BTreeMap<_, _>, _> =
                db.snapshot().unwrap().range(.., Direction::Forward).collect();
            assert_eq!(found.unwrap(), expected(), "{name}");
            assert_eq!(db.expiry(b"ends").unwrap(), Lifetime::Until(UNTIL_MS), "{name}");
            assert_eq!(db.get(b"key:0004").unwrap(), None, "{name}");
            assert!(db.verify(|_| ()).unwrap() > 0, "{name}");
            db.compact().unwrap();
            db.close().unwrap();
        }
    }
}
