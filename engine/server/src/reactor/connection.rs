//! What does one connection hold between two events, and what does it wait for? Buffers and decisions; its socket is somebody else's.
//!
//! Bytes are received into a buffer of the thread and executed where they lie; only the rest of a request that has not wholly arrived is
//! kept. Replies are written into another buffer of the thread and sent from there; only what the socket does not take is kept. So an
//! idle connection holds no buffers, a busy one works in memory that is already in the cache, and all that waits counts under the memory cap.
//!
//! A request for which there is no memory is answered with an error, and its bytes are stepped over as they arrive. [`backpressure`] limits
//! what a client that does not read its replies makes the server hold; [`read_ahead`] is where its requests wait.

mod backpressure;
mod encrypted;
mod errand;
mod read_ahead;

use plumbkv_resp::{ReplyWriter, RequestSkipper, Skipped};

use super::pending::Pending;
use super::pool::{Kept, PIECE_BYTES, Pool};
use crate::replies::{Mark, Replies};
use crate::session::{Next, Session};
use crate::shared::Shared;
use crate::{monitor, tracking, watches};
use backpressure::Backpressure;
pub(crate) use encrypted::{ENCRYPTION_BYTES, Encryption};
use errand::{Errand, copied};
use read_ahead::ReadAhead;

/// Bytes received by one system call, and so also the bytes of small requests handled for one connection in a turn.
pub(crate) const RECEIVE_BYTES: usize = 64 << 10;

/// A long request is received straight into its own buffer when so many bytes of it are missing.
const LONG_BYTES: usize = 16 << 10;

/// Requests that wait have room for as many again, but for no more than one part in so many of the cap.
const SPARE_PARTS: u64 = 64;

/// What a client is told whose request is longer than the memory that is left for it.
const TOO_LONG: &str =
    "OOM the request does not fit under the memory cap (maxmemory), and nothing can be evicted for it";

/// One connection without its socket.
pub(crate) struct Connection {
    session: Session,
    input: Input,
    /// Requests received behind those in `input`. While it holds any, `held_back` is set.
    ahead: ReadAhead,
    /// Bytes of them that may still move to `input` in this turn.
    turn_ahead: usize,
    /// Bytes that the request in `input` must have before it can be whole.
    needed: usize,
    /// The input may hold whole requests that wait for replies to leave.
    held_back: bool,
    pending: Pending,
    backpressure: Backpressure,
    /// Its next request waits for the end of a pause of all clients.
    is_paused: bool,
    /// A request that is executed elsewhere; what follows it is held back.
    errand: Errand,
    /// Messages that came meanwhile: they follow its reply.
    pushes: Vec<u8>,
    /// Nothing more is executed.
    closing: bool,
    /// The client has ended its side.
    deserted: bool,
    /// Bytes of requests that may still be executed in this turn.
    turn_bytes: usize,
    /// Bytes of the connection itself that are counted under the memory cap.
    counted: u64,
    /// TLS; `None` where the client speaks plainly.
    encryption: Option<Box<Encryption>>,
    /// Replies are kept back on purpose.
    #[cfg(feature = "injected-delay")]
    held: bool,
}

/// What was received and not executed.
enum Input {
    Nothing,
    /// Starts at a request's first byte.
    Kept(Kept),
    /// A request whose bytes are not kept.
    Refused(RequestSkipper),
}

/// There is no memory for what a connection must keep: it is closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct NoMemory;

impl Connection {
    /// `counted` is what [`admission::count`](super::admission::count) has counted for it.
    pub(crate) fn new(session: Session, counted: u64) -> Self {
        Self {
            session,
            input: Input::Nothing,
            ahead: ReadAhead::default(),
            turn_ahead: RECEIVE_BYTES,
            needed: 1,
            held_back: false,
            pending: Pending::default(),
            backpressure: Backpressure::default(),
            is_paused: false,
            errand: Errand::None,
            pushes: Vec::new(),
            closing: false,
            deserted: false,
            turn_bytes: RECEIVE_BYTES,
            counted,
            encryption: None,
            #[cfg(feature = "injected-delay")]
            held: false,
        }
    }

    pub(crate) fn session(&self) -> &Session {
        &self.session
    }

    /// Whether nothing is kept or stepped over of what was received before.
    pub(crate) fn has_no_input(&self) -> bool {
        matches!(self.input, Input::Nothing) && self.ahead.is_empty()
    }

    /// Whether replies wait for the socket.
    pub(crate) fn is_waiting(&self) -> bool {
        !self.pending.is_empty() || self.has_sealed()
    }

    /// Whether what waits is to leave when the socket has room; else it is kept back on purpose.
    pub(crate) fn wants_room(&self) -> bool {
        self.is_waiting() && !self.is_held()
    }

    #[cfg(not(feature = "injected-delay"))]
    pub(crate) fn is_held(&self) -> bool {
        false
    }

    /// Whether its replies are kept back until they are let go.
    #[cfg(feature = "injected-delay")]
    pub(crate) fn is_held(&self) -> bool {
        self.held
    }

    /// Keeps back the replies of this turn and what comes behind them; false where others wait already, or are the last.
    #[cfg(feature = "injected-delay")]
    pub(crate) fn hold(&mut self) -> bool {
        let can = !self.held && !self.closing && !self.is_waiting();
        self.held |= can;
        can
    }

    #[cfg(feature = "injected-delay")]
    pub(crate) fn let_go(&mut self) {
        self.held = false;
    }

    /// Why this connection has had its time, if it has.
    pub(crate) fn overdue(&mut self, shared: &Shared) -> Option<String> {
        if let Some(reason) = self.over_soft_limit(shared) {
            return Some(reason);
        }
        // A client that waits for the disk is not idle.
        if self.has_errand() { None } else { self.session.overdue(shared, self.closing) }
    }

    pub(crate) fn is_closing(&self) -> bool {
        self.closing
    }

    /// Whether the connection can be closed.
    pub(crate) fn is_finished(&self) -> bool {
        self.closing && !self.is_waiting() && !self.has_errand()
    }

    /// The client sends nothing more; what it asked for is answered still.
    pub(crate) fn desert(&mut self, pool: &mut Pool) {
        self.deserted = true;
        if !self.held_back {
            self.finish(pool);
        }
    }

    pub(crate) fn is_deserted(&self) -> bool {
        self.deserted
    }

    /// Lets it execute as many requests as anybody may in one turn.
    pub(crate) fn begin_turn(&mut self) {
        self.session.begin_turn();
        self.turn_bytes = RECEIVE_BYTES;
        self.turn_ahead = RECEIVE_BYTES;
    }

    /// No further request: close once the replies are sent.
    pub(crate) fn finish(&mut self, pool: &mut Pool) {
        self.closing = true;
        self.held_back = false;
        self.clear_input(pool);
    }

    fn put_input(&mut self, pool: &mut Pool) {
        if let Input::Kept(kept) = std::mem::replace(&mut self.input, Input::Nothing) {
            pool.put(kept);
        }
    }

    /// Gives back all that was received and not executed.
    fn clear_input(&mut self, pool: &mut Pool) {
        self.put_input(pool);
        self.ahead.clear(pool);
    }

    /// Room to receive the rest of a long request into, where one is under way and there is memory for it.
    pub(crate) fn own_room(&mut self, shared: &Shared, pool: &mut Pool) -> Option<&mut [u8]> {
        if self.is_encrypted() {
            return None;
        }
        let Input::Kept(kept) = &mut self.input else { return None };
        let missing = self.needed.saturating_sub(kept.len());
        if missing < LONG_BYTES || self.held_back {
            return None;
        }
        let wanted = grown(kept.len(), self.needed);
        if kept.capacity() - kept.len() < PIECE_BYTES.min(missing) && !pool.grow(shared, kept, wanted) {
            return None;
        }
        match kept {
            Kept::Piece(_) => None,
            // No more than the request: what follows it is executed where it was received.
            Kept::Pages(buffer) => {
                let spare = buffer.spare();
                let length = spare.len().min(missing);
                Some(&mut spare[..length])
            }
        }
    }

    /// Takes in what was received into [`own_room`](Self::own_room).
    pub(crate) fn hear_own(&mut self, shared: &Shared, pool: &mut Pool, count: usize, replies: &mut Replies) {
        if let Input::Kept(Kept::Pages(buffer)) = &mut self.input {
            buffer.advance(count);
        }
        let start = replies.mark();
        self.execute_kept(shared, pool, replies, start);
        self.update_backpressure(shared);
    }

    /// Takes bytes in, and executes what has wholly arrived.
    pub(crate) fn hear(
        &mut self,
        shared: &Shared,
        pool: &mut Pool,
        bytes: &[u8],
        replies: &mut Replies,
    ) -> Result<(), NoMemory> {
        if self.is_encrypted() {
            return self.hear_encrypted(shared, pool, bytes, replies);
        }
        self.hear_plain(shared, pool, bytes, replies)
    }

    #[inline(always)] // Into `hear`, which each request passes through.
    fn hear_plain(
        &mut self,
        shared: &Shared,
        pool: &mut Pool,
        mut bytes: &[u8],
        replies: &mut Replies,
    ) -> Result<(), NoMemory> {
        let start = replies.mark();
        while !bytes.is_empty() && !self.closing {
            if self.reads_ahead() {
                self.read_ahead(shared, pool, bytes, replies)?;
                break;
            }
            let has_turn = self.has_turn(shared);
            match &mut self.input {
                Input::Refused(skipper) => match skipper.skip(bytes) {
                    Skipped::All => break,
                    Skipped::Ended { consumed } => {
                        bytes = &bytes[consumed..];
                        self.input = Input::Nothing;
                    }
                    Skipped::Invalid(error) => {
                        self.complain(shared, replies, &format!("ERR {error}"));
                        self.finish(pool);
                    }
                },
                Input::Nothing if !self.held_back && !has_turn => self.held_back = true,
                Input::Nothing if !self.held_back => {
                    let progress = self.session.advance(shared, bytes, replies, start);
                    self.backpressure.record(progress.consumed, progress.produced);
                    self.conclude(pool, progress.next);
                    self.turn_bytes = self.turn_bytes.saturating_sub(progress.consumed);
                    bytes = &bytes[progress.consumed..];
                    if progress.next == Next::Refuse {
                        bytes = self.refuse(shared, pool, bytes, replies);
                    } else if let Next::HandOver { length } = progress.next {
                        let (request, rest) = bytes.split_at(length.min(bytes.len()));
                        let request = copied(shared, request);
                        self.hand_over(shared, request, replies);
                        bytes = rest;
                    } else if !self.closing && !bytes.is_empty() {
                        bytes = self.keep(shared, pool, bytes, replies)?;
                    }
                }
                Input::Nothing => bytes = self.keep(shared, pool, bytes, replies)?,
                Input::Kept(_) => {
                    bytes = self.keep(shared, pool, bytes, replies)?;
                    self.execute_kept(shared, pool, replies, start);
                }
            }
        }
        self.update_backpressure(shared);
        Ok(())
    }

    /// Whether requests may be executed in this turn.
    fn has_turn(&self, shared: &Shared) -> bool {
        self.turn_bytes > 0 && self.may_execute(shared)
    }

    /// Executes what was held back.
    pub(crate) fn resume(&mut self, shared: &Shared, pool: &mut Pool, replies: &mut Replies) {
        self.held_back = false;
        let start = replies.mark();
        if !self.close_over_limit(shared, pool, replies) {
            self.execute_kept(shared, pool, replies, start);
            self.execute_ahead(shared, pool, replies, start);
        }
        if self.deserted && !self.held_back {
            self.finish(pool);
        }
        self.update_backpressure(shared);
    }

    fn execute_kept(&mut self, shared: &Shared, pool: &mut Pool, replies: &mut Replies, start: Mark) {
        let Input::Kept(kept) = &self.input else { return };
        if self.held_back || kept.len() < self.needed {
            return;
        }
        if !self.has_turn(shared) {
            self.held_back = true;
            return;
        }
        let Input::Kept(kept) = &mut self.input else { return };
        let part = part(kept.len(), self.needed);
        let is_part = part < kept.len();
        let progress = self.session.advance(shared, &kept.bytes()[..part], replies, start);
        self.backpressure.record(progress.consumed, progress.produced);
        if let Next::HandOver { length } = progress.next {
            return self.hand_over_kept(shared, pool, progress.consumed, length, replies);
        }
        if progress.consumed == kept.len() {
            self.put_input(pool);
        } else {
            kept.consume(progress.consumed);
        }
        self.turn_bytes = self.turn_bytes.saturating_sub(progress.consumed);
        self.conclude(pool, progress.next);
        // The rest of it is here already.
        self.held_back |= is_part && matches!(progress.next, Next::Read { .. });
        if progress.next == Next::Refuse {
            self.refuse(shared, pool, &[], replies);
        }
    }

    /// Keeps bytes that cannot be executed yet, and returns what follows them.
    fn keep<'a>(
        &mut self,
        shared: &Shared,
        pool: &mut Pool,
        bytes: &'a [u8],
        replies: &mut Replies,
    ) -> Result<&'a [u8], NoMemory> {
        let have = match &self.input {
            Input::Kept(kept) => kept.len(),
            _ => 0,
        };
        // What follows a long request is executed where it lies; the rest of a short one is not worth two looks.
        let missing = self.needed.saturating_sub(have).max(PIECE_BYTES);
        let count = if self.held_back { bytes.len() } else { missing.min(bytes.len()) };
        let is_long = self.needed as u64 > shared.database.cap() / 2;
        if (is_long && !self.held_back) || !self.make_room(shared, pool, have + count) {
            if self.held_back {
                self.give_up_backlog(shared, pool, replies)?;
                return Ok(&[]);
            }
            return Ok(self.refuse(shared, pool, bytes, replies));
        }
        if let Input::Kept(kept) = &mut self.input {
            kept.fill(&bytes[..count]);
        }
        Ok(&bytes[count..])
    }

    fn make_room(&mut self, shared: &Shared, pool: &mut Pool, len: usize) -> bool {
        if let Input::Kept(kept) = &mut self.input {
            // Where requests are held back many pieces follow each other, and to make room for each of them would copy all that is there; but
            // what stays empty is no large part of a small store.
            let spare = usize::try_from(shared.database.cap() / SPARE_PARTS).unwrap_or(usize::MAX).min(len);
            let wanted = if self.held_back { len.saturating_add(spare) } else { grown(len, self.needed) };
            return len <= kept.capacity() || pool.grow(shared, kept, wanted) || pool.grow(shared, kept, len);
        }
        let Some(kept) = pool.room(shared, len.max(self.needed.min(RECEIVE_BYTES))) else { return false };
        self.input = Input::Kept(kept);
        true
    }

    /// Answers a request that cannot be kept, and steps over it from now on. Returns what follows it.
    fn refuse<'a>(
        &mut self,
        shared: &Shared,
        pool: &mut Pool,
        bytes: &'a [u8],
        replies: &mut Replies,
    ) -> &'a [u8] {
        let (mut skipper, start) = self.session.abandon_request(shared);
        self.needed = 1;
        self.complain(shared, replies, TOO_LONG);
        let Input::Kept(kept) = &mut self.input else {
            self.input = Input::Refused(skipper);
            return &bytes[start.min(bytes.len())..];
        };
        // The part that was looked at stays behind. What is kept may hold the request's end, and others after it.
        let start = start.min(kept.len());
        match skipper.skip(&kept.bytes()[start..]) {
            Skipped::All => {
                self.put_input(pool);
                self.input = Input::Refused(skipper);
            }
            Skipped::Ended { consumed } if start + consumed < kept.len() => {
                kept.consume(start + consumed);
                self.held_back = true;
            }
            Skipped::Ended { .. } => self.put_input(pool),
            Skipped::Invalid(error) => {
                self.complain(shared, replies, &format!("ERR {error}"));
                self.finish(pool);
            }
        }
        bytes
    }

    fn complain(&self, shared: &Shared, replies: &mut Replies, text: &str) {
        ReplyWriter::new(&mut replies.bytes, self.session.version()).error(text);
        shared.command_stats.answer_error(text.as_bytes());
    }

    fn conclude(&mut self, pool: &mut Pool, next: Next) {
        self.held_back = matches!(next, Next::Drain | Next::Paused | Next::HandOver { .. });
        self.is_paused = next == Next::Paused;
        match next {
            Next::Read { needed } => self.needed = needed,
            Next::Drain | Next::Paused | Next::Refuse | Next::HandOver { .. } => self.needed = 1,
            Next::Close => self.finish(pool),
        }
    }

    /// Takes over the replies between two marks, but for their first `sent` bytes.
    pub(crate) fn keep_replies(
        &mut self,
        shared: &Shared,
        pool: &mut Pool,
        replies: &mut Replies,
        marks: (Mark, Mark),
        sent: usize,
    ) -> Result<(), NoMemory> {
        if self.pending.keep(shared, pool, replies, marks, sent) { Ok(()) } else { Err(NoMemory) }
    }

    /// Gives back all that the connection holds, at its end.
    pub(crate) fn release(&mut self, shared: &Shared, pool: &mut Pool) {
        self.clear_input(pool);
        self.pending.clear(pool);
        self.session.forget_arguments(shared);
        self.session.entry().close();
        watches::unwatch(shared, self.session.entry());
        tracking::stop(shared, self.session.entry());
        monitor::stop(shared, self.session.entry());
        shared.client_memory.give_back(&shared.database, std::mem::take(&mut self.counted));
    }

    /// Tells CLIENT LIST how things stand; called at the end of a turn.
    pub(crate) fn report(&self, shared: &Shared) {
        self.session.entry().record_activity(shared.clock_ms(), self.unexecuted(), self.pending.len());
    }
}

/// How many of `len` bytes are looked at: of many requests a part, of one all of it. A request that is longer than that part is read on by as much
/// again: one of many arguments would otherwise have a turn for each.
fn part(len: usize, needed: usize) -> usize {
    len.min(if needed > RECEIVE_BYTES { needed.saturating_add(RECEIVE_BYTES) } else { RECEIVE_BYTES })
}

/// How much room a request of `needed` bytes is given that has `len` bytes so far: what a client announces costs memory only as it arrives.
fn grown(len: usize, needed: usize) -> usize {
    let doubled = len.saturating_mul(2).max(RECEIVE_BYTES);
    // One that needs but little more has many arguments, and will need more again.
    if len > RECEIVE_BYTES && needed.saturating_sub(len) < RECEIVE_BYTES {
        return doubled;
    }
    needed.min(doubled).max(len)
}

#[cfg(test)]
#[path = "connection_test.rs"]
mod tests;
