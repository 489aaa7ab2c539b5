//! Read-ahead queue: requests received while the replies of earlier ones wait for the client.
//!
//! A queue of chunks, so that taking requests from its front moves no bytes, and memory returns to
//! the store chunk by chunk. All of it counts under the memory cap.

use std::collections::VecDeque;

use super::RECEIVE_BYTES;
use crate::reactor::pool::{Kept, Pool};
use crate::shared::Shared;

/// Bytes received and not yet moved to the input buffer, in order.
#[derive(Default)]
pub(super) struct ReadAhead {
    chunks: VecDeque<Kept>,
    len: usize,
}

impl ReadAhead {
    pub(super) fn len(&self) -> usize {
        self.len
    }

    pub(super) fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Appends `bytes`; false if there is no memory for all of them.
    #[must_use]
    pub(super) fn append(&mut self, shared: &Shared, pool: &mut Pool, mut bytes: &[u8]) -> bool {
        loop {
            if let Some(last) = self.chunks.back_mut() {
                let count = last.fill(bytes);
                self.len += count;
                bytes = &bytes[count..];
            }
            if bytes.is_empty() {
                return true;
            }
            let Some(chunk) = pool.room(shared, RECEIVE_BYTES) else { return false };
            self.chunks.push_back(chunk);
        }
    }

    /// Removes the first chunk.
    pub(super) fn pop(&mut self) -> Option<Kept> {
        let chunk = self.chunks.pop_front()?;
        self.len -= chunk.len();
        if self.chunks.is_empty() {
            self.chunks = VecDeque::new();
        }
        Some(chunk)
    }

    /// Returns the rest of the first chunk to the front.
    pub(super) fn put_back(&mut self, pool: &mut Pool, chunk: Kept) {
        if chunk.len() == 0 {
            pool.put(chunk);
            return;
        }
        self.len += chunk.len();
        self.chunks.push_front(chunk);
    }

    pub(super) fn clear(&mut self, pool: &mut Pool) {
        while let Some(chunk) = self.pop() {
            pool.put(chunk);
        }
    }
}
