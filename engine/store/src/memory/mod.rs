//! How are entries kept in memory, under a cap on real bytes? `docs/design.md` draws it.
//!
//! Layers, each knowing only those below it: `store` (shards, room) with the calls in `read`, `write`, `expiry`,
//! `scan` and the choice in `evict`; `shard` (what one lock guards); `table` (where a key is) and `order` (when it
//! was used); `entry` (one block), `budget` (bytes in use) and `size_class` (what a block really costs).

mod budget;
mod entry;
mod evict;
mod expiry;
mod order;
mod read;
mod scan;
mod shard;
mod size_class;
mod store;
mod table;
mod write;

pub use evict::Policy;
pub use expiry::{ExpireCondition, Expiry, Lifetime};
pub(crate) use store::Store;
pub use write::{Condition, SetOptions, SetOutcome};
