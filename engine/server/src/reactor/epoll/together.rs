//! How are several connections served at once? All of them are read before the first request is executed, so that memory can be asked for on
//! behalf of all: asked for one by one, each would wait for its own.

use std::hint::black_box;

use plumbkv::PREFETCHED_KEYS;
use plumbkv_resp::glance;

use super::Epoll;
use crate::reactor::connection::RECEIVE_BYTES;
use crate::shared::Shared;

/// Less room than this is not received into: a batch would be cut in two.
const LEAST_ROOM: usize = RECEIVE_BYTES / 4;

impl Epoll {
    /// Gives several connections their turn: receives from all, asks for the memory that their requests will need, and only then executes them.
    pub(super) fn serve_together(&mut self, shared: &Shared, slots: &[usize]) {
        match slots {
            [] => return,
            [single] => {
                self.serve(shared, *single);
                return;
            }
            _ => {}
        }
        let glimpses = slots.iter().filter_map(|slot| self.peers.slots.get(*slot)?.as_ref());
        black_box(glimpses.fold(0, |all, peer| all ^ peer.glimpse()));
        for &slot in slots {
            let Some(peer) = self.peers.get(slot) else { continue };
            if !peer.is_ready_to_hear(shared) {
                self.serve(shared, slot);
                continue;
            }
            if self.together.capacity() - self.together.len() < LEAST_ROOM {
                self.execute_heard(shared);
            }
            let Some(peer) = self.peers.get(slot) else { continue };
            match peer.receive(shared, &mut self.turn, &mut self.together) {
                Ok(bytes) if !bytes.is_empty() => self.heard.push((slot, bytes)),
                nothing => self.conclude(shared, slot, self.turn.replies.mark(), nothing.map(drop)),
            }
        }
        self.execute_heard(shared);
    }

    /// Executes what was received from several connections.
    fn execute_heard(&mut self, shared: &Shared) {
        let mut together = std::mem::take(&mut self.together);
        let mut heard = std::mem::take(&mut self.heard);
        let mut keys = [&[][..]; PREFETCHED_KEYS];
        let found = heard.iter().filter_map(|(_, bytes)| glance(&together[bytes.clone()]));
        let count = keys.iter_mut().zip(found).map(|(place, (key, _))| *place = key).count();
        if count > 1 {
            shared.database.prefetch(&keys[..count]);
        }
        for (slot, bytes) in heard.drain(..) {
            let Some(peer) = self.peers.get(slot) else { continue };
            let start = self.turn.replies.mark();
            let outcome = peer.hear(shared, &mut self.turn, &together[bytes]);
            self.conclude(shared, slot, start, outcome);
        }
        together.clear();
        (self.together, self.heard) = (together, heard);
    }
}
