//! `bench-runner import`.

use super::Global;

/// Import criterion estimates as a run of their own
#[derive(Debug, clap::Args)]
pub struct Args {}

/// Carries it out; the exit code is in [`super`]'s list.
pub fn execute(_args: Args, _global: &Global) -> anyhow::Result<u8> {
    anyhow::bail!("'bench-runner import' is not built into this version")
}
