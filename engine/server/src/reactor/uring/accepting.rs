//! Accepting connections with io_uring: the ring polls an epoll descriptor that watches the listeners.
//!
//! A request of a ring keeps its file open until the kernel has ended the request, which is up to two
//! seconds after the process was killed. An accept or a poll of a listener would so let a dead process
//! go on taking connections, and keep its port. An epoll descriptor does not keep open what it watches.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

use io_uring::{opcode, types};
use rustix::event::epoll::{self, EventData, EventFlags};
use rustix::io::Errno;
use rustix::net::{SocketFlags, acceptfrom_with};

use super::{Of, Uring};
use crate::listener::Listener;
use crate::reactor::{TICK, admission};
use crate::shared::Shared;

/// The listeners, and what tells that they have connections.
pub(super) struct Acceptor {
    poll: OwnedFd,
    listeners: Vec<Listener>,
    is_armed: bool,
}

impl Acceptor {
    pub(super) fn new(listeners: Vec<Listener>) -> io::Result<Self> {
        let poll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        for listener in &listeners {
            epoll::add(&poll, &listener.socket, EventData::new_u64(0), EventFlags::IN)?;
        }
        Ok(Self { poll, listeners, is_armed: false })
    }

    /// Stops listening: the ports are free for the next server.
    pub(super) fn close(&mut self) {
        self.listeners.clear();
    }
}

impl Uring {
    /// Asks for a completion when a listener has connections.
    pub(super) fn arm_accept(&mut self) -> io::Result<()> {
        if self.acceptor.is_armed || self.acceptor.listeners.is_empty() {
            return Ok(());
        }
        self.acceptor.is_armed = true;
        let poll = types::Fd(self.acceptor.poll.as_raw_fd());
        self.push(opcode::PollAdd::new(poll, libc::POLLIN as u32).build(), Of::Accept)
    }

    /// Accepts the connections that wait.
    pub(super) fn accept(&mut self, shared: &Shared) -> io::Result<()> {
        self.acceptor.is_armed = false;
        for index in 0..self.acceptor.listeners.len() {
            for _ in 0..admission::ACCEPTS {
                let Some(listener) = self.acceptor.listeners.get(index) else { break };
                match acceptfrom_with(&listener.socket, SocketFlags::CLOEXEC) {
                    Ok(accepted) => {
                        if let Some(arrival) =
                            admission::receive(shared, listener, accepted, &mut self.scratch)
                            && let Some(arrival) = self.placement.place(self.own, arrival)
                        {
                            self.serve(shared, arrival)?;
                        }
                    }
                    Err(Errno::AGAIN) => break,
                    // The peer gave up between connecting and being accepted, or a signal came.
                    Err(Errno::CONNABORTED | Errno::INTR | Errno::PROTO) => {}
                    Err(error) => {
                        // Connections that are still to be closed may hold what is missing.
                        self.close(shared, self.farewell.len());
                        let message = io::Error::from(error);
                        let wait = TICK.as_millis();
                        let advice = "raise `ulimit -n` or lower --maxclients";
                        tracing::warn!(
                            "cannot accept a connection: {message}; trying again in {wait} ms ({advice})"
                        );
                        // The next tick arms it again.
                        return Ok(());
                    }
                }
            }
        }
        self.arm_accept()
    }
}
