//! The cells that a version owes, beside the cells that its runs hold.

use crate::model::{Profile, ScenarioRecord, Status};
use crate::plan::Plan;
use crate::scenario::Scenario;
use std::collections::BTreeMap;

/// A cell that a version owes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Owed {
    /// Key of the scenario.
    pub scenario: String,
    /// Its revision: cells of another one do not count.
    pub revision: u32,
    /// Key of the cell.
    pub cell: String,
    /// Key of the target.
    pub target: String,
    /// Shortest profile that counts.
    pub profile: Profile,
}

/// A scenario of a stored run.
#[derive(Debug, Clone, Copy)]
pub struct Stored<'a> {
    /// Profile of the run.
    pub profile: Profile,
    /// The record.
    pub record: &'a ScenarioRecord,
}

/// An owed cell without a figure.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lack {
    /// The cell.
    pub owed: Owed,
    /// Why it does not count, in words.
    pub reason: String,
}

/// The cells of a plan. A cell of two plans is owed at the longer profile: call it for the shorter one first.
pub fn owed(
    all: &mut BTreeMap<(String, String), Owed>,
    plan: &Plan,
    scenarios: &[Scenario],
    profile: Profile,
) {
    for step in &plan.steps {
        let Some(scenario) = scenarios.iter().find(|one| one.key() == step.scenario) else { continue };
        for cell in step.work.cells() {
            all.insert(
                (step.scenario.clone(), cell.key.clone()),
                Owed {
                    scenario: step.scenario.clone(),
                    revision: scenario.definition().revision,
                    cell: cell.key.clone(),
                    target: step.target.clone(),
                    profile,
                },
            );
        }
    }
}

/// The owed cells that no stored run has a figure for. `elsewhere` tells which targets cannot be had on this
/// machine at all, such as those that are an image alone: their cells may be skipped with a reason.
#[must_use]
pub fn lacking<'a>(
    owed: impl IntoIterator<Item = &'a Owed>,
    stored: &[Stored<'_>],
    elsewhere: &dyn Fn(&str) -> bool,
) -> Vec<Lack> {
    owed.into_iter()
        .filter_map(|one| {
            let reason = fault(one, stored, elsewhere)?;
            Some(Lack { owed: one.clone(), reason })
        })
        .collect()
}

fn fault(owed: &Owed, stored: &[Stored<'_>], elsewhere: &dyn Fn(&str) -> bool) -> Option<String> {
    let mut nearest = "no run has it".to_owned();
    for Stored { profile, record } in stored.iter().filter(|one| one.record.scenario.key == owed.scenario) {
        let Some(cell) = record.cells.iter().find(|cell| cell.key == owed.cell) else { continue };
        let reason = cell.reason.as_deref().unwrap_or("no reason recorded");
        nearest = match cell.status {
            Status::Skipped if elsewhere(&owed.target) => return None,
            Status::Skipped => format!("skipped: {reason}"),
            Status::Ok if record.scenario.revision != owed.revision => {
                format!("measured at revision {}, now {}", record.scenario.revision, owed.revision)
            }
            Status::Ok if *profile < owed.profile => "measured at a shorter profile only".to_owned(),
            Status::Ok => return None,
            _ => format!("no figure: {reason}"),
        };
    }
    Some(nearest)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::export::testing;

    fn owed_cell(record: &ScenarioRecord, index: usize, profile: Profile) -> Owed {
        let cell = &record.cells[index];
        Owed {
            scenario: record.scenario.key.clone(),
            revision: record.scenario.revision,
            cell: cell.key.clone(),
            target: cell.target.clone(),
            profile,
        }
    }

    fn reasons(owed: &Owed, stored: &[Stored<'_>]) -> Vec<String> {
        lacking([owed], stored, &|target| target == "an-image").into_iter().map(|lack| lack.reason).collect()
    }

    #[test]
    fn a_cell_counts_where_it_has_a_figure_of_a_profile_that_is_long_enough() {
        let (_, scenarios) = testing::run();
        let record = scenarios.iter().find(|one| one.scenario.key == "wire-single").unwrap();
        let ok = record.cells.iter().position(|cell| cell.status == Status::Ok).unwrap();
        let of = |profile| [Stored { profile, record }];
        let quick = owed_cell(record, ok, Profile::Quick);
        assert!(reasons(&quick, &of(Profile::Quick)).is_empty());
        assert!(reasons(&quick, &of(Profile::Full)).is_empty());
        assert_eq!(reasons(&quick, &of(Profile::Smoke)), ["measured at a shorter profile only"]);
        let release = owed_cell(record, ok, Profile::Release);
        assert_eq!(reasons(&release, &of(Profile::Quick)), ["measured at a shorter profile only"]);
        assert_eq!(reasons(&release, &[]), ["no run has it"]);
        let other = Owed { revision: quick.revision + 1, ..quick };
        assert!(reasons(&other, &of(Profile::Full))[0].starts_with("measured at revision"));
    }

    #[test]
    fn a_cell_without_a_figure_is_lacking_unless_its_target_cannot_be_had_here() {
        let (_, scenarios) = testing::run();
        let mut record = scenarios.into_iter().find(|one| one.scenario.key == "wire-single").unwrap();
        let mut owed = owed_cell(&record, 0, Profile::Quick);
        for (status, start) in [(Status::Failed, "no figure"), (Status::Skipped, "skipped")] {
            record.cells[0].status = status;
            let stored = [Stored { profile: Profile::Quick, record: &record }];
            owed.target = "redis-server".to_owned();
            assert!(reasons(&owed, &stored)[0].starts_with(start));
            owed.target = "an-image".to_owned();
            assert_eq!(reasons(&owed, &stored).is_empty(), status == Status::Skipped);
        }
    }
}
