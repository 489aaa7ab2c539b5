//! Half a request must be met by silence: a server that acknowledges a write before its value has come stores nothing.
//!
//! Asked once of each process before its cells of a protocol, and by `verify` of servers that speak RESP. RESP and memcached are sent half of a write of key
//! number 0, then the rest, and the key is deleted again. Documents over HTTP are sent half of a GET.

use crate::load::client::{Address, ClientError};
use crate::load::generator::open_stream;
use crate::load::reply::{Answer, judge};
use crate::load::request::{Age, Asked, Protocol, Source, Workload};
use crate::load::stream::{Connector, Stream};
use crate::load::values::Values;
use crate::model::Status;
use crate::plan::Operation;
use std::io::{ErrorKind, Read, Write};
use std::time::Duration;

/// How long it must be silent. Over the loopback an early answer takes a tenth of a millisecond.
const SILENCE: Duration = Duration::from_millis(50);
/// How long an answer to a whole request may take.
const PATIENCE: Duration = Duration::from_secs(30);
/// Length of the value that is written.
const VALUE_BYTES: u32 = 64;

/// Why a target is not measured: it answered too early or wrongly (`invalid`), or the connection broke (`failed`).
pub(crate) type Refusal = (Status, String);

/// Sends half a request, and looks that nothing comes back before the other half is sent.
pub(crate) fn check(address: &Address, protocol: &Protocol) -> Result<(), Refusal> {
    let operation = match protocol {
        Protocol::Resp2 | Protocol::Resp3 | Protocol::Memcached => Operation::Set,
        Protocol::Http(_) => Operation::Get,
        // A page belongs to a server that was running before: it is sent whole requests only.
        Protocol::Page(_) => return Ok(()),
    };
    let workload =
        Workload { key_prefix: address.key_prefix.clone(), protocol: protocol.kept(), ..Workload::default() };
    let values = Values::new(0, VALUE_BYTES as usize);
    let source = Source::new(&workload, &values, 0, 0);
    let asked = |operation| Asked { operation, index: 0, length: VALUE_BYTES, age: Age::Newest };
    let request = |operation| {
        let mut bytes = Vec::new();
        source.write(operation, 0, VALUE_BYTES, &mut bytes);
        bytes
    };
    let told = |error: ClientError| (Status::Failed, error.to_string());
    let connector = Connector::new(address).map_err(failed)?;
    let mut stream = open_stream(&connector, address, &workload.protocol).map_err(told)?;

    let whole = request(operation);
    let (half, rest) = whole.split_at(half_of(operation, whole.len()));
    send(&mut stream, half)?;
    stays_silent(&mut stream, operation)?;
    if operation == Operation::Get {
        return Ok(());
    }
    send(&mut stream, rest)?;
    is_right(&mut stream, &asked(operation), &values, &workload)?;
    send(&mut stream, &request(Operation::Del))?;
    is_right(&mut stream, &asked(Operation::Del), &values, &workload)
}

/// Into the value of a write; before the line that ends the head of a GET.
fn half_of(operation: Operation, whole: usize) -> usize {
    let rest = if operation == Operation::Set { VALUE_BYTES as usize / 2 } else { 2 };
    whole.saturating_sub(rest)
}

fn stays_silent(stream: &mut Stream, operation: Operation) -> Result<(), Refusal> {
    stream.set_timeout(SILENCE).map_err(failed)?;
    let mut early = [0; 64];
    match stream.read(&mut early) {
        Ok(0) => Err((Status::Failed, "the connection was closed after half a request".to_owned())),
        Ok(count) => {
            let said = crate::load::reply::excerpt(&early[..count]);
            let name = operation.name().to_ascii_uppercase();
            let what = if operation == Operation::Set { "its value" } else { "its last line" };
            Err((
                Status::Invalid,
                format!("a {name} was answered by '{said}' while {what} was still under way"),
            ))
        }
        Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
            stream.set_timeout(PATIENCE).map_err(failed)
        }
        Err(error) => Err(failed(error)),
    }
}

fn is_right(stream: &mut Stream, asked: &Asked, values: &Values, workload: &Workload) -> Result<(), Refusal> {
    let (mut input, mut piece) = (Vec::new(), [0; 1_024]);
    loop {
        match judge(&input, asked, values, workload) {
            Answer::Right(_) => return Ok(()),
            Answer::Incomplete => {}
            Answer::Wrong(_, text) | Answer::Refused(_, text) | Answer::Broken(text) => {
                return Err((Status::Invalid, format!("after a request in two pieces: {text}")));
            }
            Answer::Missed(_) => return Err((Status::Invalid, "a write was answered by a miss".to_owned())),
        }
        match stream.read(&mut piece).map_err(failed)? {
            0 => return Err((Status::Failed, "the connection was closed after a request".to_owned())),
            count => input.extend_from_slice(&piece[..count]),
        }
    }
}

fn send(stream: &mut Stream, bytes: &[u8]) -> Result<(), Refusal> {
    stream.write_all(bytes).and_then(|()| stream.flush()).map_err(failed)
}

fn failed(error: std::io::Error) -> Refusal {
    (Status::Failed, format!("while a request was sent in two pieces: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::client::Endpoint;
    use crate::load::http;
    use std::net::TcpListener;

    /// A server that answers each of these numbers of bytes by these words, in turn.
    fn serving(answers: Vec<(usize, &'static str)>) -> Address {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = Address::of(Endpoint::Tcp(listener.local_addr().unwrap()));
        std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            for (bytes, reply) in answers {
                let mut request = vec![0; bytes];
                stream.read_exact(&mut request).unwrap();
                stream.write_all(reply.as_bytes()).unwrap();
            }
            // The client may go at any time.
            let _ = stream.read(&mut [0; 256]);
        });
        address
    }

    const PING: (usize, &str) = (b"*1\r\n$4\r\nPING\r\n".len(), "+PONG\r\n");
    const RESP_SET: usize = b"*3\r\n$3\r\nSET\r\n$16\r\nkey:000000000000\r\n$64\r\n\r\n".len() + 64;
    const RESP_DEL: usize = b"*2\r\n$3\r\nDEL\r\n$16\r\nkey:000000000000\r\n".len();
    const MEMCACHED_SET: usize = b"set key:000000000000 0 0 64\r\n\r\n".len() + 64;
    const MEMCACHED_DEL: usize = b"delete key:000000000000\r\n".len();

    #[test]
    fn a_write_that_is_acknowledged_before_its_value_has_come_is_found_out() {
        let resp =
            |bytes: usize, ok| serving(vec![PING, (bytes, ok), (RESP_SET + RESP_DEL - bytes, ":1\r\n")]);
        check(&resp(RESP_SET, "+OK\r\n"), &Protocol::Resp2).unwrap();
        for early in [RESP_SET - 33, 40] {
            let (status, said) = check(&resp(early, "+OK\r\n"), &Protocol::Resp2).unwrap_err();
            assert_eq!(status, Status::Invalid);
            assert!(said.contains("answered by '+OK") && said.contains("still under way"), "{early}: {said}");
        }
        let (status, said) = check(&resp(RESP_SET, "-ERR no\r\n"), &Protocol::Resp2).unwrap_err();
        assert_eq!(status, Status::Invalid, "{said}");
        assert!(said.contains("in two pieces") && said.contains("ERR no"), "{said}");
    }

    #[test]
    fn so_it_is_over_memcached_and_http() {
        let memcached = |bytes: usize| {
            let rest = MEMCACHED_SET + MEMCACHED_DEL - bytes;
            serving(vec![(bytes, "STORED\r\n"), (rest, "DELETED\r\n")])
        };
        check(&memcached(MEMCACHED_SET), &Protocol::Memcached).unwrap();
        let (status, said) = check(&memcached(30), &Protocol::Memcached).unwrap_err();
        assert!(status == Status::Invalid && said.contains("'STORED"), "{said}");

        let documents = || {
            let path_prefix = "/".to_owned();
            Protocol::Http(http::Target { host: "h".to_owned(), path_prefix, close: false })
        };
        check(&serving(vec![(1_000, "")]), &documents()).unwrap();
        let early = serving(vec![(20, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")]);
        let (status, said) = check(&early, &documents()).unwrap_err();
        assert!(status == Status::Invalid && said.contains("its last line was still under way"), "{said}");
    }

    #[test]
    fn a_connection_that_ends_is_no_lie() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = Address::of(Endpoint::Tcp(listener.local_addr().unwrap()));
        drop(listener);
        assert_eq!(check(&address, &Protocol::Memcached).unwrap_err().0, Status::Failed);
    }
}
