//! The floor's answers in RESP: `+OK` to SET, `:1` to DEL, and to GET a bulk as long as the value last set.

use super::{Answers, Taken};
use plumbkv_resp::{Limits, Parsed, ReplyWriter, Request, RequestParser, Version};

/// Answers RESP requests without keeping anything but a length.
#[derive(Debug)]
pub struct Resp {
    value: Vec<u8>,
}

impl Resp {
    /// `value_bytes` is the length of what `GET` is answered by until something is set.
    #[must_use]
    pub fn new(value_bytes: usize) -> Self {
        Self { value: vec![b'x'; value_bytes] }
    }

    fn reply(&mut self, request: &Request<'_>, output: &mut Vec<u8>) {
        let Some(name) = request.get(0) else { return };
        let mut reply = ReplyWriter::new(output, Version::Resp2);
        match name {
            b"SET" => {
                let length = request.get(2).map_or(0, <[u8]>::len);
                if length != self.value.len() {
                    self.value.resize(length, b'x');
                }
                reply.simple("OK");
            }
            b"GET" => reply.bulk(&self.value),
            b"DEL" | b"EXISTS" => reply.integer(1),
            b"DBSIZE" => reply.integer(0),
            b"PING" => reply.simple("PONG"),
            _ => reply.simple("OK"),
        };
    }
}

/// How far the parser has come with the request at hand.
#[derive(Debug)]
pub struct State(RequestParser);

impl Default for State {
    fn default() -> Self {
        Self(RequestParser::new(Limits::default()))
    }
}

impl Answers for Resp {
    type State = State;

    fn answer(&mut self, state: &mut State, bytes: &[u8], output: &mut Vec<u8>) -> Taken {
        let mut used = 0;
        while used < bytes.len() {
            match state.0.parse(&bytes[used..]) {
                Parsed::Complete { value: request, consumed } => {
                    self.reply(&request, output);
                    used += consumed;
                }
                Parsed::Incomplete { .. } => break,
                Parsed::Invalid(_) => return Taken { bytes: used, open: false },
            }
        }
        Taken { bytes: used, open: true }
    }
}
