//! What does RESP look like on the wire? Bytes in, values out, and back; RESP2 and RESP3, both directions.
//!
//! This crate knows no sockets and no store. A parser is given the bytes that have arrived so far and says
//! [`Parsed::Complete`], [`Parsed::Incomplete`] or [`Parsed::Invalid`]; a composer appends bytes to a `Vec`.
//! So the same code serves the server, the load generator, the fuzzer and the golden files.
//!
//! - server half: [`RequestParser`] reads requests, [`RequestSkipper`] steps over one that is not kept, [`ReplyWriter`]
//!   writes replies;
//! - client half: [`compose`] writes requests, [`parse_reply`] reads replies as a tree, [`peek_scalar`] and
//!   [`skip_reply`] read them without allocating.
//!
//! Nothing here panics on input, nothing is `unsafe`, and no parser allocates more than a small multiple of
//! the bytes it was really given, whatever lengths those bytes announce.
//!
//! ```
//! use plumbkv_resp::{compose, parse_reply, Limits, Parsed, Reply, ReplyWriter, RequestParser, Version};
//!
//! let mut wire = Vec::new();
//! compose(&[b"GET", b"plumb"], &mut wire);
//!
//! let mut parser = RequestParser::new(Limits::default());
//! let Parsed::Complete { value: request, consumed } = parser.parse(&wire) else { unreachable!() };
//! assert_eq!((request.arg(0), request.arg(1), consumed), (&b"GET"[..], &b"plumb"[..], wire.len()));
//!
//! let mut out = Vec::new();
//! ReplyWriter::new(&mut out, Version::Resp2).bulk(b"line");
//! assert_eq!(out, b"$4\r\nline\r\n");
//! assert_eq!(
//!     parse_reply(&out, &Limits::default()),
//!     Parsed::Complete { value: Reply::Bulk(b"line"), consumed: out.len() }
//! );
//! ```
#![forbid(unsafe_code)]

mod error;
mod line;
mod reply;
mod request;

pub use error::ProtocolError;
pub use line::Head;
pub use reply::compose::ReplyWriter;
pub use reply::parse::{Reply, parse_reply};
pub use reply::scalar::{ReplyKind, Scalar, peek_scalar, skip_reply};
pub use request::compose::compose;
pub use request::glance::glance;
pub use request::parse::{ARGUMENT_BYTES, Arguments, Request, RequestParser};
pub use request::skip::{RequestSkipper, Skipped};

/// What a parser found at the start of the bytes it was given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub enum Parsed<T> {
    /// One whole value; the next one starts `consumed` bytes further on.
    Complete {
        /// The value.
        value: T,
        /// Bytes of the buffer that belong to it.
        consumed: usize,
    },
    /// The value is not whole yet. Nothing is consumed.
    Incomplete {
        /// Bytes, counted from the start of the buffer, known to be needed; always more than there are.
        needed: usize,
    },
    /// These bytes are not RESP. The connection has lost its place and must be closed after the error.
    Invalid(ProtocolError),
}

/// Which protocol version a connection speaks. A connection starts with RESP2; `HELLO 3` changes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Version {
    /// The protocol of Redis 2 to 5, and the default.
    #[default]
    Resp2,
    /// The protocol that adds maps, sets, doubles, booleans and pushes.
    Resp3,
}

/// How much a peer may announce before it is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Most arguments in one request. Default 1,048,576.
    pub max_arguments: usize,
    /// Longest bulk string, in bytes. Default 512 MiB, as Redis's `proto-max-bulk-len`.
    pub max_bulk_bytes: usize,
    /// Longest inline request and longest length line, in bytes. Default 64 KiB.
    pub max_inline_bytes: usize,
    /// Deepest nesting of aggregates in a reply. Default 64.
    pub max_depth: usize,
    /// False while a peer still owes a password; changes only the words in which it is refused.
    pub authenticated: bool,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            max_arguments: 1 << 20,
            max_bulk_bytes: 512 << 20,
            max_inline_bytes: 64 << 10,
            max_depth: 64,
            authenticated: true,
        }
    }
}

impl Limits {
    /// What Redis grants a peer that has not given the password yet: 10 arguments of 16 KiB. An inline request may have as
    /// many, where Redis makes no difference.
    pub fn unauthenticated() -> Self {
        Limits {
            max_arguments: 10,
            max_bulk_bytes: 16 << 10,
            max_inline_bytes: 16 << 10,
            authenticated: false,
            ..Limits::default()
        }
    }

    /// How many arguments the count `announced` after `*` stands for, or why it is refused.
    pub(crate) fn arguments(&self, announced: i64) -> Result<usize, ProtocolError> {
        match usize::try_from(announced) {
            Err(_) => Ok(0),
            Ok(count) if count <= self.max_arguments => Ok(count),
            Ok(_) if i32::try_from(announced).is_err() => Err(ProtocolError::InvalidMultibulkLength),
            Ok(_) if self.authenticated => Err(ProtocolError::TooManyArguments),
            Ok(_) => Err(ProtocolError::UnauthenticatedMultibulkLength),
        }
    }

    /// How many bytes the length `announced` after `$` stands for, or why it is refused.
    pub(crate) fn bulk_bytes(&self, announced: i64) -> Result<usize, ProtocolError> {
        let length = usize::try_from(announced).map_err(|_| ProtocolError::InvalidBulkLength)?;
        if length <= self.max_bulk_bytes {
            Ok(length)
        } else if self.authenticated {
            Err(ProtocolError::BulkTooLong)
        } else {
            Err(ProtocolError::UnauthenticatedBulkLength)
        }
    }
}
