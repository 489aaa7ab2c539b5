//! Point reads with one and with five key families: CPU time of a get, and the memory of indexes.
//!
//! ```text
//! cargo run --release -p plumbkv --example families -- [KEYS_PER_FAMILY [GETS [LONG_KEYS [BUDGET_MIB]]]]
//! ```
//!
//! Each case loads as many keys as the others, once in one family and once in five, in random order,
//! and reads keys that are there and keys that are not, after the flushes and compactions that were
//! due, and again after a full compaction. The CPU time of the reading thread counts, so that other
//! load on the machine matters little. Last come keys that share 60 KiB: what their index takes.

use std::error::Error;
use std::path::Path;

use plumbkv::{Batch, Database, Options};
use rustix::time::{ClockId, clock_gettime};

const FAMILIES: [&str; 5] = ["account:", "invoice:", "orderline:", "product:", "session:"];
const VALUE: [u8; 100] = [b'v'; 100];
const LONG_PREFIX: usize = 60 << 10;

/// How the number of a key is written.
#[derive(Clone, Copy)]
enum Shape {
    /// 16 hexadecimal digits, evenly distributed.
    Hex,
    /// 12 digits, one number after the other.
    Digits,
}

/// What one case loads and reads.
#[derive(Clone, Copy)]
struct Case<'a> {
    families: &'a [&'a str],
    shape: Shape,
    keys: u64,
}

impl Case<'_> {
    /// Key `number` of those that are loaded; behind them come keys between them that are not there.
    fn key(self, number: u64, is_absent: bool) -> String {
        let count = self.families.len() as u64;
        let (family, number) = (self.families[(number % count) as usize], number / count);
        match self.shape {
            Shape::Hex => format!("{family}{:016x}", mix(number * 2 + u64::from(is_absent))),
            Shape::Digits => format!("{family}{:012}", number * 2 + u64::from(is_absent)),
        }
    }
}

/// CPU nanoseconds of a get, in one state of the store.
#[derive(Clone, Copy, Default)]
struct Cost {
    hit: f64,
    absent: f64,
}

/// A bijection that scatters numbers.
fn mix(number: u64) -> u64 {
    let mixed = (number ^ number >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ mixed >> 31
}

/// CPU time of this thread.
fn thread_ns() -> u64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

fn load(db: &Database, case: Case) -> plumbkv::Result<()> {
    let mut batch = Batch::new();
    // A step that is coprime to the count visits each number once, in scattered order.
    let step = (case.keys as f64 * 0.618) as u64 | 1;
    let step = (step..).step_by(2).find(|step| gcd(*step, case.keys) == 1).unwrap_or(1);
    for at in 0..case.keys {
        let number = (u128::from(at) * u128::from(step) % u128::from(case.keys)) as u64;
        batch.set(case.key(number, false).as_bytes(), &VALUE);
        if at % 100 == 99 || at + 1 == case.keys {
            db.write(&batch)?;
            batch.clear();
        }
    }
    Ok(())
}

fn gcd(one: u64, other: u64) -> u64 {
    if other == 0 { one } else { gcd(other, one % other) }
}

fn cost(db: &Database, case: Case, gets: u64) -> plumbkv::Result<Cost> {
    let mut cost = Cost::default();
    for is_absent in [false, true] {
        let mut random = fastrand::Rng::with_seed(7);
        // The first round fills the block cache.
        let mut used = 0;
        for round in 0..2 {
            let keys: Vec<_> = (0..gets).map(|_| case.key(random.u64(..case.keys), is_absent)).collect();
            let before = thread_ns();
            let mut found = 0;
            for key in &keys {
                found += u64::from(db.get(key.as_bytes())?.is_some());
            }
            used = thread_ns() - before;
            assert_eq!(found, if is_absent { 0 } else { gets }, "round {round}: wrong answers");
        }
        let per_get = used as f64 / gets as f64;
        *(if is_absent { &mut cost.absent } else { &mut cost.hit }) = per_get;
    }
    Ok(cost)
}

/// In the memtable, which is the second of the store: the first knew nothing of its keys; settled; and compacted.
fn run(directory: &Path, case: Case, gets: u64, budget: u64) -> plumbkv::Result<[Cost; 3]> {
    let db = Database::open(Options::durable(directory).memory_budget(budget))?;
    // A memtable has a tenth of the budget.
    let small = Case { keys: case.keys.min(budget / 10 / 250), ..case };
    load(&db, small)?;
    db.flush()?;
    load(&db, small)?;
    let memtable = cost(&db, small, gets)?;
    load(&db, case)?;
    db.settle()?;
    let settled = cost(&db, case, gets)?;
    let tables: usize = db.storage_stats()?.levels.iter().map(|level| level.tables).sum();
    db.compact()?;
    let compacted = cost(&db, case, gets)?;
    let stats = db.storage_stats()?;
    let families = case.families.len();
    for (state, cost) in [("memtable", memtable), ("settled", settled), ("compacted", compacted)] {
        println!(
            "  {families} families, {state:9}  hit {:>9.0} ns   absent {:>9.0} ns",
            cost.hit, cost.absent
        );
    }
    println!("  {families} families: {tables} tables settled; indexes and filters {} B", stats.index_bytes);
    db.close()?;
    Ok([memtable, settled, compacted])
}

/// Keys that share 60 KiB, between two of other families.
fn long(directory: &Path, keys: u64, budget: u64) -> plumbkv::Result<()> {
    let db = Database::open(Options::durable(directory).memory_budget(budget))?;
    let prefix = "p".repeat(LONG_PREFIX);
    let key = |number: u64| format!("{prefix}{:016x}", mix(number));
    db.set(b"a:config", b"1")?;
    db.set(b"z:config", b"1")?;
    for number in 0..keys {
        db.set(key(number).as_bytes(), b"1")?;
    }
    db.compact()?;
    let before = thread_ns();
    for number in 0..keys {
        assert!(db.get(key(number).as_bytes())?.is_some(), "key {number} is not there");
    }
    let per_get = (thread_ns() - before) as f64 / keys as f64;
    let stats = db.storage_stats()?;
    println!(
        "{keys} keys that share {LONG_PREFIX} bytes: indexes and filters {} B, get {per_get:.0} ns, disk {} B",
        stats.index_bytes,
        stats.levels.iter().map(|level| level.bytes).sum::<u64>()
    );
    db.close()
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut args = std::env::args().skip(1).map(|arg| arg.parse::<u64>());
    let mut next = |default| args.next().unwrap_or(Ok(default));
    let (keys, gets, long_keys, budget) = (next(400_000)?, next(1_000_000)?, next(3_000)?, next(256)? << 20);
    let directory = tempfile::tempdir()?;
    for (shape, name) in [(Shape::Hex, "16 hexadecimal digits"), (Shape::Digits, "12 digits")] {
        let keys = keys * FAMILIES.len() as u64;
        println!("{keys} keys of {name}, {gets} gets");
        let mut costs = Vec::new();
        for families in [&FAMILIES[4..], &FAMILIES[..]] {
            let path = directory.path().join(format!("{}-{}", families.len(), name.len()));
            costs.push(run(&path, Case { families, shape, keys }, gets, budget)?);
            std::fs::remove_dir_all(&path)?;
        }
        for (state, (one, five)) in
            ["memtable", "settled", "compacted"].iter().zip(costs[0].iter().zip(&costs[1]))
        {
            let (hit, absent) = (five.hit / one.hit, five.absent / one.absent);
            println!("  ratio of five to one, {state:9}  hit {hit:.2}   absent {absent:.2}");
        }
    }
    if long_keys > 0 {
        long(&directory.path().join("long"), long_keys, budget)?;
    }
    Ok(())
}
