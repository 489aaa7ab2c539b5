//! What does the server write to stderr, in which form, and how much of it?

use crate::server::{Server, plumbkv, refused};

#[test]
fn events_are_lines_with_time_and_level() {
    let server = Server::start(&[]);
    for line in server.said().iter().filter(|line| !line.starts_with("plumbkv ready: ")) {
        // 2026-11-22T18:50:52.542485Z  INFO version 0.3.0, process 30831
        let (time, rest) = line.split_once(' ').unwrap();
        assert!(time.ends_with('Z') && time.contains('T'), "{line}");
        assert!(rest.trim_start().starts_with("INFO "), "{line}");
        assert!(!line.contains('\u{1b}'), "colour where no terminal is: {line:?}");
    }
    assert!(server.said().len() > 3);
}

#[test]
fn events_can_be_json_and_the_ready_line_stays_as_it_is() {
    let server = Server::start(&["--log-format", "json"]);
    let (ready, events) = server.said().split_last().unwrap();
    assert_eq!(*ready, format!("plumbkv ready: resp tcp 127.0.0.1:{}", server.port));
    assert!(events.len() > 2, "{events:?}");
    for event in events {
        assert!(event.starts_with("{\"timestamp\":\"") && event.ends_with('}'), "{event}");
        assert!(event.contains("\"level\":\"INFO\"") && event.contains("\"message\":\""), "{event}");
    }
}

#[test]
fn the_level_decides_and_can_be_changed() {
    let mut command = plumbkv(&["serve", "--listen", "127.0.0.1:0", "--log-level", "error"]);
    command.env("NO_COLOR", "1");
    let mut server = Server::spawn(command);
    assert_eq!(server.said().len(), 1, "{:?}", server.said());
    let mut c = server.client();
    c.check("CONFIG SET loglevel debug", b"+OK\r\n");
    server.client().check("PING", b"+PONG\r\n");
    let line = server.wait_for_line("connected");
    assert!(line.contains("DEBUG 127.0.0.1:"), "{line}");
}

#[test]
fn the_reason_for_not_starting_is_an_event_where_events_are_json() {
    let server = Server::start(&[]);
    let address = format!("127.0.0.1:{}", server.port);
    let (code, text) = refused(plumbkv(&["serve", "--listen", &address, "--log-format", "json"]));
    assert_eq!(code, 1, "{text}");
    let line = text.lines().last().unwrap();
    assert!(line.starts_with('{') && line.contains("\"level\":\"ERROR\""), "{text}");
    assert!(line.contains(&format!("\"message\":\"cannot listen on {address}: ")), "{text}");
}
