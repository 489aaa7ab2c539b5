//! `bench-runner list`.

use super::Global;

/// List scenarios, targets and profiles
#[derive(Debug, clap::Args)]
pub struct Args {}

/// Carries it out; the exit code is in [`super`]'s list.
pub fn execute(_args: Args, _global: &Global) -> anyhow::Result<u8> {
    anyhow::bail!("'bench-runner list' is not built into this version")
}
