//! What is a segment? An aligned piece of memory that is filled from its start to its end, entry behind entry.
//!
//! ```text
//! 0               32                                   end          SEGMENT
//! | live, place … | entry | entry | entry | …          | left empty |
//! ```
//!
//! An entry is freed by subtracting its length from `live`; its bytes stay what they are until the whole segment is used again. So an entry
//! costs what it is long, rounded to 8, whatever its neighbours are, and a segment without live entries is free at once.

use std::ptr::NonNull;
use std::sync::atomic::{
    AtomicPtr, AtomicU32,
    Ordering::{AcqRel, Acquire, Relaxed, Release},
};

use super::pool::Queue;
use crate::memory::entry::Entry;

/// What stands at the start of every segment.
#[repr(C, align(16))]
struct Header {
    /// Bytes of entries that are not dead.
    live: AtomicU32,
    /// Where the last entry ends, from the segment's start; means something once the segment is sealed.
    end: AtomicU32,
    /// Where it stands in the pool's list of sealed segments, counted from 1, and in the highest bit, in which line; 0 while it is filled or
    /// cleaned and in memory that was given back. Means nothing in a free segment. Guarded by the pool's lock, as are those that follow.
    place: AtomicU32,
    _unused: u32,
    /// Who stands before and behind it in its line.
    before: AtomicPtr<u8>,
    after: AtomicPtr<u8>,
}

/// In `place`: stands in the line of the old ones.
const OLD: u32 = 1 << 31;

/// Bytes of a segment that hold no entries.
pub(super) const HEADER: usize = size_of::<Header>();

/// A segment by its address. The heap never unmaps one that holds a live entry or that somebody fills or cleans.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Segment(NonNull<u8>);

// SAFETY: an address; the header is atomics only, and entries are guarded as `entry.rs` says.
unsafe impl Send for Segment {}
// SAFETY: as above.
unsafe impl Sync for Segment {}

impl Segment {
    /// # Safety
    /// `start` is a multiple of the size of segments, which belong to this heap, mapped and writable.
    pub(super) unsafe fn at(start: NonNull<u8>) -> Self {
        Self(start)
    }

    /// The segment in which an entry lies.
    ///
    /// # Safety
    /// The entry lies in a segment of `bytes` bytes, a power of two.
    pub(super) unsafe fn of(entry: Entry, bytes: usize) -> Self {
        let start = entry.address();
        // SAFETY: segments are aligned to their size, so the lower bits are the offset, and what is left is not zero.
        Self(unsafe { start.byte_sub(start.addr().get() & (bytes - 1)) })
    }

    pub(super) fn start(self) -> NonNull<u8> {
        self.0
    }

    fn header<'a>(self) -> &'a Header {
        // SAFETY: segments are mapped for as long as they are known; zeroed memory is a header of zeros.
        unsafe { self.0.cast::<Header>().as_ref() }
    }

    /// Makes it empty. The caller has it to itself.
    pub(super) fn reset(self) {
        let header = self.header();
        header.live.store(0, Relaxed);
        header.end.store(0, Relaxed);
        header.place.store(0, Relaxed);
    }

    pub(super) fn live(self) -> u32 {
        self.header().live.load(Acquire)
    }

    pub(super) fn add_live(self, bytes: usize) {
        self.header().live.fetch_add(bytes as u32, Relaxed);
    }

    /// What is left after these. Whoever sees 0 sees all that was done with the entries before.
    pub(super) fn sub_live(self, bytes: usize) -> u32 {
        self.header().live.fetch_sub(bytes as u32, AcqRel) - bytes as u32
    }

    pub(super) fn end(self) -> usize {
        self.header().end.load(Acquire) as usize
    }

    /// Says that nothing more will be added. What was written before is seen by whoever sees this.
    pub(super) fn set_end(self, end: usize) {
        self.header().end.store(end as u32, Release);
    }

    /// Where it stands in the list of sealed segments, if it does, and in which line.
    pub(super) fn place(self) -> Option<(usize, Queue)> {
        let place = self.header().place.load(Relaxed);
        let queue = if place & OLD == 0 { Queue::Young } else { Queue::Old };
        Some(((place & !OLD).checked_sub(1)? as usize, queue))
    }

    pub(super) fn set_place(self, place: Option<(usize, Queue)>) {
        let bit = |queue| if queue == Queue::Old { OLD } else { 0 };
        let place = place.map_or(0, |(place, queue)| (place as u32 + 1) | bit(queue));
        self.header().place.store(place, Relaxed);
    }

    /// Who stands before and behind it in its line.
    pub(super) fn neighbours(self) -> (Option<Self>, Option<Self>) {
        let at = |link: &AtomicPtr<u8>| NonNull::new(link.load(Relaxed)).map(Self);
        (at(&self.header().before), at(&self.header().after))
    }

    pub(super) fn set_neighbours(self, before: Option<Self>, after: Option<Self>) {
        let link = |segment: Option<Self>| segment.map_or(std::ptr::null_mut(), |segment| segment.0.as_ptr());
        self.header().before.store(link(before), Relaxed);
        self.header().after.store(link(after), Relaxed);
    }

    /// The entries, dead ones included, in the order in which they were written.
    ///
    /// # Safety
    /// The segment is sealed, and is kept from being used again until the walk is over.
    pub(super) unsafe fn walk(self) -> impl Iterator<Item = Entry> {
        let mut offset = HEADER;
        let end = self.end();
        std::iter::from_fn(move || {
            if offset >= end {
                return None;
            }
            // SAFETY: entries lie without gaps from the header to the end, and no entry changes its length.
            let entry = unsafe { Entry::at(self.0.add(offset)) };
            // SAFETY: as above.
            offset += unsafe { entry.shape() }.len();
            Some(entry)
        })
    }
}
