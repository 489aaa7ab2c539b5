//! What may be done to files? Every operation of the durable store goes through here, so that a test can count them, let any of them fail, and
//! take the power away in the middle of one.
//!
//! The promises are those of a POSIX file system, and no more: what was written lasts only once its file is synced, and a name (created, renamed,
//! linked, removed) only once its directory is.

mod disk;
mod home;
mod mapped;
mod read_only;
#[cfg(test)]
mod sim;
#[cfg(test)]
mod sim_test;
#[cfg(debug_assertions)]
mod slow;
mod spared;

use crate::error::{Error, Result};
use crate::nonblocking::NonBlocking;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub(crate) use disk::Disk;
pub(crate) use home::{Home, Owner};
pub(crate) use read_only::ReadOnly;
#[cfg(test)]
pub(crate) use sim::{Fault, SimDisk, Survival};
#[cfg(test)]
#[allow(unused_imports, reason = "simulations and tests use them")]
pub(crate) use sim::{FaultCounts, FaultPlan};
#[cfg(debug_assertions)]
pub use slow::{slow_disk, slow_disk_syncs};
pub(crate) use spared::{Spared, is_exhausted, none_left};

/// The file system of the machine.
pub(crate) fn disk() -> Arc<dyn Vfs> {
    #[cfg(debug_assertions)]
    return slow::disk();
    #[cfg(not(debug_assertions))]
    return Arc::new(Disk);
}

/// A file system. Paths are used as they are given.
pub(crate) trait Vfs: Send + Sync + 'static {
    /// Makes a directory whose parent is there. Fine where it is there already. Its name lasts once its parent is synced.
    fn create_dir(&self, path: &Path) -> io::Result<()>;

    /// A new, empty file; an error where there is one.
    fn create(&self, path: &Path) -> io::Result<Box<dyn WriteFile>>;

    /// A file that is there, to be written anew from its beginning; its old bytes stay until they are overwritten.
    fn reuse(&self, path: &Path) -> io::Result<Box<dyn WriteFile>>;

    /// A file that is there, to be read.
    fn open(&self, path: &Path) -> io::Result<Arc<dyn ReadFile>>;

    /// Gives a file another name, in place of any file that has it: at one moment, even for a power cut.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;

    /// Gives a file a second name; an error where there is one.
    fn link(&self, from: &Path, to: &Path) -> io::Result<()>;

    /// Takes a name away.
    fn remove(&self, path: &Path) -> io::Result<()>;

    /// Names of the files in a directory, in no order.
    fn list(&self, path: &Path) -> io::Result<Vec<String>>;

    /// Makes the names in a directory last. Where this fails it is unknown which of them do, and a later
    /// success says nothing of those. So the error is of no kind that passes: see [`names_unknown`].
    fn sync_dir(&self, path: &Path) -> io::Result<()>;

    /// Locks a directory for this process alone until the guard is dropped, and makes its file `LOCK`
    /// where that is missing; [`io::ErrorKind::WouldBlock`] where another process has it.
    fn lock(&self, directory: &Path) -> io::Result<Box<dyn Locked>>;

    /// Locks a directory against processes that write there, and beside others that read; makes no file.
    /// [`io::ErrorKind::WouldBlock`] where another process writes.
    fn lock_shared(&self, directory: &Path) -> io::Result<Box<dyn Locked>>;

    /// 64 random bits that no client can predict.
    fn random(&self) -> io::Result<u64>;

    /// Bytes of memory that copies of files may lie in, as far as is known: this process has to live in them, too.
    fn memory(&self) -> Option<u64> {
        None
    }
}

/// A file that one owner writes.
pub(crate) trait WriteFile: Send {
    /// Hands bytes to the system and says how many it took: at least one, where there is one.
    fn write_at(&mut self, bytes: &[u8], offset: u64) -> io::Result<usize>;

    /// Makes what was written last. Where it fails, what was written since the last success may be gone, whatever a second
    /// call would say.
    fn sync(&mut self) -> io::Result<()>;

    /// Lets later writes within a piece go without calls to the system: it begins at a multiple of 4 KiB, and all of it has been written, perhaps by an earlier owner. False where that
    /// cannot be, or part of it would have to be read from the disk first. Pieces before it are forgotten in any case.
    fn map(&mut self, offset: u64, len: usize) -> bool;

    /// What syncs the file while its owner goes on writing.
    fn syncer(&self) -> io::Result<Arc<dyn SyncFile>>;
}

/// Syncs a file that somebody else writes.
pub(crate) trait SyncFile: Send + Sync {
    /// Makes what was written before the call last; a failure means what it means in [`WriteFile::sync`].
    fn sync(&self) -> io::Result<()>;
}

/// A file that many read.
pub(crate) trait ReadFile: Send + Sync {
    /// Fills the buffer from an offset as far as the file goes, and says how far that is.
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize>;

    /// As [`read_at`](Self::read_at), but where that would have to wait for the device, [`io::ErrorKind::WouldBlock`].
    fn read_at_now(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        self.read_at(buffer, offset)
    }

    /// As [`read_at`](Self::read_at), of what is not expected to be read again soon: where the system can do so, it keeps no copy of what it had none of.
    fn read_once_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        self.read_at(buffer, offset)
    }

    /// Bytes.
    fn len(&self) -> io::Result<u64>;
}

/// Holds a lock on a directory.
pub(crate) trait Locked: Send + Sync {
    /// Removes a file from the directory that was locked, wherever that is by now.
    fn remove(&self, name: &str) -> io::Result<()>;

    /// Opens a file of that directory to be read.
    fn open(&self, name: &str) -> io::Result<Arc<dyn ReadFile>>;
}

/// The path from the root on, so that the store stays where it is when the process changes its working
/// directory.
pub(crate) fn absolute(path: &Path) -> Result<PathBuf> {
    std::path::absolute(path).map_err(|error| Error::io(path, "find the absolute path of", &error))
}

/// Makes a directory, and before it those above it that are missing, whose names last then.
pub(crate) fn create_dirs(vfs: &dyn Vfs, path: &Path) -> io::Result<()> {
    match (vfs.create_dir(path), path.parent()) {
        (Err(error), Some(above)) if error.kind() == io::ErrorKind::NotFound => {
            create_dirs(vfs, above)?;
            sync_name(vfs, above)?;
            vfs.create_dir(path)
        }
        (done, _) => done,
    }
}

/// Whether there is a file.
pub(crate) fn exists(vfs: &dyn Vfs, path: &Path) -> Result<bool> {
    match vfs.open(path) {
        Ok(_) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(Error::io(path, "open", &error)),
    }
}

/// Makes the name of a directory last, and with it all that is in there. Where the directory above may not be read it was not this process that made this one,
/// and there is nothing to be done.
pub(crate) fn sync_name(vfs: &dyn Vfs, directory: &Path) -> io::Result<()> {
    let above =
        directory.parent().map(|above| if above.as_os_str().is_empty() { Path::new(".") } else { above });
    match above.map_or(Ok(()), |above| vfs.sync_dir(above)) {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => Ok(()),
        done => done,
    }
}

/// The error of a sync of a directory that failed. A lack of room usually passes, but not here: what
/// could not be written may count as written from then on.
pub(crate) fn names_unknown(error: io::Error) -> io::Error {
    match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => io::Error::other(error.to_string()),
        _ => error,
    }
}

/// Writes all of it, in as many pieces as the system takes.
pub(crate) fn write_all_at(file: &mut dyn WriteFile, mut bytes: &[u8], mut offset: u64) -> io::Result<()> {
    while !bytes.is_empty() {
        let written = file.write_at(bytes, offset)?;
        if written == 0 {
            return Err(io::ErrorKind::WriteZero.into());
        }
        bytes = &bytes[written..];
        offset += written as u64;
    }
    Ok(())
}

/// Writes a file over itself and syncs it. A sync alone says nothing of pages that an earlier, failed sync
/// has dropped: the system shows them and holds them for written.
pub(crate) fn write_again(vfs: &dyn Vfs, path: &Path) -> io::Result<()> {
    let (old, mut new) = (vfs.open(path)?, vfs.reuse(path)?);
    let (len, mut buffer) = (old.len()?, vec![0; 1 << 20]);
    let mut offset = 0;
    while offset < len {
        let filled = old.read_at(&mut buffer, offset)?;
        if filled == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        write_all_at(&mut *new, &buffer[..filled], offset)?;
        offset += filled as u64;
    }
    new.sync()
}

/// Fills the whole buffer; [`io::ErrorKind::UnexpectedEof`] where the file ends before, and [`io::ErrorKind::WouldBlock`] where the thread would have to wait and does not.
pub(crate) fn read_exact_at(file: &dyn ReadFile, buffer: &mut [u8], offset: u64) -> io::Result<()> {
    let filled =
        if NonBlocking::is_on() { file.read_at_now(buffer, offset)? } else { file.read_at(buffer, offset)? };
    whole(filled, buffer)
}

/// The same by [`ReadFile::read_once_at`], for a thread that may wait.
pub(crate) fn read_exact_once_at(file: &dyn ReadFile, buffer: &mut [u8], offset: u64) -> io::Result<()> {
    let filled = file.read_once_at(buffer, offset)?;
    whole(filled, buffer)
}

fn whole(filled: usize, buffer: &[u8]) -> io::Result<()> {
    if filled < buffer.len() { Err(io::ErrorKind::UnexpectedEof.into()) } else { Ok(()) }
}
