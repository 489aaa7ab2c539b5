//! Is the cap kept by the process, not only by the count? Four threads do their worst while a fifth looks at the resident set.
//!
//! A test binary of its own: whatever else ran in the process would be resident too.

#![cfg(target_os = "linux")]
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "helpers of tests; clippy exempts only the tests themselves"
)]

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use plumbkv::{Database, ExpireCondition, Expiry, Options, Policy, SetOptions};

const MIB: u64 = 1 << 20;
const CAP: u64 = 48 * MIB;
/// Stacks of the threads, and what the allocator keeps of small pieces.
const BESIDE: u64 = MIB;

/// Page by page: the counters of `statm` lag behind. Without pages of files, which are the program's code.
fn anonymous_bytes() -> u64 {
    let rollup = std::fs::read_to_string("/proc/self/smaps_rollup").unwrap();
    let line = rollup.lines().find_map(|line| line.strip_prefix("Anonymous:")).unwrap();
    line.trim().strip_suffix(" kB").unwrap().parse::<u64>().unwrap() * 1024
}

/// Tells glibc's allocator to take whatever is longer than a page from the kernel and to give it back when it is freed. Otherwise each thread's arena keeps free what the largest
/// piece so far took, and more: a megabyte and above for four threads, which is no store's.
fn pieces_leave_nothing_behind() {
    #[cfg(target_env = "gnu")]
    // SAFETY: changes a number in the allocator.
    unsafe {
        libc::mallopt(libc::M_MMAP_THRESHOLD, 4096);
    }
}

/// Calls that grow, shrink, move and remove values of all sizes.
fn one_call(db: &Database, rng: &mut fastrand::Rng, value: &[u8]) {
    let key = rng.u32(..60_000).to_be_bytes();
    let len = match rng.u32(..1000) {
        0..900 => rng.usize(..300),
        900..980 => rng.usize(..8000),
        980..999 => rng.usize(..150_000),
        _ => rng.usize(..3_000_000),
    };
    // Where a policy lets nothing go a write is refused, and half of what is asked for may be larger than what is left.
    match rng.u32(..20) {
        0..9 => drop(db.set(&key, &value[..len])),
        9..12 => drop(db.append(&key, &value[..len / 2])),
        12 => {
            let soon = SetOptions::new().expiry(Expiry::At(now_ms() + rng.u64(..300)));
            drop(db.set_with(&key, &value[..len], soon));
        }
        13 => drop(db.expire_at(&key, now_ms() + rng.u64(..300), ExpireCondition::Always)),
        14 | 15 => drop(db.delete(&key)),
        16 => drop(db.rename(&key, &rng.u32(..60_000).to_be_bytes())),
        17 => {
            let keys: Vec<[u8; 4]> = (0..20).map(|_| rng.u32(..60_000).to_be_bytes()).collect();
            let pairs: Vec<(&[u8], &[u8])> = keys.iter().map(|key| (&key[..], &value[..len / 20])).collect();
            drop(db.set_many(&pairs));
        }
        18 => {
            // What the program holds is really there, and freed before it is no longer counted.
            let bytes = rng.usize(1..40) * 4096;
            if db.reserve(bytes as u64).is_ok() {
                drop(std::hint::black_box(vec![1u8; bytes - 64]));
                db.release(bytes as u64);
            }
        }
        _ => drop(db.read(&key, <[u8]>::len)),
    }
}

fn now_ms() -> u64 {
    std::time::SystemTime::UNIX_EPOCH.elapsed().unwrap().as_millis() as u64
}

#[test]
fn the_process_grows_by_no_more_than_the_cap_whatever_four_threads_do() {
    pieces_leave_nothing_behind();
    let value = vec![b'v'; 3_000_000];
    let before = anonymous_bytes();
    let db = Database::open(Options::memory(CAP)).unwrap();
    let policies = [Policy::AllkeysLru, Policy::AllkeysS3Fifo, Policy::VolatileTtl, Policy::AllkeysLfu];
    for policy in policies {
        db.set_policy(policy).unwrap();
        let stop = AtomicBool::new(false);
        let most = thread::scope(|scope| {
            for number in 0..4 {
                let (db, stop, value) = (&db, &stop, &value);
                scope.spawn(move || {
                    let mut rng = fastrand::Rng::with_seed(number);
                    while !stop.load(Ordering::Relaxed) {
                        one_call(db, &mut rng, value);
                    }
                });
            }
            let (start, mut most) = (Instant::now(), 0);
            while start.elapsed() < Duration::from_secs(3) {
                db.expire_cycle(Duration::from_millis(1));
                db.maintain(Duration::from_millis(1));
                most = most.max(anonymous_bytes().saturating_sub(before));
                let accounted = db.stats().accounted_bytes;
                assert!(accounted <= CAP, "{accounted} bytes are accounted for under {policy}");
                thread::sleep(Duration::from_millis(5));
            }
            stop.store(true, Ordering::Relaxed);
            most
        });
        assert!(most <= CAP + BESIDE, "the process grew by {most} bytes under {policy}");
        assert!(most > CAP / 2, "{policy} never filled the cap: {most} bytes");
        let stats = db.stats();
        assert_eq!(db.recount_entry_bytes(), stats.entry_bytes, "{policy}");
        db.clear().unwrap();
    }
    while db.maintain(Duration::from_millis(1)) {}
    let left = anonymous_bytes().saturating_sub(before);
    assert!(left < CAP / 8, "{left} bytes are left of an empty store");
}
