//! What else was in force: kernel, power management, mitigations, limits, cgroups, tools.

use super::Reader;
use crate::model::Environment;
use std::process::Command;

/// Reads the environment. CPUs and container runtime are the caller's: it is who chooses them.
#[must_use]
pub fn system(reader: &Reader) -> Environment {
    let (cgroup_version, cgroup_controllers) = cgroups(reader);
    Environment {
        os: os_name(&reader.text("etc/os-release").unwrap_or_default()),
        kernel: reader.text_or_unknown("proc/sys/kernel/osrelease"),
        governor: reader
            .text("sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")
            .unwrap_or_else(|| "none".to_owned()),
        turbo: turbo(reader),
        smt: smt(reader),
        transparent_hugepage: chosen(
            &reader.text("sys/kernel/mm/transparent_hugepage/enabled").unwrap_or_default(),
        ),
        aslr: reader.text_or_unknown("proc/sys/kernel/randomize_va_space"),
        swap_bytes: swap_bytes(&reader.text("proc/meminfo").unwrap_or_default()),
        mitigations: reader
            .names("sys/devices/system/cpu/vulnerabilities")
            .into_iter()
            .map(|name| {
                let state = reader.text_or_unknown(&format!("sys/devices/system/cpu/vulnerabilities/{name}"));
                format!("{name}: {state}")
            })
            .collect(),
        cgroup_version,
        cgroup_controllers,
        container_runtime: None,
        container_reason: None,
        open_files_limit: open_files_limit(&reader.text("proc/self/limits").unwrap_or_default()),
        somaxconn: reader
            .number("proc/sys/net/core/somaxconn")
            .and_then(|value| u32::try_from(value).ok())
            .unwrap_or(0),
        load_average_start: load_average(reader).unwrap_or(0.0),
        server_cpus: String::new(),
        generator_cpus: String::new(),
        disk_filesystem: None,
        disk_syncs_per_second: None,
        disk_sync_ns_p50: None,
        tools: tools(),
    }
}

fn os_name(release: &str) -> String {
    let name = release.lines().find_map(|line| line.strip_prefix("PRETTY_NAME="));
    name.map_or_else(|| "unknown".to_owned(), |name| name.trim_matches('"').to_owned())
}

/// One-minute load average.
pub(super) fn load_average(reader: &Reader) -> Option<f64> {
    reader.text("proc/loadavg")?.split(' ').next()?.parse().ok()
}

pub(super) fn smt(reader: &Reader) -> String {
    switch(reader.number("sys/devices/system/cpu/smt/active"), 1)
}

pub(super) fn turbo(reader: &Reader) -> String {
    match reader.number("sys/devices/system/cpu/intel_pstate/no_turbo") {
        Some(off) => switch(Some(off), 0),
        None => switch(reader.number("sys/devices/system/cpu/cpufreq/boost"), 1),
    }
}

/// `on` where the file holds `on`'s value.
fn switch(value: Option<u64>, on: u64) -> String {
    match value {
        Some(value) if value == on => "on",
        Some(_) => "off",
        None => "unknown",
    }
    .to_owned()
}

/// The word in brackets: `always [madvise] never`.
pub(super) fn chosen(text: &str) -> String {
    let inner = text.split_once('[').and_then(|(_, rest)| rest.split_once(']'));
    inner.map_or_else(|| "unknown".to_owned(), |(word, _)| word.to_owned())
}

pub(super) fn swap_bytes(meminfo: &str) -> u64 {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("SwapTotal:"));
    let kib = line.and_then(|rest| rest.split_whitespace().next()?.parse::<u64>().ok());
    kib.unwrap_or(0) << 10
}

/// The hard limit: the last number of the line before its unit.
fn open_files_limit(limits: &str) -> u64 {
    let line = limits.lines().find_map(|line| line.strip_prefix("Max open files"));
    let hard = line.and_then(|rest| rest.split_whitespace().nth(1).map(str::to_owned));
    match hard.as_deref() {
        // JSON readers keep whole numbers only up to 2^53.
        Some("unlimited") => (1 << 53) - 1,
        Some(number) => number.parse().unwrap_or(0),
        None => 0,
    }
}

fn cgroups(reader: &Reader) -> (String, Vec<String>) {
    let words = |text: String| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    if let Some(controllers) = reader.text("sys/fs/cgroup/cgroup.controllers") {
        return ("v2".to_owned(), words(controllers));
    }
    let folders = reader.names("sys/fs/cgroup");
    let is_v2 = |name: &str| reader.has(&format!("sys/fs/cgroup/{name}/cgroup.controllers"));
    let v1: Vec<String> = folders
        .iter()
        .filter(|name| reader.has(&format!("sys/fs/cgroup/{name}/tasks")) && !is_v2(name))
        .filter(|name| name.as_str() != "systemd")
        .cloned()
        .collect();
    let mixed = folders.iter().any(|name| is_v2(name));
    let version = match (v1.is_empty(), mixed) {
        (false, true) => "mixed",
        (false, false) => "v1",
        (true, true) => "v2",
        (true, false) => "none",
    };
    (version.to_owned(), v1)
}

/// Versions of what built and drove the run; a tool that is not there is left out.
fn tools() -> Vec<String> {
    let asked =
        [("rustc", "--version"), ("cargo", "--version"), ("podman", "--version"), ("runc", "--version")];
    asked
        .iter()
        .filter_map(|(tool, flag)| {
            let output =
                Command::new(tool).arg(flag).output().ok().filter(|output| output.status.success())?;
            let text = String::from_utf8_lossy(&output.stdout).into_owned();
            text.lines().next().map(|line| line.trim().to_owned()).filter(|line| !line.is_empty())
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_the_kernel_are_read() {
        assert_eq!(chosen("always [madvise] never"), "madvise");
        assert_eq!(chosen(""), "unknown");
        let limits = "Limit   Soft Limit   Hard Limit   Units\nMax open files   1024   20000   files\n";
        assert_eq!(open_files_limit(limits), 20_000);
        assert_eq!(open_files_limit("Max open files 1024 unlimited files"), (1 << 53) - 1);
        assert_eq!(os_name("NAME=x\nPRETTY_NAME=\"Debian 12\"\n"), "Debian 12");
        assert_eq!(swap_bytes("SwapTotal:   2 kB\n"), 2048);
        assert_eq!((switch(Some(0), 0), switch(Some(1), 0)), ("on".to_owned(), "off".to_owned()));
    }
}
