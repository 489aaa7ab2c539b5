//! Transactions of a session: requests are queued behind MULTI, and EXEC executes them together.
//!
//! EXEC has an exclusive turn ([`crate::turns`]), so that no request of another client runs between its
//! commands. On a durable store its writes are one batch with one sync, and a worker executes it.

use std::sync::{Mutex, MutexGuard, PoisonError};

use plumbkv::Buffer;
use plumbkv_resp::{Head, Limits, Parsed, ReplyWriter, Request, RequestParser};

use super::{Client, Origin, run};
use crate::client_limits::Limit;
use crate::command::CommandError;
use crate::command::table::Id;
use crate::reactor::pool::PIECE_BYTES;
use crate::replies::Replies;
use crate::shared::Shared;
use crate::{monitor, watches};

/// The queue between MULTI and EXEC.
#[derive(Default)]
pub(crate) struct Transaction {
    /// The requests in the protocol's own form, in pages that count under the memory cap.
    requests: Option<Buffer>,
    count: usize,
    /// A request was refused: EXEC refuses all.
    is_failed: bool,
    /// A request is a script, which may take long.
    has_script: bool,
}

impl Transaction {
    pub(crate) fn count(&self) -> usize {
        self.count
    }

    pub(crate) fn is_failed(&self) -> bool {
        self.is_failed
    }

    pub(crate) fn has_script(&self) -> bool {
        self.has_script
    }

    /// EXEC will refuse all.
    pub(crate) fn fail(&mut self) {
        self.is_failed = true;
        self.requests = None;
    }

    /// Queues a request.
    ///
    /// # Errors
    /// There are too many, or there is no memory for it; EXEC will refuse all.
    pub(crate) fn queue(&mut self, shared: &Shared, request: &Request<'_>) -> Result<(), CommandError> {
        if self.is_failed {
            return Ok(());
        }
        let limits = &shared.settings.limits;
        let (most, longest) = (limits.count(Limit::QueuedCommands), limits.count(Limit::Request));
        if self.count >= most {
            let name = Limit::QueuedCommands.name();
            return Err(CommandError::new(format!(
                "ERR the transaction has more commands than {name} ({most})"
            )));
        }
        let words = || request.iter();
        let bytes = Head::new(b'*', request.len()).bytes().len()
            + words().map(|word| Head::new(b'$', word.len()).bytes().len() + word.len() + 2).sum::<usize>();
        let before = self.requests.as_ref().map_or(0, |requests| requests.len());
        if before + bytes > longest {
            let name = Limit::Request.name();
            return Err(CommandError::new(format!(
                "ERR the transaction is longer than {name} ({longest} bytes)"
            )));
        }
        self.make_room(shared, before + bytes).map_err(|_| CommandError::OUT_OF_MEMORY)?;
        let Some(requests) = &mut self.requests else { return Ok(()) };
        requests.fill(Head::new(b'*', request.len()).bytes());
        for word in words() {
            requests.fill(Head::new(b'$', word.len()).bytes());
            requests.fill(word);
            requests.fill(b"\r\n");
        }
        self.count += 1;
        self.has_script |= is_script(request);
        Ok(())
    }

    fn make_room(&mut self, shared: &Shared, bytes: usize) -> plumbkv::Result<()> {
        match &mut self.requests {
            Some(requests) if requests.capacity() >= bytes => Ok(()),
            Some(requests) => {
                requests.grow(bytes.max(requests.capacity() * 2)).or_else(|_| requests.grow(bytes))
            }
            None => {
                let spare = if bytes <= PIECE_BYTES { shared.spare_queues.take() } else { None };
                let requests = spare.map_or_else(|| shared.database.buffer(bytes.max(PIECE_BYTES)), Ok);
                self.requests = Some(requests?);
                Ok(())
            }
        }
    }

    /// Executes the queued requests for `client`, and writes the reply of EXEC. The thread has an exclusive turn.
    pub(crate) fn execute(mut self, shared: &Shared, client: &mut Client, output: &mut Replies) {
        let start = output.mark();
        if client.tally.call(&shared.command_stats, Id::Exec) {
            client.entry.record_command(Id::Exec);
        }
        // A script cannot be begun anew behind commands that are done.
        let is_hasty = std::mem::replace(&mut client.is_hasty, false);
        let origin = std::mem::replace(&mut client.origin, Origin::Transaction);
        // The user may have been changed since the commands were queued.
        client.identity.refresh(shared);
        let result = self.reply(shared, client, output);
        (client.is_hasty, client.origin) = (is_hasty, origin);
        if let Some(requests) = self.requests.take() {
            shared.spare_queues.give_back(requests);
        }
        if let Err(error) = result {
            output.go_back(start);
            ReplyWriter::new(&mut output.bytes, client.version).error_bytes(error.text());
            shared.command_stats.answer_error(error.text());
        }
        client.entry.record_queued(None);
        client.entry.tracking.end_caching();
        if shared.pushes.is_observed() {
            monitor::show_exec(shared, client);
        }
        watches::unwatch(shared, &client.entry);
    }

    fn reply(&self, shared: &Shared, client: &mut Client, output: &mut Replies) -> Result<(), CommandError> {
        if watches::is_broken(shared, &client.entry)? {
            ReplyWriter::new(&mut output.bytes, client.version).null_array();
            return Ok(());
        }
        let group = shared.database.begin_group();
        ReplyWriter::new(&mut output.bytes, client.version).array(self.count);
        let mut rest: &[u8] = self.requests.as_deref().unwrap_or_default();
        // They were accepted under the limits of their time.
        let mut parser = RequestParser::new(Limits { max_arguments: usize::MAX, ..Limits::default() });
        for _ in 0..self.count {
            let Parsed::Complete { value: request, consumed } = parser.parse(rest) else {
                return Err(CommandError::fixed("ERR a queued request cannot be read; please report this"));
            };
            if !run(shared, client, request, output) {
                return Err(CommandError::WOULD_BLOCK);
            }
            rest = &rest[consumed..];
        }
        group.commit().map_err(CommandError::from)
    }
}

/// Buffers of transactions that have ended, for the next ones: a page that is taken from the kernel and given back costs as
/// much as the commands of a short transaction. They count under the memory cap.
#[derive(Default)]
pub(crate) struct SpareQueues(Mutex<Vec<Buffer>>);

/// Most buffers that are kept.
const SPARE: usize = 8;

impl SpareQueues {
    // std Mutex: held for one push or pop.
    fn buffers(&self) -> MutexGuard<'_, Vec<Buffer>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn take(&self) -> Option<Buffer> {
        self.buffers().pop()
    }

    fn give_back(&self, mut buffer: Buffer) {
        if buffer.capacity() > PIECE_BYTES {
            return;
        }
        buffer.consume(buffer.len());
        let mut buffers = self.buffers();
        if buffers.len() < SPARE {
            buffers.push(buffer);
        }
    }
}

/// Whether a request is EXEC.
pub(super) fn is_exec(request: &Request<'_>) -> bool {
    request.len() == 1 && request.arg(0).eq_ignore_ascii_case(b"exec")
}

/// Whether a request is EVAL or one of its kind.
#[inline]
pub(super) fn is_script(request: &Request<'_>) -> bool {
    matches!(request.get(0), Some([b'e' | b'E', b'v' | b'V', ..]))
}

/// Whether a request is SWAPDB.
#[inline]
pub(super) fn is_swap(request: &Request<'_>) -> bool {
    matches!(request.get(0), Some([b's' | b'S', b'w' | b'W', ..]))
}
