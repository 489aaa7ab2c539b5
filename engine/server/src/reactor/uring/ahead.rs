//! What will the requests need that have arrived, those of many connections? Memory that is asked for on behalf of all of them is there when
//! the first is served; asked for one by one, each would wait for its own.

use std::hint::black_box;

use io_uring::cqueue;
use plumbkv::PREFETCHED_KEYS;
use plumbkv_resp::glance;

use super::{Of, Uring};
use crate::shared::Shared;

impl Uring {
    /// Asks for what this completion and the next ones will look at; answers how many they are.
    pub(super) fn look_ahead(&self, shared: &Shared, first: &cqueue::Entry) -> usize {
        if self.completions.is_empty() {
            return 1;
        }
        let mut keys = [&[][..]; PREFETCHED_KEYS];
        let (mut count, mut seen) = (0, 0);
        let mut touched = 0;
        for completion in std::iter::once(first).chain(&self.completions).take(PREFETCHED_KEYS) {
            seen += 1;
            let Of::Receive(slot) = Of::unpack(completion.user_data()) else { continue };
            if let Some(Some(peer)) = self.peers.slots.get(slot) {
                touched ^= peer.glimpse();
            }
            let (Some(buffer), Ok(length)) =
                (cqueue::buffer_select(completion.flags()), usize::try_from(completion.result()))
            else {
                continue;
            };
            if let Some((key, _)) = glance(self.ring.buffers.bytes(buffer, length)) {
                keys[count] = key;
                count += 1;
            }
        }
        black_box(touched);
        if count > 1 {
            shared.database.prefetch(&keys[..count]);
        }
        seen
    }
}
