//! `bench-runner compare`: the same cells of two stored runs, side by side.

use super::{EXIT_FINE, Format, Global, stdout};
use crate::export::{Found, find_run, listed_runs, read_run};
use crate::model::{Cell, Measurement, Status, metric};
use crate::output::{escape, table};
use crate::stats::{self, Span, Word};
use anyhow::{Context as _, ensure};
use serde_json::json;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// Compare two stored runs
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  bench-runner compare 0.1.0 latest\n  \
    bench-runner --format json compare 2026-11-20T10 2026-11-21T10\n  \
    bench-runner compare 0.1.0 latest --metric ops_per_second\n\n\
    faster, slower (or better, worse): the intervals of the two runs do not overlap. undecided: they overlap, or a run has \
    fewer than six trials (quick, smoke). The runs were not interleaved, so the difference includes any change of the \
    machine between them. Runs on different machines or CPU models are refused.")]
pub(super) struct Args {
    /// The earlier run: an id or its prefix, a version, 'latest', or the folder of a run
    first: String,
    /// The later run
    second: String,
    /// Only this metric
    #[arg(long, value_name = "NAME")]
    metric: Option<String>,
    /// Folder of the records [default: <root>/results]
    #[arg(long, value_name = "DIR")]
    results: Option<PathBuf>,
}

/// Carries it out; the exit code is in [`super`]'s list.
pub(super) fn execute(args: Args, global: &Global) -> anyhow::Result<u8> {
    let results = args.results.unwrap_or_else(|| global.root.join("results"));
    let first = named(&results, &args.first)?;
    let second = named(&results, &args.second)?;
    let compared = compare(&first, &second, args.metric.as_deref())?;
    stdout::put(&shown(&compared, &first, &second, global.format)?)?;
    Ok(EXIT_FINE)
}

/// A folder that holds a run, a version (its newest run), or what [`find_run`] understands.
fn named(results: &Path, wanted: &str) -> anyhow::Result<Found> {
    let path = Path::new(wanted);
    let folder = if path.ends_with("run.json") { path.parent().unwrap_or(path) } else { path };
    if folder.join("run.json").is_file() {
        let (run, scenarios) = read_run(folder).with_context(|| format!("reading the run in {wanted}"))?;
        return Ok(Found { folder: folder.to_path_buf(), run, scenarios });
    }
    ensure!(
        !wanted.contains('/'),
        "no run.json in {wanted}: expected the folder of a run, a run id, a version or 'latest'"
    );
    let is_version = listed_runs(results)?.iter().any(|listed| listed.version == wanted);
    match is_version {
        true => find_run(results, "latest", Some(wanted)),
        false => find_run(results, wanted, None),
    }
}

/// What came of putting two runs side by side.
struct Compared {
    rows: Vec<Row>,
    /// Cells that could not be compared, with the reason.
    left_out: Vec<String>,
    cells: usize,
}

struct Row {
    scenario: String,
    cell: String,
    label: String,
    target: String,
    mode: &'static str,
    first: Measurement,
    second: Measurement,
    span: Option<Span>,
    word: Word,
}

fn compare(first: &Found, second: &Found, only: Option<&str>) -> anyhow::Result<Compared> {
    let (one, other) = (&first.run.machine, &second.run.machine);
    ensure!(
        one.fingerprint == other.fingerprint && one.cpu_model == other.cpu_model,
        "the runs are of different machines or CPU models and are not compared: {} ({}) and {} ({})",
        first.run.machine_key,
        one.cpu_model,
        second.run.machine_key,
        other.cpu_model
    );
    let mut compared = Compared { rows: Vec::new(), left_out: Vec::new(), cells: 0 };
    for record in &first.scenarios {
        let key = &record.scenario.key;
        let Some(partner) = second.scenarios.iter().find(|other| other.scenario.key == *key) else {
            compared.left_out.push(format!("{key}: not in run {}", second.run.id));
            continue;
        };
        if record.scenario.revision != partner.scenario.revision
            || record.scenario.params_sha256 != partner.scenario.params_sha256
        {
            compared.left_out.push(format!("{key}: its definition is another one"));
            continue;
        }
        for cell in &record.cells {
            match partner.cells.iter().find(|other| other.key == cell.key) {
                None => compared.left_out.push(format!("{key}: {}: not in run {}", cell.key, second.run.id)),
                Some(other) if cell.status != Status::Ok || other.status != Status::Ok => {
                    compared
                        .left_out
                        .push(format!("{key}: {}: without a figure in one of the runs", cell.key));
                }
                Some(other) => {
                    compared.cells += 1;
                    compared.rows.extend(rows(key, cell, other, only));
                }
            }
        }
    }
    Ok(compared)
}

fn rows(scenario: &str, cell: &Cell, other: &Cell, only: Option<&str>) -> Vec<Row> {
    let wanted = |one: &&Measurement| match only {
        Some(name) => one.metric == name,
        None => metric::is_compared(&one.metric),
    };
    let partner = |one: &Measurement| {
        other
            .measurements
            .iter()
            .find(|two| two.metric == one.metric && two.operation == one.operation)
            .cloned()
    };
    cell.measurements
        .iter()
        .filter(wanted)
        .filter_map(|one| {
            let second = partner(one)?;
            Some(Row {
                scenario: scenario.to_owned(),
                cell: cell.key.clone(),
                label: cell.label.clone(),
                target: cell.target.clone(),
                mode: crate::plan::mode_name(cell.mode),
                word: stats::judge(one, &second),
                span: stats::unpaired_ratio(one, &second),
                first: one.clone(),
                second,
            })
        })
        .collect()
}

fn shown(compared: &Compared, first: &Found, second: &Found, format: Format) -> anyhow::Result<String> {
    if format == Format::Json {
        let rows: Vec<_> = compared
            .rows
            .iter()
            .map(|row| {
                json!({ "scenario": row.scenario, "cell": row.cell, "metric": row.first.metric,
                    "operation": row.first.operation, "first": row.first, "second": row.second,
                    "ratio": row.span.map(|span| span.ratio), "ratio_low": row.span.map(|span| span.low),
                    "ratio_high": row.span.map(|span| span.high),
                    "verdict": row.word.text(&row.first.unit), "reason": row.word.reason() })
            })
            .collect();
        let all = json!({ "first": first.run.id, "second": second.run.id, "rows": rows,
            "cells_compared": compared.cells, "left_out": compared.left_out });
        return Ok(format!("{}\n", serde_json::to_string_pretty(&all)?));
    }
    let head = [
        "scenario", "point", "target", "mode", "metric", "unit", "first", "second", "ratio", "span",
        "verdict",
    ];
    let rows: Vec<Vec<String>> = compared
        .rows
        .iter()
        .map(|row| {
            let cut = |one: &Measurement| stats::significant(one.median, one.low, one.high).to_string();
            let metric = match &row.first.operation {
                Some(operation) => format!("{} of {operation}", row.first.metric),
                None => row.first.metric.clone(),
            };
            vec![
                row.scenario.clone(),
                row.label.clone(),
                row.target.clone(),
                row.mode.to_owned(),
                metric,
                row.first.unit.clone(),
                cut(&row.first),
                cut(&row.second),
                row.span.map(|span| format!("{:.3}", span.ratio)).unwrap_or_default(),
                row.span.map(|span| format!("{:.3}–{:.3}", span.low, span.high)).unwrap_or_default(),
                row.word.text(&row.first.unit).to_owned(),
            ]
        })
        .collect();
    let right = [6, 7, 8, 9];
    let mut text = match format {
        Format::Markdown => table::markdown(&head, &right, &rows),
        _ => table::human(&head, &right, &rows),
    };
    let all = compared.cells + compared.left_out.len();
    let _ = write!(text, "\n\n{} of {all} cells or scenarios compared.\n", compared.cells);
    for (reason, count) in undecided(&compared.rows) {
        let _ = writeln!(text, "Undecided, {reason}: {count} of {} rows.", compared.rows.len());
    }
    for reason in &compared.left_out {
        let reason = match format {
            Format::Markdown => escape::markdown(reason),
            _ => escape::terminal(reason),
        };
        let _ = writeln!(text, "Left out: {reason}");
    }
    Ok(text)
}

/// Why nothing is said, and of how many rows.
fn undecided(rows: &[Row]) -> BTreeMap<&'static str, usize> {
    let mut counts = BTreeMap::new();
    for reason in rows.iter().filter_map(|row| row.word.reason()) {
        *counts.entry(reason).or_default() += 1;
    }
    counts
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::export::testing;
    use crate::model::Spread;
    use crate::stats::Undecided;

    fn found() -> Found {
        let (run, scenarios) = testing::run();
        Found { folder: PathBuf::new(), run, scenarios }
    }

    /// The made-up run as if it had had enough trials for intervals.
    fn full() -> Found {
        let mut one = found();
        let cells = one.scenarios.iter_mut().flat_map(|record| &mut record.cells);
        cells.flat_map(|cell| &mut cell.measurements).for_each(|measured| measured.spread = Spread::Interval);
        one
    }

    #[test]
    fn ranges_are_undecided_and_intervals_decide() {
        let words = |one: &Found, other: &Found| -> Vec<Word> {
            compare(one, other, None).unwrap().rows.iter().map(|row| row.word).collect()
        };
        let short = words(&found(), &found());
        assert!(short.len() > 100 && short.iter().all(|word| *word == Word::Undecided(Undecided::Range)));
        assert!(words(&full(), &found()).iter().all(|word| *word == Word::Undecided(Undecided::Range)));
        assert!(words(&full(), &full()).iter().all(|word| *word == Word::Undecided(Undecided::Meet)));
        let mut slower = full();
        for measured in slower.scenarios[0].cells.iter_mut().flat_map(|cell| &mut cell.measurements) {
            (measured.low, measured.median, measured.high) =
                (measured.low * 2.0, measured.median * 2.0, measured.high * 2.0);
        }
        let compared = compare(&full(), &slower, None).unwrap();
        for row in compared.rows.iter().filter(|row| row.scenario == "wire-single" && row.first.low > 0.0) {
            let expected = if row.first.metric == "ops_per_second" { Word::Better } else { Word::Worse };
            let ratio = row.span.unwrap().ratio;
            assert!(row.word == expected && ratio == 2.0, "{} {}", row.cell, row.first.metric);
        }
    }

    #[test]
    fn other_machines_are_refused_and_other_definitions_left_out() {
        let mut other = found();
        other.run.machine.fingerprint = "f2".into();
        let error = compare(&found(), &other, None).err().unwrap().to_string();
        assert!(error.contains("different machines"), "{error}");
        let mut other = found();
        other.run.machine.cpu_model = "another".into();
        let error = compare(&found(), &other, None).err().unwrap().to_string();
        assert!(error.contains("CPU models"), "{error}");
        let mut changed = found();
        changed.scenarios[0].scenario.params_sha256 = "other".into();
        changed.scenarios.pop();
        let compared = compare(&found(), &changed, Some("latency_ns_p999")).unwrap();
        assert!(compared.left_out.contains(&"wire-single: its definition is another one".to_owned()));
        assert!(compared.left_out.iter().any(|one| one.starts_with("startup: not in run")));
        assert!(compared.left_out.iter().any(|one| one.contains("without a figure")));
        assert!(compared.rows.iter().all(|row| row.first.metric == "latency_ns_p999"));
        let text = shown(&compared, &found(), &changed, Format::Markdown).unwrap();
        assert!(text.contains("cells or scenarios compared") && text.contains("Left out: wire-single"));
    }
}
