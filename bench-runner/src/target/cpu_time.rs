//! How much CPU time has the target used, all its threads and children included, those that ended too?
//!
//! The best source is a cgroup that holds the target and nothing else: the container's, or one that the runner
//! makes for a native process. Without one the kernel is asked for the CPU-time clock of every process of the
//! tree: the sum of what `/proc/PID/task/*/schedstat` shows for its threads, plus that of threads that have
//! ended (which those files no longer show: a leader's `schedstat` alone is one thread), plus what `wait` has
//! credited for children that have ended.

use super::cgroup::{Cgroups, read_u64};
use super::own_cgroup::is_ours;
use crate::load::client::{Address, Client, info_field};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A reading.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CpuTime {
    /// In all, ns.
    pub total_ns: u64,
    /// In user mode, ns; 0 where the source does not tell.
    pub user_ns: u64,
    /// In the kernel, ns; 0 where the source does not tell.
    pub system_ns: u64,
    /// Held back by a CPU limit, ns; 0 where the source does not tell.
    pub throttled_ns: u64,
}

impl CpuTime {
    /// What was used since an earlier reading of the same source.
    #[must_use]
    pub fn since(self, earlier: Self) -> Self {
        Self {
            total_ns: self.total_ns.saturating_sub(earlier.total_ns),
            user_ns: self.user_ns.saturating_sub(earlier.user_ns),
            system_ns: self.system_ns.saturating_sub(earlier.system_ns),
            throttled_ns: self.throttled_ns.saturating_sub(earlier.throttled_ns),
        }
    }
}

/// Where a target's CPU time is read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// Version 1: `cpuacct.usage` of the first folder, and `cpu.stat` of the second for throttling.
    Cpuacct(PathBuf, Option<PathBuf>),
    /// Version 2: `cpu.stat`.
    CpuStat(PathBuf),
    /// The CPU-time clocks of the process and its descendants.
    Processes(u32),
    /// What a server that is not ours says of itself in `INFO`.
    Info(Box<Address>),
    /// Nowhere: a server that is not ours, and that does not say.
    Unknown,
}

impl Source {
    /// The cgroup of `pid`, provided that this runner made it, or that it holds nothing but `pid` and its descendants.
    ///
    /// In one of ours everything counts: a helper that has left the process tree works for the target all the same.
    #[must_use]
    pub fn own_cgroup(pid: u32) -> Option<Self> {
        let cgroups = Cgroups::new();
        let throttling = cgroups.folder(pid, "cpu").map(|folder| folder.path);
        if let Some(folder) = cgroups.folder(pid, "cpuacct").filter(|folder| !folder.unified) {
            let readable = folder.path.join("cpuacct.usage").is_file();
            return (readable && is_its_own(&folder.path, pid))
                .then_some(Self::Cpuacct(folder.path, throttling));
        }
        let folder = cgroups.folder(pid, "cpu").filter(|folder| folder.unified)?;
        let readable = folder.path.join("cpu.stat").is_file();
        (readable && is_its_own(&folder.path, pid)).then_some(Self::CpuStat(folder.path))
    }

    /// The best source there is for `pid`.
    #[must_use]
    pub fn of(pid: u32) -> Self {
        Self::own_cgroup(pid).unwrap_or(Self::Processes(pid))
    }

    /// What a server says of itself, if it says anything.
    #[must_use]
    pub fn of_info(address: &Address) -> Self {
        let info = Self::Info(Box::new(address.clone()));
        if info.read().is_some() { info } else { Self::Unknown }
    }

    /// As the record names it.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Cpuacct(..) => "cpuacct.usage",
            Self::CpuStat(_) => "cpu.stat",
            Self::Processes(_) => "process clocks",
            Self::Info(_) => "INFO",
            Self::Unknown => "unknown",
        }
    }

    /// Reads it; nothing where the target or its cgroup is gone.
    #[must_use]
    pub fn read(&self) -> Option<CpuTime> {
        match self {
            Self::Cpuacct(folder, throttling) => {
                let number = |name: &str| read_u64(&folder.join(name));
                let throttled = throttling.as_deref().map(|folder| key_values(&folder.join("cpu.stat")));
                Some(CpuTime {
                    total_ns: number("cpuacct.usage")?,
                    user_ns: number("cpuacct.usage_user").unwrap_or(0),
                    system_ns: number("cpuacct.usage_sys").unwrap_or(0),
                    throttled_ns: throttled.and_then(|map| map.get("throttled_time").copied()).unwrap_or(0),
                })
            }
            Self::CpuStat(folder) => {
                let map = key_values(&folder.join("cpu.stat"));
                let ns = |name: &str| map.get(name).map(|micros| micros * 1_000);
                Some(CpuTime {
                    total_ns: ns("usage_usec")?,
                    user_ns: ns("user_usec").unwrap_or(0),
                    system_ns: ns("system_usec").unwrap_or(0),
                    throttled_ns: ns("throttled_usec").unwrap_or(0),
                })
            }
            Self::Processes(pid) => read_tree(*pid),
            Self::Info(address) => {
                let mut client = Client::connect(address, Duration::from_secs(5)).ok()?;
                parse_info(&client.info().ok()?)
            }
            Self::Unknown => None,
        }
    }
}

/// `used_cpu_sys:1.250000`: seconds.
fn parse_info(info: &str) -> Option<CpuTime> {
    let ns = |field| info_field(info, field)?.parse::<f64>().ok().map(|seconds| (seconds * 1e9) as u64);
    let (user_ns, system_ns) = (ns("used_cpu_user")?, ns("used_cpu_sys")?);
    Some(CpuTime { total_ns: user_ns + system_ns, user_ns, system_ns, throttled_ns: 0 })
}

/// `name value` lines.
fn key_values(path: &Path) -> BTreeMap<String, u64> {
    let text = fs::read_to_string(path).unwrap_or_default();
    text.lines()
        .filter_map(|line| {
            let (name, value) = line.split_once(' ')?;
            Some((name.to_owned(), value.trim().parse().ok()?))
        })
        .collect()
}

fn is_its_own(folder: &Path, pid: u32) -> bool {
    is_ours(folder) || holds_only(folder, pid)
}

fn holds_only(folder: &Path, pid: u32) -> bool {
    let tree = descendants(pid);
    let text = fs::read_to_string(folder.join("cgroup.procs")).unwrap_or_default();
    let mut members = text.lines().filter_map(|line| line.trim().parse::<u32>().ok()).peekable();
    members.peek().is_some() && members.all(|member| tree.contains(&member))
}

fn read_tree(pid: u32) -> Option<CpuTime> {
    let tick_ns = 1_000_000_000 / rustix::param::clock_ticks_per_second().max(1);
    let mut sum = CpuTime { total_ns: process_clock_ns(pid)?, ..CpuTime::default() };
    for (place, member) in descendants(pid).into_iter().enumerate() {
        if place > 0 {
            sum.total_ns += process_clock_ns(member).unwrap_or(0);
        }
        let Some(fields) = stat_fields(member) else { continue };
        let ticks = |index: usize| fields.get(index).and_then(|text| text.parse::<u64>().ok()).unwrap_or(0);
        // proc(5) counts fields from 1 and the first two are cut off: 14 utime, 15 stime, 16 cutime, 17 cstime.
        let (user, system, children_user, children_system) = (ticks(11), ticks(12), ticks(13), ticks(14));
        sum.total_ns += (children_user + children_system) * tick_ns;
        sum.user_ns += (user + children_user) * tick_ns;
        sum.system_ns += (system + children_system) * tick_ns;
    }
    Some(sum)
}

/// The fields of `/proc/PID/stat` after the name, which may hold spaces and brackets.
fn stat_fields(pid: u32) -> Option<Vec<String>> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (_, rest) = text.rsplit_once(") ")?;
    Some(rest.split_whitespace().map(str::to_owned).collect())
}

/// A process and all below it, itself first.
#[must_use]
pub fn descendants(pid: u32) -> Vec<u32> {
    let mut children: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let Some(child) = entry.file_name().to_str().and_then(|name| name.parse::<u32>().ok()) else {
            continue;
        };
        let parent = stat_fields(child).and_then(|fields| fields.get(1)?.parse().ok());
        if let Some(parent) = parent {
            children.entry(parent).or_default().push(child);
        }
    }
    let (mut tree, mut next) = (vec![pid], 0);
    while let Some(parent) = tree.get(next).copied() {
        tree.extend(children.get(&parent).into_iter().flatten());
        next += 1;
    }
    tree
}

/// The CPU-time clock of another process: the sum over all threads it has or had, ns.
fn process_clock_ns(pid: u32) -> Option<u64> {
    let mut clock: libc::clockid_t = 0;
    // SAFETY: `clock` is a valid place to write to for the length of the call.
    if unsafe { libc::clock_getcpuclockid(libc::pid_t::try_from(pid).ok()?, &raw mut clock) } != 0 {
        return None;
    }
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a valid place to write to for the length of the call; a clock of a process that has
    // ended is refused with an error.
    if unsafe { libc::clock_gettime(clock, &raw mut time) } != 0 {
        return None;
    }
    Some(u64::try_from(time.tv_sec).ok()? * 1_000_000_000 + u64::try_from(time.tv_nsec).ok()?)
}

#[cfg(test)]
#[path = "cpu_time_test.rs"]
mod tests;
