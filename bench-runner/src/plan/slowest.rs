//! At which rate do all servers spend their CPU time side by side?
//!
//! CPU time per operation is compared at one rate that is equal for all, and that the slowest of them can keep: a share
//! of the least that any server of the round reached in a closed loop at the same point. In a plan the closed loops of
//! a round come before the steps that follow them, so the rate is known when it is needed. Pure.

use super::step::{Offer, Step, StepOutcome, Work};
use crate::model::{Axes, Placement, Status};

/// What closed loops came to.
#[derive(Debug, Default)]
pub struct Peaks(Vec<Peak>);

#[derive(Debug)]
struct Peak {
    scenario: String,
    trial: u32,
    placement: Placement,
    axes: Axes,
    per_second: f64,
}

impl Peaks {
    /// Takes in what came of a step.
    pub fn add(&mut self, step: &Step, outcome: &StepOutcome) {
        let Work::Wire { phases } = &step.work else { return };
        let closed = phases.iter().filter(|it| it.offer == Offer::Replies && it.client_program.is_none());
        for phase in closed {
            let trial = outcome.trials.iter().find(|(key, _)| *key == phase.cell.key).map(|(_, trial)| trial);
            let rate = trial.filter(|trial| trial.status == Status::Ok).and_then(|trial| {
                let mut values = trial.values.iter();
                values.find(|value| value.metric == "ops_per_second" && value.operation.is_none())
            });
            if let Some(rate) = rate {
                self.0.push(Peak {
                    scenario: step.scenario.clone(),
                    trial: step.trial,
                    placement: step.placement,
                    axes: point(&phase.cell.axes),
                    per_second: rate.value,
                });
            }
        }
    }

    /// The step with the rates that follow from what the others of its round came to.
    #[must_use]
    pub fn settle(&self, step: &Step) -> Step {
        let mut step = step.clone();
        let Work::Wire { phases } = &mut step.work else { return step };
        for phase in phases {
            if let Offer::PercentOfSlowest { percent, per_second, .. } = &mut phase.offer {
                let wanted = point(&phase.cell.axes);
                let same = self.0.iter().filter(|peak| {
                    (&peak.scenario, peak.trial, peak.placement)
                        == (&step.scenario, step.trial, step.placement)
                        && peak.axes == wanted
                });
                let least = same.map(|peak| peak.per_second).fold(f64::INFINITY, f64::min);
                *per_second = if least.is_finite() { least * f64::from(*percent) / 100.0 } else { 0.0 };
            }
        }
        step
    }
}

/// The axes that a closed loop and the rates that follow it have in common.
fn point(axes: &Axes) -> Axes {
    Axes { arrival: None, rate_percent_of_slowest: None, variant: None, ..axes.clone() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Mode, Trial, Value};
    use crate::plan::{CellKey, WirePhase};
    use crate::scenario::Arrival;

    const FOLLOWS: Offer =
        Offer::PercentOfSlowest { percent: 70, arrival: Arrival::Poisson, per_second: 0.0 };

    fn step(target: &str, trial: u32, clients: u32, offer: Offer) -> Step {
        let open = offer != Offer::Replies;
        let axes = Axes {
            operation: "set".to_owned(),
            clients: Some(clients),
            arrival: open.then(|| "poisson".to_owned()),
            rate_percent_of_slowest: open.then_some(70),
            variant: (target == "switched").then(|| "io=epoll".to_owned()),
            ..Axes::default()
        };
        let cell = CellKey { key: format!("{target}/{clients}/{open}"), label: String::new(), axes };
        Step {
            position: 0,
            scenario: "s".to_owned(),
            target: target.to_owned(),
            mode: Mode::Native,
            placement: Placement::Apart,
            trial,
            seed: 1,
            cap_bytes: None,
            memory_limit_bytes: None,
            variant: None,
            work: Work::Wire { phases: vec![WirePhase { cell, offer, clients, ..WirePhase::default() }] },
        }
    }

    fn outcome(step: &Step, status: Status, per_second: f64) -> StepOutcome {
        let trial: Trial = serde_json::from_value(serde_json::json!({
            "index": step.trial, "position": 0, "status": "ok", "elapsed_s": 1.0,
            "counts": {"operations": 1, "hits": 0, "misses": 0, "errors": 0},
            "values": [], "histograms": [], "windows": [], "facts": {},
        }))
        .unwrap();
        let value = Value { metric: "ops_per_second".to_owned(), operation: None, value: per_second };
        let trial = Trial { status, values: vec![value], ..trial };
        let key = step.work.cells()[0].key.clone();
        StepOutcome { position: 0, trials: vec![(key, trial)] }
    }

    fn rate(peaks: &Peaks, trial: u32, clients: u32) -> f64 {
        let settled = peaks.settle(&step("switched", trial, clients, FOLLOWS));
        let Work::Wire { phases } = settled.work else { panic!("a wire step stays one") };
        let Offer::PercentOfSlowest { per_second, .. } = phases[0].offer else {
            panic!("{:?}", phases[0].offer)
        };
        per_second
    }

    #[test]
    fn the_rate_is_a_share_of_the_least_peak_of_the_round_at_the_point() {
        let mut peaks = Peaks::default();
        for (target, trial, clients, status, per_second) in [
            ("plumbkv", 0, 50, Status::Ok, 120_000.0),
            ("switched", 0, 50, Status::Ok, 110_000.0),
            ("redis-server", 0, 50, Status::Ok, 100_000.0),
            ("valkey", 0, 50, Status::Invalid, 10.0),
            ("redis-server", 0, 1000, Status::Ok, 80_000.0),
            ("redis-server", 1, 50, Status::Ok, 90_000.0),
        ] {
            let closed = step(target, trial, clients, Offer::Replies);
            peaks.add(&closed, &outcome(&closed, status, per_second));
        }
        let followed = step("redis-server", 0, 50, FOLLOWS);
        peaks.add(&followed, &outcome(&followed, Status::Ok, 5.0));
        assert!((rate(&peaks, 0, 50) - 70_000.0).abs() < 1e-6);
        assert!((rate(&peaks, 0, 1000) - 56_000.0).abs() < 1e-6);
        assert!((rate(&peaks, 1, 50) - 63_000.0).abs() < 1e-6);
        assert_eq!(rate(&peaks, 1, 1000), 0.0, "nothing is known");
    }
}
