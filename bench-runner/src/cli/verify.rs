//! `bench-runner verify`: are all scenarios in order, and does every target here answer rightly?

use super::selection::ToolArgs;
use super::stdout::put;
use super::{EXIT_FINE, EXIT_TOOL_ERROR, Format, Global};
use crate::campaign::begin::Bench;
use crate::campaign::catalogue;
use crate::measure::Lab;
use crate::model::Role;
use crate::output::{document, table};
use crate::plan::{MODES, mode_name};
use serde_json::json;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Validate all scenarios, and check the answers of every target in every mode
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Exit code 1 if a scenario is invalid, a target gives a wrong answer, or the server under test is \
    missing. Rivals and container runtimes that are not installed are not errors."
)]
pub(super) struct Args {
    #[command(flatten)]
    tools: ToolArgs,
}

/// Carries it out; the exit code is in [`super`]'s list.
pub(super) fn execute(args: Args, global: &Global) -> anyhow::Result<u8> {
    let scenarios = catalogue::scenarios(&global.root)?;
    let bench = Bench::find(&global.root, &scenarios, &args.tools.tools(global))?;
    let lab = Lab::new(bench.catalogue.clone(), bench.setup.clone(), Arc::new(AtomicBool::new(false)));
    let mut rows = Vec::new();
    let mut wrong = Vec::new();
    for record in &bench.records {
        for mode in MODES {
            if bench.catalogue.get(&record.key).is_none_or(|definition| !definition.supports(mode)) {
                continue;
            }
            let obstacle =
                bench.obstacle(&record.key, mode).or_else(|| lab.nothing_to_verify(&record.key, mode));
            let (state, told) = match obstacle {
                Some(reason) => ("not tried", reason),
                None => match lab.verify_target(&record.key, mode) {
                    Ok(told) => ("right", told),
                    Err(reason) => ("WRONG", reason),
                },
            };
            if state == "WRONG" || (!record.available && record.role == Role::Subject && wrong.is_empty()) {
                wrong.push(format!("{} ({}): {told}", record.key, mode_name(mode)));
            }
            rows.push(vec![record.key.clone(), mode_name(mode).to_owned(), state.to_owned(), told]);
        }
    }
    let head = ["target", "mode", "answers", ""];
    match global.format {
        Format::Json => {
            let targets: Vec<_> = rows
                .iter()
                .map(|row| json!({"target": row[0], "mode": row[1], "answers": row[2], "told": row[3]}))
                .collect();
            let keys: Vec<&str> = scenarios.iter().map(|one| one.key()).collect();
            put(&format!("{:#}\n", document("verify", json!({"scenarios": keys, "targets": targets}))))?;
        }
        Format::Markdown => put(&format!("{}\n", table::markdown(&head, &[], &rows)))?,
        Format::Human => {
            put(&format!("{} scenarios in order\n{}\n", scenarios.len(), table::human(&head, &[], &rows)))?;
        }
    }
    for line in &wrong {
        eprintln!("bench-runner: {line}");
    }
    Ok(if wrong.is_empty() { EXIT_FINE } else { EXIT_TOOL_ERROR })
}
