//! Client of a session: what commands know and change of the connection that sent them.

use std::sync::Arc;

use plumbkv_resp::{ReplyWriter, Request, Version};

use super::identity::{Identity, Origin};
use super::transaction::{Transaction, is_exec, is_script, is_swap};
use crate::acl;
use crate::clients::Entry;
use crate::command::CommandError;
use crate::command::table::{self, Id};
use crate::replies::{Mark, Replies};
use crate::shared::Shared;
use crate::tally::Tally;
use crate::{monitor, tracking, watches};

/// What commands know and change of the client that sent them.
pub(crate) struct Client {
    pub(crate) version: Version,
    pub(crate) identity: Identity,
    /// Where the requests come from that are executed now.
    pub(crate) origin: Origin,
    /// No further command is read; the connection closes once its replies are sent.
    pub(crate) closing: bool,
    /// The database that SELECT has chosen.
    pub(crate) database: u8,
    /// Requests of which the last one takes as much of the turn, besides itself.
    pub(crate) extra_work: usize,
    pub(crate) entry: Arc<Entry>,
    pub(crate) tally: Tally,
    /// What MULTI has begun.
    pub(crate) transaction: Option<Box<Transaction>>,
    /// Whether a script that takes long is to give up here, for others wait, and be run by a worker.
    pub(crate) is_hasty: bool,
    pub(crate) muting: Muting,
}

/// Replies that are not sent, as CLIENT REPLY has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Muting {
    #[default]
    None,
    All,
    /// The one to the command that asks for it, and the next one.
    Two,
    One,
}

impl Client {
    /// Chooses the protocol version of the replies.
    pub(crate) fn set_version(&mut self, version: Version) {
        self.version = version;
        self.entry.record_version(version);
    }

    /// SELECT. The choice of a script ends with the script, so it is not recorded for CLIENT LIST.
    pub(crate) fn select(&mut self, database: u8) {
        self.database = database;
        if self.origin != Origin::Script {
            self.entry.record_database(database);
        }
    }

    /// Takes the transaction that a request executes; `None` where it is not EXEC, the user may not execute that,
    /// or a queued request was refused.
    #[inline]
    pub(super) fn take_executable(&mut self, request: &Request<'_>) -> Option<Box<Transaction>> {
        self.transaction.take_if(|transaction| {
            is_exec(request) && !transaction.is_failed() && self.identity.may_execute(Id::Exec)
        })
    }

    /// Whether a request is a script or SWAPDB, which no other thread's requests may interrupt.
    #[inline]
    pub(super) fn runs_alone(&self, request: &Request<'_>) -> bool {
        (is_script(request) || is_swap(request))
            && self.transaction.is_none()
            && self.identity.is_authenticated()
    }

    /// Answers a request that is not executed because a script runs, unless it ends that.
    pub(super) fn answer_busy(&mut self, shared: &Shared, request: &Request<'_>, output: &mut Replies) {
        const BUSY: CommandError = CommandError::fixed(
            "BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE.",
        );
        let is = |place, name: &str| {
            request.get(place).is_some_and(|word| word.eq_ignore_ascii_case(name.as_bytes()))
        };
        let is_kill = request.len() == 2 && is(0, "script") && is(1, "kill");
        let result = if request.is_empty() {
            return;
        } else if is_kill {
            acl::authorize(shared, self, table::spec(Id::ScriptKill), request)
                .and_then(|()| shared.scripts.kill())
        } else {
            Err(BUSY)
        };
        let mut reply = ReplyWriter::new(&mut output.bytes, self.version);
        match result {
            Ok(()) => reply.simple("OK"),
            Err(error) => {
                reply.error_bytes(error.text());
                shared.command_stats.answer_error(error.text());
                if let Some(transaction) = &mut self.transaction {
                    transaction.fail();
                }
            }
        }
    }

    /// Whether a worker is to execute a transaction: a script in it cannot give up behind commands that are done.
    #[inline]
    pub(super) fn has_to_yield(&self, transaction: &Transaction) -> bool {
        self.is_hasty && transaction.has_script()
    }

    /// As the commands of a script see this client.
    pub(crate) fn of_script(&self) -> Self {
        Self {
            version: Version::Resp2,
            identity: self.identity.of_script(),
            origin: Origin::Script,
            closing: false,
            database: self.database,
            extra_work: 0,
            entry: Arc::clone(&self.entry),
            tally: Tally::new(),
            transaction: None,
            // A command of a script cannot be handed over.
            is_hasty: false,
            muting: Muting::None,
        }
    }

    /// Takes back the reply that begins at `start`, where CLIENT REPLY has it so.
    #[cold]
    pub(crate) fn mute(&mut self, output: &mut Replies, start: Mark) {
        if self.muting != Muting::None {
            output.go_back(start);
        }
        self.muting = match self.muting {
            Muting::Two => Muting::One,
            Muting::One => Muting::None,
            other => other,
        };
    }

    /// Ends the transaction that MULTI has begun, and all watches.
    pub(crate) fn discard(&mut self, shared: &Shared) {
        self.transaction = None;
        self.entry.record_queued(None);
        watches::unwatch(shared, &self.entry);
    }

    /// RESET: as after connecting.
    pub(crate) fn reset(&mut self, shared: &Shared) {
        self.discard(shared);
        tracking::stop(shared, &self.entry);
        monitor::stop(shared, &self.entry);
        self.set_version(Version::Resp2);
        self.select(0);
        // Its own reply is still skipped, if it is the one.
        if self.muting == Muting::All {
            self.muting = Muting::None;
        }
        self.identity = Identity::of_connection(shared);
        self.entry.set_user(None);
        self.entry.set_name("");
    }
}
