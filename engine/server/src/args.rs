//! The command line of `plumbkv`: arguments, help and one-line errors.

use std::process::ExitCode;

use clap::error::ErrorKind;
use clap::{Arg, ArgAction, ArgMatches, Args as _, Command, ValueHint, value_parser};
use clap_complete::Shell;

use crate::config::{SETTINGS, variable};
use crate::{cli, tools};

/// Exit code for a command line, environment or configuration file that cannot be used (`EX_USAGE` of sysexits.h).
pub(crate) const EXIT_USAGE: u8 = 64;

const EXIT_CODES: &str = "Exit codes: 0 stopped by SIGTERM or SIGINT; 64 invalid flag, environment variable or \
     configuration file; 1 any other error, such as a port in use or a locked data directory.";

/// The whole command line.
pub(crate) fn command() -> Command {
    let serve = Command::new("serve")
        .about("Run the server, in memory or on a durable store")
        .long_about(
            "Run a server that speaks the Redis protocol (RESP2 and RESP3): in memory, or with --data on a durable store \
             in a directory.\n\nEvery setting is a flag, an environment variable and a key of the TOML file given by \
             --config, under the same name. Flags override variables, and variables override the file.",
        )
        .after_help(EXIT_CODES)
        .arg(
            Arg::new("config")
                .long("config")
                .value_name("PATH")
                .value_hint(ValueHint::FilePath)
                .value_parser(value_parser!(std::path::PathBuf))
                .help("TOML file of settings [env: PLUMBKV_CONFIG]"),
        )
        .args(SETTINGS.iter().map(|setting| {
            Arg::new(setting.name)
                .long(setting.name)
                .value_name(setting.value)
                .action(ArgAction::Append)
                .help(format!("{} [env: {}]", setting.help, variable(setting.name)))
        }));
    let client =
        cli::Args::augment_args(Command::new("cli").about("Send a command to a server, or open a prompt"));
    let completions = Command::new("completions")
        .about("Print a shell completion script")
        .arg(Arg::new("shell").required(true).value_name("SHELL").value_parser(value_parser!(Shell)));
    let command = Command::new("plumbkv")
        .version(env!("CARGO_PKG_VERSION"))
        .subcommand_required(true)
        .arg_required_else_help(true)
        .subcommands([serve, client]);
    tools::add_to(command).subcommand(completions).about(
        "PlumbKV: a Redis-protocol server with a hard memory cap or a durable store, its client, and tools for the store",
    )
}

/// The values of a `serve` flag.
pub(crate) fn values(matches: &ArgMatches, name: &str) -> Vec<String> {
    matches.get_many::<String>(name).into_iter().flatten().cloned().collect()
}

/// Prints help where it was asked for; says in one line what cannot be used otherwise.
pub(crate) fn answer(error: &clap::Error) -> ExitCode {
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
            // Nothing can be said about a stdout that is closed.
            let _ = error.print();
            ExitCode::SUCCESS
        }
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            let _ = error.print();
            ExitCode::from(EXIT_USAGE)
        }
        _ => {
            crate::log::fatal(format_args!("{}", one_line(&error.render().to_string())));
            ExitCode::from(EXIT_USAGE)
        }
    }
}

/// clap's message and tip without the usage that follows.
fn one_line(rendered: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for line in rendered.lines().map(str::trim) {
        if line.starts_with("Usage:") || line.starts_with("For more information") {
            break;
        }
        if !line.is_empty() {
            parts.push(line.trim_start_matches("error: "));
        }
    }
    parts.push("see plumbkv --help");
    parts.join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_sound() {
        command().debug_assert();
    }

    #[test]
    fn a_mistyped_flag_is_refused_in_one_line() {
        let error = command().try_get_matches_from(["plumbkv", "serve", "--lisen", "x"]).unwrap_err();
        let line = one_line(&error.render().to_string());
        assert!(line.starts_with("unexpected argument '--lisen' found"), "{line}");
        assert!(line.contains("'--listen'") && !line.contains('\n'), "{line}");
    }

    #[test]
    fn flags_may_repeat() {
        let arguments = ["plumbkv", "serve", "--listen", "a:1", "--listen=b:2"];
        let matches = command().try_get_matches_from(arguments).unwrap();
        let (_, serve) = matches.subcommand().unwrap();
        assert_eq!(values(serve, "listen"), ["a:1", "b:2"]);
        assert!(values(serve, "password").is_empty());
    }
}
