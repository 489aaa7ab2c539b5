//! TLS of a connection: received bytes are decrypted before they are heard, and replies are encrypted when they are sent.
//!
//! Replies wait as they are: a long value counts once and is encrypted piece by piece, as the socket takes it.

use std::io::{BufRead as _, IoSlice, Write as _};
use std::os::fd::OwnedFd;
use std::sync::Arc;

use rustix::io::Errno;
use rustls::{ServerConfig, ServerConnection};

use super::{Connection, NoMemory};
use crate::reactor::pending::{Pending, SLICES, send_some};
use crate::reactor::pool::Pool;
use crate::replies::Replies;
use crate::shared::Shared;

/// What is counted for TLS of a connection beside the connection itself, in bytes: keys, the state of the handshake, and a record
/// that has not wholly arrived.
pub(crate) const ENCRYPTION_BYTES: u64 = 32 << 10;

/// Bytes of replies that are encrypted before the socket is asked to take them: four records.
const SEALED_BYTES: usize = 64 << 10;

/// Capacity for encrypted bytes that a connection keeps while it has nothing to send.
const KEPT_BYTES: usize = 4 << 10;

/// TLS of one connection.
pub(crate) struct Encryption {
    connection: ServerConnection,
    /// Encrypted bytes, of which the socket has taken the first `sent`.
    sealed: Vec<u8>,
    sent: usize,
    /// The client was told that no reply follows.
    is_closed: bool,
}

impl Encryption {
    pub(crate) fn new(config: Arc<ServerConfig>) -> Result<Self, rustls::Error> {
        let connection = ServerConnection::new(config)?;
        Ok(Self { connection, sealed: Vec::new(), sent: 0, is_closed: false })
    }

    /// Whether something is to be sent that is no reply, or encrypted already.
    fn has_output(&self) -> bool {
        self.sent < self.sealed.len() || self.connection.wants_write()
    }

    /// Takes in some of the bytes; none once the client has said that it sends nothing more.
    fn decrypt(&mut self, bytes: &mut &[u8]) -> Result<(), rustls::Error> {
        let taken = self.connection.read_tls(bytes);
        taken.map_err(|error| rustls::Error::General(error.to_string()))?;
        self.connection.process_new_packets().map(drop)
    }

    /// Gives decrypted bytes to `hear`, piece by piece.
    fn hand_out(&mut self, mut hear: impl FnMut(&[u8]) -> Result<(), NoMemory>) -> Result<(), NoMemory> {
        loop {
            let mut reader = self.connection.reader();
            // An error says that nothing is there now, or that the connection was cut off.
            let count = match reader.fill_buf() {
                Ok([]) | Err(_) => return Ok(()),
                Ok(plain) => {
                    hear(plain)?;
                    plain.len()
                }
            };
            reader.consume(count);
        }
    }

    /// Sends what is encrypted and then what waits, as far as the socket takes it. Behind the last reply the client is told that
    /// it is the last one.
    ///
    /// # Errors
    /// The socket is broken.
    fn flush(
        &mut self,
        pending: &mut Pending,
        pool: &mut Pool,
        socket: &OwnedFd,
        is_closing: bool,
    ) -> Result<(), Errno> {
        loop {
            while self.sent < self.sealed.len() {
                match send_some(socket, &[IoSlice::new(&self.sealed[self.sent..])])? {
                    0 => return Ok(()),
                    count => self.sent += count,
                }
            }
            (self.sent, self.sealed) = (0, emptied(std::mem::take(&mut self.sealed)));
            if !pending.is_empty() {
                let mut slices = [IoSlice::new(&[]); SLICES];
                let count = pending.slices(&mut slices, SEALED_BYTES);
                // It takes no more than its own limit, which is 64 KiB, too.
                let taken = self.connection.writer().write_vectored(&slices[..count]);
                let taken = taken.map_err(|_| Errno::IO)?;
                if taken == 0 {
                    return Err(Errno::IO);
                }
                pending.forget(pool, taken);
            } else if is_closing && !self.is_closed {
                self.is_closed = true;
                self.connection.send_close_notify();
            }
            while self.connection.wants_write() {
                self.connection.write_tls(&mut self.sealed).map_err(|_| Errno::IO)?;
            }
            if self.sealed.is_empty() {
                return Ok(());
            }
        }
    }
}

/// A buffer without its bytes, and without much memory.
fn emptied(mut buffer: Vec<u8>) -> Vec<u8> {
    buffer.clear();
    if buffer.capacity() > KEPT_BYTES { Vec::new() } else { buffer }
}

impl Connection {
    /// The same with TLS, or without.
    pub(crate) fn encrypted(mut self, encryption: Option<Box<Encryption>>) -> Self {
        self.encryption = encryption;
        self
    }

    /// Whether replies have to be encrypted: they are sent by [`flush`](Self::flush) alone.
    #[inline]
    pub(crate) fn is_encrypted(&self) -> bool {
        self.encryption.is_some()
    }

    /// Whether TLS has something to send.
    #[inline]
    pub(super) fn has_sealed(&self) -> bool {
        self.encryption.as_ref().is_some_and(|encryption| encryption.has_output())
    }

    /// Sends what waits, as far as the socket takes it; false when it is broken.
    pub(crate) fn flush(&mut self, pool: &mut Pool, socket: &OwnedFd) -> bool {
        if self.is_held() {
            return true;
        }
        let Self { pending, encryption, closing, .. } = self;
        let flushed = match encryption {
            None => pending.flush(pool, socket),
            Some(encryption) => encryption.flush(pending, pool, socket, *closing),
        };
        flushed.is_ok()
    }

    /// Takes encrypted bytes in, and executes what has wholly arrived.
    #[cold]
    pub(super) fn hear_encrypted(
        &mut self,
        shared: &Shared,
        pool: &mut Pool,
        mut bytes: &[u8],
        replies: &mut Replies,
    ) -> Result<(), NoMemory> {
        let Some(mut encryption) = self.encryption.take() else { return Ok(()) };
        let mut heard = Ok(());
        while !bytes.is_empty() && !self.closing && heard.is_ok() {
            let before = bytes.len();
            if let Err(error) = encryption.decrypt(&mut bytes) {
                tracing::debug!("connection {}: TLS: {error}", self.session.entry().id);
                // What the client is told about it leaves first.
                self.finish(pool);
            }
            heard = encryption.hand_out(|plain| self.hear_plain(shared, pool, plain, replies));
            if bytes.len() == before {
                break;
            }
        }
        self.encryption = Some(encryption);
        heard
    }
}
