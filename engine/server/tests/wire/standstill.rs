//! How long did this machine stand still? A virtual processor is stopped for tens of milliseconds now and then while its host is busy;
//! nothing on it runs then, not even its timer, and no server could have answered.
//!
//! A thread on each CPU wakes every millisecond, ahead of all ordinary threads. Where it wakes late, the CPU did not run. Without the right
//! to go ahead of others nothing is counted: a busy thread would look like a CPU that stands still.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

const STEP: Duration = Duration::from_millis(1);
/// Less is how late a timer may come.
const LEAST: Duration = Duration::from_millis(5);

/// Counts from its start to its end.
pub(crate) struct Standstill {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
}

struct Shared {
    end: AtomicBool,
    total_ns: AtomicU64,
    /// When the last of the times that are counted ended, so that two CPUs that stood still together count once.
    last: Mutex<Instant>,
}

impl Standstill {
    pub(crate) fn start() -> Self {
        let last = Mutex::new(Instant::now());
        let shared = Arc::new(Shared { end: AtomicBool::new(false), total_ns: AtomicU64::new(0), last });
        let cpus = std::thread::available_parallelism().map_or(1, usize::from);
        let threads = (0..cpus).map(|cpu| {
            let shared = Arc::clone(&shared);
            std::thread::spawn(move || watch(cpu, &shared))
        });
        let threads = threads.collect();
        Self { shared, threads }
    }

    /// How long it has been so far.
    pub(crate) fn total(&self) -> Duration {
        Duration::from_nanos(self.shared.total_ns.load(Ordering::Acquire))
    }
}

impl Drop for Standstill {
    fn drop(&mut self) {
        self.shared.end.store(true, Ordering::Relaxed);
        self.threads.drain(..).for_each(|thread| thread.join().unwrap());
    }
}

fn watch(cpu: usize, shared: &Shared) {
    let mut set = rustix::thread::CpuSet::new();
    set.set(cpu);
    if rustix::thread::sched_setaffinity(None, &set).is_err() || !goes_ahead() {
        return;
    }
    let mut before = Instant::now();
    while !shared.end.load(Ordering::Relaxed) {
        std::thread::sleep(STEP);
        let now = Instant::now();
        let begin = before + STEP;
        if now.saturating_duration_since(begin) >= LEAST {
            let mut last = shared.last.lock().unwrap();
            let counted = now.saturating_duration_since(begin.max(*last));
            *last = now;
            shared.total_ns.fetch_add(counted.as_nanos() as u64, Ordering::Release);
        }
        before = now;
    }
}

/// Whether this thread runs before all ordinary ones from now on.
fn goes_ahead() -> bool {
    // SAFETY: reads the structure that it is given.
    unsafe {
        let mut parameters = std::mem::zeroed::<libc::sched_param>();
        parameters.sched_priority = 1;
        libc::sched_setscheduler(0, libc::SCHED_FIFO, &raw const parameters) == 0
    }
}
