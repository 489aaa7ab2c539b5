//! `bench-runner report`.

use super::Global;

/// Print a stored run as a table, or splice it into a document
#[derive(Debug, clap::Args)]
pub struct Args {}

/// Carries it out; the exit code is in [`super`]'s list.
pub fn execute(_args: Args, _global: &Global) -> anyhow::Result<u8> {
    anyhow::bail!("'bench-runner report' is not built into this version")
}
