//! How does the server read a request that may arrive in any number of pieces?
//!
//! The parser keeps its place, so that a byte is looked at once even if a value of 512 MiB arrives in pieces of
//! one byte, and it keeps its argument vector, so that a request costs no allocation. Only offsets are stored,
//! never slices: the caller may move or grow its buffer between calls, as long as the buffer still starts at
//! the first byte of the same request.

use super::inline;
use super::skip::{self, RequestSkipper};
use crate::line::{self, Line};
use crate::{Limits, Parsed, ProtocolError};

/// Reads requests, multibulk or inline.
#[derive(Debug)]
pub struct RequestParser {
    limits: Limits,
    state: State,
    /// Start of what was not understood yet: the next length line, or the current bulk's body.
    position: usize,
    /// Up to here the current line was searched for its end, in vain.
    searched: usize,
    /// Arguments still to come.
    remaining: usize,
    /// Start and end of each argument, in the caller's buffer or, for an inline request, in `decoded`.
    spans: Vec<(usize, usize)>,
    /// The arguments of an inline request, after its quotes and escapes were resolved.
    decoded: Vec<u8>,
    /// Arguments for which memory may be taken without asking.
    granted: usize,
    /// The request has more than that.
    wants_grant: bool,
}

/// What stands at `position`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// The first byte of a request.
    Start,
    /// An inline line.
    Inline,
    /// The count after `*`.
    Count,
    /// The head of a bulk string.
    Head,
    /// A body of this many bytes.
    Body(usize),
}

/// Arguments kept allocated from one request to the next; a single request with more does not keep its memory.
const KEPT_ARGUMENTS: usize = 16;
/// Bytes of memory for each argument.
pub const ARGUMENT_BYTES: usize = size_of::<(usize, usize)>();
/// Decoded bytes kept allocated from one inline request to the next.
const KEPT_DECODED: usize = 128;

type Step = Result<usize, Stop>;

/// Why parsing does not go on.
enum Stop {
    Needs(usize),
    Error(ProtocolError),
}

impl From<ProtocolError> for Stop {
    fn from(error: ProtocolError) -> Self {
        Stop::Error(error)
    }
}

impl RequestParser {
    /// A parser for one connection.
    pub fn new(limits: Limits) -> Self {
        RequestParser {
            limits,
            state: State::Start,
            position: 0,
            searched: 0,
            remaining: 0,
            spans: Vec::new(),
            decoded: Vec::new(),
            granted: usize::MAX,
            wants_grant: false,
        }
    }

    /// Lets a request take memory for so many arguments, and lets it end as [`Parsed::Incomplete`] when it has more: the caller sees by
    /// [`wants_grant`](Self::wants_grant) that no bytes are missing, grants more, and parses the same bytes again. Without this call there is
    /// no such end.
    pub fn grant(&mut self, arguments: usize) {
        self.granted = arguments;
        let more = arguments.saturating_sub(self.spans.len());
        if self.wants_grant && more < isize::MAX as usize / ARGUMENT_BYTES {
            self.spans.reserve_exact(more);
        }
        self.wants_grant = false;
    }

    /// Whether the last request ended as incomplete for want of a grant.
    pub fn wants_grant(&self) -> bool {
        self.wants_grant
    }

    /// Changes the limits from the next length line on, for instance after a peer gave its password.
    pub fn set_limits(&mut self, limits: Limits) {
        self.limits = limits;
    }

    /// Reads one request. `buf` starts at the request's first byte, also when an earlier call with fewer bytes
    /// said [`Parsed::Incomplete`]; after [`Parsed::Complete`] the next call starts behind what was consumed.
    ///
    /// An empty line, `*0` and `*-1` give a request without arguments, which a server skips without a reply.
    pub fn parse<'a>(&'a mut self, buf: &'a [u8]) -> Parsed<Request<'a>> {
        if self.state == State::Start || buf.len() < self.position {
            self.begin();
            if let Some(consumed) = self.at_once(buf) {
                return Parsed::Complete { value: Request { bytes: buf, spans: &self.spans }, consumed };
            }
        }
        let consumed = match self.advance(buf) {
            Ok(consumed) => consumed,
            Err(Stop::Needs(needed)) => return Parsed::Incomplete { needed: needed.max(buf.len() + 1) },
            Err(Stop::Error(error)) => {
                self.state = State::Start;
                return Parsed::Invalid(error);
            }
        };
        let bytes = if self.state == State::Inline { &self.decoded[..] } else { buf };
        self.state = State::Start;
        Parsed::Complete { value: Request { bytes, spans: &self.spans }, consumed }
    }

    /// Gives up the request of which [`parse`](Self::parse) has just said that it is not whole, and the memory held for
    /// it. Answers what steps over the rest of it, and at which byte of that buffer the rest starts.
    pub fn abandon(&mut self) -> (RequestSkipper, usize) {
        let (state, start) = match self.state {
            // An inline request is not read before it is whole.
            State::Start | State::Inline => (skip::State::Start, 0),
            State::Count => (skip::State::Count(skip::Number::default()), self.position),
            State::Head => (skip::State::Head, self.position),
            State::Body(length) => (skip::State::Body(length), self.position),
        };
        let skipper = RequestSkipper::inside(self.limits, state, self.remaining);
        self.begin();
        (skipper, start)
    }

    /// Bytes held from one request to the next, beyond the parser itself.
    pub fn held_bytes(&self) -> usize {
        self.spans.capacity() * ARGUMENT_BYTES + self.decoded.capacity()
    }

    /// Gives back what a request with very many arguments took; to be called when that is done with.
    pub fn trim(&mut self) {
        if self.state == State::Start {
            self.begin();
        }
    }

    /// Forgets a request that was begun, without giving back memory that the next one will want again.
    fn begin(&mut self) {
        self.state = State::Start;
        self.position = 0;
        self.searched = 0;
        self.remaining = 0;
        self.spans.clear();
        self.spans.shrink_to(KEPT_ARGUMENTS);
        self.decoded.clear();
        self.decoded.shrink_to(KEPT_DECODED);
    }

    /// Reads a request of few arguments that are not long and lies here to its end, as nearly every one does. Of anything else it says nothing,
    /// and leaves the parser at the request's start.
    #[inline]
    fn at_once(&mut self, buf: &[u8]) -> Option<usize> {
        let (count, mut at) = line::short_head(buf, b'*', 0)?;
        let most = KEPT_ARGUMENTS.min(self.granted).min(self.limits.max_arguments);
        if count == 0 || count > most {
            return None;
        }
        for _ in 0..count {
            let head = line::short_head(buf, b'$', at);
            let end =
                head.filter(|(length, _)| *length <= self.limits.max_bulk_bytes).map(|(length, start)| {
                    self.spans.push((start, start + length));
                    start + length
                });
            match end {
                Some(end) if buf.get(end..end + 2) == Some(b"\r\n") => at = end + 2,
                _ => {
                    self.spans.clear();
                    return None;
                }
            }
        }
        Some(at)
    }

    /// Goes on until the request is whole (then its length), bytes are missing, or an error is found.
    fn advance(&mut self, buf: &[u8]) -> Step {
        loop {
            match self.state {
                State::Start => match buf.first() {
                    None => return Err(Stop::Needs(1)),
                    Some(b'*') => (self.position, self.searched, self.state) = (1, 1, State::Count),
                    Some(_) => self.state = State::Inline,
                },
                State::Inline => return self.inline(buf),
                State::Count => {
                    let too_long = ProtocolError::MultibulkLineTooLong;
                    let count = self.length(buf, too_long, ProtocolError::InvalidMultibulkLength)?;
                    self.remaining = self.limits.arguments(count)?;
                    if self.remaining == 0 {
                        return Ok(self.position);
                    }
                    self.state = State::Head;
                }
                State::Head => {
                    match buf.get(self.position) {
                        None => return Err(Stop::Needs(self.position + 1)),
                        Some(b'$') => self.position += 1,
                        Some(other) => return Err(ProtocolError::ExpectedBulk(*other).into()),
                    }
                    // A head that is cut in its line is read again from its `$`, but not searched again.
                    let length = match self.length(
                        buf,
                        ProtocolError::BulkLineTooLong,
                        ProtocolError::InvalidBulkLength,
                    ) {
                        Ok(length) => length,
                        Err(stop) => {
                            self.position -= 1;
                            return Err(stop);
                        }
                    };
                    self.state = State::Body(self.limits.bulk_bytes(length)?);
                }
                State::Body(length) => {
                    // No overflow: position <= buf.len() <= isize::MAX, and so is a length under any limit
                    // that makes sense; saturation keeps even a senseless one harmless.
                    let end = self.position.saturating_add(length);
                    match buf.get(end..end.saturating_add(2)) {
                        Some(b"\r\n") => {}
                        Some(_) => return Err(ProtocolError::BulkNotTerminated.into()),
                        None if buf.get(end).is_some_and(|&b| b != b'\r') => {
                            return Err(ProtocolError::BulkNotTerminated.into());
                        }
                        None => return Err(Stop::Needs(end.saturating_add(2))),
                    }
                    if self.spans.len() == self.granted {
                        self.wants_grant = true;
                        return Err(Stop::Needs(end.saturating_add(2)));
                    }
                    self.spans.push((self.position, end));
                    self.position = end + 2;
                    self.searched = self.position;
                    self.remaining -= 1;
                    if self.remaining == 0 {
                        return Ok(self.position);
                    }
                    self.state = State::Head;
                }
            }
        }
    }

    /// Reads the rest of a length line at `position` and steps over it.
    fn length(&mut self, buf: &[u8], too_long: ProtocolError, invalid: ProtocolError) -> Result<i64, Stop> {
        // Nearly every length has one to four digits: read them without searching for the end first.
        if let Some(text) = buf.get(self.position..) {
            let (mut value, mut at) = (0i64, 0);
            while let Some(digit @ b'0'..=b'9') = text.get(at)
                && at < 9
            {
                value = value * 10 + i64::from(digit - b'0');
                at += 1;
            }
            let leading_zero = at > 1 && text[0] == b'0';
            if at > 0 && !leading_zero && text.get(at..at + 2) == Some(b"\r\n") {
                self.position += at + 2;
                self.searched = self.position;
                return Ok(value);
            }
        }
        match line::find_end(buf, self.position, self.searched, self.limits.max_inline_bytes) {
            Line::End(end) => {
                let value = buf.get(self.position..end).and_then(line::integer).ok_or(invalid)?;
                self.position = end + 2;
                self.searched = self.position;
                Ok(value)
            }
            Line::Missing(searched) => {
                self.searched = searched;
                Err(Stop::Needs(buf.len() + 1))
            }
            Line::TooLong => Err(too_long.into()),
            Line::Broken => Err(invalid.into()),
        }
    }

    fn inline(&mut self, buf: &[u8]) -> Step {
        let limit = buf.len().min(self.limits.max_inline_bytes.saturating_add(1));
        let found = buf.get(self.searched..limit).and_then(|rest| rest.iter().position(|&b| b == b'\n'));
        let Some(end) = found.map(|at| self.searched + at) else {
            if limit > self.limits.max_inline_bytes {
                return Err(ProtocolError::InlineTooLong.into());
            }
            self.searched = limit;
            return Err(Stop::Needs(buf.len() + 1));
        };
        let line = &buf[..end];
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        match inline::split(line, self.granted, &mut self.decoded, &mut self.spans)? {
            true => Ok(end + 1),
            false => {
                self.wants_grant = true;
                Err(Stop::Needs(end + 1))
            }
        }
    }
}

/// One request: a command's name and its arguments, as slices of the caller's buffer.
///
/// (Those of an inline request are slices of the parser, where quotes and escapes were resolved; hence one
/// lifetime for both.)
#[derive(Debug, Clone, Copy)]
pub struct Request<'a> {
    bytes: &'a [u8],
    spans: &'a [(usize, usize)],
}

impl<'a> Request<'a> {
    /// Number of arguments, the command's name included.
    pub fn len(&self) -> usize {
        self.spans.len()
    }

    /// True for an empty line, `*0` and `*-1`.
    pub fn is_empty(&self) -> bool {
        self.spans.is_empty()
    }

    /// The argument at `index`, counted from the command's name; `None` behind the last one.
    pub fn get(&self, index: usize) -> Option<&'a [u8]> {
        let &(start, end) = self.spans.get(index)?;
        self.bytes.get(start..end)
    }

    /// The argument at `index`; empty behind the last one, for code that has checked the command's arity.
    pub fn arg(&self, index: usize) -> &'a [u8] {
        self.get(index).unwrap_or_default()
    }

    /// The arguments in order, the command's name first.
    pub fn iter(&self) -> Arguments<'a> {
        Arguments { bytes: self.bytes, spans: self.spans.iter() }
    }
}

impl<'a> IntoIterator for Request<'a> {
    type Item = &'a [u8];
    type IntoIter = Arguments<'a>;

    fn into_iter(self) -> Arguments<'a> {
        self.iter()
    }
}

impl<'a> IntoIterator for &Request<'a> {
    type Item = &'a [u8];
    type IntoIter = Arguments<'a>;

    fn into_iter(self) -> Arguments<'a> {
        self.iter()
    }
}

/// Iterator over the arguments of a [`Request`].
#[derive(Debug, Clone)]
pub struct Arguments<'a> {
    bytes: &'a [u8],
    spans: std::slice::Iter<'a, (usize, usize)>,
}

impl<'a> Iterator for Arguments<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        self.spans.next().map(|&(start, end)| self.bytes.get(start..end).unwrap_or_default())
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.spans.size_hint()
    }
}

impl ExactSizeIterator for Arguments<'_> {}

#[cfg(test)]
impl RequestParser {
    /// Arguments for which memory is held.
    pub(super) fn argument_capacity(&self) -> usize {
        self.spans.capacity()
    }
}
