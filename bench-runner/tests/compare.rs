//! How often does `compare` call a change in a program that is the same file on both sides? All pairs of published runs.

use bench_runner::compare::{Controls, Stored, judge, other_machine, paired};
use bench_runner::export::{read_index, read_indexed_run};
use bench_runner::model::{Run, ScenarioRecord};
use std::path::Path;

/// Share of calls that is promised at most.
const MOST_CALLED: f64 = 0.02;

#[test]
fn unchanged_programs_of_the_published_runs_are_seldom_called_changed() {
    let results = Path::new(env!("CARGO_MANIFEST_DIR")).join("../results");
    let index = read_index(&results.join("index.json")).unwrap();
    let listed =
        index.versions.iter().flat_map(|version| &version.machines).flat_map(|machine| &machine.runs);
    let runs: Vec<(Run, Vec<ScenarioRecord>)> =
        listed.map(|run| read_indexed_run(&results, run).unwrap()).collect();
    let mut all = Controls::default();
    for (at, (run, scenarios)) in runs.iter().enumerate() {
        let first = [Stored { run, scenarios }];
        for (run, scenarios) in &runs[at + 1..] {
            let second = [Stored { run, scenarios }];
            if other_machine(&first, &second).is_some() {
                continue;
            }
            let (_, controls) = judge(&paired(&first, &second).0, None);
            all.judged += controls.judged;
            all.moved += controls.moved;
            all.called += controls.called;
        }
    }
    println!("{all:?}");
    assert!(all.judged > 300, "few figures are compared: {all:?}");
    assert!(all.moved as f64 > 0.1 * all.judged as f64, "by their own intervals many differ: {all:?}");
    assert!(all.called as f64 <= MOST_CALLED * all.judged as f64, "{all:?}");
}
