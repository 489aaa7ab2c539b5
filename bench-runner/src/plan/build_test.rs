//! What every plan keeps, whatever the selection and the seed.

use super::{Plan, Request, Step, Work, build};
use crate::model::{Mode, Placement, Profile};
use crate::scenario::{PROFILES, Rules, Scenario};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

fn catalogue() -> Vec<Scenario> {
    [
        ("wire-single", include_str!("../../scenarios/wire-single.toml")),
        ("wire-concurrency", include_str!("../../scenarios/wire-concurrency.toml")),
        ("wire-mixed", include_str!("../../scenarios/wire-mixed.toml")),
        ("wire-pipeline", include_str!("../../scenarios/wire-pipeline.toml")),
        ("memory-cap", include_str!("../../scenarios/memory-cap.toml")),
        ("startup", include_str!("../../scenarios/startup.toml")),
    ]
    .into_iter()
    .map(|(key, text)| Scenario::parse(&format!("{key}.toml"), text).unwrap())
    .collect()
}

fn plan(profile: Profile, seed: u64) -> Plan {
    build(&Request { scenarios: &catalogue(), profile, seed, pinned: true, admits: &|_, _| true })
}

/// Cells of a step with the scenario they belong to.
fn cells(step: &Step) -> Vec<(String, String)> {
    step.work.cells().into_iter().map(|cell| (step.scenario.clone(), cell.key.clone())).collect()
}

fn profiles() -> impl Strategy<Value = Profile> {
    prop::sample::select(PROFILES.to_vec())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn every_cell_gets_exactly_its_trials(profile in profiles(), seed in 0u64..1 << 53) {
        let mut trials: BTreeMap<_, Vec<u32>> = BTreeMap::new();
        for step in plan(profile, seed).steps {
            for cell in cells(&step) {
                trials.entry(cell).or_default().push(step.trial);
            }
        }
        let expected: Vec<u32> = (0..Rules::of(profile).trials).collect();
        for (cell, mut seen) in trials {
            seen.sort_unstable();
            prop_assert_eq!(&seen, &expected, "{:?}", cell);
        }
    }

    #[test]
    fn no_target_is_always_first(seed in 0u64..1 << 53) {
        let plan = plan(Profile::Quick, seed);
        for scenario in catalogue() {
            let firsts: BTreeSet<_> = (0..3)
                .filter_map(|trial| {
                    plan.steps.iter().find(|step| step.scenario == scenario.key() && step.trial == trial)
                })
                .map(|step| step.target.clone())
                .collect();
            prop_assert!(firsts.len() > 1, "{}: {:?}", scenario.key(), firsts);
        }
    }

    #[test]
    fn no_phase_is_always_first_on_its_process(seed in 0u64..1 << 53) {
        let mut firsts: BTreeMap<_, BTreeSet<String>> = BTreeMap::new();
        for step in plan(Profile::Quick, seed).steps {
            if let Work::Wire { phases } = &step.work && phases.len() > 2 {
                let who = (step.scenario.clone(), step.target.clone(), step.mode, step.placement);
                firsts.entry(who).or_default().insert(phases[0].cell.key.clone());
            }
        }
        for (who, firsts) in firsts {
            prop_assert_eq!(firsts.len(), 3, "{:?}", who);
        }
    }

    #[test]
    fn all_targets_of_a_round_get_the_same_keys(profile in profiles(), seed in 0u64..1 << 53) {
        let mut seeds: BTreeMap<_, BTreeSet<u64>> = BTreeMap::new();
        for step in plan(profile, seed).steps {
            prop_assert!(step.seed < 1 << 53);
            seeds.entry((step.scenario.clone(), step.trial)).or_default().insert(step.seed);
        }
        prop_assert!(seeds.values().all(|seeds| seeds.len() == 1));
        let distinct: BTreeSet<_> = seeds.values().flatten().collect();
        prop_assert_eq!(distinct.len(), seeds.len(), "each scenario and trial draws its own keys");
    }

    #[test]
    fn the_same_request_gives_the_same_plan(profile in profiles(), seed in 0u64..1 << 53) {
        prop_assert_eq!(plan(profile, seed), plan(profile, seed));
    }
}

#[test]
fn positions_are_the_order_and_cell_keys_are_unique() {
    for profile in PROFILES {
        let plan = plan(profile, 1);
        assert!(plan.steps.iter().enumerate().all(|(index, step)| step.position as usize == index));
        let first: Vec<_> = plan.steps.iter().filter(|step| step.trial == 0).flat_map(cells).collect();
        assert_eq!(first.iter().collect::<BTreeSet<_>>().len(), first.len());
        assert_eq!(first.len(), plan.cells());
    }
}

#[test]
fn quick_and_smoke_keep_their_promise_of_time() {
    let quick = plan(Profile::Quick, 1).seconds();
    assert!(quick <= 450.0, "quick takes {quick:.0} s by estimate: more than 7.5 minutes");
    let smoke = plan(Profile::Smoke, 1).seconds();
    assert!(smoke <= 40.0, "smoke takes {smoke:.0} s by estimate: CI gives it a minute in all");
}

#[test]
fn the_axes_of_the_catalogue_are_all_there() {
    let plan = plan(Profile::Quick, 1);
    let keys: BTreeSet<String> =
        plan.steps.iter().flat_map(cells).map(|(s, key)| format!("{s}:{key}")).collect();
    for key in [
        "wire-single:plumbkv/native/apart/set-64B-c1-p1",
        "wire-single:plumbkv/container_published/apart/get-64B-c1-p1",
        "wire-single:redis-server/native/together/get-64B-c1-p1",
        "wire-concurrency:null/native/apart/set-64B-c1000-p1",
        "wire-mixed:plumbkv/container_host/apart/mixed-64B-s90-c50-p1",
        "wire-pipeline:plumbkv/native/apart/get-64B-c40-p64",
        "memory-cap:redis-server/native/apart/fill-1024B-c1-cap2097152",
        "startup:plumbkv/container_host/apart/start",
    ] {
        assert!(keys.contains(key), "{key} is not in\n{keys:#?}");
    }
    let full = self::plan(Profile::Full, 1);
    let requests: BTreeSet<_> =
        full.steps.iter().flat_map(|step| step.work.cells()).filter_map(|cell| cell.axes.requests).collect();
    assert_eq!(requests, BTreeSet::from([10_000, 100_000, 1_000_000]));
}

#[test]
fn a_machine_with_one_cpu_measures_each_cell_once_and_says_unpinned() {
    let scenarios = catalogue();
    let request = Request {
        scenarios: &scenarios,
        profile: Profile::Quick,
        seed: 1,
        pinned: false,
        admits: &|_, _| true,
    };
    let plan = build(&request);
    assert!(plan.steps.iter().all(|step| step.placement == Placement::Unpinned));
    let first: Vec<_> = plan.steps.iter().filter(|step| step.trial == 0).flat_map(cells).collect();
    assert_eq!(first.iter().collect::<BTreeSet<_>>().len(), first.len());
}

#[test]
fn a_selection_leaves_out_the_rest() {
    let scenarios = catalogue();
    let admits = |target: &str, mode: Mode| target == "plumbkv" && mode == Mode::Native;
    let request =
        Request { scenarios: &scenarios, profile: Profile::Smoke, seed: 1, pinned: true, admits: &admits };
    let plan = build(&request);
    assert!(!plan.steps.is_empty());
    assert!(plan.steps.iter().all(|step| step.target == "plumbkv" && step.mode == Mode::Native));
}

#[test]
fn labels_say_the_point_in_words() {
    let labels: BTreeSet<String> = plan(Profile::Quick, 1)
        .steps
        .iter()
        .flat_map(|step| step.work.cells())
        .map(|cell| cell.label.clone())
        .collect();
    for label in [
        "SET 64 B, 1 client",
        "GET 64 B, 40 clients, depth 16",
        "1:1 SET:GET 1 KiB, 200 clients",
        "9:1 SET:GET 64 B, 50 clients",
        "4000 × 1 KiB into 2 MiB, then 3 MiB",
        "Overwrites growing 64 B to 4 KiB, 64 MiB cap",
        "Start to first right answer",
    ] {
        assert!(labels.contains(label), "{label} is not in\n{labels:#?}");
    }
}
