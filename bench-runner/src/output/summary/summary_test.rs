//! Does the table say what the record says, and nothing that could be markup?

use super::*;
use crate::export::testing;
use crate::model::{DISTURBED_CORES, OsStat, Role, ScenarioRecord, Status, Window};

#[test]
fn every_cell_has_its_row_and_every_missing_figure_its_reason() {
    let (run, scenarios) = testing::run();
    let text = markdown(&run, &scenarios, Part::Whole);
    let rows = text.lines().filter(|line| line.starts_with("| ") && !line.starts_with("| point ")).count();
    let cells: usize = scenarios.iter().map(|record| record.cells.len()).sum();
    // Cells of the mix that were measured have a row for each of their two operations, too.
    let mixed = scenarios.iter().find(|record| record.scenario.key == "wire-mixed").unwrap();
    let split = mixed.cells.iter().filter(|cell| cell.status == Status::Ok).count() * 2;
    let heads = scenarios.len() - text.lines().filter(|line| line.starts_with("| point ")).count();
    assert_eq!((rows, heads), (cells + split, 0), "{text}");
    assert!(text.contains("skipped: 4 cells of plumbkv container_published: podman: netavark"), "{text}");
    assert!(text.contains("1 of 3 trials: connection reset by peer"), "{text}");
    assert!(text.contains("A quick run: no verdict on a rival.") && text.contains("Medians of 3 trials"));
    assert!(
        text.contains("(fixture-machine)")
            && text.contains(&run.id)
            && text.contains("Fixture: these figures")
    );
}

#[test]
fn only_rivals_that_were_measured_are_named() {
    let (mut run, scenarios) = testing::run();
    let rival = run.targets.iter().find(|one| one.role == Role::Rival).unwrap().clone();
    let mut idle = rival.clone();
    (idle.key, idle.title) = ("idle".to_owned(), "Idle 1.0".to_owned());
    run.targets.push(idle);
    let text = human(&run, &scenarios, Part::Whole);
    assert!(text.contains(&format!("beside {}", rival.title)) && !text.contains("Idle 1.0"), "{text}");
}

#[test]
fn figures_are_those_of_the_record() {
    let (run, mut scenarios) = testing::run();
    let cell = &mut scenarios[0].cells[0];
    let throughput = cell.measurements.iter_mut().find(|one| one.metric == "ops_per_second").unwrap();
    (throughput.median, throughput.low, throughput.high) = (411_873.0, 403_123.0, 420_456.0);
    let label = cell.label.clone();
    let row = |text: &str| text.lines().find(|line| line.contains(&label)).unwrap().to_owned();
    assert!(row(&markdown(&run, &scenarios, Part::Whole)).contains("412 (403–420)"));
    assert!(row(&human(&run, &scenarios, Part::Whole)).contains("412"));
    let value = json(&run, &scenarios, Part::Whole);
    assert_eq!(value["cells"][0]["measurements"][0]["median"], 411_873.0);
    assert!(value["cells"][0].get("trials").is_none());
}

#[test]
fn the_headline_is_a_few_points_of_the_same() {
    let (run, scenarios) = testing::run();
    let whole = markdown(&run, &scenarios, Part::Whole);
    let headline = markdown(&run, &scenarios, Part::Headline);
    let rows = |text: &str| -> Vec<String> {
        text.lines()
            .filter(|line| line.starts_with("| "))
            .map(|line| line.split_whitespace().collect())
            .collect()
    };
    assert!(rows(&headline).len() < rows(&whole).len() / 3);
    // The table of memory-cap has a column less where none of the shown cells fills it.
    let of_wire =
        |rows: Vec<String>| rows.into_iter().filter(|row| row.contains("ET64B,")).collect::<Vec<_>>();
    let (few, all) = (of_wire(rows(&headline)), of_wire(rows(&whole)));
    assert!(few.len() >= 20 && few.iter().all(|row| all.contains(row)), "{headline}");
    assert!(!headline.contains("wire-mixed") && headline.contains("startup"));
}

#[test]
fn a_ceiling_is_marked_and_explained_once_per_table() {
    let (run, scenarios) = testing::run();
    let text = markdown(&run, &scenarios[..1], Part::Whole);
    assert!(text.lines().any(|line| line.contains("null") && line.contains('†')), "{text}");
    assert_eq!(text.matches("load generator at its ceiling").count(), 1);
}

#[test]
fn doubtful_rows_are_marked_and_explained_once_per_table() {
    let (run, mut scenarios) = testing::run();
    let place = scenarios[0].cells.iter().position(|cell| cell.status == Status::Ok).unwrap();
    let row = |scenarios: &[ScenarioRecord]| {
        let text = markdown(&run, &scenarios[..1], Part::Whole);
        let label = &scenarios[0].cells[place].label;
        let row = text.lines().find(|line| line.contains(label.as_str())).unwrap().to_owned();
        (row, text)
    };
    let (plain, text) = row(&scenarios);
    assert!(!plain.contains(['‡', '§', '¶']) && !text.contains(['‡', '§', '¶']), "{text}");
    for trial in &mut scenarios[0].cells[place].trials {
        trial.os = Some(OsStat { foreign_cpu_cores: 1.8, ..OsStat::default() });
        trial.facts.insert("late_sender".to_owned(), "0.4 of 1 ms".into());
        trial.facts.insert("regime".to_owned(), "two rates".into());
    }
    let (marked, text) = row(&scenarios);
    assert!(marked.contains("‡§¶"), "{marked}");
    for legend in ["‡ disturbed: ", "§ load generator late: ", "¶ several regimes "] {
        assert_eq!(text.matches(legend).count(), 1, "{legend} in {text}");
    }
    assert!(text.contains(&format!("more than {DISTURBED_CORES} cores")), "the limit is said: {text}");
    let page = html(&run, &scenarios[..1], Part::Whole).unwrap();
    assert!(page.contains("‡§¶") && page.contains("§ load generator late"), "the page has them too");
    assert!(human(&run, &scenarios[..1], Part::Whole).contains("‡ disturbed: "));
}

#[test]
fn a_last_window_of_a_few_milliseconds_is_no_bar() {
    let (run, mut scenarios) = testing::run();
    let cell = scenarios[0].cells.iter_mut().find(|cell| cell.status == Status::Ok).unwrap();
    let window = |second: u32, length_ms: f64, operations: u64| Window {
        start_ms: f64::from(second) * 1_000.0,
        length_ms,
        operations,
        ..Window::default()
    };
    let bars = |cell: &mut crate::model::Cell, last: f64| {
        let trial = cell.trials.iter_mut().find(|trial| trial.status == Status::Ok).unwrap();
        trial.windows = (0..6).map(|second| window(second, 1_000.0, 1_000)).collect();
        // Sixteen times the rate of the others.
        trial.windows.push(window(6, last, last as u64 * 16));
    };
    for (last, line) in [(4.0, "██████"), (249.0, "██████"), (251.0, "▁▁▁▁▁▁█")]
    {
        bars(cell, last);
        let record = ScenarioRecord { cells: vec![cell.clone()], ..testing::run().1[0].clone() };
        let text = human(&run, std::slice::from_ref(&record), Part::Whole);
        assert!(text.lines().any(|row| row.trim_end().ends_with(&format!(" {line}"))), "{last}: {text}");
        let page = html(&run, std::slice::from_ref(&record), Part::Whole).unwrap();
        assert!(page.contains(&format!("{} values", line.chars().count())), "{last}");
    }
}

#[test]
fn names_and_reasons_of_other_programs_are_no_markup() {
    let (run, mut scenarios) = testing::run();
    let cell = &mut scenarios[0].cells[0];
    cell.status = Status::Failed;
    cell.reason = Some("<script>alert(1)</script> | [click](https://example.org)\n| a | row |".into());
    cell.measurements.clear();
    let text = markdown(&run, &scenarios, Part::Whole);
    assert!(
        !text.contains("<script>") && !text.contains("[click]") && !text.contains("\n| a | row"),
        "{text}"
    );
    assert!(text.contains("\\<script\\>alert(1)"));
}

#[test]
fn classes_never_share_a_table_and_floors_stand_beside_the_servers() {
    let (mut run, scenarios) = testing::run();
    let rival = run.targets.iter_mut().find(|one| one.key == "redis-server").unwrap();
    rival.transport = "in_process".into();
    let text = markdown(&run, &scenarios[..1], Part::Whole);
    let tables: Vec<&str> = text.split("\n**").skip(1).collect();
    assert_eq!(tables.len(), 2, "{text}");
    let table = |words: &str| *tables.iter().find(|one| one.contains(words)).expect(words);
    let (servers, embedded) = (table(", over a socket, volatile"), table(", in process, volatile"));
    assert!(
        servers.contains("| plumbkv") && servers.contains("| null") && !servers.contains("| redis-server")
    );
    assert!(embedded.contains("| redis-server") && !embedded.contains("| plumbkv"));
    let page = html(&run, &scenarios[..1], Part::Whole).unwrap();
    assert!(page.contains("<h3>in process, volatile</h3>"), "the page has a heading for each class");
}
