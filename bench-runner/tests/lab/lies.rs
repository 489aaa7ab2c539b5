//! Servers that drop, reorder, repeat or refuse, or that do not do what they acknowledge.

use super::{lab, own_target, phase, run, step};
use bench_runner::model::{Mode, Status};
use bench_runner::plan::{CapLoad, CapPhase, ExpiryPhase, KeysPhase, Operation, Step, WirePhase, Work};

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

#[test]
fn keys_that_are_acknowledged_and_not_kept_are_missed_before_a_load_begins() {
    is_found_out("forgets", get(), Status::Invalid, "2000 keys were set, DBSIZE says 1");
}

#[test]
fn a_wrong_value_while_warming_up_is_no_warming_up() {
    is_found_out("blinks", get(), Status::Invalid, "while warming up: GET of key");
}

/// A server of this role, whose one cell must be invalid with these words in its reason.
#[track_caller]
fn is_invalid(role: &str, work: Work, words: &str) {
    let cap_bytes = matches!(work, Work::MemoryCap { .. }).then_some(CAP);
    let trials = run(&lab(own_target(role)), &Step { cap_bytes, ..step("own", work) });
    let reason = trials["own"].reason.clone().unwrap_or_default();
    assert_eq!(trials["own"].status, Status::Invalid, "{role}: {reason}");
    assert!(reason.contains(words), "{role}: '{reason}' does not say '{words}'");
}

const CAP: u64 = 2 << 20;

fn filled() -> Work {
    let load = CapLoad::Fill { keys: 500, value_bytes: 64, oversize_bytes: 3 << 20 };
    Work::MemoryCap { phase: CapPhase { cell: super::cell("own"), cap_bytes: CAP, load } }
}

#[test]
fn a_store_that_accounts_for_more_than_its_cap_is_found_out() {
    is_invalid("greedy", filled(), "accounted for 3145728 bytes under a cap of 2097152");
}

#[test]
fn a_survivor_with_a_wrong_value_is_found_out() {
    is_invalid("spoils", filled(), "GET of key 496 was answered by a bulk of 64 bytes");
}

#[test]
fn keys_whose_memory_is_measured_must_be_there_with_their_values() {
    let small = || {
        let phase = KeysPhase { cell: super::cell("own"), keys: 2_000, value_bytes: 64 };
        Work::MemoryPerKey { phase }
    };
    is_invalid("forgets", small(), "2000 keys were set, DBSIZE says 1800");
    is_invalid("spoils", small(), "GET of key 0 was answered by a bulk of 64 bytes");
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
