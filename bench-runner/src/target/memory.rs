//! How much memory does a process hold?

use super::cgroup::status_field;
use std::fs;

/// Resident memory, bytes. From `smaps_rollup`, which counts pages; `status` may lag by some of them.
#[must_use]
pub fn rss_bytes(pid: u32) -> u64 {
    let kib = |text: &str, field: &str| {
        text.lines().find_map(|line| {
            line.strip_prefix(field)?.strip_prefix(':')?.split_whitespace().next()?.parse::<u64>().ok()
        })
    };
    let rollup = fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).unwrap_or_default();
    let status = || fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    kib(&rollup, "Rss").or_else(|| kib(&status(), "VmRSS")).unwrap_or(0) * 1024
}

/// The largest resident memory since the start or the last [`forget_rss_peak`], bytes.
#[must_use]
pub fn rss_bytes_peak(pid: u32) -> u64 {
    let field = status_field(pid, "VmHWM").unwrap_or_default();
    field.split_whitespace().next().and_then(|kib| kib.parse::<u64>().ok()).unwrap_or(0) * 1024
}

/// Makes the peak begin anew from what is resident now, where the system lets us.
pub fn forget_rss_peak(pid: u32) {
    let _ = fs::write(format!("/proc/{pid}/clear_refs"), "5");
}
