//! What `bench-runner load` refuses before it sends anything.

use std::net::TcpListener;
use std::process::Command;

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
