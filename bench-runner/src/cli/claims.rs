//! `bench-runner claims`: does what this project says of its speed hold, by the stored runs?

use super::{EXIT_FINE, EXIT_REGRESSION, Format, Global, stdout};
use crate::campaign::catalogue;
use crate::claims::{self, Candidate, Definition};
use crate::export::{canonical, find_run, listed_runs, read_indexed_run, version_key};
use crate::model::{
    CLAIMS_SCHEMA, Claim, ClaimVerdict, Claims, Evidence, Figure, Profile, Run, SCHEMA_VERSION,
    ScenarioRecord, Spread, Tool,
};
use crate::output::{escape, table};
use anyhow::Context as _;
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};

/// Judge every claim of results/claims.toml by the stored runs
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  bench-runner claims                   by the newest published version of each machine\n  \
    bench-runner claims --run latest      by one run, a local one too\n  \
    bench-runner claims --check           exit 2 when a claim fails\n  \
    bench-runner claims --write           renew results/claims.json, which the site reads\n\n\
    A claim holds when the median meets its bound and the far end of the median's interval misses it by at most 3 %\n\
    (CPU time per operation) or 5 % (throughput, latency). Fewer than six trials give no verdict."
)]
pub(super) struct Args {
    /// Judge by this run instead: its id, the beginning of it, or 'latest'
    #[arg(long, value_name = "ID")]
    run: Option<String>,
    /// Exit 2 when a claim fails
    #[arg(long)]
    check: bool,
    /// Write <results>/claims.json
    #[arg(long, conflicts_with = "run")]
    write: bool,
    /// Folder of the records [default: <root>/results]
    #[arg(long, value_name = "DIR")]
    results: Option<PathBuf>,
    /// The claims [default: <results>/claims.toml]
    #[arg(long, value_name = "FILE")]
    claims: Option<PathBuf>,
}

/// Carries it out; the exit code is in [`super`]'s list.
pub(super) fn execute(args: Args, global: &Global) -> anyhow::Result<u8> {
    let results = args.results.unwrap_or_else(|| global.root.join("results"));
    let file = args.claims.unwrap_or_else(|| results.join("claims.toml"));
    let definitions = read_definitions(&global.root, &file)?;
    let machines = match &args.run {
        Some(wanted) => vec![one_run(&results, wanted)?],
        None => published(&results)?,
    };
    let record = Claims {
        schema: CLAIMS_SCHEMA.to_owned(),
        schema_version: SCHEMA_VERSION,
        tool: Tool::this(),
        claims: definitions.iter().map(|definition| judge(definition, &machines)).collect(),
    };
    if args.write {
        write(&results.join("claims.json"), &canonical::to_text(&record)?)?;
    }
    stdout::put(&match global.format {
        Format::Json => canonical::to_text(&record)?,
        format => shown(&record.claims, format),
    })?;
    let fails = record.claims.iter().any(|claim| claim.verdict == ClaimVerdict::Fails);
    Ok(if args.check && fails { EXIT_REGRESSION } else { EXIT_FINE })
}

fn read_definitions(root: &Path, file: &Path) -> anyhow::Result<Vec<Definition>> {
    let text = std::fs::read_to_string(file)
        .with_context(|| format!("reading the claims of {}; --claims names another file", file.display()))?;
    // Outside a checkout there is no catalogue: names are then not checked.
    let (mut scenarios, mut targets) = (Vec::new(), Vec::new());
    if root.join(catalogue::SCENARIOS).is_dir() {
        let known = catalogue::scenarios(root)?;
        targets.extend(catalogue::targets(root, &known)?.keys().iter().map(|key| (*key).to_owned()));
        scenarios.extend(known.iter().map(|scenario| scenario.key().to_owned()));
    }
    let scenarios: Vec<&str> = scenarios.iter().map(String::as_str).collect();
    let targets: Vec<&str> = targets.iter().map(String::as_str).collect();
    Ok(claims::parse(&file.display().to_string(), &text, &scenarios, &targets)?)
}

/// The runs that may judge on one machine.
struct OnMachine {
    key: String,
    /// All of one version.
    runs: Vec<Stored>,
    version: String,
    /// Whether the runs were named rather than found: a named run is judged whatever its version.
    named: bool,
}

struct Stored {
    run: Run,
    scenarios: Vec<ScenarioRecord>,
    /// Folder of its files, from the folder of results.
    folder: String,
}

fn one_run(results: &Path, wanted: &str) -> anyhow::Result<OnMachine> {
    let found = find_run(results, wanted, None)?;
    let (key, version) = (found.run.machine_key.clone(), found.run.version.clone());
    let folder = format!("{version}/{key}/{}", found.run.id);
    let stored = Stored { run: found.run, scenarios: found.scenarios, folder };
    Ok(OnMachine { key, runs: vec![stored], version, named: true })
}

/// The newest published version of each machine, with all its runs.
fn published(results: &Path) -> anyhow::Result<Vec<OnMachine>> {
    let mut listed = listed_runs(results)?;
    listed.retain(|one| one.version != "local");
    let mut keys: Vec<String> = listed.iter().map(|one| one.machine_key.clone()).collect();
    keys.sort();
    keys.dedup();
    let mut machines = Vec::with_capacity(keys.len());
    for key in keys {
        let here = || listed.iter().filter(|one| one.machine_key == key);
        let Some(version) = here().map(|one| &one.version).max_by_key(|version| version_key(version)) else {
            continue;
        };
        let mut runs = Vec::new();
        for one in here().filter(|one| one.version == *version) {
            let (run, scenarios) = read_indexed_run(&one.base, &one.run)?;
            let folder = format!("{version}/{key}/{}", run.id);
            runs.push(Stored { run, scenarios, folder });
        }
        machines.push(OnMachine { version: version.clone(), key, runs, named: false });
    }
    Ok(machines)
}

fn judge(definition: &Definition, machines: &[OnMachine]) -> Claim {
    let chosen: Vec<Result<Chosen, String>> =
        machines.iter().map(|machine| choose(definition, machine)).collect();
    let candidates: Vec<Candidate> = machines
        .iter()
        .zip(&chosen)
        .map(|(machine, chosen)| Candidate {
            machine_key: &machine.key,
            machine_title: machine.runs.last().map_or("", |stored| &stored.run.machine.title),
            run: match chosen {
                Ok((run, record, file)) => Ok((run, *record, file.as_str())),
                Err(reason) => Err(reason.as_str()),
            },
        })
        .collect();
    claims::evaluate(definition, &candidates)
}

/// The run, its record of the scenario unless the claim is of components, and the file that decides.
type Chosen<'a> = (&'a Run, Option<&'a ScenarioRecord>, String);

/// Of the runs that hold the scenario, the newest of the longest profile. Chosen by that alone, never by figures.
fn choose<'a>(definition: &Definition, machine: &'a OnMachine) -> Result<Chosen<'a>, String> {
    let version = &machine.version;
    if !machine.named && version_key(version) < version_key(&definition.since) {
        return Err(format!(
            "the newest version with a run here is {version}, and the claim is judged from {} on",
            definition.since
        ));
    }
    let holds = |stored: &'a Stored| {
        if definition.scenario == claims::COMPONENTS {
            return (!stored.run.components.is_empty()).then_some((stored, None));
        }
        let record = stored.scenarios.iter().find(|record| record.scenario.key == definition.scenario)?;
        Some((stored, Some(record)))
    };
    let length = |profile| match profile {
        Profile::Smoke => 0,
        Profile::Quick => 1,
        Profile::Full => 2,
    };
    machine
        .runs
        .iter()
        .filter_map(holds)
        .max_by_key(|(stored, _)| (length(stored.run.profile), &stored.run.started_at))
        .map(|(stored, record)| {
            let file = record.map_or("run", |_| definition.scenario.as_str());
            (&stored.run, record, format!("{}/{file}.json", stored.folder))
        })
        .ok_or_else(|| match definition.scenario.as_str() {
            claims::COMPONENTS => format!("no run of version {version} here has estimates of components"),
            scenario => format!("no run of version {version} here has the scenario {scenario}"),
        })
}

/// Whole or not at all.
fn write(path: &Path, text: &str) -> anyhow::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    let put = || -> anyhow::Result<()> {
        let mut beside = tempfile::NamedTempFile::new_in(folder)?;
        beside.write_all(text.as_bytes())?;
        beside.as_file().sync_all()?;
        // A temporary file is its owner's alone; a committed one is everybody's to read.
        std::fs::set_permissions(beside.path(), std::os::unix::fs::PermissionsExt::from_mode(0o644))?;
        beside.persist(path)?;
        Ok(())
    };
    put().with_context(|| format!("writing {}", path.display()))
}

fn shown(all: &[Claim], format: Format) -> String {
    let head = ["claim", "verdict", "machine", "version", "cells", "median", "spread", "n", "why"];
    let mut rows = Vec::new();
    for claim in all {
        if claim.machines.is_empty() {
            let mut row = vec![claim.key.clone(), claims::verdict_name(claim.verdict).to_owned()];
            row.extend(std::iter::repeat_n(String::new(), 6));
            row.push(claim.reason.clone());
            rows.push(row);
            continue;
        }
        for machine in &claim.machines {
            let version = machine.run.as_ref().map_or("", |run| &run.version);
            let mut row = |verdict, pair: String, figure: Option<&Figure>, why: &str| {
                let mut row = vec![claim.key.clone(), verdict, machine.machine_key.clone()];
                row.extend([version.to_owned(), pair]);
                row.extend(columns(figure));
                row.push(why.to_owned());
                rows.push(row);
            };
            if machine.evidence.is_empty() {
                let word = claims::verdict_name(machine.verdict).to_owned();
                row(word, String::new(), None, &machine.reason);
            }
            for one in &machine.evidence {
                let word = claims::verdict_name(one.verdict).to_owned();
                row(word, pair(one), one.figure.as_ref(), &one.reason);
            }
        }
    }
    let right = [5, 6, 7];
    let mut text = match format {
        Format::Markdown => table::markdown(&head, &right, &rows),
        _ => table::human(&head, &right, &rows),
    };
    text.push_str("\n\n");
    let (bullet, escaped): (&str, fn(&str) -> String) = match format {
        Format::Markdown => ("- ", escape::markdown),
        _ => ("", escape::terminal),
    };
    for claim in all {
        let verdict = claims::verdict_name(claim.verdict);
        let _ = writeln!(text, "{bullet}{}: {verdict}. {}", claim.key, escaped(&claim.statement));
        if claim.verdict == ClaimVerdict::NotMeasured {
            let _ = writeln!(text, "  To measure it: {}", escaped(&claim.measure));
        }
        if let Some(remark) = &claim.remark {
            let _ = writeln!(text, "  {}", escaped(remark));
        }
    }
    let count = |verdict| all.iter().filter(|claim| claim.verdict == verdict).count();
    let _ = writeln!(
        text,
        "\n{} claims: {} hold, {} fail, {} not measured.",
        all.len(),
        count(ClaimVerdict::Holds),
        count(ClaimVerdict::Fails),
        count(ClaimVerdict::NotMeasured)
    );
    text
}

fn pair(evidence: &Evidence) -> String {
    match &evidence.denominator {
        Some(below) if *below != evidence.numerator => format!("{} / {below}", evidence.numerator),
        _ => evidence.numerator.clone(),
    }
}

fn columns(figure: Option<&Figure>) -> [String; 3] {
    let Some(figure) = figure else { return [String::new(), String::new(), String::new()] };
    let kind = if figure.spread == Spread::Range { "range " } else { "" };
    [
        claims::short(figure.median),
        format!("{kind}{}–{}", claims::short(figure.low), claims::short(figure.high)),
        figure.n.to_string(),
    ]
}
