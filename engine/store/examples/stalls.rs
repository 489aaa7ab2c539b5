//! Who waits while a store does something large? Growth to 10M keys, the expiry of 1M, and the clearing of 10M, with a reader beside it (Linux only).
//!
//! ```text
//! cargo run --release -p plumbkv --example stalls -- [MILLIONS]
//! ```
//!
//! Growth is timed call by call in one thread. Beside the rest a thread reads 10,000 keys a second, each at its time: what counts is from then to
//! the end of the call. A shared machine takes the processor away for milliseconds, so the time of the thread itself is printed beside
//! the time that passed: it has page faults, copying and freeing in it, but neither waiting for a lock nor for the processor. A
//! bar is broken where both columns say so; what only passed on the watch is printed and left to the reader's judgement, but for
//! locks, which the reader's share of late calls shows.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

use plumbkv::{Database, Expiry, ManualClock, Options, SetOptions};
use rustix::time::{ClockId, clock_gettime};

const MILLION: u64 = 1_000_000;
const READS_PER_S: u64 = 10_000;
const TICK: Duration = Duration::from_millis(100);

/// As a server calls it from its ticks.
const EXPIRY_BUDGET: Duration = Duration::from_millis(1);
const MAINTENANCE_BUDGET: Duration = Duration::from_millis(1);

const LONGEST_NS: u64 = 2_000_000;
const P999_NS: u64 = 1_000_000;

/// What this thread has used of a processor.
fn thread_ns() -> u64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

#[derive(Default)]
struct Times(Vec<u32>);

impl Times {
    fn add(&mut self, ns: u64) {
        self.0.push(u32::try_from(ns).unwrap_or(u32::MAX));
    }

    fn sorted(mut self) -> Self {
        self.0.sort_unstable();
        self
    }

    fn share(&self, share: f64) -> u64 {
        let place = (self.0.len() as f64 * share) as usize;
        self.0.get(place.min(self.0.len().saturating_sub(1))).copied().unwrap_or(0).into()
    }
}

fn us(ns: u64) -> f64 {
    ns as f64 / 1000.0
}

fn line(what: &str, times: &Times) {
    println!(
        "{what:44} {:>9} calls   p50 {:>7.1}   p99.9 {:>7.1}   p99.99 {:>7.1}   longest {:>8.1} µs",
        times.0.len(),
        us(times.share(0.5)),
        us(times.share(0.999)),
        us(times.share(0.9999)),
        us(times.share(1.0)),
    );
}

fn key(number: u64) -> [u8; 16] {
    let mut key = *b"key:000000000000";
    key[8..].copy_from_slice(&number.to_be_bytes());
    key
}

/// Whether the longest call was below the bar.
fn grow(db: &Database, keys: u64, expiring: u64, until: u64) -> plumbkv::Result<bool> {
    let (mut passed, mut used) = (Times(Vec::with_capacity(keys as usize)), Times::default());
    used.0.reserve(keys as usize);
    let value = [b'v'; 64];
    // The lists above are not to be paid for by the calls.
    passed.0.resize(keys as usize, 1);
    used.0.resize(keys as usize, 1);
    passed.0.clear();
    used.0.clear();
    let start = Instant::now();
    let (mut watch, mut cpu) = (start, thread_ns());
    for number in 0..keys {
        if number < expiring {
            db.set_with(&key(number), &value, SetOptions::new().expiry(Expiry::At(until)))?;
        } else {
            db.set(&key(number), &value)?;
        }
        let (now, cpu_now) = (Instant::now(), thread_ns());
        passed.add((now - watch).as_nanos() as u64);
        used.add(cpu_now - cpu);
        (watch, cpu) = (now, cpu_now);
    }
    let per_s = keys as f64 / start.elapsed().as_secs_f64();
    println!("growth to {keys} keys at {per_s:.0} SET/s");
    let mut longest: Vec<(u32, usize)> = used.0.iter().copied().zip(0..).collect();
    longest.sort_unstable();
    let longest = longest.iter().rev().take(5);
    let longest: Vec<String> =
        longest.map(|(ns, number)| format!("{:.0} µs at key {number}", us((*ns).into()))).collect();
    println!("  the longest by time of the thread: {}", longest.join(", "));
    let (passed, used) = (passed.sorted(), used.sorted());
    line("  a SET, as time passed", &passed);
    line("  a SET, time of the thread", &used);
    Ok(used.share(1.0) < LONGEST_NS && per_s >= 300_000.0)
}

/// Runs `work` beside a thread that reads, and says whether that one was served in time.
fn beside_reader(what: &str, db: &Database, keys: u64, work: impl FnOnce()) -> bool {
    let stop = AtomicBool::new(false);
    let (from_due, in_call) = std::thread::scope(|scope| {
        let reader = scope.spawn(|| {
            let (mut from_due, mut in_call) = (Times::default(), Times::default());
            let mut rng = fastrand::Rng::with_seed(3);
            let start = Instant::now();
            for read in 0.. {
                if stop.load(Relaxed) {
                    break;
                }
                let due = start + Duration::from_micros(read * 1_000_000 / READS_PER_S);
                // Sleeping comes late, so the last of it is spun.
                while let Some(left) = due.checked_duration_since(Instant::now()) {
                    if left > Duration::from_micros(70) {
                        std::thread::sleep(left - Duration::from_micros(60));
                    }
                    std::hint::spin_loop();
                }
                let called = Instant::now();
                let _ = std::hint::black_box(db.read(&key(rng.u64(..keys)), |value| value.len()));
                from_due.add(due.elapsed().as_nanos() as u64);
                in_call.add(called.elapsed().as_nanos() as u64);
            }
            (from_due.sorted(), in_call.sorted())
        });
        work();
        stop.store(true, Relaxed);
        reader.join().unwrap_or_default()
    });
    line(&format!("  a read beside {what}, from its time"), &from_due);
    line("  … from its call", &in_call);
    in_call.share(1.0) < LONGEST_NS && in_call.share(0.999) < P999_NS
}

/// Calls `step` once a tick until it says that there is no more to do; prints how long it took.
fn ticks(what: &str, mut step: impl FnMut() -> bool) {
    let (mut passed, mut used) = (Times::default(), Times::default());
    let start = Instant::now();
    loop {
        let (watch, cpu) = (Instant::now(), thread_ns());
        let more = step();
        passed.add(watch.elapsed().as_nanos() as u64);
        used.add(thread_ns() - cpu);
        if !more {
            break;
        }
        // A server that has more to do comes back as soon as it has served who waits.
        std::thread::sleep(Duration::from_millis(1));
    }
    println!("{what}: {} ticks in {:.1} s", passed.0.len(), start.elapsed().as_secs_f64());
    line("  a tick, as time passed", &passed.sorted());
    line("  a tick, time of the thread", &used.sorted());
}

fn main() -> plumbkv::Result<()> {
    let millions: u64 = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(10);
    let (keys, expiring) = (millions * MILLION, MILLION.min(millions * MILLION));
    let clock = std::sync::Arc::new(ManualClock::new(1000));
    let db = Database::open(Options::memory(4 << 30).clock(clock.clone()))?;
    let mut is_good = grow(&db, keys, expiring, 2000)?;

    is_good &= beside_reader("nothing", &db, keys, || std::thread::sleep(Duration::from_secs(2)));

    clock.advance(5000);
    is_good &= beside_reader("expiry", &db, keys, || {
        let mut left = expiring;
        ticks("expiry of 1M keys", || {
            left = left.saturating_sub(db.expire_cycle(EXPIRY_BUDGET));
            left > expiring / 100
        });
    });

    is_good &= beside_reader("clearing", &db, keys, || {
        let (watch, cpu) = (Instant::now(), thread_ns());
        let cleared = db.clear();
        let (passed, used) = (watch.elapsed().as_nanos() as u64, thread_ns() - cpu);
        println!(
            "clear: {:.0} µs passed, {:.0} µs of the thread{}",
            us(passed),
            us(used),
            if cleared.is_ok() { "" } else { ", failed" }
        );
        ticks("maintenance after it", || db.maintain(MAINTENANCE_BUDGET));
        std::thread::sleep(TICK);
    });
    println!(
        "{}: longest call and longest read < 2 ms, p99.9 of reads < 1 ms",
        if is_good { "good" } else { "NOT GOOD" }
    );
    std::process::exit(i32::from(!is_good));
}
