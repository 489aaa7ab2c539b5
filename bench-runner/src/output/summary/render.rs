//! From the record of a run to a table for a terminal, in Markdown, or as JSON.

use super::shown::{Shown, regime, spread_words};
use crate::model::{Cell, Placement, Run, ScenarioRecord};
use crate::output::{document, escape, table};
use serde_json::{Value, json};
use std::fmt::Write as _;

/// How much of a run is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// Every cell.
    Whole,
    /// A point or two of each scenario: what fits into a README.
    Headline,
}

impl Part {
    pub(super) fn holds(self, scenario: &str, cell: &Cell) -> bool {
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
        for shown in Shown::tables(run, record, part) {
            let (head, rows) = shown.with_sparks();
            let class = shown.class.as_ref().map(|class| format!(" ({class})")).unwrap_or_default();
            let _ = writeln!(
                text,
                "{}: {}{}",
                escape::terminal(&record.scenario.key),
                escape::terminal(&record.scenario.title),
                escape::terminal(&class)
            );
            let _ = writeln!(text, "{}", table::human(&borrowed(&head), &shown.right, &rows));
            for remark in &shown.remarks {
                let _ = writeln!(text, "  {}", escape::terminal(remark));
            }
            text.push('\n');
        }
    }
    let whose = format!("Run {} of version {}: {}.", run.id, run.version, regime(run, scenarios));
    let _ = writeln!(text, "{}", escape::terminal(&whose));
    let _ = writeln!(text, "{}", spread_words(run, scenarios));
    run.notes.iter().for_each(|note| {
        let _ = writeln!(text, "Note: {}", escape::terminal(note));
    });
    text
}

/// The same in Markdown, with what the figures must be read beside.
#[must_use]
pub fn markdown(run: &Run, scenarios: &[ScenarioRecord], part: Part) -> String {
    let (id, version) = (code(&run.id), escape::markdown(&run.version));
    let mut text = format!("Run {id} of version {version}: {}. ", escape::markdown(&regime(run, scenarios)));
    let _ = writeln!(text, "{}\n", spread_words(run, scenarios));
    for record in scenarios {
        for shown in Shown::tables(run, record, part) {
            let class = shown.class.as_ref().map(|class| format!(", {class}")).unwrap_or_default();
            let (title, key) = (escape::markdown(&record.scenario.title), code(&record.scenario.key));
            let _ = writeln!(text, "**{title}** ({key}{})\n", escape::markdown(&class));
            let _ =
                writeln!(text, "{}\n", table::markdown(&borrowed(&shown.head), &shown.right, &shown.rows));
            for remark in &shown.remarks {
                let _ = writeln!(text, "{}\n", escape::markdown(remark));
            }
        }
    }
    run.notes.iter().for_each(|note| {
        let _ = writeln!(text, "Note: {}\n", escape::markdown(note));
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
    document(
        "report",
        json!({
            "run_id": run.id, "version": run.version, "machine": run.machine_key, "profile": run.profile,
            "state": run.state, "started_at": run.started_at, "notes": run.notes, "cells": rows,
        }),
    )
}

fn borrowed(head: &[String]) -> Vec<&str> {
    head.iter().map(String::as_str).collect()
}

/// A text as code: whatever it holds, no backtick ends it early.
fn code(text: &str) -> String {
    format!("`{}`", escape::terminal(text).replace('`', "'"))
}
