//! How is a version found among those in memory? By a B-link tree: pages of sorted places, each of which knows its neighbour to the right. (P. Lehman and S. Yao, "Efficient
//! locking for concurrent operations on B-trees", TODS 6(4), 1981.)
//!
//! Of each key a page has eight bytes, those behind what most keys begin with, so a search looks at a version only where these do not decide. A skip list of the same
//! versions follows a dozen links through as many lines of memory; this one goes through three or four pages that are not in the processor's cache anyway.
//!
//! One thread at a time inserts, and is what [`Inserter`] stands for; readers take no lock and never wait (`page.rs` says how). Whoever comes to a page too early, before the upper half of
//! it was given a way from above, finds it by going right.

use super::arena::Arena;
use super::node::Node;
use super::page::{Page, PageAt, SLOTS};
use super::recycler::Recycler;
use crate::lsm::common::Common;
use crate::lsm::record::{Record, Stamp, is_before};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

/// A tree of pages at least half full that is higher does not fit into an arena.
const MAX_LEVELS: usize = 14;

/// What a version counts for pages: about what it takes where keys come in random order. It can be half as much again where all pages are half full.
const PAGE_SHARE: usize = 32;

/// So many steps before a cursor comes to a version, it is asked for.
const AHEAD: usize = 4;

/// How far right a new page of level 0 begins in one that is full.
const HALF: usize = SLOTS / 2;

pub(super) struct Tree {
    arena: Arena,
    /// Bytes that versions may take, each with its share of the pages.
    capacity: usize,
    /// Bytes that they have taken.
    counted: AtomicUsize,
    /// What most keys begin with, as far as that was known beforehand.
    common: Common,
    root: AtomicU32,
    /// The page of the lowest versions.
    first: PageAt,
}

/// Where the last insertion was.
pub(crate) struct Inserter {
    /// On each level, from 0 on, the page, and the place behind the entry that was taken.
    path: [(PageAt, usize); MAX_LEVELS],
}

/// A version, and where it was found.
#[derive(Clone, Copy)]
pub(super) struct Place {
    page: PageAt,
    at: usize,
    node: Node,
}

/// What is looked for.
#[derive(Clone, Copy)]
struct Wanted<'a> {
    key: &'a [u8],
    stamp: Stamp,
    prefix: u64,
}

/// Where a search through a page leads.
enum Way {
    /// To the page behind it.
    Right(PageAt),
    /// To a page below, by the entry before this place.
    Down(PageAt, usize),
    /// To this place in it.
    Here(usize),
}

impl Tree {
    /// An empty tree with room for so many bytes, and the right to insert. `None` where there is no memory.
    pub(super) fn new(
        capacity: usize,
        common: Common,
        recycler: Option<&Arc<Recycler>>,
    ) -> Option<(Self, Inserter)> {
        // Addresses only, and enough for all pages that versions of any size can need: each page but the last of its level has six entries at least.
        let addresses = capacity.checked_mul(3)?.checked_add(2 * MAX_LEVELS * PageAt::BYTES)?;
        let arena = Arena::new(addresses, recycler)?;
        let first = PageAt::new(&arena, 0, None)?;
        let root = AtomicU32::new(first.raw());
        let inserter = Inserter { path: [(first, 0); MAX_LEVELS] };
        Some((Self { arena, capacity, counted: AtomicUsize::new(0), common, root, first }, inserter))
    }

    pub(super) fn used(&self) -> usize {
        self.arena.used()
    }

    /// Bytes that it has room for.
    pub(super) fn capacity(&self) -> usize {
        self.capacity
    }

    /// Bytes that a version takes at most, with its share of the pages.
    pub(super) fn bytes(key: usize, value: usize) -> usize {
        Node::bytes(key, value) + PAGE_SHARE
    }

    /// Whether a version of these lengths is sure to fit.
    pub(super) fn fits(&self, key: usize, value: usize) -> bool {
        Self::bytes(key, value) <= self.capacity - self.counted.load(Ordering::Relaxed)
    }

    /// Adds a version; false, and nothing is changed, where it does not fit. No two versions of a key have one stamp.
    pub(super) fn insert(&self, inserter: &mut Inserter, record: &Record) -> bool {
        let (key, value) = (record.key.len(), record.value.len());
        let fits = self.fits(key, value);
        let Some(node) = fits.then(|| Node::write(&self.arena, record)).flatten() else { return false };
        self.counted.fetch_add(Self::bytes(key, value), Ordering::Relaxed);
        let wanted = self.wanted(record.key, record.stamp);
        let (page, at) = inserter.path[0];
        if self.is_next(page, at, wanted) {
            inserter.path[0].1 = at;
        } else {
            self.find_path(&mut inserter.path, wanted);
        }
        self.put(&mut inserter.path, wanted.prefix, node)
    }

    /// Whether this is behind all versions, of which the last one is before this place of this page.
    fn is_next(&self, page: PageAt, at: usize, wanted: Wanted) -> bool {
        let page = page.page(&self.arena);
        let order = page.order();
        at > 0
            && at == order.len()
            && page.next().is_none()
            && Node::from_raw(page.entry(order, at - 1)).is_some_and(|last| self.is_node_before(last, wanted))
    }

    fn find_path(&self, path: &mut [(PageAt, usize); MAX_LEVELS], wanted: Wanted) {
        let mut at = self.root();
        loop {
            let page = at.page(&self.arena);
            let level = page.level() as usize;
            match self.way(page, wanted) {
                Way::Right(right) => at = right,
                Way::Down(below, place) => {
                    path[level] = (at, place);
                    at = below;
                }
                Way::Here(place) => {
                    path[0] = (at, place);
                    return;
                }
            }
        }
    }

    /// Puts a version where a path leads, and a page for each that is full on the way up.
    fn put(&self, path: &mut [(PageAt, usize); MAX_LEVELS], prefix: u64, node: Node) -> bool {
        let (mut prefix, mut entry, mut low) = (prefix, node.raw(), node);
        for level in 0..MAX_LEVELS {
            let (at, place) = path[level];
            let page = at.page(&self.arena);
            if page.order().len() < SLOTS {
                page.insert(place, prefix, entry);
                path[level].1 = place + 1;
                return true;
            }
            // What rises leaves full pages behind.
            let is_last = place == SLOTS && page.next().is_none();
            let from = if is_last { SLOTS } else { HALF };
            let new_low = if is_last { (prefix, low) } else { self.low_of(page, level, from) };
            // The arena has addresses for all pages that versions can need.
            let Some(new_at) = PageAt::new(&self.arena, level as u32, Some(new_low)) else { return false };
            let new = new_at.page(&self.arena);
            new.fill(page, from);
            if place > from || is_last {
                new.insert(place - from, prefix, entry);
                path[level] = (new_at, place - from + 1);
                page.hand_over(at, new_at, from, &self.arena);
            } else {
                page.hand_over(at, new_at, from, &self.arena);
                page.insert(place, prefix, entry);
                path[level].1 = place + 1;
            }
            (prefix, entry, low) = (new_low.0, new_at.raw(), new_low.1);
            if at == self.root() {
                let Some(root_at) = PageAt::new(&self.arena, level as u32 + 1, None) else { return false };
                let root = root_at.page(&self.arena);
                root.insert(0, 0, at.raw());
                root.insert(1, prefix, entry);
                let is_right = path[level].0 == new_at;
                path[level + 1] = (root_at, 1 + usize::from(is_right));
                self.root.store(root_at.raw(), Ordering::Release);
                return true;
            }
        }
        false
    }

    /// The lowest version that may be in a page which begins at this entry of another one.
    fn low_of(&self, page: &Page, level: usize, place: usize) -> (u64, Node) {
        let (prefix, entry) = page.at(place);
        let low = match level {
            0 => Node::from_raw(entry),
            _ => PageAt::from_raw(entry).and_then(|below| below.page(&self.arena).low()),
        };
        // Only the first page of a level has no lowest version, and it is the first entry above.
        (prefix, low.unwrap_or_else(|| unreachable!("an entry that is not the first leads somewhere")))
    }

    /// What its keys begin with, for a tree of keys like these.
    pub(super) fn common(&self) -> Common {
        let key = |node: Node| node.record(&self.arena).key;
        let (Some(first), Some(last)) = (self.first(), self.last()) else { return Common::default() };
        // A few hundred pages, at most some thousand: the level three below the root.
        let mut at = self.root();
        let level = at.page(&self.arena).level().saturating_sub(3);
        while at.page(&self.arena).level() > level {
            let page = at.page(&self.arena);
            let Some(below) = page.read(|order| PageAt::from_raw(page.entry(order, 0))) else { break };
            at = below;
        }
        let pages = std::iter::successors(Some(at), |at| at.page(&self.arena).next());
        let between: Vec<_> = pages.filter_map(|at| at.page(&self.arena).low()).map(key).collect();
        Common::of(key(first.node), key(last.node), &between)
    }

    fn root(&self) -> PageAt {
        PageAt::from_raw(self.root.load(Ordering::Acquire)).unwrap_or(self.first)
    }

    #[inline]
    fn wanted<'a>(&self, key: &'a [u8], stamp: Stamp) -> Wanted<'a> {
        Wanted { key, stamp, prefix: self.common.prefix(key) }
    }

    fn is_node_before(&self, node: Node, wanted: Wanted) -> bool {
        let record = node.record(&self.arena);
        is_before(record.key, record.stamp, wanted.key, wanted.stamp)
    }

    /// Whether a page begins at or before what is wanted.
    fn begins_before(&self, page: &Page, wanted: Wanted) -> bool {
        let Some(low) = page.low() else { return true };
        match page.low_prefix().cmp(&wanted.prefix) {
            std::cmp::Ordering::Less => true,
            std::cmp::Ordering::Greater => false,
            std::cmp::Ordering::Equal => {
                let low = low.record(&self.arena);
                !is_before(wanted.key, wanted.stamp, low.key, low.stamp)
            }
        }
    }

    #[inline]
    fn way(&self, page: &Page, wanted: Wanted) -> Way {
        let is_lowest = page.level() == 0;
        page.read(|order| {
            let place = page.rank(order, wanted.prefix, |entry| match (is_lowest, entry) {
                (true, entry) => Node::from_raw(entry).is_some_and(|node| self.is_node_before(node, wanted)),
                (false, entry) => PageAt::from_raw(entry)
                    .is_some_and(|below| self.begins_before(below.page(&self.arena), wanted)),
            });
            if place == order.len()
                && let Some(right) = page.next()
                && self.begins_before(right.page(&self.arena), wanted)
            {
                return Way::Right(right);
            }
            if is_lowest {
                return Way::Here(place);
            }
            // The first page of a level has no lower bound, whatever its prefix says.
            let place = place.max(1);
            let below = PageAt::from_raw(page.entry(order, place - 1));
            below.map_or(Way::Here(0), |below| {
                below.prefetch(&self.arena);
                Way::Down(below, place)
            })
        })
    }

    /// The page of level 0 where something belongs, and the place in it.
    #[inline]
    fn find(&self, wanted: Wanted) -> (PageAt, usize) {
        let mut at = self.root();
        loop {
            match self.way(at.page(&self.arena), wanted) {
                Way::Right(page) | Way::Down(page, _) => at = page,
                Way::Here(place) => return (at, place),
            }
        }
    }

    /// The version at a place, or the first of the page behind.
    fn at(&self, mut page: PageAt, mut at: usize) -> Option<Place> {
        loop {
            let here = page.page(&self.arena);
            let found = here.read(|order| (at < order.len()).then(|| here.entry(order, at)));
            match found {
                Some(entry) => return Node::from_raw(entry).map(|node| Place { page, at, node }),
                None => (page, at) = (here.next()?, 0),
            }
        }
    }

    /// Whether nothing was inserted yet.
    #[inline]
    fn is_empty(&self) -> bool {
        self.root().page(&self.arena).order().len() == 0
    }

    /// The first version that does not stand before `(key, stamp)`.
    pub(super) fn at_or_after(&self, key: &[u8], stamp: Stamp) -> Option<Place> {
        // As it is after a compaction, and until the first write of a store that is only read.
        if self.is_empty() {
            return None;
        }
        let wanted = self.wanted(key, stamp);
        loop {
            let (page, at) = self.find(wanted);
            let found = self.at(page, at)?;
            // A version may have come before it since the place was found, or gone to another page.
            if !self.is_node_before(found.node, wanted) {
                return Some(found);
            }
        }
    }

    /// The last version before `(key, stamp)`.
    ///
    /// A page is read twice on the way, once to find the place and once for the entry before it. A
    /// version that is inserted in between shifts the entries, and a split moves them: what is read
    /// then may be any earlier version. It is a valid start all the same, because no version is ever
    /// removed. From there the walk goes forward (see [`after`](Self::after)) while the next version
    /// is still before what is wanted, so nothing that was in the tree when the call began is passed.
    pub(super) fn before(&self, key: &[u8], stamp: Stamp) -> Option<Place> {
        let wanted = self.wanted(key, stamp);
        loop {
            let (page, at) = self.find(wanted);
            let here = page.page(&self.arena);
            let found = match at.checked_sub(1) {
                Some(at) => here
                    .read(|order| (at < order.len()).then(|| here.entry(order, at)))
                    .and_then(Node::from_raw)
                    .map(|node| Place { page, at, node }),
                None => Some(self.last_before(page)?),
            };
            if let Some(found) = found
                && self.is_node_before(found.node, wanted)
            {
                return Some(self.advance(found, |next| self.is_node_before(next, wanted)));
            }
        }
    }

    /// The last version from a place on up to which `belongs` holds of each.
    fn advance(&self, mut found: Place, belongs: impl Fn(Node) -> bool) -> Place {
        while let Some(next) = self.after(found)
            && belongs(next.node)
        {
            found = next;
        }
        found
    }

    /// The last version of the page before.
    fn last_before(&self, page: PageAt) -> Option<Place> {
        // One that was split since has another one behind it that comes before ours.
        let mut before = page.page(&self.arena).previous()?;
        while let Some(next) = before.page(&self.arena).next()
            && next != page
        {
            before = next;
        }
        self.last_of(before)
    }

    fn last_of(&self, page: PageAt) -> Option<Place> {
        let here = page.page(&self.arena);
        here.read(|order| {
            let at = order.len().checked_sub(1)?;
            Node::from_raw(here.entry(order, at)).map(|node| Place { page, at, node })
        })
    }

    pub(super) fn first(&self) -> Option<Place> {
        self.at(self.first, 0)
    }

    pub(super) fn last(&self) -> Option<Place> {
        let mut at = self.root();
        loop {
            let page = at.page(&self.arena);
            if let Some(next) = page.next() {
                at = next;
                continue;
            }
            if page.level() == 0 {
                // A split since the link was read leaves the middle of the page here.
                return self.last_of(at).map(|found| self.advance(found, |_| true));
            }
            let below = page.read(|order| page.entry(order, order.len().saturating_sub(1)));
            at = PageAt::from_raw(below)?;
        }
    }

    /// The version behind one that was found.
    #[inline]
    pub(super) fn after(&self, place: Place) -> Option<Place> {
        let here = place.page.page(&self.arena);
        let next = here.read(|order| {
            let is_there = place.at < order.len() && here.entry(order, place.at) == place.node.raw();
            is_there.then(|| {
                let at = place.at + 1;
                // Versions lie in the order in which they came: each of them is a wait for memory, so they are asked for some steps before.
                if at + AHEAD < order.len() {
                    self.prefetch(here.entry(order, at + AHEAD));
                }
                (at < order.len()).then(|| here.entry(order, at))
            })
        });
        if let Some(Some(entry)) = next {
            return Node::from_raw(entry).map(|node| Place { at: place.at + 1, node, ..place });
        }
        let this = self.record(place);
        let wanted = self.wanted(this.key, this.stamp);
        if next.is_some() {
            // At the end of its page: what comes first behind it, unless the page was split meanwhile.
            let behind = self.at(here.next()?, 0)?;
            let found = self.record(behind);
            if is_before(this.key, this.stamp, found.key, found.stamp) {
                self.prefetch_first(behind.page);
                return Some(behind);
            }
        }
        // It has moved.
        loop {
            let (page, at) = self.find(wanted);
            let found = self.at(page, at)?;
            if found.node == place.node {
                return match self.at(found.page, found.at + 1) {
                    Some(next) if !self.is_after(next, this) => continue,
                    next => next,
                };
            }
        }
    }

    fn prefetch(&self, entry: u32) {
        if let Some(node) = Node::from_raw(entry) {
            node.prefetch(&self.arena);
        }
    }

    /// Asks for the versions with which a page begins, and for the page behind it.
    fn prefetch_first(&self, page: PageAt) {
        let page = page.page(&self.arena);
        if let Some(next) = page.next() {
            next.prefetch(&self.arena);
        }
        let order = page.order();
        (1..order.len().min(1 + AHEAD)).for_each(|at| self.prefetch(page.entry(order, at)));
    }

    fn is_after(&self, place: Place, record: Record) -> bool {
        let found = self.record(place);
        is_before(record.key, record.stamp, found.key, found.stamp)
    }

    pub(super) fn record(&self, place: Place) -> Record<'_> {
        place.node.record(&self.arena)
    }
}
