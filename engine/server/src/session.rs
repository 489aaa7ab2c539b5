//! What does one client's conversation amount to, apart from its socket? Bytes in, bytes out.

use std::sync::Arc;
use std::time::Instant;

use plumbkv::{NonBlocking, PREFETCHED_KEYS};
use plumbkv_resp::{Parsed, ReplyWriter, Request, RequestParser, RequestSkipper, Version, glance};

use crate::clients::Entry;
use crate::command::{self, CommandError};
use crate::replies::{Mark, Replies};
use crate::shared::Shared;
use crate::tally::Tally;
use crate::turns::SharedTurn;

mod alone;
mod backlog;
mod client;
mod identity;
mod limits;
mod transaction;

use alone::{run_alone, take_turn};
pub(crate) use client::{Client, Muting};
pub(crate) use identity::{Identity, Origin};
use limits::{in_words, parser, too_long};
pub(crate) use transaction::{SpareQueues, Transaction};

/// One client's conversation.
pub(crate) struct Session {
    parser: RequestParser,
    /// Arguments that the parser may take memory for.
    granted: usize,
    /// Requests that may still be executed in this turn.
    left: usize,
    client: Client,
    /// A transaction that is to be executed by a worker.
    handed: Option<Box<Transaction>>,
    /// Which limits the parser has, so that they change only when this does: those of an authenticated client, and
    /// those of which version of the settings. The rules of the user are not older than that version.
    limits_are_for: (bool, u64),
    /// Since when the client owes a password, while it does.
    owes_since_ms: u64,
    /// It executes a request that was begun elsewhere: a pause does not hold it.
    is_on_behalf: bool,
}

/// How far [`Session::advance`] came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Progress {
    /// Bytes of the input that are done with.
    pub(crate) consumed: usize,
    /// Bytes of the replies to them.
    pub(crate) produced: usize,
    pub(crate) next: Next,
}

/// What the session waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Next {
    /// More bytes: `needed` in all, counted from the first that was not consumed.
    Read { needed: usize },
    /// That its replies are sent; there may be requests left in the input.
    Drain,
    /// That a pause of all clients is over; the next request is left in the input.
    Paused,
    /// That the next request, so many bytes of the input, is executed where it may wait.
    HandOver { length: usize },
    /// That the request which is not whole is given up: there is no memory for its arguments.
    Refuse,
    /// The end: send what there is, then close.
    Close,
}

/// Replies of one turn, in bytes: with more of them others get their turn before the next request is executed.
pub(crate) const TURN_BYTES: usize = 64 << 10;

/// Requests of one connection in a turn: they take some 30 µs, which others wait for each that sends so many.
pub(crate) const TURN_REQUESTS: usize = 128;

/// Arguments that every request may have without a look at the memory cap.
const FEW_ARGUMENTS: usize = 16;

/// Requests with more arguments than this are counted under the memory cap while they run, so many bytes for each: what commands make of them.
const MANY_ARGUMENTS: usize = 128;
const RUN_BYTES: u64 = 128;

/// The longest request of a client who still owes a password, in bytes.
const UNAUTHENTICATED_REQUEST: usize = 64 << 10;

impl Session {
    /// A conversation with a client that has just connected.
    pub(crate) fn new(shared: &Shared, entry: Arc<Entry>) -> Self {
        let identity = Identity::of_connection(shared);
        let (authenticated, version) = (identity.is_authenticated(), identity.version());
        let owes_since_ms = entry.connected_ms();
        Self {
            parser: parser(shared, authenticated),
            granted: FEW_ARGUMENTS,
            left: TURN_REQUESTS,
            client: Client {
                version: Version::Resp2,
                identity,
                origin: Origin::Client,
                closing: false,
                database: 0,
                extra_work: 0,
                entry,
                tally: Tally::new(),
                transaction: None,
                is_hasty: shared.workers.is_some(),
                muting: Muting::None,
            },
            handed: None,
            limits_are_for: (authenticated, version),
            owes_since_ms,
            is_on_behalf: false,
        }
    }

    /// One request of a conversation that another session has, executed in its place.
    pub(crate) fn on_behalf(
        shared: &Shared,
        entry: Arc<Entry>,
        version: Version,
        identity: Identity,
    ) -> Self {
        let mut session = Self::new(shared, entry);
        session.client.version = version;
        session.client.identity = identity;
        session.client.identity.refresh(shared);
        session.client.database = session.client.entry.database();
        session.client.is_hasty = false;
        session.is_on_behalf = true;
        session
    }

    pub(crate) fn entry(&self) -> &Arc<Entry> {
        &self.client.entry
    }

    /// Lets it execute as many requests as anybody may in one turn.
    pub(crate) fn begin_turn(&mut self) {
        self.left = TURN_REQUESTS;
    }

    /// Executes the whole requests in `input` in order and appends their replies to `output`, until the input is
    /// used up, or the turn's requests are, or the replies behind `start` are enough for one turn.
    pub(crate) fn advance(
        &mut self,
        shared: &Shared,
        input: &[u8],
        output: &mut Replies,
        start: Mark,
    ) -> Progress {
        let before = output.mark();
        let mut consumed = 0;
        let version = shared.settings.limits.version();
        let mut longest = self.apply_limits(shared, version);
        let high_water = self.high_water(shared);
        // Requests whose keys were asked for already.
        let mut ahead = 0usize;
        let mut last_bytes = 0;
        let is_paused = shared.pause.is_on(shared.clock_ms()) && !self.is_on_behalf;
        let mut since = Instant::now();
        self.client.tally.begin(since);
        let Some(mut turn) = take_turn(shared) else { return self.answer_busy(shared, input, output, start) };
        self.client.closing |= self.client.entry.is_killed();
        let next = loop {
            if self.client.closing {
                break Next::Close;
            }
            if output.since(start) >= TURN_BYTES.min(high_water) {
                break Next::Drain;
            }
            if consumed == input.len() {
                break Next::Read { needed: 1 };
            }
            if self.left == 0 {
                break Next::Drain;
            }
            // With one request there is nothing to be gained; where another one follows, there are often many.
            if ahead == 0 && last_bytes > 0 && input.len() - consumed >= last_bytes {
                let now = Instant::now();
                shared.counters.note_duration(now - since);
                since = now;
                ahead = look_ahead(shared, &input[consumed..]);
            }
            ahead = ahead.saturating_sub(1);
            match self.parser.parse(&input[consumed..]) {
                Parsed::Complete { value: request, .. }
                    if is_paused && shared.pause.holds(&self.client, &request) =>
                {
                    break Next::Paused;
                }
                Parsed::Complete { value: request, consumed: length } if length <= longest => {
                    let is_done = match self.client.take_executable(&request) {
                        None if self.client.runs_alone(&request) && NonBlocking::is_on() => false,
                        None if self.client.runs_alone(&request) => {
                            let is_done;
                            (turn, is_done) = run_alone(shared, &mut self.client, request, turn, output);
                            is_done
                        }
                        None => run(shared, &mut self.client, request, output),
                        Some(transaction)
                            if NonBlocking::is_on() || self.client.has_to_yield(&transaction) =>
                        {
                            self.handed = Some(transaction);
                            false
                        }
                        Some(transaction) => {
                            turn = self.execute(shared, *transaction, turn, output);
                            true
                        }
                    };
                    if self.granted > FEW_ARGUMENTS {
                        self.forget_arguments(shared);
                    }
                    if !is_done {
                        break Next::HandOver { length };
                    }
                    let work = 1 + std::mem::take(&mut self.client.extra_work);
                    self.left = self.left.saturating_sub(work);
                    consumed += length;
                    last_bytes = length;
                }
                Parsed::Incomplete { needed } if needed <= longest => {
                    if !self.parser.wants_grant() {
                        break Next::Read { needed };
                    }
                    if !self.grant_more(shared) {
                        break Next::Refuse;
                    }
                }
                Parsed::Complete { .. } | Parsed::Incomplete { .. } => {
                    let text = too_long(self.client.identity.is_authenticated(), longest);
                    self.refuse(shared, &text, output);
                }
                Parsed::Invalid(error) => {
                    let text = in_words(shared, &error);
                    self.refuse(shared, &text, output);
                }
            }
            if (self.client.identity.is_authenticated(), version) != self.limits_are_for {
                longest = self.apply_limits(shared, version);
            }
        };
        drop(turn);
        let end = Instant::now();
        shared.counters.note_duration(end - since);
        self.client.tally.flush(&shared.command_stats, end);
        let produced = output.since(before);
        shared.counters.output_bytes.add(produced as u64);
        Progress { consumed, produced, next }
    }

    /// Executes a transaction in an exclusive turn, in place of the shared one.
    #[cold]
    fn execute<'t>(
        &mut self,
        shared: &'t Shared,
        transaction: Transaction,
        turn: SharedTurn<'t>,
        output: &mut Replies,
    ) -> SharedTurn<'t> {
        self.client.extra_work += transaction.count();
        // With a shared turn it would wait for itself.
        drop(turn);
        let alone = shared.turns.exclusive();
        let start = output.mark();
        transaction.execute(shared, &mut self.client, output);
        self.client.mute(output, start);
        drop(alone);
        shared.turns.shared()
    }

    /// Answers requests while a script keeps all others from being executed: it can be ended, and nothing else.
    #[cold]
    fn answer_busy(&mut self, shared: &Shared, input: &[u8], output: &mut Replies, start: Mark) -> Progress {
        let before = output.mark();
        let mut consumed = 0;
        let next = loop {
            if self.client.closing {
                break Next::Close;
            }
            if output.since(start) >= TURN_BYTES {
                break Next::Drain;
            }
            if consumed == input.len() {
                break Next::Read { needed: 1 };
            }
            match self.parser.parse(&input[consumed..]) {
                Parsed::Complete { value: request, consumed: length } => {
                    self.client.answer_busy(shared, &request, output);
                    consumed += length;
                }
                Parsed::Incomplete { needed } => {
                    if !self.parser.wants_grant() {
                        break Next::Read { needed };
                    }
                    if !self.grant_more(shared) {
                        break Next::Refuse;
                    }
                }
                Parsed::Invalid(error) => {
                    let text = in_words(shared, &error);
                    self.refuse(shared, &text, output);
                }
            }
        };
        Progress { consumed, produced: output.since(before), next }
    }

    /// Takes the transaction that a worker is to execute, where the last request was its EXEC.
    pub(crate) fn take_handed(&mut self) -> Option<Box<Transaction>> {
        self.handed.take()
    }

    /// Executes a transaction of a client that another session has, on a worker.
    pub(crate) fn execute_on_worker(
        &mut self,
        shared: &Shared,
        transaction: Transaction,
        output: &mut Replies,
    ) {
        let alone = shared.turns.exclusive_for_worker();
        self.client.tally.begin(Instant::now());
        transaction.execute(shared, &mut self.client, output);
        drop(alone);
        self.client.tally.flush(&shared.command_stats, Instant::now());
    }

    /// Whether the reply to a request that was executed elsewhere is not sent.
    pub(crate) fn takes_back_reply(&mut self) -> bool {
        let is_muted = self.client.muting != Muting::None;
        if self.client.muting == Muting::One {
            self.client.muting = Muting::None;
        }
        is_muted
    }

    /// Whether the conversation is to end.
    pub(crate) fn is_closing(&self) -> bool {
        self.client.closing
    }

    /// Takes over what a transaction has changed on a worker.
    pub(crate) fn take_over(&mut self, version: Version, identity: Identity) {
        self.client.version = version;
        self.client.identity = identity;
        self.client.database = self.client.entry.database();
    }

    pub(crate) fn identity(&self) -> &Identity {
        &self.client.identity
    }

    pub(crate) fn version(&self) -> Version {
        self.client.version
    }

    /// Gives up the request that is not whole: what steps over it, and from where on in what was last given.
    pub(crate) fn abandon_request(&mut self, shared: &Shared) -> (RequestSkipper, usize) {
        let abandoned = self.parser.abandon();
        self.forget_arguments(shared);
        abandoned
    }

    /// Answers with an error and ends the conversation: what follows can no longer be understood.
    fn refuse(&mut self, shared: &Shared, text: &str, output: &mut Replies) {
        ReplyWriter::new(&mut output.bytes, self.client.version).error(text);
        shared.command_stats.answer_error(text.as_bytes());
        self.client.closing = true;
    }
}

/// Asks for the memory that the next requests will need; answers how many they are, at least one.
fn look_ahead(shared: &Shared, input: &[u8]) -> usize {
    let mut keys = [&[][..]; PREFETCHED_KEYS];
    let (mut count, mut at) = (0, 0);
    while count < PREFETCHED_KEYS
        && let Some((key, length)) = input.get(at..).and_then(glance)
    {
        keys[count] = key;
        count += 1;
        at += length;
    }
    if count > 1 {
        shared.database.prefetch(&keys[..count]);
    }
    // Where nothing was understood, the next look is some requests away.
    if count == 0 { PREFETCHED_KEYS } else { count }
}

/// Runs a request; one with very many arguments only where there is memory for what becomes of them. False where it would have to wait and this thread does not, or would
/// take so long that others should not wait for it: then nothing has happened.
#[must_use]
#[inline(always)] // Two places call it, and each request of the one passes here.
fn run(shared: &Shared, client: &mut Client, request: Request<'_>, output: &mut Replies) -> bool {
    let beside = if request.len() > MANY_ARGUMENTS { request.len() as u64 * RUN_BYTES } else { 0 };
    // To queue a request takes no longer than to copy it.
    if beside > 0
        && client.identity.is_authenticated()
        && client.transaction.is_none()
        && NonBlocking::is_on()
    {
        return false;
    }
    if beside > 0 && shared.client_memory.take(&shared.database, beside).is_err() {
        let error = CommandError::OUT_OF_MEMORY;
        ReplyWriter::new(&mut output.bytes, client.version).error_bytes(error.text());
        shared.command_stats.answer_error(error.text());
        return true;
    }
    let is_done = command::run(shared, client, request, output);
    if beside > 0 {
        shared.client_memory.give_back(&shared.database, beside);
    }
    is_done
}

#[cfg(test)]
#[path = "session_test.rs"]
mod tests;

#[cfg(test)]
#[path = "session_limits_test.rs"]
mod limits_tests;

#[cfg(test)]
#[path = "session_test_support.rs"]
pub(crate) mod test_support;
