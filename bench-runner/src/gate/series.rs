//! What is judged, and what did its blocks come to? A series is one metric of one scenario.

use super::noise::Noise;
use super::rule::Rules;
use crate::model::{Direction, Status, Trial, metric};
use crate::stats::{block_log_ratio, median, sign_test};

/// Above so many cores used by others a block says nothing.
pub(super) const FOREIGN_CORES: f64 = 0.15;
/// From this share of a CPU on the server, not the client, sets the throughput.
const SATURATED: f64 = 0.95;
/// Median absolute deviation to standard deviation, for normal values.
const MAD_TO_SD: f64 = 1.482_602_218_505_602;
/// No machine is taken to be quieter than this.
const QUIETEST: f64 = 0.005;

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
/// the response times as well.
#[must_use]
pub fn metrics(is_open: bool) -> &'static [&'static str] {
    if is_open {
        &["server_cpu_ns_per_op", "latency_ns_p50", "latency_ns_p99"]
    } else {
        &["server_cpu_ns_per_op", "ops_per_second"]
    }
}

/// What one block says of a series.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Point {
    /// Log ratio, above zero worse.
    pub figure: f64,
    /// Cores used by others in the worst of its trials.
    pub foreign: f64,
}

/// All that was found of a series.
#[derive(Debug, Clone, PartialEq)]
pub struct Collected {
    /// Which it is.
    pub series: Series,
    /// Two layouts of base.
    pub null: Vec<Point>,
    /// Few blocks, which route.
    pub screen: Vec<Point>,
    /// Fresh blocks, which are judged.
    pub confirm: Vec<Point>,
    /// Quiet blocks that were wanted for the confirmation; nought where it was not called for.
    pub wanted: usize,
    /// Base's values, in the unit.
    pub base: Vec<f64>,
    /// Head's.
    pub head: Vec<f64>,
    /// The first trial without a figure, in words.
    pub failed: Option<String>,
}

impl Collected {
    /// Nothing yet.
    #[must_use]
    pub fn of(series: Series) -> Self {
        Self {
            series,
            null: Vec::new(),
            screen: Vec::new(),
            confirm: Vec::new(),
            wanted: 0,
            base: Vec::new(),
            head: Vec::new(),
            failed: None,
        }
    }

    /// Which way is better.
    #[must_use]
    pub fn direction(&self) -> Direction {
        metric::describe(self.series.metric).1
    }

    /// What a block's quartet of trials says of it; none where a trial has no figure. Both sides' values are kept.
    pub fn take(&mut self, base: [&Trial; 2], head: [&Trial; 2]) -> Option<Point> {
        let all = [base[0], base[1], head[0], head[1]];
        let values: Vec<f64> = all.iter().filter_map(|trial| value(trial, self.series.metric)).collect();
        let [b0, b1, h0, h1] = values[..] else {
            let broken = all.iter().position(|trial| value(trial, self.series.metric).is_none());
            self.failed.get_or_insert_with(|| {
                let place = broken.unwrap_or(0);
                let side = if place < 2 { "base" } else { "head" };
                let why = all[place].reason.as_deref().unwrap_or("the trial has no such figure");
                format!("{side}: {why}")
            });
            return None;
        };
        let ratio = block_log_ratio([b0, b1], [h0, h1])?;
        self.base.extend([b0, b1]);
        self.head.extend([h0, h1]);
        let foreign = all.iter().filter_map(|trial| trial.os.as_ref()).map(|os| os.foreign_cpu_cores);
        Some(Point {
            figure: if self.direction() == Direction::Higher { -ratio } else { ratio },
            foreign: foreign.fold(0.0, f64::max),
        })
    }

    /// The quiet ones of some blocks.
    #[must_use]
    pub fn quiet(points: &[Point]) -> Vec<f64> {
        points.iter().filter(|point| point.foreign <= FOREIGN_CORES).map(|point| point.figure).collect()
    }

    /// How this gate's own blocks scatter around the middle of their stage, as a standard deviation: robust, so that one
    /// burst does not hide a change.
    #[must_use]
    pub fn own_sd(&self) -> f64 {
        let mut residuals = Vec::new();
        for stage in [&self.null, &self.screen, &self.confirm] {
            let quiet = Self::quiet(stage);
            if let Some(middle) = median(&quiet) {
                residuals.extend(quiet.iter().map(|figure| (figure - middle).abs()));
            }
        }
        // The median of few values lies too close to them: n / (n − stages).
        let n = residuals.len() as f64;
        let small = if n > 4.0 { (n / (n - 3.0)).sqrt() } else { 2.0 };
        median(&residuals).map_or(1.0, |middle| (middle * MAD_TO_SD * small).max(QUIETEST))
    }

    /// Whether a few blocks of two layouts of base lie so far apart that more are called for.
    #[must_use]
    pub fn null_seems_moved(&self, block_sd: f64, rules: &Rules) -> bool {
        let quiet = Self::quiet(&self.null);
        let blocks = u32::try_from(quiet.len()).unwrap_or(u32::MAX);
        let limit = Noise { block_sd, blocks }.limit(rules);
        median(&quiet).is_some_and(|middle| middle.abs() > limit.ln())
    }

    /// Whether two layouts of base lie so far apart that nothing can be said of head: as far as a change that is called, and
    /// most blocks agree on the direction. Three blocks never do.
    #[must_use]
    pub fn null_moved(&self, block_sd: f64, rules: &Rules) -> bool {
        let agree = sign_test(&Self::quiet(&self.null))
            .is_some_and(|test| test.p_greater.min(test.p_less) <= rules.sign_alpha);
        agree && self.null_seems_moved(block_sd, rules)
    }
}

/// Whether base was busy enough that its throughput is its own.
#[must_use]
pub fn is_saturated(trials: &[&Trial]) -> bool {
    let busy: Vec<f64> = trials
        .iter()
        .filter(|trial| trial.elapsed_s > 0.0)
        .filter_map(|trial| Some(trial.os.as_ref()?.server_cpu_ns as f64 / 1e9 / trial.elapsed_s))
        .collect();
    median(&busy).is_some_and(|busy| busy >= SATURATED)
}

fn value(trial: &Trial, metric: &str) -> Option<f64> {
    if trial.status != Status::Ok {
        return None;
    }
    let found = trial.values.iter().find(|value| value.metric == metric && value.operation.is_none());
    found.map(|value| value.value).filter(|value| *value > 0.0 && value.is_finite())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Counts, OsStat, Value};
    use std::collections::BTreeMap;

    /// A trial with one figure.
    fn trial(metric: &str, value: f64, foreign: f64) -> Trial {
        Trial {
            index: 0,
            position: 0,
            status: Status::Ok,
            reason: None,
            elapsed_s: 1.0,
            counts: Counts::default(),
            values: vec![Value { metric: metric.to_owned(), operation: None, value }],
            histograms: Vec::new(),
            windows: Vec::new(),
            open_loop: None,
            process: None,
            os: Some(OsStat { foreign_cpu_cores: foreign, server_cpu_ns: 970_000_000, ..OsStat::default() }),
            facts: BTreeMap::new(),
        }
    }

    fn collected(metric: &'static str) -> Collected {
        Collected::of(Series { scenario: "get".to_owned(), label: "GET".to_owned(), metric })
    }

    #[test]
    fn less_throughput_and_more_cpu_time_are_both_above_zero() {
        for (metric, worse) in [("ops_per_second", 90.0), ("server_cpu_ns_per_op", 110.0)] {
            let (base, head) = (trial(metric, 100.0, 0.0), trial(metric, worse, 0.2));
            let point = collected(metric).take([&base, &base], [&head, &head]).unwrap();
            assert!(point.figure > 0.09 && point.foreign == 0.2, "{metric} {point:?}");
        }
    }

    #[test]
    fn a_trial_without_a_figure_is_told_with_its_side() {
        let (fine, mut broken) = (trial("ops_per_second", 1.0, 0.0), trial("ops_per_second", 1.0, 0.0));
        broken.status = Status::Failed;
        broken.reason = Some("it ended: signal 11".to_owned());
        let mut one = collected("ops_per_second");
        assert_eq!(one.take([&fine, &fine], [&broken, &fine]), None);
        assert_eq!(one.failed.as_deref(), Some("head: it ended: signal 11"));
    }

    #[test]
    fn throughput_is_the_servers_where_it_is_busy() {
        let busy = trial("ops_per_second", 1.0, 0.0);
        let mut idle = busy.clone();
        idle.os = Some(OsStat { server_cpu_ns: 500_000_000, ..OsStat::default() });
        assert!(is_saturated(&[&busy, &busy, &idle]));
        assert!(!is_saturated(&[&idle, &busy, &idle]));
        assert!(!is_saturated(&[]));
    }

    #[test]
    fn one_burst_does_not_raise_the_noise_much() {
        let mut one = collected("ops_per_second");
        let point = |figure| Point { figure, foreign: 0.0 };
        one.null = vec![point(0.01), point(-0.01), point(0.0)];
        one.screen = [0.05, 0.04, 0.06, 0.05, 0.5].map(point).to_vec();
        let sd = one.own_sd();
        assert!((0.008..0.03).contains(&sd), "{sd}");
        assert!(!one.null_seems_moved(sd, &Rules::default()));
    }

    #[test]
    fn layouts_lie_apart_where_many_blocks_say_so() {
        let rules = Rules::default();
        let mut one = collected("ops_per_second");
        let points = |figures: &[f64]| -> Vec<Point> {
            figures.iter().map(|&figure| Point { figure, foreign: 0.0 }).collect()
        };
        one.null = points(&[0.06, 0.07, 0.08]);
        assert!(one.null_seems_moved(0.01, &rules) && !one.null_moved(0.01, &rules));
        one.null = points(&[0.07; 16]);
        assert!(one.null_moved(0.01, &rules) && !one.null_moved(0.1, &rules));
        // Large at first, and gone with more blocks.
        one.null = points(&[[0.07; 3].as_slice(), &[0.001; 13]].concat());
        assert!(!one.null_seems_moved(0.01, &rules));
        // Large, and without a direction.
        one.null = points(&[[0.05; 10].as_slice(), &[-0.05; 6]].concat());
        assert!(one.null_seems_moved(0.01, &rules) && !one.null_moved(0.01, &rules));
    }
}
