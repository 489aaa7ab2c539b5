//! The lines under "Make these figures again", followed in a temporary clone of this repository up to the plan.

#![allow(clippy::unwrap_used, reason = "helpers of tests fail by panicking, as tests do")]

use bench_runner::campaign::begin::{Selection, Tools, choose, planned, target_triple};
use bench_runner::campaign::catalogue;
use bench_runner::campaign::reproduce::{Made, lines};
use bench_runner::model::{Build, Mode, Profile, Role, Source, TargetRecord};
use std::path::{Path, PathBuf};
use std::process::Command;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

fn said(command: &mut Command) -> String {
    let out = command.output().unwrap();
    let text = String::from_utf8_lossy(&out.stdout).into_owned() + &String::from_utf8_lossy(&out.stderr);
    assert!(out.status.success(), "{command:?}: {text}");
    text
}

fn target(key: &str, role: Role, transport: &str, file: &str) -> TargetRecord {
    TargetRecord {
        key: key.into(),
        title: format!("{key} 1.2.3"),
        role,
        available: true,
        reason: None,
        version: "1.2.3".into(),
        allocator: "libc".into(),
        transport: transport.into(),
        durability: "volatile".into(),
        command: Vec::new(),
        settings: Vec::new(),
        build: Some(Build {
            file: file.into(),
            sha256: "0".repeat(64),
            bytes: 1,
            profile: String::new(),
            rustc: String::new(),
            target: String::new(),
            rustflags: String::new(),
            is_static: true,
        }),
        image: None,
    }
}

/// What a run of these scenarios would say of itself.
fn told(
    scenarios: &[&str],
    targets: &[TargetRecord],
    modes: Vec<Mode>,
    tools: &Tools,
    commit: &str,
) -> Vec<String> {
    let selection = Selection {
        profile: Profile::Smoke,
        scenarios: scenarios.iter().map(|&key| key.to_owned()).collect(),
        groups: Vec::new(),
        targets: Vec::new(),
        modes,
    };
    let all = catalogue::scenarios(&root()).unwrap();
    let chosen = choose(all, &selection.scenarios, &selection.groups).unwrap();
    let known = catalogue::targets(&root(), &chosen).unwrap();
    let plan = planned(&chosen, &known, &selection, 7).unwrap();
    let source = Source { commit: commit.into(), dirty: false, version: "0.0.0".into(), engine_tree: None };
    lines(&Made {
        selection: &selection,
        source: &source,
        seed: 7,
        targets,
        driven: &["postgresql"],
        steps: &plan.steps,
        tools,
        has_components: false,
    })
}

fn tools(server: PathBuf, containers: bool) -> Tools {
    Tools {
        server_binary: server,
        bins: vec![("redis-server".into(), "/opt/redis".into())],
        containers,
        external: None,
    }
}

fn built() -> PathBuf {
    root().join(format!("target/{}/release/plumbkv", target_triple()))
}

#[test]
fn the_lines_of_a_run_clone_build_and_plan_the_same_cells() {
    let commit = said(Command::new("git").args(["rev-parse", "HEAD"]).current_dir(root()));
    let targets = [
        target("plumbkv", Role::Subject, "socket", "plumbkv"),
        target("redis-server", Role::Rival, "socket", "redis-server"),
        target("plumbkv-embedded", Role::Subject, "in_process", "plumbkv-driver-plumbkv"),
        target("fjall", Role::Rival, "in_process", "plumbkv-driver-fjall"),
    ];
    let made =
        told(&["wire-single", "flush"], &targets, vec![Mode::Native], &tools(built(), true), commit.trim());
    assert_eq!(made[1], format!("git checkout {}", commit.trim()));
    assert_eq!(made[2..4], ["make setup build", "make drivers"]);
    assert_eq!(made[4], "# measured beside: redis-server 1.2.3; fjall 1.2.3");
    assert_eq!(
        made[5],
        "# redis-server was a program of its own: add --bin redis-server=FILE to the last line"
    );

    let folder = tempfile::tempdir().unwrap();
    // What a reader types, with this repository in the place of the hosted one, and nothing compiled.
    let clone = made[0].replace(env!("CARGO_PKG_REPOSITORY"), root().to_str().unwrap());
    let repository = Path::new(env!("CARGO_PKG_REPOSITORY")).file_name().unwrap().to_str().unwrap();
    assert!(made[0].ends_with(&format!("&& cd {repository}")), "{}", made[0]);
    let clone =
        clone.replace("git clone ", "git clone -q ").replace(" && cd", &format!(" {repository} && cd"));
    let runner = format!("target/{}/release/bench-runner", target_triple());
    let script: Vec<String> = std::iter::once("set -e".to_owned())
        .chain([clone])
        .chain(made[1..].iter().map(|line| {
            line.replacen("make ", "make -n ", 1).replace("git checkout", "git checkout -q").replace(
                &format!("{runner} run"),
                concat!(env!("CARGO_BIN_EXE_bench-runner"), " run --dry-run"),
            )
        }))
        .collect();
    let script = script.join("\n");
    said(Command::new("bash").args(["-n", "-c", &made.join("\n")]));
    let text = said(Command::new("bash").args(["-c", &script]).current_dir(folder.path()));
    assert!(text.contains("plumbkv-driver-fjall") && text.contains(" steps, "), "{script}\n{text}");
}

#[test]
fn no_line_holds_a_path_of_the_machine() {
    let targets = [
        target("plumbkv", Role::Subject, "socket", "plumbkv-0.4.0b"),
        target("plumbkv-embedded", Role::Subject, "in_process", "plumbkv-driver-plumbkv"),
        target("rocksdb", Role::Rival, "in_process", "plumbkv-driver-rocksdb"),
    ];
    let made = told(
        &["container-ladder", "flush"],
        &targets,
        Vec::new(),
        &tools("/opt/old/plumbkv-0.4.0b".into(), false),
        "",
    );
    assert!(made.iter().all(|line| !line.contains("/opt") && !line.contains("redis-server")), "{made:?}");
    assert_eq!(made[1..3], ["make setup build", "make rivals"]);
    assert_eq!(made[4], format!("# the server was a file built before, SHA-256 {}", "0".repeat(64)));
    assert!(
        made.last()
            .unwrap()
            .ends_with("--seed 7 --scenario container-ladder --scenario flush --no-container"),
        "{made:?}"
    );
}
