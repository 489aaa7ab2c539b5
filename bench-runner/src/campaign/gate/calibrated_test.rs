//! Stored calibrations, and gates that are added to them.

use super::*;
use crate::gate::share_interval;
use crate::model::{CALIBRATION_SCHEMA, CALIBRATION_SCHEMA_VERSION, CalibrationNoise, GateClass};
use crate::output::gate::testing::gate as gate_of_tests;

fn begun() -> Calibration {
    let gate = gate_of_tests();
    Calibration {
        schema: CALIBRATION_SCHEMA.to_owned(),
        schema_version: CALIBRATION_SCHEMA_VERSION,
        tool: Tool::this(),
        machine_key: gate.machine_key.clone(),
        machine: gate.machine.clone(),
        gate_sha256: "file".to_owned(),
        rule: Some(GATE_RULE.to_owned()),
        budget_s: Some(gate.budget_s),
        noise: gate
            .verdicts
            .iter()
            .map(|one| CalibrationNoise {
                scenario: one.scenario.clone(),
                label: one.label.clone(),
                metric: one.metric.clone(),
                block_sd: 0.01,
                blocks: 20,
                detectable: None,
                class: GateClass::Gated,
            })
            .collect(),
        gates: Vec::new(),
        rates: Vec::new(),
    }
}

fn identical() -> Gate {
    Gate {
        identical: true,
        tool: Tool::this(),
        outcome: GateOutcome::Pass,
        left_out: Vec::new(),
        ..gate_of_tests()
    }
}

#[test]
fn a_name_that_leads_elsewhere_has_no_calibration() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join(FOLDER)).unwrap();
    std::fs::write(folder.path().join("secret.json"), "{").unwrap();
    std::fs::write(folder.path().join(FOLDER).join("mine.json"), "{").unwrap();
    for name in ["../secret", "", ".mine", "a/b", "a\0b", "mine\n"] {
        assert!(stored(folder.path(), name, "").unwrap().is_none(), "{name:?}");
    }
    assert!(stored(folder.path(), "mine", "").is_err(), "it is there, and no calibration");
}

#[test]
fn a_calibration_of_something_else_is_kept_aside_and_another_budget_is_refused() {
    let same = begun();
    let others = [
        Calibration { rule: None, ..begun() },
        Calibration { gate_sha256: "another".to_owned(), ..begun() },
        Calibration { tool: Tool { version: "0.0.1".to_owned(), ..Tool::this() }, ..begun() },
        Calibration {
            machine: crate::model::Machine { fingerprint: "another".to_owned(), ..same.machine.clone() },
            ..begun()
        },
    ];
    let results = tempfile::tempdir().unwrap();
    let path = file(results.path(), &same.machine_key);
    for (place, other) in others.iter().enumerate() {
        write(&path, other).unwrap();
        let mut told = Vec::new();
        let found = resumed(results.path(), &same, &mut |text| told.push(text.to_owned())).unwrap();
        assert!(found.is_none() && !path.exists() && told.len() == 1, "{place}: {told:?}");
        let aside = format!("{}.old-{}", path.display(), place + 1);
        assert_eq!(
            serde_json::from_str::<Calibration>(&std::fs::read_to_string(aside).unwrap()).unwrap(),
            *other
        );
    }
    write(&path, &same).unwrap();
    assert_eq!(resumed(results.path(), &same, &mut |_| {}).unwrap(), Some(same.clone()));
    let longer = Calibration { budget_s: Some(same.budget_s.unwrap() + 60.0), ..begun() };
    let error = resumed(results.path(), &longer, &mut |_| {}).unwrap_err().to_string();
    assert!(error.contains("--budget") && path.exists(), "{error}");
}

#[test]
fn gates_of_one_program_are_counted_once_each() {
    let results = tempfile::tempdir().unwrap();
    write(&file(results.path(), &begun().machine_key), &begun()).unwrap();
    let add = |gates: &[Gate]| add_identical(results.path(), "file", gates);
    let other = Gate { id: "another".to_owned(), outcome: GateOutcome::Regression, ..identical() };
    let (counted, path, new) = add(&[identical(), other, identical()]).unwrap();
    assert_eq!((new, counted.gates.len()), (2, 2));
    let rate = &counted.rates[0];
    assert_eq!((rate.gates, rate.regression), (2, 1));
    assert_eq!((rate.rate_low, rate.rate_high), share_interval(1, 2));
    assert_eq!(counted.gates[0].sides.as_ref().unwrap().head_kind, HeadKind::Identical);
    assert_eq!(
        serde_json::from_str::<Calibration>(&std::fs::read_to_string(path).unwrap()).unwrap(),
        counted
    );
}

#[test]
fn a_gate_that_the_calibration_could_not_have_made_is_refused() {
    let results = tempfile::tempdir().unwrap();
    let add =
        |gate: Gate| add_identical(results.path(), "file", &[gate]).map(|_| ()).unwrap_err().to_string();
    assert!(add(identical()).contains("bench-runner calibrate"));
    write(&file(results.path(), &begun().machine_key), &begun()).unwrap();
    assert!(add(Gate { identical: false, ..identical() }).contains("--measure-identical"));
    let tool = Tool { version: "0.0.1".to_owned(), ..Tool::this() };
    assert!(add(Gate { tool, ..identical() }).contains("0.0.1"));
    assert!(add(Gate { budget_s: 1.0, ..identical() }).contains("budget was 1 s"));
    let mut machine = identical();
    machine.machine.fingerprint = "another".to_owned();
    assert!(add(machine).contains("measured on"));
    let mut loads = identical();
    loads.verdicts[0].scenario = "another".to_owned();
    assert!(add(loads).contains("other loads"));
    let kept = stored(results.path(), &begun().machine_key, "file").unwrap().unwrap();
    assert!(kept.gates.is_empty());
}

#[test]
fn a_gate_whose_time_was_up_is_unfinished_and_one_that_is_too_noisy_is_not() {
    let with = |outcome, blocks: usize| {
        let mut gate = Gate { outcome, ..identical() };
        gate.verdicts.truncate(1);
        gate.verdicts[0].outcome = outcome;
        gate.verdicts[0].blocks = vec![0.0; blocks];
        gate.verdicts[0].evidence = Some(crate::model::GateEvidence {
            worse: 1.0,
            better: 1.0,
            within: 1.0,
            lag_1: None,
            blocks_max: 80,
            given_up: false,
        });
        gate
    };
    assert!(is_unfinished(&with(GateOutcome::Inconclusive, 79)));
    assert!(!is_unfinished(&with(GateOutcome::Inconclusive, 80)));
    let mut given_up = with(GateOutcome::Inconclusive, 24);
    given_up.verdicts[0].evidence.iter_mut().for_each(|one| one.given_up = true);
    assert!(!is_unfinished(&given_up));
    assert!(is_unfinished(&with(GateOutcome::NotMeasured, 80)));
    assert!(
        !is_unfinished(&with(GateOutcome::Regression, 12)) && !is_unfinished(&with(GateOutcome::Pass, 7))
    );
    let left_out = Gate { left_out: vec!["SET".to_owned()], ..with(GateOutcome::Inconclusive, 80) };
    assert!(is_unfinished(&left_out));
    let kept = kept(&left_out, 5.0, Some(InjectedAs::Spin), "spin:5", HeadKind::Comments);
    let sides = kept.sides.unwrap();
    assert!(kept.unfinished && sides.injected == "spin:5" && sides.runner == Tool::this().version);
    assert_eq!(sides.base_stripped_sha256, left_out.base.stripped_sha256);
}
