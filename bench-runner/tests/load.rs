//! What `bench-runner load` refuses before it sends anything, and what it leaves behind.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a helper that gives up fails the test that called it")]

use crate::typed::Started;
use bench_runner::load::client::{Address, Answered, Client};
use std::net::TcpListener;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Exit code, and what was said.
fn load(arguments: &[&str]) -> (Option<i32>, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_bench-runner"))
        .arg("load")
        .args(arguments)
        .output()
        .expect("it runs");
    assert!(output.stdout.is_empty(), "{}", String::from_utf8_lossy(&output.stdout));
    (output.status.code(), String::from_utf8(output.stderr).expect("text"))
}

#[test]
fn numbers_of_which_nothing_comes_are_usage_errors() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let server = listener.local_addr().unwrap().to_string();
    for wrong in [
        ["--requests", "0"],
        ["--seconds", "0"],
        ["--seconds", "-1"],
        ["--seconds", "NaN"],
        ["--clients", "0"],
        ["--clients", "60001"],
        ["--threads", "0"],
        ["--pipeline", "0"],
        ["--keys", "0"],
        ["--rate", "0"],
        ["--rate", "inf"],
        ["--client-cpu-ns", "-5"],
        ["--in-flight-bound", "0"],
        ["--timeout-s", "0"],
    ] {
        let (code, said) = load(&["--server", &server, "--operation", "get", wrong[0], wrong[1]]);
        assert_eq!(code, Some(64), "{wrong:?}: {said}");
        assert!(said.contains(wrong[0]) && said.contains(wrong[1]), "{wrong:?}: {said}");
    }
    assert!(listener.accept().is_err(), "nothing was connected");
}

/// An address of TEST-NET-1, which is reserved for documentation.
#[test]
fn a_server_on_another_machine_is_refused_unless_that_is_said() {
    let (code, said) = load(&["--server", "192.0.2.2:6379", "--operation", "set"]);
    assert!(
        code == Some(64) && said.contains("attack") && said.contains("--allow-remote"),
        "{code:?} {said}"
    );
}

/// The exit code, what was printed and what was said.
fn said(server: &Started, arguments: &[&str]) -> (Option<i32>, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_bench-runner"))
        .args(["load", "--server", &server.address, "--keys", "500", "--requests", "500"])
        .args(arguments)
        .output()
        .unwrap();
    let both = [output.stdout, output.stderr].concat();
    (output.status.code(), String::from_utf8(both).unwrap())
}

fn call(server: &Started, words: &[&str]) -> Answered {
    let address = Address::tcp(server.address.parse().unwrap());
    let words: Vec<&[u8]> = words.iter().map(|word| word.as_bytes()).collect();
    Client::connect(&address, Duration::from_secs(20)).unwrap().call(&words).unwrap()
}

fn size(server: &Started) -> i64 {
    match call(server, &["DBSIZE"]) {
        Answered::Integer(size) => size,
        other => panic!("{}", other.describe()),
    }
}

#[test]
fn a_server_that_holds_keys_is_asked_for_and_its_keys_stay() {
    let Some(redis) = Started::redis() else { return };
    // An empty one needs no question, and is empty again.
    for operation in ["set", "get"] {
        let (code, text) = said(&redis, &["--operation", operation, "--preload"]);
        assert_eq!((code, size(&redis)), (Some(0), 0), "{operation}: {text}");
    }
    let key = "key:000000000007";
    call(&redis, &["SET", key, "precious"]);
    let precious = || matches!(call(&redis, &["GET", key]), Answered::Bulk(value) if value == b"precious");
    for more in
        [&["--operation", "set"][..], &["--operation", "del"], &["--operation", "set", "--plain-keys"]]
    {
        let (code, text) = said(&redis, more);
        assert!(
            code == Some(1) && text.contains("holds 1 keys") && text.contains("--allow-non-empty"),
            "{text}"
        );
        assert!(precious() && size(&redis) == 1, "{more:?}");
    }
    for operation in ["set", "get", "del"] {
        let (code, text) = said(&redis, &["--operation", operation, "--preload", "--allow-non-empty"]);
        assert!(code == Some(0) && precious() && size(&redis) == 1, "{operation}: {text}");
    }
}

/// What a signal interrupts is deleted all the same.
#[test]
fn a_load_that_is_interrupted_leaves_nothing_behind() {
    let Some(redis) = Started::redis() else { return };
    let load = Command::new(env!("CARGO_BIN_EXE_bench-runner"))
        .args(["load", "--server", &redis.address, "--operation", "set", "--keys", "500", "--seconds", "30"])
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let begin = Instant::now();
    while size(&redis) == 0 {
        assert!(begin.elapsed() < Duration::from_secs(20), "nothing was written");
        std::thread::sleep(Duration::from_millis(10));
    }
    let process = rustix::process::Pid::from_raw(load.id().cast_signed()).unwrap();
    rustix::process::kill_process(process, rustix::process::Signal::INT).unwrap();
    let output = load.wait_with_output().unwrap();
    let told = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.code() == Some(1) && told.contains("stopped by a signal"), "{told}");
    assert!(size(&redis) == 0 && begin.elapsed() < Duration::from_secs(25), "{}", size(&redis));
}

#[test]
fn plain_keys_are_left_for_the_next_call() {
    let Some(redis) = Started::redis() else { return };
    let (code, text) = said(&redis, &["--operation", "set", "--draw", "sequential", "--plain-keys"]);
    assert_eq!((code, size(&redis)), (Some(0), 500), "{text}");
    let (code, text) =
        said(&redis, &["--operation", "get", "--plain-keys", "--allow-non-empty", "--format", "json"]);
    assert!(code == Some(0) && text.contains("\"misses\":0") && size(&redis) == 500, "{text}");
}

#[test]
fn documents_of_an_http_server_are_written_only_where_that_is_said() {
    let page = Started::page();
    let http = |more: &[&str]| said(&page, &[&["--protocol", "http", "--shape-only"], more].concat());
    for operation in ["set", "del"] {
        let (code, text) = http(&["--operation", operation]);
        assert!(code == Some(1) && text.contains("--allow-non-empty"), "{operation}: {text}");
    }
    let (code, text) = http(&["--operation", "get"]);
    assert_eq!(code, Some(0), "{text}");
}
