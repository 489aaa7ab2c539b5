//! Which cells are paired, and what becomes of a claim over several?

use super::*;
use crate::export::testing;
use crate::model::{Claim, ClaimVerdict, Run, ScenarioRecord, Status};

/// A claim on the made-up run, as if it had had nine trials.
fn record(scenario: &str) -> (Run, ScenarioRecord) {
    let (run, mut scenarios) = testing::run();
    scenarios.retain(|record| record.scenario.key == scenario);
    let mut record = scenarios.pop().unwrap();
    for cell in &mut record.cells {
        let some = cell.trials.clone();
        if some.is_empty() {
            continue;
        }
        cell.trials = (0..9)
            .map(|index| {
                let mut trial = some[index as usize % some.len()].clone();
                trial.index = index;
                trial
            })
            .collect();
    }
    (run, record)
}

fn definition(rest: &str) -> Definition {
    let text = format!(
        "[[claim]]\nkey = \"k\"\nstatement = \"S.\"\nscenario = \"wire-single\"\nsaid_in = [\"README.md\"]\n\
         since = \"0.0.1\"\nmeasure = \"bench-runner run\"\n{rest}"
    );
    parse("claims.toml", &text, &[], &[]).unwrap().remove(0)
}

fn evaluated(definition: &Definition, run: &Run, record: &ScenarioRecord) -> Claim {
    let candidate =
        Candidate { machine_key: "m", machine_title: "A machine", run: Ok((run, record, "f.json")) };
    evaluate(definition, &[candidate])
}

const AGAINST_REDIS: &str = "metric = \"server_cpu_ns_per_op\"\ncomparison = \"<=\"\nbound = 1000.0\n\
    placement = \"apart\"\nat = { operation = \"set\", value_bytes = 64 }\n\
    numerator = { target = \"plumbkv\" }\ndenominator = { target = \"redis-server\" }\n";

#[test]
fn cells_pair_where_they_differ_in_nothing_but_what_is_named() {
    let (run, record) = record("wire-single");
    let claim = evaluated(&definition(AGAINST_REDIS), &run, &record);
    let evidence = &claim.machines[0].evidence;
    assert_eq!(evidence.len(), 1, "{evidence:?}");
    let (above, below) = (&evidence[0].numerator, evidence[0].denominator.as_ref().unwrap());
    assert_eq!(above.replace("plumbkv", "redis-server"), *below);
    assert_eq!((claim.verdict, evidence[0].figure.unwrap().n), (ClaimVerdict::Holds, 9));
    assert!(claim.machines[0].run.as_ref().unwrap().targets.iter().any(|one| one.contains("Redis")));
}

#[test]
fn a_claim_over_many_cells_fails_by_one_and_is_open_by_one() {
    let (run, mut record) = record("wire-single");
    let wide = AGAINST_REDIS.replace("at = { operation = \"set\", value_bytes = 64 }\n", "");
    let claim = evaluated(&definition(&wide), &run, &record);
    let pairs = claim.machines[0].evidence.len();
    assert!(pairs > 3 && claim.verdict == ClaimVerdict::Holds, "{claim:?}");
    // One cell that has no figure leaves the claim open …
    let key = claim.machines[0].evidence[1].numerator.clone();
    let cell = record.cells.iter_mut().find(|cell| cell.key == key).unwrap();
    (cell.status, cell.reason) = (Status::Invalid, Some("answered wrongly".into()));
    let open = evaluated(&definition(&wide), &run, &record);
    assert_eq!(open.verdict, ClaimVerdict::NotMeasured);
    assert!(open.reason.contains("answered wrongly"), "{}", open.reason);
    // … and one that misses the bound fails it, open cells or not.
    let key = claim.machines[0].evidence[0].numerator.clone();
    let cell = record.cells.iter_mut().find(|cell| cell.key == key).unwrap();
    for value in cell.trials.iter_mut().flat_map(|trial| &mut trial.values) {
        value.value *= 1e6;
    }
    let failed = evaluated(&definition(&wide), &run, &record);
    assert_eq!(failed.verdict, ClaimVerdict::Fails);
    assert!(failed.reason.contains("1 of"), "{}", failed.reason);
}

#[test]
fn a_cell_without_its_partner_and_a_target_without_cells_are_not_measured() {
    let (run, mut record) = record("wire-single");
    record.cells.retain(|cell| cell.target != "redis-server");
    let claim = evaluated(&definition(AGAINST_REDIS), &run, &record);
    assert_eq!(claim.verdict, ClaimVerdict::NotMeasured);
    assert!(claim.reason.contains("no cell of redis-server"), "{}", claim.reason);
    record.cells.clear();
    let claim = evaluated(&definition(AGAINST_REDIS), &run, &record);
    assert!(claim.reason.contains("no such cell of plumbkv"), "{}", claim.reason);
    let candidate = Candidate { machine_key: "m", machine_title: "", run: Err("nothing here") };
    assert_eq!(evaluate(&definition(AGAINST_REDIS), &[candidate]).reason, "m: nothing here");
    assert_eq!(evaluate(&definition(AGAINST_REDIS), &[]).reason, "no run is stored");
}

#[test]
fn a_switch_takes_part_only_where_it_is_named() {
    let (run, mut record) = record("wire-single");
    let own = record.cells.iter().find(|cell| cell.target == "null").unwrap().clone();
    let mut theirs = own.clone();
    theirs.key.push_str("-redis-benchmark");
    theirs.axes.client_program = Some("redis-benchmark".into());
    for (cell, spent) in [(0, 100), (1, 200)] {
        let cell = if cell == 0 {
            record.cells.iter_mut().find(|cell| cell.key == own.key).unwrap()
        } else {
            &mut theirs
        };
        for trial in &mut cell.trials {
            trial.counts.operations = 1_000;
            let os = trial.os.as_mut().unwrap();
            os.generator_cpu_ns = spent * 1_000;
        }
    }
    record.cells.push(theirs);
    let at = format!("at = {{ operation = \"{}\", value_bytes = 64 }}\n", own.axes.operation);
    let placement = crate::plan::placement_name(own.placement);
    let generator = format!(
        "metric = \"generator_cpu_ns_per_op\"\ncomparison = \"<=\"\nbound = 0.65\nplacement = \"{placement}\"\n{at}\
         numerator = {{ target = \"null\" }}\n\
         denominator = {{ target = \"null\", axes = {{ client_program = \"redis-benchmark\" }} }}\n"
    );
    let claim = evaluated(&definition(&generator), &run, &record);
    let evidence = &claim.machines[0].evidence;
    assert_eq!(evidence.len(), 1, "{evidence:?}");
    assert!((evidence[0].figure.unwrap().median - 0.5).abs() < 1e-12);
    let single = format!(
        "metric = \"server_cpu_ns_per_op\"\ncomparison = \">=\"\nbound = 1e-9\nplacement = \"{placement}\"\n{at}\
         numerator = {{ target = \"null\" }}\n"
    );
    assert_eq!(evaluated(&definition(&single), &run, &record).machines[0].evidence.len(), 1);
}

#[test]
fn two_metrics_of_one_cell_make_a_ratio() {
    let (run, record) = record("memory-cap");
    let cap = "metric = \"rss_bytes_growth\"\ncomparison = \"<=\"\nbound = 1.0\nat = { operation = \"fill\" }\n\
        numerator = { target = \"plumbkv\" }\ndenominator = { target = \"plumbkv\", metric = \"cap_bytes\" }\n";
    let claim = evaluated(&definition(cap), &run, &record);
    let evidence = &claim.machines[0].evidence[0];
    assert_eq!(Some(&evidence.numerator), evidence.denominator.as_ref());
    let cell = record.cells.iter().find(|cell| cell.key == evidence.numerator).unwrap();
    let of = |name: &str| {
        let values = cell.trials[0].values.iter();
        values.filter(|value| value.metric == name).map(|value| value.value).next().unwrap()
    };
    let (low, high) = (evidence.figure.unwrap().low, evidence.figure.unwrap().high);
    let ratio = of("rss_bytes_growth") / of("cap_bytes");
    assert!(low * 0.999 <= ratio && ratio <= high * 1.001, "{ratio} in {low} … {high}");
}
