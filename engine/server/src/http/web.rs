//! HTTP connections between the I/O threads and the HTTP thread: how many there are, and how they change hands.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use plumbkv_documents::Collections;
use plumbkv_documents_http::{Access, Lane, Served};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use super::keys::InTurn;
use crate::reactor::{Arrival, Placement};
use crate::shared::Shared;

/// Connections that have left an I/O thread.
pub(crate) type Departures = UnboundedReceiver<Arrival>;

/// What the threads share about HTTP.
pub(crate) struct Web {
    lane: Lane,
    store: Option<Arc<Collections>>,
    access: Arc<Access>,
    connections: AtomicUsize,
    most: usize,
    departures: UnboundedSender<Arrival>,
    /// `None`: connections do not come back.
    placement: Option<Arc<Placement>>,
}

impl Web {
    /// At most so many connections, which come back to the I/O threads by `placement`.
    pub(crate) fn new(
        store: Option<Arc<Collections>>,
        access: Access,
        most: usize,
        placement: Option<Arc<Placement>>,
    ) -> (Self, Departures) {
        let access = Arc::new(access);
        let (departures, departed) = unbounded_channel();
        let lane = Lane::new(store.clone(), Arc::clone(&access));
        let connections = AtomicUsize::new(0);
        (Self { lane, store, access, connections, most, departures, placement }, departed)
    }

    /// A server without HTTP.
    #[cfg(test)]
    pub(crate) fn none() -> Self {
        Self::new(None, Access::open(), 0, None).0
    }

    pub(crate) fn store(&self) -> Option<&Arc<Collections>> {
        self.store.as_ref()
    }

    pub(crate) fn access(&self) -> &Arc<Access> {
        &self.access
    }

    /// Connections now.
    pub(crate) fn connections(&self) -> usize {
        self.connections.load(Ordering::Relaxed)
    }

    /// Answers the first request of `bytes`, if it is a lookup.
    pub(crate) fn serve(
        &self,
        shared: &Shared,
        bytes: &[u8],
        peer: std::net::IpAddr,
        out: &mut Vec<u8>,
    ) -> Served {
        self.lane.serve(&InTurn(shared), bytes, peer, out)
    }

    /// Counts a connection; false where there are as many as there may be.
    pub(crate) fn take_place(&self) -> bool {
        let count = |now: usize| (now < self.most).then_some(now + 1);
        self.connections.fetch_update(Ordering::Relaxed, Ordering::Relaxed, count).is_ok()
    }

    pub(crate) fn leave_place(&self) {
        self.connections.fetch_sub(1, Ordering::Relaxed);
    }

    /// Gives a connection to the HTTP thread. To be called by an I/O thread that executes no request.
    pub(crate) fn hand_over(&self, shared: &Shared, arrival: Arrival) {
        let received = arrival.http.as_ref().map_or(&[][..], |web| &web.received);
        if !is_observing(received) {
            // Its requests may read and write keys, on threads that are no I/O threads.
            shared.turns.share();
        }
        if let Err(refused) = self.departures.send(arrival) {
            // The HTTP thread has ended, because the server ends.
            self.release(shared, refused.0.counted);
        }
    }

    /// Gives a connection back to the I/O threads; false where it has to stay.
    pub(super) fn hand_back(&self, arrival: Arrival) -> Result<(), Arrival> {
        match &self.placement {
            Some(placement) => {
                placement.place_from_outside(arrival);
                Ok(())
            }
            None => Err(arrival),
        }
    }

    /// A connection has ended outside of the I/O threads.
    pub(super) fn release(&self, shared: &Shared, counted: u64) {
        self.leave_place();
        shared.client_memory.give_back(&shared.database, counted);
    }
}

/// Whether a request is one for `/metrics`, `/healthz` or `/readyz`, which touch no keys.
pub(super) fn is_observing(request: &[u8]) -> bool {
    [&b"GET /metrics "[..], b"GET /healthz ", b"GET /readyz "].iter().any(|begin| request.starts_with(begin))
}
