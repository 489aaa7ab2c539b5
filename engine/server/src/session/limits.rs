//! Limits of a session: the longest request, the memory of its arguments, and how much time a client has.

use plumbkv_resp::{ARGUMENT_BYTES, Limits, ProtocolError, RequestParser};

use super::{FEW_ARGUMENTS, Session, UNAUTHENTICATED_REQUEST};
use crate::client_limits::Limit;
use crate::shared::Shared;

/// How long a client may take to receive its last replies, in milliseconds.
const FAREWELL_MS: u64 = 10_000;

impl Session {
    /// Lets the request that is under way have twice as many arguments, where there is memory for them.
    pub(super) fn grant_more(&mut self, shared: &Shared) -> bool {
        let granted = self.granted * 2;
        if shared.client_memory.take(&shared.database, argument_bytes(granted)).is_err() {
            return false;
        }
        self.parser.grant(granted);
        shared.client_memory.give_back(&shared.database, argument_bytes(self.granted));
        self.granted = granted;
        true
    }

    /// Gives back what a request with many arguments took; also at the end of the conversation.
    pub(crate) fn forget_arguments(&mut self, shared: &Shared) {
        self.parser.trim();
        self.parser.grant(FEW_ARGUMENTS);
        shared.client_memory.give_back(&shared.database, argument_bytes(self.granted));
        self.granted = FEW_ARGUMENTS;
    }

    /// Gives the client the rules of its user that hold now, and the parser the limits; answers the longest
    /// request, in bytes.
    pub(super) fn apply_limits(&mut self, shared: &Shared, version: u64) -> usize {
        if self.limits_are_for != (self.client.identity.is_authenticated(), version) {
            self.client.identity.refresh(shared);
            let authenticated = self.client.identity.is_authenticated();
            if self.limits_are_for.0 && !authenticated {
                // RESET, or the rules of its user have changed.
                self.owes_since_ms = shared.clock_ms();
            }
            self.limits_are_for = (authenticated, version);
            self.parser.set_limits(limits(shared, authenticated));
        }
        let authenticated = self.client.identity.is_authenticated();
        let longest = shared.settings.limits.count(Limit::Request);
        if authenticated { longest } else { longest.min(UNAUTHENTICATED_REQUEST) }
    }

    /// Why this client has had its time, if it has; one whose connection is `closing` has only to take its replies.
    pub(crate) fn overdue(&self, shared: &Shared, closing: bool) -> Option<String> {
        let now_ms = shared.clock_ms();
        let entry = self.entry();
        if entry.is_killed() {
            return Some("was ended by CLIENT KILL or ACL DELUSER".to_owned());
        }
        let idle_ms = now_ms.saturating_sub(entry.last_active_ms());
        if closing && idle_ms > FAREWELL_MS {
            return Some(format!("did not take its last replies within {} s", FAREWELL_MS / 1000));
        }
        let timeout = shared.settings.timeout_seconds();
        if timeout > 0 && idle_ms > timeout.saturating_mul(1000) {
            return Some(format!("was idle for longer than timeout ({timeout} s)"));
        }
        let seconds = shared.settings.limits.get(Limit::AuthSeconds);
        let waited_ms = now_ms.saturating_sub(self.owes_since_ms);
        if !self.client.identity.is_authenticated() && waited_ms > seconds.saturating_mul(1000) {
            return Some(format!("gave no password within {} ({seconds} s)", Limit::AuthSeconds.name()));
        }
        None
    }
}

pub(super) fn parser(shared: &Shared, authenticated: bool) -> RequestParser {
    let mut parser = RequestParser::new(limits(shared, authenticated));
    parser.grant(FEW_ARGUMENTS);
    parser
}

/// What is counted for the arguments of a request; those of most are a part of the connection.
fn argument_bytes(granted: usize) -> u64 {
    if granted <= FEW_ARGUMENTS { 0 } else { (granted * ARGUMENT_BYTES) as u64 }
}

/// Strangers may send little: what a request announces is kept until it is whole.
fn limits(shared: &Shared, authenticated: bool) -> Limits {
    let set = &shared.settings.limits;
    let (arguments, bulk) = (set.count(Limit::Arguments), set.count(Limit::Bulk));
    let limits = if authenticated { Limits::default() } else { Limits::unauthenticated() };
    Limits {
        max_arguments: if authenticated { arguments } else { limits.max_arguments.min(arguments) },
        max_bulk_bytes: if authenticated { bulk } else { limits.max_bulk_bytes.min(bulk) },
        ..limits
    }
}

/// A refusal in Redis's words, followed by the name of the limit where it is one that can be set.
pub(super) fn in_words(shared: &Shared, error: &ProtocolError) -> String {
    let set = &shared.settings.limits;
    let limit = match error {
        ProtocolError::TooManyArguments => Limit::Arguments,
        ProtocolError::BulkTooLong => Limit::Bulk,
        _ => return format!("ERR {error}"),
    };
    format!("ERR {error}: more than {} ({})", limit.name(), set.get(limit))
}

pub(super) fn too_long(authenticated: bool, longest: usize) -> String {
    let (who, name) =
        if authenticated { ("", Limit::Request.name()) } else { ("unauthenticated ", "a stranger may send") };
    format!("ERR Protocol error: {who}request is longer than {name} ({longest} bytes)")
}
