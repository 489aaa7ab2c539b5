//! CPU stalls: times in which a CPU of this machine ran nothing at all. A hypervisor pauses a virtual CPU for tens of milliseconds now
//! and then, and no server on it could have answered.
//!
//! One thread on each CPU wakes every millisecond with real-time priority (`SCHED_FIFO`). If it wakes late, the CPU was paused. Without
//! the privilege for that priority nothing is measured, because a late wake-up could also mean that another thread was busy.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

const STEP: Duration = Duration::from_millis(1);
/// Shorter delays are normal timer jitter.
const SHORTEST_STALL: Duration = Duration::from_millis(5);

/// Measures from `start` until it is dropped.
pub(crate) struct CpuStalls {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
}

struct Shared {
    end: AtomicBool,
    total_ns: AtomicU64,
    /// A thread could not be pinned, or has no real-time priority.
    is_incomplete: AtomicBool,
    /// End of the last stall, so that overlapping stalls of two CPUs count once.
    last: Mutex<Instant>,
}

impl CpuStalls {
    pub(crate) fn start() -> Self {
        let shared = Arc::new(Shared {
            end: AtomicBool::new(false),
            total_ns: AtomicU64::new(0),
            is_incomplete: AtomicBool::new(false),
            last: Mutex::new(Instant::now()),
        });
        let cpus = std::thread::available_parallelism().map_or(1, usize::from);
        let watch_one = |cpu| {
            let shared = Arc::clone(&shared);
            std::thread::spawn(move || watch(cpu, &shared))
        };
        let threads = (0..cpus).map(watch_one).collect();
        Self { shared, threads }
    }

    /// Duration of all stalls so far; `None` if they could not be measured on every CPU.
    pub(crate) fn total(&self) -> Option<Duration> {
        let is_complete = !self.shared.is_incomplete.load(Ordering::Acquire);
        is_complete.then(|| Duration::from_nanos(self.shared.total_ns.load(Ordering::Acquire)))
    }
}

impl Drop for CpuStalls {
    fn drop(&mut self) {
        self.shared.end.store(true, Ordering::Relaxed);
        self.threads.drain(..).for_each(|thread| thread.join().unwrap());
    }
}

fn watch(cpu: usize, shared: &Shared) {
    let mut set = rustix::thread::CpuSet::new();
    set.set(cpu);
    if rustix::thread::sched_setaffinity(None, &set).is_err() || !set_realtime() {
        shared.is_incomplete.store(true, Ordering::Release);
        return;
    }
    let mut before = Instant::now();
    while !shared.end.load(Ordering::Relaxed) {
        std::thread::sleep(STEP);
        let now = Instant::now();
        let due = before + STEP;
        if now.saturating_duration_since(due) >= SHORTEST_STALL {
            let mut last = shared.last.lock().unwrap();
            let stall = now.saturating_duration_since(due.max(*last));
            *last = now;
            shared.total_ns.fetch_add(stall.as_nanos() as u64, Ordering::Release);
        }
        before = now;
    }
}

/// Gives the calling thread real-time priority; false without the privilege.
fn set_realtime() -> bool {
    // SAFETY: reads the structure that it is given.
    unsafe {
        let mut parameters = std::mem::zeroed::<libc::sched_param>();
        parameters.sched_priority = 1;
        libc::sched_setscheduler(0, libc::SCHED_FIFO, &raw const parameters) == 0
    }
}
