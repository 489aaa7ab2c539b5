//! `bench-runner run`.

use super::Global;

/// Measure, and write the results to JSON and SQLite
#[derive(Debug, clap::Args)]
pub struct Args {}

/// Carries it out; the exit code is in [`super`]'s list.
pub fn execute(_args: Args, _global: &Global) -> anyhow::Result<u8> {
    anyhow::bail!("'bench-runner run' is not built into this version")
}
