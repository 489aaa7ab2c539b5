//! What does one client's conversation amount to, apart from its socket? Bytes in, bytes out.

use std::sync::Arc;

use plumbkv_resp::{Limits, Parsed, ReplyWriter, Request, RequestParser, RequestSkipper, Version};

use crate::clients::Entry;
use crate::command::{self, CommandError};
use crate::replies::{Mark, Replies};
use crate::shared::Shared;

/// One client's conversation.
pub(crate) struct Session {
    parser: RequestParser,
    client: Client,
    /// Which limits the parser has, so that they change only when this does.
    limits_are_for: bool,
}

/// What commands know and change of the client that sent them.
pub(crate) struct Client {
    pub(crate) version: Version,
    pub(crate) authenticated: bool,
    /// No further command is read; the connection closes once its replies are sent.
    pub(crate) closing: bool,
    pub(crate) entry: Arc<Entry>,
}

/// How far [`Session::advance`] came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Progress {
    /// Bytes of the input that are done with.
    pub(crate) consumed: usize,
    pub(crate) next: Next,
}

/// What the session waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Next {
    /// More bytes: `needed` in all, counted from the first that was not consumed.
    Read { needed: usize },
    /// That its replies are sent; there may be requests left in the input.
    Drain,
    /// The end: send what there is, then close.
    Close,
}

/// Replies of one turn, in bytes: with more of them others get their turn before the next request is executed.
pub(crate) const TURN_BYTES: usize = 64 << 10;

/// Requests with more arguments than this are counted under the memory cap while they run, so many bytes for each: what commands make of them.
const MANY_ARGUMENTS: usize = 1024;
const ARGUMENT_BYTES: u64 = 128;

/// The longest request, all its words together, in bytes; Redis's `client-query-buffer-limit`.
pub(crate) const REQUEST_LIMIT: usize = 1 << 30;

impl Session {
    /// A conversation with a client that has just connected.
    pub(crate) fn new(shared: &Shared, entry: Arc<Entry>) -> Self {
        let authenticated = !shared.settings.has_password();
        Self {
            parser: RequestParser::new(limits(authenticated)),
            client: Client { version: Version::Resp2, authenticated, closing: false, entry },
            limits_are_for: authenticated,
        }
    }

    pub(crate) fn entry(&self) -> &Entry {
        &self.client.entry
    }

    /// Executes the whole requests in `input` in order and appends their replies to `output`, until the input is
    /// used up or the replies behind `start` are enough for one turn.
    pub(crate) fn advance(
        &mut self,
        shared: &Shared,
        input: &[u8],
        output: &mut Replies,
        start: Mark,
    ) -> Progress {
        let before = output.bytes.len();
        let mut consumed = 0;
        let mut commands = 0;
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
                    run(shared, &mut self.client, request, output);
                    commands += u64::from(!request.is_empty());
                    consumed += length;
                }
                Parsed::Incomplete { needed } if needed > REQUEST_LIMIT => {
                    self.refuse(shared, "ERR Protocol error: request is longer than 1 GiB", output);
                }
                Parsed::Incomplete { needed } => break Next::Read { needed },
                Parsed::Invalid(error) => self.refuse(shared, &format!("ERR {error}"), output),
            }
            if self.client.authenticated != self.limits_are_for {
                self.limits_are_for = self.client.authenticated;
                self.parser.set_limits(limits(self.limits_are_for));
            }
        };
        shared.counters.commands.add(commands);
        shared.counters.output_bytes.add((output.bytes.len() - before) as u64);
        Progress { consumed, next }
    }

    pub(crate) fn version(&self) -> Version {
        self.client.version
    }

    /// Gives up the request that is not whole: what steps over it, and from where on in what was last given.
    pub(crate) fn abandon_request(&mut self) -> (RequestSkipper, usize) {
        self.parser.abandon()
    }

    /// Bytes that the arguments of an unfinished request take.
    pub(crate) fn argument_bytes(&self) -> u64 {
        self.parser.held_bytes() as u64
    }

    /// Answers with an error and ends the conversation: what follows can no longer be understood.
    fn refuse(&mut self, shared: &Shared, text: &str, output: &mut Replies) {
        ReplyWriter::new(&mut output.bytes, self.client.version).error(text);
        shared.counters.error_replies.add(1);
        self.client.closing = true;
    }
}

/// Runs a request; one with very many arguments only where there is memory for what becomes of them.
fn run(shared: &Shared, client: &mut Client, request: Request<'_>, output: &mut Replies) {
    let beside = if request.len() > MANY_ARGUMENTS { request.len() as u64 * ARGUMENT_BYTES } else { 0 };
    if beside > 0 && shared.client_memory.take(&shared.database, beside).is_err() {
        let text = CommandError::OUT_OF_MEMORY;
        ReplyWriter::new(&mut output.bytes, client.version).error_bytes(text.text());
        shared.counters.error_replies.add(1);
        return;
    }
    command::run(shared, client, request, output);
    if beside > 0 {
        shared.client_memory.give_back(&shared.database, beside);
    }
}

impl Client {
    /// Chooses the protocol version of the replies.
    pub(crate) fn set_version(&mut self, version: Version) {
        self.version = version;
        self.entry.record_version(version);
    }

    /// RESET: as after connecting.
    pub(crate) fn reset(&mut self, shared: &Shared) {
        self.set_version(Version::Resp2);
        self.authenticated = !shared.settings.has_password();
        self.entry.set_name("");
    }
}

/// Strangers may send little: the parser keeps what a request announces until it is whole.
fn limits(authenticated: bool) -> Limits {
    if authenticated { Limits::default() } else { Limits::unauthenticated() }
}

#[cfg(test)]
#[path = "session_test.rs"]
mod tests;

#[cfg(test)]
#[path = "session_test_support.rs"]
pub(crate) mod test_support;
