//! The steps that read: gets, ranges in both directions, walks that turn round, cursors, and snapshots
//! that are kept, each compared with the model and with each other.

use super::client::{Client, Held, owner};
use super::model::{Bytes, Entry, State};
use super::world::World;
use crate::durable::{Direction, Durable, Snapshot};
use crate::error::{Error, Result};
use std::ops::{Bound, RangeBounds};
use std::sync::atomic::Ordering;

type Pairs = Vec<(Vec<u8>, Entry)>;

/// Everything in a snapshot, in the order of a direction.
fn walk(
    snapshot: &Snapshot,
    bounds: (Bound<&[u8]>, Bound<&[u8]>),
    direction: Direction,
    most: usize,
) -> Result<Pairs> {
    let mut range = snapshot.range(bounds, direction);
    let mut found = Pairs::new();
    while found.len() < most
        && let Some(entry) = range.next_entry()?
    {
        found.push((entry.key.to_vec(), Entry { value: entry.value.into(), until_ms: entry.expires_at_ms }));
    }
    Ok(found)
}

const ALL: (Bound<&[u8]>, Bound<&[u8]>) = (Bound::Unbounded, Bound::Unbounded);

/// Everything in a snapshot, once it was seen that it is the same forward, backward and by gets.
pub(super) fn everything(snapshot: &Snapshot) -> Result<State> {
    let forward = walk(snapshot, ALL, Direction::Forward, usize::MAX)?;
    let mut backward = walk(snapshot, ALL, Direction::Backward, usize::MAX)?;
    backward.reverse();
    if forward != backward {
        let differ = forward.iter().zip(&backward).find(|(one, other)| one != other);
        let keys = differ.map(|(one, other)| (Bytes(&one.0), Bytes(&other.0)));
        panic!(
            "a snapshot differs: {} keys forward, {} backward, the first that differs is {keys:?}",
            forward.len(),
            backward.len()
        );
    }
    for (key, entry) in &forward {
        let value = snapshot.get(key)?;
        assert!(
            value.as_deref() == Some(&entry.value[..]),
            "a get and a walk of a snapshot differ: {:?}",
            Bytes(key)
        );
    }
    Ok(forward.into_iter().collect())
}

/// The live entries of a client.
fn live(client: &Client, world: &World) -> State {
    let now_ms = world.now_ms();
    let live = client.part.state.iter().filter(|(_, entry)| entry.is_live(now_ms));
    live.map(|(key, entry)| (key.clone(), entry.clone())).collect()
}

/// The entries that belong to a client.
pub(super) fn without_shared(mut found: State) -> State {
    found.retain(|key, _| owner(key, usize::MAX) < usize::MAX);
    found
}

fn own(client: &Client, found: State) -> State {
    let clients = usize::from(client.habits.clients);
    found.into_iter().filter(|(key, _)| owner(key, clients) == usize::from(client.id)).collect()
}

pub(super) fn compare(what: &str, expected: &State, found: &State) {
    if expected != found {
        let missing = expected.iter().find(|(key, entry)| found.get(*key) != Some(entry));
        let more = found.iter().find(|(key, entry)| expected.get(*key) != Some(entry));
        let show = |pair: Option<(&Vec<u8>, &Entry)>| {
            pair.map(|(key, entry)| {
                format!("{:?} = {:?} until {:?}", Bytes(key), Bytes(&entry.value), entry.until_ms)
            })
        };
        panic!("{what}: expected {:?}, found {:?}", show(missing), show(more));
    }
}

/// Some reads, drawn.
pub(super) fn some(client: &mut Client, here: (&World, &Durable)) {
    let kind = client.random.u32(..14);
    here.0.count("reads");
    let done = match kind {
        0..3 => gets(client, here),
        3 => many(client, here),
        4..6 => ranges(client, here),
        6 => turns(client, here),
        7 => cursors(client, here),
        8 => keep(client, here),
        9..12 => look_at_kept(client, here),
        12 => facts(client, here),
        _ => whole(client, here),
    };
    if let Err(error) = done {
        here.0.failed("a read", &error);
    }
}

fn gets(client: &mut Client, (world, db): (&World, &Durable)) -> Result<()> {
    for _ in 0..5 {
        let key = client.key();
        let found = db.read(&key, <[u8]>::to_vec)?;
        assert!(found == client.live_value(world, &key), "get {:?}: {found:?}", Bytes(&key));
        world.note(&found);
    }
    Ok(())
}

fn many(client: &mut Client, (world, db): (&World, &Durable)) -> Result<()> {
    let count = client.random.usize(1..20);
    let keys: Vec<_> = (0..count).map(|_| client.key()).collect();
    let named: Vec<_> = keys.iter().map(|key| &key[..]).collect();
    let expected: Vec<_> = keys.iter().map(|key| client.live_value(world, key)).collect();
    assert!(db.multi_get(&named)? == expected, "multi_get");
    assert_eq!(db.count_many(&named)?, expected.iter().flatten().count(), "count_many");
    Ok(())
}

/// Lifetime and length of a key.
fn facts(client: &mut Client, (world, db): (&World, &Durable)) -> Result<()> {
    use crate::memory::Lifetime;
    let key = client.key();
    let there = client.live(world, &key);
    let expected = match &there {
        None => Lifetime::Missing,
        Some(there) => there.until_ms.map_or(Lifetime::Forever, Lifetime::Until),
    };
    assert_eq!(db.lifetime(&key)?, expected, "lifetime");
    let len = there.map(|there| (key.len() + there.value.len()) as u64);
    assert_eq!(db.memory_usage(&key)?, len, "memory_usage");
    let stats = db.storage_stats();
    assert!(stats.versions >= client.part.state.len() as u64 / 1_000_000);
    Ok(())
}

/// A range with bounds, in both directions.
fn ranges(client: &mut Client, (world, db): (&World, &Durable)) -> Result<()> {
    let mut bound = || {
        let key = client.key();
        match client.random.u32(..3) {
            0 => Bound::Unbounded,
            1 => Bound::Included(key),
            _ => Bound::Excluded(key),
        }
    };
    let (from, to) = (bound(), bound());
    let bounds = (from.as_ref().map(|key| &key[..]), to.as_ref().map(|key| &key[..]));
    let is_within = |key: &[u8]| RangeBounds::<[u8]>::contains(&bounds, key);
    let most = if client.random.bool() { 5 } else { usize::MAX };
    let snapshot = db.snapshot();
    let expected: Vec<_> = live(client, world).into_iter().filter(|(key, _)| is_within(key)).collect();
    for direction in [Direction::Forward, Direction::Backward] {
        let found = walk(&snapshot, bounds, direction, most)?;
        let is_sorted = found.windows(2).all(|pair| match direction {
            Direction::Forward => pair[0].0 < pair[1].0,
            Direction::Backward => pair[0].0 > pair[1].0,
        });
        assert!(
            is_sorted && found.iter().all(|(key, _)| is_within(key)),
            "a range {direction:?} is not in order"
        );
        let clients = usize::from(client.habits.clients);
        let is_own = |key: &[u8]| owner(key, clients) == usize::from(client.id);
        let found: Vec<_> = found.into_iter().filter(|(key, _)| is_own(key)).collect();
        let mut expected = expected.clone();
        if direction == Direction::Backward {
            expected.reverse();
        }
        if most < usize::MAX {
            expected.truncate(found.len());
        }
        let (expected, found): (State, State) = (expected.into_iter().collect(), found.into_iter().collect());
        compare(&format!("a range {direction:?}"), &expected, &found);
    }
    Ok(())
}

/// A walk that turns round, through a snapshot whose content is known.
fn turns(client: &mut Client, (_, db): (&World, &Durable)) -> Result<()> {
    let snapshot = db.snapshot();
    let all: Vec<_> = walk(&snapshot, ALL, Direction::Forward, usize::MAX)?;
    let mut walk = snapshot.walk();
    let mut place: Option<usize> = None;
    for _ in 0..client.random.usize(1..25) {
        match (client.random.u32(..8), place) {
            (0, _) => {
                walk.first()?;
                place = (!all.is_empty()).then_some(0);
            }
            (1, _) => {
                walk.last()?;
                place = all.len().checked_sub(1);
            }
            (2, _) => {
                let key = client.key();
                walk.seek(&key)?;
                place =
                    Some(all.partition_point(|(other, _)| *other < key)).filter(|place| *place < all.len());
            }
            (3, _) => {
                let key = client.key();
                walk.seek_before(&key)?;
                place = all.partition_point(|(other, _)| *other < key).checked_sub(1);
            }
            (4 | 5, Some(at)) => {
                walk.next()?;
                place = Some(at + 1).filter(|place| *place < all.len());
            }
            (_, Some(at)) => {
                walk.previous()?;
                place = at.checked_sub(1);
            }
            (_, None) => continue,
        }
        let expected = place.map(|place| (&all[place].0[..], &all[place].1.value[..]));
        assert!(
            walk.pair() == expected,
            "a walk that turns round: expected {:?}, found {:?}",
            expected.map(|pair| Bytes(pair.0)),
            walk.pair().map(|pair| Bytes(pair.0))
        );
    }
    Ok(())
}

fn cursors(client: &mut Client, (world, db): (&World, &Durable)) -> Result<()> {
    let (mut cursor, mut found) = (0, Vec::new());
    let count = client.random.usize(1..40);
    loop {
        cursor = db.scan(cursor, count, &mut |key| found.push(key.to_vec()))?;
        if cursor == 0 {
            break;
        }
    }
    let clients = usize::from(client.habits.clients);
    found.retain(|key| owner(key, clients) == usize::from(client.id));
    let expected: Vec<_> = live(client, world).into_keys().collect();
    assert!(found == expected, "scan: {} keys, {} expected", found.len(), expected.len());
    Ok(())
}

fn keep(client: &mut Client, (world, db): (&World, &Durable)) -> Result<()> {
    let snapshot = match db.snapshot_to_hold() {
        Ok(snapshot) => snapshot,
        Err(Error::SnapshotsHoldMemory { held, limit }) => {
            assert!(held > limit, "{held} bytes are held, {limit} are allowed");
            world.count("snapshots refused");
            client.snapshots.clear();
            return Ok(());
        }
        Err(error) => return Err(error),
    };
    let held = Held { snapshot, state: live(client, world) };
    if client.snapshots.len() < 4 {
        client.snapshots.push(held);
    } else {
        let place = client.random.usize(..4);
        client.snapshots[place] = held;
    }
    Ok(())
}

fn look_at_kept(client: &mut Client, (world, _): (&World, &Durable)) -> Result<()> {
    if client.snapshots.is_empty() {
        return Ok(());
    }
    let place = client.random.usize(..client.snapshots.len());
    let Held { snapshot, state } = &client.snapshots[place];
    let found = match everything(snapshot) {
        // It has outlived its database, and a file was closed by then. No open database says this.
        Err(Error::Io { message, .. }) if message.contains("its database was closed") => {
            world.count("kept snapshots of a closed database refused");
            client.snapshots.swap_remove(place);
            return Ok(());
        }
        found => own(client, found?),
    };
    compare("a snapshot that was kept", state, &found);
    world.count("kept snapshots read");
    if client.random.bool() {
        client.snapshots.swap_remove(place);
    }
    Ok(())
}

/// All of it at once.
pub(super) fn whole(client: &mut Client, (world, db): (&World, &Durable)) -> Result<()> {
    let snapshot = db.snapshot();
    let expected = live(client, world);
    let all = everything(&snapshot)?;
    world.note(&all.len());
    check_bank(&all, world.is_banking.load(Ordering::Relaxed));
    compare("a snapshot", &expected, &own(client, all));
    Ok(())
}

/// What the accounts of the bank hold together, as long as they are there.
pub(super) const ACCOUNTS: u8 = 5;
pub(super) const DEPOSIT: u64 = 100;

fn check_bank(all: &State, is_open: bool) {
    let accounts = all.iter().filter(|(key, _)| key.starts_with(b"bank"));
    let balances: Vec<u64> =
        accounts.filter_map(|(_, entry)| std::str::from_utf8(&entry.value).ok()?.parse().ok()).collect();
    let sum = balances.iter().sum::<u64>();
    let is_right = !is_open || sum == u64::from(ACCOUNTS) * DEPOSIT;
    assert!(is_right, "the bank has {sum} in {balances:?}");
}

/// Nothing else is going on: the store holds what all clients' keys are, and no more.
pub(super) fn check_all(clients: &[Client], (world, db): (&World, &Durable)) -> Result<()> {
    let found = without_shared(everything(&db.snapshot())?);
    let mut expected = State::new();
    clients.iter().for_each(|client| expected.extend(live(client, world)));
    compare("all", &expected, &found);
    for (key, entry) in &expected {
        let value = db.read(key, <[u8]>::to_vec)?;
        assert!(value.as_deref() == Some(&entry.value[..]), "get {:?}", Bytes(key));
    }
    world.count("whole comparisons");
    Ok(())
}
