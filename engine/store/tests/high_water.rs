//! Does `VmHWM` stay at or below what was ever resident, though threads on different CPUs take memory and give it back?
//!
//! A file of its own: the mark is of the whole process, and other tests would add to it.

#![cfg(target_os = "linux")]
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "helpers of tests; clippy exempts only the tests themselves"
)]

use std::fs;

use plumbkv::{Database, Options, keep_high_water_true};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

const PAGE: usize = 4096;

/// A field of a file of /proc/self, in KiB. `smaps_rollup` counts page by page; kernels before 6.16 only estimate `VmRSS`.
fn field(file: &str, field: &str) -> u64 {
    let text = fs::read_to_string(format!("/proc/self/{file}")).unwrap();
    let value = text.lines().find_map(|line| line.strip_prefix(field)?.strip_prefix(':')).unwrap();
    value.split_whitespace().next().unwrap().parse().unwrap()
}

fn run_on(cpu: usize) {
    let mut only = CpuSet::new();
    only.set(cpu);
    sched_setaffinity(None, &only).unwrap();
}

#[test]
fn the_high_water_mark_is_not_above_what_was_resident() {
    let allowed = sched_getaffinity(None).unwrap();
    let cpus: Vec<usize> = (0..CpuSet::MAX_CPU).filter(|&cpu| allowed.is_set(cpu)).collect();
    let &[one, other, ..] = &cpus[..] else {
        eprintln!("skipped: there is one CPU, and the kernel is wrong by none but others");
        return;
    };
    // Enough for any machine: a batch has twice as many pages as there are CPUs.
    keep_high_water_true(2 << 20, CpuSet::MAX_CPU.min(1024));
    let database = Database::open(Options::memory(2 << 20)).unwrap();
    let buffer = |pages: usize| {
        let mut buffer = database.buffer(pages * PAGE).unwrap();
        buffer.fill(&vec![1; pages * PAGE]);
        buffer
    };
    for pages in [5, 20, 31, 33] {
        // Whatever else a turn of this allocates it has allocated once before.
        for is_counted in [false, true] {
            run_on(one);
            let first = buffer(pages);
            fs::write("/proc/self/clear_refs", "5").unwrap();
            let mut resident = field("smaps_rollup", "Rss");
            run_on(other);
            drop(first);
            run_on(one);
            // So many that what this CPU has counted is reported.
            let second = buffer(64);
            resident = resident.max(field("smaps_rollup", "Rss"));
            drop(second);
            let mark = field("status", "VmHWM");
            assert!(!is_counted || mark <= resident, "{mark} KiB beside {resident} KiB with {pages} pages");
        }
    }
}
