//! Where does a line end, and which integer does it hold?
//!
//! The integer rules are Redis's `string2ll`: no sign but `-`, no leading zero, no `-0`, the whole of i64.

/// The outcome of looking for the CR LF that ends a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Line {
    /// The line's text ends before this offset; its CR stands there and its LF follows.
    End(usize),
    /// Not yet. Everything before this offset was looked at and need not be again.
    Missing(usize),
    /// A CR stands in the line without its LF.
    Broken,
    /// The line has more text than allowed.
    TooLong,
}

/// Looks for CR LF in `buf`, from `from` on, in a line that began at `start` and may have `max` bytes of text.
///
/// The answer depends on the bytes alone and never on how they were cut into pieces.
pub(crate) fn find_end(buf: &[u8], start: usize, from: usize, max: usize) -> Line {
    let stop = buf.len().min(start.saturating_add(max).saturating_add(1));
    let from = from.max(start);
    let found = buf.get(from..stop).and_then(|rest| rest.iter().position(|&b| b == b'\r'));
    match found {
        Some(at) => match buf.get(from + at + 1) {
            Some(b'\n') => Line::End(from + at),
            Some(_) => Line::Broken,
            None => Line::Missing(from + at),
        },
        None if stop > start.saturating_add(max) => Line::TooLong,
        None => Line::Missing(stop),
    }
}

/// Reads a decimal integer under Redis's rules; `None` where Redis would not take it.
pub(crate) fn integer(text: &[u8]) -> Option<i64> {
    let (negative, digits) = match text {
        [b'-', rest @ ..] => (true, rest),
        all => (false, all),
    };
    match digits {
        [b'0'] if !negative => return Some(0),
        [b'1'..=b'9', ..] if digits.len() <= 19 => {}
        _ => return None,
    }
    // Summed downwards: i64::MIN has no positive counterpart.
    let mut value: i64 = 0;
    for digit in digits {
        let digit = digit.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        value = value.checked_mul(10)?.checked_sub(i64::from(digit))?;
    }
    if negative { Some(value) } else { value.checked_neg() }
}

/// Reads `<mark><number>\r\n` at `at`, a number of at most six digits, and says where the next line starts. `None` for anything else, whether
/// wrong or merely unusual.
#[inline]
pub(crate) fn short_head(buf: &[u8], mark: u8, at: usize) -> Option<(usize, usize)> {
    let digit = |byte: u8| usize::from(byte.wrapping_sub(b'0'));
    // One digit and two are nearly all of them.
    match *buf.get(at..)? {
        [first, a, b'\r', b'\n', ..] if first == mark && digit(a) < 10 => Some((digit(a), at + 4)),
        [first, a, b, b'\r', b'\n', ..] if first == mark && digit(a).wrapping_sub(1) < 9 && digit(b) < 10 => {
            Some((digit(a) * 10 + digit(b), at + 5))
        }
        [first, b'1'..=b'9', ref rest @ ..] if first == mark => {
            let mut value = digit(buf[at + 1]);
            for (index, &byte) in rest.iter().enumerate().take(6) {
                match byte {
                    b'0'..=b'9' if index < 5 => value = value * 10 + digit(byte),
                    b'\r' if rest.get(index + 1) == Some(&b'\n') => return Some((value, at + index + 4)),
                    _ => return None,
                }
            }
            None
        }
        _ => None,
    }
}

/// Writes a number in decimal to the end of `text`, and says where it begins. A number of 64 bits has up to 20 digits.
#[inline]
fn put_digits(text: &mut [u8], mut number: u64) -> usize {
    let mut at = text.len();
    loop {
        at -= 1;
        text[at] = b'0' + (number % 10) as u8;
        number /= 10;
        if number == 0 {
            return at;
        }
    }
}

/// Appends `value` in decimal. A length or an integer is in nearly every message, so no formatting machinery.
pub(crate) fn push_integer(out: &mut Vec<u8>, value: i64) {
    let mut text = [0u8; 20];
    let mut at = put_digits(&mut text, value.unsigned_abs());
    if value < 0 {
        at -= 1;
        text[at] = b'-';
    }
    out.extend_from_slice(&text[at..]);
}

/// Bytes of the longest head: the kind, 20 digits, and the end of the line.
const HEAD_BYTES: usize = 23;

/// The first line of everything that is counted: a kind, a number, and the end of the line.
///
/// ```
/// use plumbkv_resp::Head;
/// assert_eq!(Head::new(b'*', 3).bytes(), b"*3\r\n");
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Head {
    text: [u8; HEAD_BYTES],
    start: usize,
}

impl Head {
    /// `<kind><number>\r\n`.
    #[must_use]
    #[inline]
    pub fn new(kind: u8, number: usize) -> Self {
        let mut text = [0; HEAD_BYTES];
        let end = HEAD_BYTES - 2;
        text[end..].copy_from_slice(b"\r\n");
        let start = put_digits(&mut text[..end], number as u64) - 1;
        text[start] = kind;
        Self { text, start }
    }

    /// Its bytes.
    #[must_use]
    #[inline]
    pub fn bytes(&self) -> &[u8] {
        &self.text[self.start..]
    }
}

/// Appends the head of something.
pub(crate) fn push_head(out: &mut Vec<u8>, kind: u8, value: usize) {
    out.extend_from_slice(Head::new(kind, value).bytes());
}

/// Appends `$<len>\r\n<bytes>\r\n`.
pub(crate) fn push_bulk(out: &mut Vec<u8>, bytes: &[u8]) {
    // One growth step for the whole value instead of one for the head and one for the body.
    out.reserve(bytes.len() + 32);
    push_head(out, b'$', bytes.len());
    out.extend_from_slice(bytes);
    out.extend_from_slice(b"\r\n");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heads_are_those_of_the_protocol() {
        for number in [0, 1, 9, 10, 4096, u32::MAX as usize, usize::MAX] {
            assert_eq!(Head::new(b'$', number).bytes(), format!("${number}\r\n").as_bytes());
        }
    }

    #[test]
    fn integers_follow_string2ll() {
        let check =
            |text: &str, expected: Option<i64>| assert_eq!(integer(text.as_bytes()), expected, "{text}");
        check("0", Some(0));
        check("-1", Some(-1));
        check("9223372036854775807", Some(i64::MAX));
        check("-9223372036854775808", Some(i64::MIN));
        check("9223372036854775808", None);
        check("-9223372036854775809", None);
        check("99999999999999999999", None);
        for wrong in ["", "-", "-0", "00", "01", "+1", " 1", "1 ", "1a", "a"] {
            check(wrong, None);
        }
    }

    #[test]
    fn written_integers_read_back() {
        for value in [0, 1, -1, 9, 10, 99, 100, i64::MAX, i64::MIN] {
            let mut out = Vec::new();
            push_integer(&mut out, value);
            assert_eq!(out, value.to_string().into_bytes());
            assert_eq!(integer(&out), Some(value));
        }
    }

    #[test]
    fn short_heads_are_read_where_nothing_is_unusual() {
        for (text, expected) in [
            ("$0\r\n", Some((0, 4))),
            ("$7\r\nx", Some((7, 4))),
            ("$10\r\n", Some((10, 5))),
            ("$123\r\n", Some((123, 6))),
            ("$999999\r\n", Some((999_999, 9))),
            ("$1000000\r\n", None),
            ("$01\r\n", None),
            ("$012\r\n", None),
            ("$-1\r\n", None),
            ("$\r\n", None),
            ("$1\r", None),
            ("$12\r", None),
            ("$123\r", None),
            ("$123\rx", None),
            ("$1", None),
            ("*1\r\n", None),
            ("", None),
        ] {
            assert_eq!(short_head(text.as_bytes(), b'$', 0), expected, "{text}");
            let shifted = format!("abc{text}");
            assert_eq!(
                short_head(shifted.as_bytes(), b'$', 3),
                expected.map(|(n, at)| (n, at + 3)),
                "{text}"
            );
        }
        assert_eq!(short_head(b"", b'$', 1), None);
    }

    #[test]
    fn a_line_ends_at_its_cr_lf_only() {
        assert_eq!(find_end(b"12\r\n", 0, 0, 64), Line::End(2));
        assert_eq!(find_end(b"12\r", 0, 0, 64), Line::Missing(2));
        assert_eq!(find_end(b"12", 0, 0, 64), Line::Missing(2));
        assert_eq!(find_end(b"1\r2\r\n", 0, 0, 64), Line::Broken);
        assert_eq!(find_end(b"1234\r\n", 0, 0, 4), Line::End(4));
        assert_eq!(find_end(b"12345\r\n", 0, 0, 4), Line::TooLong);
        assert_eq!(find_end(b"12345", 0, 0, 4), Line::TooLong);
        assert_eq!(find_end(b"1234", 0, 0, 4), Line::Missing(4));
    }
}
