//! How are entries kept in memory, under a cap on real bytes? `docs/memory-layout.md` draws it.
//!
//! Layers, each knowing only those below it: `store` (shards) with the calls in `read`, `write`, `rename`, `expiry`, `scan`, the room they need in `room` and
//! the choice in `evict` and `fifo`; `others` (the shards of further keyspaces); `shard` (what one lock guards), `common` (what all shards share) and `shortage` (why a call under the lock stops); `table` of `slots` from the `slot_pool` (where a key is), `order`, `frequency` and `ghosts` (when and how often it was
//! used); `heap` (where entries get their memory); `entry` (one block), `budget` (bytes in use) and `size_class` (what the
//! allocator's blocks really cost).

mod budget;
mod buffer;
mod clear;
mod common;
mod entry;
mod evict;
mod expiry;
mod fifo;
mod frequency;
mod ghosts;
mod heap;
mod hints;
mod order;
mod others;
mod policy;
mod read;
mod rename;
mod room;
mod scan;
mod shard;
mod shortage;
mod size_class;
mod slot_pool;
mod slots;
mod store;
mod table;
mod value;
mod write;

pub use buffer::Buffer;
pub use expiry::{ExpireCondition, Expiry, Lifetime};
pub use heap::{keep_high_water_true, settle_high_water};
pub use policy::Policy;
pub use read::PREFETCHED_KEYS;
pub use rename::{RenameOptions, RenameOutcome};
pub(crate) use store::Store;
pub use value::{Fetched, Value};
pub use write::{Condition, SetOptions, SetOutcome};
