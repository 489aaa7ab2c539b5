//! How does the server start, refuse to start, and end?

use std::io::Write;
use std::time::Duration;

use crate::client::{Client, request};
use crate::server::{Server, is_left_out, plumbkv, refused};

/// One line that names the program, and an exit code that is not 0.
#[track_caller]
fn check_refusal(args: &[&str], code: i32, parts: &[&str]) {
    let (actual, text) = refused(plumbkv(args));
    assert_eq!(actual, code, "{args:?}: {text}");
    for part in parts {
        assert!(text.contains(part), "{args:?}: no {part:?} in {text:?}");
    }
    assert!(!text.contains("panicked") && !text.contains("RUST_BACKTRACE"), "{text}");
}

#[test]
fn a_taken_port_is_one_clear_line() {
    let server = Server::start(&[]);
    let address = format!("127.0.0.1:{}", server.port);
    let (code, text) = refused(plumbkv(&["serve", "--listen", &address]));
    assert_eq!(code, 1, "{text}");
    let line = text.lines().last().unwrap();
    assert!(line.starts_with(&format!("plumbkv: cannot listen on {address}: ")), "{text}");
    assert!(line.contains("address already in use") || line.contains("Address already in use"), "{text}");
    assert!(!text.contains("plumbkv ready"), "{text}");
}

#[test]
fn wrong_settings_are_refused_before_listening() {
    let folder = tempfile::tempdir().unwrap();
    let config = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::File::create(&path).unwrap().write_all(text.as_bytes()).unwrap();
        path.to_str().unwrap().to_owned()
    };
    check_refusal(&["serve", "--no-such-flag"], 64, &["--no-such-flag"]);
    check_refusal(&["no-such-command"], 64, &["no-such-command"]);
    check_refusal(&["serve", "--memory-limit", "12parsecs"], 64, &["12parsecs", "memory-limit"]);
    check_refusal(&["serve", "--maxmemory-policy", "allkeys-best"], 64, &["allkeys-best"]);
    check_refusal(&["serve", "--listen", "nowhere"], 64, &["nowhere"]);
    let unknown = config("unknown.toml", "memory-limt = \"2mib\"\n");
    check_refusal(&["serve", "--config", &unknown], 64, &["memory-limt", "memory-limit"]);
    let broken = config("broken.toml", "memory-limit = \n");
    check_refusal(&["serve", "--config", &broken], 64, &["broken.toml"]);
    let wrong = config("wrong.toml", "listen = [\"127.0.0.1:0\"]\nmemory-limit = \"12parsecs\"\n");
    check_refusal(&["serve", "--config", &wrong], 64, &["12parsecs"]);
    check_refusal(&["serve", "--config", "/nonexistent/plumbkv.toml"], 64, &["/nonexistent/plumbkv.toml"]);
    check_refusal(
        &["serve", "--listen", "127.0.0.1:0", "--unix-socket", "/nonexistent/folder/plumbkv.sock"],
        1,
        &["/nonexistent/folder/plumbkv.sock"],
    );
}

#[test]
fn a_flag_outranks_the_environment_and_that_the_file() {
    if is_left_out() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("plumbkv.toml");
    std::fs::write(
        &path,
        "listen = [\"127.0.0.1:0\"]\nmemory-limit = \"8mib\"\nmaxmemory-policy = \"noeviction\"\nmaxmemory-samples = 7\n",
    )
    .unwrap();
    let start = |flags: &[&str], environment: &[(&str, &str)]| {
        let mut command = plumbkv(&["serve", "--config", path.to_str().unwrap()]);
        command.args(flags).envs(environment.iter().copied());
        Server::spawn(command)
    };
    let ask = |server: &Server| {
        let mut client = server.client();
        let memory = client.info("maxmemory");
        (memory >> 20, String::from_utf8(client.ask("CONFIG GET maxmemory-policy")).unwrap())
    };
    let (memory, policy) = ask(&start(&[], &[]));
    assert!(memory == 8 && policy.contains("noeviction"), "{memory} {policy}");
    let environment = [("PLUMBKV_MEMORY_LIMIT", "16mib"), ("PLUMBKV_MAXMEMORY_POLICY", "allkeys-random")];
    let (memory, policy) = ask(&start(&[], &environment));
    assert!(memory == 16 && policy.contains("allkeys-random"), "{memory} {policy}");
    let server = start(&["--memory-limit", "32mib"], &environment);
    let (memory, policy) = ask(&server);
    assert!(memory == 32 && policy.contains("allkeys-random"), "{memory} {policy}");
    server.client().check("CONFIG GET maxmemory-samples", b"*2\r\n$17\r\nmaxmemory-samples\r\n$1\r\n7\r\n");
}

#[test]
fn the_allocator_is_the_one_the_environment_names() {
    for (value, name) in
        [(None, "libc"), (Some(""), "libc"), (Some("system"), "libc"), (Some("mimalloc"), "mimalloc")]
    {
        let mut command = plumbkv(&["serve", "--listen", "127.0.0.1:0"]);
        command.envs(value.map(|value| ("PLUMBKV_ALLOCATOR", value)));
        let server = Server::spawn(command);
        let mut client = server.client();
        let info = String::from_utf8(client.bulk("INFO memory").unwrap()).unwrap();
        assert!(info.lines().any(|line| line == format!("mem_allocator:{name}")), "{value:?}: {info}");
        // Enough of both kinds of work that a block given back to the wrong allocator would be found out.
        for round in 0..3 {
            for key in 0..200 {
                client.check(&format!("SET key:{key} {}", "x".repeat(1 + key * (round + 1) * 7)), b"+OK\r\n");
            }
        }
        assert_eq!(client.bulk("GET key:199").unwrap().len(), 1 + 199 * 21);
        client.check("FLUSHALL", b"+OK\r\n");
    }
}

#[test]
fn an_allocator_that_is_not_there_is_refused_by_name() {
    let mut command = plumbkv(&["serve", "--listen", "127.0.0.1:0"]);
    command.env("PLUMBKV_ALLOCATOR", "jemalloc");
    let (code, text) = refused(command);
    assert_eq!(
        (code, text.trim_end()),
        (64, "plumbkv: invalid value 'jemalloc' for PLUMBKV_ALLOCATOR: expected system or mimalloc")
    );
}

#[test]
fn the_start_says_what_was_decided() {
    if is_left_out() {
        return;
    }
    let server = Server::start(&[]);
    let said = server.said().join("\n");
    assert!(said.contains(env!("CARGO_PKG_VERSION")), "{said}");
    assert!(said.contains("allkeys-lru") && said.contains("input and output by "), "{said}");
    let limit = server.client().info("maxmemory");
    assert!(limit > 64 << 20, "the default cap is only {limit} bytes");
    assert_eq!(server.said().iter().filter(|line| line.starts_with("plumbkv ready: ")).count(), 1);
}

#[test]
fn sigterm_answers_what_was_received_and_ends_well() {
    for signal in [rustix::process::Signal::TERM, rustix::process::Signal::INT] {
        let mut server = Server::start(&[]);
        let mut c = server.client();
        let mut idle = server.client();
        idle.check("PING", b"+PONG\r\n");
        let requests: Vec<u8> = (0..5000).flat_map(|i| request(&format!("SET key:{i} x"))).collect();
        c.send(&requests);
        // Whatever the server has received by then is answered, and never a part of a reply.
        assert_eq!(c.receive(), b"+OK\r\n");
        server.signal(signal);
        let (replies, closed) = c.receive_to_end(Duration::from_secs(10));
        assert!(closed);
        assert_eq!(replies, b"+OK\r\n".repeat(4999), "{} of 4999 replies", replies.len() / 5);
        assert!(server.wait().success());
        assert!(idle.receive_to_end(Duration::from_secs(5)).1);
        assert!(std::net::TcpStream::connect(("127.0.0.1", server.port)).is_err());
    }
}

#[test]
fn the_version_is_told() {
    let output = plumbkv(&["--version"]).output().unwrap();
    assert!(output.status.success());
    assert_eq!(
        String::from_utf8_lossy(&output.stdout).trim(),
        format!("plumbkv {}", env!("CARGO_PKG_VERSION"))
    );
}

#[test]
fn a_second_address_can_be_listened_on() {
    let server = Server::spawn(plumbkv(&["serve", "--listen", "127.0.0.1:0", "--listen", "127.0.0.2:0"]));
    let line = server.said().last().unwrap().clone();
    let ports: Vec<&str> = line.split("resp tcp ").skip(1).flat_map(|rest| rest.split(',').next()).collect();
    assert!(line.contains("127.0.0.2:"), "{line}");
    let second = line.split("127.0.0.2:").nth(1).unwrap();
    let second: u16 = second.split([' ', ',']).next().unwrap().parse().unwrap();
    assert!(!ports.is_empty());
    server.client().check("SET a 1", b"+OK\r\n");
    Client::tcp(("127.0.0.2", second)).check("GET a", b"$1\r\n1\r\n");
}
