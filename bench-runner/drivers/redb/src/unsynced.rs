//! How does a commit of redb reach the system, but not the device? By a file whose syncs are left out.
//!
//! `Durability::None` would be quicker still, but keeps commits in the process: one that is killed loses them. So that an acknowledged write means the same
//! in every engine, commits are made as durable ones and only the system's call is missing.

use redb::StorageBackend;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A file that is synced only on call.
#[derive(Debug)]
pub(crate) struct Unsynced {
    file: File,
    /// While set, syncs are done.
    syncs: Arc<AtomicBool>,
}

impl Unsynced {
    /// The file, and whether it is to sync: not before that is set.
    pub(crate) fn new(file: File) -> (Self, Arc<AtomicBool>) {
        let syncs = Arc::new(AtomicBool::new(false));
        (Self { file, syncs: Arc::clone(&syncs) }, syncs)
    }
}

impl StorageBackend for Unsynced {
    fn len(&self) -> io::Result<u64> {
        Ok(self.file.metadata()?.len())
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.file.read_exact_at(out, offset)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.file.set_len(len)
    }

    fn sync_data(&self) -> io::Result<()> {
        if self.syncs.load(Ordering::Relaxed) { self.file.sync_data() } else { Ok(()) }
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.file.write_all_at(data, offset)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_where_they_were_written_and_a_length_can_be_set() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        let file = File::options().read(true).write(true).create_new(true).open(&path).unwrap();
        let (backend, syncs) = Unsynced::new(file);
        backend.set_len(10).unwrap();
        backend.write(3, b"abc").unwrap();
        backend.sync_data().unwrap();
        syncs.store(true, Ordering::Relaxed);
        backend.sync_data().unwrap();
        let mut read = [9; 5];
        backend.read(2, &mut read).unwrap();
        assert_eq!((&read, backend.len().unwrap()), (b"\0abc\0", 10));
        backend.read(8, &mut read).unwrap_err();
        assert_eq!(std::fs::read(path).unwrap(), b"\0\0\0abc\0\0\0\0");
    }
}
