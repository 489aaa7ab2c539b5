//! What time is it for the commands of one loop turn? Read once when the turn's bytes arrive, as Redis does.
//!
//! A pipelined batch would otherwise ask the kernel's clock once a command, and EXPIRE followed by TTL in one batch
//! could see two different moments.

use std::sync::atomic::{AtomicU64, Ordering};

use plumbkv::{Clock, SystemClock};

/// Unix time in milliseconds, as of the last [`refresh`](Self::refresh).
#[derive(Debug)]
pub(crate) struct TurnClock(AtomicU64);

impl TurnClock {
    /// A clock that shows the present moment.
    pub(crate) fn new() -> Self {
        Self(AtomicU64::new(SystemClock.now_ms()))
    }

    /// Reads the system's clock.
    pub(crate) fn refresh(&self) {
        let now = SystemClock.now_ms();
        // Many turns end within a millisecond, and what is written to anew is fetched anew by every thread.
        if self.0.load(Ordering::Relaxed) != now {
            self.0.store(now, Ordering::Relaxed);
        }
    }

    /// Moves the clock, for tests that cannot wait.
    #[cfg(test)]
    pub(crate) fn advance(&self, by_ms: u64) {
        self.0.fetch_add(by_ms, Ordering::Relaxed);
    }
}

impl Clock for TurnClock {
    fn now_ms(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    fn elapsed_ms(&self) -> u64 {
        SystemClock.elapsed_ms()
    }
}
