//! Table file cache: limits the file descriptors of open tables.
//!
//! A table keeps its index and filter in memory and opens its file when a block is read. Once as many
//! files are open as the limit allows, the least recently used one is closed, by the clock algorithm:
//! a read sets a mark, and a file whose turn comes loses its mark or is closed.
//!
//! A read that has begun keeps its file open until it ends, so for moments there are as many more
//! descriptors as there are threads that read.
//!
//! A closed file can be opened again, because a table removes its file only when it is dropped. It is
//! opened in the directory that the store has locked, never by a path: that may name another store's
//! file with the same number by then. So a snapshot that outlives its database reads the files that
//! are open and no others.

use crate::lsm::vfs::{Home, ReadFile, Vfs, is_exhausted, none_left};
use crate::nonblocking::NonBlocking;
use arc_swap::ArcSwapOption;
use parking_lot::Mutex;
use std::collections::VecDeque;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

/// The open files of the tables of a store.
pub(crate) struct TableFiles {
    limit: AtomicUsize,
    /// In the order in which their turns come. Never held while a file is opened.
    open: Mutex<VecDeque<Arc<Slot>>>,
    /// Files that were opened.
    opened: AtomicU64,
}

/// The file of a table while it is open.
#[derive(Default)]
struct Slot {
    file: ArcSwapOption<Opened>,
    /// It was read since its turn last came.
    is_used: AtomicBool,
}

struct Opened(Arc<dyn ReadFile>);

impl TableFiles {
    /// At most so many of them open at once, at least one.
    pub(crate) fn new(limit: usize) -> Arc<Self> {
        Arc::new(Self {
            limit: AtomicUsize::new(limit.max(1)),
            open: Mutex::default(),
            opened: AtomicU64::new(0),
        })
    }

    /// Files that are open.
    pub(crate) fn open_files(&self) -> usize {
        self.open.lock().len()
    }

    /// Times that a file was opened.
    pub(crate) fn opened(&self) -> u64 {
        self.opened.load(Ordering::Relaxed)
    }

    /// Closes half of the open files, because the process has no descriptor left. False where none
    /// was open.
    pub(crate) fn close_half(&self) -> bool {
        let mut open = self.open.lock();
        let left = open.len() / 2;
        let is_any = !open.is_empty();
        Self::shrink(&mut open, left);
        is_any
    }

    fn shrink(open: &mut VecDeque<Arc<Slot>>, left: usize) {
        while open.len() > left {
            let Some(slot) = open.pop_front() else { return };
            if slot.is_used.swap(false, Ordering::Relaxed) {
                open.push_back(slot);
            } else {
                slot.file.store(None);
            }
        }
    }

    /// Makes room for one more.
    fn make_room(&self) {
        let limit = self.limit.load(Ordering::Relaxed);
        Self::shrink(&mut self.open.lock(), limit - 1);
    }

    fn enter(&self, slot: &Arc<Slot>) {
        self.opened.fetch_add(1, Ordering::Relaxed);
        let mut open = self.open.lock();
        // Other threads may have come in since room was made.
        Self::shrink(&mut open, self.limit.load(Ordering::Relaxed) - 1);
        open.push_back(Arc::clone(slot));
    }

    fn forget(&self, slot: &Arc<Slot>) {
        let mut open = self.open.lock();
        if let Some(at) = open.iter().position(|other| Arc::ptr_eq(other, slot)) {
            open.remove(at);
        }
    }
}

/// The file of a table, opened when it is read.
pub(super) struct TableFile {
    vfs: Arc<dyn Vfs>,
    path: PathBuf,
    /// The directory that it is in, where a store has locked that.
    home: Option<Arc<Home>>,
    slot: Arc<Slot>,
    files: Arc<TableFiles>,
    is_needless: AtomicBool,
}

impl TableFile {
    /// Opens the file: whether it is there is known then.
    pub(super) fn open(vfs: &Arc<dyn Vfs>, path: &Path, files: Arc<TableFiles>) -> io::Result<Self> {
        let (vfs, path) = (Arc::clone(vfs), path.to_owned());
        let is_needless = AtomicBool::new(false);
        let file = Self { vfs, path, home: None, slot: Arc::default(), files, is_needless };
        file.reopen()?;
        Ok(file)
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// From now on it is opened again and removed in this directory alone.
    pub(super) fn set_home(&mut self, home: Arc<Home>) {
        self.home = Some(home);
    }

    /// Removes the file once the last table that reads it is dropped, if the store is open then.
    pub(super) fn remove_when_dropped(&self) {
        self.is_needless.store(true, Ordering::Relaxed);
    }

    fn open_now(&self) -> io::Result<Arc<dyn ReadFile>> {
        let Some(home) = &self.home else { return self.vfs.open(&self.path) };
        loop {
            match home.open(&self.path) {
                Err(error) if is_exhausted(&error) => {
                    if !self.files.close_half() {
                        return Err(none_left(error));
                    }
                }
                done => return done,
            }
        }
    }

    #[cold]
    fn reopen(&self) -> io::Result<Arc<Opened>> {
        self.files.make_room();
        let opened = Arc::new(Opened(self.open_now()?));
        let before = self.slot.file.compare_and_swap(&None::<Arc<Opened>>, Some(Arc::clone(&opened)));
        if let Some(other) = &*before {
            // Another thread was quicker.
            return Ok(Arc::clone(other));
        }
        self.files.enter(&self.slot);
        Ok(opened)
    }

    #[inline]
    fn with<R>(&self, read: impl FnOnce(&dyn ReadFile) -> io::Result<R>) -> io::Result<R> {
        let open = self.slot.file.load();
        let Some(file) = &*open else {
            return read(&*self.reopen()?.0);
        };
        if !self.slot.is_used.load(Ordering::Relaxed) {
            self.slot.is_used.store(true, Ordering::Relaxed);
        }
        read(&*file.0)
    }
}

impl ReadFile for TableFile {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        self.with(|file| file.read_at(buffer, offset))
    }

    /// To open a file may wait for the device, too.
    fn read_at_now(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        if NonBlocking::is_on() && self.slot.file.load().is_none() {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        self.with(|file| file.read_at_now(buffer, offset))
    }

    fn read_once_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        self.with(|file| file.read_once_at(buffer, offset))
    }

    fn len(&self) -> io::Result<u64> {
        self.with(|file| file.len())
    }
}

impl Drop for TableFile {
    fn drop(&mut self) {
        self.files.forget(&self.slot);
        if *self.is_needless.get_mut()
            && let Some(home) = &self.home
        {
            home.remove(&self.path);
        }
    }
}

#[cfg(test)]
#[path = "files_test.rs"]
mod tests;
