//! Commands as they are typed: a shell in a checkout of this repository or in the repository of a small server, and servers
//! that the runner did not start.

#![allow(dead_code, reason = "each test uses a part of it")]

#[path = "../own/mod.rs"]
mod own;

use std::fs;
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

pub(crate) const RUNNER: &str = env!("CARGO_BIN_EXE_bench-runner");

pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").canonicalize().unwrap()
}

/// A folder with a `bin` of its own and what a command needs.
pub(crate) struct Sandbox(tempfile::TempDir);

impl Sandbox {
    pub(crate) fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let bin = dir.path().join("bin");
        fs::create_dir_all(&bin).unwrap();
        symlink(RUNNER, bin.join("bench-runner")).unwrap();
        // What pages through a manual is not asked here.
        fs::write(bin.join("man"), "#!/bin/sh\ncat >/dev/null\n").unwrap();
        fs::set_permissions(bin.join("man"), fs::Permissions::from_mode(0o755)).unwrap();
        fs::create_dir_all(dir.path().join("work")).unwrap();
        Self(dir)
    }

    pub(crate) fn work(&self) -> PathBuf {
        self.0.path().join("work")
    }

    pub(crate) fn shell(&self, text: &str) -> Output {
        let path = std::env::var("PATH").unwrap();
        Command::new("sh")
            .args(["-c", text])
            .current_dir(self.work())
            .env("PATH", format!("{}:{path}", self.0.path().join("bin").display()))
            .env("HOME", self.0.path())
            .env("FIXTURES", root().join("bench-runner/tests/fixtures"))
            .output()
            .unwrap()
    }

    /// This repository: what is only read is linked, results can be written.
    pub(crate) fn here() -> Self {
        let sandbox = Self::new();
        let (root, work) = (root(), sandbox.work());
        for entry in fs::read_dir(&root).unwrap().map(|entry| entry.unwrap()) {
            let name = entry.file_name();
            if !["target", ".git", "results"].iter().any(|one| name == *one) {
                symlink(entry.path(), work.join(&name)).unwrap();
            }
        }
        let results = work.join("results");
        fs::create_dir(&results).unwrap();
        for entry in fs::read_dir(root.join("results")).unwrap().map(|entry| entry.unwrap()) {
            let (name, path) = (entry.file_name(), entry.path());
            if path.is_dir() && !name.to_string_lossy().starts_with("local") {
                symlink(&path, results.join(&name)).unwrap();
            } else if path.is_file() && !name.to_string_lossy().starts_with("local") {
                fs::copy(&path, results.join(&name)).unwrap();
            }
        }
        let made = sandbox
            .shell("bench-runner run --profile smoke --no-container --scenario wire-single --target null");
        assert!(made.status.success(), "{}", told(&made));
        sandbox
    }

    /// A small server's repository with 33 commits, the last of which is `main`.
    pub(crate) fn server() -> Self {
        let sandbox = Self::new();
        let work = sandbox.work();
        fs::write(work.join("bench-gate.toml"), own::gated(GATE)).unwrap();
        symlink(&work, sandbox.0.path().join("my-server")).unwrap();
        for name in ["server-old", "server-new"] {
            fs::write(work.join(name), format!("#!/bin/sh\n# {name}\nexec {RUNNER} floor \"$@\"\n")).unwrap();
            fs::set_permissions(work.join(name), fs::Permissions::from_mode(0o755)).unwrap();
        }
        let made = sandbox.shell(
            "set -e; export GIT_AUTHOR_NAME=t GIT_AUTHOR_EMAIL=t@localhost GIT_COMMITTER_NAME=t GIT_COMMITTER_EMAIL=t@localhost\n\
             git init --quiet --initial-branch=main; printf '/target/\\n/gate-result/\\n' >.gitignore\n\
             for number in $(seq 33); do sed \"2s/.*/# $number/\" server-old >server.sh; chmod +x server.sh; git add .; \
             git commit --quiet -m \"commit $number\"; done; git tag v1 HEAD~1; git tag v1.2 HEAD~2; git tag v2",
        );
        assert!(made.status.success(), "{}", told(&made));
        sandbox
    }
}

const GATE: &str = r#"
subject = "own"

[build]
command = ["cp", "server.sh", "own"]
binary = "own"
calibration = { arguments = [], variable = "INJECTED_DELAY" }
"#;

/// A server that the runner did not start, on a port of its own.
pub(crate) struct Started {
    child: Child,
    pub(crate) address: String,
}

impl Drop for Started {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Started {
    /// None where it is not installed, which CI does not let pass.
    pub(crate) fn redis() -> Option<Self> {
        let (port, address) = free();
        let words = ["--port", &port, "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"];
        let started = Command::new("redis-server").args(words).stdout(Stdio::null()).spawn();
        if started.is_err() {
            assert!(std::env::var("CI").is_err(), "redis-server is not installed");
            println!("skipped: redis-server is not installed");
        }
        Some(Self { child: started.ok()?, address }.answering())
    }

    pub(crate) fn page() -> Self {
        let (_, address) = free();
        let child = Command::new(RUNNER)
            .args(["floor", "--protocol", "http", "--listen", &address])
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        Self { child, address }.answering()
    }

    pub(crate) fn answering(self) -> Self {
        let end = Instant::now() + Duration::from_secs(30);
        while TcpStream::connect(&self.address).is_err() {
            assert!(Instant::now() < end, "{} did not answer", self.address);
            std::thread::sleep(Duration::from_millis(20));
        }
        self
    }
}

pub(crate) fn free() -> (String, String) {
    let address = TcpListener::bind(("127.0.0.1", 0)).unwrap().local_addr().unwrap();
    (address.port().to_string(), address.to_string())
}

pub(crate) fn told(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}
