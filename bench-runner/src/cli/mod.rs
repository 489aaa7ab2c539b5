//! The command line: one file per sub-command, each with its `Args` and its `execute`.
//!
//! Results go to stdout, progress and remarks to stderr. Exit codes: 0 fine, 1 tool error, 2 regression,
//! 3 inconclusive, 64 usage.

mod bisect;
mod bless;
mod calibrate;
mod claims;
mod clean;
mod comment;
mod compare;
mod complete;
mod completions;
mod contracts;
mod db;
mod env;
mod floor;
mod gate;
mod import;
mod init;
mod list;
mod load;
mod machines;
mod man;
mod plan;
mod power;
mod publish;
mod reference;
mod report;
mod run;
mod selection;
mod stdout;
mod verify;

use anyhow::Context as _;
use clap::{Parser, Subcommand, ValueEnum};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Everything went well.
pub const EXIT_FINE: u8 = 0;
/// The tool, a target or a file failed.
pub const EXIT_TOOL_ERROR: u8 = 1;
/// A change made something worse, or a claim that was checked does not hold.
pub const EXIT_REGRESSION: u8 = 2;
/// Nothing could be said of a change.
pub const EXIT_INCONCLUSIVE: u8 = 3;
/// The command line was wrong.
pub const EXIT_USAGE: u8 = 64;

/// Every exit code and its meaning.
const EXIT_CODES: [(u8, &str); 5] = [
    (EXIT_FINE, "success"),
    (EXIT_TOOL_ERROR, "error: the tool, a target or a file failed"),
    (
        EXIT_REGRESSION,
        "regression (`gate`), something worse (`compare`), or a claim that fails (`claims --check`)",
    ),
    (
        EXIT_INCONCLUSIVE,
        "inconclusive or not measured (`gate`), nothing could be judged (`compare`), or no single commit was found (`bisect`)",
    ),
    (EXIT_USAGE, "usage error"),
];

/// Benchmarks Redis-protocol servers and embedded stores side by side, and stores every trial.
#[derive(Debug, Parser)]
#[command(name = "bench-runner", version, max_term_width = 100, after_help = after_help())]
struct CommandLine {
    #[command(flatten)]
    global: Global,
    #[command(subcommand)]
    command: Command,
}

const EXAMPLES: &str = "Examples:
  bench-runner list                    scenarios, targets and profiles
  bench-runner verify                  check the answers of every target
  bench-runner plan --group wire       steps and duration of a run
  bench-runner run --profile smoke     every cell once, in under a minute
  bench-runner run --scenario wire-single --target plumbkv --no-container
  bench-runner report latest           the newest run as a table

Results are written to stdout, progress and notes to stderr.";

fn after_help() -> String {
    let codes: String = EXIT_CODES.iter().map(|(code, meaning)| format!("\n  {code:<4}{meaning}")).collect();
    format!("{EXAMPLES}\n\nExit codes:{codes}")
}

/// Heading of the options that every sub-command has.
const GLOBAL: &str = "Global options";

/// Options that every sub-command has.
#[derive(Debug, Clone, clap::Args)]
pub struct Global {
    /// Output format
    #[arg(long, global = true, value_enum, default_value_t = Format::Human, help_heading = GLOBAL)]
    pub format: Format,
    /// Root of the checkout, with scenarios, docker/ and results/
    #[arg(long, global = true, value_name = "DIR", default_value = ".", help_heading = GLOBAL)]
    pub root: PathBuf,
    /// Do not print progress
    #[arg(long, short, global = true, help_heading = GLOBAL)]
    pub quiet: bool,
}

/// Output format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// Text tables.
    Human,
    /// A JSON document.
    Json,
    /// Markdown tables.
    Markdown,
}

#[derive(Debug, Subcommand)]
enum Command {
    List(list::Args),
    Plan(plan::Args),
    Verify(verify::Args),
    Run(run::Args),
    Load(load::Args),
    Compare(compare::Args),
    Gate(gate::Args),
    Bisect(bisect::Args),
    Calibrate(calibrate::Args),
    Claims(claims::Args),
    Power(power::Args),
    Comment(comment::Args),
    Bless(bless::Args),
    Report(report::Args),
    Publish(publish::Args),
    Complete(complete::Args),
    Import(import::Args),
    Init(init::Args),
    Clean(clean::Args),
    Db(db::Args),
    Contracts(contracts::Args),
    Env(env::Args),
    Machines(machines::Args),
    Completions(completions::Args),
    Man(man::Args),
    // The name it had in version 0.1.0 still works, for records say it.
    #[command(hide = true, alias = "null-server")]
    Floor(floor::Args),
}

/// A flag that SIGINT, SIGTERM and SIGHUP raise, instead of ending the program: what was begun is ended in order.
fn raised_by_signals() -> anyhow::Result<Arc<AtomicBool>> {
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM, signal_hook::consts::SIGHUP] {
        signal_hook::flag::register(signal, Arc::clone(&stop)).context("cannot listen for signals")?;
    }
    Ok(stop)
}

/// Parses the command line, does what it says, and turns the outcome into an exit code.
#[must_use]
pub fn main() -> ExitCode {
    let line = match CommandLine::try_parse() {
        Ok(line) => line,
        Err(error) => {
            let _ = error.print();
            return ExitCode::from(if error.use_stderr() { EXIT_USAGE } else { EXIT_FINE });
        }
    };
    let global = line.global;
    let done = match line.command {
        Command::List(args) => list::execute(args, &global),
        Command::Plan(args) => plan::execute(args, &global),
        Command::Verify(args) => verify::execute(args, &global),
        Command::Run(args) => run::execute(args, &global),
        Command::Compare(args) => compare::execute(args, &global),
        Command::Gate(args) => gate::execute(args, &global),
        Command::Bisect(args) => bisect::execute(args, &global),
        Command::Calibrate(args) => calibrate::execute(args, &global),
        Command::Claims(args) => claims::execute(args, &global),
        Command::Power(args) => power::execute(args, &global),
        Command::Comment(args) => comment::execute(args, &global),
        Command::Bless(args) => bless::execute(args, &global),
        Command::Report(args) => report::execute(args, &global),
        Command::Publish(args) => publish::execute(args, &global),
        Command::Complete(args) => complete::execute(args, &global),
        Command::Import(args) => import::execute(args, &global),
        Command::Init(args) => init::execute(args, &global),
        Command::Clean(args) => clean::execute(args, &global),
        Command::Db(args) => db::execute(args, &global),
        Command::Contracts(args) => contracts::execute(args, &global),
        Command::Env(args) => env::execute(args, &global),
        Command::Machines(args) => machines::execute(args, &global),
        Command::Completions(args) => completions::execute(args, &global),
        Command::Man(args) => man::execute(args, &global),
        Command::Load(args) => load::execute(args, &global),
        Command::Floor(args) => floor::execute(args, &global),
    };
    match done {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            eprintln!("bench-runner: {error:#}");
            ExitCode::from(EXIT_TOOL_ERROR)
        }
    }
}
