//! Does a red gate name the function that became slower, and does a bisection find the commit? A small server in ten functions,
//! of which one is given more work.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a helper that gives up fails the test that called it")]

use serde_json::Value;
use std::path::Path;
use std::process::{Command, Output};

const RUNNER: &str = env!("CARGO_BIN_EXE_bench-runner");

const CONFIG: &str = r#"
subject = "own"

[build]
command = ["cargo", "build", "--offline", "--release"]
binary = "target/release/own"
layouts = "cargo"

[trial]
warmup_s = 0.05
seconds = 0.05
min_operations = 100

[target.own]
title = "own {version}"
role = "rival"
transport = "socket"
durability = "volatile"
binary = "own"
args = ["{port}"]
version = { args = ["--version"], after = "own " }
allocator = { text = "the system's" }

[[load]]
operation = "get"
value_bytes = [64]
clients = [8]
pipeline = [16]
keys = 1_000
"#;

const FUNCTIONS: [&str; 10] =
    ["admit", "count", "decode", "digest", "expire", "lookup", "meter", "route", "trace", "verify"];
/// Steps of each function, for each request.
const STEPS: u32 = 400;

/// A store that answers RESP, and calls ten functions for each request.
fn server(steps: &[u32; 10]) -> String {
    // Each has a factor of its own: LLVM makes one function of two that are equal. A step waits for the one before it and takes no
    // memory, so that more steps take more time in proportion: what is stored and loaded again takes less in a long loop on some CPUs.
    let functions: String = FUNCTIONS
        .iter()
        .zip(steps)
        .zip((31_u64..).step_by(2))
        .map(|((name, steps), factor)| {
            format!(
                "#[inline(never)]\nfn {name}(start: u64) -> u64 {{\n    let mut sum = start;\n    for step in 0..{steps}_u64 {{\n        \
                 sum = (sum ^ step).wrapping_mul({factor});\n        sum ^= sum >> 29;\n    }}\n    sum\n}}\n\n"
            )
        })
        .collect();
    let calls: String = FUNCTIONS.iter().map(|name| format!("            sum = {name}(sum);\n")).collect();
    format!(
        r#"use std::collections::HashMap;
use std::hint::black_box;
use std::io::{{BufRead, BufReader, Read, Write}};
use std::net::{{TcpListener, TcpStream}};
use std::sync::Mutex;

static STORE: Mutex<Option<HashMap<Vec<u8>, Vec<u8>>>> = Mutex::new(None);

{functions}fn number(input: &mut BufReader<TcpStream>) -> Option<usize> {{
    let mut line = String::new();
    (input.read_line(&mut line).ok()? > 0).then_some(())?;
    line.trim_end().get(1..)?.parse().ok()
}}

fn word(input: &mut BufReader<TcpStream>) -> Option<Vec<u8>> {{
    let mut bytes = vec![0; number(input)? + 2];
    input.read_exact(&mut bytes).ok()?;
    bytes.truncate(bytes.len() - 2);
    Some(bytes)
}}

fn answer(words: &[Vec<u8>], output: &mut Vec<u8>) {{
    let mut guard = STORE.lock().unwrap();
    let store = guard.get_or_insert_with(HashMap::new);
    match words {{
        [name, key, value, ..] if name.eq_ignore_ascii_case(b"SET") => {{
            store.insert(key.clone(), value.clone());
            output.extend_from_slice(b"+OK\r\n");
        }}
        [name, key] if name.eq_ignore_ascii_case(b"GET") => match store.get(key) {{
            Some(value) => {{
                output.extend_from_slice(format!("${{}}\r\n", value.len()).as_bytes());
                output.extend_from_slice(value);
                output.extend_from_slice(b"\r\n");
            }}
            None => output.extend_from_slice(b"$-1\r\n"),
        }},
        [name, keys @ ..] if name.eq_ignore_ascii_case(b"DEL") => {{
            let gone = keys.iter().filter(|key| store.remove(*key).is_some()).count();
            output.extend_from_slice(format!(":{{gone}}\r\n").as_bytes());
        }}
        [name] if name.eq_ignore_ascii_case(b"PING") => output.extend_from_slice(b"+PONG\r\n"),
        [name] if name.eq_ignore_ascii_case(b"DBSIZE") => output.extend_from_slice(format!(":{{}}\r\n", store.len()).as_bytes()),
        _ => output.extend_from_slice(b"-ERR unknown command\r\n"),
    }}
}}

fn serve(stream: TcpStream) -> Option<()> {{
    stream.set_nodelay(true).ok()?;
    let (mut input, mut writer) = (BufReader::new(stream.try_clone().ok()?), stream);
    let (mut output, mut sum) = (Vec::new(), 1);
    loop {{
        let words = number(&mut input)?;
        let words: Vec<Vec<u8>> = (0..words).map(|_| word(&mut input)).collect::<Option<_>>()?;
        if words[0].eq_ignore_ascii_case(b"GET") {{
{calls}        }}
        answer(&words, &mut output);
        if input.buffer().is_empty() {{
            writer.write_all(&output).ok()?;
            output.clear();
        }}
        black_box(sum);
    }}
}}

fn main() {{
    let word = std::env::args().nth(1).unwrap_or_default();
    if word == "--version" {{
        println!("own 1.0.0");
        return;
    }}
    let listener = TcpListener::bind(("127.0.0.1", word.parse().unwrap())).unwrap();
    for stream in listener.incoming().flatten() {{
        std::thread::spawn(move || serve(stream));
    }}
}}
"#
    )
}

fn run(folder: &Path, program: &str, words: &[&str]) -> Output {
    Command::new(program)
        .args(words)
        .current_dir(folder)
        .env_remove("CARGO_TARGET_DIR")
        .env("GIT_CONFIG_COUNT", "2")
        .envs([("GIT_CONFIG_KEY_0", "user.name"), ("GIT_CONFIG_VALUE_0", "t")])
        .envs([("GIT_CONFIG_KEY_1", "user.email"), ("GIT_CONFIG_VALUE_1", "t@localhost")])
        .output()
        .unwrap()
}

fn told(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

fn commit(folder: &Path, message: &str) -> String {
    for words in [&["add", "."][..], &["commit", "--quiet", "-m", message]] {
        let output = run(folder, "git", words);
        assert!(output.status.success(), "{words:?}: {}", told(&output));
    }
    let output = run(folder, "git", &["rev-parse", "HEAD"]);
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

/// A repository that holds the server as it is at first.
fn repository(folder: &Path) -> String {
    let output = run(folder, "git", &["init", "--quiet", "--initial-branch=main"]);
    assert!(output.status.success(), "{}", told(&output));
    let manifest = "[package]\nname = \"own\"\nversion = \"1.0.0\"\nedition = \"2024\"\n[workspace]\n\
                    [profile.release]\ndebug = \"line-tables-only\"\n";
    std::fs::create_dir(folder.join("src")).unwrap();
    std::fs::write(folder.join("Cargo.toml"), manifest).unwrap();
    std::fs::write(folder.join(".gitignore"), "/target\n/out\nCargo.lock\n").unwrap();
    std::fs::write(folder.join("bench-gate.toml"), CONFIG).unwrap();
    write_server(folder, &[STEPS; 10], "");
    commit(folder, "a server")
}

fn write_server(folder: &Path, steps: &[u32; 10], comment: &str) {
    std::fs::write(folder.join("src/main.rs"), format!("{comment}{}", server(steps))).unwrap();
}

/// The steps of a server of which one function takes so much more of the whole.
fn with_more(function: usize, percent: u32) -> [u32; 10] {
    let mut steps = [STEPS; 10];
    steps[function] += STEPS * 10 * percent / 100;
    steps
}

/// A gate of a head of which one function takes more is red and names it first.
fn names_it(function: usize) {
    let dir = tempfile::tempdir().unwrap();
    let base = repository(dir.path());
    write_server(dir.path(), &with_more(function, 20), "");
    let head = commit(dir.path(), "more work");
    let words = ["gate", "--base", &base, "--head", &head, "--budget", "2m", "--out", "out"];
    let disturbed = |output: &Output| output.status.code() == Some(3) && told(output).contains("others used");
    let mut output = run(dir.path(), RUNNER, &words);
    for _ in 0..2 {
        if disturbed(&output) {
            // Too few blocks were quiet: nothing was judged, so it is asked again.
            output = run(dir.path(), RUNNER, &words);
        }
    }
    assert_eq!(output.status.code(), Some(2), "{}", told(&output));
    let text = std::fs::read_to_string(dir.path().join("out/gate.json")).unwrap();
    let gate: Value = serde_json::from_str(&text).unwrap();
    let first = gate["profiles"][0]["functions"][0]["name"].as_str().unwrap_or_default();
    assert_eq!(first, format!("own::{}", FUNCTIONS[function]), "{}", told(&output));
    let comment = std::fs::read_to_string(dir.path().join("out/comment.md")).unwrap();
    assert!(comment.contains(&format!("own::{}", FUNCTIONS[function])), "{comment}");
}

#[test]
fn a_red_gate_names_the_function_that_became_slower() {
    names_it(4);
}

#[test]
#[ignore = "four minutes: cargo test --test slower -- --ignored ten_times"]
fn a_red_gate_names_the_function_ten_times_of_ten() {
    for (place, name) in FUNCTIONS.iter().enumerate() {
        names_it(place);
        println!("{name}: done");
    }
}

/// One of 32 commits makes each request take 8 % more; the others change comments.
fn is_found_at(culprit: usize) {
    let dir = tempfile::tempdir().unwrap();
    let good = repository(dir.path());
    let mut commits = Vec::new();
    for number in 1..=32 {
        let steps = if number >= culprit { with_more(culprit % 10, 8) } else { [STEPS; 10] };
        write_server(dir.path(), &steps, &format!("// Change {number}.\n"));
        commits.push(commit(dir.path(), &format!("change {number}")));
    }
    let bad = commits.last().unwrap();
    let words = ["bisect", "--good", &good, "--bad", bad, "--budget", "4m", "--format", "json"];
    let output = run(dir.path(), RUNNER, &words);
    assert_eq!(output.status.code(), Some(0), "{}", told(&output));
    let found: Value = serde_json::from_slice(&output.stdout).unwrap();
    let suspects: Vec<&str> =
        found["suspects"].as_array().unwrap().iter().filter_map(|one| one["id"].as_str()).collect();
    let gates = found["gates"].as_array().unwrap().len();
    println!(
        "change {culprit} of 32: {} in {gates} gates",
        if found["found"] == true { "found" } else { "not found" }
    );
    assert_eq!(suspects, [commits[culprit - 1].as_str()], "{}", told(&output));
    assert!(gates <= 6, "{gates}");
}

#[test]
#[ignore = "eleven minutes: cargo test --test slower -- --ignored five_times --nocapture"]
fn a_bisection_finds_the_commit_five_times_of_five() {
    for culprit in [3, 9, 16, 22, 31] {
        is_found_at(culprit);
    }
}
