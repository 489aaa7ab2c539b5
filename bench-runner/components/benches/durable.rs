//! How long does each part of the durable store take, and how often does it ask for memory? Beside it, where there is one, a like part of another library in the same run.
//!
//! Keys have 16 bytes and values 100, drawn in advance, asked for in random order. Two sizes: 8,192 entries, which an L2 cache holds, and a million. `allocations` lines
//! say how many times an operation called the allocator, counted over ten thousand of them.

#![allow(clippy::expect_used, reason = "a benchmark that cannot go on says so and ends")]
#![allow(unsafe_code, reason = "a counting allocator")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::hint::black_box;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use criterion::measurement::WallTime;
use criterion::{BatchSize, BenchmarkGroup, BenchmarkId, Criterion, criterion_group, criterion_main};
use crossbeam_skiplist::SkipMap;
use plumbkv::parts::{Block, Bloom, Cache, Index, Memtable, Table, Wal};

struct Counting;

static ALLOCATIONS: AtomicU64 = AtomicU64::new(0);

// SAFETY: every call goes to the system's allocator with the same arguments.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        // SAFETY: as the caller promises.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        // SAFETY: as the caller promises.
        unsafe { System.dealloc(at, layout) }
    }

    unsafe fn realloc(&self, at: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        // SAFETY: as the caller promises.
        unsafe { System.realloc(at, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

const SIZES: [usize; 2] = [8_192, 1_000_000];
const VALUE: [u8; 100] = [7; 100];

fn keys(count: usize) -> Vec<[u8; 16]> {
    (0..count).map(|number| format!("key:{number:012}").into_bytes().try_into().expect("16 bytes")).collect()
}

/// In random order, absent keys between them if asked for.
fn shuffled(count: usize) -> Vec<[u8; 16]> {
    let mut keys = keys(count);
    fastrand::Rng::with_seed(1).shuffle(&mut keys);
    keys
}

fn absent(count: usize) -> Vec<[u8; 16]> {
    shuffled(count)
        .into_iter()
        .map(|mut key| {
            key[3] = b';';
            key
        })
        .collect()
}

/// One operation after the other, without end.
fn each(group: &mut BenchmarkGroup<WallTime>, name: &str, size: usize, mut operation: impl FnMut(usize)) {
    const COUNTED: u64 = 10_000;
    let mut at = 0;
    let mut next = || {
        at = if at + 1 < size { at + 1 } else { 0 };
        at
    };
    (0..COUNTED).for_each(|_| operation(next()));
    let before = ALLOCATIONS.load(Ordering::Relaxed);
    (0..COUNTED).for_each(|_| operation(next()));
    let counted = ALLOCATIONS.load(Ordering::Relaxed) - before;
    eprintln!("{name}/{size}: allocations per operation: {}", counted as f64 / COUNTED as f64);
    group.bench_function(BenchmarkId::new(name, size), |b| b.iter(|| operation(next())));
}

fn memtable(c: &mut Criterion) {
    let mut group = c.benchmark_group("lsm-memtable");
    for size in SIZES {
        let keys = shuffled(size);
        let room = size * 300 + (1 << 20);
        // What the smallest and the largest key begin with, as a database knows it from its tables or its last memtable.
        let common: &[u8] = if size == SIZES[0] { b"key:00000000" } else { b"key:000000" };
        // A set into a table of about this size: a new one when it is full.
        let fill = |upto: usize| {
            let mut table = Memtable::new(room, common).expect("memory");
            keys[..upto].iter().for_each(|key| assert!(table.set(key, &VALUE)));
            table
        };
        let batch = size / 8;
        group.bench_function(BenchmarkId::new("set", size), |b| {
            b.iter_batched_ref(
                || fill(size - batch),
                |table| {
                    keys[size - batch..].iter().for_each(|key| assert!(table.set(black_box(key), &VALUE)))
                },
                BatchSize::PerIteration,
            );
        });
        group.bench_function(BenchmarkId::new("set-crossbeam", size), |b| {
            b.iter_batched_ref(
                || keys[..size - batch].iter().map(|key| (*key, VALUE)).collect::<SkipMap<_, _>>(),
                |table| {
                    keys[size - batch..].iter().for_each(|key| drop(table.insert(*black_box(key), VALUE)))
                },
                BatchSize::PerIteration,
            );
        });
        eprintln!("set/{size}: one iteration is {batch} sets");
        let table = fill(size);
        each(&mut group, "get", size, |at| assert!(table.get(black_box(&keys[at])).is_some()));
        let rival: SkipMap<[u8; 16], [u8; 100]> = keys.iter().map(|key| (*key, VALUE)).collect();
        each(&mut group, "get-crossbeam", size, |at| {
            assert!(rival.get(black_box(&keys[at])).is_some_and(|entry| black_box(entry.value()[0]) == 7));
        });
    }
    group.finish();
}

fn filter(c: &mut Criterion) {
    let mut group = c.benchmark_group("lsm-filter");
    for size in SIZES {
        let (keys, absent) = (shuffled(size), absent(size));
        let filter = Bloom::new(keys.iter().map(|key| &key[..]));
        each(&mut group, "present", size, |at| assert!(filter.may_hold(black_box(&keys[at]))));
        each(&mut group, "absent", size, |at| {
            black_box(filter.may_hold(black_box(&absent[at])));
        });
    }
    group.finish();
}

fn index_and_block(c: &mut Criterion) {
    let mut group = c.benchmark_group("lsm-index");
    for size in SIZES {
        let (sorted, keys) = (keys(size), shuffled(size));
        let index = Index::new(sorted.iter().map(|key| &key[..])).expect("an index");
        each(&mut group, "find", size, |at| assert!(index.find(black_box(&keys[at])) < size));
    }
    group.finish();
    let mut group = c.benchmark_group("lsm-block");
    let sorted = keys(17);
    let block = Block::new(sorted.iter().map(|key| (&key[..], &VALUE[..])));
    each(&mut group, "get", sorted.len(), |at| assert!(block.get(black_box(&sorted[at])).is_some()));
    group.finish();
}

fn cache(c: &mut Criterion) {
    const BLOCK: usize = 2 << 10;
    let mut group = c.benchmark_group("lsm-cache");
    // 1 MiB and 64 MiB of blocks.
    for blocks in [512_u32, 32_768] {
        let cache = Cache::new(u64::from(blocks) * (BLOCK as u64 + 64) * 2, BLOCK);
        let rival = quick_cache::sync::Cache::<(u64, u32), Arc<[u8]>>::new(blocks as usize * 2);
        let block: Arc<[u8]> = vec![7; BLOCK].into();
        let mut order: Vec<u32> = (0..blocks).collect();
        fastrand::Rng::with_seed(1).shuffle(&mut order);
        for number in &order {
            cache.set(1, *number, vec![7; BLOCK].into());
            rival.insert((1, *number), vec![7; BLOCK].into());
        }
        let size = blocks as usize;
        each(&mut group, "get", size, |at| assert!(cache.get(1, black_box(order[at])).is_some()));
        each(&mut group, "get-quick_cache", size, |at| {
            assert!(rival.get(&(1, black_box(order[at]))).is_some())
        });
        each(&mut group, "set", size, |at| cache.set(1, black_box(order[at]), Arc::clone(&block)));
        each(&mut group, "set-quick_cache", size, |at| {
            rival.insert((1, black_box(order[at])), Arc::clone(&block))
        });
    }
    group.finish();
}

fn log_and_table(c: &mut Criterion) {
    let folder = tempfile::tempdir().expect("a folder");
    let mut group = c.benchmark_group("lsm-log");
    let keys = shuffled(8_192);
    let mut log = Wal::create(&folder.path().join("log")).expect("a log");
    // Handed to the system a thousand at a time, as a batch does.
    each(&mut group, "append-in-thousands", keys.len(), |at| {
        log.append(black_box(&keys[at]), &VALUE);
        if at % 1_000 == 0 {
            log.hand_over().expect("written");
        }
    });
    let mut log = Wal::create(&folder.path().join("log-of-single-writes")).expect("a log");
    each(&mut group, "append", keys.len(), |at| {
        log.append(black_box(&keys[at]), &VALUE);
        log.hand_over().expect("written");
    });
    group.finish();
    let mut group = c.benchmark_group("lsm-table");
    for size in SIZES {
        let (sorted, shuffled) = (self::keys(size), shuffled(size));
        for (name, cache_bytes) in [("get-cached", 1_u64 << 30), ("get-uncached", 0)] {
            let path = folder.path().join(format!("{size}-{name}"));
            let table = Table::create(&path, sorted.iter().map(|key| (&key[..], &VALUE[..])), cache_bytes)
                .expect("a table");
            // Twice, so that all of it is cached.
            for key in sorted.iter().chain(&sorted) {
                assert!(table.get(key, |_| ()).expect("read").is_some());
            }
            each(&mut group, name, size, |at| {
                let found = table.get(black_box(&shuffled[at]), |value| black_box(value[0])).expect("read");
                assert!(found.is_some());
            });
        }
    }
    group.finish();
}

fn criterion() -> Criterion {
    Criterion::default()
        .warm_up_time(Duration::from_millis(500))
        .measurement_time(Duration::from_secs(2))
        .sample_size(20)
}

criterion_group! {
    name = durable;
    config = criterion();
    targets = memtable, filter, index_and_block, cache, log_and_table
}
criterion_main!(durable);
