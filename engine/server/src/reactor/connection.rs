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
const KEPT_BYTES: usize = 8 << 10;

/// What a client is told whose request is longer than the memory that is left for it.
const TOO_LONG: &[u8] =
    b"-OOM the request does not fit under the memory cap (maxmemory), and nothing can be evicted for it\r\n";

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
    /// Bytes of replies that a back end has taken away to send them, and that have not left yet.
    in_flight: usize,
    /// Nothing more is executed.
    closing: bool,
    /// Bytes of the connection itself that the store counts against the memory cap.
    counted_itself: u64,
    /// And of its buffers.
    counted: u64,
}

impl Buffers {
    pub(crate) fn new() -> Self {
        // Written to once, so that they are resident from the start and not a growth later.
        let touched = || {
            let mut buffer = vec![1; RECEIVE_BYTES];
            buffer.clear();
            buffer
        };
        Self { input: touched(), output: touched() }
    }
}

impl Connection {
    /// `counted` is what [`admission::count`](super::admission::count) has counted for it.
    pub(crate) fn new(session: Session, counted: u64) -> Self {
        Self {
            session,
            input: Vec::new(),
            needed: 1,
            held_back: false,
            output: Vec::new(),
            sent: 0,
            in_flight: 0,
            closing: false,
            counted_itself: counted,
            counted: 0,
        }
    }

    pub(crate) fn session(&self) -> &Session {
        &self.session
    }

    /// Whether more requests may be received: not while a slow reader's replies pile up.
    pub(crate) fn wants_input(&self) -> bool {
        !self.closing && !self.held_back && self.waiting() < self.session.high_water()
    }

    /// Bytes of replies that have not left yet.
    fn waiting(&self) -> usize {
        self.unsent().len() + self.in_flight
    }

    /// Whether requests that are already here can be executed now.
    pub(crate) fn can_resume(&self) -> bool {
        self.held_back && !self.closing && self.waiting() < self.session.high_water()
    }

    /// Replies that an earlier send left over.
    pub(crate) fn unsent(&self) -> &[u8] {
        &self.output[self.sent..]
    }

    /// Whether the connection can be closed.
    pub(crate) fn is_finished(&self) -> bool {
        self.closing && self.waiting() == 0
    }

    /// Tells the client that its request is longer than the memory that is left for it, and ends the conversation.
    pub(crate) fn refuse(&mut self) {
        self.finish();
        self.output.extend_from_slice(TOO_LONG);
    }

    /// Why this connection has had its time, if it has.
    pub(crate) fn overdue(&self, shared: &Shared) -> Option<String> {
        self.session.overdue(shared, self.closing)
    }

    pub(crate) fn is_closing(&self) -> bool {
        self.closing
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
        shared: &Shared,
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
        if self.input.capacity() - self.input.len() < missing.min(RECEIVE_BYTES)
            && !self.grow_input(shared, missing)
        {
            return None;
        }
        Some((&mut self.input, Place::Own))
    }

    /// Makes room for so many bytes more of a request, or for a part of them.
    fn grow_input(&mut self, shared: &Shared, missing: usize) -> bool {
        let step = missing.min(self.input.len().max(GROWTH_BYTES));
        // Both the old buffer and the new one are there while it is copied, if it is. Keys are evicted for them; where none can go, or
        // it would be in vain, the request is received all the same, and refused when it is whole.
        let peak = (self.input.len() + step) as u64;
        let can_fit = self.needed as u64 <= shared.database.cap();
        let is_counted = can_fit && shared.client_memory.take(&shared.database, peak).is_ok();
        let before = self.input.capacity();
        let grown = self.input.try_reserve_exact(step);
        if is_counted {
            let taken = ((self.input.capacity() - before) as u64).min(peak);
            self.counted += taken;
            shared.client_memory.give_back(&shared.database, peak - taken);
        }
        grown.is_ok()
    }

    /// Takes bytes in that lie elsewhere, and executes what has wholly arrived; replies go to `output`, or behind what is unsent. False when there
    /// is no memory to keep a part of a request.
    pub(crate) fn hear(&mut self, shared: &Shared, bytes: &[u8], output: Option<&mut Vec<u8>>) -> bool {
        if self.closing {
            return true;
        }
        if self.input.is_empty() && !self.held_back {
            let consumed = self.advance(shared, bytes, output);
            return self.closing || self.keep_input(shared, &bytes[consumed..]);
        }
        if !self.keep_input(shared, bytes) {
            return false;
        }
        if !self.held_back && self.input.len() >= self.needed {
            self.advance_own(shared, output);
        }
        true
    }

    /// Executes what was held back; replies as in [`hear`](Self::hear).
    pub(crate) fn resume(&mut self, shared: &Shared, output: &mut Vec<u8>) {
        self.advance_own(shared, Some(output));
    }

    fn keep_input(&mut self, shared: &Shared, bytes: &[u8]) -> bool {
        while self.input.capacity() - self.input.len() < bytes.len() {
            let missing = self.needed.saturating_sub(self.input.len()).max(bytes.len());
            if !self.grow_input(shared, missing) {
                return false;
            }
        }
        self.input.extend_from_slice(bytes);
        true
    }

    fn advance_own(&mut self, shared: &Shared, output: Option<&mut Vec<u8>>) {
        let mut input = std::mem::take(&mut self.input);
        let consumed = self.advance(shared, &input, output);
        if self.closing {
            return;
        }
        if consumed == input.len() {
            input.clear();
            keep_small(&mut input);
        } else {
            input.drain(..consumed);
        }
        self.input = input;
    }

    /// Executes the whole requests in `input` and returns how many bytes they are.
    fn advance(&mut self, shared: &Shared, input: &[u8], output: Option<&mut Vec<u8>>) -> usize {
        if self.sent > 0 {
            self.output.drain(..self.sent);
            self.sent = 0;
        }
        let output = output.unwrap_or(&mut self.output);
        let before = output.len();
        let progress = self.session.advance(shared, input, output);
        shared.counters.output_bytes.add((output.len() - before) as u64);
        self.conclude(progress.next);
        progress.consumed
    }

    fn conclude(&mut self, next: Next) {
        self.held_back = next == Next::Drain;
        match next {
            Next::Read { needed } => self.needed = needed,
            Next::Drain => self.needed = 1,
            Next::Close => self.finish(),
        }
    }

    /// The replies that wait behind those in flight, into `into`, which is empty.
    pub(crate) fn take_output(&mut self, into: &mut Vec<u8>) {
        debug_assert!(into.is_empty() && self.sent == 0);
        std::mem::swap(&mut self.output, into);
    }

    /// Says how many bytes of replies a back end has taken away and not sent yet.
    pub(crate) fn set_in_flight(&mut self, bytes: usize) {
        self.in_flight = bytes;
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
                keep_small(&mut self.input);
            }
            Place::Own => {
                self.input.drain(..progress.consumed);
            }
        }
        self.conclude(progress.next);
    }

    /// Counts what the buffers hold now against the memory cap, `in_flight` being what a back end holds for this connection. Keys are evicted
    /// for it; where none can go it stays uncounted.
    pub(crate) fn count_memory(&mut self, shared: &Shared, in_flight: usize) {
        let can_fit = self.needed as u64 <= shared.database.cap();
        let input = if can_fit { self.input.capacity() } else { 0 };
        let held = (input + self.output.capacity() + in_flight) as u64;
        if held < self.counted {
            shared.client_memory.give_back(&shared.database, self.counted - held);
        } else if held > self.counted
            && shared.client_memory.take(&shared.database, held - self.counted).is_err()
        {
            return;
        }
        self.counted = held;
    }

    /// Bytes that the store counts for this connection and its buffers.
    pub(crate) fn counted(&self) -> u64 {
        self.counted_itself + self.counted
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
            keep_small(&mut self.output);
            self.sent = 0;
        }
    }

    /// Gives back what an idle connection need not hold.
    pub(crate) fn release_memory(&mut self) {
        self.input.shrink_to_fit();
        self.output.shrink_to_fit();
    }
}

/// Keeps an empty buffer for the next request, unless it is long: then most requests would not need it.
fn keep_small(buffer: &mut Vec<u8>) {
    if buffer.capacity() > KEPT_BYTES {
        *buffer = Vec::new();
    }
}

#[cfg(test)]
#[path = "connection_test.rs"]
mod tests;
