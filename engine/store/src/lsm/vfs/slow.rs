//! What if the disk took its time? For tests of who waits for it; not in release builds.

use super::{Disk, Locked, ReadFile, SyncFile, Vfs, WriteFile};
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// What is added to a read and to a sync, in microseconds.
#[derive(Default)]
struct Times {
    read_us: AtomicU64,
    sync_us: AtomicU64,
    /// Syncs so far.
    syncs: AtomicU64,
}

impl Times {
    fn sync(&self) {
        self.syncs.fetch_add(1, Ordering::Relaxed);
        wait(&self.sync_us);
    }
}

thread_local! {
    static TIMES: Arc<Times> = Arc::default();
}

/// From now on every read and every sync of a file takes so long at least, as if nothing were ever in the page cache: in all databases that this thread has opened or will
/// open, whoever uses them.
pub fn slow_disk(read: Duration, sync: Duration) {
    TIMES.with(|times| {
        times.read_us.store(read.as_micros() as u64, Ordering::Relaxed);
        times.sync_us.store(sync.as_micros() as u64, Ordering::Relaxed);
    });
}

/// Syncs of files so far, in all databases that this thread has opened.
#[must_use]
pub fn slow_disk_syncs() -> u64 {
    TIMES.with(|times| times.syncs.load(Ordering::Relaxed))
}

/// The disk of the machine, as slow as the thread wants it.
pub(crate) fn disk() -> Arc<dyn Vfs> {
    Arc::new(Slow(TIMES.with(Arc::clone)))
}

fn wait(us: &AtomicU64) {
    let us = us.load(Ordering::Relaxed);
    if us > 0 {
        std::thread::sleep(Duration::from_micros(us));
    }
}

struct Slow(Arc<Times>);

struct Read {
    file: Arc<dyn ReadFile>,
    times: Arc<Times>,
}

struct Lock {
    lock: Box<dyn Locked>,
    times: Arc<Times>,
}

struct Written {
    file: Box<dyn WriteFile>,
    times: Arc<Times>,
}

struct Synced {
    file: Arc<dyn SyncFile>,
    times: Arc<Times>,
}

impl Slow {
    fn written(&self, file: Box<dyn WriteFile>) -> Box<dyn WriteFile> {
        Box::new(Written { file, times: Arc::clone(&self.0) })
    }
}

impl Vfs for Slow {
    fn create_dir(&self, path: &Path) -> io::Result<()> {
        Disk.create_dir(path)
    }

    fn create(&self, path: &Path) -> io::Result<Box<dyn WriteFile>> {
        Disk.create(path).map(|file| self.written(file))
    }

    fn reuse(&self, path: &Path) -> io::Result<Box<dyn WriteFile>> {
        Disk.reuse(path).map(|file| self.written(file))
    }

    fn open(&self, path: &Path) -> io::Result<Arc<dyn ReadFile>> {
        Ok(Arc::new(Read { file: Disk.open(path)?, times: Arc::clone(&self.0) }))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        Disk.rename(from, to)
    }

    fn link(&self, from: &Path, to: &Path) -> io::Result<()> {
        Disk.link(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        Disk.remove(path)
    }

    fn list(&self, path: &Path) -> io::Result<Vec<String>> {
        Disk.list(path)
    }

    fn sync_dir(&self, path: &Path) -> io::Result<()> {
        Disk.sync_dir(path)
    }

    fn lock(&self, directory: &Path) -> io::Result<Box<dyn Locked>> {
        Ok(Box::new(Lock { lock: Disk.lock(directory)?, times: Arc::clone(&self.0) }))
    }

    fn lock_shared(&self, directory: &Path) -> io::Result<Box<dyn Locked>> {
        Ok(Box::new(Lock { lock: Disk.lock_shared(directory)?, times: Arc::clone(&self.0) }))
    }

    fn random(&self) -> io::Result<u64> {
        Disk.random()
    }

    fn memory(&self) -> Option<u64> {
        Disk.memory()
    }
}

impl Locked for Lock {
    fn remove(&self, name: &str) -> io::Result<()> {
        self.lock.remove(name)
    }

    fn open(&self, name: &str) -> io::Result<Arc<dyn ReadFile>> {
        Ok(Arc::new(Read { file: self.lock.open(name)?, times: Arc::clone(&self.times) }))
    }
}

impl ReadFile for Read {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        wait(&self.times.read_us);
        self.file.read_at(buffer, offset)
    }

    fn read_at_now(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        if self.times.read_us.load(Ordering::Relaxed) > 0 {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        self.file.read_at_now(buffer, offset)
    }

    fn read_once_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        wait(&self.times.read_us);
        self.file.read_once_at(buffer, offset)
    }

    fn len(&self) -> io::Result<u64> {
        self.file.len()
    }
}

impl WriteFile for Written {
    fn write_at(&mut self, bytes: &[u8], offset: u64) -> io::Result<usize> {
        self.file.write_at(bytes, offset)
    }

    fn sync(&mut self) -> io::Result<()> {
        self.times.sync();
        self.file.sync()
    }

    fn map(&mut self, offset: u64, len: usize) -> bool {
        self.file.map(offset, len)
    }

    fn syncer(&self) -> io::Result<Arc<dyn SyncFile>> {
        Ok(Arc::new(Synced { file: self.file.syncer()?, times: Arc::clone(&self.times) }))
    }
}

impl SyncFile for Synced {
    fn sync(&self) -> io::Result<()> {
        self.times.sync();
        self.file.sync()
    }
}
