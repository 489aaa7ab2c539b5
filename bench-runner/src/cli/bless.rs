//! `bench-runner bless`: a loss that is wanted is written down, with its reason and its end.

use super::{EXIT_FINE, EXIT_TOOL_ERROR, EXIT_USAGE, Format, Global, stdout};
use crate::export::blessings::{BlessError, DAYS_MAX, Wanted, bless, file, load};
use crate::export::gate_artifact::read_gate;
use crate::model::Blessing;
use crate::output::{document, escape, table};
use anyhow::anyhow;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde_json::json;
use std::path::PathBuf;

/// Record an accepted regression with its reason; without an artifact, list them
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  bench-runner bless target/bench-gate/gate.json --reason \"every SET is logged now\"
  bench-runner bless artifact.zip --head-commit \"$HEAD_SHA\" --pull 7 --reason \"a safer hash\" --days 30
  bench-runner bless

Each series that the gate judged a regression becomes a dated entry of results/blessings.json, which the trends on the site \
show until it expires. Gates are not affected.")]
pub(super) struct Args {
    /// gate.json, or a folder or an archive with it
    #[arg(value_name = "ARTIFACT", requires = "reason")]
    artifact: Option<PathBuf>,
    /// Why the regression is accepted, in one line
    #[arg(long, value_name = "TEXT", requires = "artifact")]
    reason: Option<String>,
    /// Full commit id that the gate must have judged
    #[arg(long, value_name = "SHA", value_parser = super::comment::full_commit)]
    head_commit: Option<String>,
    /// Number of the pull request
    #[arg(long, value_name = "N")]
    pull: Option<u32>,
    /// Days until it expires
    #[arg(long, value_name = "N", default_value_t = 90, value_parser = clap::value_parser!(u16).range(1..=i64::from(DAYS_MAX)))]
    days: u16,
    /// Folder of the records [default: <root>/results]
    #[arg(long, value_name = "DIR")]
    results: Option<PathBuf>,
}

/// Carries it out; the exit code is in [`super`]'s list.
pub(super) fn execute(args: Args, global: &Global) -> anyhow::Result<u8> {
    let results = args.results.unwrap_or_else(|| global.root.join("results"));
    let today = Timestamp::now().to_zoned(TimeZone::UTC).date();
    let (Some(artifact), Some(reason)) = (args.artifact, args.reason) else {
        stdout::put(&listed(&load(&results)?, &today.to_string(), global.format))?;
        return Ok(EXIT_FINE);
    };
    let gate = read_gate(&artifact, args.head_commit.as_deref())
        .map_err(|error| anyhow!("invalid artifact: {}", escape::terminal(&error.to_string())))?;
    match bless(&results, &gate, &Wanted { reason, pull: args.pull, today, days: args.days }) {
        Ok(new) => {
            if global.format == Format::Json {
                let body = json!({ "file": file(&results), "blessed": new });
                stdout::put(&format!("{:#}\n", document("bless", body)))?;
            }
            if !global.quiet {
                eprintln!("{}", told(&new, &file(&results)));
            }
            Ok(EXIT_FINE)
        }
        Err(error) => {
            eprintln!("bench-runner: {}", escape::terminal(&error.to_string()));
            Ok(match error {
                BlessError::NoReason | BlessError::Reason | BlessError::Days => EXIT_USAGE,
                _ => EXIT_TOOL_ERROR,
            })
        }
    }
}

fn told(new: &[Blessing], path: &std::path::Path) -> String {
    match new {
        [] => format!("blessed before: {} has every loss of this gate", path.display()),
        [first, ..] => format!(
            "{} {} written to {}, until {}",
            new.len(),
            if new.len() == 1 { "loss" } else { "losses" },
            path.display(),
            first.expires_on
        ),
    }
}

fn listed(all: &[Blessing], today: &str, format: Format) -> String {
    if format == Format::Json {
        return format!("{:#}\n", document("blessed", json!({ "blessings": all })));
    }
    let rows: Vec<Vec<String>> = all
        .iter()
        .map(|one| {
            let until = if one.holds_on(today) { "until" } else { "expired" };
            vec![
                one.blessed_on.clone(),
                format!("{until} {}", one.expires_on),
                escape::name(&one.label),
                escape::name(&one.metric),
                format!("{:+.1} %", (one.ratio - 1.0) * 100.0),
                escape::name(&one.reason),
            ]
        })
        .collect();
    let head = ["blessed", "holds", "scenario", "metric", "change", "reason"];
    match format {
        _ if rows.is_empty() => "Nothing was blessed yet.\n".to_owned(),
        Format::Markdown => table::markdown(&head, &[4], &rows),
        _ => format!("{}\n", table::human(&head, &[4], &rows)),
    }
}
