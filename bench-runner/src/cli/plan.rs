//! `bench-runner plan`.

use super::Global;

/// Show the steps a run would take, and how long they would last
#[derive(Debug, clap::Args)]
pub struct Args {}

/// Carries it out; the exit code is in [`super`]'s list.
pub fn execute(_args: Args, _global: &Global) -> anyhow::Result<u8> {
    anyhow::bail!("'bench-runner plan' is not built into this version")
}
