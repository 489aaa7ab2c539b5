//! How long does a call on the memory store take? One thread, no contention, keys and values drawn in advance.
//!
//! `get` and `set` work on 100,000 keys, more than the first-level caches hold; `set` overwrites with a value of the same
//! size. `evict-one` inserts a new key into a full store, so each call evicts (about) one key and stores another: its
//! time less that of `set` is the price of making room.

use std::hint::black_box;
use std::time::Duration;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use plumbkv::{Database, Options};

const KEYS: u64 = 100_000;
const VALUE_BYTES: [usize; 2] = [64, 1024];

/// 16 bytes, as `key:` and twelve digits.
fn key(number: u64) -> [u8; 16] {
    let mut key = *b"key:000000000000";
    let mut rest = number;
    for digit in key[4..].iter_mut().rev() {
        *digit = b'0' + (rest % 10) as u8;
        rest /= 10;
    }
    key
}

fn value(len: usize) -> Vec<u8> {
    let mut rng = fastrand::Rng::with_seed(len as u64);
    std::iter::repeat_with(|| rng.u8(..)).take(len).collect()
}

/// Keys in a random order, so that neither the caches nor the prefetcher know the next one.
fn shuffled_keys() -> Vec<[u8; 16]> {
    let mut keys: Vec<_> = (0..KEYS).map(key).collect();
    fastrand::Rng::with_seed(1).shuffle(&mut keys);
    keys
}

fn open(cap: u64) -> Database {
    Database::open(Options::memory(cap).seed(1)).expect("valid options")
}

fn full(keys: &[[u8; 16]], value: &[u8]) -> Database {
    let db = open(1 << 30);
    for key in keys {
        db.set(key, value).expect("room for all keys");
    }
    assert_eq!(db.stats().evicted, 0, "the benchmark must not miss");
    db
}

fn get(c: &mut Criterion) {
    let mut group = c.benchmark_group("memory/get");
    let keys = shuffled_keys();
    for len in VALUE_BYTES {
        let db = full(&keys, &value(len));
        let mut order = keys.iter().cycle();
        group.throughput(Throughput::Elements(1));
        group.bench_function(BenchmarkId::from_parameter(format!("{len}B")), |b| {
            b.iter(|| {
                let key = order.next().expect("endless");
                let len = db.read(black_box(key), |value| black_box(value).len()).expect("readable");
                assert!(len.is_some(), "a miss");
            });
        });
    }
    group.finish();
}

fn set(c: &mut Criterion) {
    let mut group = c.benchmark_group("memory/set");
    let keys = shuffled_keys();
    for len in VALUE_BYTES {
        let value = value(len);
        let db = full(&keys, &value);
        let mut order = keys.iter().cycle();
        group.throughput(Throughput::Elements(1));
        group.bench_function(BenchmarkId::from_parameter(format!("{len}B")), |b| {
            b.iter(|| db.set(black_box(order.next().expect("endless")), black_box(&value)).expect("room"));
        });
        assert_eq!(db.len(), KEYS);
    }
    group.finish();
}

fn evict_one(c: &mut Criterion) {
    let mut group = c.benchmark_group("memory/evict-one");
    for len in VALUE_BYTES {
        let value = value(len);
        let db = open(16 << 20);
        let mut next = 0;
        while db.stats().evicted == 0 {
            for _ in 0..1000 {
                db.set(&key(next), &value).expect("room");
                next += 1;
            }
        }
        let before = (next, db.stats().evicted);
        group.throughput(Throughput::Elements(1));
        group.bench_function(BenchmarkId::from_parameter(format!("{len}B")), |b| {
            b.iter(|| {
                db.set(black_box(&key(next)), black_box(&value)).expect("room");
                next += 1;
            });
        });
        let (inserted, evicted) = (next - before.0, db.stats().evicted - before.1);
        if inserted > 10_000 {
            let per_insert = evicted as f64 / inserted as f64;
            assert!((0.9..1.1).contains(&per_insert), "{per_insert} evictions per insert");
        }
    }
    group.finish();
}

criterion_group! {
    name = benches;
    config = Criterion::default()
        .warm_up_time(Duration::from_millis(500))
        .measurement_time(Duration::from_millis(1500))
        .sample_size(30);
    targets = get, set, evict_one
}
criterion_main!(benches);
