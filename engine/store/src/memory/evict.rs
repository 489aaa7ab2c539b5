//! Which key goes when room is needed?
//!
//! Exact LRU would cost two pointers per key and a list that every read rewrites. Sampling costs 4 bytes per key
//! and nothing on a read: look at a few random entries and remove the one that was used longest ago. With 5
//! samples the chance that a key from the newest tenth goes is 0.1^5 = 1 in 100,000 per eviction, while a key of
//! the oldest tenth is taken with 1 − 0.9^5 = 41 %; so what survives is young, with a thin tail of lucky old keys.
//! That is [Redis's approximated LRU](https://redis.io/docs/latest/develop/reference/eviction/#apx-lru) without
//! its pool of candidates. It lies when there are few keys: then the store looks at all of them (`Table::sample`).
//!
//! Where to sample: hashing spreads keys evenly, so the entries of a shard that holds 64 or more are themselves a
//! random sample of the store, and the writing shard, whose lock is held and whose table is in the cache, is as
//! good as any. That also keeps the shards' shares of the cap from drifting apart. A smaller shard, or a write
//! that would take more than a sixteenth of it, looks at several random shards instead and compares ages in the
//! operations of the whole store (`order.rs`). No second lock is waited for while one is held.

use std::fmt;
use std::str::FromStr;

use super::shard::{Common, Shard};
use super::store::Store;
use super::table::Slot;
use crate::error::Error;

/// Which keys may be evicted when the cap is reached, and which of them goes first. Redis's names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Policy {
    /// `noeviction`: none; writes that need room are refused.
    NoEviction,
    /// `allkeys-lru`: the least recently used of the sampled keys.
    #[default]
    AllkeysLru,
    /// `allkeys-random`: any key.
    AllkeysRandom,
    /// `volatile-lru`: as `allkeys-lru`, among keys with an expiry.
    VolatileLru,
    /// `volatile-random`: any key with an expiry.
    VolatileRandom,
    /// `volatile-ttl`: the sampled key that expires first.
    VolatileTtl,
}

impl Policy {
    /// All policies, in the order of their declaration.
    pub const ALL: [Self; 6] = [
        Self::NoEviction,
        Self::AllkeysLru,
        Self::AllkeysRandom,
        Self::VolatileLru,
        Self::VolatileRandom,
        Self::VolatileTtl,
    ];

    /// Redis's name of the policy.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::NoEviction => "noeviction",
            Self::AllkeysLru => "allkeys-lru",
            Self::AllkeysRandom => "allkeys-random",
            Self::VolatileLru => "volatile-lru",
            Self::VolatileRandom => "volatile-random",
            Self::VolatileTtl => "volatile-ttl",
        }
    }

    fn only_volatile(self) -> bool {
        matches!(self, Self::VolatileLru | Self::VolatileRandom | Self::VolatileTtl)
    }
}

impl fmt::Display for Policy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Policy {
    type Err = Error;

    /// Takes Redis's names, in any case.
    fn from_str(name: &str) -> Result<Self, Error> {
        if let Some(policy) = Self::ALL.into_iter().find(|policy| policy.name().eq_ignore_ascii_case(name)) {
            return Ok(policy);
        }
        let known = Self::ALL.map(Self::name).join(", ");
        let reason = if ["allkeys-lfu", "volatile-lfu"].iter().any(|lfu| lfu.eq_ignore_ascii_case(name)) {
            format!("`{name}` is not in this version; choose one of {known}")
        } else {
            format!("`{name}` is no eviction policy; choose one of {known}")
        };
        Err(Error::InvalidOption { option: "policy", reason })
    }
}

/// An entry that may go.
#[derive(Clone, Copy)]
struct Candidate {
    shard: usize,
    tag: u32,
    stamp: u32,
    /// The highest goes.
    score: u64,
    is_expired: bool,
}

/// An entry that must stay: the one that is being written.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Protected {
    pub(super) shard: usize,
    pub(super) tag: u32,
}

/// From this many entries on a shard is a fair sample of the store.
const FAIR_SAMPLE: usize = 64;

impl Store {
    /// Evicts from the shard whose lock is held until `bytes` are free; false if it should be done elsewhere.
    pub(super) fn evict_here(&self, shard: &mut Shard, bytes: u64, protected: Protected) -> bool {
        let policy = self.policy();
        while !self.common.budget.has_room_for(bytes) {
            if suitable(shard, policy) < FAIR_SAMPLE || bytes > shard.bytes() / 16 {
                return false;
            }
            let mut rng = self.rng();
            let mut best = None;
            self.sample(shard, protected.shard, policy, Some(protected), &mut rng, &mut best);
            let Some(candidate) = best else { return false };
            remove(shard, &self.common, &candidate);
        }
        true
    }

    /// Evicts wherever the best candidates are until `bytes` are free; false if there are no candidates left.
    /// Must be called without a shard's lock.
    pub(super) fn evict_anywhere(&self, bytes: u64, protected: Option<Protected>) -> bool {
        let policy = self.policy();
        if policy == Policy::NoEviction {
            return self.common.budget.has_room_for(bytes);
        }
        while !self.common.budget.has_room_for(bytes) {
            let Some(candidate) = self.best_of_several_shards(policy, protected) else { return false };
            // Between the two locks somebody may have used or removed it; then the next round finds another.
            remove(&mut self.lock(candidate.shard), &self.common, &candidate);
        }
        true
    }

    /// Samples shards in a random order without repetition, until `samples` of them held candidates and together
    /// they hold a fair sample of the store. A store of fewer entries than that is looked at as a whole.
    fn best_of_several_shards(&self, policy: Policy, protected: Option<Protected>) -> Option<Candidate> {
        let mut rng = self.rng();
        let shards = self.shard_count();
        // The number of shards is a power of two, so an odd stride visits each of them once.
        let (start, stride) = (rng.usize(..shards), rng.usize(..shards) | 1);
        let mut best = None;
        let (mut sampled, mut population) = (0, 0);
        for step in 0..shards {
            let index = start.wrapping_add(step.wrapping_mul(stride)) & (shards - 1);
            let shard = self.lock(index);
            if self.sample(&shard, index, policy, protected, &mut rng, &mut best) {
                sampled += 1;
                population += suitable(&shard, policy);
                if sampled >= self.samples() && population >= FAIR_SAMPLE {
                    break;
                }
            }
        }
        best
    }

    /// Puts the best of some random entries of `shard` into `best` if it beats what is there; true if there was
    /// any candidate.
    fn sample(
        &self,
        shard: &Shard,
        index: usize,
        policy: Policy,
        protected: Option<Protected>,
        rng: &mut fastrand::Rng,
        best: &mut Option<Candidate>,
    ) -> bool {
        let common_now = self.common.order.now();
        let mut noise = rng.fork();
        let mut any = false;
        let see = |slot: &Slot| {
            if protected == Some(Protected { shard: index, tag: slot.tag() }) {
                return;
            }
            any = true;
            let is_expired = slot.is_expired(|| self.now_ms());
            let score = match policy {
                _ if is_expired => u64::MAX,
                Policy::AllkeysLru | Policy::VolatileLru => shard.order.age(slot.stamp, common_now),
                Policy::VolatileTtl => u64::MAX - slot.expiry().unwrap_or(u64::MAX),
                Policy::AllkeysRandom | Policy::VolatileRandom | Policy::NoEviction => noise.u64(..),
            };
            if best.is_none_or(|best| score > best.score) {
                let (tag, stamp) = (slot.tag(), slot.stamp);
                *best = Some(Candidate { shard: index, tag, stamp, score, is_expired });
            }
        };
        shard.table.sample(self.samples(), policy.only_volatile(), rng, see);
        any
    }
}

/// How many entries of the shard may go.
fn suitable(shard: &Shard, policy: Policy) -> usize {
    if policy.only_volatile() { shard.table.volatile() } else { shard.table.len() }
}

fn remove(shard: &mut Shard, common: &Common, candidate: &Candidate) {
    let found = shard.table.walk_from(candidate.tag).take_while(|(_, slot)| slot.tag() == candidate.tag);
    let found = { found }.find(|(_, slot)| slot.stamp == candidate.stamp).map(|(at, _)| at);
    if let Some(at) = found {
        shard.remove(common, at);
        let counter =
            if candidate.is_expired { &mut shard.counters.expired } else { &mut shard.counters.evicted };
        *counter += 1;
    }
}
