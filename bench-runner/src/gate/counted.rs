//! Are there more instructions? They are the same every time, so a limit alone decides.

use crate::model::{GateClass, GateOutcome, GateStage, GateVerdict, metric};

/// Name of the metric.
const METRIC: &str = "instructions_per_op";

/// Instructions of an operation under base and head.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Counted {
    /// Of base.
    pub base: Option<f64>,
    /// Of head.
    pub head: Option<f64>,
    /// From this ratio on it is a regression, and below its inverse an improvement.
    pub limit: f64,
}

/// What the counts say.
#[must_use]
pub fn counted_verdict(scenario: String, label: String, counts: &Counted) -> GateVerdict {
    let ratio =
        counts.base.zip(counts.head).map(|(base, head)| head / base).filter(|ratio| ratio.is_finite());
    let Some(ratio) = ratio else {
        return uncounted_verdict(scenario, label, counts, "there is nothing to compare".to_owned());
    };
    let outcome = if ratio > counts.limit {
        GateOutcome::Regression
    } else if ratio < 1.0 / counts.limit {
        GateOutcome::Improvement
    } else {
        GateOutcome::Pass
    };
    GateVerdict {
        outcome,
        ratio: Some(ratio),
        interval: Some([ratio, ratio]),
        ..blank(scenario, label, counts)
    }
}

/// What could not be counted, and why.
#[must_use]
pub fn uncounted_verdict(scenario: String, label: String, counts: &Counted, why: String) -> GateVerdict {
    GateVerdict { outcome: GateOutcome::NotMeasured, reason: Some(why), ..blank(scenario, label, counts) }
}

/// More instructions that take less time are no regression: a prefetch is one. Passes them, with the reason, where a load's time
/// got better beyond doubt.
pub fn excuse_faster(verdicts: &mut [GateVerdict]) {
    let is_faster = |one: &GateVerdict| {
        one.stage != GateStage::Counted
            && one.class != GateClass::Advisory
            && one.outcome == GateOutcome::Improvement
    };
    if verdicts.iter().any(is_faster) {
        for one in verdicts.iter_mut().filter(|one| one.stage == GateStage::Counted) {
            if one.outcome == GateOutcome::Regression {
                one.outcome = GateOutcome::Pass;
                one.reason =
                    Some("more instructions, and a load got faster: it is time that counts".to_owned());
            }
        }
    }
}

fn blank(scenario: String, label: String, counts: &Counted) -> GateVerdict {
    let (unit, direction, _) = metric::describe(METRIC);
    GateVerdict {
        scenario,
        label,
        metric: METRIC.to_owned(),
        unit: unit.to_owned(),
        direction,
        outcome: GateOutcome::NotMeasured,
        reason: None,
        stage: GateStage::Counted,
        class: GateClass::Gated,
        ratio: None,
        interval: None,
        p: None,
        p_adjusted: None,
        evidence: None,
        limit: counts.limit,
        detectable: Some(counts.limit),
        block_sd: 0.0,
        block_sd_is_stored: true,
        base: counts.base,
        head: counts.head,
        blocks: Vec::new(),
        disturbed: 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(base: f64, head: f64) -> GateOutcome {
        let counts = Counted { base: Some(base), head: Some(head), limit: 1.01 };
        counted_verdict("counted/get".to_owned(), "GET".to_owned(), &counts).outcome
    }

    #[test]
    fn a_limit_alone_decides() {
        assert_eq!(said(1000.0, 1010.0), GateOutcome::Pass);
        assert_eq!(said(1000.0, 1011.0), GateOutcome::Regression);
        assert_eq!(said(1010.0, 1000.0), GateOutcome::Pass);
        assert_eq!(said(1011.0, 1000.0), GateOutcome::Improvement);
        assert_eq!(said(0.0, 1000.0), GateOutcome::NotMeasured);
    }

    #[test]
    fn more_instructions_in_less_time_are_no_regression() {
        let counts = Counted { base: Some(100.0), head: Some(120.0), limit: 1.01 };
        let more = counted_verdict("counted/get".to_owned(), "GET".to_owned(), &counts);
        let timed =
            |outcome, class| GateVerdict { stage: GateStage::Sequential, outcome, class, ..more.clone() };
        let after = |other: GateVerdict| {
            let mut both = [more.clone(), other];
            excuse_faster(&mut both);
            both[0].outcome
        };
        assert_eq!(after(timed(GateOutcome::Improvement, GateClass::Gated)), GateOutcome::Pass);
        assert_eq!(after(timed(GateOutcome::Improvement, GateClass::Advisory)), GateOutcome::Regression);
        assert_eq!(after(timed(GateOutcome::Pass, GateClass::Gated)), GateOutcome::Regression);
    }

    #[test]
    fn what_was_not_counted_says_why() {
        let counts = Counted { base: Some(1.0), head: None, limit: 1.01 };
        let found = uncounted_verdict(String::new(), String::new(), &counts, "head: it ended".to_owned());
        assert_eq!(found.reason.as_deref(), Some("head: it ended"));
        assert_eq!((found.outcome, found.base), (GateOutcome::NotMeasured, Some(1.0)));
    }
}
