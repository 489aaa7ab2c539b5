//! What is found here, and what is planned on it: everything a campaign knows before its first step.

use super::catalogue;
use super::reproduce::{self, Made};
use crate::environment::{Reader, advice, disk_sync, filesystem, hypervisor_vendor, machine, source, system};
use crate::model::{
    Component, Environment, Machine, Mode, Profile, Role, ScenarioInfo, Source, TargetRecord,
};
use crate::plan::{self, Step, Work};
use crate::scenario::{Group, Scenario, info, profile_name, strict};
use crate::target::external::External;
use crate::target::{self, Catalogue};
use anyhow::bail;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::PathBuf;

pub use super::bench::Bench;

/// What was asked for on the command line.
#[derive(Debug, Clone)]
pub struct Options {
    /// Root of the checkout.
    pub root: PathBuf,
    /// Which part of the catalogue.
    pub selection: Selection,
    /// Sets order and key sequences; drawn when absent.
    pub seed: Option<u64>,
    /// How targets are found.
    pub tools: Tools,
    /// `local`, or the version that is measured for publishing.
    pub version: String,
    /// Why it is made.
    pub purpose: String,
    /// The command that was given.
    pub command: String,
    /// Imported criterion estimates.
    pub components: Vec<Component>,
}

/// Which part of the catalogue; an empty list takes all.
#[derive(Debug, Clone)]
pub struct Selection {
    /// Profile.
    pub profile: Profile,
    /// Keys of scenarios.
    pub scenarios: Vec<String>,
    /// Groups of scenarios.
    pub groups: Vec<Group>,
    /// Keys of targets.
    pub targets: Vec<String>,
    /// Modes.
    pub modes: Vec<Mode>,
}

/// How the targets are found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tools {
    /// The server that is the subject.
    pub server_binary: PathBuf,
    /// Other files for targets' programs.
    pub bins: Vec<(String, PathBuf)>,
    /// Whether containers are tried.
    pub containers: bool,
    /// The server that is already running, where one is measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub external: Option<Foreign>,
}

/// A server that is already running, as it was named, and what its owner allows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Foreign {
    /// Its address as it was given, with the password: never written down.
    #[serde(skip)]
    pub url: Option<String>,
    /// Its address without the password; none where the catalogue gives it.
    pub shown: Option<String>,
    /// PEM file of the certificates that are believed instead of the system's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tls_roots: Option<PathBuf>,
    /// What our keys there begin with.
    pub prefix: String,
    /// Our keys there are `0..keys_max`; 0 of an HTTP server, to which nothing is written.
    pub keys_max: u64,
    /// Most that the plan writes there at one time, bytes.
    pub planned_bytes: u64,
    /// It may be on another machine.
    pub allow_remote: bool,
    /// It may hold keys already.
    pub allow_non_empty: bool,
}

impl Foreign {
    /// The server, at the address that was given, or at the one that the catalogue has.
    ///
    /// # Errors
    /// As [`Catalogue::reach`].
    pub fn reach(&self, catalogue: &mut Catalogue) -> anyhow::Result<Vec<External>> {
        let url = self.url.as_deref().or(self.shown.as_deref());
        catalogue.reach(url, self.tls_roots.as_deref(), &self.prefix, self.keys_max)
    }

    /// Whether it is only read, so that nothing of ours can be left there.
    #[must_use]
    pub fn only_reads(&self) -> bool {
        self.keys_max == 0
    }
}

/// Everything a campaign knows before its first step; kept in the journal, so that a resumed run is the same run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Campaign {
    /// `<date>T<time>Z-<profile>-<4 hex>`.
    pub id: String,
    /// `local`, or a version.
    pub version: String,
    /// Why it is made.
    pub purpose: String,
    /// Profile.
    pub profile: Profile,
    /// Seed.
    pub seed: u64,
    /// RFC 3339, UTC.
    pub started_at: String,
    /// The command that was given.
    pub command: String,
    /// Commands that make the run again.
    pub reproduce: Vec<String>,
    /// How the targets are found again.
    pub tools: Tools,
    /// Commit measured.
    pub source: Source,
    /// Where its results stand.
    pub machine_key: String,
    /// The machine.
    pub machine: Machine,
    /// What else was in force.
    pub environment: Environment,
    /// What was found to measure.
    pub targets: Vec<TargetRecord>,
    /// The scenarios, in catalogue order.
    pub scenarios: Vec<ScenarioInfo>,
    /// The plan.
    pub steps: Vec<Step>,
    /// Positions of steps that cannot be tried here, with the reason.
    pub skipped: BTreeMap<u32, String>,
    /// Imported criterion estimates.
    pub components: Vec<Component>,
    /// Remarks that belong beside the figures.
    pub notes: Vec<String>,
}

/// The scenarios of a selection, in catalogue order: those that are named, those of the groups that
/// are named, or all but those that are measured by name only.
///
/// # Errors
/// When a name is not in the catalogue; names the nearest that is.
pub fn choose(all: Vec<Scenario>, wanted: &[String], groups: &[Group]) -> anyhow::Result<Vec<Scenario>> {
    let keys: Vec<&str> = all.iter().map(Scenario::key).collect();
    for key in wanted {
        if !keys.contains(&key.as_str()) {
            bail!("unknown scenario '{key}'; {}", strict::advice(key, &keys));
        }
    }
    let is_wanted = |one: &Scenario| {
        wanted.iter().any(|key| key == one.key())
            || (!one.definition().by_name && groups.contains(&one.definition().group))
            || (!one.definition().by_name && wanted.is_empty() && groups.is_empty())
    };
    Ok(all.into_iter().filter(is_wanted).collect())
}

/// The plan of a selection.
///
/// # Errors
/// When a target is not known, or nothing is left to measure.
pub fn planned(
    scenarios: &[Scenario],
    catalogue: &Catalogue,
    selection: &Selection,
    seed: u64,
) -> anyhow::Result<plan::Plan> {
    for key in &selection.targets {
        if catalogue.get(key).is_none() {
            bail!("unknown target '{key}'; {}", strict::advice(key, &catalogue.keys()));
        }
    }
    let admits = |target: &str, mode: Mode| {
        (selection.targets.is_empty() || selection.targets.iter().any(|key| key == target))
            && (selection.modes.is_empty() || selection.modes.contains(&mode))
    };
    let plan = plan::build(&plan::Request {
        scenarios,
        profile: selection.profile,
        seed,
        // A server that is already running is on no CPU of our choice, nor then is the generator.
        pinned: target::choose_cpus().is_some()
            && !scenarios
                .iter()
                .flat_map(|scenario| &scenario.definition().targets)
                .any(|each| each.modes.contains(&Mode::External)),
        admits: &admits,
        pace: &|target| catalogue.get(target).map_or_else(plan::Pace::default, |definition| definition.pace),
    });
    if plan.steps.is_empty() {
        bail!(
            "nothing to measure: no scenario has that target in that mode under profile {}; \
             `bench-runner list` shows who takes part where",
            profile_name(selection.profile)
        );
    }
    Ok(plan)
}

/// Why a step is nothing for the server that is already running, at `url` or at its own address: of an HTTP server
/// one page is read, of others none is.
#[must_use]
pub fn unsuited(step: &Step, catalogue: &Catalogue, url: Option<&str>) -> Option<String> {
    let Work::Wire { phases } = &step.work else { return None };
    if step.mode != Mode::External {
        return None;
    }
    let page = catalogue.is_page(&step.target, url);
    let reasons: Option<Vec<&str>> = phases.iter().map(|phase| phase.unsuited(page)).collect();
    reasons?.first().map(|reason| (*reason).to_owned())
}

/// Whether embedded engines have files on this machine's disk.
fn has_a_store(work: &Work) -> bool {
    matches!(work, Work::Embedded { .. } | Work::Stock { .. })
}

/// Refuses a plan that needs more room for the files of embedded engines than there is where they will lie.
///
/// # Errors
/// Says how much is needed and how much is free, and what to do.
pub fn has_room(plan: &plan::Plan) -> anyhow::Result<()> {
    let folder = std::env::temp_dir();
    let (needed, free) = (plan.disk_bytes(), target::page_cache::free_bytes(&folder));
    match free {
        Some(free) if needed > free => bail!(
            "the files of embedded engines take up to {:.1} GB, and {} has {:.1} GB free: name another folder with \
             TMPDIR=DIR, or choose fewer scenarios with --scenario KEY",
            needed as f64 / 1e9,
            folder.display(),
            free as f64 / 1e9
        ),
        _ => Ok(()),
    }
}

/// Refuses to begin without the system under test, or without a target that was asked for by name. Any other
/// that is missing becomes skipped cells.
///
/// # Errors
/// Names the target, and what to do to have it.
pub fn wanted_are_here(plan: &plan::Plan, selection: &Selection, bench: &Bench) -> anyhow::Result<()> {
    let takes_part = |key: &str| plan.steps.iter().any(|step| step.target == key);
    let missing = bench.records.iter().find(|record| {
        // Drivers are built apart, and only where embedded engines are to be measured.
        let is_driver = record.transport == "in_process";
        let wanted = (record.role == Role::Subject && !is_driver) || selection.targets.contains(&record.key);
        !record.available && wanted && takes_part(&record.key)
    });
    match missing {
        None => Ok(()),
        Some(record) => {
            bail!("{} cannot be measured: {}", record.key, record.reason.as_deref().unwrap_or("not found"))
        }
    }
}

/// A seed when none was given; below 2^53.
#[must_use]
pub fn draw_seed() -> u64 {
    fastrand::u64(..1 << 53)
}

/// Finds out everything and plans. `plan` is the selection's plan.
///
/// # Errors
/// When the list of machines cannot be read.
pub fn begin(
    options: &Options,
    scenarios: &[Scenario],
    bench: &Bench,
    plan: plan::Plan,
    seed: u64,
) -> anyhow::Result<Campaign> {
    let reader = Reader::machine();
    let registry = catalogue::machines(&options.root)?;
    let (machine_key, machine) = registry.identify(machine(&reader, hypervisor_vendor()));
    let mut environment = system(&reader);
    match &bench.setup.runtime {
        Ok(runtime) => environment.container_runtime = Some(runtime.describe()),
        Err(reason) => environment.container_reason = Some(reason.clone()),
    }
    if let Some((server, generator)) = bench.setup.cpus {
        environment.server_cpus = server.to_string();
        environment.generator_cpus = generator.to_string();
    }
    if plan.steps.iter().any(|step| step.mode == Mode::Native && has_a_store(&step.work)) {
        let folder = &bench.setup.work_dir;
        let told = disk_sync(folder)?;
        environment.disk_filesystem = Some(filesystem(folder));
        environment.disk_syncs_per_second = Some(told.per_second.round());
        environment.disk_sync_ns_p50 = Some(told.ns_p50.round());
    }
    let url = options.tools.external.as_ref().and_then(|it| it.url.as_deref().or(it.shown.as_deref()));
    let obstacle = |step: &Step| {
        bench.obstacle(&step.target, step.mode).or_else(|| unsuited(step, &bench.catalogue, url))
    };
    let skipped: BTreeMap<u32, String> =
        plan.steps.iter().filter_map(|step| Some((step.position, obstacle(step)?))).collect();
    let now = Timestamp::now();
    let source = source(&options.root);
    let profile = options.selection.profile;
    let mut notes = advice(&environment, target::cpus_usable());
    if source.dirty {
        notes.push("Tracked files differed from the commit.".to_owned());
    }
    for (key, _) in &options.tools.bins {
        notes.push(format!("The program of {key} was named by --bin, not the installed one."));
    }
    let driven: Vec<&str> =
        bench.catalogue.keys().into_iter().filter(|key| is_driven(&bench.catalogue, key)).collect();
    let mut reproduce = reproduce::lines(&Made {
        selection: &options.selection,
        source: &source,
        seed,
        targets: &bench.records,
        driven: &driven,
        steps: &plan.steps,
        tools: &options.tools,
        has_components: !options.components.is_empty(),
    });
    if let Some(foreign) = &options.tools.external {
        let target = foreign.shown.as_ref().map_or_else(String::new, |shown| format!(" --target {shown}"));
        let profile = profile_name(profile);
        reproduce = vec![format!("bench-runner run --profile {profile} --seed {seed}{target}")];
        const NOT_OURS: &str = "The server was already running and is not the runner's";
        notes.push(if foreign.only_reads() {
            format!(
                "{NOT_OURS}: where its process was not found by the socket it listens on, its CPU time and its memory \
                 are not known, so neither they nor what others used of the machine meanwhile are among the figures. One \
                 page was read, by GET alone, and every answer was compared with the first."
            )
        } else {
            format!(
                "{NOT_OURS}: where its process was not found by the socket it listens on, its CPU time is what its INFO \
                 says, if it says anything, and its memory is not looked at. It was written to only under {}, which was \
                 deleted afterwards.",
                foreign.prefix
            )
        });
    }
    Ok(Campaign {
        id: draw_id(now, profile),
        version: options.version.clone(),
        purpose: options.purpose.clone(),
        profile,
        seed,
        started_at: now.strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
        command: options.command.clone(),
        reproduce,
        tools: options.tools.clone(),
        source,
        machine_key,
        machine,
        environment,
        targets: bench.records.clone(),
        // One that has nothing under this profile would be a page without a figure.
        scenarios: scenarios
            .iter()
            .filter(|scenario| plan.steps.iter().any(|step| step.scenario == scenario.key()))
            .map(|scenario| info(scenario, profile))
            .collect(),
        steps: plan.steps,
        skipped,
        components: options.components.clone(),
        notes,
    })
}

/// Whether a target's client is a driver program.
fn is_driven(catalogue: &Catalogue, key: &str) -> bool {
    catalogue.get(key).is_some_and(|definition| definition.client.is_some())
}

/// An id for a run that starts now.
#[must_use]
pub fn draw_id(now: Timestamp, profile: Profile) -> String {
    format!("{}-{}-{:04x}", now.strftime("%Y-%m-%dT%H%M%SZ"), profile_name(profile), fastrand::u16(..))
}

/// The triple `make build` builds for on this kind of machine.
#[must_use]
pub fn target_triple() -> String {
    format!("{}-unknown-linux-gnu", std::env::consts::ARCH)
}

/// Whether the programs are still those of an interrupted campaign.
///
/// # Errors
/// Names the first that is another file now: figures of two programs must not meet in one cell.
pub fn same_programs(campaign: &Campaign, bench: &Bench) -> anyhow::Result<()> {
    for then in campaign.targets.iter().filter(|then| then.available) {
        let now = bench.records.iter().find(|now| now.key == then.key);
        let digest = |record: &TargetRecord| {
            let image = || record.image.as_ref().map(|image| image.digest.clone());
            record.build.as_ref().map(|build| build.sha256.clone()).or_else(image)
        };
        if now.map(digest) != Some(digest(then)) {
            bail!(
                "the program of {} has changed since run {} began: start a new run, or restore the program",
                then.key,
                campaign.id
            );
        }
    }
    let wants_image = campaign
        .steps
        .iter()
        .any(|step| step.mode.is_container() && !campaign.skipped.contains_key(&step.position));
    if let (true, Err(reason)) = (wants_image, &bench.setup.image) {
        bail!("run {} measured in containers, which cannot be had now: {reason}", campaign.id);
    }
    Ok(())
}
