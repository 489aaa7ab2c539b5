//! What does the epoll reactor know of one connection? Its socket, its buffers, and what epoll was told to report.

use std::io;
use std::os::fd::OwnedFd;

use rustix::buffer::spare_capacity;
use rustix::event::epoll::{self, EventData, EventFlags};
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, recv, send};

use super::connection::{Buffers, Connection, Place};
use crate::shared::Shared;

/// One connection and its socket.
pub(super) struct Peer {
    pub(super) socket: OwnedFd,
    pub(super) connection: Connection,
    /// What epoll was last told to report.
    pub(super) interest: EventFlags,
}

/// How a turn ended.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Turn {
    /// Nothing more to do until the kernel reports something.
    Wait,
    /// More requests are here.
    Ready,
    /// The conversation is over.
    Finished,
    /// The socket is of no more use.
    Broken,
}

impl Peer {
    /// Sends what waited, receives once, executes. The replies lie in the shared buffer, or behind what is unsent;
    /// `Ok(true)` when something was received.
    pub(super) fn work(&mut self, shared: &Shared, buffers: &mut Buffers) -> Result<bool, ()> {
        buffers.output.clear();
        if !self.flush() {
            return Err(());
        }
        if self.connection.can_resume() {
            self.connection.execute(shared, buffers, Place::Own);
        } else if self.connection.wants_input()
            && let Some(place) = self.receive(shared, buffers)?
        {
            self.connection.execute(shared, buffers, place);
            return Ok(true);
        }
        Ok(false)
    }

    /// Sends the replies in the shared buffer, and what is left of earlier ones.
    pub(super) fn send_output(&mut self, buffers: &mut Buffers) -> Turn {
        if buffers.output.is_empty() {
            return if self.flush() { self.outcome() } else { Turn::Broken };
        }
        match send_some(&self.socket, &buffers.output) {
            Ok(count) => {
                self.connection.keep_unsent(buffers, count);
                self.outcome()
            }
            Err(_) => Turn::Broken,
        }
    }

    /// Sends replies that lie elsewhere.
    pub(super) fn send_replies(&mut self, replies: &[u8]) -> Turn {
        match send_some(&self.socket, replies) {
            Ok(count) => {
                self.connection.keep_copy(&replies[count..]);
                self.outcome()
            }
            Err(_) => Turn::Broken,
        }
    }

    fn outcome(&self) -> Turn {
        if self.connection.is_finished() {
            Turn::Finished
        } else if self.connection.can_resume() && self.connection.unsent().is_empty() {
            Turn::Ready
        } else {
            Turn::Wait
        }
    }

    /// Receives once; `None` when there was nothing. The end of the stream finishes the connection.
    fn receive(&mut self, shared: &Shared, buffers: &mut Buffers) -> Result<Option<Place>, ()> {
        let Some((buffer, place)) = self.connection.prepare_input(shared, buffers) else {
            tracing::warn!("no memory for a request; its connection is closed");
            self.connection.refuse();
            return Ok(None);
        };
        match recv(&self.socket, spare_capacity(buffer), RecvFlags::empty()) {
            Ok((_, 0)) => {
                self.connection.finish();
                Ok(None)
            }
            Ok((_, count)) => {
                shared.counters.input_bytes.add(count as u64);
                Ok(Some(place))
            }
            Err(Errno::AGAIN | Errno::INTR) => {
                // What was moved into the shared buffer to be completed goes back.
                self.connection.restore_input(buffers, place);
                Ok(None)
            }
            Err(_) => Err(()),
        }
    }

    /// Sends replies left over from before; false when the socket is broken.
    fn flush(&mut self) -> bool {
        let unsent = self.connection.unsent();
        if unsent.is_empty() {
            return true;
        }
        match send_some(&self.socket, unsent) {
            Ok(count) => {
                self.connection.mark_sent(count);
                true
            }
            Err(_) => false,
        }
    }

    /// Tells epoll what to report, if that has changed.
    pub(super) fn watch(&mut self, poll: &OwnedFd, index: usize) -> io::Result<()> {
        let mut interest = EventFlags::empty();
        interest.set(EventFlags::IN, self.connection.wants_input());
        interest.set(EventFlags::OUT, !self.connection.unsent().is_empty());
        if interest != self.interest {
            epoll::modify(poll, &self.socket, EventData::new_u64(index as u64), interest)?;
            self.interest = interest;
        }
        Ok(())
    }
}

/// Sends what the socket takes; 0 when it is full.
fn send_some(socket: &OwnedFd, bytes: &[u8]) -> Result<usize, Errno> {
    match send(socket, bytes, SendFlags::NOSIGNAL) {
        Ok(count) => Ok(count),
        Err(Errno::AGAIN | Errno::INTR) => Ok(0),
        Err(error) => Err(error),
    }
}

/// Ends a conversation so that the last reply arrives: closing a socket that holds unread bytes would reset the
/// connection, and a reset may overtake the reply.
pub(super) fn hang_up(socket: &OwnedFd, scratch: &mut Vec<u8>) {
    let _ = rustix::net::shutdown(socket, rustix::net::Shutdown::Write);
    scratch.clear();
    let _ = recv(socket, spare_capacity(scratch), RecvFlags::DONTWAIT);
    scratch.clear();
}
