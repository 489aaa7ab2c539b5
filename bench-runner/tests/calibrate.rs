//! Does a calibration compare what it says? A server that cargo builds, and gates of a second each.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a helper that gives up fails the test that called it")]

mod own;

use serde_json::Value;
use std::path::Path;
use std::process::{Command, Output};

const RUNNER: &str = env!("CARGO_BIN_EXE_bench-runner");

const HEAD: &str = r#"
subject = "own"

[build]
command = ["cargo", "build", "--offline"]
binary = "target/debug/own"
layouts = "cargo"
calibration = { arguments = [], variable = "INJECTED_DELAY" }
"#;

fn run(folder: &Path, program: &str, words: &[&str]) -> Output {
    Command::new(program)
        .args(words)
        .current_dir(folder)
        .env_remove("CARGO_TARGET_DIR")
        .env("GIT_CONFIG_COUNT", "3")
        .envs([("GIT_CONFIG_KEY_0", "user.name"), ("GIT_CONFIG_VALUE_0", "t")])
        .envs([("GIT_CONFIG_KEY_1", "user.email"), ("GIT_CONFIG_VALUE_1", "t@localhost")])
        // Submodules of these tests are folders beside.
        .envs([("GIT_CONFIG_KEY_2", "protocol.file.allow"), ("GIT_CONFIG_VALUE_2", "always")])
        .output()
        .unwrap()
}

fn told(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

fn git(folder: &Path, words: &[&str]) {
    let output = run(folder, "git", words);
    assert!(output.status.success(), "{words:?}: {}", told(&output));
}

fn commit(folder: &Path, message: &str) {
    git(folder, &["add", "."]);
    git(folder, &["commit", "--quiet", "-m", message]);
}

/// A package whose program becomes the runner's floor.
fn repository(folder: &Path) {
    git(folder, &["init", "--quiet", "--initial-branch=main"]);
    let manifest = "[package]\nname = \"own\"\nversion = \"0.1.0\"\nedition = \"2024\"\n[workspace]\n";
    let program = format!(
        "use std::os::unix::process::CommandExt as _;\n\
         fn main() {{\n    let words: Vec<String> = std::env::args().skip(1).collect();\n    \
         let first = if words.first().is_some_and(|one| one == \"--version\") {{ None }} else {{ Some(\"floor\") }};\n    \
         panic!(\"{{}}\", std::process::Command::new({RUNNER:?}).args(first).args(words).exec());\n}}\n"
    );
    std::fs::create_dir(folder.join("src")).unwrap();
    std::fs::write(folder.join("Cargo.toml"), manifest).unwrap();
    std::fs::write(folder.join("src/main.rs"), program).unwrap();
    std::fs::write(folder.join(".gitignore"), "/target\n/results\nCargo.lock\n").unwrap();
    std::fs::write(folder.join("bench-gate.toml"), own::gated(HEAD)).unwrap();
    commit(folder, "a server");
}

fn calibration(folder: &Path) -> (std::path::PathBuf, Value) {
    let mut files =
        std::fs::read_dir(folder.join("results/calibration")).unwrap().map(|entry| entry.unwrap().path());
    let path = files.find(|path| path.extension().is_some_and(|one| one == "json")).unwrap();
    let text = std::fs::read_to_string(&path).unwrap();
    (path, serde_json::from_str(&text).unwrap())
}

#[test]
fn gates_of_no_change_compare_programs_that_differ_and_go_on_where_they_ended() {
    let dir = tempfile::tempdir().unwrap();
    repository(dir.path());
    let go = |words: &[&str]| run(dir.path(), RUNNER, &[&["calibrate", "--budget", "20s"], words].concat());
    let output = go(&["--gates", "2"]);
    assert_eq!(output.status.code(), Some(0), "{}", told(&output));
    let (path, first) = calibration(dir.path());
    let output = go(&["--gates", "3"]);
    assert_eq!(output.status.code(), Some(0), "{}", told(&output));
    assert!(told(&output).contains("so far: nothing"), "{}", told(&output));
    let (_, second) = calibration(dir.path());
    let gates = second["gates"].as_array().unwrap();
    assert_eq!((first["gates"].as_array().unwrap().len(), gates.len()), (2, 3));
    let kinds: Vec<&str> = gates.iter().map(|gate| gate["sides"]["head_kind"].as_str().unwrap()).collect();
    assert_eq!(kinds[..2], ["symbols", "comments"]);
    assert_eq!(gates[2]["sides"]["injected"], "spin:5");
    for gate in gates {
        let sides = &gate["sides"];
        assert_ne!(sides["base_stripped_sha256"], sides["head_stripped_sha256"], "{sides}");
        assert_eq!(sides["commit"].as_str().unwrap().len(), 40);
    }
    let printed = go(&["--gates", "3", "--format", "json"]);
    let printed: Value = serde_json::from_slice(&printed.stdout).unwrap();
    assert!(
        printed["schema"].as_str().unwrap().starts_with("plumbkv.") && printed["schema_version"].is_u64()
    );
    // The repository itself is as it was.
    assert!(run(dir.path(), "git", &["status", "--porcelain"]).stdout.is_empty());
    let other = run(dir.path(), RUNNER, &["calibrate", "--budget", "30s", "--gates", "3"]);
    assert!(other.status.code() == Some(1) && told(&other).contains("--budget 20s"), "{}", told(&other));

    let output = run(
        dir.path(),
        RUNNER,
        &[
            "gate",
            "--base",
            "HEAD",
            "--head",
            "HEAD",
            "--measure-identical",
            "--budget",
            "20s",
            "--out",
            "target/out",
        ],
    );
    assert!(matches!(output.status.code(), Some(0 | 2 | 3)), "{}", told(&output));
    let output = run(dir.path(), RUNNER, &["calibrate", "--add", "target/out/gate.json"]);
    assert_eq!(output.status.code(), Some(0), "{}", told(&output));
    let text = std::fs::read_to_string(path).unwrap();
    let added: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(added["gates"][3]["sides"]["head_kind"], "identical");
}

#[test]
fn a_submodule_that_moves_is_another_program() {
    let dir = tempfile::tempdir().unwrap();
    let (module, root) = (dir.path().join("module"), dir.path().join("root"));
    for folder in [&module, &root] {
        std::fs::create_dir(folder).unwrap();
        git(folder, &["init", "--quiet", "--initial-branch=main"]);
    }
    let config = own::gated(HEAD)
        .replace("[\"cargo\", \"build\", \"--offline\"]", "[\"cp\", \"module/server.sh\", \"own\"]")
        .replace("target/debug/own", "own")
        .replace("layouts = \"cargo\"", "");
    std::fs::write(root.join("bench-gate.toml"), config).unwrap();
    std::fs::write(root.join(".gitignore"), "/target\n").unwrap();
    for version in ["one", "two"] {
        let script = module.join("server.sh");
        std::fs::write(&script, format!("#!/bin/sh\n# {version}\nexit 1\n")).unwrap();
        commit(&module, version);
        if version == "one" {
            git(&root, &["submodule", "--quiet", "add", module.to_str().unwrap(), "module"]);
        } else {
            git(&root.join("module"), &["pull", "--quiet", "origin", "main"]);
        }
        commit(&root, version);
    }
    let words = ["gate", "--base", "HEAD~1", "--head", "HEAD", "--budget", "10s", "--out", "target/out"];
    let output = run(&root, RUNNER, &words);
    let text = std::fs::read_to_string(root.join("target/out/gate.json"))
        .unwrap_or_else(|_| panic!("{}", told(&output)));
    let gate: Value = serde_json::from_str(&text).unwrap();
    assert_ne!(gate["base"]["sha256"], gate["head"]["sha256"], "{}", told(&output));
    assert_eq!(output.status.code(), Some(3), "a server that ends is not measured: {}", told(&output));
}
