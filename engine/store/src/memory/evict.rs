//! Which key goes when room is needed?
//!
//! Exact LRU would cost two pointers per key and a list that every read rewrites. Sampling costs 4 bytes per key and nothing on a read: look at a
//! few random entries and remove the one that was used longest ago. With 5 samples the chance that a key from the newest tenth goes is 0.1^5 =
//! 1 in 100,000 per eviction. The best of what was seen and not taken stays in a pool of 16 for the next eviction, which brings the
//! choice nearer to exact: that is [Redis's approximated LRU](https://redis.io/docs/latest/develop/reference/eviction/#apx-lru).
//! It lies when there are few keys: then the store looks at all of them (`Table::sample`).
//!
//! Where to sample: hashing spreads keys evenly, so the entries of a shard that holds 64 or more are themselves a random sample of the store, and the
//! writing shard, whose lock is held and whose table is in the cache, is as good as any. Without such a shard several random ones are looked at, and ages compare in the
//! operations of the whole store (`order.rs`). No second lock is waited for while one is held.

use super::common::Common;
use super::fifo;
use super::frequency;
use super::policy::Policy;
use super::shard::Shard;
use super::store::Store;
use super::table::Held;

/// An entry that may go.
#[derive(Clone, Copy)]
struct Candidate {
    shard: usize,
    tag: u32,
    /// What must still be so when it goes: its stamp, or its expiry where that decides.
    mark: u64,
    /// The highest goes.
    score: u64,
    is_expired: bool,
}

/// The best candidates seen, the best one last.
#[derive(Default)]
pub(super) struct Candidates(Vec<Candidate>);

/// As many as Redis keeps.
const MOST_CANDIDATES: usize = 16;

impl Candidates {
    fn add(&mut self, candidate: Candidate) {
        let is_same = |known: &&mut Candidate| known.shard == candidate.shard && known.tag == candidate.tag;
        if let Some(known) = self.0.iter().position(|known| is_same(&&mut { *known })) {
            self.0.remove(known);
        }
        let place = self.0.partition_point(|known| known.score < candidate.score);
        self.0.insert(place, candidate);
        if self.0.len() > MOST_CANDIDATES {
            self.0.remove(0);
        }
    }
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
    /// Evicts one entry while `shard`, number `index`, is locked; false if it should be done without that lock.
    pub(super) fn evict_one_here(&self, shard: &mut Shard, protected: Protected) -> bool {
        let policy = self.policy();
        if suitable(shard, policy) < FAIR_SAMPLE {
            return false;
        }
        let Some(mut candidates) = self.candidates.try_lock() else { return false };
        let mut rng = self.rng();
        self.sample(shard, protected.shard, policy, Some(protected), &mut rng, &mut candidates);
        self.sample_another(protected, policy, &mut rng, &mut candidates);
        while let Some(best) = candidates.0.pop() {
            let gone = if best.shard == protected.shard {
                remove(shard, &self.common, policy, &best, Some(protected))
            } else {
                self.try_lock(best.shard)
                    .is_some_and(|mut other| remove(&mut other, &self.common, policy, &best, Some(protected)))
            };
            if gone {
                return true;
            }
        }
        false
    }

    /// Where there are several keyspaces, one of them is no fair sample of the store: others are looked at in their turn.
    fn sample_another(
        &self,
        protected: Protected,
        policy: Policy,
        rng: &mut fastrand::Rng,
        candidates: &mut Candidates,
    ) {
        let Some(others) = self.others.as_ref().filter(|others| others.are_used()) else { return };
        let number = others.any(rng);
        if number != protected.shard
            && let Some(shard) = self.try_lock(number)
        {
            self.sample(&shard, number, policy, Some(protected), rng, candidates);
        }
    }

    /// Evicts one entry, wherever the best candidate is; false if there is none left. Must be called without a shard's lock.
    pub(super) fn evict_one_anywhere(&self, protected: Option<Protected>) -> bool {
        let policy = self.policy();
        if policy == Policy::NoEviction {
            return false;
        }
        // Taken out, because shards are waited for below, and who holds one of them may want the candidates.
        let mut candidates = std::mem::take(&mut *self.candidates.lock());
        let mut gone = false;
        while !gone && self.sample_several_shards(policy, protected, &mut candidates) {
            while let (false, Some(best)) = (gone, candidates.0.pop()) {
                // Between the two locks somebody may have used or removed it; then the next one will do.
                gone = remove(&mut self.lock(best.shard), &self.common, policy, &best, protected);
            }
        }
        *self.candidates.lock() = candidates;
        gone
    }

    /// Samples shards in a random order without repetition, until `samples` of them held candidates and together they hold a fair sample of
    /// the store. A store of fewer entries than that is looked at as a whole. True if there was any.
    fn sample_several_shards(
        &self,
        policy: Policy,
        protected: Option<Protected>,
        candidates: &mut Candidates,
    ) -> bool {
        let mut rng = self.rng();
        // Of a power of two an odd stride visits each number once.
        let shards = self.end().next_power_of_two();
        let (start, stride) = (rng.usize(..shards), rng.usize(..shards) | 1);
        let (mut sampled, mut population) = (0, 0);
        for step in 0..shards {
            let index = start.wrapping_add(step.wrapping_mul(stride)) & (shards - 1);
            if index >= self.end() || !self.has_shard(index) {
                continue;
            }
            let shard = self.lock(index);
            if self.sample(&shard, index, policy, protected, &mut rng, candidates) {
                sampled += 1;
                population += suitable(&shard, policy);
                if sampled >= self.samples() && population >= FAIR_SAMPLE {
                    break;
                }
            }
        }
        sampled > 0
    }

    /// Adds some random entries of `shard` to the candidates; true if there was any.
    fn sample(
        &self,
        shard: &Shard,
        index: usize,
        policy: Policy,
        protected: Option<Protected>,
        rng: &mut fastrand::Rng,
        candidates: &mut Candidates,
    ) -> bool {
        let (common_now, now_ms) = (self.common.order.now(), self.now_ms());
        let mut noise = rng.fork();
        let mut any = false;
        let see = |held: Held<'_>| {
            if protected == Some(Protected { shard: index, tag: held.tag() }) {
                return;
            }
            any = true;
            let is_expired = held.is_expired(|| now_ms);
            let score = match policy {
                _ if is_expired => u64::MAX,
                Policy::AllkeysLru | Policy::VolatileLru => shard.order.age(held.stamp(), common_now),
                Policy::AllkeysLfu | Policy::VolatileLfu => {
                    u64::from(u8::MAX - frequency::counter(held.stamp(), now_ms))
                }
                Policy::AllkeysS3Fifo => u64::MAX - u64::from(fifo::accesses(held.stamp())),
                Policy::VolatileTtl => u64::MAX - held.expiry().unwrap_or(u64::MAX),
                Policy::AllkeysRandom | Policy::VolatileRandom | Policy::NoEviction => noise.u64(..),
            };
            candidates.add(Candidate {
                shard: index,
                tag: held.tag(),
                mark: mark(policy, held),
                score,
                is_expired,
            });
        };
        shard.table.sample(self.samples(), policy.only_volatile(), rng, see);
        any
    }
}

fn mark(policy: Policy, held: Held<'_>) -> u64 {
    match policy {
        Policy::VolatileTtl => held.expiry().unwrap_or(u64::MAX),
        _ => u64::from(held.stamp()),
    }
}

/// How many entries of the shard may go.
fn suitable(shard: &Shard, policy: Policy) -> usize {
    if policy.only_volatile() { shard.table.volatile() } else { shard.table.len() }
}

/// Removes the candidate if it is there still and what was seen of it holds.
fn remove(
    shard: &mut Shard,
    common: &Common,
    policy: Policy,
    candidate: &Candidate,
    protected: Option<Protected>,
) -> bool {
    if protected == Some(Protected { shard: candidate.shard, tag: candidate.tag }) {
        return false;
    }
    let is_it = |held: Held<'_>| {
        mark(policy, held) == candidate.mark && (held.is_volatile() || !policy.only_volatile())
    };
    let with_tag = shard.table.walk_from(candidate.tag).take_while(|(_, held)| held.tag() == candidate.tag);
    let Some(at) = { with_tag }.find(|(_, held)| is_it(*held)).map(|(at, _)| at) else { return false };
    shard.remove(common, at);
    let counter =
        if candidate.is_expired { &mut shard.counters.expired } else { &mut shard.counters.evicted };
    *counter += 1;
    true
}
