//! What must an engine be able to do to be driven?

use crate::keys::Key;
use crate::protocol::{EngineOptions, EngineSetting, EngineWork, Level};
use std::ops::Bound;

/// Survives power loss: it is on the device before it is acknowledged.
pub const SURVIVES_POWER_LOSS: &str = "survives power loss";
/// Survives power loss when it is older than the interval; all of it survives the process.
pub const SURVIVES_POWER_LOSS_BUT_THE_LAST_SECOND: &str = "survives power loss but for the last second";
/// Is in the system's hands before it is acknowledged.
pub const SURVIVES_THE_PROCESS: &str = "survives the process";

/// The same of a store that writes in place: without syncs nothing keeps the order of its writes when the power fails.
pub const SURVIVES_THE_PROCESS_ONLY: &str = "survives the process; power loss may spoil the store";

/// The engine has no such call, or cannot do it as it is opened: a row that says so, not a fault.
#[derive(Debug)]
pub struct NotSupported(pub String);

impl NotSupported {
    /// Why `engine` cannot.
    #[must_use]
    pub fn error(engine: &str, why: &str) -> anyhow::Error {
        anyhow::Error::new(Self(format!("{engine}: {why}")))
    }
}

impl std::fmt::Display for NotSupported {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "not supported: {}", self.0)
    }
}

impl std::error::Error for NotSupported {}

/// An engine that is open; shared by all threads of a driver.
pub trait Engine: Sized + Sync {
    /// Its name as people write it.
    const NAME: &'static str;
    /// The allocator it uses, where it is not the C library's.
    const ALLOCATOR: &'static str = "libc";
    /// Whether closing and opening it is this process's doing; not so for the client of a server.
    const IS_IN_PROCESS: bool = true;
    /// What one thread reads and writes with.
    type Session<'a>: Session
    where
        Self: 'a;

    /// The version that is linked in.
    fn version() -> String;

    /// Opens the store in the folder `options.location`, or makes one there.
    ///
    /// # Errors
    /// It cannot be opened, or an option cannot be met: [`NotSupported`] where the engine has nothing like it.
    fn open(options: &EngineOptions) -> anyhow::Result<Self>;

    /// Settings that are not its defaults.
    fn settings(&self) -> Vec<EngineSetting>;

    /// What an acknowledged write survives, as the store was opened: one of the three above, or in words.
    fn promise(&self) -> String;

    /// A session for the calling thread.
    ///
    /// # Errors
    /// The engine refuses.
    fn session(&self) -> anyhow::Result<Self::Session<'_>>;

    /// Moves what was written out of write buffers and logs into the engine's main files, and forces them to the
    /// device: a store that is read from next is the one that a restart would find.
    ///
    /// # Errors
    /// The engine refuses.
    fn flush(&self) -> anyhow::Result<()>;

    /// Makes tables of what is in the write buffer, without forcing anything to the device that the engine does not force by itself then.
    ///
    /// # Errors
    /// The engine refuses; [`NotSupported`] where there is no write buffer.
    fn flush_memtable(&self) -> anyhow::Result<()> {
        Err(NotSupported::error(Self::NAME, "it has no write buffer that becomes a table"))
    }

    /// Returns when merging in the background is done: at most four tables in level 0, and no level above its target. At once where nothing is ever merged.
    ///
    /// # Errors
    /// The engine refuses; [`NotSupported`] where it does not tell.
    fn settle(&self) -> anyhow::Result<()> {
        Err(NotSupported::error(Self::NAME, "it does not tell when merging is done"))
    }

    /// Merges everything there is.
    ///
    /// # Errors
    /// The engine refuses; [`NotSupported`] where there is no such call.
    fn compact(&self) -> anyhow::Result<()> {
        Err(NotSupported::error(Self::NAME, "it has no call that merges everything"))
    }

    /// Tables by level, the newest level first; empty where there are none, or it does not tell.
    fn levels(&self) -> Vec<Level> {
        Vec::new()
    }

    /// Compaction debt: bytes of compaction that the engine has postponed, by its own estimate. `None` where it does not
    /// tell, or never compacts.
    fn debt_bytes(&self) -> Option<u64> {
        None
    }

    /// What it has done since it was opened, as far as it tells.
    fn work(&self) -> EngineWork {
        EngineWork::default()
    }

    /// Closes the store.
    ///
    /// # Errors
    /// The engine refuses.
    fn close(self) -> anyhow::Result<()>;
}

/// One thread's way to an engine. Each call is a transaction of its own and sees what was committed before it.
pub trait Session {
    /// Looks a key up; hands the value over where the engine has it, without a copy if it can. False: not there.
    ///
    /// # Errors
    /// The engine refuses.
    fn get(&mut self, key: &[u8], found: &mut dyn FnMut(&[u8])) -> anyhow::Result<bool>;

    /// Writes all records of a batch, or none.
    ///
    /// # Errors
    /// The engine refuses.
    fn write(&mut self, batch: &Batch) -> anyhow::Result<()>;

    /// Deletes one record.
    ///
    /// # Errors
    /// The engine refuses; [`NotSupported`] where the driver has no such call.
    fn delete(&mut self, _key: &[u8]) -> anyhow::Result<()> {
        Err(anyhow::Error::new(NotSupported("its driver does not delete".to_owned())))
    }

    /// Deletes all records from `low` up to `high`, which stays: by the engine's own range deletion, else in the best way
    /// that its interface offers.
    ///
    /// # Errors
    /// The engine refuses; [`NotSupported`] where the driver has no such call.
    fn delete_range(&mut self, _low: &[u8], _high: &[u8]) -> anyhow::Result<()> {
        Err(anyhow::Error::new(NotSupported("its driver does not delete".to_owned())))
    }

    /// Hands over the records of `span`, in its direction.
    ///
    /// # Errors
    /// The engine refuses.
    fn scan(&mut self, span: &Span<'_>, each: &mut dyn FnMut(&[u8], &[u8])) -> anyhow::Result<()>;

    /// Reads a record and writes the one of `batch` in its place, as the engine would have one do it that nobody else writes to: two calls where there is no better.
    /// False: it was not there, and nothing was written.
    ///
    /// # Errors
    /// The engine refuses.
    fn read_modify_write(&mut self, batch: &Batch, found: &mut dyn FnMut(&[u8])) -> anyhow::Result<bool> {
        let Some((key, _)) = batch.records().next() else { return Ok(false) };
        let is_there = self.get(key, found)?;
        if is_there {
            self.write(batch)?;
        }
        Ok(is_there)
    }
}

/// Which records a scan is to hand over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span<'a> {
    /// None below this key; from the first where there is none.
    pub low: Option<&'a [u8]>,
    /// Only below this key; to the last where there is none.
    pub high: Option<&'a [u8]>,
    /// From the highest down.
    pub reverse: bool,
    /// At most so many.
    pub limit: u64,
}

impl<'a> Span<'a> {
    /// Its ends, for calls that take a range.
    #[must_use]
    pub fn bounds(&self) -> (Bound<&'a [u8]>, Bound<&'a [u8]>) {
        (
            self.low.map_or(Bound::Unbounded, Bound::Included),
            self.high.map_or(Bound::Unbounded, Bound::Excluded),
        )
    }

    /// The first `limit` of what an iterator over its range gives, from the end it says.
    ///
    /// # Errors
    /// What `each` says.
    pub fn walk<T>(
        &self,
        records: impl DoubleEndedIterator<Item = T>,
        mut each: impl FnMut(T) -> anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        let limit = usize::try_from(self.limit).unwrap_or(usize::MAX);
        if self.reverse {
            records.rev().take(limit).try_for_each(&mut each)
        } else {
            records.take(limit).try_for_each(&mut each)
        }
    }
}

/// Records that are written together.
#[derive(Debug, Clone, Default)]
pub struct Batch {
    keys: Vec<Key>,
    values: Vec<u8>,
    value_bytes: usize,
}

impl Batch {
    /// Keys and values, in the order in which they were added.
    pub fn records(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        let value_bytes = self.value_bytes;
        self.keys.iter().enumerate().map(move |(place, key)| {
            let value = self.values.get(place * value_bytes..(place + 1) * value_bytes).unwrap_or_default();
            (&**key, value)
        })
    }

    /// Records in it.
    #[must_use]
    pub fn len(&self) -> usize {
        self.keys.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// Without records, for values of `value_bytes`.
    pub(crate) fn clear(&mut self, value_bytes: usize) {
        self.keys.clear();
        self.values.clear();
        self.value_bytes = value_bytes;
    }

    /// Adds a record, whose value `write` fills in.
    pub(crate) fn add(&mut self, key: Key, write: impl FnOnce(&mut [u8])) {
        self.keys.push(key);
        let start = self.values.len();
        self.values.resize(start + self.value_bytes, 0);
        write(&mut self.values[start..]);
    }
}

/// The version of `package` in the text of a `Cargo.lock`: what a driver was linked with.
#[must_use]
pub fn locked_version(lock: &str, package: &str) -> String {
    let name = format!("name = \"{package}\"");
    let after = lock.lines().skip_while(|line| *line != name).nth(1);
    let version = after.and_then(|line| line.strip_prefix("version = \"")?.strip_suffix('"'));
    version.unwrap_or("unknown").to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_found_in_a_lock_file() {
        let lock = "[[package]]\nname = \"redb-derive\"\nversion = \"9.9.9\"\n\n[[package]]\nname = \"redb\"\nversion = \"4.4.0\"\n";
        assert_eq!(locked_version(lock, "redb"), "4.4.0");
        assert_eq!(locked_version(lock, "fjall"), "unknown");
    }

    #[test]
    fn a_batch_gives_back_what_was_added() {
        let mut batch = Batch::default();
        batch.clear(3);
        batch.add([1; 16].into(), |value| value.copy_from_slice(b"one"));
        batch.add([2; 16].into(), |value| value.copy_from_slice(b"two"));
        let records: Vec<(&[u8], &[u8])> = batch.records().collect();
        assert_eq!(records, [([1; 16].as_slice(), b"one".as_slice()), (&[2; 16], b"two")]);
        batch.clear(1);
        assert!(batch.is_empty() && batch.records().next().is_none());
    }
}
