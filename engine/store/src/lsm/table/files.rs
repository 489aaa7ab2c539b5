//! Table file cache: limits the file descriptors of open tables.
//!
//! A table keeps its index and filter in memory and opens its file when a block is read. Once as many
//! files are open as the limit allows, the least recently used one is closed, by the clock algorithm:
//! a read sets a mark, and a file whose turn comes loses its mark or is closed.
//!
//! A read that has begun keeps its file open until it ends, so for moments there are as many more
//! descriptors as there are threads that read. A table that is being written has one as well. A thread
//! that finds no descriptor left in the process waits for such reads, and for tables that other threads
//! write, and fails only where there are none. For tables of its own it would wait in vain.
//!
//! A closed file can be opened again, because a table removes its file only when it is dropped. It is
//! opened in the directory that the store has locked, never by a path: that may name another store's
//! file with the same number by then. So a snapshot that outlives its database reads the files that
//! are open and no others.

use crate::lsm::sync::{ThreadId, sleep, this_thread};
use crate::lsm::vfs::{Home, ReadFile, Vfs, is_exhausted, none_left};
use crate::nonblocking::NonBlocking;
use arc_swap::ArcSwapOption;
use parking_lot::Mutex;
use std::collections::VecDeque;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

/// Times that a thread waits for others before it gives up.
const MOST_WAITS: u32 = 1_000;
/// How long each time.
const WAIT: Duration = Duration::from_millis(1);

/// The open files of the tables of a store.
pub(crate) struct TableFiles {
    limit: AtomicUsize,
    /// In the order in which their turns come. Never held while a file is opened.
    open: Mutex<VecDeque<Arc<Slot>>>,
    /// Files that were opened.
    opened: AtomicU64,
    /// Descriptors of tables: of files in `open`, of files that reads still use, and of files that are
    /// being opened.
    descriptors: AtomicUsize,
    /// A thread for each table that is being written: the one that began it.
    writers: Mutex<Vec<ThreadId>>,
}

/// A table that is being written, and whose descriptor is given back soon.
pub(crate) struct Writing {
    files: Arc<TableFiles>,
    thread: ThreadId,
}

impl Drop for Writing {
    fn drop(&mut self) {
        let mut writers = self.files.writers.lock();
        if let Some(at) = writers.iter().position(|thread| *thread == self.thread) {
            writers.swap_remove(at);
        }
    }
}

/// The file of a table while it is open.
#[derive(Default)]
struct Slot {
    file: ArcSwapOption<Opened>,
    /// It was read since its turn last came.
    is_used: AtomicBool,
}

struct Opened {
    /// Closed before the descriptor is counted as given back.
    file: Arc<dyn ReadFile>,
    _descriptor: Descriptor,
}

/// Counts one of the `descriptors`.
struct Descriptor(Arc<TableFiles>);

impl Descriptor {
    fn take(files: &Arc<TableFiles>) -> Self {
        files.descriptors.fetch_add(1, Ordering::Relaxed);
        Self(Arc::clone(files))
    }
}

impl Drop for Descriptor {
    fn drop(&mut self) {
        self.0.descriptors.fetch_sub(1, Ordering::Relaxed);
    }
}

impl TableFiles {
    /// At most so many of them open at once, at least one.
    pub(crate) fn new(limit: usize) -> Arc<Self> {
        Arc::new(Self {
            limit: AtomicUsize::new(limit.max(1)),
            open: Mutex::default(),
            opened: AtomicU64::new(0),
            descriptors: AtomicUsize::new(0),
            writers: Mutex::default(),
        })
    }

    /// Says that this thread begins to write a table. Dropped once that has no descriptor any more.
    pub(crate) fn begin_writing(self: &Arc<Self>) -> Writing {
        let thread = this_thread();
        self.writers.lock().push(thread);
        Writing { files: Arc::clone(self), thread }
    }

    /// Files that are open.
    pub(crate) fn open_files(&self) -> usize {
        self.open.lock().len()
    }

    /// Times that a file was opened.
    pub(crate) fn opened(&self) -> u64 {
        self.opened.load(Ordering::Relaxed)
    }

    /// Gives descriptors back, because the process has none left: closes half of the open files, or,
    /// where none is open, waits a moment for a read or for another thread's table that keeps one. False
    /// where there is none of these, and after [`MOST_WAITS`], which `waits` counts.
    pub(crate) fn spare_some(&self, waits: &mut u32) -> bool {
        if self.close_half() {
            return true;
        }
        let is_worth_waiting = *waits < MOST_WAITS
            && (self.descriptors.load(Ordering::Relaxed) > 0 || self.is_written_by_another_thread());
        if is_worth_waiting {
            *waits += 1;
            sleep(WAIT);
        }
        is_worth_waiting
    }

    fn is_written_by_another_thread(&self) -> bool {
        let this = this_thread();
        self.writers.lock().iter().any(|thread| *thread != this)
    }

    /// Closes half of the open files. False where none was open.
    fn close_half(&self) -> bool {
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

    fn open_now(&self) -> io::Result<Opened> {
        let mut waits = 0;
        loop {
            // Counted before it is opened: no other thread may find the descriptor gone and not counted.
            let descriptor = Descriptor::take(&self.files);
            let opened = match &self.home {
                Some(home) => home.open(&self.path),
                None => self.vfs.open(&self.path),
            };
            match opened {
                Ok(file) => return Ok(Opened { file, _descriptor: descriptor }),
                Err(error) if is_exhausted(&error) => {
                    drop(descriptor);
                    if !self.files.spare_some(&mut waits) {
                        return Err(none_left(error));
                    }
                }
                Err(error) => return Err(error),
            }
        }
    }

    #[cold]
    fn reopen(&self) -> io::Result<Arc<Opened>> {
        self.files.make_room();
        let opened = Arc::new(self.open_now()?);
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
            return read(&*self.reopen()?.file);
        };
        if !self.slot.is_used.load(Ordering::Relaxed) {
            self.slot.is_used.store(true, Ordering::Relaxed);
        }
        read(&*file.file)
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
