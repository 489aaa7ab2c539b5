//! How does a write get the room it needs? By evicting until what lives fits, and by cleaning until what is free is in one piece.
//!
//! Writes evict as they go: each one that takes the live bytes above what segments can well hold removes a few entries, so nobody
//! pays for others at once. What is freed that way lies scattered; a write that finds no empty segment has one cleaned.

use std::sync::atomic::Ordering::Relaxed;

use parking_lot::MutexGuard;

use super::evict::Protected;
use super::policy::Policy;
use super::shard::Shard;
use super::shortage::{Shortage, Stop, Wants};
use super::store::{Location, Store};
use crate::error::{Error, Result};

/// What was done to come nearer to room.
pub(super) enum Step {
    /// Bytes became free: an entry was evicted, or segments were given back.
    Freed,
    /// A segment was emptied.
    Cleaned,
    /// There is nothing to be done.
    Nothing,
}

/// What a call has found missing, over all its attempts. Making room for one thing must not take away what the attempt before was given:
/// a table shrinks where entries are evicted for a segment, and a free segment is given back for the sake of a table.
#[derive(Clone, Copy, Default)]
struct Needs {
    segments: usize,
    mappings: u64,
    beside: u64,
    /// What the call holds at its peak, the heap's own needs aside.
    peak: u64,
    /// More from attempt to attempt: a table that grew for comfort took what an entry was to have, and shrank again when room was made.
    extra: u64,
}

impl Needs {
    fn add(&mut self, wants: Wants) {
        match wants {
            // In the midst of a call with several keys there was too much, though there was not when it began.
            Wants::LessLive(bytes) => self.beside = self.beside.saturating_add(bytes),
            Wants::Segments(count) => self.segments = self.segments.max(count),
            Wants::Mappings(bytes) => self.mappings = self.mappings.max(bytes),
            Wants::Both { segments, mappings } => {
                self.segments = self.segments.max(segments);
                self.mappings = self.mappings.max(mappings);
            }
            // Such a call lets several tables grow, too, one after the other.
            Wants::Beside(bytes) => self.beside = self.beside.saturating_add(bytes),
        }
    }

    fn bytes(self) -> u64 {
        // More than the call holds at its peak it does not need, however often it fell short.
        self.mappings.saturating_add(self.beside).min(self.peak).saturating_add(self.extra)
    }
}

/// A call that makes room, and has made it so often.
pub(super) struct Making<'a> {
    store: &'a Store,
    needs: Needs,
    attempts: u32,
    /// One call at a time makes room: two that each hold half of what there is would both fail.
    turn: Option<MutexGuard<'a, ()>>,
}

/// Others may take what one call has made room for, each time getting on with their own work. That it happens this often is
/// a store that is much too small for its clients.
const MOST_ATTEMPTS: u32 = 1000;
/// From this many attempts on more is made room for than is known to be missing, from so many bytes on.
const FEW_ATTEMPTS: u32 = 3;
const EXTRA: u64 = 128;

impl Making<'_> {
    /// Makes room for a shortage that was met with locks that are now released.
    pub(super) fn room(&mut self, shortage: Shortage, protected: Option<Protected>) -> Result<()> {
        self.store.check_possible(shortage)?;
        if self.turn.is_none() {
            self.turn = Some(self.store.making_room.lock());
        }
        self.needs.add(shortage.wants);
        self.needs.peak = self.needs.peak.max(shortage.alone);
        self.attempts += 1;
        if self.attempts > FEW_ATTEMPTS {
            self.needs.extra = EXTRA << (self.attempts - FEW_ATTEMPTS).min(32);
        }
        if self.attempts > MOST_ATTEMPTS {
            return Err(self.store.refusal());
        }
        self.store.step_until(protected, self.needs)
    }
}

/// Segments that are cleaned for one that is wanted before more is evicted.
const FEW_CLEANINGS: u64 = 8;

/// Segments' worth of what is dead, below which writes do not clean ahead.
const WORTHWHILE: u64 = 8;

/// Entries that one write evicts at most while it holds its shard.
const MOST_AT_ONCE: usize = 8;

impl Store {
    /// For one call.
    pub(super) fn making(&self) -> Making<'_> {
        Making { store: self, needs: Needs::default(), attempts: 0, turn: None }
    }

    /// Carries out `op` under the shard's lock, making room as often as it asks for some. `op` must change nothing when it returns an error;
    /// it is called again after others may have changed the shard.
    pub(super) fn with_room<R>(
        &self,
        location: Location,
        mut op: impl FnMut(&mut Shard) -> std::result::Result<R, Stop>,
    ) -> Result<R> {
        let protected = Protected { shard: location.shard, tag: location.tag };
        let mut making = self.making();
        loop {
            let mut shard = self.lock(location.shard);
            shard.allocated = false;
            let shortage = match op(&mut shard) {
                Ok(done) => {
                    if shard.allocated {
                        self.relieve(&mut shard, protected);
                        drop(shard);
                        self.clean_ahead();
                    }
                    return Ok(done);
                }
                Err(Stop::Failed(error)) => return Err(error),
                Err(Stop::Short(shortage)) => shortage,
            };
            drop(shard);
            making.room(shortage, Some(protected))?;
        }
    }

    /// Evicts a little, where there is more than there should be.
    fn relieve(&self, shard: &mut Shard, protected: Protected) {
        if self.policy() == Policy::NoEviction {
            return;
        }
        for _ in 0..MOST_AT_ONCE {
            if self.common.excess() == 0 || !self.evict_one_here(shard, protected) {
                return;
            }
        }
    }

    /// Cleans a segment where the next writes will need one that is free: to empty one takes several cleanings, and the write that finds
    /// none would have to wait for all of them.
    fn clean_ahead(&self) {
        let (heap, budget) = (&self.common.heap, &self.common.budget);
        if self.policy() == Policy::AllkeysS3Fifo || !heap.cleans_ahead() {
            return;
        }
        let is_full = budget.used().saturating_add(heap.segment_bytes()) > budget.cap();
        if is_full && heap.garbage() >= WORTHWHILE * heap.segment_bytes() {
            self.clean(true);
        }
    }

    fn refusal(&self) -> Error {
        self.count_refusal();
        Error::OutOfMemory
    }

    /// Takes steps until what is needed is there.
    fn step_until(&self, protected: Option<Protected>, needs: Needs) -> Result<()> {
        let mut cleaned = 0;
        while !self.is_there(needs) {
            // What is free is scattered so thinly that cleaning gains little: then a little more has to go.
            let scattered =
                (cleaned as u64).saturating_sub(FEW_CLEANINGS) * self.common.heap.segment_bytes() / 8;
            match self.take_a_step(needs, scattered, protected) {
                Step::Freed => {}
                // Cleaning all there is several times over without freeing anything would go on for ever.
                Step::Cleaned if cleaned < 4 * self.common.heap.sealed() + 16 => cleaned += 1,
                // Nothing more can go; it may do.
                _ if needs.extra > 0 && self.is_there(Needs { extra: 0, ..needs }) => return Ok(()),
                Step::Cleaned | Step::Nothing => return Err(self.refusal()),
            }
        }
        Ok(())
    }

    fn is_there(&self, needs: Needs) -> bool {
        let heap = &self.common.heap;
        let fresh = needs.segments.saturating_sub(heap.free_segments()) as u64;
        let fresh = fresh.saturating_mul(heap.segment_bytes());
        let budget = &self.common.budget;
        let is_free = budget.used().saturating_add(fresh).saturating_add(needs.bytes()) <= budget.cap();
        // With what is needed in its place there must not be too much that lives.
        is_free && self.common.excess_beside(self.wanted(needs)) == 0
    }

    fn wanted(&self, needs: Needs) -> u64 {
        needs.bytes().saturating_add(needs.segments as u64 * self.common.heap.segment_bytes())
    }

    /// Comes nearer to what is needed.
    fn take_a_step(&self, needs: Needs, scattered: u64, protected: Option<Protected>) -> Step {
        let (heap, budget) = (&self.common.heap, &self.common.budget);
        if self.bury() {
            return Step::Freed;
        }
        if heap.free_segments() > needs.segments && heap.give_back(budget, needs.segments, usize::MAX) > 0 {
            return Step::Freed;
        }
        if self.policy() == Policy::AllkeysS3Fifo {
            return self.evict_in_order(protected);
        }
        if self.common.excess_beside(self.wanted(needs).saturating_add(scattered)) > 0
            && self.evict_one_anywhere(protected)
        {
            return Step::Freed;
        }
        // Less than a segment's worth in all would only be moved about.
        if heap.garbage() >= heap.segment_bytes() && self.clean(false).is_some() {
            Step::Cleaned
        } else {
            Step::Nothing
        }
    }

    pub(crate) fn reserve(&self, bytes: u64) -> Result<()> {
        let mut making = self.making();
        while !self.common.budget.try_reserve(bytes) {
            making.room(Shortage { wants: Wants::Beside(bytes), alone: bytes }, None)?;
        }
        self.common.reserved.fetch_add(bytes, Relaxed);
        Ok(())
    }

    pub(crate) fn release(&self, bytes: u64) {
        self.common.reserved.fetch_sub(bytes, Relaxed);
        self.common.budget.release(bytes);
    }

    /// Brings what is counted below the cap after it was lowered, as far as the policy allows.
    pub(super) fn fall_below_cap(&self) {
        let _turn = self.making_room.lock();
        // What the policy does not let go stays.
        let _ = self.step_until(None, Needs::default());
    }

    /// Cleans one segment; `only_if_idle` gives it up where another thread is cleaning.
    fn clean(&self, only_if_idle: bool) -> Option<u64> {
        let mut rng = self.rng();
        self.common.heap.clean(&self.common.budget, &mut rng, only_if_idle, &mut |found, survivors| {
            let location = self.locate(found.key());
            let mut shard = self.lock(location.shard);
            let Some(at) = shard.table.find_found(location.tag, found) else { return };
            if shard.table.held(at).is_some_and(|held| held.is_expired(|| self.now_ms())) {
                shard.remove(&self.common, at);
                shard.counters.expired += 1;
            } else {
                shard.table.move_found(at, found, survivors);
            }
        })
    }

    /// Refuses what would not fit with every other key gone, before anything is evicted for it.
    fn check_possible(&self, shortage: Shortage) -> Result<()> {
        let (needed, cap) = (self.common.needed(shortage.alone), self.common.budget.cap());
        if needed > cap {
            self.count_refusal();
            return Err(Error::TooLargeForCap { needed, cap });
        }
        Ok(())
    }
}
