//! The Redis protocol under load: requests written from templates, replies judged by the bytes they must have.

use super::reply::{Answer, excerpt};
use super::request::{Asked, write_decimal};
use super::values::{KEY_BYTES, Values, write_key};
use crate::plan::Operation;
use plumbkv_resp::{Limits, Parsed, Scalar, peek_scalar};
use std::ops::Range;

/// Writes requests: each is a copy of its operation's template, in which the key and the value are written over.
#[derive(Debug)]
pub struct Writer {
    set: Template,
    get: Template,
    del: Template,
    /// Set for values of lengths other than the template's: what comes before the length, and after the value.
    set_head: Vec<u8>,
    after_value: Vec<u8>,
}

/// Longest value that a template holds.
const TEMPLATE_VALUE_BYTES_MAX: u32 = 4_096;

/// A whole request of key number 0.
#[derive(Debug)]
struct Template {
    bytes: Vec<u8>,
    key_at: usize,
    /// Where its value is; empty where it has none.
    value: Range<usize>,
}

impl Template {
    fn of(head: &[u8], after_key: &[u8], value_bytes: usize, after_value: &[u8]) -> Self {
        let bytes = [head, &[0; KEY_BYTES], after_key, &vec![0; value_bytes], after_value].concat();
        let start = head.len() + KEY_BYTES + after_key.len();
        Self { bytes, key_at: head.len(), value: start..start + value_bytes }
    }

    #[inline]
    fn write(&self, index: u64, values: &Values, out: &mut Vec<u8>) {
        let start = out.len();
        out.extend_from_slice(&self.bytes);
        let request = &mut out[start..];
        if let Some(key) = request[self.key_at..].first_chunk_mut() {
            write_key(index, key);
        }
        if !self.value.is_empty() {
            values.write(index, &mut request[self.value.clone()]);
        }
    }
}

impl Writer {
    /// For keys that begin with `prefix`, and values that live so long and mostly have `usual_length`.
    #[must_use]
    pub fn new(prefix: &[u8], expiry_ms: Option<u64>, usual_length: u32) -> Self {
        let head = |arguments: u32, name: &str| {
            let key_bytes = prefix.len() + KEY_BYTES;
            let mut head = format!("*{arguments}\r\n$3\r\n{name}\r\n${key_bytes}\r\n").into_bytes();
            head.extend_from_slice(prefix);
            head
        };
        let mut after_value = b"\r\n".to_vec();
        if let Some(ms) = expiry_ms {
            let ms = ms.to_string();
            after_value.extend_from_slice(format!("$2\r\nPX\r\n${}\r\n{ms}\r\n", ms.len()).as_bytes());
        }
        // A long value costs more to copy twice than a short head costs to put together.
        let usual_length = if usual_length <= TEMPLATE_VALUE_BYTES_MAX { usual_length } else { 0 };
        let set_head = head(if expiry_ms.is_some() { 5 } else { 3 }, "SET");
        let after_key = format!("\r\n${usual_length}\r\n");
        Self {
            set: Template::of(&set_head, after_key.as_bytes(), usual_length as usize, &after_value),
            get: Template::of(&head(2, "GET"), b"\r\n", 0, b""),
            del: Template::of(&head(2, "DEL"), b"\r\n", 0, b""),
            set_head,
            after_value,
        }
    }

    /// Appends one request to `out`.
    #[inline]
    pub fn write(&self, operation: Operation, index: u64, length: u32, values: &Values, out: &mut Vec<u8>) {
        match operation {
            Operation::Get => self.get.write(index, values, out),
            Operation::Del => self.del.write(index, values, out),
            Operation::Set if length as usize == self.set.value.len() => self.set.write(index, values, out),
            Operation::Set => self.write_set(index, length, values, out),
        }
    }

    fn write_set(&self, index: u64, length: u32, values: &Values, out: &mut Vec<u8>) {
        let mut key = [0; KEY_BYTES];
        write_key(index, &mut key);
        out.extend_from_slice(&self.set_head);
        out.extend_from_slice(&key);
        out.extend_from_slice(b"\r\n$");
        write_decimal(length, out);
        out.extend_from_slice(b"\r\n");
        let start = out.len();
        out.resize(start + length as usize, 0);
        values.write(index, &mut out[start..]);
        out.extend_from_slice(&self.after_value);
    }
}

/// Judges the reply at the head of `input` to what was `asked`.
#[inline]
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
    let at = values.first_difference(asked.index, value);
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
            // No length is padded with zeros.
            b'0'..=b'9' if place > 0 && number == 0 => return None,
            b'0'..=b'9' => number = number * 10 + usize::from(byte - b'0'),
            b'\r' if place > 0 && number == length && rest.get(place + 1) == Some(&b'\n') => {
                return Some(place + 3);
            }
            _ => return None,
        }
    }
    None
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
    match reply {
        Scalar::Simple(text) => format!("the status '{}'", excerpt(text)),
        Scalar::Error(text) => format!("the error '{}'", excerpt(text)),
        Scalar::Integer(number) => format!("the integer {number}"),
        Scalar::Bulk(bytes) => format!("a bulk of {} bytes", bytes.len()),
        Scalar::Null => "null".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::request::Age;
    use super::*;

    fn asked(operation: Operation) -> Asked {
        Asked { operation, index: 3, length: 64, age: Age::Newest }
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
            // A status is case-sensitive.
            (Operation::Set, b"+ok\r\n"),
            (Operation::Set, b"$-1\r\n"),
            (Operation::Del, b":0\r\n"),
            (Operation::Del, b":11\r\n"),
        ] {
            let answer = judge(reply, &asked(operation), &values, false);
            assert!(matches!(answer, Answer::Wrong(consumed, _) if consumed == reply.len()), "{answer:?}");
        }
        assert_eq!(judge(b"$-1\r\n", &asked(Operation::Get), &values, false), Answer::Missed(5));
        // RESP3 has a null of its own.
        assert_eq!(judge(b"_\r\n", &asked(Operation::Get), &values, false), Answer::Missed(3));
        // Its header promises another length than follows.
        let longer =
            [b"$64\r\n".as_slice(), &[get_reply(3, 64, &values)[5..69].to_vec(), b"x\r\n".to_vec()].concat()]
                .concat();
        let answer = judge(&longer, &asked(Operation::Get), &values, false);
        assert!(matches!(&answer, Answer::Broken(text) if text.contains("CR LF")), "{answer:?}");
        // Types of RESP3 that no request here is answered by.
        for (operation, reply) in [
            (Operation::Get, b"#t\r\n".as_slice()),
            (Operation::Get, b",1.5\r\n"),
            (Operation::Get, b"%1\r\n+a\r\n:1\r\n"),
            (Operation::Get, b"=8\r\ntxt:plum\r\n"),
            (Operation::Set, b"#t\r\n"),
            (Operation::Set, b">1\r\n+OK\r\n"),
            (Operation::Del, b",1\r\n"),
            (Operation::Del, b"(1\r\n"),
        ] {
            let answer = judge(reply, &asked(operation), &values, false);
            assert!(matches!(answer, Answer::Wrong(..) | Answer::Broken(_)), "{operation:?}: {answer:?}");
        }
        let padded = [b"$064\r\n".as_slice(), &get_reply(3, 64, &values)[5..]].concat();
        let answer = judge(&padded, &asked(Operation::Get), &values, false);
        assert!(matches!(answer, Answer::Wrong(..) | Answer::Broken(_)), "{answer:?}");
        let oom = judge(b"-OOM full\r\n", &asked(Operation::Set), &values, false);
        assert_eq!(oom, Answer::Refused(11, "OOM full".to_owned()));
        assert!(matches!(
            judge(b"HTTP/1.1 400\r\n", &asked(Operation::Get), &values, false),
            Answer::Broken(_)
        ));
    }

    #[test]
    fn requests_are_what_the_codec_would_write() {
        let values = Values::new(1, 64);
        let mut value = [0; 64];
        values.write(42, &mut value);
        for prefix in ["", "plumb:0123456789abcdef:"] {
            let key = format!("{prefix}key:000000000042");
            let key = key.as_bytes();
            for (expiry_ms, operation, expected) in [
                (None, Operation::Set, vec![b"SET".as_slice(), key, &value]),
                (Some(1_500), Operation::Set, vec![b"SET", key, &value, b"PX", b"1500"]),
                (None, Operation::Get, vec![b"GET", key]),
                (None, Operation::Del, vec![b"DEL", key]),
            ] {
                // From the template, and put together for another length.
                for usual_length in [64, 0, 65] {
                    let writer = Writer::new(prefix.as_bytes(), expiry_ms, usual_length);
                    let (mut ours, mut theirs) = (b"before".to_vec(), b"before".to_vec());
                    writer.write(operation, 42, 64, &values, &mut ours);
                    plumbkv_resp::compose(&expected, &mut theirs);
                    assert_eq!(ours, theirs);
                }
            }
        }
    }

    #[test]
    fn a_ceiling_is_held_to_the_length_only() {
        let values = Values::new(1, 64);
        let zeros = [b"$64\r\n".as_slice(), &[0; 64], b"\r\n"].concat();
        assert_eq!(judge(&zeros, &asked(Operation::Get), &values, true), Answer::Right(zeros.len()));
        assert!(matches!(judge(b"$2\r\nab\r\n", &asked(Operation::Get), &values, true), Answer::Wrong(8, _)));
    }
}
