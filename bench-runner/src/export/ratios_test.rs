//! Is exactly that compared which differs in one thing, and only where a metric means the same in both?

use super::*;
use crate::export::assemble::measurements;
use crate::model::{Counts, OsStat, Placement, Trial, Value};
use std::collections::{BTreeMap, BTreeSet};

fn roles() -> HashMap<String, Role> {
    [("ours", Role::Subject), ("theirs", Role::Rival), ("floor", Role::Floor), ("null", Role::Ceiling)]
        .map(|(key, role)| (key.to_owned(), role))
        .into()
}

/// A cell of three trials, whose throughput is `rate` times 1, 2 and 4, and whose server was `busy`.
fn cell(target: &str, mode: Mode, axes: Axes, rate: f64, busy: f64) -> Cell {
    let trial = |index: u32| Trial {
        index,
        position: index,
        status: Status::Ok,
        reason: None,
        elapsed_s: 2.0,
        counts: Counts::default(),
        values: [
            ("ops_per_second", rate * f64::from(1 << index)),
            ("latency_ns_p99", 1e9 / rate),
            ("server_cpu_ns_per_op", 1e3),
            ("rss_bytes_peak", 5e6),
        ]
        .map(|(metric, value)| Value { metric: metric.to_owned(), operation: None, value })
        .into(),
        histograms: Vec::new(),
        windows: Vec::new(),
        open_loop: None,
        process: None,
        os: Some(OsStat { server_cpu_ns: (busy * 2e9) as u64, ..OsStat::default() }),
        facts: BTreeMap::new(),
    };
    let trials: Vec<Trial> = (0..3).map(trial).collect();
    Cell {
        key: format!("{target}/{mode:?}/{axes:?}"),
        target: target.to_owned(),
        mode,
        placement: Placement::Apart,
        axes,
        label: String::new(),
        status: Status::Ok,
        reason: None,
        measurements: measurements(&trials),
        distributions: Vec::new(),
        merged_histograms: Vec::new(),
        trials,
    }
}

fn axes() -> Axes {
    Axes { operation: "get".to_owned(), clients: Some(50), value_bytes: Some(64), ..Axes::default() }
}

/// Kind and metric of every ratio.
fn said(cells: &[Cell]) -> BTreeSet<(String, String)> {
    ratios(cells, &roles()).into_iter().map(|one| (one.kind, one.metric)).collect()
}

fn pairs(list: &[(&str, &str)]) -> BTreeSet<(String, String)> {
    list.iter().map(|(kind, metric)| ((*kind).to_owned(), (*metric).to_owned())).collect()
}

#[test]
fn a_rivals_cpu_time_is_compared_at_saturation_only() {
    let both = |busy: f64| {
        [cell("ours", Mode::Native, axes(), 10.0, 0.99), cell("theirs", Mode::Native, axes(), 5.0, busy)]
    };
    let always =
        pairs(&[("rival", "ops_per_second"), ("rival", "latency_ns_p99"), ("rival", "rss_bytes_peak")]);
    assert_eq!(said(&both(0.9)), always);
    let cpu = pairs(&[("rival", "server_cpu_ns_per_op")]);
    assert_eq!(said(&both(0.96)), always.union(&cpu).cloned().collect());
}

#[test]
fn at_an_equal_rate_cpu_time_and_latency_are_compared_and_at_percent_of_ones_own_nothing_is() {
    let open = |rate_per_second, rate_percent| {
        let axes = Axes { arrival: Some("poisson".to_owned()), rate_per_second, rate_percent, ..axes() };
        ["ours", "theirs"].map(|target| cell(target, Mode::Native, axes.clone(), 10.0, 0.3))
    };
    let equal =
        pairs(&[("rival", "latency_ns_p99"), ("rival", "server_cpu_ns_per_op"), ("rival", "rss_bytes_peak")]);
    assert_eq!(said(&open(Some(20_000), None)), equal);
    assert_eq!(said(&open(None, Some(50))), BTreeSet::new());
}

#[test]
fn floors_stand_below_ours_and_rivals_without_their_memory() {
    let cells =
        ["ours", "theirs", "floor", "null"].map(|target| cell(target, Mode::Native, axes(), 10.0, 0.5));
    let floors: Vec<_> = ratios(&cells, &roles()).into_iter().filter(|one| one.kind == "floor").collect();
    let metrics: BTreeSet<_> = floors.iter().map(|one| one.metric.as_str()).collect();
    assert_eq!(metrics, BTreeSet::from(["ops_per_second", "latency_ns_p99"]));
    // Ours and theirs, each against both floors, in two metrics.
    assert_eq!(floors.len(), 8);
    assert!(
        floors.iter().all(|one| one.denominator.starts_with("floor") || one.denominator.starts_with("null"))
    );
}

#[test]
fn every_step_of_the_ladder_is_compared_with_the_plain_process() {
    let modes = [Mode::Native, Mode::NativeLimited, Mode::ContainerHost, Mode::ContainerNoIoUring];
    let cells = modes.map(|mode| cell("ours", mode, axes(), 10.0, 0.5));
    let steps: BTreeSet<String> = ratios(&cells, &roles())
        .into_iter()
        .filter(|one| one.metric == "ops_per_second")
        .map(|one| {
            assert_eq!((one.kind.as_str(), one.denominator.as_str()), ("overhead", cells[0].key.as_str()));
            one.numerator
        })
        .collect();
    assert_eq!(steps, cells[1..].iter().map(|cell| cell.key.clone()).collect());
}

#[test]
fn a_switch_is_compared_with_the_same_cell_without_it() {
    let variant = Some("allocator=mimalloc".to_owned());
    let switched = cell("ours", Mode::Native, Axes { variant, ..axes() }, 12.0, 1.0);
    let other = cell("ours", Mode::Native, Axes { clients: Some(1), ..axes() }, 3.0, 1.0);
    let cells = [cell("ours", Mode::Native, axes(), 10.0, 1.0), switched, other];
    let found: Vec<_> = ratios(&cells, &roles())
        .into_iter()
        .filter(|one| one.kind == "variant" && one.metric == "ops_per_second")
        .collect();
    assert_eq!(found.len(), 1);
    assert_eq!((&found[0].numerator, &found[0].denominator), (&cells[1].key, &cells[0].key));
    assert!((found[0].median - 1.2).abs() < 1e-12 && found[0].n == 3);
}

#[test]
fn neighbours_in_clients_and_in_requests_are_compared_upwards() {
    let at = |clients, requests| {
        let axes = Axes { clients: Some(clients), requests, ..axes() };
        cell("theirs", Mode::Native, axes, f64::from(clients), 1.0)
    };
    let cells = [at(1_000, None), at(1, None), at(50, None), at(50, Some(500_000)), at(50, Some(100_000))];
    let of = |kind: &str| {
        let all = ratios(&cells, &roles());
        let place = |key: &str| cells.iter().position(|cell| cell.key == key).unwrap();
        all.into_iter()
            .filter(|one| one.kind == kind && one.metric == "ops_per_second")
            .map(|one| (place(&one.numerator), place(&one.denominator)))
            .collect::<BTreeSet<_>>()
    };
    assert_eq!(of("adjacent"), BTreeSet::from([(0, 2), (2, 1)]));
    assert_eq!(of("stability"), BTreeSet::from([(3, 4)]));
}

#[test]
fn a_cell_without_a_figure_is_compared_with_nothing() {
    let mut cells = ["ours", "theirs", "floor"].map(|target| cell(target, Mode::Native, axes(), 10.0, 1.0));
    cells[0].status = Status::Invalid;
    assert!(ratios(&cells, &roles()).iter().all(|one| one.kind == "floor"));
}
