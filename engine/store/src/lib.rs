//! An embeddable key-value store with two modes behind one front door: in memory under a cap that it keeps, or durable in a directory.
//!
//! A [`Database`] holds byte strings under byte-string keys. [`Options::memory`] keeps them in memory, under a cap that counts what entries and
//! tables really cost: the pages they lie in. Room is made before a write, by evicting the least
//! recently used of a few random keys or as another [`Policy`] says; a value that could never fit is refused and
//! nothing is evicted for it. Keys can expire.
//!
//! ```
//! use plumbkv::{Database, Expiry, Options, SetOptions};
//!
//! # fn main() -> plumbkv::Result<()> {
//! let db = Database::open(Options::memory(2 * 1024 * 1024))?;
//! db.set(b"greeting", b"hello")?;
//! assert_eq!(db.get(b"greeting")?, Some(b"hello".to_vec()));
//!
//! // With an expiry, in milliseconds since the Unix epoch: this one is long over.
//! db.set_with(b"greeting", b"bye", SetOptions::new().expiry(Expiry::At(1)))?;
//! assert_eq!(db.get(b"greeting")?, None);
//!
//! for number in 0..100_000u32 {
//!     db.set(&number.to_be_bytes(), &[0; 1024])?;
//! }
//! let stats = db.stats();
//! assert!(stats.accounted_bytes <= stats.cap_bytes && stats.evicted > 90_000);
//! # Ok(())
//! # }
//! ```
//!
//! [`Options::durable`] keeps them in a directory, in a log-structured merge tree. What is acknowledged survives the end of the process; what survives
//! a power cut is what [`SyncMode`] says (`docs/durability.md` has the table). It answers the same calls, and more: atomic batches, snapshots, ranges in both
//! directions, checkpoints.
//!
//! ```
//! # fn main() -> plumbkv::Result<()> {
//! # let directory = std::env::temp_dir().join(format!("plumbkv-doc-lib-{}", std::process::id()));
//! use plumbkv::{Database, Direction, Options, SyncMode};
//!
//! let db = Database::open(Options::durable(&directory).sync_mode(SyncMode::Always))?;
//! db.set(b"user:1", b"Ada")?;
//! db.set(b"user:2", b"Grace")?;
//! let names: plumbkv::Result<Vec<_>> = db.snapshot()?.prefix(b"user:", Direction::Forward).collect();
//! assert_eq!(names?.len(), 2);
//! db.close()?;
//! # let _ = std::fs::remove_dir_all(&directory);
//! # Ok(())
//! # }
//! ```
//!
//! What it is not: it has no sockets. In memory mode it has no threads of its own and no files; expired keys
//! go when they are met, and on a timer only if you call [`Database::expire_cycle`] from one. In durable mode it has two threads that
//! flush and merge, and one that syncs at intervals.
//!
//! Limits: keys up to 64 KiB, values up to 512 MiB, 4096 shards; in durable mode an entry up to a twelfth of the
//! memory budget and a batch up to a quarter of it. The cap counts pages that are
//! resident; what other parts of the process use is not in it (`docs/design.md` has the figures).

#[cfg(not(target_os = "linux"))]
compile_error!(
    "plumbkv runs on Linux only: it uses preadv2, madvise(MADV_POPULATE_WRITE) and cgroups; see `Systems` in its README"
);

// The examples of the README and of the guides run as doctests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
#[doc = include_str!("../docs/guide/keys.md")]
#[doc = include_str!("../docs/guide/backup.md")]
struct Documents;

mod bytes;
mod clock;
mod database;
mod durable;
mod error;
mod event;
mod keyspace;
mod lsm;
mod memory;
mod memory_limit;
mod nonblocking;
mod options;
mod prefetch;
#[cfg(all(test, shuttle))]
mod simulation;
mod stats;

pub use bytes::{MAX_KEY_BYTES, MAX_VALUE_BYTES};
pub use clock::{Clock, ManualClock, SystemClock};
pub use database::Database;
#[doc(hidden)]
pub use database::WriteGroup;
pub use durable::{
    Batch, CompactProgress, Compression, Direction, Entry, Ingest, KeyCount, LaidAside, LevelStats, Profile,
    Range, Snapshot, StorageStats, SyncMode,
};
pub use error::{Error, Result};
pub use event::{Event, StallReason};
pub use keyspace::{KEYSPACES, Keyspace};
pub use memory::{
    Buffer, Condition, ExpireCondition, Expiry, Fetched, Lifetime, PREFETCHED_KEYS, Policy, RenameOptions,
    RenameOutcome, SetOptions, SetOutcome, Value, keep_high_water_true, settle_high_water,
};
pub use memory_limit::MemoryLimit;
pub use nonblocking::NonBlocking;
pub use options::Options;

#[cfg(feature = "parts")]
#[doc(hidden)]
pub use lsm::parts;
#[cfg(debug_assertions)]
#[doc(hidden)]
pub use lsm::{slow_disk, slow_disk_syncs};
pub use stats::Stats;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_database_can_be_shared_between_threads() {
        fn shared<T: Send + Sync>() {}
        shared::<Database>();
    }
}
