//! Does our block cache find as much as quick_cache, of which it has the size and the admission?

use plumbkv::parts::Cache;
use quick_cache::{Weighter, sync};

const BLOCK: usize = 256;
/// What ours counts for a block besides its bytes.
const ENTRY: u64 = 64;
/// What ours takes for a block, in pieces of 1/16 more, and counts.
const TAKEN: u64 = 320 + ENTRY;
const BLOCKS: usize = 100_000;
const CACHED: u64 = 10_000;
const READS: usize = 2_000_000;

#[derive(Clone)]
struct Whole;

impl Weighter<u32, ()> for Whole {
    fn weight(&self, _: &u32, (): &()) -> u64 {
        1
    }
}

/// Shares of reads that find their block: ours, and quick_cache's.
fn hits(mut next: impl FnMut(&mut fastrand::Rng) -> u32) -> [f64; 2] {
    let ours = Cache::new(CACHED * TAKEN, BLOCK);
    let theirs = sync::Cache::with_weighter(CACHED as usize, CACHED, Whole);
    let admission = Cache::new(CACHED * TAKEN, BLOCK);
    let mut random = fastrand::Rng::with_seed(1);
    let (mut found, block) = ([0_usize; 2], [0; BLOCK]);
    for at in 0..READS {
        let number = next(&mut random);
        let counts = usize::from(at >= READS / 2);
        match ours.read(1, number, <[u8]>::len) {
            Some(_) => found[0] += counts,
            None if ours.wants(1, number) => ours.set(1, number, &block),
            None => {}
        }
        match theirs.get(&number) {
            Some(()) => found[1] += counts,
            None if admission.wants(1, number) => theirs.insert(number, ()),
            None => {}
        }
    }
    found.map(|found| found as f64 / (READS - READS / 2) as f64)
}

/// Numbers of which the n-th is drawn in proportion to 1/n^s.
fn zipf(exponent: f64) -> impl FnMut(&mut fastrand::Rng) -> u32 {
    let mut sums: Vec<f64> = Vec::new();
    for rank in 1..=BLOCKS {
        sums.push(sums.last().unwrap_or(&0.0) + (rank as f64).powf(-exponent));
    }
    move |random| {
        let drawn = random.f64() * sums[BLOCKS - 1];
        sums.partition_point(|sum| *sum < drawn) as u32
    }
}

#[test]
fn as_much_is_found_as_by_quick_cache() {
    let mut moving = 0;
    let mut drawn = zipf(0.99);
    let loads: [(&str, [f64; 2]); 5] = [
        ("Zipf 0.99", hits(zipf(0.99))),
        ("Zipf 0.7", hits(zipf(0.7))),
        ("uniform", hits(|random| random.u32(0..BLOCKS as u32))),
        (
            "a hot part that moves",
            hits(|random| {
                moving += 1;
                (moving / 50_000 * 5_000 + random.u32(0..8_000)) % BLOCKS as u32
            }),
        ),
        (
            "Zipf 0.99 and a scan by turns",
            hits({
                let mut scanned = 0_u32;
                move |random| {
                    if random.bool() {
                        scanned += 1;
                        BLOCKS as u32 + scanned % (3 * BLOCKS as u32)
                    } else {
                        drawn(random)
                    }
                }
            }),
        ),
    ];
    for (load, [ours, theirs]) in loads {
        println!("{load}: {ours:.4} {theirs:.4}");
    }
    for (load, [ours, theirs]) in loads {
        assert!(ours > theirs - 0.01, "{load}: {ours} of reads find their block in ours, {theirs} in theirs");
    }
}
