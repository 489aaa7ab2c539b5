//! The lives of a simulated store: opened, used by clients, ended by a close, an end of the process or a
//! power cut, and compared with what it may hold when it is opened again.

use super::client::{Client, Habits, owner};
use super::model::{Bytes, State, check};
use super::options::{Drawn, one_of};
use super::reads::{check_all, everything, whole};
use super::shared::Shared;
use super::steps::{STEPS, open_bank};
use super::whole::{Site, step, sync};
use super::world::{Counts, Telling, World};
use crate::durable::Durable;
use crate::lsm::sync::{TimeKeeper, set_points};
use crate::lsm::{Fault, FaultCounts, FaultPlan, Survival, SyncMode, repair};
use fastrand::Rng;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// What a run has shown.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(super) struct Outcome {
    pub(super) hash: u64,
    pub(super) counts: Counts,
}

/// What goes wrong in a life.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Trouble {
    None,
    Cut,
    Faults(&'static str),
}

/// A whole run, of a few lives.
pub(super) fn run(seed: u64, telling: Telling) -> Outcome {
    let mut random = Rng::with_seed(seed);
    set_points(one_of(&mut random, &[1, 4, 20, 100]), seed);
    let keeper = TimeKeeper::start();
    let world = World::new(1_000_000, telling);
    world.disk.make_dir(Path::new("/"));
    let drawn = Drawn::new(&mut random);
    let habits = Arc::new(Habits::new(&mut random, drawn.limits.entry as usize, STEPS.len()));
    world.tell(|| format!("{:?}, {:?}, {} clients", drawn.tree, drawn.limits, habits.clients));
    let clients = (0..habits.clients)
        .map(|id| Client::new(id, seed, Arc::clone(&habits), world.disk.clone()))
        .collect();
    let site = Site { world: &world, drawn: &drawn, path: PathBuf::from("/d"), copies: 0 };
    let mut run =
        Run { random, clients, site, before: FaultCounts::default(), is_only_full: false, repairs: 0 };
    let lives = run.random.u32(1..=5);
    for _ in 0..lives {
        if !run.live() {
            break;
        }
    }
    world.add("values that contain records of logs", run.clients.iter().map(|client| client.forged).sum());
    drop(run);
    keeper.stop();
    count_faults(&world);
    // Runs that number their moments differently differ.
    world.note(&world.moment());
    Outcome { hash: world.hash(), counts: world.take_counts() }
}

fn count_faults(world: &World) {
    let FaultCounts { errors, lasting, short, dropped_syncs, lost, misdirected, misread, full } =
        world.disk.fault_counts();
    for (name, count) in [
        ("faults: passing errors", errors),
        ("faults: lasting errors", lasting),
        ("faults: short writes", short),
        ("faults: syncs that drop pages", dropped_syncs),
        ("faults: lost sectors", lost),
        ("faults: misdirected sectors", misdirected),
        ("faults: misread sectors", misread),
        ("faults: disk full", full),
    ] {
        world.add(name, count);
    }
    world.add("disk operations", world.disk.operations());
}

struct Run<'a> {
    random: Rng,
    clients: Vec<Client>,
    site: Site<'a>,
    /// Faults before this life.
    before: FaultCounts,
    /// The only fault is that the disk is full.
    is_only_full: bool,
    repairs: u32,
}

impl Run<'_> {
    /// One life. False, where the store is beyond repair, as it may be.
    fn live(&mut self) -> bool {
        let world = self.site.world;
        world.count("lives");
        let trouble = self.draw_trouble();
        world.tell(|| format!("a life with {trouble:?}"));
        let Some(db) = self.open(trouble) else { return false };
        if trouble == Trouble::Cut {
            let steps = 1 << self.random.u32(..13);
            world.disk.fail(world.disk.operations() + self.random.u64(..steps), Fault::PowerCut);
        }
        if let Trouble::Faults(kind) = trouble {
            self.set_faults(kind);
        }
        self.before = world.disk.fault_counts();
        for _ in 0..self.random.u32(1..=4) {
            if self.is_over() {
                break;
            }
            if self.random.bool() { self.alone(&db) } else { self.together(&db) }
        }
        self.end(db, trouble);
        true
    }

    fn draw_trouble(&mut self) -> Trouble {
        match self.random.u32(..10) {
            0..3 => Trouble::None,
            3..7 => Trouble::Cut,
            _ => Trouble::Faults(one_of(
                &mut self.random,
                &[
                    "errors",
                    "errors",
                    "lasting",
                    "short",
                    "dropped",
                    "full",
                    "lost",
                    "misdirected",
                    "misread",
                ],
            )),
        }
    }

    fn set_faults(&mut self, kind: &'static str) {
        let world = self.site.world;
        let mut plan = FaultPlan { seed: self.random.u64(..), ..FaultPlan::default() };
        let rate = one_of(&mut self.random, &[10, 50, 300]);
        match kind {
            "errors" => plan.errors = rate,
            "lasting" => plan.lasting = rate,
            "short" => plan.short = rate / 10,
            "dropped" => plan.dropped_syncs = rate / 10,
            "full" => plan.capacity = Some(world.disk.used() + self.random.u64(..30_000)),
            "full at once" => plan.capacity = Some(world.disk.used() + self.random.u64(..2_000)),
            "lost" => plan.lost = rate,
            "misdirected" => plan.misdirected = rate,
            _ => plan.misread = rate,
        }
        self.is_only_full = kind.starts_with("full");
        // A store that was opened without room may refuse a write still.
        world.has_faults.fetch_or(kind != "short", Ordering::Relaxed);
        if matches!(kind, "lost" | "misdirected" | "misread") {
            world.is_corrupting.store(true, Ordering::Relaxed);
        }
        world.disk.set_faults(plan);
    }

    fn heal(&mut self) {
        self.is_only_full = false;
        self.site.world.disk.set_faults(FaultPlan::default());
        self.site.world.has_faults.store(false, Ordering::Relaxed);
    }

    /// The power is gone, or clients have met too many errors.
    fn is_over(&self) -> bool {
        self.site.world.disk.is_dead() || self.clients.iter().any(|client| client.failures >= 3)
    }

    /// Steps one after the other, of all clients and of the store as a whole.
    fn alone(&mut self, db: &Durable) {
        for _ in 0..self.random.u32(1..=self.site.drawn.steps) {
            if self.is_over() {
                return;
            }
            let client = self.random.usize(..self.clients.len());
            if self.random.u32(..5) == 0 {
                step(&mut self.random, &mut self.clients, &mut self.site, db);
            } else {
                self.clients[client].step((self.site.world, db));
            }
            self.acknowledge();
        }
    }

    /// All clients at once, each in its own thread.
    fn together(&mut self, db: &Durable) {
        let world = self.site.world;
        world.count("phases with several clients");
        let is_banking = open_bank(&mut self.clients[0], (world, db));
        world.is_banking.store(is_banking, Ordering::Relaxed);
        let steps = self.site.drawn.steps;
        // Behind, once and for all: what passes meanwhile counts before clients expect a time.
        world.jump(db, world.now_ms().saturating_sub(10_000).max(1));
        let shared = Shared::begin(world, db);
        shuttle::thread::scope(|scope| {
            for client in &mut self.clients {
                let shared = &shared;
                scope.spawn(move || {
                    for _ in 0..client.random.u32(1..=steps) {
                        if world.disk.is_dead() || client.failures >= 3 {
                            return;
                        }
                        if client.random.u32(..16) == 0 {
                            world.jolt(&mut client.random);
                        }
                        match client.random.u32(..8) {
                            0 => shared.change(client, (world, db)),
                            _ => client.step((world, db)),
                        }
                        if client.random.u32(..5) == 0
                            && let Err(error) = whole(client, (world, db))
                        {
                            world.failed("a comparison", &error);
                        }
                    }
                });
            }
        });
        world.is_banking.store(false, Ordering::Relaxed);
        shared.end(world, db);
        self.acknowledge();
        if self.random.bool() {
            sync(&mut self.clients, (world, db));
        }
    }

    /// What the threads behind the clients have done.
    fn count_work(&self, db: &Durable) {
        let (world, stats) = (self.site.world, db.storage_stats());
        world.add("lives with flushes", u64::from(stats.flushed_bytes > 0));
        world.add("lives with merges", u64::from(stats.merged_bytes > 0));
        world.add("bytes flushed", stats.flushed_bytes);
        world.add("bytes merged", stats.merged_bytes);
        world.add("bytes ingested", stats.ingested_bytes);
        world.add("write stalls", stats.stalls);
        world.add("write delays", stats.delays);
        world.add("block cache hits", stats.cache_hits);
        let deepest = stats.levels.iter().rposition(|level| level.tables > 0).unwrap_or(0);
        if deepest > 0 {
            world.count("lives with tables below level 0");
        }
    }

    /// In one sync mode all that is acknowledged lasts.
    fn acknowledge(&mut self) {
        if self.site.drawn.tree.sync == SyncMode::Always {
            let moment = self.site.world.moment();
            self.clients.iter_mut().for_each(|client| client.part.lasts(moment));
        }
    }

    fn end(&mut self, db: Durable, trouble: Trouble) {
        let world = self.site.world;
        self.count_work(&db);
        if !self.is_over() && trouble == Trouble::None {
            match check_all(&self.clients, (world, &db)) {
                Ok(()) => {}
                Err(error) => world.failed("a comparison", &error),
            }
        }
        if trouble == Trouble::Cut || self.random.u32(..8) == 0 {
            return self.cut(db);
        }
        let is_closed = self.random.bool();
        if is_closed {
            let done = db.close();
            if done.is_ok() {
                self.clients.iter_mut().for_each(|client| client.part.lasts(u64::MAX));
            }
            world.tell(|| format!("close -> {done:?}"));
            world.count("closed");
            if let Err(error) = done {
                world.failed("close", &error);
            }
        } else {
            world.tell(|| "dropped".to_owned());
            world.count("dropped");
            drop(db);
        }
        // A sync that failed may have dropped anything that was not synced before.
        if world.disk.fault_counts().dropped_syncs == self.before.dropped_syncs {
            self.clients.iter_mut().for_each(|client| client.part.survives());
        }
    }

    /// The power goes while threads are at work, if it has not yet.
    fn cut(&mut self, db: Durable) {
        let world = self.site.world;
        world.count(if world.disk.is_dead() {
            "cuts in the middle of an operation"
        } else {
            "cuts between operations"
        });
        world.disk.cut();
        drop(db);
        self.restart();
    }

    fn restart(&mut self) {
        let world = self.site.world;
        let survival = match self.random.u32(..6) {
            0 => Survival::Nothing,
            1 => Survival::Everything,
            _ => Survival::Some(self.random.u64(..)),
        };
        world.tell(|| format!("the power is back: {survival:?}"));
        for client in &mut self.clients {
            client.part.surviving = 0;
            client.snapshots.clear();
        }
        world.disk.restart(survival);
        world.has_faults.store(false, Ordering::Relaxed);
    }

    /// Opens the store and compares it with what it may hold. `None`, where it does not open and need not.
    fn open(&mut self, trouble: Trouble) -> Option<Durable> {
        let world = self.site.world;
        // What strikes while it is opened passes.
        if self.random.u32(..4) > 0 {
            self.heal();
        }
        if self.random.u32(..6) == 0 {
            self.heal();
            self.set_faults("full at once");
        }
        if trouble == Trouble::Cut && self.random.u32(..3) == 0 {
            world.disk.fail(world.disk.operations() + self.random.u64(..60), Fault::PowerCut);
        }
        let mut is_repaired = false;
        loop {
            let seen = self.look();
            let opened = self.site.open(&self.site.path);
            world.tell(|| format!("open -> {:?}", opened.as_ref().map(|_| ())));
            let found = opened.and_then(|db| {
                world.begin_time(&db);
                let found = everything(&db.snapshot())?;
                if let Some(seen) = &seen {
                    assert_eq!(*seen, found, "a read-only database found something else");
                }
                let lacks_room = db.storage_stats().failure.is_some();
                world.add("opened without room", u64::from(lacks_room));
                if is_repaired {
                    self.compare_repaired(found);
                } else {
                    self.compare(found);
                }
                world.has_unkept_time.store(lacks_room, Ordering::Relaxed);
                Ok(db)
            });
            match found {
                Ok(db) => {
                    world.count("opened");
                    // The cut that was to strike while it was opened did not.
                    if !world.disk.is_dead() {
                        world.disk.fail(u64::MAX, Fault::Short);
                        // A thread that has met a fault may tell of it later.
                        let has_faults = world.has_faults.load(Ordering::Relaxed);
                        self.heal();
                        world.has_faults.store(has_faults, Ordering::Relaxed);
                        return Some(db);
                    }
                    self.cut(db);
                }
                Err(_) if world.disk.is_dead() => {
                    world.count("cuts while it is opened");
                    self.restart();
                }
                Err(error) if world.has_faults.load(Ordering::Relaxed) => {
                    world.count("faults while it is opened");
                    world.tell(|| format!("open: {error}"));
                    self.heal();
                }
                Err(error) => {
                    assert!(world.is_corrupting.load(Ordering::Relaxed), "the store does not open: {error}");
                    assert!(!is_repaired, "a repaired store does not open: {error}");
                    world.count("stores found damaged");
                    is_repaired = self.repair();
                    if !is_repaired && !world.disk.is_dead() {
                        return None;
                    }
                }
            }
        }
    }

    /// What a read-only database finds, now and then. `None` also where a fault may have struck it.
    fn look(&mut self) -> Option<State> {
        let world = self.site.world;
        if world.disk.is_dead()
            || !world.disk.content().contains_key(&self.site.path.join("CURRENT"))
            || self.random.u32(..3) > 0
        {
            return None;
        }
        let found = self.site.look();
        world.tell(|| format!("open read-only -> {:?}", found.as_ref().map(State::len)));
        world.count("opened read-only");
        let may_differ = world.disk.is_dead()
            || (world.has_faults.load(Ordering::Relaxed) && !self.is_only_full)
            || world.is_corrupting.load(Ordering::Relaxed);
        match found {
            Ok(found) => (!may_differ).then_some(found),
            Err(_) if may_differ => None,
            Err(error) => panic!("the store does not open read-only: {error}"),
        }
    }

    /// Lays aside what is damaged. False, where that failed.
    fn repair(&mut self) -> bool {
        let world = self.site.world;
        self.heal();
        self.repairs += 1;
        let (disk, aside) = (Arc::new(world.disk.clone()), format!("/aside{}", self.repairs));
        let done = repair(disk, &self.site.path, Path::new(&aside), |_, _| ());
        world.tell(|| format!("repair -> {done:?}"));
        match done {
            Ok(laid) => {
                world.count("stores repaired");
                world.add("files laid aside", laid.len() as u64);
                true
            }
            Err(error) => {
                world.note(&error.to_string());
                world.count("repairs that failed");
                false
            }
        }
    }

    /// A repaired store may lack anything, and may hold what was replaced or deleted, but nothing else. The
    /// clients go on from it.
    fn compare_repaired(&mut self, found: State) {
        for client in &mut self.clients {
            let part = std::mem::take(&mut client.part);
            client.keep_written(&part);
        }
        let mut parts = vec![State::new(); self.clients.len()];
        for (key, entry) in found {
            let client = owner(&key, parts.len());
            let Some(part) = parts.get_mut(client) else { continue };
            assert!(
                self.clients[client].has_written(&key, &entry),
                "a repaired store holds what was never written: {:?}",
                Bytes(&key)
            );
            part.insert(key, entry);
        }
        for (client, found) in self.clients.iter_mut().zip(parts) {
            client.part.adopt(found);
            client.failures = 0;
        }
    }

    /// What was found is a state that the store may have; the clients go on from it.
    fn compare(&mut self, found: State) {
        let world = self.site.world;
        world.note(&found.len());
        let mut parts = vec![State::new(); self.clients.len()];
        for (key, entry) in found {
            let client = owner(&key, parts.len());
            if let Some(part) = parts.get_mut(client) {
                part.insert(key, entry);
            }
        }
        let known: Vec<_> = self.clients.iter_mut().map(|client| std::mem::take(&mut client.part)).collect();
        let is_any_prefix = world.is_corrupting.load(Ordering::Relaxed);
        let done = check(&known, &parts, world.now(), is_any_prefix);
        if let Err(difference) = done {
            panic!("what is found when the store is opened is no state that it may have: {difference}");
        }
        let changes: usize = known.iter().map(|part| part.changes.len()).sum();
        world.add("changes compared when opened", changes as u64);
        self.clients.iter_mut().zip(&known).for_each(|(client, part)| client.keep_written(part));
        for (client, found) in self.clients.iter_mut().zip(parts) {
            client.part.adopt(found);
            client.failures = 0;
        }
    }
}
