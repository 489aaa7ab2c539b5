//! `bench-runner db`.

use super::Global;

/// Rebuild or query the SQLite database of results
#[derive(Debug, clap::Args)]
pub struct Args {}

/// Carries it out; the exit code is in [`super`]'s list.
pub fn execute(_args: Args, _global: &Global) -> anyhow::Result<u8> {
    anyhow::bail!("'bench-runner db' is not built into this version")
}
