//! How is a value changed that depends on what is there? Under the lock of its key: nobody else writes the key between the look and the write.

use super::Durable;
use super::keys::{Alone, Shared};
use crate::bytes::{check_key, check_value_len};
use crate::error::{Error, Result};
use crate::lsm::Batch;
use crate::memory::{Condition, ExpireCondition, Expiry, SetOptions, SetOutcome, Value};
use crate::nonblocking::NonBlocking;

impl Durable {
    /// The right to change a key by what is there.
    pub(super) fn change(&self, key: &[u8]) -> Result<Alone<'_>> {
        self.may_sync()?;
        self.locks.alone(key)
    }

    /// The right to overwrite a key.
    fn overwrite(&self, key: &[u8]) -> Result<Shared<'_>> {
        self.may_sync()?;
        self.locks.shared(key)
    }

    /// An error where a write would be synced and the thread does not wait for that: before it looks at anything.
    pub(super) fn may_sync(&self) -> Result<()> {
        if self.syncs_always { NonBlocking::refuse() } else { Ok(()) }
    }

    pub(crate) fn set(&self, key: &[u8], value: &[u8]) -> Result<()> {
        check_key(key)?;
        check_value_len(value.len())?;
        self.check_entry(key.len(), value.len())?;
        let _lock = self.overwrite(key)?;
        self.write_batch(|batch| batch.set(key, value))
    }

    pub(crate) fn set_with(&self, key: &[u8], value: &[u8], options: SetOptions) -> Result<SetOutcome> {
        check_key(key)?;
        check_value_len(value.len())?;
        self.check_entry(key.len(), value.len())?;
        let is_blind = options.condition == Condition::Always
            && options.expiry != Expiry::Keep
            && !options.want_previous;
        let (_shared, _alone) =
            if is_blind { (Some(self.overwrite(key)?), None) } else { (None, Some(self.change(key)?)) };
        let (is_there, until_ms, previous) = match (is_blind, options.want_previous) {
            (true, _) => (false, None, None),
            (false, false) => {
                let found = self.look_up_end(key)?;
                (found.is_some(), found.flatten(), None)
            }
            (false, true) => match self.look_up(key)? {
                Some((value, until_ms)) => (true, until_ms, Some(Value::copied(value))),
                None => (false, None, None),
            },
        };
        let written = match options.condition {
            Condition::Always => true,
            Condition::IfAbsent => !is_there,
            Condition::IfPresent => is_there,
        };
        if written {
            match options.expiry {
                Expiry::Clear => self.write_batch(|batch| batch.set(key, value))?,
                Expiry::Keep => self.put(key, value, until_ms)?,
                Expiry::At(unix_ms) if unix_ms <= self.clock.now_ms() => {
                    self.write_batch(|batch| batch.delete(key))?;
                }
                Expiry::At(unix_ms) => self.put(key, value, Some(unix_ms))?,
            }
        }
        Ok(SetOutcome { written, previous })
    }

    /// Writes a value with its time. The key's lock is held.
    pub(super) fn put(&self, key: &[u8], value: &[u8], until_ms: Option<u64>) -> Result<()> {
        self.check_entry(key.len(), value.len())?;
        self.write_batch(|batch| put(batch, key, value, until_ms))
    }

    pub(crate) fn compare_and_set(
        &self,
        key: &[u8],
        expected: Option<&[u8]>,
        value: Option<&[u8]>,
    ) -> Result<bool> {
        check_key(key)?;
        let _lock = self.change(key)?;
        let found = self.look_up(key)?;
        if found.as_ref().map(|(value, _)| &value[..]) != expected {
            return Ok(false);
        }
        match value {
            Some(value) => {
                check_value_len(value.len())?;
                self.put(key, value, found.and_then(|(_, until_ms)| until_ms))?;
            }
            None => self.write_batch(|batch| batch.delete(key))?,
        }
        Ok(true)
    }

    pub(crate) fn set_many(&self, pairs: &[(&[u8], &[u8])]) -> Result<()> {
        for (key, value) in pairs {
            check_key(key)?;
            check_value_len(value.len())?;
            self.check_entry(key.len(), value.len())?;
        }
        self.may_sync()?;
        let _locks = self.locks.several_shared(pairs.iter().map(|(key, _)| *key))?;
        self.write_batch(|batch| pairs.iter().for_each(|(key, value)| batch.set(key, value)))
    }

    pub(crate) fn take(&self, key: &[u8]) -> Result<Option<Value>> {
        let _lock = self.change(key)?;
        let found = self.read(key, <[u8]>::to_vec)?;
        if found.is_some() {
            self.write_batch(|batch| batch.delete(key))?;
        }
        Ok(found.map(Value::copied))
    }

    pub(crate) fn delete(&self, key: &[u8]) -> Result<bool> {
        let _lock = self.change(key)?;
        let is_there = self.look_up_end(key)?.is_some();
        if is_there {
            self.write_batch(|batch| batch.delete(key))?;
        }
        Ok(is_there)
    }

    pub(crate) fn delete_many(&self, keys: &[&[u8]]) -> Result<usize> {
        self.may_sync()?;
        let _locks = self.locks.several_alone(keys.iter().copied())?;
        let mut named = keys.to_vec();
        named.sort_unstable();
        named.dedup();
        let mut there = Vec::new();
        for key in named {
            if self.look_up_end(key)?.is_some() {
                there.push(key);
            }
        }
        self.write_batch(|batch| there.iter().for_each(|key| batch.delete(key)))?;
        Ok(there.len())
    }

    pub(crate) fn append(&self, key: &[u8], suffix: &[u8]) -> Result<usize> {
        check_key(key)?;
        check_value_len(suffix.len())?;
        let _lock = self.change(key)?;
        let (mut value, until_ms) = self.look_up(key)?.unwrap_or_default();
        check_value_len(value.len() + suffix.len())?;
        value.extend_from_slice(suffix);
        self.put(key, &value, until_ms)?;
        Ok(value.len())
    }

    pub(crate) fn increment(&self, key: &[u8], delta: i64) -> Result<i64> {
        check_key(key)?;
        self.may_sync()?;
        if self.syncs_always {
            return self.increment_together(key, delta);
        }
        let _lock = self.change(key)?;
        let (value, until_ms) = self.look_up(key)?.unwrap_or_else(|| (b"0".to_vec(), None));
        let sum = crate::bytes::parse_integer(&value)
            .ok_or(Error::NotAnInteger)?
            .checked_add(delta)
            .ok_or(Error::Overflow)?;
        self.put(key, sum.to_string().as_bytes(), until_ms)?;
        Ok(sum)
    }

    pub(crate) fn expire_at(&self, key: &[u8], unix_ms: u64, condition: ExpireCondition) -> Result<bool> {
        let _lock = self.change(key)?;
        let Some((value, current)) = self.look_up(key)? else { return Ok(false) };
        if !condition.holds(current, unix_ms) {
            return Ok(false);
        }
        if unix_ms <= self.clock.now_ms() {
            self.write_batch(|batch| batch.delete(key))?;
        } else {
            self.put(key, &value, Some(unix_ms))?;
        }
        Ok(true)
    }

    pub(crate) fn persist(&self, key: &[u8]) -> Result<bool> {
        let _lock = self.change(key)?;
        let Some((value, Some(_))) = self.look_up(key)? else { return Ok(false) };
        self.put(key, &value, None)?;
        Ok(true)
    }

    pub(crate) fn get_and_expire(&self, key: &[u8], expiry: Expiry) -> Result<Option<Value>> {
        let _lock = self.change(key)?;
        let Some((value, until_ms)) = self.counted(self.look_up(key)?)? else { return Ok(None) };
        match expiry {
            Expiry::Keep => {}
            Expiry::Clear if until_ms.is_none() => {}
            Expiry::Clear => self.put(key, &value, None)?,
            Expiry::At(unix_ms) if unix_ms <= self.clock.now_ms() => {
                self.write_batch(|batch| batch.delete(key))?;
            }
            Expiry::At(unix_ms) => self.put(key, &value, Some(unix_ms))?,
        }
        Ok(Some(Value::copied(value)))
    }

    pub(crate) fn rename(&self, from: &[u8], to: &[u8]) -> Result<bool> {
        check_key(to)?;
        self.may_sync()?;
        let _locks = self.locks.several_alone([from, to].into_iter())?;
        let Some((value, until_ms)) = self.look_up(from)? else { return Ok(false) };
        if from != to {
            self.check_entry(to.len(), value.len())?;
            self.write_batch(|batch| {
                batch.delete(from);
                put(batch, to, &value, until_ms);
            })?;
        }
        Ok(true)
    }
}

fn put(batch: &mut Batch, key: &[u8], value: &[u8], until_ms: Option<u64>) {
    match until_ms {
        Some(until_ms) => batch.set_until(key, value, until_ms),
        None => batch.set(key, value),
    }
}
