//! `bench-runner completions`: the script that makes a shell complete this command.

use super::{CommandLine, EXIT_FINE, Global};
use clap::CommandFactory as _;
use clap_complete::{Shell, generate};

/// Print a shell completion script
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Example:\n  bench-runner completions bash > ~/.local/share/bash-completion/completions/bench-runner"
)]
pub(super) struct Args {
    /// The shell
    #[arg(value_enum)]
    shell: Shell,
}

/// Carries it out; the exit code is in [`super`]'s list.
pub(super) fn execute(args: Args, _global: &Global) -> anyhow::Result<u8> {
    generate(args.shell, &mut CommandLine::command(), "bench-runner", &mut std::io::stdout());
    Ok(EXIT_FINE)
}
