//! Pace of writes: without limit until flushes or merges fall behind; then each write is held back a
//! little, the more the nearer the point is where writes would have to stop altogether, or the more bytes
//! wait to be merged. What is written then and what flushes and merges get done come to a balance before
//! that point, and no single write waits for seconds.
//!
//! Merges that go on behind the writes are slowed down only where the options ask for it.

use super::options::TreeOptions;
use super::{Inner, View};
use crate::error::{Error, Result};
use crate::lsm::compaction::debt_bytes;
use crate::lsm::sync::{Instant, Mutex, sleep};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

/// How long a mebibyte waits just before the point where writes stop.
const LONGEST: Duration = Duration::from_millis(250);

/// Shorter waits add up to one of this length: the system cannot sleep for microseconds.
const SHORTEST_SLEEP: Duration = Duration::from_millis(1);

/// No write waits longer at once.
const LONGEST_SLEEP: Duration = Duration::from_secs(1);

const MEBIBYTE: u128 = 1 << 20;

/// How near the point is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Pressure {
    pub(super) level0_tables: usize,
    /// Bytes that wait to be merged.
    pub(super) debt: u64,
    /// Memtables that wait to be flushed, and bytes of the one that is written to.
    pub(super) frozen_memtables: usize,
    pub(super) memtable_bytes: usize,
}

/// How long a mebibyte of writes is to be held back.
///
/// Two things make writes stop. Level 0 may be full: from three quarters of that on they are held back. Or all memtables are: from the moment on when no more may wait and the one that is
/// written to is half full. Bytes that wait to be merged do not make writes stop, but merges of a level take
/// the longer the larger the next one has become: they are held back for that as well. What is nearest
/// counts, squared, so that it begins gently.
pub(super) fn delay(pressure: &Pressure, options: &TreeOptions) -> Duration {
    let part = |at: u64, from: u64, to: u64| {
        if to <= from {
            f64::from(u8::from(at >= to))
        } else {
            at.saturating_sub(from) as f64 / (to - from) as f64
        }
    };
    let of = |at: usize, from: usize, to: usize| part(at as u64, from as u64, to as u64);
    let level0 = of(pressure.level0_tables, level0_slow(options), options.level0_stop);
    let debt = part(pressure.debt, options.debt_slow, options.debt_stop);
    let memtables = if pressure.frozen_memtables >= options.frozen_memtables {
        of(pressure.memtable_bytes, options.memtable_bytes / 2, options.memtable_bytes)
    } else {
        0.0
    };
    LONGEST.mul_f64(level0.max(debt).max(memtables).min(1.0).powi(2))
}

/// Tables of level 0 above which writes are held back.
fn level0_slow(options: &TreeOptions) -> usize {
    options.level0_stop - options.level0_stop / 4
}

/// What holds writes back.
#[derive(Default)]
pub(super) struct Pace {
    /// Whether there is any pressure: all that a write looks at otherwise.
    is_needed: AtomicBool,
    /// Bytes that wait to be merged.
    debt: AtomicU64,
    /// When the next write may begin.
    free: Mutex<Option<Instant>>,
    /// When merges may read on.
    merge_free: Mutex<Option<Instant>>,
}

/// How long it is until something is through that takes so long, in a queue that is free from some time on. No time is saved up: after a pause it begins at once.
fn queue(free: &mut Option<Instant>, now: Instant, takes: Duration) -> Duration {
    let end = free.map_or(now, |free| free.max(now)) + takes;
    *free = Some(end);
    end - now
}

impl Inner {
    /// Takes notice of what there is to be flushed and merged.
    pub(super) fn feel(&self, view: &View) {
        let debt = debt_bytes(&view.version, &self.options.targets);
        self.pace.debt.store(debt, Ordering::Relaxed);
        let is_needed = self.options.has_workers
            && (view.frozen.len() >= self.options.frozen_memtables
                || debt > self.options.debt_slow
                || view.version.levels[0].len() > level0_slow(&self.options));
        self.pace.is_needed.store(is_needed, Ordering::Relaxed);
    }

    /// Holds a write of so many bytes back for as long as it has to be. Nothing is locked meanwhile.
    #[inline]
    pub(super) fn hold_back(&self, bytes: usize) {
        if self.pace.is_needed.load(Ordering::Relaxed) {
            self.hold_back_now(bytes);
        }
    }

    #[cold]
    fn hold_back_now(&self, bytes: usize) {
        let view = self.view.load();
        let pressure = Pressure {
            level0_tables: view.version.levels[0].len(),
            debt: self.pace.debt.load(Ordering::Relaxed),
            frozen_memtables: view.frozen.len(),
            memtable_bytes: view.memtable.bytes(),
        };
        drop(view);
        let nanos = delay(&pressure, &self.options).as_nanos() * bytes as u128 / MEBIBYTE;
        let wait = {
            let (mut free, now) = (self.pace.free.lock(), Instant::now());
            queue(&mut free, now, Duration::from_nanos(nanos as u64));
            // Many who come together do not make the queue any longer.
            let end = free.map_or(now, |free| free.min(now + LONGEST_SLEEP));
            *free = Some(end);
            end - now
        };
        if wait < SHORTEST_SLEEP || self.look().is_err() {
            return;
        }
        let begin = Instant::now();
        sleep(wait);
        self.counters.delays.fetch_add(1, Ordering::Relaxed);
        self.counters.delayed_us.fetch_add(begin.elapsed().as_micros() as u64, Ordering::Relaxed);
    }

    /// Holds a merge back that has read so many bytes, where the options ask for it. An error where the tree is being closed.
    pub(super) fn hold_back_merge(&self, bytes: u64) -> Result<()> {
        self.is_open()?;
        let Some(per_second) = self.options.merge_bytes_per_second else { return Ok(()) };
        let takes =
            Duration::from_nanos((u128::from(bytes) * 1_000_000_000 / u128::from(per_second.max(1))) as u64);
        let mut wait = queue(&mut self.pace.merge_free.lock(), Instant::now(), takes);
        let end = Instant::now() + wait;
        let mut state = self.state.lock();
        while !wait.is_zero() && !state.is_closing {
            self.closing.wait_for(&mut state, wait);
            wait = end.saturating_duration_since(Instant::now());
        }
        if state.is_closing { Err(Error::Closed) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearer_the_stop_the_longer_the_wait() {
        let options = TreeOptions {
            level0_stop: 20,
            debt_slow: 1_000,
            debt_stop: 2_000,
            frozen_memtables: 2,
            memtable_bytes: 1_000,
            ..TreeOptions::default()
        };
        // Tables of level 0, bytes to be merged, memtables that wait, bytes of the one that is written to, and the wait of a mebibyte in microseconds.
        let cases = [
            (0, 0, 0, 0, 0),
            (15, 0, 0, 0, 0),
            (16, 0, 0, 0, 10_000),
            (17, 0, 0, 0, 40_000),
            (18, 0, 0, 0, 90_000),
            (20, 0, 0, 0, 250_000),
            (50, 0, 0, 0, 250_000),
            // As long as another one may wait there is no reason to.
            (0, 0, 1, 1_000, 0),
            (0, 0, 2, 500, 0),
            (0, 0, 2, 600, 10_000),
            (0, 0, 2, 750, 62_500),
            (0, 0, 2, 1_000, 250_000),
            (0, 0, 3, 2_000, 250_000),
            (0, 1_000, 0, 0, 0),
            (0, 1_500, 0, 0, 62_500),
            (0, 9_000, 0, 0, 250_000),
            // The nearest one counts.
            (16, 1_500, 2, 600, 62_500),
            (16, 0, 2, 750, 62_500),
            (18, 0, 2, 600, 90_000),
        ];
        for (level0_tables, debt, frozen_memtables, memtable_bytes, expected) in cases {
            let pressure = Pressure { level0_tables, debt, frozen_memtables, memtable_bytes };
            let found = delay(&pressure, &options).as_secs_f64() * 1e6;
            assert!((found - f64::from(expected)).abs() < 1.0, "{pressure:?}: {found} µs");
        }
        // Options as small as they can be.
        for level0_stop in 0..4 {
            let tiny = TreeOptions { level0_stop, memtable_bytes: 1, frozen_memtables: 0, ..options };
            let pressure = Pressure { level0_tables: 4, debt: 0, frozen_memtables: 0, memtable_bytes: 1 };
            assert_eq!(delay(&pressure, &tiny), LONGEST);
        }
    }

    #[test]
    fn waits_add_up_and_pauses_do_not() {
        let (now, ms) = (Instant::now(), Duration::from_millis);
        let mut free = None;
        // When it comes, how long it takes, and how long it waits for its end.
        for (at, takes, expected) in
            [(0, 3, 3), (0, 4, 7), (5, 1, 3), (20, 2, 2), (21, 0, 1), (30, 5_000, 5_000), (31, 5, 5_004)]
        {
            assert_eq!(queue(&mut free, now + ms(at), ms(takes)), ms(expected), "at {at}");
        }
    }
}
