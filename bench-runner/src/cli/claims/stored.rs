//! The stored runs that judge a claim: the newest version of each machine, then earlier versions.

use crate::claims::{self, Candidate, Definition, Judge};
use crate::export::{find_run, listed_runs, read_indexed_run};
use crate::model::{Claim, ClaimEarlier, ClaimVerdict, Run, ScenarioRecord, version_key};
use std::path::Path;

/// The runs of one version on one machine.
struct OnMachine {
    key: String,
    version: String,
    runs: Vec<Stored>,
    /// The runs were named rather than found: they are judged whatever their version.
    named: bool,
}

struct Stored {
    run: Run,
    scenarios: Vec<ScenarioRecord>,
    /// Folder of its files, from the folder of results.
    folder: String,
}

/// The runs by which claims are judged.
pub(super) struct Runs {
    /// The newest version of each machine.
    newest: Vec<OnMachine>,
    /// Earlier versions, the newest of them first; empty where a run was named.
    earlier: Vec<OnMachine>,
}

/// One run, by its id, the beginning of one, or `latest`.
pub(super) fn named(results: &Path, wanted: &str) -> anyhow::Result<Runs> {
    let found = find_run(results, wanted, None)?;
    let (key, version) = (found.run.machine_key.clone(), found.run.version.clone());
    let folder = format!("{version}/{key}/{}", found.run.id);
    let stored = Stored { run: found.run, scenarios: found.scenarios, folder };
    let one = OnMachine { key, runs: vec![stored], version, named: true };
    Ok(Runs { newest: vec![one], earlier: Vec::new() })
}

/// Every published run.
pub(super) fn published(results: &Path) -> anyhow::Result<Runs> {
    let mut all: Vec<OnMachine> = Vec::new();
    for one in listed_runs(results)?.into_iter().filter(|one| one.version != "local") {
        let (run, scenarios) = read_indexed_run(&one.base, &one.run)?;
        let folder = format!("{}/{}/{}", one.version, one.machine_key, run.id);
        let stored = Stored { run, scenarios, folder };
        match all.iter_mut().find(|at| at.key == one.machine_key && at.version == one.version) {
            Some(at) => at.runs.push(stored),
            None => all.push(OnMachine {
                key: one.machine_key,
                version: one.version,
                runs: vec![stored],
                named: false,
            }),
        }
    }
    all.sort_by(|a, b| version_key(&b.version).cmp(&version_key(&a.version)).then_with(|| a.key.cmp(&b.key)));
    let mut runs = Runs { newest: Vec::new(), earlier: Vec::new() };
    for one in all {
        let known = runs.newest.iter().any(|other| other.key == one.key);
        if known { &mut runs.earlier } else { &mut runs.newest }.push(one);
    }
    runs.newest.sort_by(|a, b| a.key.cmp(&b.key));
    Ok(runs)
}

/// The claim by the newest version of each machine; where that has no verdict, also by the newest
/// earlier version that has one.
pub(super) fn judge(definition: &Definition, runs: &Runs) -> Claim {
    let claim = evaluated(definition, &runs.newest.iter().collect::<Vec<_>>());
    let earlier = (claim.verdict == ClaimVerdict::NotMeasured).then(|| earlier(definition, runs)).flatten();
    Claim { earlier, ..claim }
}

fn earlier(definition: &Definition, runs: &Runs) -> Option<ClaimEarlier> {
    let mut versions: Vec<&str> = runs.earlier.iter().map(|one| one.version.as_str()).collect();
    versions.dedup();
    versions.into_iter().find_map(|version| {
        let of_version: Vec<&OnMachine> = runs.earlier.iter().filter(|one| one.version == version).collect();
        let mut claim = evaluated(definition, &of_version);
        claim.machines.retain(|machine| machine.verdict != ClaimVerdict::NotMeasured);
        (claim.verdict != ClaimVerdict::NotMeasured).then(|| ClaimEarlier {
            version: version.to_owned(),
            verdict: claim.verdict,
            reason: claim.reason,
            machines: claim.machines,
        })
    })
}

fn evaluated(definition: &Definition, machines: &[&OnMachine]) -> Claim {
    let candidates: Vec<Candidate> = machines
        .iter()
        .map(|machine| Candidate {
            machine_key: &machine.key,
            machine_title: machine.runs.last().map_or("", |stored| &stored.run.machine.title),
            runs: judges(definition, machine),
        })
        .collect();
    claims::evaluate(definition, &candidates)
}

/// The runs that hold the scenario, the longest profile first and of those the newest. Ordered by that
/// alone, never by figures.
fn judges<'a>(definition: &Definition, machine: &'a OnMachine) -> Result<Vec<Judge<'a>>, String> {
    let version = &machine.version;
    if !machine.named && version_key(version) < version_key(&definition.since) {
        return Err(format!(
            "the newest version with a run here is {version}, and the claim is judged from {} on",
            definition.since
        ));
    }
    let of_parts = definition.scenario == claims::COMPONENTS;
    let holds = |stored: &'a Stored| {
        if of_parts {
            return (!stored.run.components.is_empty()).then_some((stored, None));
        }
        let record = stored.scenarios.iter().find(|record| record.scenario.key == definition.scenario)?;
        Some((stored, Some(record)))
    };
    let mut holding: Vec<(&Stored, Option<&ScenarioRecord>)> =
        machine.runs.iter().filter_map(holds).collect();
    holding.sort_by(|(a, _), (b, _)| {
        (b.run.profile, &b.run.started_at).cmp(&(a.run.profile, &a.run.started_at))
    });
    if holding.is_empty() {
        return Err(match definition.scenario.as_str() {
            claims::COMPONENTS => format!("no run of version {version} here has estimates of components"),
            scenario => format!("no run of version {version} here has the scenario {scenario}"),
        });
    }
    let file = |run: &'a Run| {
        let entry = run.scenarios.iter().find(|entry| entry.key == definition.scenario);
        entry.map_or("run.json", |entry| entry.file.as_str())
    };
    let judges = holding
        .into_iter()
        .map(|(stored, record)| (&stored.run, record, format!("{}/{}", stored.folder, file(&stored.run))));
    Ok(judges.collect())
}
