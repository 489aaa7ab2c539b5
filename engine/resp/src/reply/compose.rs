//! How does the server write a reply, and what does a RESP3 type become for a client that speaks RESP2?
//!
//! The fallbacks are Redis's: a map becomes a flat array, a set or push an array, a boolean 1 or 0, and a
//! double, big number or verbatim text a bulk string.

use crate::Version;
use crate::line::{push_bulk, push_head, push_integer};

/// Appends replies to a buffer in one protocol version.
///
/// Aggregates are announced by their size and followed by their elements, each written by a call of its own;
/// nothing checks that the announced number follows.
#[derive(Debug)]
pub struct ReplyWriter<'o> {
    out: &'o mut Vec<u8>,
    version: Version,
}

impl<'o> ReplyWriter<'o> {
    /// A writer that appends to `out`.
    pub fn new(out: &'o mut Vec<u8>, version: Version) -> Self {
        ReplyWriter { out, version }
    }

    /// The version that is spoken.
    pub fn version(&self) -> Version {
        self.version
    }

    /// Bytes in the buffer, those before the writer's included.
    pub fn written(&self) -> usize {
        self.out.len()
    }

    /// Changes the version; `HELLO` answers in the version it was asked for.
    pub fn set_version(&mut self, version: Version) {
        self.version = version;
    }

    /// `+text`. A CR or LF in `text` is written as a space.
    pub fn simple(&mut self, text: &str) {
        self.line(b'+', text.as_bytes());
    }

    /// As [`simple`](Self::simple), for a text that may not be UTF-8.
    pub fn simple_bytes(&mut self, text: &[u8]) {
        self.line(b'+', text);
    }

    /// `-text`, where `text` is the whole of it, code included: `ERR no such key`. CR and LF become spaces.
    pub fn error(&mut self, text: &str) {
        self.line(b'-', text.as_bytes());
    }

    /// As [`error`](Self::error), for a text that quotes what a client sent and so may not be UTF-8.
    pub fn error_bytes(&mut self, text: &[u8]) {
        self.line(b'-', text);
    }

    /// `:value`.
    pub fn integer(&mut self, value: i64) {
        self.out.push(b':');
        push_integer(self.out, value);
        self.end();
    }

    /// A bulk string.
    pub fn bulk(&mut self, bytes: &[u8]) {
        push_bulk(self.out, bytes);
    }

    /// No value.
    pub fn null(&mut self) {
        self.either(b"$-1\r\n", b"_\r\n");
    }

    /// No array: what RESP2 distinguishes from no value.
    pub fn null_array(&mut self) {
        self.either(b"*-1\r\n", b"_\r\n");
    }

    /// Announces `count` elements.
    pub fn array(&mut self, count: usize) {
        push_head(self.out, b'*', count);
    }

    /// Announces `pairs` keys, each followed by its value.
    pub fn map(&mut self, pairs: usize) {
        match self.version {
            Version::Resp2 => push_head(self.out, b'*', pairs.saturating_mul(2)),
            Version::Resp3 => push_head(self.out, b'%', pairs),
        }
    }

    /// Announces a set of `count` elements.
    pub fn set(&mut self, count: usize) {
        push_head(self.out, if self.version == Version::Resp3 { b'~' } else { b'*' }, count);
    }

    /// Announces an out-of-band message of `count` elements.
    pub fn push(&mut self, count: usize) {
        push_head(self.out, if self.version == Version::Resp3 { b'>' } else { b'*' }, count);
    }

    /// A double, in the fewest digits that read back as the same number.
    pub fn double(&mut self, value: f64) {
        let text = if value.is_nan() {
            "nan".to_owned()
        } else if value.is_infinite() {
            if value > 0.0 { "inf" } else { "-inf" }.to_owned()
        } else if value != 0.0 && !(1e-5..1e17).contains(&value.abs()) {
            format!("{value:e}")
        } else {
            value.to_string()
        };
        self.double_text(&text);
    }

    /// A double as the caller has written it, for example with 17 digits.
    pub fn double_text(&mut self, text: &str) {
        match self.version {
            Version::Resp2 => self.bulk(text.as_bytes()),
            Version::Resp3 => self.line(b',', text.as_bytes()),
        }
    }

    /// A truth value.
    pub fn boolean(&mut self, value: bool) {
        if value { self.either(b":1\r\n", b"#t\r\n") } else { self.either(b":0\r\n", b"#f\r\n") }
    }

    /// An integer beyond 64 bits, given as its decimal digits.
    pub fn big_number(&mut self, digits: &str) {
        self.big_number_bytes(digits.as_bytes());
    }

    /// As [`big_number`](Self::big_number), for a text of a script, which may be anything.
    pub fn big_number_bytes(&mut self, digits: &[u8]) {
        match self.version {
            Version::Resp2 => self.bulk(digits),
            Version::Resp3 => self.line(b'(', digits),
        }
    }

    /// Text meant for a person. `format` is three letters, `txt` or `mkd`; another length is cut or filled up.
    pub fn verbatim(&mut self, format: &str, text: &[u8]) {
        if self.version == Version::Resp2 {
            return self.bulk(text);
        }
        push_head(self.out, b'=', text.len() + 4);
        let mut letters = format.bytes().filter(u8::is_ascii_alphanumeric).chain(std::iter::repeat(b' '));
        self.out.extend(letters.by_ref().take(3));
        self.out.push(b':');
        self.out.extend_from_slice(text);
        self.end();
    }

    fn either(&mut self, resp2: &[u8], resp3: &[u8]) {
        self.out.extend_from_slice(if self.version == Version::Resp3 { resp3 } else { resp2 });
    }

    fn line(&mut self, kind: u8, text: &[u8]) {
        self.out.reserve(text.len() + 3);
        self.out.push(kind);
        let start = self.out.len();
        self.out.extend_from_slice(text);
        for byte in &mut self.out[start..] {
            if matches!(byte, b'\r' | b'\n') {
                *byte = b' ';
            }
        }
        self.end();
    }

    fn end(&mut self) {
        self.out.extend_from_slice(b"\r\n");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What `write` puts on the wire in RESP2 and in RESP3.
    fn check(write: impl Fn(&mut ReplyWriter<'_>), resp2: &str, resp3: &str) {
        for (version, expected) in [(Version::Resp2, resp2), (Version::Resp3, resp3)] {
            let mut out = Vec::new();
            write(&mut ReplyWriter::new(&mut out, version));
            assert_eq!(String::from_utf8_lossy(&out), expected, "{version:?}");
        }
    }

    #[test]
    fn resp3_types_fall_back_as_in_redis() {
        check(|w| w.simple("OK"), "+OK\r\n", "+OK\r\n");
        check(|w| w.integer(-7), ":-7\r\n", ":-7\r\n");
        check(|w| w.bulk(b""), "$0\r\n\r\n", "$0\r\n\r\n");
        check(|w| w.null(), "$-1\r\n", "_\r\n");
        check(|w| w.null_array(), "*-1\r\n", "_\r\n");
        check(|w| w.map(2), "*4\r\n", "%2\r\n");
        check(|w| w.set(2), "*2\r\n", "~2\r\n");
        check(|w| w.push(2), "*2\r\n", ">2\r\n");
        check(|w| w.boolean(true), ":1\r\n", "#t\r\n");
        check(|w| w.boolean(false), ":0\r\n", "#f\r\n");
        check(|w| w.double(0.1), "$3\r\n0.1\r\n", ",0.1\r\n");
        check(|w| w.double(1e300), "$5\r\n1e300\r\n", ",1e300\r\n");
        check(|w| w.double(f64::NEG_INFINITY), "$4\r\n-inf\r\n", ",-inf\r\n");
        check(|w| w.double_text("-nan"), "$4\r\n-nan\r\n", ",-nan\r\n");
        check(|w| w.double(f64::NAN), "$3\r\nnan\r\n", ",nan\r\n");
        check(|w| w.big_number("123"), "$3\r\n123\r\n", "(123\r\n");
        check(|w| w.verbatim("txt", b"a\nb"), "$3\r\na\nb\r\n", "=7\r\ntxt:a\nb\r\n");
        check(|w| w.verbatim("é", b"a"), "$1\r\na\r\n", "=5\r\n   :a\r\n");
    }

    #[test]
    fn a_line_never_lets_a_line_break_through() {
        check(|w| w.error("ERR a\r\nb"), "-ERR a  b\r\n", "-ERR a  b\r\n");
        check(|w| w.simple("a\nb"), "+a b\r\n", "+a b\r\n");
        check(|w| w.simple_bytes(b"a\nb"), "+a b\r\n", "+a b\r\n");
    }
}
