//! The file system of the machine.

use super::mapped::Mapped;
use super::{Locked, ReadFile, SyncFile, Vfs, WriteFile, names_unknown};
use crate::memory_limit::MemoryLimit;
use rustix::fs::{AtFlags, Mode, OFlags, openat, unlinkat};
use rustix::io::{Errno, ReadWriteFlags, preadv2};
use rustix::rand::{GetRandomFlags, getrandom};
use std::fs::{self, File, Metadata, OpenOptions, TryLockError};
use std::io::{self, IoSliceMut};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;
use std::sync::Arc;

/// The real one.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Disk;

struct Written {
    /// Shared with what syncs it: a descriptor of its own might not be had.
    file: Arc<File>,
    mapped: Option<Mapped>,
}

struct Synced(Arc<File>);
struct Read(File);

/// A lock on a directory. `LOCK` is what earlier versions lock; the directory itself stays locked when
/// that file is removed.
struct Lock {
    directory: File,
    /// None where only the directory is locked: a reader makes no file.
    file: Option<File>,
    process: u32,
    is_shared: bool,
}

/// Times that a lock is tried whose file was removed or replaced before it was locked.
const LOCK_ATTEMPTS: u32 = 100;

impl Vfs for Disk {
    fn create_dir(&self, path: &Path) -> io::Result<()> {
        match fs::create_dir(path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => match fs::metadata(path) {
                Ok(found) if found.is_dir() => Ok(()),
                Ok(_) => Err(io::Error::new(io::ErrorKind::NotADirectory, "it is not a directory")),
                Err(error) if error.kind() == io::ErrorKind::NotFound => Err(io::Error::new(
                    error.kind(),
                    "it is a symbolic link to a directory that does not exist",
                )),
                Err(error) => Err(error),
            },
            done => done,
        }
    }

    fn create(&self, path: &Path) -> io::Result<Box<dyn WriteFile>> {
        Ok(Box::new(Written::new(OpenOptions::new().read(true).write(true).create_new(true).open(path)?)))
    }

    fn reuse(&self, path: &Path) -> io::Result<Box<dyn WriteFile>> {
        Ok(Box::new(Written::new(OpenOptions::new().read(true).write(true).open(path)?)))
    }

    fn open(&self, path: &Path) -> io::Result<Arc<dyn ReadFile>> {
        Ok(Arc::new(Read(File::open(path)?)))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        fs::rename(from, to)
    }

    fn link(&self, from: &Path, to: &Path) -> io::Result<()> {
        fs::hard_link(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        fs::remove_file(path)
    }

    fn list(&self, path: &Path) -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in fs::read_dir(path)? {
            let entry = entry?;
            // What this library writes is ASCII: another name is somebody else's file.
            if let (true, Ok(name)) = (entry.file_type()?.is_file(), entry.file_name().into_string()) {
                names.push(name);
            }
        }
        Ok(names)
    }

    fn sync_dir(&self, path: &Path) -> io::Result<()> {
        File::open(path)?.sync_all().map_err(names_unknown)
    }

    fn lock(&self, directory: &Path) -> io::Result<Box<dyn Locked>> {
        lock(|| Lock::take(directory))
    }

    fn lock_shared(&self, directory: &Path) -> io::Result<Box<dyn Locked>> {
        lock(|| Lock::share(directory))
    }

    fn random(&self) -> io::Result<u64> {
        let mut bytes = [0; 8];
        let mut filled = 0;
        while filled < bytes.len() {
            match getrandom(&mut bytes[filled..], GetRandomFlags::empty()) {
                Ok(count) => filled += count,
                Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(u64::from_le_bytes(bytes))
    }

    fn memory(&self) -> Option<u64> {
        MemoryLimit::of_this_process().map(|limit| limit.bytes)
    }
}

impl Written {
    fn new(file: File) -> Self {
        Self { file: Arc::new(file), mapped: None }
    }
}

impl WriteFile for Written {
    fn write_at(&mut self, bytes: &[u8], offset: u64) -> io::Result<usize> {
        if self.mapped.as_mut().is_some_and(|mapped| mapped.put(bytes, offset)) {
            return Ok(bytes.len());
        }
        loop {
            match self.file.write_at(bytes, offset) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                done => return done,
            }
        }
    }

    fn sync(&mut self) -> io::Result<()> {
        // The length counts as data here: fdatasync writes what is needed to read the bytes again.
        // So it does with what was put through a mapping.
        self.file.sync_data()
    }

    fn map(&mut self, offset: u64, len: usize) -> bool {
        // First the old one goes: two would count twice.
        self.mapped = None;
        self.mapped = Mapped::new(&self.file, offset, len);
        self.mapped.is_some()
    }

    fn syncer(&self) -> io::Result<Arc<dyn SyncFile>> {
        Ok(Arc::new(Synced(Arc::clone(&self.file))))
    }
}

impl SyncFile for Synced {
    fn sync(&self) -> io::Result<()> {
        self.0.sync_data()
    }
}

/// `RWF_DONTCACHE` (Linux 6.14), which rustix does not name: pages that the read has to make do not outlive it.
const UNCACHED: ReadWriteFlags = ReadWriteFlags::from_bits_retain(0x80);

impl Read {
    fn flagged(&self, buffer: &mut [u8], offset: u64, flags: ReadWriteFlags) -> Result<usize, Errno> {
        let mut filled = 0;
        while filled < buffer.len() {
            let rest = &mut [IoSliceMut::new(&mut buffer[filled..])];
            match preadv2(&self.0, rest, offset + filled as u64, flags) {
                Ok(0) => break,
                Ok(count) => filled += count,
                Err(Errno::INTR) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(filled)
    }
}

impl ReadFile for Read {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let mut filled = 0;
        while filled < buffer.len() {
            match self.0.read_at(&mut buffer[filled..], offset + filled as u64) {
                Ok(0) => break,
                Ok(count) => filled += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(filled)
    }

    fn read_at_now(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        match self.flagged(buffer, offset, ReadWriteFlags::NOWAIT) {
            // Some of it is not in the page cache, or this file system cannot tell.
            Err(Errno::AGAIN | Errno::OPNOTSUPP | Errno::NOSYS | Errno::INVAL) => {
                Err(io::ErrorKind::WouldBlock.into())
            }
            done => Ok(done?),
        }
    }

    fn read_once_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        match self.flagged(buffer, offset, UNCACHED) {
            // Not this kernel, or not this file system.
            Err(Errno::OPNOTSUPP | Errno::NOSYS | Errno::INVAL) => self.read_at(buffer, offset),
            done => Ok(done?),
        }
    }

    fn len(&self) -> io::Result<u64> {
        Ok(self.0.metadata()?.len())
    }
}

fn lock(mut take: impl FnMut() -> io::Result<Option<Lock>>) -> io::Result<Box<dyn Locked>> {
    for _ in 0..LOCK_ATTEMPTS {
        if let Some(lock) = take()? {
            return Ok(Box::new(lock));
        }
    }
    Err(io::ErrorKind::WouldBlock.into())
}

impl Lock {
    /// `None` where the directory or its file has been replaced meanwhile.
    fn take(path: &Path) -> io::Result<Option<Self>> {
        let directory = File::open(path)?;
        try_directory(directory.try_lock())?;
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::CLOEXEC;
        let file = File::from(openat(&directory, "LOCK", flags, Mode::from_raw_mode(0o666))?);
        try_file(file.try_lock())?;
        Self::checked(path, directory, Some(file), false)
    }

    /// The same beside others that read. Earlier versions lock `LOCK` alone, so it is locked where it is.
    fn share(path: &Path) -> io::Result<Option<Self>> {
        let directory = File::open(path)?;
        try_directory(directory.try_lock_shared())?;
        let file = match openat(&directory, "LOCK", OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty()) {
            Ok(file) => Some(File::from(file)),
            Err(Errno::NOENT) => None,
            Err(error) => return Err(error.into()),
        };
        if let Some(file) = &file {
            try_file(file.try_lock_shared())?;
        }
        Self::checked(path, directory, file, true)
    }

    fn checked(
        path: &Path,
        directory: File,
        file: Option<File>,
        is_shared: bool,
    ) -> io::Result<Option<Self>> {
        let inside = path.join("LOCK");
        let locked = [Some((path, &directory)), file.as_ref().map(|file| (&*inside, file))];
        for (path, locked) in locked.into_iter().flatten() {
            match fs::metadata(path) {
                Ok(found) if is_same(&found, &locked.metadata()?) => {}
                Ok(_) => return Ok(None),
                Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
                Err(error) => return Err(error),
            }
        }
        Ok(Some(Self { directory, file, process: std::process::id(), is_shared }))
    }
}

/// Network file systems may lock files that are open for writing alone, and no directory is.
fn try_directory(done: Result<(), TryLockError>) -> io::Result<()> {
    match done {
        Err(TryLockError::WouldBlock) => Err(io::ErrorKind::WouldBlock.into()),
        Ok(()) | Err(TryLockError::Error(_)) => Ok(()),
    }
}

fn try_file(done: Result<(), TryLockError>) -> io::Result<()> {
    match done {
        Ok(()) => Ok(()),
        Err(TryLockError::WouldBlock) => Err(io::ErrorKind::WouldBlock.into()),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

fn is_same(one: &Metadata, other: &Metadata) -> bool {
    (one.dev(), one.ino()) == (other.dev(), other.ino())
}

impl Locked for Lock {
    fn remove(&self, name: &str) -> io::Result<()> {
        if self.is_shared {
            return Err(io::ErrorKind::ReadOnlyFilesystem.into());
        }
        Ok(unlinkat(&self.directory, name, AtFlags::empty())?)
    }

    fn open(&self, name: &str) -> io::Result<Arc<dyn ReadFile>> {
        let file = openat(&self.directory, name, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?;
        Ok(Arc::new(Read(File::from(file))))
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // A child that was forked has the same files open: it neither keeps the lock nor ends it.
        if self.process == std::process::id() {
            let _ = self.file.as_ref().map(File::unlock);
            let _ = self.directory.unlock();
        }
    }
}

#[cfg(test)]
#[path = "disk_test.rs"]
mod tests;
