//! What did the system do between two moments? CPU time by owner, switches, steal, memory.

use super::ready::ReadyTimes;
use crate::load::generator::Stretched;
use crate::model::OsStat;
use crate::target::cpu_time::{CpuTime, Source, descendants};
use crate::target::memory::{rss_bytes, rss_bytes_peak};
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

/// Readings at one moment.
#[derive(Debug, Clone)]
pub(crate) struct Reading {
    at: Instant,
    cpu: CpuTime,
    machine: MachineTicks,
    switches: Switches,
    ready: ReadyTimes,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct MachineTicks {
    busy: u64,
    pub(super) steal: u64,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Switches {
    voluntary: u64,
    involuntary: u64,
}

impl Reading {
    /// Now, of the machine and of the target `pid`. The target should be idle: some sources lag by what a
    /// thread has used since it was last scheduled.
    pub(crate) fn take(pid: u32, source: &Source) -> Self {
        let stat = fs::read_to_string("/proc/stat").unwrap_or_default();
        Self {
            at: Instant::now(),
            cpu: source.read().unwrap_or_default(),
            machine: parse_machine(&stat),
            switches: switches(pid),
            ready: ReadyTimes::take(pid),
        }
    }

    /// What the target has used since an earlier reading, ns.
    pub(crate) fn cpu_since(&self, earlier: &Self) -> u64 {
        self.cpu.since(earlier.cpu).total_ns
    }
}

/// Sums up stretches of load, each between two readings.
#[derive(Debug, Default)]
pub(crate) struct Account {
    seconds: f64,
    stat: OsStat,
    machine_busy_ns: u64,
    generator_ready_max: f64,
    server_ready_ns: u64,
    /// Of the readiest thread in each stretch.
    server_ready_max_ns: u64,
}

/// The kernel counts a CPU's time in ticks of 10 ms: the opening of a store takes a tenth of one.
const SHORTEST_S: f64 = 0.08;

impl Account {
    /// Adds what happened between two readings, and what the generator used meanwhile.
    pub(crate) fn add(&mut self, before: &Reading, after: &Reading, load: &Stretched) {
        let (longest_ns, all_ns) = after.ready.since(&before.ready);
        self.server_ready_max_ns += longest_ns;
        self.server_ready_ns += all_ns;
        self.generator_ready_max = self.generator_ready_max.max(load.ready_max);
        self.add_program(before, after, load.cpu_ns, load.busy_max);
    }

    /// As [`Account::add`], where the generator is another program, or part of the target: then it used nothing.
    pub(crate) fn add_program(&mut self, before: &Reading, after: &Reading, cpu_ns: u64, busy: f64) {
        let tick_ns = 1_000_000_000 / rustix::param::clock_ticks_per_second().max(1);
        let cpu = after.cpu.since(before.cpu);
        self.seconds += after.at.duration_since(before.at).as_secs_f64();
        self.machine_busy_ns += after.machine.busy.saturating_sub(before.machine.busy) * tick_ns;
        let stat = &mut self.stat;
        stat.server_cpu_ns += cpu.total_ns;
        stat.server_user_ns += cpu.user_ns;
        stat.server_system_ns += cpu.system_ns;
        stat.throttled_ms += cpu.throttled_ns as f64 / 1e6;
        stat.steal_ms += (after.machine.steal.saturating_sub(before.machine.steal) * tick_ns) as f64 / 1e6;
        stat.voluntary_switches += after.switches.voluntary.saturating_sub(before.switches.voluntary);
        stat.involuntary_switches += after.switches.involuntary.saturating_sub(before.switches.involuntary);
        stat.generator_cpu_ns += cpu_ns;
        stat.generator_busy_max = stat.generator_busy_max.max(busy);
    }

    /// Adds a while in which neither a target nor a generator works: all that is used then is used by others.
    pub(crate) fn add_quiet(&mut self, time: Duration) {
        let pid = std::process::id();
        let (before, cpu_before) = (Reading::take(pid, &Source::Unknown), process_cpu_ns());
        std::thread::sleep(time);
        let after = Reading::take(pid, &Source::Unknown);
        self.add_program(&before, &after, process_cpu_ns().saturating_sub(cpu_before), 0.0);
    }

    /// The largest share of its time that a generator thread worked, or waited for a CPU to work.
    pub(crate) fn generator_ready_max(&self) -> f64 {
        self.generator_ready_max
    }

    /// Cores that target and generator used together; the largest share of the time that one thread of either was
    /// ready to run; and the threads of the target that were, on average.
    pub(crate) fn readiness(&self) -> (f64, f64, f64) {
        let of_time = |ns: u64| ns as f64 / 1e9 / self.seconds.max(1e-9);
        let cores = of_time(self.stat.server_cpu_ns + self.stat.generator_cpu_ns);
        let ready_max = of_time(self.server_ready_max_ns).max(self.generator_ready_max);
        (cores, ready_max, of_time(self.server_ready_ns))
    }

    /// Cores used by others than target and generator.
    fn foreign_cores(&self) -> f64 {
        // Of a shorter stretch nothing can be told: a single tick would be a core of it.
        if self.seconds < SHORTEST_S {
            return 0.0;
        }
        let known = self.stat.server_cpu_ns + self.stat.generator_cpu_ns;
        self.machine_busy_ns.saturating_sub(known) as f64 / 1e9 / self.seconds
    }

    /// Cores used by others, and by the hypervisor.
    pub(crate) fn others_cores(&self) -> f64 {
        self.foreign_cores() + self.stat.steal_ms / 1e3 / self.seconds.max(1e-9)
    }

    /// The whole, with the target's memory as it is now.
    pub(crate) fn finish(mut self, pid: u32) -> OsStat {
        self.stat.foreign_cpu_cores = self.foreign_cores();
        self.stat.rss_bytes_end = rss_bytes(pid);
        self.stat.rss_bytes_peak = rss_bytes_peak(pid).max(self.stat.rss_bytes_end);
        self.stat
    }
}

/// CPU time of this process, ns.
pub(crate) fn process_cpu_ns() -> u64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// First line of `/proc/stat`: user nice system idle iowait irq softirq steal …; guests are in user already.
pub(super) fn parse_machine(stat: &str) -> MachineTicks {
    let Some(line) = stat.lines().find_map(|line| line.strip_prefix("cpu ")) else {
        return MachineTicks::default();
    };
    let ticks: Vec<u64> = line.split_whitespace().filter_map(|word| word.parse().ok()).collect();
    let at = |index: usize| ticks.get(index).copied().unwrap_or(0);
    MachineTicks { busy: at(0) + at(1) + at(2) + at(5) + at(6), steal: at(7) }
}

/// Of all threads of the process and its descendants; `/proc/PID/status` alone is the first thread's.
fn switches(pid: u32) -> Switches {
    let mut sum = Switches::default();
    for member in descendants(pid) {
        for task in fs::read_dir(format!("/proc/{member}/task")).into_iter().flatten().flatten() {
            let of_task = switches_of(&task.path());
            sum.voluntary += of_task.voluntary;
            sum.involuntary += of_task.involuntary;
        }
    }
    sum
}

/// Of the thread with this directory.
fn switches_of(task: &Path) -> Switches {
    let text = fs::read_to_string(task.join("status")).unwrap_or_default();
    let number = |field: &str| {
        text.lines().find_map(|line| line.strip_prefix(field)?.trim().parse().ok()).unwrap_or_default()
    };
    Switches {
        voluntary: number("voluntary_ctxt_switches:"),
        involuntary: number("nonvoluntary_ctxt_switches:"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Barrier;

    #[test]
    fn busy_leaves_out_idle_waiting_and_steal() {
        let stat = "cpu  100 10 50 9000 40 3 7 20 5 0\ncpu0 1 1 1 1 1 1 1 1 1 1\n";
        assert_eq!(parse_machine(stat), MachineTicks { busy: 170, steal: 20 });
    }

    #[test]
    fn foreign_cores_are_what_neither_side_used() {
        let mut account = Account { seconds: 2.0, machine_busy_ns: 3_000_000_000, ..Account::default() };
        account.stat.server_cpu_ns = 1_500_000_000;
        account.stat.generator_cpu_ns = 1_000_000_000;
        let stat = account.finish(std::process::id());
        assert!((stat.foreign_cpu_cores - 0.25).abs() < 1e-9);
        let short = Account { seconds: 0.001, machine_busy_ns: 10_000_000, ..Account::default() };
        assert!(short.finish(std::process::id()).foreign_cpu_cores.abs() < 1e-9);
        assert!(stat.rss_bytes_end > 0 && stat.rss_bytes_peak >= stat.rss_bytes_end);
    }

    #[test]
    fn switches_of_every_thread_count() {
        // Other tests' threads end meanwhile, and take their counts with them: these two stay until all is read.
        let (read, counted) = (Barrier::new(3), Barrier::new(3));
        std::thread::scope(|scope| {
            let sleeper = || {
                for _ in 0..20 {
                    std::thread::sleep(Duration::from_millis(1));
                }
                read.wait();
                counted.wait();
            };
            scope.spawn(sleeper);
            scope.spawn(sleeper);
            read.wait();
            let first = switches_of(Path::new("/proc/self"));
            let found = switches(std::process::id());
            counted.wait();
            assert!(found.voluntary >= first.voluntary + 2 * 20, "{found:?}, the first thread's {first:?}");
        });
    }
}
