use super::*;
use crate::export::testing;
use crate::model::{OpenLoop, OsStat, Profile, Spread};
use crate::stats::{Undecided, Word};

struct Side(Run, Vec<ScenarioRecord>);

impl Side {
    fn new() -> Self {
        let (run, mut scenarios) = testing::run();
        let cells = scenarios.iter_mut().flat_map(|record| &mut record.cells);
        cells.flat_map(|cell| &mut cell.measurements).for_each(|one| one.spread = Spread::Interval);
        Self(run, scenarios)
    }

    fn stored(&self) -> [Stored<'_>; 1] {
        [Stored { run: &self.0, scenarios: &self.1 }]
    }
}

#[test]
fn other_machines_are_refused() {
    let one = Side::new();
    assert_eq!(other_machine(&one.stored(), &one.stored()), None);
    let mut other = Side::new();
    other.0.machine.fingerprint = "f2".into();
    assert!(other_machine(&one.stored(), &other.stored()).unwrap().contains("different machines"));
    let mut other = Side::new();
    other.0.machine.cpu_model = "another".into();
    assert!(other_machine(&one.stored(), &other.stored()).unwrap().contains("another"));
}

#[test]
fn cells_without_a_like_partner_are_left_out_with_the_reason() {
    let reasons = |change: fn(&mut Side)| -> Vec<String> {
        let (one, mut other) = (Side::new(), Side::new());
        change(&mut other);
        let (_, left) = paired(&one.stored(), &other.stored());
        left.into_iter().map(|left| format!("{} {}", left.scenario, left.reason)).collect()
    };
    let has = |all: &[String], wanted: &str| all.iter().any(|one| one.contains(wanted));
    let usual = reasons(|_| ());
    assert!(usual.iter().all(|one| one.contains("without a figure")), "{usual:?}");
    assert!(has(&reasons(|side| side.0.profile = Profile::Smoke), "other profiles, "));
    assert!(has(&reasons(|side| side.1[0].scenario.revision += 1), "its definition is another one"));
    assert!(has(&reasons(|side| _ = side.1.pop()), "only one side has it"));
    assert!(has(&reasons(|side| side.1[0].cells.retain(|cell| cell.key.is_empty())), "only one side has it"));
    // Whatever is offered, the figures of an open loop are of that rate.
    let offered = |rate: f64| {
        let mut side = Side::new();
        for trial in side.1.iter_mut().flat_map(|record| &mut record.cells).flat_map(|cell| &mut cell.trials)
        {
            trial.open_loop = Some(OpenLoop {
                arrival: "fixed".into(),
                offered_per_second: rate,
                achieved_per_second: rate,
                due: 1,
                skipped: 0,
                in_flight_bound: 1,
                in_flight_max: 1,
                send_delay_ns_max: 0,
            });
        }
        side
    };
    for (rate, is_other) in [(10_000.0, false), (10_100.0, false), (10_300.0, true), (9_700.0, true)] {
        let (one, other) = (offered(10_000.0), offered(rate));
        let (pairs, left) = paired(&one.stored(), &other.stored());
        let found = left.iter().any(|left| left.reason.starts_with("offered at other rates, 10000 and "));
        assert!(found == is_other && pairs.is_empty() == is_other, "{rate}: {left:?}");
    }
}

#[test]
fn cells_that_were_measured_beside_something_else_are_not_judged() {
    let beside = |cores: f64| {
        let mut side = Side::new();
        for trial in side.1.iter_mut().flat_map(|record| &mut record.cells).flat_map(|cell| &mut cell.trials)
        {
            trial.os = Some(OsStat { foreign_cpu_cores: cores, ..OsStat::default() });
        }
        side
    };
    let (quiet, busy) = (beside(0.1), beside(1.8));
    assert!(!paired(&quiet.stored(), &quiet.stored()).0.is_empty());
    for (first, second, words) in [(&busy, &quiet, "in the first run"), (&quiet, &busy, "in the second run")]
    {
        let (pairs, left) = paired(&first.stored(), &second.stored());
        assert!(pairs.is_empty(), "{pairs:?}");
        let said = left.iter().filter(|left| left.reason.starts_with("disturbed: others used 1.80 cores"));
        let said: Vec<_> = said.collect();
        assert!(!said.is_empty() && said.iter().all(|left| left.reason.ends_with(words)), "{left:?}");
    }
}

#[test]
fn of_several_runs_the_pair_that_was_measured_alike_longest_and_newest_counts() {
    let of = |profile, started: &str| {
        let mut side = Side::new();
        side.1.retain(|record| record.scenario.key == "startup");
        (side.0.profile, side.0.started_at) = (profile, started.to_owned());
        started.clone_into(&mut side.1[0].cells[0].label);
        side
    };
    let firsts = [of(Profile::Quick, "1"), of(Profile::Full, "2"), of(Profile::Full, "3")];
    let seconds = [of(Profile::Full, "4"), of(Profile::Full, "5"), of(Profile::Quick, "6")];
    let all = |sides: &[Side]| -> Vec<Stored<'static>> {
        // Leaked: a side borrows from the test.
        sides
            .iter()
            .map(|side| Stored { run: Box::leak(Box::new(side.0.clone())), scenarios: side.1.clone().leak() })
            .collect()
    };
    let (pairs, _) = paired(&all(&firsts), &all(&seconds));
    assert_eq!((pairs[0].first.label.as_str(), pairs[0].second.label.as_str()), ("3", "5"));
}

/// Ten programs in one scenario, each with one figure; `moved` is what the figure of each became.
fn ten(moved: &[f64; 10], unchanged: usize) -> Vec<(f64, Word)> {
    let (_, scenarios) = testing::run();
    let record = scenarios.iter().find(|record| record.scenario.key == "wire-single").unwrap();
    let base = record.cells.iter().find(|cell| cell.status == crate::model::Status::Ok).unwrap();
    let cells = |by: &dyn Fn(usize) -> f64| -> Vec<_> {
        (0..10)
            .map(|number| {
                let mut cell = base.clone();
                cell.target = format!("program {number}");
                cell.measurements.retain(|one| one.metric == "ops_per_second");
                for one in &mut cell.measurements {
                    let median = 1000.0 * by(number);
                    (one.low, one.median, one.high) = (median * 0.999, median, median * 1.001);
                    one.spread = Spread::Interval;
                }
                cell
            })
            .collect()
    };
    let (firsts, seconds) = (cells(&|_| 1.0), cells(&|number| moved[number]));
    let pairs: Vec<Pair<'_>> = firsts
        .iter()
        .zip(&seconds)
        .enumerate()
        .map(|(number, (first, second))| Pair {
            scenario: "wire-single",
            first,
            second,
            is_unchanged: number < unchanged,
        })
        .collect();
    judge(&pairs, None)
        .0
        .into_iter()
        .map(|row| (row.beside.map_or(0.0, |span| span.ratio), row.word))
        .collect()
}

#[test]
fn a_slower_machine_is_no_slower_program() {
    // All moved by a fifth, the last one by another fifth.
    let rows = ten(&[0.80, 0.81, 0.79, 0.80, 0.82, 0.80, 0.78, 0.80, 0.81, 0.64], 9);
    assert!(rows[..9].iter().all(|(_, word)| *word == Word::Undecided(Undecided::Moved)), "{rows:?}");
    assert!(rows[9].1 == Word::Worse && (rows[9].0 - 0.8).abs() < 0.01, "{rows:?}");
    // One that only moved with the machine.
    let rows = ten(&[0.80, 0.81, 0.79, 0.80, 0.82, 0.80, 0.78, 0.80, 0.81, 0.80], 9);
    assert_eq!(rows[9].1, Word::Undecided(Undecided::Moved));
    // One that stayed where all others lost.
    let rows = ten(&[0.80, 0.81, 0.79, 0.80, 0.82, 0.80, 0.78, 0.80, 0.81, 1.00], 9);
    assert_eq!(rows[9].1, Word::Better);
}

#[test]
fn few_unchanged_programs_say_nothing_and_those_that_change_beside_each_other_end_it() {
    let rows = ten(&[1.0, 1.0, 1.0, 1.0, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5], 4);
    assert!(rows[4..].iter().all(|(_, word)| *word == Word::Undecided(Undecided::FewControls)), "{rows:?}");
    // Nine that are the same, of which three moved: the last one is judged by nothing.
    let moved = [1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 0.3];
    assert_eq!(ten(&moved, 9)[9].1, Word::Worse);
}
