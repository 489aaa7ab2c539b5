//! Ownership of a store's directory: only the holder of its lock may remove files there.
//!
//! A snapshot outlives its database, and its tables with it. By the time it is dropped, its directory
//! may have been removed, made anew or replaced by another store with tables of the same numbers. So
//! a table removes its file through its [`Home`], which knows the directory itself instead of a path
//! to it, and does nothing any more once the lock was released. The next opening removes what is left.

use super::{Locked, ReadFile};
use crate::lsm::sync::RwLock;
use std::io;
use std::path::Path;
use std::sync::Arc;

/// A directory that this process has locked, or had.
pub(crate) struct Home(RwLock<Option<Box<dyn Locked>>>);

/// Ends the ownership when it is dropped.
pub(crate) struct Owner(pub(crate) Arc<Home>);

impl Home {
    pub(crate) fn new(lock: Box<dyn Locked>) -> Arc<Self> {
        Arc::new(Self(RwLock::new(Some(lock))))
    }

    /// Removes a file of the directory while that is locked. One that stays is removed when the store
    /// is opened.
    pub(crate) fn remove(&self, path: &Path) {
        if let (Some(lock), Some(name)) = (&*self.0.read(), name_of(path)) {
            let _ = lock.remove(name);
        }
    }

    /// Opens a file of the directory while that is locked.
    pub(crate) fn open(&self, path: &Path) -> io::Result<Arc<dyn ReadFile>> {
        match (&*self.0.read(), name_of(path)) {
            (Some(lock), Some(name)) => lock.open(name),
            _ => Err(io::Error::other("the file is not open, and its database was closed")),
        }
    }
}

fn name_of(path: &Path) -> Option<&str> {
    path.file_name().and_then(|name| name.to_str())
}

impl Drop for Owner {
    fn drop(&mut self) {
        // Waits for a removal that has begun.
        let lock = self.0.0.write().take();
        drop(lock);
    }
}
