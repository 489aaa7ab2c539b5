//! What must an engine be able to do to be driven?

use crate::protocol::{EngineOptions, EngineSetting};
use crate::values::KEY_BYTES;

/// An engine that is open; shared by all threads of a driver.
pub trait Engine: Sized + Sync {
    /// Its name as people write it.
    const NAME: &'static str;
    /// The allocator it uses, where it is not the C library's.
    const ALLOCATOR: &'static str = "libc";
    /// What one thread reads and writes with.
    type Session<'a>: Session
    where
        Self: 'a;

    /// The version that is linked in.
    fn version() -> String;

    /// Opens a store in the empty folder `options.location`.
    ///
    /// # Errors
    /// It cannot be opened, or an option cannot be met.
    fn open(options: &EngineOptions) -> anyhow::Result<Self>;

    /// Settings that are not its defaults.
    fn settings(&self) -> Vec<EngineSetting>;

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

    /// Hands over up to `limit` records in rising order, from the first key that is not below `from`.
    ///
    /// # Errors
    /// The engine refuses.
    fn scan(&mut self, from: &[u8], limit: u32, each: &mut dyn FnMut(&[u8], &[u8])) -> anyhow::Result<()>;
}

/// Records that are written together.
#[derive(Debug, Clone, Default)]
pub struct Batch {
    keys: Vec<[u8; KEY_BYTES]>,
    values: Vec<u8>,
    value_bytes: usize,
}

impl Batch {
    /// Keys and values, in the order in which they were added.
    pub fn records(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        let value_bytes = self.value_bytes;
        self.keys.iter().enumerate().map(move |(place, key)| {
            let value = self.values.get(place * value_bytes..(place + 1) * value_bytes).unwrap_or_default();
            (key.as_slice(), value)
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
    pub(crate) fn add(&mut self, key: [u8; KEY_BYTES], write: impl FnOnce(&mut [u8])) {
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
        batch.add([1; KEY_BYTES], |value| value.copy_from_slice(b"one"));
        batch.add([2; KEY_BYTES], |value| value.copy_from_slice(b"two"));
        let records: Vec<(&[u8], &[u8])> = batch.records().collect();
        assert_eq!(records, [([1; KEY_BYTES].as_slice(), b"one".as_slice()), (&[2; KEY_BYTES], b"two")]);
        batch.clear(1);
        assert!(batch.is_empty() && batch.records().next().is_none());
    }
}
