//! `bench-runner bisect`: which commit made it slower?

use super::gate::{Told, read_counted, read_definition};
use super::selection::duration;
use super::stdout::put;
use super::{EXIT_FINE, EXIT_INCONCLUSIVE, EXIT_TOOL_ERROR, EXIT_USAGE, Format, Global};
use crate::campaign::gate::Options;
use crate::campaign::gate::bisect::{Bisection, Commit, bisect, short};
use crate::output::{document, escape, table};
use serde_json::json;
use std::path::PathBuf;
use std::time::Duration;

/// Find the commit that made it slower
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  bench-runner bisect --good v1.2 --bad HEAD
  bench-runner bisect --good main~32 --bad main --budget 10m

Each gate compares a commit with the good one and halves those that are left: 32 commits take 6 gates. After the first, only \
the loads are measured that it called slower. A commit that does not build, or of which nothing can be said, is passed over, \
four at most. Where the commit that is found does not have most of the change, a last gate compares it with its parent. \
Ctrl-C ends it and prints the gates until then.

Exit codes: 0 the commit was found; 1 a file failed, or it was stopped; 3 it is one of several, or the bad commit is not slower; \
64 usage error.")]
pub(super) struct Args {
    /// A commit that is fast
    #[arg(long, value_name = "REF")]
    good: String,
    /// A later one that is slow
    #[arg(long, value_name = "REF", default_value = "HEAD")]
    bad: String,
    /// What to measure and how to build a commit [default: as for gate]
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Only this scenario of the file; may be repeated
    #[arg(long, value_name = "SCENARIO")]
    only: Vec<String>,
    /// Time that each gate may measure
    #[arg(long, value_name = "TIME", default_value = "20m", value_parser = duration)]
    budget: Duration,
    /// Seed of order, keys and intervals; drawn when absent
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(..1 << 53))]
    seed: Option<u64>,
}

/// Carries it out; the exit code is in [`super`]'s list.
pub(super) fn execute(args: Args, global: &Global) -> anyhow::Result<u8> {
    let (definition, _) = read_definition(args.config.as_deref(), global)?;
    if args.budget < Duration::from_secs(10) {
        eprintln!("bench-runner: a budget below 10s has no room for a single comparison");
        return Ok(EXIT_USAGE);
    }
    let stop = super::raised_by_signals()?;
    let options = Options {
        root: global.root.clone(),
        definition,
        counted: read_counted(None, global)?,
        base: args.good,
        head: args.bad,
        head_build: None,
        only: args.only,
        head_environment: Vec::new(),
        base_environment: Vec::new(),
        budget: args.budget,
        seed: args.seed,
        measure_identical: false,
        keep_builds: false,
        command: super::run::command_line(),
    };
    let found = bisect(&options, &stop, &mut Told { quiet: global.quiet })?;
    put(&match global.format {
        Format::Json => as_json(&found),
        Format::Human => format!("{}\n{}\n", gates(&found, table::human), said(&found)),
        Format::Markdown => format!("{}\n\n{}\n", gates(&found, table::markdown), said(&found)),
    })?;
    if let Some(why) = &found.ended {
        eprintln!("bench-runner: {}", escape::terminal(why));
        return Ok(EXIT_TOOL_ERROR);
    }
    Ok(if found.is_found { EXIT_FINE } else { EXIT_INCONCLUSIVE })
}

fn said(found: &Bisection) -> String {
    let name = |commit: &Commit| format!("{} {}", short(&commit.id), escape::terminal(&commit.subject));
    match found.suspects.as_slice() {
        [] => {
            "The bad commit is not proven slower than the good one: there is nothing to look for.".to_owned()
        }
        [one] if found.is_found => format!("First slower commit: {}", name(one)),
        several => {
            let names: Vec<String> = several.iter().map(name).collect();
            let why =
                if found.ended.is_some() { "it ended early" } else { "the gates cannot tell them apart" };
            format!("One or more of these; {why}:\n  {}", names.join("\n  "))
        }
    }
}

fn gates(found: &Bisection, drawn: table::Drawn) -> String {
    let rows: Vec<Vec<String>> = found
        .tried
        .iter()
        .map(|one| {
            let commit = format!("{} {}", short(&one.commit.id), escape::name(&one.commit.subject));
            let against = if one.is_against_parent { "its parent" } else { "the good one" };
            vec![commit, against.to_owned(), one.outcome.words().to_owned(), escape::name(&one.reason)]
        })
        .collect();
    drawn(&["commit", "against", "verdict", "why"], &[], &rows)
}

fn as_json(found: &Bisection) -> String {
    let commit = |one: &Commit| json!({"id": one.id, "subject": one.subject});
    let suspects: Vec<_> = found.suspects.iter().map(commit).collect();
    let tried: Vec<_> = found
        .tried
        .iter()
        .map(|one| {
            let against = if one.is_against_parent { "parent" } else { "good" };
            let commit = commit(&one.commit);
            json!({"commit": commit, "against": against, "outcome": one.outcome, "reason": one.reason})
        })
        .collect();
    let body = json!({
        "suspects": suspects,
        "found": found.is_found,
        "gates": tried,
        "loads": found.loads,
        "ended": found.ended,
    });
    format!("{:#}\n", document("bisect", body))
}
