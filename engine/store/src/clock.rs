//! Clocks: the time of day, which expiry is compared with. Tests drive their own.

use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

/// A source of wall-clock time. Read only where an expiry is involved: access order never uses it.
///
/// **A clock that is set back or jumps.** The time of a durable store,
/// [`Database::now_ms`](crate::Database::now_ms), never goes back, not even when the store is opened again:
/// an entry that has expired stays expired. While the clock is behind, the store's time pauses (up to a
/// second behind) or moves on at 7/8 of the speed of [`elapsed_ms`](Self::elapsed_ms) until the clock has
/// caught up. A clock that jumps ahead by mistake expires every entry whose end it passes, for good.
/// Compute the end of a new entry from `Database::now_ms`, not from the clock: then it lives about
/// that long in any case.
///
/// In memory mode there is no such memory: where the clock is set back, entries live longer by as much.
pub trait Clock: Send + Sync {
    /// Milliseconds since the Unix epoch.
    fn now_ms(&self) -> u64;

    /// Milliseconds since any moment, by a clock that is not set. A durable store uses it to measure
    /// time while [`now_ms`](Self::now_ms) is behind an earlier time. By default `now_ms`, so that a clock
    /// that tests drive is the only source of time.
    fn elapsed_ms(&self) -> u64 {
        self.now_ms()
    }
}

/// The system's clock.
#[derive(Debug, Default, Clone, Copy)]
pub struct SystemClock;

/// When the process asked first.
static BEGIN: LazyLock<Instant> = LazyLock::new(Instant::now);

impl Clock for SystemClock {
    fn now_ms(&self) -> u64 {
        // A clock before 1970 reads as 0, which keeps every expiry in the future.
        SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .map_or(0, |since| u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
    }

    fn elapsed_ms(&self) -> u64 {
        u64::try_from(BEGIN.elapsed().as_millis()).unwrap_or(u64::MAX)
    }
}

/// A clock that stands still until it is told to move.
#[derive(Debug, Default)]
pub struct ManualClock(AtomicU64);

impl ManualClock {
    /// A clock that reads `now_ms` milliseconds since the Unix epoch.
    #[must_use]
    pub fn new(now_ms: u64) -> Self {
        Self(AtomicU64::new(now_ms))
    }

    /// Sets the time to `now_ms` milliseconds since the Unix epoch.
    pub fn set(&self, now_ms: u64) {
        self.0.store(now_ms, Ordering::Relaxed);
    }

    /// Moves the time forward by `by_ms` milliseconds.
    pub fn advance(&self, by_ms: u64) {
        self.0.fetch_add(by_ms, Ordering::Relaxed);
    }
}

impl Clock for ManualClock {
    fn now_ms(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}
