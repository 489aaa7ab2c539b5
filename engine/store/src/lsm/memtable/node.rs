//! What does a node of the skip list look like?
//!
//! ```text
//! 0   key length, 24 bits; height, 8 bits
//! 4   value length
//! 8   stamp: sequence number and kind
//! 16  links, one for each level, the lowest first: 8 bytes each
//!     key, value
//! ```
//!
//! A link is the offset of the next node, in units of eight bytes, below four bytes of its key: those behind what most keys begin with. So a search looks into a node only where four bytes do not
//! decide, and steps over all others by what it has read already.

use super::arena::{ALIGN, Arena};
use crate::lsm::record::{Record, Stamp};
use crate::lsm::sync::point;
use std::sync::atomic::{AtomicU64, Ordering};

/// The most levels a node can have.
pub(super) const MAX_HEIGHT: usize = 14;

const LINKS: usize = 16;
const LINK: usize = size_of::<AtomicU64>();

/// A pointer to the next node on one level.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Link(u64);

impl Link {
    pub(super) const NONE: Self = Self(0);

    fn new(offset: usize, prefix: u32) -> Self {
        debug_assert!(offset.is_multiple_of(ALIGN) && offset / ALIGN <= u32::MAX as usize);
        Self(u64::from(prefix) << 32 | (offset / ALIGN) as u64)
    }

    /// Four bytes of its key. Of no use where there is none.
    #[inline]
    pub(super) fn prefix(self) -> u32 {
        (self.0 >> 32) as u32
    }

    /// The node, if there is one.
    #[inline]
    pub(super) fn node(self) -> Option<Node> {
        let offset = self.0 as u32 as usize * ALIGN;
        (offset != 0).then_some(Node(offset))
    }
}

/// A node, as its offset in the arena of its list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Node(usize);

impl Node {
    /// Bytes that a node takes at most.
    pub(super) fn bytes(key: usize, value: usize) -> usize {
        LINKS + MAX_HEIGHT * LINK + key + value + ALIGN
    }

    /// Writes a node that nobody sees yet; its links lead nowhere. `None` where it does not fit.
    pub(super) fn write(arena: &Arena, height: usize, record: &Record) -> Option<Self> {
        debug_assert!((1..=MAX_HEIGHT).contains(&height) && record.key.len() < 1 << 24);
        let begin = LINKS + height * LINK;
        let offset = arena.take(begin + record.key.len() + record.value.len())?;
        let head = record.key.len() as u64 | (height as u64) << 24 | (record.value.len() as u64) << 32;
        let at = arena.at(offset);
        // SAFETY: `take` gave this many bytes to this call alone, at a multiple of eight; nobody reads them before the node is linked.
        unsafe {
            at.cast::<u64>().write(head);
            at.add(8).cast::<u64>().write(record.stamp.raw());
            let key = at.add(begin);
            key.copy_from_nonoverlapping(std::ptr::NonNull::from(record.key).cast(), record.key.len());
            let value = key.add(record.key.len());
            value.copy_from_nonoverlapping(std::ptr::NonNull::from(record.value).cast(), record.value.len());
        }
        Some(Self(offset))
    }

    /// A link to it.
    pub(super) fn link(self, prefix: u32) -> Link {
        Link::new(self.0, prefix)
    }

    #[inline]
    fn head(self, arena: &Arena) -> u64 {
        // SAFETY: a node's first word was written before the node was published, and never changes.
        unsafe { arena.at(self.0).cast::<u64>().read() }
    }

    #[inline]
    fn slot(self, arena: &Arena, level: usize) -> &AtomicU64 {
        debug_assert!(level < (self.head(arena) >> 24 & 0xff) as usize);
        // SAFETY: the node has a link on this level: searches come to it by one. It lies in the arena, aligned, and is only used as an atomic.
        unsafe { arena.at(self.0 + LINKS + level * LINK).cast::<AtomicU64>().as_ref() }
    }

    /// What follows on a level.
    #[inline]
    pub(super) fn next(self, arena: &Arena, level: usize) -> Link {
        point();
        Link(self.slot(arena, level).load(Ordering::Acquire))
    }

    /// Lets a link follow on a level, and so publishes what it leads to.
    pub(super) fn set_next(self, arena: &Arena, level: usize, link: Link) {
        point();
        self.slot(arena, level).store(link.0, Ordering::Release);
    }

    /// The version that it holds.
    #[inline]
    pub(super) fn record(self, arena: &Arena) -> Record<'_> {
        let head = self.head(arena);
        let (key, height, value) =
            (head as usize & 0xff_ffff, (head >> 24) as usize & 0xff, (head >> 32) as usize);
        let begin = LINKS + height * LINK;
        // SAFETY: written so by `write` before the node was published; the bytes never change and last as long as the arena.
        unsafe {
            let at = arena.at(self.0);
            let raw = at.add(8).cast::<u64>().read();
            let stamp = Stamp::from_raw(raw).unwrap_or_else(|| Stamp::newest_at(0));
            let bytes = at.add(begin);
            let key_bytes = std::slice::from_raw_parts(bytes.as_ptr(), key);
            let value_bytes = std::slice::from_raw_parts(bytes.add(key).as_ptr(), value);
            Record { key: key_bytes, stamp, value: value_bytes }
        }
    }
}
