//! Which cells are paired, and what becomes of a claim over several?

use super::*;
use crate::export::testing;
use crate::model::{Claim, ClaimVerdict, OsStat, Run, ScenarioRecord, Status};

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
    let candidate = Candidate {
        machine_key: "m",
        machine_title: "A machine",
        runs: Ok(vec![(run, Some(record), "f.json".to_owned())]),
    };
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
fn cells_with_an_axis_that_is_left_out_take_no_part() {
    let (run, mut record) = record("wire-single");
    let all = evaluated(&definition(AGAINST_REDIS), &run, &record);
    assert_eq!(all.machines[0].evidence.len(), 1);
    let text = format!("without = [\"distribution\"]\n{AGAINST_REDIS}");
    assert_eq!(evaluated(&definition(&text), &run, &record).machines[0].evidence.len(), 1);
    for cell in &mut record.cells {
        cell.axes.distribution = Some("sequential".to_owned());
    }
    let none = evaluated(&definition(&text), &run, &record);
    assert_eq!((none.verdict, none.machines[0].evidence.len()), (ClaimVerdict::NotMeasured, 0));
}

#[test]
fn a_bound_on_the_figure_itself_may_be_met_by_a_ratio() {
    let (run, record) = record("wire-single");
    let text = AGAINST_REDIS.replace("bound = 1000.0", "bound = 0.001").replace(
        "denominator = { target = \"redis-server\" }",
        "or = { denominator = { target = \"redis-server\" }, bound = 1000.0 }",
    );
    let claim = evaluated(&definition(&text), &run, &record);
    assert_eq!(claim.verdict, ClaimVerdict::Holds, "{claim:?}");
    assert!(claim.machines[0].evidence[0].denominator.as_deref().unwrap().starts_with("redis-server"));
    let neither = text.replace("bound = 1000.0", "bound = 0.000001");
    assert_eq!(evaluated(&definition(&neither), &run, &record).verdict, ClaimVerdict::Fails);
}

#[test]
fn a_remark_stands_beside_a_failure_only() {
    let (run, record) = record("wire-single");
    for (bound, remark) in [("1000.0", None), ("0.001", Some("The kernel's part."))] {
        let text = AGAINST_REDIS.replace("bound = 1000.0", &format!("bound = {bound}"));
        let text = format!("remark = \"The kernel's part.\"\n{text}");
        assert_eq!(evaluated(&definition(&text), &run, &record).remark.as_deref(), remark);
    }
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
    // … one that was measured beside something else too …
    let cell = record.cells.iter_mut().find(|cell| cell.key == key).unwrap();
    (cell.status, cell.reason) = (Status::Ok, None);
    for trial in &mut cell.trials {
        trial.os = Some(OsStat { foreign_cpu_cores: 1.8, ..trial.os.unwrap_or_default() });
    }
    let open = evaluated(&definition(&wide), &run, &record);
    assert_eq!(open.verdict, ClaimVerdict::NotMeasured);
    assert!(open.reason.contains("others used 1.80 CPUs"), "{}", open.reason);
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
    let candidate = Candidate { machine_key: "m", machine_title: "", runs: Err("nothing here".to_owned()) };
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

/// The cell of a target at SET of 64 B, apart.
fn cell_at<'a>(record: &'a mut ScenarioRecord, target: &str) -> &'a mut crate::model::Cell {
    let wanted = |cell: &&mut crate::model::Cell| {
        cell.target == target
            && cell.axes.operation == "set"
            && cell.axes.value_bytes == Some(64)
            && cell.placement == crate::model::Placement::Apart
    };
    record.cells.iter_mut().find(wanted).unwrap()
}

fn set(cell: &mut crate::model::Cell, metric: &str, value: impl Fn(u32) -> f64) {
    for trial in &mut cell.trials {
        let index = trial.index;
        trial.values.retain(|one| one.metric != metric);
        trial.values.push(crate::model::Value {
            metric: metric.to_owned(),
            operation: None,
            value: value(index),
        });
    }
}

/// A record in which Redis needs 200 ns and serves 100/s, Valkey 150 ns and 90/s, ours 100 ns and 180/s.
fn three_servers() -> (Run, ScenarioRecord) {
    let (run, mut record) = record("wire-single");
    let mut valkey = cell_at(&mut record, "redis-server").clone();
    valkey.key = valkey.key.replace("redis-server", "valkey");
    valkey.target = "valkey".to_owned();
    record.cells.push(valkey);
    for (target, cpu, rate) in
        [("plumbkv", 100.0, 180.0), ("redis-server", 200.0, 100.0), ("valkey", 150.0, 90.0)]
    {
        let cell = cell_at(&mut record, target);
        set(cell, "server_cpu_ns_per_op", |_| cpu);
        set(cell, "ops_per_second", |index| rate + f64::from(index) / 100.0);
    }
    (run, record)
}

fn at_set(metric: &str, comparison: &str, bound: f64, rest: &str) -> Definition {
    definition(&format!(
        "metric = \"{metric}\"\ncomparison = \"{comparison}\"\nbound = {bound:?}\nplacement = \"apart\"\n\
         at = {{ operation = \"set\", value_bytes = 64 }}\nnumerator = {{ target = \"plumbkv\" }}\n{rest}\n"
    ))
}

const BETTER: &str = "denominator = { better_of = [\"redis-server\", \"valkey\"] }";

#[test]
fn the_better_of_two_is_the_one_whose_median_is_better_by_the_metrics_direction() {
    let (run, mut record) = three_servers();
    let cheaper = evaluated(&at_set("server_cpu_ns_per_op", "<=", 0.7, BETTER), &run, &record);
    let evidence = &cheaper.machines[0].evidence;
    assert_eq!((evidence.len(), cheaper.verdict), (1, ClaimVerdict::Holds), "{evidence:?}");
    assert!(evidence[0].denominator.as_ref().unwrap().starts_with("valkey"));
    assert!((evidence[0].figure.unwrap().median - 100.0 / 150.0).abs() < 1e-9);
    let faster = evaluated(&at_set("ops_per_second", ">=", 1.9, BETTER), &run, &record);
    assert!(faster.machines[0].evidence[0].denominator.as_ref().unwrap().starts_with("redis-server"));
    assert_eq!(faster.verdict, ClaimVerdict::Fails);
    assert_eq!(faster.denominator.as_ref().unwrap().target, "the better of redis-server and valkey");
    // What was not measured is not beaten, be the other however slow.
    cell_at(&mut record, "valkey").status = Status::Skipped;
    let open = evaluated(&at_set("server_cpu_ns_per_op", "<=", 0.7, BETTER), &run, &record);
    assert_eq!(open.verdict, ClaimVerdict::NotMeasured, "{}", open.reason);
    record.cells.retain(|cell| cell.target != "valkey");
    let open = evaluated(&at_set("server_cpu_ns_per_op", "<=", 0.7, BETTER), &run, &record);
    assert!(open.reason.contains("no cell of valkey"), "{}", open.reason);
}

#[test]
fn a_cell_that_misses_its_bound_may_meet_the_other() {
    let (run, mut record) = three_servers();
    set(cell_at(&mut record, "null"), "ops_per_second", |_| 190.0);
    let or = |bound: f64| {
        let rest = format!("{BETTER}\nor = {{ denominator = {{ target = \"null\" }}, bound = {bound:?} }}");
        at_set("ops_per_second", ">=", 1.9, &rest)
    };
    let holds = evaluated(&or(0.9), &run, &record);
    assert_eq!(holds.verdict, ClaimVerdict::Holds, "{}", holds.reason);
    let evidence = &holds.machines[0].evidence[0];
    assert!(evidence.denominator.as_ref().unwrap().starts_with("null") && evidence.reason.contains("misses"));
    assert_eq!(evaluated(&or(0.96), &run, &record).verdict, ClaimVerdict::Fails);
}

#[test]
fn a_difference_of_ratios_is_taken_round_by_round() {
    let (run, mut record) = three_servers();
    // With more clients ours keeps 90 of 100, the floor 95; both move with the round.
    for (target, kept) in [("plumbkv", 0.90), ("null", 0.95)] {
        set(cell_at(&mut record, target), "ops_per_second", |index| 100.0 + f64::from(index));
        let mut more = cell_at(&mut record, target).clone();
        more.axes.clients = Some(1_000);
        more.key.push_str("-more");
        set(&mut more, "ops_per_second", |index| kept * (100.0 + f64::from(index)));
        record.cells.push(more);
    }
    let few = cell_at(&mut record, "null").axes.clients.unwrap();
    let side =
        |target: &str, clients: u32| format!("{{ target = \"{target}\", axes = {{ clients = {clients} }} }}");
    let claim = |bound: f64| {
        definition(&format!(
            "metric = \"ops_per_second\"\ncomparison = \">=\"\nbound = {bound:?}\nplacement = \"apart\"\n\
             at = {{ operation = \"set\", value_bytes = 64 }}\nnumerator = {}\ndenominator = {}\n\
             minus = {{ numerator = {}, denominator = {} }}\n",
            side("plumbkv", 1_000),
            side("plumbkv", few),
            side("null", 1_000),
            side("null", few)
        ))
    };
    let holds = evaluated(&claim(-0.06), &run, &record);
    let figure = holds.machines[0].evidence[0].figure.unwrap();
    assert_eq!((holds.machines[0].evidence.len(), holds.verdict), (1, ClaimVerdict::Holds), "{holds:?}");
    assert!((figure.median + 0.05).abs() < 1e-9 && figure.n == 9, "{figure:?}");
    assert_eq!(evaluated(&claim(-0.04), &run, &record).verdict, ClaimVerdict::Fails);
}

#[test]
fn one_trial_breaks_a_bound_on_every_trial_and_only_a_full_run_holds_it() {
    let (run, mut record) = three_servers();
    record.profile = crate::model::Profile::Full;
    let claim = at_set("server_cpu_ns_per_op", "<=", 120.0, "every_trial = true");
    assert_eq!(evaluated(&claim, &run, &record).verdict, ClaimVerdict::Holds);
    record.profile = crate::model::Profile::Quick;
    assert_eq!(evaluated(&claim, &run, &record).verdict, ClaimVerdict::NotMeasured);
    set(
        cell_at(&mut record, "plumbkv"),
        "server_cpu_ns_per_op",
        |index| if index == 4 { 121.0 } else { 90.0 },
    );
    let broken = evaluated(&claim, &run, &record);
    assert_eq!(broken.verdict, ClaimVerdict::Fails);
    assert!(broken.reason.contains("the worst of 9 trials, 121, misses 120"), "{}", broken.reason);
}

#[test]
fn a_rate_that_follows_the_slowest_is_no_closed_loop() {
    let (run, mut record) = three_servers();
    let mut open = cell_at(&mut record, "plumbkv").clone();
    open.axes.rate_percent_of_slowest = Some(70);
    open.key.push_str("-open");
    record.cells.push(open);
    let claim = at_set("ops_per_second", ">=", 1.0, BETTER);
    assert_eq!(evaluated(&claim, &run, &record).machines[0].evidence.len(), 1);
}
