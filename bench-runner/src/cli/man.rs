//! `bench-runner man`: the manual, a page for the command and one for each sub-command.

use super::stdout::put;
use super::{CommandLine, EXIT_FINE, Global};
use anyhow::Context as _;
use clap::CommandFactory as _;
use std::path::PathBuf;

/// Print the manual page, or write the pages of all sub-commands to a folder
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  bench-runner man | man -l -\n  bench-runner man --dir ~/.local/share/man/man1"
)]
pub(super) struct Args {
    /// Write the pages of all sub-commands to this folder
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
}

/// Carries it out; the exit code is in [`super`]'s list.
pub(super) fn execute(args: Args, global: &Global) -> anyhow::Result<u8> {
    let Some(dir) = args.dir else {
        let mut page = Vec::new();
        clap_mangen::Man::new(CommandLine::command())
            .render(&mut page)
            .context("composing the manual page")?;
        put(&String::from_utf8_lossy(&page))?;
        return Ok(EXIT_FINE);
    };
    std::fs::create_dir_all(&dir).with_context(|| format!("creating {}", dir.display()))?;
    clap_mangen::generate_to(CommandLine::command(), &dir)
        .with_context(|| format!("writing manual pages into {}", dir.display()))?;
    if !global.quiet {
        eprintln!("wrote the manual pages into {}", dir.display());
    }
    Ok(EXIT_FINE)
}
