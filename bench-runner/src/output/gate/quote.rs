//! How often does the gate err? A calibration in one sentence, for those who read a verdict.

use crate::model::{Calibration, InjectedAs};

/// `on kvm-epyc-genoa-2, of gates of which the truth was known: nothing changed, 0 of 40 said regression (95 % interval 0–9 %); …`.
/// None where no gate was carried out yet.
#[must_use]
pub fn quote(calibration: &Calibration) -> Option<String> {
    let parts: Vec<String> = calibration
        .rates
        .iter()
        .map(|rate| {
            let injected = match rate.injected_as {
                None => "nothing changed".to_owned(),
                Some(InjectedAs::Spin) => format!("{:+} % as work", rate.injected_percent),
                Some(InjectedAs::Sleep) => format!("{:+} % as sleep", rate.injected_percent),
                Some(InjectedAs::Tail) => {
                    format!("{} % of the replies 5 ms later", rate.injected_percent)
                }
            };
            let beside = match (rate.undecided, rate.unfinished) {
                (0, 0) => String::new(),
                (undecided, 0) => format!(", {undecided} undecided"),
                (0, unfinished) => format!(", {unfinished} more unfinished"),
                (undecided, unfinished) => format!(", {undecided} undecided, {unfinished} more unfinished"),
            };
            let [low, high] = [rate.rate_low, rate.rate_high].map(|share| (share * 100.0).round());
            format!(
                "{injected}, {} of {} said regression (95 % interval {low}–{high} %){beside}",
                rate.regression, rate.gates
            )
        })
        .collect();
    (!parts.is_empty()).then(|| {
        format!(
            "on {}, of gates of which the truth was known: {}.",
            calibration.machine_key,
            parts.join("; ")
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{CalibrationRate, Tool};

    fn rate(
        injected_percent: f64,
        injected_as: Option<InjectedAs>,
        counts: [u32; 2],
        ends: [f64; 2],
    ) -> CalibrationRate {
        let ([regression, gates], [rate_low, rate_high]) = (counts, ends);
        CalibrationRate {
            injected_percent,
            injected_as,
            gates,
            regression,
            improvement: 0,
            undecided: 0,
            unfinished: 0,
            rate_low,
            rate_high,
        }
    }

    #[test]
    fn every_rate_is_quoted_with_its_counts_and_interval() {
        let mut calibration = Calibration {
            schema: String::new(),
            schema_version: 1,
            tool: Tool::this(),
            machine_key: "here".to_owned(),
            machine: super::super::testing::gate().machine,
            gate_sha256: String::new(),
            rule: None,
            budget_s: None,
            noise: Vec::new(),
            gates: Vec::new(),
            rates: vec![
                rate(0.0, None, [0, 2], [0.0, 0.842]),
                rate(5.0, Some(InjectedAs::Sleep), [1, 1], [0.025, 1.0]),
            ],
        };
        assert_eq!(
            quote(&calibration).unwrap(),
            "on here, of gates of which the truth was known: nothing changed, 0 of 2 said regression (95 % interval 0–84 %); \
             +5 % as sleep, 1 of 1 said regression (95 % interval 3–100 %)."
        );
        (calibration.rates[0].undecided, calibration.rates[0].unfinished) = (1, 3);
        let told = quote(&calibration).unwrap();
        assert!(told.contains("0–84 %), 1 undecided, 3 more unfinished; +5 %"), "{told}");
        calibration.rates.clear();
        assert_eq!(quote(&calibration), None);
    }
}
