//! Are walks backward right beside writers? Two loads, each for DURATION_S seconds (30 by default) with both
//! `SyncMode::Always` and an interval. `cargo run --release --example backward`.
//!
//! *Largest*: a thread writes rising keys just below the largest key of the store, others ask for the largest
//! one. *Bank*: threads move amounts between accounts, each in one batch; in a snapshot the sum is the same
//! forward, backward and by gets.

use plumbkv::{Batch, Database, Direction, Options, SyncMode};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

type Result<T> = std::result::Result<T, Box<dyn std::error::Error + Send + Sync>>;

const LARGEST: &[u8] = b"zzzz";
const ACCOUNTS: u64 = 64;
const EACH: u64 = 1_000;

fn account(number: u64) -> Vec<u8> {
    format!("account:{number:04}").into_bytes()
}

fn amount(value: &[u8]) -> Result<u64> {
    Ok(u64::from_le_bytes(value.try_into()?))
}

/// Runs writers and readers at once; what the readers looked at, and what of it was wrong.
fn beside(
    duration: Duration,
    writers: &[&(dyn Fn() -> Result<()> + Sync)],
    readers: &[&(dyn Fn() -> Result<bool> + Sync)],
) -> Result<(u64, u64, u64)> {
    let (is_over, failure) = (AtomicBool::new(false), Mutex::new(None));
    let [written, looks, wrong] = [const { AtomicU64::new(0) }; 3];
    let until_over = |step: &dyn Fn() -> Result<()>| {
        while !is_over.load(Ordering::Relaxed) {
            if let Err(error) = step() {
                is_over.store(true, Ordering::Relaxed);
                let _ = failure.lock().map(|mut failure| failure.replace(error));
            }
        }
    };
    std::thread::scope(|scope| {
        for writer in writers {
            scope.spawn(|| {
                until_over(&|| {
                    written.fetch_add(1, Ordering::Relaxed);
                    writer()
                });
            });
        }
        for reader in readers {
            scope.spawn(|| {
                until_over(&|| {
                    looks.fetch_add(1, Ordering::Relaxed);
                    wrong.fetch_add(u64::from(!reader()?), Ordering::Relaxed);
                    Ok(())
                });
            });
        }
        std::thread::sleep(duration);
        is_over.store(true, Ordering::Relaxed);
    });
    match failure.into_inner() {
        Ok(None) => Ok((written.into_inner(), looks.into_inner(), wrong.into_inner())),
        Ok(Some(error)) => Err(error),
        Err(_) => Err("a thread panicked".into()),
    }
}

fn largest(db: &Database, duration: Duration) -> Result<(u64, u64, u64)> {
    db.set(LARGEST, b"largest")?;
    let next = AtomicU64::new(0);
    let write = || {
        let number = next.fetch_add(1, Ordering::Relaxed);
        Ok(db.set(format!("event:{number:012}").as_bytes(), b"value")?)
    };
    let read = || {
        let found = db.snapshot()?.range(.., Direction::Backward).next().transpose()?;
        Ok(found.is_some_and(|(key, value)| key == LARGEST && value == b"largest"))
    };
    beside(duration, &[&write], &[&read, &read])
}

fn bank(db: &Database, duration: Duration) -> Result<(u64, u64, u64)> {
    for number in 0..ACCOUNTS {
        db.set(&account(number), &EACH.to_le_bytes())?;
    }
    // One transfer at a time: what is read is what is written over.
    let random = Mutex::new(fastrand::Rng::with_seed(1));
    let transfer = || {
        let mut random = random.lock().map_err(|_| "a thread panicked")?;
        let (from, to) = (random.u64(..ACCOUNTS), random.u64(..ACCOUNTS));
        let balance = |number| -> Result<u64> { amount(&db.get(&account(number))?.ok_or("no account")?) };
        let (has, gets) = (balance(from)?, balance(to)?);
        if from != to && has > 0 {
            let moved = random.u64(1..=has);
            let mut batch = Batch::new();
            batch.set(&account(from), &(has - moved).to_le_bytes());
            batch.set(&account(to), &(gets + moved).to_le_bytes());
            db.write(&batch)?;
        }
        Ok(())
    };
    let next = AtomicU64::new(0);
    // Others write between the accounts, so that pages of the memtable split.
    let between = || {
        let number = next.fetch_add(1, Ordering::Relaxed);
        let key = format!("account:{:04}:{number}", number % ACCOUNTS);
        db.set(key.as_bytes(), b"x")?;
        Ok(db.delete(key.as_bytes()).map(drop)?)
    };
    let audit = || {
        let snapshot = db.snapshot()?;
        let sum = |direction| -> Result<u64> {
            let mut sum = 0;
            for pair in snapshot.prefix(b"account:", direction) {
                let (key, value) = pair?;
                if key.len() == account(0).len() {
                    sum += amount(&value)?;
                }
            }
            Ok(sum)
        };
        let mut gets = 0;
        for number in 0..ACCOUNTS {
            gets += amount(&snapshot.get(&account(number))?.ok_or("no account")?)?;
        }
        let sums = [sum(Direction::Forward)?, sum(Direction::Backward)?, gets];
        Ok(sums == [ACCOUNTS * EACH; 3])
    };
    beside(duration, &[&transfer, &between], &[&audit, &audit])
}

fn main() -> Result<()> {
    let seconds = std::env::var("DURATION_S").ok().and_then(|text| text.parse().ok()).unwrap_or(30);
    let duration = Duration::from_secs(seconds);
    let mut all_wrong = 0;
    for (mode, sync) in
        [("always", SyncMode::Always), ("interval", SyncMode::Interval(Duration::from_millis(100)))]
    {
        let directory = tempfile::tempdir()?;
        for (load, run) in [("largest", largest as fn(&Database, Duration) -> _), ("bank", bank)] {
            let db = Database::open(Options::durable(directory.path().join(load)).sync_mode(sync))?;
            let (written, looks, wrong) = run(&db, duration)?;
            println!("{load:<8} {mode:<9} {written:>9} writes {looks:>9} looks {wrong:>6} wrong");
            if written == 0 || looks == 0 {
                return Err("nothing was done".into());
            }
            all_wrong += wrong;
        }
    }
    if all_wrong == 0 { Ok(()) } else { Err("walks backward were wrong".into()) }
}
