//! Contended writes: operations a second of THREADS threads (16 by default) on one key, each write synced.
//!
//! Each operation runs for SECONDS (3 by default), then `set` of a key per thread for comparison.
//! `cargo run --release --example contended`; TMPDIR says on which file system.

use plumbkv::{Condition, Database, ExpireCondition, Options, SetOptions, SyncMode};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

/// Gets the thread's number and how many operations it has done.
type Operation = fn(&Database, u64, u64) -> plumbkv::Result<()>;

const KEY: &[u8] = b"key";

fn number(name: &str, otherwise: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(otherwise)
}

fn absent() -> SetOptions {
    SetOptions::new().condition(Condition::IfAbsent)
}

const OPERATIONS: [(&str, Operation); 8] = [
    ("set", |db, _, _| db.set(KEY, b"0")),
    ("increment", |db, _, _| db.increment(KEY, 1).map(drop)),
    ("append (a value of 1 kB at most)", |db, _, done| match done % 1_000 {
        999 => db.set(KEY, b""),
        _ => db.append(KEY, b"x").map(drop),
    }),
    ("compare_and_set (0 to 1, and 1 to 0)", |db, thread, _| {
        let [from, to] = if thread % 2 == 0 { [b"0", b"1"] } else { [b"1", b"0"] };
        db.compare_and_set(KEY, Some(from), Some(to)).map(drop)
    }),
    ("set if present", |db, _, _| {
        db.set_with(KEY, b"0", SetOptions::new().condition(Condition::IfPresent)).map(drop)
    }),
    ("set if absent, and take", |db, thread, _| match thread % 2 {
        0 => db.set_with(KEY, b"0", absent()).map(drop),
        _ => db.take(KEY).map(drop),
    }),
    ("expire_at", |db, _, done| db.expire_at(KEY, u64::MAX - done, ExpireCondition::Always).map(drop)),
    ("set of a key per thread", |db, thread, _| db.set(&thread.to_be_bytes(), b"0")),
];

/// Operations a second.
fn run(db: &Database, threads: u64, time: Duration, operation: Operation) -> Result<f64> {
    let is_over = AtomicBool::new(false);
    let work = |thread: u64| {
        let mut done = 0;
        while !is_over.load(Ordering::Relaxed) {
            operation(db, thread, done)?;
            done += 1;
        }
        Ok::<_, plumbkv::Error>(done)
    };
    let begin = Instant::now();
    let mut total = 0;
    std::thread::scope(|scope| -> Result<()> {
        let work = &work;
        let threads: Vec<_> = (0..threads).map(|thread| scope.spawn(move || work(thread))).collect();
        std::thread::sleep(time);
        is_over.store(true, Ordering::Relaxed);
        for thread in threads {
            total += thread.join().map_err(|_| "a thread panicked")??;
        }
        Ok(())
    })?;
    Ok(total as f64 / begin.elapsed().as_secs_f64())
}

fn main() -> Result<()> {
    let (threads, time) = (number("THREADS", 16), Duration::from_secs(number("SECONDS", 3)));
    let directory = tempfile::tempdir()?;
    let options = Options::durable(directory.path().join("store")).sync_mode(SyncMode::Always);
    let db = Database::open(options)?;
    println!("{threads} threads, each write synced");
    for (name, operation) in OPERATIONS {
        db.set(KEY, b"0")?;
        println!("{name:<46} {:>10.0} /s", run(&db, threads, time, operation)?);
    }
    db.close()?;
    Ok(())
}
