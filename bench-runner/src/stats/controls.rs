//! A change between two sittings, beside programs that did not change between them.
//!
//! The trials of a sitting say how much a figure moves within it, not how much the machine moved between two. Programs
//! that are the same file in both sittings say that: their log ratios have a median, which is taken out of the change, and
//! a scatter. If nothing changed, the change is one more draw from it, and by Student's t is within the prediction
//! interval with probability 1 − [`MISS`]. Figures of one program move together, so the scatter of the programs' medians
//! counts where it gives the wider interval. The spans of the change's own two intervals are added in quadrature.
//! How often this errs on the stored runs: `bench-runner/docs/statistics.md`.

use super::compare::Span;
use super::order::median;
use crate::model::Measurement;
use statrs::distribution::{Binomial, ContinuousCDF, DiscreteCDF, StudentsT};

/// Fewer figures of unchanged programs say nothing of the machine.
pub const CONTROLS_MIN: usize = 5;
/// Neither do fewer programs.
pub const PROGRAMS_MIN: usize = 3;
/// How often a change may lie outside the prediction interval if nothing changed.
pub const MISS: f64 = 0.02;
/// Share of calls among unchanged programs that is expected at most, and how seldom chance may exceed what is seen.
const CALLS_EXPECTED: f64 = 0.02;
const CALLS_CHANCE: f64 = 0.01;

/// How a figure moved, in logarithms.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Shift {
    /// Logarithm of second over first.
    pub log_ratio: f64,
    /// Half of the span that the two intervals leave it.
    pub half_width: f64,
}

impl Shift {
    /// None where an end is not above zero.
    #[must_use]
    pub fn of(first: &Measurement, second: &Measurement) -> Option<Self> {
        let positive = [first.low, first.median, second.low, second.median].iter().all(|one| *one > 0.0);
        let half = |one: &Measurement| (one.high / one.low).ln() / 2.0;
        positive.then(|| Self {
            log_ratio: (second.median / first.median).ln(),
            half_width: half(first).hypot(half(second)),
        })
    }
}

/// The ratio of a change without what unchanged programs moved, and the span outside of which chance seldom puts it (see
/// [`MISS`]). `programs` holds the log ratios of each unchanged program. None with fewer than [`CONTROLS_MIN`] of them, or
/// with fewer than [`PROGRAMS_MIN`] programs.
#[must_use]
pub fn beside(own: Shift, programs: &[Vec<f64>]) -> Option<Span> {
    let figures: Vec<f64> = programs.iter().flatten().copied().collect();
    let medians: Vec<f64> = programs.iter().filter_map(|one| median(one)).collect();
    if figures.len() < CONTROLS_MIN || medians.len() < PROGRAMS_MIN {
        return None;
    }
    let centre = median(&figures)?;
    let scatter = predicted(&figures, centre)?.max(predicted(&medians, centre)?);
    let half = scatter.hypot(own.half_width);
    let moved = own.log_ratio - centre;
    Some(Span { ratio: moved.exp(), low: (moved - half).exp(), high: (moved + half).exp() })
}

/// Half of the prediction interval of one more draw about `centre`.
fn predicted(draws: &[f64], centre: f64) -> Option<f64> {
    let n = draws.len() as f64;
    let variance = draws.iter().map(|one| (one - centre).powi(2)).sum::<f64>() / (n - 1.0);
    let quantile = StudentsT::new(0.0, 1.0, n - 1.0).ok()?.inverse_cdf(1.0 - MISS / 2.0);
    Some(quantile * (variance * (1.0 + 1.0 / n)).sqrt())
}

/// Whether so many calls among unchanged programs are more than chance.
#[must_use]
pub fn are_too_many(calls: usize, of: usize) -> bool {
    calls > 0
        && Binomial::new(CALLS_EXPECTED, of as u64)
            .is_ok_and(|expected| expected.sf(calls as u64 - 1) < CALLS_CHANCE)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn still(log_ratio: f64) -> Shift {
        Shift { log_ratio, half_width: 0.0 }
    }

    fn apart(log_ratios: &[f64]) -> Vec<Vec<f64>> {
        log_ratios.iter().map(|one| vec![*one]).collect()
    }

    #[test]
    fn too_few_figures_or_programs_say_nothing() {
        assert_eq!(beside(still(1.0), &apart(&[0.0, 0.1, -0.1, 0.05])), None);
        assert_eq!(beside(still(1.0), &[vec![0.0, 0.1, -0.1], vec![0.05, 0.0, 0.0]]), None);
        assert!(beside(still(1.0), &[vec![0.0, 0.1, -0.1], vec![0.05], vec![0.0]]).is_some());
    }

    #[test]
    fn what_all_unchanged_programs_moved_is_no_change() {
        // A machine that was 20 % slower, and a program that moved with it.
        let controls: Vec<f64> =
            [0.79_f64, 0.80, 0.81, 0.80, 0.80, 0.79].iter().map(|one| one.ln()).collect();
        let moved = beside(still(0.80_f64.ln()), &apart(&controls)).unwrap();
        assert!((moved.ratio - 1.0).abs() < 1e-9 && moved.low < 1.0 && moved.high > 1.0, "{moved:?}");
        // One that did not is 25 % faster.
        let moved = beside(still(0.0), &apart(&controls)).unwrap();
        assert!((moved.ratio - 1.25).abs() < 1e-9 && moved.low > 1.0, "{moved:?}");
    }

    #[test]
    fn the_prediction_interval_is_the_textbooks() {
        // n = 5, deviation about the median 0.1, t(0.99; 4) = 3.747.
        let controls = apart(&[-0.1, -0.1, 0.0, 0.1, 0.1]);
        let span = beside(still(0.0), &controls).unwrap();
        assert!((span.high.ln() - 3.746_947 * 0.1 * 1.2_f64.sqrt()).abs() < 1e-5, "{span:?}");
        let wider = beside(Shift { log_ratio: 0.0, half_width: 1.0 }, &controls).unwrap();
        assert!((wider.high.ln() - span.high.ln().hypot(1.0)).abs() < 1e-9);
    }

    #[test]
    fn figures_of_one_program_are_not_as_many_draws() {
        // Three programs, each of one mind: ninety figures would promise far more.
        let programs: Vec<Vec<f64>> = [-0.1, 0.0, 0.1].iter().map(|one| vec![*one; 30]).collect();
        let span = beside(still(0.0), &programs).unwrap();
        // t(0.99; 2) = 6.965.
        assert!((span.high.ln() - 6.964_557 * 0.1 * (4.0_f64 / 3.0).sqrt()).abs() < 1e-5, "{span:?}");
    }

    #[test]
    fn chance_explains_few_calls_and_not_many() {
        for (calls, of, too_many) in
            [(0, 0, false), (0, 5, false), (1, 10, false), (3, 10, true), (2, 100, false), (8, 100, true)]
        {
            assert_eq!(are_too_many(calls, of), too_many, "{calls} of {of}");
        }
    }

    proptest! {
        #[test]
        fn turning_time_around_inverts_the_span(
            own in -2.0_f64..2.0, half in 0.0_f64..1.0, controls in prop::collection::vec(-1.0_f64..1.0, 5..30)
        ) {
            let forward = beside(Shift { log_ratio: own, half_width: half }, &apart(&controls)).unwrap();
            let turned: Vec<f64> = controls.iter().map(|one| -one).collect();
            let back = beside(Shift { log_ratio: -own, half_width: half }, &apart(&turned)).unwrap();
            prop_assert!((forward.low * back.high - 1.0).abs() < 1e-9 && (forward.ratio * back.ratio - 1.0).abs() < 1e-9);
        }
    }
}
