//! Entries as a read-modify-write sees them: of the tree alone, or of the tree below what earlier
//! operations of a combined write have changed.

use super::Durable;
use crate::error::Result;
use std::collections::BTreeMap;

/// A value and the end of its time.
pub(super) type Timed<T> = (T, Option<u64>);

/// A key and what it gets: a value, or `None` for a deletion.
pub(super) type Write<'a> = (&'a [u8], Option<Timed<&'a [u8]>>);

/// Reads and writes of one operation. The locks of its keys are held.
pub(super) trait Entries {
    fn now_ms(&self) -> u64;

    fn look_up(&self, key: &[u8]) -> Result<Option<Timed<Vec<u8>>>>;

    /// When the key's time ends; `None` where there is no key.
    fn look_up_end(&self, key: &[u8]) -> Result<Option<Option<u64>>>;

    /// Writes, all or none of them. At most one call in an operation, its last step.
    fn write(&mut self, writes: &[Write]) -> Result<()>;
}

/// Writes at once.
pub(super) struct Direct<'a>(pub(super) &'a Durable);

impl Entries for Direct<'_> {
    fn now_ms(&self) -> u64 {
        self.0.now_ms()
    }

    fn look_up(&self, key: &[u8]) -> Result<Option<Timed<Vec<u8>>>> {
        self.0.look_up(key)
    }

    fn look_up_end(&self, key: &[u8]) -> Result<Option<Option<u64>>> {
        self.0.look_up_end(key)
    }

    fn write(&mut self, writes: &[Write]) -> Result<()> {
        self.0.check_entries(writes)?;
        let bytes = writes.iter().map(|(key, value)| key.len() + value.map_or(0, |(value, _)| value.len()));
        self.0.write_batch(bytes.sum(), |batch| {
            writes.iter().for_each(|(key, value)| batch.put_timed(key, *value))
        })
    }
}

/// The last value of each key that was written; `None` where it was deleted.
#[derive(Default)]
pub(super) struct Written {
    values: BTreeMap<Box<[u8]>, Option<Timed<Vec<u8>>>>,
    /// Bytes of keys and values.
    bytes: usize,
}

impl Written {
    pub(super) const fn new() -> Self {
        Self { values: BTreeMap::new(), bytes: 0 }
    }

    /// Memory of keys, values and their places, in bytes.
    pub(super) fn memory_bytes(&self) -> u64 {
        (self.bytes + self.values.len() * PLACE_BYTES) as u64
    }

    fn insert(&mut self, key: &[u8], value: Option<Timed<&[u8]>>) {
        let len = |value: &Option<Timed<Vec<u8>>>| value.as_ref().map_or(0, |(value, _)| value.len());
        let value = value.map(|(value, until_ms)| (value.to_vec(), until_ms));
        self.bytes += len(&value);
        match self.values.insert(Box::from(key), value) {
            Some(before) => self.bytes -= len(&before),
            None => self.bytes += key.len(),
        }
    }
}

/// What a key's place in the map takes besides its bytes.
const PLACE_BYTES: usize = 96;

/// Keeps the last value of each key, for one write in the end.
pub(super) struct Combined<'a> {
    durable: &'a Durable,
    written: Written,
}

impl<'a> Combined<'a> {
    pub(super) fn new(durable: &'a Durable) -> Self {
        Self::over(durable, Written::new())
    }

    /// Goes on from what earlier operations have written.
    pub(super) fn over(durable: &'a Durable, written: Written) -> Self {
        Self { durable, written }
    }

    /// Forgets what earlier operations have written, once it is committed.
    pub(super) fn forget(&mut self) {
        self.written = Written::new();
    }

    pub(super) fn into_written(self) -> Written {
        self.written
    }

    /// Whether there is anything to be written.
    pub(super) fn is_changed(&self) -> bool {
        !self.written.values.is_empty()
    }

    pub(super) fn commit(&self) -> Result<()> {
        self.durable.write_batch(self.written.bytes, |batch| {
            for (key, value) in &self.written.values {
                batch.put_timed(key, value.as_ref().map(|(value, until_ms)| (&value[..], *until_ms)));
            }
        })
    }

    /// What an earlier operation left of a key, if one has written it; entries whose time is over are gone.
    fn found(&self, key: &[u8]) -> Option<Option<&Timed<Vec<u8>>>> {
        let written = self.written.values.get(key)?.as_ref();
        Some(written.filter(|(_, until_ms)| until_ms.is_none_or(|until_ms| until_ms > self.now_ms())))
    }
}

impl Entries for Combined<'_> {
    fn now_ms(&self) -> u64 {
        self.durable.now_ms()
    }

    fn look_up(&self, key: &[u8]) -> Result<Option<Timed<Vec<u8>>>> {
        match self.found(key) {
            Some(found) => Ok(found.cloned()),
            None => self.durable.look_up(key),
        }
    }

    fn look_up_end(&self, key: &[u8]) -> Result<Option<Option<u64>>> {
        match self.found(key) {
            Some(found) => Ok(found.map(|(_, until_ms)| *until_ms)),
            None => self.durable.look_up_end(key),
        }
    }

    fn write(&mut self, writes: &[Write]) -> Result<()> {
        self.durable.check_entries(writes)?;
        for (key, value) in writes {
            self.written.insert(key, *value);
        }
        Ok(())
    }
}

impl Durable {
    fn check_entries(&self, writes: &[Write]) -> Result<()> {
        let mut stored = writes.iter().filter_map(|(key, value)| value.map(|(value, _)| (key, value)));
        stored.try_for_each(|(key, value)| self.check_entry(key.len(), value.len()))
    }
}
