//! Descriptor exhaustion: a file system that closes files that can be spared, and tries again, where
//! the process or the system has no file descriptor left.

use super::{Locked, ReadFile, Vfs, WriteFile};
use std::io;
use std::path::Path;
use std::sync::Arc;

/// `EMFILE` and `ENFILE`.
pub(crate) fn is_exhausted(error: &io::Error) -> bool {
    use rustix::io::Errno;
    error
        .raw_os_error()
        .is_some_and(|number| [Errno::MFILE, Errno::NFILE].map(Errno::raw_os_error).contains(&number))
}

/// The error where nothing can be closed: as of a disk that is full, since it passes when there are
/// descriptors again, and nothing was done to any file.
pub(crate) fn none_left(error: io::Error) -> io::Error {
    io::Error::new(io::ErrorKind::QuotaExceeded, error)
}

/// A file system, and a way to close some files. That is given how often the call has waited so far,
/// and says false once there is no file to be closed or waited for.
pub(crate) struct Spared<F> {
    pub(crate) vfs: Arc<dyn Vfs>,
    pub(crate) close_some: F,
}

impl<F: Fn(&mut u32) -> bool> Spared<F> {
    fn with<R>(&self, call: impl Fn(&dyn Vfs) -> io::Result<R>) -> io::Result<R> {
        let mut waits = 0;
        loop {
            match call(&*self.vfs) {
                Err(error) if is_exhausted(&error) => {
                    if !(self.close_some)(&mut waits) {
                        return Err(none_left(error));
                    }
                }
                done => return done,
            }
        }
    }
}

impl<F: Fn(&mut u32) -> bool + Send + Sync + 'static> Vfs for Spared<F> {
    fn create_dir(&self, path: &Path) -> io::Result<()> {
        self.vfs.create_dir(path)
    }

    fn create(&self, path: &Path) -> io::Result<Box<dyn WriteFile>> {
        self.with(|vfs| vfs.create(path))
    }

    fn reuse(&self, path: &Path) -> io::Result<Box<dyn WriteFile>> {
        self.with(|vfs| vfs.reuse(path))
    }

    fn open(&self, path: &Path) -> io::Result<Arc<dyn ReadFile>> {
        self.with(|vfs| vfs.open(path))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.vfs.rename(from, to)
    }

    fn link(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.vfs.link(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        self.vfs.remove(path)
    }

    fn list(&self, path: &Path) -> io::Result<Vec<String>> {
        self.with(|vfs| vfs.list(path))
    }

    fn sync_dir(&self, path: &Path) -> io::Result<()> {
        self.with(|vfs| vfs.sync_dir(path))
    }

    fn lock(&self, path: &Path) -> io::Result<Box<dyn Locked>> {
        self.with(|vfs| vfs.lock(path))
    }

    fn lock_shared(&self, path: &Path) -> io::Result<Box<dyn Locked>> {
        self.with(|vfs| vfs.lock_shared(path))
    }

    fn random(&self) -> io::Result<u64> {
        self.vfs.random()
    }

    fn memory(&self) -> Option<u64> {
        self.vfs.memory()
    }
}
