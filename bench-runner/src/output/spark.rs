//! A row of bars in one line of text: how a figure moved from trial to trial, or from second to second.

const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// Most bars in a line; longer series are averaged down to it.
const WIDEST: usize = 24;

/// Bars from zero to the largest value, so that a small change looks small. Empty for fewer than two values.
#[must_use]
pub fn line(values: &[f64]) -> String {
    let values = narrowed(values);
    let largest = values.iter().copied().fold(0.0, f64::max);
    if values.len() < 2 || !largest.is_finite() || largest <= 0.0 {
        return String::new();
    }
    values.iter().map(|value| BARS[((value / largest * 7.0).round().clamp(0.0, 7.0)) as usize]).collect()
}

/// At most [`WIDEST`] values: means of neighbours, as even as they come.
#[must_use]
pub fn narrowed(values: &[f64]) -> Vec<f64> {
    if values.len() <= WIDEST {
        return values.to_vec();
    }
    (0..WIDEST)
        .map(|place| {
            let part = &values[place * values.len() / WIDEST..(place + 1) * values.len() / WIDEST];
            part.iter().sum::<f64>() / part.len() as f64
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_begin_at_zero() {
        assert_eq!(line(&[0.0, 50.0, 100.0]), "▁▅█");
        assert_eq!(line(&[98.0, 100.0, 99.0]), "███", "two percent is no visible change");
    }

    #[test]
    fn a_long_series_is_averaged_and_a_short_or_empty_one_is_nothing() {
        let long: Vec<f64> = (0..120).map(f64::from).collect();
        assert_eq!(line(&long).chars().count(), WIDEST);
        assert_eq!(narrowed(&long)[0], 2.0);
        for nothing in [vec![], vec![1.0], vec![0.0, 0.0], vec![f64::NAN, f64::INFINITY]] {
            assert_eq!(line(&nothing), "");
        }
    }
}
