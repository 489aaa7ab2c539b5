//! Which commit made it slower? Gates against the good one, each of which halves the commits that are left.
//!
//! Every gate compares with the good commit itself, so small steps that add up are found where they pass the limit. After the
//! first gate only the loads are measured that it called slower.

use super::{Options, Watch, builds, run};
use crate::model::{Gate, GateOutcome, GateStage};
use anyhow::{Context as _, ensure};
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// A commit by its id and the first line of its message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Commit {
    /// Full id.
    pub id: String,
    /// First line of its message.
    pub subject: String,
}

/// What a gate said of a commit against the good one.
#[derive(Debug, Clone, PartialEq)]
pub struct Tried {
    /// The commit.
    pub commit: Commit,
    /// What was said.
    pub outcome: GateOutcome,
    /// Why.
    pub reason: String,
}

/// What came of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Bisection {
    /// Commits of which one made it slower: one where it was found, several where those between could not be judged, none
    /// where the bad commit is not slower than the good one.
    pub suspects: Vec<Commit>,
    /// The gates, in order.
    pub tried: Vec<Tried>,
    /// Keys of the loads that are slower.
    pub loads: Vec<String>,
}

/// Finds the first commit behind `options.base` whose gate is red; `options.head` is known to be.
///
/// # Errors
/// There are no commits between, or a gate cannot be carried out at the ends. One that cannot be built in between is passed
/// over.
pub fn bisect(options: &Options, stop: &Arc<AtomicBool>, watch: &mut dyn Watch) -> anyhow::Result<Bisection> {
    let commits = between(&options.root, &options.base, &options.head)?;
    let last = commits.last().context("there is no commit between the good and the bad one")?;
    watch.say(&format!("{} commits: {} gates or so", commits.len(), gates(commits.len())));
    let gate = run(&with_head(options, last), stop, watch)?;
    let mut found = Bisection {
        suspects: Vec::new(),
        tried: vec![told(last, &gate)],
        loads: slower_loads(&gate).into_iter().collect(),
    };
    if gate.outcome != GateOutcome::Regression {
        return Ok(found);
    }
    let mut narrowed = options.clone();
    if !found.loads.is_empty() {
        narrowed.only.clone_from(&found.loads);
        narrowed.counted = None;
    }
    let suspects = search(&commits, &mut |commit| {
        let judged = run(&with_head(&narrowed, commit), stop, watch);
        let (outcome, tried) = match judged {
            Ok(gate) => (gate.outcome, told(commit, &gate)),
            Err(error) if stop.load(std::sync::atomic::Ordering::Relaxed) => return Err(error),
            // A commit that does not build says nothing.
            Err(error) => {
                let reason = format!("{error:#}");
                let outcome = GateOutcome::NotMeasured;
                (outcome, Tried { commit: commit.clone(), outcome, reason })
            }
        };
        watch.say(&format!("{} {}: {}", short(&commit.id), commit.subject, tried.reason));
        found.tried.push(tried);
        Ok(match outcome {
            GateOutcome::Regression => Some(true),
            GateOutcome::Pass | GateOutcome::Improvement => Some(false),
            GateOutcome::Inconclusive | GateOutcome::NotMeasured => None,
        })
    })?;
    found.suspects = suspects.to_vec();
    Ok(found)
}

/// Halves the commits, of which the last is slow and what stands before the first is not, until one is left. `is_slow` says
/// none of one that cannot be judged: then its neighbours are asked.
fn search<'a>(
    commits: &'a [Commit],
    is_slow: &mut dyn FnMut(&Commit) -> anyhow::Result<Option<bool>>,
) -> anyhow::Result<&'a [Commit]> {
    // The first slow one is at or behind `low`, and not behind `high`.
    let (mut low, mut high) = (0, commits.len() - 1);
    let mut silent = BTreeSet::new();
    while low < high {
        let middle = low + (high - low) / 2;
        // The nearest to the middle that can be asked.
        let mut open: Vec<usize> = (low..high).filter(|place| !silent.contains(place)).collect();
        open.sort_by_key(|place| place.abs_diff(middle));
        let Some(place) = open.first().copied() else { break };
        match is_slow(&commits[place])? {
            Some(true) => high = place,
            Some(false) => low = place + 1,
            None => {
                silent.insert(place);
            }
        }
    }
    Ok(&commits[low..=high])
}

/// Gates that it takes where each says yes or no.
fn gates(commits: usize) -> u32 {
    1 + commits.next_power_of_two().ilog2()
}

fn with_head(options: &Options, commit: &Commit) -> Options {
    Options { head: commit.id.clone(), ..options.clone() }
}

fn told(commit: &Commit, gate: &Gate) -> Tried {
    Tried { commit: commit.clone(), outcome: gate.outcome, reason: gate.reason.clone() }
}

/// Keys of the loads of which a series is slower. Without any, as where only a count is larger, all are measured.
fn slower_loads(gate: &Gate) -> BTreeSet<String> {
    let slower = gate.verdicts.iter().filter(|one| one.outcome == GateOutcome::Regression);
    slower.filter(|one| one.stage != GateStage::Counted).map(|one| one.scenario.clone()).collect()
}

/// The commits behind `good` up to `bad`, oldest first: along first parents, so a merge stands for all that it brought.
fn between(root: &Path, good: &str, bad: &str) -> anyhow::Result<Vec<Commit>> {
    let [good, bad] = [builds::resolve(root, good)?, builds::resolve(root, bad)?];
    builds::git(root, &["merge-base", "--is-ancestor", &good, &bad])
        .with_context(|| format!("{} is not an ancestor of {}", short(&good), short(&bad)))?;
    let range = format!("{good}..{bad}");
    let text = builds::git(root, &["log", "--first-parent", "--reverse", "--format=%H %s", &range])?;
    let commits: Vec<Commit> = text
        .lines()
        .filter_map(|line| line.split_once(' '))
        .map(|(id, subject)| Commit { id: id.to_owned(), subject: subject.to_owned() })
        .collect();
    ensure!(!commits.is_empty(), "{} and {} are the same commit", short(&good), short(&bad));
    Ok(commits)
}

/// The beginning of a commit's id.
#[must_use]
pub fn short(id: &str) -> &str {
    id.get(..10).unwrap_or(id)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn commits(count: usize) -> Vec<Commit> {
        (0..count).map(|place| Commit { id: place.to_string(), subject: String::new() }).collect()
    }

    fn place(commit: &Commit) -> usize {
        commit.id.parse().unwrap()
    }

    #[test]
    fn the_first_slow_commit_is_found_in_as_many_gates_as_told() {
        for count in 1..=33 {
            let all = commits(count);
            for slow in 0..count {
                let mut asked = 0;
                let found = search(&all, &mut |commit| {
                    asked += 1;
                    Ok(Some(place(commit) >= slow))
                });
                assert_eq!(found.unwrap(), &all[slow..=slow], "{slow} of {count}");
                assert!(asked < gates(count), "{asked} of {count}");
            }
        }
        assert_eq!([1, 2, 31, 32, 33].map(gates), [1, 2, 6, 6, 7]);
    }

    #[test]
    fn commits_that_cannot_be_judged_are_passed_over_and_told_where_they_hide_it() {
        let all = commits(16);
        let found = search(&all, &mut |commit| {
            let place = place(commit);
            Ok((!(6..=8).contains(&place)).then_some(place >= 11))
        });
        assert_eq!(found.unwrap(), &all[11..=11]);
        let hidden = search(&all, &mut |commit| {
            let place = place(commit);
            Ok((!(6..=8).contains(&place)).then_some(place >= 7))
        });
        assert_eq!(hidden.unwrap(), &all[6..=9]);
    }

    #[test]
    fn a_gate_that_stops_ends_it() {
        let all = commits(4);
        assert!(search(&all, &mut |_| anyhow::bail!("stopped")).is_err());
    }
}
