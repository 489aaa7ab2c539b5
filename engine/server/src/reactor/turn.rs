//! What is done between two waits? Requests are executed and their replies gathered, those of many connections one behind the other; then
//! they are sent, one send for each connection.

use super::pool::Pool;
use crate::replies::{Mark, Replies};

/// Replies that wait for the end of the turn leave when they are this many bytes together.
const MOST_BYTES: usize = 64 << 10;

/// What a thread works with.
pub(crate) struct Turn {
    pub(crate) replies: Replies,
    pub(crate) pool: Pool,
    /// Whose the replies are.
    pub(crate) parts: Vec<Part>,
}

/// The replies of one connection.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Part {
    pub(crate) slot: usize,
    pub(crate) start: Mark,
    pub(crate) end: Mark,
}

impl Part {
    /// Whether any of it is sent from where it lies.
    pub(crate) fn has_values(&self) -> bool {
        self.start.values < self.end.values
    }

    pub(crate) fn marks(&self) -> (Mark, Mark) {
        (self.start, self.end)
    }
}

impl Turn {
    pub(crate) fn new() -> Self {
        Self { replies: Replies::new(), pool: Pool::new(), parts: Vec::new() }
    }

    /// Says that what was written behind `start` is for `slot`; false when there is nothing.
    pub(crate) fn add(&mut self, slot: usize, start: Mark) -> bool {
        let end = self.replies.mark();
        if start == end {
            return false;
        }
        match self.parts.last_mut() {
            Some(last) if last.slot == slot => last.end = end,
            _ => self.parts.push(Part { slot, start, end }),
        }
        true
    }

    /// Whether the replies must leave before others are made: they are many, or one of them is long. A long one is taken out when it is kept, so
    /// that marks behind it would not hold any more.
    pub(crate) fn is_full(&self) -> bool {
        self.replies.bytes.len() >= MOST_BYTES || !self.replies.values.is_empty()
    }
}
