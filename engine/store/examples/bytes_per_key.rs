//! What does a key cost, at any number of keys? Prints accounted and resident bytes per key while a store grows, and fails where they are above
//! the bars (Linux only).
//!
//! ```text
//! cargo run --release -p plumbkv --example bytes_per_key -- [CAP_MIB|none] [MILLIONS]
//! ```
//!
//! Keys of 16 bytes, values of 64. Resident is what the process has grown by since before the store was opened. Without arguments: under a
//! cap of 4 GiB, and again, in a process of its own, without a cap.

use plumbkv::{Database, Options};

const MILLION: u64 = 1_000_000;
const STEP: u64 = MILLION / 10;
/// At 1M and 10M keys.
const BAR_AT_ENDS: f64 = 108.0;
const BAR_BETWEEN: f64 = 120.0;

/// Counted page by page; what `statm` says may be off by some hundred kilobytes.
fn resident_bytes() -> u64 {
    let rollup = std::fs::read_to_string("/proc/self/smaps_rollup").unwrap_or_default();
    let line = rollup.lines().find_map(|line| line.strip_prefix("Rss:"));
    line.and_then(|line| line.trim().strip_suffix(" kB")?.parse::<u64>().ok()).unwrap_or(0) * 1024
}

/// Every 0.1M keys, in steps of 5 % or so from 2M on. All are measured, these are printed.
fn is_printed(keys: u64) -> bool {
    keys <= 2 * MILLION
        || keys <= 5 * MILLION && keys.is_multiple_of(2 * STEP)
        || keys.is_multiple_of(5 * STEP)
}

/// Whether it stayed below the bars.
fn measure(cap: u64, millions: u64) -> plumbkv::Result<bool> {
    let value = [b'v'; 64];
    let before = resident_bytes();
    let db = Database::open(Options::memory(cap))?;
    let empty = db.stats().accounted_bytes;
    println!(
        "|       keys | accounted, B/key | resident, B/key | resident at most since the line above, B/key |"
    );
    println!(
        "| ---------: | ---------------: | --------------: | -------------------------------------------: |"
    );
    let (mut is_below, mut most) = (true, 0f64);
    for number in 1..=millions * MILLION {
        db.set(format!("{number:016}").as_bytes(), &value)?;
        // Between the counts that are compared there must be no peak either.
        if number >= MILLION && number.is_multiple_of(STEP / 10) {
            let per_key = |bytes: u64| bytes as f64 / number as f64;
            let resident = per_key(resident_bytes().saturating_sub(before));
            most = most.max(resident);
            let is_end = number == MILLION || number == 10 * MILLION;
            is_below &= resident <= if is_end { BAR_AT_ENDS } else { BAR_BETWEEN };
            if number.is_multiple_of(STEP) && is_printed(number) {
                let accounted = per_key(db.stats().accounted_bytes - empty);
                println!("| {number:>10} | {accounted:>16.1} | {resident:>15.1} | {most:>44.1} |");
                most = 0.0;
            }
        }
    }
    let verdict = if is_below { "below" } else { "ABOVE" };
    println!("{verdict} the bars: {BAR_AT_ENDS} B at 1M and 10M keys, {BAR_BETWEEN} B anywhere between");
    Ok(is_below)
}

fn main() -> plumbkv::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let millions = arguments.get(1).map_or(Some(10), |text| text.parse().ok());
    let cap = match arguments.first().map(String::as_str) {
        None => {
            let Ok(program) = std::env::current_exe() else { std::process::exit(1) };
            let is_below = ["4096", "none"].map(|cap| {
                println!("cap {cap} MiB");
                std::process::Command::new(&program).arg(cap).status().is_ok_and(|status| status.success())
            });
            std::process::exit(i32::from(is_below.contains(&false)));
        }
        Some("none") => Some(u64::MAX),
        Some(text) => text.parse::<u64>().ok().map(|mib| mib << 20),
    };
    let (Some(cap), Some(millions)) = (cap, millions) else {
        eprintln!("usage: bytes_per_key [CAP_MIB|none] [MILLIONS]");
        std::process::exit(64);
    };
    let is_below = measure(cap, millions)?;
    std::process::exit(i32::from(!is_below));
}
