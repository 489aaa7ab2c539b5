//! The floor by io_uring: one accept and one receive per connection that stay armed, and a ring of buffers from
//! which the kernel takes one whenever bytes arrive.
//!
//! A multishot request can end at any time: its last completion comes without `F_MORE`, with or without bytes, or
//! with `ENOBUFS` when no buffer was left. Either way it is armed again, or the connection would hang. A slot of
//! the table is given away only when neither a receive nor a send of its connection is outstanding, so that a
//! completion always belongs to the connection that its slot holds.

use super::{Answers, Conversation};
use io_uring::{IoUring, cqueue, opcode, squeue, types};
use std::alloc::{Layout, alloc_zeroed, handle_alloc_error};
use std::io;
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::os::fd::{AsRawFd, FromRawFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU16, Ordering};

const ENTRIES: u32 = 1024;
/// Room for a completion of each of thousands of connections before one is looked at.
const COMPLETIONS: u32 = 16 * 1024;
/// A power of two, as the ring of buffers must be.
const BUFFERS: u16 = 1024;
const BUFFER_BYTES: usize = 8 * 1024;
const GROUP: u16 = 0;

/// A bound floor server.
#[derive(Debug)]
pub struct Server<A: Answers> {
    ring: Ring,
    listener: TcpListener,
    connections: Vec<Option<Connection<A::State>>>,
    free: Vec<usize>,
    answers: A,
}

#[derive(Debug)]
struct Connection<S> {
    stream: TcpStream,
    conversation: Conversation<S>,
    /// What the kernel is sending: not touched until it says that it has.
    sending: Vec<u8>,
    sent: usize,
    send_armed: bool,
    receive_armed: bool,
}

/// What a completion is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Of {
    Accept,
    Receive(usize),
    Send(usize),
}

impl Of {
    fn pack(self) -> u64 {
        match self {
            Self::Accept => 0,
            Self::Receive(slot) => (slot as u64) << 2 | 1,
            Self::Send(slot) => (slot as u64) << 2 | 2,
        }
    }

    fn unpack(data: u64) -> Self {
        let slot = (data >> 2) as usize;
        match data & 3 {
            1 => Self::Receive(slot),
            2 => Self::Send(slot),
            _ => Self::Accept,
        }
    }
}

/// Whether this process may use io_uring the way the server does.
///
/// # Errors
/// The kernel refuses; the message says what may be the reason.
pub fn probe() -> io::Result<()> {
    Ring::new(BUFFERS).map(drop)
}

impl<A: Answers> Server<A> {
    /// Listens.
    ///
    /// # Errors
    /// The address cannot be listened on, or the kernel refuses io_uring.
    pub fn bind(address: SocketAddr, answers: A) -> io::Result<Self> {
        Self::with_buffers(address, answers, BUFFERS)
    }

    /// As [`Server::bind`], with another number of receive buffers, which must be a power of two.
    pub(super) fn with_buffers(address: SocketAddr, answers: A, buffers: u16) -> io::Result<Self> {
        let listener = TcpListener::bind(address)?;
        let ring = Ring::new(buffers)?;
        Ok(Self { ring, listener, connections: Vec::new(), free: Vec::new(), answers })
    }

    /// Where it listens.
    ///
    /// # Errors
    /// The system cannot say.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Serves until the process ends.
    ///
    /// # Errors
    /// Waiting or accepting fails for good.
    pub fn run(&mut self) -> io::Result<()> {
        self.arm_accept()?;
        let mut completions = Vec::new();
        let mut touched = Vec::new();
        loop {
            self.ring.wait(&mut completions)?;
            for completion in completions.drain(..) {
                match Of::unpack(completion.user_data()) {
                    Of::Accept => self.accepted(&completion)?,
                    Of::Receive(slot) => {
                        self.received(slot, &completion)?;
                        touched.push(slot);
                    }
                    Of::Send(slot) => {
                        self.sent(slot, &completion);
                        touched.push(slot);
                    }
                }
            }
            // One send per connection and turn, whatever number of receives completed in it.
            for slot in touched.drain(..) {
                self.go_on(slot)?;
            }
        }
    }

    fn arm_accept(&mut self) -> io::Result<()> {
        let accept = opcode::AcceptMulti::new(types::Fd(self.listener.as_raw_fd())).build();
        // SAFETY: the entry points to no memory, and the listener stays open as long as the server.
        unsafe { self.ring.push(accept.user_data(Of::Accept.pack())) }
    }

    fn accepted(&mut self, completion: &cqueue::Entry) -> io::Result<()> {
        if !cqueue::more(completion.flags()) {
            self.arm_accept()?;
        }
        let fd = match checked(completion.result()) {
            Ok(fd) => fd,
            Err(error) if matches!(error.raw_os_error(), Some(libc::ECONNABORTED | libc::EINTR)) => {
                return Ok(());
            }
            Err(error) => return Err(error),
        };
        // SAFETY: a successful accept completes with a new descriptor, which nobody else knows.
        let stream = unsafe { TcpStream::from_raw_fd(fd) };
        stream.set_nodelay(true)?;
        let connection = Connection {
            stream,
            conversation: Conversation::default(),
            sending: Vec::new(),
            sent: 0,
            send_armed: false,
            receive_armed: false,
        };
        let slot = self.free.pop().unwrap_or_else(|| {
            self.connections.push(None);
            self.connections.len() - 1
        });
        self.connections[slot] = Some(connection);
        self.arm_receive(slot)
    }

    fn arm_receive(&mut self, slot: usize) -> io::Result<()> {
        let Some(connection) = &mut self.connections[slot] else { return Ok(()) };
        connection.receive_armed = true;
        let fd = types::Fd(connection.stream.as_raw_fd());
        let receive = opcode::RecvMulti::new(fd, GROUP).build();
        // SAFETY: the bytes go to the ring's own buffers, and the stream is dropped only when this has completed.
        unsafe { self.ring.push(receive.user_data(Of::Receive(slot).pack())) }
    }

    fn received(&mut self, slot: usize, completion: &cqueue::Entry) -> io::Result<()> {
        let Some(connection) = &mut self.connections[slot] else { return Ok(()) };
        let more = cqueue::more(completion.flags());
        connection.receive_armed = more;
        let count = completion.result();
        if let Some(buffer) = cqueue::buffer_select(completion.flags()) {
            let length = usize::try_from(count).unwrap_or(0);
            connection.conversation.hear(&mut self.answers, self.ring.buffers.bytes(buffer, length));
            self.ring.buffers.give_back(buffer);
        }
        if count > 0 || count == -libc::ENOBUFS {
            // It ended without the peer's doing: out of buffers, or the completion queue was full.
            return if more { Ok(()) } else { self.arm_receive(slot) };
        }
        // The peer is gone, or the connection broke: what is still to be sent has no reader.
        connection.conversation.closing = true;
        connection.conversation.output.clear();
        Ok(())
    }

    fn sent(&mut self, slot: usize, completion: &cqueue::Entry) {
        let Some(connection) = &mut self.connections[slot] else { return };
        connection.send_armed = false;
        match usize::try_from(completion.result()) {
            Ok(count) => connection.sent += count,
            Err(_) => {
                connection.conversation.closing = true;
                connection.conversation.output.clear();
                connection.sent = connection.sending.len();
            }
        }
    }

    /// Sends what waits, or ends a connection that is over.
    fn go_on(&mut self, slot: usize) -> io::Result<()> {
        let Some(connection) = &mut self.connections[slot] else { return Ok(()) };
        if connection.send_armed {
            return Ok(());
        }
        if connection.sent == connection.sending.len() {
            connection.sending.clear();
            connection.sent = 0;
            std::mem::swap(&mut connection.sending, &mut connection.conversation.output);
        }
        let rest = &connection.sending[connection.sent..];
        if !rest.is_empty() {
            let length = u32::try_from(rest.len()).unwrap_or(u32::MAX);
            let send = opcode::Send::new(types::Fd(connection.stream.as_raw_fd()), rest.as_ptr(), length)
                .flags(libc::MSG_NOSIGNAL | libc::MSG_WAITALL)
                .build();
            connection.send_armed = true;
            // SAFETY: `sending` is neither changed nor dropped, and the stream not closed, while `send_armed`.
            return unsafe { self.ring.push(send.user_data(Of::Send(slot).pack())) };
        }
        if connection.conversation.closing {
            if connection.receive_armed {
                // Makes the armed receive complete with the end of the stream, after which the slot is free.
                let _ = connection.stream.shutdown(Shutdown::Both);
            } else {
                self.connections[slot] = None;
                self.free.push(slot);
            }
        }
        Ok(())
    }
}

fn checked(result: i32) -> io::Result<i32> {
    if result < 0 { Err(io::Error::from_raw_os_error(-result)) } else { Ok(result) }
}

/// The two queues and the buffers that receives are given.
struct Ring {
    uring: IoUring,
    buffers: Buffers,
}

impl std::fmt::Debug for Ring {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Ring").field("buffers", &self.buffers).finish_non_exhaustive()
    }
}

impl Ring {
    fn new(buffers: u16) -> io::Result<Self> {
        let uring = IoUring::builder()
            .setup_single_issuer()
            .setup_defer_taskrun()
            .setup_cqsize(COMPLETIONS)
            .build(ENTRIES)
            .map_err(refused)?;
        let buffers = Buffers::new(buffers);
        let entries = buffers.entries.as_ptr() as u64;
        // SAFETY: the entries are page-aligned, `count` long, and never freed.
        unsafe { uring.submitter().register_buf_ring_with_flags(entries, buffers.count, GROUP, 0) }
            .map_err(refused)?;
        let mut ring = Self { uring, buffers };
        for buffer in 0..ring.buffers.count {
            ring.buffers.give_back(buffer);
        }
        Ok(ring)
    }

    /// Hands a request to the kernel, at the latest with the next wait.
    ///
    /// # Safety
    /// What the entry points to must stay valid until its completion.
    unsafe fn push(&mut self, entry: squeue::Entry) -> io::Result<()> {
        // SAFETY: the caller's promise.
        while unsafe { self.uring.submission().push(&entry) }.is_err() {
            self.uring.submit()?;
        }
        Ok(())
    }

    /// Submits what was pushed and returns what has completed: at least one.
    fn wait(&mut self, completions: &mut Vec<cqueue::Entry>) -> io::Result<()> {
        loop {
            match self.uring.submit_and_wait(1) {
                Ok(_) => break,
                // Completions that found no room are flushed by the next call, once some were taken.
                Err(error) if error.raw_os_error() == Some(libc::EBUSY) => break,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        completions.extend(self.uring.completion());
        Ok(())
    }
}

/// Why io_uring was refused, in words.
fn refused(error: io::Error) -> io::Error {
    let why = match error.raw_os_error() {
        Some(libc::ENOSYS) => "the kernel has none, or a seccomp profile hides it",
        Some(libc::EPERM | libc::EACCES) => {
            "a seccomp profile or the sysctl kernel.io_uring_disabled forbids it"
        }
        Some(libc::EINVAL) => "the kernel is older than 6.1 and knows no DEFER_TASKRUN",
        Some(libc::ENOMEM) => "the limit on locked memory is too low",
        _ => "the kernel refused",
    };
    io::Error::new(error.kind(), format!("io_uring cannot be used here: {why} ({error})"))
}

/// Receive buffers, lent to the kernel through a ring of entries that both sides see.
///
/// Never freed: after the ring is closed the kernel may still be ending receives into them, and a server lives as
/// long as its process.
#[derive(Debug)]
struct Buffers {
    entries: NonNull<types::BufRingEntry>,
    bytes: NonNull<u8>,
    count: u16,
    tail: u16,
}

impl Buffers {
    fn new(count: u16) -> Self {
        let entries = usize::from(count) * size_of::<types::BufRingEntry>();
        let bytes = usize::from(count) * BUFFER_BYTES;
        Self { entries: pages(entries).cast(), bytes: pages(bytes), count, tail: 0 }
    }

    /// What the kernel put into a buffer that it named in a completion.
    fn bytes(&self, buffer: u16, length: usize) -> &[u8] {
        let place = usize::from(buffer % self.count) * BUFFER_BYTES;
        // SAFETY: within the allocation; the kernel has filled the buffer and gets it back only by `give_back`,
        // which needs the whole of `self`.
        unsafe { std::slice::from_raw_parts(self.bytes.as_ptr().add(place), length.min(BUFFER_BYTES)) }
    }

    /// Lends a buffer to the kernel.
    fn give_back(&mut self, buffer: u16) {
        let place = usize::from(buffer % self.count) * BUFFER_BYTES;
        let index = usize::from(self.tail % self.count);
        // SAFETY: within the two allocations; no reference to the buffer's bytes is alive while `self` is
        // borrowed mutably; the kernel reads an entry only after the tail below has passed it.
        unsafe {
            let entry = &mut *self.entries.as_ptr().add(index);
            entry.set_addr(self.bytes.as_ptr().add(place) as u64);
            entry.set_len(BUFFER_BYTES as u32);
            entry.set_bid(buffer);
        }
        self.tail = self.tail.wrapping_add(1);
        // SAFETY: the tail lies in the first entry, is aligned, and is written by this thread alone.
        let tail =
            unsafe { AtomicU16::from_ptr(types::BufRingEntry::tail(self.entries.as_ptr()).cast_mut()) };
        tail.store(self.tail, Ordering::Release);
    }
}

/// Zeroed memory that begins at a page.
fn pages(bytes: usize) -> NonNull<u8> {
    const PAGE_BYTES: usize = 4096;
    let Ok(layout) = Layout::from_size_align(bytes, PAGE_BYTES) else {
        unreachable!("constant sizes make a layout");
    };
    // SAFETY: the size is not zero.
    let Some(memory) = NonNull::new(unsafe { alloc_zeroed(layout) }) else { handle_alloc_error(layout) };
    memory
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_completion_names_what_it_is_of() {
        for of in [Of::Accept, Of::Receive(0), Of::Send(0), Of::Receive(70_000), Of::Send(70_000)] {
            assert_eq!(Of::unpack(of.pack()), of);
        }
    }

    #[test]
    fn a_refusal_says_what_may_be_the_reason() {
        let text = refused(io::Error::from_raw_os_error(libc::EPERM)).to_string();
        assert!(text.contains("kernel.io_uring_disabled") && text.contains("seccomp"), "{text}");
    }
}
