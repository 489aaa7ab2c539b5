//! `bench-runner publish`.

use super::Global;

/// Publish a local run under a version
#[derive(Debug, clap::Args)]
pub struct Args {}

/// Carries it out; the exit code is in [`super`]'s list.
pub fn execute(_args: Args, _global: &Global) -> anyhow::Result<u8> {
    anyhow::bail!("'bench-runner publish' is not built into this version")
}
