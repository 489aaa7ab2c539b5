//! Conversations by HTTP: lookups are answered, and what else is requested goes to the HTTP thread.

use std::net::IpAddr;

use plumbkv_documents_http::Served;

use super::{Next, Progress, Session, TURN_BYTES, take_turn};
use crate::replies::{Mark, Replies};
use crate::shared::Shared;

/// How long a client may take to send the head of a request, in milliseconds.
pub(super) const HEAD_MS: u64 = 10_000;

impl Session {
    /// Answers lookups in `input` in order, until another request comes, or as [`advance`](Self::advance).
    pub(super) fn advance_lane(
        &mut self,
        shared: &Shared,
        peer: IpAddr,
        input: &[u8],
        output: &mut Replies,
        start: Mark,
    ) -> Progress {
        let before = output.mark();
        let mut consumed = 0;
        // No lookup sees a part of what a script or a transaction writes.
        let turn = take_turn(shared);
        let next = loop {
            if output.since(start) >= TURN_BYTES || self.left == 0 {
                break Next::Drain;
            }
            if consumed == input.len() {
                break Next::Read { needed: 1 };
            }
            if turn.is_none() {
                break Next::Leave;
            }
            let request = &input[consumed..];
            match shared.web.serve(shared, request, peer, &mut output.bytes) {
                Served::Answered { consumed: length } => {
                    consumed += length;
                    self.left -= 1;
                }
                Served::Incomplete => break Next::Read { needed: request.len() + 1 },
                Served::Other => break Next::Leave,
            }
        };
        Progress { consumed, produced: output.since(before), next }
    }
}
