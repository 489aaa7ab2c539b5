//! Loads beside a full cache: small values that are read again and again, and long ones that four threads
//! write, one of which reads them; and more small entries than filters may be kept of, merged again and again.

use super::{Measured, Meter, Result, Size, check, key, noise, open};
use plumbkv::{Database, Profile};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Reads all small values until the cache has what it may have.
fn read_small(db: &Database, count: u64) -> Result<()> {
    for number in 0..count {
        check(db.get(&key(number))?.is_some_and(|value| value.len() == 1_000), "a small value is missing")?;
    }
    Ok(())
}

/// Long values of all lengths, from four threads.
fn write_long(db: &Database, longest: &[u8], thread: u64, mut left: u64) -> Result<()> {
    let mut random = fastrand::Rng::with_seed(thread);
    while left > 0 {
        let len = (longest.len() >> random.u32(0..4)) - random.usize(..1_000);
        let number = (1 << 40) + thread * 1_000 + random.u64(..6);
        db.set(&key(number), &longest[..len])?;
        // What a thread reads is its own: one reads.
        if thread == 0 {
            check(db.read(&key(number), <[u8]>::len)? == Some(len), "a long value is missing")?;
        }
        left = left.saturating_sub(len as u64);
    }
    Ok(())
}

pub(super) fn cached(size: Size, path: &std::path::Path) -> Result<Measured> {
    let budget = size.budget(Profile::Default);
    let (small, longest) = (noise(1_000), noise((budget / 12) as usize - 8));
    let meter = Meter::begin(budget)?;
    let db = open(path, Profile::Default, budget)?;
    let count = budget / 500;
    for number in 0..count {
        db.set(&key(number), &small)?;
    }
    db.flush()?;
    for _ in 0..3 {
        read_small(&db, count)?;
    }
    let cached = db.storage_stats().map_or(0, |stats| stats.cache_bytes);
    check(cached > budget / 2, "the cache did not fill")?;
    std::thread::scope(|scope| {
        let db = &db;
        let writers: Vec<_> = (0..4)
            .map(|thread| {
                let longest = &longest;
                scope
                    .spawn(move || write_long(db, longest, thread, budget).map_err(|error| error.to_string()))
            })
            .collect();
        for _ in 0..3 {
            read_small(db, count)?;
        }
        for writer in writers {
            writer.join().map_err(|_| "a writer panicked")??;
        }
        Ok::<(), Box<dyn std::error::Error>>(())
    })?;
    meter.end()
}

/// So many entries that indexes and filters take half of the budget where nothing yields, in no order, and a
/// thread that reads those that are there.
pub(super) fn merged(size: Size, path: &std::path::Path) -> Result<Measured> {
    let budget = size.budget(Profile::Default);
    let value = noise(100);
    let meter = Meter::begin(budget)?;
    let db = open(path, Profile::Default, budget)?;
    let (written, is_over) = (AtomicU64::new(0), AtomicBool::new(false));
    let most = std::thread::scope(|scope| {
        let (db, written, is_over) = (&db, &written, &is_over);
        let reader = scope.spawn(move || {
            let mut random = fastrand::Rng::with_seed(1);
            let mut most = 0;
            while !is_over.load(Ordering::Relaxed) {
                let until = written.load(Ordering::Acquire).max(1);
                for _ in 0..1_000 {
                    let number = random.u64(..until);
                    let found = db.get(&key(number)).map_err(|error| error.to_string())?;
                    if found.is_none() && number + 1 < until {
                        return Err(format!("entry {number} is missing"));
                    }
                }
                most = most.max(db.storage_stats().map_or(0, |stats| stats.cache_bytes));
            }
            Ok(most)
        });
        let write = || -> plumbkv::Result<()> {
            for number in 0..budget / 4 {
                db.set(&key(number), &value)?;
                written.store(number + 1, Ordering::Release);
            }
            db.flush()
        };
        let done = write();
        is_over.store(true, Ordering::Relaxed);
        let most = reader.join().map_err(|_| "a reader panicked")??;
        done?;
        Ok::<u64, Box<dyn std::error::Error>>(most)
    })?;
    println!("{} entries, a cache of {most} bytes at most", budget / 4);
    check(most > budget / 5, "the cache did not fill")?;
    meter.end()
}
