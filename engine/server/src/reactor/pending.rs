//! What waits for a client that does not take its replies as fast as they are made?

use std::collections::VecDeque;
use std::io::IoSlice;
use std::os::fd::OwnedFd;

use plumbkv::Value;
use rustix::io::Errno;
use rustix::net::{SendAncillaryBuffer, SendFlags, sendmsg};

use super::pool::{Kept, PIECE_BYTES, Pool};
use crate::replies::{Mark, Replies};
use crate::shared::Shared;

/// Pieces handed to the kernel by one system call.
pub(super) const SLICES: usize = 16;

/// Replies in order that a socket did not take.
#[derive(Default)]
pub(crate) struct Pending {
    pieces: VecDeque<Piece>,
    /// Bytes of the first piece that are sent.
    sent: usize,
    /// Bytes that wait.
    len: usize,
}

enum Piece {
    Kept(Kept),
    Value(Value),
}

impl Piece {
    fn bytes(&self) -> &[u8] {
        match self {
            Self::Kept(kept) => kept.bytes(),
            Self::Value(value) => value,
        }
    }
}

impl Pending {
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Takes over the replies between two marks, but for their first `sent` bytes. False when there is no memory for them.
    pub(crate) fn keep(
        &mut self,
        shared: &Shared,
        pool: &mut Pool,
        replies: &mut Replies,
        (start, end): (Mark, Mark),
        mut sent: usize,
    ) -> bool {
        let mut at = start.bytes;
        let mut kept_all = true;
        for (place, value) in replies.values.drain(start.values..end.values) {
            kept_all = kept_all && self.copy(shared, pool, &replies.bytes[at..place], &mut sent);
            at = place;
            let skip = sent.min(value.len());
            sent -= skip;
            if skip < value.len() {
                self.len += value.len() - skip;
                if self.pieces.is_empty() {
                    self.sent = skip;
                }
                self.pieces.push_back(Piece::Value(value));
            }
        }
        kept_all && self.copy(shared, pool, &replies.bytes[at..end.bytes], &mut sent)
    }

    fn copy(&mut self, shared: &Shared, pool: &mut Pool, bytes: &[u8], sent: &mut usize) -> bool {
        let skip = bytes.len().min(*sent);
        *sent -= skip;
        let mut rest = &bytes[skip..];
        if let Some(Piece::Kept(kept)) = self.pieces.back_mut() {
            let count = kept.fill(rest);
            self.len += count;
            rest = &rest[count..];
        }
        if rest.is_empty() {
            return true;
        }
        // One that waits longer leaves the thread's pieces to others; what comes next will not be taken at once either.
        let wanted = if self.pieces.is_empty() { rest.len() } else { rest.len().max(4 * PIECE_BYTES) };
        let Some(mut kept) = pool.room(shared, wanted) else { return false };
        self.len += kept.fill(rest);
        self.pieces.push_back(Piece::Kept(kept));
        true
    }

    /// Sends what the socket takes.
    ///
    /// # Errors
    /// The socket is broken.
    pub(crate) fn flush(&mut self, pool: &mut Pool, socket: &OwnedFd) -> Result<(), Errno> {
        while !self.is_empty() {
            let mut slices = [IoSlice::new(&[]); SLICES];
            let count = self.slices(&mut slices, usize::MAX);
            let asked: usize = slices[..count].iter().map(|slice| slice.len()).sum();
            let sent = send_some(socket, &slices[..count])?;
            self.forget(pool, sent);
            if sent < asked {
                break;
            }
        }
        Ok(())
    }

    /// The first pieces of what waits, of `most` bytes or a little more; answers how many they are.
    pub(super) fn slices<'s>(&'s self, slices: &mut [IoSlice<'s>; SLICES], most: usize) -> usize {
        let (mut count, mut bytes) = (0, 0);
        for (slice, piece) in slices.iter_mut().zip(&self.pieces) {
            if bytes >= most {
                break;
            }
            let skip = if count == 0 { self.sent } else { 0 };
            *slice = IoSlice::new(&piece.bytes()[skip..]);
            (count, bytes) = (count + 1, bytes + slice.len());
        }
        count
    }

    /// Takes out the first `sent` bytes, which are done with.
    pub(super) fn forget(&mut self, pool: &mut Pool, mut sent: usize) {
        self.len -= sent;
        while let Some(first) = self.pieces.front() {
            let left = first.bytes().len() - self.sent;
            if sent < left {
                self.sent += sent;
                return;
            }
            sent -= left;
            self.sent = 0;
            if let Some(Piece::Kept(kept)) = self.pieces.pop_front() {
                pool.put(kept);
            }
        }
        // Nothing waits: neither does the queue's own memory.
        self.pieces = VecDeque::new();
    }

    /// Adds what waits elsewhere behind what waits here.
    pub(crate) fn append(&mut self, mut other: Pending) {
        debug_assert_eq!(other.sent, 0, "nothing of it was sent");
        self.len += other.len;
        self.pieces.append(&mut other.pieces);
    }

    /// Gives everything back, unsent.
    pub(crate) fn clear(&mut self, pool: &mut Pool) {
        self.forget(pool, self.len);
    }
}

/// Sends replies between two marks as far as the socket takes them, and returns how many bytes that was.
pub(crate) fn send_replies(
    socket: &OwnedFd,
    replies: &Replies,
    (start, end): (Mark, Mark),
) -> Result<usize, Errno> {
    let values = &replies.values[start.values..end.values];
    let mut total = 0;
    let mut at = start.bytes;
    let mut rest = values.iter();
    loop {
        let mut slices = [IoSlice::new(&[]); SLICES];
        let mut count = 0;
        while count + 2 <= SLICES {
            let Some((place, value)) = rest.next() else { break };
            slices[count] = IoSlice::new(&replies.bytes[at..*place]);
            slices[count + 1] = IoSlice::new(value);
            (count, at) = (count + 2, *place);
        }
        let is_full = count + 2 > SLICES;
        if !is_full {
            slices[count] = IoSlice::new(&replies.bytes[at..end.bytes]);
            count += 1;
        }
        let asked: usize = slices[..count].iter().map(|slice| slice.len()).sum();
        let sent = send_some(socket, &slices[..count])?;
        total += sent;
        if sent < asked || !is_full {
            return Ok(total);
        }
    }
}

/// Sends what the socket takes; 0 when it is full.
pub(super) fn send_some(socket: &OwnedFd, slices: &[IoSlice<'_>]) -> Result<usize, Errno> {
    let flags = SendFlags::NOSIGNAL | SendFlags::DONTWAIT;
    let sent = match slices {
        [single] => rustix::net::send(socket, single, flags),
        several => sendmsg(socket, several, &mut SendAncillaryBuffer::default(), flags),
    };
    match sent {
        Err(Errno::AGAIN | Errno::INTR) => Ok(0),
        sent => sent,
    }
}
