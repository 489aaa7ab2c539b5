//! Is there a whole reply, and is it a plain one? Answered without allocating, for the load generator.

use crate::line::{self, Line};
use crate::{Limits, Parsed, ProtocolError};

/// The replies that both protocol versions share and that simple commands get.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scalar<'b> {
    /// `+OK`
    Simple(&'b [u8]),
    /// `-ERR …`, the code included.
    Error(&'b [u8]),
    /// `:1`
    Integer(i64),
    /// A string of bytes.
    Bulk(&'b [u8]),
    /// No value, in any of its three spellings.
    Null,
}

/// Which sort of reply [`skip_reply`] stepped over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReplyKind {
    /// A simple string.
    Simple,
    /// An error, simple or bulk.
    Error,
    /// An integer.
    Integer,
    /// A bulk string.
    Bulk,
    /// No value.
    Null,
    /// An array.
    Array,
    /// A map.
    Map,
    /// A set.
    Set,
    /// An out-of-band message.
    Push,
    /// A double.
    Double,
    /// A boolean.
    Boolean,
    /// An integer beyond 64 bits.
    BigNumber,
    /// Text with a format.
    Verbatim,
}

/// One item on the wire: all of a scalar, or the head of an aggregate.
pub(super) enum Item<'b> {
    Scalar(Scalar<'b>),
    BulkError(&'b [u8]),
    Double(f64),
    Boolean(bool),
    BigNumber(&'b [u8]),
    Verbatim {
        format: &'b [u8],
        text: &'b [u8],
    },
    Array(usize),
    Map(usize),
    Set(usize),
    Push(usize),
    /// Attributes: this many pairs that come before the reply they describe.
    Attribute(usize),
}

pub(super) type ItemResult<'b> = Result<(Item<'b>, usize), Unfinished>;

/// Why there is no item.
pub(super) enum Unfinished {
    Needs(usize),
    Error(ProtocolError),
}

impl From<ProtocolError> for Unfinished {
    fn from(error: ProtocolError) -> Self {
        Unfinished::Error(error)
    }
}

/// Most elements that an aggregate may announce: as many as Redis itself would put into one.
const MAX_ELEMENTS: i64 = i32::MAX as i64;

/// Reads the item at `at` and says where the next one starts.
pub(super) fn item<'b>(buf: &'b [u8], at: usize, limits: &Limits) -> ItemResult<'b> {
    let Some(&kind) = buf.get(at) else { return Err(Unfinished::Needs(at + 1)) };
    if !b"+-:$*_#,(!=%~>|".contains(&kind) {
        return Err(ProtocolError::UnknownReplyType(kind).into());
    }
    let start = at + 1;
    let malformed = || Unfinished::Error(ProtocolError::MalformedReply(kind));
    // A status or error may be longer than any length line, so it gets the bulk limit.
    let most =
        if matches!(kind, b'+' | b'-' | b'(') { limits.max_bulk_bytes } else { limits.max_inline_bytes };
    let end = match line::find_end(buf, start, start, most) {
        Line::End(end) => end,
        Line::Missing(_) => return Err(Unfinished::Needs(buf.len() + 1)),
        Line::Broken | Line::TooLong => return Err(malformed()),
    };
    let (text, next) = (&buf[start..end], end + 2);
    let scalar = |scalar, next| Ok((Item::Scalar(scalar), next));
    let integer = || line::integer(text).ok_or_else(malformed);
    match kind {
        b'+' => scalar(Scalar::Simple(text), next),
        b'-' => scalar(Scalar::Error(text), next),
        b':' => scalar(Scalar::Integer(integer()?), next),
        b'_' if text.is_empty() => scalar(Scalar::Null, next),
        b'#' if text == b"t" => Ok((Item::Boolean(true), next)),
        b'#' if text == b"f" => Ok((Item::Boolean(false), next)),
        b',' => {
            let number = std::str::from_utf8(text).ok().and_then(|t| t.parse().ok()).ok_or_else(malformed)?;
            Ok((Item::Double(number), next))
        }
        b'(' => {
            let digits = text.strip_prefix(b"-").unwrap_or(text);
            if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
                return Err(malformed());
            }
            Ok((Item::BigNumber(text), next))
        }
        b'$' | b'!' | b'=' => {
            let length = integer()?;
            if kind == b'$' && length == -1 {
                return scalar(Scalar::Null, next);
            }
            let length = usize::try_from(length).map_err(|_| malformed())?;
            if length > limits.max_bulk_bytes {
                return Err(malformed());
            }
            let end = next.saturating_add(length);
            let after = end.saturating_add(2);
            match buf.get(end..after) {
                Some(b"\r\n") => {}
                Some(_) => return Err(ProtocolError::BulkNotTerminated.into()),
                None if buf.get(end).is_some_and(|&b| b != b'\r') => {
                    return Err(ProtocolError::BulkNotTerminated.into());
                }
                None => return Err(Unfinished::Needs(after)),
            }
            let body = &buf[next..end];
            match (kind, body) {
                (b'$', _) => scalar(Scalar::Bulk(body), after),
                (b'!', _) => Ok((Item::BulkError(body), after)),
                (_, [_, _, _, b':', ..]) => {
                    Ok((Item::Verbatim { format: &body[..3], text: &body[4..] }, after))
                }
                _ => Err(malformed()),
            }
        }
        b'*' | b'%' | b'~' | b'>' | b'|' => {
            let count = integer()?;
            if kind == b'*' && count == -1 {
                return scalar(Scalar::Null, next);
            }
            let count = if count <= MAX_ELEMENTS { usize::try_from(count).ok() } else { None };
            let count = count.ok_or_else(malformed)?;
            let item = match kind {
                b'*' => Item::Array(count),
                b'%' => Item::Map(count),
                b'~' => Item::Set(count),
                b'>' => Item::Push(count),
                _ => Item::Attribute(count),
            };
            Ok((item, next))
        }
        _ => Err(malformed()),
    }
}

fn unfinished<T>(reason: Unfinished, have: usize) -> Parsed<T> {
    match reason {
        Unfinished::Needs(needed) => Parsed::Incomplete { needed: needed.max(have + 1) },
        Unfinished::Error(error) => Parsed::Invalid(error),
    }
}

/// Reads one reply that is expected to be a [`Scalar`]; any other sort is [`ProtocolError::NotScalar`].
pub fn peek_scalar<'b>(buf: &'b [u8], limits: &Limits) -> Parsed<Scalar<'b>> {
    match item(buf, 0, limits) {
        Ok((Item::Scalar(value), consumed)) => Parsed::Complete { value, consumed },
        Ok((Item::BulkError(text), consumed)) => Parsed::Complete { value: Scalar::Error(text), consumed },
        Ok(_) => Parsed::Invalid(ProtocolError::NotScalar(buf.first().copied().unwrap_or_default())),
        Err(reason) => unfinished(reason, buf.len()),
    }
}

/// Steps over one reply of any sort, with all that is nested in it, and says of which sort it was.
pub fn skip_reply(buf: &[u8], limits: &Limits) -> Parsed<ReplyKind> {
    match skip_one(buf, limits) {
        Ok((value, consumed)) => Parsed::Complete { value, consumed },
        Err(reason) => unfinished(reason, buf.len()),
    }
}

fn skip_one(buf: &[u8], limits: &Limits) -> Result<(ReplyKind, usize), Unfinished> {
    let mut at = 0;
    loop {
        let (item, next) = item(buf, at, limits)?;
        // Attributes come before the reply that they describe, which is the one asked for.
        let described = !matches!(item, Item::Attribute(_));
        at = skip_items(buf, next, children(&item), limits)?;
        if described {
            return Ok((kind(&item), at));
        }
    }
}

/// Steps over `open` replies from `at` on. Counting needs no stack, so nesting costs nothing here.
fn skip_items(buf: &[u8], mut at: usize, mut open: usize, limits: &Limits) -> Result<usize, Unfinished> {
    while open > 0 {
        let (item, next) = item(buf, at, limits)?;
        at = next;
        if !matches!(item, Item::Attribute(_)) {
            open -= 1;
        }
        open = open.saturating_add(children(&item));
    }
    Ok(at)
}

/// How many replies an item's head announces.
fn children(item: &Item<'_>) -> usize {
    match item {
        Item::Array(count) | Item::Set(count) | Item::Push(count) => *count,
        Item::Map(pairs) | Item::Attribute(pairs) => pairs.saturating_mul(2),
        _ => 0,
    }
}

fn kind(item: &Item<'_>) -> ReplyKind {
    match item {
        Item::Scalar(Scalar::Simple(_)) => ReplyKind::Simple,
        Item::Scalar(Scalar::Error(_)) | Item::BulkError(_) => ReplyKind::Error,
        Item::Scalar(Scalar::Integer(_)) => ReplyKind::Integer,
        Item::Scalar(Scalar::Bulk(_)) => ReplyKind::Bulk,
        Item::Scalar(Scalar::Null) => ReplyKind::Null,
        Item::Double(_) => ReplyKind::Double,
        Item::Boolean(_) => ReplyKind::Boolean,
        Item::BigNumber(_) => ReplyKind::BigNumber,
        Item::Verbatim { .. } => ReplyKind::Verbatim,
        Item::Array(_) => ReplyKind::Array,
        Item::Map(_) | Item::Attribute(_) => ReplyKind::Map,
        Item::Set(_) => ReplyKind::Set,
        Item::Push(_) => ReplyKind::Push,
    }
}
