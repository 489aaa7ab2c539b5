//! Departure: a connection with HTTP whose next request is not for an I/O thread goes to the HTTP thread.

use std::os::fd::OwnedFd;
use std::sync::Arc;

use super::{Connection, Input};
use crate::reactor::placement::{Arrival, OverHttp};
use crate::reactor::pool::Pool;
use crate::replies::Replies;
use crate::session::Session;
use crate::shared::Shared;

impl Connection {
    /// The conversation of a connection that has come.
    pub(crate) fn of_arrival(shared: &Shared, arrival: Arrival) -> (OwnedFd, Self, Vec<u8>) {
        let Arrival { socket, entry, counted, encryption, http } = arrival;
        let (session, received) = match http {
            None => (Session::new(shared, entry), Vec::new()),
            Some(OverHttp { peer, received }) => (Session::http(shared, entry, peer), received),
        };
        (socket, Self::new(session, counted).encrypted(encryption), received)
    }

    /// Whether it speaks HTTP.
    pub(crate) fn is_http(&self) -> bool {
        self.session.http_peer().is_some()
    }

    /// Whether another thread is to serve it.
    pub(crate) fn is_leaving(&self) -> bool {
        self.is_leaving
    }

    /// Whether it can go: its responses have left.
    pub(crate) fn can_leave(&self) -> bool {
        self.is_leaving && !self.closing && !self.is_waiting()
    }

    /// What the next thread needs of it. Nothing is left to release.
    pub(crate) fn depart(&mut self, shared: &Shared, pool: &mut Pool, socket: OwnedFd) -> Option<Arrival> {
        let peer = self.session.http_peer()?;
        let mut received = Vec::with_capacity(self.unexecuted());
        if let Input::Kept(kept) = &self.input {
            received.extend_from_slice(kept.bytes());
        }
        while let Some(chunk) = self.ahead.pop() {
            received.extend_from_slice(chunk.bytes());
            pool.put(chunk);
        }
        self.clear_input(pool);
        self.session.forget_arguments(shared);
        let entry = Arc::clone(self.session.entry());
        let counted = std::mem::take(&mut self.counted);
        Some(Arrival { socket, entry, counted, encryption: None, http: Some(OverHttp { peer, received }) })
    }
}

/// Answers a request that cannot be kept.
pub(super) fn complain(replies: &mut Replies, text: &str) {
    let length = text.len();
    let head = "HTTP/1.1 503 Service Unavailable\r\ncontent-type: text/plain\r\nconnection: close";
    replies.bytes.extend_from_slice(format!("{head}\r\ncontent-length: {length}\r\n\r\n{text}").as_bytes());
}
