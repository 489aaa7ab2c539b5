//! How good is the choice? Survival by age and the hit ratio beside exact LRU, for 1, 3, 5 and 10 samples: the table of
//! `docs/eviction.md`.
//!
//! ```text
//! cargo run --release -p plumbkv --example eviction
//! ```

use std::collections::{BTreeMap, HashMap};

use plumbkv::{Database, Options, Result};

const CAP: u64 = 2 << 20;
const RUNS: u64 = 200;

fn key(number: u32) -> Vec<u8> {
    format!("key:{number}").into_bytes()
}

fn open(samples: u32, seed: u64) -> Result<Database> {
    Database::open(Options::memory(CAP).samples(samples).seed(seed))
}

/// Of the first 1,000 of 4,000 keys of 1 KiB, how many go on average, and how many in the worst of all runs.
fn survival(samples: u32) -> Result<(f64, usize)> {
    let (mut sum, mut least) = (0, usize::MAX);
    for seed in 0..RUNS {
        let db = open(samples, seed)?;
        for number in 1..=4000 {
            db.set(&key(number), &[0; 1024])?;
        }
        let gone = (1..=1000).filter(|number| matches!(db.exists(&key(*number)), Ok(false))).count();
        sum += gone;
        least = least.min(gone);
    }
    Ok((sum as f64 / RUNS as f64, least))
}

/// Hit ratios on Zipf(0.99) over 20,000 keys of 1 KiB, ours and that of exact LRU with as many keys.
fn hit_ratios(samples: u32) -> Result<(f64, f64)> {
    let mut total = 0.0;
    let cumulated = |rank: u32| {
        total += 1.0 / f64::from(rank).powf(0.99);
        total
    };
    let sums: Vec<f64> = (1..=20_000).map(cumulated).collect();
    let mut rng = fastrand::Rng::with_seed(2);
    let db = open(samples, 2)?;
    let (mut by_age, mut last) = (BTreeMap::new(), HashMap::new());
    let (mut hits, mut exact_hits, rounds, warm_up) = (0u32, 0u32, 1_000_000u32, 250_000);
    let mut places = usize::MAX;
    for round in 0..rounds {
        let drawn = rng.f64() * sums[sums.len() - 1];
        let number = sums.partition_point(|sum| *sum < drawn) as u32;
        let is_hit = db.exists(&key(number))?;
        if !is_hit {
            db.set(&key(number), &[1; 1024])?;
        }
        let old = last.insert(number, round);
        if let Some(old) = old {
            by_age.remove(&old);
        }
        by_age.insert(round, number);
        if round % 1000 == 0 && db.stats().evicted > 0 {
            places = db.len() as usize;
        }
        while last.len() > places {
            let Some((_, oldest)) = by_age.pop_first() else { break };
            last.remove(&oldest);
        }
        if round >= warm_up {
            hits += u32::from(is_hit);
            exact_hits += u32::from(old.is_some());
        }
    }
    let measured = f64::from(rounds - warm_up);
    Ok((f64::from(hits) / measured, f64::from(exact_hits) / measured))
}

fn main() -> Result<()> {
    println!(
        "| samples | of the first 1,000 of 4,000 keys gone: mean (least of {RUNS}) | hit ratio | exact LRU |"
    );
    println!("| ---: | ---: | ---: | ---: |");
    for samples in [1, 3, 5, 10] {
        let ((mean, least), (ours, exact)) = (survival(samples)?, hit_ratios(samples)?);
        println!("| {samples} | {mean:.1} ({least}) | {ours:.4} | {exact:.4} |");
    }
    Ok(())
}
