//! What does a page of the tree look like, and how does one thread change it under the eyes of others?
//!
//! ```text
//! 0    splits: how often the upper half went elsewhere
//! 4    level: 0 holds versions, every other the pages below
//! 8    order: 4 bits for how many entries, then 13 times 4 bits: the slot of the first, the second, …; behind the last the free ones
//! 16   next page of the level, previous page
//! 24   prefix of the lowest place that may be in the page
//! 32   of each slot the prefix of its key
//! 136  of each slot where the version is, or the page below
//! 188  the version at that lowest place; none in the first page of a level
//! ```
//!
//! An insertion fills a free slot and then stores the new order: a reader has the one or the other, and needs no lock. Slots become free when the upper half of a full page goes
//! into a new one: that page is linked first, then the order is cut, then `splits` counts, and only then may a slot be filled again. So a reader who finds the same count
//! before and after has read slots that were what the order says; otherwise it reads again. It never waits for the writer.
//!
//! What a reader finds in between, it can mend by going right: whatever is missing at the end of a page is in the one that is linked behind it, and that says where it begins.

use super::arena::Arena;
use super::node::Node;
use crate::lsm::sync::point;
use crate::prefetch;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicU32, AtomicU64, fence};

/// Entries of a page.
pub(super) const SLOTS: usize = 13;

/// Pages begin at its multiples: three lines of a processor's cache.
const ALIGN: usize = 64;

#[repr(C, align(64))]
pub(super) struct Page {
    splits: AtomicU32,
    level: AtomicU32,
    order: AtomicU64,
    next: AtomicU32,
    previous: AtomicU32,
    low_prefix: AtomicU64,
    prefixes: [AtomicU64; SLOTS],
    entries: [AtomicU32; SLOTS],
    low: AtomicU32,
}

const _: () = assert!(size_of::<Page>() == 3 * ALIGN && align_of::<Page>() == ALIGN);

/// A page, as its offset in the arena in units of 64 bytes. 0 is none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct PageAt(u32);

impl PageAt {
    /// Bytes of a page, and of what may be lost before it begins.
    pub(super) const BYTES: usize = size_of::<Page>() + ALIGN;

    /// An empty page that nobody sees yet. `None` where it does not fit.
    pub(super) fn new(arena: &Arena, level: u32, low: Option<(u64, Node)>) -> Option<Self> {
        let at = Self((arena.take(size_of::<Page>(), ALIGN)? / ALIGN) as u32);
        let page = at.page(arena);
        page.level.store(level, Relaxed);
        page.order.store(Order::EMPTY.0, Relaxed);
        if let Some((prefix, node)) = low {
            page.low_prefix.store(prefix, Relaxed);
            page.low.store(node.raw(), Relaxed);
        }
        Some(at)
    }

    /// As another page keeps it.
    pub(super) fn raw(self) -> u32 {
        self.0
    }

    /// From what a page keeps: something that [`raw`](Self::raw) gave.
    pub(super) fn from_raw(raw: u32) -> Option<Self> {
        (raw != 0).then_some(Self(raw))
    }

    /// Asks for its lines of memory, all at once.
    #[inline]
    pub(super) fn prefetch(self, arena: &Arena) {
        let page = std::ptr::from_ref(self.page(arena)).cast::<u8>();
        (0..size_of::<Page>()).step_by(ALIGN).for_each(|line| prefetch::read(page.wrapping_add(line)));
    }

    #[inline]
    pub(super) fn page(self, arena: &Arena) -> &Page {
        // SAFETY: `new` gave out this many bytes at this place, aligned; they are zeros before, which atomics may be, and are only used as these atomics from then on.
        unsafe { arena.at(self.0 as usize * ALIGN).cast::<Page>().as_ref() }
    }
}

/// Which slots are in use, in the order of their keys, and the free ones behind them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Order(u64);

impl Order {
    const EMPTY: Self = {
        let (mut order, mut slot) = (0, 0);
        while slot < SLOTS {
            order |= (slot as u64) << (4 + 4 * slot);
            slot += 1;
        }
        Self(order)
    };

    #[inline]
    pub(super) fn len(self) -> usize {
        (self.0 & 0xf) as usize
    }

    /// The slot of the entry at a place, or of a free one.
    #[inline]
    pub(super) fn slot(self, place: usize) -> usize {
        (self.0 >> (4 + 4 * place) & 0xf) as usize
    }

    /// With the first free slot as the entry at a place.
    fn inserted(self, place: usize) -> Self {
        let len = self.len();
        debug_assert!(place <= len && len < SLOTS);
        let bits = |places: usize| (1_u64 << (4 * places)) - 1;
        let slots = self.0 >> 4;
        let before = slots & bits(place);
        let behind = slots & bits(len) & !bits(place);
        let free = slots & !bits(len + 1);
        let slots = before | (self.slot(len) as u64) << (4 * place) | behind << 4 | free;
        Self(slots << 4 | (len as u64 + 1))
    }

    fn cut(self, len: usize) -> Self {
        Self(self.0 & !0xf | len as u64)
    }
}

impl Page {
    pub(super) fn level(&self) -> u32 {
        self.level.load(Relaxed)
    }

    /// Hands the order to `f`, which may read slots by it, until nobody has filled one of them anew meanwhile.
    #[inline]
    pub(super) fn read<R>(&self, f: impl Fn(Order) -> R) -> R {
        loop {
            let splits = self.splits.load(Acquire);
            let found = f(self.order());
            point();
            fence(Acquire);
            if self.splits.load(Relaxed) == splits {
                return found;
            }
        }
    }

    #[inline]
    pub(super) fn order(&self) -> Order {
        point();
        Order(self.order.load(Acquire))
    }

    /// What the entry at a place leads to.
    #[inline]
    pub(super) fn entry(&self, order: Order, place: usize) -> u32 {
        point();
        self.entries[order.slot(place)].load(Acquire)
    }

    /// How many entries stand before a place whose prefix is `wanted`; where prefixes are equal, `stands_before` says so of an entry.
    #[inline]
    pub(super) fn rank(&self, order: Order, wanted: u64, stands_before: impl Fn(u32) -> bool) -> usize {
        let (mut low, mut high) = (0, 0);
        for place in 0..order.len() {
            let prefix = self.prefixes[order.slot(place)].load(Relaxed);
            low += usize::from(prefix < wanted);
            high += usize::from(prefix <= wanted);
        }
        while low < high {
            let middle = low + (high - low) / 2;
            if stands_before(self.entry(order, middle)) { low = middle + 1 } else { high = middle }
        }
        low
    }

    pub(super) fn next(&self) -> Option<PageAt> {
        point();
        PageAt::from_raw(self.next.load(Acquire))
    }

    pub(super) fn previous(&self) -> Option<PageAt> {
        PageAt::from_raw(self.previous.load(Acquire))
    }

    pub(super) fn low_prefix(&self) -> u64 {
        self.low_prefix.load(Relaxed)
    }

    /// The lowest version that may be in it; none, where there is no bound.
    pub(super) fn low(&self) -> Option<Node> {
        Node::from_raw(self.low.load(Relaxed))
    }

    /// Puts an entry at a place; there is a free slot. Only for the thread that writes.
    pub(super) fn insert(&self, place: usize, prefix: u64, entry: u32) {
        let order = self.order();
        let slot = order.slot(order.len());
        self.prefixes[slot].store(prefix, Release);
        point();
        self.entries[slot].store(entry, Release);
        point();
        self.order.store(order.inserted(place).0, Release);
        point();
    }

    /// Fills an empty page, which nobody sees yet, with what another has from a place on.
    pub(super) fn fill(&self, other: &Self, from: usize) {
        let order = other.order();
        for place in from..order.len() {
            let prefix = other.prefixes[order.slot(place)].load(Relaxed);
            self.insert(place - from, prefix, other.entry(order, place));
        }
    }

    /// The prefix and the way of the entry at a place. Only for the thread that writes.
    pub(super) fn at(&self, place: usize) -> (u64, u32) {
        let order = self.order();
        (self.prefixes[order.slot(place)].load(Relaxed), self.entry(order, place))
    }

    /// Lets a page follow, `this` being where this one is, and forgets the entries from a place on: they are in the new one. Only for the thread that writes.
    pub(super) fn hand_over(&self, this: PageAt, new: PageAt, from: usize, arena: &Arena) {
        let page = new.page(arena);
        page.previous.store(this.raw(), Relaxed);
        page.next.store(self.next.load(Relaxed), Relaxed);
        let after = self.next();
        self.next.store(new.raw(), Release);
        point();
        if let Some(after) = after {
            after.page(arena).previous.store(new.raw(), Release);
        }
        self.order.store(self.order().cut(from).0, Release);
        point();
        self.splits.store(self.splits.load(Relaxed).wrapping_add(1), Relaxed);
        // Who sees a slot that is filled after this sees the count as well.
        fence(Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn an_order_is_what_a_list_would_be(places in prop::collection::vec(any::<prop::sample::Index>(), 0..60)) {
            let mut order = Order::EMPTY;
            let mut list: Vec<usize> = Vec::new();
            for at in places {
                if list.len() == SLOTS {
                    order = order.cut(6);
                    list.truncate(6);
                }
                let place = at.index(list.len() + 1);
                list.insert(place, order.slot(order.len()));
                order = order.inserted(place);
                let found: Vec<_> = (0..order.len()).map(|place| order.slot(place)).collect();
                prop_assert_eq!(&found, &list);
                let mut all: Vec<_> = (0..SLOTS).map(|place| order.slot(place)).collect();
                all.sort_unstable();
                prop_assert!(all.into_iter().eq(0..SLOTS));
            }
        }
    }
}
