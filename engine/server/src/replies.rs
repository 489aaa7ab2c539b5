//! What do commands write? Replies in the order of their requests, one behind the other; long values are named, not copied.

use plumbkv::Value;

use crate::command::CommandError;
use crate::shared::Shared;
use crate::warm::touched_room;

/// Bytes that are there from the start: the replies of a turn, and the last one of them.
pub(crate) const ROOM_BYTES: usize = 128 << 10;

/// Replies that are not sent yet.
pub(crate) struct Replies {
    pub(crate) bytes: Vec<u8>,
    /// Values that are sent from where they lie, each with its place in `bytes`.
    pub(crate) values: Vec<(usize, Value)>,
    /// Capacity beyond the first one that is counted under the memory cap.
    counted: u64,
}

/// A place to go back to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Mark {
    pub(crate) bytes: usize,
    pub(crate) values: usize,
}

impl Replies {
    pub(crate) fn new() -> Self {
        Self { bytes: touched_room(ROOM_BYTES), values: Vec::new(), counted: 0 }
    }

    /// As [`new`](Self::new), but the room takes memory only when it is used.
    pub(crate) fn untouched() -> Self {
        Self { bytes: Vec::with_capacity(ROOM_BYTES), values: Vec::new(), counted: 0 }
    }

    /// From the first reply to the last.
    pub(crate) fn all(&self) -> (Mark, Mark) {
        (Mark { bytes: 0, values: 0 }, self.mark())
    }

    /// Where the next reply begins.
    pub(crate) fn mark(&self) -> Mark {
        Mark { bytes: self.bytes.len(), values: self.values.len() }
    }

    /// Forgets what came behind `mark`.
    pub(crate) fn go_back(&mut self, mark: Mark) {
        self.bytes.truncate(mark.bytes);
        self.values.truncate(mark.values);
    }

    /// Bytes behind `mark`, values included.
    pub(crate) fn since(&self, mark: Mark) -> usize {
        let values = self.values[mark.values..].iter().map(|(_, value)| value.len());
        self.bytes.len() - mark.bytes + values.sum::<usize>()
    }

    /// Writes a bulk string that is sent from where it lies.
    pub(crate) fn value(&mut self, value: Value) {
        self.bytes.extend_from_slice(format!("${}\r\n", value.len()).as_bytes());
        self.values.push((self.bytes.len(), value));
        self.bytes.extend_from_slice(b"\r\n");
    }

    /// Makes room for `more` bytes of a reply that may be long, evicting keys for it; commands whose replies are short need not ask.
    ///
    /// # Errors
    /// There is no memory for it. The caller's reply is taken back then.
    pub(crate) fn make_room(&mut self, shared: &Shared, more: usize) -> Result<(), CommandError> {
        let capacity = self.bytes.capacity();
        if capacity - self.bytes.len() >= more {
            return Ok(());
        }
        let wanted = (self.bytes.len() + more).max(capacity * 2).next_multiple_of(4096);
        let step = (wanted - capacity) as u64;
        // While it is copied both buffers are there.
        let peak = wanted as u64;
        shared.client_memory.take(&shared.database, peak).map_err(|_| CommandError::REPLY_TOO_LONG)?;
        let grown = self.bytes.try_reserve_exact(wanted - self.bytes.len());
        let kept = if grown.is_ok() { step } else { 0 };
        shared.client_memory.give_back(&shared.database, peak - kept);
        self.counted += kept;
        grown.map_err(|_| CommandError::REPLY_TOO_LONG)
    }

    /// Counts what it has grown by without being asked.
    ///
    /// # Errors
    /// As [`make_room`](Self::make_room).
    pub(crate) fn settle(&mut self, shared: &Shared) -> Result<(), CommandError> {
        if self.bytes.capacity() == ROOM_BYTES {
            return Ok(());
        }
        let grown = (self.bytes.capacity() - ROOM_BYTES) as u64;
        let more = grown.saturating_sub(self.counted);
        shared.client_memory.take(&shared.database, more).map_err(|_| CommandError::REPLY_TOO_LONG)?;
        self.counted += more;
        Ok(())
    }

    /// Empties it, once all is sent or kept elsewhere, and gives back what a long reply took.
    pub(crate) fn clear(&mut self, shared: &Shared) {
        self.bytes.clear();
        self.values.clear();
        if self.bytes.capacity() > ROOM_BYTES {
            self.bytes.shrink_to(ROOM_BYTES);
            shared.client_memory.give_back(&shared.database, std::mem::take(&mut self.counted));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::test_support::Driver;

    #[test]
    fn long_replies_are_counted_until_they_are_gone() {
        let driver = Driver::with_options(|options| options, 2 << 20);
        let shared = &driver.shared;
        let before = shared.database.stats().reserved_bytes;
        let mut replies = Replies::new();
        replies.make_room(shared, ROOM_BYTES).unwrap();
        assert_eq!(shared.database.stats().reserved_bytes, before);
        replies.make_room(shared, 500 << 10).unwrap();
        assert_eq!(
            shared.database.stats().reserved_bytes,
            before + (500 << 10) - ROOM_BYTES as u64 - allowance(shared)
        );
        assert!(replies.make_room(shared, 3 << 20).is_err());
        replies.clear(shared);
        assert_eq!(shared.database.stats().reserved_bytes, before);
        assert_eq!(replies.bytes.capacity(), ROOM_BYTES);
    }

    fn allowance(shared: &Shared) -> u64 {
        shared.client_memory.allowance()
    }
}
