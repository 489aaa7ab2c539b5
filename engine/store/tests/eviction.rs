//! Who goes and who stays? Statistics of eviction over many random seeds.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "helpers of tests; clippy exempts only the tests themselves"
)]

use plumbkv::{Database, Options, Policy};

const MIB: u64 = 1024 * 1024;

fn key(number: u32) -> Vec<u8> {
    format!("key:{number}").into_bytes()
}

fn filled(options: Options, count: u32, value_len: usize) -> Database {
    let db = Database::open(options).unwrap();
    for number in 1..=count {
        db.set(&key(number), &vec![b'v'; value_len]).unwrap();
    }
    db
}

fn is_there(db: &Database, number: u32) -> bool {
    db.value_len(&key(number)).unwrap() > 0
}

#[test]
fn early_keys_go_and_the_last_five_stay_in_200_of_200_runs() {
    for seed in 0..200 {
        let db = filled(Options::memory(2 * MIB).seed(seed), 4000, 1024);
        let gone = [1, 2, 3, 10, 50, 100].into_iter().filter(|number| !is_there(&db, *number)).count();
        assert!(gone >= 3, "seed {seed}: only {gone} of six early keys are gone");
        let gone = (1..=1000).filter(|number| !is_there(&db, *number)).count();
        assert!(gone >= 950, "seed {seed}: only {gone} of the first 1,000 are gone");
        let last = (3996..=4000).filter(|number| is_there(&db, *number)).count();
        assert_eq!(last, 5, "seed {seed}");
    }
}

#[test]
fn the_last_five_stay_in_a_tiny_store_and_among_large_values() {
    for seed in 0..200 {
        // 16 of 100 KiB: each eviction looks at all there is, so the order is exact.
        let db = filled(Options::memory(2 * MIB).seed(seed), 100, 100 * 1024);
        for number in 1..=100 {
            let kept = db.len() as u32;
            assert_eq!(
                is_there(&db, number),
                number > 100 - kept,
                "seed {seed}: {number} of 100, {kept} kept"
            );
        }
        // 32 shards for 40 values: most evictions come from another shard than the one written.
        let db = filled(Options::memory(8 * MIB).seed(seed), 200, 200 * 1024);
        assert!((196..=200).all(|number| is_there(&db, number)), "seed {seed}");
        // One shard.
        let db = filled(Options::memory(200 * 1024).seed(seed), 2000, 100);
        assert!((1996..=2000).all(|number| is_there(&db, number)), "seed {seed}");
    }
}

#[test]
fn keys_in_use_survive_a_flood_of_keys_that_are_not() {
    let db = filled(Options::memory(2 * MIB).seed(1), 200, 1024);
    for number in 1000..20_000u32 {
        db.set(&key(number), &[1; 1024]).unwrap();
        // Each of the 200 is read once in 200 writes, a ninth of what the store holds.
        db.read(&key(1 + number % 200), |_| ()).unwrap();
    }
    let survivors = (1..=200).filter(|number| is_there(&db, *number)).count();
    assert!(survivors >= 190, "{survivors} of 200");
}

#[test]
fn a_hot_key_does_not_age_its_shard() {
    // All reads go to one key: in shards that counted for themselves its neighbours would look ancient.
    let db = Database::open(Options::memory(8 * MIB).seed(4)).unwrap();
    let mut last_written = Vec::new();
    for number in 1..=2000u32 {
        db.set(&key(number), &vec![1; 100 * 1024]).unwrap();
        last_written.push(number);
        for _ in 0..50 {
            db.read(&key(1), |_| ()).unwrap();
        }
    }
    let newest = (1951..=2000).filter(|number| is_there(&db, *number)).count();
    assert!(newest >= 49, "{newest} of the 50 newest of about 80");
    assert!(is_there(&db, 1), "the hot key itself");
}

#[test]
fn a_large_value_does_not_empty_the_shard_it_falls_into() {
    for seed in 0..20 {
        let db = filled(Options::memory(8 * MIB).seed(seed), 10_000, 1024);
        let before = (7_001..=10_000).filter(|number| is_there(&db, *number)).count();
        // About what a shard holds: paid for by the writing shard alone it would cost all its 100 youngest keys.
        db.set(b"large", &[1; 250 * 1024]).unwrap();
        let after = (7_001..=10_000).filter(|number| is_there(&db, *number)).count();
        assert!(before - after <= 10, "seed {seed}: {} of the 3,000 youngest went", before - after);
    }
}

#[test]
fn survivors_are_young_for_lru_and_of_any_age_for_random() {
    let thirds = |policy| {
        let db = filled(Options::memory(2 * MIB).policy(policy).seed(11), 9000, 1024);
        [1..=3000, 3001..=6000, 6001..=9000].map(|mut third: std::ops::RangeInclusive<u32>| {
            third.by_ref().filter(|number| is_there(&db, *number)).count()
        })
    };
    let [old, middle, young] = thirds(Policy::AllkeysLru);
    assert!(old + middle < 20 && young > 1700, "lru kept {old}, {middle}, {young}");
    // At random a key survives n evictions from N with (1 − 1/N)^n: 8 %, 20 % and about half.
    let [old, middle, young] = thirds(Policy::AllkeysRandom);
    assert!(old > 50 && middle > 200 && young > 1000, "random kept {old}, {middle}, {young}");
}

/// Hits of a store and of exact LRU with as many keys, after a quarter of the rounds, under a Zipf(0.99) load of 20,000 keys.
fn hits(policy: Policy, rounds: u32) -> (u32, u32) {
    // By inversion; the store holds about 1,850 of them.
    let weights: Vec<f64> = (1..=20_000).map(|rank| 1.0 / f64::from(rank).powf(0.99)).collect();
    let sums: Vec<f64> = weights
        .iter()
        .scan(0.0, |sum, weight| {
            *sum += weight;
            Some(*sum)
        })
        .collect();
    let mut rng = fastrand::Rng::with_seed(2);
    let db = Database::open(Options::memory(2 * MIB).policy(policy).seed(2)).unwrap();
    let mut exact = ExactLru::default();
    let (mut hits, mut exact_hits) = (0, 0);
    for round in 0..rounds {
        let number = sums.partition_point(|sum| *sum < rng.f64() * sums[sums.len() - 1]) as u32;
        let hit = db.read(&key(number), |_| ()).unwrap().is_some();
        if !hit {
            db.set(&key(number), &[1; 1024]).unwrap();
        }
        let exact_hit = exact.access(number, db.len() as usize);
        if round > rounds / 4 {
            hits += u32::from(hit);
            exact_hits += u32::from(exact_hit);
        }
    }
    (hits, exact_hits)
}

#[test]
fn hit_ratio_comes_near_exact_lru_on_a_skewed_load() {
    let (hits, exact) = hits(Policy::AllkeysLru, 200_000);
    let ratio = f64::from(hits) / f64::from(exact);
    assert!((0.97..1.03).contains(&ratio), "{hits} hits, exact LRU {exact}: {ratio:.3}");
}

#[test]
fn s3_fifo_hits_more_often_than_exact_lru() {
    let (hits, exact) = hits(Policy::AllkeysS3Fifo, 200_000);
    let ratio = f64::from(hits) / f64::from(exact);
    assert!(ratio > 1.02, "{hits} hits, exact LRU {exact}: {ratio:.3}");
}

#[test]
fn s3_fifo_spares_what_is_used_from_a_flood_of_what_is_not() {
    for value_len in [1024, 100, 40_000] {
        let db = filled(Options::memory(4 * MIB).policy(Policy::AllkeysS3Fifo).seed(1), 20, value_len);
        for round in 0..60_000u32 {
            db.set(&key(1000 + round), &vec![1; value_len]).unwrap();
            if round % 8 == 0 {
                for number in 1..=20 {
                    db.read(&key(number), |_| ()).unwrap();
                }
            }
            if value_len > 10_000 && round > 3000 {
                break;
            }
        }
        let survivors = (1..=20).filter(|number| is_there(&db, *number)).count();
        assert_eq!(survivors, 20, "values of {value_len} bytes");
        let stats = db.stats();
        assert!(stats.entry_bytes > stats.cap_bytes * 3 / 4, "{stats:?}");
    }
}

/// A list of keys by last access, with as many places as the store holds keys.
#[derive(Default)]
struct ExactLru {
    clock: u64,
    by_age: std::collections::BTreeMap<u64, u32>,
    last: std::collections::HashMap<u32, u64>,
}

impl ExactLru {
    fn access(&mut self, number: u32, places: usize) -> bool {
        self.clock += 1;
        let old = self.last.insert(number, self.clock);
        if let Some(old) = old {
            self.by_age.remove(&old);
        }
        self.by_age.insert(self.clock, number);
        while self.last.len() > places {
            let Some((_, victim)) = self.by_age.pop_first() else { break };
            self.last.remove(&victim);
        }
        old.is_some()
    }
}

#[test]
fn a_policy_that_several_threads_change_at_once_leaves_nothing_reserved() {
    let db = Database::open(Options::memory(8 * MIB)).unwrap();
    let empty = db.stats().accounted_bytes;
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let db = &db;
            scope.spawn(move || {
                for turn in 0..50_000 {
                    let is_lru = (turn + thread) % 3 == 0;
                    db.set_policy(if is_lru { Policy::AllkeysLru } else { Policy::AllkeysS3Fifo }).unwrap();
                }
            });
        }
    });
    db.set_policy(Policy::AllkeysLru).unwrap();
    assert_eq!(db.stats().accounted_bytes, empty);
}
