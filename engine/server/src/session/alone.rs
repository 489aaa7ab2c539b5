//! Turns of a session: shared ones for requests, and an exclusive one for a script or SWAPDB.

use std::time::Duration;

use plumbkv_resp::{ReplyWriter, Request};

use super::transaction::is_script;
use super::{Client, run};
use crate::client_limits::Limit;
use crate::command::CommandError;
use crate::replies::Replies;
use crate::shared::Shared;
use crate::turns::SharedTurn;

/// Runs a request in an exclusive turn, in place of the shared one; the writes of a script are one batch.
#[cold]
pub(super) fn run_alone<'t>(
    shared: &'t Shared,
    client: &mut Client,
    request: Request<'_>,
    turn: SharedTurn<'t>,
    output: &mut Replies,
) -> (SharedTurn<'t>, bool) {
    // With a shared turn it would wait for itself.
    drop(turn);
    let is_durable = shared.database.is_durable();
    let alone = if is_durable { shared.turns.exclusive_for_worker() } else { shared.turns.exclusive() };
    // The user may have been changed while it waited.
    client.identity.refresh(shared);
    let start = output.mark();
    let group = is_script(&request).then(|| shared.database.begin_group());
    let is_done = run(shared, client, request, output);
    if is_done && let Some(Err(error)) = group.map(|group| group.commit().map_err(CommandError::from)) {
        output.go_back(start);
        ReplyWriter::new(&mut output.bytes, client.version).error_bytes(error.text());
        shared.command_stats.answer_error(error.text());
    }
    drop(alone);
    (shared.turns.shared(), is_done)
}

/// A shared turn; `None`: a script has been running for so long that clients are to be told.
#[inline]
pub(super) fn take_turn(shared: &Shared) -> Option<SharedTurn<'_>> {
    shared.turns.shared_within(Duration::ZERO).or_else(|| wait_for_turn(shared))
}

#[cold]
fn wait_for_turn(shared: &Shared) -> Option<SharedTurn<'_>> {
    /// Between two looks at how long a script has been running.
    const LOOK: Duration = Duration::from_millis(20);
    let limit = Duration::from_millis(shared.settings.limits.get(Limit::BusyMs));
    while !shared.scripts.is_busy(limit) {
        if let Some(turn) = shared.turns.shared_within(LOOK) {
            return Some(turn);
        }
    }
    None
}
