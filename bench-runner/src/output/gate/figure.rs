//! How is a figure of a gate spelled? Cut at its uncertainty, in plain words where a change is proven, and never longer than
//! a cell bears: a number from outside may have 300 digits.

use crate::model::{Direction, GateOutcome, GateVerdict};
use crate::output::summary::grouped;
use crate::stats;

/// Digits of a commit or digest that tell it from the others of a gate.
const ID_DIGITS: usize = 12;

/// A number cut where its spread begins, thousands grouped; with a power of ten where it would be long.
fn number(value: f64, like: f64, low: f64, high: f64) -> String {
    if !is_plain(value) {
        return format!("{value:.3e}");
    }
    let (cut, decimals) = stats::significant_like(value, like, low, high);
    // A comparison that is almost zero asks for decimals that nobody reads.
    grouped(cut, decimals.min(9))
}

/// A number whose spread is not said: a gate's medians are of many blocks.
fn alone(value: f64) -> String {
    if !is_plain(value) {
        return format!("{value:.3e}");
    }
    let (cut, decimals) = stats::significant_at_most(value);
    grouped(cut, decimals)
}

/// Whether a number fits a cell without a power of ten.
fn is_plain(value: f64) -> bool {
    value.is_finite() && (value == 0.0 || (1e-4..1e12).contains(&value.abs()))
}

/// `12,340 ns`; a word where there is none.
pub(super) fn amount(value: Option<f64>, unit: &str) -> String {
    value.map_or("none".to_owned(), |value| format!("{} {unit}", alone(value)))
}

/// `1.098 (1.071–1.124)`: head over base, with its interval where it has one.
pub(super) fn ratio(verdict: &GateVerdict) -> String {
    match (verdict.ratio, verdict.interval) {
        (None, _) => "none".to_owned(),
        (Some(ratio), None) => alone(ratio),
        (Some(ratio), Some([low, high])) => {
            let [middle, from, to] = [ratio, low, high].map(|one| number(one, ratio, low, high));
            format!("{middle} ({from}–{to})")
        }
    }
}

/// `3.0 %` of a ratio above one.
pub(super) fn percent(ratio: f64) -> String {
    signed_percent(ratio).trim_start_matches('+').to_owned()
}

/// `+9.8 %`.
fn signed_percent(ratio: f64) -> String {
    let percent = (ratio - 1.0) * 100.0;
    if percent.is_finite() && percent.abs() < 1e6 {
        format!("{percent:+.1} %")
    } else {
        format!("{percent:+.1e} %")
    }
}

/// `+9.8 %, slower`. The word stands only where the change is proven: a tie is not "slower by 0.3 %".
pub(super) fn change(verdict: &GateVerdict) -> Option<String> {
    let ratio = verdict.ratio?;
    let moved = signed_percent(ratio);
    let proven = matches!(verdict.outcome, GateOutcome::Regression | GateOutcome::Improvement);
    Some(match word(verdict, ratio).filter(|_| proven) {
        Some(word) => format!("{moved}, {word}"),
        None => moved,
    })
}

/// What the change is in plain words. None of a metric that has no better way, and of no change.
fn word(verdict: &GateVerdict, ratio: f64) -> Option<&'static str> {
    let worse = match verdict.direction {
        Direction::Lower if ratio != 1.0 => ratio > 1.0,
        Direction::Higher if ratio != 1.0 => ratio < 1.0,
        _ => return None,
    };
    let metric = verdict.metric.as_str();
    let (bad, good) = match verdict.unit.as_str() {
        _ if verdict.direction == Direction::Lower && metric.contains("cpu") => ("more CPU", "less CPU"),
        "bytes" if metric.starts_with("disk") => ("more disk", "less disk"),
        "bytes" if metric.starts_with("rss") => ("more memory", "less memory"),
        "ns" | "ms" | "1/s" | "bytes/s" => ("slower", "faster"),
        _ => ("worse", "better"),
    };
    Some(if worse { bad } else { good })
}

/// `0.0010`; a probability below what four decimals show says so.
pub(super) fn probability(p: f64) -> String {
    match p {
        small if (0.0..0.00005).contains(&small) => "below 0.0001".to_owned(),
        share if (0.0..=1.0).contains(&share) => format!("{share:.4}"),
        odd => format!("{odd:.1e}"),
    }
}

/// `1,234`: instructions.
pub(super) fn count(value: f64) -> String {
    if is_plain(value) { grouped(value.round(), 0) } else { format!("{value:.1e}") }
}

/// `5,200`: how many times its stake a bet has become.
pub(super) fn evidence(times: f64) -> String {
    match times {
        little if (0.0..10.0).contains(&little) => format!("{little:.1}"),
        // Beside a spread as wide as the number two digits are left.
        times => number(times, times, 0.0, 2.0 * times),
    }
}

/// `45 s`, `18 min`.
pub(super) fn duration(seconds: f64) -> String {
    match seconds {
        short if (0.0..120.0).contains(&short) => format!("{short:.0} s"),
        long if (120.0..1e6).contains(&long) => format!("{:.0} min", long / 60.0),
        odd => format!("{odd:.1e} s"),
    }
}

/// The beginning of a commit or digest; a text that is none stays as it is.
pub(super) fn id(text: &str) -> &str {
    if text.bytes().all(|one| one.is_ascii_hexdigit()) {
        return text.get(..ID_DIGITS).unwrap_or(text);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::super::testing;
    use super::*;

    fn verdict(metric: &str, unit: &str, direction: Direction, ratio: f64) -> GateVerdict {
        let mut one = testing::gate().verdicts.remove(0);
        (one.metric, one.unit, one.direction) = (metric.to_owned(), unit.to_owned(), direction);
        one.ratio = Some(ratio);
        one
    }

    #[test]
    fn a_proven_change_is_said_in_words_of_its_metric() {
        use Direction::{Higher, Lower, Neutral};
        for (metric, unit, direction, ratio, expected) in [
            ("latency_ns_p50", "ns", Lower, 1.098, "+9.8 %, slower"),
            ("latency_ns_p50", "ns", Lower, 0.9, "-10.0 %, faster"),
            ("ops_per_second", "1/s", Higher, 0.9, "-10.0 %, slower"),
            ("ops_per_second", "1/s", Higher, 1.1, "+10.0 %, faster"),
            ("server_cpu_ns_per_op", "ns", Lower, 1.098, "+9.8 %, more CPU"),
            ("rss_bytes_per_key", "bytes", Lower, 0.95, "-5.0 %, less memory"),
            ("disk_bytes", "bytes", Lower, 1.05, "+5.0 %, more disk"),
            ("hit_ratio", "ratio", Higher, 0.9, "-10.0 %, worse"),
            ("cap_bytes", "bytes", Neutral, 1.1, "+10.0 %"),
            ("latency_ns_p50", "ns", Lower, 1.0, "+0.0 %"),
        ] {
            assert_eq!(
                change(&verdict(metric, unit, direction, ratio)).unwrap(),
                expected,
                "{metric} {ratio}"
            );
        }
    }

    #[test]
    fn a_change_that_is_not_proven_has_no_word() {
        let mut one = verdict("latency_ns_p50", "ns", Direction::Lower, 1.098);
        for outcome in [GateOutcome::Pass, GateOutcome::Inconclusive] {
            one.outcome = outcome;
            assert_eq!(change(&one).unwrap(), "+9.8 %");
        }
        one.ratio = None;
        assert_eq!(change(&one), None);
    }

    #[test]
    fn digits_end_where_the_interval_begins() {
        let mut one = verdict("latency_ns_p50", "ns", Direction::Lower, 1.0983);
        one.interval = Some([1.0712, 1.1244]);
        assert_eq!(ratio(&one), "1.10 (1.07–1.12)");
        one.interval = Some([1.0963, 1.0994]);
        assert_eq!(ratio(&one), "1.098 (1.096–1.099)");
        one.interval = None;
        assert_eq!(ratio(&one), "1.098");
        one.ratio = None;
        assert_eq!(ratio(&one), "none");
        assert_eq!(amount(Some(12_341.7), "ns"), "12,340 ns");
        assert_eq!(amount(None, "ns"), "none");
        assert_eq!(percent(1.03), "3.0 %");
    }

    #[test]
    fn no_number_is_longer_than_a_cell() {
        for value in [f64::MAX, f64::MIN, f64::MIN_POSITIVE, 5e-324, 1e-5, 0.0, -0.0, f64::NAN, f64::INFINITY]
        {
            let mut one = verdict("latency_ns_p50", "ns", Direction::Lower, value);
            one.interval = Some([-value, value]);
            for text in [
                amount(Some(value), "ns"),
                ratio(&one),
                percent(value),
                probability(value),
                evidence(value),
                count(value),
                change(&one).unwrap(),
                duration(value),
            ] {
                assert!(text.chars().count() < 50, "{text}");
            }
        }
    }

    #[test]
    fn a_probability_has_four_decimals() {
        for (p, expected) in [
            (0.00104, "0.0010"),
            (1.0, "1.0000"),
            (0.0, "below 0.0001"),
            (4e-5, "below 0.0001"),
            (-1.0, "-1.0e0"),
        ] {
            assert_eq!(probability(p), expected);
        }
    }

    #[test]
    fn evidence_is_a_number_of_times() {
        assert_eq!([0.0, 0.04, 9.0, 41.2, 5_234.0].map(evidence), ["0.0", "0.0", "9.0", "41", "5,200"]);
    }

    #[test]
    fn times_and_ids_are_short() {
        assert_eq!([duration(45.2), duration(1080.0)], ["45 s", "18 min"]);
        assert_eq!(id("0123456789abcdef0123456789abcdef01234567"), "0123456789ab");
        assert_eq!([id("abc"), id("a branch"), id("")], ["abc", "a branch", ""]);
    }
}
