//! What does the epoll reactor know of one connection? Its socket, what it has to say, and what epoll was told to report.

use std::io;
use std::ops::Range;
use std::os::fd::OwnedFd;

use rustix::buffer::spare_capacity;
use rustix::event::epoll::{self, EventData, EventFlags};
use rustix::io::Errno;
use rustix::net::{RecvFlags, recv};

use super::connection::Connection;
use super::turn::Turn;
use crate::shared::Shared;
use crate::workers::Done;

/// Stands for a socket that epoll does not know; nobody asks for that report alone.
const UNWATCHED: EventFlags = EventFlags::ERR;

/// One connection and its socket.
pub(super) struct Peer {
    pub(super) socket: OwnedFd,
    pub(super) connection: Connection,
    /// What epoll was last told to report.
    pub(super) interest: EventFlags,
}

impl Peer {
    /// Sends what waited, receives once, executes; the replies go to the turn. `Ok(true)` when something was received, or had been.
    ///
    /// # Errors
    /// The socket is broken, or there is no memory for what must be kept.
    pub(super) fn work(&mut self, shared: &Shared, turn: &mut Turn, input: &mut Vec<u8>) -> Result<bool, ()> {
        let Self { socket, connection, .. } = self;
        connection.begin_turn();
        if connection.is_waiting() && !connection.flush(&mut turn.pool, socket) {
            return Err(());
        }
        if connection.can_resume(shared) {
            connection.resume(shared, &mut turn.pool, &mut turn.replies);
            return Ok(true);
        }
        if !connection.wants_input(shared) {
            return Ok(false);
        }
        let own =
            connection.own_room(shared, &mut turn.pool).map(|room| recv(&*socket, room, RecvFlags::empty()));
        let received = match own {
            Some(received) => received.map(|(_, count)| count),
            None => {
                input.clear();
                recv(&*socket, spare_capacity(input), RecvFlags::empty()).map(|(_, count)| count)
            }
        };
        let heard = match received {
            Ok(0) => {
                connection.desert(&mut turn.pool);
                return Ok(false);
            }
            Ok(count) => {
                shared.counters.input_bytes.add(count as u64);
                if own.is_some() {
                    connection.hear_own(shared, &mut turn.pool, count, &mut turn.replies);
                    Ok(())
                } else {
                    connection.hear(shared, &mut turn.pool, input, &mut turn.replies)
                }
            }
            Err(Errno::AGAIN | Errno::INTR) => return Ok(false),
            Err(_) => return Err(()),
        };
        heard.map_err(|_| no_memory())?;
        Ok(true)
    }

    /// Takes a reply back from a worker and executes what was held back behind it.
    ///
    /// # Errors
    /// The socket is broken.
    pub(super) fn take_back(&mut self, shared: &Shared, turn: &mut Turn, done: Done) -> Result<(), ()> {
        let (Self { socket, connection, .. }, Turn { replies, pool, .. }) = (self, turn);
        connection.begin_turn();
        connection.end_errand(pool, done, replies);
        if connection.is_waiting() && !connection.flush(pool, socket) {
            return Err(());
        }
        if connection.can_resume(shared) {
            connection.resume(shared, pool, replies);
        }
        Ok(())
    }

    /// Whether the turn begins with bytes that are executed where they were received.
    pub(super) fn is_ready_to_hear(&self, shared: &Shared) -> bool {
        let Self { connection, .. } = self;
        connection.has_no_input()
            && !connection.is_waiting()
            && !connection.can_resume(shared)
            && connection.wants_input(shared)
    }

    /// Receives once, behind what is in `input` already; answers where it lies there. Nothing was received where that is empty.
    ///
    /// # Errors
    /// The socket is broken.
    pub(super) fn receive(
        &mut self,
        shared: &Shared,
        turn: &mut Turn,
        input: &mut Vec<u8>,
    ) -> Result<Range<usize>, ()> {
        self.connection.begin_turn();
        let start = input.len();
        match recv(&self.socket, spare_capacity(input), RecvFlags::empty()) {
            Ok((_, 0)) => self.connection.desert(&mut turn.pool),
            Ok((_, count)) => shared.counters.input_bytes.add(count as u64),
            Err(Errno::AGAIN | Errno::INTR) => {}
            Err(_) => return Err(()),
        }
        Ok(start..input.len())
    }

    /// Executes what [`receive`](Self::receive) has received.
    ///
    /// # Errors
    /// There is no memory for what must be kept.
    pub(super) fn hear(&mut self, shared: &Shared, turn: &mut Turn, bytes: &[u8]) -> Result<(), ()> {
        let Turn { replies, pool, .. } = turn;
        self.connection.hear(shared, pool, bytes, replies).map_err(|_| no_memory())
    }

    /// A look at what a turn will look at, so that it is in the caches.
    pub(super) fn glimpse(&self) -> u64 {
        u64::from(self.interest.bits()) ^ self.connection.session().entry().last_active_ms()
    }

    /// Tells epoll to report nothing at all until [`watch`](Self::watch) is called.
    pub(super) fn unwatch(&mut self, poll: &OwnedFd) {
        // What is not known to it is reported by nobody.
        let _ = epoll::delete(poll, &self.socket);
        self.interest = UNWATCHED;
    }

    /// Tells epoll what to report, if that has changed.
    pub(super) fn watch(&mut self, shared: &Shared, poll: &OwnedFd, index: usize) -> io::Result<()> {
        let mut interest = EventFlags::empty();
        interest.set(EventFlags::IN, self.connection.wants_input(shared));
        interest.set(EventFlags::OUT, self.connection.wants_room());
        if interest != self.interest {
            let data = EventData::new_u64(index as u64);
            if self.interest == UNWATCHED {
                epoll::add(poll, &self.socket, data, interest)?;
            } else {
                epoll::modify(poll, &self.socket, data, interest)?;
            }
            self.interest = interest;
        }
        Ok(())
    }
}

/// Says why a connection is closed.
pub(super) fn no_memory() {
    tracing::warn!(
        "closed a connection: no memory for its replies under the cap (raise maxmemory, or let keys be evicted)"
    );
}

/// Ends a conversation so that the last reply arrives: closing a socket that holds unread bytes would reset the
/// connection, and a reset may overtake the reply.
pub(super) fn hang_up(socket: &OwnedFd, scratch: &mut Vec<u8>) {
    let _ = rustix::net::shutdown(socket, rustix::net::Shutdown::Write);
    scratch.clear();
    let _ = recv(socket, spare_capacity(scratch), RecvFlags::DONTWAIT);
    scratch.clear();
}
