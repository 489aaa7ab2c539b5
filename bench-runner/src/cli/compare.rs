//! `bench-runner compare`: the same cells of two sittings, side by side, with unchanged programs as controls.

use super::{EXIT_FINE, EXIT_INCONCLUSIVE, EXIT_REGRESSION, Format, Global, stdout};
use crate::compare::{Controls, Left, Row, Stored, judge, other_machine, paired};
use crate::export::{Found, Listed, find_run, listed_runs, read_indexed_run, read_run};
use crate::model::Measurement;
use crate::output::{document, escape, table};
use crate::stats::{self, Span, Undecided, Word};
use anyhow::{Context as _, bail, ensure};
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// Compare two stored runs, or two versions
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  bench-runner compare 0.2.0 0.3.0
  bench-runner --format json compare 0.2.0 0.3.0
  bench-runner compare 0.5.0 latest --metric ops_per_second

A version means all its runs on one machine that both sides have. The sittings were not interleaved, so the machine \
itself may have changed between them. Programs that are the same file on both sides show how much: 'faster' or 'slower' (better, \
worse) is said only where a change is larger than what they moved in the same scenario. Where unchanged programs changed \
beside each other, there is no verdict. Undecided is also what has fewer than six trials (quick, smoke), or beside it \
fewer than five figures of three unchanged programs.

Exit code 0: nothing is worse. 2: something is worse. 3: no figure could be judged.")]
pub(super) struct Args {
    /// The earlier side: an id of a run or its prefix, a version, 'latest', or the folder of a run
    first: String,
    /// The later side
    second: String,
    /// Only this metric
    #[arg(long, value_name = "NAME")]
    metric: Option<String>,
    /// Machine of the versions [default: the one that both have, the last one measured]
    #[arg(long, value_name = "KEY")]
    machine: Option<String>,
    /// Folder of the records [default: <root>/results]
    #[arg(long, value_name = "DIR")]
    results: Option<PathBuf>,
}

/// Carries it out; the exit code is in [`super`]'s list.
pub(super) fn execute(args: Args, global: &Global) -> anyhow::Result<u8> {
    let results = args.results.unwrap_or_else(|| global.root.join("results"));
    let wanted = (named(&results, &args.first)?, named(&results, &args.second)?);
    let machine = common_machine(&wanted.0, &wanted.1, args.machine.as_deref())?;
    let (first, second) = (wanted.0.read(machine.as_deref())?, wanted.1.read(machine.as_deref())?);
    let (first, second) = (stored(&first), stored(&second));
    if let Some(reason) = other_machine(&first, &second) {
        bail!(reason);
    }
    let (pairs, left) = paired(&first, &second);
    let (rows, controls) = judge(&pairs, args.metric.as_deref());
    let compared =
        Compared { first: ids(&first), second: ids(&second), cells: pairs.len(), rows, controls, left };
    stdout::put(&shown(&compared, global.format)?)?;
    Ok(exit_code(&compared))
}

/// What the name of a side means.
enum Side {
    /// One run.
    Run(Box<Found>),
    /// All runs of a version.
    Version(Vec<Listed>),
}

impl Side {
    fn machines(&self) -> Vec<&str> {
        match self {
            Self::Run(found) => vec![&found.run.machine_key],
            // Oldest first.
            Self::Version(runs) => runs.iter().map(|listed| listed.machine_key.as_str()).collect(),
        }
    }

    fn read(self, machine: Option<&str>) -> anyhow::Result<Vec<Found>> {
        match self {
            Self::Run(found) => Ok(vec![*found]),
            Self::Version(runs) => runs
                .into_iter()
                .filter(|listed| machine.is_none_or(|key| key == listed.machine_key))
                .map(|listed| {
                    let (run, scenarios) = read_indexed_run(&listed.base, &listed.run)?;
                    Ok(Found { folder: listed.folder(), run, scenarios })
                })
                .collect(),
        }
    }
}

/// A folder that holds a run, a version, or what [`find_run`] understands.
fn named(results: &Path, wanted: &str) -> anyhow::Result<Side> {
    let path = Path::new(wanted);
    let folder = if path.ends_with("run.json") { path.parent().unwrap_or(path) } else { path };
    if folder.join("run.json").is_file() {
        let (run, scenarios) = read_run(folder).with_context(|| format!("reading the run in {wanted}"))?;
        return Ok(Side::Run(Box::new(Found { folder: folder.to_path_buf(), run, scenarios })));
    }
    ensure!(
        !wanted.contains('/'),
        "no run.json in {wanted}: expected the folder of a run, a run id, a version or 'latest'"
    );
    let mut runs = listed_runs(results)?;
    runs.retain(|listed| listed.version == wanted);
    Ok(match runs.is_empty() {
        false => Side::Version(runs),
        true => Side::Run(Box::new(find_run(results, wanted, None)?)),
    })
}

/// The machine of the versions among the sides; none where both sides are runs.
fn common_machine(first: &Side, second: &Side, wanted: Option<&str>) -> anyhow::Result<Option<String>> {
    if let (Side::Run(_), Side::Run(_)) = (first, second) {
        ensure!(wanted.is_none(), "--machine chooses among the machines of a version: both sides are runs");
        return Ok(None);
    }
    let (one, other) = (first.machines(), second.machines());
    let common =
        other.iter().rev().find(|key| one.contains(key) && wanted.is_none_or(|wanted| wanted == **key));
    if let Some(key) = common {
        return Ok(Some((*key).to_owned()));
    }
    let list = |side: &Side| {
        let keys: BTreeSet<&str> = side.machines().into_iter().collect();
        keys.into_iter().collect::<Vec<_>>().join(", ")
    };
    let of = wanted.map_or_else(
        || "no machine has both sides".to_owned(),
        |key| format!("machine {key} has not both sides"),
    );
    bail!("{of}: the first was measured on {}, the second on {}", list(first), list(second))
}

fn stored(side: &[Found]) -> Vec<Stored<'_>> {
    side.iter().map(|found| Stored { run: &found.run, scenarios: &found.scenarios }).collect()
}

fn ids(side: &[Stored<'_>]) -> Vec<String> {
    side.iter().map(|stored| stored.run.id.clone()).collect()
}

/// What came of putting two sides side by side.
struct Compared<'a> {
    first: Vec<String>,
    second: Vec<String>,
    rows: Vec<Row<'a>>,
    controls: Controls,
    left: Vec<Left>,
    cells: usize,
}

fn exit_code(compared: &Compared<'_>) -> u8 {
    let is_open = |word: Word| match word {
        Word::Better | Word::Worse => false,
        Word::Undecided(reason) => !matches!(reason, Undecided::Meet | Undecided::Moved),
    };
    if compared.rows.iter().any(|row| !row.pair.is_unchanged && row.word == Word::Worse) {
        EXIT_REGRESSION
    } else if compared.rows.iter().all(|row| is_open(row.word)) {
        EXIT_INCONCLUSIVE
    } else {
        EXIT_FINE
    }
}

fn shown(compared: &Compared<'_>, format: Format) -> anyhow::Result<String> {
    if format == Format::Json {
        return Ok(format!("{}\n", serde_json::to_string_pretty(&as_json(compared))?));
    }
    let head = [
        "scenario",
        "point",
        "target",
        "mode",
        "metric",
        "unit",
        "first",
        "second",
        "ratio",
        "span",
        "beside unchanged",
        "verdict",
    ];
    let rows: Vec<Vec<String>> = compared.rows.iter().map(cells_of).collect();
    let right = [6, 7, 8, 9, 10];
    let mut text = match format {
        Format::Markdown => table::markdown(&head, &right, &rows),
        _ => table::human(&head, &right, &rows),
    };
    let all = compared.cells + compared.left.len();
    let _ = write!(text, "\n\n{} of {all} cells or scenarios compared.\n", compared.cells);
    text.push_str(&of_controls(compared.controls));
    for (reason, count) in undecided(&compared.rows) {
        let _ = writeln!(text, "Undecided, {reason}: {count} of {} rows.", compared.rows.len());
    }
    for left in &compared.left {
        let cell = left.cell.as_ref().map(|cell| format!(" {cell}:")).unwrap_or_default();
        let reason = format!("{}:{cell} {}", left.scenario, left.reason);
        let reason = match format {
            Format::Markdown => escape::markdown(&reason),
            _ => escape::terminal(&reason),
        };
        let _ = writeln!(text, "Left out: {reason}");
    }
    Ok(text)
}

fn cells_of(row: &Row<'_>) -> Vec<String> {
    let cut = |one: &Measurement| stats::significant(one.median, one.low, one.high).to_string();
    let span =
        |span: Option<Span>| span.map(|it| format!("{:.3}–{:.3}", it.low, it.high)).unwrap_or_default();
    let metric = match &row.first.operation {
        Some(operation) => format!("{} of {operation}", row.first.metric),
        None => row.first.metric.clone(),
    };
    let verdict = row.word.text(&row.first.unit);
    let cell = row.pair.first;
    vec![
        row.pair.scenario.to_owned(),
        cell.label.clone(),
        cell.target.clone(),
        crate::plan::mode_name(cell.mode).to_owned(),
        metric,
        row.first.unit.clone(),
        cut(row.first),
        cut(row.second),
        row.span.map(|span| format!("{:.3}", span.ratio)).unwrap_or_default(),
        span(row.span),
        span(row.beside),
        if row.pair.is_unchanged { format!("{verdict} (same file)") } else { verdict.to_owned() },
    ]
}

fn of_controls(controls: Controls) -> String {
    let Controls { judged, moved, called } = controls;
    let unchanged =
        format!("{moved} of {judged} figures of unchanged programs differ by their own intervals");
    match controls.are_unsteady() {
        _ if judged == 0 => {
            "No program with intervals is the same file on both sides: nothing shows what the machine did.\n"
                .to_owned()
        }
        false => format!("{unchanged}, {called} beside each other.\n"),
        true => format!(
            "No verdict: {called} of {judged} figures of unchanged programs changed beside each other.\n"
        ),
    }
}

fn as_json(compared: &Compared<'_>) -> serde_json::Value {
    let span =
        |span: Option<Span>| span.map(|it| json!({ "ratio": it.ratio, "low": it.low, "high": it.high }));
    let row = |row: &Row<'_>| {
        json!({ "scenario": row.pair.scenario, "cell": row.pair.first.key, "metric": row.first.metric,
            "operation": row.first.operation, "is_unchanged": row.pair.is_unchanged,
            "first": row.first, "second": row.second, "span": span(row.span), "beside": span(row.beside),
            "verdict": row.word.text(&row.first.unit), "reason": row.word.reason() })
    };
    let left = |left: &Left| json!({ "scenario": left.scenario, "cell": left.cell, "reason": left.reason });
    let Controls { judged, moved, called } = compared.controls;
    document(
        "compare",
        json!({ "first": compared.first, "second": compared.second,
        "cells_compared": compared.cells, "rows": compared.rows.iter().map(row).collect::<Vec<_>>(),
        "controls": { "judged": judged, "moved": moved, "called": called,
            "are_unsteady": compared.controls.are_unsteady() },
        "left_out": compared.left.iter().map(left).collect::<Vec<_>>() }),
    )
}

/// Why nothing is said, and of how many rows.
fn undecided(rows: &[Row<'_>]) -> BTreeMap<&'static str, usize> {
    let mut counts = BTreeMap::new();
    for reason in rows.iter().filter_map(|row| row.word.reason()) {
        *counts.entry(reason).or_default() += 1;
    }
    counts
}

#[cfg(test)]
#[path = "compare_test.rs"]
mod tests;
