//! Which segments are free, which are full, and which belong to the system? All are counted as resident or not.
//!
//! Address space comes in chunks of 2 MiB. A segment of it is counted in the budget when it is handed out for the first time, because then its
//! pages are touched; with huge pages the first touch takes the whole chunk, so then the chunk is counted. Free segments stay
//! counted until they are given back to the system.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use parking_lot::Mutex;

use super::NoRoom;
use super::map::Mapping;
use super::segment::Segment;
use crate::memory::budget::Budget;

/// Address space that is asked of the kernel at once, and the size of a huge page.
const CHUNK: usize = 2 * 1024 * 1024;

pub(super) struct Pool {
    segment_bytes: usize,
    is_huge: bool,
    inner: Mutex<Inner>,
    /// As in `inner`, to be looked at without the lock.
    free: AtomicUsize,
    counted: AtomicUsize,
    /// Bytes that sealed segments have left empty at their ends.
    waste: AtomicUsize,
}

#[derive(Default)]
struct Inner {
    /// Never shortened: unmapped when the heap is dropped.
    chunks: Vec<Mapping>,
    /// Not resident and not counted.
    untouched: Vec<Segment>,
    /// Counted.
    free: Vec<Segment>,
    sealed: Vec<Segment>,
    /// The sealed ones in the order in which they were, and others that are so no more: see `ticket`.
    order: [VecDeque<(Segment, u32)>; 2],
    /// How many of the sealed ones stand in each.
    standing: [usize; 2],
    tickets: u32,
}

/// Where a sealed segment stands until it is emptied, if that is done in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::memory) enum Queue {
    /// Written by those who store entries.
    Young,
    /// Written by the cleaner, where survivors are kept apart.
    Old,
}

impl Queue {
    /// The lowest bit of a ticket says which queue it is for.
    fn of(ticket: u32) -> Self {
        if ticket & 1 == 0 { Self::Young } else { Self::Old }
    }
}

/// Young segments come first as long as they are more than one in this many: the small queue of S3-FIFO.
const YOUNG_SHARE: usize = 10;

/// Which of some sealed segments is emptied: the one with the least in it. More of them to choose from gain little.
const CANDIDATES: usize = 32;

impl Inner {
    fn line_up(&mut self, segment: Segment, queue: Queue) {
        self.tickets = self.tickets.wrapping_add(2);
        let ticket = self.tickets & !1 | queue as u32;
        segment.set_ticket(ticket);
        self.standing[queue as usize] += 1;
        let order = &mut self.order[queue as usize];
        // Those that were emptied out of turn are dropped now and then, or they would pile up.
        if order.len() > 2 * self.sealed.len() + 64 {
            order.retain(|(segment, ticket)| segment.place().is_some() && segment.ticket() == *ticket);
        }
        order.push_back((segment, ticket));
    }
}

impl Pool {
    pub(super) fn new(segment_bytes: usize, is_huge: bool) -> Self {
        debug_assert!(segment_bytes.is_power_of_two() && CHUNK.is_multiple_of(segment_bytes));
        Self {
            segment_bytes,
            is_huge,
            inner: Mutex::default(),
            free: AtomicUsize::new(0),
            counted: AtomicUsize::new(0),
            waste: AtomicUsize::new(0),
        }
    }

    pub(super) fn segment_bytes(&self) -> usize {
        self.segment_bytes
    }

    /// Segments that are counted as resident.
    pub(super) fn counted(&self) -> usize {
        self.counted.load(Relaxed)
    }

    pub(super) fn free(&self) -> usize {
        self.free.load(Relaxed)
    }

    pub(super) fn waste(&self) -> usize {
        self.waste.load(Relaxed)
    }

    /// What a caller that found no segment has to find room for in the budget.
    pub(super) fn increment(&self) -> u64 {
        (if self.is_huge { CHUNK } else { self.segment_bytes }) as u64
    }

    /// An empty segment, for the caller alone.
    pub(super) fn take(&self, budget: &Budget) -> Result<Segment, NoRoom> {
        let mut inner = self.inner.lock();
        if inner.free.is_empty() {
            self.count_more(&mut inner, budget)?;
        }
        let segment = inner.free.pop().ok_or(NoRoom::System)?;
        self.free.store(inner.free.len(), Relaxed);
        drop(inner);
        segment.reset();
        Ok(segment)
    }

    /// Makes untouched segments free ones, as far as the budget has room.
    fn count_more(&self, inner: &mut Inner, budget: &Budget) -> Result<(), NoRoom> {
        if !budget.try_reserve(self.increment()) {
            return Err(NoRoom::Segment);
        }
        if inner.untouched.is_empty() {
            let Some(chunk) = Mapping::new(CHUNK, CHUNK, self.is_huge) else {
                budget.release(self.increment());
                return Err(NoRoom::System);
            };
            let starts = (0..CHUNK).step_by(self.segment_bytes).rev();
            // SAFETY: the chunk is aligned to its size, mapped until the pool is dropped, and nobody else knows it yet.
            inner.untouched.extend(starts.map(|offset| unsafe { Segment::at(chunk.start().add(offset)) }));
            inner.chunks.push(chunk);
        }
        // Chunks are taken and given back as a whole where they are counted as a whole.
        let more = if self.is_huge { CHUNK / self.segment_bytes } else { 1 };
        let rest = inner.untouched.len() - more;
        let taken = inner.untouched.split_off(rest);
        inner.free.extend(taken);
        self.counted.fetch_add(more, Relaxed);
        Ok(())
    }

    /// Takes back a segment that nobody fills any more, full up to `end`.
    pub(super) fn seal(&self, segment: Segment, end: usize, queue: Queue) {
        segment.set_end(end);
        let mut inner = self.inner.lock();
        if segment.live() == 0 {
            self.push_free(&mut inner, segment);
            return;
        }
        segment.set_place(Some(inner.sealed.len()));
        inner.sealed.push(segment);
        self.waste.fetch_add(self.segment_bytes - end, Relaxed);
        inner.line_up(segment, queue);
    }

    /// The last live entry of a segment is gone: frees it, unless somebody is filling or cleaning it, who will see for himself.
    pub(super) fn retire(&self, segment: Segment) {
        let mut inner = self.inner.lock();
        if let Some(place) = segment.place()
            && segment.live() == 0
        {
            self.unseal(&mut inner, place);
            self.push_free(&mut inner, segment);
        }
    }

    fn unseal(&self, inner: &mut Inner, place: usize) {
        let segment = inner.sealed.swap_remove(place);
        if let Some(moved) = inner.sealed.get(place) {
            moved.set_place(Some(place));
        }
        segment.set_place(None);
        inner.standing[Queue::of(segment.ticket()) as usize] -= 1;
        self.waste.fetch_sub(self.segment_bytes - segment.end(), Relaxed);
    }

    fn push_free(&self, inner: &mut Inner, segment: Segment) {
        inner.free.push(segment);
        self.free.store(inner.free.len(), Relaxed);
    }

    /// An empty segment that nobody needs any more.
    pub(super) fn put_free(&self, segment: Segment) {
        self.push_free(&mut self.inner.lock(), segment);
    }

    /// Hands out the sealed segment with the least in it, of some random ones, for the caller alone to empty.
    pub(super) fn emptiest(&self, rng: &mut fastrand::Rng) -> Option<(Segment, Queue)> {
        let mut inner = self.inner.lock();
        let count = inner.sealed.len();
        let least = |&place: &usize| inner.sealed[place].live();
        let place = if count <= 2 * CANDIDATES {
            (0..count).min_by_key(least)
        } else {
            (0..CANDIDATES).map(|_| rng.usize(..count)).min_by_key(least)
        }?;
        let victim = inner.sealed[place];
        self.unseal(&mut inner, place);
        Some((victim, Queue::of(victim.ticket())))
    }

    /// Hands out the segment that was sealed first, of the young ones where they are many, for the caller alone to empty.
    pub(super) fn oldest(&self) -> Option<(Segment, Queue)> {
        let mut inner = self.inner.lock();
        let [young, old] = inner.standing;
        let queue = if old == 0 || young * YOUNG_SHARE > young + old { Queue::Young } else { Queue::Old };
        while let Some((segment, ticket)) = inner.order[queue as usize].pop_front() {
            if let Some(place) = segment.place()
                && segment.ticket() == ticket
            {
                self.unseal(&mut inner, place);
                return Some((segment, queue));
            }
        }
        None
    }

    /// Gives free segments back to the system, all but `keep` and about `most` of them, and returns how many bytes the budget has back.
    pub(super) fn give_back(&self, budget: &Budget, keep: usize, most: usize) -> u64 {
        let mut inner = self.inner.lock();
        let mut leaving = Vec::new();
        if self.is_huge {
            inner.free.sort_unstable();
            // A chunk goes when all of it is free.
            let whole = CHUNK / self.segment_bytes;
            let mut free = std::mem::take(&mut inner.free);
            let chunk_of = |segment: &Segment| segment.start().addr().get() / CHUNK;
            for group in free.chunk_by(|a, b| chunk_of(a) == chunk_of(b)) {
                if group.len() == whole && leaving.len() + whole + keep <= free.len() && leaving.len() < most
                {
                    leaving.extend_from_slice(group);
                }
            }
            free.retain(|segment| leaving.binary_search(segment).is_err());
            inner.free = free;
        } else {
            let free = inner.free.len();
            let rest = free.min(keep).max(free.saturating_sub(most));
            leaving = inner.free.split_off(rest);
        }
        for segment in &leaving {
            // SAFETY: a free segment holds nothing that anybody refers to, and this lock keeps it from being handed out.
            unsafe { super::map::give_back(segment.start(), self.segment_bytes) };
        }
        let bytes = (leaving.len() * self.segment_bytes) as u64;
        self.counted.fetch_sub(leaving.len(), Relaxed);
        self.free.store(inner.free.len(), Relaxed);
        inner.untouched.extend(leaving);
        budget.release(bytes);
        bytes
    }

    /// Makes free what is sealed, whatever is in it, and what `open` was being filled.
    pub(super) fn clear(&self, open: impl Iterator<Item = Segment>) {
        let mut inner = self.inner.lock();
        let Inner { sealed, free, order, standing, .. } = &mut *inner;
        free.extend(open);
        for segment in sealed.drain(..) {
            segment.set_place(None);
            free.push(segment);
        }
        order.iter_mut().for_each(VecDeque::clear);
        *standing = [0, 0];
        self.waste.store(0, Relaxed);
        self.free.store(inner.free.len(), Relaxed);
    }

    /// Segments that are full or nearly so.
    pub(super) fn sealed(&self) -> usize {
        self.inner.lock().sealed.len()
    }
}
