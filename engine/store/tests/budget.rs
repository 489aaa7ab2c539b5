//! The memory budget of a durable store: each load of `examples/budget` in small, in a child process, whose
//! resident memory may grow by 1.1 times the budget.

#![cfg(target_os = "linux")]
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "helpers of tests; clippy exempts only the tests themselves"
)]

#[path = "../examples/budget/loads.rs"]
#[allow(dead_code, unreachable_pub, reason = "the example has more loads")]
mod loads;

use loads::{LOADS, Measured, Size, large_values};
use plumbkv::Profile;
use std::process::Command;
use std::time::Duration;

/// Of the budget.
const BAR: f64 = 1.1;

/// Code and stacks, which come on top of a budget of 16 MiB and less than that of others.
const CODE: u64 = 4 << 20;

/// Set for the child: the name of its load.
const CHILD: &str = "PLUMBKV_BUDGET_CHILD";

/// Loads of the example, and by what their budget is divided: what is quick has the budget of the example,
/// because code and stacks of a process are a tenth of a small one. Other loads would take longer than a
/// test may.
const PARTS: [(&str, u64); 7] = [
    ("cached", 8),
    ("large-values", 8),
    ("mixed-values", 8),
    ("snapshots", 1),
    ("batch", 4),
    ("random", 8),
    ("merged", 16),
];

const LOW_MEMORY: &str = "low-memory";

/// Not a test by itself: the process that the other test starts.
#[test]
fn child() {
    let Ok(name) = std::env::var(CHILD) else { return };
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("store");
    let measured = if name == LOW_MEMORY {
        // The profile as it is, 16 MiB.
        large_values(Size { part: 1, load: Duration::ZERO }, &path, Profile::LowMemory, 40)
    } else {
        let (_, load) = LOADS.iter().find(|(load, _)| *load == name).unwrap();
        let (_, part) = *PARTS.iter().find(|(load, _)| *load == name).unwrap();
        load(Size { part, load: Duration::from_secs(2) }, &path)
    };
    let measured: Measured = measured.unwrap();
    let ratio = measured.ratio();
    let bar = if name == "merged" { BAR + CODE as f64 / measured.budget as f64 } else { BAR };
    assert!(ratio <= bar, "{name}: the process grew by {ratio:.2} times the budget: {measured:?}");
    // A load that takes little shows nothing.
    let least = if name == "random" { 0.2 } else { 0.3 };
    assert!(ratio >= least, "{name}: {ratio:.2} times the budget are no load: {measured:?}");
    println!("{name}: {ratio:.2}");
}

fn run(name: &str) {
    let child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "child", "--nocapture", "--test-threads=1"])
        .env(CHILD, name)
        .output()
        .unwrap();
    let (out, errors) = (String::from_utf8_lossy(&child.stdout), String::from_utf8_lossy(&child.stderr));
    assert!(child.status.success(), "{out}{errors}");
    assert!(out.contains(&format!("{name}: ")), "{name} was not run: {out}");
    print!("{out}");
}

#[test]
fn no_load_takes_more_than_the_budget_and_a_tenth() {
    let names: Vec<&str> = PARTS.iter().map(|(name, _)| *name).chain([LOW_MEMORY]).collect();
    // Two at a time: each is a process of its own, and waits for the disk much of its time.
    std::thread::scope(|scope| {
        for first in 0..2 {
            let names = &names;
            scope.spawn(move || names.iter().skip(first).step_by(2).for_each(|name| run(name)));
        }
    });
}
