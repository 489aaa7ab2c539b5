//! What would a run look like? Writes a made-up one, so that the site has something to be tested on.
//!
//! `cargo run -p plumbkv-bench-runner --example fixture_results -- DIR` writes `DIR/index.json` and one run of
//! version 0.0.1 through the same assembly and export that real runs take. The figures come from a formula and
//! a fixed random sequence: they were measured by nobody and are never published.

mod fixture;

use anyhow::Context as _;
use bench_runner::export::{self, assemble};
use bench_runner::model::ScenarioRecord;
use std::path::PathBuf;

fn main() -> anyhow::Result<()> {
    let results: PathBuf = std::env::args_os().nth(1).context("usage: fixture_results DIR")?.into();
    let run = fixture::run::run();
    let roles = run.targets.iter().map(|target| (target.key.clone(), target.role)).collect();
    let mut position = 0;
    let mut records = Vec::new();
    for scenario in fixture::plan::scenarios() {
        let (mut steps, mut skipped) = (Vec::new(), Vec::new());
        for step in fixture::plan::steps(&scenario, &mut position) {
            match fixture::plan::skip_reason(&step) {
                Some(reason) => skipped.push((step, reason)),
                None => steps.push(step),
            }
        }
        let outcomes: Vec<_> = steps.iter().map(fixture::outcome::outcome).collect();
        let (cells, ratios) = assemble::cells(&scenario.info, &steps, &outcomes, &roles, &skipped);
        records.push(ScenarioRecord {
            schema: bench_runner::model::SCENARIO_SCHEMA.to_owned(),
            schema_version: bench_runner::model::SCHEMA_VERSION,
            tool: run.tool.clone(),
            run_id: run.id.clone(),
            version: run.version.clone(),
            machine_key: run.machine_key.clone(),
            profile: run.profile,
            scenario: scenario.info,
            cells,
            ratios,
        });
    }
    let folder = export::write_run(&results, run, records)?;
    println!("{}", folder.display());
    Ok(())
}
