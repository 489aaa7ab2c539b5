//! How much memory does a process hold?

use super::cgroup::status_field;
use std::fs;

/// Resident memory of an idle target, bytes. From `smaps_rollup`, which counts pages; `status` may lag by some of them
/// on kernels before 6.16. Of a target of several processes, as PostgreSQL or nginx, it is the sum of their proportional
/// shares: a page that several of them hold counts once.
#[must_use]
pub fn rss_bytes(pid: u32) -> u64 {
    let rollup = |pid: u32| fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).unwrap_or_default();
    let field = |text: &str, name: &str| {
        let rest = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
        rest.and_then(kib)
    };
    let family = family(pid);
    if family.len() > 1 {
        return family.into_iter().filter_map(|member| field(&rollup(member), "Pss")).sum::<u64>() * 1024;
    }
    field(&rollup(pid), "Rss").map_or_else(|| status_bytes(pid, "VmRSS"), |kib| kib * 1024)
}

/// Resident memory of a target under load, bytes: the kernel's counter. `smaps_rollup` of a process that runs is no snapshot,
/// because the kernel walks one mapping after the other: pages that are freed behind the walk and taken again ahead
/// of it count twice. Of several processes, as [`rss_bytes`].
#[must_use]
pub fn rss_bytes_under_load(pid: u32) -> u64 {
    if family(pid).len() > 1 { rss_bytes(pid) } else { status_bytes(pid, "VmRSS") }
}

fn kib(text: &str) -> Option<u64> {
    text.split_whitespace().next()?.parse().ok()
}

fn status_bytes(pid: u32, name: &str) -> u64 {
    status_field(pid, name).and_then(|text| kib(&text)).unwrap_or(0) * 1024
}

/// A process and all below it. By the kernel's own lists of children, which cost less than a walk over `/proc`.
fn family(pid: u32) -> Vec<u32> {
    let (mut members, mut next) = (vec![pid], 0);
    while let Some(parent) = members.get(next).copied() {
        let tasks = fs::read_dir(format!("/proc/{parent}/task")).into_iter().flatten().flatten();
        for list in tasks.filter_map(|task| fs::read_to_string(task.path().join("children")).ok()) {
            members.extend(list.split_whitespace().filter_map(|child| child.parse::<u32>().ok()));
        }
        next += 1;
    }
    members
}

/// The largest resident memory since the start or the last [`forget_rss_peak`], bytes. The kernel keeps a peak
/// per process only: of several processes together it is at least what they hold now.
#[must_use]
pub fn rss_bytes_peak(pid: u32) -> u64 {
    let own = status_bytes(pid, "VmHWM");
    if family(pid).len() > 1 { own.max(rss_bytes(pid)) } else { own }
}

/// Makes the peak begin anew from what is resident now, where the system lets us.
pub fn forget_rss_peak(pid: u32) {
    let _ = fs::write(format!("/proc/{pid}/clear_refs"), "5");
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Command, Stdio};

    #[test]
    fn memory_of_a_child_is_the_targets_too() {
        let mut parent = Command::new("sh")
            .args(["-c", "head -c 32M /dev/zero | tail & wait"])
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        let end = std::time::Instant::now() + std::time::Duration::from_secs(30);
        let mut most = 0;
        while most < 24 << 20 && std::time::Instant::now() < end && parent.try_wait().unwrap().is_none() {
            most = most.max(rss_bytes(parent.id()));
        }
        let _ = parent.kill();
        let _ = parent.wait();
        assert!(most >= 24 << 20, "{most}");
    }

    #[test]
    fn one_process_is_its_own_family() {
        assert!(rss_bytes(std::process::id()) > 100_000);
        let mut other = Command::new("sleep").arg("5").spawn().unwrap();
        assert_eq!(family(other.id()), [other.id()]);
        other.kill().unwrap();
        other.wait().unwrap();
    }
}
