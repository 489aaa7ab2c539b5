//! Killed at any moment, does a run lose or double a trial, or leave a server behind?

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests fail by panicking, as tests do")]

use crate::found::unpacked;
use crate::tiny::Tiny;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

/// Kills that hit a run under way; each is followed by a resumption, which may be killed in turn.
const KILLS: usize = 20;

/// A process by id and start, so that a reused id is another one.
fn started(pid: u32) -> Option<String> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (_, rest) = stat.rsplit_once(')')?;
    let words: Vec<&str> = rest.split_whitespace().collect();
    // A process that is dead and not yet waited for is gone.
    (words.first() != Some(&"Z")).then(|| (*words.get(19).unwrap_or(&"")).to_owned())
}

fn children(pid: u32) -> Vec<(u32, String)> {
    let mut all = Vec::new();
    for task in fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten() {
        let text = fs::read_to_string(task.path().join("children")).unwrap_or_default();
        for child in text.split_whitespace().filter_map(|one| one.parse().ok()) {
            all.extend(started(child).map(|start| (child, start)));
            all.extend(children(child));
        }
    }
    all
}

fn wait_for(what: &str, mut done: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(60);
    while !done() {
        assert!(Instant::now() < deadline, "{what} did not come in a minute");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Kills the runner, and waits until what it had started is gone.
fn kill(run: &mut Child) {
    let started_by_it = children(run.id());
    run.kill().unwrap();
    run.wait().unwrap();
    wait_for("the end of the killed runner's processes", || {
        started_by_it.iter().all(|(pid, start)| started(*pid).as_ref() != Some(start))
    });
}

/// Trials by cell, of the record.
fn trials(folder: &Path) -> BTreeMap<String, Vec<u64>> {
    let record = unpacked(&folder.join("tiny.json.zst"));
    let mut all = BTreeMap::new();
    for cell in record["cells"].as_array().unwrap() {
        let indices = cell["trials"].as_array().unwrap().iter().map(|one| one["index"].as_u64().unwrap());
        all.insert(cell["key"].as_str().unwrap().to_owned(), indices.collect());
    }
    all
}

/// Starts a run, kills it and its resumptions at random moments until `kills` have hit it under way or it has
/// ended, and lets it end. Returns the kills that hit.
fn harassed(kills: usize, random: &mut fastrand::Rng, expected: &BTreeMap<String, Vec<u64>>) -> usize {
    let tiny = Tiny::new();
    let silent =
        |mut run: std::process::Command| run.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let mut run = silent(tiny.run(&["--seed", "11"]));
    wait_for("a plan in the journal", || {
        tiny.journal().is_some_and(|journal| journal.join("plan.json").exists())
    });
    let id = tiny.journal().unwrap().file_name().unwrap().to_string_lossy().into_owned();
    let mut hit = 0;
    while hit < kills {
        // From the first moments of a process to several steps later.
        std::thread::sleep(Duration::from_millis(random.u64(1..900)));
        kill(&mut run);
        if tiny.journal().is_none() {
            break;
        }
        hit += 1;
        assert_eq!(tiny.state()["state"], "failed", "kill {hit}: a killed run is a failed one");
        // The database can be read, and says so too, from the moment there is one.
        let told = tiny.ask("SELECT run_id, state, reason FROM unfinished_campaign");
        for row in told.as_array().into_iter().flatten() {
            assert_eq!((&row["state"], &row["run_id"]), (&"failed".into(), &id.as_str().into()), "{told}");
        }
        run = silent(tiny.resume(&id));
    }
    let _ = run.wait();
    assert!(tiny.journal().is_none(), "the last resumption was left alone and ended");
    assert_eq!(trials(&tiny.only_run()), *expected, "no trial is lost, none is there twice");
    let campaigns = tiny.ask("SELECT run_id, state FROM campaign");
    assert_eq!(campaigns, serde_json::json!([{ "run_id": id, "state": "complete" }]));
    assert_eq!(tiny.ask("SELECT * FROM unfinished_campaign"), serde_json::json!([]));
    let output = tiny.runner(&["db", "check"]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    hit
}

#[test]
fn runs_that_are_killed_twenty_times_lose_and_double_nothing() {
    // What the same plan measures when nothing happens to it.
    let undisturbed = Tiny::new();
    let output = undisturbed.run(&["--seed", "11"]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let expected = trials(&undisturbed.only_run());
    assert!(expected.len() >= 4 && expected.values().all(|trials| !trials.is_empty()), "{expected:?}");
    let mut random = fastrand::Rng::with_seed(20);
    let (mut hit, mut runs) = (0, 0);
    while hit < KILLS {
        hit += harassed(KILLS - hit, &mut random, &expected);
        runs += 1;
        assert!(runs < 60, "only {hit} kills hit a run that was under way");
    }
    eprintln!("{hit} kills hit {runs} runs under way");
}

#[test]
fn a_kill_after_the_record_is_ended_by_resume() {
    let tiny = Tiny::new();
    let output = tiny.run(&["--seed", "11"]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let folder = tiny.only_run();
    let id = folder.file_name().unwrap().to_string_lossy().into_owned();
    let record = fs::read(folder.join("run.json")).unwrap();
    // As if it had been killed between its record and its end: the journal is still there, the rows are not.
    let mut second = tiny.run(&["--seed", "11"]).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    wait_for("a plan in the journal", || {
        tiny.journal().is_some_and(|journal| journal.join("plan.json").exists())
    });
    kill(&mut second);
    let journal = tiny.journal().unwrap();
    let plan = fs::read_to_string(journal.join("plan.json")).unwrap();
    let other = journal.file_name().unwrap().to_string_lossy().into_owned();
    let moved = journal.with_file_name(&id);
    fs::write(journal.join("plan.json"), plan.replace(&other, &id)).unwrap();
    fs::rename(&journal, &moved).unwrap();
    fs::remove_file(tiny.database()).unwrap();
    let output = tiny.resume(&id).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(tiny.journal().is_none());
    assert_eq!(fs::read(folder.join("run.json")).unwrap(), record, "a stored record is not written again");
    assert_eq!(tiny.ask("SELECT run_id FROM campaign"), serde_json::json!([{ "run_id": id }]));
}
