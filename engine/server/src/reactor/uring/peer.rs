//! What does the io_uring reactor know of one connection? Its socket, what it has to say, and what the kernel has been asked for.

use std::os::fd::{AsRawFd, OwnedFd};

use io_uring::{squeue, types};

use crate::reactor::connection::Connection;
use crate::reactor::turn::Part;

/// One connection and its socket.
pub(super) struct Peer {
    pub(super) socket: OwnedFd,
    /// The number by which the kernel keeps the socket at hand.
    pub(super) kept: Option<u32>,
    pub(super) connection: Connection,
    pub(super) receive: Receive,
    /// The replies that the kernel was last asked to send. It says something only if it could not send them all.
    pub(super) sending: Option<Part>,
    /// The kernel was asked to say when the socket takes more.
    pub(super) awaits_room: bool,
    /// Stands in the list of those to be looked at when the turn ends.
    pub(super) touched: bool,
    /// The socket is of no more use, or the conversation is over.
    pub(super) ending: bool,
    /// It is over, and will be closed.
    pub(super) leaving: bool,
}

/// A receive that stays armed completes again and again, until it says that it has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Receive {
    Idle,
    Armed,
    /// Armed, and asked to end.
    Ending,
}

impl Peer {
    pub(super) fn new(socket: OwnedFd, connection: Connection) -> Self {
        Self {
            socket,
            kept: None,
            connection,
            receive: Receive::Idle,
            sending: None,
            awaits_room: false,
            touched: false,
            ending: false,
            leaving: false,
        }
    }

    /// A look at what a turn will look at, so that it is in the caches.
    pub(super) fn glimpse(&self) -> u64 {
        u64::from(self.touched) ^ self.connection.session().entry().last_active_ms()
    }

    /// The socket as requests name it.
    pub(super) fn file(&self) -> (types::Fd, squeue::Flags) {
        match self.kept {
            Some(number) => (types::Fd(number as i32), squeue::Flags::FIXED_FILE),
            None => (types::Fd(self.socket.as_raw_fd()), squeue::Flags::empty()),
        }
    }

    /// Whether the kernel has nothing more to do with this connection.
    pub(super) fn is_quiet(&self) -> bool {
        self.receive == Receive::Idle && !self.awaits_room
    }
}
