//! What is handed to a worker, and what comes back? One whole request of a connection; and its reply, in the same memory in which replies of a connection wait.

use std::sync::Arc;

use plumbkv_resp::{ReplyWriter, Version};

use crate::clients::Entry;
use crate::command::CommandError;
use crate::reactor::pending::Pending;
use crate::reactor::pool::{Kept, PIECE_BYTES, Pool};
use crate::replies::Replies;
use crate::session::{Identity, Next, Session, Transaction};
use crate::shared::Shared;
use crate::watches;

/// Whose request it is. A connection may end meanwhile, and its place be another's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Ticket {
    /// The I/O thread.
    pub(crate) thread: usize,
    /// The place of the connection there.
    pub(crate) slot: usize,
    /// Its number, which no other connection has.
    pub(crate) client: u64,
}

/// A request that would have to wait.
pub(crate) struct Job {
    pub(crate) work: Work,
    pub(crate) version: Version,
    pub(crate) identity: Identity,
    pub(crate) entry: Arc<Entry>,
}

/// What is to be executed.
pub(crate) enum Work {
    /// The bytes of a request alone. A short one costs no more than the connection itself; a long one is counted.
    Request(Kept),
    /// What EXEC executes.
    Transaction(Box<Transaction>),
}

/// A request that was executed.
pub(crate) struct Done {
    pub(crate) ticket: Ticket,
    pub(crate) reply: Reply,
    /// The connection is to end behind its reply.
    pub(crate) closes: bool,
    /// Of the replies from now on.
    pub(crate) version: Version,
    /// Of the client from now on.
    pub(crate) identity: Identity,
}

pub(crate) enum Reply {
    /// No longer than [`PIECE_BYTES`]: it is sent with other replies of the turn.
    Short(Vec<u8>),
    /// Sent from where it lies.
    Long(Pending),
}

/// What a worker works with.
pub(super) struct Desk {
    replies: Replies,
    pool: Pool,
}

impl Desk {
    pub(super) fn new() -> Self {
        Self { replies: Replies::untouched(), pool: Pool::without_pieces() }
    }

    /// Takes the reply out.
    fn reply(&mut self, shared: &Shared, version: Version) -> Reply {
        let Self { replies, pool } = self;
        let reply = if replies.values.is_empty() && replies.bytes.len() <= PIECE_BYTES {
            Reply::Short(replies.bytes.as_slice().to_vec())
        } else {
            let mut pending = Pending::default();
            if pending.keep(shared, pool, replies, replies.all(), 0) {
                Reply::Long(pending)
            } else {
                Reply::Short(refusal(shared, version, &CommandError::REPLY_TOO_LONG))
            }
        };
        replies.clear(shared);
        reply
    }
}

impl Job {
    pub(super) fn execute(self, shared: &Shared, ticket: Ticket, desk: &mut Desk) -> Done {
        let Self { work, version, identity, entry } = self;
        let mut session = Session::on_behalf(shared, Arc::clone(&entry), version, identity);
        let request = match work {
            Work::Request(request) => request,
            Work::Transaction(transaction) => {
                session.execute_on_worker(shared, *transaction, &mut desk.replies);
                let (closes, version) = (session.is_closing(), session.version());
                let identity = session.identity().clone();
                return Done { ticket, reply: desk.reply(shared, version), closes, version, identity };
            }
        };
        let start = desk.replies.mark();
        let progress = session.advance(shared, request.bytes(), &mut desk.replies, start);
        if progress.next == Next::Refuse {
            // There was memory for its arguments when it came.
            desk.replies.bytes.extend_from_slice(&refusal(shared, version, &CommandError::OUT_OF_MEMORY));
        }
        session.forget_arguments(shared);
        drop(request);
        if entry.is_closed() {
            // WATCH of a connection that has ended meanwhile.
            watches::unwatch(shared, &entry);
        }
        let closes = progress.next == Next::Close;
        let identity = session.identity().clone();
        Done { ticket, reply: desk.reply(shared, version), closes, version, identity }
    }
}

fn refusal(shared: &Shared, version: Version, error: &CommandError) -> Vec<u8> {
    let mut bytes = Vec::new();
    ReplyWriter::new(&mut bytes, version).error_bytes(error.text());
    shared.command_stats.answer_error(error.text());
    bytes
}
