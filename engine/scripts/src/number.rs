//! Numbers as C's `%.*g` prints them, which Redis and its libraries use.

/// `value` with at most `digits` significant digits, in the shorter of both notations.
pub(crate) fn shortest(value: f64, digits: usize) -> String {
    if value.is_nan() {
        return if value.is_sign_negative() { "-nan" } else { "nan" }.to_owned();
    }
    if value.is_infinite() {
        return if value > 0.0 { "inf" } else { "-inf" }.to_owned();
    }
    let digits = digits.max(1);
    let scientific = format!("{value:.*e}", digits - 1);
    let Some((mantissa, exponent)) = scientific.split_once('e') else { return scientific };
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if exponent < -4 || exponent >= digits as i32 {
        let sign = if exponent < 0 { '-' } else { '+' };
        return format!("{}e{sign}{:02}", trimmed(mantissa), exponent.unsigned_abs());
    }
    let places = (digits as i32 - 1 - exponent).max(0) as usize;
    trimmed(&format!("{value:.places$}")).to_owned()
}

/// Without zeros at the end of the fraction.
fn trimmed(text: &str) -> &str {
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { text }
}

#[cfg(test)]
mod tests {
    use super::shortest;

    #[test]
    fn numbers_are_printed_as_c_prints_them() {
        for (value, digits, text) in [
            (0.0, 17, "0"),
            (-0.0, 17, "-0"),
            (1.0, 17, "1"),
            (3.5, 17, "3.5"),
            (0.1, 17, "0.10000000000000001"),
            (1e20, 17, "1e+20"),
            (1e16, 17, "10000000000000000"),
            (1e17, 17, "1e+17"),
            (123_456_789_012_345.0, 14, "1.2345678901234e+14"),
            (0.1, 14, "0.1"),
            (0.0001, 14, "0.0001"),
            (0.000_01, 14, "1e-05"),
            (-2.5e-9, 14, "-2.5e-09"),
            (99_999_999_999_999.9, 14, "1e+14"),
            (f64::INFINITY, 17, "inf"),
            (f64::NEG_INFINITY, 17, "-inf"),
        ] {
            assert_eq!(shortest(value, digits), text, "{value:?}");
        }
    }
}
