//! Which commit made it slower? Gates against the good one, each of which halves the commits that are left.
//!
//! Every gate compares with the good commit itself, so small steps that add up are found where they pass the limit. After the
//! first gate only the loads are measured that it called slower. A change by a part of the whole can be called either way: the
//! commit that is found is compared with its parent, unless the two differ by most of the whole.

use super::{Options, Watch, builds, run};
use crate::model::{Direction, Gate, GateOutcome, GateStage};
use anyhow::{Context as _, ensure};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// So many commits of which nothing can be said are passed over.
const SILENT_MAX: usize = 4;
/// A pass above this share of the whole change is none: the gate passes and calls changes of that size.
const UNCLEAR: f64 = 0.5;
/// Where the parent has less than this share of the whole change, and the commit more than what is left, the step is seen.
const CLEAR: f64 = 0.25;

/// A commit by its id and the first line of its message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Commit {
    /// Full id.
    pub id: String,
    /// First line of its message.
    pub subject: String,
}

/// What a gate said of a commit.
#[derive(Debug, Clone, PartialEq)]
pub struct Tried {
    /// The commit.
    pub commit: Commit,
    /// It was compared with its parent, and not with the good commit.
    pub is_against_parent: bool,
    /// What was said.
    pub outcome: GateOutcome,
    /// Why.
    pub reason: String,
}

/// What came of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Bisection {
    /// Commits of which one made it slower; none where the bad commit is not slower than the good one.
    pub suspects: Vec<Commit>,
    /// There is one suspect, and it is slower than its parent.
    pub is_found: bool,
    /// The gates, in order.
    pub tried: Vec<Tried>,
    /// Keys of the loads that are slower.
    pub loads: Vec<String>,
    /// Why it ended before its end.
    pub ended: Option<String>,
}

/// Finds the first commit behind `options.base` whose gate is red; `options.head` is known to be. What was found until an
/// error or a signal is returned with it.
///
/// # Errors
/// There are no commits between, or the first gate cannot be carried out. A commit that cannot be built in between is passed over.
pub fn bisect(options: &Options, stop: &Arc<AtomicBool>, watch: &mut dyn Watch) -> anyhow::Result<Bisection> {
    // By its id: a name can be another commit an hour later, or that of a file.
    let good = builds::resolve(&options.root, &options.base)?;
    let commits = between(&options.root, &good, &options.head)?;
    let last = commits.last().context("there is no commit between the good and the bad one")?;
    let options = Options { base: good.clone(), ..options.clone() };
    watch.say(&format!("{} commits: {} gates or so", commits.len(), gates(commits.len())));
    let gate = run(&Options { head: last.id.clone(), ..options.clone() }, stop, watch)?;
    let mut found = Bisection {
        suspects: Vec::new(),
        is_found: false,
        tried: vec![Tried {
            commit: last.clone(),
            is_against_parent: false,
            outcome: gate.outcome,
            reason: gate.reason.clone(),
        }],
        loads: slower_loads(&gate).into_iter().collect(),
        ended: None,
    };
    if gate.outcome != GateOutcome::Regression {
        return Ok(found);
    }
    let whole = moved(&gate);
    let mut narrowed = options.clone();
    if !found.loads.is_empty() {
        narrowed.only.clone_from(&found.loads);
        narrowed.counted = None;
    }
    let tried = &mut found.tried;
    let told = narrow(&commits, &mut |commit, parent| {
        let base = parent.map_or(&good, |parent| &parent.id).clone();
        let judged = run(&Options { base, head: commit.id.clone(), ..narrowed.clone() }, stop, watch);
        let (said, reason) = match judged {
            Ok(gate) => (Said { outcome: gate.outcome, share: share(&whole, &moved(&gate)) }, gate.reason),
            // A commit that does not build says nothing; what stops one gate would stop the next.
            Err(error) if is_of_the_commit(&error) && !stop.load(Ordering::Relaxed) => {
                (Said { outcome: GateOutcome::NotMeasured, share: None }, format!("{error:#}"))
            }
            Err(error) => return Err(error),
        };
        watch.say(&format!("{} {}: {reason}", short(&commit.id), commit.subject));
        let (commit, is_against_parent) = (commit.clone(), parent.is_some());
        tried.push(Tried { commit, is_against_parent, outcome: said.outcome, reason });
        Ok(said)
    });
    found.suspects = told.suspects.to_vec();
    found.is_found = told.is_found;
    found.ended = told.ended.map(|error| format!("{error:#}"));
    Ok(found)
}

fn is_of_the_commit(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| cause.is::<builds::BuildFailed>())
}

/// What a gate says of a commit.
#[derive(Debug, Clone, Copy)]
struct Said {
    outcome: GateOutcome,
    /// How much of the whole change it has, of the series that has the most: from 0 to 1 and beyond.
    share: Option<f64>,
}

impl Said {
    /// None where it can be slow or not.
    fn is_slow(self) -> Option<bool> {
        match self.outcome {
            GateOutcome::Regression => Some(true),
            GateOutcome::Pass | GateOutcome::Improvement => {
                self.share.is_none_or(|share| share <= UNCLEAR).then_some(false)
            }
            GateOutcome::Inconclusive | GateOutcome::NotMeasured => None,
        }
    }
}

/// Where the search ended.
struct Narrowed<'a> {
    suspects: &'a [Commit],
    is_found: bool,
    ended: Option<anyhow::Error>,
}

/// Compares a commit with the one before it, or, without one, with the good commit.
type Ask<'a> = dyn FnMut(&Commit, Option<&Commit>) -> anyhow::Result<Said> + 'a;

/// Halves the commits, of which the last is slow and the one before the first is not, until one is left, and compares that
/// with its parent.
fn narrow<'a>(commits: &'a [Commit], ask: &mut Ask<'_>) -> Narrowed<'a> {
    // The first slow one is at or behind `low`, and not behind `high`.
    let (mut low, mut high) = (0, commits.len() - 1);
    let mut silent = BTreeSet::new();
    let mut shares = BTreeMap::from([(high, Some(1.0))]);
    let open = |low, high, ended| Narrowed { suspects: &commits[low..=high], is_found: false, ended };
    while low < high {
        let middle = low + (high - low) / 2;
        // The nearest to the middle that can be asked.
        let mut left: Vec<usize> = (low..high).filter(|place| !silent.contains(place)).collect();
        left.sort_by_key(|place| place.abs_diff(middle));
        let Some(place) = left.first().copied().filter(|_| silent.len() < SILENT_MAX) else {
            return open(low, high, None);
        };
        let said = match ask(&commits[place], None) {
            Ok(said) => said,
            Err(error) => return open(low, high, Some(error)),
        };
        shares.insert(place, said.share);
        match said.is_slow() {
            Some(true) => high = place,
            Some(false) => low = place + 1,
            None => {
                silent.insert(place);
            }
        }
    }
    let found = |ended| Narrowed { suspects: &commits[high..=high], is_found: true, ended };
    // Its parent is the good commit: that gate has been.
    let Some(before) = high.checked_sub(1) else { return found(None) };
    let of = |place: usize| shares.get(&place).copied().flatten();
    let is_clear =
        of(before).zip(of(high)).is_some_and(|(parent, own)| parent <= CLEAR && own >= 1.0 - CLEAR);
    if is_clear {
        return found(None);
    }
    match ask(&commits[high], Some(&commits[before])) {
        Ok(said) if said.outcome == GateOutcome::Regression => found(None),
        // It is one of several steps: any of them can be the larger.
        Ok(_) => open(before, (high + 1).min(commits.len() - 1), None),
        Err(error) => open(high, high, Some(error)),
    }
}

/// Gates that it takes where each says yes or no.
fn gates(commits: usize) -> u32 {
    1 + commits.next_power_of_two().ilog2()
}

/// By scenario and metric: how much worse head is, as a logarithm.
type Moved = BTreeMap<(String, String), (f64, bool)>;

fn moved(gate: &Gate) -> Moved {
    let of = |one: &crate::model::GateVerdict| {
        let ratio = one.ratio.filter(|ratio| *ratio > 0.0)?;
        let worse = if one.direction == Direction::Higher { -ratio.ln() } else { ratio.ln() };
        let is_slower = one.outcome == GateOutcome::Regression;
        Some(((one.scenario.clone(), one.metric.clone()), (worse, is_slower)))
    };
    gate.verdicts.iter().filter_map(of).collect()
}

/// The largest share that a series has of what it is slower by in the end.
fn share(whole: &Moved, part: &Moved) -> Option<f64> {
    let slower = whole.iter().filter(|(_, (worse, is_slower))| *is_slower && *worse > 0.0);
    let shares = slower.filter_map(|(key, (worse, _))| Some(part.get(key)?.0 / worse));
    shares.reduce(f64::max)
}

/// Keys of the loads of which a series is slower. Without any, as where only a count is larger, all are measured.
fn slower_loads(gate: &Gate) -> BTreeSet<String> {
    let slower = gate.verdicts.iter().filter(|one| one.outcome == GateOutcome::Regression);
    slower.filter(|one| one.stage != GateStage::Counted).map(|one| one.scenario.clone()).collect()
}

/// The commits behind `good` up to `bad`, oldest first: along first parents, so a merge counts as one commit with all that it brought, and
/// only those that have the good one in them.
fn between(root: &Path, good: &str, bad: &str) -> anyhow::Result<Vec<Commit>> {
    let [good, bad] = [builds::resolve(root, good)?, builds::resolve(root, bad)?];
    builds::git(root, &["merge-base", "--is-ancestor", &good, &bad])
        .with_context(|| format!("{} is not an ancestor of {}", short(&good), short(&bad)))?;
    let range = format!("{good}..{bad}");
    let words =
        ["log", "--no-show-signature", "--no-color", "--first-parent", "--ancestry-path", "--reverse"];
    let text = builds::git_as_it_is(root, &[&words[..], &["--format=%H %s", &range]].concat())?;
    let commits: Vec<Commit> = text
        .lines()
        .filter_map(|line| line.split_once(' '))
        .map(|(id, subject)| Commit { id: id.to_owned(), subject: subject.to_owned() })
        .collect();
    ensure!(!commits.is_empty(), "{} and {} are the same commit", short(&good), short(&bad));
    ensure!(
        commits.last().is_some_and(|last| last.id == bad),
        "the first parents of {} do not lead to {}: name a commit of the branch itself",
        short(&bad),
        short(&good)
    );
    Ok(commits)
}

/// The beginning of a commit's id.
#[must_use]
pub fn short(id: &str) -> &str {
    id.get(..10).unwrap_or(id)
}

#[cfg(test)]
#[path = "bisect_test.rs"]
mod tests;
