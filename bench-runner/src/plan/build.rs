//! Which steps make a run, and in which order?
//!
//! Round by round (trial by trial) through the scenarios; inside a round the targets and modes of a
//! scenario alternate, in an order that changes from round to round: see [`super::order`].

use super::cells::{Unit, units};
use super::cost::step_seconds;
use super::order::{arrange, rotation, row};
use super::step::{Offer, Step, Work};
use crate::model::{Mode, Profile};
use crate::scenario::Scenario;

/// Seeds stay below 2^53, so that a JSON reader that knows only doubles keeps them whole.
const SEED_MASK: u64 = (1 << 53) - 1;

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
    let mut steps = Vec::new();
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
            for unit in ordered {
                let trials = unit.trials.unwrap_or(trials);
                if trial >= trials {
                    continue;
                }
                steps.push(Step {
                    position: u32::try_from(steps.len()).unwrap_or(u32::MAX),
                    scenario: scenario.key().to_owned(),
                    target: unit.target.clone(),
                    mode: unit.mode,
                    placement: unit.placement,
                    trial,
                    seed,
                    cap_bytes: unit.cap_bytes,
                    memory_limit_bytes: unit.memory_limit_bytes,
                    variant: unit.variant.clone(),
                    work: rotated(&unit.work, trial, trials),
                });
            }
        }
    }
    Plan { steps }
}

fn arranged_units(scenario: &Scenario, seed: u64, request: &Request<'_>) -> Vec<Unit> {
    let all: Vec<Unit> = scenario
        .uses(request.profile)
        .into_iter()
        .filter(|(target, mode)| (request.admits)(target, *mode))
        .flat_map(|(target, mode)| units(scenario, request.profile, target, mode, request.pinned))
        .collect();
    let owners: Vec<&str> = all.iter().map(|unit| unit.target.as_str()).collect();
    arrange(&owners, seed).into_iter().filter_map(|index| all.get(index).cloned()).collect()
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
