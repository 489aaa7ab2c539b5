//! `bench-runner env`.

use super::Global;

/// Show what of this machine can influence a figure
#[derive(Debug, clap::Args)]
pub struct Args {}

/// Carries it out; the exit code is in [`super`]'s list.
pub fn execute(_args: Args, _global: &Global) -> anyhow::Result<u8> {
    anyhow::bail!("'bench-runner env' is not built into this version")
}
