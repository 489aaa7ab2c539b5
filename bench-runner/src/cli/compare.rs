//! `bench-runner compare`.

use super::Global;

/// Compare two stored runs
#[derive(Debug, clap::Args)]
pub struct Args {}

/// Carries it out; the exit code is in [`super`]'s list.
pub fn execute(_args: Args, _global: &Global) -> anyhow::Result<u8> {
    anyhow::bail!("'bench-runner compare' is not built into this version")
}
