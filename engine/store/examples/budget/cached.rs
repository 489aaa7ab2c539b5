//! Loads beside a full cache: small values that are read again and again, and long ones that four threads
//! write, one of which reads them.

use super::{Measured, Meter, Result, Size, check, key, noise, open};
use plumbkv::{Database, Profile};

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
