//! Which segments are free, which are full, and which belong to the system? All are counted as resident or not.
//!
//! Address space comes in chunks of 32 MiB. A segment of it is counted in the budget when it is handed out for the first time, because then its
//! pages are touched. Free segments stay counted until they are given back to the system.
//!
//! Huge pages are not asked for. A read was 5 to 10 % faster with them (random keys of 1M and 10M), but the kernel fills one with zeros while a
//! write waits: 0.2 ms, and 4 to 20 ms on a virtual machine whose host has to find the memory first.

use std::collections::HashMap;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use parking_lot::Mutex;

use super::NoRoom;
use super::line::Line;
use super::map::Mapping;
use super::segment::Segment;
use crate::memory::budget::Budget;

/// Address space that is asked of the kernel at once.
const CHUNK: usize = 32 * 1024 * 1024;

pub(super) struct Pool {
    segment_bytes: usize,
    inner: Mutex<Inner>,
    /// As in `inner`, to be looked at without the lock.
    free: AtomicUsize,
    counted: AtomicUsize,
    /// Bytes that sealed segments have left empty at their ends.
    waste: AtomicUsize,
}

#[derive(Default)]
struct Inner {
    /// By their address in chunks. Never fewer: unmapped when the heap is dropped.
    chunks: HashMap<usize, Mapping>,
    /// Not resident and not counted.
    untouched: Vec<Segment>,
    /// Counted.
    free: Vec<Segment>,
    sealed: Vec<Segment>,
    /// The sealed ones in the order in which they were.
    lines: [Line; 2],
}

/// Where a sealed segment stands until it is emptied, if that is done in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::memory) enum Queue {
    /// Written by those who store entries.
    Young,
    /// Written by the cleaner, where survivors are kept apart.
    Old,
}

/// Young segments come first as long as they are more than one in this many: the small queue of S3-FIFO.
const YOUNG_SHARE: usize = 10;

/// Which of some sealed segments is emptied: the one with the least in it. More of them to choose from gain little.
const CANDIDATES: usize = 32;

impl Pool {
    pub(super) fn new(segment_bytes: usize) -> Self {
        debug_assert!(segment_bytes.is_power_of_two() && CHUNK.is_multiple_of(segment_bytes));
        Self {
            segment_bytes,
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

    /// An empty segment, for the caller alone.
    pub(super) fn take(&self, budget: &Budget) -> Result<Segment, NoRoom> {
        let mut inner = self.inner.lock();
        let segment = match inner.free.pop() {
            Some(segment) => segment,
            None => self.count_one_more(&mut inner, budget)?,
        };
        self.free.store(inner.free.len(), Relaxed);
        drop(inner);
        segment.reset();
        Ok(segment)
    }

    /// A segment that was not counted, if the budget has room for it.
    fn count_one_more(&self, inner: &mut Inner, budget: &Budget) -> Result<Segment, NoRoom> {
        let bytes = self.segment_bytes as u64;
        if !budget.try_reserve(bytes) {
            return Err(NoRoom::Segment);
        }
        if inner.untouched.is_empty() {
            let Some(chunk) = Mapping::new(CHUNK, CHUNK) else {
                budget.release(bytes);
                return Err(NoRoom::System);
            };
            let starts = (0..CHUNK).step_by(self.segment_bytes).rev();
            // SAFETY: the chunk is aligned to its size, mapped until the pool is dropped, and nobody else knows it yet.
            inner.untouched.extend(starts.map(|offset| unsafe { Segment::at(chunk.start().add(offset)) }));
            inner.chunks.insert(chunk.start().addr().get() / CHUNK, chunk);
        }
        let segment = inner.untouched.pop().ok_or(NoRoom::System)?;
        self.counted.fetch_add(1, Relaxed);
        Ok(segment)
    }

    /// Takes back a segment that nobody fills any more, full up to `end`.
    pub(super) fn seal(&self, segment: Segment, end: usize, queue: Queue) {
        segment.set_end(end);
        let mut inner = self.inner.lock();
        if segment.live() == 0 {
            self.push_free(&mut inner, segment);
            return;
        }
        segment.set_place(Some((inner.sealed.len(), queue)));
        inner.sealed.push(segment);
        self.waste.fetch_add(self.segment_bytes - end, Relaxed);
        inner.lines[queue as usize].push_back(segment);
    }

    /// The last live entry of a segment is gone: frees it, unless somebody is filling or cleaning it, who will see for himself.
    pub(super) fn retire(&self, segment: Segment) {
        let mut inner = self.inner.lock();
        if segment.place().is_some() && segment.live() == 0 {
            self.unseal(&mut inner, segment);
            self.push_free(&mut inner, segment);
        }
    }

    /// Takes a sealed segment out of the list and its line, and says which line that was.
    fn unseal(&self, inner: &mut Inner, segment: Segment) -> Option<Queue> {
        let (place, queue) = segment.place()?;
        inner.sealed.swap_remove(place);
        if let Some(moved) = inner.sealed.get(place)
            && let Some((_, its)) = moved.place()
        {
            moved.set_place(Some((place, its)));
        }
        segment.set_place(None);
        inner.lines[queue as usize].remove(segment);
        self.waste.fetch_sub(self.segment_bytes - segment.end(), Relaxed);
        Some(queue)
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
        let queue = self.unseal(&mut inner, victim)?;
        Some((victim, queue))
    }

    /// Hands out the segment that was sealed first, of the young ones where they are many, for the caller alone to empty.
    pub(super) fn oldest(&self) -> Option<(Segment, Queue)> {
        let mut inner = self.inner.lock();
        let [young, old] = [inner.lines[0].len(), inner.lines[1].len()];
        let queue = if old == 0 || young * YOUNG_SHARE > young + old { Queue::Young } else { Queue::Old };
        let victim = inner.lines[queue as usize].first()?;
        self.unseal(&mut inner, victim)?;
        Some((victim, queue))
    }

    /// Gives free segments back to the system, all but `keep` and at most `most` of them, and returns how many bytes the budget has back.
    pub(super) fn give_back(&self, budget: &Budget, keep: usize, most: usize) -> u64 {
        let leaving = {
            let mut inner = self.inner.lock();
            let free = inner.free.len();
            let leaving = inner.free.split_off(free.min(keep).max(free.saturating_sub(most)));
            self.free.store(inner.free.len(), Relaxed);
            leaving
        };
        if leaving.is_empty() {
            return 0;
        }
        // Without the lock, so that nobody who needs a segment waits for the kernel.
        for segment in &leaving {
            // SAFETY: nobody refers to what is in a free segment, and this call has taken it out of the list.
            unsafe { super::map::give_back(segment.start(), self.segment_bytes) };
        }
        let bytes = (leaving.len() * self.segment_bytes) as u64;
        self.counted.fetch_sub(leaving.len(), Relaxed);
        self.inner.lock().untouched.extend(leaving);
        budget.release(bytes);
        bytes
    }

    /// Makes free what is sealed, whatever is in it, and what `open` was being filled.
    pub(super) fn clear(&self, open: impl Iterator<Item = Segment>) {
        let mut inner = self.inner.lock();
        let Inner { sealed, free, lines, .. } = &mut *inner;
        // Their headers are not touched: they mean nothing until a segment is handed out again.
        free.append(sealed);
        free.extend(open);
        *lines = Default::default();
        self.waste.store(0, Relaxed);
        self.free.store(inner.free.len(), Relaxed);
    }

    /// Whether the address lies in a segment, of whatever state.
    pub(super) fn holds(&self, address: NonNull<u8>) -> bool {
        self.inner.lock().chunks.contains_key(&(address.addr().get() / CHUNK))
    }

    /// Segments that are full or nearly so.
    pub(super) fn sealed(&self) -> usize {
        self.inner.lock().sealed.len()
    }
}
