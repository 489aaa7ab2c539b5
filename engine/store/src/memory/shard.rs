//! What can one shard do by itself? Everything that happens under one lock.
//!
//! A call that needs memory asks the heap and the budget for it. Where there is none it returns a [`Shortage`] and has changed nothing; the
//! store makes room and calls again (`room.rs`).

use std::sync::atomic::Ordering::Relaxed;

use parking_lot::Mutex;

use super::common::Common;
use super::entry::{Contents, Owned, Shape};
use super::fifo;
use super::frequency;
use super::heap::NoRoom;
use super::order::ShardOrder;
use super::policy::Policy;
use super::shortage::{Shortage, Stop, Wants};
use super::slots::SLOT_BYTES;
use super::table::{Held, Table, smallest_cost};
use crate::error::Error;

/// Where a key belongs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Location {
    pub(super) shard: usize,
    pub(super) tag: u32,
}

#[derive(Default)]
pub(super) struct Counters {
    pub(super) hits: u64,
    pub(super) misses: u64,
    pub(super) evicted: u64,
    pub(super) expired: u64,
}

pub(super) struct Shard {
    pub(super) table: Table,
    pub(super) order: ShardOrder,
    pub(super) counters: Counters,
    /// No entry of this shard expires before this Unix millisecond.
    pub(super) earliest_expiry: u64,
    pub(super) sweep: Sweep,
    /// For counting accesses by chance.
    random: fastrand::Rng,
    /// Whether the call under way has taken memory.
    pub(super) allocated: bool,
}

/// A shard on cache lines of its own, so that two threads on neighbouring shards do not slow each other down.
#[repr(align(64))]
#[derive(Default)]
pub(super) struct Padded(pub(super) Mutex<Shard>);
const _: () = assert!(size_of::<Padded>() == 128);

/// How far the active expiry has come in this shard (`expiry.rs`).
pub(super) struct Sweep {
    /// The next tag to look at.
    pub(super) next: u32,
    /// The earliest expiry among the entries it has passed, and of those that came since.
    pub(super) earliest: u64,
}

impl Default for Shard {
    fn default() -> Self {
        Self {
            table: Table::default(),
            order: ShardOrder::default(),
            counters: Counters::default(),
            earliest_expiry: u64::MAX,
            sweep: Sweep { next: 0, earliest: u64::MAX },
            random: fastrand::Rng::with_seed(0),
            allocated: false,
        }
    }
}

/// What is to be stored under a key.
#[derive(Clone, Copy)]
pub(super) struct New<'a> {
    pub(super) location: Location,
    pub(super) key: &'a [u8],
    pub(super) value: &'a [u8],
    pub(super) expiry: Option<u64>,
}

impl New<'_> {
    /// Bytes that storing this takes in an empty store, the heap's own needs aside.
    pub(super) fn alone(&self, common: &Common) -> u64 {
        self.bytes(common) + smallest_cost(1)
    }

    /// Bytes of the entry.
    pub(super) fn bytes(&self, common: &Common) -> u64 {
        entry_bytes(common, self.key.len(), self.value.len(), self.expiry.is_some())
    }
}

/// Bytes of memory that such an entry occupies.
fn entry_bytes(common: &Common, key_len: usize, value_len: usize, with_expiry: bool) -> u64 {
    let len = |spare| Shape::new(key_len, value_len, with_expiry, spare).len();
    // One with pages of its own is long in any case.
    common.heap.mapped_bytes(len(0)).map_or(len(0) as u64, |_| common.heap.bytes_for(len(1)))
}

/// What a growing value gets beyond what it needs, at most.
const MOST_SPARE: usize = 1024 * 1024;

impl Shard {
    /// Counts an access to the entry at `at`.
    pub(super) fn touch(&mut self, common: &Common, at: usize) {
        let policy = common.policy();
        let stamp = if policy == Policy::AllkeysS3Fifo {
            let Some(stamp) = self.table.held(at).and_then(|held| fifo::accessed(held.stamp())) else {
                return;
            };
            stamp
        } else if policy.is_lfu() {
            let Some(held) = self.table.held(at) else { return };
            frequency::accessed(held.stamp(), common.clock.now_ms(), self.random.f64())
        } else {
            self.stamp(common)
        };
        self.table.set_stamp(at, stamp);
    }

    /// What a new entry is stamped with.
    fn stamp_new(&mut self, common: &Common, location: Location) -> u32 {
        match common.policy() {
            Policy::AllkeysS3Fifo => fifo::fresh(common.ghosts.read().as_ref(), location),
            policy if policy.is_lfu() => frequency::fresh(common.clock.now_ms()),
            _ => self.stamp(common),
        }
    }

    fn stamp(&mut self, common: &Common) -> u32 {
        let (stamp, passed) = self.order.tick(&common.order, self.table.len());
        if let Some(passed) = passed {
            let order = &self.order;
            self.table.map_stamps(|stamp| order.rebase(stamp, passed));
        }
        stamp
    }

    /// Where `key` is; an entry whose time is over is removed and counts as absent.
    pub(super) fn find_live(
        &mut self,
        common: &Common,
        now_ms: impl FnOnce() -> u64,
        tag: u32,
        key: &[u8],
    ) -> Option<usize> {
        let at = self.table.find(tag, key).ok()?;
        if self.table.held(at).is_some_and(|held| held.is_expired(now_ms)) {
            self.remove(common, at);
            self.counters.expired += 1;
            return None;
        }
        Some(at)
    }

    /// Removes the entry at `at`.
    pub(super) fn remove(&mut self, common: &Common, at: usize) {
        if let Some(taken) = self.table.remove(at) {
            self.discard(common, taken.entry);
        }
    }

    /// Frees an entry that is out of the table.
    pub(super) fn discard(&mut self, common: &Common, entry: Owned) {
        common.heap.free(&common.budget, entry);
        self.shrink(common);
    }

    /// Gives back a table that has become far too large. Needs room for the smaller one beside it; without that it is left for a later
    /// removal.
    fn shrink(&mut self, common: &Common) {
        if let Some(slots) = self.table.excess() {
            let _ = self.resize(common, slots);
        }
    }

    fn resize(&mut self, common: &Common, slots: usize) -> Result<(), NoRoom> {
        let fresh = common.slots.take(&common.budget, slots)?;
        let old = self.table.resize(fresh);
        common.slots.put(&common.budget, old);
        Ok(())
    }

    /// Makes the table ready for `more` new entries, with comfort where there is room for that.
    pub(super) fn make_places(&mut self, common: &Common, more: usize, alone: u64) -> Result<(), Stop> {
        let Some(slots) = self.table.growth(more, true) else { return Ok(()) };
        match self.resize(common, slots) {
            Ok(()) => return Ok(()),
            Err(NoRoom::System) => return Err(Stop::Failed(Error::OutOfMemory)),
            Err(_) => {}
        }
        let Some(slots) = self.table.growth(more, false) else { return Ok(()) };
        self.resize(common, slots).map_err(|none| Stop::from_heap(none, alone))
    }

    /// Stores `new`; `at` is where its key is now. The expiry it had is replaced too.
    pub(super) fn put(&mut self, common: &Common, new: New<'_>, at: Option<usize>) -> Result<(), Stop> {
        match at {
            None => {
                self.make_places(common, 1, new.alone(common))?;
                let entry = self.store(common, &new)?;
                self.table.insert(new.location.tag, entry, new.expiry.is_some());
            }
            Some(at) if self.overwrite(common, at, &new)? => self.touch(common, at),
            Some(at) => {
                let entry = self.store(common, &new)?;
                self.exchange(common, at, entry, new.expiry.is_some());
            }
        }
        self.note_expiry(common, new.expiry);
        Ok(())
    }

    /// Writes an entry for `new` that is in no table yet.
    pub(super) fn prepare(&mut self, common: &Common, new: &New<'_>, alone: u64) -> Result<Owned, Stop> {
        let contents = Contents {
            key: new.key,
            value: [new.value, &[]],
            expiry: new.expiry,
            stamp: self.stamp_new(common, new.location),
        };
        let len = contents.shape(0).len();
        match common.heap.mapped_bytes(len) {
            Some(bytes) if common.needed(alone) > common.budget.cap() => {
                return Err(Stop::Short(Shortage { wants: Wants::Mappings(bytes), alone }));
            }
            Some(_) => {}
            None => match common.excess() {
                0 => {}
                excess => return Err(Stop::Short(Shortage { wants: Wants::LessLive(excess), alone })),
            },
        }
        self.allocated = true;
        common.heap.store(&common.budget, &contents, 0).map_err(|none| Stop::from_heap(none, alone))
    }

    /// Puts a prepared entry into the table, in place of what is there under its key; there is a place for it.
    pub(super) fn place(&mut self, common: &Common, new: &New<'_>, entry: Owned) {
        match self.table.find(new.location.tag, new.key) {
            Ok(at) => self.exchange(common, at, entry, new.expiry.is_some()),
            Err(_) => self.table.insert(new.location.tag, entry, new.expiry.is_some()),
        }
        self.note_expiry(common, new.expiry);
    }

    fn store(&mut self, common: &Common, new: &New<'_>) -> Result<Owned, Stop> {
        self.prepare(common, new, new.alone(common))
    }

    /// Lets the table point to `entry` in place of what it has at `at`, which is freed.
    fn exchange(&mut self, common: &Common, at: usize, entry: Owned, is_volatile: bool) {
        // The table stays as it is: the caller goes on with what is at `at`.
        if let Some(old) = self.table.replace(at, entry, is_volatile) {
            common.heap.free(&common.budget, old);
        }
    }

    /// Writes the value where the entry is, where that can be done: in a block of the same length, or in a mapping that changes its own.
    fn overwrite(&mut self, common: &Common, at: usize, new: &New<'_>) -> Result<bool, Stop> {
        let Some(held) = self.table.held(at).filter(|held| !held.is_shared()) else { return Ok(false) };
        let is_volatile = new.expiry.is_some();
        let wanted = Shape::new(new.key.len(), new.value.len(), is_volatile, 1).len();
        match common.heap.mapped_bytes(wanted) {
            Some(bytes) if held.is_mapped_alone() => {
                let alone = new.alone(common);
                if common.needed(alone) > common.budget.cap() {
                    return Err(Stop::Short(Shortage { wants: Wants::Mappings(bytes), alone }));
                }
                if bytes != common.heap.bytes_for(held.shape().len()) {
                    self.allocated = true;
                    let stamp = self.stamp_new(common, new.location);
                    let contents =
                        Contents { key: new.key, value: [new.value, &[]], expiry: new.expiry, stamp };
                    let exchanged = self.table.exchange_large(at, &common.heap, &common.budget, &contents);
                    return exchanged.map(|()| true).map_err(|none| Stop::from_heap(none, alone));
                }
            }
            // It goes into a segment.
            None if held.is_mapped_alone() => return Ok(false),
            _ => {}
        }
        let shape = held.shape().with_value(new.value.len(), is_volatile);
        // A long block may be much longer than the value: then it is exchanged for one that suits.
        let Some(shape) = shape.filter(|shape| !shape.is_wasteful()) else { return Ok(false) };
        self.table.set_value(at, shape, new.value, new.expiry);
        Ok(true)
    }

    fn stretch(&mut self, common: &Common, at: usize, len: usize) -> Result<(), NoRoom> {
        self.allocated = true;
        self.table.stretch(at, &common.heap, &common.budget, len)
    }

    pub(super) fn note_expiry(&mut self, common: &Common, expiry: Option<u64>) {
        if let Some(unix_ms) = expiry {
            if unix_ms < self.earliest_expiry {
                self.earliest_expiry = unix_ms;
                common.earliest_expiry.fetch_min(unix_ms, Relaxed);
            }
            self.sweep.earliest = self.sweep.earliest.min(unix_ms);
        }
    }

    /// Adds `suffix` to the value at `at` and returns the new length. A value that has to move gets a quarter more room than it needs (at
    /// most 1 MiB) if that is free, so that many small appends do not copy it each time.
    pub(super) fn append(&mut self, common: &Common, at: usize, suffix: &[u8]) -> Result<usize, Stop> {
        let Some(held) = self.table.held(at) else { return Ok(0) };
        let (old_len, expiry) = (held.value().len(), held.expiry());
        let value_len = old_len + suffix.len();
        let fits = |held: Held<'_>| held.shape().with_value(value_len, expiry.is_some());
        let mut shape = fits(held).filter(|_| !held.is_shared());
        if shape.is_none() {
            let len = Shape::new(held.key().len(), value_len, true, 1).len();
            let spare = (len / 4).min(MOST_SPARE);
            let can_stretch = held.is_mapped_alone() && common.heap.can_stretch(held.shape().len(), len);
            // The bytes are copied from one block to the other, unless the block itself can grow.
            let beside = if can_stretch { 0 } else { common.heap.bytes_for(held.shape().len()) };
            let alone = common.heap.bytes_for(len) + beside + smallest_cost(1);
            if common.needed(alone) > common.budget.cap() {
                return Err(Stop::Short(Shortage { wants: Wants::LessLive(0), alone }));
            }
            if can_stretch {
                let stretched =
                    self.stretch(common, at, len + spare).or_else(|_| self.stretch(common, at, len));
                stretched.map_err(|none| Stop::from_heap(none, alone))?;
                shape = self.table.held(at).and_then(fits);
            } else {
                let rewritten = self.rewrite(common, at, suffix, expiry, spare);
                let rewritten = rewritten.or_else(|_| self.rewrite(common, at, suffix, expiry, 0));
                rewritten.map_err(|none| Stop::from_heap(none, alone))?;
            }
        }
        if let Some(shape) = shape {
            self.table.extend_value(at, shape, suffix, expiry);
        }
        self.touch(common, at);
        Ok(value_len)
    }

    /// Copies the entry at `at`, with `suffix` added to its value and room for `spare` bytes more.
    fn rewrite(
        &mut self,
        common: &Common,
        at: usize,
        suffix: &[u8],
        expiry: Option<u64>,
        spare: usize,
    ) -> Result<(), NoRoom> {
        let Some(held) = self.table.held(at) else { return Ok(()) };
        let contents =
            Contents { key: held.key(), value: [held.value(), suffix], expiry, stamp: held.stamp() };
        let entry = common.heap.store(&common.budget, &contents, spare)?;
        self.allocated = true;
        self.exchange(common, at, entry, expiry.is_some());
        Ok(())
    }

    /// Sets or clears the expiry of the entry at `at`, without counting as an access.
    pub(super) fn set_expiry(&mut self, common: &Common, at: usize, expiry: Option<u64>) -> Result<(), Stop> {
        let (Some(unix_ms), Some(held)) = (expiry, self.table.held(at)) else {
            self.table.mark_expiry(at, false);
            return Ok(());
        };
        if let Some(shape) = held.shape().with_value(held.value().len(), true) {
            self.table.set_expiry(at, shape, unix_ms);
        } else {
            let alone =
                2 * entry_bytes(common, held.key().len(), held.value().len(), true) + smallest_cost(1);
            self.rewrite(common, at, &[], expiry, 0).map_err(|none| Stop::from_heap(none, alone))?;
        }
        self.note_expiry(common, expiry);
        Ok(())
    }

    /// Bytes accounted for the entry at `at`.
    pub(super) fn entry_cost(&self, common: &Common, at: usize) -> u64 {
        let cost = |held: Held<'_>| common.heap.bytes_for(held.shape().len()) + SLOT_BYTES as u64;
        self.table.held(at).map_or(0, cost)
    }

    /// Removes all entries.
    pub(super) fn drain(&mut self, common: &Common) {
        // From behind, so that hardly any has to move.
        for at in (0..self.table.slots().len()).rev() {
            while let Some(taken) = self.table.held(at).is_some().then(|| self.table.remove(at)).flatten() {
                common.heap.free(&common.budget, taken.entry);
            }
        }
        self.shrink(common);
        self.earliest_expiry = u64::MAX;
        self.sweep = Sweep { next: 0, earliest: u64::MAX };
    }

    /// Forgets everything, and returns the table, to be freed at leisure. The caller clears the heap.
    pub(super) fn clear(&mut self) -> Table {
        self.earliest_expiry = u64::MAX;
        self.sweep = Sweep { next: 0, earliest: u64::MAX };
        std::mem::take(&mut self.table)
    }
}
