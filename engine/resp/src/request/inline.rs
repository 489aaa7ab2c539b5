//! How is a line typed into `telnet` or `nc` split into arguments? By the rules of Redis's `sdssplitargs`.
//!
//! Words are separated by white space. `"…"` understands `\xHH \n \r \t \b \a` and takes any other escaped
//! byte as itself; `'…'` understands only `\'`. A quote may open inside a word but must end the word. A NUL
//! ends the line.

use crate::ProtocolError;

/// Splits `line` (without its line feed) into `most` arguments or fewer; decoded arguments go to `text`, their places to `spans`. False, and
/// nothing in either, when there are more.
pub(super) fn split(
    line: &[u8],
    most: usize,
    text: &mut Vec<u8>,
    spans: &mut Vec<(usize, usize)>,
) -> Result<bool, ProtocolError> {
    let line = line.split(|&b| b == 0).next().unwrap_or_default();
    let mut rest = line;
    loop {
        while let [first, tail @ ..] = rest
            && (first.is_ascii_whitespace() || *first == 0x0b)
        {
            rest = tail;
        }
        if rest.is_empty() {
            return Ok(true);
        }
        if spans.len() == most {
            spans.clear();
            text.clear();
            return Ok(false);
        }
        let start = text.len();
        rest = word(rest, text)?;
        spans.push((start, text.len()));
    }
}

/// Decodes one word into `text` and returns what follows it.
fn word<'l>(mut rest: &'l [u8], text: &mut Vec<u8>) -> Result<&'l [u8], ProtocolError> {
    loop {
        match rest {
            [] | [b' ' | b'\n' | b'\r' | b'\t', ..] => return Ok(rest),
            [b'"', tail @ ..] => return double_quoted(tail, text),
            [b'\'', tail @ ..] => return single_quoted(tail, text),
            [byte, tail @ ..] => {
                text.push(*byte);
                rest = tail;
            }
        }
    }
}

fn double_quoted<'l>(mut rest: &'l [u8], text: &mut Vec<u8>) -> Result<&'l [u8], ProtocolError> {
    loop {
        rest = match rest {
            [] => return Err(ProtocolError::UnbalancedQuotes),
            [b'"', tail @ ..] => return after_quote(tail),
            [b'\\', b'x', high, low, tail @ ..] if high.is_ascii_hexdigit() && low.is_ascii_hexdigit() => {
                text.push(nibble(*high) << 4 | nibble(*low));
                tail
            }
            [b'\\', escaped, tail @ ..] => {
                text.push(match escaped {
                    b'n' => b'\n',
                    b'r' => b'\r',
                    b't' => b'\t',
                    b'b' => 0x08,
                    b'a' => 0x07,
                    other => *other,
                });
                tail
            }
            [byte, tail @ ..] => {
                text.push(*byte);
                tail
            }
        }
    }
}

fn single_quoted<'l>(mut rest: &'l [u8], text: &mut Vec<u8>) -> Result<&'l [u8], ProtocolError> {
    loop {
        rest = match rest {
            [] => return Err(ProtocolError::UnbalancedQuotes),
            [b'\'', tail @ ..] => return after_quote(tail),
            [b'\\', b'\'', tail @ ..] => {
                text.push(b'\'');
                tail
            }
            [byte, tail @ ..] => {
                text.push(*byte);
                tail
            }
        }
    }
}

/// A closing quote must be followed by white space or the end of the line.
fn after_quote(rest: &[u8]) -> Result<&[u8], ProtocolError> {
    match rest {
        [] => Ok(rest),
        [next, ..] if next.is_ascii_whitespace() || *next == 0x0b => Ok(rest),
        _ => Err(ProtocolError::UnbalancedQuotes),
    }
}

/// The same rules for a line that is not kept: are its quotes balanced? Fed byte by byte, without the line's end.
///
/// (What is hexadecimal in `\xHH` is neither quote nor backslash, so the two digits can be taken for plain bytes.)
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Quotes {
    /// Between two words.
    #[default]
    Between,
    Word,
    Double,
    /// Behind a backslash in double quotes.
    DoubleEscape,
    Single,
    /// Behind a backslash in single quotes, where it escapes only a quote.
    SingleEscape,
    /// Behind a closing quote.
    Closed,
    /// Behind a NUL: nothing matters any more.
    Over,
    Unbalanced,
}

impl Quotes {
    pub(super) fn take(&mut self, byte: u8) {
        let blank = byte.is_ascii_whitespace() || byte == 0x0b;
        *self = match (*self, byte) {
            (Self::Over | Self::Unbalanced, _) => *self,
            (_, 0) if self.balanced() => Self::Over,
            (_, 0) => Self::Unbalanced,
            (Self::Between | Self::Closed, _) if blank => Self::Between,
            (Self::Closed, _) => Self::Unbalanced,
            (Self::Word, b' ' | b'\r' | b'\t') => Self::Between,
            (Self::Between | Self::Word, b'"') => Self::Double,
            (Self::Between | Self::Word, b'\'') => Self::Single,
            (Self::Between | Self::Word, _) => Self::Word,
            (Self::Double, b'"') | (Self::Single, b'\'') => Self::Closed,
            (Self::Double, b'\\') => Self::DoubleEscape,
            (Self::Double | Self::DoubleEscape, _) => Self::Double,
            (Self::Single | Self::SingleEscape, b'\\') => Self::SingleEscape,
            (Self::Single | Self::SingleEscape, _) => Self::Single,
        };
    }

    /// Whether the line may end here.
    pub(super) fn balanced(self) -> bool {
        matches!(self, Self::Between | Self::Word | Self::Closed | Self::Over)
    }
}

/// The value of one hexadecimal digit that was checked to be one.
fn nibble(digit: u8) -> u8 {
    match digit {
        b'0'..=b'9' => digit - b'0',
        b'a'..=b'f' => digit - b'a' + 10,
        _ => digit.wrapping_sub(b'A').wrapping_add(10),
    }
}
