//! Does `plumbkv cli` do for a script and for a person what it says?

use std::io::Write;
use std::process::{Output, Stdio};

use crate::server::{Server, plumbkv};

fn run(port: u16, args: &[&str]) -> Output {
    let port = port.to_string();
    let mut all = vec!["cli", "--port", &port];
    all.extend_from_slice(args);
    plumbkv(&all).output().unwrap()
}

#[track_caller]
fn check(output: &Output, code: i32, stdout: &str, stderr: &str) {
    assert_eq!(
        (
            output.status.code(),
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&output.stderr)
        ),
        (Some(code), stdout.into(), stderr.into())
    );
}

#[test]
fn one_command_is_one_reply_and_an_exit_code() {
    let server = Server::start(&[]);
    check(&run(server.port, &["ping"]), 0, "PONG\n", "");
    check(&run(server.port, &["set", "a", "two words"]), 0, "OK\n", "");
    check(&run(server.port, &["get", "a"]), 0, "two words\n", "");
    check(&run(server.port, &["--no-raw", "get", "a"]), 0, "\"two words\"\n", "");
    check(&run(server.port, &["--no-raw", "mget", "a", "b"]), 0, "1) \"two words\"\n2) (nil)\n", "");
    check(&run(server.port, &["--no-raw", "strlen", "a"]), 0, "(integer) 9\n", "");
    check(&run(server.port, &["set", "b", "-5"]), 0, "OK\n", "");
    check(&run(server.port, &["--no-raw", "--resp3", "get", "c"]), 0, "(nil)\n", "");
    check(&run(server.port, &["get"]), 1, "", "(error) ERR wrong number of arguments for 'get' command\n");
}

#[test]
fn no_server_is_one_line_and_exit_code_1() {
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let output = run(port, &["ping"]);
    let text = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{text}");
    assert_eq!(text.lines().count(), 1, "{text}");
    assert!(text.contains(&format!("cannot connect to 127.0.0.1:{port}: connection refused")), "{text}");
}

#[test]
fn a_password_comes_from_a_flag_or_the_environment() {
    let server = Server::start(&["--password", "plumb"]);
    check(&run(server.port, &["ping"]), 1, "", "(error) NOAUTH Authentication required.\n");
    check(&run(server.port, &["--password", "plumb", "ping"]), 0, "PONG\n", "");
    let output = plumbkv(&["cli", "--port", &server.port.to_string(), "ping"])
        .env("PLUMBKV_PASSWORD", "plumb")
        .output();
    check(&output.unwrap(), 0, "PONG\n", "");
    let wrong = run(server.port, &["--password", "wrong", "ping"]);
    let text = String::from_utf8(wrong.stderr).unwrap();
    assert!(wrong.status.code() == Some(1) && text.contains("refused the password: WRONGPASS"), "{text}");
}

#[test]
fn a_pipe_feeds_commands_line_by_line() {
    let server = Server::start(&[]);
    let run = |input: &str| {
        let mut child = plumbkv(&["cli", "--port", &server.port.to_string()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
        child.wait_with_output().unwrap()
    };
    check(&run("set a \"x y\"\n\nget a\nincr n"), 0, "OK\nx y\n1\n", "");
    check(&run("incr a\nping\n"), 1, "PONG\n", "(error) ERR value is not an integer or out of range\n");
}

#[test]
fn a_unix_socket_is_reached() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s");
    let _server = Server::start(&["--unix-socket", path.to_str().unwrap()]);
    let output = plumbkv(&["cli", "--socket", path.to_str().unwrap(), "ping"]).output().unwrap();
    check(&output, 0, "PONG\n", "");
}
