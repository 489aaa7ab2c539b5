//! How does one talk to io_uring? Two queues, and buffers lent to the kernel through a third.

use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU16, Ordering};
use std::time::Duration;

use io_uring::{EnterFlags, IoUring, cqueue, squeue, types};
use rustix::io::Errno;
use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous};
use rustix::process::{Resource, getrlimit};

const ENTRIES: u32 = 1024;

/// Room for a completion of each of thousands of connections before one is looked at.
const COMPLETIONS: u32 = 16 * 1024;

/// Receive buffers: as many as connections that may have something to say in one turn. A power of two.
const BUFFERS: u16 = 1024;
const BUFFER_BYTES: usize = 4096;

/// Sockets that the kernel keeps at hand; one beyond them is looked up whenever it is named.
const FILES: u32 = 16 * 1024;

/// The group that receives name to be given one of the buffers.
pub(super) const GROUP: u16 = 0;

/// The two queues and the buffers that receives are given.
pub(crate) struct Ring {
    uring: IoUring,
    pub(super) buffers: Buffers,
    /// Sockets that it keeps at hand, at most.
    files: usize,
}

impl Ring {
    /// # Errors
    /// The kernel refuses something of what the reactor needs; the message says what may be the reason.
    pub(crate) fn new() -> io::Result<Self> {
        let uring = IoUring::builder()
            .setup_single_issuer()
            .setup_defer_taskrun()
            .setup_submit_all()
            .setup_cqsize(COMPLETIONS)
            .build(ENTRIES)
            .map_err(refused)?;
        let mut ring = Self { uring, buffers: Buffers::new()?, files: 0 };
        let entries = ring.buffers.entries.as_ptr() as u64;
        // SAFETY: the entries are page-aligned, as many as said, and never freed.
        unsafe { ring.uring.submitter().register_buf_ring_with_flags(entries, BUFFERS, GROUP, 0) }
            .map_err(refused)?;
        (0..BUFFERS).for_each(|buffer| ring.buffers.give_back(buffer));
        // Both only save work: a kernel that is too old for one of them does without.
        let _ = ring.uring.submitter().register_ring_fd();
        // No more than a process may have open is taken.
        let open = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
        let files = u32::try_from(open).unwrap_or(FILES).min(FILES);
        if ring.uring.submitter().register_files_sparse(files).is_ok() {
            ring.files = files as usize;
        }
        Ok(ring)
    }

    /// Lets the kernel keep a socket at hand by number; false where it does not.
    pub(super) fn keep_file(&self, number: usize, socket: &OwnedFd) -> bool {
        number < self.files
            && self.uring.submitter().register_files_update(number as u32, &[socket.as_raw_fd()]).is_ok()
    }

    /// Lets go of a socket that [`keep_file`](Self::keep_file) has kept; it would stay open otherwise.
    pub(super) fn drop_file(&self, number: usize) {
        if let Err(error) = self.uring.submitter().register_files_update(number as u32, &[-1]) {
            tracing::error!("a closed connection's socket stays open: {error}");
        }
    }

    /// Hands a request to the kernel, at the latest with the next wait.
    ///
    /// # Safety
    /// What the entry points to must stay valid until its completion.
    pub(super) unsafe fn push(&mut self, entry: &squeue::Entry) -> io::Result<()> {
        // SAFETY: the caller's promise.
        while unsafe { self.uring.submission().push(entry) }.is_err() {
            self.enter()?;
        }
        Ok(())
    }

    /// Submits what was pushed and appends what has completed, after waiting for the first, as long as `patience` where there is an end to it.
    pub(super) fn wait(
        &mut self,
        patience: Option<Duration>,
        completions: &mut VecDeque<cqueue::Entry>,
    ) -> io::Result<()> {
        match patience {
            None => allow_for(self.uring.submitter().submit_and_wait(1))?,
            Some(patience) => {
                let timeout = types::Timespec::new().sec(patience.as_secs()).nsec(patience.subsec_nanos());
                let arguments = types::SubmitArgs::new().timespec(&timeout);
                allow_for(self.uring.submitter().submit_with_args(1, &arguments))?;
            }
        }
        self.collect(completions)
    }

    /// Submits what was pushed, and appends what has completed.
    pub(super) fn submit(&mut self, completions: &mut VecDeque<cqueue::Entry>) -> io::Result<()> {
        self.enter()?;
        self.collect(completions)
    }

    /// Submits what was pushed, without a wait for anything.
    fn enter(&mut self) -> io::Result<()> {
        let pushed = self.uring.submission().len() as u32;
        let flags = EnterFlags::GETEVENTS.bits();
        // SAFETY: asks for no argument.
        allow_for(unsafe { self.uring.submitter().enter::<libc::sigset_t>(pushed, 0, flags, None) })
    }

    /// Appends what has completed, once all that was pushed is submitted.
    fn collect(&mut self, completions: &mut VecDeque<cqueue::Entry>) -> io::Result<()> {
        loop {
            completions.extend(self.uring.completion());
            let submission = self.uring.submission();
            // Completions that found no room are flushed by the next call, now that some were taken.
            if submission.is_empty() && !submission.cq_overflow() {
                return Ok(());
            }
            drop(submission);
            self.enter()?;
        }
    }
}

/// Errors that say no more than that it was not done yet.
fn allow_for(result: io::Result<usize>) -> io::Result<()> {
    match result {
        Ok(_) => Ok(()),
        Err(error) if matches!(error.raw_os_error(), Some(libc::ETIME | libc::EINTR | libc::EBUSY)) => Ok(()),
        Err(error) => Err(error),
    }
}

/// Why io_uring was refused, in words.
fn refused(error: io::Error) -> io::Error {
    let why = match error.raw_os_error() {
        Some(libc::ENOSYS) => "the kernel has none, or a seccomp profile hides it",
        Some(libc::EPERM | libc::EACCES) => {
            "a seccomp profile or the sysctl kernel.io_uring_disabled forbids it"
        }
        Some(libc::EINVAL) => "the kernel is older than 6.1",
        Some(libc::ENOMEM) => "the limit on locked memory is too low",
        _ => "the kernel refused",
    };
    io::Error::new(error.kind(), format!("io_uring cannot be used: {why}"))
}

/// Receive buffers, lent to the kernel through a ring of entries that both sides see.
///
/// Never freed: after the ring is closed the kernel may still be ending receives into them, and a server lives as long as its process.
pub(super) struct Buffers {
    entries: NonNull<types::BufRingEntry>,
    bytes: NonNull<u8>,
    tail: u16,
}

impl Buffers {
    fn new() -> io::Result<Self> {
        let entries = pages(usize::from(BUFFERS) * size_of::<types::BufRingEntry>())?.cast();
        Ok(Self { entries, bytes: pages(usize::from(BUFFERS) * BUFFER_BYTES)?, tail: 0 })
    }

    /// What the kernel put into a buffer that it named in a completion.
    pub(super) fn bytes(&self, buffer: u16, length: usize) -> &[u8] {
        let place = usize::from(buffer % BUFFERS) * BUFFER_BYTES;
        // SAFETY: within the mapping; the kernel has filled the buffer and gets it back only by `give_back`, which needs the
        // whole of `self`.
        unsafe { std::slice::from_raw_parts(self.bytes.as_ptr().add(place), length.min(BUFFER_BYTES)) }
    }

    /// Lends a buffer to the kernel.
    pub(super) fn give_back(&mut self, buffer: u16) {
        let place = usize::from(buffer % BUFFERS) * BUFFER_BYTES;
        let index = usize::from(self.tail % BUFFERS);
        // SAFETY: within the two mappings; no reference to the buffer's bytes is alive while `self` is borrowed mutably; the kernel
        // reads an entry only after the tail below has passed it.
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

/// Zeroed memory that begins at a page, and is resident from the start, so that it does not look like growth later.
fn pages(bytes: usize) -> io::Result<NonNull<u8>> {
    let flags = MapFlags::PRIVATE | MapFlags::POPULATE;
    // SAFETY: an anonymous mapping at an address that the kernel chooses overlaps nothing.
    let memory =
        unsafe { mmap_anonymous(std::ptr::null_mut(), bytes, ProtFlags::READ | ProtFlags::WRITE, flags)? };
    NonNull::new(memory.cast()).ok_or_else(|| Errno::NOMEM.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_says_what_may_be_the_reason() {
        let text = refused(io::Error::from_raw_os_error(libc::EPERM)).to_string();
        assert!(text.contains("kernel.io_uring_disabled") && text.contains("seccomp"), "{text}");
    }
}
