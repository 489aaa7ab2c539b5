//! Switch of the generation that is written, in the middle of a stretch of load.
//!
//! A target that carries out only the first write of a key would pass if a stretch wrote one value per key. So each
//! thread writes another generation once half of its load is sent. What is read back afterwards must be of the newer one,
//! which is certain of a key only if no older write was under way in any thread when its write was sent: only such
//! writes are kept for reading back.

use super::generator::Stretch;
use super::request::Age;
use super::worker::Worker;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};

/// How far one thread has got.
#[derive(Debug)]
pub(super) struct Turning<'a> {
    /// It turns at the earlier of these two: so long after the beginning, or when so many requests are sent.
    at_ns: u64,
    at_sent: u64,
    /// Requests sent before the turn and not answered yet; none before the turn.
    early: Option<u64>,
    /// Threads of which such requests may be under way.
    threads: &'a AtomicU64,
}

impl<'a> Turning<'a> {
    pub(super) fn new(stretch: &Stretch, threads: &'a AtomicU64) -> Self {
        let at_ns = if stretch.min_ns == u64::MAX { u64::MAX } else { stretch.min_ns / 2 };
        let at_sent = stretch.limit.map_or(u64::MAX, |limit| limit / 2);
        Self { at_ns, at_sent, early: None, threads }
    }

    /// So many of the early requests were answered.
    fn answered(&mut self, count: u64) {
        let Some(left @ 1..) = self.early else { return };
        self.early = Some(left - count);
        if left == count {
            self.threads.fetch_sub(1, Ordering::AcqRel);
        }
    }
}

impl Worker<'_> {
    /// Looks whether the other generation is to be written from here on; before every batch of requests.
    #[inline]
    pub(super) fn look_at_turn(&mut self, now: u64) {
        if self.source.is_turning() {
            self.turn(now);
        }
    }

    #[inline(never)]
    fn turn(&mut self, now: u64) {
        match self.turning.early {
            None if now >= self.turning.at_ns || self.part.sent >= self.turning.at_sent => {
                self.source.turn();
                self.turning.early = Some(self.in_flight);
                if self.in_flight == 0 {
                    self.turning.threads.fetch_sub(1, Ordering::AcqRel);
                }
            }
            Some(0) if self.turning.threads.load(Ordering::Acquire) == 0 => self.source.has_turned(),
            _ => {}
        }
    }

    /// Takes note of the first `count` requests of a connection, which have been answered.
    #[inline]
    pub(super) fn note_early(&mut self, pending: &VecDeque<super::request::Asked>, count: usize) {
        if let Some(1..) = self.turning.early {
            let early = pending.iter().take(count).filter(|asked| asked.age == Age::First).count();
            self.turning.answered(early as u64);
        }
    }
}
