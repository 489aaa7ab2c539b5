//! What the tests of a gate's documents work on: a made-up gate with one verdict of each outcome.

use crate::model::Gate;

/// `tests/fixtures/gate/v2.json`.
pub(crate) fn gate() -> Gate {
    serde_json::from_str(include_str!("../../../tests/fixtures/gate/v2.json")).unwrap()
}

/// Puts a text wherever others can choose one.
pub(crate) fn every_text(gate: &mut Gate, text: &str) {
    for one in [
        &mut gate.tool.name,
        &mut gate.tool.version,
        &mut gate.id,
        &mut gate.started_at,
        &mut gate.reason,
        &mut gate.machine_key,
        &mut gate.machine.title,
        &mut gate.machine.cpu_model,
        &mut gate.machine.class,
        &mut gate.environment.kernel,
        &mut gate.environment.os,
        &mut gate.command,
    ] {
        text.clone_into(one);
    }
    for side in [&mut gate.base, &mut gate.head] {
        text.clone_into(&mut side.given);
        text.clone_into(&mut side.commit);
        text.clone_into(&mut side.stripped_sha256);
        side.sha256 = vec![text.to_owned(); 3];
    }
    for verdict in &mut gate.verdicts {
        for one in [&mut verdict.scenario, &mut verdict.label, &mut verdict.metric, &mut verdict.unit] {
            text.clone_into(one);
        }
        verdict.reason = Some(text.to_owned());
    }
    for profile in &mut gate.profiles {
        text.clone_into(&mut profile.label);
        profile.functions.iter_mut().for_each(|one| text.clone_into(&mut one.name));
    }
    gate.notes = vec![text.to_owned(); 2];
    gate.left_out = vec![text.to_owned(); 2];
}
