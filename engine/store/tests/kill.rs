//! What is there after a process was killed in the middle of its writes? Everything that it said was written.
//!
//! The test starts itself as a child, which opens a database and writes from several threads, each its own numbered records; behind every write that returned it puts a line
//! into its stdout, the ledger. It is killed at a random moment, perhaps while it opens the database, and the directory is looked at: of each thread all writes of
//! the ledger are there, or all of them and the one that was under way; nothing else is. Then the next child goes on from there.
//!
//! `PLUMBKV_TORTURE=5000` asks for that many children; `make torture` does so with a release build. `PLUMBKV_TORTURE_LOG` names a file that is told how it went, one line for
//! every tenth of them and one for each sync mode, `PLUMBKV_TORTURE_ABOUT` says beside the version what was tested where, and `PLUMBKV_TORTURE_SEED` repeats the lifetimes of an
//! earlier run. `make torture` writes `docs/torture.log` so. No line has a date.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "helpers of tests; clippy exempts only the tests themselves"
)]

mod child;

use child::kill_after;
use plumbkv::{Batch, Database, Options, SyncMode};
use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};
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
    let mode = mode.to_string();
    let text = kill_after(lifetime, &[(DIRECTORY, path.as_os_str()), (MODE, mode.as_ref())]);
    let mut ledger = BTreeMap::new();
    for line in text.lines() {
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

/// What some of the children came to.
#[derive(Clone, Copy, Default)]
struct Tally {
    kills: u64,
    /// Killed before they wrote anything.
    early: u64,
    /// Writes that were acknowledged or under way, and are there.
    writes: u64,
    /// Those of them that were not acknowledged.
    under_way: u64,
    /// What was done after a look, apart from dropping the database.
    verified: u64,
    compacted: u64,
    closed: u64,
}

impl Tally {
    const HEAD: &str = "              kills     early    writes under-way  verified compacted    closed\n";

    fn add(&mut self, other: &Self) {
        self.kills += other.kills;
        self.early += other.early;
        self.writes += other.writes;
        self.under_way += other.under_way;
        self.verified += other.verified;
        self.compacted += other.compacted;
        self.closed += other.closed;
    }

    /// A line of the log, below [`HEAD`](Self::HEAD).
    fn line(&self, of: &str) -> String {
        let Self { kills, early, writes, under_way, verified, compacted, closed } = self;
        format!(
            "{of:<9}{kills:>10}{early:>10}{writes:>10}{under_way:>10}{verified:>10}{compacted:>10}{closed:>10}\n"
        )
    }
}

/// Says so to whoever watches, and to the log if there is one.
fn tell(log: &mut Option<std::fs::File>, text: &str) {
    std::io::stdout().write_all(text.as_bytes()).unwrap();
    if let Some(log) = log {
        log.write_all(text.as_bytes()).unwrap();
    }
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

/// Opens what a kill left, looks at it, and uses it for a while.
fn cycle(
    path: &Path,
    mode: usize,
    told: &mut BTreeMap<u64, u64>,
    random: &mut fastrand::Rng,
    what: &str,
) -> Tally {
    let failed = |error: plumbkv::Error| -> ! { panic!("{what}: {error}") };
    let mut tally = Tally { kills: 1, ..Tally::default() };
    let ledger = live(path, mode, Duration::from_micros(random.u64(500..LIFETIME_US)));
    tally.early = u64::from(ledger.is_empty());
    let before: u64 = told.values().sum();
    told.extend(ledger);
    let db = open(path, mode).unwrap_or_else(|error| failed(error));
    let counts = look(&db, told, what);
    tally.under_way =
        counts.iter().filter(|(thread, count)| told.get(thread).unwrap_or(&0) != *count).count() as u64;
    *told = counts;
    tally.writes = told.values().sum::<u64>() - before;
    match random.u8(0..10) {
        0 => {
            db.verify(|_| ()).unwrap_or_else(|error| failed(error));
            tally.verified = 1;
        }
        1 => {
            db.compact().unwrap_or_else(|error| failed(error));
            tally.compacted = 1;
        }
        2 => {
            db.close().unwrap_or_else(|error| failed(error));
            tally.closed = 1;
        }
        _ => {}
    }
    tally
}

#[test]
fn a_kill_at_any_moment_takes_nothing_along_that_was_acknowledged() {
    let number = |name: &str| std::env::var(name).ok().map(|number| number.parse::<u64>().unwrap());
    let cycles = number("PLUMBKV_TORTURE").unwrap_or(200);
    let seed = number("PLUMBKV_TORTURE_SEED").unwrap_or_else(|| fastrand::u64(..));
    let mut log = std::env::var_os("PLUMBKV_TORTURE_LOG").map(|path| std::fs::File::create(path).unwrap());
    let about = std::env::var("PLUMBKV_TORTURE_ABOUT").unwrap_or_default();
    let head = format!(
        "plumbkv {}{about}\n{cycles} children, each killed 0.5 to {} ms after its start; random numbers from {seed}\n\n{}",
        env!("CARGO_PKG_VERSION"),
        LIFETIME_US / 1_000,
        Tally::HEAD
    );
    tell(&mut log, &head);
    let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let path = directory.path().join("store");
    let mut random = fastrand::Rng::with_seed(seed);
    let (mut told, mut tenth, mut by_mode) = (BTreeMap::new(), Tally::default(), [Tally::default(); 3]);
    let begin = Instant::now();
    for number in 1..=cycles {
        let mode = number as usize % MODES.len();
        let what = format!("kill {number}, {:?}, random numbers from {seed}", MODES[mode]);
        let tally = cycle(&path, mode, &mut told, &mut random, &what);
        tenth.add(&tally);
        by_mode[mode].add(&tally);
        if number.is_multiple_of(cycles.div_ceil(10)) || number == cycles {
            tell(&mut log, &std::mem::take(&mut tenth).line(&format!("to {number}")));
        }
    }
    let mut all = Tally::default();
    tell(&mut log, "\n");
    for (name, tally) in ["never", "interval", "always"].iter().zip(&by_mode) {
        tell(&mut log, &tally.line(name));
        all.add(tally);
    }
    let seconds = begin.elapsed().as_secs_f64();
    let sentence = format!(
        "{}\n{} writes, {} of them under way when their child was killed; none is missing, none was invented; {seconds:.0} s\n",
        all.line("all"),
        all.writes,
        all.under_way
    );
    tell(&mut log, &sentence);
    assert!(all.writes > 20 * cycles && all.early < cycles * 9 / 10, "{sentence}");
}
