//! Was a cell measured while something else ran on the machine?

use super::{Cell, Trial};

/// CPUs' worth of time that other programs and the hypervisor may take of the machine. With more than this in most of
/// its trials, a cell tells more of them than of its target: it is neither published nor judged.
pub const DISTURBED_CORES: f64 = 0.25;

/// How the reason of a trial begins in which replies wait though neither server nor generator works. Beside others it says
/// nothing of the server: they, or the hypervisor, may be what is waited for.
pub const WAITING: &str = "replies wait for something that is not work";

impl Trial {
    /// CPUs' worth of time that other programs and the hypervisor took meanwhile; none where it was not measured.
    #[must_use]
    pub fn others_cores(&self) -> Option<f64> {
        let os = self.os.as_ref()?;
        let steal = if self.elapsed_s > 0.0 { os.steal_ms / 1_000.0 / self.elapsed_s } else { 0.0 };
        Some(os.foreign_cpu_cores + steal)
    }
}

impl Cell {
    /// What a fact says of most of the cell's trials, in the words of the first that has it.
    #[must_use]
    pub fn in_most_trials(&self, fact: &str) -> Option<&str> {
        let said: Vec<&str> =
            self.trials.iter().filter_map(|trial| trial.facts.get(fact)?.as_str()).collect();
        let is_most = 2 * said.len() > self.trials.len();
        said.first().copied().filter(|_| is_most)
    }

    /// The median of what others took of its trials, where that is more than [`DISTURBED_CORES`].
    ///
    /// A directory that is loaded once for other cells is no figure of a comparison, and is left out.
    #[must_use]
    pub fn disturbed_cores(&self) -> Option<f64> {
        if self.axes.operation == "stock" {
            return None;
        }
        let mut cores: Vec<f64> = self.trials.iter().filter_map(Trial::others_cores).collect();
        cores.sort_by(f64::total_cmp);
        cores.get(cores.len() / 2).copied().filter(|middle| *middle > DISTURBED_CORES)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::export::testing;
    use crate::model::OsStat;

    fn cell(others: &[(f64, f64)]) -> Cell {
        let (_, scenarios) = testing::run();
        let mut cell = scenarios[0].cells[0].clone();
        let trial = Trial { elapsed_s: 2.0, ..cell.trials[0].clone() };
        let with = |(foreign_cpu_cores, steal_ms): &(f64, f64)| Trial {
            os: Some(OsStat {
                foreign_cpu_cores: *foreign_cpu_cores,
                steal_ms: *steal_ms,
                ..OsStat::default()
            }),
            ..trial.clone()
        };
        cell.trials = others.iter().map(with).collect();
        cell
    }

    #[test]
    fn most_of_its_trials_decide_and_the_hypervisor_counts() {
        assert_eq!(cell(&[]).disturbed_cores(), None);
        assert_eq!(cell(&[(0.0, 0.0), (0.25, 0.0), (1.8, 0.0)]).disturbed_cores(), None);
        assert_eq!(cell(&[(0.0, 0.0), (1.7, 0.0), (1.8, 0.0)]).disturbed_cores(), Some(1.7));
        // 0.6 s of two seconds.
        assert_eq!(cell(&[(0.1, 600.0), (0.1, 600.0), (0.0, 0.0)]).disturbed_cores(), Some(0.4));
        let mut said = cell(&[(0.0, 0.0), (0.0, 0.0)]);
        said.trials[0].facts.insert("regime".to_owned(), "two rates".into());
        assert_eq!(said.in_most_trials("regime"), None, "half is not most");
        said.trials[1].facts.insert("regime".to_owned(), "a pause".into());
        assert_eq!(said.in_most_trials("regime"), Some("two rates"));
        let mut kept = cell(&[(1.8, 0.0)]);
        kept.axes.operation = "stock".to_owned();
        assert_eq!(kept.disturbed_cores(), None);
    }
}
