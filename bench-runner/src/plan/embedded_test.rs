//! Which cells do driver programs have, is each store loaded before it is read, and how often is it loaded?

use super::cells::Who;
use super::driven::{EmbeddedWork, Pace, StoreUse};
use super::embedded::{Common, embedded_units};
use super::step::Work;
use super::{Plan, Request, Step, build, disk_bytes, step_seconds};
use crate::model::{Mode, Placement, Profile};
use crate::scenario::{PROFILES, Scenario};
use plumbkv_bench_driver::protocol::{Distribution, Order, Phase, Ycsb};
use std::collections::BTreeSet;

fn scenario(head: &str, sections: &str) -> Scenario {
    let text = format!(
        "key = \"x\"\ntitle = \"x\"\nkind = \"embedded\"\nrevision = 1\nplace = 1\nstresses = \"x\"\nanalysis = \"x\"\n\
         validity = \"x\"\nnot_measured = \"x\"\n{head}[[targets]]\nkey = \"redb\"\nmodes = [\"native\"]\n\
         [[targets]]\nkey = \"fjall\"\nmodes = [\"native\"]\n{sections}"
    );
    Scenario::parse("x.toml", &text).unwrap()
}

fn works(sections: &str) -> Vec<EmbeddedWork> {
    let scenario = scenario("", sections);
    let who = Who { target: "redb", mode: Mode::Native, profile: Profile::Smoke };
    let common = Common { pinned: true, store_seed: 5, pace: Pace::default(), trials: 1 };
    let units = embedded_units(&scenario.definition().embedded, who, common);
    units
        .into_iter()
        .map(|unit| match unit.work {
            Work::Embedded { work } => *work,
            other => panic!("{other:?}"),
        })
        .collect()
}

fn planned(scenarios: &[Scenario], profile: Profile) -> Plan {
    let pace = |_: &str| Pace::default();
    build(&Request { scenarios, profile, seed: 7, pinned: true, admits: &|_, _| true, pace: &pace })
}

fn work(step: &Step) -> Option<&EmbeddedWork> {
    match &step.work {
        Work::Embedded { work } => Some(work),
        _ => None,
    }
}

fn operations(work: &EmbeddedWork) -> Vec<&str> {
    work.parts.iter().map(|part| part.cell.axes.operation.as_str()).collect()
}

const RECORDS: &str = "records = { smoke = 5_000, quick = 6_000, full = 7_000 }\nvalue_bytes = [100]\n";

#[test]
fn every_combination_is_a_cell_of_its_own() {
    let all = works(&format!(
        "[[embedded]]\noperation = \"read_random\"\ndistribution = [\"uniform\", \"zipf\"]\ncache_bytes = [0, 1_048_576]\n{RECORDS}"
    ));
    let keys: Vec<&str> = all.iter().map(|work| work.parts[0].cell.key.as_str()).collect();
    assert_eq!(
        keys,
        [
            "redb/native/apart/read_random-100B-c1-k5000-cache0",
            "redb/native/apart/read_random-100B-c1-k5000-cache1048576",
            "redb/native/apart/read_random-100B-c1-k5000-cache0-zipf",
            "redb/native/apart/read_random-100B-c1-k5000-cache1048576-zipf",
        ]
    );
    assert_eq!(all[3].parts[0].cell.label, "Zipf reads of 5k × 100 B, 1 MiB cache, 1 client");
    assert!(matches!(
        all[3].parts[0].measured.as_slice(),
        [Phase::ReadRandom { distribution: Distribution::Zipf, threads: 1, absent: false, .. }]
    ));
}

#[test]
fn a_store_is_loaded_and_warmed_up_before_it_is_read_and_empty_before_it_is_loaded() {
    let read = works(&format!("[[embedded]]\noperation = \"read_ordered\"\n{RECORDS}"));
    assert!(matches!(read[0].before.as_slice(), [Phase::Load { order: Order::Random, batch: 1_000, .. }]));
    assert!(matches!(read[0].parts[0].before.as_slice(), [Phase::ReadOrdered { .. }]));
    let load = works(&format!("[[embedded]]\noperation = \"load\"\norder = [\"sequential\"]\n{RECORDS}"));
    assert!(load[0].before.is_empty() && load[0].parts[0].before.is_empty());
    assert!(matches!(load[0].parts[0].measured.as_slice(), [Phase::Load { .. }, Phase::Settle]));
    assert_eq!(load[0].parts[0].cell.axes.distribution.as_deref(), Some("sequential"));
}

#[test]
fn a_get_stands_at_the_point_of_the_axes_of_a_servers_get() {
    let get = works(&format!("[[embedded]]\noperation = \"get\"\nclients = [1, 50]\n{RECORDS}"));
    assert_eq!(get[1].parts[0].cell.key, "redb/native/apart/get-100B-c50-p1");
    assert_eq!(get[1].parts[0].cell.label, "GET 100 B, 50 clients");
}

#[test]
fn cells_that_open_a_stored_directory_alike_share_a_process_and_others_do_not() {
    let kept = format!("store = \"kept\"\n{RECORDS}");
    let all = works(&format!(
        "[[embedded]]\noperation = \"read_random\"\ndistribution = [\"uniform\"]\ncache_bytes = [0, 1_048_576]\n{kept}\
         [[embedded]]\noperation = \"read_absent\"\ncache_bytes = [1_048_576]\n{kept}\
         [[embedded]]\noperation = \"scan\"\ncache_bytes = [1_048_576]\nmemory_limit_bytes = 33_554_432\n{kept}"
    ));
    let shared: Vec<Vec<&str>> = all.iter().map(operations).collect();
    assert_eq!(shared, [vec!["read_random"], vec!["read_random", "read_absent"], vec!["scan"]]);
    assert!(all.iter().all(|work| work.before.is_empty() && matches!(work.store, StoreUse::Kept(_))));
    let labels: Vec<&str> = all.iter().map(|work| work.parts[0].cell.label.as_str()).collect();
    assert_eq!(labels[2], "100-record scans of 5k × 100 B, 1 MiB cache, 32 MiB limit");
}

#[test]
fn cells_with_as_many_trials_as_their_scenario_share_a_process_and_those_with_fewer_do_not() {
    let read = |trials: &str| {
        let read = "operation = \"read_random\"\ndistribution = [\"zipf\"]\nstore = \"kept\"";
        format!("[[embedded]]\n{read}\ncache_bytes = [1]\n{trials}{RECORDS}")
    };
    let both = |smoke: u32| {
        let absent = "[[embedded]]\noperation = \"read_absent\"\nstore = \"kept\"\ncache_bytes = [1]\n";
        let trials = format!("trials = {{ smoke = {smoke}, quick = 1, full = 1 }}\n");
        works(&format!("{}{absent}{RECORDS}", read(&trials)))
    };
    assert_eq!(both(1).len(), 1, "one process for both");
    assert_eq!(both(2).len(), 2);
}

#[test]
fn writes_work_on_a_copy_after_merging_and_say_how_they_are_synced() {
    let all = works(&format!(
        "[[embedded]]\noperation = \"write\"\norder = [\"random\"]\nstore = \"copy\"\nbatch = [1]\nsync = [\"always\"]\n\
         clients = [1, 16]\n{RECORDS}"
    ));
    assert_eq!(all.len(), 1, "one process for both");
    assert!(matches!(all[0].store, StoreUse::Copy(_)));
    assert!(matches!(all[0].parts[1].before.as_slice(), [Phase::Settle, Phase::Write { threads: 16, .. }]));
    assert_eq!(all[0].parts[1].cell.key, "redb/native/apart/write-100B-c16-k5000-batch1-always");
    assert_eq!(
        all[0].parts[1].cell.label,
        "Random overwrites of 5k × 100 B, one by one, each synced, 16 writers"
    );
}

#[test]
fn merging_everything_is_three_cells_of_one_process_and_a_kill_comes_before_an_opening() {
    let all = works(&format!("[[embedded]]\noperation = \"compact\"\ncache_bytes = [0]\n{RECORDS}"));
    assert_eq!(operations(&all[0]), ["read_before", "compact", "read_after"]);
    let open = works(&format!(
        "[[embedded]]\noperation = \"open\"\nflush_every = 50\nhold_merges = true\nkilled = true\n{RECORDS}"
    ));
    assert!(open[0].killed && open[0].engine.hold_merges && open[0].parts[0].measured.is_empty());
    assert!(matches!(
        open[0].before.as_slice(),
        [Phase::Load { flush_every: Some(50), .. }, Phase::Write { .. }]
    ));
    assert_eq!(operations(&open[0]), ["open_killed"]);
}

#[test]
fn what_deletes_and_what_is_watched_has_the_phases_that_its_figures_need() {
    let all = works(&format!(
        "[[embedded]]\noperation = \"queue\"\nwindow = 50\nrest_seconds = {{ smoke = 2, quick = 3, full = 4 }}\n\
         seconds = {{ smoke = 1, quick = 1, full = 100 }}\n{RECORDS}\
         [[embedded]]\noperation = \"delete_range\"\nstore = \"copy\"\n{RECORDS}\
         [[embedded]]\noperation = \"overwrite\"\nrounds = 3\n{RECORDS}\
         [[embedded]]\noperation = \"sustained_write\"\nbatch = [1]\nclients = [2]\n\
         seconds = {{ smoke = 300, quick = 1, full = 1 }}\n{RECORDS}"
    ));
    let labels: Vec<&str> = all.iter().map(|work| work.parts[0].cell.label.as_str()).collect();
    assert_eq!(
        labels,
        [
            "Queue of 50 records, for 5k × 100 B",
            "Deletion of a range of 80 % of 5k × 100 B",
            "3 rounds of overwrites of 5k × 100 B",
            "Sustained random writes of 5k × 100 B, one by one, 2 writers",
        ]
    );
    let [queue, delete, overwrite, sustained] = all.as_slice() else { panic!("{all:?}") };
    assert!(queue.before.is_empty());
    assert!(matches!(
        queue.parts[0].measured.as_slice(),
        [Phase::Queue { window: 50, .. }, Phase::EmptyScan { .. }]
    ));
    assert!(matches!(delete.store, StoreUse::Copy(_)));
    // A tenth stays on either side.
    assert!(matches!(
        delete.parts[0].measured.as_slice(),
        [Phase::DeleteRange { first: 500, records: 4_000 }, Phase::Settle]
    ));
    assert!(matches!(overwrite.before.as_slice(), [Phase::Load { .. }, Phase::Settle]));
    assert!(matches!(
        overwrite.parts[0].measured.as_slice(),
        [Phase::Write { watched: true, until, .. }, Phase::Settle] if until.operations == 15_000
    ));
    assert!(sustained.before.is_empty() && sustained.timeout_s > 300.0, "{}", sustained.timeout_s);
    assert!(matches!(
        sustained.parts[0].measured.as_slice(),
        [Phase::Write { watched: true, threads: 2, batch: 1, .. }]
    ));
}

fn kept_reads() -> Scenario {
    let kept = format!("store = \"kept\"\n{RECORDS}");
    scenario(
        "trials = { smoke = 1, quick = 3, full = 6 }\n",
        &format!(
            "[[embedded]]\noperation = \"read_random\"\ndistribution = [\"uniform\", \"zipf\"]\ncache_bytes = [0, 1]\n{kept}\
             [[embedded]]\noperation = \"ycsb_e\"\nstore = \"copy\"\n{RECORDS}\
             [[embedded]]\noperation = \"ycsb_a\"\nstore = \"copy\"\n{RECORDS}"
        ),
    )
}

#[test]
fn a_directory_is_loaded_once_before_its_readers_and_let_go_after_the_last() {
    let plan = planned(&[kept_reads()], Profile::Full);
    for target in ["redb", "fjall"] {
        let own: Vec<&Step> = plan.steps.iter().filter(|step| step.target == target).collect();
        let stocks: Vec<usize> = own
            .iter()
            .enumerate()
            .filter(|(_, step)| matches!(step.work, Work::Stock { .. }))
            .map(|it| it.0)
            .collect();
        assert_eq!(stocks, [0], "one load, before everything else");
        assert_eq!(own[0].placement, Placement::Unpinned);
        let readers: Vec<&EmbeddedWork> = own.iter().filter_map(|step| work(step)).collect();
        assert_eq!(readers.len(), 6 * 3);
        let lets_go: Vec<bool> = readers.iter().map(|work| work.releases).collect();
        assert_eq!(lets_go.iter().filter(|it| **it).count(), 1);
        assert_eq!(lets_go.last(), Some(&true));
        let seeds: BTreeSet<u64> = own.iter().map(|step| step.seed).collect();
        assert_eq!(seeds.len(), 1, "the values are those that were loaded");
        let draws: BTreeSet<u64> = readers.iter().map(|work| work.draw_seed).collect();
        assert_eq!(draws.len(), 6, "keys are drawn anew in each trial");
    }
    // Both are loaded before either is read: trials of one round are next to each other.
    assert!(plan.steps[..2].iter().all(|step| matches!(step.work, Work::Stock { .. })));
}

#[test]
fn a_tree_s_directories_are_loaded_in_the_order_that_targets_toml_gives() {
    let pace = |target: &str| Pace {
        kept: if target == "redb" { Order::Sequential } else { Order::Random },
        ..Pace::default()
    };
    let scenarios = [kept_reads()];
    let admits = |_: &str, _| true;
    let request = Request {
        scenarios: &scenarios,
        profile: Profile::Full,
        seed: 7,
        pinned: true,
        admits: &admits,
        pace: &pace,
    };
    let plan = build(&request);
    let labels: Vec<(&str, &str, f64)> = plan
        .steps
        .iter()
        .filter_map(|step| match &step.work {
            Work::Stock { stock } => {
                Some((step.target.as_str(), stock.cell.label.as_str(), step_seconds(step)))
            }
            _ => None,
        })
        .collect();
    let of = |target: &str| *labels.iter().find(|it| it.0 == target).unwrap();
    assert_eq!(of("redb").1, "Sequential load of 7k × 100 B, kept for what follows");
    assert_eq!(of("fjall").1, "Random load of 7k × 100 B, kept for what follows");
    assert!(of("redb").2 < of("fjall").2);
}

#[test]
fn which_cell_goes_first_changes_and_what_inserts_is_last() {
    let plan = planned(&[kept_reads()], Profile::Full);
    let mut first = BTreeSet::new();
    for work in plan.steps.iter().filter_map(work) {
        match work.store {
            StoreUse::Kept(_) => {
                first.insert(work.parts[0].cell.key.clone());
            }
            _ => assert_eq!(operations(work), ["ycsb_a", "ycsb_e"]),
        }
        assert!(!matches!(work.parts[0].measured[0], Phase::Ycsb { workload: Ycsb::E, .. }));
    }
    assert_eq!(first.len(), 2 * 2 * 2, "each cell of each process begins once");
}

#[test]
fn measured_once_each_directory_goes_before_the_next_targets_comes() {
    let plan = planned(&[kept_reads()], Profile::Smoke);
    let targets: Vec<&str> = plan.steps.iter().map(|step| step.target.as_str()).collect();
    assert_eq!(targets, ["fjall", "fjall", "fjall", "fjall", "redb", "redb", "redb", "redb"]);
    let one = Pace::default();
    let records = match &plan.steps[0].work {
        Work::Stock { stock } => stock.key.records,
        other => panic!("{other:?}"),
    };
    // At most one directory and a copy of it.
    assert_eq!(plan.disk_bytes(), one.disk_bytes(&records) + one.disk_bytes_loading(&records));
    let both = planned(&[kept_reads()], Profile::Full);
    assert!(both.disk_bytes() > plan.disk_bytes() * 5 / 4);
    assert_eq!(disk_bytes(&[]), 0);
}

fn durable() -> Vec<Scenario> {
    [
        ("load", include_str!("../../scenarios/load.toml")),
        ("read-random", include_str!("../../scenarios/read-random.toml")),
        ("read-disk", include_str!("../../scenarios/read-disk.toml")),
        ("read-ordered", include_str!("../../scenarios/read-ordered.toml")),
        ("scan", include_str!("../../scenarios/scan.toml")),
        ("read-concurrent", include_str!("../../scenarios/read-concurrent.toml")),
        ("write", include_str!("../../scenarios/write.toml")),
        ("value-size", include_str!("../../scenarios/value-size.toml")),
        ("mixed", include_str!("../../scenarios/mixed.toml")),
        ("low-memory", include_str!("../../scenarios/low-memory.toml")),
        ("compaction", include_str!("../../scenarios/compaction.toml")),
        ("open", include_str!("../../scenarios/open.toml")),
        ("flush", include_str!("../../scenarios/flush.toml")),
        ("read-families", include_str!("../../scenarios/read-families.toml")),
        ("queue", include_str!("../../scenarios/queue.toml")),
        ("delete-range", include_str!("../../scenarios/delete-range.toml")),
        ("overwrite-space", include_str!("../../scenarios/overwrite-space.toml")),
        ("sustained-write", include_str!("../../scenarios/sustained-write.toml")),
    ]
    .into_iter()
    .map(|(key, text)| Scenario::parse(&format!("{key}.toml"), text).unwrap())
    .collect()
}

#[test]
fn the_durable_scenarios_have_cells_for_a_look_and_for_a_record_and_keep_to_their_time() {
    let of =
        |plan: &Plan| -> BTreeSet<String> { plan.steps.iter().map(|step| step.scenario.clone()).collect() };
    let [smoke, quick, release, full] = PROFILES.map(|profile| planned(&durable(), profile));
    for plan in [&smoke, &quick, &release, &full] {
        assert_eq!(of(plan).len(), 18);
        let mut keys = BTreeSet::new();
        for step in plan.steps.iter().filter(|step| step.trial == 0) {
            for cell in step.work.cells() {
                assert!(keys.insert((step.scenario.clone(), cell.key.clone())), "{} twice", cell.key);
            }
        }
        for work in plan.steps.iter().filter_map(work) {
            assert!(
                !matches!(work.store, StoreUse::Kept(_)) || !work.loads(),
                "a kept directory is only read"
            );
        }
    }
    let seconds = |plan: &Plan| plan.steps.iter().map(step_seconds).sum::<f64>();
    assert!(seconds(&smoke) <= 40.0, "smoke: {:.0} s", seconds(&smoke));
}

#[test]
fn a_hundred_million_records_are_measured_only_by_name_and_target_by_target() {
    let text = include_str!("../../scenarios/load-100m.toml");
    let scenario = Scenario::parse("load-100m.toml", text).unwrap();
    assert!(scenario.definition().by_name);
    assert!(planned(std::slice::from_ref(&scenario), Profile::Quick).steps.is_empty());
    let plan = planned(&[scenario], Profile::Full);
    assert!(plan.steps.iter().all(|step| step.trial == 0));
    let stocks = plan.steps.iter().filter(|step| matches!(step.work, Work::Stock { .. })).count();
    assert_eq!(stocks, 3);
    let one = 100e6 * 116.0 * Pace::default().disk_per_byte;
    assert!((plan.disk_bytes() as f64) < 2.0 * one, "{} bytes at one time", plan.disk_bytes());
}
