//! What is judged, and what did its blocks come to? A series is one metric of one scenario.

use super::rule::{Evidence, Limits, Rules};
use crate::model::{Direction, WAITING, metric};
use crate::stats::block_log_ratio;

/// Above so many cores used by others a block says nothing.
pub(super) const FOREIGN_CORES: f64 = 0.15;
/// After so many blocks in a row without a figure no more are taken.
const FAILURES_MAX: u32 = 3;
/// A series passes with so many blocks for each that has no figure: a server that crashes or hangs now and then is no pass.
const BLOCKS_PER_FAILURE: usize = 20;
/// The metric that is judged by whole histograms: the share of slow requests.
pub const TAIL: &str = "latency_above_p99";

/// One metric of one scenario.
#[derive(Debug, Clone, PartialEq)]
pub struct Series {
    /// Key of the cell.
    pub scenario: String,
    /// For people.
    pub label: String,
    /// The metric.
    pub metric: &'static str,
}

/// What is judged of a load. CPU time of the server where it is asked as fast as it answers, and throughput if the
/// server sets it: a client at its limit hides a slower server, and CPU time hides a server that sleeps. In an open loop
/// the response times as well: the median, and how many requests are slow. The 99th percentile of so short a trial rests on a
/// few dozen requests, and one burst moves it; the number of requests above that of both sides together moves less.
#[must_use]
pub fn metrics(is_open: bool) -> &'static [&'static str] {
    if is_open {
        &["server_cpu_ns_per_op", "latency_ns_p50", TAIL]
    } else {
        &["server_cpu_ns_per_op", "ops_per_second"]
    }
}

/// The figures of one block.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Figures {
    /// Base's two, in the unit.
    pub base: [f64; 2],
    /// Head's.
    pub head: [f64; 2],
    /// Log ratio head / base. Exchanging the sides turns its sign and does nothing else.
    pub log_ratio: f64,
}

impl Figures {
    /// Of a metric that a trial has as one number; none where one is not positive and finite.
    #[must_use]
    pub fn of(base: [f64; 2], head: [f64; 2]) -> Option<Self> {
        Some(Self { base, head, log_ratio: block_log_ratio(base, head)? })
    }
}

/// All that was found of a series.
#[derive(Debug, Clone, PartialEq)]
pub struct Collected {
    /// Which it is.
    pub series: Series,
    /// What the blocks say that others did not disturb.
    pub evidence: Evidence,
    /// Cores used by others in the blocks that are left out.
    pub disturbed: Vec<f64>,
    /// Base's values, in the unit.
    pub base: Vec<f64>,
    /// Head's.
    pub head: Vec<f64>,
    /// Why the last block that has no figure has none.
    pub failed: Option<String>,
    /// Blocks without a figure since the last one that had it.
    failures: u32,
    /// Blocks without a figure.
    failures_all: usize,
}

impl Collected {
    /// Nothing yet, of one of so many series.
    #[must_use]
    pub fn of(series: Series, family: usize, rules: &Rules) -> Self {
        let limits = match series.metric {
            TAIL => Limits::TAIL,
            _ if rules.layouts_stay => Limits::TIME_OF_FILES,
            _ => Limits::TIME,
        };
        Self {
            series,
            evidence: Evidence::new(limits, family, rules),
            disturbed: Vec::new(),
            base: Vec::new(),
            head: Vec::new(),
            failed: None,
            failures: 0,
            failures_all: 0,
        }
    }

    /// Which way is better.
    #[must_use]
    pub fn direction(&self) -> Direction {
        metric::describe(self.series.metric).1
    }

    /// Whether another block could say more.
    #[must_use]
    pub fn is_done(&self) -> bool {
        let can_pass = !self.fails_often() || self.evidence.is_final();
        self.has_failed() || self.evidence.is_done() && can_pass
    }

    /// Why it has no word, where too many of its blocks have no figure.
    #[must_use]
    pub fn failing(&self) -> Option<String> {
        let why = self.failed.as_deref()?;
        let all = self.failures_all + self.evidence.blocks().len() + self.disturbed.len();
        (self.has_failed() || self.fails_often())
            .then(|| format!("{} of {all} blocks have no figure; the last: {why}", self.failures_all))
    }

    fn fails_often(&self) -> bool {
        self.failures_all * BLOCKS_PER_FAILURE > self.evidence.blocks().len()
    }

    /// Whether block after block has no figure.
    #[must_use]
    pub fn has_failed(&self) -> bool {
        self.failures >= FAILURES_MAX
    }

    /// Takes what a block says, or why it says nothing. `foreign`: cores used by others in the worst of its trials.
    pub fn take(&mut self, found: Result<Figures, String>, foreign: f64) {
        let figures = match found {
            Ok(figures) => figures,
            Err(why) if foreign > FOREIGN_CORES && why.contains(WAITING) => {
                self.disturbed.push(foreign);
                return;
            }
            Err(why) => {
                self.failures += 1;
                self.failures_all += 1;
                self.failed = Some(why);
                return;
            }
        };
        self.failures = 0;
        if foreign > FOREIGN_CORES {
            self.disturbed.push(foreign);
            return;
        }
        self.base.extend(figures.base);
        self.head.extend(figures.head);
        let is_higher_better = self.direction() == Direction::Higher;
        self.evidence.take(if is_higher_better { -figures.log_ratio } else { figures.log_ratio });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn collected(metric: &'static str) -> Collected {
        let series = Series { scenario: "get".to_owned(), label: "GET".to_owned(), metric };
        Collected::of(series, 12, &Rules::default())
    }

    fn figures(base: f64, head: f64) -> Result<Figures, String> {
        Figures::of([base; 2], [head; 2]).ok_or_else(String::new)
    }

    #[test]
    fn less_throughput_and_more_cpu_time_are_both_above_zero() {
        for (metric, worse) in [("ops_per_second", 90.0), ("server_cpu_ns_per_op", 110.0)] {
            let mut one = collected(metric);
            one.take(figures(100.0, worse), 0.1);
            assert!(one.evidence.blocks()[0] > 0.09, "{metric}");
            assert_eq!((one.base, one.head), (vec![100.0; 2], vec![worse; 2]));
        }
    }

    #[test]
    fn what_others_disturbed_is_left_out_and_counted() {
        let mut one = collected("ops_per_second");
        one.take(figures(100.0, 50.0), 0.9);
        assert!(one.evidence.blocks().is_empty() && one.base.is_empty());
        assert_eq!(one.disturbed, [0.9]);
    }

    /// Where the hypervisor takes the CPUs away, no thread is ready and every reply waits, of any server.
    #[test]
    fn replies_that_wait_beside_others_are_disturbed_and_no_failure_of_the_server() {
        let mut one = collected("ops_per_second");
        let why = || Err(format!("head: {WAITING}: the median response takes 2.0 ms"));
        (0..4).for_each(|_| one.take(why(), 0.2));
        assert!(!one.is_done() && one.failing().is_none() && one.disturbed.len() == 4);
        one.take(Err("head: it ended: signal 11".to_owned()), 0.2);
        assert!(one.failing().is_some(), "a crash is one beside others, too");
        (0..3).for_each(|_| one.take(why(), 0.1));
        assert!(one.is_done() && one.failing().is_some(), "a timer on a quiet machine is the server's");
    }

    #[test]
    fn three_blocks_in_a_row_without_a_figure_end_a_series() {
        let mut one = collected("ops_per_second");
        for time in 1..=3 {
            one.take(Err("head: it ended: signal 11".to_owned()), 0.0);
            assert_eq!(one.is_done(), time == 3);
        }
        assert_eq!(one.failed.as_deref(), Some("head: it ended: signal 11"));
        assert!(one.failing().unwrap().starts_with("3 of 3 blocks have no figure; the last: head: it ended"));
        one.take(figures(1.0, 1.0), 0.0);
        assert!(!one.has_failed() && one.failing().is_some());
    }

    /// A head that crashes in one block of ten: blocks between go on, and there is no pass.
    #[test]
    fn a_series_that_fails_now_and_then_is_measured_on_and_never_passes() {
        let mut one = collected("ops_per_second");
        let mut taken = 0;
        while !one.is_done() {
            let found =
                if taken % 10 == 3 { Err("head: it ended".to_owned()) } else { figures(100.0, 100.0) };
            one.take(found, 0.0);
            taken += 1;
        }
        assert!(one.failing().is_some() && one.evidence.blocks().len() == 80, "{taken}");
        let mut once = collected("ops_per_second");
        once.take(Err("base: no answer".to_owned()), 0.0);
        while !once.is_done() {
            once.take(figures(100.0, 100.0), 0.0);
        }
        assert!(once.failing().is_none() && once.evidence.blocks().len() == 20);
    }

    #[test]
    fn what_has_no_logarithm_is_no_figure() {
        assert_eq!(Figures::of([0.0, 1.0], [1.0, 1.0]), None);
        assert_eq!(Figures::of([1.0, 1.0], [1.0, f64::NAN]), None);
    }
}
