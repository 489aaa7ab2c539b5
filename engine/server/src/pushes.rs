//! Pushes: messages that a client gets without a request, for example invalidations of its cache.
//!
//! Any thread may write one. It goes into the box of the thread that serves the connection, which its
//! bell tells of it, and is sent between two replies.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::clients::Entry;
use crate::reactor::Placement;

/// A message to one connection.
#[derive(Debug)]
pub(crate) struct Push {
    pub(crate) slot: usize,
    /// The connection's number: by now its slot may be another's.
    pub(crate) client: u64,
    pub(crate) bytes: Vec<u8>,
}

/// The boxes of all I/O threads.
pub(crate) struct Pushes {
    // std Mutex: taken once for a push, and once when a thread looks into its box.
    boxes: Box<[Mutex<Vec<Push>>]>,
    /// Connections that track keys, and those that see all requests.
    observers: AtomicUsize,
    /// `None` in tests without I/O threads.
    placement: Option<Arc<Placement>>,
}

impl Pushes {
    pub(crate) fn new(placement: Option<Arc<Placement>>) -> Self {
        let threads = placement.as_ref().map_or(1, |placement| placement.threads());
        let boxes = (0..threads).map(|_| Mutex::default()).collect();
        Self { boxes, observers: AtomicUsize::new(0), placement }
    }

    /// Whether any connection looks at the requests of all.
    #[inline]
    pub(crate) fn is_observed(&self) -> bool {
        self.observers.load(Ordering::Relaxed) > 0
    }

    /// One connection more does so.
    pub(crate) fn observe(&self) {
        self.observers.fetch_add(1, Ordering::Relaxed);
    }

    /// One less.
    pub(crate) fn leave(&self) {
        self.observers.fetch_sub(1, Ordering::Relaxed);
    }

    fn lock(&self, thread: usize) -> Option<MutexGuard<'_, Vec<Push>>> {
        Some(self.boxes.get(thread)?.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Sends a message to a connection, if that is still served.
    pub(crate) fn send(&self, entry: &Entry, bytes: Vec<u8>) {
        let Some((thread, slot)) = entry.place() else { return };
        let Some(mut all) = self.lock(thread) else { return };
        all.push(Push { slot, client: entry.id, bytes });
        let is_first = all.len() == 1;
        drop(all);
        if is_first && let Some(placement) = &self.placement {
            placement.ring(thread);
        }
    }

    /// Drops what has not been sent to a connection.
    pub(crate) fn forget(&self, entry: &Entry) {
        if let Some(mut all) = entry.place().and_then(|(thread, _)| self.lock(thread)) {
            all.retain(|push| push.client != entry.id);
        }
    }

    /// What has come for the connections of thread `own`; to be asked when its bell has rung.
    pub(crate) fn take(&self, own: usize) -> Vec<Push> {
        self.lock(own).map_or_else(Vec::new, |mut all| std::mem::take(&mut *all))
    }
}
