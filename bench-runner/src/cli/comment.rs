//! `bench-runner comment`: what a gate found, as the comment on its pull request.
//!
//! It runs where comments may be written, on what a stranger's change may have made: the artifact is data, and what it
//! may be is said in [`crate::export::gate_artifact`].

use super::gate::{calibration_of, read_definition};
use super::{EXIT_FINE, Global, stdout};
use crate::export::gate_artifact::read_gate;
use crate::output::{escape, gate};
use anyhow::{Context as _, anyhow};
use std::path::PathBuf;

/// Render the artifact of a gate as a pull request comment
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  bench-runner comment artifact.zip --head-commit \"$HEAD_SHA\" --out comment.md\n  \
    bench-runner comment gate.json\n\n\
    The artifact is untrusted: only gate.json is read, nothing is unpacked to disk, and all text is escaped. Refused with \
    exit code 1: archives over 8 MiB or with more than 16 entries; entries over 4 MiB uncompressed, encrypted, or with a path \
    outside the archive; links; an unknown schema; more than 2,000 verdicts; another head commit.\n\n\
    The first line of the comment is a hidden marker, which identifies it for later edits."
)]
pub(super) struct Args {
    /// The downloaded archive, a folder with gate.json, or gate.json
    #[arg(value_name = "ARTIFACT")]
    artifact: PathBuf,
    /// Full commit id that the gate must have judged
    #[arg(long, value_name = "SHA", value_parser = full_commit)]
    head_commit: Option<String>,
    /// Sentence on the error rates of the gate [default: from results/calibration of its machine]
    #[arg(long, value_name = "TEXT")]
    quote: Option<String>,
    /// Write the comment to this file [default: stdout]
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

/// Carries it out; the exit code is in [`super`]'s list.
pub(super) fn execute(args: Args, global: &Global) -> anyhow::Result<u8> {
    // What is wrong may quote what is wrong: one line, and nothing in it drives the terminal.
    let gate = read_gate(&args.artifact, args.head_commit.as_deref())
        .map_err(|error| anyhow!("invalid artifact: {}", escape::terminal(&error.to_string())))?;
    let quote = match args.quote {
        Some(given) => Some(given),
        None => calibrated(global, &gate.machine_key),
    };
    let text = gate::markdown(&gate, quote.as_deref());
    match args.out {
        None => stdout::put(&text)?,
        Some(path) => std::fs::write(&path, text).with_context(|| format!("writing {}", path.display()))?,
    }
    Ok(EXIT_FINE)
}

/// What this checkout knows of the gate on the machine that an artifact names. A comment without it is better than none.
fn calibrated(global: &Global, machine_key: &str) -> Option<String> {
    let (_, gate_sha256) = read_definition(None, global).ok()?;
    gate::quote(&calibration_of(global, machine_key, &gate_sha256).ok()??)
}

/// A beginning of an id could be that of another commit, and an empty one of any.
pub(super) fn full_commit(text: &str) -> Result<String, String> {
    let is_full =
        matches!(text.len(), 40 | 64) && text.bytes().all(|one| matches!(one, b'0'..=b'9' | b'a'..=b'f'));
    is_full
        .then(|| text.to_owned())
        .ok_or_else(|| "a full commit id has 40 (or 64) hexadecimal digits".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_full_commit_id_is_taken() {
        assert!(full_commit(&"0a".repeat(20)).is_ok() && full_commit(&"0a".repeat(32)).is_ok());
        for odd in [String::new(), "0a1b2c3".to_owned(), "0A".repeat(20), "g".repeat(40), "a".repeat(41)] {
            assert!(full_commit(&odd).is_err(), "{odd}");
        }
    }
}
