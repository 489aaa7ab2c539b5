//! Backlog: how many bytes of requests and replies the server holds for a client that does not read.

use super::{Session, UNAUTHENTICATED_REQUEST};
use crate::client_limits::Limit;
use crate::shared::Shared;

/// Replies that may wait before backpressure begins, in bytes.
const MOST_WAITING: usize = 1 << 20;
const LEAST_WAITING: usize = 64 << 10;

/// A client that does not read may hold this share of the cap in requests, and as much in replies.
const BACKLOG_SHARE: u64 = 4;

/// Replies that may wait for a client who still owes a password, in bytes.
const UNAUTHENTICATED_HIGH_WATER: usize = 16 << 10;

/// What a client may make the server hold before it reads its replies.
pub(crate) struct Backlog {
    /// Bytes of requests that are kept unexecuted.
    pub(crate) requests: usize,
    /// Bytes of replies.
    pub(crate) replies: usize,
    bound: Bound,
}

/// Which limit the bound on replies is.
enum Bound {
    Limit,
    Cap,
    Unauthenticated,
}

impl Backlog {
    /// The error for a client that goes on writing when the bound on replies is reached.
    pub(crate) fn error(&self) -> String {
        let bytes = self.replies;
        let text = match self.bound {
            Bound::Limit => format!("ERR unread replies exceed {} ({bytes} bytes)", Limit::Output.name()),
            Bound::Cap => format!("OOM unread replies exceed a quarter of maxmemory ({bytes} bytes)"),
            Bound::Unauthenticated => {
                format!("ERR unread replies exceed what an unauthenticated client may have ({bytes} bytes)")
            }
        };
        format!("{text}; the connection is closed")
    }
}

impl Session {
    /// Replies that may wait for this client before backpressure begins, in bytes: a megabyte, but no large part of a small
    /// store.
    pub(crate) fn high_water(&self, shared: &Shared) -> usize {
        if !self.client.identity.is_authenticated() {
            return UNAUTHENTICATED_HIGH_WATER;
        }
        usize::try_from(shared.database.cap() / 32).unwrap_or(MOST_WAITING).clamp(LEAST_WAITING, MOST_WAITING)
    }

    /// What this client may make the server hold while it does not read.
    pub(crate) fn backlog(&self, shared: &Shared) -> Backlog {
        if !self.client.identity.is_authenticated() {
            let (requests, replies) = (UNAUTHENTICATED_REQUEST, UNAUTHENTICATED_HIGH_WATER);
            return Backlog { requests, replies, bound: Bound::Unauthenticated };
        }
        let limits = &shared.settings.limits;
        let share = usize::try_from(shared.database.cap() / BACKLOG_SHARE).unwrap_or(usize::MAX);
        let output = limits.count(Limit::Output);
        Backlog {
            requests: limits.count(Limit::Request).min(share),
            replies: output.min(share),
            bound: if output <= share { Bound::Limit } else { Bound::Cap },
        }
    }
}
