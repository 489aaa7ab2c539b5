//! From the record of a run to a table for a terminal, in Markdown, or as JSON.

use super::columns::{self, Column};
use crate::model::{Cell, Measurement, Placement, Profile, Role, Run, ScenarioRecord, Spread, Status};
use crate::output::table;
use crate::plan::mode_name;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// Above this share of its CPU the generator was the limit.
const CEILING: f64 = 0.95;

/// How much of a run is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// Every cell.
    Whole,
    /// A point or two of each scenario: what fits into a README.
    Headline,
}

impl Part {
    fn holds(self, scenario: &str, cell: &Cell) -> bool {
        let axes = &cell.axes;
        let plain = axes.value_bytes == Some(64) && matches!(axes.operation.as_str(), "set" | "get");
        self == Self::Whole
            || match scenario {
                "wire-single" => plain && cell.placement != Placement::Together,
                "wire-concurrency" => plain && axes.clients == Some(50) && axes.requests.is_none(),
                "wire-pipeline" => plain && axes.pipeline == Some(16),
                "memory-cap" => axes.operation == "fill",
                "startup" => true,
                _ => false,
            }
    }
}

/// Tables as wide as the terminal.
#[must_use]
pub fn human(run: &Run, scenarios: &[ScenarioRecord], part: Part) -> String {
    let mut text = String::new();
    for record in scenarios {
        let Some(shown) = Shown::of(record, part) else { continue };
        let _ = writeln!(text, "{}: {}", record.scenario.key, record.scenario.title);
        let _ = writeln!(text, "{}", table::human(&shown.head, &shown.right, &shown.rows));
        for remark in &shown.remarks {
            let _ = writeln!(text, "  {remark}");
        }
        text.push('\n');
    }
    let _ = writeln!(text, "Run {} of version {}: {}.", run.id, run.version, regime(run));
    let _ = writeln!(text, "{}", spread_words(run, scenarios));
    run.notes.iter().for_each(|note| {
        let _ = writeln!(text, "Note: {note}");
    });
    text
}

/// The same in Markdown, with what the figures must be read beside.
#[must_use]
pub fn markdown(run: &Run, scenarios: &[ScenarioRecord], part: Part) -> String {
    let mut text = format!("Run `{}` of version {}: {}. ", run.id, run.version, regime(run));
    let _ = writeln!(text, "{}\n", spread_words(run, scenarios));
    for record in scenarios {
        let Some(shown) = Shown::of(record, part) else { continue };
        let _ = writeln!(text, "**{}** (`{}`)\n", escaped(&record.scenario.title), record.scenario.key);
        let rows: Vec<Vec<String>> =
            shown.rows.iter().map(|row| row.iter().map(|one| escaped(one)).collect()).collect();
        let _ = writeln!(text, "{}\n", table::markdown(&shown.head, &shown.right, &rows));
        for remark in &shown.remarks {
            let _ = writeln!(text, "{}\n", escaped(remark));
        }
    }
    run.notes.iter().for_each(|note| {
        let _ = writeln!(text, "Note: {}\n", escaped(note));
    });
    text.truncate(text.trim_end().len());
    text.push('\n');
    text
}

/// The run and the measurements of its cells, without the trials.
#[must_use]
pub fn json(run: &Run, scenarios: &[ScenarioRecord], part: Part) -> Value {
    let rows: Vec<Value> = scenarios
        .iter()
        .flat_map(|record| {
            let key = &record.scenario.key;
            record.cells.iter().filter(move |cell| part.holds(key, cell)).map(move |cell| {
                json!({
                    "scenario": key, "cell": cell.key, "label": cell.label, "target": cell.target, "mode": cell.mode,
                    "placement": cell.placement, "axes": cell.axes, "status": cell.status, "reason": cell.reason,
                    "measurements": cell.measurements,
                })
            })
        })
        .collect();
    json!({
        "run_id": run.id, "version": run.version, "machine": run.machine_key, "profile": run.profile,
        "state": run.state, "started_at": run.started_at, "notes": run.notes, "cells": rows,
    })
}

/// A scenario as a table.
struct Shown {
    head: Vec<&'static str>,
    right: Vec<usize>,
    rows: Vec<Vec<String>>,
    remarks: Vec<String>,
}

impl Shown {
    fn of(record: &ScenarioRecord, part: Part) -> Option<Self> {
        let cells: Vec<&Cell> =
            record.cells.iter().filter(|cell| part.holds(&record.scenario.key, cell)).collect();
        if cells.is_empty() {
            return None;
        }
        let rows: Vec<(&Cell, Option<&str>)> = cells
            .iter()
            .flat_map(|cell| operations(cell).into_iter().map(|operation| (*cell, operation)))
            .collect();
        // A column that no cell of the scenario fills is left out.
        let columns: Vec<&Column> = columns::of(&record.scenario.kind)
            .iter()
            .enumerate()
            .filter(|(place, column)| {
                *place == 0 || rows.iter().any(|(cell, operation)| !column.of(cell, *operation).is_empty())
            })
            .map(|(_, column)| column)
            .collect();
        let mut head = vec!["point", "target", "mode"];
        head.extend(columns.iter().map(|column| column.head));
        head.push("n");
        Some(Self {
            right: (3..head.len()).collect(),
            rows: rows.iter().map(|(cell, operation)| row(cell, *operation, &columns)).collect(),
            remarks: remarks(&cells),
            head,
        })
    }
}

/// All operations together, then, in a mix, each of its own.
fn operations(cell: &Cell) -> Vec<Option<&str>> {
    let mut all = vec![None];
    for operation in cell.measurements.iter().filter_map(|one| one.operation.as_deref()) {
        if !all.contains(&Some(operation)) {
            all.push(Some(operation));
        }
    }
    all
}

fn row(cell: &Cell, operation: Option<&str>, columns: &[&Column]) -> Vec<String> {
    let label = match operation {
        Some(operation) => format!("… its {}s", operation.to_uppercase()),
        None if cell.placement == Placement::Together => format!("{}, on one CPU", cell.label),
        None => cell.label.clone(),
    };
    let mut row = vec![label, cell.target.clone(), mode_name(cell.mode).to_owned()];
    if cell.status == Status::Ok {
        row.extend(columns.iter().map(|column| column.of(cell, operation)));
    } else {
        row.push(word(cell.status).to_owned());
        row.extend(columns.iter().skip(1).map(|_| String::new()));
    }
    if operation.is_none() && is_at_ceiling(cell) {
        row[3].push('†');
    }
    row.push(cell.measurements.iter().map(|one| one.n).max().map(|n| n.to_string()).unwrap_or_default());
    row
}

fn is_at_ceiling(cell: &Cell) -> bool {
    columns::find(cell, "generator_busy", None).is_some_and(|busy| busy.median > CEILING)
}

fn word(status: Status) -> &'static str {
    match status {
        Status::Ok => "ok",
        Status::Failed => "failed",
        Status::Skipped => "skipped",
        Status::Invalid => "invalid",
        Status::Timeout => "timeout",
    }
}

/// One line per reason, however many cells share it.
fn remarks(cells: &[&Cell]) -> Vec<String> {
    let mut by_reason: BTreeMap<(&str, &str), Vec<&Cell>> = BTreeMap::new();
    for cell in cells.iter().filter(|cell| cell.status != Status::Ok) {
        let reason = cell.reason.as_deref().unwrap_or("no reason was recorded");
        by_reason.entry((word(cell.status), reason)).or_default().push(cell);
    }
    let mut remarks: Vec<String> = by_reason
        .into_iter()
        .map(|((status, reason), hit)| match hit.as_slice() {
            [one] => format!("{status}: {}, {} {}: {reason}", one.label, one.target, mode_name(one.mode)),
            several => {
                let mut who: Vec<String> =
                    several.iter().map(|cell| format!("{} {}", cell.target, mode_name(cell.mode))).collect();
                who.dedup();
                who.sort();
                who.dedup();
                format!("{status}: {} cells of {}: {reason}", several.len(), who.join(", "))
            }
        })
        .collect();
    if cells.iter().any(|cell| is_at_ceiling(cell)) {
        remarks.push(
            "† load generator at its ceiling: compare server CPU per operation, not throughput".to_owned(),
        );
    }
    remarks
}

/// Machine, CPUs, loop, and whom the figures stand beside.
fn regime(run: &Run) -> String {
    let machine = if run.machine.title.is_empty() { &run.machine.cpu_model } else { &run.machine.title };
    let rivals: Vec<&str> = run
        .targets
        .iter()
        .filter(|target| target.role == Role::Rival && target.available)
        .map(|target| target.title.as_str())
        .collect();
    let beside = if rivals.is_empty() { String::new() } else { format!(", beside {}", rivals.join(" and ")) };
    let pinned = if run.environment.server_cpus.is_empty() {
        "server and generator not pinned"
    } else {
        "one CPU each for server and generator"
    };
    format!("{machine} (`{}`), closed loop over loopback, {pinned}{beside}", run.machine_key)
}

/// What stands in brackets, in words.
fn spread_words(run: &Run, scenarios: &[ScenarioRecord]) -> String {
    let trials = scenarios
        .iter()
        .flat_map(|one| &one.cells)
        .flat_map(|cell| &cell.measurements)
        .map(|one| one.n)
        .max();
    let n = trials.unwrap_or_default();
    let is_interval = |one: &Measurement| one.spread == Spread::Interval;
    let any_interval =
        scenarios.iter().flat_map(|one| &one.cells).flat_map(|cell| &cell.measurements).any(is_interval);
    let words = if n < 2 {
        "One trial of each cell: there is no spread to show.".to_owned()
    } else if any_interval {
        format!("Medians of {n} trials; in brackets the exact interval of the median, at least 95 %.")
    } else {
        format!("Medians of {n} trials; in brackets the smallest and the largest.")
    };
    match run.profile {
        Profile::Full => words,
        Profile::Quick => format!("{words} A quick run: no verdict on a rival."),
        Profile::Smoke => {
            format!("{words} A smoke run shows that everything runs; its figures mean nothing.")
        }
    }
}

/// Names and reasons come from programs that are not ours: nothing of them is markup.
fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '|' | '<' | '>' | '[' | ']' | '*' | '`' | '&' | '\\' => {
                safe.push('\\');
                safe.push(character);
            }
            '\n' | '\r' => safe.push(' '),
            other => safe.push(other),
        }
    }
    safe
}
