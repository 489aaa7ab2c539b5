//! How does a request get to a worker, and its reply back? With the conclusions of a turn, and when the thread's bell has rung.

use std::io;

use super::Uring;
use crate::pushes::Push;
use crate::reactor::turn::Turn;
use crate::shared::Shared;
use crate::workers::{Done, Ticket};

impl Uring {
    /// Hands the request that a connection cannot execute here to the workers, if there is one.
    pub(super) fn hand_over(&mut self, shared: &Shared, slot: usize) {
        let Some(peer) = self.peers.get(slot) else { return };
        if let Some(job) = peer.connection.take_errand()
            && let Some(workers) = &shared.workers
        {
            let client = peer.connection.session().entry().id;
            workers.submit(Ticket { thread: self.own, slot, client }, job);
        }
    }

    /// Gives a connection a message that it did not ask for.
    pub(super) fn push_message(&mut self, shared: &Shared, push: &Push) -> io::Result<()> {
        if self.turn.is_full() || self.has_earlier_replies(push.slot) {
            self.deliver(shared)?;
        }
        let start = self.turn.replies.mark();
        // The connection may have ended meanwhile, and its place be another's.
        let known = self.peers.get(push.slot);
        let known = known.filter(|peer| peer.connection.session().entry().id == push.client);
        let Some(peer) = known.filter(|peer| !peer.leaving && !peer.ending) else { return Ok(()) };
        if !peer.touched {
            peer.connection.begin_turn();
        }
        let Turn { replies, pool, .. } = &mut self.turn;
        peer.connection.push(shared, pool, &push.bytes, replies);
        self.touch(push.slot);
        self.turn.add(push.slot, start);
        Ok(())
    }

    /// Takes a reply back, and goes on with what was held back behind it.
    pub(super) fn done(&mut self, shared: &Shared, done: Done) -> io::Result<()> {
        let Ticket { slot, client, .. } = done.ticket;
        if self.turn.is_full() || self.has_earlier_replies(slot) {
            self.deliver(shared)?;
        }
        let start = self.turn.replies.mark();
        // The connection may have ended meanwhile, and its place be another's.
        let known = self.peers.get(slot).filter(|peer| peer.connection.session().entry().id == client);
        let Some(peer) = known.filter(|peer| !peer.leaving) else { return Ok(()) };
        if !peer.touched {
            peer.connection.begin_turn();
        }
        let Turn { replies, pool, .. } = &mut self.turn;
        peer.connection.end_errand(pool, done, replies);
        if peer.connection.is_waiting() && !peer.ending && !peer.connection.flush(pool, &peer.socket) {
            peer.ending = true;
        }
        if peer.connection.can_resume(shared) && !peer.ending {
            peer.connection.resume(shared, pool, replies);
        }
        self.touch(slot);
        self.turn.add(slot, start);
        Ok(())
    }
}
