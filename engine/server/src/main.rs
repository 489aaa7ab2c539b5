//! What does the binary `plumbkv` do? Chooses between serving, being a client, the tools for a store's directory, and printing completions.
//!
//! Exit codes: 0 fine, 1 error, 64 a command line, variable or configuration file that cannot be used.

mod acl;
mod allocator;
mod args;
mod cli;
mod client_limits;
mod client_memory;
mod clients;
mod clock;
mod command;
mod config;
mod databases;
#[cfg(feature = "injected-delay")]
mod delay;
mod http;
mod latency;
mod limits;
mod listener;
mod log;
mod monitor;
mod pause;
mod process;
mod pushes;
mod reactor;
#[cfg(test)]
#[path = "reference_test.rs"]
mod reference;
mod replies;
mod scripts;
mod server;
mod session;
mod shared;
mod shutdown;
mod storage;
mod stripe;
mod tally;
mod tls;
mod tools;
mod tracking;
mod turns;
mod units;
mod warm;
mod watches;
mod workers;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{ArgMatches, FromArgMatches as _};

fn main() -> ExitCode {
    let matches = match args::command().try_get_matches() {
        Ok(matches) => matches,
        Err(error) => return args::answer(&error),
    };
    let result = match matches.subcommand() {
        Some(("serve", serve)) => return run_server(serve),
        Some(("cli", client)) => match cli::Args::from_arg_matches(client) {
            Ok(client) => cli::execute(client),
            Err(error) => return args::answer(&error),
        },
        Some(("completions", completions)) => print_completions(completions),
        _ => tools::execute(&matches),
    };
    result.unwrap_or_else(|error| {
        log::fatal(format_args!("{error:#}"));
        ExitCode::FAILURE
    })
}

fn run_server(matches: &ArgMatches) -> ExitCode {
    if let Err(reason) = allocator::check() {
        log::fatal(format_args!("{reason}"));
        return ExitCode::from(args::EXIT_USAGE);
    }
    let variable = |name: &str| std::env::var(name).ok();
    let file = matches.get_one::<PathBuf>("config").cloned();
    let file = file.or_else(|| variable("PLUMBKV_CONFIG").filter(|path| !path.is_empty()).map(PathBuf::from));
    let config = match config::load(|name| args::values(matches, name), variable, file.as_deref()) {
        Ok(config) => config,
        Err(error) => {
            log::fatal(format_args!("{error}"));
            return ExitCode::from(args::EXIT_USAGE);
        }
    };
    match server::serve(config) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            log::fatal(format_args!("{error:#}"));
            ExitCode::FAILURE
        }
    }
}

fn print_completions(matches: &ArgMatches) -> anyhow::Result<ExitCode> {
    if let Some(shell) = matches.get_one::<clap_complete::Shell>("shell") {
        let mut script = Vec::new();
        clap_complete::generate(*shell, &mut args::command(), "plumbkv", &mut script);
        std::io::Write::write_all(&mut std::io::stdout(), &script)?;
    }
    Ok(ExitCode::SUCCESS)
}
