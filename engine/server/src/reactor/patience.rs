//! Does a thread with nothing to do ask again at once, or sleep until the kernel wakes it?
//!
//! Waking a sleeping thread takes longer than most commands. With `--busy-poll` a thread asks for so long before it sleeps. It needs a
//! CPU of its own for that: where others wait for the CPU meanwhile, the kernel takes it away from us, which is counted, and the asking
//! stops for a while.

use std::time::{Duration, Instant};

/// How often the CPU may be taken away between two ticks. A loop that needs it as well takes it at the end of each of our slices, 11 to 13 times where
/// that was looked at; a client that we answer from the same CPU does so hundreds of times, and what the kernel has to do now and then a few times.
const MOST_PREEMPTIONS: i64 = 10;

/// Ticks without polling after that: a second.
const PAUSE_TICKS: u32 = 10;

pub(crate) struct Patience {
    /// How long to ask; zero never does.
    limit: Duration,
    preemptions: i64,
    pause: u32,
    /// When the asking began.
    since: Option<Instant>,
}

impl Patience {
    pub(crate) fn new(limit: Duration) -> Self {
        Self { limit, preemptions: preemptions(), pause: 0, since: None }
    }

    /// Whether to ask without waiting, after asking has brought nothing or something.
    pub(crate) fn asks_again(&mut self, was_busy: bool) -> bool {
        if self.limit.is_zero() || self.pause > 0 {
            return false;
        }
        let now = Instant::now();
        match self.since {
            Some(since) if !was_busy => now - since < self.limit,
            _ => {
                self.since = Some(now);
                true
            }
        }
    }

    /// Sees whether the CPU is wanted by others; called every tick.
    pub(crate) fn tick(&mut self) {
        if self.limit.is_zero() {
            return;
        }
        let now = preemptions();
        let taken = now - std::mem::replace(&mut self.preemptions, now);
        if taken > MOST_PREEMPTIONS && self.pause == 0 {
            tracing::debug!("busy polling pauses: the CPU was taken away {taken} times");
            self.pause = PAUSE_TICKS;
        } else {
            self.pause = self.pause.saturating_sub(1);
        }
    }
}

/// How often this thread has lost its CPU to another one.
fn preemptions() -> i64 {
    // SAFETY: fills the structure that it is given, which may hold any bytes.
    unsafe {
        let mut usage = std::mem::zeroed::<libc::rusage>();
        if libc::getrusage(libc::RUSAGE_THREAD, &raw mut usage) == 0 { usage.ru_nivcsw } else { 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn asking_ends_with_the_limit_and_begins_anew_with_work() {
        let mut patience = Patience::new(Duration::from_millis(20));
        assert!(patience.asks_again(true) && patience.asks_again(false));
        std::thread::sleep(Duration::from_millis(25));
        assert!(!patience.asks_again(false));
        assert!(patience.asks_again(true));
        patience.preemptions -= 100;
        patience.tick();
        assert!(!patience.asks_again(true));
        (0..PAUSE_TICKS).for_each(|_| patience.tick());
        assert!(patience.asks_again(true));
        assert!(!Patience::new(Duration::ZERO).asks_again(true));
    }
}
