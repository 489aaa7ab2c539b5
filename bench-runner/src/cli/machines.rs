//! `bench-runner machines`.

use super::Global;

/// List the machines that results are kept for, and say which one this is
#[derive(Debug, clap::Args)]
pub struct Args {}

/// Carries it out; the exit code is in [`super`]'s list.
pub fn execute(_args: Args, _global: &Global) -> anyhow::Result<u8> {
    anyhow::bail!("'bench-runner machines' is not built into this version")
}
