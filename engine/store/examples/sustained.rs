//! Do merges keep up with one thread that writes as fast as it may, for DURATION_S seconds (310 by default)?
//!
//! Random keys, values of 100 bytes. Printed: each window of ten seconds, then the slowest window, bytes that wait
//! to be merged, and peak resident memory, each beside its bar. `cargo run --release --example sustained`.

use plumbkv::{Database, Options, Profile};
use std::time::{Duration, Instant};

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

const MIB: f64 = (1 << 20) as f64;

fn number(name: &str, otherwise: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(otherwise)
}

fn print(name: &str, value: f64, bar: f64, unit: &str, is_met: bool) -> bool {
    println!("{name:<40} {value:>10.1} {unit:<5} bar {bar:>8.1} {}", if is_met { "met" } else { "MISSED" });
    is_met
}

/// A line of `/proc/self/status`, in MiB.
fn memory(name: &str) -> Result<f64> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix(name)).ok_or("no such line")?;
    let kib: f64 = line.split_whitespace().next().ok_or("no number")?.parse()?;
    Ok(kib / 1024.0)
}

fn main() -> Result<()> {
    let (seconds, window) = (number("DURATION_S", 310), number("WINDOW", 10));
    let records = number("RECORDS", u64::MAX);
    let profile = match std::env::var("PROFILE").as_deref() {
        Ok("low-memory") => Profile::LowMemory,
        Ok("throughput") => Profile::Throughput,
        _ => Profile::Default,
    };
    let directory = tempfile::tempdir_in(std::env::var("DIRECTORY").unwrap_or_else(|_| "/tmp".to_owned()))?;
    let mut options = Options::durable(directory.path().join("store")).profile(profile);
    if let Ok(threads) = std::env::var("MERGE_THREADS") {
        options = options.merge_threads(threads.parse()?);
    }
    let before = memory("VmRSS:")?;
    let db = Database::open(options)?;
    let mut random = fastrand::Rng::with_seed(1);
    // Half of it compresses.
    let mut value = [0; 100];
    let begin = Instant::now();
    let (mut windows, mut written, mut longest) = (Vec::new(), 0_u64, Duration::ZERO);
    println!(
        "{:>6} {:>12} {:>10} {:>10} {:>8} {:>10} {:>8}   levels MiB",
        "s", "writes/s", "debt MiB", "level 0", "wait ms", "index MiB", "RSS MiB"
    );
    while begin.elapsed() < Duration::from_secs(seconds) && windows.len() as u64 * window < seconds {
        let (start, mut count) = (Instant::now(), 0_u64);
        while start.elapsed() < Duration::from_secs(window) {
            for _ in 0..100 {
                let key = random.u64(..records).to_be_bytes();
                random.fill(&mut value[..50]);
                let one = Instant::now();
                db.set(&key, &value)?;
                longest = longest.max(one.elapsed());
            }
            count += 100;
        }
        let stats = db.storage_stats()?;
        windows.push(count as f64 / start.elapsed().as_secs_f64());
        written += count;
        println!(
            "{:>6.0} {:>12.0} {:>10.0} {:>10} {:>8.1} {:>10.0} {:>8.0}   {}",
            begin.elapsed().as_secs_f64(),
            windows.last().copied().unwrap_or(0.0),
            stats.debt_bytes as f64 / MIB,
            stats.levels[0].tables,
            longest.as_secs_f64() * 1e3,
            stats.index_bytes as f64 / MIB,
            memory("VmRSS:")?,
            stats
                .levels
                .iter()
                .map(|level| format!("{:.0}", level.bytes as f64 / MIB))
                .collect::<Vec<_>>()
                .join(" "),
        );
        longest = Duration::ZERO;
    }
    let stats = db.storage_stats()?;
    let throughput = written as f64 / begin.elapsed().as_secs_f64();
    let merged = stats.merged_bytes as f64 / stats.flushed_bytes.max(1) as f64;
    println!(
        "{throughput:.0} writes/s; {merged:.1} bytes merged for each flushed; {:?} held back",
        stats.delayed
    );
    let mut sorted = windows;
    sorted.sort_by(f64::total_cmp);
    let (slowest, median) = (sorted[0], sorted[sorted.len() / 2]);
    let budget = profile.memory_budget() as f64 / MIB;
    let (peak, debt) = ((memory("VmHWM:")? - before) / budget, stats.debt_bytes as f64 / MIB);
    let mut is_met =
        print("slowest window beside the median", slowest / median, 0.5, "x", slowest >= median / 2.0);
    is_met &= print("bytes that wait to be merged", debt, 512.0, "MiB", debt <= 512.0);
    is_met &= print("peak resident memory beside the budget", peak, 1.05, "x", peak <= 1.05);
    if is_met { Ok(()) } else { Err("a bar was missed".into()) }
}
