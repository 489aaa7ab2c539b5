//! Is somebody else's server left as it was? A stock redis-server that holds data, measured by child processes as
//! a person would, following the printed help.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a helper that gives up fails the test that called it")]

use crate::found::unpacked;
use bench_runner::load::client::{Address, Answered, Client};
use std::collections::BTreeMap;
use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

struct Redis {
    child: Child,
    address: Address,
    url: String,
    _dir: tempfile::TempDir,
}

impl Drop for Redis {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Redis {
    /// None where it is not installed, which CI does not let pass.
    fn start(arguments: &[&str]) -> Option<Self> {
        let dir = tempfile::tempdir().unwrap();
        let port = TcpListener::bind(("127.0.0.1", 0)).unwrap().local_addr().unwrap().port();
        let child = Command::new("redis-server")
            .args(["--port", &port.to_string(), "--bind", "127.0.0.1", "--save", "", "--dir"])
            .arg(dir.path())
            .args(arguments)
            .stdout(Stdio::null())
            .spawn();
        let Ok(child) = child else {
            let ci = std::env::var("CI").is_ok_and(|ci| ci == "true");
            assert!(!ci, "redis-server is not installed");
            println!("skipped: redis-server is not installed");
            return None;
        };
        let password = arguments.iter().skip_while(|word| **word != "--requirepass").nth(1);
        let address = Address::tcp(SocketAddr::from(([127, 0, 0, 1], port)))
            .with_password(password.map(|&password| password.to_owned()));
        let redis = Self { child, address, url: format!("redis://127.0.0.1:{port}"), _dir: dir };
        let end = Instant::now() + Duration::from_secs(30);
        while Client::connect(&redis.address, Duration::from_secs(1)).is_err() {
            assert!(Instant::now() < end, "redis-server did not start");
            std::thread::sleep(Duration::from_millis(20));
        }
        Some(redis)
    }

    fn client(&self) -> Client {
        Client::connect(&self.address, Duration::from_secs(20)).unwrap()
    }

    fn fill(&self) {
        let mut client = self.client();
        for number in 0..200 {
            let (key, value) = (format!("user:{number}"), format!("value {number} \0\r\n"));
            client.call(&[b"SET", key.as_bytes(), value.as_bytes()]).unwrap();
        }
        client.call(&[b"RPUSH", b"list", b"one", b"two", b"three"]).unwrap();
        client.call(&[b"HSET", b"hash", b"field", b"value", b"other", b"2"]).unwrap();
        // Our own key names, without our prefix, and a prefix that only looks like ours.
        client.call(&[b"SET", b"key:000000000001", b"theirs"]).unwrap();
        client.call(&[b"SET", b"plumb:not-a-prefix:key:000000000001", b"theirs"]).unwrap();
        client.call(&[b"SET", b"session", b"soon gone", b"EX", b"100000"]).unwrap();
    }

    /// Every key with its serialised value and whether it expires.
    fn dump(&self) -> BTreeMap<Vec<u8>, (Vec<u8>, bool)> {
        let mut client = self.client();
        let (mut cursor, mut all) = (b"0".to_vec(), BTreeMap::new());
        loop {
            let (next, keys) = client.scan(&cursor, b"*").unwrap();
            for key in keys {
                let Answered::Bulk(value) = client.call(&[b"DUMP", &key]).unwrap() else { panic!("no DUMP") };
                let expires = client.expect_integer(&[b"TTL", &key]).unwrap() >= 0;
                all.insert(key, (value, expires));
            }
            if next == b"0" {
                return all;
            }
            cursor = next;
        }
    }

    /// How often a command was called, by the server's own count.
    fn calls(&self) -> BTreeMap<String, u64> {
        let Answered::Bulk(text) = self.client().call(&[b"INFO", b"commandstats"]).unwrap() else {
            panic!("no INFO")
        };
        let text = String::from_utf8(text).unwrap();
        let one = |line: &str| {
            let (name, rest) = line.strip_prefix("cmdstat_")?.split_once(":calls=")?;
            Some((name.to_owned(), rest.split(',').next()?.parse().ok()?))
        };
        text.lines().filter_map(one).collect()
    }
}

fn runner(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_bench-runner"));
    command.args(arguments).current_dir(folder).stdin(Stdio::null());
    command
}

fn run(folder: &Path, arguments: &[&str]) -> Output {
    runner(folder, arguments).output().unwrap()
}

#[track_caller]
fn fine(output: &Output) -> String {
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{}\n{out}\n{err}", output.status);
    out.into_owned()
}

/// Everything below a folder that is called so.
fn files(folder: &Path, name: &str) -> Vec<std::path::PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        if entry.path().is_dir() {
            found.extend(files(&entry.path(), name));
        } else if entry.file_name() == name {
            found.push(entry.path());
        }
    }
    found
}

#[test]
fn nothing_of_it_is_changed_and_the_record_says_where_its_figures_come_from() {
    let Some(redis) = Redis::start(&[]) else { return };
    redis.fill();
    let before = redis.dump();
    assert_eq!(before.len(), 205);
    let dir = tempfile::tempdir().unwrap();
    let told = fine(&run(dir.path(), &["init", "bench"]));
    assert!(told.contains("bench-runner run --target redis://"), "{told}");
    let folder = dir.path().join("bench");

    // Without being told that it may, it does not touch a database that holds keys.
    let refused = run(&folder, &["run", "--target", &redis.url, "--profile", "smoke", "--quiet"]);
    let words = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(matches!(refused.status.code(), Some(1 | 64)), "{words}");
    assert!(words.contains("holds 205 keys") && words.contains("--allow-non-empty"), "{words}");
    let calls = redis.calls();
    // What this test itself called to fill it.
    assert_eq!((calls.get("set"), calls.get("del")), (Some(&203), None), "{calls:?}");

    let arguments = ["run", "--target", &redis.url, "--profile", "smoke", "--quiet", "--allow-non-empty"];
    let told = fine(&run(&folder, &arguments));
    assert!(told.contains("records"), "{told}");
    assert_eq!(redis.dump(), before);
    let calls = redis.calls();
    for never in ["flushall", "flushdb", "config|set", "config", "keys", "shutdown", "swapdb"] {
        assert_eq!(calls.get(never), None, "{never}: {calls:?}");
    }
    assert!(calls["get"] > 100 && calls["del"] > 0, "{calls:?}");

    let record = files(&folder.join("results"), "own-clients.json.zst");
    let record = unpacked(&record[0]);
    let cell = &record["cells"][0];
    assert_eq!((cell["status"].as_str(), cell["mode"].as_str()), (Some("ok"), Some("external")), "{cell:#}");
    let trial = &cell["trials"][0];
    // Found by the socket it listens on.
    assert_ne!(trial["process"]["cpu_time_source"], "INFO");
    assert!(trial["process"]["pid"].as_u64().is_some_and(|pid| pid > 0), "{trial:#}");
    let values = trial["values"].as_array().unwrap();
    let has = |metric: &str| values.iter().any(|value| value["metric"] == metric);
    assert!(has("ops_per_second") && has("server_cpu_ns_per_op"), "{trial:#}");
    assert!(has("rss_bytes_peak") && has("rss_bytes_growth"), "{trial:#}");

    let report = fine(&run(&folder, &["report", "latest"]));
    assert!(report.contains("my-server") && report.contains("SET 64 B, 50 clients"), "{report}");
}

#[test]
fn what_a_killed_run_left_is_named_and_removed() {
    let Some(redis) = Redis::start(&[]) else { return };
    redis.fill();
    let before = redis.dump();
    let dir = tempfile::tempdir().unwrap();
    let arguments = ["run", "--target", &redis.url, "--profile", "quick", "--quiet", "--allow-non-empty"];
    let mut child =
        runner(dir.path(), &arguments).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let end = Instant::now() + Duration::from_secs(120);
    let size = || redis.client().expect_integer(&[b"DBSIZE"]).unwrap();
    // Keys of the load: before it, a few are written and removed to see whether the server can be measured.
    let loaded = before.len() as i64 + 900;
    while size() < loaded {
        assert!(Instant::now() < end && child.try_wait().unwrap().is_none(), "it wrote nothing");
        std::thread::sleep(Duration::from_millis(20));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(size() >= loaded);

    let listed = fine(&run(dir.path(), &["clean", "--target", &redis.url]));
    let prefix = listed.trim().rsplit(' ').next().unwrap().to_owned();
    assert!(prefix.starts_with("plumb:") && listed.lines().count() == 1, "{listed}");
    let wrong = run(dir.path(), &["clean", "--target", &redis.url, "--prefix", "user:"]);
    assert_eq!(wrong.status.code(), Some(1));

    // The next run says what was left, before it begins.
    let next = run(dir.path(), &["run", "--target", &redis.url, "--profile", "smoke", "--quiet"]);
    let words = String::from_utf8_lossy(&next.stderr).into_owned();
    assert!(words.contains(&format!("--prefix {prefix}")), "{words}");

    fine(&run(dir.path(), &["clean", "--target", &redis.url, "--prefix", &prefix]));
    assert_eq!(redis.dump(), before);
    assert!(
        fine(&run(dir.path(), &["clean", "--target", &redis.url])).contains("holds no keys of the runner")
    );
}

#[test]
fn an_interrupted_run_takes_its_keys_with_it_and_a_password_is_never_written_down() {
    let Some(redis) = Redis::start(&["--requirepass", "hunter2"]) else { return };
    let url = redis.url.replace("redis://", "redis://:hunter2@");
    let dir = tempfile::tempdir().unwrap();
    let arguments = ["run", "--target", &url, "--profile", "quick", "--quiet"];
    let child = runner(dir.path(), &arguments).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let mut client = redis.client();
    let end = Instant::now() + Duration::from_secs(120);
    while client.expect_integer(&[b"DBSIZE"]).unwrap() == 0 {
        assert!(Instant::now() < end, "it wrote nothing");
        std::thread::sleep(Duration::from_millis(20));
    }
    let pid = rustix::process::Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    let output = child.wait_with_output().unwrap();
    let words = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{words}");
    assert!(words.contains("--resume") && !words.contains("hunter2"), "{words}");
    assert_eq!(client.expect_integer(&[b"DBSIZE"]).unwrap(), 0);
    for file in files(&dir.path().join("results"), "plan.json") {
        assert!(!std::fs::read_to_string(file).unwrap().contains("hunter2"));
    }
}
