//! A run as one HTML file that needs nothing else: no script, no font, no request.
//!
//! The template engine escapes every text; [`escape::terminal`] takes out of it what is no text and cuts it to a
//! length that can be read. The page forbids itself scripts and requests besides, so that a text which slipped
//! through could still do nothing.

use super::render::Part;
use super::shown::{Shown, regime, spread_words};
use crate::model::{Role, Run, ScenarioRecord};
use crate::output::{escape, spark};
use anyhow::Context as _;
use minijinja::value::{Serde, Value};
use minijinja::{AutoEscape, Environment, context};
use serde::Serialize;

const TEMPLATE: &str = include_str!("html/report.html");

/// Height of the tallest bar, px.
const BAR_PX: f64 = 20.0;

#[derive(Serialize)]
struct Scenario {
    key: String,
    title: String,
    analysis: Vec<String>,
    validity: String,
    not_measured: String,
    tables: Vec<Table>,
}

#[derive(Serialize)]
struct Table {
    class: Option<String>,
    head: Vec<Text>,
    drawn: bool,
    rows: Vec<Row>,
    remarks: Vec<String>,
}

#[derive(Serialize)]
struct Row {
    ours: bool,
    texts: Vec<Text>,
    bars: Vec<f64>,
    said: String,
}

#[derive(Serialize)]
struct Text {
    text: String,
    number: bool,
}

/// The whole document.
///
/// # Errors
/// The template does not fit the data: a mistake in this program.
pub fn html(run: &Run, scenarios: &[ScenarioRecord], part: Part) -> anyhow::Result<String> {
    let mut engine = Environment::new();
    engine.set_auto_escape_callback(|_| AutoEscape::Html);
    engine.add_template("report", TEMPLATE).context("the report's template is not valid")?;
    let template = engine.get_template("report").context("the report's template is gone")?;
    let shown: Vec<Scenario> = scenarios
        .iter()
        .filter_map(|record| scenario(run, record, &Shown::tables(run, record, part)))
        .collect();
    let title = format!("PlumbKV bench-runner: run {}", run.id);
    template
        .render(context! {
            title => escape::terminal(&title),
            regime => escape::terminal(&regime(run, scenarios)),
            spread => spread_words(run, scenarios),
            scenarios => Value::from(Serde(&shown)),
            notes => run.notes.iter().map(|note| escape::terminal(note)).collect::<Vec<_>>(),
            environment => environment(run),
            targets => targets(run),
            reproduce => run.reproduce.iter().map(|line| escape::terminal(line)).collect::<Vec<_>>(),
        })
        .context("filling the report's template")
}

/// None where no cell of it is shown.
fn scenario(run: &Run, record: &ScenarioRecord, tables: &[Shown]) -> Option<Scenario> {
    let info = &record.scenario;
    (!tables.is_empty()).then(|| Scenario {
        key: escape::terminal(&info.key),
        title: escape::terminal(&info.title),
        analysis: info.analysis.split("\n\n").map(paragraph).collect(),
        validity: paragraph(&info.validity),
        not_measured: paragraph(&info.not_measured),
        tables: tables.iter().map(|shown| table(run, shown)).collect(),
    })
}

fn table(run: &Run, shown: &Shown) -> Table {
    let ours: Vec<&str> =
        run.targets.iter().filter(|one| one.role == Role::Subject).map(|one| one.key.as_str()).collect();
    let text = |(place, text): (usize, &str)| Text {
        text: escape::terminal(text),
        number: shown.right.contains(&place),
    };
    let rows = shown
        .rows
        .iter()
        .zip(&shown.series)
        .map(|(row, series)| Row {
            // The second column is the target's key.
            ours: row.get(1).is_some_and(|target| ours.contains(&target.as_str())),
            texts: row.iter().map(String::as_str).enumerate().map(text).collect(),
            bars: bars(series),
            said: said(series),
        })
        .collect::<Vec<_>>();
    Table {
        class: shown.class.as_deref().map(escape::terminal),
        head: shown.head.iter().map(String::as_str).enumerate().map(text).collect(),
        drawn: rows.iter().any(|row| !row.bars.is_empty()),
        rows,
        remarks: shown.remarks.iter().map(|one| escape::terminal(one)).collect(),
    }
}

/// Prose of a scenario may be longer than a cell of a table; what is no text goes all the same.
fn paragraph(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    words.chunks(40).map(|part| escape::terminal(&part.join(" "))).collect::<Vec<_>>().join(" ")
}

/// Heights of the bars, px; none where there is nothing to compare.
fn bars(series: &[f64]) -> Vec<f64> {
    let values = spark::narrowed(series);
    let largest = values.iter().copied().fold(0.0, f64::max);
    if values.len() < 2 || !largest.is_finite() || largest <= 0.0 {
        return Vec::new();
    }
    values.iter().map(|value| (value / largest * BAR_PX * 10.0).round().max(0.0) / 10.0).collect()
}

fn said(series: &[f64]) -> String {
    let (low, high) =
        series.iter().fold((f64::MAX, f64::MIN), |(low, high), one| (low.min(*one), high.max(*one)));
    format!("{} values, the smallest {:.0} % of the largest", series.len(), low / high * 100.0)
}

fn environment(run: &Run) -> Vec<(&'static str, String)> {
    let (machine, environment) = (&run.machine, &run.environment);
    let build = if run.source.dirty { " with local changes" } else { "" };
    let pairs = [
        ("Machine", format!("{} ({}, {})", machine.title, run.machine_key, machine.class)),
        ("CPU", format!("{}, {} cores, {} threads", machine.cpu_model, machine.cores, machine.threads)),
        ("Memory", format!("{} GiB", machine.memory_gib)),
        ("System", format!("{}, kernel {}", environment.os, environment.kernel)),
        (
            "Governor, turbo, SMT",
            format!("{}, {}, {}", environment.governor, environment.turbo, environment.smt),
        ),
        ("Transparent huge pages", environment.transparent_hugepage.clone()),
        ("Control groups", environment.cgroup_version.clone()),
        (
            "CPUs of server and generator",
            format!("{} and {}", environment.server_cpus, environment.generator_cpus),
        ),
        ("Load average at the start", format!("{:.2}", environment.load_average_start)),
        ("Source", format!("{} {}{build}", run.source.version, run.source.commit)),
        ("Begun, ended", format!("{}, {}", run.started_at, run.finished_at)),
        ("Seed", run.seed.to_string()),
        ("Command", run.command.clone()),
    ];
    pairs.into_iter().map(|(name, text)| (name, escape::terminal(&text))).collect()
}

fn targets(run: &Run) -> Vec<String> {
    let line = |one: &crate::model::TargetRecord| match &one.reason {
        Some(reason) if !one.available => format!("{}: not measured, {reason}", one.key),
        _ => format!("{}, allocator {} ({}, {})", one.title, one.allocator, one.transport, one.durability),
    };
    run.targets.iter().map(|one| escape::terminal(&line(one))).collect()
}
