//! Where is the entry of a key? An open-addressing table kept in the order of the hashes.
//!
//! Linear probing with Robin Hood placement: the home of a tag (the upper 19 bits of the key's hash) is
//! `tag × slots / 2^19`, which grows with the tag, and among entries that compete for a place the lower home
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

#[path = "table_held.rs"]
mod held;

use super::entry::Owned;
use super::heap::{Found, Heap, PAGE, Survivors};
use super::slot_pool::rounded;
use super::slots::{SLOT_BYTES, Slot, Slots, TAG_BITS};

pub(super) use held::Held;

const SMALLEST: usize = 8;

/// The part of a hash that places an entry within its shard: its upper bits.
pub(super) fn tag_of(hash: u64) -> u32 {
    (hash >> (64 - TAG_BITS)) as u32
}

/// What was taken out of a table.
#[must_use]
pub(super) struct Taken {
    tag: u32,
    is_volatile: bool,
    pub(super) entry: Owned,
}

#[derive(Default)]
pub(super) struct Table {
    slots: Slots,
    // A shard of four thousand million entries would take 400 GB.
    len: u32,
    volatile: u32,
    mapped: u32,
}

/// Where the search for a tag begins, in so many slots.
pub(super) fn home(tag: u32, slots: usize) -> usize {
    ((u64::from(tag) * slots as u64) >> TAG_BITS) as usize
}

/// How far the slot at `at` is from the home of `tag`.
fn displacement(at: usize, tag: u32, slots: usize) -> usize {
    let home = home(tag, slots);
    if at >= home { at - home } else { at + slots - home }
}

fn following(at: usize, slots: usize) -> usize {
    if at + 1 == slots { 0 } else { at + 1 }
}

/// What so many tables that hold one entry each take from the budget, or a table of so many entries.
pub(super) fn smallest_cost(tables: usize) -> u64 {
    (tables * SMALLEST * SLOT_BYTES).next_multiple_of(PAGE) as u64
}

fn slots_for(entries: usize) -> usize {
    rounded((entries + entries.div_ceil(4) + 1).max(SMALLEST))
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
        self.len as usize
    }

    /// Whether it has no memory.
    pub(super) fn is_unused(&self) -> bool {
        self.slots.is_empty()
    }

    pub(super) fn volatile(&self) -> usize {
        self.volatile as usize
    }

    /// Entries with mappings of their own.
    pub(super) fn mapped(&self) -> usize {
        self.mapped as usize
    }

    /// The entry at `at`, where there is one.
    pub(super) fn held(&self, at: usize) -> Option<Held<'_>> {
        Held::new(self.slots[at])
    }

    /// Asks for the line in which a search for `tag` begins.
    pub(super) fn prefetch(&self, tag: u32) {
        if let Some(slot) = self.slots.get(home(tag, self.slots.len())) {
            crate::prefetch::read(std::ptr::from_ref(slot));
        }
    }

    pub(super) fn slots(&self) -> &[Slot] {
        &self.slots
    }

    /// Asks for the first lines of the entry that a search for `tag` looks at first.
    pub(super) fn prefetch_entry(&self, tag: u32) {
        let start = home(tag, self.slots.len());
        let near = self.slots.iter().skip(start).take(8).take_while(|slot| !slot.is_empty());
        if let Some(entry) = { near }.find(|slot| slot.tag() == tag).and_then(|slot| slot.entry()) {
            // Most entries lie in two lines, and many that are short enough for that begin in the midst of one.
            let address = entry.address().as_ptr();
            // The stamp in the first of them is written to.
            crate::prefetch::write(address);
            crate::prefetch::read(address.wrapping_add(64));
            if address.addr() % 64 > 32 {
                crate::prefetch::read(address.wrapping_add(128));
            }
        }
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
            let Some(held) = self.held(at) else { return Err(at) };
            let theirs = held.tag();
            if theirs == tag {
                if held.key() == key {
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

    /// Where the table points to what was found, if it does.
    pub(super) fn find_found(&self, tag: u32, found: &Found<'_>) -> Option<usize> {
        let mut with_tag = self.walk_from(tag).take_while(|(_, held)| held.tag() == tag);
        with_tag.find(|(_, held)| held.entry == found.entry()).map(|(at, _)| at)
    }

    /// Moves what was found to the survivors, if the table points to it at `at`.
    pub(super) fn move_found(&mut self, at: usize, found: &Found<'_>, survivors: &mut Survivors<'_>) {
        let slot = self.slots[at];
        if slot.entry() != Some(found.entry()) {
            return;
        }
        // SAFETY: the table has the entry, and is borrowed mutably, so the caller holds whatever guards it.
        if let Some(moved) = unsafe { survivors.take(found) } {
            self.slots[at] = Slot::new(slot.tag(), moved, slot.is_volatile());
        }
    }

    /// How many slots the table should have to take `more` entries, if not what it has. While it is merely
    /// less than comfortable, growth is worth having only where it costs no other key its place.
    pub(super) fn growth(&self, more: usize, comfort: bool) -> Option<usize> {
        if more == 0 {
            return None;
        }
        let needed = self.len() + more;
        let slots = self.slots.len();
        let enough = if comfort { comfortable(slots) } else { bearable(slots) };
        // A third more than there was: between growths the load runs from 0.6 to 0.8.
        (needed > enough).then(|| rounded(slots_for(needed).max(slots + slots / 3)))
    }

    /// How many slots would do, where the table is less than a quarter full.
    pub(super) fn excess(&self) -> Option<usize> {
        let slots = self.slots.len();
        if self.len == 0 {
            return (slots > 0).then_some(0);
        }
        (slots > SMALLEST && self.len() * 4 < slots).then(|| rounded((self.len() * 2).max(SMALLEST)))
    }

    /// Moves the entries into other slots, which are empty and suffice, and hands back those that it had.
    pub(super) fn resize(&mut self, slots: Slots) -> Slots {
        let old = std::mem::replace(&mut self.slots, slots);
        for slot in old.iter().filter(|slot| !slot.is_empty()) {
            let at = self.place_for(slot.tag());
            self.open_gap(at);
            self.slots[at] = *slot;
        }
        old
    }

    /// Where an entry with this tag goes, behind those with the same tag.
    fn place_for(&self, tag: u32) -> usize {
        let slots = self.slots.len();
        let mut at = home(tag, slots);
        let mut distance = 0;
        while !self.slots[at].is_empty() {
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

    /// Adds an entry whose key is not there; the caller has made the table large enough.
    pub(super) fn insert(&mut self, tag: u32, entry: Owned, is_volatile: bool) {
        let at = self.place_for(tag);
        self.len += 1;
        self.volatile += u32::from(is_volatile);
        self.mapped += u32::from(entry.is_mapped());
        self.open_gap(at);
        self.slots[at] = Slot::new(tag, entry.into_entry(), is_volatile);
    }

    /// Moves the run that starts at `at` one place on, so that `at` is empty.
    fn open_gap(&mut self, at: usize) {
        let slots = self.slots.len();
        let mut end = at;
        while !self.slots[end].is_empty() {
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

    /// Takes the entry at `at` out, which is there, and moves the rest of its run back by one.
    pub(super) fn remove(&mut self, at: usize) -> Option<Taken> {
        let slots = self.slots.len();
        let removed = self.slots[at];
        // SAFETY: the slot is overwritten below, and no other points to the same entry.
        let entry = unsafe { Owned::new(removed.entry()?) };
        self.slots[at] = Slot::default();
        self.len -= 1;
        self.volatile -= u32::from(removed.is_volatile());
        self.mapped -= u32::from(entry.is_mapped());
        let mut end = at;
        loop {
            let next = following(end, slots);
            let slot = self.slots[next];
            if slot.is_empty() || displacement(next, slot.tag(), slots) == 0 {
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
        Some(Taken { tag: removed.tag(), is_volatile: removed.is_volatile(), entry })
    }

    /// Puts back what [`remove`](Self::remove) took out.
    pub(super) fn put_back(&mut self, taken: Taken) {
        self.insert(taken.tag, taken.entry, taken.is_volatile);
    }

    /// Lets the slot at `at` point to another entry with the same key, and says whether that one has an expiry. The old one is handed back.
    pub(super) fn replace(&mut self, at: usize, entry: Owned, is_volatile: bool) -> Option<Owned> {
        let old = self.slots[at];
        self.volatile = self.volatile + u32::from(is_volatile) - u32::from(old.is_volatile());
        self.mapped += u32::from(entry.is_mapped());
        self.slots[at] = Slot::new(old.tag(), entry.into_entry(), is_volatile);
        // SAFETY: the only slot that pointed to it does so no more.
        let old = old.entry().map(|old| unsafe { Owned::new(old) });
        self.mapped -= u32::from(old.as_ref().is_some_and(Owned::is_mapped));
        old
    }

    /// Takes out the entries with pages of their own that are among the next few slots from `from` on, and says where to go on, if there may be
    /// more. For a table that is no more: entries in segments are gone, and nothing is looked up in it again.
    pub(super) fn take_mapped(
        &mut self,
        heap: &Heap,
        from: usize,
        most: usize,
    ) -> (Vec<Owned>, Option<usize>) {
        if self.mapped == 0 {
            return (Vec::new(), None);
        }
        let end = self.slots.len().min(from + most);
        let entries = self.slots[from..end].iter().filter_map(|slot| slot.entry());
        let mapped = entries.filter(|entry| !heap.is_in_segment(*entry));
        // SAFETY: only this table has it, which passes the slot once.
        let taken: Vec<Owned> = mapped.map(|entry| unsafe { Owned::new(entry) }).collect();
        self.mapped -= taken.len() as u32;
        (taken, (end < self.slots.len() && self.mapped > 0).then_some(end))
    }

    /// The memory of a table that is no more.
    pub(super) fn into_slots(self) -> Slots {
        self.slots
    }

    /// The entries whose tag is `from` or higher, by tag, with their places.
    pub(super) fn walk_from(&self, from: u32) -> impl Iterator<Item = (usize, Held<'_>)> {
        let slots = self.slots.len();
        // A run that passes the end of the array goes on at its start: those entries come last.
        let is_wrapped = move |at: usize, slot: Slot| home(slot.tag(), slots) > at;
        let straight = (home(from, slots)..slots).map(|at| (at, self.slots[at]));
        let straight = straight.filter(move |(at, slot)| !slot.is_empty() && !is_wrapped(*at, *slot));
        let wrapped = self.slots.iter().copied().enumerate();
        let wrapped = wrapped.take_while(move |(at, slot)| !slot.is_empty() && is_wrapped(*at, *slot));
        let all = straight.chain(wrapped).filter(move |(_, slot)| slot.tag() >= from);
        all.filter_map(|(at, slot)| Some((at, Held::new(slot)?)))
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = Held<'_>> {
        self.slots.iter().filter_map(|slot| Held::new(*slot))
    }

    /// Shows `see` about `wanted` entries from random slots (only those with an expiry, if asked), or all of
    /// them where there are few.
    pub(super) fn sample(
        &self,
        wanted: usize,
        only_volatile: bool,
        rng: &mut fastrand::Rng,
        mut see: impl FnMut(Held<'_>),
    ) {
        let suits = |slot: Slot| Held::new(slot).filter(|held| !only_volatile || held.is_volatile());
        let population = if only_volatile { self.volatile() } else { self.len() };
        if population <= 2 * wanted {
            // Few: look at them all, so that the choice among them is exact.
            self.slots.iter().filter_map(|slot| suits(*slot)).take(population).for_each(&mut see);
            return;
        }
        let slots = self.slots.len();
        let mut left = wanted;
        // A quarter of the slots or more are in use (`excess`), so this nearly always suffices …
        for _ in 0..16 * wanted {
            if let Some(held) = suits(self.slots[rng.usize(..slots)]) {
                see(held);
                left -= 1;
                if left == 0 {
                    return;
                }
            }
        }
        // … unless few of many entries can expire: then walk from a random place.
        let start = rng.usize(..slots);
        let around = self.slots[start..].iter().chain(&self.slots[..start]);
        around.filter_map(|slot| suits(*slot)).take(left).for_each(see);
    }
}

#[cfg(test)]
#[path = "table_test.rs"]
mod tests;
