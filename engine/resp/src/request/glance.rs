//! Which key will the next request want? A look at what has arrived already, so that memory can be asked for before it is needed.
//!
//! It understands only what clients nearly always send, and says nothing of anything else: what a request means is
//! [`RequestParser`](super::parse::RequestParser)'s to say.

use crate::line::short_head;

/// Requests with more arguments than this are not looked at.
const MOST_ARGUMENTS: usize = 5;

/// The second word of the whole request at the start of `bytes`, which is the key of most commands, and the length of that request. `None` when
/// it is not whole, not an array of 2 to 5 bulk strings, or longer than it is worth.
pub fn glance(bytes: &[u8]) -> Option<(&[u8], usize)> {
    let (count, mut at) = short_head(bytes, b'*', 0)?;
    if !(2..=MOST_ARGUMENTS).contains(&count) {
        return None;
    }
    let mut key: &[u8] = &[];
    for index in 0..count {
        let (length, start) = short_head(bytes, b'$', at)?;
        let end = start + length;
        if index == 1 {
            key = bytes.get(start..end)?;
        }
        at = end + 2;
    }
    (at <= bytes.len()).then_some((key, at))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_key_and_the_length_are_those_of_the_request() {
        for (bytes, expected) in [
            (&b"*2\r\n$3\r\nGET\r\n$1\r\nk\r\n*"[..], Some((&b"k"[..], 20))),
            (b"*3\r\n$3\r\nSET\r\n$2\r\nab\r\n$0\r\n\r\n", Some((b"ab", 27))),
            (b"*2\r\n$3\r\nGET\r\n$1\r\nk\r", None),
            (b"*2\r\n$3\r\nGET\r\n$1\r\n", None),
            (b"*1\r\n$4\r\nPING\r\n", None),
            (b"*6\r\n$4\r\nMGET\r\n", None),
            (b"GET k\r\n", None),
            (b"*\r\n", None),
            (b"*2\r\n$9999999\r\n", None),
            (b"*2\r\n$999999\r\nx", None),
            (b"", None),
        ] {
            assert_eq!(glance(bytes), expected, "{}", bytes.escape_ascii());
        }
    }
}
