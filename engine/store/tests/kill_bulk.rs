//! SIGKILL during bulk operations: ingest, `delete_range`, checkpoint, flush and compaction.
//!
//! The test starts itself as a child that ingests generations of keys, deletes older ones by range,
//! makes checkpoints and compacts, while a second thread increments a counter. After each call that
//! returned, the child prints a line: the ledger. The parent kills it at a random moment, opens the
//! directory and compares: a generation is there whole or not at all, as the ledger says; the counter
//! has every acknowledged increment; and each acknowledged checkpoint opens and verifies.
//!
//! `PLUMBKV_TORTURE_BULK=1000` sets the number of children.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "helpers of tests; clippy exempts only the tests themselves"
)]

mod child;

use child::kill_after;
use plumbkv::{Database, Direction, Options, SyncMode};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::Duration;

const DIRECTORY: &str = "PLUMBKV_KILL_BULK_DIRECTORY";
const MODE: &str = "PLUMBKV_KILL_BULK_MODE";
const MODES: [SyncMode; 3] =
    [SyncMode::Never, SyncMode::Interval(Duration::from_millis(5)), SyncMode::Always];
/// Keys of a generation.
const KEYS: u64 = 400;
/// Generations that are kept.
const KEPT: u64 = 3;
const LIFETIME_US: u64 = 250_000;

fn open(path: &Path, mode: usize) -> plumbkv::Result<Database> {
    Database::open(Options::durable(path).memory_budget(1 << 20).sync_mode(MODES[mode]))
}

fn prefix(generation: u64) -> Vec<u8> {
    format!("bulk:{generation:08}:").into_bytes()
}

fn key(generation: u64, number: u64) -> Vec<u8> {
    format!("bulk:{generation:08}:{number:06}").into_bytes()
}

fn value(generation: u64, number: u64) -> Vec<u8> {
    let mut random = fastrand::Rng::with_seed(generation << 32 | number);
    (0..random.usize(10..300)).map(|_| random.u8(..)).collect()
}

fn generations(db: &Database) -> BTreeMap<u64, u64> {
    let mut found = BTreeMap::new();
    for entry in db.snapshot().unwrap().prefix(b"bulk:", Direction::Forward) {
        let (key, found_value) = entry.unwrap();
        let text = std::str::from_utf8(&key).unwrap();
        let (generation, number) = (text[5..13].parse().unwrap(), text[14..].parse().unwrap());
        assert_eq!(found_value, value(generation, number), "{text} has another value");
        *found.entry(generation).or_insert(0) += 1;
    }
    found
}

fn say(line: &str) {
    // One system call per line, so that no kill cuts it in two.
    rustix::io::write(std::io::stdout(), format!("\nledger {line}\n").as_bytes()).unwrap();
}

fn count(db: &Database) -> u64 {
    let found = db.get(b"counter").unwrap();
    found.map_or(0, |text| std::str::from_utf8(&text).unwrap().parse().unwrap())
}

fn work_for_ever(path: &Path, mode: usize) {
    let db = open(path, mode).unwrap();
    let first = generations(&db).keys().last().map_or(1, |last| last + 1);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            loop {
                say(&format!("counted {}", db.increment(b"counter", 1).unwrap()));
            }
        });
        for generation in first.. {
            db.ingest((0..KEYS).map(|number| (key(generation, number), value(generation, number)))).unwrap();
            say(&format!("ingested {generation}"));
            if let Some(old) = generation.checked_sub(KEPT) {
                say(&format!("removing {old}"));
                db.delete_range(&prefix(old)[..]..&prefix(old + 1)[..]).unwrap();
                say(&format!("removed {old}"));
            }
            match generation % 7 {
                1 => db.flush().unwrap(),
                3 => db.compact().unwrap(),
                5 => {
                    let copy = path.with_file_name(format!("checkpoint-{generation}"));
                    db.checkpoint(&copy).unwrap();
                    say(&format!("copied {generation}"));
                }
                _ => {}
            }
        }
    });
}

/// Not a test by itself: the child of the test below.
#[test]
fn child() {
    if let Some(path) = std::env::var_os(DIRECTORY) {
        let mode = std::env::var(MODE).unwrap().parse().unwrap();
        work_for_ever(&PathBuf::from(path), mode);
    }
}

/// What the child said before it was killed.
fn live(path: &Path, mode: usize, lifetime: Duration) -> Vec<(String, u64)> {
    let mode = mode.to_string();
    let text = kill_after(lifetime, &[(DIRECTORY, path.as_os_str()), (MODE, mode.as_ref())]);
    let line = |line: &str| match line.split(' ').collect::<Vec<_>>()[..] {
        ["ledger", what, number] => Some((what.to_owned(), number.parse().unwrap())),
        _ => None,
    };
    text.lines().filter_map(line).collect()
}

/// Generations that must be there, those that may be there, and the least and the largest count.
#[derive(Default)]
struct Expected {
    present: BTreeSet<u64>,
    perhaps: BTreeSet<u64>,
    counted: u64,
}

impl Expected {
    fn after(before: &BTreeMap<u64, u64>, counted: u64, ledger: &[(String, u64)]) -> Self {
        let mut expected = Self { present: before.keys().copied().collect(), counted, ..Self::default() };
        for (what, number) in ledger {
            match &what[..] {
                "ingested" => drop(expected.present.insert(*number)),
                "removing" if expected.present.remove(number) => drop(expected.perhaps.insert(*number)),
                "removed" => drop(expected.perhaps.remove(number)),
                "counted" => expected.counted = *number,
                _ => {}
            }
        }
        // The ingest under way.
        expected.perhaps.insert(expected.present.last().map_or(1, |last| last + 1));
        expected
    }

    fn check(&self, db: &Database, what: &str) -> (BTreeMap<u64, u64>, u64) {
        let found = generations(db);
        for (generation, keys) in &found {
            assert_eq!(*keys, KEYS, "{what}: generation {generation} is there in part");
            let is_expected = self.present.contains(generation) || self.perhaps.contains(generation);
            assert!(is_expected, "{what}: generation {generation} was removed, and is there");
        }
        for generation in &self.present {
            assert!(found.contains_key(generation), "{what}: generation {generation} is missing");
        }
        let count = count(db);
        assert!((self.counted..=self.counted + 1).contains(&count), "{what}: {count} of {}", self.counted);
        (found, count)
    }
}

#[test]
fn bulk_operations_are_whole_after_a_kill() {
    let cycles: u64 = std::env::var("PLUMBKV_TORTURE_BULK").map_or(40, |number| number.parse().unwrap());
    let seed = fastrand::u64(..);
    let mut random = fastrand::Rng::with_seed(seed);
    let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let path = directory.path().join("store");
    let (mut found, mut counted) = (BTreeMap::new(), 0);
    let (mut ingested, mut removed, mut copies) = (0, 0, 0);
    for cycle in 0..cycles {
        let mode = cycle as usize % MODES.len();
        let what = format!("kill {cycle}, {:?}, random numbers from {seed}", MODES[mode]);
        let ledger = live(&path, mode, Duration::from_micros(random.u64(5_000..LIFETIME_US)));
        ingested += ledger.iter().filter(|(what, _)| what == "ingested").count();
        removed += ledger.iter().filter(|(what, _)| what == "removed").count();
        let db = open(&path, mode).unwrap_or_else(|error| panic!("{what}: {error}"));
        (found, counted) = Expected::after(&found, counted, &ledger).check(&db, &what);
        drop(db);
        for entry in std::fs::read_dir(directory.path()).unwrap() {
            let copy = entry.unwrap().path();
            let name = copy.file_name().unwrap().to_str().unwrap();
            let Some(generation) = name.strip_prefix("checkpoint-") else { continue };
            let generation: u64 = generation.parse().unwrap();
            // A copy that was under way need not open; one that was acknowledged is whole.
            if ledger.contains(&("copied".to_owned(), generation)) {
                let db = open(&copy, mode).unwrap_or_else(|error| panic!("{what}: checkpoint: {error}"));
                db.verify(|_| ()).unwrap();
                let held = generations(&db);
                assert!(
                    held.values().all(|keys| *keys == KEYS) && held.contains_key(&generation),
                    "{what}: {held:?}"
                );
                copies += 1;
            }
            std::fs::remove_dir_all(&copy).unwrap();
        }
    }
    println!("{ingested} ingests, {removed} range deletions, {copies} checkpoints, {counted} increments");
    assert!(ingested as u64 > cycles && removed > 0 && copies > 0 && counted > 10 * cycles);
}
