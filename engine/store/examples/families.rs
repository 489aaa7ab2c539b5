//! Point reads with one and with five key families: CPU time of a get, and the memory of indexes.
//!
//! ```text
//! cargo run --release -p plumbkv --example families -- [KEYS_PER_FAMILY [GETS [LONG_KEYS [BUDGET_MIB]]]]
//! ```
//!
//! Two stores with as many keys, one of one family and one of five, loaded in random order. They are
//! read alternately in short rounds, keys that are there and keys that are not: from the memtable, after
//! the flushes and compactions that were due, and after a full compaction. The CPU time of the reading
//! thread counts, and the median of the rounds' ratios, so that other load on the machine matters
//! little. Last come keys that share 60 KiB: what their index takes.

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

/// A store with what one case loads.
struct Store<'a> {
    db: Database,
    case: Case<'a>,
}

impl Store<'_> {
    /// CPU nanoseconds of a get, for as many random keys.
    fn round(&self, random: &mut fastrand::Rng, is_absent: bool, gets: u64) -> plumbkv::Result<f64> {
        let keys: Vec<_> =
            (0..gets).map(|_| self.case.key(random.u64(..self.case.keys), is_absent)).collect();
        let before = thread_ns();
        let mut found = 0;
        for key in &keys {
            found += u64::from(self.db.get(key.as_bytes())?.is_some());
        }
        let used = thread_ns() - before;
        assert_eq!(found, if is_absent { 0 } else { gets }, "wrong answers");
        Ok(used as f64 / gets as f64)
    }
}

fn median(mut figures: Vec<f64>) -> f64 {
    figures.sort_by(f64::total_cmp);
    figures[figures.len() / 2]
}

/// Rounds in which the stores are read alternately, and one before them that fills the caches.
const ROUNDS: u64 = 21;

/// Prints medians of the rounds, and those of the ratio of five families to one.
fn compare(state: &str, stores: &[Store; 2], gets: u64) -> plumbkv::Result<()> {
    for (is_absent, name) in [(false, "hit"), (true, "absent")] {
        let mut random = fastrand::Rng::with_seed(7);
        let mut costs = [Vec::new(), Vec::new()];
        for round in 0..=ROUNDS {
            for at in [round as usize % 2, 1 - round as usize % 2] {
                costs[at].push(stores[at].round(&mut random, is_absent, gets.div_ceil(ROUNDS))?);
            }
        }
        let [one, five] = costs.map(|costs| costs[1..].to_vec());
        let ratio = median(one.iter().zip(&five).map(|(one, five)| five / one).collect());
        let (one, five) = (median(one), median(five));
        println!("  {state:9}  {name:6}  one {one:>7.0} ns   five {five:>7.0} ns   ratio {ratio:.2}");
    }
    Ok(())
}

/// In the memtable, which is the second of the store: the first knew nothing of its keys; settled; and compacted.
fn run(directory: &Path, shape: Shape, keys: u64, gets: u64, budget: u64) -> plumbkv::Result<()> {
    let open = |families: &'static [&'static str]| {
        let options = Options::durable(directory.join(families.len().to_string())).memory_budget(budget);
        Ok(Store { db: Database::open(options)?, case: Case { families, shape, keys } })
    };
    let stores = [open(&FAMILIES[4..])?, open(&FAMILIES)?];
    // A memtable has a tenth of the budget.
    let small = |store: &Store<'static>| Case { keys: keys.min(budget / 10 / 250), ..store.case };
    for store in &stores {
        load(&store.db, small(store))?;
        store.db.flush()?;
        load(&store.db, small(store))?;
    }
    let [one, five] = stores;
    let in_memtable = [Store { case: small(&one), ..one }, Store { case: small(&five), ..five }];
    compare("memtable", &in_memtable, gets)?;
    let stores = in_memtable.map(|store| Store { case: Case { keys, ..store.case }, ..store });
    for store in &stores {
        load(&store.db, store.case)?;
        store.db.settle()?;
    }
    let tables = |store: &Store| -> plumbkv::Result<Vec<usize>> {
        Ok(store.db.storage_stats()?.levels.iter().map(|level| level.tables).collect())
    };
    println!("  tables of the levels: one {:?}, five {:?}", tables(&stores[0])?, tables(&stores[1])?);
    compare("settled", &stores, gets)?;
    for store in &stores {
        store.db.compact()?;
    }
    compare("compacted", &stores, gets)?;
    let [one, five] = &stores;
    let (one, five) = (one.db.storage_stats()?.index_bytes, five.db.storage_stats()?.index_bytes);
    println!("  indexes and filters: one {one} B, five {five} B");
    stores.into_iter().try_for_each(|store| store.db.close())
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
        let path = directory.path().join(name);
        run(&path, shape, keys, gets, budget)?;
        std::fs::remove_dir_all(&path)?;
    }
    if long_keys > 0 {
        long(&directory.path().join("long"), long_keys, budget)?;
    }
    Ok(())
}
