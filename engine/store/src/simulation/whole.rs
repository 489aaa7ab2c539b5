//! The steps that are about the store as a whole, taken while no client is writing: they change or check
//! every client's keys.

use super::client::Client;
use super::model::{Change, Effect, State, apply};
use super::options::{Drawn, one_of};
use super::reads::{check_all, compare, everything, without_shared};
use super::world::World;
use crate::clock::Clock;
use crate::durable::Durable;
use crate::error::{Error, Result};
use crate::lsm::TreeOptions;
use fastrand::Rng;
use std::ops::{Bound, ControlFlow, RangeBounds};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A run's store, and where it is.
pub(super) struct Site<'a> {
    pub(super) world: &'a World,
    pub(super) drawn: &'a Drawn,
    pub(super) path: PathBuf,
    /// Copies that were made.
    pub(super) copies: u32,
}

impl Site<'_> {
    pub(super) fn open(&self, path: &Path) -> Result<Durable> {
        let Self { world, drawn, .. } = self;
        let (disk, clock) = (Arc::new(world.disk.clone()), Arc::clone(&world.clock));
        Durable::open_as(disk, path, drawn.tree, drawn.limits, clock)
    }

    /// What a read-only database finds. It writes nothing, also on a full disk.
    pub(super) fn look(&self) -> Result<State> {
        let Self { world, drawn, path, .. } = self;
        let (disk, clock) = (Arc::new(world.disk.clone()), Arc::clone(&world.clock));
        let before = (world.disk.content(), world.disk.history().len());
        let tree = TreeOptions { is_read_only: true, ..drawn.tree };
        let found = Durable::open_as(disk, path, tree, drawn.limits, clock).and_then(|db| {
            let found = everything(&db.snapshot())?;
            let refused = (db.set(b"a", b""), db.delete(b"a"), db.flush(), db.clear());
            let expected =
                (Err(Error::ReadOnly), Err(Error::ReadOnly), Err(Error::ReadOnly), Err(Error::ReadOnly));
            assert_eq!(refused, expected, "a read-only database is changed");
            db.close().map(|()| found)
        });
        if !world.disk.is_dead() {
            let after = (world.disk.content(), world.disk.history().len());
            assert!(before == after, "a read-only database has changed the disk");
        }
        found
    }
}

/// A change of all clients' keys at once.
fn change_all(
    clients: &mut [Client],
    (world, db): (&World, &Durable),
    name: &'static str,
    effects: Vec<Effect>,
    call: impl FnOnce(&Durable) -> Result<()>,
) -> bool {
    let begun = world.moment();
    let done = call(db);
    let ended = world.moment();
    world.count(name);
    world.tell(|| format!("{begun} {name} -> {done:?}"));
    let is_ok = done.is_ok();
    // A call that finds nothing to write succeeds where writes are refused, and says nothing of those. One that
    // removed keys was written, also where a merge found no room meanwhile.
    let is_taken = db.storage_stats().failure.is_none() || effects.iter().any(|effect| !effect.is_empty());
    if let Err(error) = done {
        world.failed(name, &error);
    }
    for (client, effect) in clients.iter_mut().zip(effects) {
        if is_ok {
            apply(&mut client.part.state, &effect);
        }
        client.part.push(Change { effect, begun, ended, is_ok: is_ok && is_taken, name });
    }
    is_ok
}

/// One step, drawn.
pub(super) fn step(random: &mut Rng, clients: &mut [Client], site: &mut Site, db: &Durable) {
    let world = site.world;
    let here = (world, db);
    match random.u32(..24) {
        0..4 => delete_range(random, clients, here),
        4 => {
            let effects = clients.iter().map(|client| gone(client.part.state.keys())).collect();
            change_all(clients, here, "clear", effects, Durable::clear);
        }
        5..8 => keep(here, "flush", Durable::flush),
        8 => keep(here, "settle", Durable::settle),
        9..11 => keep(here, "compact", |db| db.compact(|_| ControlFlow::Continue(())).map(drop)),
        11 => {
            let mut left = random.u32(..6);
            let go_on = |_| {
                left = left.saturating_sub(1);
                if left > 0 { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
            };
            keep(here, "compact in part", |db| db.compact(go_on).map(drop));
        }
        12..15 => sync(clients, here),
        15 => keep(here, "verify", |db| db.verify(|_| ()).map(drop)),
        16..19 => {
            let by = if random.bool() { random.u64(1..30) } else { random.u64(..30_000) };
            world.pass(db, by);
            world.count("clock moves");
        }
        19 => jump(random, here),
        20 => checkpoint(clients, site, db),
        _ => {
            if let Err(error) = check_all(clients, here) {
                world.failed("a comparison", &error);
            }
        }
    }
}

fn gone<'a>(keys: impl Iterator<Item = &'a Vec<u8>>) -> Effect {
    keys.map(|key| (key.clone(), None)).collect()
}

/// A step that changes nothing that a client sees.
fn keep((world, db): (&World, &Durable), name: &'static str, call: impl FnOnce(&Durable) -> Result<()>) {
    let begun = world.moment();
    let done = call(db);
    world.count(name);
    world.tell(|| format!("{begun} {name} -> {done:?}"));
    if let Err(error) = done {
        world.failed(name, &error);
    }
}

pub(super) fn sync(clients: &mut [Client], (world, db): (&World, &Durable)) {
    let begun = world.moment();
    let done = db.sync();
    world.count("sync");
    world.tell(|| format!("{begun} sync -> {done:?}"));
    match done {
        Ok(()) => clients.iter_mut().for_each(|client| client.part.lasts(begun)),
        Err(error) => world.failed("sync", &error),
    }
}

fn delete_range(random: &mut Rng, clients: &mut [Client], here: (&World, &Durable)) {
    let mut bound = || {
        let client = random.usize(..clients.len());
        let key = clients[client].key();
        match random.u32(..5) {
            0 => Bound::Unbounded,
            1 => Bound::Excluded(key),
            _ => Bound::Included(key),
        }
    };
    let (mut from, mut to) = (bound(), bound());
    if let (Bound::Included(one) | Bound::Excluded(one), Bound::Included(other) | Bound::Excluded(other)) =
        (&from, &to)
        && one >= other
    {
        std::mem::swap(&mut from, &mut to);
    }
    let bounds = (from.as_ref().map(|key| &key[..]), to.as_ref().map(|key| &key[..]));
    let is_within = |key: &[u8]| RangeBounds::<[u8]>::contains(&bounds, key);
    let effects =
        clients.iter().map(|client| gone(client.part.state.keys().filter(|key| is_within(key)))).collect();
    change_all(clients, here, "delete_range", effects, |db| db.delete_range(bounds));
}

/// Sets the clock, most often back: what has expired stays so.
fn jump(random: &mut Rng, (world, db): (&World, &Durable)) {
    let by = one_of(random, &[1, 30, 2_000, 30_000, 3_000_000]);
    let now = world.clock.now_ms();
    if random.u32(..3) == 0 {
        world.jump(db, now + by);
        world.count("clock jumps ahead");
    } else {
        world.jump(db, now.saturating_sub(by).max(1));
        world.count("clock set back");
    }
}

/// Makes a copy, and compares it with what it is of.
fn checkpoint(clients: &mut [Client], site: &mut Site, db: &Durable) {
    let world = site.world;
    site.copies += 1;
    let path = PathBuf::from(format!("/copy{}", site.copies));
    world.count("checkpoint");
    let done = db.checkpoint(&path).and_then(|()| {
        let copy = site.open(&path)?;
        let found = without_shared(everything(&copy.snapshot())?);
        copy.close()?;
        Ok(found)
    });
    world.tell(|| format!("checkpoint -> {:?}", done.as_ref().map(State::len)));
    match done {
        Ok(found) => {
            let now_ms = world.now_ms();
            let live = clients
                .iter()
                .flat_map(|client| &client.part.state)
                .filter(|(_, entry)| entry.is_live(now_ms));
            let expected: State = live.map(|(key, entry)| (key.clone(), entry.clone())).collect();
            compare("a checkpoint", &expected, &found);
            world.count("checkpoints opened and compared");
        }
        Err(error) => world.failed("checkpoint", &error),
    }
}
