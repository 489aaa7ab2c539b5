//! Is this reply the right one? Looks at every byte of it.

use super::request::Asked;
use super::values::Values;
use crate::plan::Operation;
use plumbkv_resp::{Limits, Parsed, Scalar, peek_scalar};

/// What the bytes at the head of the input are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// The right reply, so many bytes long.
    Right(usize),
    /// Not all of it is there yet.
    Incomplete,
    /// A write refused for lack of memory.
    Refused(usize, String),
    /// A read that did not find its key.
    Missed(usize),
    /// Anything else; the text says what.
    Wrong(usize, String),
    /// Not the protocol: nothing that follows can be read.
    Broken(String),
}

/// Judges the reply at the head of `input` to what was `asked`.
#[must_use]
pub fn judge(input: &[u8], asked: &Asked, values: &Values, shape_only: bool) -> Answer {
    // Right replies are told by a comparison with the expected bytes; only others are parsed.
    match asked.operation {
        Operation::Set if input.starts_with(b"+OK\r\n") => Answer::Right(5),
        Operation::Del if input.starts_with(b":1\r\n") => Answer::Right(4),
        Operation::Get => judge_get(input, asked, values, shape_only),
        Operation::Set | Operation::Del => judge_other(input, asked),
    }
}

fn judge_get(input: &[u8], asked: &Asked, values: &Values, shape_only: bool) -> Answer {
    let length = asked.length as usize;
    let Some(start) = bulk_header(input, length) else { return judge_other(input, asked) };
    let end = start + length;
    if input.len() < end + 2 {
        return Answer::Incomplete;
    }
    let value = &input[start..end];
    if &input[end..end + 2] != b"\r\n" {
        return Answer::Broken(format!("a bulk reply of {length} bytes does not end in CR LF"));
    }
    if shape_only || values.is_right(asked.index, value) {
        return Answer::Right(end + 2);
    }
    let at = first_difference(value, asked, values);
    Answer::Wrong(
        end + 2,
        format!("GET of key {} gave {length} bytes of which byte {at} is wrong", asked.index),
    )
}

/// Where the value begins, if the input begins with `$<length>` CR LF.
fn bulk_header(input: &[u8], length: usize) -> Option<usize> {
    let rest = input.strip_prefix(b"$")?;
    let mut number = 0usize;
    for (place, byte) in rest.iter().enumerate().take(12) {
        match byte {
            b'0'..=b'9' => number = number * 10 + usize::from(byte - b'0'),
            b'\r' if place > 0 && number == length && rest.get(place + 1) == Some(&b'\n') => {
                return Some(place + 3);
            }
            _ => return None,
        }
    }
    None
}

fn first_difference(value: &[u8], asked: &Asked, values: &Values) -> usize {
    let mut right = vec![0; value.len()];
    values.write(asked.index, &mut right);
    value.iter().zip(&right).position(|(one, other)| one != other).unwrap_or(0)
}

fn judge_other(input: &[u8], asked: &Asked) -> Answer {
    let name = asked.operation.name().to_ascii_uppercase();
    match peek_scalar(input, &Limits::default()) {
        Parsed::Incomplete { .. } => Answer::Incomplete,
        Parsed::Invalid(error) => Answer::Broken(format!("{name} was answered by no RESP: {error}")),
        Parsed::Complete { value, consumed } => match value {
            Scalar::Null if asked.operation == Operation::Get => Answer::Missed(consumed),
            Scalar::Error(text) if text.starts_with(b"OOM ") && asked.operation == Operation::Set => {
                Answer::Refused(consumed, String::from_utf8_lossy(text).into_owned())
            }
            other => Answer::Wrong(
                consumed,
                format!("{name} of key {} was answered by {}", asked.index, describe(&other)),
            ),
        },
    }
}

/// A reply in words, short enough for a reason.
#[must_use]
pub fn describe(reply: &Scalar<'_>) -> String {
    let short = |bytes: &[u8]| {
        let text = String::from_utf8_lossy(&bytes[..bytes.len().min(120)]).into_owned();
        text.escape_debug().to_string()
    };
    match reply {
        Scalar::Simple(text) => format!("the status '{}'", short(text)),
        Scalar::Error(text) => format!("the error '{}'", short(text)),
        Scalar::Integer(number) => format!("the integer {number}"),
        Scalar::Bulk(bytes) => format!("a bulk of {} bytes", bytes.len()),
        Scalar::Null => "null".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(operation: Operation) -> Asked {
        Asked { operation, index: 3, length: 64 }
    }

    fn get_reply(index: u64, length: usize, values: &Values) -> Vec<u8> {
        let mut value = vec![0; length];
        values.write(index, &mut value);
        [format!("${length}\r\n").as_bytes(), &value, b"\r\n"].concat()
    }

    #[test]
    fn right_replies_are_right_and_every_shorter_piece_is_incomplete() {
        let values = Values::new(1, 64);
        let get = get_reply(3, 64, &values);
        for (operation, reply) in [
            (Operation::Set, b"+OK\r\n".to_vec()),
            (Operation::Del, b":1\r\n".to_vec()),
            (Operation::Get, get),
        ] {
            assert_eq!(judge(&reply, &asked(operation), &values, false), Answer::Right(reply.len()));
            for end in 0..reply.len() {
                let answer = judge(&reply[..end], &asked(operation), &values, false);
                assert_eq!(answer, Answer::Incomplete, "{operation:?} {end}");
            }
        }
    }

    #[test]
    fn lies_are_seen() {
        let values = Values::new(1, 64);
        let other_key = get_reply(4, 64, &values);
        let shorter = get_reply(3, 63, &values);
        let mut changed = get_reply(3, 64, &values);
        changed[40] ^= 1;
        for (operation, reply) in [
            (Operation::Get, other_key.as_slice()),
            (Operation::Get, &shorter),
            (Operation::Get, &changed),
            (Operation::Get, b"-ERR no\r\n"),
            (Operation::Get, b"+OK\r\n"),
            (Operation::Set, b"+QUEUED\r\n"),
            (Operation::Set, b"$-1\r\n"),
            (Operation::Del, b":0\r\n"),
            (Operation::Del, b":11\r\n"),
        ] {
            let answer = judge(reply, &asked(operation), &values, false);
            assert!(matches!(answer, Answer::Wrong(consumed, _) if consumed == reply.len()), "{answer:?}");
        }
        assert_eq!(judge(b"$-1\r\n", &asked(Operation::Get), &values, false), Answer::Missed(5));
        let oom = judge(b"-OOM full\r\n", &asked(Operation::Set), &values, false);
        assert_eq!(oom, Answer::Refused(11, "OOM full".to_owned()));
        assert!(matches!(
            judge(b"HTTP/1.1 400\r\n", &asked(Operation::Get), &values, false),
            Answer::Broken(_)
        ));
    }

    #[test]
    fn a_ceiling_is_held_to_the_length_only() {
        let values = Values::new(1, 64);
        let zeros = [b"$64\r\n".as_slice(), &[0; 64], b"\r\n"].concat();
        assert_eq!(judge(&zeros, &asked(Operation::Get), &values, true), Answer::Right(zeros.len()));
        assert!(matches!(judge(b"$2\r\nab\r\n", &asked(Operation::Get), &values, true), Answer::Wrong(8, _)));
    }
}
