//! How does a segment become free whose entries live? They are moved together into others.
//!
//! The walk holds no lock. For each entry that is not marked dead the store is asked (`room.rs`), which takes the lock of the entry's shard
//! and looks whether the table still points here. An entry that was written a moment ago and is not in the table yet is no
//! exception: whoever writes one holds the lock of its shard until it is.
//!
//! One thread cleans at a time. It always has an empty segment to spare: what lives in one segment fits into one segment.

use std::marker::PhantomData;
use std::ptr::NonNull;
use std::sync::atomic::Ordering::Relaxed;

use parking_lot::MutexGuard;

use super::pool::Pool;
use super::segment::Segment;
use super::{Head, Heap, NoRoom, Queue};
use crate::memory::budget::Budget;
use crate::memory::entry::Entry;

/// What cleaning keeps from one time to the next.
#[derive(Default)]
pub(super) struct Cleaner {
    /// Where survivors go, where they are kept apart.
    head: Head,
    spare: Option<Segment>,
}

/// Nobody is cleaning.
pub(in crate::memory) struct Stopped<'a>(MutexGuard<'a, Cleaner>);

/// An entry in the segment that is being cleaned. It may be freed by others at any time, but stays readable until the cleaning is over.
pub(in crate::memory) struct Found<'a> {
    entry: Entry,
    cleaning: PhantomData<&'a Segment>,
}

impl Found<'_> {
    pub(in crate::memory) fn key(&self) -> &[u8] {
        // SAFETY: keys never change, and the memory of the segment is not used again before the cleaning is over.
        unsafe { self.entry.key() }
    }

    pub(in crate::memory) fn entry(&self) -> Entry {
        self.entry
    }
}

/// Takes in the entries that go on living.
pub(in crate::memory) struct Survivors<'a> {
    heap: &'a Heap,
    cleaner: &'a mut Cleaner,
    /// Bytes moved.
    pub(super) moved: u64,
}

impl Survivors<'_> {
    /// Moves an entry, and says where it is now; the caller lets the table point there. `None` where there is no place, which
    /// does not happen as long as what lives in a segment fits into one: then the entry stays where it is.
    ///
    /// # Safety
    /// The caller holds the lock of the entry's shard, and its table points to the entry.
    pub(in crate::memory) unsafe fn take(&mut self, found: &Found<'_>) -> Option<Entry> {
        let entry = found.entry;
        // SAFETY: the caller's promise; what is at the new place is known to nobody yet.
        unsafe {
            let len = entry.shape().len();
            let fresh = self.place(len, |at| entry.copy_to(at))?;
            self.moved += len as u64;
            entry.mark_dead();
            Segment::of(entry, self.heap.pool.segment_bytes()).sub_live(len);
            Some(fresh)
        }
    }

    fn place(&mut self, len: usize, write: impl FnOnce(NonNull<u8>) -> Entry) -> Option<Entry> {
        let Cleaner { head, spare } = &mut *self.cleaner;
        let queue = if self.heap.keeps_survivors_apart() { Queue::Old } else { Queue::Young };
        let fresh = || {
            let spare = spare.take().ok_or(NoRoom::Segment)?;
            spare.reset();
            Ok(spare)
        };
        self.heap.place_in(head, queue, len, fresh, write).ok()
    }
}

impl Heap {
    /// Makes sure that cleaning has its spare segment, so that it can begin when there is nothing else left.
    pub(in crate::memory) fn prepare(&self, budget: &Budget) -> bool {
        let mut cleaner = self.cleaner.lock();
        if cleaner.spare.is_none() {
            cleaner.spare = self.pool.take(budget).ok();
        }
        cleaner.spare.is_some()
    }

    /// Keeps everybody from cleaning until what is returned is dropped. Comes before the locks of shards.
    pub(in crate::memory) fn stop_cleaning(&self) -> Stopped<'_> {
        Stopped(self.cleaner.lock())
    }

    /// Forgets all entries in segments, without a look at any of them.
    ///
    /// # Safety
    /// No table has an entry that lies in a segment, and nobody has one who is not in a table: the caller holds the locks of all shards.
    pub(in crate::memory) unsafe fn clear(&self, stopped: &Stopped<'_>) {
        let heads = self.heads.iter().map(|head| &head.0).chain([&stopped.0.head]);
        let open = heads.filter_map(|head| head.lock().take()).map(|filling| filling.segment);
        self.pool.clear(open);
        self.live.0.store(0, Relaxed);
        // Those are freed by and by (`free_cleared`), and counted in the budget until they are.
        self.graves.expect(self.large.swap(0, Relaxed));
    }

    /// Empties the segment in which the least lives, entry by entry, as `rehome` says. Returns the bytes that were moved, or `None` where there
    /// was nothing to clean. Must be called without a shard's lock.
    pub(in crate::memory) fn clean(
        &self,
        budget: &Budget,
        rng: &mut fastrand::Rng,
        only_if_idle: bool,
        rehome: &mut dyn FnMut(&Found<'_>, &mut Survivors<'_>),
    ) -> Option<u64> {
        let cleaner = if only_if_idle { self.cleaner.try_lock()? } else { self.cleaner.lock() };
        self.empty(budget, cleaner, |pool| pool.emptiest(rng), &mut |found, _, survivors| {
            rehome(found, survivors)
        })
    }

    /// Empties the oldest segment, of those that hold survivors only if the others are few. As [`clean`](Self::clean) otherwise.
    pub(in crate::memory) fn empty_oldest(
        &self,
        budget: &Budget,
        rehome: &mut dyn FnMut(&Found<'_>, Queue, &mut Survivors<'_>),
    ) -> Option<u64> {
        self.empty(budget, self.cleaner.lock(), Pool::oldest, rehome)
    }

    fn empty(
        &self,
        budget: &Budget,
        mut cleaner: MutexGuard<'_, Cleaner>,
        choose: impl FnOnce(&Pool) -> Option<(Segment, Queue)>,
        rehome: &mut dyn FnMut(&Found<'_>, Queue, &mut Survivors<'_>),
    ) -> Option<u64> {
        if cleaner.spare.is_none() {
            cleaner.spare = self.pool.take(budget).ok();
        }
        cleaner.spare?;
        let (victim, queue) = choose(&self.pool)?;
        self.lend_head(&cleaner);
        let mut survivors = Survivors { heap: self, cleaner: &mut cleaner, moved: 0 };
        // SAFETY: the pool has handed the segment to this call, sealed.
        for entry in unsafe { victim.walk() } {
            // SAFETY: nobody else frees the memory of this segment now.
            if !unsafe { entry.is_dead() } {
                rehome(&Found { entry, cleaning: PhantomData }, queue, &mut survivors);
            }
        }
        if victim.live() > 0 {
            // Somebody has marked an entry as dead and not subtracted it yet. He holds the lock of its shard, so asking for it waits for him.
            // SAFETY: as above.
            for entry in unsafe { victim.walk() } {
                rehome(&Found { entry, cleaning: PhantomData }, queue, &mut survivors);
            }
        }
        let moved = survivors.moved;
        if victim.live() > 0 {
            // Not to be reached: somebody owns an entry that no table has. Its memory is left alone.
            debug_assert!(false, "{} bytes live in a segment after cleaning", victim.live());
            self.pool.seal(victim, victim.end(), queue);
            return Some(moved);
        }
        match cleaner.spare {
            None => cleaner.spare = Some(victim),
            Some(_) => self.pool.put_free(victim),
        }
        self.return_head(&cleaner);
        Some(moved)
    }

    /// Where survivors are not kept apart, the cleaner fills what threads were filling, and has it alone for so long: with others filling it
    /// too, the spare segment might not do.
    fn lend_head(&self, cleaner: &Cleaner) {
        if let ([only], false) = (&*self.heads, self.keeps_survivors_apart()) {
            let mut own = cleaner.head.lock();
            if own.is_none() {
                *own = only.0.lock().take();
            }
        }
    }

    /// Gives threads back what [`lend_head`](Self::lend_head) took, unless they have begun another one.
    fn return_head(&self, cleaner: &Cleaner) {
        if let ([only], false) = (&*self.heads, self.keeps_survivors_apart()) {
            let mut head = only.0.lock();
            if head.is_none() {
                *head = cleaner.head.lock().take();
            }
        }
    }
}
