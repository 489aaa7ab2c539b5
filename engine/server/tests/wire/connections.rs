//! What can a client do to a server by the way it connects, waits, or disappears?

use std::time::Duration;

use crate::client::{Client, noise, request, request_of};
use crate::server::{Server, eventually};

#[test]
fn a_thousand_clients_are_served_at_once() {
    let server = Server::start(&[]);
    let mut clients: Vec<Client> = (0..1000).map(|_| server.client()).collect();
    for (number, client) in clients.iter_mut().enumerate() {
        client.send(&request(&format!("SET key:{number} {number}")));
    }
    for client in &mut clients {
        assert_eq!(client.receive(), b"+OK\r\n");
    }
    for (number, client) in clients.iter_mut().enumerate() {
        assert_eq!(client.bulk(&format!("GET key:{number}")).unwrap(), number.to_string().into_bytes());
    }
    assert_eq!(clients[0].info("connected_clients"), 1000);
    drop(clients);
    let mut last = server.client();
    eventually("closed connections are let go", || last.info("connected_clients") == 1);
}

#[test]
fn a_client_that_disappears_harms_nobody() {
    let mut server = Server::start(&[]);
    let mut witness = server.client();
    for round in 0..50usize {
        // In the middle of a value.
        let mut c = server.client();
        let wire = request_of(&[b"SET", b"half", &noise(1 << 20, 1)]);
        c.send(&wire[..wire.len() / 2 + round]);
        drop(c);
        // With replies on their way that nobody will read: SIGPIPE or a reset at the server.
        let mut c = server.client();
        c.send(&request_of(&[b"SET", b"whole", &noise(1 << 20, 1)]));
        for _ in 0..20 {
            c.send(&request("GET whole"));
        }
        drop(c);
        witness.check("PING", b"+PONG\r\n");
    }
    witness.check("EXISTS half", b":0\r\n");
    server.assert_alive();
}

#[test]
fn who_does_not_read_holds_up_only_itself() {
    let server = Server::start(&["--memory-limit", "256mib"]);
    let mut slow = server.client();
    let value = noise(20 << 20, 1);
    slow.send(&request_of(&[b"SET", b"large", &value]));
    assert_eq!(slow.receive(), b"+OK\r\n");
    for _ in 0..10 {
        slow.send(&request("GET large"));
    }
    let mut quick = server.client();
    for _ in 0..100 {
        quick.check("PING", b"+PONG\r\n");
    }
    for _ in 0..10 {
        let reply = slow.receive();
        assert!(
            reply.len() == value.len() + 13 && reply[11..reply.len() - 2] == value,
            "a reply was damaged"
        );
    }
    slow.check("PING", b"+PONG\r\n");
}

#[test]
fn a_client_that_ends_its_half_gets_all_replies() {
    let server = Server::start(&[]);
    let mut c = server.client();
    for i in 0..1000 {
        c.send(&request(&format!("SET key:{i} x")));
    }
    c.end_sending();
    let (replies, closed) = c.receive_to_end(Duration::from_secs(5));
    assert!(closed);
    assert_eq!(replies, b"+OK\r\n".repeat(1000));
}

#[test]
fn more_clients_than_allowed_are_told_so() {
    let server = Server::start(&["--maxclients", "5"]);
    let mut clients: Vec<Client> = (0..5).map(|_| server.client()).collect();
    for client in &mut clients {
        client.check("PING", b"+PONG\r\n");
    }
    let (reply, closed) = server.client().receive_to_end(Duration::from_secs(5));
    assert_eq!(String::from_utf8_lossy(&reply), "-ERR max number of clients reached\r\n");
    assert!(closed);
    clients.pop();
    eventually("a place is free again", || {
        let mut c = server.client();
        c.try_send(b"PING\r\n").is_ok() && c.receive_to_end(Duration::from_millis(100)).0 == b"+PONG\r\n"
    });
    drop(clients);
    // The server has to see first that they are gone.
    eventually("places are free again", || {
        let mut c = server.client();
        c.try_send(b"PING\r\n").is_ok() && c.receive_to_end(Duration::from_millis(100)).0 == b"+PONG\r\n"
    });
}

#[test]
fn idle_clients_are_closed_when_asked_for() {
    let server = Server::start(&["--timeout", "1"]);
    let mut idle = server.client();
    let (reply, closed) = idle.receive_to_end(Duration::from_secs(6));
    assert!(closed && reply.is_empty(), "{}", reply.escape_ascii());
}

#[test]
fn a_unix_socket_serves_and_is_removed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("plumbkv.sock");
    let mut server = Server::start(&["--unix-socket", path.to_str().unwrap()]);
    let mut c = Client::unix(&path);
    c.check("SET a 1", b"+OK\r\n");
    server.client().check("GET a", b"$1\r\n1\r\n");
    server.signal(rustix::process::Signal::TERM);
    assert!(server.wait().success());
    assert!(!path.exists(), "the socket file was left behind");
}

#[test]
fn a_stale_unix_socket_is_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("plumbkv.sock");
    drop(std::os::unix::net::UnixListener::bind(&path).unwrap());
    let _server = Server::start(&["--unix-socket", path.to_str().unwrap()]);
    Client::unix(&path).check("PING", b"+PONG\r\n");
}

/// An address of this machine that is not loopback, where there is one.
fn own_address() -> Option<std::net::IpAddr> {
    let socket = std::net::UdpSocket::bind("0.0.0.0:0").ok()?;
    // No packet is sent: connecting a datagram socket only chooses a route. The address is for documentation.
    socket.connect("192.0.2.1:9").ok()?;
    let address = socket.local_addr().ok()?.ip();
    (!address.is_loopback() && !address.is_unspecified()).then_some(address)
}

#[test]
fn protected_mode_refuses_peers_from_beyond_loopback() {
    let Some(address) = own_address() else {
        eprintln!("skipped: this machine has no address but loopback");
        return;
    };
    let on_all = |args: &[&str]| {
        let mut all = vec!["serve", "--listen", "0.0.0.0:0"];
        all.extend_from_slice(args);
        Server::spawn(crate::server::plumbkv(&all))
    };
    let server = on_all(&[]);
    let mut outside = Client::tcp((address, server.port));
    let (reply, closed) = outside.receive_to_end(Duration::from_secs(5));
    let reply = String::from_utf8(reply).unwrap();
    assert!(closed && reply.starts_with("-DENIED ") && reply.ends_with("\r\n"), "{reply}");
    assert!(reply.contains("protected mode") && reply.contains("password"), "{reply}");
    server.client().check("PING", b"+PONG\r\n");

    let with_password = on_all(&["--password", "x"]);
    let mut outside = Client::tcp((address, with_password.port));
    outside.check("AUTH x", b"+OK\r\n");

    let unprotected = on_all(&["--protected-mode", "no"]);
    Client::tcp((address, unprotected.port)).check("PING", b"+PONG\r\n");
}

#[test]
fn who_owes_a_password_has_little_time() {
    let server = Server::start(&["--password", "secret", "--auth-timeout", "1"]);
    let (mut stranger, mut friend) = (server.client(), server.client());
    friend.check("AUTH secret", b"+OK\r\n");
    stranger.check("PING", b"-NOAUTH Authentication required.\r\n");
    let (reply, closed) = stranger.receive_to_end(Duration::from_secs(6));
    assert!(closed && reply.is_empty(), "{}", reply.escape_ascii());
    friend.check("PING", b"+PONG\r\n");
}

/// On the thread of the one who ends it, and on another one; idle, and with a request that a worker has.
#[test]
fn a_connection_that_is_ended_closes_soon_and_executes_nothing_more() {
    let server = Server::start(&["--io-threads", "2"]);
    let mut killer = server.client();
    for _ in 0..4 {
        let (mut idle, mut busy) = (server.client(), server.client());
        let (idle_id, busy_id) = (idle.integer("CLIENT ID"), busy.integer("CLIENT ID"));
        killer.check(&format!("CLIENT KILL ID {idle_id}"), b":1\r\n");
        killer.check(&format!("CLIENT KILL ID {busy_id}"), b":1\r\n");
        let _ = busy.try_send(b"SET late 1\r\n");
        assert_eq!(busy.receive_if_open(), None);
        assert_eq!(idle.receive_if_open(), None);
    }
    killer.check("EXISTS late", b":0\r\n");
    eventually("they are let go", || killer.info("connected_clients") == 1);
    killer.check("CLIENT KILL TYPE normal SKIPME no", b":1\r\n");
    assert_eq!(killer.receive_if_open(), None);
    server.client().check("PING", b"+PONG\r\n");
}

#[test]
fn replies_that_are_not_wanted_are_not_sent_by_workers_either() {
    let server = Server::start(&[]);
    let mut client = server.client();
    client.send(b"CLIENT REPLY OFF\r\nMULTI\r\nINCR n\r\nEXEC\r\nEVAL \"for i = 1, 3000000 do end return 1\" 0\r\nEVAL \"for i = 1, 3000000 do end return string.rep('a', 1000000)\" 0\r\nINCR n\r\n");
    client.send(b"CLIENT REPLY ON\r\nCLIENT REPLY SKIP\r\nMULTI\r\nINCR n\r\nEXEC\r\n");
    for expected in [&b"+OK\r\n"[..], b"+QUEUED\r\n", b"*1\r\n", b":3\r\n"] {
        let mut reply = client.receive();
        if expected.starts_with(b"*") {
            reply.truncate(expected.len());
        }
        assert_eq!(reply.escape_ascii().to_string(), expected.escape_ascii().to_string());
        if expected.starts_with(b"*") {
            break;
        }
    }
    client.check("GET n", b"$1\r\n3\r\n");
}

#[test]
fn shutdown_answers_what_was_sent_and_stops() {
    let mut server = Server::start(&[]);
    let (mut client, mut other) = (server.client(), server.client());
    other.check("SET k v", b"+OK\r\n");
    client.send(b"GET k\r\nSHUTDOWN NOSAVE\r\nGET k\r\n");
    assert_eq!(client.receive(), b"$1\r\nv\r\n");
    assert_eq!(client.receive_if_open(), None);
    assert_eq!(other.receive_if_open(), None);
    assert!(server.wait().success());
}
