//! How much memory does a durable store take beside its budget? Each load that once took more runs in a child
//! process; the bar is a peak of 1.1 times the budget above what was resident before.
//!
//! `cargo run --release -p plumbkv --example budget [PART [LOAD…]]`: budgets and amounts are divided by PART,
//! which is 1 unless it is said. SECONDS is how long the random load lasts, 310 by default.

mod loads;

use loads::{LOADS, Result, Size};
use std::time::Duration;

/// Of the budget.
const BAR: f64 = 1.1;

/// Set for the child: the name of its load.
const CHILD: &str = "PLUMBKV_BUDGET_LOAD";

fn mib(bytes: u64) -> f64 {
    bytes as f64 / f64::from(1 << 20)
}

fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    let part = arguments.next().map_or(Ok(1), |part| part.parse())?;
    let seconds = std::env::var("SECONDS").ok().and_then(|text| text.parse().ok()).unwrap_or(310 / part);
    let size = Size { part, load: Duration::from_secs(seconds) };
    if let Ok(child) = std::env::var(CHILD) {
        let (_, load) = LOADS.iter().find(|(name, _)| *name == child).ok_or("no such load")?;
        let directory = tempfile::tempdir()?;
        let measured = load(size, &directory.path().join("store"))?;
        let is_met = measured.ratio() <= BAR;
        println!(
            "{child:<26} {:>8.1} MiB beside {:>6.1} at start, budget {:>6.1}: {:.2} {}",
            mib(measured.peak.saturating_sub(measured.start)),
            mib(measured.start),
            mib(measured.budget),
            measured.ratio(),
            if is_met { "met" } else { "MISSED" }
        );
        return if is_met { Ok(()) } else { Err("a bar was missed".into()) };
    }
    let wanted: Vec<_> = arguments.collect();
    let mut is_met = true;
    for (name, _) in LOADS {
        if !wanted.is_empty() && !wanted.iter().any(|wanted| wanted == name) {
            continue;
        }
        let status = std::process::Command::new(std::env::current_exe()?)
            .arg(part.to_string())
            .env(CHILD, name)
            .env("SECONDS", seconds.to_string())
            .status()?;
        is_met &= status.success();
    }
    if is_met { Ok(()) } else { Err("a bar was missed".into()) }
}
