//! Which connections have something to say? A thin face of epoll, edge-triggered, with waits in nanoseconds.
//!
//! Edge-triggered, because a level-triggered descriptor is polled once more after each event; the caller reads
//! until nothing is left. mio would do, but for its waits of whole milliseconds.

use rustix::event::epoll::{self, CreateFlags, EventData, EventFlags};
use rustix::event::{self, PollFd, PollFlags};
use rustix::fd::OwnedFd;
use rustix::time::Timespec;
use std::io;
use std::os::fd::AsFd;
use std::time::Duration;

/// Most events taken at once.
const EVENTS: usize = 1024;

/// An epoll instance.
#[derive(Debug)]
pub(super) struct Poller {
    epoll: OwnedFd,
}

/// What was taken from it last.
pub(super) struct Events(Vec<epoll::Event>);

impl Default for Events {
    fn default() -> Self {
        Self(Vec::with_capacity(EVENTS))
    }
}

impl Events {
    /// One by one.
    pub(super) fn iter(&self) -> impl Iterator<Item = Ready> {
        self.0.iter().map(|event| {
            let (flags, data) = (event.flags, event.data);
            Ready {
                token: data.u64() as usize,
                readable: flags
                    .intersects(EventFlags::IN | EventFlags::RDHUP | EventFlags::HUP | EventFlags::ERR),
                writable: flags.contains(EventFlags::OUT),
            }
        })
    }

    /// Whether there is none.
    #[must_use]
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// What has become possible on a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Ready {
    /// The number it was added with.
    pub(super) token: usize,
    /// There is something to read, an end or an error among it.
    pub(super) readable: bool,
    /// The socket takes bytes again.
    pub(super) writable: bool,
}

impl Poller {
    /// Without connections.
    ///
    /// # Errors
    /// The system refuses, for want of descriptors.
    pub(super) fn new() -> io::Result<Self> {
        Ok(Self { epoll: epoll::create(CreateFlags::CLOEXEC)? })
    }

    /// Listens to what can be read from a connection.
    ///
    /// # Errors
    /// The system refuses.
    pub(super) fn add(&self, source: impl AsFd, token: usize) -> io::Result<()> {
        Ok(epoll::add(&self.epoll, source, EventData::new_u64(token as u64), flags(false))?)
    }

    /// Listens, or listens no more, for a socket to take bytes again.
    ///
    /// # Errors
    /// The system refuses.
    pub(super) fn await_writable(&self, source: impl AsFd, token: usize, writable: bool) -> io::Result<()> {
        Ok(epoll::modify(&self.epoll, source, EventData::new_u64(token as u64), flags(writable))?)
    }

    /// Waits for events, at most `timeout`; a zero timeout only looks.
    ///
    /// # Errors
    /// The system refuses. An interrupted wait is no error: it has no events.
    pub(super) fn wait(&self, events: &mut Events, timeout: Duration) -> io::Result<()> {
        events.0.clear();
        let mut timeout =
            Timespec { tv_sec: timeout.as_secs() as i64, tv_nsec: timeout.subsec_nanos().into() };
        if timeout.tv_nsec % 1_000_000 != 0 {
            // epoll's own wait would be rounded up to a whole millisecond, which is late for a request that is due.
            match event::poll(&mut [PollFd::new(&self.epoll, PollFlags::IN)], Some(&timeout)) {
                Ok(_) | Err(rustix::io::Errno::INTR) => timeout = Timespec { tv_sec: 0, tv_nsec: 0 },
                Err(error) => return Err(error.into()),
            }
        }
        match epoll::wait(&self.epoll, rustix::buffer::spare_capacity(&mut events.0), Some(&timeout)) {
            Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}

fn flags(writable: bool) -> EventFlags {
    let flags = EventFlags::IN | EventFlags::RDHUP | EventFlags::ET;
    if writable { flags | EventFlags::OUT } else { flags }
}
