//! `bench-runner plan`: which steps would a run take, in which order, and how long?

use super::selection::SelectionArgs;
use super::stdout::put;
use super::{EXIT_FINE, Format, Global};
use crate::campaign::begin::{choose, draw_seed, planned};
use crate::campaign::catalogue;
use crate::output::{progress::words, table};
use crate::plan::{mode_name, placement_name, step_seconds};
use serde_json::json;
use std::time::Duration;

/// Show the steps of a run and what they cost, without measuring
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  bench-runner plan --profile quick\n  \
    bench-runner plan --profile full --budget 8h      exit 1 when it takes longer\n  \
    bench-runner plan --scenario wire-single --format json")]
pub(super) struct Args {
    #[command(flatten)]
    selection: SelectionArgs,
}

/// Carries it out; the exit code is in [`super`]'s list.
pub(super) fn execute(args: Args, global: &Global) -> anyhow::Result<u8> {
    let selection = args.selection.selection();
    let scenarios = choose(catalogue::scenarios(&global.root)?, &selection.scenarios)?;
    let targets = catalogue::targets(&global.root, &scenarios)?;
    let seed = args.selection.seed.unwrap_or_else(draw_seed);
    let plan = planned(&scenarios, &targets, &selection, seed)?;
    let seconds = plan.seconds();
    if global.format == Format::Json {
        let all = json!({"seed": seed, "estimated_s": seconds, "cells": plan.cells(), "steps": plan.steps});
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
            "\n{} steps, {} cells, about {} (an estimate; what is disturbed is measured again); seed {seed}\n",
            plan.steps.len(),
            plan.cells(),
            words(Duration::from_secs_f64(seconds))
        ))?;
    }
    args.selection.check_budget(seconds)?;
    Ok(EXIT_FINE)
}
