//! One connection under load: what it was asked, what of it is answered, and the bytes between.

use super::poller::Poller;
use super::request::Asked;
use super::stream::Stream;
use std::collections::VecDeque;
use std::io::{ErrorKind, Read, Write};

/// An open connection without a request under way.
#[derive(Debug)]
pub(super) struct Connection {
    stream: Stream,
    /// Requests without a reply, in the order they were sent.
    pub(super) pending: VecDeque<Asked>,
    /// Open loop: their intended starts, ns since the beginning.
    pub(super) starts: VecDeque<u64>,
    /// Closed loop: when they were sent, ns since the beginning.
    pub(super) sent_ns: u64,
    /// The beginning of a reply that has not arrived whole.
    pub(super) partial: Vec<u8>,
    /// Requests that are written, but that the socket has not taken.
    pub(super) unsent: Vec<u8>,
    /// The socket takes nothing at present; it will say when it does.
    blocked: bool,
}

impl Connection {
    /// Takes over a stream, from now on without waiting.
    pub(super) fn new(stream: Stream) -> std::io::Result<Self> {
        stream.set_nonblocking(true)?;
        Ok(Self::over(stream))
    }

    /// Takes over a stream that does not wait.
    pub(super) fn over(stream: Stream) -> Self {
        Self {
            stream,
            pending: VecDeque::new(),
            starts: VecDeque::new(),
            sent_ns: 0,
            partial: Vec::new(),
            unsent: Vec::new(),
            blocked: false,
        }
    }

    pub(super) fn listen(&self, poller: &Poller, token: usize) -> std::io::Result<()> {
        poller.add(&self.stream, token)
    }

    /// Reads what is there; None when nothing is. The flag tells whether that was all.
    pub(super) fn read(&mut self, input: &mut [u8]) -> Result<Option<(usize, bool)>, String> {
        match self.read_or_end(input)? {
            Some((0, _)) => Err("the target closed a connection under load".to_owned()),
            other => Ok(other),
        }
    }

    /// As [`Self::read`], where the target may close: the end of the stream is a read of no bytes.
    pub(super) fn read_or_end(&mut self, input: &mut [u8]) -> Result<Option<(usize, bool)>, String> {
        loop {
            return match self.stream.read(input) {
                Ok(count) => Ok(Some((count, count < input.len() && self.stream.short_read_is_all()))),
                Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(None),
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) => Err(lost(&error)),
            };
        }
    }

    /// Sends requests; what the socket does not take follows when it does.
    pub(super) fn send(&mut self, bytes: &[u8], poller: &Poller, token: usize) -> Result<(), String> {
        let written = if self.blocked || !self.unsent.is_empty() { 0 } else { self.write_some(bytes)? };
        if written < bytes.len() || self.stream.holds_back() {
            self.unsent.extend_from_slice(&bytes[written..]);
            self.block(poller, token)?;
        }
        Ok(())
    }

    /// Sends what waits in `unsent`, as far as the socket takes it.
    pub(super) fn send_rest(&mut self, poller: &Poller, token: usize) -> Result<(), String> {
        let mut unsent = std::mem::take(&mut self.unsent);
        let written = self.write_some(&unsent)?;
        unsent.drain(..written);
        self.unsent = unsent;
        if self.unsent.is_empty() && !self.stream.holds_back() {
            if self.blocked {
                self.blocked = false;
                self.await_writable(poller, token, false)?;
            }
            return Ok(());
        }
        self.block(poller, token)
    }

    /// Whether a socket that takes bytes again is of use to it.
    pub(super) fn is_blocked(&self) -> bool {
        self.blocked
    }

    fn block(&mut self, poller: &Poller, token: usize) -> Result<(), String> {
        if !self.blocked {
            self.blocked = true;
            self.await_writable(poller, token, true)?;
        }
        Ok(())
    }

    /// Asks, or asks no more, when the socket takes bytes: at once, where it does.
    pub(super) fn await_writable(&self, poller: &Poller, token: usize, writable: bool) -> Result<(), String> {
        poller
            .await_writable(&self.stream, token, writable)
            .map_err(|error| format!("waiting for a socket to take more: {error}"))
    }

    fn write_some(&mut self, mut bytes: &[u8]) -> Result<usize, String> {
        let all = bytes.len();
        if self.stream.holds_back() {
            match self.stream.flush() {
                Err(error) if error.kind() != ErrorKind::WouldBlock => return Err(lost(&error)),
                _ => {}
            }
        }
        while !bytes.is_empty() {
            match self.stream.write(bytes) {
                Ok(count) => bytes = &bytes[count..],
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(lost(&error)),
            }
        }
        Ok(all - bytes.len())
    }
}

fn lost(error: &std::io::Error) -> String {
    format!("a connection was lost under load: {error}")
}
