//! Base against head: is one series worse, better, within the limits, or undecided?
//!
//! One sequential test instead of a number of blocks: after each block the evidence is looked at, and it is valid whenever one
//! stops. Evidence for "worse" is a [`Wager`] on blocks above zero; evidence that a change is smaller than what a pass
//! excludes is the same wager on what is left to that limit. A series that ends without either is undecided, never a pass.
//! What a series scatters says soon what its planned blocks could find; where that is too little, the rest is not measured.

use super::noise::Noise;
use crate::model::{GateClass, GateOutcome};
use crate::stats::{Wager, interval, lag_1, median};

/// What the gate goes by. The defaults are the rule; `bench-runner power` says how it errs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rules {
    /// Chance that a gate of a change that changes nothing is red, over all of its series.
    pub false_red: f64,
    /// Chance that a series passes that is worse by what a pass excludes.
    pub false_pass: f64,
    /// Blocks of a series at most.
    pub blocks_max: usize,
    /// Blocks of a series at least, before it passes: what happens in one block of five is missed by seven of them one time in
    /// five, by twelve one time in fifteen.
    pub blocks_least: usize,
    /// Blocks of a series from which its scatter says what all that are planned could find.
    pub blocks_known: usize,
    /// Whether all blocks share one pair of layouts, which may then differ by a few percent for ever.
    pub layouts_stay: bool,
}

impl Default for Rules {
    fn default() -> Self {
        Self {
            false_red: 0.01,
            false_pass: 0.025,
            blocks_max: 80,
            blocks_least: 12,
            blocks_known: 24,
            layouts_stay: false,
        }
    }
}

impl Rules {
    /// Logarithm of the evidence from which one of so many series is called.
    #[must_use]
    pub fn log_called(&self, series: usize) -> f64 {
        (series.max(1) as f64 / self.false_red).ln()
    }

    /// Logarithm of the evidence from which a series passes.
    #[must_use]
    pub fn log_passed(&self) -> f64 {
        (1.0 / self.false_pass).ln()
    }
}

/// Which sizes of a change matter, as ratios above one.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Limits {
    /// The least median that is called.
    pub called: f64,
    /// What a pass excludes.
    pub excluded: f64,
    /// What it excludes of a series that scatters too much for that.
    pub excluded_wide: f64,
}

impl Limits {
    /// Of times and rates.
    pub const TIME: Self = Self { called: 1.02, excluded: 1.05, excluded_wide: 1.08 };
    /// Of times and rates where one pair of layouts is measured: the place of functions moves figures by a percent or two.
    pub const TIME_OF_FILES: Self = Self { called: 1.05, ..Self::TIME };
    /// Of a share of slow requests, which moves by far more than the times do.
    pub const TAIL: Self = Self { called: 1.5, excluded: 2.0, excluded_wide: 3.0 };

    /// What a verdict is good for where a change of this size is found.
    fn class(&self, detectable: Option<f64>) -> GateClass {
        match detectable {
            Some(ratio) if ratio <= self.excluded => GateClass::Gated,
            Some(ratio) if ratio <= self.excluded_wide => GateClass::GatedAt8,
            _ => GateClass::Advisory,
        }
    }
}

/// The evidence of one series, block by block. Blocks are log ratios, above zero worse.
#[derive(Debug, Clone, PartialEq)]
pub struct Evidence {
    limits: Limits,
    rules: Rules,
    /// Series that share the chance of a false alarm.
    family: usize,
    blocks: Vec<f64>,
    worse: Wager,
    better: Wager,
    within: Wager,
    within_wide: Wager,
    /// Median of the blocks.
    middle: f64,
    /// Worse or better, once it is proven.
    called: Option<GateOutcome>,
    passed: bool,
    /// Standard deviations of a block that the planned blocks find; calculated when it is first asked for.
    reach: Option<Option<f64>>,
    /// What a verdict is good for, once the scatter can be told.
    class: Option<GateClass>,
    given_up: bool,
}

/// A verdict with what it rests on. Ratios are above one where head is worse.
#[derive(Debug, Clone, PartialEq)]
pub struct Judged {
    /// What was found.
    pub outcome: GateOutcome,
    /// Why nothing could be said.
    pub reason: Option<String>,
    /// Median of the blocks; none without one.
    pub ratio: Option<f64>,
    /// Interval of the median, 95 %, valid whenever one stops; none where the blocks are too few.
    pub interval: Option<[f64; 2]>,
    /// How many times the stake a bet on "worse" has become.
    pub worse: f64,
    /// On "better".
    pub better: f64,
    /// On "less than what a pass excludes".
    pub within: f64,
    /// How blocks go with those before them, from -1 to 1; none where that cannot be told.
    pub lag_1: Option<f64>,
    /// The least median that is called, as a ratio.
    pub called_from: f64,
    /// The smallest change found four times in five.
    pub detectable: Option<f64>,
    /// What a verdict is good for.
    pub class: GateClass,
    /// Standard deviation of a block.
    pub block_sd: f64,
    /// Whether it scatters so much that all planned blocks would say nothing, and was measured no further.
    pub given_up: bool,
}

/// A bet on "better" or "worse" that has come so far makes a series go on that could pass.
pub(super) const PROMISING: f64 = 20.0;
/// A bet that has come so far is no reason to stop, however much the blocks scatter.
const LEANING: f64 = 4.0;
/// A series is given up that would be too noisy even if its blocks scattered so many times less. The scatter of 24 blocks is known
/// to a quarter or so.
const MARGIN: f64 = 1.2;
/// How surely the interval holds the median.
const SURE: f64 = 0.95;

impl Evidence {
    /// Before the first block of one of `family` series.
    #[must_use]
    pub fn new(limits: Limits, family: usize, rules: &Rules) -> Self {
        Self {
            limits,
            rules: *rules,
            family,
            blocks: Vec::new(),
            worse: Wager::default(),
            better: Wager::default(),
            within: Wager::default(),
            within_wide: Wager::default(),
            middle: 0.0,
            called: None,
            passed: false,
            reach: None,
            class: None,
            given_up: false,
        }
    }

    /// One more block.
    pub fn take(&mut self, block: f64) {
        if !block.is_finite() {
            return;
        }
        self.blocks.push(block);
        self.worse.take(block);
        self.better.take(-block);
        self.within.take(self.limits.excluded.ln() - block);
        self.within_wide.take(self.limits.excluded_wide.ln() - block);
        let needed = self.rules.log_called(self.family);
        self.middle = median(&self.blocks).unwrap_or(0.0);
        let is_large = self.middle.abs() >= self.limits.called.ln();
        if self.called.is_none() && is_large {
            if self.middle > 0.0 && self.worse.log_evidence() >= needed {
                self.called = Some(GateOutcome::Regression);
            } else if self.middle < 0.0 && self.better.log_evidence() >= needed {
                self.called = Some(GateOutcome::Improvement);
            }
        }
        self.passed |= self.within.log_evidence() >= self.rules.log_passed();
        if self.called.is_none() && self.blocks.len() >= self.rules.blocks_known && !self.passes() {
            self.look_at_scatter();
        }
    }

    /// What can all planned blocks find, and is it worth while to go on?
    fn look_at_scatter(&mut self) {
        let reach = *self.reach.get_or_insert_with(|| Noise::reach(self.family, &self.rules));
        let noise = Noise::of(&self.blocks);
        self.class = Some(self.limits.class(noise.detectable(&self.limits, reach)));
        let quieter = Noise { block_sd: noise.block_sd / MARGIN };
        let is_leaning = [&self.worse, &self.better].iter().any(|bet| bet.log_evidence() >= LEANING.ln());
        self.given_up =
            !is_leaning && self.limits.class(quieter.detectable(&self.limits, reach)) == GateClass::Advisory;
    }

    /// Blocks so far.
    #[must_use]
    pub fn blocks(&self) -> &[f64] {
        &self.blocks
    }

    /// Whether another block could say more.
    #[must_use]
    pub fn is_done(&self) -> bool {
        let is_promising = self.better.log_evidence() >= PROMISING.ln();
        self.is_final() || (self.passes() || self.passes_wide()) && !is_promising
    }

    /// Whether it is called worse, which no later block takes back.
    #[must_use]
    pub fn is_worse(&self) -> bool {
        self.called == Some(GateOutcome::Regression)
    }

    /// Whether no block could say more: it is called, all that were planned are there, or those would say nothing.
    #[must_use]
    pub fn is_final(&self) -> bool {
        self.called.is_some() || self.blocks.len() >= self.rules.blocks_max || self.given_up
    }

    /// Whether it has moved so far that silence would hide it, though not so surely that it is called.
    fn is_suspicious(&self) -> bool {
        self.middle >= self.limits.called.ln() && self.worse.log_evidence() >= PROMISING.ln()
    }

    /// Whether it excludes the limit. What passed after few blocks may look different after more.
    fn passes(&self) -> bool {
        self.passed && self.blocks.len() >= self.rules.blocks_least && !self.is_suspicious()
    }

    /// What is said of it now, and no more: [`Evidence::judged`] takes a thousand times as long.
    pub(super) fn outcome(&self) -> GateOutcome {
        match self.called {
            Some(called) => called,
            None if self.passes() || self.passes_wide() => GateOutcome::Pass,
            None => GateOutcome::Inconclusive,
        }
    }

    /// Whether it excludes the wider limit, and scatters too much to be held to the other.
    fn passes_wide(&self) -> bool {
        let is_wide = self.class.is_some_and(|class| class != GateClass::Gated);
        is_wide && !self.is_suspicious() && self.within_wide.log_evidence() >= self.rules.log_passed()
    }

    /// What is said of it now.
    #[must_use]
    pub fn judged(&self) -> Judged {
        let noise = Noise::of(&self.blocks);
        let reach = self.reach.unwrap_or_else(|| Noise::reach(self.family, &self.rules));
        let detectable = noise.detectable(&self.limits, reach);
        let class = self.limits.class(detectable);
        let (outcome, class, within) = match self.called {
            Some(called) => (called, class, &self.within),
            None if self.passes() => (GateOutcome::Pass, class, &self.within),
            None if self.passes_wide() => (GateOutcome::Pass, GateClass::GatedAt8, &self.within_wide),
            None => (GateOutcome::Inconclusive, class, &self.within),
        };
        let reason = (outcome == GateOutcome::Inconclusive).then(|| self.undecided(detectable, class));
        Judged {
            outcome,
            reason,
            ratio: median(&self.blocks).map(f64::exp),
            interval: interval(&self.blocks, SURE).map(|ends| ends.map(f64::exp)),
            worse: self.worse.log_evidence().exp(),
            better: self.better.log_evidence().exp(),
            within: within.log_evidence().exp(),
            lag_1: lag_1(&self.blocks),
            called_from: self.limits.called,
            detectable,
            class,
            block_sd: noise.block_sd,
            given_up: self.given_up && outcome == GateOutcome::Inconclusive,
        }
    }

    /// Why neither word can be said.
    fn undecided(&self, detectable: Option<f64>, class: GateClass) -> String {
        let percent = |ratio: f64| (ratio - 1.0) * 100.0;
        let blocks = self.blocks.len();
        if blocks < self.rules.blocks_max && !self.given_up {
            return format!("measuring ended after {blocks} blocks, of {} at most", self.rules.blocks_max);
        }
        if class == GateClass::Advisory {
            let least = detectable.map_or("none".to_owned(), |ratio| format!("{:.0} %", percent(ratio)));
            return format!("too noisy: the smallest change found here is {least}");
        }
        format!(
            "{blocks} blocks prove neither a change nor that it is below {:.0} %",
            percent(self.limits.excluded)
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn of(limits: Limits, family: usize, blocks: impl IntoIterator<Item = f64>) -> Evidence {
        let mut evidence = Evidence::new(limits, family, &Rules::default());
        for block in blocks {
            if evidence.is_done() {
                break;
            }
            evidence.take(block);
        }
        evidence
    }

    /// Blocks around a change, evenly spread, in an order that changes sides.
    fn around(middle: f64, spread: f64) -> impl Iterator<Item = f64> {
        (0_u32..200).map(move |place| middle + spread * (f64::from(place * 7 % 16) - 7.5) / 7.5)
    }

    fn said(middle: f64, spread: f64) -> Judged {
        of(Limits::TIME, 12, around(middle, spread)).judged()
    }

    #[test]
    fn each_outcome_is_reached() {
        assert_eq!(said(0.05, 0.04).outcome, GateOutcome::Regression);
        assert_eq!(said(-0.05, 0.04).outcome, GateOutcome::Improvement);
        assert_eq!(said(0.0, 0.04).outcome, GateOutcome::Pass);
        let between = said(0.03, 0.2);
        assert_eq!(between.outcome, GateOutcome::Inconclusive);
        let noisy = said(0.0, 1.5);
        assert_eq!((noisy.outcome, noisy.class), (GateOutcome::Inconclusive, GateClass::Advisory));
        assert!(noisy.reason.unwrap().contains("too noisy"));
    }

    /// Blocks of which 8 % can be found and 5 % cannot: all 80 would say no more.
    #[test]
    fn a_series_that_scatters_passes_with_the_wide_limit_once_its_scatter_is_known() {
        let wide = of(Limits::TIME, 12, around(0.0, 0.14));
        let judged = wide.judged();
        assert_eq!((judged.outcome, judged.class), (GateOutcome::Pass, GateClass::GatedAt8));
        assert_eq!(wide.outcome(), GateOutcome::Pass);
        assert!((24..60).contains(&wide.blocks().len()), "{}", wide.blocks().len());
        let worse = of(Limits::TIME, 12, around(0.08, 0.14)).judged();
        assert_ne!(worse.outcome, GateOutcome::Pass);
    }

    #[test]
    fn what_could_not_be_found_in_all_blocks_is_given_up_unless_it_leans() {
        let wild = of(Limits::TIME, 12, around(0.0, 1.5));
        assert_eq!(wild.blocks().len(), 24);
        assert!(wild.is_done() && wild.judged().given_up && wild.judged().class == GateClass::Advisory);
        let leaning = of(Limits::TIME, 12, around(0.9, 1.5));
        assert!(leaning.blocks().len() > 24 && !leaning.judged().given_up, "{}", leaning.blocks().len());
        let quiet = of(Limits::TIME, 12, around(0.035, 0.08));
        assert!(!quiet.judged().given_up);
    }

    #[test]
    fn a_change_below_the_limit_is_never_called_however_sure_it_is() {
        let sure = said(0.015, 0.001);
        assert_eq!(sure.outcome, GateOutcome::Pass);
        assert!(sure.ratio.unwrap() > 1.01);
    }

    #[test]
    fn a_large_change_is_called_within_fourteen_blocks() {
        let evidence = of(Limits::TIME, 12, around(0.46, 0.01));
        assert_eq!(evidence.judged().outcome, GateOutcome::Regression);
        assert!(evidence.blocks().len() <= 14, "{}", evidence.blocks().len());
    }

    #[test]
    fn what_was_not_finished_is_no_pass() {
        for count in 0..6 {
            let short = of(Limits::TIME, 12, around(0.0, 0.01).take(count)).judged();
            assert_eq!(short.outcome, GateOutcome::Inconclusive, "{count}");
            assert!(short.reason.unwrap().contains(&format!("after {count} blocks, of 80 at most")));
        }
        let wild = of(Limits::TIME, 12, around(0.0, 1.5).take(23)).judged();
        assert!(!wild.given_up && wild.reason.unwrap().contains("after 23 blocks, of 80 at most"));
    }

    #[test]
    fn more_series_ask_for_more_evidence() {
        let blocks = |family| of(Limits::TIME, family, around(0.06, 0.02)).blocks().len();
        assert!(blocks(1) < blocks(12) && blocks(12) < blocks(1_000), "{} {}", blocks(1), blocks(12));
    }

    #[test]
    fn slow_requests_have_limits_of_their_own() {
        let said = |ratio: f64| of(Limits::TAIL, 12, around(ratio.ln(), 0.1)).judged().outcome;
        assert_eq!(said(1.1), GateOutcome::Pass);
        assert_eq!(said(2.5), GateOutcome::Regression);
    }

    #[test]
    fn what_passed_goes_on_while_it_may_be_better() {
        let better = of(Limits::TIME, 12, around(-0.1, 0.02));
        assert_eq!(better.judged().outcome, GateOutcome::Improvement);
        let same = of(Limits::TIME, 12, around(0.0, 0.02));
        assert!((12..16).contains(&same.blocks().len()), "{}", same.blocks().len());
    }

    /// Seven quiet blocks that pass, and then others: measured on beside a series that is not decided.
    #[test]
    fn what_passed_early_and_moved_later_is_no_pass() {
        let mut evidence = Evidence::new(Limits::TIME, 1_000, &Rules::default());
        (0..8).for_each(|_| evidence.take(0.0));
        (0..30).for_each(|place| evidence.take(0.06 + 0.001 * f64::from(place % 3)));
        assert!(evidence.passed || evidence.called.is_some());
        assert_ne!(evidence.judged().outcome, GateOutcome::Pass);
    }

    #[test]
    fn files_that_cannot_be_linked_again_are_called_from_five_percent_on() {
        let of_files = |middle| of(Limits::TIME_OF_FILES, 12, around(middle, 0.02)).judged().outcome;
        assert_ne!(of_files(0.035), GateOutcome::Regression);
        assert_eq!(of_files(0.08), GateOutcome::Regression);
    }

    #[test]
    fn the_interval_holds_the_median_and_narrows() {
        let width = |blocks| {
            let [low, high] = of(Limits::TIME, 12, around(0.03, 0.3).take(blocks)).judged().interval?;
            assert!(low < 1.03 && high > 1.03 && low < high, "{low} {high}");
            Some(high - low)
        };
        assert_eq!(width(5), None);
        assert!(width(70).unwrap() < width(20).unwrap());
    }

    proptest! {
        #[test]
        fn what_is_worse_one_way_round_is_never_worse_the_other(
            blocks in prop::collection::vec(-0.2_f64..0.2, 0..80)
        ) {
            let one = of(Limits::TIME, 1, blocks.iter().copied()).judged();
            let other = of(Limits::TIME, 1, blocks.iter().map(|block| -block)).judged();
            prop_assert!(one.outcome != GateOutcome::Regression || other.outcome != GateOutcome::Regression);
        }

        #[test]
        fn a_pass_has_evidence_and_a_median_below_what_it_excludes(
            blocks in prop::collection::vec(-0.2_f64..0.2, 0..80)
        ) {
            let judged = of(Limits::TIME, 12, blocks).judged();
            if judged.outcome == GateOutcome::Pass && judged.class == GateClass::Gated {
                prop_assert!(judged.within >= 1.0);
            }
        }
    }
}
