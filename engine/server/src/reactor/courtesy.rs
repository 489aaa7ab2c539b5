//! May a thread that wakes take the CPU from whoever has it? It is better for the first request, and worse for many: where clients share the CPUs with
//! several I/O threads, each of their writes would wake a thread that takes the CPU from them to serve that one, and hands it back.
//!
//! So a thread that is busy lets others finish (`SCHED_BATCH`) and finds more to do when its time comes; one that has little to do is woken at
//! once. A single thread is left as it is: the kernel has another CPU for those beside it, or they wait for its replies.

use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};

/// Hundredths of a CPU: with more a thread is busy, with less it is not.
const BUSY: u128 = 30;
const QUIET: u128 = 20;

pub(crate) struct Courtesy {
    is_alone: bool,
    is_polite: bool,
    since: Instant,
    used: Duration,
}

impl Courtesy {
    pub(crate) fn new(threads: usize) -> Self {
        Self { is_alone: threads < 2, is_polite: false, since: Instant::now(), used: used() }
    }

    /// Looks at what the thread has done since the last time; called by the thread itself, every tick.
    pub(crate) fn tick(&mut self, now: Instant) {
        if self.is_alone {
            return;
        }
        let used = used();
        let passed = (now - std::mem::replace(&mut self.since, now)).as_nanos().max(1);
        let share = (used - std::mem::replace(&mut self.used, used)).as_nanos() * 100 / passed;
        let is_polite = if self.is_polite { share >= QUIET } else { share > BUSY };
        if is_polite != self.is_polite {
            self.is_polite = is_polite;
            set_polite(is_polite);
        }
    }
}

/// CPU time of this thread.
fn used() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), time.tv_nsec.unsigned_abs() as u32)
}

/// Where it is forbidden all stays as it was.
fn set_polite(is_polite: bool) {
    let policy = if is_polite { libc::SCHED_BATCH } else { libc::SCHED_OTHER };
    // SAFETY: reads the structure that it is given.
    unsafe {
        let parameters = std::mem::zeroed::<libc::sched_param>();
        libc::sched_setscheduler(0, policy, &raw const parameters);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn policy() -> i32 {
        // SAFETY: asks for a number.
        unsafe { libc::sched_getscheduler(0) }
    }

    #[test]
    fn a_busy_thread_among_several_lets_others_finish() {
        let mut courtesy = Courtesy::new(2);
        let after = |courtesy: &mut Courtesy, used_ms, passed_ms| {
            let now = Instant::now();
            courtesy.since = now - Duration::from_millis(passed_ms);
            courtesy.used = used() - Duration::from_millis(used_ms);
            courtesy.tick(now);
            policy()
        };
        // What was used can only be taken off what this thread has used at all.
        while used() < Duration::from_millis(60) {}
        assert_eq!(after(&mut courtesy, 25, 100), libc::SCHED_OTHER);
        assert_eq!(after(&mut courtesy, 50, 100), libc::SCHED_BATCH);
        assert_eq!(after(&mut courtesy, 25, 100), libc::SCHED_BATCH);
        assert_eq!(after(&mut courtesy, 1, 100), libc::SCHED_OTHER);
        let mut alone = Courtesy::new(1);
        assert_eq!(after(&mut alone, 50, 100), libc::SCHED_OTHER);
    }
}
