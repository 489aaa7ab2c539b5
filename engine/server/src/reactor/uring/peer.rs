//! What does the io_uring reactor know of one connection? Its socket, its buffers, and what the kernel has been asked for.

use std::os::fd::OwnedFd;

use crate::reactor::connection::Connection;

/// One connection and its socket.
pub(super) struct Peer {
    pub(super) socket: OwnedFd,
    pub(super) connection: Connection,
    /// What the kernel is sending: neither changed nor dropped while `send_armed`.
    pub(super) sending: Vec<u8>,
    pub(super) sent: usize,
    pub(super) send_armed: bool,
    pub(super) receive: Receive,
    /// Stands in the list of those to be looked at when the turn ends.
    pub(super) touched: bool,
    /// The socket is of no more use, or the conversation is over.
    pub(super) ending: bool,
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
            connection,
            sending: Vec::new(),
            sent: 0,
            send_armed: false,
            receive: Receive::Idle,
            touched: false,
            ending: false,
        }
    }

    /// What is left of the replies that are being sent.
    pub(super) fn rest(&self) -> &[u8] {
        &self.sending[self.sent..]
    }

    /// Whether the kernel has nothing more to do with this connection.
    pub(super) fn is_quiet(&self) -> bool {
        !self.send_armed && self.receive == Receive::Idle
    }
}
