//! Read-modify-writes: under the lock of its key, so that no other thread writes the key between the look
//! and the write. Where each write is synced, those that wait for each other share one sync (`combine`).

use super::Durable;
use super::combine::Keys;
use super::entries::{Direct, Entries};
use super::keys::Shared;
use crate::bytes::{check_key, check_value_len};
use crate::error::{Error, Result};
use crate::memory::{
    Condition, ExpireCondition, Expiry, RenameOptions, RenameOutcome, SetOptions, SetOutcome, Value,
};
use crate::nonblocking::NonBlocking;

/// Copies of keys, each once, in order.
pub(super) fn own<'a>(keys: impl IntoIterator<Item = &'a [u8]>) -> Keys {
    let mut keys: Vec<_> = keys.into_iter().map(Box::from).collect();
    keys.sort_unstable();
    keys.dedup();
    keys.into()
}

impl Durable {
    /// Changes the first `keys` of these by what is there. `change` may run on another thread and more than
    /// once, so it gets copies of the bytes there.
    fn modify<const N: usize, R: Send + 'static>(
        &self,
        keys: usize,
        bytes: [&[u8]; N],
        change: impl Fn(&mut dyn Entries, [&[u8]; N]) -> Result<R> + Send + 'static,
    ) -> Result<R> {
        self.may_write()?;
        if self.is_grouped() {
            return self.grouped(|entries| change(entries, bytes));
        }
        let named = || bytes.iter().copied().take(keys);
        if self.syncs_always {
            let bytes = bytes.map(Box::<[u8]>::from);
            let keys = own(bytes.iter().map(|bytes| &**bytes).take(keys));
            return self
                .together(&keys, move |entries| change(entries, bytes.each_ref().map(|bytes| &**bytes)));
        }
        let (_one, _several) = match bytes.first() {
            Some(key) if keys == 1 => (Some(self.locks.alone(key)?), None),
            _ => (None, Some(self.locks.several_alone(named())?)),
        };
        change(&mut Direct(self), bytes)
    }

    /// The right to overwrite a key.
    fn overwrite(&self, key: &[u8]) -> Result<Shared<'_>> {
        self.may_write()?;
        self.locks.shared(key)
    }

    /// An error where the database is read-only, or a write would be synced and the thread does not wait
    /// for that: before it looks at anything.
    pub(super) fn may_write(&self) -> Result<()> {
        self.tree.check_writable()?;
        if self.syncs_always { NonBlocking::refuse() } else { Ok(()) }
    }

    pub(crate) fn set(&self, key: &[u8], value: &[u8]) -> Result<()> {
        check_key(key)?;
        check_value_len(value.len())?;
        self.check_entry(key.len(), value.len())?;
        if self.is_grouped() {
            return self.grouped(|entries| entries.write(&[(key, Some((value, None)))]));
        }
        let _lock = self.overwrite(key)?;
        self.write_batch(key.len() + value.len(), |batch| batch.set(key, value))
    }

    pub(crate) fn set_with(&self, key: &[u8], value: &[u8], options: SetOptions) -> Result<SetOutcome> {
        check_key(key)?;
        check_value_len(value.len())?;
        self.check_entry(key.len(), value.len())?;
        let looks = options.condition != Condition::Always || options.expiry == Expiry::Keep;
        if !looks && !options.want_previous && !self.is_grouped() {
            let _lock = self.overwrite(key)?;
            let value = until(options.expiry, None, || self.now_ms()).map(|until_ms| (value, until_ms));
            let bytes = key.len() + value.map_or(0, |(value, _)| value.len());
            self.write_batch(bytes, |batch| batch.put_timed(key, value))?;
            return Ok(SetOutcome { written: true, previous: None });
        }
        self.modify(1, [key, value], move |entries, [key, value]| set_with(entries, key, value, options))
    }

    pub(crate) fn compare_and_set(
        &self,
        key: &[u8],
        expected: Option<&[u8]>,
        value: Option<&[u8]>,
    ) -> Result<bool> {
        check_key(key)?;
        let (has_expected, has_value) = (expected.is_some(), value.is_some());
        let bytes = [key, expected.unwrap_or_default(), value.unwrap_or_default()];
        self.modify(1, bytes, move |entries, [key, expected, value]| {
            let found = entries.look_up(key)?;
            if found.as_ref().map(|(value, _)| &value[..]) != has_expected.then_some(expected) {
                return Ok(false);
            }
            check_value_len(value.len())?;
            let until_ms = found.and_then(|(_, until_ms)| until_ms);
            entries.write(&[(key, has_value.then_some((value, until_ms)))])?;
            Ok(true)
        })
    }

    pub(crate) fn set_many(&self, pairs: &[(&[u8], &[u8])]) -> Result<()> {
        self.check_pairs(pairs)?;
        self.may_write()?;
        if self.is_grouped() {
            let writes: Vec<_> = pairs.iter().map(|(key, value)| (*key, Some((*value, None)))).collect();
            return self.grouped(|entries| entries.write(&writes));
        }
        let _locks = self.locks.several_shared(pairs.iter().map(|(key, _)| *key))?;
        let bytes = pairs.iter().map(|(key, value)| key.len() + value.len()).sum();
        self.write_batch(bytes, |batch| pairs.iter().for_each(|(key, value)| batch.set(key, value)))
    }

    pub(crate) fn set_many_if_absent(&self, pairs: &[(&[u8], &[u8])]) -> Result<bool> {
        self.check_pairs(pairs)?;
        self.may_write()?;
        if self.is_grouped() {
            return self.grouped(|entries| set_if_absent(entries, pairs));
        }
        let named = pairs.iter().map(|(key, _)| *key);
        if self.syncs_always {
            let keys = own(named);
            let pairs: Vec<_> = pairs
                .iter()
                .map(|(key, value)| (Box::<[u8]>::from(*key), Box::<[u8]>::from(*value)))
                .collect();
            return self.together(&keys, move |entries| {
                let pairs: Vec<_> = pairs.iter().map(|(key, value)| (&**key, &**value)).collect();
                set_if_absent(entries, &pairs)
            });
        }
        let mut named: Vec<_> = named.collect();
        named.sort_unstable();
        named.dedup();
        let _locks = self.locks.several_alone(named.into_iter())?;
        set_if_absent(&mut Direct(self), pairs)
    }

    fn check_pairs(&self, pairs: &[(&[u8], &[u8])]) -> Result<()> {
        for (key, value) in pairs {
            check_key(key)?;
            check_value_len(value.len())?;
            self.check_entry(key.len(), value.len())?;
        }
        Ok(())
    }

    pub(crate) fn take(&self, key: &[u8]) -> Result<Option<Value>> {
        let found = self.modify(1, [key], |entries, [key]| {
            let found = entries.look_up(key)?;
            if found.is_some() {
                entries.write(&[(key, None)])?;
            }
            Ok(found)
        })?;
        Ok(self.counted(found)?.map(|(value, _)| Value::copied(value)))
    }

    pub(crate) fn delete(&self, key: &[u8]) -> Result<bool> {
        self.modify(1, [key], |entries, [key]| {
            let is_there = entries.look_up_end(key)?.is_some();
            if is_there {
                entries.write(&[(key, None)])?;
            }
            Ok(is_there)
        })
    }

    pub(crate) fn delete_many(&self, keys: &[&[u8]]) -> Result<usize> {
        self.may_write()?;
        if self.is_grouped() {
            let keys = own(keys.iter().copied());
            return self.grouped(|entries| delete_many(entries, keys.iter().map(|key| &**key)));
        }
        if self.syncs_always {
            let keys = own(keys.iter().copied());
            let named = keys.clone();
            return self.together(&keys, move |entries| delete_many(entries, named.iter().map(|key| &**key)));
        }
        let mut named = keys.to_vec();
        named.sort_unstable();
        named.dedup();
        let _locks = self.locks.several_alone(named.iter().copied())?;
        delete_many(&mut Direct(self), named.into_iter())
    }

    pub(crate) fn append(&self, key: &[u8], suffix: &[u8]) -> Result<usize> {
        check_key(key)?;
        check_value_len(suffix.len())?;
        self.modify(1, [key, suffix], |entries, [key, suffix]| {
            let (mut value, until_ms) = entries.look_up(key)?.unwrap_or_default();
            check_value_len(value.len() + suffix.len())?;
            value.extend_from_slice(suffix);
            entries.write(&[(key, Some((&value, until_ms)))])?;
            Ok(value.len())
        })
    }

    pub(crate) fn increment(&self, key: &[u8], delta: i64) -> Result<i64> {
        check_key(key)?;
        self.modify(1, [key], move |entries, [key]| {
            let (value, until_ms) = entries.look_up(key)?.unwrap_or_else(|| (b"0".to_vec(), None));
            let sum = crate::bytes::parse_integer(&value)
                .ok_or(Error::NotAnInteger)?
                .checked_add(delta)
                .ok_or(Error::Overflow)?;
            entries.write(&[(key, Some((sum.to_string().as_bytes(), until_ms)))])?;
            Ok(sum)
        })
    }

    pub(crate) fn expire_at(&self, key: &[u8], unix_ms: u64, condition: ExpireCondition) -> Result<bool> {
        self.modify(1, [key], move |entries, [key]| {
            let Some((value, current)) = entries.look_up(key)? else { return Ok(false) };
            if !condition.holds(current, unix_ms) {
                return Ok(false);
            }
            let is_over = unix_ms <= entries.now_ms();
            entries.write(&[(key, (!is_over).then_some((&value, Some(unix_ms))))])?;
            Ok(true)
        })
    }

    pub(crate) fn persist(&self, key: &[u8]) -> Result<bool> {
        self.modify(1, [key], |entries, [key]| {
            let Some((value, Some(_))) = entries.look_up(key)? else { return Ok(false) };
            entries.write(&[(key, Some((&value, None)))])?;
            Ok(true)
        })
    }

    pub(crate) fn get_and_expire(&self, key: &[u8], expiry: Expiry) -> Result<Option<Value>> {
        let found = self.modify(1, [key], move |entries, [key]| {
            let Some((value, until_ms)) = entries.look_up(key)? else { return Ok(None) };
            let is_same = expiry == Expiry::Keep || (expiry == Expiry::Clear && until_ms.is_none());
            if !is_same {
                let until_ms = until(expiry, until_ms, || entries.now_ms());
                entries.write(&[(key, until_ms.map(|until_ms| (&value[..], until_ms)))])?;
            }
            Ok(Some(value))
        })?;
        Ok(self.counted(found)?.map(Value::copied))
    }

    pub(crate) fn rename_with(
        &self,
        from: &[u8],
        to: &[u8],
        options: RenameOptions,
    ) -> Result<RenameOutcome> {
        check_key(to)?;
        self.modify(2, [from, to], move |entries, [from, to]| {
            let Some((value, until_ms)) = entries.look_up(from)? else { return Ok(RenameOutcome::Missing) };
            if options.keep_target && entries.look_up_end(to)?.is_some() {
                return Ok(RenameOutcome::Exists);
            }
            let writes = [(from, None), (to, Some((&value[..], until_ms)))];
            if from != to {
                entries.write(if options.keep_source { &writes[1..] } else { &writes })?;
            }
            Ok(RenameOutcome::Done)
        })
    }
}

/// When an entry ends that is written with an expiry; `None`, if it is over at once.
fn until(expiry: Expiry, current: Option<u64>, now_ms: impl FnOnce() -> u64) -> Option<Option<u64>> {
    match expiry {
        Expiry::Clear => Some(None),
        Expiry::Keep => Some(current),
        Expiry::At(unix_ms) => (unix_ms > now_ms()).then_some(Some(unix_ms)),
    }
}

fn set_with(entries: &mut dyn Entries, key: &[u8], value: &[u8], options: SetOptions) -> Result<SetOutcome> {
    let (current, previous) = if options.want_previous {
        let found = entries.look_up(key)?;
        (found.as_ref().map(|(_, until_ms)| *until_ms), found.map(|(value, _)| Value::copied(value)))
    } else {
        (entries.look_up_end(key)?, None)
    };
    let written = match options.condition {
        Condition::Always => true,
        Condition::IfAbsent => current.is_none(),
        Condition::IfPresent => current.is_some(),
    };
    if written {
        let until_ms = until(options.expiry, current.flatten(), || entries.now_ms());
        entries.write(&[(key, until_ms.map(|until_ms| (value, until_ms)))])?;
    }
    Ok(SetOutcome { written, previous })
}

fn set_if_absent(entries: &mut dyn Entries, pairs: &[(&[u8], &[u8])]) -> Result<bool> {
    for (key, _) in pairs {
        if entries.look_up_end(key)?.is_some() {
            return Ok(false);
        }
    }
    let writes: Vec<_> = pairs.iter().map(|(key, value)| (*key, Some((*value, None)))).collect();
    entries.write(&writes)?;
    Ok(true)
}

/// The keys are named once each.
fn delete_many<'a>(entries: &mut dyn Entries, keys: impl Iterator<Item = &'a [u8]>) -> Result<usize> {
    let mut there = Vec::new();
    for key in keys {
        if entries.look_up_end(key)?.is_some() {
            there.push((key, None));
        }
    }
    entries.write(&there)?;
    Ok(there.len())
}
