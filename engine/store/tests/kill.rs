//! What is there after a process was killed in the middle of its writes? Everything that it said was written.
//!
//! The test starts itself as a child, which opens a database and writes from several threads, each its own numbered records; behind every write that returned it puts a line
//! into its stdout, the ledger. It is killed at a random moment, perhaps while it opens the database, and the directory is looked at: of each thread all writes of
//! the ledger are there, or all of them and the one that was under way; nothing else is. Then the next child goes on from there.
//!
//! `PLUMBKV_TORTURE=5000` asks for that many children; `make torture` does so with a release build.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "helpers of tests; clippy exempts only the tests themselves"
)]

use plumbkv::{Batch, Database, Options, SyncMode};
use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Names the directory of the child, and makes it one.
const DIRECTORY: &str = "PLUMBKV_KILL_DIRECTORY";
const MODE: &str = "PLUMBKV_KILL_MODE";
const THREADS: u64 = 4;
/// Keys of each thread, which it writes in turns.
const KEYS: u64 = 300;
const MODES: [SyncMode; 3] =
    [SyncMode::Never, SyncMode::Interval(Duration::from_millis(5)), SyncMode::Always];
/// Longer than this no child lives.
const LIFETIME_US: u64 = 70_000;

fn open(path: &Path, mode: usize) -> plumbkv::Result<Database> {
    Database::open(Options::durable(path).memory_budget(1 << 20).sync_mode(MODES[mode]))
}

fn key(thread: u64, number: u64) -> Vec<u8> {
    format!("thread {thread} key {:04}", number % KEYS).into_bytes()
}

fn count_key(thread: u64) -> Vec<u8> {
    format!("thread {thread} count").into_bytes()
}

/// What the write with this number leaves under its key: nothing, where it removes the key.
fn value(thread: u64, number: u64) -> Option<Vec<u8>> {
    let mut random = fastrand::Rng::with_seed(thread << 48 | number);
    let len = if random.u8(..) == 0 { 20_000 } else { random.usize(0..700) };
    (random.u8(0..5) > 0).then(|| {
        let mut value = number.to_le_bytes().to_vec();
        value.extend((0..len).map(|_| random.u8(..)));
        value
    })
}

/// A write and the count of the writes so far, together.
fn batch(thread: u64, number: u64) -> Batch {
    let mut batch = Batch::new();
    match value(thread, number) {
        Some(value) => batch.set(&key(thread, number), &value),
        None => batch.delete(&key(thread, number)),
    };
    batch.set(&count_key(thread), &number.to_le_bytes());
    batch
}

fn count(db: &Database, thread: u64) -> u64 {
    let found = db.get(&count_key(thread)).unwrap();
    found.map_or(0, |bytes| u64::from_le_bytes(bytes.try_into().unwrap()))
}

/// What the child does, until it is killed.
fn write_for_ever(path: &Path, mode: usize) {
    let db = open(path, mode).unwrap();
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let db = &db;
            scope.spawn(move || {
                for number in count(db, thread) + 1.. {
                    db.write(&batch(thread, number)).unwrap();
                    // One call of the system for a line: no kill cuts it in two.
                    let line = format!("\nwritten {thread} {number}\n");
                    rustix::io::write(std::io::stdout(), line.as_bytes()).unwrap();
                }
            });
        }
    });
}

/// Not a test by itself: what the other test starts.
#[test]
fn child() {
    if let Some(path) = std::env::var_os(DIRECTORY) {
        let mode = std::env::var(MODE).unwrap().parse().unwrap();
        write_for_ever(&PathBuf::from(path), mode);
    }
}

/// Lets a child live for a while, and kills it. The ledger: the last number of each thread.
fn live(path: &Path, mode: usize, lifetime: Duration) -> BTreeMap<u64, u64> {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "child", "--nocapture", "--test-threads=1"])
        .env(DIRECTORY, path)
        .env(MODE, mode.to_string())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdout = child.stdout.take().unwrap();
    let reader = std::thread::spawn(move || {
        let mut text = String::new();
        stdout.read_to_string(&mut text).map(|_| text)
    });
    std::thread::sleep(lifetime);
    // By its own handle: the SIGKILL reaches this child and no other process.
    child.kill().unwrap();
    let output = child.wait_with_output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.code().is_none(), "the child ended by itself: {errors}");
    let mut ledger = BTreeMap::new();
    for line in reader.join().unwrap().unwrap().lines() {
        if let ["written", thread, number] = line.split(' ').collect::<Vec<_>>()[..] {
            let (thread, number): (u64, u64) = (thread.parse().unwrap(), number.parse().unwrap());
            let before = ledger.insert(thread, number);
            assert!(before.is_none_or(|before| before + 1 == number), "{before:?}, then {number}");
        }
    }
    ledger
}

/// What one thread left after so many writes.
fn expected(thread: u64, count: u64) -> BTreeMap<Vec<u8>, Vec<u8>> {
    let first = (count + 1).saturating_sub(KEYS).max(1);
    let written = (first..=count).filter_map(|number| Some((key(thread, number), value(thread, number)?)));
    let mut expected: BTreeMap<_, _> = written.collect();
    if count > 0 {
        expected.insert(count_key(thread), count.to_le_bytes().to_vec());
    }
    expected
}

/// Looks whether the database holds what its threads wrote, and nothing else; says how many writes of each there are.
fn look(db: &Database, ledger: &BTreeMap<u64, u64>, what: &str) -> BTreeMap<u64, u64> {
    let (mut everything, mut counts) = (BTreeMap::new(), BTreeMap::new());
    for thread in 0..THREADS {
        let (acknowledged, found) = (ledger.get(&thread).copied().unwrap_or(0), count(db, thread));
        let is_right = found == acknowledged || found == acknowledged + 1;
        assert!(is_right, "{what}: thread {thread} was told of {acknowledged} writes, and {found} are there");
        everything.extend(expected(thread, found));
        counts.insert(thread, found);
    }
    let mut found = BTreeMap::new();
    db.for_each_key(|key| drop(found.insert(key.to_vec(), Vec::new()))).unwrap();
    for (key, value) in &mut found {
        *value = db.get(key).unwrap().unwrap_or_else(|| panic!("{what}: a key without a value"));
    }
    for (key, value) in &everything {
        let name = String::from_utf8_lossy(key);
        assert!(found.get(key) == Some(value), "{what}: {name} is missing or has another value");
    }
    let invented: Vec<_> = found.keys().filter(|key| !everything.contains_key(*key)).collect();
    assert!(invented.is_empty(), "{what}: nobody wrote {invented:?}");
    counts
}

#[test]
fn a_kill_at_any_moment_takes_nothing_along_that_was_acknowledged() {
    let cycles = std::env::var("PLUMBKV_TORTURE").map_or(200, |cycles| cycles.parse().unwrap());
    let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let path = directory.path().join("store");
    let seed = fastrand::u64(..);
    let mut random = fastrand::Rng::with_seed(seed);
    let (mut told, mut early, mut under_way, mut tables) = (BTreeMap::new(), 0, 0, 0);
    let begin = Instant::now();
    for cycle in 0..cycles {
        let mode = cycle % MODES.len();
        let what = format!("cycle {cycle}, {:?}, random numbers from {seed}", MODES[mode]);
        let ledger = live(&path, mode, Duration::from_micros(random.u64(500..LIFETIME_US)));
        early += u64::from(ledger.is_empty());
        told.extend(ledger);
        let db = open(&path, mode).unwrap_or_else(|error| panic!("{what}: {error}"));
        let counts = look(&db, &told, &what);
        under_way += counts.iter().filter(|(thread, count)| told.get(thread) != Some(count)).count();
        told = counts;
        tables = db.storage_stats().unwrap().tables();
        match random.u8(0..10) {
            0 => drop(db.verify(|_| ()).unwrap_or_else(|error| panic!("{what}: {error}"))),
            1 => db.compact().unwrap(),
            2 => db.close().unwrap(),
            _ => {}
        }
    }
    let writes: u64 = told.values().sum();
    let line = format!(
        "{cycles} kills, {early} of them before the first write; {writes} writes, all there; {under_way} were under way; \
         {tables} tables at the end; {:.1} s\n",
        begin.elapsed().as_secs_f64()
    );
    std::io::stdout().write_all(line.as_bytes()).unwrap();
    assert!(writes > 20 * cycles as u64 && early < cycles as u64 * 9 / 10, "{line}");
}
