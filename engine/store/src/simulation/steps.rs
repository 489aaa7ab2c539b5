//! The steps that change a client's own keys: each call with what it is to return and to change.

use super::client::{Client, Expected};
use super::model::{Effect, Entry};
use super::reads::{ACCOUNTS, DEPOSIT};
use super::world::World;
use crate::bytes::parse_integer;
use crate::durable::{Batch, Durable};
use crate::error::Error;
use crate::memory::{Condition, ExpireCondition, Expiry, RenameOptions, RenameOutcome, SetOptions};

type Here<'a> = (&'a World, &'a Durable);

fn entry(value: &[u8], until_ms: Option<u64>) -> Option<Entry> {
    Some(Entry { value: value.into(), until_ms })
}

fn is_too_large(error: &Error) -> bool {
    matches!(error, Error::TooLargeForBudget { .. })
}

/// The steps, and how often each is drawn unless the run has fewer or more of it.
pub(super) const STEPS: [(&str, u32, fn(&mut Client, Here)); 20] = [
    ("set", 10, set),
    ("set_with", 6, set_with),
    ("compare_and_set", 3, compare_and_set),
    ("set_many", 3, set_many),
    ("batch", 5, batch),
    ("take", 2, take),
    ("delete", 5, delete),
    ("delete_many", 2, delete_many),
    ("append", 3, append),
    ("increment", 4, increment),
    ("expire_at", 3, expire_at),
    ("persist", 2, persist),
    ("get_and_expire", 2, get_and_expire),
    ("rename", 3, rename),
    ("transfer", 6, transfer),
    ("ingest", 2, ingest),
    ("too large", 1, too_large),
    ("batch too long", 1, batch_too_long),
    ("delete_range apart", 2, delete_range_apart),
    ("reads", 12, super::reads::some),
];

impl Client {
    /// One step, drawn.
    pub(super) fn step(&mut self, here: Here) {
        let weights: Vec<_> =
            STEPS.iter().zip(&self.habits.steps).map(|((_, weight, _), more)| weight * more).collect();
        let sum = weights.iter().sum::<u32>();
        let mut drawn = self.random.u32(..sum.max(1));
        let step = weights.iter().position(|weight| match drawn.checked_sub(*weight) {
            Some(rest) => {
                drawn = rest;
                false
            }
            None => true,
        });
        STEPS[step.unwrap_or(0)].2(self, here);
    }
}

fn set(client: &mut Client, here: Here) {
    let key = client.key();
    let value = client.value_for(&key);
    let effect = vec![(key.clone(), entry(&value, None))];
    client.change(here, "set", effect, Expected::Value(()), |db| db.set(&key, &value));
}

fn too_large(client: &mut Client, here: Here) {
    let key = client.key();
    let value = vec![1; (client.habits.entry_limit + 1).saturating_sub(key.len()) + client.random.usize(..3)];
    client.change(here, "set too large", Vec::new(), Expected::Refusal(is_too_large), |db| {
        db.set(&key, &value)
    });
}

/// Of a batch that the budget has no room for nothing happens.
fn batch_too_long(client: &mut Client, here: Here) {
    let (mut batch, mut pairs, mut bytes) = (Batch::new(), Vec::new(), 0);
    while bytes <= client.habits.batch_limit {
        let key = client.key();
        let value = vec![1; client.habits.entry_limit.saturating_sub(key.len())];
        bytes += key.len() + value.len();
        batch.set(&key, &value);
        pairs.push((key, value));
    }
    let pairs: Vec<_> = pairs.iter().map(|(key, value)| (&key[..], &value[..])).collect();
    let is_batch = client.random.bool();
    client.change(here, "batch too long", Vec::new(), Expected::Refusal(is_too_long), |db| {
        if is_batch { db.write(&batch) } else { db.set_many(&pairs) }
    });
}

fn is_too_long(error: &Error) -> bool {
    matches!(error, Error::BatchTooLong { .. })
}

fn set_with(client: &mut Client, here: Here) {
    let key = client.key();
    let value = client.value_for(&key);
    let condition = [Condition::Always, Condition::IfAbsent, Condition::IfPresent][client.random.usize(..3)];
    let until = client.until(here.0);
    let expiry =
        [Expiry::Clear, Expiry::Keep, Expiry::At(until), Expiry::At(until)][client.random.usize(..4)];
    let want_previous = client.random.bool();
    let there = client.live(here.0, &key);
    let written = match condition {
        Condition::Always => true,
        Condition::IfAbsent => there.is_none(),
        Condition::IfPresent => there.is_some(),
    };
    let after = match expiry {
        Expiry::Clear => entry(&value, None),
        Expiry::Keep => entry(&value, there.as_ref().and_then(|there| there.until_ms)),
        Expiry::At(until) if until <= here.0.now_ms() => None,
        Expiry::At(until) => entry(&value, Some(until)),
    };
    let effect = if written { vec![(key.clone(), after)] } else { Vec::new() };
    let previous = there.filter(|_| want_previous).map(|there| there.value.to_vec());
    let mut options = SetOptions::default();
    (options.condition, options.expiry, options.want_previous) = (condition, expiry, want_previous);
    client.change(here, "set_with", effect, Expected::Value((written, previous)), |db| {
        let done = db.set_with(&key, &value, options)?;
        Ok((done.written, done.previous.map(|value| value.to_vec())))
    });
}

fn compare_and_set(client: &mut Client, here: Here) {
    let key = client.key();
    let there = client.live(here.0, &key);
    let expected = match client.random.u32(..4) {
        0 => None,
        1 => Some(client.value()),
        _ => there.as_ref().map(|there| there.value.to_vec()),
    };
    let value = (client.random.u32(..4) > 0).then(|| client.value_for(&key));
    let holds = there.as_ref().map(|there| &there.value[..]) == expected.as_deref();
    let until = there.and_then(|there| there.until_ms);
    let after = value.as_ref().and_then(|value| entry(value, until));
    let effect = if holds { vec![(key.clone(), after)] } else { Vec::new() };
    client.change(here, "compare_and_set", effect, Expected::Value(holds), |db| {
        db.compare_and_set(&key, expected.as_deref(), value.as_deref())
    });
}

fn set_many(client: &mut Client, here: Here) {
    let count = client.random.usize(1..8);
    let pairs: Vec<_> = (0..count)
        .map(|_| {
            let key = client.key();
            let value = client.value_for(&key);
            (key, value)
        })
        .collect();
    let only_absent = client.random.u32(..4) == 0;
    let is_written = !only_absent || pairs.iter().all(|(key, _)| client.live(here.0, key).is_none());
    let effect = pairs.iter().filter(|_| is_written).map(|(key, value)| (key.clone(), entry(value, None)));
    let effect = effect.collect();
    let pairs: Vec<_> = pairs.iter().map(|(key, value)| (&key[..], &value[..])).collect();
    client.change(here, "set_many", effect, Expected::Value(is_written), |db| match only_absent {
        true => db.set_many_if_absent(&pairs),
        false => db.set_many(&pairs).map(|()| true),
    });
}

fn batch(client: &mut Client, here: Here) {
    let (mut batch, mut effect) = (Batch::new(), Effect::new());
    for _ in 0..client.random.usize(1..10) {
        let key = client.key();
        let value = client.value_for(&key);
        let after = match client.random.u32(..4) {
            0 => {
                batch.delete(&key);
                None
            }
            1 => {
                let until = client.until(here.0);
                batch.set_until(&key, &value, until);
                entry(&value, Some(until))
            }
            _ => {
                batch.set(&key, &value);
                entry(&value, None)
            }
        };
        effect.push((key, after));
    }
    client.change(here, "batch", effect, Expected::Value(()), |db| db.write(&batch));
}

fn take(client: &mut Client, here: Here) {
    let key = client.key();
    let there = client.live_value(here.0, &key);
    let effect = if there.is_some() { vec![(key.clone(), None)] } else { Vec::new() };
    client.change(here, "take", effect, Expected::Value(there), |db| {
        Ok(db.take(&key)?.map(|value| value.to_vec()))
    });
}

fn delete(client: &mut Client, here: Here) {
    let key = client.key();
    let is_there = client.live(here.0, &key).is_some();
    let effect = if is_there { vec![(key.clone(), None)] } else { Vec::new() };
    client.change(here, "delete", effect, Expected::Value(is_there), |db| db.delete(&key));
}

fn delete_many(client: &mut Client, here: Here) {
    let count = client.random.usize(1..6);
    let keys: Vec<_> = (0..count).map(|_| client.key()).collect();
    let mut there: Vec<_> = keys.iter().filter(|key| client.live(here.0, key).is_some()).cloned().collect();
    there.sort();
    there.dedup();
    let keys: Vec<_> = keys.iter().map(|key| &key[..]).collect();
    let (count, effect) = (there.len(), there.into_iter().map(|key| (key, None)).collect());
    client.change(here, "delete_many", effect, Expected::Value(count), |db| db.delete_many(&keys));
}

fn append(client: &mut Client, here: Here) {
    let key = client.key();
    let suffix = vec![client.random.u8(b'a'..=b'z'); client.random.usize(..30)];
    let there = client.live(here.0, &key);
    let (mut value, until) = there.map_or((Vec::new(), None), |there| (there.value.to_vec(), there.until_ms));
    value.extend_from_slice(&suffix);
    if key.len() + value.len() > client.habits.entry_limit {
        client.change(here, "append", Vec::new(), Expected::Refusal(is_too_large), |db| {
            db.append(&key, &suffix)
        });
        return;
    }
    let (len, effect) = (value.len(), vec![(key.clone(), entry(&value, until))]);
    client.change(here, "append", effect, Expected::Value(len), |db| db.append(&key, &suffix));
}

fn increment(client: &mut Client, here: Here) {
    let key = client.key();
    let delta = if client.random.u32(..20) == 0 { i64::MAX - 3 } else { client.random.i64(-9..9) };
    let there = client.live(here.0, &key);
    let number = there.as_ref().map_or(Some(0), |there| parse_integer(&there.value));
    let refusal: fn(&Error) -> bool = match number.map(|number| number.checked_add(delta)) {
        None => |error| *error == Error::NotAnInteger,
        Some(None) => |error| *error == Error::Overflow,
        Some(Some(sum)) => {
            let after = entry(sum.to_string().as_bytes(), there.and_then(|there| there.until_ms));
            let effect = vec![(key.clone(), after)];
            return client
                .change(here, "increment", effect, Expected::Value(sum), |db| db.increment(&key, delta));
        }
    };
    client.change(here, "increment", Vec::new(), Expected::Refusal(refusal), |db| db.increment(&key, delta));
}

fn expire_at(client: &mut Client, here: Here) {
    let (key, until) = (client.key(), client.until(here.0));
    let condition = [
        ExpireCondition::Always,
        ExpireCondition::Always,
        ExpireCondition::IfNone,
        ExpireCondition::IfSome,
        ExpireCondition::IfGreater,
        ExpireCondition::IfLess,
    ][client.random.usize(..6)];
    let there = client.live(here.0, &key).filter(|there| condition.holds(there.until_ms, until));
    let done = there.is_some();
    let after = there.filter(|_| until > here.0.now_ms()).and_then(|there| entry(&there.value, Some(until)));
    let effect = if done { vec![(key.clone(), after)] } else { Vec::new() };
    client
        .change(here, "expire_at", effect, Expected::Value(done), |db| db.expire_at(&key, until, condition));
}

fn persist(client: &mut Client, here: Here) {
    let key = client.key();
    let there = client.live(here.0, &key).filter(|there| there.until_ms.is_some());
    let done = there.is_some();
    let effect = there.map(|there| (key.clone(), entry(&there.value, None))).into_iter().collect();
    client.change(here, "persist", effect, Expected::Value(done), |db| db.persist(&key));
}

fn get_and_expire(client: &mut Client, here: Here) {
    let key = client.key();
    let until = client.until(here.0);
    let expiry = [Expiry::Clear, Expiry::Keep, Expiry::At(until)][client.random.usize(..3)];
    let there = client.live(here.0, &key);
    let effect = match (&there, expiry) {
        (None, _) | (_, Expiry::Keep) => Vec::new(),
        // Nothing is written.
        (Some(there), Expiry::Clear) if there.until_ms.is_none() => Vec::new(),
        (Some(there), Expiry::Clear) => vec![(key.clone(), entry(&there.value, None))],
        (Some(_), Expiry::At(until)) if until <= here.0.now_ms() => vec![(key.clone(), None)],
        (Some(there), Expiry::At(until)) => vec![(key.clone(), entry(&there.value, Some(until)))],
    };
    let value = there.map(|there| there.value.to_vec());
    client.change(here, "get_and_expire", effect, Expected::Value(value), |db| {
        Ok(db.get_and_expire(&key, expiry)?.map(|value| value.to_vec()))
    });
}

fn rename(client: &mut Client, here: Here) {
    let (from, to) = (client.key(), client.key());
    let options =
        RenameOptions { keep_source: client.random.u32(..3) == 0, keep_target: client.random.u32(..3) == 0 };
    let there = client.live(here.0, &from);
    let is_taken = options.keep_target && client.live(here.0, &to).is_some();
    let (outcome, effect) = match there {
        None => (RenameOutcome::Missing, Vec::new()),
        Some(_) if is_taken => (RenameOutcome::Exists, Vec::new()),
        Some(_) if from == to => (RenameOutcome::Done, Vec::new()),
        Some(there) if to.len() + there.value.len() > client.habits.entry_limit => {
            let refusal = Expected::Refusal(is_too_large);
            return client
                .change(here, "rename", Vec::new(), refusal, |db| db.rename_with(&from, &to, options));
        }
        Some(there) if options.keep_source => (RenameOutcome::Done, vec![(to.clone(), Some(there))]),
        Some(there) => (RenameOutcome::Done, vec![(from.clone(), None), (to.clone(), Some(there))]),
    };
    client.change(here, "rename", effect, Expected::Value(outcome), |db| db.rename_with(&from, &to, options));
}

/// Moves money between two accounts, if there is a bank.
fn transfer(client: &mut Client, here: Here) {
    let accounts: Vec<_> = (0..ACCOUNTS).map(|number| client.account(number)).collect();
    let balance = |client: &Client, place: usize| {
        let value = client.live_value(here.0, &accounts[place])?;
        std::str::from_utf8(&value).ok()?.parse::<u64>().ok()
    };
    let (from, to) = (client.random.usize(..accounts.len()), client.random.usize(..accounts.len()));
    let (Some(one), Some(other)) = (balance(client, from), balance(client, to)) else {
        return set(client, here);
    };
    if from == to {
        return set(client, here);
    }
    let amount = client.random.u64(..=one);
    let (one, other) = ((one - amount).to_string(), (other + amount).to_string());
    let mut batch = Batch::new();
    batch.set(&accounts[from], one.as_bytes()).set(&accounts[to], other.as_bytes());
    let effect = vec![
        (accounts[from].clone(), entry(one.as_bytes(), None)),
        (accounts[to].clone(), entry(other.as_bytes(), None)),
    ];
    client.change(here, "transfer", effect, Expected::Value(()), |db| db.write(&batch));
}

/// Opens the accounts of the bank. False, where that failed.
pub(super) fn open_bank(client: &mut Client, here: Here) -> bool {
    let (mut batch, mut effect) = (Batch::new(), Effect::new());
    let deposit = DEPOSIT.to_string();
    for number in 0..ACCOUNTS {
        let account = client.account(number);
        batch.set(&account, deposit.as_bytes());
        effect.push((account, entry(deposit.as_bytes(), None)));
    }
    client.change(here, "open bank", effect, Expected::Value(()), |db| db.write(&batch));
    client.failures == 0
}

fn ingest(client: &mut Client, here: Here) {
    let count = client.random.usize(1..30);
    let mut keys: Vec<_> = (0..count).map(|_| client.key()).collect();
    keys.sort();
    keys.dedup();
    let mut effect = Effect::new();
    for key in keys {
        let value = client.value_for(&key);
        let until = (client.random.u32(..4) == 0).then(|| client.until(here.0));
        effect.push((key, entry(&value, until)));
    }
    let begun = here.0.moment();
    let pairs: Vec<_> =
        effect.iter().filter_map(|(key, entry)| Some((key.clone(), entry.clone()?))).collect();
    let (count, is_given_up) = (pairs.len() as u64, client.random.u32(..8) == 0);
    if is_given_up {
        (effect, _) = (Vec::new(), here.0.count("ingests given up"));
    }
    let before = client.part.changes.len();
    let expected = Expected::Value(if is_given_up { 0 } else { count });
    client.change(here, "ingest", effect, expected, |db| {
        let mut ingest = db.ingest();
        for (key, entry) in &pairs {
            match entry.until_ms {
                Some(until) => ingest.set_until(key, &entry.value, until)?,
                None => ingest.set(key, &entry.value)?,
            }
        }
        if is_given_up { Ok(0) } else { ingest.finish() }
    });
    // It lasts, and so does all before it.
    let part = &mut client.part;
    if !is_given_up && part.changes.len() > before && part.changes[before].is_ok {
        part.lasts(begun);
        part.lasting = part.lasting.max(before + 1);
    }
}

/// Deletes a range of the family that no other client has keys in.
fn delete_range_apart(client: &mut Client, here: Here) {
    let (one, other) = (client.apart_key(), client.apart_key());
    let (from, to) = (one.clone().min(other.clone()), one.max(other));
    let keys =
        client.part.state.range(from.clone()..to.clone()).map(|(key, _)| (key.clone(), None)).collect();
    client.change(here, "delete_range apart", keys, Expected::Value(()), |db| {
        db.delete_range(&from[..]..&to[..])
    });
}
