//! How are sizes written? `2mib`, `64mb`, `1g`: one reader for flags, environment, file and CONFIG SET.

/// Reads a number of bytes. `k m g t` are powers of 1000; `kb mb gb tb` and `kib mib gib tib` powers of 1024, where
/// the former follow Redis's configuration rather than the dictionary.
pub(crate) fn parse_bytes(text: &str) -> Option<u64> {
    let text = text.trim().to_ascii_lowercase();
    let split = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (digits, unit) = text.split_at(split);
    let factor: u64 = match unit.trim_start() {
        "" | "b" => 1,
        "k" => 1000,
        "m" => 1000_u64.pow(2),
        "g" => 1000_u64.pow(3),
        "t" => 1000_u64.pow(4),
        "kb" | "kib" => 1 << 10,
        "mb" | "mib" => 1 << 20,
        "gb" | "gib" => 1 << 30,
        "tb" | "tib" => 1 << 40,
        _ => return None,
    };
    digits.parse::<u64>().ok()?.checked_mul(factor)
}

/// Bytes for people, in the largest binary unit that leaves no fraction, else with one decimal.
pub(crate) fn show_bytes(bytes: u64) -> String {
    for (shift, unit) in [(30, "GiB"), (20, "MiB"), (10, "KiB")] {
        if bytes >> shift > 0 {
            let whole = bytes >> shift;
            return if bytes == whole << shift {
                format!("{whole} {unit}")
            } else {
                format!("{:.1} {unit}", bytes as f64 / (1_u64 << shift) as f64)
            };
        }
    }
    format!("{bytes} B")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_with_redis_units_and_binary_ones() {
        for (text, expected) in [
            ("0", Some(0)),
            ("2097152", Some(2 << 20)),
            ("2mib", Some(2 << 20)),
            ("2MB", Some(2 << 20)),
            ("2m", Some(2_000_000)),
            ("1 gb", Some(1 << 30)),
            ("64kb", Some(64 << 10)),
            ("10b", Some(10)),
            ("", None),
            ("mib", None),
            ("-1", None),
            ("1.5gb", None),
            ("12 parsecs", None),
            ("99999999999gb", None),
        ] {
            assert_eq!(parse_bytes(text), expected, "{text:?}");
        }
    }

    #[test]
    fn sizes_are_shown_in_a_unit_that_fits() {
        assert_eq!(show_bytes(2 << 20), "2 MiB");
        assert_eq!(show_bytes(1_500), "1.5 KiB");
        assert_eq!(show_bytes(12), "12 B");
        assert_eq!(show_bytes((23 << 30) + (1 << 29)), "23.5 GiB");
    }
}
