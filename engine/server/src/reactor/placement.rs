//! Which I/O thread serves a connection? The one that has the fewest when it comes; the first thread accepts for all of them.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustix::event::{EventfdFlags, eventfd};

use super::connection::Encryption;
use crate::clients::Entry;

/// A connection that was let in.
pub(crate) struct Arrival {
    pub(crate) socket: OwnedFd,
    pub(crate) entry: Arc<Entry>,
    /// Bytes that are counted for it under the memory cap.
    pub(crate) counted: u64,
    /// TLS, where its listener is for that.
    pub(crate) encryption: Option<Box<Encryption>>,
}

/// All I/O threads, as those who hand over connections see them.
pub(crate) struct Placement {
    threads: Box<[Thread]>,
}

struct Thread {
    connections: AtomicUsize,
    // std Mutex: taken once for each connection that is handed over.
    arrivals: Mutex<Vec<Arrival>>,
    /// Readable when something has arrived, or a worker has done something for it.
    bell: OwnedFd,
}

impl Thread {
    fn arrivals(&self) -> MutexGuard<'_, Vec<Arrival>> {
        self.arrivals.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Placement {
    pub(crate) fn new(threads: usize) -> io::Result<Self> {
        let thread = |_| {
            let bell = eventfd(0, EventfdFlags::NONBLOCK | EventfdFlags::CLOEXEC)?;
            Ok(Thread { connections: AtomicUsize::new(0), arrivals: Mutex::default(), bell })
        };
        Ok(Self { threads: (0..threads.max(1)).map(thread).collect::<io::Result<_>>()? })
    }

    /// Gives a connection to the thread with the fewest; it comes back where that is thread `own`.
    pub(crate) fn place(&self, own: usize, arrival: Arrival) -> Option<Arrival> {
        let load = |(index, thread): &(usize, &Thread)| {
            // Of equals the one that has it already.
            (thread.connections.load(Relaxed), *index != own)
        };
        let Some((index, thread)) = self.threads.iter().enumerate().min_by_key(load) else {
            return Some(arrival);
        };
        thread.connections.fetch_add(1, Relaxed);
        if index == own {
            return Some(arrival);
        }
        thread.arrivals().push(arrival);
        self.ring(index);
        None
    }

    /// Wakes thread `index`.
    pub(crate) fn ring(&self, index: usize) {
        if let Some(thread) = self.threads.get(index) {
            // A full counter rings already.
            let _ = rustix::io::write(&thread.bell, &1u64.to_ne_bytes());
        }
    }

    /// I/O threads in all.
    pub(crate) fn threads(&self) -> usize {
        self.threads.len()
    }

    /// What has arrived for thread `own`.
    pub(crate) fn arrivals(&self, own: usize) -> Vec<Arrival> {
        let Some(thread) = self.threads.get(own) else { return Vec::new() };
        let _ = rustix::io::read(&thread.bell, &mut [0; 8]);
        std::mem::take(&mut *thread.arrivals())
    }

    /// A connection of thread `own` has ended.
    pub(crate) fn left(&self, own: usize) {
        if let Some(thread) = self.threads.get(own) {
            thread.connections.fetch_sub(1, Relaxed);
        }
    }

    /// Readable when something has arrived for thread `own`.
    pub(crate) fn bell(&self, own: usize) -> BorrowedFd<'_> {
        self.threads[own.min(self.threads.len() - 1)].bell.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clients::Clients;

    fn arrival(clients: &Clients) -> Arrival {
        let (socket, _) = std::os::unix::net::UnixStream::pair().unwrap();
        let entry = clients.add(String::new(), String::new(), 0, 0);
        Arrival { socket: socket.into(), entry, counted: 0, encryption: None }
    }

    #[test]
    fn connections_go_where_the_fewest_are() {
        let (clients, placement) = (Clients::default(), Placement::new(3).unwrap());
        let kept = (0..9).filter_map(|_| placement.place(0, arrival(&clients))).count();
        assert_eq!(kept, 3);
        assert_eq!((placement.arrivals(1).len(), placement.arrivals(2).len()), (3, 3));
        assert!(placement.arrivals(1).is_empty());
        placement.left(2);
        placement.left(2);
        assert!((0..2).all(|_| placement.place(0, arrival(&clients)).is_none()));
        assert_eq!(placement.arrivals(2).len(), 2);
        let one = Placement::new(1).unwrap();
        assert!((0..5).all(|_| one.place(0, arrival(&clients)).is_some()));
    }
}
