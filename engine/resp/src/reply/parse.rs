//! Which value did the server send? A reply as a tree of borrowed values, for clients and tests.

use super::scalar::{Item, Scalar, Unfinished, item};
use crate::{Limits, Parsed, ProtocolError};

/// One reply. Text is borrowed from the buffer.
#[derive(Debug, Clone, PartialEq)]
pub enum Reply<'b> {
    /// `+OK`
    Simple(&'b [u8]),
    /// `-ERR …`, the code included; RESP3's bulk errors, too.
    Error(&'b [u8]),
    /// `:1`
    Integer(i64),
    /// A string of bytes.
    Bulk(&'b [u8]),
    /// No value, or no array.
    Null,
    /// Elements in order.
    Array(Vec<Reply<'b>>),
    /// Keys and values in the order they were sent.
    Map(Vec<(Reply<'b>, Reply<'b>)>),
    /// Elements whose order means nothing.
    Set(Vec<Reply<'b>>),
    /// A floating-point number.
    Double(f64),
    /// A truth value.
    Boolean(bool),
    /// An integer beyond 64 bits, as its digits.
    BigNumber(&'b [u8]),
    /// Text for a person.
    Verbatim {
        /// Three letters: `txt` or `mkd`.
        format: &'b [u8],
        /// The text itself.
        text: &'b [u8],
    },
    /// A message that answers no request.
    Push(Vec<Reply<'b>>),
}

/// Reads one reply. Attributes, which no PlumbKV or Redis command sends unasked, are read over.
///
/// Each call starts at the reply's first byte anew. A caller that expects large aggregates in many pieces
/// should read at least as much again before each further call, which keeps the whole linear.
pub fn parse_reply<'b>(buf: &'b [u8], limits: &Limits) -> Parsed<Reply<'b>> {
    let mut reader = Reader { buf, at: 0, limits };
    match reader.reply(0) {
        Ok(value) => Parsed::Complete { value, consumed: reader.at },
        Err(Unfinished::Needs(needed)) => Parsed::Incomplete { needed: needed.max(buf.len() + 1) },
        Err(Unfinished::Error(error)) => Parsed::Invalid(error),
    }
}

struct Reader<'b, 'l> {
    buf: &'b [u8],
    at: usize,
    limits: &'l Limits,
}

impl<'b> Reader<'b, '_> {
    fn reply(&mut self, depth: usize) -> Result<Reply<'b>, Unfinished> {
        loop {
            let (item, next) = item(self.buf, self.at, self.limits)?;
            self.at = next;
            return Ok(match item {
                Item::Scalar(Scalar::Simple(text)) => Reply::Simple(text),
                Item::Scalar(Scalar::Error(text)) | Item::BulkError(text) => Reply::Error(text),
                Item::Scalar(Scalar::Integer(value)) => Reply::Integer(value),
                Item::Scalar(Scalar::Bulk(bytes)) => Reply::Bulk(bytes),
                Item::Scalar(Scalar::Null) => Reply::Null,
                Item::Double(value) => Reply::Double(value),
                Item::Boolean(value) => Reply::Boolean(value),
                Item::BigNumber(digits) => Reply::BigNumber(digits),
                Item::Verbatim { format, text } => Reply::Verbatim { format, text },
                Item::Array(count) => Reply::Array(self.elements(count, depth)?),
                Item::Set(count) => Reply::Set(self.elements(count, depth)?),
                Item::Push(count) => Reply::Push(self.elements(count, depth)?),
                Item::Map(pairs) => Reply::Map(self.pairs(pairs, depth)?),
                Item::Attribute(pairs) => {
                    self.pairs(pairs, depth)?;
                    continue;
                }
            });
        }
    }

    fn elements(&mut self, count: usize, depth: usize) -> Result<Vec<Reply<'b>>, Unfinished> {
        let depth = self.deeper(depth)?;
        let mut elements = Vec::with_capacity(self.room(count));
        for _ in 0..count {
            elements.push(self.reply(depth)?);
        }
        Ok(elements)
    }

    fn pairs(&mut self, count: usize, depth: usize) -> Result<Vec<(Reply<'b>, Reply<'b>)>, Unfinished> {
        let depth = self.deeper(depth)?;
        let mut pairs = Vec::with_capacity(self.room(count));
        for _ in 0..count {
            pairs.push((self.reply(depth)?, self.reply(depth)?));
        }
        Ok(pairs)
    }

    fn deeper(&self, depth: usize) -> Result<usize, Unfinished> {
        if depth >= self.limits.max_depth {
            return Err(ProtocolError::NestedTooDeeply.into());
        }
        Ok(depth + 1)
    }

    /// Room to reserve for announced elements: never more than could be in the bytes at hand (the shortest,
    /// `_\r\n`, has three), and never much, since levels of nesting would each reserve it.
    fn room(&self, count: usize) -> usize {
        count.min((self.buf.len() - self.at) / 3).min(1024)
    }
}
