//! What may be said of two measurements of the same cell, made in two sittings.
//!
//! Not a gate: the sittings were not interleaved, so whatever changed on the machine between them is inside the
//! difference. A word is given only where both have an interval and the intervals do not touch.

use crate::model::{Direction, Measurement, Spread};

/// The judgement of one metric.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Word {
    /// The intervals are apart, and the second is on the good side.
    Better,
    /// The intervals are apart, and the second is on the bad side.
    Worse,
    /// The intervals meet.
    Tied,
    /// Fewer than six trials on a side, or a metric that is neither better nor worse.
    NoVerdict,
}

impl Word {
    /// The spelling in tables.
    #[must_use]
    pub fn text(self) -> &'static str {
        match self {
            Self::Better => "better",
            Self::Worse => "worse",
            Self::Tied => "tied",
            Self::NoVerdict => "no verdict",
        }
    }
}

/// How `second` stands to `first`.
#[must_use]
pub fn judge(first: &Measurement, second: &Measurement) -> Word {
    let sign = match first.direction {
        Direction::Higher => 1.0,
        Direction::Lower => -1.0,
        Direction::Neutral => return Word::NoVerdict,
    };
    if first.spread != Spread::Interval || second.spread != Spread::Interval {
        return Word::NoVerdict;
    }
    if second.low > first.high {
        if sign > 0.0 { Word::Better } else { Word::Worse }
    } else if second.high < first.low {
        if sign > 0.0 { Word::Worse } else { Word::Better }
    } else {
        Word::Tied
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
            ((1.0, 2.0), (2.0, 4.0), Interval, Higher, Word::Tied),
            ((1.0, 2.0), (3.0, 4.0), Interval, Neutral, Word::NoVerdict),
            ((1.0, 2.0), (3.0, 4.0), Range, Higher, Word::NoVerdict),
        ] {
            let one = measured(first.0, first.1, Interval, direction);
            let other = measured(second.0, second.1, spread, direction);
            assert_eq!(judge(&one, &other), expected, "{first:?} {second:?} {spread:?} {direction:?}");
        }
    }
}
