//! Significant digits: a figure is cut where its uncertainty begins.
//!
//! The same rule as `decimals` in `website/src/lib/format.ts`, so that a cell has the same digits in the README, in a
//! terminal and on its page; both are tested against `bench-runner/tests/fixtures/digits.json`.

/// The value cut where its uncertainty begins: the last digit kept is that of half the spread's width (411,873 with
/// 403,000 … 420,000 is 412,000). At least two and at most four significant digits are kept; without a spread
/// three, because one trial promises no more. Where value and spread are whole numbers, the cut one is whole too.
#[must_use]
pub fn significant(value: f64, low: f64, high: f64) -> f64 {
    last_digit(value, low, high).map_or(value, |position| round_at(value, position))
}

/// The same rounding for another number of the same row (an end of the spread), and the decimals it takes.
#[must_use]
pub fn significant_like(number: f64, value: f64, low: f64, high: f64) -> (f64, usize) {
    match last_digit(value, low, high) {
        Some(position) => (round_at(number, position), usize::try_from(-position).unwrap_or(0)),
        None => (number, 0),
    }
}

/// A number of many trials whose spread is not at hand, with the most digits that any figure has, and its decimals.
#[must_use]
pub fn significant_at_most(value: f64) -> (f64, usize) {
    if !value.is_finite() || value == 0.0 {
        return (value, 0);
    }
    let position = exponent(value) - (MOST - 1);
    (round_at(value, position), usize::try_from(-position).unwrap_or(0))
}

/// Most and fewest significant digits of a figure, and those of one without a spread.
const MOST: i32 = 4;
const FEWEST: i32 = 2;
const WITHOUT_SPREAD: i32 = 3;

/// Position of the last digit that means something: 3 where thousands do. None for zero and what is no number.
fn last_digit(value: f64, low: f64, high: f64) -> Option<i32> {
    let half = (high - low).abs() / 2.0;
    // Beside a wide spread a median of almost nothing has no digits of its own.
    let largest = if half.is_finite() { value.abs().max(half) } else { value.abs() };
    if !value.is_finite() || largest == 0.0 {
        return None;
    }
    let leading = exponent(largest);
    let wanted = if half.is_finite() && half > 0.0 { exponent(half) } else { leading - (WITHOUT_SPREAD - 1) };
    let position = wanted.clamp(leading - (MOST - 1), leading - (FEWEST - 1));
    // Counts stay whole: "3.0 keys" would claim a precision that counting does not have.
    let is_whole = [value, low, high].iter().all(|one| one.fract() == 0.0);
    Some(if is_whole { position.max(0) } else { position })
}

/// Position of the leading digit: 2 for 412.
fn exponent(value: f64) -> i32 {
    // A float's exponent lies within ±324.
    (value.abs().log10() + 1e-12).floor() as i32
}

fn round_at(value: f64, position: i32) -> f64 {
    // Powers of ten are exact where they are at least one; dividing by one keeps 0.1 + 0.2 out of the output.
    if position >= 0 {
        let unit = 10_f64.powi(position);
        (value / unit).round() * unit
    } else {
        let unit = 10_f64.powi(-position);
        (value * unit).round() / unit
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn digits_end_where_the_spread_begins() {
        for (value, low, high, expected) in [
            (411_873.0, 403_000.0, 420_000.0, 412_000.0),
            (411_873.0, 411_870.0, 411_880.0, 411_900.0),
            (411_873.0, 100_000.0, 900_000.0, 410_000.0),
            (47.318, 46.9, 48.1, 47.3),
            (0.012_345, 0.012_2, 0.012_5, 0.0123),
            (1.0, 1.0, 1.0, 1.0),
            (0.0, -1.0, 1.0, 0.0),
            (123_456.0, 123_456.0, 123_456.0, 123_000.0),
            (3.0, 2.0, 4.0, 3.0),
        ] {
            assert!(
                (significant(value, low, high) - expected).abs() <= expected.abs() * 1e-12,
                "{value} {low} {high}"
            );
        }
    }

    proptest! {
        #[test]
        fn cutting_digits_moves_a_value_by_less_than_its_spread_or_five_percent(
            value in 1e-6_f64..1e12, down in 0.0_f64..1.0, up in 0.0_f64..1.0
        ) {
            let (low, high) = (value * (1.0 - down), value * (1.0 + up));
            let cut = significant(value, low, high);
            let allowed = ((high - low) / 2.0).max(value * 0.001).min(value * 0.05) * 1.000_001;
            prop_assert!((cut - value).abs() <= allowed, "{value} cut to {cut}");
        }
    }
}
