//! Servers that drop, reorder, repeat or refuse, or that do not do what they acknowledge.

use super::{lab, own_target, phase, run, step};
use bench_runner::model::{Mode, Status};
use bench_runner::plan::{ExpiryPhase, Operation, WirePhase, Work};

/// A server of this role under a load must end the cell like this, with these words in its reason.
#[track_caller]
fn is_found_out(role: &str, load: WirePhase, status: Status, words: &str) {
    let name = load.cell.key.clone();
    let trials = run(&lab(own_target(role)), &step("own", Work::Wire { phases: vec![load] }));
    let reason = trials[&name].reason.clone().unwrap_or_default();
    assert_eq!(trials[&name].status, status, "{role}: {reason}");
    assert!(reason.contains(words), "{role}: '{reason}' does not say '{words}'");
}

fn get() -> WirePhase {
    phase("get", &[(Operation::Get, 1)])
}

#[test]
fn a_dropped_reply_is_a_timeout_that_says_how_many_came() {
    is_found_out("drops", WirePhase { timeout_s: 0.5, ..get() }, Status::Timeout, "timed out with ");
}

#[test]
fn replies_in_another_order_are_wrong_values() {
    is_found_out("swaps", WirePhase { pipeline: 16, ..get() }, Status::Invalid, "bytes of which byte ");
}

#[test]
fn two_replies_to_one_request_break_the_cell() {
    is_found_out("twice", get(), Status::Failed, "sent more replies than it was asked for");
}

#[test]
fn a_full_store_without_a_cap_is_no_figure() {
    let load = phase("set", &[(Operation::Set, 1)]);
    is_found_out("full", load, Status::Invalid, "was refused: OOM command not allowed");
}

#[test]
fn a_server_that_ends_by_a_signal_is_named_with_it() {
    is_found_out("faults", get(), Status::Failed, "own ended: signal: 11 (SIGSEGV)");
}

#[test]
fn a_write_that_is_acknowledged_too_early_leaves_no_cell_of_its_process_valid() {
    is_found_out("early", get(), Status::Invalid, "its value was still under way");
}

/// Under load only the count of deleted keys is looked at, so this is for `verify` alone.
#[test]
fn a_deletion_that_is_acknowledged_and_not_done_is_found_out_by_verify() {
    let said = lab(own_target("keeps")).verify_target("own", Mode::Native).unwrap_err();
    assert!(said.contains("GET of a deleted key was answered by a bulk of 5 bytes"), "{said}");
    let fine = lab(own_target("fine")).verify_target("own", Mode::Native).unwrap();
    assert!(fine.contains("answered rightly"), "{fine}");
}

#[test]
fn a_key_that_outlives_its_time_is_found_out() {
    let phase = ExpiryPhase {
        cell: super::cell("expiry"),
        keys: 500,
        kept_keys: 500,
        clients: 2,
        within_ms: 100,
        value_bytes: 64,
    };
    let trials = run(&lab(own_target("fine")), &step("own", Work::Expiry { phase }));
    let reason = trials["expiry"].reason.clone().unwrap_or_default();
    assert_eq!(trials["expiry"].status, Status::Invalid, "{reason}");
    assert!(reason.contains("is still seen after its time"), "{reason}");
}
