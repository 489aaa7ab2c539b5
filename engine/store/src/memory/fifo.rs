//! Which key goes, if entries leave in the order in which they came? `allkeys-s3fifo`: two queues of segments.
//!
//! The algorithm is S3-FIFO: Yang, Zhang, Qiu, Yue, Vinayak: "FIFO queues are all you need for cache eviction", SOSP 2023. New entries stand in a small
//! queue, a tenth of all; one that was accessed twice when its turn comes goes on to the main queue, and any other leaves. In the
//! main queue, an entry that was accessed since its last turn gets another one. A key that comes back soon after it left is taken as accessed.
//!
//! Here a queue is the order in which segments were sealed, so an eviction is the cleaning of the oldest one: what is moved together anyway is what
//! goes on, and what leaves is not copied. An access counts up to three in the entry's stamp and then writes nothing. Entries with
//! mappings of their own are in no segment; a clock hand goes round the shards for them, in proportion to their bytes.

use std::sync::atomic::Ordering::Relaxed;

use super::evict::Protected;
use super::ghosts::Ghosts;
use super::heap::Queue;
use super::policy::Policy;
use super::room::Step;
use super::shard::{Location, Shard};
use super::shortage::{Shortage, Wants};
use super::store::Store;
use super::table::Held;

/// Accesses beyond this are not counted.
const MOST_ACCESSES: u32 = 3;
/// With so many a young entry goes on.
const ENOUGH: u32 = 2;

/// What a new entry is stamped with.
pub(super) fn fresh(ghosts: Option<&Ghosts>, location: Location) -> u32 {
    if ghosts.is_some_and(|ghosts| ghosts.has(location)) { ENOUGH } else { 0 }
}

/// The stamp after an access, if that is another one.
pub(super) fn accessed(stamp: u32) -> Option<u32> {
    (accesses(stamp) < MOST_ACCESSES).then(|| accesses(stamp) + 1)
}

/// How often an entry was accessed, as far as that counts.
pub(super) fn accesses(stamp: u32) -> u32 {
    // An entry that was written under another policy has a stamp of that.
    stamp & MOST_ACCESSES
}

impl Store {
    pub(crate) fn set_policy(&self, policy: Policy) {
        // One change at a time: of two that both reserve bytes for fingerprints, one would keep them for ever.
        let _turn = self.policy_change.lock();
        self.common.set_policy(policy);
        let is_fifo = policy == Policy::AllkeysS3Fifo;
        self.common.heap.set_fifo(is_fifo);
        if !is_fifo {
            // Freed before its bytes are given back: others may take them at once.
            let ghosts = self.common.ghosts.write().take();
            let bytes = ghosts.as_ref().map_or(0, Ghosts::cost);
            drop(ghosts);
            self.common.budget.release(bytes);
            return;
        }
        let cap = self.common.budget.cap();
        let bytes = Ghosts::cost_for(cap);
        let shortage = Shortage { wants: Wants::Beside(bytes), alone: bytes };
        // Not locked while room is made: an eviction reads them too, and would wait for a writer that waits for this call.
        let has_ghosts = self.common.ghosts.read().is_some();
        // Without room for them the policy runs without them.
        if !has_ghosts
            && (self.common.budget.try_reserve(bytes)
                || self.making().room(shortage, None).is_ok() && self.common.budget.try_reserve(bytes))
        {
            *self.common.ghosts.write() = Some(Ghosts::new(cap));
        }
    }

    /// Evicts what the oldest segment holds, or a large entry.
    pub(super) fn evict_in_order(&self, protected: Option<Protected>) -> Step {
        let usage = self.common.heap.usage();
        if usage.large > 0
            && self.rng().u64(..usage.large + usage.segments) < usage.large
            && self.evict_large(protected)
        {
            return Step::Freed;
        }
        let mut evicted = false;
        let emptied = self.common.heap.empty_oldest(&self.common.budget, &mut |found, queue, survivors| {
            let location = self.locate(found.key());
            let mut shard = self.lock(location.shard);
            let Some(at) = shard.table.find_found(location.tag, found) else { return };
            let Some(held) = shard.table.held(at) else { return };
            let accesses = accesses(held.stamp());
            let goes_on = match queue {
                Queue::Young => accesses >= ENOUGH,
                Queue::Old => accesses > 0,
            };
            if self.ends(held) {
                shard.remove(&self.common, at);
                shard.counters.expired += 1;
            } else if goes_on || Some(Protected { shard: location.shard, tag: location.tag }) == protected {
                shard.table.set_stamp(at, if queue == Queue::Young { 0 } else { accesses.saturating_sub(1) });
                shard.table.move_found(at, found, survivors);
            } else {
                self.evict_at(&mut shard, at, location);
                evicted = true;
            }
        });
        match emptied {
            Some(_) if !evicted => Step::Cleaned,
            Some(_) => Step::Freed,
            None if self.evict_large(protected) => Step::Freed,
            None => Step::Nothing,
        }
    }

    fn ends(&self, held: Held<'_>) -> bool {
        held.is_expired(|| self.now_ms())
    }

    fn evict_at(&self, shard: &mut Shard, at: usize, location: Location) {
        shard.remove(&self.common, at);
        shard.counters.evicted += 1;
        if let Some(ghosts) = &*self.common.ghosts.read() {
            ghosts.add(location);
        }
    }

    /// Evicts the next entry with a mapping of its own that was not accessed since the hand came by.
    fn evict_large(&self, protected: Option<Protected>) -> bool {
        let shards = self.end();
        // So many rounds take every count down to nothing.
        for _ in 0..shards * (MOST_ACCESSES as usize + 2) {
            let index = self.large_hand.load(Relaxed) as usize % shards;
            if !self.has_shard(index) {
                self.large_hand.fetch_add(1, Relaxed);
                continue;
            }
            let mut shard = self.lock(index);
            let large: Vec<(usize, u32, u32)> = match shard.table.mapped() {
                0 => Vec::new(),
                _ => {
                    let mapped = shard.table.walk_from(0).filter(|(_, held)| held.is_mapped());
                    mapped.map(|(at, held)| (at, held.tag(), accesses(held.stamp()))).collect()
                }
            };
            let is_free = |tag| Some(Protected { shard: index, tag }) != protected;
            if let Some(&(at, tag, _)) =
                large.iter().find(|(_, tag, accesses)| *accesses == 0 && is_free(*tag))
            {
                self.evict_at(&mut shard, at, Location { shard: index, tag });
                return true;
            }
            for (at, _, accesses) in large {
                shard.table.set_stamp(at, accesses.saturating_sub(1));
            }
            self.large_hand.fetch_add(1, Relaxed);
        }
        false
    }
}
