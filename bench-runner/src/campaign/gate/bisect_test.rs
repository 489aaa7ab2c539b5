//! Searches among commits of which the truth is known.

use super::*;

fn commits(count: usize) -> Vec<Commit> {
    (0..count).map(|place| Commit { id: place.to_string(), subject: String::new() }).collect()
}

fn place(commit: &Commit) -> usize {
    commit.id.parse().unwrap()
}

fn said(outcome: GateOutcome, share: f64) -> Said {
    Said { outcome, share: Some(share) }
}

/// A clear step: all of the change is in one commit.
fn step(is_slow: bool) -> Said {
    if is_slow { said(GateOutcome::Regression, 0.98) } else { said(GateOutcome::Pass, 0.05) }
}

fn silence() -> Said {
    Said { outcome: GateOutcome::NotMeasured, share: None }
}

#[test]
fn the_first_slow_commit_is_found_in_as_many_gates_as_told() {
    for count in 1..=33 {
        let all = commits(count);
        for slow in 0..count {
            let mut asked = 0;
            let found = narrow(&all, &mut |commit, _| {
                asked += 1;
                Ok(step(place(commit) >= slow))
            });
            assert_eq!(found.suspects, &all[slow..=slow], "{slow} of {count}");
            assert!(found.is_found && asked < gates(count), "{asked} of {count}");
        }
    }
    assert_eq!([1, 2, 31, 32, 33].map(gates), [1, 2, 6, 6, 7]);
}

#[test]
fn commits_that_cannot_be_judged_are_passed_over_and_told_where_they_hide_it() {
    let all = commits(16);
    let with = |slow: usize| {
        narrow(&all, &mut |commit, _| {
            let place = place(commit);
            Ok(if (6..=8).contains(&place) { silence() } else { step(place >= slow) })
        })
    };
    assert_eq!(with(11).suspects, &all[11..=11]);
    let hidden = with(7);
    assert_eq!((hidden.suspects, hidden.is_found), (&all[6..=9], false));
}

#[test]
fn commits_of_which_nothing_can_be_said_are_not_all_tried() {
    let all = commits(100);
    let mut asked = 0;
    let found = narrow(&all, &mut |_, _| {
        asked += 1;
        Ok(silence())
    });
    assert_eq!((asked, found.suspects.len(), found.is_found), (SILENT_MAX, 100, false));
}

#[test]
fn a_pass_above_half_of_the_change_is_no_pass() {
    // +3 % at 10 and +3 % at 20: the gate may pass the first.
    let all = commits(32);
    let found = narrow(&all, &mut |commit, _| {
        Ok(match place(commit) {
            0..10 => said(GateOutcome::Pass, 0.02),
            10..20 => said(GateOutcome::Pass, 0.53),
            _ => said(GateOutcome::Regression, 1.0),
        })
    });
    assert!(!found.is_found && found.suspects.len() > 1);
    assert!(found.suspects.contains(&all[10]) && found.suspects.contains(&all[20]));
}

#[test]
fn a_step_that_is_a_part_of_the_change_is_compared_with_its_parent() {
    let all = commits(32);
    let with = |against_parent: GateOutcome| {
        let mut asked = Vec::new();
        let found = narrow(&all, &mut |commit, parent| {
            if let Some(parent) = parent {
                asked.push((place(parent), place(commit)));
                return Ok(said(against_parent, 0.6));
            }
            let place = place(commit);
            Ok(if place >= 20 { said(GateOutcome::Regression, 1.0) } else { said(GateOutcome::Pass, 0.4) })
        });
        (found.suspects.to_vec(), found.is_found, asked)
    };
    assert_eq!(with(GateOutcome::Regression), (all[20..=20].to_vec(), true, vec![(19, 20)]));
    for outcome in [GateOutcome::Pass, GateOutcome::Inconclusive] {
        assert_eq!(with(outcome), (all[19..=21].to_vec(), false, vec![(19, 20)]));
    }
}

#[test]
fn a_gate_that_stops_ends_it_and_what_is_left_is_told() {
    let all = commits(16);
    let mut asked = 0;
    let found = narrow(&all, &mut |commit, _| {
        asked += 1;
        anyhow::ensure!(asked < 2, "stopped");
        Ok(step(place(commit) >= 3))
    });
    assert_eq!((found.suspects, found.is_found), (&all[0..=7], false));
    assert!(found.ended.unwrap().to_string().contains("stopped"));
}

#[test]
fn a_build_that_fails_is_the_commits_own_fault_and_a_full_disk_is_not() {
    let dir = tempfile::tempdir().unwrap();
    let git = |words: &[&str]| builds::git(dir.path(), words).unwrap();
    git(&["init", "--quiet"]);
    git(&[
        "-c",
        "user.name=t",
        "-c",
        "user.email=t@localhost",
        "commit",
        "--quiet",
        "--allow-empty",
        "-m",
        "x",
    ]);
    let failing = |command: &str| {
        let command = ["sh", "-c", command].map(str::to_owned).to_vec();
        let recipe = crate::scenario::BuildRecipe {
            command,
            binary: "server".to_owned(),
            environment: BTreeMap::new(),
            layouts: crate::scenario::Layouts::One,
            calibration: None,
            salt: String::new(),
            comments: 0,
        };
        let sides = ["HEAD"; 2];
        is_of_the_commit(&builds::programs(dir.path(), sides, [Some(&recipe); 2], &mut |_| {}).unwrap_err())
    };
    assert!(failing("echo error: expected one of >&2; exit 101") && failing("true"));
    assert!(!failing("echo 'error: No space left on device (os error 28)' >&2; exit 101"));
}

#[test]
fn the_share_of_a_change_is_that_of_the_series_that_has_the_most() {
    let series = |rate: f64, cpu: f64, is_slower: bool| {
        let key = |metric: &str| ("get".to_owned(), metric.to_owned());
        Moved::from([(key("ops"), (rate, is_slower)), (key("cpu"), (cpu, true))])
    };
    let whole = series(0.001, 0.08, false);
    assert_eq!(share(&whole, &series(0.5, 0.04, false)), Some(0.5));
    let both = series(0.5, 0.08, true);
    assert_eq!(share(&both, &series(0.375, 0.04, false)), Some(0.75));
    assert_eq!(share(&both, &Moved::new()), None);
}

#[test]
fn commits_are_listed_along_the_branch_whatever_git_is_told_to_show() {
    let dir = tempfile::tempdir().unwrap();
    let git = |words: &[&str]| {
        let author = ["-c", "user.name=t", "-c", "user.email=t@localhost"];
        builds::git(dir.path(), &[&author[..], words].concat()).unwrap()
    };
    git(&["init", "--quiet", "--initial-branch=main"]);
    git(&["config", "log.showSignature", "true"]);
    git(&["config", "color.ui", "always"]);
    let commit = |subject: &str| {
        git(&["commit", "--quiet", "--allow-empty", "--allow-empty-message", "-m", subject]);
        git(&["rev-parse", "HEAD"])
    };
    commit("root");
    git(&["checkout", "--quiet", "-b", "topic"]);
    let good = commit("on the branch");
    git(&["checkout", "--quiet", "main"]);
    commit("on main, without the good one");
    git(&["merge", "--quiet", "--no-ff", "-m", "merged", "topic"]);
    commit("behind it");
    commit("");
    let subjects = |bad: &str| {
        let all = between(dir.path(), &good, bad).unwrap();
        all.into_iter().map(|one| one.subject).collect::<Vec<_>>()
    };
    assert_eq!(subjects("main"), ["merged", "behind it", ""]);
    assert_eq!(subjects("main~1"), ["merged", "behind it"]);
    assert!(between(dir.path(), &good, "topic").unwrap_err().to_string().contains("same commit"));
}
