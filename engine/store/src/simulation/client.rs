//! A client of the simulated store: its own keys, values that tell which write they are of, and calls
//! that are checked against the model.

use super::model::{Bytes, Change, Effect, Entry, Part, State, apply};
use super::options::{batch_limit, one_of};
use super::world::World;
use crate::durable::{Durable, Snapshot};
use crate::error::{Error, Result};
use crate::lsm::{FileName, LogRecord, SimDisk, put_record};
use crate::nonblocking::NonBlocking;
use fastrand::Rng;
use std::collections::BTreeSet;
use std::fmt::Debug;
use std::hash::Hash;
use std::sync::Arc;

/// A snapshot that was taken earlier, and what the client's keys were then.
pub(super) struct Held {
    pub(super) snapshot: Snapshot,
    pub(super) state: State,
}

/// What keys and values are like in a run.
#[derive(Clone)]
pub(super) struct Habits {
    families: Vec<Vec<u8>>,
    /// Numbers of keys in a family.
    keys: u32,
    is_decimal: bool,
    longest: usize,
    pub(super) entry_limit: usize,
    pub(super) batch_limit: usize,
    pub(super) clients: u8,
    /// Kinds of steps that this run has.
    pub(super) steps: Vec<u32>,
}

impl Habits {
    pub(super) fn new(random: &mut Rng, entry_limit: usize, kinds: usize) -> Self {
        let long = |byte: u8, len: usize| vec![byte; len];
        let all = [
            b"".to_vec(),
            b"account:".to_vec(),
            b"session:".to_vec(),
            b"z".to_vec(),
            vec![0],
            vec![255, 255],
            [&b"invoice:"[..], &long(b'x', 60)].concat(),
            [&b"invoice:"[..], &long(b'x', 61)].concat(),
            long(b'a', 200),
        ];
        let count = random.usize(1..=4);
        let families = (0..count).map(|_| all[random.usize(..all.len())].clone()).collect();
        Self {
            families,
            keys: one_of(random, &[4, 15, 40, 120]),
            is_decimal: random.bool(),
            longest: one_of(random, &[8, 40, 120]),
            entry_limit,
            batch_limit: batch_limit(entry_limit as u64) as usize,
            clients: random.u8(1..=3),
            steps: (0..kinds).map(|_| one_of(random, &[0, 1, 1, 2, 5])).collect(),
        }
    }
}

/// A key, a value and its expiry.
pub(super) type Written = (Vec<u8>, Arc<[u8]>, Option<u64>);

pub(super) struct Client {
    pub(super) id: u8,
    pub(super) random: Rng,
    pub(super) habits: Arc<Habits>,
    pub(super) part: Part,
    pub(super) snapshots: Vec<Held>,
    /// Entries of the lives before: a repaired store may hold any of them again.
    pub(super) earlier: BTreeSet<Written>,
    /// Values that were made.
    made: u32,
    /// Of which this many contain records of logs.
    pub(super) forged: u64,
    disk: SimDisk,
    /// Changes that failed one after the other.
    pub(super) failures: u32,
}

/// Keys that all clients change at once. No model holds them.
pub(super) const COUNTER: &[u8] = b"shared:counter";
pub(super) const LEASE: &[u8] = b"shared:lease";

/// The client that a key belongs to; none of them, where it is shared.
pub(super) fn owner(key: &[u8], clients: usize) -> usize {
    if key.starts_with(b"shared:") {
        return usize::MAX;
    }
    key.last().map_or(0, |last| usize::from(*last) % clients)
}

/// What a call is to return.
pub(super) enum Expected<T> {
    Value(T),
    /// An error that says so, and nothing is changed.
    Refusal(fn(&Error) -> bool),
}

impl Client {
    pub(super) fn new(id: u8, seed: u64, habits: Arc<Habits>, disk: SimDisk) -> Self {
        let random = Rng::with_seed(seed.wrapping_mul(31).wrapping_add(u64::from(id)));
        let (part, snapshots) = (Part::default(), Vec::new());
        Self {
            id,
            random,
            habits,
            part,
            snapshots,
            earlier: BTreeSet::new(),
            made: 0,
            forged: 0,
            disk,
            failures: 0,
        }
    }

    /// Whether an entry was written in any life.
    pub(super) fn has_written(&self, key: &[u8], entry: &Entry) -> bool {
        self.earlier.contains(&(key.to_vec(), Arc::clone(&entry.value), entry.until_ms))
    }

    /// Remembers what was written in a life that is over.
    pub(super) fn keep_written(&mut self, part: &Part) {
        let effects = part.changes.iter().flat_map(|change| &change.effect);
        let written = effects.filter_map(|(key, entry)| Some((key, entry.as_ref()?))).chain(&part.base);
        self.earlier
            .extend(written.map(|(key, entry)| (key.clone(), Arc::clone(&entry.value), entry.until_ms)));
    }

    /// The byte at the end of all keys of the client.
    fn tag(&self) -> u8 {
        self.habits.clients * 16 + self.id
    }

    fn numbered(&self, family: &[u8], number: u32) -> Vec<u8> {
        let mut key = family.to_vec();
        if self.habits.is_decimal {
            key.extend_from_slice(format!("{number:05}").as_bytes());
        } else {
            key.extend_from_slice(&number.wrapping_mul(0x9e37_79b1).to_be_bytes());
        }
        key.push(self.tag());
        key
    }

    /// Any key of the client.
    pub(super) fn new_key(&mut self) -> Vec<u8> {
        if self.id == 0 && self.random.u32(..200) == 0 {
            return Vec::new();
        }
        let (family, number) =
            (self.random.usize(..self.habits.families.len()), self.random.u32(..self.habits.keys));
        let habits = Arc::clone(&self.habits);
        self.numbered(&habits.families[family], number)
    }

    /// A key of the family that no other client has keys in.
    pub(super) fn apart_key(&mut self) -> Vec<u8> {
        let number = self.random.u32(..self.habits.keys);
        self.numbered(&[b"apart", &[self.tag()][..]].concat(), number)
    }

    /// An account of the bank, whose sum stays the same.
    pub(super) fn account(&self, number: u8) -> Vec<u8> {
        vec![b'b', b'a', b'n', b'k', number, self.tag()]
    }

    /// A key that is there more often than not.
    pub(super) fn key(&mut self) -> Vec<u8> {
        let key = if self.random.u32(..6) == 0 { self.apart_key() } else { self.new_key() };
        if self.random.u32(..3) == 0 {
            return key;
        }
        let there = self.part.state.range(key.clone()..).find(|(key, _)| !key.starts_with(b"bank"));
        there.map_or(key, |(key, _)| key.clone())
    }

    pub(super) fn value(&mut self) -> Vec<u8> {
        self.made += 1;
        let random = &mut self.random;
        if random.u32(..12) == 0 {
            return random.i64(-50..50).to_string().into_bytes();
        }
        if random.u32(..40) == 0 {
            return self.forge();
        }
        let len = match random.u32(..60) {
            0 => self.habits.entry_limit - random.usize(..=300.min(self.habits.entry_limit)),
            1..4 => random.usize(..600.min(self.habits.entry_limit)),
            _ => random.usize(..self.habits.longest),
        };
        let mut value = format!("{}.{}.", self.id, self.made).into_bytes();
        let is_random = random.bool();
        let fill = random.u8(..);
        value.extend(std::iter::repeat_with(|| if is_random { random.u8(..) } else { fill }).take(len));
        value
    }

    /// Records of the newest log or one of the next, as a client can compute them that knows the numbers of
    /// files. They say that all before them was synced: whatever takes them for records finds damage.
    fn forge(&mut self) -> Vec<u8> {
        self.forged += 1;
        let names = self.disk.names();
        let files = names.iter().filter_map(|path| FileName::parse(path.file_name()?.to_str()?));
        let logs = files.filter(|file| matches!(file, FileName::Log(_)));
        let tag = logs.map(FileName::number).max().unwrap_or(0) + self.random.u64(..3);
        let mut value = format!("{}.{}.", self.id, self.made).into_bytes();
        // Records begin at multiples of eight, and a value begins anywhere.
        for _ in 0..8 * self.random.u32(1..4) {
            let mut record = Vec::new();
            put_record(&mut record, tag, &LogRecord { sequence: 1 << 40, after_sync: true, payload: &[] });
            value.extend(record);
            value.push(0);
        }
        value.truncate(self.habits.entry_limit);
        value
    }

    /// A value that fits with the key.
    pub(super) fn value_for(&mut self, key: &[u8]) -> Vec<u8> {
        let mut value = self.value();
        value.truncate(self.habits.entry_limit.saturating_sub(key.len()));
        value
    }

    pub(super) fn until(&mut self, world: &World) -> u64 {
        let now = world.now_ms();
        match self.random.u32(..10) {
            0 => now.saturating_sub(self.random.u64(..1_000)),
            1 => u64::MAX,
            2..5 => now + self.random.u64(1..20),
            _ => now + self.random.u64(1..20_000),
        }
    }

    /// What a key holds now.
    pub(super) fn live(&self, world: &World, key: &[u8]) -> Option<Entry> {
        self.part.state.get(key).filter(|entry| entry.is_live(world.now_ms())).cloned()
    }

    pub(super) fn live_value(&self, world: &World, key: &[u8]) -> Option<Vec<u8>> {
        self.live(world, key).map(|entry| entry.value.to_vec())
    }

    /// Makes a call that changes keys, and compares what it returns.
    pub(super) fn change<T: PartialEq + Debug + Hash>(
        &mut self,
        (world, db): (&World, &Durable),
        name: &'static str,
        effect: Effect,
        expected: Expected<T>,
        call: impl Fn(&Durable) -> Result<T>,
    ) {
        let begun = world.moment();
        let found = match self.without_waiting((world, db), name, &effect, &call) {
            Some(found) => found,
            None => call(db),
        };
        let ended = world.moment();
        world.count(name);
        world.tell(|| {
            let keys: Vec<_> = effect.iter().take(4).map(|(key, _)| Bytes(key)).collect();
            let found = format!("{found:?}");
            let found = found.chars().take(100).collect::<String>();
            format!("{begun} client {} {name} {keys:?} -> {found}", self.id)
        });
        match (found, expected) {
            (Ok(found), Expected::Value(expected)) => {
                assert_eq!(found, expected, "client {}: {name} {begun}..{ended}", self.id);
                world.note(&found);
                apply(&mut self.part.state, &effect);
                self.part.push(Change { effect, begun, ended, is_ok: true, name });
                self.failures = 0;
            }
            (Ok(found), Expected::Refusal(_)) => panic!("{name} should be refused: {found:?}"),
            (Err(error), Expected::Refusal(is_right)) if is_right(&error) => {
                world.count("calls refused for what they ask");
                world.note(&error.to_string());
            }
            (Err(error), _) => {
                world.count("writes refused");
                world.failed(name, &error);
                self.failures += 1;
                for (key, _) in effect.iter().take(8) {
                    self.check_unchanged((world, db), name, key);
                }
                self.part.push(Change { effect, begun, ended, is_ok: false, name });
            }
        }
    }

    /// Now and then makes a call that waits for no disk first. `None`, where it was not made, or would have
    /// to wait and has changed nothing.
    fn without_waiting<T>(
        &mut self,
        (world, db): (&World, &Durable),
        name: &'static str,
        effect: &Effect,
        call: &impl Fn(&Durable) -> Result<T>,
    ) -> Option<Result<T>> {
        if self.random.u32(..6) > 0 {
            return None;
        }
        let nonblocking = NonBlocking::begin();
        let found = call(db);
        drop(nonblocking);
        if !matches!(found, Err(Error::WouldBlock)) {
            world.count("calls that do not wait: done");
            return Some(found);
        }
        world.count("calls that do not wait: refused");
        for (key, _) in effect.iter().take(8) {
            self.check_unchanged((world, db), name, key);
        }
        None
    }

    /// A call that returned an error has changed nothing that the caller can see.
    fn check_unchanged(&mut self, (world, db): (&World, &Durable), name: &'static str, key: &[u8]) {
        let expected = self.live_value(world, key);
        match db.read(key, <[u8]>::to_vec) {
            Ok(found) => assert!(found == expected, "{name} returned an error and changed {:?}", Bytes(key)),
            Err(error) => world.failed("a read", &error),
        }
    }
}
