//! How does the server step over a request that it has no room to keep? Byte by byte, and without keeping any.
//!
//! A request that is not kept still has to be followed to its end, or the connection would lose its place. The
//! skipper finds the end exactly where [`RequestParser`](super::parse::RequestParser) does, and says of the same
//! bytes that they are not RESP; in pieces of any size, and in memory of a fixed size.

use super::inline::Quotes;
use crate::line;
use crate::{Limits, ProtocolError};

/// Steps over one request, then over the next.
#[derive(Debug, Clone)]
pub struct RequestSkipper {
    limits: Limits,
    state: State,
    /// Arguments still to come, the current one included.
    remaining: usize,
}

/// What a piece of the stream was to the request that is stepped over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub enum Skipped {
    /// All of it belongs to the request, which goes on.
    All,
    /// The request has ended; the next one starts `consumed` bytes into the piece.
    Ended {
        /// Bytes of the piece that belong to the request.
        consumed: usize,
    },
    /// These bytes are not RESP. The connection has lost its place and must be closed after the error.
    Invalid(ProtocolError),
}

/// What the next byte belongs to.
#[derive(Debug, Clone)]
pub(super) enum State {
    /// The first byte of a request.
    Start,
    /// An inline line, of which so many bytes were seen.
    Inline(usize, Quotes),
    /// The count after `*`.
    Count(Number),
    /// The `$` of an argument.
    Head,
    /// The length after `$`.
    Length(Number),
    /// An argument of which so many bytes are missing.
    Body(usize),
    /// The CR behind an argument.
    BodyCr,
    /// The LF behind that.
    BodyLf,
}

/// The longest integer: a sign and 19 digits.
const DIGITS: usize = 20;

/// A length line as far as it was seen.
#[derive(Debug, Clone, Default)]
pub(super) struct Number {
    /// Its start; what is longer is no integer.
    text: [u8; DIGITS],
    /// Bytes of text seen, kept or not.
    length: usize,
    /// Its CR was seen.
    ends: bool,
}

impl RequestSkipper {
    /// A skipper that stands before the first byte of a request.
    pub fn new(limits: Limits) -> Self {
        Self { limits, state: State::Start, remaining: 0 }
    }

    /// A skipper that stands inside a request.
    pub(super) fn inside(limits: Limits, state: State, remaining: usize) -> Self {
        Self { limits, state, remaining }
    }

    /// Takes the next bytes of the stream. After [`Skipped::Ended`] the skipper stands before the next request.
    pub fn skip(&mut self, piece: &[u8]) -> Skipped {
        let mut at = 0;
        while let Some(&byte) = piece.get(at) {
            if let State::Body(missing) = self.state {
                let step = missing.min(piece.len() - at);
                at += step;
                self.state = if step == missing { State::BodyCr } else { State::Body(missing - step) };
                continue;
            }
            at += 1;
            match self.take(byte) {
                Ok(false) => {}
                Ok(true) => {
                    self.state = State::Start;
                    return Skipped::Ended { consumed: at };
                }
                Err(error) => {
                    self.state = State::Start;
                    return Skipped::Invalid(error);
                }
            }
        }
        Skipped::All
    }

    /// Takes one byte that is not of an argument; true when it was the request's last.
    fn take(&mut self, byte: u8) -> Result<bool, ProtocolError> {
        let longest = self.limits.max_inline_bytes;
        match &mut self.state {
            State::Start if byte == b'*' => self.state = State::Count(Number::default()),
            State::Start => {
                self.state = State::Inline(0, Quotes::default());
                return self.take(byte);
            }
            State::Inline(_, quotes) if byte == b'\n' => {
                return if quotes.balanced() { Ok(true) } else { Err(ProtocolError::UnbalancedQuotes) };
            }
            State::Inline(seen, _) if *seen == longest => return Err(ProtocolError::InlineTooLong),
            State::Inline(seen, quotes) => {
                *seen += 1;
                quotes.take(byte);
            }
            State::Count(number) => {
                let too_long = ProtocolError::MultibulkLineTooLong;
                if let Some(count) =
                    number.take(byte, longest, too_long, ProtocolError::InvalidMultibulkLength)?
                {
                    self.remaining = self.limits.arguments(count)?;
                    self.state = State::Head;
                    return Ok(self.remaining == 0);
                }
            }
            State::Head if byte == b'$' => self.state = State::Length(Number::default()),
            State::Head => return Err(ProtocolError::ExpectedBulk(byte)),
            State::Length(number) => {
                let too_long = ProtocolError::BulkLineTooLong;
                if let Some(length) =
                    number.take(byte, longest, too_long, ProtocolError::InvalidBulkLength)?
                {
                    self.state = State::Body(self.limits.bulk_bytes(length)?);
                }
            }
            State::BodyCr if byte == b'\r' => self.state = State::BodyLf,
            State::BodyLf if byte == b'\n' => {
                self.remaining = self.remaining.saturating_sub(1);
                self.state = State::Head;
                return Ok(self.remaining == 0);
            }
            // A body's own bytes are stepped over without a look at them.
            State::Body(_) | State::BodyCr | State::BodyLf => return Err(ProtocolError::BulkNotTerminated),
        }
        Ok(false)
    }
}

impl Number {
    /// Takes one byte; the integer when its line has ended.
    fn take(
        &mut self,
        byte: u8,
        longest: usize,
        too_long: ProtocolError,
        invalid: ProtocolError,
    ) -> Result<Option<i64>, ProtocolError> {
        if self.ends {
            let text = if byte == b'\n' { self.text.get(..self.length) } else { None };
            return text.and_then(line::integer).map(Some).ok_or(invalid);
        }
        if byte == b'\r' {
            self.ends = true;
        } else if self.length >= longest {
            return Err(too_long);
        } else {
            if let Some(place) = self.text.get_mut(self.length) {
                *place = byte;
            }
            self.length += 1;
        }
        Ok(None)
    }
}
