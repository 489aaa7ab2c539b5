//! Which key will the next request want? A look at what has arrived already, so that memory can be asked for before it is needed.
//!
//! It understands only what clients nearly always send, and says nothing of anything else: what a request means is
//! [`RequestParser`](super::parse::RequestParser)'s to say.

/// Requests with more arguments than this are not looked at.
const MOST_ARGUMENTS: usize = 5;

/// The second word of the whole request at the start of `bytes`, which is the key of most commands, and the length of that request. `None` when
/// it is not whole, not an array of 2 to 5 bulk strings, or longer than it is worth.
pub fn glance(bytes: &[u8]) -> Option<(&[u8], usize)> {
    let (count, mut at) = number(bytes, b'*', 0)?;
    if !(2..=MOST_ARGUMENTS).contains(&count) {
        return None;
    }
    let mut key: &[u8] = &[];
    for index in 0..count {
        let (length, start) = number(bytes, b'$', at)?;
        let end = start + length;
        if index == 1 {
            key = bytes.get(start..end)?;
        }
        at = end + 2;
    }
    (at <= bytes.len()).then_some((key, at))
}

/// A number of up to six digits behind `mark` at `at`, and where the line behind it starts.
fn number(bytes: &[u8], mark: u8, at: usize) -> Option<(usize, usize)> {
    let line = bytes.get(at..)?;
    if *line.first()? != mark {
        return None;
    }
    let mut value = 0;
    for (index, byte) in line.iter().enumerate().skip(1).take(7) {
        match byte {
            b'0'..=b'9' => value = value * 10 + usize::from(byte - b'0'),
            b'\r' if index > 1 => return Some((value, at + index + 2)),
            _ => return None,
        }
    }
    None
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
