//! A new connection for every request: what does a visitor cost who does not come back?
//!
//! A closed loop of visits. A client opens a connection, asks for one document with `Connection: close`, reads the
//! answer and the server's close, and opens the next one. Response time is from before `connect` to the whole answer;
//! the close, and our own, are in the throughput only.
//!
//! The server closes first, so a pair of ports rests (TIME_WAIT) on its side, under its own port: ours is free at once,
//! and a pair that rests there is taken up again by a connection whose timestamp is newer. No option that would cut
//! the close short (`SO_LINGER` of 0 sends a reset) and no second source address are needed.

use super::address::{Address, Endpoint};
use super::connection::Connection;
use super::generator::Pace;
use super::poller::{Events, Poller};
use super::stream::Stream;
use super::worker::{LOOK_UP, Worker, wait};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketFlags, SocketType, connect, socket_with};
use std::net::{SocketAddr, TcpStream};

/// Enough for most answers in one read.
const INPUT_BYTES: usize = 16 * 1024;

/// Opens the connections of one generator thread.
#[derive(Debug)]
pub(super) struct Opener {
    server: SocketAddr,
    clients: usize,
}

impl Opener {
    /// For so many clients; nothing where the server is not spoken to over plain TCP.
    pub(super) fn new(address: &Address, clients: usize) -> Option<Self> {
        match address.endpoint {
            Endpoint::Tcp(server) => Some(Self { server, clients }),
            Endpoint::Unix(_) | Endpoint::Tls(_) => None,
        }
    }

    /// Begins to connect. The socket says when it takes bytes.
    fn open(&self) -> Result<Connection, String> {
        let family = if self.server.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
        let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
        let failed = |error| unopened(self.server, error);
        let socket = socket_with(family, SocketType::STREAM, flags, None).map_err(failed)?;
        match connect(&socket, &self.server) {
            Ok(()) | Err(Errno::INPROGRESS) => {}
            Err(error) => return Err(failed(error)),
        }
        // Without TCP_NODELAY: a connection sends one piece only, and nothing before it waits to be acknowledged.
        Ok(Connection::over(Stream::Tcp(TcpStream::from(socket))))
    }
}

/// Why a connection could not be opened, and what to do.
fn unopened(server: SocketAddr, error: Errno) -> String {
    let advice = match error {
        Errno::ADDRNOTAVAIL => {
            ": every local port towards it is taken, by open connections or by closed ones that rest for a minute \
             (TIME_WAIT); widen net.ipv4.ip_local_port_range or measure for a shorter time"
        }
        Errno::MFILE | Errno::NFILE => ": too many open files; raise the limit or take fewer clients",
        _ => "",
    };
    format!("a connection to {server} could not be opened under load ({error}){advice}")
}

/// The visits of one thread.
struct Visits<'a> {
    opener: &'a Opener,
    poller: &'a Poller,
    /// By client; the connection of its visit under way, if it is on one.
    connections: Vec<Option<Connection>>,
    request: Vec<u8>,
    input: Vec<u8>,
}

/// Visits the server until the stretch is over.
pub(super) fn drive(worker: &mut Worker<'_>, poller: &Poller, opener: &Opener) -> Result<(), String> {
    if worker.stretch.pace != Pace::Closed {
        return Err("a connection per request is measured in a closed loop only".to_owned());
    }
    let mut visits = Visits {
        opener,
        poller,
        connections: (0..opener.clients).map(|_| None).collect(),
        request: Vec::new(),
        input: vec![0; INPUT_BYTES],
    };
    let mut under_way = 0;
    for client in 0..opener.clients {
        under_way += usize::from(visits.begin(worker, client)?);
    }
    let mut events = Events::default();
    while under_way > 0 {
        wait(poller, &mut events, LOOK_UP)?;
        for ready in events.iter() {
            let Some(Some(connection)) = visits.connections.get_mut(ready.token) else { continue };
            if ready.writable && connection.is_blocked() {
                connection.send_rest(poller, ready.token)?;
            }
            if ready.readable
                && hear(worker, connection, &mut visits.input)?
                && !visits.begin(worker, ready.token)?
            {
                under_way -= 1;
            }
        }
        let now = worker.now_ns();
        if worker.must_end(now) {
            return visits.all_closed(worker.part.timed_out);
        }
    }
    Ok(())
}

impl Visits<'_> {
    /// Ends a client's last visit and begins its next, if there is to be one.
    fn begin(&mut self, worker: &mut Worker<'_>, client: usize) -> Result<bool, String> {
        // Closing is work that belongs to no request.
        self.connections[client] = None;
        let now = worker.now_ns();
        if !goes_on(worker, now) {
            return Ok(false);
        }
        worker.look_at_turn(now);
        self.request.clear();
        let asked = worker.source.ask(now, &mut self.request);
        let begin_ns = worker.now_ns();
        let mut connection = self.opener.open()?;
        connection.sent_ns = begin_ns;
        connection.pending.push_back(asked);
        worker.part.sent += 1;
        worker.in_flight += 1;
        connection
            .listen(self.poller, client)
            .map_err(|error| format!("registering a connection: {error}"))?;
        // Over the loopback the handshake is over by now; elsewhere the request follows when it is.
        connection.send(&self.request, self.poller, client)?;
        self.connections[client] = Some(connection);
        Ok(true)
    }

    /// Whether what is still open is not open because its server forgot to close it.
    fn all_closed(&self, timed_out: bool) -> Result<(), String> {
        let answered = |connection: &&Connection| connection.pending.is_empty();
        match self.connections.iter().flatten().filter(answered).count() {
            left if timed_out && left > 0 => Err(format!(
                "the target answered {left} requests, but did not close their connections as it was asked to"
            )),
            _ => Ok(()),
        }
    }
}

fn goes_on(worker: &Worker<'_>, now: u64) -> bool {
    let stretch = worker.stretch;
    let enough = now >= stretch.min_ns && worker.part.recorder.counts.operations >= stretch.min_operations;
    !enough && stretch.limit.is_none_or(|limit| worker.part.sent < limit)
}

/// Reads what is there, and judges the answer once it is whole. Whether the server has closed after it.
fn hear(worker: &mut Worker<'_>, connection: &mut Connection, input: &mut [u8]) -> Result<bool, String> {
    // To the end of what there is: an end that came with the answer raises no second event.
    while let Some((count, _)) = connection.read_or_end(input)? {
        let now = worker.now_ns();
        if count == 0 && connection.pending.is_empty() {
            return Ok(true);
        }
        if count == 0 {
            return Err("the target closed a connection under load before its answer was whole".to_owned());
        }
        let mut answer = std::mem::take(&mut connection.partial);
        answer.extend_from_slice(&input[..count]);
        let used = worker.judge_all(connection, &answer, now)?;
        answer.drain(..used);
        if connection.pending.is_empty() && !answer.is_empty() {
            return Err("the target sent more than the answer it was asked for".to_owned());
        }
        connection.partial = answer;
    }
    Ok(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shortage_of_ports_or_files_is_named() {
        let server = SocketAddr::from(([127, 0, 0, 1], 80));
        for (error, words) in [
            (Errno::ADDRNOTAVAIL, "every local port"),
            (Errno::MFILE, "too many open files"),
            (Errno::CONNREFUSED, "127.0.0.1:80"),
        ] {
            let told = unopened(server, error);
            assert!(told.contains(words), "{told}");
        }
    }
}
