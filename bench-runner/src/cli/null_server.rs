//! `bench-runner null-server`.

use super::Global;

/// A server that answers at once: shows the generator's ceiling
#[derive(Debug, clap::Args)]
pub struct Args {}

/// Carries it out; the exit code is in [`super`]'s list.
pub fn execute(_args: Args, _global: &Global) -> anyhow::Result<u8> {
    anyhow::bail!("'bench-runner null-server' is not built into this version")
}
