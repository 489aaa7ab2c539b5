//! How near does the process come to the cap? Fills a store past its cap and prints accounted bytes beside the growth of
//! the resident set (Linux only).
//!
//! ```text
//! cargo run --release -p plumbkv --example rss -- CAP_MIB fixed|small|mixed|growing|replaced
//! ```
//!
//! `fixed` 1 KiB values, `small` 64 B, `mixed` 0 to 4 KiB at random with overwrites, `growing` appends, `replaced` first
//! small values and then large ones, which is the hardest for any allocator.

use plumbkv::{Database, Options};

/// Counted page by page; what `statm` says may be off by some hundred kilobytes. `field` is `Rss`, or `Anonymous`, which leaves the
/// program's own code out.
fn resident_bytes(field: &str) -> u64 {
    let rollup = std::fs::read_to_string("/proc/self/smaps_rollup").unwrap_or_default();
    let line = rollup.lines().find_map(|line| line.strip_prefix(field)?.strip_prefix(':'));
    line.and_then(|line| line.trim().strip_suffix(" kB")?.parse::<u64>().ok()).unwrap_or(0) * 1024
}

fn main() -> plumbkv::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (Some(cap_mib), Some(load)) =
        (arguments.first().and_then(|text| text.parse::<u64>().ok()), arguments.get(1))
    else {
        eprintln!("usage: rss CAP_MIB fixed|small|mixed|growing|replaced");
        std::process::exit(64);
    };
    let cap = cap_mib << 20;
    let value = vec![b'v'; 64 * 1024];
    let mut rng = fastrand::Rng::with_seed(1);
    let before = ["Rss", "Anonymous"].map(resident_bytes);
    let db = Database::open(Options::memory(cap))?;
    // Twice the cap is written by each load, a few times over by those that change what they wrote.
    match load.as_str() {
        "fixed" => (0..cap / 512).try_for_each(|n| db.set(&n.to_be_bytes(), &value[..1024]))?,
        "small" => (0..cap / 50).try_for_each(|n| db.set(&n.to_be_bytes(), &value[..64]))?,
        "mixed" => {
            for _ in 0..cap / 200 {
                db.set(&rng.u64(..cap / 1000).to_be_bytes(), &value[..rng.usize(..4096)])?;
            }
        }
        "growing" => {
            for _ in 0..cap / 50 {
                db.append(&rng.u64(..cap / 2000).to_be_bytes(), &value[..rng.usize(..200)])?;
            }
        }
        "replaced" => {
            (0..cap / 50).try_for_each(|n| db.set(&n.to_be_bytes(), &value[..64]))?;
            (0..cap / 10_000).try_for_each(|n| db.set(&n.to_be_bytes(), &value[..20_000]))?;
        }
        other => {
            eprintln!("no load is called `{other}`");
            std::process::exit(64);
        }
    }
    let (after, stats) = (["Rss", "Anonymous"].map(resident_bytes), db.stats());
    let grown = |index: usize| after[index].saturating_sub(before[index]);
    let percent = |bytes: u64| bytes as f64 * 100.0 / cap as f64;
    println!(
        "{load:9} cap {cap} B, accounted {} B ({:.1} %), resident set grew by {} B ({:.1} %; anonymous {:.1} %), {} keys, {} evicted",
        stats.accounted_bytes,
        percent(stats.accounted_bytes),
        grown(0),
        percent(grown(0)),
        percent(grown(1)),
        stats.keys,
        stats.evicted,
    );
    Ok(())
}
