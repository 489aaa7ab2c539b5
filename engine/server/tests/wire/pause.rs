//! A pause of all clients: what waits, for how long, and that nothing is lost or changes places.

use std::time::{Duration, Instant};

use crate::server::Server;

#[test]
fn requests_wait_for_the_end_and_keep_their_order() {
    let server = Server::start(&["--io-threads", "2"]);
    let mut admin = server.client();
    let mut clients: Vec<_> = (0..4).map(|_| server.client()).collect();
    let begin = Instant::now();
    admin.check("CLIENT PAUSE 600", b"+OK\r\n");
    for client in &mut clients {
        client.send(b"PING\r\nINCR n\r\nGET nothing\r\n");
    }
    for client in &mut clients {
        assert_eq!(client.receive(), b"+PONG\r\n");
        assert!(client.receive().starts_with(b":"));
        assert_eq!(client.receive(), b"$-1\r\n");
    }
    let took = begin.elapsed();
    assert!((Duration::from_millis(590)..Duration::from_secs(5)).contains(&took), "{took:?}");
    admin.check("GET n", b"$1\r\n4\r\n");
}

#[test]
fn a_pause_of_writes_lets_reads_pass_and_can_be_ended() {
    let server = Server::start(&[]);
    let (mut admin, mut reader) = (server.client(), server.client());
    admin.check("SET k v", b"+OK\r\n");
    admin.check("CLIENT PAUSE 20000 WRITE", b"+OK\r\n");
    let writes: [&[u8]; 4] = [
        b"SET k w\r\n",
        b"MULTI\r\nSET k x\r\nEXEC\r\n",
        b"EVAL \"return redis.call('set', 'k', 'y')\" 0\r\n",
        b"FLUSHALL\r\nPING\r\n",
    ];
    let mut writers: Vec<_> = writes.iter().map(|_| server.client()).collect();
    for (writer, request) in writers.iter_mut().zip(writes) {
        writer.send(request);
    }
    // What comes before EXEC is queued, and no write.
    assert_eq!(writers[1].receive(), b"+OK\r\n");
    assert_eq!(writers[1].receive(), b"+QUEUED\r\n");
    for _ in 0..50 {
        reader.check("GET k", b"$1\r\nv\r\n");
        std::thread::sleep(Duration::from_millis(5));
    }
    let begin = Instant::now();
    admin.check("CLIENT UNPAUSE", b"+OK\r\n");
    assert_eq!(writers[0].receive(), b"+OK\r\n");
    assert_eq!(writers[1].receive(), b"*1\r\n+OK\r\n");
    assert_eq!(writers[2].receive(), b"+OK\r\n");
    assert_eq!(writers[3].receive(), b"+OK\r\n");
    assert_eq!(writers[3].receive(), b"+PONG\r\n");
    assert!(begin.elapsed() < Duration::from_secs(5));
}

/// The server needs no CPU time for those that wait.
#[test]
fn waiting_for_the_end_of_a_pause_takes_no_cpu_time() {
    let server = Server::start(&[]);
    let mut admin = server.client();
    let mut clients: Vec<_> = (0..50).map(|_| server.client()).collect();
    admin.check("CLIENT PAUSE 1500 WRITE", b"+OK\r\n");
    clients.iter_mut().for_each(|client| client.send(b"SET k v\r\n"));
    let cpu_ms = || {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", server.pid())).unwrap();
        let fields: Vec<&str> = stat.rsplit(") ").next().unwrap().split(' ').collect();
        10 * (fields[11].parse::<u64>().unwrap() + fields[12].parse::<u64>().unwrap())
    };
    let before = cpu_ms();
    std::thread::sleep(Duration::from_millis(1000));
    let used = cpu_ms() - before;
    assert!(used < 300, "{used} ms of CPU time in a second");
    clients.iter_mut().for_each(|client| assert_eq!(client.receive(), b"+OK\r\n"));
}
