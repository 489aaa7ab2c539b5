//! Can a finished load be believed? Looks at who was busy while it ran, and keeps what answers were counted by.

use super::os_stat::Account;
use super::trial::{fact, invalidate};
use super::waiting::{Seen, idle_waiting};
use crate::load::recorder::Recorder;
use crate::model::Trial;
use std::collections::BTreeMap;

/// Share of its time above which a generator thread is at its ceiling. Waiting for a CPU counts: it had work.
const GENERATOR_READY_MAX: f64 = 0.95;

/// What the load was, as far as believing it goes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct About {
    pub(crate) clients: u32,
    /// Requests follow replies; in an open loop idling says nothing.
    pub(crate) closed_loop: bool,
    /// The target keeps everything in memory.
    pub(crate) volatile: bool,
    /// Whether the target's CPU time is known; else its idling is not.
    pub(crate) cpu_known: bool,
}

/// Marks a trial that says nothing of the target, and adds what a reader needs to judge it.
pub(crate) fn look(trial: &mut Trial, about: About, account: &Account, recorder: &Recorder) {
    if !recorder.statuses.is_empty() {
        let counts: BTreeMap<String, u64> =
            recorder.statuses.iter().map(|(code, count)| (code.to_string(), *count)).collect();
        fact(trial, "status_counts", serde_json::json!(counts));
    }
    let ready = account.generator_ready_max();
    if at_ceiling(ready) {
        fact(trial, "generator_at_ceiling", true);
        let note = format!(
            "the generator had work {:.0} % of the time: throughput and response times are its own, not the target's; \
             CPU time per operation still is the target's",
            ready * 100.0
        );
        fact(trial, "note", note);
    }
    if about.closed_loop && about.cpu_known {
        let (cores, ready_max, server_ready) = account.readiness();
        let seen = Seen {
            clients: about.clients,
            volatile: about.volatile,
            latency_ns_p50: recorder.all_times().percentile_ns(50.0) as f64,
            cores,
            ready_max,
            server_ready,
        };
        idle_waiting(&seen).into_iter().for_each(|reason| invalidate(trial, reason));
    }
}

/// Whether a generator that had work for such a share of its time could have sent no more.
fn at_ceiling(generator_ready: f64) -> bool {
    generator_ready > GENERATOR_READY_MAX
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_generator_is_at_its_ceiling_above_ninety_five_percent() {
        assert_eq!([0.0, 0.95, 0.951, 1.0].map(at_ceiling), [false, false, true, true]);
    }
}
