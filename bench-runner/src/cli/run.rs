//! `bench-runner run`: measure, and store the results.

use super::selection::{SelectionArgs, ToolArgs};
use super::stdout::put;
use super::{EXIT_FINE, EXIT_TOOL_ERROR, Format, Global};
use crate::campaign::begin::{
    self, Bench, Campaign, Foreign, Options, Tools, choose, draw_seed, planned, same_programs,
};
use crate::campaign::carry::{End, Limits, Watch as _, carry_out};
use crate::campaign::journal::{Journal, NOT_ENDED, unfinished};
use crate::campaign::reproduce::without_folders;
use crate::campaign::{catalogue, finish};
use crate::measure::Lab;
use crate::model::{Mode, UnfinishedState};
use crate::output::document;
use crate::output::progress::{Shown, words};
use crate::output::summary;
use crate::plan::{Plan, Step, WirePhase, Work};
use crate::target::Catalogue;
use crate::target::external::{draw_prefix, is_address, redacted};
use crate::{db, export};
use anyhow::{Context as _, bail};
use serde_json::json;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Run benchmarks, and store the results as JSON and in SQLite
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  bench-runner run                                  all scenarios, quick profile
  bench-runner run --profile smoke --no-container   does everything run?
  bench-runner run --scenario wire-pipeline --target plumbkv --target redis-server
  bench-runner run --group durable --dry-run        only the size and duration
  bench-runner run --profile release --slice 50m    stop after 50 minutes
  bench-runner run --resume                         continue an interrupted run
  bench-runner run --target redis://127.0.0.1:6379  a server of yours that is running
  bench-runner run --target http://127.0.0.1:8080/  GET of that page, nothing else

Ctrl-C stops the server, keeps every finished step and prints the command that continues the run.")]
pub(super) struct Args {
    #[command(flatten)]
    selection: SelectionArgs,
    #[command(flatten)]
    tools: ToolArgs,
    /// Include the criterion estimates of this folder in the record
    #[arg(long, value_name = "DIR")]
    criterion: Option<PathBuf>,
    /// Folder of the results [default: <root>/results]
    #[arg(long, value_name = "DIR")]
    results: Option<PathBuf>,
    /// Version that the results belong to
    #[arg(long, value_name = "VERSION", default_value = "local")]
    version_label: String,
    /// Purpose to record: local, ci or release
    #[arg(long, default_value = "local")]
    purpose: String,
    /// Continue an interrupted run [default: the newest]; all other settings come from it
    #[arg(long, value_name = "RUN-ID", num_args = 0..=1)]
    resume: Option<Option<String>>,
    /// Stop after this time, between two steps, so that --resume can continue: 50m
    #[arg(long, value_name = "TIME", value_parser = super::selection::duration)]
    slice: Option<Duration>,
    /// Print the size and duration of the plan, and do not measure
    #[arg(long)]
    dry_run: bool,
    /// Measure a running server even if its database contains keys; they are not changed
    #[arg(long)]
    allow_non_empty: bool,
    /// Trust the certificates in this PEM file, instead of the system's, of a running server that speaks TLS
    #[arg(long, value_name = "FILE")]
    tls_roots: Option<PathBuf>,
    /// Measure a running server on another machine: only with the consent of its owner
    #[arg(long)]
    allow_remote: bool,
}

/// Carries it out; the exit code is in [`super`]'s list.
pub(super) fn execute(args: Args, global: &Global) -> anyhow::Result<u8> {
    let results = args.results.clone().unwrap_or_else(|| global.root.join("results"));
    let url = args.selection.targets.iter().find(|target| is_address(target)).cloned();
    if url.is_some() && args.selection.targets.len() > 1 {
        bail!("a running server cannot be combined with other targets: give one --target");
    }
    let all =
        if url.is_some() { catalogue::foreign(&global.root)? } else { catalogue::scenarios(&global.root)? };
    // Before anything is started: what a signal interrupts must still be ended and removed.
    let stop = super::raised_by_signals()?;
    let place = args.results.as_ref().map_or_else(String::new, |dir| format!(" --results {}", dir.display()));
    if let Some(run_id) = &args.resume {
        let (journal, campaign) = Journal::open(&results, run_id.as_deref())?;
        let mut tools = campaign.tools.clone();
        let all = if let Some(foreign) = &mut tools.external {
            foreign.url = url;
            // What was left where it was interrupted, under the same prefix, is not somebody else's.
            let again = catalogue::foreign(&global.root)?;
            let mut known = catalogue::targets(&global.root, &again)?;
            foreign.tls_roots = tls_roots(&args).or_else(|| foreign.tls_roots.take());
            for external in foreign.reach(&mut known)? {
                external.clean().map_err(anyhow::Error::msg)?;
            }
            again
        } else {
            all
        };
        let bench = find(global, &all, &tools)?;
        if !stop.load(Ordering::Relaxed) {
            same_programs(&campaign, &bench)?;
        }
        return go(&campaign, journal, &bench, &Way { results, place, stop, slice: args.slice }, global);
    }
    let mut selection = args.selection.selection();
    if url.is_some() {
        (selection.targets, selection.modes) = (Vec::new(), vec![Mode::External]);
    }
    let known = catalogue::targets(&global.root, &all)?;
    let fitting = catalogue::fitting(all, &selection.scenarios, &known, url.as_deref());
    let scenarios = choose(fitting, &selection.scenarios, &selection.groups)?;
    let seed = args.selection.seed.unwrap_or_else(draw_seed);
    let known = catalogue::targets(&global.root, &scenarios)?;
    let plan = planned(&scenarios, &known, &selection, seed)?;
    let tried = Plan { steps: tried(&plan, &known, url.as_deref())? };
    let seconds = tried.seconds();
    begin::has_room(&tried)?;
    args.selection.check_budget(seconds)?;
    if args.dry_run {
        put(&dry_run(&tried, seconds, global.format))?;
        return Ok(EXIT_FINE);
    }
    let mut tools = args.tools.tools(global);
    tools.external = foreign(&args, url, &tried.steps);
    // To look for a runtime and to build the image takes five seconds, which most scenarios have no use for.
    tools.containers &= tools.external.is_none() && tried.steps.iter().any(|step| step.mode.is_container());
    warn_of_left_behind(&results);
    let bench = find(global, &scenarios, &tools)?;
    if stop.load(Ordering::Relaxed) {
        // A probe that was cut short may have found less than there is: that must not become a plan.
        eprintln!("bench-runner: interrupted before the first step; nothing was stored");
        return Ok(EXIT_TOOL_ERROR);
    }
    begin::wanted_are_here(&plan, &selection, &bench)?;
    let options = Options {
        root: global.root.clone(),
        selection,
        seed: args.selection.seed,
        tools,
        version: args.version_label.clone(),
        purpose: args.purpose.clone(),
        command: command_line(),
        components: components(args.criterion.as_deref())?,
    };
    let mut campaign = begin::begin(&options, &scenarios, &bench, plan, seed)?;
    while Journal::home(&results).join(&campaign.id).exists() {
        // Another run of this second drew the same digits.
        campaign.id = begin::draw_id(jiff::Timestamp::now(), campaign.profile);
    }
    tell_unfinished(&results, &place, global)?;
    if !global.quiet {
        for note in &campaign.notes {
            eprintln!("note: {note}");
        }
    }
    let journal = Journal::create(&results, &campaign)?;
    go(&campaign, journal, &bench, &Way { results, place, stop, slice: args.slice }, global)
}

/// The size and duration of a plan.
fn dry_run(plan: &Plan, seconds: f64, format: Format) -> String {
    let (steps, cells) = (plan.steps.len(), plan.cells());
    if format == Format::Json {
        let all =
            document("dry-run", json!({"steps": steps, "cells": cells, "estimated_s": seconds.round()}));
        return format!("{all:#}\n");
    }
    let time = words(Duration::from_secs_f64(seconds));
    format!("{steps} steps, {cells} cells, about {time}; `bench-runner plan` lists them\n")
}

/// The steps that are something for the running server, if the plan is for one.
fn tried(plan: &Plan, known: &Catalogue, url: Option<&str>) -> anyhow::Result<Vec<Step>> {
    let unsuited = |step: &Step| begin::unsuited(step, known, url);
    let tried: Vec<Step> = plan.steps.iter().filter(|step| unsuited(step).is_none()).cloned().collect();
    match plan.steps.iter().find_map(unsuited) {
        Some(reason) if tried.is_empty() => bail!("nothing to measure: {reason}"),
        _ => Ok(tried),
    }
}

/// The running server that the plan is for, if it is for one.
fn foreign(args: &Args, url: Option<String>, steps: &[Step]) -> Option<Foreign> {
    let phases =
        steps.iter().filter(|step| step.mode == Mode::External).filter_map(|step| match &step.work {
            Work::Wire { phases } => Some(phases),
            _ => None,
        });
    let phases: Vec<&WirePhase> = phases.flatten().collect();
    // Of an HTTP server one page is read, and nothing is written.
    let keys_of = |phase: &WirePhase| if phase.is_of_a_page() { 0 } else { phase.keys };
    let keys_max = phases.iter().map(|phase| keys_of(phase)).max()?;
    // What a store adds to a key of 39 bytes and its value, generously.
    const OVERHEAD_BYTES: u64 = 200;
    let bytes =
        phases.iter().map(|phase| keys_of(phase) * (u64::from(phase.value_bytes) + OVERHEAD_BYTES)).max();
    Some(Foreign {
        shown: url.as_deref().map(redacted),
        url,
        tls_roots: tls_roots(args),
        prefix: draw_prefix(),
        keys_max,
        planned_bytes: bytes.unwrap_or(0),
        allow_remote: args.allow_remote,
        allow_non_empty: args.allow_non_empty,
    })
}

/// The certificates to believe. Absolute, because a resumed run may be started from another folder.
fn tls_roots(args: &Args) -> Option<PathBuf> {
    args.tls_roots.as_ref().map(|path| std::path::absolute(path).unwrap_or_else(|_| path.clone()))
}

/// A run that was killed may have left keys on a server that is not ours: says how they are removed.
fn warn_of_left_behind(results: &Path) {
    let Ok((_, campaign)) = Journal::open(results, None) else { return };
    let Some(foreign) = campaign.tools.external.as_ref().filter(|it| !it.only_reads()) else { return };
    let target = foreign.shown.as_deref().unwrap_or("redis://HOST:PORT");
    // A memcached cannot list its keys, so only the run that knows their names removes them.
    let removes = if target.starts_with("memcached://") {
        String::new()
    } else {
        format!(", `bench-runner clean --target {target} --prefix {}` removes them", foreign.prefix)
    };
    eprintln!(
        "bench-runner: run {} was interrupted and may have left keys that begin with {}: `bench-runner run --resume {}` \
         goes on with it{removes}",
        campaign.id, foreign.prefix, campaign.id
    );
}

/// Where results go, and what ends the run early.
struct Way {
    results: PathBuf,
    /// The flag that names `results`, to be repeated when the run goes on; empty for the default.
    place: String,
    stop: Arc<AtomicBool>,
    /// How long it may go on.
    slice: Option<Duration>,
}

fn find(global: &Global, scenarios: &[crate::scenario::Scenario], tools: &Tools) -> anyhow::Result<Bench> {
    if !global.quiet {
        eprintln!("looking for targets{}", if tools.containers { " and a container runtime" } else { "" });
    }
    Bench::find(&global.root, scenarios, tools)
}

/// Carries out what is left of a campaign, and writes its record.
fn go(
    campaign: &Campaign,
    journal: Journal,
    bench: &Bench,
    way: &Way,
    global: &Global,
) -> anyhow::Result<u8> {
    let lab = Lab::new(bench.catalogue.clone(), bench.setup.clone(), Arc::clone(&way.stop));
    let mut shown = Shown::new(global.quiet);
    for reason in reasons(campaign) {
        shown.note(&format!("skipped: {reason}"));
    }
    let resume = format!("bench-runner run --resume {}{}", campaign.id, way.place);
    let database = way.results.join("local.sqlite");
    let tell = |state: UnfinishedState, reason: &str| {
        journal.tell(campaign, state, reason).and_then(|told| db::store_unfinished(&database, &told))
    };
    if let Some(folder) = export::stored_folder(&way.results, &campaign.version, &campaign.id)? {
        // It was killed between its record and its end.
        shown.end();
        return close(&folder, journal, way, global);
    }
    tell(UnfinishedState::Failed, NOT_ENDED)
        .with_context(|| format!("nothing was measured; when fixed, continue with `{resume}`"))?;
    let limits = Limits { stop: &way.stop, until: way.slice.map(|slice| Instant::now() + slice) };
    let end = carry_out(campaign, &journal, &lab, limits, &mut shown);
    shown.end();
    if let Err(error) = &end {
        // What went wrong comes first; that the state could not be written is a consequence.
        let _ = tell(UnfinishedState::Failed, &format!("{error:#}"));
    }
    match end.with_context(|| format!("stopped; finished steps are kept, continue with `{resume}`"))? {
        End::Interrupted { done, total } => {
            tell(
                UnfinishedState::Interrupted,
                &format!("stopped by a signal after {done} of {total} steps, which are kept"),
            )?;
            eprintln!(
                "bench-runner: interrupted after {done} of {total} steps; they are kept. Go on with: {resume}"
            );
            return Ok(EXIT_TOOL_ERROR);
        }
        End::Paused { done, total } => {
            tell(
                UnfinishedState::Interrupted,
                &format!("the slice ended after {done} of {total} steps, which are kept"),
            )?;
            eprintln!("bench-runner: slice ended after {done} of {total} steps. Go on with: {resume}");
            return Ok(EXIT_FINE);
        }
        End::Complete => {}
    }
    let (run, scenarios) = finish::record(campaign, &journal)?;
    let later = || format!("all steps are kept; when fixed, `{resume}` writes the record");
    let folder = export::write_run(&way.results, run, scenarios).with_context(later)?;
    close(&folder, journal, way, global)
}

/// The record is whole: enters it in the database, removes the journal, shows what came out.
fn close(folder: &Path, journal: Journal, way: &Way, global: &Global) -> anyhow::Result<u8> {
    let (run, scenarios) = export::read_run(folder)?;
    let database = way.results.join("local.sqlite");
    db::store(&database, &run, &scenarios).with_context(|| {
        format!("the records in {} are whole, but the database was not written", folder.display())
    })?;
    // Last of all: until here, going on ends what a kill left undone.
    journal.remove()?;
    let part = summary::Part::Whole;
    let written = format!("records   {}\ndatabase  {}\n", folder.display(), database.display());
    match global.format {
        Format::Human => put(&format!("{}\n{written}", summary::human(&run, &scenarios, part)))?,
        Format::Markdown => put(&summary::markdown(&run, &scenarios, part))?,
        Format::Json => put(&format!("{:#}\n", summary::json(&run, &scenarios, part)))?,
    }
    if global.format != Format::Human && !global.quiet {
        eprint!("{written}");
    }
    if let Some(said) = super::publish::disturbed(scenarios.iter().flat_map(|record| &record.cells)) {
        eprintln!("bench-runner: {said}: `publish` refuses this run, and `claims` judges none of them");
    }
    let broken = finish::broken(&scenarios);
    for line in &broken {
        eprintln!("bench-runner: {line}");
    }
    Ok(if broken.is_empty() { EXIT_FINE } else { EXIT_TOOL_ERROR })
}

/// Says which runs were broken off and can be gone on with.
fn tell_unfinished(results: &Path, place: &str, global: &Global) -> anyhow::Result<()> {
    for (told, running) in unfinished(results)? {
        if !running && !global.quiet {
            eprintln!(
                "run {} has not ended ({} of {} steps are kept): bench-runner run --resume {0}{place}",
                told.run_id, told.steps_done, told.steps_total
            );
        }
    }
    Ok(())
}

/// Why cells will be skipped, each reason once.
fn reasons(campaign: &Campaign) -> Vec<String> {
    let mut told: Vec<String> = campaign
        .steps
        .iter()
        .filter_map(|step| {
            let reason = campaign.skipped.get(&step.position)?;
            Some(format!("{} ({}): {reason}", step.target, crate::plan::mode_name(step.mode)))
        })
        .collect();
    told.sort();
    told.dedup();
    told
}

fn components(criterion: Option<&Path>) -> anyhow::Result<Vec<crate::model::Component>> {
    match criterion {
        None => Ok(Vec::new()),
        Some(folder) => export::import::criterion(folder),
    }
}

/// The command as it was given, without the path to the program.
pub(super) fn command_line() -> String {
    let mut words = vec!["bench-runner".to_owned()];
    words.extend(std::env::args().skip(1).map(|word| without_folders(&redacted(&word))));
    words.join(" ")
}
