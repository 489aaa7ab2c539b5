//! How are a command's words read? Integers as Redis reads them, options word by word.

use plumbkv_resp::Request;

use super::CommandError;
use crate::databases::COUNT;

/// The words after the command's name (or after the sub-command's name), borrowed from the receive buffer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arguments<'a> {
    request: Request<'a>,
    next: usize,
}

impl<'a> Arguments<'a> {
    /// The words of `request` from number `first` on.
    pub(crate) fn new(request: Request<'a>, first: usize) -> Self {
        Self { request, next: first }
    }

    /// A word of the request, counted from the command's name; empty behind the last one.
    pub(crate) fn at(&self, place: usize) -> &'a [u8] {
        self.request.arg(place)
    }

    /// How many words are left.
    pub(crate) fn len(&self) -> usize {
        self.request.len().saturating_sub(self.next)
    }

    /// Takes the next word; an empty one when there is none, which the arity check has already ruled out where it matters.
    pub(crate) fn word(&mut self) -> &'a [u8] {
        self.next().unwrap_or_default()
    }

    /// Takes the next word as an integer.
    pub(crate) fn integer(&mut self) -> Result<i64, CommandError> {
        integer(self.word())
    }

    /// Fails with Redis's syntax error when words are left over.
    pub(crate) fn finish(&self) -> Result<(), CommandError> {
        if self.len() == 0 { Ok(()) } else { Err(CommandError::SYNTAX) }
    }
}

impl<'a> Iterator for Arguments<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        let word = self.request.get(self.next)?;
        self.next += 1;
        Some(word)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.len(), Some(self.len()))
    }
}

impl ExactSizeIterator for Arguments<'_> {}

/// Whether `word` is the option `name`, in any case.
pub(crate) fn is(word: &[u8], name: &str) -> bool {
    word.eq_ignore_ascii_case(name.as_bytes())
}

/// Reads an integer, or answers Redis's error text for one that is not.
pub(crate) fn integer(word: &[u8]) -> Result<i64, CommandError> {
    parse_integer(word).ok_or(CommandError::NOT_AN_INTEGER)
}

/// Reads an integer of 32 bits, the number of a keyspace for instance.
pub(crate) fn short_integer(word: &[u8]) -> Result<i32, CommandError> {
    i32::try_from(integer(word)?).map_err(|_| {
        CommandError::fixed("ERR value is out of range, value must between -2147483648 and 2147483647")
    })
}

/// The number of a database.
pub(crate) fn database(number: i64) -> Result<u8, CommandError> {
    let number = u8::try_from(number).ok().filter(|number| *number < COUNT);
    number.ok_or(CommandError::DB_OUT_OF_RANGE)
}

/// Redis's `string2ll`: an optional minus, then decimal digits with no leading zero; no plus sign, no blanks.
pub(crate) fn parse_integer(word: &[u8]) -> Option<i64> {
    let (negative, digits) = match word {
        [b'-', rest @ ..] => (true, rest),
        _ => (false, word),
    };
    match digits {
        [b'0'] if !negative => return Some(0),
        [b'1'..=b'9', ..] if digits.len() <= 19 => {}
        _ => return None,
    }
    // Nineteen decimal digits fit an i128 with room to spare, so that the range is checked once, at the end.
    let mut magnitude = 0_i128;
    for &digit in digits {
        if !digit.is_ascii_digit() {
            return None;
        }
        magnitude = magnitude * 10 + i128::from(digit - b'0');
    }
    i64::try_from(if negative { -magnitude } else { magnitude }).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_are_read_as_redis_reads_them() {
        for (word, expected) in [
            ("0", Some(0)),
            ("-1", Some(-1)),
            ("42", Some(42)),
            ("9223372036854775807", Some(i64::MAX)),
            ("-9223372036854775808", Some(i64::MIN)),
            ("9223372036854775808", None),
            ("-9223372036854775809", None),
            ("99999999999999999999", None),
            ("", None),
            ("-", None),
            ("-0", None),
            ("01", None),
            ("+1", None),
            (" 1", None),
            ("1 ", None),
            ("1a", None),
        ] {
            assert_eq!(parse_integer(word.as_bytes()), expected, "{word:?}");
        }
    }
}
