//! `bench-runner contracts`.

use super::Global;

/// Write JSON Schema and TypeScript types from the Rust types, or check them
#[derive(Debug, clap::Args)]
pub struct Args {}

/// Carries it out; the exit code is in [`super`]'s list.
pub fn execute(_args: Args, _global: &Global) -> anyhow::Result<u8> {
    anyhow::bail!("'bench-runner contracts' is not built into this version")
}
