//! An embeddable key-value store that keeps its memory cap.
//!
//! A [`Database`] holds byte strings under byte-string keys, in memory, under a cap that counts what entries and
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
//! What it is not: it has no sockets, no threads of its own and no files; nothing survives the process. Expired keys
//! go when they are met, and on a timer only if you call [`Database::expire_cycle`] from one.
//!
//! Limits: keys up to 64 KiB, values up to 512 MiB, 4096 shards. The cap counts pages that are
//! resident; what other parts of the process use is not in it (`docs/design.md` has the figures).

// The README's example runs as a doctest.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

mod bytes;
mod clock;
mod database;
mod durable;
mod error;
mod lsm;
mod memory;
mod options;
mod stats;

pub use bytes::{MAX_KEY_BYTES, MAX_VALUE_BYTES};
pub use clock::{Clock, ManualClock, SystemClock};
pub use database::Database;
pub use durable::{
    Batch, Compression, Direction, Entry, LaidAside, LevelStats, Profile, Range, Snapshot, StorageStats,
    SyncMode,
};
pub use error::{Error, Result};
pub use memory::{
    Buffer, Condition, ExpireCondition, Expiry, Fetched, Lifetime, PREFETCHED_KEYS, Policy, SetOptions,
    SetOutcome, Value, keep_high_water_true, settle_high_water,
};
pub use options::Options;
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
