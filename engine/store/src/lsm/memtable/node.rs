//! How does a version lie in a memtable?
//!
//! ```text
//! 0   key length
//! 4   value length
//! 8   stamp: sequence number and kind
//! 16  key, value
//! ```

use super::arena::{ALIGN, Arena};
use crate::lsm::record::{Record, Stamp};
use crate::prefetch;

const HEADER: usize = 16;

/// A version, as its offset in the arena in units of eight bytes. 0 is none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Node(u32);

impl Node {
    /// Bytes that a version takes at most.
    pub(super) fn bytes(key: usize, value: usize) -> usize {
        HEADER + key + value + ALIGN
    }

    /// Writes a version that nobody sees yet. `None` where it does not fit.
    pub(super) fn write(arena: &Arena, record: &Record) -> Option<Self> {
        let (key, value) = (u32::try_from(record.key.len()).ok()?, u32::try_from(record.value.len()).ok()?);
        let offset = arena.take(HEADER + record.key.len() + record.value.len(), ALIGN)?;
        let at = arena.at(offset);
        // SAFETY: `take` gave this many bytes to this call alone, at a multiple of eight; nobody reads them before an atomic in a page says where they are.
        unsafe {
            at.cast::<[u32; 2]>().write([key, value]);
            at.add(8).cast::<u64>().write(record.stamp.raw());
            let bytes = at.add(HEADER);
            bytes.copy_from_nonoverlapping(std::ptr::NonNull::from(record.key).cast(), record.key.len());
            let bytes = bytes.add(record.key.len());
            bytes.copy_from_nonoverlapping(std::ptr::NonNull::from(record.value).cast(), record.value.len());
        }
        Some(Self((offset / ALIGN) as u32))
    }

    /// As a page keeps it.
    pub(super) fn raw(self) -> u32 {
        self.0
    }

    /// From what a page keeps: something that [`raw`](Self::raw) gave.
    pub(super) fn from_raw(raw: u32) -> Option<Self> {
        (raw != 0).then_some(Self(raw))
    }

    /// Asks for the first lines of memory of it, which is all of most.
    #[inline]
    pub(super) fn prefetch(self, arena: &Arena) {
        let at = arena.at(self.0 as usize * ALIGN).as_ptr();
        (0..3).for_each(|line| prefetch::read(at.wrapping_add(64 * line)));
    }

    /// The version that it holds.
    #[inline]
    pub(super) fn record(self, arena: &Arena) -> Record<'_> {
        // SAFETY: written so by `write` before a page told of it; the bytes never change and last as long as the arena.
        unsafe {
            let at = arena.at(self.0 as usize * ALIGN);
            let [key, value] = at.cast::<[u32; 2]>().read();
            let raw = at.add(8).cast::<u64>().read();
            let stamp = Stamp::from_raw(raw).unwrap_or_else(|| Stamp::newest_at(0));
            let bytes = at.add(HEADER);
            let key_bytes = std::slice::from_raw_parts(bytes.as_ptr(), key as usize);
            let value_bytes = std::slice::from_raw_parts(bytes.add(key as usize).as_ptr(), value as usize);
            Record { key: key_bytes, stamp, value: value_bytes }
        }
    }
}
