//! Store time: what expiries are compared with. It follows the clock, but never goes back.
//!
//! An expired value may have been dropped by a merge, or be still in a table; a client may have been told
//! that it is gone. If time went back, a part of the expired values would be there again. So store time
//! is at least the highest time that the process has seen, and at least the time that the manifest
//! holds, which each edit writes down before its consequences are seen.
//!
//! When the clock is set back, store time pauses while the difference is small. Otherwise a mistake of the
//! clock by years would stop all expiry for years: then it moves on at 7/8 of the speed of
//! [`Clock::elapsed_ms`], so that a new lifetime takes about its length, and the clock catches up.

use super::manifest::TableFacts;
use super::sync::Mutex;
use crate::clock::Clock;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Store time pauses when the clock is behind by no more than this. Threads that read the clock at the same
/// moment differ by less.
const PAUSE_MS: u64 = 1_000;

/// The time of a store.
pub(crate) struct StoreTime {
    clock: Arc<dyn Clock>,
    /// The highest time that was seen.
    latest_ms: AtomicU64,
    behind: Mutex<Behind>,
    /// Values of this store expire or did, so the manifest has to hold its time.
    matters: AtomicBool,
}

/// How time moves on while the clock is behind.
#[derive(Default)]
struct Behind {
    /// `elapsed_ms` when store time was `latest_ms`.
    elapsed_ms: u64,
    latest_ms: u64,
}

impl StoreTime {
    pub(crate) fn new(clock: Arc<dyn Clock>) -> Self {
        Self {
            clock,
            latest_ms: AtomicU64::new(0),
            behind: Mutex::new(Behind::default()),
            matters: AtomicBool::new(false),
        }
    }

    /// Goes on from the time that the manifest holds.
    pub(crate) fn resume(&self, kept_ms: u64) {
        self.latest_ms.fetch_max(kept_ms, Ordering::Relaxed);
        self.note_expiry();
    }

    /// Milliseconds since the Unix epoch. In the common case this is a load and a comparison: the highest
    /// time is written at most once a millisecond, by the first caller that sees it.
    #[inline]
    pub(crate) fn now_ms(&self) -> u64 {
        let now = self.clock.now_ms();
        let latest = self.latest_ms.load(Ordering::Relaxed);
        if now == latest {
            return now;
        }
        if now > latest {
            return self.latest_ms.fetch_max(now, Ordering::Relaxed).max(now);
        }
        if latest - now <= PAUSE_MS { latest } else { self.move_on() }
    }

    #[cold]
    fn move_on(&self) -> u64 {
        let mut behind = self.behind.lock();
        let latest = self.latest_ms.load(Ordering::Relaxed);
        // The clock may have moved on since the caller read it, while the caller waited for the lock.
        let now = self.clock.now_ms();
        if latest.saturating_sub(now) <= PAUSE_MS {
            return self.latest_ms.fetch_max(now, Ordering::Relaxed).max(now);
        }
        let elapsed = self.clock.elapsed_ms();
        // It fell behind only now, or the clock that measures was itself set back.
        if behind.latest_ms != latest || elapsed < behind.elapsed_ms {
            *behind = Behind { elapsed_ms: elapsed, latest_ms: latest };
            return latest;
        }
        let eighths = (elapsed - behind.elapsed_ms) / 8;
        behind.elapsed_ms += 8 * eighths;
        behind.latest_ms = latest.saturating_add(7 * eighths);
        self.latest_ms.fetch_max(behind.latest_ms, Ordering::Relaxed).max(behind.latest_ms)
    }

    /// A value that expires was written, or left out of a table: from now on the manifest has to hold the
    /// time.
    #[inline]
    pub(crate) fn note_expiry(&self) {
        if !self.matters.load(Ordering::Relaxed) {
            self.matters.store(true, Ordering::Relaxed);
        }
    }

    /// The same of tables that were opened or ingested.
    pub(crate) fn note_tables<'a>(&self, mut tables: impl Iterator<Item = &'a TableFacts>) {
        if tables.any(|table| table.first_end_ms.is_some()) {
            self.note_expiry();
        }
    }

    /// The time that an edit of the manifest has to hold. `None`, where the store has never had values that
    /// expire: an earlier version could not read the field.
    pub(crate) fn to_keep(&self) -> Option<u64> {
        self.matters.load(Ordering::Relaxed).then(|| self.latest_ms.load(Ordering::Relaxed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::ManualClock;

    const HOUR_MS: u64 = 60 * 60 * 1_000;

    #[test]
    fn time_follows_the_clock_and_never_goes_back() {
        let clock = Arc::new(ManualClock::new(HOUR_MS));
        let time = StoreTime::new(Arc::clone(&clock) as Arc<dyn Clock>);
        assert_eq!(time.now_ms(), HOUR_MS);
        clock.advance(5);
        assert_eq!(time.now_ms(), HOUR_MS + 5);
        clock.set(HOUR_MS - PAUSE_MS + 5);
        assert_eq!(time.now_ms(), HOUR_MS + 5);
        clock.advance(700);
        assert_eq!(time.now_ms(), HOUR_MS + 5, "a small difference is waited for");
        clock.set(HOUR_MS + 7);
        assert_eq!(time.now_ms(), HOUR_MS + 7);
    }

    #[test]
    fn far_behind_time_moves_on_more_slowly_until_the_clock_has_caught_up() {
        let clock = Arc::new(ManualClock::new(9 * HOUR_MS));
        let time = StoreTime::new(Arc::clone(&clock) as Arc<dyn Clock>);
        assert_eq!(time.now_ms(), 9 * HOUR_MS);
        clock.set(8 * HOUR_MS);
        assert_eq!(time.now_ms(), 9 * HOUR_MS);
        for _ in 0..1_000 {
            clock.advance(1);
            time.now_ms();
        }
        assert_eq!(time.now_ms(), 9 * HOUR_MS + 875);
        clock.set(7 * HOUR_MS);
        assert_eq!(time.now_ms(), 9 * HOUR_MS + 875);
        clock.advance(8_000);
        assert_eq!(time.now_ms(), 9 * HOUR_MS + 7_875);
        // Two hours behind, it takes 16 hours.
        clock.advance(20 * HOUR_MS);
        time.now_ms();
        assert_eq!(time.now_ms(), 27 * HOUR_MS + 8_000);
        // What passed while the clock was ahead does not count when it falls behind again.
        clock.set(26 * HOUR_MS);
        assert_eq!(time.now_ms(), 27 * HOUR_MS + 8_000);
        clock.advance(80);
        assert_eq!(time.now_ms(), 27 * HOUR_MS + 8_070);
    }

    #[test]
    fn a_clock_at_the_end_of_time_is_no_overflow() {
        let clock = Arc::new(ManualClock::new(u64::MAX));
        let time = StoreTime::new(Arc::clone(&clock) as Arc<dyn Clock>);
        assert_eq!(time.now_ms(), u64::MAX);
        clock.set(0);
        assert_eq!(time.now_ms(), u64::MAX);
        clock.advance(HOUR_MS);
        assert_eq!(time.now_ms(), u64::MAX);
    }
}
