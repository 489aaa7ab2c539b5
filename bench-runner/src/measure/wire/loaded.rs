//! What does the target's store hold, and what has to be set before a cell can be measured?

use super::super::lab::Bench;
use super::{End, settle};
use crate::load::client::Client;
use crate::load::generator::{Connections, Generator, Pace, Stretch};
use crate::load::request::{Draw, Protocol, Workload};
use crate::load::values::Values;
use crate::model::{Mode, Status};
use crate::plan::{Operation, WirePhase};
use crate::target::RunningTarget;
use std::time::{Duration, Instant};

/// How long the loading of keys may wait for one reply.
pub(super) const LOAD_PATIENCE: Duration = Duration::from_secs(30);

/// What the target's store holds.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Loaded {
    keys: u64,
    value_bytes: u32,
    value_mix: Vec<(u32, u32)>,
    /// Of the values that were written last; each cell that writes has two others.
    pub(super) generation: u8,
    /// Keys may be missing, or hold something else.
    pub(super) dirty: bool,
}

impl Loaded {
    /// After something broke.
    pub(super) fn unknown() -> Self {
        Self { dirty: true, ..Self::default() }
    }

    /// Sets every key, unless that is how it stands. Pure writes are loaded too: else the same cell would
    /// insert or overwrite, depending on which came before it.
    pub(super) fn ensure(
        &mut self,
        bench: &Bench<'_>,
        target: &RunningTarget,
        phase: &WirePhase,
        workload: &Workload,
        values: &Values,
    ) -> Result<(), End> {
        let wanted = Self {
            keys: phase.keys,
            value_bytes: phase.value_bytes,
            value_mix: phase.value_mix.clone(),
            generation: self.generation,
            dirty: false,
        };
        let http = matches!(workload.protocol, Protocol::Http(_));
        // Files stand on the disk before their server starts, a floor answers the same to everything, and a page of
        // somebody else's server is only read.
        let there = bench.definition.prepare.is_some() || bench.definition.role.keeps_nothing();
        let page = matches!(workload.protocol, Protocol::Page(_));
        if *self == wanted || (http && there) || page {
            return Ok(());
        }
        match workload.protocol {
            Protocol::Memcached | Protocol::Http(_) => by_the_generator(bench, target, workload, values)?,
            _ if bench.definition.role.keeps_nothing() => {
                // It keeps nothing, and answers GET by a value of the length that was set last.
                Client::connect(&target.address, LOAD_PATIENCE)?.fill(0..1, &workload.length, values)?;
            }
            _ => {
                let mut client = Client::connect(&target.address, LOAD_PATIENCE)?;
                let holds =
                    self.dirty || *self != Self::default() || client.held()?.is_some_and(|held| held > 0);
                if holds {
                    client.empty()?;
                } else if bench.step.mode != Mode::External {
                    // A store that estimates how many keys it has counts versions of keys that were written and deleted before. One that does not
                    // know the command holds nothing, as it says. In somebody else's there may be other databases beside an empty one.
                    let _ = client.empty();
                }
                client.fill(0..phase.keys, &workload.length, values)?;
                let held = client.held()?.filter(|held| u64::try_from(*held).ok() != Some(phase.keys));
                if let Some(held) = held {
                    let reason = format!("{} keys were set, DBSIZE says {held}", phase.keys);
                    return Err(End::Broken(Status::Invalid, reason));
                }
            }
        }
        *self = Self { generation: 0, ..wanted };
        Ok(())
    }
}

/// Sets every key once through the load generator, which speaks every protocol.
fn by_the_generator(
    bench: &Bench<'_>,
    target: &RunningTarget,
    workload: &Workload,
    values: &Values,
) -> Result<(), End> {
    let fill = Workload {
        mix: vec![(Operation::Set, 1)],
        draw: Draw::Sequential,
        // Over HTTP few servers expect a second request before their first answer.
        pipeline: if matches!(workload.protocol, Protocol::Http(_)) { 1 } else { 64 },
        expiry_ms: None,
        protocol: workload.protocol.kept(),
        ..workload.clone()
    };
    let connections = Connections { clients: 1, threads: 1, cpus: &[], protocol: &fill.protocol };
    let stretch = Stretch {
        min_ns: u64::MAX,
        min_operations: 0,
        limit: Some(workload.keys),
        pace: Pace::Closed,
        deadline: Instant::now() + LOAD_PATIENCE,
        seed: bench.step.seed,
        first: 0,
        window_percentiles: false,
    };
    let load = Generator::connect(&target.address, &connections)?.run(&fill, values, &stretch, bench.stop);
    settle(&load)?;
    match load.recorder.first_error {
        Some(reason) => Err(End::Broken(Status::Invalid, format!("while loading keys: {reason}"))),
        None => Ok(()),
    }
}
