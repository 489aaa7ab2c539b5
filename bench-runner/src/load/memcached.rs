//! Memcached's text protocol under load: `set`, `get`, `delete`, one line each, and the value after its line.
//!
//! The protocol is described in memcached's `doc/protocol.txt`. Lifetimes are whole seconds there: a shorter one
//! is rounded up, since 0 would mean for ever.

use super::reply::{Answer, excerpt};
use super::request::{Asked, write_decimal};
use super::values::{KEY_BYTES, Values, write_key};
use crate::plan::Operation;

/// Longest line of a reply: a key has at most 250 bytes, an error may explain itself.
const LINE_BYTES: usize = 2_048;
/// Lifetimes from here on are taken for points in time: 30 days, in seconds.
const LONGEST_EXPIRY_S: u64 = 60 * 60 * 24 * 30;

/// Writes requests. What all requests of an operation begin with is written once.
#[derive(Debug)]
pub struct Writer {
    set_head: Vec<u8>,
    get_head: Vec<u8>,
    delete_head: Vec<u8>,
    /// Flags and lifetime.
    before_length: Vec<u8>,
}

impl Writer {
    /// For keys that begin with `prefix`, and values that live so long.
    #[must_use]
    pub fn new(prefix: &[u8], expiry_ms: Option<u64>) -> Self {
        let head = |name: &[u8]| [name, b" ", prefix].concat();
        let expiry_s = expiry_ms.map_or(0, |ms| ms.div_ceil(1_000).clamp(1, LONGEST_EXPIRY_S));
        Self {
            set_head: head(b"set"),
            get_head: head(b"get"),
            delete_head: head(b"delete"),
            before_length: format!(" 0 {expiry_s} ").into_bytes(),
        }
    }

    /// Appends one request to `out`.
    #[inline]
    pub fn write(&self, operation: Operation, index: u64, length: u32, values: &Values, out: &mut Vec<u8>) {
        let mut key = [0; KEY_BYTES];
        write_key(index, &mut key);
        out.extend_from_slice(match operation {
            Operation::Set => &self.set_head,
            Operation::Get => &self.get_head,
            Operation::Del => &self.delete_head,
        });
        out.extend_from_slice(&key);
        if operation == Operation::Set {
            out.extend_from_slice(&self.before_length);
            write_decimal(length, out);
            out.extend_from_slice(b"\r\n");
            let start = out.len();
            out.resize(start + length as usize, 0);
            values.write(index, &mut out[start..]);
        }
        out.extend_from_slice(b"\r\n");
    }
}

/// Judges the reply at the head of `input` to what was `asked` of a key that begins with `prefix`.
#[inline]
#[must_use]
pub fn judge(input: &[u8], asked: &Asked, values: &Values, shape_only: bool, prefix: &[u8]) -> Answer {
    match asked.operation {
        Operation::Set if input.starts_with(b"STORED\r\n") => Answer::Right(8),
        Operation::Del if input.starts_with(b"DELETED\r\n") => Answer::Right(9),
        Operation::Get if input.starts_with(b"END\r\n") => Answer::Missed(5),
        _ => judge_line(input, asked, values, shape_only, prefix),
    }
}

fn judge_line(input: &[u8], asked: &Asked, values: &Values, shape_only: bool, prefix: &[u8]) -> Answer {
    let Some(end) = memchr::memmem::find(&input[..input.len().min(LINE_BYTES)], b"\r\n") else {
        return if input.len() < LINE_BYTES {
            Answer::Incomplete
        } else {
            Answer::Broken(format!("a reply's line is longer than {LINE_BYTES} bytes"))
        };
    };
    let (line, next) = (&input[..end], end + 2);
    if let Some(header) = line.strip_prefix(b"VALUE ") {
        let answer = judge_value(header, &input[next..], asked, values, shape_only, prefix);
        return match answer {
            Answer::Right(used) => Answer::Right(next + used),
            Answer::Wrong(used, text) => Answer::Wrong(next + used, text),
            other => other,
        };
    }
    if asked.operation == Operation::Set && line.starts_with(b"SERVER_ERROR out of memory") {
        return Answer::Refused(next, excerpt(line));
    }
    let known = [
        b"STORED".as_slice(),
        b"NOT_STORED",
        b"EXISTS",
        b"NOT_FOUND",
        b"DELETED",
        b"END",
        b"ERROR",
        b"CLIENT_ERROR ",
        b"SERVER_ERROR ",
    ];
    let name = asked.operation.name();
    if known.iter().any(|known| line.starts_with(known)) {
        return Answer::Wrong(
            next,
            format!("{name} of key {} was answered by '{}'", asked.index, excerpt(line)),
        );
    }
    Answer::Broken(format!("{name} was answered by no memcached reply: '{}'", excerpt(line)))
}

/// A length as the protocol writes it: digits alone, none of them a zero in front of others.
fn length_of(word: &[u8]) -> Option<u32> {
    let is_plain = word.iter().all(u8::is_ascii_digit) && (word == b"0" || !word.starts_with(b"0"));
    is_plain.then(|| std::str::from_utf8(word).ok()?.parse().ok())?
}

/// `<key> <flags> <length>`, the value, and `END`. Bytes used are counted from after the line.
fn judge_value(
    header: &[u8],
    rest: &[u8],
    asked: &Asked,
    values: &Values,
    shape_only: bool,
    prefix: &[u8],
) -> Answer {
    const AFTER: &[u8] = b"\r\nEND\r\n";
    let broken = || Answer::Broken(format!("no header of a value: 'VALUE {}'", excerpt(header)));
    let mut words = header.split(|byte| *byte == b' ');
    let (Some(key), Some(_flags), Some(length)) = (words.next(), words.next(), words.next()) else {
        return broken();
    };
    let Some(length) = length_of(length) else { return broken() };
    let end = length as usize;
    let Some(after) = rest.get(end..end + AFTER.len()) else { return Answer::Incomplete };
    if after != AFTER {
        return Answer::Broken(format!("a value of {length} bytes is not followed by END"));
    }
    let (used, value) = (end + AFTER.len(), &rest[..end]);
    let wrong = |text: String| {
        Answer::Wrong(used, format!("{} of key {} {text}", asked.operation.name(), asked.index))
    };
    if asked.operation != Operation::Get {
        return wrong("was answered by a value".to_owned());
    }
    let mut digits = [0; KEY_BYTES];
    write_key(asked.index, &mut digits);
    if key.strip_prefix(prefix) != Some(digits.as_slice()) {
        return wrong(format!("gave the key '{}'", excerpt(key)));
    }
    if length != asked.length {
        return wrong(format!("gave {length} bytes instead of {}", asked.length));
    }
    if shape_only || values.is_right(asked.index, value) {
        return Answer::Right(used);
    }
    let at = values.first_difference(asked.index, value);
    wrong(format!("gave {length} bytes of which byte {at} is wrong"))
}

#[cfg(test)]
mod tests {
    use super::super::request::Age;
    use super::*;

    const PREFIX: &[u8] = b"p:";

    fn asked(operation: Operation) -> Asked {
        Asked { operation, index: 3, length: 64, age: Age::Newest }
    }

    fn value_of(index: u64, length: usize, values: &Values) -> Vec<u8> {
        let mut value = vec![0; length];
        values.write(index, &mut value);
        value
    }

    fn get_reply(key: &str, value: &[u8]) -> Vec<u8> {
        [format!("VALUE {key} 0 {}\r\n", value.len()).as_bytes(), value, b"\r\nEND\r\n"].concat()
    }

    #[test]
    fn requests_are_what_the_protocol_describes() {
        let values = Values::new(1, 64);
        let value = value_of(42, 5, &values);
        for (expiry_ms, operation, expected) in [
            (
                None,
                Operation::Set,
                [b"set p:key:000000000042 0 0 5\r\n".as_slice(), &value, b"\r\n"].concat(),
            ),
            (
                Some(1),
                Operation::Set,
                [b"set p:key:000000000042 0 1 5\r\n".as_slice(), &value, b"\r\n"].concat(),
            ),
            (
                Some(2_001),
                Operation::Set,
                [b"set p:key:000000000042 0 3 5\r\n".as_slice(), &value, b"\r\n"].concat(),
            ),
            (None, Operation::Get, b"get p:key:000000000042\r\n".to_vec()),
            (None, Operation::Del, b"delete p:key:000000000042\r\n".to_vec()),
        ] {
            let mut out = Vec::new();
            Writer::new(PREFIX, expiry_ms).write(operation, 42, 5, &values, &mut out);
            assert_eq!(out, expected);
        }
    }

    #[test]
    fn right_replies_are_right_and_every_shorter_piece_is_incomplete() {
        let values = Values::new(1, 64);
        let value = value_of(3, 64, &values);
        for (operation, reply) in [
            (Operation::Set, b"STORED\r\n".to_vec()),
            (Operation::Del, b"DELETED\r\n".to_vec()),
            (Operation::Get, get_reply("p:key:000000000003", &value)),
        ] {
            let answer = judge(&reply, &asked(operation), &values, false, PREFIX);
            assert_eq!(answer, Answer::Right(reply.len()));
            for end in 0..reply.len() {
                let answer = judge(&reply[..end], &asked(operation), &values, false, PREFIX);
                assert_eq!(answer, Answer::Incomplete, "{operation:?} {end}");
            }
        }
    }

    #[test]
    fn lies_are_seen() {
        let values = Values::new(1, 64);
        let key = "p:key:000000000003";
        let right = value_of(3, 64, &values);
        let mut changed = right.clone();
        changed[63] ^= 1;
        for (operation, reply) in [
            (Operation::Get, get_reply(key, &changed)),
            (Operation::Get, get_reply(key, &right[..63])),
            (Operation::Get, get_reply("p:key:000000000004", &right)),
            (Operation::Get, get_reply("key:000000000003", &right)),
            (Operation::Get, b"SERVER_ERROR no\r\n".to_vec()),
            (Operation::Get, b"STORED\r\n".to_vec()),
            (Operation::Set, b"NOT_STORED\r\n".to_vec()),
            (Operation::Set, get_reply(key, &right)),
            (Operation::Set, b"ERROR\r\n".to_vec()),
            (Operation::Del, b"NOT_FOUND\r\n".to_vec()),
        ] {
            let answer = judge(&reply, &asked(operation), &values, false, PREFIX);
            assert!(matches!(answer, Answer::Wrong(used, _) if used == reply.len()), "{answer:?}");
        }
        assert_eq!(judge(b"END\r\n", &asked(Operation::Get), &values, false, PREFIX), Answer::Missed(5));
        let full = b"SERVER_ERROR out of memory storing object\r\n";
        let answer = judge(full, &asked(Operation::Set), &values, false, PREFIX);
        assert!(matches!(answer, Answer::Refused(43, _)), "{answer:?}");
        let ceiling = get_reply(key, &[0; 64]);
        let answer = judge(&ceiling, &asked(Operation::Get), &values, true, PREFIX);
        assert_eq!(answer, Answer::Right(ceiling.len()));
    }

    #[test]
    fn what_is_no_memcached_reply_ends_the_conversation() {
        let values = Values::new(1, 64);
        let endless = vec![b'x'; LINE_BYTES];
        let header = |length: &str| {
            let line = format!("VALUE p:key:000000000003 0 {length}\r\n");
            [line.as_bytes(), &value_of(3, 64, &values), b"\r\nEND\r\n"].concat()
        };
        for reply in [
            b"+OK\r\n".as_slice(),
            b"VALUE p:key:000000000003 0\r\n",
            b"VALUE p:key:000000000003 0 -1\r\n",
            // Lengths that a lenient reader would take: padded, signed, none, and a block with one more word.
            &header("064"),
            &header("+64"),
            &header("00"),
            &header(""),
            &header("0x40"),
            b"VALUE p:key:000000000003 0 1\r\nab\r\nEND\r\n",
            &endless,
        ] {
            let answer = judge(reply, &asked(Operation::Get), &values, false, PREFIX);
            assert!(matches!(answer, Answer::Broken(_)), "{answer:?}");
        }
    }
}
