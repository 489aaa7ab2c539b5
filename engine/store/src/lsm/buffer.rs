//! Growable byte buffers for blocks and batches. A long one has an anonymous mapping of its own, so that
//! the system gets the memory back when it is dropped.
//!
//! A general allocator may keep what is freed: glibc keeps blocks of up to 32 MiB in the arena of the
//! thread that freed them. With several threads that is more than a store with a small memory budget may
//! take, and a library cannot change how its program allocates.

use super::mapping::Mapping;
use std::ops::{Deref, DerefMut};

/// Values and blocks from here on are long: they are copied as seldom as possible, and given back at once.
/// Some values of tests are.
pub(crate) const LONG: usize = if cfg!(test) { 600 } else { 128 << 10 };

/// Buffers from here on are mapped.
const MAPPED: usize = if cfg!(test) { 4 << 10 } else { 128 << 10 };

/// Bytes, as in a `Vec<u8>`.
#[derive(Default)]
pub(crate) struct Buffer(Memory);

enum Memory {
    Allocated(Vec<u8>),
    /// The first `len` bytes are in use; all of them were written or are zero.
    Mapped {
        mapping: Mapping,
        len: usize,
    },
}

impl Default for Memory {
    fn default() -> Self {
        Self::Allocated(Vec::new())
    }
}

impl Buffer {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// An empty one with room for so many bytes.
    pub(crate) fn with_capacity(bytes: usize) -> Self {
        let mut buffer = Self::new();
        buffer.reserve(bytes);
        buffer
    }

    /// Bytes that it has room for.
    pub(crate) fn capacity(&self) -> usize {
        match &self.0 {
            Memory::Allocated(bytes) => bytes.capacity(),
            Memory::Mapped { mapping, .. } => mapping.len(),
        }
    }

    /// Makes room for so many more bytes.
    #[inline]
    pub(crate) fn reserve(&mut self, more: usize) {
        if self.capacity() - self.len() < more {
            self.grow(more);
        }
    }

    #[cold]
    fn grow(&mut self, more: usize) {
        let (len, needed) = (self.len(), self.len().saturating_add(more));
        // What was reserved before will hardly be all, where it has to grow.
        let wanted = needed.max(self.capacity() + self.capacity() / 2);
        match &mut self.0 {
            Memory::Allocated(bytes) if needed < MAPPED => return bytes.reserve(more),
            Memory::Allocated(_) => {}
            Memory::Mapped { mapping, .. } => {
                if mapping.grow(wanted) {
                    return;
                }
            }
        }
        self.0 = match Mapping::new(wanted) {
            Some(mut mapping) => {
                mapping.bytes_mut()[..len].copy_from_slice(self);
                Memory::Mapped { mapping, len }
            }
            // The system has no mapping left, but its allocator may have memory.
            None => {
                let mut bytes = Vec::with_capacity(needed);
                bytes.extend_from_slice(self);
                Memory::Allocated(bytes)
            }
        };
    }

    #[inline]
    pub(crate) fn extend_from_slice(&mut self, more: &[u8]) {
        self.reserve(more.len());
        match &mut self.0 {
            Memory::Allocated(bytes) => bytes.extend_from_slice(more),
            Memory::Mapped { mapping, len } => {
                mapping.bytes_mut()[*len..*len + more.len()].copy_from_slice(more);
                *len += more.len();
            }
        }
    }

    #[inline]
    pub(crate) fn push(&mut self, byte: u8) {
        match &mut self.0 {
            Memory::Allocated(bytes) if bytes.len() < bytes.capacity() => bytes.push(byte),
            _ => self.extend_from_slice(&[byte]),
        }
    }

    /// Changes the length. Bytes that come in have any value.
    pub(crate) fn set_len(&mut self, to: usize) {
        self.reserve(to.saturating_sub(self.len()));
        match &mut self.0 {
            Memory::Allocated(bytes) => bytes.resize(to, 0),
            Memory::Mapped { len, .. } => *len = to,
        }
    }

    pub(crate) fn truncate(&mut self, to: usize) {
        match &mut self.0 {
            Memory::Allocated(bytes) => bytes.truncate(to),
            Memory::Mapped { len, .. } => *len = to.min(*len),
        }
    }

    pub(crate) fn clear(&mut self) {
        self.truncate(0);
    }
}

impl Deref for Buffer {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        match &self.0 {
            Memory::Allocated(bytes) => bytes,
            Memory::Mapped { mapping, len } => &mapping.bytes()[..*len],
        }
    }
}

impl DerefMut for Buffer {
    #[inline]
    fn deref_mut(&mut self) -> &mut [u8] {
        match &mut self.0 {
            Memory::Allocated(bytes) => bytes,
            Memory::Mapped { mapping, len } => &mut mapping.bytes_mut()[..*len],
        }
    }
}

impl AsRef<[u8]> for Buffer {
    #[inline]
    fn as_ref(&self) -> &[u8] {
        self
    }
}

impl Clone for Buffer {
    fn clone(&self) -> Self {
        Self::from(&**self)
    }
}

impl From<&[u8]> for Buffer {
    fn from(bytes: &[u8]) -> Self {
        let mut copy = Self::with_capacity(bytes.len());
        copy.extend_from_slice(bytes);
        copy
    }
}

impl std::fmt::Debug for Buffer {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        f.debug_tuple("Buffer").field(&self.len()).finish()
    }
}

impl From<Vec<u8>> for Buffer {
    fn from(bytes: Vec<u8>) -> Self {
        Self(Memory::Allocated(bytes))
    }
}

/// What bytes can be appended to.
pub(crate) trait Sink {
    fn reserve(&mut self, more: usize);
    fn push(&mut self, byte: u8);
    fn extend_from_slice(&mut self, more: &[u8]);
}

impl Sink for Buffer {
    #[inline]
    fn reserve(&mut self, more: usize) {
        self.reserve(more);
    }

    #[inline]
    fn push(&mut self, byte: u8) {
        self.push(byte);
    }

    #[inline]
    fn extend_from_slice(&mut self, more: &[u8]) {
        self.extend_from_slice(more);
    }
}

impl Sink for Vec<u8> {
    #[inline]
    fn reserve(&mut self, more: usize) {
        self.reserve(more);
    }

    #[inline]
    fn push(&mut self, byte: u8) {
        self.push(byte);
    }

    #[inline]
    fn extend_from_slice(&mut self, more: &[u8]) {
        self.extend_from_slice(more);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn it_holds_what_a_vec_would(
            steps in prop::collection::vec((0_u8..6, 0_usize..3 * MAPPED), 1..40),
        ) {
            let (mut buffer, mut expected) = (Buffer::new(), Vec::new());
            for (number, (step, count)) in steps.into_iter().enumerate() {
                match step {
                    0 => {
                        buffer.push(number as u8);
                        expected.push(number as u8);
                    }
                    1 | 2 => {
                        let more = vec![number as u8; count];
                        buffer.extend_from_slice(&more);
                        expected.extend_from_slice(&more);
                    }
                    3 => {
                        buffer.truncate(count);
                        expected.truncate(count);
                    }
                    4 => {
                        let begin = expected.len().min(count);
                        buffer.set_len(count);
                        buffer[begin..].fill(9);
                        expected.resize(begin, 0);
                        expected.resize(count, 9);
                    }
                    _ => {
                        buffer = buffer.clone();
                        buffer.reserve(count);
                        prop_assert!(buffer.capacity() >= buffer.len() + count);
                    }
                }
                prop_assert!(buffer[..] == expected[..]);
                let is_mapped = matches!(buffer.0, Memory::Mapped { .. });
                prop_assert!(is_mapped || buffer.capacity() < 2 * MAPPED);
            }
        }
    }
}
