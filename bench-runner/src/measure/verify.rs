//! Does a target answer rightly? A handful of requests to a server; to a driver program, a handful of records.

use super::half_request;
use super::lab::Lab;
use crate::load;
use crate::load::client::{Answered, Client, ClientError};
use crate::model::{Axes, Mode, Placement, Status};
use crate::plan::{CellKey, EmbeddedPart, EmbeddedWork, EngineWanted, Pace, Step, StoreUse, Work};
use crate::target::{Definition, Placed, Protocol, RunningTarget, Start, start, verify_foreign};
use plumbkv_bench_driver::protocol::{Distribution, KeySchema, Order, Phase, Records, Until, ValueKind};
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
        half_request::check(&target.address, &load::request::Protocol::Resp2)
            .map_err(|(_, reason)| reason)?;
    }
    Ok(())
}
