//! How does a request get to a worker, and its reply back? With the conclusions of a turn, and when the thread's bell has rung; and who waits for one when the client is gone, or
//! the server ends?

use rustix::event::epoll::EventFlags;

use super::Epoll;
use crate::pushes::Push;
use crate::reactor::turn::Turn;
use crate::shared::Shared;
use crate::workers::{Done, Ticket};

/// Receives per connection when draining: enough for any socket buffer, and an end for a client that never stops.
const DRAIN_RECEIVES: usize = 4096;

impl Epoll {
    /// Hands the request that a connection cannot execute here to the workers, if there is one.
    pub(super) fn hand_over(&mut self, shared: &Shared, index: usize) {
        let Some(peer) = self.peers.get(index) else { return };
        if let Some(job) = peer.connection.take_errand()
            && let Some(workers) = &shared.workers
        {
            let client = peer.connection.session().entry().id;
            workers.submit(Ticket { thread: self.own, slot: index, client }, job);
        }
    }

    /// Takes a reply back from a worker, and goes on with what was held back behind it.
    pub(super) fn done(&mut self, shared: &Shared, done: Done) {
        let Ticket { slot, client, .. } = done.ticket;
        let start = self.turn.replies.mark();
        // The connection may have ended meanwhile.
        let Some(peer) = self.peers.get(slot).filter(|peer| peer.connection.session().entry().id == client)
        else {
            return;
        };
        let outcome = peer.take_back(shared, &mut self.turn, done);
        self.conclude(shared, slot, start, outcome);
        if self.draining {
            self.deliver(shared);
            self.drain(shared, slot);
        }
    }

    /// Gives a connection a message that it did not ask for.
    pub(super) fn push_message(&mut self, shared: &Shared, push: &Push) {
        let start = self.turn.replies.mark();
        // The connection may have ended meanwhile, and its place be another's.
        let known = self.peers.get(push.slot);
        let Some(peer) = known.filter(|peer| peer.connection.session().entry().id == push.client) else {
            return;
        };
        let Turn { replies, pool, .. } = &mut self.turn;
        peer.connection.push(shared, pool, &push.bytes, replies);
        self.conclude(shared, push.slot, start, Ok(()));
    }

    /// The client is gone for good, which epoll reports whether it is asked to or not, and again and again until the connection ends. One that waits for a worker does not
    /// end yet: it is reported no more until that is done. Then what was received is executed still, as of any other client that is gone.
    pub(super) fn gone(&mut self, index: usize, slots: &mut Vec<usize>) {
        match self.peers.get(index) {
            Some(peer) if peer.connection.has_errand() => peer.unwatch(&self.poll),
            _ => slots.push(index),
        }
    }

    /// Executes what a client has sent so far, and lets it go; where a worker has a request of its, when that is done.
    pub(super) fn drain(&mut self, shared: &Shared, index: usize) {
        for _ in 0..DRAIN_RECEIVES {
            let received = self.serve(shared, index);
            self.deliver(shared);
            if !received {
                break;
            }
        }
        if let Some(peer) = self.peers.get(index)
            && !peer.connection.has_errand()
        {
            peer.connection.finish(&mut self.turn.pool);
            self.serve(shared, index);
            self.deliver(shared);
        }
    }
}

/// Whether an event says so; it comes whether it was asked for or not.
pub(super) fn is_gone(flags: EventFlags) -> bool {
    flags.intersects(EventFlags::ERR | EventFlags::HUP)
}
