//! The spelling of a figure: cut at its uncertainty, thousands grouped, the spread behind it.

use crate::model::Measurement;
use crate::stats;

/// `412 (403–420)`: the median divided by `scale`, with its spread where there is one to show.
pub(super) fn with_spread(measured: &Measurement, scale: f64) -> String {
    let median = alone(measured, scale);
    if measured.n < 2 {
        return median;
    }
    format!("{median} ({}–{})", end(measured.low, measured, scale), end(measured.high, measured, scale))
}

/// The median alone, cut at its uncertainty all the same.
pub(super) fn alone(measured: &Measurement, scale: f64) -> String {
    end(measured.median, measured, scale)
}

fn end(number: f64, measured: &Measurement, scale: f64) -> String {
    let [number, median, low, high] =
        [number, measured.median, measured.low, measured.high].map(|one| one / scale);
    // A count that came out alike in every trial is known to its last digit.
    if low == high && number.fract() == 0.0 {
        return grouped(number, 0);
    }
    let (cut, decimals) = stats::significant_like(number, median, low, high);
    grouped(cut, decimals)
}

/// `1,204.50`.
pub(in crate::output) fn grouped(number: f64, decimals: usize) -> String {
    let plain = format!("{:.decimals$}", number.abs());
    let (whole, rest) = plain.split_at(plain.find('.').unwrap_or(plain.len()));
    let mut text = String::from(if number < 0.0 { "-" } else { "" });
    for (place, digit) in whole.chars().enumerate() {
        if place > 0 && (whole.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text.push_str(rest);
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Direction, Spread};

    fn measured(median: f64, low: f64, high: f64, n: u32) -> Measurement {
        Measurement {
            metric: "ops_per_second".into(),
            operation: None,
            unit: "1/s".into(),
            direction: Direction::Higher,
            median,
            low,
            high,
            spread: Spread::Range,
            n,
        }
    }

    /// What one cell reads like, here and on its page: see `website/test/format.test.ts`.
    #[derive(serde::Deserialize)]
    struct Case {
        median: f64,
        low: f64,
        high: f64,
        text: String,
    }

    #[test]
    fn a_cell_has_the_digits_that_it_has_on_its_page() {
        let cases: Vec<Case> =
            serde_json::from_str(include_str!("../../../tests/fixtures/digits.json")).unwrap();
        assert!(cases.len() > 10);
        for Case { median, low, high, text } in cases {
            assert_eq!(with_spread(&measured(median, low, high, 3), 1.0), text);
        }
    }

    #[test]
    fn digits_and_thousands() {
        for (one, scale, expected) in [
            (measured(411_873.0, 403_123.0, 420_456.0, 3), 1e3, "412 (403–420)"),
            (measured(411_873.0, 403_123.0, 420_456.0, 3), 1.0, "412,000 (403,000–420,000)"),
            (measured(47_318.0, 46_912.0, 48_077.0, 3), 1e3, "47.3 (46.9–48.1)"),
            (measured(1_234.5, 1_234.5, 1_234.5, 1), 1.0, "1,230"),
            (measured(6.0, 6.0, 6.0, 3), 1.0, "6 (6–6)"),
            (measured(2_097_152.0, 2_097_152.0, 2_097_152.0, 1), 1_048_576.0, "2"),
            (measured(0.0, 0.0, 0.0, 3), 1.0, "0 (0–0)"),
            (
                measured(-1_500_000.0, -1_600_000.0, -1_400_000.0, 3),
                1.0,
                "-1,500,000 (-1,600,000–-1,400,000)",
            ),
        ] {
            assert_eq!(with_spread(&one, scale), expected);
        }
    }
}
