//! Read-ahead queue: requests received while the replies of earlier ones wait for the client.
//!
//! A queue of chunks, so that taking requests from its front moves no bytes, and memory returns to
//! the store chunk by chunk. All of it counts under the memory cap.

use std::collections::VecDeque;

use plumbkv_resp::Skipped;

use super::{Connection, Input, NoMemory, RECEIVE_BYTES};
use crate::reactor::pool::{Kept, Pool};
use crate::replies::{Mark, Replies};
use crate::shared::Shared;

/// The error when requests cannot be kept until the client reads the replies of earlier ones.
const NO_MEMORY_FOR_REQUESTS: &str =
    "OOM no memory for requests while earlier replies are unread (maxmemory); the connection is closed";

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

impl Connection {
    /// Whether received bytes go to the read-ahead queue: behind others there, or behind a full input buffer.
    pub(super) fn reads_ahead(&self) -> bool {
        !self.ahead.is_empty()
            || (self.held_back && matches!(&self.input, Input::Kept(kept) if kept.len() >= RECEIVE_BYTES))
    }

    pub(super) fn read_ahead(
        &mut self,
        shared: &Shared,
        pool: &mut Pool,
        bytes: &[u8],
        replies: &mut Replies,
    ) -> Result<(), NoMemory> {
        self.held_back = true;
        if self.ahead.append(shared, pool, bytes) {
            return Ok(());
        }
        self.give_up_backlog(shared, pool, replies)
    }

    /// Executes requests of the read-ahead queue: about one chunk of it a turn.
    pub(super) fn execute_ahead(
        &mut self,
        shared: &Shared,
        pool: &mut Pool,
        replies: &mut Replies,
        start: Mark,
    ) {
        while !self.held_back
            && !self.closing
            && let Some(mut chunk) = self.ahead.pop()
        {
            if self.turn_ahead == 0 {
                self.ahead.put_back(pool, chunk);
                break;
            }
            match &mut self.input {
                Input::Nothing => {
                    self.turn_ahead = self.turn_ahead.saturating_sub(chunk.len());
                    self.needed = 1;
                    self.input = Input::Kept(chunk);
                }
                Input::Refused(skipper) => {
                    match skipper.skip(chunk.bytes()) {
                        Skipped::All => chunk.consume(chunk.len()),
                        Skipped::Ended { consumed } => {
                            chunk.consume(consumed);
                            self.input = Input::Nothing;
                        }
                        Skipped::Invalid(error) => {
                            pool.put(chunk);
                            self.complain(shared, replies, &format!("ERR {error}"));
                            return self.finish(pool);
                        }
                    }
                    self.ahead.put_back(pool, chunk);
                    continue;
                }
                Input::Kept(kept) => {
                    // The chunk continues a request that began in an earlier one.
                    let have = kept.len();
                    let count = self.needed.saturating_sub(have).max(RECEIVE_BYTES).min(chunk.len());
                    let is_long = self.needed as u64 > shared.database.cap() / 2;
                    if is_long || !self.make_room(shared, pool, have + count) {
                        self.ahead.put_back(pool, chunk);
                        self.refuse(shared, pool, &[], replies);
                        continue;
                    }
                    self.turn_ahead = self.turn_ahead.saturating_sub(count);
                    if let Input::Kept(kept) = &mut self.input {
                        kept.fill(&chunk.bytes()[..count]);
                    }
                    chunk.consume(count);
                    self.ahead.put_back(pool, chunk);
                }
            }
            self.execute_kept(shared, pool, replies, start);
        }
        self.held_back |= !self.ahead.is_empty();
    }

    /// There is no memory for requests that must be kept: the conversation ends with an error.
    ///
    /// # Errors
    /// A worker still has an earlier request, so the error would overtake its reply.
    pub(super) fn give_up_backlog(
        &mut self,
        shared: &Shared,
        pool: &mut Pool,
        replies: &mut Replies,
    ) -> Result<(), NoMemory> {
        if self.has_errand() {
            return Err(NoMemory);
        }
        self.end_for_backlog(shared, pool, replies, NO_MEMORY_FOR_REQUESTS);
        Ok(())
    }
}
