//! How does a value leave the store? A short one as a copy; a long one stays where it lies, and whoever has it counts among its holders.
//!
//! So a value of megabytes is sent without a lock and without a copy. Its pages stay counted under the cap until the last holder drops it,
//! also when its key is deleted or evicted meanwhile.

use std::ops::Deref;
use std::sync::Arc;

use super::entry::Entry;
use super::shard::Shard;
use super::store::Store;

/// The bytes of a value, as they were when they were asked for.
pub struct Value(Inner);

enum Inner {
    Copied(Vec<u8>),
    Held(Holder),
}

/// A value as [`Database::fetch`](crate::Database::fetch) hands it over.
#[derive(Debug)]
pub enum Fetched<'a> {
    /// Short: the bytes where they lie, under the shard's lock.
    Bytes(&'a [u8]),
    /// Long: to be kept as long as need be.
    Value(Value),
}

/// One of the holders of an entry with pages of its own.
struct Holder {
    store: Arc<Store>,
    entry: Entry,
}

// SAFETY: a held entry does not change, whoever reads it: writers see that it is shared and leave it alone.
unsafe impl Sync for Holder {}

impl Drop for Holder {
    fn drop(&mut self) {
        // SAFETY: made once for one `hold`.
        unsafe { self.store.common.heap.let_go(&self.store.common.budget, self.entry) };
    }
}

impl Value {
    /// Bytes that are nowhere else.
    pub(crate) fn copied(bytes: Vec<u8>) -> Self {
        Self(Inner::Copied(bytes))
    }

    /// The value of the entry at `at` of a locked shard.
    pub(super) fn of(store: &Arc<Store>, shard: &Shard, at: usize) -> Option<Self> {
        if let Some(entry) = shard.table.hold(at, &store.common.heap) {
            return Some(Self(Inner::Held(Holder { store: Arc::clone(store), entry })));
        }
        shard.table.held(at).map(|held| Self(Inner::Copied(held.value().to_vec())))
    }

    /// Whether the bytes lie in the store, and count there as long as this is kept; else they are a copy.
    #[must_use]
    pub fn is_held(&self) -> bool {
        matches!(self.0, Inner::Held(_))
    }

    /// The bytes as a vector of their own; copies a long value.
    #[must_use]
    pub fn into_vec(self) -> Vec<u8> {
        match self.0 {
            Inner::Copied(bytes) => bytes,
            Inner::Held(_) => self.to_vec(),
        }
    }
}

impl Deref for Value {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match &self.0 {
            Inner::Copied(bytes) => bytes,
            // SAFETY: the entry is there as long as it has this holder, and does not change as long as it has more than the table.
            Inner::Held(holder) => unsafe { holder.entry.value() },
        }
    }
}

impl PartialEq for Value {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl Eq for Value {}

impl std::fmt::Debug for Value {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "Value({} bytes)", self.len())
    }
}
