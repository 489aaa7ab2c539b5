//! Why did a command fail, in the words a client expects? Redis 7.0's texts wherever it has one.

use std::borrow::Cow;

use plumbkv_resp::Request;

use super::glob::TooCostly;
use crate::client_limits::Limit;

/// A failed command; its text is the whole error reply, code included, without the leading `-`.
#[derive(Debug)]
pub(crate) struct CommandError(Cow<'static, [u8]>);

/// The first word of an error of the store's files.
pub(super) const STORAGE_CODE: &str = "IOERR";

const WOULD_BLOCK: &str = "ERR the request was to be handed over, and was not; please report this";

/// As much of a client's own words as an error text repeats, as in Redis.
const QUOTED_BYTES: usize = 128;

impl CommandError {
    pub(crate) const SYNTAX: Self = Self::fixed("ERR syntax error");
    pub(crate) const NOT_AN_INTEGER: Self = Self::fixed("ERR value is not an integer or out of range");
    pub(crate) const OUT_OF_MEMORY: Self =
        Self::fixed("OOM command not allowed when used memory > 'maxmemory'.");
    pub(crate) const REPLY_TOO_LONG: Self =
        Self::fixed("OOM the reply does not fit under the memory cap (maxmemory)");
    pub(crate) const NO_AUTH: Self = Self::fixed("NOAUTH Authentication required.");
    pub(crate) const WRONG_PASSWORD: Self =
        Self::fixed("WRONGPASS invalid username-password pair or user is disabled.");
    pub(crate) const DB_OUT_OF_RANGE: Self = Self::fixed("ERR DB index is out of range");
    pub(crate) const NO_SUCH_KEY: Self = Self::fixed("ERR no such key");

    /// No answer: the request is to be executed where it may wait, or where nobody waits for it.
    pub(crate) const WOULD_BLOCK: Self = Self::fixed(WOULD_BLOCK);

    /// An error whose text is known beforehand.
    pub(crate) const fn fixed(text: &'static str) -> Self {
        Self(Cow::Borrowed(text.as_bytes()))
    }

    /// An error whose text names what it met.
    pub(crate) fn new(text: String) -> Self {
        Self(Cow::Owned(text.into_bytes()))
    }

    /// An error whose text was composed elsewhere.
    pub(crate) fn of_bytes(text: Vec<u8>) -> Self {
        Self(Cow::Owned(text))
    }

    /// The whole reply text.
    pub(crate) fn text(&self) -> &Cow<'static, [u8]> {
        &self.0
    }

    /// Whether it is [`WOULD_BLOCK`](Self::WOULD_BLOCK).
    pub(crate) fn would_block(&self) -> bool {
        matches!(&self.0, Cow::Borrowed(text) if *text == WOULD_BLOCK.as_bytes())
    }

    /// Whether a file of the store could not be read or written.
    pub(super) fn is_of_storage(&self) -> bool {
        self.0.starts_with(STORAGE_CODE.as_bytes())
    }

    /// The row exists in the table but its family does not serve it; a test holds that this cannot happen.
    pub(crate) fn not_served() -> Self {
        Self::fixed("ERR command is in the table but not served; please report this")
    }

    /// No such command. The name and up to 128 bytes of the arguments are repeated, each cut at a NUL byte as
    /// C's formatting does.
    pub(crate) fn unknown_command(request: &Request<'_>) -> Self {
        let mut arguments: Vec<u8> = Vec::new();
        for word in request.iter().skip(1) {
            if arguments.len() >= QUOTED_BYTES {
                break;
            }
            let room = QUOTED_BYTES - arguments.len();
            arguments.push(b'\'');
            arguments.extend_from_slice(quoted(word, room));
            arguments.extend_from_slice(b"' ");
        }
        let mut text = b"ERR unknown command '".to_vec();
        text.extend_from_slice(quoted(request.arg(0), QUOTED_BYTES));
        text.extend_from_slice(b"', with args beginning with: ");
        text.extend_from_slice(&arguments);
        Self(Cow::Owned(text))
    }

    /// `CLIENT foo`.
    pub(crate) fn unknown_sub_command(container: &str, sub: &[u8]) -> Self {
        let mut text = b"ERR unknown subcommand '".to_vec();
        text.extend_from_slice(quoted(sub, QUOTED_BYTES));
        text.extend_from_slice(format!("'. Try {} HELP.", container.to_uppercase()).as_bytes());
        Self(Cow::Owned(text))
    }

    /// Too many or too few words.
    pub(crate) fn wrong_arity(name: &str) -> Self {
        Self::new(format!("ERR wrong number of arguments for '{name}' command"))
    }

    /// EXEC itself was refused, so there will be no other one.
    pub(crate) fn aborted(reason: &Self) -> Self {
        let reason = reason.0.strip_prefix(b"ERR ").unwrap_or(&reason.0);
        Self(Cow::Owned([b"EXECABORT Transaction discarded because of: ", reason].concat()))
    }

    /// A lifetime that is zero, negative or does not fit.
    pub(crate) fn invalid_expiry(name: &str) -> Self {
        Self::new(format!("ERR invalid expire time in '{name}' command"))
    }

    /// A reply that is longer than a client may let wait.
    pub(crate) fn reply_too_long(limit: usize) -> Self {
        let name = Limit::Output.name();
        Self::new(format!("ERR the reply is longer than {name} ({limit} bytes); the connection is closed"))
    }

    /// `prefix`, then the client's own word, then `suffix`. Line breaks at the end are left out, as in
    /// Redis.
    pub(crate) fn quoting(prefix: &str, word: &[u8], suffix: &str) -> Self {
        let mut text = [prefix.as_bytes(), quoted(word, usize::MAX), suffix.as_bytes()].concat();
        let end = text.iter().rposition(|byte| !matches!(byte, b'\r' | b'\n'));
        text.truncate(end.map_or(0, |last| last + 1));
        Self(Cow::Owned(text))
    }

    /// A text with two words of the client's.
    pub(crate) fn quoting_two(prefix: &str, word: &[u8], between: &str, other: &[u8], suffix: &str) -> Self {
        let head = Self::quoting(prefix, word, between);
        let tail = Self::quoting("", other, suffix);
        Self(Cow::Owned([&**head.text(), &**tail.text()].concat()))
    }
}

fn quoted(word: &[u8], room: usize) -> &[u8] {
    let word = word.split(|&byte| byte == 0).next().unwrap_or_default();
    &word[..word.len().min(room)]
}

impl From<TooCostly> for CommandError {
    fn from(_: TooCostly) -> Self {
        let name = Limit::PatternSteps.name();
        Self::new(format!(
            "ERR the pattern takes more steps than {name} allows; write it with fewer stars and shorter classes"
        ))
    }
}

impl From<plumbkv::Error> for CommandError {
    fn from(error: plumbkv::Error) -> Self {
        use plumbkv::Error;
        match error {
            Error::OutOfMemory => Self::OUT_OF_MEMORY,
            Error::WouldBlock => Self::WOULD_BLOCK,
            Error::NotAnInteger => Self::NOT_AN_INTEGER,
            Error::Overflow => Self::fixed("ERR increment or decrement would overflow"),
            Error::ValueTooLong { .. } => {
                Self::fixed("ERR string exceeds maximum allowed size (proto-max-bulk-len)")
            }
            Error::KeyTooLong { len, max } => {
                Self::new(format!("ERR key of {len} bytes is longer than the {max} bytes a key may have"))
            }
            Error::TooLargeForCap { needed, cap } => Self::new(format!(
                "OOM value of {needed} bytes cannot fit into maxmemory ({cap} bytes); nothing was evicted"
            )),
            Error::TooLargeForBudget { .. } | Error::SnapshotsHoldMemory { .. } => {
                Self::new(format!("OOM {error}"))
            }
            Error::Io { .. } | Error::Corrupt { .. } => Self::new(format!("{STORAGE_CODE} {error}")),
            other => Self::new(format!("ERR {other}")),
        }
    }
}
