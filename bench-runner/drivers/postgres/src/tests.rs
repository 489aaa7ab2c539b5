//! Does the client read back from a real server what it wrote? Skipped where PostgreSQL is not installed.

use super::*;
use plumbkv_bench_driver::conformance;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// A server of the test's own, in a folder of its own, ended with it.
struct Server {
    child: Child,
    port: u16,
    _folder: tempfile::TempDir,
}

impl Drop for Server {
    fn drop(&mut self) {
        // SIGINT: a fast shutdown. SIGTERM would wait for clients, SIGKILL leave shared memory behind.
        if let Some(pid) = rustix::process::Pid::from_raw(self.child.id().cast_signed()) {
            let _ = rustix::process::kill_process(pid, rustix::process::Signal::INT);
        }
        let _ = self.child.wait();
    }
}

fn program(name: &str) -> Option<PathBuf> {
    let folders = std::env::var_os("PATH").unwrap_or_default();
    let mut all: Vec<PathBuf> = std::env::split_paths(&folders).collect();
    // Debian keeps each version's programs apart from PATH.
    let versions = std::fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    all.extend(versions.map(|version| version.path().join("bin")));
    all.into_iter().map(|folder| folder.join(name)).find(|path| path.is_file())
}

/// The program as the user `postgres` where we are root, whom it refuses.
fn as_postgres(program: &Path) -> Command {
    if !rustix::process::geteuid().is_root() {
        return Command::new(program);
    }
    let mut command = Command::new("setpriv");
    command.args(["--reuid=postgres", "--regid=postgres", "--clear-groups"]).arg(program);
    command
}

fn start(initdb: &Path, postgres: &Path) -> Server {
    let folder = tempfile::tempdir().unwrap();
    if rustix::process::geteuid().is_root() {
        let done = Command::new("chown").arg("postgres").arg(folder.path()).status().unwrap();
        assert!(done.success(), "no user postgres");
    }
    let data = folder.path().join("data");
    let made = as_postgres(initdb)
        .arg("-D")
        .arg(&data)
        .args(["-U", "postgres", "--auth=trust", "--locale=C", "--encoding=UTF8", "--no-sync"])
        .current_dir("/")
        .output()
        .unwrap();
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    let port = std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap().local_addr().unwrap().port();
    let sockets = format!("unix_socket_directories={}", folder.path().display());
    let child = as_postgres(postgres)
        .arg("-D")
        .arg(&data)
        .args(["-p", &port.to_string(), "-c", "listen_addresses=127.0.0.1", "-c", &sockets])
        .current_dir("/")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let server = Server { child, port, _folder: folder };
    let deadline = Instant::now() + Duration::from_secs(60);
    let url = format!("host=127.0.0.1 port={port} user=postgres dbname=postgres");
    while let Err(error) = Client::connect(&url, NoTls) {
        assert!(Instant::now() < deadline, "PostgreSQL did not answer within 60 s: {error}");
        std::thread::sleep(Duration::from_millis(50));
    }
    server
}

#[test]
fn every_row_is_read_back_in_every_way() {
    let (Some(initdb), Some(postgres)) = (program("initdb"), program("postgres")) else {
        eprintln!("skipped: PostgreSQL is not installed");
        return;
    };
    let server = start(&initdb, &postgres);
    for sync in [SyncMode::Never, SyncMode::Always] {
        // What the last one left there is no store that this one made.
        let url = format!("host=127.0.0.1 port={} user=postgres dbname=postgres", server.port);
        Client::connect(&url, NoTls).unwrap().batch_execute("DROP TABLE IF EXISTS records").unwrap();
        let options = EngineOptions::new(format!("127.0.0.1:{}", server.port), None, sync);
        let missing = conformance::<Postgres>(&options).unwrap();
        assert_eq!(missing, ["load", "flush", "compact", "reopen"]);
    }
}

#[test]
fn a_location_that_is_no_address_and_a_server_that_is_not_there_are_told() {
    let open = |location: &str| {
        let options = EngineOptions::new(location, None, SyncMode::Never);
        Postgres::open(&options).map(|_| ()).unwrap_err()
    };
    assert!(format!("{:#}", open("nowhere")).contains("must be HOST:PORT"));
    assert!(format!("{:#}", open("127.0.0.1:1")).contains("cannot connect to PostgreSQL"));
}
