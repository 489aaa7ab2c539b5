//! What of a scenario's record stands in its table, whatever the table is printed as?

use super::columns::{self, Scaled};
use super::render::Part;
use crate::model::{
    Cell, Measurement, Placement, Profile, Role, Run, ScenarioRecord, Spread, Status, Trial, Window,
};
use crate::output::{escape, spark};
use crate::plan::mode_name;
use std::collections::BTreeMap;

/// Above this share of its CPU the generator was the limit.
const CEILING: f64 = 0.95;

/// A sign, its meaning, and whether it is so of a cell.
type Mark = (char, &'static str, fn(&Cell) -> bool);

/// What is doubtful about figures that are shown: a sign beside the first of them, and its meaning below the table.
const MARKS: [Mark; 4] = [
    ('†', "load generator at its ceiling: compare server CPU per operation, not throughput", is_at_ceiling),
    ('‡', "disturbed: other programs or the hypervisor used more than 0.25 cores; not judged", |cell| {
        cell.disturbed_cores().is_some()
    }),
    ('§', "load generator late: more than a tenth of a percentile of the latency is its own delay", |cell| {
        cell.in_most_trials("late_sender").is_some()
    }),
    ('¶', "several regimes within a trial, such as pauses or two rates: a mean of them", |cell| {
        cell.in_most_trials("regime").is_some()
    }),
];

/// From this many one-second windows on a trial shows how it went; below, the trials stand beside each other.
const WINDOWS: usize = 5;

/// A scenario as a table.
pub(super) struct Shown {
    /// Words for the class of its targets, where the scenario has several: classes never share a table.
    pub(super) class: Option<String>,
    pub(super) head: Vec<String>,
    pub(super) right: Vec<usize>,
    pub(super) rows: Vec<Vec<String>>,
    /// One per row: how the first figure moved, from zero; empty where there is nothing to draw.
    pub(super) series: Vec<Vec<f64>>,
    pub(super) remarks: Vec<String>,
}

impl Shown {
    /// The tables of a scenario, one for each class of targets; none where the part holds nothing of it.
    pub(super) fn tables(run: &Run, record: &ScenarioRecord, part: Part) -> Vec<Self> {
        let mut classes: Vec<(Option<Class>, Vec<&Cell>)> = Vec::new();
        for cell in record.cells.iter().filter(|cell| part.holds(&record.scenario.key, cell)) {
            let class = Class::of(run, &cell.target);
            match classes.iter_mut().find(|(known, _)| *known == class) {
                Some((_, cells)) => cells.push(cell),
                None => classes.push((class, vec![cell])),
            }
        }
        // A floor keeps nothing, so it is in no class of its own: it stands beside the servers.
        if classes.len() > 1
            && let Some(place) = classes.iter().position(|(class, _)| class.is_none())
        {
            let (_, floors) = classes.remove(place);
            let servers = classes
                .iter()
                .position(|(class, _)| class.as_ref().is_some_and(|one| one.transport == "socket"));
            classes[servers.unwrap_or(0)].1.extend(floors);
        }
        let several = classes.len() > 1;
        let words = |class: Option<Class>| class.filter(|_| several).map(|class| class.words());
        classes.into_iter().map(|(class, cells)| Self::of(record, &cells, words(class))).collect()
    }

    fn of(record: &ScenarioRecord, cells: &[&Cell], class: Option<String>) -> Self {
        let rows: Vec<(&Cell, Option<&str>)> = cells
            .iter()
            .flat_map(|cell| operations(cell).into_iter().map(|operation| (*cell, operation)))
            .collect();
        // A column that no cell of the scenario fills is left out.
        let columns: Vec<Scaled> = columns::of(record)
            .iter()
            .map(|column| column.scaled(record))
            .enumerate()
            .filter(|(place, column)| {
                *place == 0 || rows.iter().any(|(cell, operation)| !column.of(cell, *operation).is_empty())
            })
            .map(|(_, column)| column)
            .collect();
        let mut head: Vec<String> = ["point", "target", "mode"].map(str::to_owned).into();
        head.extend(columns.iter().map(|column| column.head.clone()));
        head.push("n".to_owned());
        Self {
            class,
            right: (3..head.len()).collect(),
            rows: rows.iter().map(|(cell, operation)| row(cell, *operation, &columns)).collect(),
            series: rows.iter().map(|(cell, operation)| series(cell, *operation, &columns)).collect(),
            remarks: remarks(cells),
            head,
        }
    }

    /// Head and rows with the series as bars of text in a last column, where any row has one.
    pub(super) fn with_sparks(&self) -> (Vec<String>, Vec<Vec<String>>) {
        let (mut head, mut rows) = (self.head.clone(), self.rows.clone());
        let lines: Vec<String> = self.series.iter().map(|values| spark::line(values)).collect();
        if lines.iter().any(|line| !line.is_empty()) {
            head.push("over time".to_owned());
            rows.iter_mut().zip(lines).for_each(|(row, line)| row.push(line));
        }
        (head, rows)
    }
}

/// What a target is compared with: calls inside a process and requests over a socket are different things, and so are
/// stores that lose everything and stores that do not.
#[derive(PartialEq)]
struct Class {
    transport: String,
    durability: String,
}

impl Class {
    /// The class of a target; none for a floor, or for one the run does not list.
    fn of(run: &Run, target: &str) -> Option<Self> {
        let target = run.targets.iter().find(|one| one.key == target)?;
        (!target.role.keeps_nothing())
            .then(|| Self { transport: target.transport.clone(), durability: target.durability.clone() })
    }

    fn words(&self) -> String {
        let transport = if self.transport == "in_process" { "in process" } else { "over a socket" };
        format!("{transport}, {}", self.durability)
    }
}

/// The first column's figure from second to second in the first trial, or else from trial to trial.
fn series(cell: &Cell, operation: Option<&str>, columns: &[Scaled]) -> Vec<f64> {
    let ok: Vec<&Trial> = cell.trials.iter().filter(|trial| trial.status == Status::Ok).collect();
    let windows = ok.first().map(|trial| full(&trial.windows)).unwrap_or_default();
    if operation.is_none() && windows.len() >= WINDOWS {
        // The last window may be half a second: its rate counts, not its sum.
        return windows.iter().map(|one| one.operations as f64 / one.length_ms.max(1e-6)).collect();
    }
    let Some(metric) = columns.first().map(|column| column.metric()) else { return Vec::new() };
    ok.iter()
        .filter_map(|trial| {
            trial.values.iter().find(|one| one.metric == metric && one.operation.as_deref() == operation)
        })
        .map(|one| one.value)
        .collect()
}

/// Without a last window of less than a quarter of the one before it: the rate of a few milliseconds is chance.
fn full(windows: &[Window]) -> &[Window] {
    match windows {
        [others @ .., before, last] if last.length_ms < before.length_ms / 4.0 => &windows[..=others.len()],
        _ => windows,
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

fn row(cell: &Cell, operation: Option<&str>, columns: &[Scaled]) -> Vec<String> {
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
    if operation.is_none() && cell.status == Status::Ok {
        row[3].extend(MARKS.iter().filter(|(_, _, is_so)| is_so(cell)).map(|(sign, ..)| *sign));
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
    for (sign, meaning, is_so) in MARKS {
        if cells.iter().any(|cell| cell.status == Status::Ok && is_so(cell)) {
            remarks.push(format!("{sign} {meaning}"));
        }
    }
    remarks
}

/// Machine, CPUs, loop, and the rivals that were measured: not all that are installed.
pub(super) fn regime(run: &Run, scenarios: &[ScenarioRecord]) -> String {
    let machine = if run.machine.title.is_empty() { &run.machine.cpu_model } else { &run.machine.title };
    let rivals: Vec<String> = run
        .targets
        .iter()
        .filter(|target| target.role == Role::Rival && is_measured(scenarios, &target.key))
        .map(|target| escape::name(&target.title))
        .collect();
    let beside = match rivals.split_last() {
        None => String::new(),
        Some((only, [])) => format!(", beside {only}"),
        Some((last, others)) => format!(", beside {} and {last}", others.join(", ")),
    };
    let pinned = if run.environment.server_cpus.is_empty() {
        "server and generator not pinned"
    } else {
        "one CPU each for server and generator"
    };
    format!("{} ({}), over loopback, {pinned}{beside}", escape::name(machine), escape::name(&run.machine_key))
}

fn is_measured(scenarios: &[ScenarioRecord], target: &str) -> bool {
    let mut cells = scenarios.iter().flat_map(|one| &one.cells);
    cells.any(|cell| cell.target == target && cell.status == Status::Ok)
}

/// What stands in brackets, in words.
pub(super) fn spread_words(run: &Run, scenarios: &[ScenarioRecord]) -> String {
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
    let words = if n == 0 {
        "Nothing came to a figure; the reasons stand with each scenario.".to_owned()
    } else if n < 2 {
        "One trial of each cell: there is no spread to show.".to_owned()
    } else if any_interval {
        format!(
            "Medians of {n} trials; in brackets the exact interval of the median, at least 95 %; of fewer than six trials the smallest and the largest."
        )
    } else {
        format!("Medians of {n} trials; in brackets the smallest and the largest.")
    };
    match run.profile {
        Profile::Release | Profile::Full => words,
        Profile::Quick => format!("{words} A quick run: no verdict on a rival."),
        Profile::Smoke => {
            format!("{words} A smoke run shows that everything runs; its figures mean nothing.")
        }
    }
}
