//! How does a thread write that waits for nobody? As the leader of its own batch alone, and only where all that is left to be done is one write of the log and an insertion: no
//! sync, no other memtable, nobody before it who may wait. Else nothing is done, and the caller is told.
//!
//! Several such threads do wait for each other: each is done within microseconds.

use super::Inner;
use super::commit::memtable_bytes;
use super::options::SyncMode;
use crate::error::{Error, Result};

/// The lead of a writer that does not wait. It ends when this is dropped, also by a panic.
struct LedBriefly<'a>(&'a Inner);

impl Drop for LedBriefly<'_> {
    fn drop(&mut self) {
        let mut queue = self.0.queue.lock();
        (queue.is_led, queue.is_led_briefly) = (false, false);
        let is_awaited = queue.is_awaited() || queue.brief_waiters > 0;
        drop(queue);
        if is_awaited {
            self.0.turn.notify_all();
        }
    }
}

impl Inner {
    pub(super) fn write_now(&self, payload: &[u8], count: u64) -> Result<()> {
        if self.options.sync == SyncMode::Always {
            return Err(Error::WouldBlock);
        }
        let mut queue = self.queue.lock();
        while queue.is_led && queue.is_led_briefly {
            queue.brief_waiters += 1;
            self.turn.wait(&mut queue);
            queue.brief_waiters -= 1;
        }
        // Those who wait in the queue come first, and they may have to wait longer.
        if queue.is_led || queue.is_awaited() {
            return Err(Error::WouldBlock);
        }
        (queue.is_led, queue.is_led_briefly) = (true, true);
        drop(queue);
        let _led = LedBriefly(self);
        self.commit_now(payload, count)
    }

    fn commit_now(&self, payload: &[u8], count: u64) -> Result<()> {
        self.look()?;
        // Somebody begins a sync, flushes or copies.
        let Some(mut commit) = self.commit.try_lock() else { return Err(Error::WouldBlock) };
        // Another memtable takes a file, and may have to wait for a flush.
        if !commit.memtable.fits(0, memtable_bytes(payload.len(), count)) {
            return Err(Error::WouldBlock);
        }
        self.commit_group(&mut commit, &[(payload, count)])
    }
}
