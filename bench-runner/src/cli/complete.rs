//! `bench-runner complete`: the cells and claims that a version lacks before it may be released.

use super::stdout::put;
use super::{EXIT_FINE, EXIT_TOOL_ERROR, Format, Global};
use crate::campaign::begin::{Selection, choose, planned};
use crate::campaign::catalogue;
use crate::environment::engine_tree;
use crate::export::{listed_runs, read_indexed_run};
use crate::model::{Claim, ClaimVerdict, Claims, Profile, Run, ScenarioRecord, version_key};
use crate::output::document;
use crate::release::{self, Lack, Owed, Stored};
use crate::scenario::{Group, Scenario, profile_name};
use anyhow::{Context as _, ensure};
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// List what a version lacks before it can be released
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  bench-runner complete --version 0.5.1          exit code 1 if something is missing
  bench-runner complete --version 0.5.1 --format json

A version needs, of each scenario on one machine: every cell of the profile quick, every cell of the profile release in the groups \
that results/versions.toml lists for it (all groups for a minor version), and a verdict on every claim of these groups. \
Scenarios and claims that a later version added (`since`) are not owed. \
Cells of targets that exist only as an image may be skipped. All runs must come from the same engine sources (the git tree \
hash of engine/).")]
pub(super) struct Args {
    /// The version
    #[arg(long = "version", value_name = "VERSION")]
    version: String,
    /// Only this machine [default: of each scenario the one that lacks least]
    #[arg(long, value_name = "KEY")]
    machine: Option<String>,
    /// Folder of the records [default: <root>/results]
    #[arg(long, value_name = "DIR")]
    results: Option<PathBuf>,
}

/// The runs of the version on one machine.
struct OnMachine {
    key: String,
    runs: Vec<(Run, Vec<ScenarioRecord>)>,
}

impl OnMachine {
    fn stored(&self) -> impl Iterator<Item = Stored<'_>> {
        self.runs.iter().flat_map(|(run, records)| {
            records.iter().map(move |record| Stored { profile: run.profile, record })
        })
    }
}

/// What a version lacks.
struct Found {
    /// Of each profile that is owed, the machines whose scenarios lack least, and how many cells these have.
    machines: Vec<(Profile, String, usize)>,
    engine_trees: BTreeSet<String>,
    cells: Vec<Lack>,
    claims: Vec<String>,
}

impl Found {
    fn faults(&self) -> usize {
        self.cells.len() + self.claims.len() + self.engine_trees.len().saturating_sub(1)
    }
}

/// Carries it out; the exit code is in [`super`]'s list.
pub(super) fn execute(args: Args, global: &Global) -> anyhow::Result<u8> {
    let results = args.results.unwrap_or_else(|| global.root.join("results"));
    let version = &args.version;
    let groups = versions(&results)?.release_groups(version);
    let mut scenarios = catalogue::scenarios(&global.root)?;
    scenarios.retain(|one| one.is_in(version));
    let mut owed = BTreeMap::new();
    release::owed(&mut owed, &plan(global, &scenarios, Profile::Quick, &[])?, &scenarios, Profile::Quick);
    if !groups.is_empty() {
        let plan = plan(global, &scenarios, Profile::Release, &groups)?;
        release::owed(&mut owed, &plan, &scenarios, Profile::Release);
    }
    let targets = catalogue::targets(&global.root, &scenarios)?;
    let elsewhere = |key: &str| targets.get(key).is_some_and(|target| target.image.is_some());
    let machines = machines(&results, version, args.machine.as_deref())?;
    ensure!(
        !machines.is_empty(),
        "no published run of version {version}: add one with 'bench-runner publish'"
    );
    let claims = unsettled(&results, version, &scenarios, &groups, &machines)?;
    let mut found = Found {
        machines: Vec::new(),
        engine_trees: machines.iter().flat_map(|machine| trees(&global.root, machine)).collect(),
        cells: Vec::new(),
        claims,
    };
    let stored: Vec<(&str, Vec<Stored>)> =
        machines.iter().map(|machine| (machine.key.as_str(), machine.stored().collect())).collect();
    for profile in [Profile::Quick, Profile::Release] {
        // Figures are compared within a scenario, so each has to be whole somewhere, not all in one place.
        let mut by_scenario: BTreeMap<&str, Vec<&Owed>> = BTreeMap::new();
        for one in owed.values().filter(|one| one.profile == profile) {
            by_scenario.entry(&one.scenario).or_default().push(one);
        }
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        for of_scenario in by_scenario.into_values() {
            let lacks = stored.iter().map(|(machine, stored)| {
                (*machine, release::lacking(of_scenario.iter().copied(), stored, &elsewhere))
            });
            if let Some((key, mut lacks)) = lacks.min_by_key(|(_, lacks)| lacks.len()) {
                *counts.entry(key).or_default() += of_scenario.len();
                found.cells.append(&mut lacks);
            }
        }
        let counts = counts.into_iter().map(|(key, count)| (profile, key.to_owned(), count));
        found.machines.extend(counts);
    }
    put(&match global.format {
        Format::Json => format!("{:#}\n", as_json(version, &groups, &found)),
        _ => as_text(version, &groups, &found),
    })?;
    Ok(if found.faults() == 0 { EXIT_FINE } else { EXIT_TOOL_ERROR })
}

fn versions(results: &Path) -> anyhow::Result<release::Versions> {
    let path = results.join("versions.toml");
    match std::fs::read_to_string(&path) {
        Ok(text) => Ok(release::parse(&path.display().to_string(), &text)?),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(release::Versions::default()),
        Err(error) => Err(error).with_context(|| format!("cannot read {}", path.display())),
    }
}

fn plan(
    global: &Global,
    all: &[Scenario],
    profile: Profile,
    groups: &[Group],
) -> anyhow::Result<crate::plan::Plan> {
    let chosen = choose(all.to_vec(), &[], groups)?;
    let targets = catalogue::targets(&global.root, &chosen)?;
    let selection = Selection {
        profile,
        scenarios: Vec::new(),
        groups: groups.to_vec(),
        targets: Vec::new(),
        modes: Vec::new(),
    };
    planned(&chosen, &targets, &selection, 0)
}

fn machines(results: &Path, version: &str, only: Option<&str>) -> anyhow::Result<Vec<OnMachine>> {
    let mut machines: Vec<OnMachine> = Vec::new();
    for listed in listed_runs(results)?.into_iter().filter(|one| one.version == version) {
        if only.is_some_and(|key| key != listed.machine_key) {
            continue;
        }
        let run = read_indexed_run(&listed.base, &listed.run)?;
        match machines.iter_mut().find(|one| one.key == listed.machine_key) {
            Some(machine) => machine.runs.push(run),
            None => machines.push(OnMachine { key: listed.machine_key, runs: vec![run] }),
        }
    }
    Ok(machines)
}

/// The engine sources of all runs; one, where they agree.
fn trees(root: &Path, machine: &OnMachine) -> BTreeSet<String> {
    let tree = |run: &Run| {
        let source = &run.source;
        source.engine_tree.clone().or_else(|| engine_tree(root, &source.commit))
    };
    machine
        .runs
        .iter()
        .map(|(run, _)| tree(run).unwrap_or_else(|| format!("unknown: commit {}", run.source.commit)))
        .collect()
}

/// The claims of the groups that have no verdict of this version, nor of a later one on a machine that has this one.
fn unsettled(
    results: &Path,
    version: &str,
    scenarios: &[Scenario],
    groups: &[Group],
    published: &[OnMachine],
) -> anyhow::Result<Vec<String>> {
    let path = results.join("claims.json");
    let text = std::fs::read(&path)
        .with_context(|| format!("cannot read {}; 'bench-runner claims --write' makes it", path.display()))?;
    let claims: Claims = serde_json::from_slice(&text)
        .with_context(|| format!("{} is no list of claims of this build", path.display()))?;
    ensure!(!claims.claims.is_empty(), "{} holds no claim", path.display());
    let of_group = |key: &str| {
        scenarios.iter().any(|one| {
            one.key() == key && !one.definition().by_name && groups.contains(&one.definition().group)
        })
    };
    let owed =
        |claim: &&Claim| of_group(&claim.scenario) && version_key(&claim.since) <= version_key(version);
    let open = claims.claims.iter().filter(owed).filter_map(|claim| {
        let settled = claim.machines.iter().any(|machine| {
            // Only the newest version of a machine is judged: a later one has taken the place of this one's verdict.
            let is_replaced = |by: &str| {
                version_key(by) > version_key(version)
                    && published.iter().any(|one| one.key == machine.machine_key)
            };
            machine.verdict != ClaimVerdict::NotMeasured
                && machine.run.as_ref().is_some_and(|run| run.version == version || is_replaced(&run.version))
        });
        (!settled).then(|| claim.key.clone())
    });
    Ok(open.collect())
}

fn as_json(version: &str, groups: &[Group], found: &Found) -> serde_json::Value {
    document(
        "complete",
        json!({
            "version": version,
            "machines": found.machines.iter()
                .map(|(profile, machine, owed)| json!({
                    "profile": profile_name(*profile),
                    "machine": machine,
                    "cells_owed": owed,
                }))
                .collect::<Vec<_>>(),
            "release_groups": groups,
            "engine_trees": found.engine_trees,
            "complete": found.faults() == 0,
            "cells": found.cells.iter().map(|lack| json!({
                "scenario": lack.owed.scenario,
                "cell": lack.owed.cell,
                "profile": profile_name(lack.owed.profile),
                "reason": lack.reason,
            })).collect::<Vec<_>>(),
            "claims": found.claims,
        }),
    )
}

fn as_text(version: &str, groups: &[Group], found: &Found) -> String {
    let mut text = String::new();
    for lack in &found.cells {
        let owed = &lack.owed;
        let profile = profile_name(owed.profile);
        let _ = writeln!(text, "missing: {} {} ({profile}): {}", owed.scenario, owed.cell, lack.reason);
    }
    for key in &found.claims {
        let _ = writeln!(text, "missing: claim {key} has no verdict of version {version}");
    }
    if found.engine_trees.len() > 1 {
        let trees: Vec<&str> = found.engine_trees.iter().map(String::as_str).collect();
        let _ = writeln!(text, "runs of different engine sources: {}", trees.join(", "));
    }
    let names: Vec<&str> = groups.iter().map(|group| group.name()).collect();
    let at_release = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
    let state = match found.faults() {
        0 => "complete".to_owned(),
        faults => format!("not complete: {faults} missing"),
    };
    let on = |(profile, machine, owed): &(Profile, String, usize)| {
        format!("{owed} cells of {} on {machine}", profile_name(*profile))
    };
    let owed: Vec<String> = found.machines.iter().map(on).collect();
    let _ = writeln!(
        text,
        "{version}: {state}; owed are {}; groups at release: {at_release}",
        owed.join(" and ")
    );
    if let [tree] = found.engine_trees.iter().collect::<Vec<_>>()[..] {
        let _ = writeln!(text, "engine sources: {tree}");
    }
    text
}
