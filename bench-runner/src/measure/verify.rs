//! Does a target answer rightly? A handful of requests to a server; to a driver program, a handful of records.

use super::lab::Lab;
use crate::load::client::{Address, Answered, Client, ClientError};
use crate::model::{Axes, Mode, Placement, Status};
use crate::plan::{CellKey, EmbeddedPart, EmbeddedWork, EngineWanted, Pace, Step, StoreUse, Work};
use crate::target::{Definition, Placed, Protocol, RunningTarget, Start, start, verify_foreign};
use plumbkv_bench_driver::protocol::{Distribution, KeySchema, Order, Phase, Records, Until, ValueKind};
use std::io::ErrorKind;
use std::time::Duration;

/// Records that a driver writes and reads again.
const RECORDS: u64 = 500;

impl Lab {
    /// Starts a target, checks its answers to a handful of requests, ends it. The text says what answered.
    ///
    /// # Errors
    /// One line that says what did not start or what was answered wrongly.
    pub fn verify_target(&self, key: &str, mode: Mode) -> Result<String, String> {
        let definition =
            self.catalogue().get(key).ok_or_else(|| format!("no target '{key}' in targets.toml"))?;
        if definition.is_driven() {
            return self.verify_driver(key, mode);
        }
        let placed = Placed::of(Placement::Apart, self.setup().cpus);
        let chosen = self.catalogue().overridden(key);
        let target = start(&Start { mode, placed, ..Start::native(definition, chosen, self.setup()) })?;
        let told = check_answers(definition, &target).map_err(|reason| format!("{key}: {reason}"));
        let ready_ms = target.ready_ms;
        target.stop();
        told.map(|()| format!("{key} answered rightly, {ready_ms:.1} ms after its start"))
    }

    /// Why there is nothing to verify of a target in a mode in which it could be started.
    #[must_use]
    pub fn nothing_to_verify(&self, key: &str, mode: Mode) -> Option<String> {
        let definition = self.catalogue().get(key)?;
        let limited = definition.is_in_process() && mode != Mode::Native;
        limited.then(|| {
            format!("nothing to verify: {key} is an engine in a driver, which runs as a plain process only")
        })
    }

    /// Has a driver write records and read them; it checks every value itself, as it does under load.
    fn verify_driver(&self, key: &str, mode: Mode) -> Result<String, String> {
        let cell = CellKey { key: "verify".to_owned(), label: "verify".to_owned(), axes: Axes::default() };
        let until = Until { seconds: 0.0, operations: RECORDS };
        let read =
            Phase::ReadRandom { distribution: Distribution::Uniform, threads: 1, absent: false, until };
        let work = EmbeddedWork {
            engine: EngineWanted::default(),
            records: Records {
                count: RECORDS,
                value_bytes: 100,
                values: ValueKind::Incompressible,
                keys: KeySchema::OneFamily,
            },
            store: StoreUse::Fresh,
            releases: false,
            draw_seed: 0,
            before: vec![Phase::Load { order: Order::Random, batch: 100, flush_every: None }],
            killed: false,
            parts: vec![EmbeddedPart { cell, before: Vec::new(), measured: vec![read] }],
            pace: Pace::default(),
            timeout_s: 30.0,
        };
        let step = Step {
            position: 0,
            scenario: "verify".to_owned(),
            target: key.to_owned(),
            mode,
            placement: Placement::Apart,
            trial: 0,
            seed: 1,
            cap_bytes: None,
            memory_limit_bytes: None,
            variant: None,
            work: Work::Embedded { work: Box::new(work) },
        };
        let trials = self.run_step(&step, &mut |_| {}).trials;
        let (_, trial) = trials.into_iter().next().ok_or_else(|| format!("{key}: stopped"))?;
        if trial.status == Status::Ok {
            return Ok(format!(
                "{key} wrote {RECORDS} records and gave {} reads rightly",
                trial.counts.operations
            ));
        }
        Err(format!("{key}: {}", trial.reason.unwrap_or_else(|| "without a reason".to_owned())))
    }
}

fn check_answers(definition: &Definition, target: &RunningTarget) -> Result<(), String> {
    if definition.protocol != Protocol::Resp {
        return verify_foreign(definition.protocol, &target.address, definition.role.keeps_nothing());
    }
    let told = |error: ClientError| error.to_string();
    let mut client = Client::connect(&target.address, Duration::from_secs(5)).map_err(told)?;
    client.expect_simple(&[b"SET", b"verify", b"plumb"], "OK").map_err(told)?;
    let got = client.call(&[b"GET", b"verify"]).map_err(told)?;
    let right = match &got {
        Answered::Bulk(value) => definition.role.keeps_nothing() && value.len() == 5 || value == b"plumb",
        _ => false,
    };
    if !right {
        return Err(format!("GET of a key that was set to 'plumb' was answered by {}", got.describe()));
    }
    match client.expect_integer(&[b"DEL", b"verify"]).map_err(told)? {
        1 => {}
        other => return Err(format!("DEL of a key that was there was answered by {other}")),
    }
    if !definition.role.keeps_nothing() {
        let gone = client.call(&[b"GET", b"verify"]).map_err(told)?;
        if gone != Answered::Null {
            return Err(format!("GET of a deleted key was answered by {}", gone.describe()));
        }
        check_patience(&target.address)?;
    }
    Ok(())
}

/// A value that is still under way cannot have been stored: half a SET is met by silence.
fn check_patience(address: &Address) -> Result<(), String> {
    const TIMEOUT: Duration = Duration::from_secs(5);
    const SILENCE: Duration = Duration::from_millis(200);
    let told = |error: ClientError| error.to_string();
    let mut client = Client::connect(address, TIMEOUT).map_err(told)?;
    let mut request = Vec::new();
    plumbkv_resp::compose(&[b"SET", b"verify", b"plumb"], &mut request);
    let (half, rest) = request.split_at(request.len() - b"umb\r\n".len());
    client.send(half, "half a SET").map_err(told)?;
    client.set_timeout(SILENCE).map_err(told)?;
    match client.receive("half a SET") {
        Ok(reply) => {
            return Err(format!(
                "a SET whose value was still under way was answered by {}",
                reply.describe()
            ));
        }
        Err(ClientError::Io { error, .. })
            if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {}
        Err(error) => return Err(told(error)),
    }
    client.set_timeout(TIMEOUT).map_err(told)?;
    client.send(rest, "the rest of a SET").map_err(told)?;
    match client.receive("SET").map_err(told)? {
        Answered::Simple(word) if word == "OK" => {}
        other => return Err(format!("SET in two pieces was answered by {}", other.describe())),
    }
    client.call(&[b"DEL", b"verify"]).map(drop).map_err(told)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::client::Endpoint;
    use std::io::{Read, Write};
    use std::net::TcpListener;

    /// A server that says `OK` as soon as it has seen so many bytes of a SET.
    fn serving(set_bytes: usize) -> Address {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = Address::of(Endpoint::Tcp(listener.local_addr().unwrap()));
        std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            for (bytes, reply) in [(b"*1\r\n$4\r\nPING\r\n".len(), "+PONG\r\n"), (set_bytes, "+OK\r\n")] {
                let mut request = vec![0; bytes];
                stream.read_exact(&mut request).unwrap();
                stream.write_all(reply.as_bytes()).unwrap();
            }
            let mut rest = [0; 64];
            // The client may have gone by now.
            let _ = stream.read(&mut rest).and_then(|_| stream.write_all(b":1\r\n"));
        });
        address
    }

    #[test]
    fn a_set_that_is_acknowledged_before_its_value_has_come_is_found_out() {
        let whole = b"*3\r\n$3\r\nSET\r\n$6\r\nverify\r\n$5\r\nplumb\r\n".len();
        check_patience(&serving(whole)).unwrap();
        for early in [whole - 5, whole - 6, 20] {
            let said = check_patience(&serving(early)).unwrap_err();
            assert!(said.contains("still under way was answered by the status 'OK'"), "{early}: {said}");
        }
    }
}
