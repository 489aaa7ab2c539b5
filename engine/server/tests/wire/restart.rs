//! Restart after a crash: the first connection after the ready line is answered.
//!
//! A killed process may keep its listening socket for a while, because the kernel ends its pending
//! io_uring requests later. `PLUMBKV_FAULTS=full` restarts 50 times, in memory and in a directory.

use rustix::process::Signal;

use crate::faults::scaled;
use crate::server::{Server, plumbkv};

#[test]
fn the_first_connection_after_a_crash_is_answered() {
    for data in [false, true] {
        let folder = tempfile::tempdir().unwrap();
        let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let listen = format!("127.0.0.1:{port}");
        let path = folder.path().to_str().unwrap();
        let mut arguments = vec!["serve", "--listen", &listen];
        if data {
            arguments.extend(["--data", path]);
        }
        let cycles = scaled(5, 50);
        for cycle in 0..cycles {
            let mut server = Server::spawn(plumbkv(&arguments));
            // Connected at once, as a client that waits for the ready line would be.
            let mut first = server.client();
            first.check("PING", b"+PONG\r\n");
            let mut others: Vec<_> = (0..20).map(|_| server.client()).collect();
            for other in &mut others {
                other.check(&format!("SET cycle {cycle}"), b"+OK\r\n");
            }
            server.signal(Signal::KILL);
            // The next server starts before the clients of this one are gone.
            let mut next = Server::spawn(plumbkv(&arguments));
            next.client().check("PING", b"+PONG\r\n");
            server.wait();
            next.signal(Signal::KILL);
            next.wait();
            drop(others);
        }
        println!("{cycles} restarts after a crash, data {data}: each first connection was answered");
    }
}
