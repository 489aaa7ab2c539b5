//! How do replies leave? All of a turn with one submission, one send for each connection.

use std::collections::VecDeque;
use std::io;

use io_uring::{cqueue, opcode, squeue};

use super::peer::Peer;
use super::{Of, Uring};
use crate::reactor::peer::no_memory;
use crate::reactor::pending::send_replies;
use crate::reactor::pool::Pool;
use crate::reactor::turn::{Part, Turn};
use crate::replies::Replies;
use crate::shared::Shared;

impl Uring {
    /// Whether replies for this connection wait with others' behind them: a connection has one send a turn, so that its replies stay in order.
    pub(super) fn has_earlier_replies(&mut self, slot: usize) -> bool {
        // Nearly every connection completes once a turn; only one that has before can have replies among the others'.
        if !self.peers.get(slot).is_some_and(|peer| peer.touched) {
            return false;
        }
        let (others, last) = match self.turn.parts.split_last() {
            Some((last, others)) => (others, Some(last)),
            None => return false,
        };
        last.is_some_and(|last| last.slot != slot) && others.iter().any(|part| part.slot == slot)
    }

    /// Hands the replies of the turn to the kernel, and keeps what sockets do not take.
    pub(super) fn deliver(&mut self, shared: &Shared) -> io::Result<()> {
        self.submit_replies(shared)?;
        self.ring.submit(&mut self.completions)?;
        self.gather(shared);
        Ok(())
    }

    /// Makes a send of each connection's replies. They stay where they are until [`gather`](Self::gather).
    pub(super) fn submit_replies(&mut self, shared: &Shared) -> io::Result<()> {
        for at in 0..self.turn.parts.len() {
            let part = self.turn.parts[at];
            let Some(peer) = self.peers.get(part.slot).filter(|peer| !peer.ending) else { continue };
            #[cfg(feature = "injected-delay")]
            if self.delay.draws() && peer.connection.hold() {
                self.delay.hold(part.slot);
            }
            let Turn { replies, pool, .. } = &mut self.turn;
            let connection = &peer.connection;
            let waits = connection.is_waiting() || connection.is_held() || connection.is_encrypted();
            // What waits goes first; values have their own places, and the end of a conversation must not overtake its last reply.
            if waits || part.has_values() || peer.connection.is_closing() {
                let sent = if waits { Ok(0) } else { send_replies(&peer.socket, replies, part.marks()) };
                keep(shared, peer, pool, replies, &part, sent.map_err(|_| ()));
                continue;
            }
            peer.sending = Some(part);
            let bytes = &replies.bytes[part.start.bytes..part.end.bytes];
            let length = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
            let (fd, flags) = peer.file();
            let entry = opcode::Send::new(fd, bytes.as_ptr(), length)
                .flags(libc::MSG_NOSIGNAL | libc::MSG_WAITALL | libc::MSG_DONTWAIT)
                .build()
                .flags(squeue::Flags::SKIP_SUCCESS | flags);
            self.push(entry, Of::Send(part.slot))?;
        }
        Ok(())
    }

    /// Lets replies leave that were kept back long enough.
    #[cfg(feature = "injected-delay")]
    pub(super) fn let_go(&mut self) {
        while let Some(slot) = self.delay.due() {
            if let Some(peer) = self.peers.get(slot) {
                peer.connection.let_go();
                self.has_room(slot);
            }
        }
    }

    /// After a submission: takes up what sockets did not take, and forgets the replies of the turn.
    pub(super) fn gather(&mut self, shared: &Shared) {
        let is_send = |entry: &cqueue::Entry| matches!(Of::unpack(entry.user_data()), Of::Send(_));
        if self.completions.iter().any(is_send) {
            let mut others = VecDeque::with_capacity(self.completions.len());
            for completion in std::mem::take(&mut self.completions) {
                let Of::Send(slot) = Of::unpack(completion.user_data()) else {
                    others.push_back(completion);
                    continue;
                };
                let Turn { replies, pool, .. } = &mut self.turn;
                if let Some(peer) = self.peers.get(slot)
                    && let Some(part) = peer.sending.take()
                {
                    let sent = match usize::try_from(completion.result()) {
                        Ok(sent) => Ok(sent),
                        Err(_) if matches!(-completion.result(), libc::EAGAIN | libc::EINTR) => Ok(0),
                        Err(_) => Err(()),
                    };
                    keep(shared, peer, pool, replies, &part, sent);
                }
                self.touch(slot);
            }
            self.completions = others;
        }
        for part in self.turn.parts.drain(..) {
            if let Some(peer) = self.peers.get(part.slot) {
                peer.sending = None;
            }
        }
        self.turn.replies.clear(shared);
    }
}

/// Keeps what a socket did not take.
fn keep(
    shared: &Shared,
    peer: &mut Peer,
    pool: &mut Pool,
    replies: &mut Replies,
    part: &Part,
    sent: Result<usize, ()>,
) {
    let Ok(sent) = sent else {
        peer.ending = true;
        return;
    };
    if peer.connection.keep_replies(shared, pool, replies, part.marks(), sent).is_err() {
        no_memory();
        peer.ending = true;
    }
    if peer.connection.is_encrypted() && !peer.connection.flush(pool, &peer.socket) {
        peer.ending = true;
    }
}
