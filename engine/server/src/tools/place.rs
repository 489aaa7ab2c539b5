//! Databases of a store, by their numbers.

use plumbkv::{Database, Direction, Entry, Keyspace, Snapshot};

use crate::databases::{COUNT, Databases};

/// Which database of the store.
#[derive(Debug, clap::Args)]
pub(super) struct Number {
    /// Database, 0 to 15.
    #[arg(short = 'n', long = "database", value_name = "NUMBER", default_value_t = 0, value_parser = clap::value_parser!(u8).range(..i64::from(COUNT)))]
    number: u8,
}

impl Number {
    pub(super) const fn number(&self) -> u8 {
        self.number
    }

    /// The keyspace that the database has in a store.
    pub(super) fn keyspace(&self, store: &Database) -> anyhow::Result<Keyspace> {
        Ok(Databases::load(store)?.keyspace(self.number))
    }
}

/// Calls `f` with each entry of a database whose key begins with `prefix`, in the order of the keys.
///
/// # Errors
/// The store's, and those of `f`.
pub(super) fn for_each_entry(
    snapshot: &Snapshot,
    keyspace: Keyspace,
    prefix: &[u8],
    mut f: impl FnMut(&[u8], &Entry<'_>) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let marked = [&keyspace.prefix()[..], prefix].concat();
    // Keys of the first keyspace are stored as they are, but for those that begin as the others do.
    let bare = (keyspace == Keyspace::default()).then_some(prefix);
    for (stored_prefix, is_bare) in bare.map(|prefix| (prefix, true)).into_iter().chain([(&*marked, false)]) {
        let mut entries = snapshot.prefix(stored_prefix, Direction::Forward);
        while let Some(entry) = entries.next_entry()? {
            let (found, key) = Keyspace::split(entry.key);
            if found == keyspace && keyspace.is_bare(key) == is_bare {
                f(key, &entry)?;
            }
        }
    }
    Ok(())
}
