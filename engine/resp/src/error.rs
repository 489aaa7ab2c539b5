//! In which ways can bytes fail to be RESP, and in whose words is that said?
//!
//! `Display` gives the text after `-ERR `. Where Redis has a text for the case, it is Redis's to the byte,
//! since clients and their tests match on it.

/// Why bytes are not RESP. After one of these the place in the stream is lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ProtocolError {
    /// The number after `*` is no integer of 32 bits.
    #[error("Protocol error: invalid multibulk length")]
    InvalidMultibulkLength,
    /// The number after `*` is more than [`Limits::max_arguments`](crate::Limits).
    #[error("Protocol error: invalid multibulk length")]
    TooManyArguments,
    /// The number after `$` is no integer, or negative.
    #[error("Protocol error: invalid bulk length")]
    InvalidBulkLength,
    /// The number after `$` is more than [`Limits::max_bulk_bytes`](crate::Limits).
    #[error("Protocol error: invalid bulk length")]
    BulkTooLong,
    /// An argument of a request began with something else than `$`.
    #[error("Protocol error: expected '$', got '{}'", char::from(*.0))]
    ExpectedBulk(u8),
    /// The line after `*` does not end.
    #[error("Protocol error: too big mbulk count string")]
    MultibulkLineTooLong,
    /// The line after `$` does not end.
    #[error("Protocol error: too big bulk count string")]
    BulkLineTooLong,
    /// An inline request longer than [`Limits::max_inline_bytes`](crate::Limits).
    #[error("Protocol error: too big inline request")]
    InlineTooLong,
    /// An inline request with a quote that is not closed, or closed in the middle of a word.
    #[error("Protocol error: unbalanced quotes in request")]
    UnbalancedQuotes,
    /// More arguments than a peer without password may send.
    #[error("Protocol error: unauthenticated multibulk length")]
    UnauthenticatedMultibulkLength,
    /// A longer argument than a peer without password may send.
    #[error("Protocol error: unauthenticated bulk length")]
    UnauthenticatedBulkLength,
    /// The bytes of a bulk string are not followed by CR LF, so its length was wrong. (Redis skips two bytes
    /// unseen here and goes on reading in the wrong place.)
    #[error("Protocol error: expected CRLF after bulk")]
    BulkNotTerminated,
    /// A reply began with a byte that names no type.
    #[error("Protocol error: unknown reply type '{}'", char::from(*.0).escape_default())]
    UnknownReplyType(u8),
    /// A reply's line is not what its type requires, or does not end.
    #[error("Protocol error: malformed reply of type '{}'", char::from(*.0).escape_default())]
    MalformedReply(u8),
    /// A reply nested deeper than [`Limits::max_depth`](crate::Limits).
    #[error("Protocol error: reply nested too deeply")]
    NestedTooDeeply,
    /// [`peek_scalar`](crate::peek_scalar) met a type that it does not read.
    #[error("Protocol error: expected a scalar reply, got type '{}'", char::from(*.0).escape_default())]
    NotScalar(u8),
}
