//! Loads that once took more memory than the budget. Each runs in a process of its own, because the peak of
//! resident memory is the process's.

use plumbkv::{Batch, Database, Direction, Error, Options, Profile};
use std::path::Path;
use std::time::{Duration, Instant};

pub(crate) type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

#[path = "cached.rs"]
mod cached;

const MIB: u64 = 1 << 20;

/// What a load took.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Measured {
    /// Resident bytes before the store was opened, those of the program among them.
    pub(crate) start: u64,
    pub(crate) peak: u64,
    pub(crate) budget: u64,
}

impl Measured {
    /// Of the budget.
    pub(crate) fn ratio(&self) -> f64 {
        self.peak.saturating_sub(self.start) as f64 / self.budget as f64
    }
}

/// How large a load is: budgets and amounts are divided by `part`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Size {
    pub(crate) part: u64,
    pub(crate) load: Duration,
}

impl Size {
    fn budget(self, profile: Profile) -> u64 {
        profile.memory_budget() / self.part
    }
}

type Load = fn(Size, &Path) -> Result<Measured>;

/// All loads by name.
pub(crate) const LOADS: [(&str, Load); 9] = [
    ("large-values", |size, path| large_values(size, path, Profile::Default, 60)),
    ("large-values-low-memory", |size, path| large_values(size, path, Profile::LowMemory, 400)),
    ("snapshots", snapshots),
    ("batch", batch),
    ("random", random),
    ("ingest", ingest),
    ("mixed-values", mixed_values),
    ("cached", cached::cached),
    ("merged", cached::merged),
];

fn status(field: &str) -> Result<u64> {
    let text = std::fs::read_to_string("/proc/self/status")?;
    let line = text.lines().find_map(|line| line.strip_prefix(field)).ok_or("no such field")?;
    Ok(line.trim_start_matches(':').trim().trim_end_matches(" kB").parse::<u64>()? * 1024)
}

/// Resident memory from now on.
struct Meter {
    start: u64,
    budget: u64,
}

impl Meter {
    fn begin(budget: u64) -> Result<Self> {
        // Lets the peak begin anew.
        std::fs::write("/proc/self/clear_refs", "5")?;
        Ok(Self { start: status("VmRSS")?, budget })
    }

    fn end(self) -> Result<Measured> {
        Ok(Measured { start: self.start, peak: status("VmHWM")?, budget: self.budget })
    }
}

fn open(path: &Path, profile: Profile, budget: u64) -> Result<Database> {
    Ok(Database::open(Options::durable(path).profile(profile).memory_budget(budget))?)
}

fn check(is_right: bool, what: &str) -> Result<()> {
    if is_right { Ok(()) } else { Err(what.into()) }
}

/// Half of it cannot be compressed.
fn noise(len: usize) -> Vec<u8> {
    let mut random = fastrand::Rng::with_seed(1);
    let mut bytes = vec![7; len];
    bytes.iter_mut().step_by(2).for_each(|byte| *byte = random.u8(..));
    bytes
}

/// Keys in no order: what is written in order is never merged.
fn key(number: u64) -> [u8; 8] {
    number.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_be_bytes()
}

/// The longest values there may be, written, merged, read and walked.
pub(crate) fn large_values(size: Size, path: &Path, profile: Profile, count: u64) -> Result<Measured> {
    let budget = size.budget(profile);
    let quarter = noise((budget / 4) as usize);
    let longest = (budget / 12) as usize - 8;
    let value = noise(longest);
    let random: Vec<u8> = value.iter().map(|byte| byte.wrapping_mul(31) ^ (byte >> 3)).collect();
    let meter = Meter::begin(budget)?;
    let db = open(path, profile, budget)?;
    check(matches!(db.set(b"k", &quarter), Err(Error::TooLargeForBudget { .. })), "a quarter was taken")?;
    for number in 0..count {
        db.set(&key(number % (count / 2)), if number % 3 == 0 { &random } else { &value })?;
    }
    db.compact()?;
    let mut walked = 0;
    let mut range = db.snapshot()?.range(.., Direction::Forward);
    while let Some((_, value)) = range.next_pair()? {
        walked += u64::from(value.len() == longest);
    }
    check(walked == count / 2, "a value is missing")?;
    meter.end()
}

/// Values of all lengths up to the longest.
fn mixed_values(size: Size, path: &Path) -> Result<Measured> {
    let budget = size.budget(Profile::Default);
    let value = noise((budget / 12) as usize - 8);
    let meter = Meter::begin(budget)?;
    let db = open(path, Profile::Default, budget)?;
    let mut random = fastrand::Rng::with_seed(2);
    let mut left = 8 * budget;
    for number in 0.. {
        let len = (value.len() >> random.u32(0..20)).max(1);
        db.set(&key(number), &value[..len])?;
        left = left.saturating_sub(len as u64 + 500);
        if left == 0 {
            break;
        }
    }
    db.compact()?;
    meter.end()
}

/// A snapshot of each of forty memtables, all held.
fn snapshots(size: Size, path: &Path) -> Result<Measured> {
    let budget = size.budget(Profile::Default);
    let value = noise(1_000);
    let meter = Meter::begin(budget)?;
    let db = open(path, Profile::Default, budget)?;
    let mut held = Vec::new();
    let mut refused = 0;
    let mut next = 0_u64;
    for _ in 0..40 {
        for _ in 0..budget / 10 / 1_100 {
            db.set(&key(next), &value)?;
            next += 1;
        }
        match db.snapshot() {
            Ok(snapshot) => held.push((snapshot, next)),
            Err(Error::SnapshotsHoldMemory { .. }) => refused += 1,
            Err(error) => return Err(error.into()),
        }
    }
    for (snapshot, next) in &held {
        check(snapshot.get(&key(next - 1))?.is_some(), "a snapshot lost its last key")?;
        check(snapshot.get(&key(*next))?.is_none(), "a snapshot has a later key")?;
    }
    println!("{} snapshots held, {refused} refused", held.len());
    check(held.len() > 1, "no snapshot was taken")?;
    meter.end()
}

/// A batch that is far too large, and several of the largest that is taken.
fn batch(size: Size, path: &Path) -> Result<Measured> {
    let budget = size.budget(Profile::Default);
    let value = noise(1_000);
    let filled = |bytes: u64| {
        let mut batch = Batch::new();
        for number in 0..bytes / 1_100 {
            batch.set(&key(number), &value);
        }
        batch
    };
    let (large, largest) = (filled(400 * MIB / size.part), filled(budget / 4));
    let meter = Meter::begin(budget)?;
    let db = open(path, Profile::Default, budget)?;
    check(matches!(db.write(&large), Err(Error::BatchTooLong { .. })), "a batch of 400 MB was taken")?;
    for _ in 0..8 {
        db.write(&largest)?;
    }
    meter.end()
}

/// Small entries with keys in no order, as fast as they are taken.
fn random(size: Size, path: &Path) -> Result<Measured> {
    let budget = size.budget(Profile::Default);
    let value = noise(100);
    let meter = Meter::begin(budget)?;
    let db = open(path, Profile::Default, budget)?;
    let begin = Instant::now();
    let written = std::thread::scope(|scope| {
        let writers: Vec<_> = (0..2)
            .map(|thread| {
                let (db, value) = (&db, &value);
                scope.spawn(move || -> plumbkv::Result<u64> {
                    let mut random = fastrand::Rng::with_seed(thread);
                    let mut written = 0;
                    while begin.elapsed() < size.load {
                        for _ in 0..100 {
                            db.set(&key(random.u64(..1 << 40)), value)?;
                            written += 1;
                        }
                    }
                    Ok(written)
                })
            })
            .collect();
        let mut written = 0;
        for writer in writers {
            written += writer.join().map_err(|_| "a writer panicked")??;
        }
        Ok::<u64, Box<dyn std::error::Error>>(written)
    })?;
    println!("{written} sets in {:.0?}", begin.elapsed());
    meter.end()
}

/// 54 million small entries in order.
fn ingest(size: Size, path: &Path) -> Result<Measured> {
    let budget = size.budget(Profile::Default);
    let value = noise(100);
    let meter = Meter::begin(budget)?;
    let db = open(path, Profile::Default, budget)?;
    let count = 54_000_000 / size.part;
    check(db.ingest((0..count).map(|number| (number.to_be_bytes(), &value)))? == count, "pairs are missing")?;
    meter.end()
}
