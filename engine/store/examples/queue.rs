//! How long does the first key of a queue take, and what is left of what was deleted?
//!
//! A queue of COUNT items (500,000 by default) goes through a WINDOW of 1,000, then a stack does the same at the other end; everything is deleted and the store left alone for 20 s; and KEYS keys
//! (ten million by default) are deleted by range while another thread sets unrelated ones. `cargo run --release --example queue`.

use plumbkv::{Database, Direction, Options};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

fn number(name: &str, otherwise: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(otherwise)
}

fn micros(time: Duration) -> f64 {
    time.as_secs_f64() * 1e6
}

fn item(number: u64) -> Vec<u8> {
    format!("queue:{number:012}").into_bytes()
}

/// The quantile of times, in microseconds.
fn quantile(times: &mut [Duration], part: f64) -> f64 {
    times.sort_unstable();
    let place = (times.len() as f64 * part) as usize;
    times.get(place.min(times.len().saturating_sub(1))).copied().map_or(0.0, micros)
}

fn told(name: &str, value: f64, bar: f64, unit: &str) -> bool {
    let is_met = value <= bar;
    println!("{name:<46} {value:>10.1} {unit:<4} bar {bar:>8.1} {}", if is_met { "met" } else { "MISSED" });
    is_met
}

fn disk_bytes(directory: &Path) -> Result<u64> {
    let mut bytes = 0;
    for entry in std::fs::read_dir(directory)? {
        bytes += entry?.metadata()?.len();
    }
    Ok(bytes)
}

/// Inserts at the end and deletes at one of the ends. The largest 99th percentile of ten parts of the run.
fn run(db: &Database, count: u64, window: u64, direction: Direction) -> Result<f64> {
    let value = [7; 100];
    for place in 0..window {
        db.set(&item(place), &value)?;
    }
    let mut worst: f64 = 0.0;
    let mut times = Vec::new();
    for place in window..count {
        db.set(&item(place), &value)?;
        let begin = Instant::now();
        let first = db.snapshot()?.prefix(b"queue:", direction).next().transpose()?;
        times.push(begin.elapsed());
        let (key, _) = first.ok_or("the queue is empty")?;
        let expected = if direction == Direction::Forward { place - window } else { place };
        if key != item(expected) {
            return Err(format!("{} instead of {expected}", String::from_utf8_lossy(&key)).into());
        }
        db.delete(&key)?;
        if times.len() as u64 >= count / 10 {
            worst = worst.max(quantile(&mut times, 0.99));
            times.clear();
        }
    }
    Ok(worst.max(quantile(&mut times, 0.99)))
}

fn empty_scan(db: &Database) -> Result<f64> {
    let begin = Instant::now();
    if db.snapshot()?.range(.., Direction::Forward).next().is_some() {
        return Err("something is left".into());
    }
    Ok(micros(begin.elapsed()))
}

fn main() -> Result<()> {
    let (count, window, keys) =
        (number("COUNT", 500_000), number("WINDOW", 1_000), number("KEYS", 10_000_000));
    let idle = Duration::from_secs(number("IDLE", 20));
    let directory = tempfile::tempdir()?;
    let open =
        |name: &str| Database::open(Options::durable(directory.path().join(name)).memory_budget(256 << 20));
    let mut is_met = true;
    for (name, direction) in [("queue", Direction::Forward), ("stack", Direction::Backward)] {
        let db = open(name)?;
        let worst = run(&db, count, window, direction)?;
        is_met &= told(&format!("{name}: 99th percentile of the first key"), worst, 50.0, "us");
    }
    let db = open("deleted")?;
    let million = number("DELETED", 1_000_000);
    for place in 0..million {
        db.set(&item(place), &[7; 100])?;
    }
    for place in 0..million {
        db.delete(&item(place))?;
    }
    std::thread::sleep(idle);
    let mib = disk_bytes(&directory.path().join("deleted"))? as f64 / f64::from(1 << 20);
    is_met &= told("all deleted, then idle: disk", mib, 5.0, "MiB");
    is_met &= told("all deleted, then idle: empty scan", empty_scan(&db)?, 100.0, "us");
    drop(db);
    let db = open("range")?;
    db.ingest((0..keys).map(|place| (item(place), [7; 16])))?;
    for place in 0..keys / 100 {
        db.set(&item(place * 100), b"again")?;
    }
    let is_over = AtomicBool::new(false);
    let (took, waited) = std::thread::scope(|scope| -> Result<_> {
        let setter = scope.spawn(|| {
            let mut longest = Duration::ZERO;
            while !is_over.load(Ordering::Relaxed) {
                let begin = Instant::now();
                if db.set(b"unrelated", b"value").is_err() {
                    return Duration::MAX;
                }
                longest = longest.max(begin.elapsed());
            }
            longest
        });
        std::thread::sleep(Duration::from_millis(100));
        let begin = Instant::now();
        let done = db.delete_range(&b"queue:"[..]..&b"queue;"[..]);
        let took = begin.elapsed();
        std::thread::sleep(Duration::from_millis(100));
        is_over.store(true, Ordering::Relaxed);
        done?;
        Ok((took, setter.join().map_err(|_| "the other thread panicked")?))
    })?;
    is_met &= told("delete_range", micros(took) / 1e3, 10.0, "ms");
    is_met &= told("an unrelated set beside it, at most", micros(waited) / 1e3, 5.0, "ms");
    if db.snapshot()?.prefix(b"queue:", Direction::Forward).next().is_some() {
        return Err("something is left of the range".into());
    }
    if is_met { Ok(()) } else { Err("a bar was missed".into()) }
}
