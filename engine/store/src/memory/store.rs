//! Which shard holds a key, and how does a write get the room it needs?

use std::hash::BuildHasher;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};

use foldhash::SharedSeed;
use foldhash::quality::SeedableRandomState;
use parking_lot::{Mutex, MutexGuard};

use super::budget::Budget;
use super::clear::DeadTable;
use super::common::Common;
use super::evict::Candidates;
use super::heap::Heap;
use super::hints::Hints;
use super::others::Others;
use super::policy::Policy;
pub(super) use super::shard::Location;
use super::shard::{Padded, Shard};
use super::size_class::cost;
use super::table::tag_of;
use crate::clock::Clock;
use crate::error::{Error, Result};
use crate::keyspace::Keyspace;
use crate::prefetch;
use crate::stats::Stats;

const CAP_PER_SHARD: u64 = 256 * 1024;
const MOST_SHARDS: usize = 4096;

/// The volatile store: shards, each under a lock, and one budget.
pub(crate) struct Store {
    // parking_lot: one byte per lock, held for about 100 ns, never while waiting for another shard's lock out of
    // order.
    shards: Box<[Padded]>,
    /// Those of other keyspaces, where there are any.
    pub(super) others: Option<Others>,
    pub(super) hints: Hints,
    pub(super) common: Common,
    hasher: SeedableRandomState,
    samples: AtomicU32,
    random: AtomicU64,
    pub(super) candidates: Mutex<Candidates>,
    /// Tables that are no more, still counted (`clear.rs`).
    pub(super) dead_tables: Mutex<Vec<DeadTable>>,
    /// Held by the one call that makes room for itself (`room.rs`).
    pub(super) making_room: Mutex<()>,
    /// Held while the policy is changed (`fifo.rs`).
    pub(super) policy_change: Mutex<()>,
    pub(super) sweeping: AtomicU64,
    /// The shard at which `fifo.rs` looks for large entries next.
    pub(super) large_hand: AtomicU64,
    refused: AtomicU64,
}

/// Several shards under lock, by their number.
pub(super) enum Locked<'a> {
    Some(Vec<(usize, MutexGuard<'a, Shard>)>),
    All(Vec<MutexGuard<'a, Shard>>),
}

/// All shards under lock.
pub(super) struct Everything<'a> {
    pub(super) shards: Vec<MutexGuard<'a, Shard>>,
    _stays: Option<MutexGuard<'a, ()>>,
}

impl Locked<'_> {
    /// As [`shard`](Self::shard), to look at.
    pub(super) fn get(&self, index: usize) -> Option<&Shard> {
        match self {
            Self::All(shards) => shards.get(index).map(|shard| &**shard),
            Self::Some(shards) => {
                let place = shards.binary_search_by_key(&index, |(held, _)| *held).ok()?;
                Some(&shards[place].1)
            }
        }
    }

    /// One of the shards; `None` for one that was not asked for.
    pub(super) fn shard(&mut self, index: usize) -> Option<&mut Shard> {
        match self {
            Self::All(shards) => shards.get_mut(index).map(|shard| &mut **shard),
            Self::Some(shards) => {
                let place = shards.binary_search_by_key(&index, |(held, _)| *held).ok()?;
                Some(&mut shards[place].1)
            }
        }
    }
}

impl Store {
    pub(crate) fn open(
        cap_bytes: u64,
        policy: Policy,
        samples: u32,
        clock: Arc<dyn Clock>,
        shards: Option<usize>,
        seed: Option<u64>,
        has_keyspaces: bool,
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
        let others = has_keyspaces.then(|| Others::new(count));
        let base = base_bytes(count) + others.as_ref().map_or(0, Others::most_bytes);
        let budget = Budget::new(cap_bytes, base);
        let heap = Heap::new(cap_bytes);
        // A cap too small for this holds nothing: every write is refused.
        heap.prepare(&budget);
        let common = Common::new(base, budget, heap, clock, policy);
        let store = Self {
            shards,
            others,
            hints: Hints::new(count),
            common,
            hasher: SeedableRandomState::with_seed(seed, shared),
            samples: AtomicU32::new(samples),
            random: AtomicU64::new(seed.rotate_left(32)),
            candidates: Mutex::default(),
            making_room: Mutex::default(),
            policy_change: Mutex::default(),
            dead_tables: Mutex::default(),
            sweeping: AtomicU64::new(0),
            large_hand: AtomicU64::new(0),
            refused: AtomicU64::new(0),
        };
        store.set_policy(policy);
        Ok(store)
    }

    pub(super) fn locate(&self, key: &[u8]) -> Location {
        let hash = self.hasher.hash_one(key);
        // The lower bits choose the shard, the upper half the place in it: they are independent.
        let shard = match (&self.others, Keyspace::of(key)) {
            (Some(others), keyspace) if keyspace != Keyspace::default() => {
                others.locate(keyspace, hash as usize)
            }
            _ => hash as usize & (self.shards.len() - 1),
        };
        Location { shard, tag: tag_of(hash) }
    }

    fn shard(&self, number: usize) -> &Padded {
        match (self.shards.get(number), &self.others) {
            (None, Some(others)) => others.shard(number),
            _ => &self.shards[number],
        }
    }

    pub(super) fn lock(&self, shard: usize) -> MutexGuard<'_, Shard> {
        self.shard(shard).0.lock()
    }

    pub(super) fn prefetch_shard(&self, shard: usize) {
        let shard = &raw const *self.shard(shard);
        // Its lock and its counters are written to.
        prefetch::write(shard.cast::<u8>());
        prefetch::write(shard.cast::<u8>().wrapping_add(64));
    }

    pub(super) fn try_lock(&self, shard: usize) -> Option<MutexGuard<'_, Shard>> {
        self.shard(shard).0.try_lock()
    }

    /// Numbers of shards end before this. Between those of two keyspaces there may be some without a shard.
    pub(super) fn end(&self) -> usize {
        self.others.as_ref().map_or(self.shards.len(), Others::end)
    }

    /// Whether there is a shard with this number.
    pub(super) fn has_shard(&self, number: usize) -> bool {
        self.others.as_ref().map_or(number < self.shards.len(), |others| others.has(number))
    }

    /// The numbers of all shards.
    pub(super) fn numbers(&self) -> impl Iterator<Item = usize> {
        (0..self.end()).filter(|number| self.has_shard(*number))
    }

    /// The numbers of a keyspace's shards; none of one that is not in use.
    pub(super) fn numbers_in(&self, keyspace: Keyspace) -> Range<usize> {
        let numbers = match &self.others {
            Some(others) => others.numbers(keyspace),
            None if keyspace == Keyspace::default() => 0..self.shards.len(),
            None => 0..0,
        };
        if numbers.is_empty() || !self.has_shard(numbers.start) { 0..0 } else { numbers }
    }

    /// Whether keys are in other keyspaces, too, or have been.
    pub(super) fn uses_others(&self) -> bool {
        self.others.as_ref().is_some_and(Others::are_used)
    }

    pub(crate) fn now_ms(&self) -> u64 {
        self.common.clock.now_ms()
    }

    pub(crate) fn policy(&self) -> Policy {
        self.common.policy()
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

    pub(super) fn count_refusal(&self) {
        self.refused.fetch_add(1, Relaxed);
    }

    pub(crate) fn cap(&self) -> u64 {
        self.common.budget.cap()
    }

    pub(crate) fn used(&self) -> u64 {
        self.common.budget.used()
    }

    pub(crate) fn set_cap(&self, cap_bytes: u64) -> Result<()> {
        check_cap(cap_bytes)?;
        self.common.budget.set_cap(cap_bytes);
        // What the policy does not let go stays; writes are refused until there is room.
        self.fall_below_cap();
        Ok(())
    }

    /// Bytes below which a cap holds no key.
    pub(crate) fn least_cap(&self) -> u64 {
        // What one shard's first table and a short entry take, with some room.
        const FIRST_KEY: u64 = 8 << 10;
        self.common.needed(FIRST_KEY)
    }

    pub(crate) fn set_samples(&self, samples: u32) -> Result<()> {
        check_samples(samples)?;
        self.samples.store(samples, Relaxed);
        Ok(())
    }

    /// Locks the shards a call with several keys needs, in ascending order, so that two such calls cannot wait for
    /// each other.
    pub(super) fn lock_several(&self, shards: impl ExactSizeIterator<Item = usize>) -> Locked<'_> {
        // So many keys are in most shards: to lock them all costs less than to sort.
        if shards.len() > 2 * self.shards.len() && !self.uses_others() {
            return Locked::All((0..self.shards.len()).map(|number| self.lock(number)).collect());
        }
        let mut shards: Vec<usize> = shards.collect();
        shards.sort_unstable();
        shards.dedup();
        Locked::Some(shards.into_iter().map(|index| (index, self.lock(index))).collect())
    }

    /// Locks every shard, in ascending order. No other comes before they are released.
    pub(super) fn lock_all(&self) -> Everything<'_> {
        let stays = self.others.as_ref().map(Others::stay);
        Everything { shards: self.numbers().map(|number| self.lock(number)).collect(), _stays: stays }
    }

    pub(crate) fn len(&self) -> u64 {
        self.numbers().map(|index| self.lock(index).table.len() as u64).sum()
    }

    pub(crate) fn recount_entry_bytes(&self) -> u64 {
        let shards = self.lock_all().shards;
        let entries = |shard: &MutexGuard<'_, Shard>| {
            shard.table.iter().map(|held| self.common.heap.bytes_for(held.shape().len())).sum::<u64>()
        };
        shards.iter().map(entries).sum()
    }

    pub(crate) fn stats(&self) -> Stats {
        let usage = self.common.heap.usage();
        let mut stats = Stats {
            entry_bytes: usage.live + usage.large,
            keys: 0,
            keys_with_expiry: 0,
            accounted_bytes: self.common.budget.used(),
            reserved_bytes: self.common.reserved.load(Relaxed),
            cap_bytes: self.common.budget.cap(),
            evicted: 0,
            expired: 0,
            refused: self.refused.load(Relaxed),
            hits: 0,
            misses: 0,
            shards: self.numbers().count(),
            policy: self.policy(),
        };
        for index in self.numbers() {
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

impl Drop for Store {
    fn drop(&mut self) {
        // Long mappings are in no list of the heap.
        self.clear();
        while self.bury() {}
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
pub(super) fn base_bytes(shards: usize) -> u64 {
    cost(shards * size_of::<Padded>()) + cost(Hints::bytes(shards))
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
