//! What does `plumbkv cli` do? One command and its reply, or a prompt with history; for any RESP server.
//!
//! One-shot: the reply goes to standard output and the exit code is 0; an error reply or a lost connection is
//! one line on standard error and exit code 1, so `plumbkv cli ping` is a health check.

mod connection;
pub(crate) mod format;
mod interactive;

use std::ffi::OsString;
use std::io::{BufRead, IsTerminal, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context;
use plumbkv_resp::{Limits, Parsed, ProtocolError, Reply, RequestParser};

use connection::{Address, Connection, Greeting};
use format::Style;

/// Send a command to a PlumbKV or Redis server, or open a prompt.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  plumbkv cli ping                       health check: prints PONG, exit code 0
  plumbkv cli set greeting 'hello' EX 60
  plumbkv cli get greeting
  plumbkv cli                            a prompt; `help` explains, Ctrl-D leaves
  printf 'set a 1\\nincr a\\n' | plumbkv cli    commands from a pipe, one per line

The history of the prompt is stored in $XDG_STATE_HOME/plumbkv/cli_history (~/.local/state if \
unset), without lines that contain a password. NO_COLOR disables colours.

Exit codes: 0 success, 1 error reply or no connection, 64 usage error.")]
pub(crate) struct Args {
    /// Host name or address of the server.
    #[arg(short = 'H', long, default_value = "127.0.0.1")]
    host: String,
    /// Port of the server.
    #[arg(short, long, default_value_t = 6379)]
    port: u16,
    /// Unix socket of the server, instead of host and port.
    #[arg(short, long, value_name = "PATH", conflicts_with_all = ["host", "port"])]
    socket: Option<PathBuf>,
    /// Password. Command lines are visible to other users, so prefer the environment variable.
    #[arg(long, env = "PLUMBKV_PASSWORD", hide_env_values = true)]
    password: Option<String>,
    /// Speak RESP3 (maps, doubles, booleans) instead of RESP2.
    #[arg(long)]
    resp3: bool,
    /// Timeout for connecting and for each read of a reply.
    #[arg(long, value_name = "SECONDS", default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..))]
    timeout: u64,
    /// Print replies as raw bytes (the default if the output is not a terminal).
    #[arg(long, overrides_with = "no_raw")]
    raw: bool,
    /// Print replies with types and quotes (the default on a terminal).
    #[arg(long, overrides_with = "raw")]
    no_raw: bool,
    /// Command and its arguments; without one, commands are read from a prompt or from standard input.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "COMMAND ARG")]
    command: Vec<OsString>,
}

/// Runs the client.
pub(crate) fn execute(args: Args) -> anyhow::Result<ExitCode> {
    let terminal = std::io::stdout().is_terminal();
    let style = Style {
        raw: args.raw || (!terminal && !args.no_raw),
        colour: terminal && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty()),
    };
    let address = match args.socket {
        Some(path) => Address::Unix(path),
        None => Address::Tcp { host: args.host, port: args.port },
    };
    let greeting = Greeting {
        password: args.password.filter(|password| !password.is_empty()),
        resp3: args.resp3,
        timeout: Duration::from_secs(args.timeout),
    };
    if !args.command.is_empty() {
        let words: Vec<&[u8]> = args.command.iter().map(|word| word.as_bytes()).collect();
        let mut connection = Connection::open(&address, &greeting)?;
        let fine = run(&mut connection, &words, style)?;
        return Ok(exit_code(fine));
    }
    if std::io::stdin().is_terminal() {
        interactive::prompt(&address, &greeting, style)?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut connection = Connection::open(&address, &greeting)?;
    Ok(exit_code(pipe(&mut connection, style)?))
}

fn exit_code(fine: bool) -> ExitCode {
    if fine { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Runs the lines of standard input; true when none of them got an error.
fn pipe(connection: &mut Connection, style: Style) -> anyhow::Result<bool> {
    let mut all_fine = true;
    for (number, line) in std::io::stdin().lock().split(b'\n').enumerate() {
        let line = line.context("cannot read standard input")?;
        let words = split(&line).with_context(|| format!("standard input, line {}", number + 1))?;
        if words.is_empty() {
            continue;
        }
        let words: Vec<&[u8]> = words.iter().map(Vec::as_slice).collect();
        all_fine &= run(connection, &words, style)?;
    }
    Ok(all_fine)
}

/// Sends one command and writes its reply; false when the reply is an error.
fn run(connection: &mut Connection, words: &[&[u8]], style: Style) -> anyhow::Result<bool> {
    let reply = connection.request(words)?;
    let mut text = Vec::new();
    let plain = Style { raw: style.raw || is_report(words), ..style };
    if let Reply::Error(message) = reply {
        format::error(message, style, &mut text);
        std::io::stderr().write_all(&text).context("cannot write to standard error")?;
        return Ok(false);
    }
    format::reply(&reply, plain, &mut text);
    match std::io::stdout().write_all(&text) {
        // Whoever reads has seen enough: `plumbkv cli keys '*' | head`.
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(true),
        written => written.map(|()| true).context("cannot write to standard output"),
    }
}

/// Whether the reply is a text of many lines that is meant to be read and would be spoilt by quoting.
fn is_report(words: &[&[u8]]) -> bool {
    let is =
        |index: usize, name: &str| words.get(index).is_some_and(|w| w.eq_ignore_ascii_case(name.as_bytes()));
    is(0, "info") || (is(0, "client") && (is(1, "list") || is(1, "info")))
}

/// Splits a line into words by the rules of inline requests.
fn split(line: &[u8]) -> anyhow::Result<Vec<Vec<u8>>> {
    // A `*` at the start of a line would mean the array form, and an inline line has a limit; neither is meant here.
    let mut line = [b" ", line.trim_ascii_end()].concat();
    line.push(b'\n');
    let limits = Limits { max_inline_bytes: line.len(), ..Limits::default() };
    match RequestParser::new(limits).parse(&line) {
        Parsed::Complete { value, .. } => Ok(value.iter().map(<[u8]>::to_vec).collect()),
        Parsed::Invalid(ProtocolError::UnbalancedQuotes) => {
            anyhow::bail!(
                "unbalanced quotes: a closing quote must end its argument; write \\\" for a quote inside one"
            )
        }
        Parsed::Invalid(error) => Err(error.into()),
        Parsed::Incomplete { .. } => Ok(Vec::new()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_split_like_inline_requests() {
        let words = |line: &str| split(line.as_bytes()).map(|words| words.join(&b'|'));
        assert_eq!(words("set a \"b c\" 'd'\r\n").unwrap(), b"set|a|b c|d");
        assert_eq!(words("*1 x").unwrap(), b"*1|x");
        assert_eq!(words("  ").unwrap(), b"");
        assert_eq!(words(&"a".repeat(100_000)).unwrap().len(), 100_000);
        assert!(words("set \"a").unwrap_err().to_string().starts_with("unbalanced quotes"));
    }

    #[test]
    fn reports_are_not_quoted() {
        assert!(is_report(&[b"INFO", b"memory"]) && is_report(&[b"client", b"LIST"]));
        assert!(!is_report(&[b"client", b"id"]) && !is_report(&[b"get", b"info"]));
    }
}
