//! `bench-runner plan`: the steps of a run, their order and duration.

use super::selection::SelectionArgs;
use super::stdout::put;
use super::{EXIT_FINE, Format, Global};
use crate::campaign::begin::{choose, draw_seed, has_room, planned};
use crate::campaign::catalogue;
use crate::output::{document, progress::words, table};
use crate::plan::{mode_name, placement_name, step_seconds};
use crate::scenario::Scenario;
use serde_json::json;
use std::time::Duration;

/// Print the steps of a run and their duration, without measuring
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  bench-runner plan --profile quick\n  \
    bench-runner plan --group durable\n  \
    bench-runner plan --profile full --budget 8h     exit code 1 if it takes longer\n  \
    bench-runner plan --scenario wire-single --format json")]
pub(super) struct Args {
    #[command(flatten)]
    selection: SelectionArgs,
}

/// Carries it out; the exit code is in [`super`]'s list.
pub(super) fn execute(args: Args, global: &Global) -> anyhow::Result<u8> {
    let selection = args.selection.selection();
    let all = catalogue::scenarios(&global.root)?;
    let scenarios = choose(all.clone(), &selection.scenarios, &selection.groups)?;
    let left_out: Vec<&str> = by_name(&all, &scenarios);
    let targets = catalogue::targets(&global.root, &scenarios)?;
    let seed = args.selection.seed.unwrap_or_else(draw_seed);
    let plan = planned(&scenarios, &targets, &selection, seed)?;
    let seconds = plan.seconds();
    let disk_bytes = plan.disk_bytes();
    // First of all: hours are of no use where there is no room.
    if disk_bytes > 0 && global.format != Format::Json {
        put(&format!("Disk space for embedded engines: {}\n\n", room(disk_bytes)))?;
    }
    if global.format == Format::Json {
        let all = document(
            "plan",
            json!({"seed": seed, "estimated_s": seconds, "cells": plan.cells(), "disk_bytes": disk_bytes,
            "left_out": left_out, "steps": plan.steps}),
        );
        put(&format!("{all:#}\n"))?;
    } else {
        let rows: Vec<Vec<String>> = plan
            .steps
            .iter()
            .map(|step| {
                vec![
                    step.position.to_string(),
                    (step.trial + 1).to_string(),
                    step.scenario.clone(),
                    step.target.clone(),
                    mode_name(step.mode).to_owned(),
                    placement_name(step.placement).to_owned(),
                    step.work.cells().len().to_string(),
                    format!("{:.1}", step_seconds(step)),
                ]
            })
            .collect();
        let head = ["step", "trial", "scenario", "target", "mode", "placement", "cells", "s"];
        match global.format {
            Format::Markdown => put(&format!("{}\n", table::markdown(&head, &[0, 1, 6, 7], &rows)))?,
            _ => put(&format!("{}\n", table::human(&head, &[0, 1, 6, 7], &rows)))?,
        }
        put(&format!(
            "\n{} steps, {} cells, about {} (estimate; disturbed steps are repeated); seed {seed}\n",
            plan.steps.len(),
            plan.cells(),
            words(Duration::from_secs_f64(seconds))
        ))?;
        for key in left_out {
            put(&format!("not included: {key}, which is measured only with --scenario {key}\n"))?;
        }
    }
    has_room(&plan)?;
    args.selection.check_budget(seconds)?;
    Ok(EXIT_FINE)
}

/// Scenarios that are measured only when they are named, and are not among the chosen.
pub(super) fn by_name<'a>(all: &'a [Scenario], chosen: &[Scenario]) -> Vec<&'a str> {
    let is_chosen = |key: &str| chosen.iter().any(|one| one.key() == key);
    all.iter()
        .filter(|one| one.definition().by_name)
        .map(Scenario::key)
        .filter(|key| !is_chosen(key))
        .collect()
}

/// `up to 21.3 GB at one time (an estimate), 34.0 GB free in /tmp`.
fn room(needed: u64) -> String {
    let folder = std::env::temp_dir();
    let free = crate::target::page_cache::free_bytes(&folder);
    let free = free.map_or_else(String::new, |free| format!(", {} free", gigabytes(free)));
    format!("up to {} at one time (an estimate){free} in {}", gigabytes(needed), folder.display())
}

fn gigabytes(bytes: u64) -> String {
    format!("{:.1} GB", bytes as f64 / 1e9)
}
