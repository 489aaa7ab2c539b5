//! Which shard holds a key, and how does a write get the room it needs?

use std::hash::BuildHasher;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicU32, AtomicU64, Ordering::Relaxed};

use foldhash::SharedSeed;
use foldhash::quality::SeedableRandomState;
use parking_lot::{Mutex, MutexGuard};

use super::budget::Budget;
use super::evict::{Policy, Protected};
use super::order::CommonOrder;
use super::shard::{Common, Shard, Shortage, Stop};
use super::table::tag_of;
use crate::clock::Clock;
use crate::error::{Error, Result};
use crate::stats::Stats;

const CAP_PER_SHARD: u64 = 256 * 1024;
const MOST_SHARDS: usize = 4096;

/// The volatile store: shards, each under a lock, and one budget.
pub(crate) struct Store {
    // parking_lot: one byte per lock, held for about 100 ns, never while waiting for another shard's lock out of
    // order.
    shards: Box<[Padded]>,
    pub(super) common: Common,
    hasher: SeedableRandomState,
    clock: Arc<dyn Clock>,
    policy: AtomicU8,
    samples: AtomicU32,
    random: AtomicU64,
    pub(super) sweeping: AtomicU64,
    refused: AtomicU64,
}

/// A shard on cache lines of its own, so that two threads on neighbouring shards do not slow each other down.
#[repr(align(64))]
#[derive(Default)]
struct Padded(Mutex<Shard>);
const _: () = assert!(size_of::<Padded>() == 128);

/// Several shards under lock, by their number.
pub(super) struct Locked<'a>(Vec<(usize, MutexGuard<'a, Shard>)>);

impl Locked<'_> {
    /// One of the shards; `None` for one that was not asked for.
    pub(super) fn shard(&mut self, index: usize) -> Option<&mut Shard> {
        let place = self.0.binary_search_by_key(&index, |(held, _)| *held).ok()?;
        Some(&mut self.0[place].1)
    }
}

/// Where a key belongs.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Location {
    pub(super) shard: usize,
    pub(super) tag: u32,
}

impl Store {
    pub(crate) fn open(
        cap_bytes: u64,
        policy: Policy,
        samples: u32,
        clock: Arc<dyn Clock>,
        shards: Option<usize>,
        seed: Option<u64>,
    ) -> Result<Self> {
        check_cap(cap_bytes)?;
        check_samples(samples)?;
        let count = shards.unwrap_or_else(|| shards_for(cap_bytes));
        if !count.is_power_of_two() || count > MOST_SHARDS {
            let reason = format!("{count} shards; give a power of two from 1 to {MOST_SHARDS}");
            return Err(Error::InvalidOption { option: "shards", reason });
        }
        let (seed, shared) = match seed {
            Some(seed) => (seed, SharedSeed::global_fixed()),
            // std's hasher is seeded by the operating system, which clients cannot guess.
            None => (std::hash::RandomState::new().hash_one(0), SharedSeed::global_random()),
        };
        let shards: Box<[Padded]> = (0..count).map(|_| Padded::default()).collect();
        let base = base_bytes(count);
        Ok(Self {
            shards,
            common: Common {
                budget: Budget::new(cap_bytes, base),
                order: CommonOrder::new(),
                earliest_expiry: AtomicU64::new(u64::MAX),
            },
            hasher: SeedableRandomState::with_seed(seed, shared),
            clock,
            policy: AtomicU8::new(policy as u8),
            samples: AtomicU32::new(samples),
            random: AtomicU64::new(seed.rotate_left(32)),
            sweeping: AtomicU64::new(0),
            refused: AtomicU64::new(0),
        })
    }

    pub(super) fn locate(&self, key: &[u8]) -> Location {
        let hash = self.hasher.hash_one(key);
        // The lower bits choose the shard, the upper half the place in it: they are independent.
        Location { shard: hash as usize & (self.shards.len() - 1), tag: tag_of(hash) }
    }

    pub(super) fn lock(&self, shard: usize) -> MutexGuard<'_, Shard> {
        self.shards[shard].0.lock()
    }

    pub(super) fn shard_count(&self) -> usize {
        self.shards.len()
    }

    pub(super) fn now_ms(&self) -> u64 {
        self.clock.now_ms()
    }

    pub(super) fn policy(&self) -> Policy {
        Policy::ALL[usize::from(self.policy.load(Relaxed)) % Policy::ALL.len()]
    }

    pub(super) fn samples(&self) -> usize {
        self.samples.load(Relaxed) as usize
    }

    /// A fresh generator per decision: nothing to lock, and a seeded store repeats its choices.
    pub(super) fn rng(&self) -> fastrand::Rng {
        // The golden ratio steps through all 64-bit numbers before it repeats (Steele, Lea, Flood: SplitMix).
        let state = self.random.fetch_add(0x9E37_79B9_7F4A_7C15, Relaxed);
        fastrand::Rng::with_seed((state ^ (state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9))
    }

    /// Carries out `op` under the shard's lock, making room as often as it asks for some. `op` must change
    /// nothing when it returns an error; it is called again after others may have changed the shard.
    pub(super) fn with_room<R>(
        &self,
        location: Location,
        mut op: impl FnMut(&mut Shard) -> std::result::Result<R, Stop>,
    ) -> Result<R> {
        let protected = Protected { shard: location.shard, tag: location.tag };
        let mut shard = self.lock(location.shard);
        loop {
            let shortage = match op(&mut shard) {
                Ok(done) => return Ok(done),
                Err(Stop::Failed(error)) => return Err(error),
                Err(Stop::Short(shortage)) => shortage,
            };
            self.check_possible(shortage)?;
            if !self.evict_here(&mut shard, shortage.bytes, protected) {
                drop(shard);
                self.make_room(shortage, Some(protected))?;
                shard = self.lock(location.shard);
            }
        }
    }

    /// Makes room for a shortage that was met with locks that are now released.
    pub(super) fn make_room(&self, shortage: Shortage, protected: Option<Protected>) -> Result<()> {
        self.check_possible(shortage)?;
        if self.evict_anywhere(shortage.bytes, protected) {
            return Ok(());
        }
        self.refused.fetch_add(1, Relaxed);
        Err(Error::OutOfMemory)
    }

    /// Refuses what would not fit with every other key gone, before anything is evicted for it.
    fn check_possible(&self, shortage: Shortage) -> Result<()> {
        let (needed, cap) =
            (base_bytes(self.shards.len()).saturating_add(shortage.alone), self.common.budget.cap());
        if needed > cap {
            self.refused.fetch_add(1, Relaxed);
            return Err(Error::TooLargeForCap { needed, cap });
        }
        if self.policy() == Policy::NoEviction {
            self.refused.fetch_add(1, Relaxed);
            return Err(Error::OutOfMemory);
        }
        Ok(())
    }

    pub(crate) fn set_cap(&self, cap_bytes: u64) -> Result<()> {
        check_cap(cap_bytes)?;
        self.common.budget.set_cap(cap_bytes);
        // What the policy does not let go stays; writes are refused until there is room.
        let _ = self.evict_anywhere(0, None);
        Ok(())
    }

    pub(crate) fn set_policy(&self, policy: Policy) {
        self.policy.store(policy as u8, Relaxed);
    }

    pub(crate) fn set_samples(&self, samples: u32) -> Result<()> {
        check_samples(samples)?;
        self.samples.store(samples, Relaxed);
        Ok(())
    }

    /// Locks the shards a call with several keys needs, in ascending order, so that two such calls cannot wait for
    /// each other.
    pub(super) fn lock_several(&self, mut shards: Vec<usize>) -> Locked<'_> {
        shards.sort_unstable();
        shards.dedup();
        Locked(shards.into_iter().map(|index| (index, self.lock(index))).collect())
    }

    /// Locks every shard, in ascending order.
    fn lock_all(&self) -> Vec<MutexGuard<'_, Shard>> {
        (0..self.shards.len()).map(|index| self.lock(index)).collect()
    }

    pub(crate) fn clear(&self) {
        for mut shard in self.lock_all() {
            shard.clear(&self.common);
        }
    }

    pub(crate) fn len(&self) -> u64 {
        (0..self.shards.len()).map(|index| self.lock(index).table.len() as u64).sum()
    }

    pub(crate) fn recount_bytes(&self) -> u64 {
        base_bytes(self.shards.len()) + self.lock_all().iter().map(|shard| shard.recount()).sum::<u64>()
    }

    pub(crate) fn stats(&self) -> Stats {
        let mut stats = Stats {
            keys: 0,
            keys_with_expiry: 0,
            accounted_bytes: self.common.budget.used(),
            cap_bytes: self.common.budget.cap(),
            evicted: 0,
            expired: 0,
            refused: self.refused.load(Relaxed),
            hits: 0,
            misses: 0,
            shards: self.shards.len(),
            policy: self.policy(),
        };
        for index in 0..self.shards.len() {
            let shard = self.lock(index);
            stats.keys += shard.table.len() as u64;
            stats.keys_with_expiry += shard.table.volatile() as u64;
            stats.evicted += shard.counters.evicted;
            stats.expired += shard.counters.expired;
            stats.hits += shard.counters.hits;
            stats.misses += shard.counters.misses;
        }
        stats
    }
}

/// One shard per 256 KiB of cap, so that a small store is not eaten by its tables; up to 4096, from where on more
/// would not let more threads in.
fn shards_for(cap_bytes: u64) -> usize {
    let shares = usize::try_from(cap_bytes / CAP_PER_SHARD).unwrap_or(MOST_SHARDS).clamp(1, MOST_SHARDS);
    // The highest power of two that is no more.
    1 << shares.ilog2()
}

/// What the store holds when it holds nothing.
fn base_bytes(shards: usize) -> u64 {
    super::size_class::cost(shards * size_of::<Padded>())
}

fn check_cap(cap_bytes: u64) -> Result<()> {
    if cap_bytes == 0 {
        let reason = "a cap of 0 bytes holds nothing; give a size, or u64::MAX for no cap".to_owned();
        return Err(Error::InvalidOption { option: "cap_bytes", reason });
    }
    Ok(())
}

fn check_samples(samples: u32) -> Result<()> {
    if !(1..=64).contains(&samples) {
        let reason = format!("{samples} samples; give 1 to 64");
        return Err(Error::InvalidOption { option: "samples", reason });
    }
    Ok(())
}
