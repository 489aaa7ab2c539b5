//! Units of columns: the one in which the figures of a column read best. Times, rates and sizes follow the rule of the
//! pages (`scaleOfAll` in `website/src/lib/units.ts`); counts and shares stay as they are stored.

/// A unit, and what a stored value is divided by to be in it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Unit {
    pub(super) name: &'static str,
    pub(super) divisor: f64,
}

const fn unit(name: &'static str, divisor: f64) -> Unit {
    Unit { name, divisor }
}

const KIB: f64 = 1024.0;
const PER_SECOND: &[Unit] = &[unit("ops/s", 1.0), unit("k ops/s", 1e3), unit("M ops/s", 1e6)];
const NANOSECONDS: &[Unit] = &[unit("ns", 1.0), unit("µs", 1e3), unit("ms", 1e6), unit("s", 1e9)];
const MILLISECONDS: &[Unit] = &[unit("ns", 1e-6), unit("µs", 1e-3), unit("ms", 1.0), unit("s", 1e3)];
const BYTES: &[Unit] =
    &[unit("B", 1.0), unit("KiB", KIB), unit("MiB", KIB * KIB), unit("GiB", KIB * KIB * KIB)];
const COUNT: &[Unit] = &[unit("", 1.0)];

/// The unit for values that are stored in `stored`: of equally good ones the smaller.
pub(super) fn choose(stored: &str, values: &[f64]) -> Unit {
    let candidates = match stored {
        "1/s" => PER_SECOND,
        "ns" => NANOSECONDS,
        "ms" => MILLISECONDS,
        "bytes" => BYTES,
        _ => COUNT,
    };
    let total = |unit: &Unit| values.iter().map(|value| cost(value / unit.divisor)).sum::<u32>();
    let mut best = candidates[0];
    for next in &candidates[1..] {
        if total(next) < total(&best) {
            best = *next;
        }
    }
    best
}

/// How badly a figure reads: 1 to 999 reads best, and more than 9,999 as seldom as can be.
fn cost(scaled: f64) -> u32 {
    let size = scaled.abs();
    if size == 0.0 || (1.0..999.5).contains(&size) {
        0
    } else if (0.1..9_999.5).contains(&size) {
        1
    } else if (0.01..0.1).contains(&size) {
        3
    } else if size < 0.01 {
        if size >= 0.001 { 6 } else { 9 }
    } else {
        1000
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_unit_is_the_one_a_person_would_choose() {
        const MIB: f64 = KIB * KIB;
        for (stored, values, expected) in [
            ("1/s", &[950.0][..], "ops/s"),
            ("1/s", &[9_500.0], "k ops/s"),
            ("1/s", &[2_300_000.0], "M ops/s"),
            ("bytes", &[96.0 * MIB, 1_200.0 * MIB], "MiB"),
            ("ns", &[770_000_000.0], "ms"),
            ("ms", &[0.000_651], "ns"),
            ("ms", &[12.0], "ms"),
            ("count", &[91_240.0], ""),
        ] {
            assert_eq!(choose(stored, values).name, expected, "{stored} {values:?}");
        }
    }
}
