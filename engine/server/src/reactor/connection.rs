//! What does one connection hold between two events, and what does it wait for? Buffers and decisions, no sockets.
//!
//! Bytes are received into a buffer that all connections of the thread share and are executed where they lie; only the
//! rest of a request that has not wholly arrived moves to the connection's own buffer. Replies go the same way.
//! So an idle connection holds no buffers, and a busy one works in memory that is already in the cache.

use crate::session::{Next, OUTPUT_HIGH_WATER, Session};
use crate::shared::Shared;

/// Bytes received by one system call, and so also the bytes of small requests handled for one connection in a turn.
pub(crate) const RECEIVE_BYTES: usize = 64 << 10;

/// A request longer than the shared buffer grows its own by no more than this, or doubles it: what a client
/// announces costs memory only as it arrives.
const GROWTH_BYTES: usize = 1 << 20;

/// Buffers up to this many bytes are kept for the next request; larger ones are given back.
const KEPT_BYTES: usize = 16 << 10;

/// What the connections of one I/O thread share.
pub(crate) struct Buffers {
    /// Bytes just received.
    pub(crate) input: Vec<u8>,
    /// Replies just made.
    pub(crate) output: Vec<u8>,
}

/// Where the bytes just received were put.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    Shared,
    Own,
}

/// One connection without its socket.
pub(crate) struct Connection {
    session: Session,
    /// Received and not yet executed; starts at a request's first byte.
    input: Vec<u8>,
    /// Length `input` must reach before it holds a whole request.
    needed: usize,
    /// `input` may hold whole requests that wait for replies to leave.
    held_back: bool,
    /// Made and not yet sent, from `sent` on.
    output: Vec<u8>,
    sent: usize,
    /// Nothing more is executed.
    closing: bool,
}

impl Buffers {
    pub(crate) fn new() -> Self {
        Self { input: Vec::with_capacity(RECEIVE_BYTES), output: Vec::with_capacity(RECEIVE_BYTES) }
    }
}

impl Connection {
    pub(crate) fn new(session: Session) -> Self {
        Self {
            session,
            input: Vec::new(),
            needed: 1,
            held_back: false,
            output: Vec::new(),
            sent: 0,
            closing: false,
        }
    }

    pub(crate) fn session(&self) -> &Session {
        &self.session
    }

    /// Whether more requests may be received: not while a slow reader's replies pile up.
    pub(crate) fn wants_input(&self) -> bool {
        !self.closing && !self.held_back && self.unsent().len() < OUTPUT_HIGH_WATER
    }

    /// Whether requests that are already here can be executed now.
    pub(crate) fn can_resume(&self) -> bool {
        self.held_back && !self.closing && self.unsent().len() < OUTPUT_HIGH_WATER
    }

    /// Replies that an earlier send left over.
    pub(crate) fn unsent(&self) -> &[u8] {
        &self.output[self.sent..]
    }

    /// Whether the connection can be closed.
    pub(crate) fn is_finished(&self) -> bool {
        self.closing && self.unsent().is_empty()
    }

    /// No further request: close once the replies are sent.
    pub(crate) fn finish(&mut self) {
        self.closing = true;
        self.held_back = false;
        self.input = Vec::new();
    }

    /// Makes room to receive into: the shared buffer for small requests, the connection's own for one that would
    /// not fit. `None` when there is no memory for it.
    pub(crate) fn prepare_input<'a>(
        &'a mut self,
        buffers: &'a mut Buffers,
    ) -> Option<(&'a mut Vec<u8>, Place)> {
        if self.needed <= RECEIVE_BYTES && self.input.len() < RECEIVE_BYTES {
            buffers.input.clear();
            // A shared buffer never grows: it has RECEIVE_BYTES, and what is moved into it is shorter.
            buffers.input.extend_from_slice(&self.input);
            self.input.clear();
            return Some((&mut buffers.input, Place::Shared));
        }
        let missing = self.needed.saturating_sub(self.input.len()).max(1);
        if self.input.capacity() - self.input.len() < missing.min(RECEIVE_BYTES) {
            let step = self.input.len().max(GROWTH_BYTES);
            self.input.try_reserve_exact(missing.min(step)).ok()?;
        }
        Some((&mut self.input, Place::Own))
    }

    /// Puts back what [`prepare_input`](Self::prepare_input) moved, when nothing was received behind it.
    pub(crate) fn restore_input(&mut self, buffers: &Buffers, place: Place) {
        if place == Place::Shared {
            self.input.extend_from_slice(&buffers.input);
        }
    }

    /// Executes what was received, or what was held back. Replies go to the shared buffer, or behind what is unsent.
    pub(crate) fn execute(&mut self, shared: &Shared, buffers: &mut Buffers, place: Place) {
        let Buffers { input: shared_input, output: shared_output } = buffers;
        if self.sent > 0 {
            self.output.drain(..self.sent);
            self.sent = 0;
        }
        shared_output.clear();
        let output = if self.output.is_empty() { shared_output } else { &mut self.output };
        let input: &[u8] = if place == Place::Shared { shared_input } else { &self.input };
        let before = output.len();
        let progress = self.session.advance(shared, input, output);
        shared.counters.output_bytes.add((output.len() - before) as u64);
        match place {
            Place::Shared => self.input.extend_from_slice(&shared_input[progress.consumed..]),
            Place::Own if progress.consumed == self.input.len() => {
                self.input.clear();
                self.input.shrink_to(KEPT_BYTES);
            }
            Place::Own => {
                self.input.drain(..progress.consumed);
            }
        }
        self.held_back = progress.next == Next::Drain;
        match progress.next {
            Next::Read { needed } => self.needed = needed,
            Next::Drain => self.needed = 1,
            Next::Close => self.finish(),
        }
    }

    /// Tells CLIENT LIST how things stand; called at the end of a turn.
    pub(crate) fn report(&self, shared: &Shared) {
        self.session.entry().record_activity(shared.clock_ms(), self.input.len(), self.unsent().len());
    }

    /// Takes over the replies in the shared buffer that a send left over.
    pub(crate) fn keep_unsent(&mut self, buffers: &mut Buffers, sent: usize) {
        debug_assert!(self.output.is_empty());
        if sent == buffers.output.len() {
            buffers.output.clear();
            if buffers.output.capacity() > 2 * OUTPUT_HIGH_WATER {
                buffers.output.shrink_to(RECEIVE_BYTES);
            }
        } else if buffers.output.len() > RECEIVE_BYTES {
            // Long: the buffer itself changes hands.
            self.output = std::mem::replace(&mut buffers.output, Vec::with_capacity(RECEIVE_BYTES));
            self.sent = sent;
        } else {
            self.output.extend_from_slice(&buffers.output[sent..]);
            buffers.output.clear();
        }
    }

    /// Takes over replies that a send left over.
    pub(crate) fn keep_copy(&mut self, unsent: &[u8]) {
        debug_assert!(self.output.is_empty());
        self.output.extend_from_slice(unsent);
    }

    /// Marks `count` bytes of [`unsent`](Self::unsent) as sent.
    pub(crate) fn mark_sent(&mut self, count: usize) {
        self.sent += count;
        if self.sent >= self.output.len() {
            self.output.clear();
            self.output.shrink_to(KEPT_BYTES);
            self.sent = 0;
        }
    }

    /// Gives back what an idle connection need not hold.
    pub(crate) fn release_memory(&mut self) {
        self.input.shrink_to_fit();
        self.output.shrink_to_fit();
    }
}

#[cfg(test)]
#[path = "connection_test.rs"]
mod tests;
