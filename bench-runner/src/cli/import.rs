//! `bench-runner import`: what other tools measured, as a run of its own.

use super::{EXIT_FINE, Format, Global, stdout};
use crate::campaign::catalogue;
use crate::environment::{Reader, source, system};
use crate::export::{import, write_run};
use crate::model::{Profile, RUN_SCHEMA, Run, RunState, SCHEMA_VERSION, Tool};
use crate::output::document;
use crate::{db, output::table};
use clap::Subcommand;
use jiff::Timestamp;
use serde_json::json;
use std::path::PathBuf;

/// Import criterion estimates as a run
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  make components && bench-runner import criterion target/criterion\n\n\
    To include them in another run, use bench-runner run --criterion DIR.")]
pub(super) struct Args {
    #[command(subcommand)]
    from: From,
}

#[derive(Debug, Subcommand)]
enum From {
    /// Estimates written by cargo bench
    Criterion {
        /// Criterion's folder
        #[arg(default_value = "target/criterion")]
        folder: PathBuf,
        /// Folder of the records [default: <root>/results]
        #[arg(long, value_name = "DIR")]
        results: Option<PathBuf>,
        /// Only show what would be imported
        #[arg(long)]
        dry_run: bool,
    },
}

/// Carries it out; the exit code is in [`super`]'s list.
pub(super) fn execute(args: Args, global: &Global) -> anyhow::Result<u8> {
    let From::Criterion { folder, results, dry_run } = args.from;
    let components = import::criterion(&folder)?;
    let rows: Vec<Vec<String>> = components
        .iter()
        .map(|one| {
            let figures = [one.ns_per_op, one.ns_per_op_low, one.ns_per_op_high].map(|ns| format!("{ns:.1}"));
            let [ns, low, high] = figures;
            let allocations = one.allocations_per_op.map_or_else(String::new, |count| format!("{count:.2}"));
            vec![one.key.clone(), ns, low, high, one.estimate.clone(), allocations]
        })
        .collect();
    let head = ["component", "ns per operation", "low (95 %)", "high", "estimate", "allocations"];
    stdout::put(&match global.format {
        Format::Human => format!("{}\n", table::human(&head, &[1, 2, 3, 5], &rows)),
        Format::Markdown => format!("{}\n", table::markdown(&head, &[1, 2, 3, 5], &rows)),
        Format::Json => format!(
            "{}\n",
            serde_json::to_string_pretty(&document("components", json!({ "components": components })))?
        ),
    })?;
    if dry_run {
        return Ok(EXIT_FINE);
    }
    let results = results.unwrap_or_else(|| global.root.join("results"));
    let now = Timestamp::now();
    let reader = Reader::machine();
    let (machine_key, machine) = catalogue::this_machine(&global.root)?;
    let at = now.strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
    let run = Run {
        schema: RUN_SCHEMA.to_owned(),
        schema_version: SCHEMA_VERSION,
        tool: Tool::this(),
        id: format!("{}-import-{:04x}", now.strftime("%Y-%m-%dT%H%M%SZ"), fastrand::u16(..)),
        version: "local".to_owned(),
        machine_key,
        // No profile of ours set criterion's trials: the one that passes no verdict.
        profile: Profile::Quick,
        purpose: "import".to_owned(),
        started_at: at.clone(),
        finished_at: at,
        elapsed_s: 0.0,
        seed: 0,
        state: RunState::Complete,
        command: "bench-runner import criterion".to_owned(),
        reproduce: vec!["make components".to_owned(), "bench-runner import criterion".to_owned()],
        source: source(&global.root),
        machine,
        environment: system(&reader),
        targets: Vec::new(),
        scenarios: Vec::new(),
        histograms: None,
        components,
        notes: vec![
            "Estimates of criterion, imported after they were made; the environment is that of the import."
                .to_owned(),
        ],
    };
    let stored = write_run(&results, run.clone(), Vec::new())?;
    db::store(&results.join("local.sqlite"), &run, &[])?;
    if !global.quiet {
        eprintln!("stored in {}", stored.display());
    }
    Ok(EXIT_FINE)
}
