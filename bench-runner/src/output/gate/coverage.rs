//! Of how many verdicts can anything be said? Silence is never a pass, so what was not judged is counted beside it.

use crate::model::{Gate, GateOutcome};
use std::fmt;

/// How many of a gate's verdicts say something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Coverage {
    /// All of them.
    pub verdicts: usize,
    /// Pass, improvement or regression.
    pub judged: usize,
    /// Inconclusive: the blocks scatter too much for a word either way.
    pub too_noisy: usize,
    /// Without a figure.
    pub not_measured: usize,
    /// Scenarios that have no verdict, for the budget had no room for them.
    pub left_out: usize,
}

impl Coverage {
    /// Counts them.
    #[must_use]
    pub fn of(gate: &Gate) -> Self {
        let count = |wanted: GateOutcome| gate.verdicts.iter().filter(|one| one.outcome == wanted).count();
        let (too_noisy, not_measured) = (count(GateOutcome::Inconclusive), count(GateOutcome::NotMeasured));
        let verdicts = gate.verdicts.len();
        Self {
            verdicts,
            judged: verdicts - too_noisy - not_measured,
            too_noisy,
            not_measured,
            left_out: gate.left_out.len(),
        }
    }
}

impl fmt::Display for Coverage {
    /// `38 of 40 judged; 1 too noisy, 1 not measured`.
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(to, "{} of {} judged", self.judged, self.verdicts)?;
        let rest = [
            (self.too_noisy, "too noisy"),
            (self.not_measured, "not measured"),
            (self.left_out, if self.left_out == 1 { "scenario left out" } else { "scenarios left out" }),
        ];
        for (place, (count, words)) in rest.iter().filter(|(count, _)| *count > 0).enumerate() {
            write!(to, "{}{count} {words}", if place == 0 { "; " } else { ", " })?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing;
    use super::*;

    #[test]
    fn what_was_not_judged_is_counted_beside_what_was() {
        let mut gate = testing::gate();
        assert_eq!(
            Coverage::of(&gate).to_string(),
            "3 of 5 judged; 1 too noisy, 1 not measured, 1 scenario left out"
        );
        gate.left_out.push("another".into());
        assert!(Coverage::of(&gate).to_string().ends_with("2 scenarios left out"));
        gate.left_out.clear();
        gate.verdicts.retain(|one| one.outcome == GateOutcome::Pass);
        assert_eq!(Coverage::of(&gate).to_string(), "1 of 1 judged");
        gate.verdicts.clear();
        assert_eq!(Coverage::of(&gate).to_string(), "0 of 0 judged");
    }
}
