//! Does every command that the documents and the help texts show do what they say, with the exit code that they give?
//!
//! Each is run by a shell, as it is typed, in a checkout of its own; long ones with more words that make them short. A command
//! that is shown and not listed here fails the test, and so does one that is listed and not shown.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a helper that gives up fails the test that called it")]

use crate::typed::{RUNNER, Sandbox, Started, root, told};
use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

/// Where a command is run.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Place {
    /// In a checkout of this repository, with a run of a second or two.
    Here,
    /// In the repository of a small server, whose gate takes seconds.
    Server,
}

use Place::{Here, Server};

/// A command as it is shown; what a shell does before it; what is added to it so that it takes seconds; where it is run; and
/// the exit code that it ends with. They are run in this order, and one may need what an earlier one left.
type Case = (&'static str, &'static str, &'static str, Place, &'static [i32]);

/// An artifact with a regression, and the commit that it is of.
const ARTIFACT: &str = "cp \"$FIXTURES/gate/v2.json\" gate.json; mkdir -p target/bench-gate; cp gate.json target/bench-gate; \
    python3 -c 'import zipfile; zipfile.ZipFile(\"artifact.zip\", \"w\").write(\"gate.json\")'; \
    HEAD_SHA=$(python3 -c 'import json; print(json.load(open(\"gate.json\"))[\"head\"][\"commit\"])')";

const CASES: &[Case] = &[
    ("bench-runner list", "", "", Here, &[0]),
    ("bench-runner env", "", "", Here, &[0]),
    ("bench-runner verify", "", "", Here, &[1]),
    ("bench-runner plan --group wire", "", "", Here, &[0]),
    ("bench-runner plan --group durable", "", "", Here, &[0]),
    ("bench-runner plan --profile quick", "", "", Here, &[0]),
    ("bench-runner plan --profile full --budget 8h", "", "", Here, &[1]),
    ("bench-runner plan --scenario wire-single --format json", "", "", Here, &[0]),
    ("bench-runner run", "", "--dry-run", Here, &[0]),
    ("bench-runner run --resume", "", "", Here, &[1]),
    ("bench-runner run --profile smoke", "", "--dry-run", Here, &[0]),
    ("bench-runner run --profile smoke --no-container", "", "--dry-run", Here, &[0]),
    ("bench-runner run --group durable --dry-run", "", "", Here, &[0]),
    ("bench-runner run --profile quick --purpose release", "", "--dry-run", Here, &[0]),
    ("bench-runner run --profile release --slice 50m", "", "--dry-run", Here, &[0]),
    ("bench-runner run --profile release --purpose release --slice 50m", "", "--dry-run", Here, &[0]),
    ("bench-runner run --profile release --slice 50m --group wire", "", "--dry-run", Here, &[0]),
    ("bench-runner run --profile release --slice 50m --group durable", "", "--dry-run", Here, &[0]),
    (
        "bench-runner run --profile release --slice 50m --group memory --group deploy --group http",
        "",
        "--dry-run",
        Here,
        &[0],
    ),
    ("bench-runner run --profile release --scenario load-100m", "", "--dry-run", Here, &[0]),
    ("bench-runner run --scenario wire-single --target plumbkv --no-container", "", "--dry-run", Here, &[0]),
    (
        "bench-runner run --scenario wire-pipeline --target plumbkv --target redis-server",
        "",
        "--dry-run",
        Here,
        &[0],
    ),
    ("bench-runner run --target redis://127.0.0.1:6379", "", "--profile smoke", Here, &[0]),
    ("bench-runner run --target http://127.0.0.1:8080/", "", "--profile smoke", Here, &[0]),
    ("bench-runner load --server 127.0.0.1:6379 --operation set --requests 100000", "", "", Here, &[0]),
    (
        "bench-runner load --server 127.0.0.1:6379 --operation get --preload --keys 10000 --pipeline 16",
        "",
        "--requests 20000",
        Here,
        &[0],
    ),
    (
        "bench-runner load --server 127.0.0.1:6379 --operation set --open --rate 5000 --seconds 2 --format json",
        "",
        "",
        Here,
        &[0],
    ),
    ("bench-runner clean --target redis://127.0.0.1:6379", "", "", Here, &[0]),
    (
        "bench-runner clean --target redis://127.0.0.1:6379 --prefix plumb:0123456789abcdef:",
        "",
        "",
        Here,
        &[0],
    ),
    ("bench-runner init bench", "", "", Here, &[0]),
    ("bench-runner report", "", "", Here, &[0]),
    ("bench-runner report latest", "", "", Here, &[0]),
    ("bench-runner report latest --scenario wire-single", "", "", Here, &[1]),
    ("bench-runner --format json report latest", "", "", Here, &[0]),
    ("bench-runner report latest --html report.html", "", "", Here, &[0]),
    (
        "bench-runner report --version 0.1.0 --into FIGURES.md",
        "printf '<!-- results:begin -->\\n<!-- results:end -->\\n' >FIGURES.md",
        "",
        Here,
        &[0],
    ),
    ("bench-runner compare 0.2.0 0.3.0", "", "", Here, &[3]),
    ("bench-runner --format json compare 0.2.0 0.3.0", "", "", Here, &[3]),
    // No machine has both sides; or, on a machine of 0.5.0, the commands above left a run of it that shares no scenario.
    ("bench-runner compare 0.5.0 latest --metric ops_per_second", "", "", Here, &[1, 3]),
    ("bench-runner claims", "", "", Here, &[0]),
    ("bench-runner claims --run latest", "", "", Here, &[0]),
    ("bench-runner claims --check", "", "", Here, &[2]),
    ("bench-runner claims --write", "", "", Here, &[0]),
    ("bench-runner complete --version 0.5.1", "", "", Here, &[0]),
    ("bench-runner complete --version 0.5.1 --format json", "", "", Here, &[0]),
    // A smoke run is never published.
    ("bench-runner publish latest --version 0.1.0", "", "", Here, &[1]),
    (
        "bench-runner db query \"SELECT target, mode, median FROM latest_measurement WHERE metric = 'startup_ms'\"",
        "",
        "",
        Here,
        &[0],
    ),
    ("bench-runner --format markdown db query \"SELECT * FROM unmeasured\"", "", "", Here, &[0]),
    ("bench-runner db query --csv \"SELECT * FROM measurement\" > measurements.csv", "", "", Here, &[0]),
    ("bench-runner db tables", "", "", Here, &[0]),
    ("bench-runner db rebuild", "", "", Here, &[0]),
    (
        r#"sqlite3 -header -column results/local.sqlite "SELECT machine, target, mode, placement, round(median) AS ops_per_second, round(low) AS low, round(high) AS high, spread, n FROM latest_measurement WHERE scenario = 'wire-single' AND metric = 'ops_per_second' AND operation = 'set' AND value_bytes = 64 ORDER BY machine, placement, target, mode""#,
        "",
        "",
        Here,
        &[0],
    ),
    (r#"sqlite3 results/local.sqlite "PRAGMA integrity_check""#, "", "", Here, &[0]),
    ("bench-runner db check", "", "", Here, &[0]),
    ("bench-runner db prune --keep 20 --yes", "", "", Here, &[0]),
    ("bench-runner db migrate", "", "", Here, &[0]),
    ("bench-runner db prune", "", "--keep 20 --yes", Here, &[0]),
    ("bench-runner contracts", "", "", Here, &[0]),
    ("bench-runner contracts --check", "", "", Here, &[0]),
    ("bench-runner machines check", "", "", Here, &[1]),
    ("bench-runner power", "", "--gates 1", Here, &[0]),
    ("bench-runner power --block-sd 3 --effect 0,5 --mood 0", "", "--gates 2", Here, &[0]),
    (
        "bench-runner completions bash > ~/.local/share/bash-completion/completions/bench-runner",
        "mkdir -p ~/.local/share/bash-completion/completions",
        "",
        Here,
        &[0],
    ),
    ("bench-runner man --dir ~/.local/share/man/man1", "", "", Here, &[0]),
    ("bench-runner man | man -l -", "", "", Here, &[0]),
    ("bench-runner bless", ARTIFACT, "", Here, &[0]),
    (
        "bench-runner bless target/bench-gate/gate.json --reason \"every SET is logged now\"",
        ARTIFACT,
        "",
        Here,
        &[0],
    ),
    (
        "bench-runner bless artifact.zip --head-commit \"$HEAD_SHA\" --pull 7 --reason \"a safer hash\" --days 30",
        ARTIFACT,
        "",
        Here,
        &[0],
    ),
    ("bench-runner comment gate.json", ARTIFACT, "", Here, &[0]),
    (
        "bench-runner comment artifact.zip --head-commit \"$HEAD_SHA\" --out comment.md",
        ARTIFACT,
        "",
        Here,
        &[0],
    ),
    ("bench-runner gate --base main --head HEAD", "", "--budget 10s", Server, &[0]),
    ("bench-runner gate --base main --head HEAD --budget 5m --out gate-result", "", "", Server, &[0]),
    ("bench-runner gate --base ./server-old --head ./server-new", "", "--budget 10s", Server, &[0, 3]),
    (
        "bench-runner gate --base v1 --head v2 --config bench-gate.toml --root ../my-server",
        "",
        "--budget 10s",
        Server,
        &[0, 3],
    ),
    ("bench-runner bisect --good v1.2 --bad HEAD", "", "--budget 10s", Server, &[3]),
    ("bench-runner bisect --good main~32 --bad main --budget 10m", "", "", Server, &[3]),
    // A server with one layout only has none: tests/calibrate.rs calibrates one that cargo builds.
    ("bench-runner calibrate", "", "--gates 0", Server, &[1]),
    ("bench-runner calibrate --slice 10m --gates 8", "", "--budget 2s", Server, &[1]),
    // The gate of the fixture is none of one program, and nothing is calibrated there.
    ("bench-runner calibrate --add target/bench-gate/gate.json", ARTIFACT, "", Here, &[1]),
];

/// The commands that the documents show, each with a document that shows it. `command-line.md` has the help texts, which a unit
/// test compares.
fn shown() -> BTreeMap<String, String> {
    let root = root();
    let mut found = BTreeMap::new();
    let mut documents: Vec<PathBuf> = vec![root.join("README.md"), root.join("CONTRIBUTING.md")];
    documents
        .extend(fs::read_dir(root.join("bench-runner/docs")).unwrap().map(|entry| entry.unwrap().path()));
    for document in documents {
        let name = document.file_name().unwrap().to_string_lossy().into_owned();
        let text = fs::read_to_string(&document).unwrap();
        let mut is_code = false;
        for line in text.lines() {
            if line.starts_with("```") {
                is_code = !is_code;
            } else if is_code {
                take(line, &name, &mut found);
            } else {
                // Two words in a sentence are the name of a command.
                let shown =
                    line.split('`').skip(1).step_by(2).filter(|code| code.split_whitespace().count() > 2);
                shown.for_each(|code| take(code, &name, &mut found));
            }
        }
    }
    let help = Command::new(RUNNER).arg("--help").env("COLUMNS", "400").output().unwrap();
    String::from_utf8(help.stdout)
        .unwrap()
        .lines()
        .for_each(|line| take(line, "bench-runner --help", &mut found));
    found
}

fn take(line: &str, place: &str, found: &mut BTreeMap<String, String>) {
    let line = line.trim();
    if !line.starts_with("bench-runner ") && !line.starts_with("sqlite3 ") {
        return;
    }
    // Behind two spaces or a hash is what it does.
    let command = line.split("  ").next().unwrap_or(line);
    let command = command.split(" #").next().unwrap_or(command).trim();
    if !is_syntax(command) {
        found.entry(command.to_owned()).or_insert_with(|| place.to_owned());
    }
}

/// Words of a command that a reader replaces.
const PLACEHOLDERS: &[&str] = &[
    "ARTIFACT",
    "DIR",
    "FILE",
    "FIRST",
    "FOLDER",
    "KEY",
    "N",
    "PATH",
    "REF",
    "RUN",
    "SECOND",
    "SHA",
    "SHELL",
    "SQL",
    "SUB-COMMAND",
    "TEXT",
    "TIME",
    "URL",
    "X.Y.Z",
];

/// `bench-runner publish RUN` says how a command is written, and is none.
fn is_syntax(command: &str) -> bool {
    command.contains(['[', '…', '<'])
        || command.contains("HOST:PORT")
        || command.split([' ', '=']).any(|word| PLACEHOLDERS.contains(&word))
        || command.split_whitespace().count() < 2
}

#[test]
fn every_command_that_is_shown_is_run_here_and_the_other_way_round() {
    let shown = shown();
    let missing: Vec<String> = shown
        .iter()
        .filter(|(command, _)| !CASES.iter().any(|(known, ..)| known == command))
        .map(|(command, place)| format!("{command}   ({place})"))
        .collect();
    assert!(missing.is_empty(), "shown and not run:\n{}", missing.join("\n"));
    let stale: Vec<&str> = CASES
        .iter()
        .map(|(command, ..)| *command)
        .filter(|command| command.split(' ').count() > 2 && !shown.contains_key(*command))
        .collect();
    assert!(stale.is_empty(), "run and not shown: {stale:?}");
}

#[test]
fn every_command_ends_with_the_exit_code_that_is_given() {
    let (here, server) = (Sandbox::here(), Sandbox::server());
    let mut wrong = Vec::new();
    let Some(redis) = Started::redis() else { return };
    let page = Started::page();
    let has_sqlite = here.shell("sqlite3 --version").status.success();
    if !has_sqlite {
        println!("skipped: sqlite3 is not installed, so what the documents ask it is not tried");
    }
    for (command, before, more, place, codes) in CASES {
        if command.starts_with("sqlite3 ") && !has_sqlite {
            continue;
        }
        let sandbox = if *place == Here { &here } else { &server };
        let command =
            command.replace("127.0.0.1:6379", &redis.address).replace("127.0.0.1:8080", &page.address);
        let (command, redirected) = command
            .split_once(" > ")
            .map_or((&*command, String::new()), |(command, file)| (command, format!("> {file}")));
        let output = sandbox.shell(&format!("{before}\n{command} {more} {redirected}"));
        // A plan of every engine needs more room than some machines have, and says so.
        let has_no_room =
            output.status.code() == Some(1) && told(&output).contains("name another folder with TMPDIR");
        if !has_no_room && !output.status.code().is_some_and(|code| codes.contains(&code)) {
            wrong.push(format!(
                "{command} {more}: {:?}, not one of {codes:?}\n{}",
                output.status.code(),
                told(&output)
            ));
        }
        // It ends with 0 whatever it finds, and prints a line for each row.
        let printed = String::from_utf8_lossy(&output.stdout);
        let is_wrong = match command {
            text if text.contains("integrity_check") => printed != "ok\n",
            text if text.starts_with("sqlite3 ") => printed.lines().count() < 3,
            _ => false,
        };
        if is_wrong {
            wrong.push(format!("{command} printed:\n{}", told(&output)));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
