//! Time that threads ran or waited for a CPU, from the scheduler's account: the share of a latency that a busy machine
//! adds, and that no server can avoid.

use std::path::Path;
use std::time::{Duration, Instant};

/// How long `work` took beside the time in which this thread or a thread of the process ran or was ready to run: the time
/// that was spent waiting for something else, for example for the disk.
pub(crate) fn blocked(pid: i32, work: impl FnOnce()) -> Duration {
    let (before, begun) = (scheduled(pid), Instant::now());
    work();
    let elapsed = begun.elapsed();
    elapsed.saturating_sub(scheduled(pid).saturating_sub(before))
}

/// CPU time and time on a run queue of this thread and of all threads of a process.
fn scheduled(pid: i32) -> Duration {
    let tasks = std::fs::read_dir(format!("/proc/{pid}/task")).unwrap();
    let threads = tasks.flatten().filter_map(|task| account(&task.path().join("schedstat")));
    threads.chain(account(Path::new("/proc/thread-self/schedstat"))).sum()
}

/// `None` of a thread that has ended, and where the kernel keeps no account (`CONFIG_SCHED_INFO`).
fn account(path: &Path) -> Option<Duration> {
    let text = std::fs::read_to_string(path).ok()?;
    let nanoseconds = text.split_whitespace().take(2).map(|field| field.parse::<u64>().ok());
    nanoseconds.sum::<Option<u64>>().map(Duration::from_nanos)
}
