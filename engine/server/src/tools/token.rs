//! `plumbkv token`: a new bearer token for HTTP, and its line for the file of tokens.

use std::process::ExitCode;

use anyhow::{Context as _, anyhow};
use plumbkv_documents_http::{Role, line_of};

use crate::random;

/// Hexadecimal digits of a token.
const DIGITS: usize = 64;

/// Create a bearer token for HTTP: print it once, and its line for the file of --http-tokens.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
The token goes to stderr, and the line with its SHA-256 digest to stdout. The server reads the file when it starts; it \
never has the token itself. Whoever has the token sends it as `Authorization: Bearer TOKEN`.

Roles: read (documents, searches and keys), write (also changes them), admin (also collections and maintenance).

Example:
  plumbkv token shop write >> tokens
  plumbkv serve --data /var/lib/plumbkv --http-tokens tokens

Exit codes: 0 success, 1 error, 64 usage error.")]
pub(super) struct Args {
    /// Name of the token, in the server's limits and in the file.
    name: String,
    /// read, write or admin.
    role: String,
}

pub(super) fn execute(args: &Args) -> anyhow::Result<ExitCode> {
    let role = Role::parse(&args.role)
        .ok_or_else(|| anyhow!("invalid role '{}': expected read, write or admin", args.role))?;
    let token = random::digits(DIGITS).context("the system has no random numbers")?;
    let line = line_of(&args.name, role, &token);
    plumbkv_documents_http::Tokens::parse(&line).map_err(|error| anyhow!("invalid name: {error}"))?;
    println!("{line}");
    eprintln!("{token}");
    Ok(ExitCode::SUCCESS)
}
