//! `bench-runner verify`.

use super::Global;

/// Check the scenarios and the targets' answers, without measuring
#[derive(Debug, clap::Args)]
pub struct Args {}

/// Carries it out; the exit code is in [`super`]'s list.
pub fn execute(_args: Args, _global: &Global) -> anyhow::Result<u8> {
    anyhow::bail!("'bench-runner verify' is not built into this version")
}
