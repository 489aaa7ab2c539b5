//! What becomes of a request that would have to wait? It goes to a worker, and the connection neither goes on nor ends before its reply is back.

use std::sync::Arc;

use super::{Connection, Input, TOO_LONG};
use crate::reactor::pool::{Kept, PIECE_BYTES, Pool};
use crate::replies::Replies;
use crate::session::Next;
use crate::shared::Shared;
use crate::workers::{Done, Job, Reply, Work};

/// What became of a request that would have to wait.
pub(super) enum Errand {
    None,
    /// To be handed to a worker.
    Ready(Job),
    /// A worker has it.
    Away,
}

impl Connection {
    /// Whether a request of it is executed elsewhere: it neither goes on nor ends before that is done.
    pub(crate) fn has_errand(&self) -> bool {
        !matches!(self.errand, Errand::None)
    }

    /// The request that is to be handed to a worker, once.
    pub(crate) fn take_errand(&mut self) -> Option<Job> {
        if !matches!(self.errand, Errand::Ready(_)) {
            return None;
        }
        match std::mem::replace(&mut self.errand, Errand::Away) {
            Errand::Ready(job) => Some(job),
            _ => None,
        }
    }

    /// Takes the reply of the request that was executed elsewhere: a short one to the turn's, a long one to what waits. What was held back can be resumed then.
    pub(crate) fn end_errand(&mut self, pool: &mut Pool, done: Done, replies: &mut Replies) {
        self.errand = Errand::None;
        self.session.take_over(done.version, done.identity);
        match (done.reply, self.session.takes_back_reply()) {
            (Reply::Short(_), true) => {}
            (Reply::Long(mut pending), true) => pending.clear(pool),
            (Reply::Short(bytes), false) => replies.bytes.extend_from_slice(&bytes),
            (Reply::Long(pending), false) => self.pending.append(pending),
        }
        replies.bytes.append(&mut self.pushes);
        if done.closes {
            self.finish(pool);
        }
    }

    /// Takes a message that the client gets without a request: between two replies, never within one.
    pub(crate) fn push(&mut self, shared: &Shared, pool: &mut Pool, bytes: &[u8], replies: &mut Replies) {
        if self.closing {
            return;
        }
        let limit = self.session.backlog(shared);
        if self.pending.len().max(self.pushes.len()) >= limit.replies {
            return self.end_for_backlog(shared, pool, replies, &limit.error());
        }
        if self.has_errand() {
            self.pushes.extend_from_slice(bytes)
        } else {
            replies.bytes.extend_from_slice(bytes)
        }
    }

    /// Takes a request out of what is kept, behind so many bytes that are done with, and hands it over.
    pub(super) fn hand_over_kept(
        &mut self,
        shared: &Shared,
        pool: &mut Pool,
        consumed: usize,
        length: usize,
        replies: &mut Replies,
    ) {
        self.turn_bytes = self.turn_bytes.saturating_sub(consumed + length);
        self.conclude(pool, Next::HandOver { length });
        let Input::Kept(kept) = &mut self.input else { return };
        let is_all = consumed == 0 && length == kept.len();
        if is_all && matches!(kept, Kept::Pages(_)) {
            // A long value is not copied.
            if let Input::Kept(kept) = std::mem::replace(&mut self.input, Input::Nothing) {
                self.hand_over(shared, Some(kept), replies);
            }
            return;
        }
        let end = (consumed + length).min(kept.len());
        let request = copied(shared, &kept.bytes()[consumed.min(end)..end]);
        if end == kept.len() {
            self.put_input(pool);
        } else {
            kept.consume(end);
        }
        self.hand_over(shared, request, replies);
    }

    /// Has a request executed elsewhere; `None`: there is no memory for it.
    pub(super) fn hand_over(&mut self, shared: &Shared, request: Option<Kept>, replies: &mut Replies) {
        let work = self.session.take_handed().map(Work::Transaction).or_else(|| request.map(Work::Request));
        match work {
            Some(work) => {
                let (version, entry) = (self.session.version(), Arc::clone(self.session.entry()));
                let identity = self.session.identity().clone();
                self.errand = Errand::Ready(Job { work, version, identity, entry });
            }
            None => self.complain(shared, replies, TOO_LONG),
        }
    }
}

/// A request that is to go elsewhere; `None` where there is no memory for a long one.
pub(super) fn copied(shared: &Shared, request: &[u8]) -> Option<Kept> {
    if request.len() <= PIECE_BYTES {
        return Some(Kept::Piece(request.to_vec()));
    }
    let mut buffer = shared.database.buffer(request.len()).ok()?;
    buffer.fill(request);
    Some(Kept::Pages(buffer))
}
