//! Pause of all clients (`CLIENT PAUSE`): requests wait, and are executed when it is over.
//!
//! A connection whose next request has to wait is held back, as one that does not read its replies: nothing behind
//! that request is executed. Ticks, ten times a second, let those go on that a pause has held.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use plumbkv_resp::Request;

use crate::command::table::{self, Id, flag};
use crate::session::Client;

/// The pause that is on, or the last one.
#[derive(Debug, Default)]
pub(crate) struct Pause {
    /// Unix time in milliseconds; 0 before the first one, and behind CLIENT UNPAUSE.
    until_ms: AtomicU64,
    /// Every request waits, not only those that may write.
    holds_all: AtomicBool,
    /// Pauses so far.
    count: AtomicU64,
}

impl Pause {
    /// CLIENT PAUSE: to the later end of both where one is on, and for all requests where either is.
    pub(crate) fn begin(&self, now_ms: u64, until_ms: u64, holds_all: bool) {
        let had_all = self.is_on(now_ms) && self.holds_all.load(Ordering::Relaxed);
        self.holds_all.store(holds_all || had_all, Ordering::Relaxed);
        self.until_ms.fetch_max(until_ms, Ordering::AcqRel);
        self.count.fetch_add(1, Ordering::AcqRel);
    }

    /// CLIENT UNPAUSE.
    pub(crate) fn end(&self) {
        self.until_ms.store(0, Ordering::Release);
    }

    #[inline]
    pub(crate) fn is_on(&self, now_ms: u64) -> bool {
        now_ms < self.until_ms.load(Ordering::Relaxed)
    }

    /// Whether connections that were held are to go on: once for each pause that is over. `seen` is the caller's own.
    pub(crate) fn has_ended(&self, now_ms: u64, seen: &mut u64) -> bool {
        let count = self.count.load(Ordering::Acquire);
        if *seen == count || self.is_on(now_ms) {
            return false;
        }
        *seen = count;
        true
    }

    /// Whether a request waits for the end of the pause that is on.
    #[cold]
    pub(crate) fn holds(&self, client: &Client, request: &Request<'_>) -> bool {
        if self.holds_all.load(Ordering::Relaxed) {
            return true;
        }
        let words: Vec<&[u8]> = request.iter().take(2).collect();
        match table::find_of_request(&words) {
            // What was queued may write, and so may a script.
            Some(spec) if spec.id == Id::Exec => client.transaction.is_some(),
            Some(spec) => {
                let is_script = matches!(spec.id, Id::Eval | Id::Evalsha | Id::Fcall);
                client.transaction.is_none() && (spec.has(flag::WRITE) || is_script)
            }
            None => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pause_ends_by_itself_or_early_and_is_noticed_once() {
        let (pause, mut seen) = (Pause::default(), 0);
        assert!(!pause.is_on(0) && !pause.has_ended(0, &mut seen));
        pause.begin(10, 30, false);
        pause.begin(10, 20, true);
        assert!(pause.is_on(29) && !pause.is_on(30));
        assert!(!pause.has_ended(29, &mut seen));
        assert!(pause.has_ended(30, &mut seen) && !pause.has_ended(30, &mut seen));
        pause.begin(40, 100, false);
        assert!(!pause.holds_all.load(Ordering::Relaxed), "the one before is over");
        pause.end();
        assert!(!pause.is_on(41) && pause.has_ended(41, &mut seen));
    }
}
