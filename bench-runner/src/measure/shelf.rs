//! Which directories were loaded for later steps, and until when are they kept?
//!
//! A directory is known by what was loaded into it and how. It goes when the step after the last one that needs it
//! begins: not earlier, because a step that others disturbed is measured again.

use crate::model::Status;
use crate::plan::StoreKey;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use tempfile::TempDir;

/// The directories of one campaign; removed with it.
#[derive(Debug, Default)]
pub(crate) struct Shelf {
    held: Mutex<Held>,
}

#[derive(Debug, Default)]
struct Held {
    stores: Vec<(StoreKey, TempDir)>,
    /// Loads that came to nothing, and why.
    failed: Vec<(StoreKey, (Status, String))>,
    /// Needed by no step after this one.
    leaving: Vec<(u32, StoreKey)>,
}

impl Shelf {
    /// A step begins: what others let go is removed.
    pub(crate) fn begin(&self, position: u32) {
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        let Held { stores, leaving, .. } = &mut *held;
        let gone = |key: &StoreKey| leaving.iter().any(|(last, leaves)| *last != position && leaves == key);
        stores.retain(|(key, _)| !gone(key));
        leaving.retain(|(last, _)| *last == position);
    }

    /// Keeps a directory, in place of an earlier one like it.
    pub(crate) fn put(&self, key: StoreKey, folder: TempDir) {
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        held.failed.retain(|(other, _)| *other != key);
        held.stores.retain(|(other, _)| *other != key);
        held.stores.push((key, folder));
    }

    /// Remembers why a directory cannot be loaded: what a load took minutes to find out, each of its readers would find out
    /// again.
    pub(crate) fn put_failure(&self, key: StoreKey, status: Status, reason: String) {
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        held.failed.push((key, (status, reason)));
    }

    /// Why a directory cannot be loaded, where that was tried.
    pub(crate) fn failure(&self, key: &StoreKey) -> Option<(Status, String)> {
        let held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        held.failed.iter().find(|(other, _)| other == key).map(|(_, why)| why.clone())
    }

    /// Where a directory lies.
    pub(crate) fn find(&self, key: &StoreKey) -> Option<PathBuf> {
        let held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        held.stores.iter().find(|(other, _)| other == key).map(|(_, folder)| folder.path().to_owned())
    }

    /// No step after this one needs a directory.
    pub(crate) fn let_go(&self, position: u32, key: &StoreKey) {
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        held.leaving.push((position, key.clone()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plumbkv_bench_driver::protocol::{KeySchema, Order, Profile, Records, ValueKind};

    #[test]
    fn a_directory_goes_when_the_step_after_its_last_one_begins() {
        let key = StoreKey {
            target: "engine".to_owned(),
            records: Records {
                count: 1,
                value_bytes: 1,
                values: ValueKind::Incompressible,
                keys: KeySchema::OneFamily,
            },
            order: Order::Random,
            batch: 1,
            profile: Profile::Default,
            memory_limit_bytes: None,
            seed: 1,
        };
        let other = StoreKey { seed: 2, ..key.clone() };
        let shelf = Shelf::default();
        for key in [&key, &other] {
            shelf.put(key.clone(), tempfile::tempdir().unwrap());
        }
        let folder = shelf.find(&key).unwrap();
        let third = StoreKey { seed: 3, ..key.clone() };
        shelf.put_failure(third.clone(), Status::Failed, "no room".to_owned());
        assert_eq!(shelf.failure(&third), Some((Status::Failed, "no room".to_owned())));
        // Loaded after all: a step that is measured again tries again.
        shelf.put(third.clone(), tempfile::tempdir().unwrap());
        assert!(shelf.failure(&third).is_none() && shelf.failure(&key).is_none());
        shelf.begin(7);
        shelf.let_go(7, &key);
        // The same step once more.
        shelf.begin(7);
        assert_eq!(shelf.find(&key), Some(folder.clone()));
        shelf.let_go(7, &key);
        shelf.begin(8);
        assert!(shelf.find(&key).is_none() && !folder.exists());
        assert!(shelf.find(&other).is_some_and(|path| path.exists()));
    }
}
