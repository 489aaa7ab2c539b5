//! Which steps make a run, and in which order?
//!
//! Round by round (trial by trial) through the scenarios; inside a round the targets and modes of a
//! scenario alternate, in an order that changes from round to round: see [`super::order`].

use super::cells::{Unit, Who, units};
use super::cost::step_seconds;
use super::disk::disk_bytes;
use super::driven::{EmbeddedPart, Pace, Stock, StoreKey, StoreUse};
use super::embedded::{Common, stock_cell};
use super::order::{arrange, rotation, row};
use super::step::{Offer, Step, Work};
use crate::model::{Mode, Placement, Profile};
use crate::scenario::Scenario;
use plumbkv_bench_driver::protocol::{Phase, Ycsb};

/// Seeds stay below 2^53, so that a JSON reader that knows only doubles keeps them whole.
const SEED_MASK: u64 = (1 << 53) - 1;

/// Tells the seed of stored directories from those of scenarios.
const STORES: u64 = 0x0057_04e5;

/// What a plan is made from.
pub struct Request<'a> {
    /// The scenarios, in catalogue order.
    pub scenarios: &'a [Scenario],
    /// Sets trials and durations.
    pub profile: Profile,
    /// Sets the order of steps and every key sequence.
    pub seed: u64,
    /// Whether target and generator can have a CPU each.
    pub pinned: bool,
    /// Which target and mode take part.
    pub admits: &'a dyn Fn(&str, Mode) -> bool,
    /// How fast an embedded engine is, roughly.
    pub pace: &'a dyn Fn(&str) -> Pace,
}

/// An ordered list of steps.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// In the order in which they are carried out.
    pub steps: Vec<Step>,
}

impl Plan {
    /// Estimated duration, seconds.
    #[must_use]
    pub fn seconds(&self) -> f64 {
        self.steps.iter().map(step_seconds).sum()
    }

    /// The most that embedded engines have on the disk at one time, bytes, estimated.
    #[must_use]
    pub fn disk_bytes(&self) -> u64 {
        disk_bytes(&self.steps)
    }

    /// Number of different cells.
    #[must_use]
    pub fn cells(&self) -> usize {
        self.steps.iter().filter(|step| step.trial == 0).map(|step| step.work.cells().len()).sum()
    }
}

/// Builds the plan. The same request gives the same plan.
#[must_use]
pub fn build(request: &Request<'_>) -> Plan {
    let arranged: Vec<(&Scenario, u64, Vec<Unit>)> = request
        .scenarios
        .iter()
        .map(|scenario| {
            let seed = mixed(request.seed, scenario.key().bytes().map(u64::from));
            (scenario, seed, arranged_units(scenario, seed, request))
        })
        .collect();
    let most = request.scenarios.iter().map(|scenario| scenario.rules(request.profile).trials).max();
    let mut steps: Vec<Step> = Vec::new();
    let mut stocked: Vec<StoreKey> = Vec::new();
    for trial in 0..most.unwrap_or(0) {
        for (scenario, seed, units) in &arranged {
            let trials = scenario.rules(request.profile).trials;
            if trial >= trials {
                continue;
            }
            // Every target of a round gets the same seed: the same keys in the same order.
            let seed = mixed(*seed, [u64::from(trial)]);
            // What follows the peaks of a round comes after all of them; each part has a row of its own design.
            let (followers, first): (Vec<&Unit>, Vec<&Unit>) = units.iter().partition(|unit| unit.follows);
            let ordered = [first, followers].into_iter().flat_map(|part| {
                let order = row(part.len(), trial as usize);
                order.into_iter().filter_map(|index| part.get(index).copied()).collect::<Vec<_>>()
            });
            let mut ordered: Vec<&Unit> = ordered.collect();
            // Measured once, large directories are better gone before the next target's are loaded.
            let one_by_one = trials == 1 && ordered.iter().any(|unit| store_seed(&unit.work).is_some());
            if one_by_one {
                ordered.sort_by(|one, other| one.target.cmp(&other.target));
            }
            let place = |steps: &[Step]| u32::try_from(steps.len()).unwrap_or(u32::MAX);
            for unit in ordered.iter().filter(|_| !one_by_one) {
                if let Some(step) = stock(unit, scenario, request, &mut stocked) {
                    steps.push(Step { position: place(&steps), ..step });
                }
            }
            for unit in ordered {
                if let Some(step) = stock(unit, scenario, request, &mut stocked) {
                    steps.push(Step { position: place(&steps), ..step });
                }
                let trials = unit.trials.unwrap_or(trials);
                let work = of_trial(rotated(&unit.work, trial, trials), trial);
                if trial >= trials || work.cells().is_empty() {
                    continue;
                }
                steps.push(Step {
                    position: place(&steps),
                    scenario: scenario.key().to_owned(),
                    target: unit.target.clone(),
                    mode: unit.mode,
                    placement: unit.placement,
                    trial,
                    seed: store_seed(&unit.work).unwrap_or(seed),
                    cap_bytes: unit.cap_bytes,
                    memory_limit_bytes: unit.memory_limit_bytes,
                    variant: unit.variant.clone(),
                    work: drawn_anew(work, seed),
                });
            }
        }
    }
    release(&mut steps);
    Plan { steps }
}

/// The step that loads the stored directory a unit needs, where none before it did.
fn stock(
    unit: &Unit,
    scenario: &Scenario,
    request: &Request<'_>,
    stocked: &mut Vec<StoreKey>,
) -> Option<Step> {
    let Work::Embedded { work } = &unit.work else { return None };
    let key = work.store.key().filter(|key| !stocked.contains(key))?;
    stocked.push(key.clone());
    // A load has all CPUs: it is not what the scenario is about, and is over sooner.
    let placement = Placement::Unpinned;
    let who = Who { target: &unit.target, mode: unit.mode, profile: request.profile };
    let stock = Stock {
        cell: stock_cell(key, who, placement),
        key: key.clone(),
        pace: work.pace,
        timeout_s: work.timeout_s,
    };
    Some(Step {
        position: 0,
        scenario: scenario.key().to_owned(),
        target: unit.target.clone(),
        mode: unit.mode,
        placement,
        trial: 0,
        seed: key.seed,
        cap_bytes: None,
        memory_limit_bytes: key.memory_limit_bytes,
        variant: None,
        work: Work::Stock { stock: Box::new(stock) },
    })
}

/// The seed of the values that a stored directory holds, where a unit works on one.
fn store_seed(work: &Work) -> Option<u64> {
    match work {
        Work::Embedded { work } => work.store.key().map(|key| key.seed),
        _ => None,
    }
}

/// The values are those of the stored directory in every trial; the keys that are drawn are not.
fn drawn_anew(mut work: Work, seed: u64) -> Work {
    if let Work::Embedded { work } = &mut work
        && work.store != StoreUse::Fresh
    {
        work.draw_seed = seed;
    }
    work
}

/// The last step that works on a stored directory lets it go.
fn release(steps: &mut [Step]) {
    let mut needed: Vec<StoreKey> = Vec::new();
    for step in steps.iter_mut().rev() {
        if let Work::Embedded { work } = &mut step.work
            && let Some(key) = work.store.key().filter(|key| !needed.contains(key)).cloned()
        {
            work.releases = true;
            needed.push(key);
        }
    }
}

fn arranged_units(scenario: &Scenario, seed: u64, request: &Request<'_>) -> Vec<Unit> {
    let all: Vec<Unit> = scenario
        .uses(request.profile)
        .into_iter()
        .filter(|(target, mode)| (request.admits)(target, *mode))
        .flat_map(|(target, mode)| {
            let store_seed = mixed(request.seed, [STORES]);
            let common = Common {
                pinned: request.pinned,
                store_seed,
                pace: (request.pace)(target),
                trials: scenario.rules(request.profile).trials,
            };
            units(scenario, request.profile, target, mode, common)
        })
        .collect();
    let owners: Vec<&str> = all.iter().map(|unit| unit.target.as_str()).collect();
    arrange(&owners, seed).into_iter().filter_map(|index| all.get(index).cloned()).collect()
}

/// Without the cells that have fewer trials.
fn of_trial(mut work: Work, trial: u32) -> Work {
    if let Work::Wire { phases } = &mut work {
        phases.retain(|phase| phase.trials.is_none_or(|own| trial < own));
    }
    work
}

/// A process that has been up for a while is not the one that was just started: each trial begins with
/// another phase.
fn rotated(work: &Work, trial: u32, trials: u32) -> Work {
    match work {
        // Rates in percent of a peak follow that peak.
        Work::Wire { phases } if phases.iter().all(|phase| is_free(phase.offer)) => {
            let mut phases = phases.clone();
            let start = rotation(phases.len(), trial, trials);
            phases.rotate_left(start);
            Work::Wire { phases }
        }
        // What inserts comes last: it changes what the others read. So do cells that are before and after something.
        Work::Embedded { work } if work.store != StoreUse::Fresh => {
            let mut work = work.clone();
            let inserts = |part: &EmbeddedPart| {
                part.measured
                    .iter()
                    .any(|phase| matches!(phase, Phase::Ycsb { workload: Ycsb::D | Ycsb::E, .. }))
            };
            work.parts.sort_by_key(inserts);
            let free = work.parts.iter().take_while(|part| !inserts(part)).count();
            let start = rotation(free, trial, trials);
            if let Some(parts) = work.parts.get_mut(..free) {
                parts.rotate_left(start);
            }
            Work::Embedded { work }
        }
        other => other.clone(),
    }
}

/// Whether nothing before it on the same process matters.
fn is_free(offer: Offer) -> bool {
    matches!(offer, Offer::Replies | Offer::PercentOfSlowest { .. })
}

/// SplitMix64 over a seed and what tells its use from others.
fn mixed(seed: u64, with: impl IntoIterator<Item = u64>) -> u64 {
    let mut state = seed;
    for each in with {
        state = (state ^ each).wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = state;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        state = z ^ (z >> 31);
    }
    state & SEED_MASK
}
