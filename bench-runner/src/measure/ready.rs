//! Who was ready to run? What each thread of a target ran, or waited for a CPU while it could have run.
//!
//! A thread that waits for its turn is as good as busy: on a crowded machine an honest server looks idle by its CPU
//! time alone. The kernel counts both in `/proc/PID/task/TID/schedstat`.

use crate::load::generator::schedstat_ns;
use crate::target::cpu_time::descendants;
use std::collections::BTreeMap;
use std::fs;

/// Time run and time waited for a CPU together, ns, by thread.
#[derive(Debug, Clone, Default)]
pub(super) struct ReadyTimes(BTreeMap<u32, u64>);

impl ReadyTimes {
    /// Of all threads of the process and its descendants.
    pub(super) fn take(pid: u32) -> Self {
        let mut times = BTreeMap::new();
        for member in descendants(pid) {
            for task in fs::read_dir(format!("/proc/{member}/task")).into_iter().flatten().flatten() {
                if let Ok(thread) = task.file_name().to_string_lossy().parse() {
                    let (ran, waited) = schedstat_ns(&task.path().join("schedstat"));
                    times.insert(thread, ran + waited);
                }
            }
        }
        Self(times)
    }

    /// The longest of one thread, and that of all together, since an earlier reading.
    pub(super) fn since(&self, before: &Self) -> (u64, u64) {
        let grown = |(thread, now): (&u32, &u64)| now - before.0.get(thread).copied().unwrap_or(0).min(*now);
        (self.0.iter().map(grown).max().unwrap_or(0), self.0.iter().map(grown).sum())
    }
}

#[cfg(test)]
mod tests {
    use super::super::os_stat::parse_machine;
    use super::*;

    #[test]
    fn the_readiest_thread_and_the_sum_are_since_the_earlier_reading() {
        let before = ReadyTimes(BTreeMap::from([(1, 100), (2, 50), (9, 7)]));
        let after = ReadyTimes(BTreeMap::from([(1, 110), (2, 80), (3, 5)]));
        assert_eq!(after.since(&before), (30, 45));
    }

    /// Time that the hypervisor takes is neither work nor waiting.
    #[test]
    fn a_thread_that_works_is_ready_all_the_time() {
        let stolen_ns = || {
            let ticks = parse_machine(&fs::read_to_string("/proc/stat").unwrap()).steal;
            ticks * 1_000_000_000 / rustix::param::clock_ticks_per_second()
        };
        let (begin, stolen_before) = (std::time::Instant::now(), stolen_ns());
        let before = ReadyTimes::take(std::process::id());
        while begin.elapsed().as_millis() < 200 {
            std::hint::spin_loop();
        }
        let (longest_ns, _) = ReadyTimes::take(std::process::id()).since(&before);
        let stolen_ns = stolen_ns() - stolen_before;
        assert!(
            longest_ns + stolen_ns >= 150_000_000,
            "{longest_ns} ns of 200 ms, {stolen_ns} ns were stolen"
        );
    }
}
