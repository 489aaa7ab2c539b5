//! Where is the entry of a key? An open-addressing table kept in the order of the hashes.
//!
//! Linear probing with Robin Hood placement: the home of a tag (the upper half of the key's hash) is
//! `tag × slots / 2^32`, which grows with the tag, and among entries that compete for a place the lower home
//! comes first, then the lower tag. So the whole array is sorted by tag, with gaps, and that buys four things:
//!
//! - a search for an absent key ends at the first larger tag, so it costs no more than a successful one;
//! - the number of slots need not be a power of two: tables grow by a third, not by half of the memory cap;
//! - SCAN goes by tag, which no growth changes (`scan.rs`);
//! - every slot is equally likely to be hit by a random index, which is what eviction samples (`evict.rs`).
//!
//! Removal shifts the rest of the run back by one, so there are no tombstones. With a share `a` of the slots in
//! use, a successful search looks at (1 + 1/(1−a))/2 slots on average (Knuth, TAOCP vol. 3, §6.4, algorithm L):
//! 3 at the usual most of 0.8, 8.5 at the most ever allowed, 15/16. Robin Hood placement leaves that mean as it
//! is and cuts its variance (Celis, Larson, Munro: "Robin Hood hashing", FOCS 1985).

use super::entry::{AllocationFailed, Block};
use super::size_class;

/// The lowest bit of a mark says whether the entry has an expiry, the other 31 are the tag.
const VOLATILE: u32 = 1;
const SMALLEST: usize = 8;

/// One place in the table. Sampling and SCAN's skipping read only this, never the block.
#[derive(Default)]
pub(super) struct Slot {
    block: Option<Block>,
    mark: u32,
    /// When the entry was last accessed: the lower half of the shard's operation counter (`order.rs`).
    pub(super) stamp: u32,
}

/// What every entry costs besides its block, not counting the empty slots.
pub(super) const SLOT_BYTES: usize = size_of::<Slot>();
const _: () = assert!(SLOT_BYTES == 24);

impl Slot {
    pub(super) fn new(tag: u32, block: Block, with_expiry: bool, stamp: u32) -> Self {
        Self { block: Some(block), mark: tag | if with_expiry { VOLATILE } else { 0 }, stamp }
    }

    pub(super) fn tag(&self) -> u32 {
        self.mark & !VOLATILE
    }

    pub(super) fn is_volatile(&self) -> bool {
        self.mark & VOLATILE != 0
    }

    pub(super) fn block(&self) -> Option<&Block> {
        self.block.as_ref()
    }

    pub(super) fn expiry(&self) -> Option<u64> {
        self.block.as_ref().filter(|_| self.is_volatile()).map(Block::expiry)
    }

    pub(super) fn is_expired(&self, now_ms: impl FnOnce() -> u64) -> bool {
        self.expiry().is_some_and(|at| at <= now_ms())
    }
}

/// The part of a hash that places an entry within its shard: the upper half, less the bit that marks expiry.
pub(super) fn tag_of(hash: u64) -> u32 {
    (hash >> 32) as u32 & !VOLATILE
}

#[derive(Default)]
pub(super) struct Table {
    slots: Vec<Slot>,
    len: usize,
    volatile: usize,
}

fn home(tag: u32, slots: usize) -> usize {
    ((u64::from(tag) * slots as u64) >> 32) as usize
}

/// How far the slot at `at` is from the home of `tag`.
fn displacement(at: usize, tag: u32, slots: usize) -> usize {
    let home = home(tag, slots);
    if at >= home { at - home } else { at + slots - home }
}

fn following(at: usize, slots: usize) -> usize {
    if at + 1 == slots { 0 } else { at + 1 }
}

/// Bytes of memory that a table of so many slots occupies.
pub(super) fn table_cost(slots: usize) -> u64 {
    size_class::cost(slots * SLOT_BYTES)
}

/// The size of a table that holds one entry.
pub(super) fn smallest_cost() -> u64 {
    table_cost(SMALLEST)
}

/// The size that an empty table takes when `entries` are to come at once.
pub(super) fn cost_for(entries: usize) -> u64 {
    table_cost(slots_for(entries))
}

fn slots_for(entries: usize) -> usize {
    (entries + entries.div_ceil(4) + 1).max(SMALLEST)
}

/// Entries that `slots` slots hold before the table should grow.
fn comfortable(slots: usize) -> usize {
    slots / 5 * 4
}

/// Entries that `slots` slots hold at most: one slot always stays empty, and searches stay short.
fn bearable(slots: usize) -> usize {
    slots - slots.div_ceil(16)
}

impl Table {
    pub(super) fn len(&self) -> usize {
        self.len
    }

    pub(super) fn volatile(&self) -> usize {
        self.volatile
    }

    pub(super) fn cost(&self) -> u64 {
        table_cost(self.slots.len())
    }

    pub(super) fn slot(&self, at: usize) -> &Slot {
        &self.slots[at]
    }

    pub(super) fn slot_mut(&mut self, at: usize) -> &mut Slot {
        &mut self.slots[at]
    }

    pub(super) fn block(&self, at: usize) -> Option<&Block> {
        self.slots[at].block.as_ref()
    }

    pub(super) fn block_mut(&mut self, at: usize) -> Option<&mut Block> {
        self.slots[at].block.as_mut()
    }

    /// Where `key` is (`Ok`) or would be inserted (`Err`).
    pub(super) fn find(&self, tag: u32, key: &[u8]) -> Result<usize, usize> {
        let slots = self.slots.len();
        if slots == 0 {
            return Err(0);
        }
        let mut at = home(tag, slots);
        let mut distance = 0;
        loop {
            let slot = &self.slots[at];
            let Some(block) = &slot.block else { return Err(at) };
            let theirs = slot.tag();
            if theirs == tag {
                if block.key() == key {
                    return Ok(at);
                }
            } else {
                let their_distance = displacement(at, theirs, slots);
                if their_distance < distance || (their_distance == distance && theirs > tag) {
                    return Err(at);
                }
            }
            at = following(at, slots);
            distance += 1;
        }
    }

    /// How many slots the table should have to take `more` entries, if not what it has. While it is merely
    /// less than comfortable, growth is worth having only where it costs no other key its place.
    pub(super) fn growth(&self, more: usize, comfort: bool) -> Option<usize> {
        if more == 0 {
            return None;
        }
        let needed = self.len + more;
        let slots = self.slots.len();
        let enough = if comfort { comfortable(slots) } else { bearable(slots) };
        // A third more than there was: between growths the load runs from 0.6 to 0.8.
        (needed > enough).then(|| slots_for(needed).max(slots + slots / 3))
    }

    /// How many slots would do, where the table is less than a quarter full.
    pub(super) fn excess(&self) -> Option<usize> {
        let slots = self.slots.len();
        if self.len == 0 {
            return (slots > 0).then_some(0);
        }
        (slots > SMALLEST && self.len * 4 < slots).then(|| (self.len * 2).max(SMALLEST))
    }

    /// Moves the entries into `slots` slots. Both arrays exist while it runs.
    pub(super) fn resize(&mut self, slots: usize) -> Result<(), AllocationFailed> {
        let mut fresh = Vec::new();
        fresh.try_reserve_exact(slots).map_err(|_| AllocationFailed)?;
        fresh.resize_with(slots, Slot::default);
        let old = std::mem::replace(&mut self.slots, fresh);
        for slot in old {
            if slot.block.is_some() {
                let at = self.place_for(slot.tag());
                self.open_gap(at);
                self.slots[at] = slot;
            }
        }
        Ok(())
    }

    /// Where an entry with this tag goes, behind those with the same tag.
    fn place_for(&self, tag: u32) -> usize {
        let slots = self.slots.len();
        let mut at = home(tag, slots);
        let mut distance = 0;
        while self.slots[at].block.is_some() {
            let theirs = self.slots[at].tag();
            let their_distance = displacement(at, theirs, slots);
            if their_distance < distance || (their_distance == distance && theirs > tag) {
                break;
            }
            at = following(at, slots);
            distance += 1;
        }
        at
    }

    /// Puts a new entry where [`find`](Self::find) said; the caller has made the table large enough.
    pub(super) fn insert(&mut self, at: usize, slot: Slot) {
        self.len += 1;
        self.volatile += usize::from(slot.is_volatile());
        self.open_gap(at);
        self.slots[at] = slot;
    }

    /// Moves the run that starts at `at` one place on, so that `at` is empty.
    fn open_gap(&mut self, at: usize) {
        let slots = self.slots.len();
        let mut end = at;
        while self.slots[end].block.is_some() {
            end = following(end, slots);
        }
        if end >= at {
            self.slots[at..=end].rotate_right(1);
        } else {
            self.slots[..=end].rotate_right(1);
            self.slots.swap(0, slots - 1);
            self.slots[at..].rotate_right(1);
        }
    }

    /// Takes the entry at `at` out and moves the rest of its run back by one.
    pub(super) fn remove(&mut self, at: usize) -> Slot {
        let slots = self.slots.len();
        let removed = std::mem::take(&mut self.slots[at]);
        self.len -= 1;
        self.volatile -= usize::from(removed.is_volatile());
        let mut end = at;
        loop {
            let next = following(end, slots);
            let slot = &self.slots[next];
            if slot.block.is_none() || displacement(next, slot.tag(), slots) == 0 {
                break;
            }
            end = next;
        }
        if end >= at {
            self.slots[at..=end].rotate_left(1);
        } else {
            self.slots[at..].rotate_left(1);
            self.slots.swap(0, slots - 1);
            self.slots[..=end].rotate_left(1);
        }
        removed
    }

    /// Takes the block at `at` out and leaves the slot; the caller replaces the block or removes the slot.
    pub(super) fn take_block(&mut self, at: usize) -> Option<Block> {
        self.slots[at].block.take()
    }

    /// Exchanges the block at `at`, and says whether the new one has an expiry.
    pub(super) fn replace_block(&mut self, at: usize, block: Block, with_expiry: bool) {
        self.slots[at].block = Some(block);
        self.mark_expiry(at, with_expiry);
    }

    pub(super) fn mark_expiry(&mut self, at: usize, with_expiry: bool) {
        let slot = &mut self.slots[at];
        self.volatile -= usize::from(slot.is_volatile());
        slot.mark = slot.tag() | if with_expiry { VOLATILE } else { 0 };
        self.volatile += usize::from(with_expiry);
    }

    /// The entries whose tag is `from` or higher, by tag, with their places.
    pub(super) fn walk_from(&self, from: u32) -> impl Iterator<Item = (usize, &Slot)> {
        let slots = self.slots.len();
        // A run that passes the end of the array goes on at its start: those entries come last.
        let is_wrapped = move |at: usize, slot: &Slot| home(slot.tag(), slots) > at;
        let straight = (home(from, slots)..slots).map(|at| (at, &self.slots[at]));
        let straight = straight.filter(move |(at, slot)| slot.block.is_some() && !is_wrapped(*at, slot));
        let wrapped = self.slots.iter().enumerate();
        let wrapped = wrapped.take_while(move |(at, slot)| slot.block.is_some() && is_wrapped(*at, slot));
        straight.chain(wrapped).filter(move |(_, slot)| slot.tag() >= from)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Slot> {
        self.slots.iter().filter(|slot| slot.block.is_some())
    }

    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Slot> {
        self.slots.iter_mut().filter(|slot| slot.block.is_some())
    }

    /// Shows `see` about `wanted` entries from random slots (only those with an expiry, if asked), or all of
    /// them where there are few.
    pub(super) fn sample(
        &self,
        wanted: usize,
        only_volatile: bool,
        rng: &mut fastrand::Rng,
        mut see: impl FnMut(&Slot),
    ) {
        let suits = |slot: &Slot| slot.block.is_some() && (!only_volatile || slot.is_volatile());
        let population = if only_volatile { self.volatile } else { self.len };
        if population <= 2 * wanted {
            // Few: look at them all, so that the choice among them is exact.
            let mut left = population;
            let mut slots = self.slots.iter();
            while let (true, Some(slot)) = (left > 0, slots.next()) {
                if suits(slot) {
                    left -= 1;
                    see(slot);
                }
            }
            return;
        }
        let slots = self.slots.len();
        let mut left = wanted;
        // A quarter of the slots or more are in use (`excess`), so this nearly always suffices …
        for _ in 0..16 * wanted {
            let slot = &self.slots[rng.usize(..slots)];
            if suits(slot) {
                see(slot);
                left -= 1;
                if left == 0 {
                    return;
                }
            }
        }
        // … unless few of many entries can expire: then walk from a random place.
        let start = rng.usize(..slots);
        for slot in
            self.slots[start..].iter().chain(&self.slots[..start]).filter(|slot| suits(slot)).take(left)
        {
            see(slot);
        }
    }
}

#[cfg(test)]
#[path = "table_test.rs"]
mod tests;
