//! Which cells of two sides are the same cell?
//!
//! A scenario is taken from the pair of runs that measured it alike: the same revision, parameters and profile. Of several
//! such pairs the one with the longest profile counts, of those the newest: never by figures.

use super::Stored;
use crate::model::{Cell, Run, ScenarioRecord, Status};
use crate::scenario::profile_name;

/// The same cell of two runs.
#[derive(Debug, Clone, Copy)]
pub struct Pair<'a> {
    /// Key of the scenario.
    pub scenario: &'a str,
    /// The earlier one.
    pub first: &'a Cell,
    /// The later one.
    pub second: &'a Cell,
    /// Whether both were measured on the same file, by its digest.
    pub is_unchanged: bool,
}

/// A scenario or a cell that cannot be compared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Left {
    /// Key of the scenario.
    pub scenario: String,
    /// Key of the cell; none for all of a scenario.
    pub cell: Option<String>,
    /// Why.
    pub reason: String,
}

/// How far two offered rates may lie apart and still be one rate.
const RATE_TOLERANCE: f64 = 0.02;

/// The cells of both sides, and those that have no partner.
#[must_use]
pub fn paired<'a>(first: &[Stored<'a>], second: &[Stored<'a>]) -> (Vec<Pair<'a>>, Vec<Left>) {
    let (mut pairs, mut left) = (Vec::new(), Vec::new());
    let mut seen: Vec<&str> = Vec::new();
    for key in first.iter().flat_map(|stored| stored.scenarios).map(|record| record.scenario.key.as_str()) {
        if seen.contains(&key) {
            continue;
        }
        seen.push(key);
        match best(&records(first, key), &records(second, key)) {
            Ok((one, other)) => cells(one, other, &mut pairs, &mut left),
            Err(reason) => left.push(Left { scenario: key.to_owned(), cell: None, reason }),
        }
    }
    (pairs, left)
}

type Measured<'a> = (&'a Run, &'a ScenarioRecord);

fn records<'a>(side: &[Stored<'a>], key: &str) -> Vec<Measured<'a>> {
    side.iter()
        .flat_map(|stored| stored.scenarios.iter().map(|record| (stored.run, record)))
        .filter(|(_, record)| record.scenario.key == key)
        .collect()
}

fn best<'a>(first: &[Measured<'a>], second: &[Measured<'a>]) -> Result<(Measured<'a>, Measured<'a>), String> {
    let all = first.iter().flat_map(|one| second.iter().map(move |other| (*one, *other)));
    let rank = |((one, _), (other, _)): &(Measured<'_>, Measured<'_>)| {
        (one.profile, one.started_at.clone(), other.started_at.clone())
    };
    if let Some(found) =
        all.clone().filter(|(one, other)| difference(*one, *other).is_none()).max_by_key(rank)
    {
        return Ok(found);
    }
    // Of the reasons that of the newest pair.
    Err(all
        .max_by_key(|((one, _), (other, _))| (one.started_at.clone(), other.started_at.clone()))
        .map_or_else(
            || "only one side has it".to_owned(),
            |(one, other)| difference(one, other).unwrap_or_default(),
        ))
}

fn difference((run, record): Measured<'_>, (other_run, other): Measured<'_>) -> Option<String> {
    if run.profile != other_run.profile {
        let names = (profile_name(run.profile), profile_name(other_run.profile));
        return Some(format!("measured with other profiles, {} and {}", names.0, names.1));
    }
    let (one, two) = (&record.scenario, &other.scenario);
    (one.revision != two.revision || one.params_sha256 != two.params_sha256)
        .then(|| "its definition is another one".to_owned())
}

fn cells<'a>(
    (run, record): Measured<'a>,
    (other_run, other): Measured<'a>,
    pairs: &mut Vec<Pair<'a>>,
    left: &mut Vec<Left>,
) {
    let scenario = record.scenario.key.as_str();
    for first in &record.cells {
        let found = other.cells.iter().find(|cell| cell.key == first.key);
        let reason = match found {
            None => "only one side has it".to_owned(),
            Some(second) if first.status != Status::Ok || second.status != Status::Ok => {
                "without a figure on one side".to_owned()
            }
            Some(second) => match disturbed(first, second).or_else(|| other_rate(first, second)) {
                Some(reason) => reason,
                None => {
                    let is_unchanged = is_same_program(run, other_run, &first.target);
                    pairs.push(Pair { scenario, first, second, is_unchanged });
                    continue;
                }
            },
        };
        left.push(Left { scenario: scenario.to_owned(), cell: Some(first.key.clone()), reason });
    }
}

/// Figures that were measured beside something else say more of that than of the program.
fn disturbed(first: &Cell, second: &Cell) -> Option<String> {
    let sides = [("first", first.disturbed_cores()), ("second", second.disturbed_cores())];
    let (side, cores) = sides.into_iter().find_map(|(side, cores)| Some((side, cores?)))?;
    Some(format!("disturbed: others used {cores:.2} cores meanwhile in the {side} run"))
}

/// Open loops at different rates did different work.
fn other_rate(first: &Cell, second: &Cell) -> Option<String> {
    let (one, other) = (offered(first)?, offered(second)?);
    let ratio = other / one;
    (!(1.0 - RATE_TOLERANCE..=1.0 + RATE_TOLERANCE).contains(&ratio))
        .then(|| format!("offered at other rates, {one:.0} and {other:.0} requests per second"))
}

/// Mean of what the trials offered.
fn offered(cell: &Cell) -> Option<f64> {
    let rates: Vec<f64> = cell
        .trials
        .iter()
        .filter_map(|trial| trial.open_loop.as_ref().map(|open| open.offered_per_second))
        .filter(|rate| *rate > 0.0)
        .collect();
    (!rates.is_empty()).then(|| rates.iter().sum::<f64>() / rates.len() as f64)
}

/// Whether a target was the same file in both runs.
fn is_same_program(run: &Run, other: &Run, key: &str) -> bool {
    let digest = |run: &Run| {
        let target = run.targets.iter().find(|target| target.key == key)?;
        target.build.as_ref().map(|build| build.sha256.clone()).filter(|digest| !digest.is_empty())
    };
    digest(run).is_some_and(|one| digest(other) == Some(one))
}
