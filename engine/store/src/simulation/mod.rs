//! A simulation of the whole durable store. Each run draws everything from one seed: small options, what
//! clients do, how their threads and those that flush, merge and sync take turns, the clock, faults of
//! the disk and power cuts. Every answer is compared with a model, and a run can be replayed exactly.
//!
//! `make simulate SEEDS=2000` runs seeds from 0 on; `SIMULATE_FROM` begins elsewhere. A failure prints its
//! seed, and `SIMULATE_SEED` runs that one alone and tells each step.

mod client;
mod least;
mod life;
mod model;
mod options;
mod reads;
mod scheduler;
mod shared;
mod steps;
mod whole;
mod world;

use life::Outcome;
use scheduler::Biased;
use shuttle::{Config, FailurePersistence, MaxSteps, Runner};
use std::cell::Cell;
use std::io::Write as _;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Instant;
use world::Telling;

/// Runs of which each is done twice, and has to come out the same.
const TWICE: u64 = 20;

fn number(name: &str) -> Option<u64> {
    std::env::var(name)
        .ok()
        .map(|text| text.parse().unwrap_or_else(|_| panic!("{name} is no number: {text}")))
}

/// One seed, under its own order of threads.
fn simulate(seed: u64, telling: Telling) -> Outcome {
    SEED.set(seed);
    let mut config = Config::new();
    config.stack_size = 1 << 19;
    config.max_steps = MaxSteps::FailAfter(20_000_000);
    config.failure_persistence = FailurePersistence::None;
    let outcome = Arc::new(Mutex::new(Outcome::default()));
    let found = Arc::clone(&outcome);
    crate::lsm::sync::TimeKeeper::forget();
    Runner::new(Biased::new(seed), config).run(move || {
        let outcome = life::run(seed, telling);
        *found.lock().unwrap() = outcome;
    });
    outcome.lock().unwrap().clone()
}

thread_local! {
    /// The seed that the thread runs.
    static SEED: Cell<u64> = const { Cell::new(0) };
}

/// A run that fails says which seed it was, and ends the process: its other threads cannot be unwound.
fn end_at_a_failure() {
    std::panic::set_hook(Box::new(|info| {
        let seed = SEED.get();
        let text =
            format!("simulation: seed {seed} fails: {info}\nrun it again with: make simulate SEED={seed}\n");
        let _ = std::io::stderr().write_all(text.as_bytes());
        std::process::exit(101);
    }));
}

fn run(seed: u64) -> Outcome {
    let outcome = simulate(seed, Telling::Nothing);
    if seed.is_multiple_of(100) && seed / 100 < TWICE {
        let again = simulate(seed, Telling::Unheard);
        assert_eq!(outcome, again, "two runs of one seed differ, of which one is told");
    }
    outcome
}

#[test]
fn a_store_is_a_sorted_map_through_faults_and_power_cuts() {
    end_at_a_failure();
    if let Some(seed) = number("SIMULATE_SEED") {
        let outcome = simulate(seed, Telling::Printed);
        println!("simulation: seed {seed}, hash {:016x}", outcome.hash);
        return;
    }
    let (from, count) = (number("SIMULATE_FROM").unwrap_or(0), number("SIMULATE_SEEDS").unwrap_or(200));
    let (next, begin) = (AtomicU64::new(from), Instant::now());
    let total = Mutex::new(Outcome::default());
    let done = AtomicU64::new(0);
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(2, |count| count.get()) {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= from + count {
                        return;
                    }
                    let Outcome { hash, counts } = run(seed);
                    let mut total = total.lock().unwrap();
                    total.hash = total.hash.wrapping_add(hash);
                    counts
                        .into_iter()
                        .for_each(|(name, count)| *total.counts.entry(name).or_default() += count);
                    let done = done.fetch_add(1, Ordering::Relaxed) + 1;
                    if done.is_multiple_of((count / 10).max(100)) {
                        eprintln!(
                            "simulation: {done} of {count} seeds, {:.0} s",
                            begin.elapsed().as_secs_f64()
                        );
                    }
                }
            });
        }
    });
    let total = total.into_inner().unwrap();
    println!(
        "simulation: {count} seeds from {from} in {:.1} s, hash {:016x}",
        begin.elapsed().as_secs_f64(),
        total.hash
    );
    least::check(&total.counts, count);
}
