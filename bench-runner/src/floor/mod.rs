//! How fast could any server be answered here? Servers that read each request whole and keep nothing.
//!
//! One thread, one write per connection and turn, a constant answer of the planned length: the generator and the
//! network do the same work as with a store, and the server does none of a store's. What is measured on such a
//! server is the floor of everything else on this machine, by the way bytes come in ([`epoll`], [`uring`]) and by
//! what they mean ([`resp`], [`http`]). The protocols know no sockets: bytes in, bytes out.

pub mod epoll;
pub mod http;
pub mod resp;
pub mod uring;

/// Longest request that is waited for, bytes: a peer that never ends one must not fill the memory.
const REQUEST_BYTES_MAX: usize = 64 << 20;

/// What a protocol's requests are answered by.
pub trait Answers {
    /// What must be kept of one connection between two reads.
    type State: Default;

    /// Appends to `output` the answer to every whole request at the head of `bytes`.
    fn answer(&mut self, state: &mut Self::State, bytes: &[u8], output: &mut Vec<u8>) -> Taken;
}

/// How far the bytes of a connection were understood.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Taken {
    /// Bytes of the requests that were answered.
    pub bytes: usize,
    /// False: nothing more is to be read, since the peer broke the protocol or asked for the end.
    pub open: bool,
}

/// The two sides of one connection, between the socket and the protocol.
#[derive(Debug, Default)]
struct Conversation<S> {
    state: S,
    /// The beginning of a request that has not arrived whole.
    partial: Vec<u8>,
    /// Answers that wait to be written.
    output: Vec<u8>,
    /// Once the answers are written, it ends.
    closing: bool,
}

impl<S: Default> Conversation<S> {
    fn hear<A: Answers<State = S>>(&mut self, answers: &mut A, bytes: &[u8]) {
        if self.closing {
            return;
        }
        let taken = if self.partial.is_empty() {
            let taken = answers.answer(&mut self.state, bytes, &mut self.output);
            self.partial.extend_from_slice(&bytes[taken.bytes..]);
            taken
        } else {
            self.partial.extend_from_slice(bytes);
            let taken = answers.answer(&mut self.state, &self.partial, &mut self.output);
            self.partial.drain(..taken.bytes);
            taken
        };
        self.closing = !taken.open || self.partial.len() > REQUEST_BYTES_MAX;
    }
}

#[cfg(test)]
mod floor_test;
