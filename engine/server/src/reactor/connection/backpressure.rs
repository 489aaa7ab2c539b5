//! Backpressure: what the server holds for a client that writes a long pipeline before it reads.
//!
//! Many clients write all requests of a pipeline and only then read (hiredis, redis-py, Jedis). If the
//! server stopped receiving because replies wait, both sides would wait for each other for ever. So it
//! goes on receiving, and chooses what takes less memory:
//!
//! - While few replies wait (`Session::high_water`), requests are executed as they arrive.
//! - Beyond that, requests whose replies are shorter (`SET`) are executed, because that frees memory,
//!   and requests whose replies are longer (`GET`) are kept unexecuted until the client reads.
//! - When kept requests reach their limit too, they are executed anyway, until waiting replies reach
//!   theirs. Then the client gets an error that names the limit, and the connection closes. What the
//!   client still sends is discarded, because it reads the error only after its last write.

use super::{Connection, Input, RECEIVE_BYTES};
use crate::client_limits::Limit;
use crate::reactor::pool::Pool;
use crate::replies::Replies;
use crate::shared::Shared;

/// How far a connection is in its backlog.
#[derive(Default)]
pub(super) struct Backpressure {
    /// Replies wait, and as many requests as may be kept: they are executed although nothing is read.
    is_full: bool,
    /// The last requests executed had longer replies than they were themselves.
    grows: bool,
    /// The connection closes because a limit was exceeded; input is received and discarded.
    discards: bool,
    /// Since when more replies wait than the soft limit, in milliseconds of the server's clock.
    over_soft_limit_since_ms: Option<u64>,
}

impl Backpressure {
    /// Records the size of requests and of the replies made of them, in bytes.
    pub(super) fn record(&mut self, requests: usize, replies: usize) {
        if requests > 0 {
            self.grows = replies > requests;
        }
    }
}

impl Connection {
    /// Bytes of requests received and not executed.
    pub(super) fn unexecuted(&self) -> usize {
        let kept = if let Input::Kept(kept) = &self.input { kept.len() } else { 0 };
        kept + self.ahead.len()
    }

    /// Whether more requests may be received.
    pub(crate) fn wants_input(&self, shared: &Shared) -> bool {
        if self.closing {
            return self.backpressure.discards && self.is_waiting();
        }
        if self.deserted {
            return false;
        }
        if !self.held_back {
            return true;
        }
        // Whole requests are here. To stop receiving and to start again costs more than to keep a few while a worker
        // has one; and while replies wait, the client may not read before it has written all.
        let most = if self.has_errand() {
            RECEIVE_BYTES
        } else if self.is_waiting() && !self.backpressure.is_full {
            self.session.backlog(shared).requests
        } else {
            0
        };
        self.unexecuted() < most
    }

    /// Whether requests that are already here can be executed now.
    pub(crate) fn can_resume(&self, shared: &Shared) -> bool {
        self.held_back
            && !self.closing
            && !self.has_errand()
            && !self.is_held_by_pause(shared)
            && self.may_execute(shared)
    }

    /// Whether its next request waits for the end of a pause.
    fn is_held_by_pause(&self, shared: &Shared) -> bool {
        self.is_paused && shared.pause.is_on(shared.clock_ms())
    }

    /// Whether requests that are here must be executed although the client reads nothing.
    pub(crate) fn must_resume(&self, shared: &Shared) -> bool {
        self.backpressure.is_full && self.can_resume(shared)
    }

    pub(super) fn may_execute(&self, shared: &Shared) -> bool {
        let pending = &self.pending;
        pending.is_empty() || self.backpressure.is_full || pending.len() < self.session.high_water(shared)
    }

    /// Notes how full the backlog is, after bytes were received, executed or sent.
    pub(super) fn update_backpressure(&mut self, shared: &Shared) {
        if !self.is_waiting() || self.deserted {
            self.backpressure.is_full = false;
            return;
        }
        let requests = self.unexecuted();
        let most =
            if self.backpressure.grows { self.session.backlog(shared).requests } else { RECEIVE_BYTES };
        // Two thresholds: between receiving and executing the connection changes rarely.
        self.backpressure.is_full =
            if self.backpressure.is_full { requests > most / 2 } else { requests >= most };
    }

    /// Ends the conversation if waiting replies are at their limit and the client goes on writing; true if so.
    pub(super) fn close_over_limit(
        &mut self,
        shared: &Shared,
        pool: &mut Pool,
        replies: &mut Replies,
    ) -> bool {
        let limit = self.session.backlog(shared);
        if !self.backpressure.is_full || self.pending.len() < limit.replies {
            return false;
        }
        self.end_for_backlog(shared, pool, replies, &limit.error());
        true
    }

    /// Ends the conversation with an error that the client receives after all earlier replies.
    pub(super) fn end_for_backlog(
        &mut self,
        shared: &Shared,
        pool: &mut Pool,
        replies: &mut Replies,
        error: &str,
    ) {
        tracing::warn!("closed connection {}: {error}", self.session.entry().id);
        self.complain(shared, replies, error);
        self.finish(pool);
        self.backpressure.discards = true;
    }

    /// Why a connection over the soft limit for its number of seconds must close, if it must.
    pub(super) fn over_soft_limit(&mut self, shared: &Shared) -> Option<String> {
        let limits = &shared.settings.limits;
        let (bytes, seconds) = limits.soft_output();
        let since = &mut self.backpressure.over_soft_limit_since_ms;
        if bytes == 0 || (self.pending.len() as u64) <= bytes {
            *since = None;
            return None;
        }
        let now_ms = shared.clock_ms();
        let since = *since.get_or_insert(now_ms);
        (now_ms.saturating_sub(since) >= seconds.saturating_mul(1000)).then(|| {
            let name = Limit::Output.name();
            format!("had more than {bytes} bytes of unread replies for {seconds} s ({name}, soft limit)")
        })
    }
}
