//! How is a version found among those in memory? By a skip list: nodes in order, each on a random number of levels, a quarter as many on each as on the
//! one below. (W. Pugh, "Skip lists: a probabilistic alternative to balanced trees", CACM 33(6), 1990.)
//!
//! One thread at a time inserts, and is what [`Inserter`] stands for; readers take no lock. A node's links are set before a link to it is, lowest level first,
//! so whoever comes to a node by any level finds all of it.

use super::arena::Arena;
use super::node::{Link, MAX_HEIGHT, Node};
use crate::lsm::record::{Kind, MAX_SEQUENCE, Record, Stamp, is_before, prefix};
use std::sync::atomic::{AtomicUsize, Ordering};

pub(super) struct List {
    arena: Arena,
    /// What most keys begin with, as far as that was known beforehand.
    common: Box<[u8]>,
    /// A node on all levels, before all others; it holds no version.
    head: Node,
    /// Levels in use.
    height: AtomicUsize,
}

/// Where the last insertion was, and the random numbers for heights.
pub(crate) struct Inserter {
    /// On each level the last node before the place.
    before: [Node; MAX_HEIGHT],
    random: fastrand::Rng,
}

impl List {
    /// An empty list with room for so many bytes, and the right to insert. `None` where there is no memory.
    pub(super) fn new(capacity: usize, common: &[u8]) -> Option<(Self, Inserter)> {
        let arena = Arena::new(capacity.checked_add(Node::bytes(0, 0))?)?;
        let nothing = Record { key: b"", stamp: Stamp::new(MAX_SEQUENCE, Kind::Set), value: b"" };
        let head = Node::write(&arena, MAX_HEIGHT, &nothing)?;
        // Heights need no secret: who knows them can slow nobody down but by keys that lie close together, which cost the same. The same in every memtable,
        // so that what a store does to its files can be repeated.
        let inserter = Inserter { before: [head; MAX_HEIGHT], random: fastrand::Rng::with_seed(0) };
        Some((Self { arena, common: common.into(), head, height: AtomicUsize::new(1) }, inserter))
    }

    pub(super) fn used(&self) -> usize {
        self.arena.used()
    }

    /// Whether a version of these lengths is sure to fit.
    pub(super) fn fits(&self, key: usize, value: usize) -> bool {
        Node::bytes(key, value) <= self.arena.room()
    }

    /// Adds a version; false, and nothing is changed, where it does not fit. No two versions of a key have one stamp.
    pub(super) fn insert(&self, inserter: &mut Inserter, record: &Record) -> bool {
        let height = height(&mut inserter.random);
        let Some(node) = Node::write(&self.arena, height, record) else { return false };
        let levels = self.height.load(Ordering::Relaxed);
        if !self.is_place(inserter.before[0], record) {
            self.find_place(&mut inserter.before, levels, record);
        }
        if height > levels {
            inserter.before[levels..height].fill(self.head);
            // Readers that do not see it yet begin lower and find the same.
            self.height.store(height, Ordering::Relaxed);
        }
        let link = node.link(prefix(record.key, &self.common));
        for (level, before) in inserter.before[..height].iter_mut().enumerate() {
            node.set_next(&self.arena, level, before.next(&self.arena, level));
            before.set_next(&self.arena, level, link);
            *before = node;
        }
        true
    }

    /// Whether it belongs right after this node. Then it does so on every level, seen from where the last insertion was.
    fn is_place(&self, before: Node, record: &Record) -> bool {
        let after = before.next(&self.arena, 0).node();
        (before == self.head || self.is_node_before(before, record.key, record.stamp))
            && after.is_none_or(|after| !self.is_node_before(after, record.key, record.stamp))
    }

    fn find_place(&self, places: &mut [Node; MAX_HEIGHT], levels: usize, record: &Record) {
        let mut at = self.head;
        for level in (0..levels).rev() {
            at = self.last_before(at, level, record.key, record.stamp).0;
            places[level] = at;
        }
    }

    fn is_node_before(&self, node: Node, key: &[u8], stamp: Stamp) -> bool {
        let record = node.record(&self.arena);
        is_before(record.key, record.stamp, key, stamp)
    }

    /// From a node on along a level: the last that stands before, and what follows it.
    #[inline]
    fn last_before(&self, mut at: Node, level: usize, key: &[u8], stamp: Stamp) -> (Node, Link) {
        let prefix = prefix(key, &self.common);
        loop {
            let link = at.next(&self.arena, level);
            let Some(next) = link.node() else { return (at, link) };
            let is_before = match link.prefix().cmp(&prefix) {
                std::cmp::Ordering::Less => true,
                std::cmp::Ordering::Equal => self.is_node_before(next, key, stamp),
                std::cmp::Ordering::Greater => false,
            };
            if !is_before {
                return (at, link);
            }
            at = next;
        }
    }

    /// The first version that does not stand before `(key, stamp)`.
    pub(super) fn at_or_after(&self, key: &[u8], stamp: Stamp) -> Option<Node> {
        let mut at = self.head;
        let mut link = Link::NONE;
        for level in (0..self.height.load(Ordering::Relaxed)).rev() {
            (at, link) = self.last_before(at, level, key, stamp);
        }
        link.node()
    }

    /// The last version that stands before `(key, stamp)`.
    pub(super) fn before(&self, key: &[u8], stamp: Stamp) -> Option<Node> {
        let mut at = self.head;
        for level in (0..self.height.load(Ordering::Relaxed)).rev() {
            at = self.last_before(at, level, key, stamp).0;
        }
        (at != self.head).then_some(at)
    }

    pub(super) fn first(&self) -> Option<Node> {
        self.after(self.head)
    }

    pub(super) fn last(&self) -> Option<Node> {
        let mut at = self.head;
        for level in (0..self.height.load(Ordering::Relaxed)).rev() {
            while let Some(next) = at.next(&self.arena, level).node() {
                at = next;
            }
        }
        (at != self.head).then_some(at)
    }

    pub(super) fn after(&self, node: Node) -> Option<Node> {
        node.next(&self.arena, 0).node()
    }

    pub(super) fn record(&self, node: Node) -> Record<'_> {
        node.record(&self.arena)
    }
}

/// Each level with a quarter of the chance of the one below.
fn height(random: &mut fastrand::Rng) -> usize {
    let quarters = random.u32(..).trailing_zeros() as usize / 2;
    (1 + quarters).min(MAX_HEIGHT)
}
