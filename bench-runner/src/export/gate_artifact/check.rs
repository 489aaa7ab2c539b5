//! Is this text a gate of a version known here, and of a size that can be shown? The right kind and version first, so that a
//! newer file is refused as such and not as one with unknown fields.

use super::{ArtifactError, quoted};
use crate::model::{GATE_SCHEMA, GATE_SCHEMA_VERSION, Gate, GateVerdict};
use serde::Deserialize;

/// Verdicts of a gate at most.
pub const VERDICTS_MAX: usize = 2_000;

#[derive(Deserialize)]
struct Head {
    schema: String,
    schema_version: u32,
}

/// The gate that a text holds.
///
/// # Errors
/// When it is no JSON, another kind of record, of another version, or not of a gate's shape.
pub fn parse(bytes: &[u8]) -> Result<Gate, ArtifactError> {
    let head: Head = serde_json::from_slice(bytes)?;
    if head.schema != GATE_SCHEMA {
        return Err(ArtifactError::Kind { found: quoted(&head.schema) });
    }
    match head.schema_version {
        1..=GATE_SCHEMA_VERSION => Ok(serde_json::from_slice(bytes)?),
        found if found > GATE_SCHEMA_VERSION => Err(ArtifactError::Newer { found }),
        found => Err(ArtifactError::Unknown { found }),
    }
}

/// Whether a gate can be shown.
///
/// # Errors
/// When it has too many verdicts, or a number that is not finite.
pub fn check(gate: &Gate) -> Result<(), ArtifactError> {
    if gate.verdicts.len() > VERDICTS_MAX {
        return Err(ArtifactError::TooManyVerdicts { found: gate.verdicts.len() });
    }
    let whole = [
        ("budget_s", gate.budget_s),
        ("build_s", gate.build_s),
        ("measured_s", gate.measured_s),
        ("environment.load_average_start", gate.environment.load_average_start),
    ];
    if let Some((field, _)) = whole.iter().find(|(_, number)| !number.is_finite()) {
        return Err(ArtifactError::NotFinite { field: (*field).to_owned() });
    }
    for (place, verdict) in gate.verdicts.iter().enumerate() {
        if let Some(field) = not_finite(verdict) {
            return Err(ArtifactError::NotFinite { field: format!("verdicts[{place}].{field}") });
        }
    }
    let mut functions = gate.profiles.iter().flat_map(|profile| &profile.functions);
    if functions.any(|one| !one.base.is_finite() || !one.head.is_finite()) {
        return Err(ArtifactError::NotFinite { field: "profiles".to_owned() });
    }
    Ok(())
}

fn not_finite(verdict: &GateVerdict) -> Option<&'static str> {
    let [low, high] = verdict.interval.map_or([None; 2], |ends| ends.map(Some));
    let single = [
        ("ratio", verdict.ratio),
        ("interval", low),
        ("interval", high),
        ("p", verdict.p),
        ("p_adjusted", verdict.p_adjusted),
        ("evidence.worse", verdict.evidence.map(|one| one.worse)),
        ("evidence.better", verdict.evidence.map(|one| one.better)),
        ("evidence.within", verdict.evidence.map(|one| one.within)),
        ("limit", Some(verdict.limit)),
        ("detectable", verdict.detectable),
        ("block_sd", Some(verdict.block_sd)),
        ("base", verdict.base),
        ("head", verdict.head),
    ];
    let blocks = verdict.blocks.iter().map(|block| ("blocks", Some(*block)));
    let mut all = single.into_iter().chain(blocks);
    all.find(|(_, number)| number.is_some_and(|one| !one.is_finite())).map(|(field, _)| field)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::GateEvidence;
    use crate::output::gate::{json, testing};

    fn refused(change: impl Fn(&mut Gate)) -> String {
        let mut gate = testing::gate();
        change(&mut gate);
        check(&gate).unwrap_err().to_string()
    }

    #[test]
    fn two_thousand_verdicts_are_the_most() {
        let mut gate = testing::gate();
        gate.verdicts = vec![gate.verdicts[0].clone(); VERDICTS_MAX];
        check(&gate).unwrap();
        gate.verdicts.push(gate.verdicts[0].clone());
        assert_eq!(
            check(&gate).unwrap_err().to_string(),
            "gate.json has 2001 verdicts, and no more than 2000 are allowed"
        );
    }

    type Put = fn(&mut Gate, f64);

    fn evidence(gate: &mut Gate, field: fn(&mut GateEvidence) -> &mut f64, odd: f64) {
        gate.verdicts[1].evidence.iter_mut().for_each(|one| *field(one) = odd);
    }

    #[test]
    fn every_number_is_finite() {
        check(&testing::gate()).unwrap();
        for odd in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            let fields: [(&str, Put); 19] = [
                ("budget_s", |gate, odd| gate.budget_s = odd),
                ("build_s", |gate, odd| gate.build_s = odd),
                ("measured_s", |gate, odd| gate.measured_s = odd),
                ("environment.load_average_start", |gate, odd| gate.environment.load_average_start = odd),
                ("verdicts[1].ratio", |gate, odd| gate.verdicts[1].ratio = Some(odd)),
                ("verdicts[1].interval", |gate, odd| gate.verdicts[1].interval = Some([odd, 1.0])),
                ("verdicts[1].interval", |gate, odd| gate.verdicts[1].interval = Some([1.0, odd])),
                ("verdicts[1].p", |gate, odd| gate.verdicts[1].p = Some(odd)),
                ("verdicts[1].p_adjusted", |gate, odd| gate.verdicts[1].p_adjusted = Some(odd)),
                ("verdicts[1].evidence.worse", |gate, odd| evidence(gate, |one| &mut one.worse, odd)),
                ("verdicts[1].evidence.better", |gate, odd| evidence(gate, |one| &mut one.better, odd)),
                ("verdicts[1].evidence.within", |gate, odd| evidence(gate, |one| &mut one.within, odd)),
                ("profiles", |gate, odd| gate.profiles[0].functions[0].head = odd),
                ("verdicts[1].limit", |gate, odd| gate.verdicts[1].limit = odd),
                ("verdicts[1].detectable", |gate, odd| gate.verdicts[1].detectable = Some(odd)),
                ("verdicts[1].block_sd", |gate, odd| gate.verdicts[1].block_sd = odd),
                ("verdicts[1].base", |gate, odd| gate.verdicts[1].base = Some(odd)),
                ("verdicts[1].head", |gate, odd| gate.verdicts[1].head = Some(odd)),
                ("verdicts[1].blocks", |gate, odd| gate.verdicts[1].blocks.push(odd)),
            ];
            for (field, put) in fields {
                assert_eq!(refused(|gate| put(gate, odd)), format!("gate.json: {field} is no finite number"));
            }
        }
    }

    #[test]
    fn gates_of_the_first_version_are_read() {
        let old = include_bytes!("../../../tests/fixtures/gate/v1.json");
        assert_eq!(parse(old).unwrap().schema_version, 1);
    }

    #[test]
    fn kind_and_version_are_asked_before_the_shape() {
        let text = json(&testing::gate()).unwrap();
        let edited = |from: &str, to: &str| {
            assert!(text.contains(from), "{from}");
            parse(text.replacen(from, to, 1).as_bytes()).unwrap_err().to_string()
        };
        assert_eq!(
            edited("\"plumbkv.gate\"", "\"plumbkv.run\""),
            "gate.json is a \"plumbkv.run\", not a 'plumbkv.gate'"
        );
        let newer = edited("\"schema_version\": 2,", "\"schema_version\": 3, \"surprise\": 1,");
        assert!(newer.contains("newer bench-runner: schema_version 3, and this one knows 2; take the bench-runner of the default branch"), "{newer}");
        assert!(
            edited("\"schema_version\": 2", "\"schema_version\": 0").contains("no bench-runner ever wrote")
        );
        assert!(
            edited("\"schema_version\": 2,", "\"schema_version\": 2, \"surprise\": 1,")
                .contains("unknown field `surprise`")
        );
        assert!(
            edited("\"fingerprint\"", "\"surprise\": 1, \"fingerprint\"")
                .contains("unknown field `surprise`")
        );
        assert!(edited("\"budget_s\": 1200.0", "\"budget_s\": 1e999").contains("number out of range"));
        assert!(edited("\"budget_s\": 1200.0", "\"budget_s\": NaN").contains("expected value"));
        assert!(
            edited("\"budget_s\": 1200.0", "\"budget_s\": 1.0, \"budget_s\": 2.0")
                .contains("duplicate field")
        );
        assert!(parse("[".repeat(100_000).as_bytes()).is_err(), "deep nesting is refused, not followed");
        assert!(parse(b"").is_err());
    }
}
