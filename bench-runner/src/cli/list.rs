//! `bench-runner list`: the scenarios, the targets found on this machine, and the profiles.

use super::selection::ToolArgs;
use super::stdout::put;
use super::{EXIT_FINE, Format, Global};
use crate::campaign::begin::{Bench, Selection, Tools, choose, planned};
use crate::campaign::catalogue;
use crate::output::{document, progress::words, table};
use crate::plan::mode_name;
use crate::scenario::{PROFILES, Rules, profile_name};
use serde_json::json;
use std::time::Duration;

/// List scenarios, the targets found on this machine, and profiles
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    tools: ToolArgs,
}

/// Carries it out; the exit code is in [`super`]'s list.
pub(super) fn execute(args: Args, global: &Global) -> anyhow::Result<u8> {
    let scenarios = catalogue::scenarios(&global.root)?;
    // Whether a container runs takes seconds to find out: `verify` does that.
    let tools = Tools { containers: false, ..args.tools.tools(global) };
    let bench = Bench::find(&global.root, &scenarios, &tools)?;
    let mut profiles = Vec::new();
    for profile in PROFILES {
        let selection = Selection {
            profile,
            scenarios: Vec::new(),
            groups: Vec::new(),
            targets: Vec::new(),
            modes: Vec::new(),
        };
        // As `plan` counts: without scenarios that are measured only by name.
        let plan = planned(&choose(scenarios.clone(), &[], &[])?, &bench.catalogue, &selection, 0)?;
        profiles.push((profile, Rules::of(profile), plan.cells(), plan.seconds()));
    }
    if global.format == Format::Json {
        let all = document(
            "list",
            json!({
                "scenarios": scenarios.iter().map(|one| json!({
                    "key": one.key(), "title": one.definition().title, "kind": one.definition().kind.name(),
                    "stresses": one.definition().stresses, "revision": one.definition().revision,
                    "group": one.definition().group, "by_name": one.definition().by_name,
                })).collect::<Vec<_>>(),
                "targets": bench.records,
                "profiles": profiles.iter().map(|(profile, rules, cells, seconds)| json!({
                    "key": profile_name(*profile), "rules": rules, "cells": cells, "estimated_s": seconds.round(),
                })).collect::<Vec<_>>(),
            }),
        );
        put(&format!("{all:#}\n"))?;
        return Ok(EXIT_FINE);
    }
    let show = |head: &[&str], right: &[usize], rows: &[Vec<String>]| match global.format {
        Format::Markdown => put(&format!("{}\n\n", table::markdown(head, right, rows))),
        _ => put(&format!("{}\n\n", table::bounded(head, right, rows))),
    };
    let rows: Vec<Vec<String>> = scenarios
        .iter()
        .map(|one| {
            let definition = one.definition();
            let mark = if definition.by_name { " (only with --scenario)" } else { "" };
            vec![
                one.key().to_owned(),
                definition.group.name().to_owned(),
                format!("{}{mark}", definition.title),
                definition.stresses.clone(),
            ]
        })
        .collect();
    show(&["scenario", "group", "title", "stresses"], &[], &rows)?;
    let rows: Vec<Vec<String>> = bench
        .records
        .iter()
        .map(|record| {
            let found = if record.available { "found" } else { "not found" };
            let modes: Vec<&str> = crate::plan::MODES
                .into_iter()
                .filter(|mode| bench.catalogue.get(&record.key).is_some_and(|one| one.supports(*mode)))
                .map(mode_name)
                .collect();
            let what = record.reason.clone().unwrap_or_else(|| record.title.clone());
            vec![record.key.clone(), found.to_owned(), what, modes.join(", ")]
        })
        .collect();
    show(&["target", "", "what", "modes"], &[], &rows)?;
    let rows: Vec<Vec<String>> = profiles
        .iter()
        .map(|(profile, rules, cells, seconds)| {
            vec![
                profile_name(*profile).to_owned(),
                rules.trials.to_string(),
                format!("{} s", rules.min_seconds),
                cells.to_string(),
                words(Duration::from_secs_f64(*seconds)),
            ]
        })
        .collect();
    show(&["profile", "trials", "seconds per trial", "cells", "duration"], &[1, 2, 3, 4], &rows)?;
    Ok(EXIT_FINE)
}
