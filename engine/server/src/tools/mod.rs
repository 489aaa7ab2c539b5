//! What can be done to a store in a directory without a server? Looked over, counted, read, written, copied out and in.
//!
//! Each tool opens the directory itself, so no server may have it open. Tools that only read open it
//! read-only and change nothing, several of them at once; one that writes has it alone, and closes it, so
//! that what it has written is on the disk when it ends. Results go to standard output, progress and errors to standard error.

mod check;
mod compact;
mod encoding;
mod entry;
mod export;
mod import;
mod output;
mod place;
mod progress;
mod repair;
mod scan;
mod stats;
mod store;

use std::process::ExitCode;

use clap::{ArgMatches, Command, FromArgMatches as _, Subcommand as _};

/// A tool and its arguments.
#[derive(Debug, clap::Subcommand)]
enum Tool {
    Check(check::Args),
    Repair(repair::Args),
    Stats(stats::Args),
    Get(entry::GetArgs),
    Set(entry::SetArgs),
    Scan(scan::Args),
    Export(export::Args),
    Import(import::Args),
    Compact(compact::Args),
}

/// Adds the tools to a command line.
pub(crate) fn add_to(command: Command) -> Command {
    Tool::augment_subcommands(command)
}

/// Runs the tool that was named.
pub(crate) fn execute(matches: &ArgMatches) -> anyhow::Result<ExitCode> {
    let done = match Tool::from_arg_matches(matches)? {
        Tool::Check(args) => check::execute(&args),
        Tool::Repair(args) => repair::execute(&args),
        Tool::Stats(args) => stats::execute(&args),
        Tool::Get(args) => entry::get(&args),
        Tool::Set(args) => entry::set(&args),
        Tool::Scan(args) => scan::execute(&args),
        Tool::Export(args) => export::execute(&args),
        Tool::Import(args) => import::execute(&args),
        Tool::Compact(args) => compact::execute(&args),
    };
    match done {
        // Whoever reads has seen enough: `plumbkv scan | head`.
        Err(error) if output::is_closed(&error) => Ok(ExitCode::SUCCESS),
        done => done,
    }
}
