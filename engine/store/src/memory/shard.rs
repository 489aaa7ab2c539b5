//! What can one shard do by itself? Everything that happens under one lock.
//!
//! Each call that may need memory first reserves it from the common budget. When that fails it returns a
//! [`Shortage`] and has changed nothing; the store makes room and calls again (`store.rs`).

use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

use super::budget::Budget;
use super::entry::{AllocationFailed, Block, needed_len};
use super::order::{CommonOrder, ShardOrder};
use super::size_class;
use super::table::{SLOT_BYTES, Slot, Table, smallest_cost};
use crate::error::Error;

/// What all shards have in common.
pub(super) struct Common {
    pub(super) budget: Budget,
    pub(super) order: CommonOrder,
    /// No entry of the store expires before this Unix millisecond: a cycle without work looks at nothing else.
    pub(super) earliest_expiry: AtomicU64,
}

/// Memory is missing.
#[derive(Debug, Clone, Copy)]
pub(super) struct Shortage {
    /// Bytes to reserve now.
    pub(super) bytes: u64,
    /// Bytes that the call would hold at its peak if every other key were gone.
    pub(super) alone: u64,
}

/// Why a call under the lock did not finish.
#[derive(Debug)]
pub(super) enum Stop {
    Short(Shortage),
    Failed(Error),
}

impl From<Shortage> for Stop {
    fn from(shortage: Shortage) -> Self {
        Self::Short(shortage)
    }
}

impl From<Error> for Stop {
    fn from(error: Error) -> Self {
        Self::Failed(error)
    }
}

impl From<AllocationFailed> for Stop {
    fn from(_: AllocationFailed) -> Self {
        Self::Failed(Error::OutOfMemory)
    }
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
    /// Bytes of the table and of all blocks in it.
    bytes: u64,
    pub(super) order: ShardOrder,
    pub(super) counters: Counters,
    /// No entry of this shard expires before this Unix millisecond.
    pub(super) earliest_expiry: u64,
    pub(super) sweep: Sweep,
}

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
            bytes: 0,
            order: ShardOrder::default(),
            counters: Counters::default(),
            earliest_expiry: u64::MAX,
            sweep: Sweep { next: 0, earliest: u64::MAX },
        }
    }
}

/// What is to be stored under a key.
#[derive(Clone, Copy)]
pub(super) struct New<'a> {
    pub(super) tag: u32,
    pub(super) key: &'a [u8],
    pub(super) value: &'a [u8],
    pub(super) expiry: Option<u64>,
}

impl New<'_> {
    fn block_len(&self) -> usize {
        needed_len(self.key.len(), self.value.len(), self.expiry.is_some())
    }

    pub(super) fn block_cost(&self) -> u64 {
        size_class::cost(self.block_len())
    }
}

impl Shard {
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Counts an access to the entry at `at`.
    pub(super) fn touch(&mut self, common: &Common, at: usize) {
        let stamp = self.stamp(common);
        self.table.slot_mut(at).stamp = stamp;
    }

    fn stamp(&mut self, common: &Common) -> u32 {
        let (stamp, passed) = self.order.tick(&common.order, self.table.len());
        if let Some(passed) = passed {
            for slot in self.table.iter_mut() {
                slot.stamp = self.order.rebase(slot.stamp, passed);
            }
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
        if self.table.slot(at).is_expired(now_ms) {
            self.remove(common, at);
            self.counters.expired += 1;
            return None;
        }
        Some(at)
    }

    /// Removes the entry at `at`, gives its bytes back, and returns it.
    pub(super) fn remove(&mut self, common: &Common, at: usize) -> Slot {
        let slot = self.table.remove(at);
        self.release(common, slot.block().map_or(0, Block::cost));
        slot
    }

    /// Gives back the bytes of a block that has left the table, and of the table if it has become far too large.
    pub(super) fn release(&mut self, common: &Common, block_cost: u64) {
        self.bytes -= block_cost;
        common.budget.release(block_cost);
        self.shrink(common);
    }

    /// Puts an entry back that was taken out of the table just now, under the same lock.
    pub(super) fn put_back(&mut self, key: &[u8], slot: Slot) {
        if let Err(at) = self.table.find(slot.tag(), key) {
            self.table.insert(at, slot);
        }
    }

    /// Gives back a table that has become far too large. Needs room for the smaller one beside it; without that it
    /// is left for a later removal.
    fn shrink(&mut self, common: &Common) {
        let Some(slots) = self.table.excess() else { return };
        let needed = super::table::table_cost(slots);
        if common.budget.try_reserve(needed) {
            let before = self.table.cost();
            let released = if self.table.resize(slots).is_ok() { before } else { needed };
            self.bytes = self.bytes + needed - released;
            common.budget.release(released);
        }
    }

    /// Bytes by which storing `new` may raise what this shard holds, its table aside.
    pub(super) fn block_need(&self, new: &New<'_>, at: Option<usize>) -> u64 {
        match at.and_then(|at| self.table.block(at)) {
            Some(old) => new.block_cost().saturating_sub(old.cost()),
            None => new.block_cost(),
        }
    }

    /// Makes the table ready for `more` new entries and takes the `bytes` their blocks need as well, all or
    /// nothing. What was taken is handed to [`settle`](Self::settle) when the blocks are in place.
    fn reserve(&mut self, common: &Common, more: usize, bytes: u64, alone: u64) -> Result<Reserved, Stop> {
        for comfort in [true, false] {
            let growth = self.table.growth(more, comfort);
            let table = growth.map_or(0, super::table::table_cost);
            if common.budget.try_reserve(table + bytes) {
                if let Some(slots) = growth {
                    self.grow_to(common, slots).inspect_err(|_| common.budget.release(table + bytes))?;
                }
                return Ok(Reserved { bytes, before: self.bytes });
            }
            if growth.is_none() {
                break;
            }
        }
        let table = self.table.growth(more, false).map_or(0, super::table::table_cost);
        Err(Shortage { bytes: table + bytes, alone: alone + smallest_cost() }.into())
    }

    /// Exchanges the table for one of `slots` slots, whose bytes have been reserved.
    pub(super) fn grow_to(&mut self, common: &Common, slots: usize) -> Result<(), AllocationFailed> {
        let before = self.table.cost();
        self.table.resize(slots)?;
        self.bytes = self.bytes + self.table.cost() - before;
        common.budget.release(before);
        Ok(())
    }

    /// Gives back what was reserved and not used, and what was freed.
    fn settle(&self, common: &Common, reserved: &Reserved) {
        common.budget.release(reserved.before + reserved.bytes - self.bytes);
    }

    /// Stores `new`; `at` is where its key is now. The expiry it had is replaced too.
    pub(super) fn put(&mut self, common: &Common, new: New<'_>, at: Option<usize>) -> Result<(), Stop> {
        let bytes = self.block_need(&new, at);
        let reserved = self.reserve(common, usize::from(at.is_none()), bytes, new.block_cost())?;
        let done = self.put_reserved(common, new, at);
        self.settle(common, &reserved);
        Ok(done?)
    }

    /// As [`put`](Self::put), for a caller that has reserved the bytes and has made the table large enough.
    pub(super) fn put_reserved(
        &mut self,
        common: &Common,
        new: New<'_>,
        at: Option<usize>,
    ) -> Result<(), AllocationFailed> {
        let with_expiry = new.expiry.is_some();
        if let Some(at) = at {
            if let Some(block) = self.table.block_mut(at)
                && block.same_class(new.value.len(), with_expiry)
            {
                block.set_value(new.value);
                if let Some(unix_ms) = new.expiry {
                    block.set_expiry(unix_ms);
                }
                self.table.mark_expiry(at, with_expiry);
                self.note_expiry(common, new.expiry);
                self.touch(common, at);
                return Ok(());
            }
            // The old block goes first, so that both are never in memory together: its bytes pay for the new one.
            self.bytes -= self.table.take_block(at).map_or(0, |old| old.cost());
            let block = Block::new(new.block_len(), new.key, [new.value, &[]], new.expiry)
                .inspect_err(|_| drop(self.table.remove(at)))?;
            self.bytes += block.cost();
            self.table.replace_block(at, block, with_expiry);
            self.note_expiry(common, new.expiry);
            self.touch(common, at);
            return Ok(());
        }
        let block = Block::new(new.block_len(), new.key, [new.value, &[]], new.expiry)?;
        self.insert(common, new.tag, block, new.expiry);
        Ok(())
    }

    /// Puts a finished block into a table that has room for it; its key is not in there.
    fn insert(&mut self, common: &Common, tag: u32, block: Block, expiry: Option<u64>) {
        let stamp = self.stamp(common);
        self.bytes += block.cost();
        if let Err(at) = self.table.find(tag, block.key()) {
            self.table.insert(at, Slot::new(tag, block, expiry.is_some(), stamp));
        }
        self.note_expiry(common, expiry);
    }

    fn note_expiry(&mut self, common: &Common, expiry: Option<u64>) {
        if let Some(unix_ms) = expiry {
            if unix_ms < self.earliest_expiry {
                self.earliest_expiry = unix_ms;
                common.earliest_expiry.fetch_min(unix_ms, Relaxed);
            }
            self.sweep.earliest = self.sweep.earliest.min(unix_ms);
        }
    }

    /// Adds `suffix` to the value at `at` and returns the new length. A value that has to move gets a quarter more
    /// room than it needs (at most 1 MiB) if that is free, so that many small appends do not copy it each time.
    pub(super) fn append(&mut self, common: &Common, at: usize, suffix: &[u8]) -> Result<usize, Stop> {
        const MOST_SPARE: usize = 1024 * 1024;
        let with_expiry = self.table.slot(at).is_volatile();
        let Some(block) = self.table.block_mut(at) else { return Ok(0) };
        let value_len = block.value().len() + suffix.len();
        if block.fits(value_len, with_expiry) {
            block.extend_value(suffix);
            self.touch(common, at);
            return Ok(value_len);
        }
        let exact = needed_len(block.key().len(), value_len, with_expiry);
        let (roomy_cost, exact_cost) =
            (size_class::cost(exact + (exact / 4).min(MOST_SPARE)), size_class::cost(exact));
        let alone = exact_cost + block.cost();
        let roomy = common.budget.try_reserve(roomy_cost);
        if !roomy && !common.budget.try_reserve(exact_cost) {
            return Err(Shortage { bytes: exact_cost, alone: alone + smallest_cost() }.into());
        }
        let (bytes, len) =
            if roomy { (roomy_cost, exact + (exact / 4).min(MOST_SPARE)) } else { (exact_cost, exact) };
        let reserved = Reserved { bytes, before: self.bytes };
        let done = self.move_block(at, len, suffix, self.table.slot(at).expiry());
        self.settle(common, &reserved);
        done?;
        self.touch(common, at);
        Ok(value_len)
    }

    /// Sets or clears the expiry of the entry at `at`, without counting as an access.
    pub(super) fn set_expiry(&mut self, common: &Common, at: usize, expiry: Option<u64>) -> Result<(), Stop> {
        let Some(unix_ms) = expiry else {
            self.table.mark_expiry(at, false);
            return Ok(());
        };
        let Some(block) = self.table.block_mut(at) else { return Ok(()) };
        let value_len = block.value().len();
        if block.fits(value_len, true) {
            block.set_expiry(unix_ms);
            self.table.mark_expiry(at, true);
        } else {
            let len = needed_len(block.key().len(), value_len, true);
            let (bytes, old) = (size_class::cost(len), block.cost());
            if !common.budget.try_reserve(bytes) {
                return Err(Shortage { bytes, alone: bytes + old + smallest_cost() }.into());
            }
            let reserved = Reserved { bytes, before: self.bytes };
            let done = self.move_block(at, len, &[], expiry);
            self.settle(common, &reserved);
            done?;
        }
        self.note_expiry(common, expiry);
        Ok(())
    }

    /// Copies the entry at `at` into a block of `len` bytes with `suffix` added to its value.
    fn move_block(
        &mut self,
        at: usize,
        len: usize,
        suffix: &[u8],
        expiry: Option<u64>,
    ) -> Result<(), AllocationFailed> {
        if let Some(old) = self.table.block(at) {
            let block = Block::new(len, old.key(), [old.value(), suffix], expiry)?;
            self.bytes = self.bytes + block.cost() - old.cost();
            self.table.replace_block(at, block, expiry.is_some());
        }
        Ok(())
    }

    /// Counts the shard's bytes afresh.
    pub(super) fn recount(&self) -> u64 {
        self.table.cost() + self.table.iter().filter_map(Slot::block).map(Block::cost).sum::<u64>()
    }

    /// Bytes accounted for the entry at `at`.
    pub(super) fn entry_cost(&self, at: usize) -> u64 {
        self.table.block(at).map_or(0, Block::cost) + SLOT_BYTES as u64
    }

    /// Removes everything.
    pub(super) fn clear(&mut self, common: &Common) {
        self.table = Table::default();
        common.budget.release(self.bytes);
        self.bytes = 0;
        self.earliest_expiry = u64::MAX;
        self.sweep = Sweep { next: 0, earliest: u64::MAX };
    }
}

/// Bytes taken from the budget, and what the shard held then.
struct Reserved {
    bytes: u64,
    before: u64,
}
