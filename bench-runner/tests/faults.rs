//! Does a fault end in one clear line, a non-zero exit, and no half-written file?
//!
//! The real command in a root of its own: an unknown key in a scenario, a target that does not start, one that is
//! missing, a disk that is full, a port that is taken.

use crate::found::unpacked;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

struct Root {
    folder: tempfile::TempDir,
}

impl Root {
    /// A root that holds what the runner reads of a checkout.
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let here = Path::new(env!("CARGO_MANIFEST_DIR"));
        let scenarios = folder.path().join("bench-runner/scenarios");
        fs::create_dir_all(&scenarios).expect("a folder");
        for entry in fs::read_dir(here.join("scenarios")).expect("the scenarios") {
            let path = entry.expect("an entry").path();
            fs::copy(&path, scenarios.join(path.file_name().expect("a name"))).expect("a copy");
        }
        fs::create_dir_all(folder.path().join("results")).expect("a folder");
        fs::copy(here.join("../results/machines.toml"), folder.path().join("results/machines.toml"))
            .expect("a copy");
        Self { folder }
    }

    fn path(&self, below: &str) -> PathBuf {
        self.folder.path().join(below)
    }

    fn run(&self, args: &[&str]) -> Output {
        Command::new(env!("CARGO_BIN_EXE_bench-runner"))
            .args(args)
            .current_dir(self.folder.path())
            .output()
            .expect("bench-runner starts")
    }

    /// Every file below `results` but the one that was there before.
    fn written(&self, results: &str) -> Vec<PathBuf> {
        let mut found = Vec::new();
        let mut open = vec![self.path(results)];
        while let Some(folder) = open.pop() {
            for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
                let path = entry.path();
                if path.is_dir() {
                    open.push(path);
                } else if path.file_name().is_some_and(|name| name != "machines.toml") {
                    found.push(path);
                }
            }
        }
        found
    }
}

/// The line that tells the fault; progress and notes apart.
fn fault(output: &Output) -> String {
    let stderr = String::from_utf8_lossy(&output.stderr);
    let faults: Vec<&str> = stderr.lines().filter(|line| line.starts_with("bench-runner: ")).collect();
    assert_eq!(faults.len(), 1, "one clear line, but stderr was:\n{stderr}");
    assert!(!output.status.success(), "exit {:?}, stderr:\n{stderr}", output.status);
    faults[0].to_owned()
}

#[test]
fn an_unknown_key_in_a_scenario_names_the_nearest_one() {
    let root = Root::new();
    let scenario = root.path("bench-runner/scenarios/startup.toml");
    let text = fs::read_to_string(&scenario).expect("the scenario");
    fs::write(&scenario, text.replacen("title =", "titel =", 1)).expect("a write");
    for command in [&["verify"][..], &["plan"], &["run", "--profile", "smoke"]] {
        let line = fault(&root.run(command));
        assert!(
            line.contains("startup.toml") && line.contains("`titel`") && line.contains("`title`"),
            "{line}"
        );
    }
    assert_eq!(root.written("results"), Vec::<PathBuf>::new());
}

#[test]
fn a_missing_server_is_named_before_anything_is_written() {
    let root = Root::new();
    let line = fault(&root.run(&[
        "run",
        "--profile",
        "smoke",
        "--no-container",
        "--server-binary",
        "nowhere/plumbkv",
    ]));
    assert!(line.contains("nowhere/plumbkv") && line.contains("--server-binary"), "{line}");
    assert_eq!(root.written("results"), Vec::<PathBuf>::new());
}

#[test]
fn a_target_that_does_not_start_is_a_failed_cell_and_a_failed_run() {
    let root = Root::new();
    let program = root.path("redis-server");
    // It tells its version as the real one does, then dies as one would whose library is missing.
    fs::write(
        &program,
        "#!/bin/sh\ncase \"$*\" in *version*|*-v*) echo 'Redis server v=7.0.15 sha=0:0 malloc=libc bits=64 build=0';; *) echo 'cannot load libfault.so' >&2; exit 127;; esac\n",
    )
    .expect("a program");
    let mut mode = fs::metadata(&program).expect("a file").permissions();
    std::os::unix::fs::PermissionsExt::set_mode(&mut mode, 0o755);
    fs::set_permissions(&program, mode).expect("permissions");
    let bin = format!("redis-server={}", program.display());
    let output = root.run(&[
        "run",
        "--profile",
        "smoke",
        "--no-container",
        "--scenario",
        "startup",
        "--target",
        "redis-server",
        "--bin",
        &bin,
    ]);
    let line = fault(&output);
    assert!(line.contains("cannot load libfault.so"), "{line}");
    // What failed is recorded whole: the record can be read back, and says why.
    let record = root.written("results").into_iter().find(|path| path.ends_with("startup.json.zst"));
    let record = unpacked(&record.expect("a record"));
    let statuses: Vec<_> =
        record["cells"].as_array().expect("cells").iter().map(|cell| cell["status"].clone()).collect();
    assert!(statuses.contains(&"failed".into()), "{statuses:?}");
}

/// The disk fills while the journal, the records or the database are written, as its size has it.
#[test]
fn a_full_disk_leaves_no_half_written_file() {
    for kib in [8, 24, 48, 96, 160] {
        let root = Root::new();
        let full = root.path("full");
        fs::create_dir(&full).expect("a folder");
        let size = format!("size={kib}k");
        let mount = Command::new("mount").args(["-t", "tmpfs", "-o", &size, "tmpfs"]).arg(&full).output();
        if !mount.is_ok_and(|done| done.status.success()) {
            // Only root may mount; CI does, and there it must not be passed over.
            assert!(std::env::var_os("CI").is_none(), "CI must be able to mount a small tmpfs");
            eprintln!("skipped: no right to mount a small tmpfs");
            return;
        }
        let output = root.run(&[
            "run",
            "--profile",
            "smoke",
            "--no-container",
            "--scenario",
            "wire-single",
            "--target",
            "null",
            "--results",
            "full",
        ]);
        let written = root.written("full");
        let kept: Vec<_> =
            written.iter().map(|path| (path.clone(), fs::read_to_string(path).unwrap_or_default())).collect();
        let unmounted = Command::new("umount").arg(&full).status();
        assert!(unmounted.is_ok_and(|status| status.success()), "the tmpfs was not unmounted");
        let line = fault(&output);
        assert!(
            line.contains("No space left on device") || line.contains("disk is full"),
            "{kib} KiB: {line}"
        );
        for (path, text) in kept {
            // What stays is whole: the journal that --resume goes on from, or complete records.
            let whole = path.extension().is_some_and(|extension| extension == "json")
                && serde_json::from_str::<serde_json::Value>(&text).is_ok();
            assert!(whole, "{kib} KiB: {} is half-written", path.display());
        }
    }
}

#[test]
fn a_taken_port_is_said_in_one_line() {
    let root = Root::new();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = taken.local_addr().expect("an address").to_string();
    let line = fault(&root.run(&["floor", "--listen", &address]));
    assert!(line.contains(&address) && line.to_lowercase().contains("in use"), "{line}");
}
