//! What does one client's conversation amount to, apart from its socket? Bytes in, bytes out.

use std::sync::Arc;

use plumbkv_resp::{Limits, Parsed, ReplyWriter, RequestParser, Version};

use crate::clients::Entry;
use crate::command;
use crate::shared::Shared;
use crate::tally::Tally;

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
    pub(crate) tally: Tally,
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

/// Replies that may wait for a slow reader before its requests are no longer executed, in bytes.
pub(crate) const OUTPUT_HIGH_WATER: usize = 1 << 20;

/// The longest request, all its words together, in bytes; Redis's `client-query-buffer-limit`.
pub(crate) const REQUEST_LIMIT: usize = 1 << 30;

impl Session {
    /// A conversation with a client that has just connected.
    pub(crate) fn new(shared: &Shared, entry: Arc<Entry>) -> Self {
        let authenticated = !shared.settings.has_password();
        Self {
            parser: RequestParser::new(limits(authenticated)),
            client: Client {
                version: Version::Resp2,
                authenticated,
                closing: false,
                entry,
                tally: Tally::new(),
            },
            limits_are_for: authenticated,
        }
    }

    pub(crate) fn entry(&self) -> &Entry {
        &self.client.entry
    }

    /// Executes the whole requests in `input` in order and appends their replies to `output`, until the input is
    /// used up or `output` has grown past the high-water mark.
    pub(crate) fn advance(&mut self, shared: &Shared, input: &[u8], output: &mut Vec<u8>) -> Progress {
        let mut consumed = 0;
        let next = loop {
            if self.client.closing {
                break Next::Close;
            }
            if output.len() >= OUTPUT_HIGH_WATER {
                break Next::Drain;
            }
            if consumed == input.len() {
                break Next::Read { needed: 1 };
            }
            match self.parser.parse(&input[consumed..]) {
                Parsed::Complete { value: request, consumed: length } => {
                    command::run(shared, &mut self.client, request, output);
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
        self.client.tally.flush(&shared.command_stats);
        Progress { consumed, next }
    }

    /// Answers with an error and ends the conversation: what follows can no longer be understood.
    fn refuse(&mut self, shared: &Shared, text: &str, output: &mut Vec<u8>) {
        ReplyWriter::new(output, self.client.version).error(text);
        shared.command_stats.answer_error(text.as_bytes());
        self.client.closing = true;
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
