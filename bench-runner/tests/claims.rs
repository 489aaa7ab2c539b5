//! Claims, by the real binary: a changed record flips a verdict, and the committed verdicts are those of the
//! committed runs.

#![allow(clippy::unwrap_used, reason = "helpers of tests fail by panicking, as tests do")]

use bench_runner::export::{read_index, read_indexed_run, write_run};
use bench_runner::model::{Claims, Profile, Run, ScenarioRecord};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

const CLAIM: &str = r#"
[[claim]]
key = "cpu-no-worse"
statement = "A SET costs no more CPU time than Redis's."
scenario = "wire-single"
metric = "server_cpu_ns_per_op"
placement = "apart"
at = { operation = "set", value_bytes = 64 }
numerator = { target = "plumbkv" }
denominator = { target = "redis-server" }
comparison = "<="
bound = 1.05
said_in = ["README.md"]
since = "0.0.1"
measure = "bench-runner run --profile full --scenario wire-single"
"#;

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// The made-up run, with so many trials a cell.
fn fixture(trials: u32) -> (Run, Vec<ScenarioRecord>) {
    let results = repository().join("website/test/fixtures/results");
    let index = read_index(&results.join("index.json")).unwrap();
    let (mut run, mut scenarios) =
        read_indexed_run(&results, &index.versions[0].machines[0].runs[0]).unwrap();
    run.profile = if trials < 6 { Profile::Quick } else { Profile::Full };
    for cell in scenarios.iter_mut().flat_map(|record| &mut record.cells) {
        let some = cell.trials.clone();
        let all = (0..trials).filter(|_| !some.is_empty());
        cell.trials = all
            .map(|index| {
                let mut trial = some[index as usize % some.len()].clone();
                trial.index = index;
                trial
            })
            .collect();
    }
    (run, scenarios)
}

fn stored(run: Run, scenarios: Vec<ScenarioRecord>) -> tempfile::TempDir {
    let root = tempfile::tempdir().unwrap();
    let results = root.path().join("results");
    write_run(&results, run, scenarios).unwrap();
    std::fs::write(results.join("claims.toml"), CLAIM).unwrap();
    root
}

fn runner(root: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_bench-runner")).arg("--root").arg(root).args(arguments).output().unwrap()
}

fn judged(root: &Path, more: &[&str]) -> (Claims, Option<i32>) {
    let mut arguments = vec!["--format", "json", "claims"];
    arguments.extend(more);
    let output = runner(root, &arguments);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(!output.stdout.is_empty(), "{said}");
    (serde_json::from_slice(&output.stdout).unwrap(), output.status.code())
}

fn verdict(claims: &Claims) -> String {
    serde_json::to_value(claims.claims[0].verdict).unwrap().as_str().unwrap().to_owned()
}

/// Our server made so many times as expensive, in the stored files: figures altered, digests renewed.
fn make_dearer(root: &Path, factor: f64) {
    let results = root.join("results");
    let (run, mut scenarios) = read_indexed_run(
        &results,
        &read_index(&results.join("index.json")).unwrap().versions[0].machines[0].runs[0],
    )
    .unwrap();
    for cell in scenarios.iter_mut().flat_map(|record| &mut record.cells) {
        let values = cell.trials.iter_mut().flat_map(|trial| &mut trial.values);
        for value in values.filter(|value| cell.target == "plumbkv" && value.metric == "server_cpu_ns_per_op")
        {
            value.value *= factor;
        }
    }
    std::fs::remove_dir_all(results.join(&run.version)).unwrap();
    std::fs::remove_file(results.join("index.json")).unwrap();
    write_run(&results, run, scenarios).unwrap();
}

#[test]
fn a_changed_record_flips_its_claim() {
    let (run, scenarios) = fixture(9);
    let root = stored(run, scenarios);
    let (before, code) = judged(root.path(), &["--check"]);
    assert_eq!((verdict(&before).as_str(), code), ("holds", Some(0)));
    let machine = &before.claims[0].machines[0];
    let (judged_by, evidence) = (machine.run.as_ref().unwrap(), &machine.evidence[0]);
    assert!(root.path().join("results").join(&judged_by.file).is_file(), "{}", judged_by.file);
    assert!(evidence.numerator.starts_with("plumbkv/native/apart/set-64B"), "{evidence:?}");
    assert_eq!(evidence.figure.unwrap().n, 9);

    make_dearer(root.path(), 1.5);
    let (after, code) = judged(root.path(), &["--check"]);
    assert_eq!((verdict(&after).as_str(), code), ("fails", Some(2)));
    assert_eq!(
        judged(root.path(), &[]).1,
        Some(0),
        "a claim that fails is a result, not a fault of the tool"
    );
    let ratio = |claims: &Claims| claims.claims[0].machines[0].evidence[0].figure.unwrap().median;
    assert!((ratio(&after) / ratio(&before) - 1.5).abs() < 1e-9);
}

#[test]
fn a_record_changed_behind_the_index_is_refused() {
    let (run, scenarios) = fixture(9);
    let root = stored(run, scenarios);
    let (before, _) = judged(root.path(), &[]);
    let file = root.path().join("results").join(&before.claims[0].machines[0].run.as_ref().unwrap().file);
    let text = String::from_utf8(zstd::decode_all(std::fs::File::open(&file).unwrap()).unwrap()).unwrap();
    let changed = text.replace("\"n\": 3", "\"n\": 9");
    std::fs::write(&file, zstd::encode_all(changed.as_bytes(), 3).unwrap()).unwrap();
    let output = runner(root.path(), &["claims"]);
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!((output.status.code(), said.lines().count()), (Some(1), 1), "{said}");
    assert!(said.contains("wire-single.json.zst") && said.contains("sha256"), "{said}");
}

#[test]
fn three_trials_give_evidence_and_no_verdict() {
    let (run, scenarios) = fixture(3);
    let root = stored(run, scenarios);
    let (claims, _) = judged(root.path(), &["--check"]);
    assert_eq!(verdict(&claims), "not_measured");
    let evidence = &claims.claims[0].machines[0].evidence[0];
    assert!(evidence.figure.is_some() && evidence.reason.contains("a verdict needs 6"), "{evidence:?}");
}

#[test]
fn a_claim_is_judged_by_the_newest_version_from_its_own_on() {
    let (run, scenarios) = fixture(9);
    let root = stored(run.clone(), scenarios.clone());
    let toml = root.path().join("results/claims.toml");
    std::fs::write(&toml, CLAIM.replace("since = \"0.0.1\"", "since = \"0.0.2\"")).unwrap();
    let (claims, _) = judged(root.path(), &[]);
    assert_eq!(verdict(&claims), "not_measured");
    assert!(claims.claims[0].reason.contains("judged from 0.0.2 on"), "{}", claims.claims[0].reason);
    // Named by hand, a run is judged whatever its version.
    assert_eq!(verdict(&judged(root.path(), &["--run", &run.id]).0), "holds");
    // A newer version that lacks the scenario is not spoken for by an older one.
    std::fs::write(&toml, CLAIM).unwrap();
    let newer = Run { id: "newer".into(), version: "0.0.10".into(), ..run };
    let startup = scenarios.into_iter().filter(|record| record.scenario.key == "startup");
    let startup = startup
        .map(|record| ScenarioRecord { run_id: "newer".into(), version: "0.0.10".into(), ..record })
        .collect();
    write_run(&root.path().join("results"), newer, startup).unwrap();
    let (claims, _) = judged(root.path(), &[]);
    assert!(claims.claims[0].reason.contains("no run of version 0.0.10"), "{}", claims.claims[0].reason);
}

#[test]
fn three_formats_tell_the_same_and_writing_is_repeatable() {
    let (run, scenarios) = fixture(9);
    let root = stored(run, scenarios);
    for format in ["human", "markdown"] {
        let output = runner(root.path(), &["--format", format, "claims", "--write"]);
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(text.contains("cpu-no-worse") && text.contains("1 claims: 1 hold, 0 fail"), "{text}");
    }
    let written = std::fs::read_to_string(root.path().join("results/claims.json")).unwrap();
    let output = runner(root.path(), &["--format", "json", "claims"]);
    assert_eq!(String::from_utf8(output.stdout).unwrap(), written);
}

#[test]
fn a_misspelt_claim_is_told_in_one_line() {
    let (run, scenarios) = fixture(3);
    let root = stored(run, scenarios);
    let toml = root.path().join("results/claims.toml");
    std::fs::write(&toml, CLAIM.replace("value_bytes = 64", "value_byte = 64")).unwrap();
    let output = runner(root.path(), &["claims"]);
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!((output.status.code(), said.lines().count()), (Some(1), 1), "{said}");
    assert!(said.contains("unknown axis `value_byte`; did you mean `value_bytes`?"), "{said}");
}

#[test]
fn committed_verdicts_are_those_of_the_committed_runs() {
    let output = runner(&repository(), &["--format", "json", "claims"]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    let committed = std::fs::read_to_string(repository().join("results/claims.json")).unwrap();
    assert!(
        String::from_utf8(output.stdout).unwrap() == committed,
        "results/claims.json is stale: run `bench-runner claims --write` and commit it"
    );
}

#[test]
fn every_claim_is_said_in_a_file_that_exists() {
    let (claims, _) = judged(&repository(), &[]);
    assert!(claims.claims.len() >= 10);
    for claim in &claims.claims {
        for file in &claim.said_in {
            assert!(repository().join(file).is_file(), "{}: {file} does not exist", claim.key);
        }
    }
}
