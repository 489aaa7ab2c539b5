//! What may be said of two measurements of the same cell, made in two sittings.
//!
//! Not a gate: the sittings were not interleaved, so whatever changed on the machine between them is inside the
//! difference, and trials cannot be paired. The ratio of the medians therefore lies between the ratios of the
//! facing ends of their intervals. Each interval misses its median with probability 1 − c; so by Bonferroni's
//! inequality the ratio lies outside with at most the sum of the two (n = 9 and 9: 7.8 %). A direction is called only
//! where that span leaves out one, which is where the intervals do not touch. [`judge_beside`] asks instead whether the
//! change is larger than what unchanged programs moved.

use crate::model::{Direction, Measurement, Spread};

/// The judgement of one metric.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Word {
    /// The second is on the good side.
    Better,
    /// The second is on the bad side.
    Worse,
    /// Neither can be said; the reason says why.
    Undecided(Undecided),
}

/// Why nothing is said.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Undecided {
    /// The intervals meet.
    Meet,
    /// Fewer than six trials on a side: a range, no interval.
    Range,
    /// A metric that is neither better nor worse.
    Neutral,
    /// Too few programs are the same in both runs.
    FewControls,
    /// Unchanged programs moved as much.
    Moved,
    /// Unchanged programs changed beside each other: the runs cannot be compared.
    Unsteady,
}

impl Word {
    /// The spelling in tables, for a metric of this unit: only what is measured in time can be fast.
    #[must_use]
    pub fn text(self, unit: &str) -> &'static str {
        let speed = matches!(unit, "1/s" | "bytes/s" | "ns" | "ms");
        match (self, speed) {
            (Self::Better, true) => "faster",
            (Self::Worse, true) => "slower",
            (Self::Better, false) => "better",
            (Self::Worse, false) => "worse",
            (Self::Undecided(_), _) => "undecided",
        }
    }

    /// Why nothing is said; none where something is.
    #[must_use]
    pub fn reason(self) -> Option<&'static str> {
        match self {
            Self::Undecided(Undecided::Meet) => Some("the intervals meet"),
            Self::Undecided(Undecided::Range) => Some("fewer than six trials"),
            Self::Undecided(Undecided::Neutral) => Some("neither direction is better"),
            Self::Undecided(Undecided::FewControls) => Some("too few unchanged programs beside it"),
            Self::Undecided(Undecided::Moved) => Some("unchanged programs moved as much"),
            Self::Undecided(Undecided::Unsteady) => Some("unchanged programs changed beside each other"),
            Self::Better | Self::Worse => None,
        }
    }
}

/// Second over first, with the span that their spreads leave it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Span {
    /// Ratio of the medians.
    pub ratio: f64,
    /// Low end of the second over the high end of the first.
    pub low: f64,
    /// High end of the second over the low end of the first.
    pub high: f64,
}

/// The ratio second / first; none where an end is not above zero.
#[must_use]
pub fn unpaired_ratio(first: &Measurement, second: &Measurement) -> Option<Span> {
    let positive = first.low > 0.0 && first.median > 0.0 && second.low > 0.0;
    positive.then(|| Span {
        ratio: second.median / first.median,
        low: second.low / first.high,
        high: second.high / first.low,
    })
}

/// How `second` stands to `first`.
#[must_use]
pub fn judge(first: &Measurement, second: &Measurement) -> Word {
    let more_is_better = match first.direction {
        Direction::Higher => true,
        Direction::Lower => false,
        Direction::Neutral => return Word::Undecided(Undecided::Neutral),
    };
    if first.spread != Spread::Interval || second.spread != Spread::Interval {
        return Word::Undecided(Undecided::Range);
    }
    // By the ends and not by their ratio: an end may be zero.
    let (more, less) = (second.low > first.high, second.high < first.low);
    match (more, less) {
        (false, false) => Word::Undecided(Undecided::Meet),
        (true, _) if more_is_better => Word::Better,
        (_, true) if !more_is_better => Word::Better,
        _ => Word::Worse,
    }
}

/// The same beside unchanged programs, by `adjusted`: the ratio without what those moved, none where they are too few.
#[must_use]
pub fn judge_beside(first: &Measurement, second: &Measurement, adjusted: Option<Span>) -> Word {
    let alone = judge(first, second);
    if let Word::Undecided(Undecided::Range | Undecided::Neutral) = alone {
        return alone;
    }
    let Some(span) = adjusted else { return Word::Undecided(Undecided::FewControls) };
    let is_more = span.low > 1.0;
    if !is_more && span.high >= 1.0 {
        let meet = alone == Word::Undecided(Undecided::Meet);
        return Word::Undecided(if meet { Undecided::Meet } else { Undecided::Moved });
    }
    if is_more == (first.direction == Direction::Higher) { Word::Better } else { Word::Worse }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn measured(low: f64, high: f64, spread: Spread, direction: Direction) -> Measurement {
        Measurement {
            metric: "m".into(),
            operation: None,
            unit: "1/s".into(),
            direction,
            median: f64::midpoint(low, high),
            low,
            high,
            spread,
            n: 9,
        }
    }

    #[test]
    fn words_follow_the_intervals_and_the_direction() {
        use Direction::{Higher, Lower, Neutral};
        use Spread::{Interval, Range};
        for (first, second, spread, direction, expected) in [
            ((1.0, 2.0), (3.0, 4.0), Interval, Higher, Word::Better),
            ((1.0, 2.0), (3.0, 4.0), Interval, Lower, Word::Worse),
            ((3.0, 4.0), (1.0, 2.0), Interval, Higher, Word::Worse),
            ((3.0, 4.0), (1.0, 2.0), Interval, Lower, Word::Better),
            ((1.0, 2.0), (2.0, 4.0), Interval, Higher, Word::Undecided(Undecided::Meet)),
            ((1.0, 2.0), (3.0, 4.0), Interval, Neutral, Word::Undecided(Undecided::Neutral)),
            ((1.0, 2.0), (3.0, 4.0), Range, Higher, Word::Undecided(Undecided::Range)),
        ] {
            let one = measured(first.0, first.1, Interval, direction);
            let other = measured(second.0, second.1, spread, direction);
            assert_eq!(judge(&one, &other), expected, "{first:?} {second:?} {spread:?} {direction:?}");
        }
    }

    #[test]
    fn a_direction_needs_unchanged_programs_that_moved_less() {
        let one = measured(1.0, 2.0, Spread::Interval, Direction::Higher);
        let other = measured(3.0, 4.0, Spread::Interval, Direction::Higher);
        let span = |low, high| Some(Span { ratio: f64::midpoint(low, high), low, high });
        for (adjusted, expected) in [
            (None, Word::Undecided(Undecided::FewControls)),
            (span(0.9, 1.5), Word::Undecided(Undecided::Moved)),
            (span(1.1, 1.5), Word::Better),
            (span(0.5, 0.9), Word::Worse),
        ] {
            assert_eq!(judge_beside(&one, &other, adjusted), expected, "{adjusted:?}");
        }
        // It stayed where all others moved; and it stayed.
        assert_eq!(judge_beside(&one, &one, span(2.0, 3.0)), Word::Better);
        assert_eq!(judge_beside(&one, &one, span(0.9, 1.1)), Word::Undecided(Undecided::Meet));
    }

    #[test]
    fn only_what_takes_time_is_fast() {
        assert_eq!((Word::Better.text("1/s"), Word::Worse.text("ns")), ("faster", "slower"));
        assert_eq!((Word::Better.text("bytes"), Word::Worse.text("ratio")), ("better", "worse"));
        assert_eq!(Word::Undecided(Undecided::Meet).text("ns"), "undecided");
    }

    proptest! {
        #[test]
        fn a_direction_is_called_exactly_where_the_span_of_the_ratio_leaves_out_one(
            first in (0.1_f64..10.0, 0.0_f64..1.0), second in (0.1_f64..10.0, 0.0_f64..1.0)
        ) {
            let of = |(low, width): (f64, f64)| measured(low, low + width, Spread::Interval, Direction::Higher);
            let (one, other) = (of(first), of(second));
            let span = unpaired_ratio(&one, &other).unwrap();
            prop_assert!(span.low <= span.ratio && span.ratio <= span.high);
            let expected = if span.low > 1.0 {
                Word::Better
            } else if span.high < 1.0 {
                Word::Worse
            } else {
                Word::Undecided(Undecided::Meet)
            };
            prop_assert_eq!(judge(&one, &other), expected);
        }
    }
}
