//! How does service end? What clients have sent is executed still, and nothing further.

use std::io;

use rustix::net::{RecvFlags, recv};

use super::Uring;
use crate::reactor::pending::send_replies;
use crate::reactor::turn::Turn;
use crate::shared::Shared;

/// Receives per connection when draining: enough for any socket buffer, and an end for a client that never stops.
const DRAIN_RECEIVES: usize = 4096;

impl Uring {
    /// Stops accepting, executes what clients have sent so far, and lets no further request in.
    pub(super) fn begin_drain(&mut self, shared: &Shared) -> io::Result<()> {
        self.draining = true;
        self.acceptor.close();
        for slot in 0..self.peers.slots.len() {
            self.settle(shared, slot)?;
        }
        Ok(())
    }

    /// Executes what a client has sent that no receive has taken, and lets nothing further in.
    pub(super) fn drain(&mut self, shared: &Shared, slot: usize) -> io::Result<()> {
        // Replies that the kernel was asked to send go first, and before the socket is shut.
        self.ring.submit(&mut self.completions)?;
        self.gather(shared);
        let Some(peer) = self.peers.get(slot) else { return Ok(()) };
        for _ in 0..DRAIN_RECEIVES {
            let start = self.turn.replies.mark();
            let Turn { replies, pool, .. } = &mut self.turn;
            peer.connection.begin_turn();
            if peer.connection.can_resume(shared) {
                peer.connection.resume(shared, pool, replies);
            } else if peer.connection.wants_input(shared) {
                self.scratch.clear();
                let room = rustix::buffer::spare_capacity(&mut self.scratch);
                if !matches!(recv(&peer.socket, room, RecvFlags::DONTWAIT), Ok((_, 1..))) {
                    break;
                }
                if peer.connection.hear(shared, pool, &self.scratch, replies).is_err() {
                    peer.ending = true;
                    break;
                }
            } else {
                break;
            }
            // Nothing else is under way: what one receive asked for is sent before the next.
            let part = (start, replies.mark());
            let is_encrypted = peer.connection.is_encrypted();
            let waits = is_encrypted || peer.connection.is_waiting();
            let sent = if waits { Ok(0) } else { send_replies(&peer.socket, replies, part) };
            let kept = sent
                .is_ok_and(|sent| peer.connection.keep_replies(shared, pool, replies, part, sent).is_ok());
            peer.ending |= !kept || is_encrypted && !peer.connection.flush(pool, &peer.socket);
            replies.go_back(start);
        }
        // Where a worker has a request of its, it goes when that is done.
        if !peer.connection.has_errand() {
            peer.connection.finish(&mut self.turn.pool);
        }
        self.settle(shared, slot)
    }
}
