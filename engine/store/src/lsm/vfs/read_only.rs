//! A file system that is only read: every call that would change a directory or a file is refused, so a
//! store that is opened read-only cannot write a byte.

use super::{Locked, ReadFile, Vfs, WriteFile};
use std::io;
use std::path::Path;
use std::sync::Arc;

/// Another file system without its changes.
pub(crate) struct ReadOnly(pub(crate) Arc<dyn Vfs>);

fn refused<T>() -> io::Result<T> {
    Err(io::Error::new(io::ErrorKind::ReadOnlyFilesystem, "the store is open read-only"))
}

impl Vfs for ReadOnly {
    fn create_dir(&self, _: &Path) -> io::Result<()> {
        refused()
    }

    fn create(&self, _: &Path) -> io::Result<Box<dyn WriteFile>> {
        refused()
    }

    fn reuse(&self, _: &Path) -> io::Result<Box<dyn WriteFile>> {
        refused()
    }

    fn open(&self, path: &Path) -> io::Result<Arc<dyn ReadFile>> {
        self.0.open(path)
    }

    fn rename(&self, _: &Path, _: &Path) -> io::Result<()> {
        refused()
    }

    fn link(&self, _: &Path, _: &Path) -> io::Result<()> {
        refused()
    }

    fn remove(&self, _: &Path) -> io::Result<()> {
        refused()
    }

    fn list(&self, path: &Path) -> io::Result<Vec<String>> {
        self.0.list(path)
    }

    fn sync_dir(&self, _: &Path) -> io::Result<()> {
        refused()
    }

    fn lock(&self, directory: &Path) -> io::Result<Box<dyn Locked>> {
        self.0.lock_shared(directory)
    }

    fn lock_shared(&self, directory: &Path) -> io::Result<Box<dyn Locked>> {
        self.0.lock_shared(directory)
    }

    fn random(&self) -> io::Result<u64> {
        self.0.random()
    }

    fn memory(&self) -> Option<u64> {
        self.0.memory()
    }
}
