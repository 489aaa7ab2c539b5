//! What does the target use from second to second while it is loaded, and does it slow down?

use crate::load::recorder::WINDOW_NS;
use crate::model::Window;
use crate::target::RunningTarget;
use crate::target::memory::rss_bytes_under_load;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// How often the end of the work is looked for.
const TICK: Duration = Duration::from_millis(10);
/// Fewer whole windows say nothing of a drift.
const DRIFT_WINDOWS_MIN: usize = 6;

/// The target at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Sample {
    /// None where nothing says it.
    server_cpu_ns: Option<u64>,
    /// None where its process is not known.
    rss_bytes: Option<u64>,
}

/// Does something and, where `wanted`, looks at the target at its beginning, at every full second and at its end.
pub(super) fn each_second<T>(
    target: &RunningTarget,
    wanted: bool,
    work: impl FnOnce() -> T,
) -> (T, Vec<Sample>) {
    if !wanted {
        return (work(), Vec::new());
    }
    let look = || Sample {
        server_cpu_ns: target.cpu.read().map(|cpu| cpu.total_ns),
        rss_bytes: target.has_process().then(|| rss_bytes_under_load(target.pid)),
    };
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let watcher = scope.spawn(|| {
            let begin = Instant::now();
            let mut samples = vec![look()];
            while !over.load(Ordering::Relaxed) {
                if begin.elapsed()
                    >= Duration::from_nanos(WINDOW_NS) * u32::try_from(samples.len()).unwrap_or(u32::MAX)
                {
                    samples.push(look());
                }
                std::thread::sleep(TICK);
            }
            samples.push(look());
            samples
        });
        let done = work();
        over.store(true, Ordering::Relaxed);
        (done, watcher.join().unwrap_or_default())
    })
}

/// Adds what was used within each window, and the memory at its end.
pub(super) fn into_windows(samples: &[Sample], windows: &mut [Window]) {
    for (window, pair) in windows.iter_mut().zip(samples.windows(2)) {
        let [from, to] = pair else { continue };
        window.server_cpu_ns =
            to.server_cpu_ns.zip(from.server_cpu_ns).map(|(to, from)| to.saturating_sub(from));
        window.rss_bytes = to.rss_bytes;
    }
}

/// Throughput of the last third of the whole windows over that of the first third; none of a short run.
pub(super) fn drift_ratio(windows: &[Window]) -> Option<f64> {
    let whole: Vec<f64> = windows
        .iter()
        .filter(|window| window.length_ms * 1e6 >= WINDOW_NS as f64)
        .map(|window| window.operations as f64)
        .collect();
    if whole.len() < DRIFT_WINDOWS_MIN {
        return None;
    }
    let third = whole.len() / 3;
    let first: f64 = whole.iter().take(third).sum();
    let last: f64 = whole.iter().rev().take(third).sum();
    (first > 0.0).then(|| last / first)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn windows(operations: &[u64]) -> Vec<Window> {
        let window =
            |operations: &u64| Window { length_ms: 1e3, operations: *operations, ..Window::default() };
        operations.iter().map(window).collect()
    }

    #[test]
    fn drift_compares_the_thirds_and_leaves_out_the_rest_of_a_second() {
        let mut eight = windows(&[100, 100, 1, 1, 1, 1, 90, 60]);
        assert_eq!(drift_ratio(&eight), Some(0.75));
        eight.push(Window { length_ms: 300.0, operations: 1, ..Window::default() });
        assert_eq!(drift_ratio(&eight), Some(0.75));
    }

    #[test]
    fn a_short_or_empty_run_has_no_drift() {
        assert_eq!(drift_ratio(&windows(&[1, 1, 1, 1, 1])), None);
        assert_eq!(drift_ratio(&windows(&[0; 9])), None);
    }

    #[test]
    fn a_window_gets_what_was_used_within_it() {
        let sample = |cpu, rss| Sample { server_cpu_ns: Some(cpu), rss_bytes: Some(rss) };
        let mut two = windows(&[1, 1]);
        into_windows(&[sample(10, 1), sample(30, 2), sample(35, 3)], &mut two);
        assert_eq!((two[0].server_cpu_ns, two[0].rss_bytes), (Some(20), Some(2)));
        assert_eq!((two[1].server_cpu_ns, two[1].rss_bytes), (Some(5), Some(3)));
        let unknown = Sample { server_cpu_ns: None, rss_bytes: None };
        into_windows(&[unknown; 3], &mut two);
        assert_eq!((two[1].server_cpu_ns, two[1].rss_bytes), (None, None));
    }
}
