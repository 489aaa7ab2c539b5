//! What every plan keeps, whatever the selection and the seed.

use super::{Offer, Pace, Plan, Request, Step, WirePhase, Work, build, step_seconds};
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
        ("wire-rate", include_str!("../../scenarios/wire-rate.toml")),
        ("wire-hot", include_str!("../../scenarios/wire-hot.toml")),
        ("wire-sustained", include_str!("../../scenarios/wire-sustained.toml")),
        ("wire-stability", include_str!("../../scenarios/wire-stability.toml")),
        ("container-ladder", include_str!("../../scenarios/container-ladder.toml")),
        ("variants", include_str!("../../scenarios/variants.toml")),
        ("memory-per-key", include_str!("../../scenarios/memory-per-key.toml")),
        ("expiry", include_str!("../../scenarios/expiry.toml")),
        ("wire-same-rate", include_str!("../../scenarios/wire-same-rate.toml")),
        ("wire-same-rate-tail", include_str!("../../scenarios/wire-same-rate-tail.toml")),
        ("memory-cap-hostile", include_str!("../../scenarios/memory-cap-hostile.toml")),
        ("wire-tail", include_str!("../../scenarios/wire-tail.toml")),
    ]
    .into_iter()
    .map(|(key, text)| Scenario::parse(&format!("{key}.toml"), text).unwrap())
    .collect()
}

fn plan(profile: Profile, seed: u64) -> Plan {
    let pace = |_: &str| Pace::default();
    build(&Request {
        scenarios: &catalogue(),
        profile,
        seed,
        pinned: true,
        admits: &|_, _| true,
        pace: &pace,
    })
}

fn rules(scenario: &str, profile: Profile) -> Rules {
    catalogue().iter().find(|one| one.key() == scenario).unwrap().rules(profile)
}

/// Trials that a cell of a scenario may have: those of the scenario, or of a section that has its own.
fn planned_trials(key: &str, profile: Profile) -> BTreeSet<u32> {
    let all = catalogue();
    let scenario = all.iter().find(|one| one.key() == key).unwrap();
    let definition = scenario.definition();
    let loads = definition.load.iter().map(|section| section.trials);
    let caps = definition.cap.iter().map(|section| section.trials);
    let per_key = definition.per_key.iter().map(|section| section.trials);
    let tails = definition.tail.iter().map(|section| section.trials);
    let own = loads.chain(caps).chain(per_key).chain(tails).flatten().map(|own| own.of(profile));
    own.chain([scenario.rules(profile).trials]).collect()
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
        for (cell, mut seen) in trials {
            seen.sort_unstable();
            let expected: Vec<u32> = (0..seen.len() as u32).collect();
            prop_assert_eq!(&seen, &expected, "{:?}", cell);
            let planned = planned_trials(&cell.0, profile);
            prop_assert!(planned.contains(&(seen.len() as u32)), "{cell:?}: {} of {planned:?}", seen.len());
        }
    }

    #[test]
    fn no_target_is_always_first(seed in 0u64..1 << 53) {
        let plan = plan(Profile::Quick, seed);
        let several = |scenario: &Scenario| {
            let targets: BTreeSet<_> = scenario.uses(Profile::Quick).into_iter().map(|(key, _)| key).collect();
            targets.len() > 1 && scenario.rules(Profile::Quick).trials == 3
        };
        for scenario in catalogue().into_iter().filter(several) {
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
            let free = |phases: &[WirePhase]| phases.iter().all(|phase| phase.offer == Offer::Replies);
            if let Work::Wire { phases } = &step.work
                && phases.len() > 2
                && free(phases)
                && rules(&step.scenario, Profile::Quick).trials == 3
            {
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
fn the_profiles_keep_their_promise_of_time() {
    // Two minutes under load last two minutes in every profile; nothing else takes long in quick.
    let quick = plan(Profile::Quick, 1);
    let quick =
        quick.steps.iter().filter(|step| step.scenario != "wire-sustained").map(step_seconds).sum::<f64>();
    assert!(quick <= 500.0, "quick takes {quick:.0} s by estimate");
    let smoke = plan(Profile::Smoke, 1).seconds();
    assert!(smoke <= 45.0, "smoke takes {smoke:.0} s by estimate: CI gives it a minute in all");
    let headline = ["wire-single", "wire-pipeline", "wire-rate", "memory-cap", "container-ladder"];
    let full: f64 = plan(Profile::Full, 1)
        .steps
        .iter()
        .filter(|step| headline.contains(&step.scenario.as_str()))
        .map(step_seconds)
        .sum();
    assert!(
        full <= 4_500.0,
        "the full headline scenarios take {full:.0} s by estimate: more than 75 minutes"
    );
    let cache = [
        "wire-same-rate",
        "wire-same-rate-tail",
        "wire-single",
        "wire-pipeline",
        "memory-per-key",
        "memory-cap",
        "memory-cap-hostile",
        "wire-tail",
    ];
    let native = |step: &&Step| cache.contains(&step.scenario.as_str()) && step.mode == Mode::Native;
    let full: f64 = plan(Profile::Full, 1).steps.iter().filter(native).map(step_seconds).sum();
    assert!(full <= 4.0 * 3_600.0, "the cache's campaign takes {full:.0} s by estimate");
}

#[test]
fn every_scenario_has_cells_in_every_profile_and_more_in_a_longer_one() {
    let count = |profile: Profile| {
        let mut counts: BTreeMap<String, usize> = BTreeMap::new();
        for (scenario, _) in plan(profile, 1).steps.iter().filter(|step| step.trial == 0).flat_map(cells) {
            *counts.entry(scenario).or_default() += 1;
        }
        counts
    };
    let counts = PROFILES.map(count);
    for scenario in catalogue() {
        let of = |counts: &BTreeMap<String, usize>| counts.get(scenario.key()).copied().unwrap_or(0);
        let [smoke, quick, release, full] = counts.each_ref().map(of);
        assert!(
            smoke >= 1 && quick >= 1 && release >= quick && full >= release,
            "{}: {smoke}, {quick}, {release}, {full}",
            scenario.key()
        );
    }
}

#[test]
fn the_cells_of_a_rate_follow_their_peak_and_end_with_the_knee_in_every_trial() {
    let plan = plan(Profile::Full, 7);
    let rates = plan.steps.iter().filter(|step| step.scenario == "wire-rate" && step.target == "plumbkv");
    let mut trials = 0;
    for step in rates {
        let Work::Wire { phases } = &step.work else { panic!("wire-rate is a wire scenario") };
        assert_eq!(phases.first().unwrap().offer, Offer::Peak);
        assert!(matches!(phases.last().unwrap().offer, Offer::Knee { .. }));
        trials += 1;
    }
    assert_eq!(trials, 9);
}

#[test]
fn a_rate_that_follows_the_slowest_comes_after_every_closed_loop_of_its_round() {
    let plan = plan(Profile::Full, 7);
    let steps: Vec<&Step> = plan.steps.iter().filter(|step| step.scenario == "wire-same-rate").collect();
    let follows = |step: &Step| match &step.work {
        Work::Wire { phases } => {
            let open = phases.iter().filter(|it| matches!(it.offer, Offer::PercentOfSlowest { .. })).count();
            assert!(open == 0 || open == phases.len(), "closed and open loops have processes of their own");
            open > 0
        }
        other => panic!("{other:?} in a wire scenario"),
    };
    for trial in 0..9 {
        let round: Vec<bool> = steps.iter().filter(|it| it.trial == trial).map(|it| follows(it)).collect();
        assert!(round.is_sorted() && round.iter().filter(|it| **it).count() * 2 == round.len(), "{round:?}");
        assert!(round.len() >= 12);
    }
}

#[test]
fn a_switch_and_a_limit_have_processes_of_their_own() {
    let quick = plan(Profile::Quick, 1);
    let of = |variant: Option<&str>| {
        let steps = quick.steps.iter().filter(|step| step.scenario == "variants" && step.trial == 0);
        steps.filter(|step| step.variant.as_deref() == variant).count()
    };
    assert_eq!((of(None), of(Some("allocator=mimalloc"))), (1, 1));
    let full = plan(Profile::Full, 1);
    let limits: BTreeSet<_> = full.steps.iter().filter_map(|step| step.memory_limit_bytes).collect();
    assert_eq!(limits, BTreeSet::from([64 << 20, 512 << 20, 2 << 30]));
}

#[test]
fn the_axes_of_the_catalogue_are_all_there() {
    let plan = plan(Profile::Quick, 1);
    let keys: BTreeSet<String> =
        plan.steps.iter().flat_map(cells).map(|(s, key)| format!("{s}:{key}")).collect();
    for key in [
        "wire-single:plumbkv/native/apart/set-64B-c1-p1",
        "container-ladder:plumbkv/container_published/apart/get-64B-c50-p1",
        "wire-single:redis-server/native/together/get-64B-c1-p1",
        "wire-concurrency:plumbkv/native/apart/set-64B-c50-p1-redis-benchmark",
        "wire-rate:redis-server/native/apart/peak-64B-s10-c50-p1",
        "wire-rate:redis-server/native/apart/mixed-64B-s10-c50-p1-r50pct-poisson",
        "wire-rate:redis-server/native/apart/mixed-64B-s10-c50-p1-r20000-poisson",
        "wire-rate:plumbkv/native/apart/knee-64B-s10-c50-p1-poisson",
        "wire-hot:plumbkv/native/apart/get-64B-c50-p1-hot",
        "variants:plumbkv/native/apart/set-64B-c50-p16-allocator=mimalloc",
        "memory-per-key:plumbkv/native/apart/fill-64B-k1000000",
        "expiry:redis-server/native/apart/expire-64B-c50-k100000-ttl5000",
        "memory-cap:plumbkv/native/apart/trace-1024B-c1-cap16777216-zipf",
        "wire-concurrency:null/native/apart/get-64B-c1000-p1",
        "wire-mixed:plumbkv/native/apart/mixed-64B-s10-c50-p1",
        "wire-pipeline:plumbkv/native/apart/get-64B-c40-p64",
        "memory-cap:redis-server/native/apart/fill-1024B-c1-cap2097152",
        "startup:plumbkv/container_host/apart/start",
    ] {
        assert!(keys.contains(key), "{key} is not in\n{keys:#?}");
    }
    let full = self::plan(Profile::Full, 1);
    let requests: BTreeSet<_> =
        full.steps.iter().flat_map(|step| step.work.cells()).filter_map(|cell| cell.axes.requests).collect();
    assert_eq!(requests, BTreeSet::from([10_000, 100_000, 500_000, 1_000_000]));
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
        pace: &|_| Pace::default(),
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
    let request = Request {
        scenarios: &scenarios,
        profile: Profile::Smoke,
        seed: 1,
        pinned: true,
        admits: &admits,
        pace: &|_| Pace::default(),
    };
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
        "1:9 SET:GET 64 B, 50 clients",
        "1:9 SET:GET 64 B, 50 clients, Poisson at 50 % of its peak",
        "1:9 SET:GET 64 B, 50 clients, Poisson at 20k/s",
        "1:9 SET:GET 64 B, 50 clients, knee",
        "GET 64 B, 50 clients, one key",
        "SET 64 B, 50 clients, by redis-benchmark",
        "SET 64 B, 50 clients, depth 16, allocator=mimalloc",
        "1M keys of 16 B, values of 64 B",
        "100k keys running out within 5 s, GET by 50 clients",
        "Zipf reads of 100k keys of 64 B to 1 KiB, 16 MiB cap",
        "4000 × 1 KiB into 2 MiB, then 3 MiB",
        "Overwrites growing 64 B to 4 KiB, 64 MiB cap",
        "Start to first right answer",
    ] {
        assert!(labels.contains(label), "{label} is not in\n{labels:#?}");
    }
}
