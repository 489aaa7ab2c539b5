//! JSON of every sub-command: one document with `schema` and `schema_version`, and nothing beside it.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a helper that gives up fails the test that called it")]

use crate::typed::{RUNNER, Sandbox, Started, told};
use serde_json::Value;
use std::process::Command;

/// What a shell does before a command, and the command.
type Case = (&'static str, &'static str);

/// Criterion's files of one benchmark.
const CRITERION: &str = r#"mkdir -p crit/a/new
printf '{"group_id":"a","full_id":"a","throughput":null}' >crit/a/new/benchmark.json
one='{"confidence_interval":{"confidence_level":0.95,"lower_bound":1,"upper_bound":3},"point_estimate":2,"standard_error":0.1}'
printf '{"mean":%s,"median":%s,"slope":null}' "$one" "$one" >crit/a/new/estimates.json"#;

/// In this repository, with a run of one scenario. In this order: one may need what an earlier one left.
const HERE: &[Case] = &[
    ("", "list --no-container"),
    ("", "plan --scenario wire-single"),
    ("", "verify --no-container"),
    ("", "run --dry-run --scenario wire-single --target null --no-container"),
    ("", "run --profile smoke --scenario wire-single --target null --no-container"),
    ("", "load --server SERVER --operation set --requests 1000 --keys 100"),
    ("", "compare 0.2.0 0.3.0"),
    ("", "claims"),
    ("", "power --gates 1 --block-sd 2 --layout-sd 0 --mood 0 --effect 0"),
    ("", "bless"),
    ("cp \"$FIXTURES/gate/v2.json\" gate.json", "bless gate.json --reason wanted"),
    ("", "report latest"),
    ("", "complete --version 0.5.1"),
    (CRITERION, "import criterion crit --dry-run"),
    ("", "init started"),
    ("", "clean --target redis://SERVER"),
    ("", "clean --target redis://SERVER --prefix plumb:0123456789abcdef:"),
    ("mkdir small; cp -r results/local small/local", "db rebuild --results small --database small.sqlite"),
    ("", "db query 'SELECT 1 AS one' --database small.sqlite"),
    ("", "db tables --database small.sqlite"),
    ("", "db schema --database small.sqlite"),
    ("", "db migrate --database small.sqlite"),
    ("", "db check --results small --database small.sqlite"),
    ("", "db export latest --into exported"),
    ("", "db prune --keep 20"),
    ("", "contracts --check"),
    ("", "env"),
    ("", "machines"),
    ("", "machines check"),
    ("", "floor --check"),
];

/// In the repository of a small server.
const SERVER: &[Case] =
    &[("", "gate --base main --head HEAD --budget 10s"), ("", "bisect --good v1.2 --bad HEAD --budget 10s")];

/// A comment is Markdown, a manual page and completions are for other programs; a smoke run is never published; a calibration
/// takes a server that cargo builds, and is asked in `calibrate.rs`.
const OTHERS: [&str; 5] = ["comment", "man", "completions", "publish", "calibrate"];

#[test]
fn every_sub_command_is_asked_for_json() {
    let help = Command::new(RUNNER).arg("--help").output().unwrap();
    let help = String::from_utf8(help.stdout).unwrap();
    let listed =
        help.lines().skip_while(|line| *line != "Commands:").skip(1).take_while(|line| !line.is_empty());
    // A long description goes on in a line that is indented further.
    let names = listed.filter(|line| line.starts_with("  ") && !line.starts_with("   "));
    let names: Vec<&str> = names.filter_map(|line| line.split_whitespace().next()).collect();
    assert!(names.len() > 20, "{help}");
    let asked: Vec<&str> =
        HERE.iter().chain(SERVER).filter_map(|(_, words)| words.split(' ').next()).chain(OTHERS).collect();
    for name in names.into_iter().filter(|name| *name != "help") {
        assert!(asked.contains(&name), "{name} is asked for no JSON");
    }
}

#[test]
fn every_sub_command_prints_one_document() {
    let Some(redis) = Started::redis() else { return };
    let mut wrong = Vec::new();
    for (sandbox, cases) in [(Sandbox::here(), HERE), (Sandbox::server(), SERVER)] {
        for (before, words) in cases {
            let words = words.replace("SERVER", &redis.address);
            let output = sandbox.shell(&format!("{before}\nbench-runner --format json {words}"));
            let found = serde_json::from_slice::<Value>(&output.stdout).unwrap_or_default();
            let schema = found["schema"].as_str().unwrap_or_default();
            if !schema.starts_with("plumbkv.") || !found["schema_version"].is_u64() {
                wrong.push(format!("{words}: {}", told(&output)));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

#[test]
fn the_list_and_the_plan_count_the_same_cells() {
    let sandbox = Sandbox::here();
    let asked = |words: &str| -> Value {
        let output = sandbox.shell(&format!("bench-runner --format json {words}"));
        serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", told(&output)))
    };
    let list = asked("list --no-container");
    let profiles = list["profiles"].as_array().unwrap();
    assert!(!profiles.is_empty());
    for profile in profiles {
        let key = profile["key"].as_str().unwrap();
        let plan = asked(&format!("plan --profile {key}"));
        assert_eq!(profile["cells"], plan["cells"], "{key}");
        assert_eq!(profile["estimated_s"].as_f64(), plan["estimated_s"].as_f64().map(f64::round), "{key}");
    }
}
