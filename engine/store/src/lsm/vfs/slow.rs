//! What if the disk took its time? For tests of who waits for it; not in release builds.

use super::{Disk, Locked, ReadFile, SyncFile, Vfs, WriteFile};
use std::cell::Cell;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

thread_local! {
    static TIMES: Cell<(Duration, Duration)> = const { Cell::new((Duration::ZERO, Duration::ZERO)) };
}

/// From now on this thread opens databases on a disk whose every read and every sync of a file takes so long at least, as if nothing were ever in the page cache.
pub fn slow_disk(read: Duration, sync: Duration) {
    TIMES.set((read, sync));
}

/// The disk of the machine, slowed down if that was asked for.
pub(crate) fn disk() -> Arc<dyn Vfs> {
    let (read, sync) = TIMES.get();
    if read.is_zero() && sync.is_zero() { Arc::new(Disk) } else { Arc::new(Slow { read, sync }) }
}

struct Slow {
    read: Duration,
    sync: Duration,
}

struct Read {
    file: Arc<dyn ReadFile>,
    read: Duration,
}

struct Written {
    file: Box<dyn WriteFile>,
    sync: Duration,
}

struct Synced {
    file: Arc<dyn SyncFile>,
    sync: Duration,
}

impl Slow {
    fn written(&self, file: Box<dyn WriteFile>) -> Box<dyn WriteFile> {
        Box::new(Written { file, sync: self.sync })
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
        Ok(Arc::new(Read { file: Disk.open(path)?, read: self.read }))
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

    fn lock(&self, path: &Path) -> io::Result<Box<dyn Locked>> {
        Disk.lock(path)
    }
}

impl ReadFile for Read {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        std::thread::sleep(self.read);
        self.file.read_at(buffer, offset)
    }

    fn read_at_now(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        if !self.read.is_zero() {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        self.file.read_at_now(buffer, offset)
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
        std::thread::sleep(self.sync);
        self.file.sync()
    }

    fn syncer(&self) -> io::Result<Arc<dyn SyncFile>> {
        Ok(Arc::new(Synced { file: self.file.syncer()?, sync: self.sync }))
    }
}

impl SyncFile for Synced {
    fn sync(&self) -> io::Result<()> {
        std::thread::sleep(self.sync);
        self.file.sync()
    }
}
