//! `bench-runner clean`: what did a killed run leave on somebody else's server, and away with it.

use super::stdout::put;
use super::{EXIT_FINE, EXIT_TOOL_ERROR, Format, Global};
use crate::output::document;
use crate::target::external::{is_prefix, parse};
use anyhow::{Error, bail};
use serde_json::json;
use std::path::PathBuf;

/// List or delete keys that a killed run left on a running server
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  bench-runner clean --target redis://127.0.0.1:6379
      list the prefixes of bench-runner that have keys
  bench-runner clean --target redis://127.0.0.1:6379 --prefix plumb:0123456789abcdef:
      delete the keys with this prefix

Only keys with the prefix are deleted. A prefix may belong to a run in progress.")]
pub(super) struct Args {
    /// The server: redis://[user:password@]host:port[/database], rediss://…, unix:///path
    #[arg(long, value_name = "URL")]
    target: String,
    /// Trust the certificates in this PEM file instead of the system's
    #[arg(long, value_name = "FILE")]
    tls_roots: Option<PathBuf>,
    /// Delete the keys with this prefix; without it, only list prefixes
    #[arg(long, value_name = "PREFIX")]
    prefix: Option<String>,
}

/// Carries it out; the exit code is in [`super`]'s list.
pub(super) fn execute(args: Args, global: &Global) -> anyhow::Result<u8> {
    let is_json = global.format == Format::Json;
    let server = parse(&args.target).map_err(Error::msg)?.believing(args.tls_roots);
    if server.page.is_some() {
        bail!(
            "{} is an HTTP server: bench-runner only reads from it, so there is nothing to clean",
            server.shown
        );
    }
    let Some(prefix) = args.prefix else {
        let found = server.left_behind().map_err(Error::msg)?;
        if is_json {
            let prefixes: Vec<_> =
                found.iter().map(|(prefix, keys)| json!({ "prefix": prefix, "keys": keys })).collect();
            let body = json!({ "server": server.shown, "prefixes": prefixes });
            put(&format!("{:#}\n", document("clean", body)))?;
            return Ok(EXIT_FINE);
        }
        if found.is_empty() {
            put(&format!("{} holds no keys of the runner\n", server.shown))?;
        }
        for (prefix, keys) in &found {
            put(&format!(
                "{keys} keys begin with {prefix}; delete them with: bench-runner clean --target {} --prefix {prefix}\n",
                server.shown
            ))?;
        }
        return Ok(EXIT_FINE);
    };
    if !is_prefix(&prefix) {
        bail!("invalid prefix '{prefix}': expected plumb:, sixteen hexadecimal digits and a colon");
    }
    let server = server.under(&prefix);
    let deleted = server.remove_left_behind().map_err(Error::msg)?;
    let left = server.left_behind().map_err(Error::msg)?;
    put(&if is_json {
        let (server, left) = (&server.shown, left.get(&prefix).copied().unwrap_or(0));
        let body = json!({ "server": server, "prefix": prefix, "deleted": deleted, "left": left });
        format!("{:#}\n", document("clean", body))
    } else {
        format!("deleted {deleted} keys that begin with {prefix} from {}\n", server.shown)
    })?;
    Ok(if left.contains_key(&prefix) { EXIT_TOOL_ERROR } else { EXIT_FINE })
}
