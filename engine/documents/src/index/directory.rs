//! Files of an index: tantivy's memory maps, and a checksum for the two files that tantivy leaves without.
//!
//! Tantivy ends each file of a segment with a CRC-32. `meta.json` and `.managed.json`, which say what
//! the index consists of, have none: a flipped digit there would be a wrong answer.

use std::io;
use std::path::Path;
use std::sync::Arc;

use tantivy::Directory;
use tantivy::directory::error::{DeleteError, LockError, OpenReadError, OpenWriteError};
use tantivy::directory::{
    DirectoryLock, FileHandle, Lock, MmapDirectory, WatchCallback, WatchHandle, WritePtr,
};
use xxhash_rust::xxh3::xxh3_64;

use crate::error::{Error, Result};

const CHECKSUM_BYTES: usize = 8;

#[derive(Clone, Debug)]
pub(super) struct CheckedDirectory(MmapDirectory);

impl CheckedDirectory {
    pub(super) fn open(folder: &Path) -> Result<Self> {
        MmapDirectory::open(folder).map(Self).map_err(|error| Error::storage(error.to_string()))
    }
}

impl Directory for CheckedDirectory {
    fn get_file_handle(&self, path: &Path) -> Result<Arc<dyn FileHandle>, OpenReadError> {
        self.0.get_file_handle(path)
    }

    fn delete(&self, path: &Path) -> Result<(), DeleteError> {
        self.0.delete(path)
    }

    fn exists(&self, path: &Path) -> Result<bool, OpenReadError> {
        self.0.exists(path)
    }

    fn open_write(&self, path: &Path) -> Result<WritePtr, OpenWriteError> {
        self.0.open_write(path)
    }

    fn atomic_read(&self, path: &Path) -> Result<Vec<u8>, OpenReadError> {
        let mut bytes = self.0.atomic_read(path)?;
        let checked = bytes.split_last_chunk::<CHECKSUM_BYTES>();
        let is_whole = checked.is_some_and(|(data, sum)| xxh3_64(data).to_be_bytes() == *sum);
        if !is_whole {
            let error = io::Error::new(io::ErrorKind::InvalidData, "the checksum does not match");
            return Err(OpenReadError::wrap_io_error(error, path.to_path_buf()));
        }
        bytes.truncate(bytes.len() - CHECKSUM_BYTES);
        Ok(bytes)
    }

    fn atomic_write(&self, path: &Path, data: &[u8]) -> io::Result<()> {
        self.0.atomic_write(path, &[data, &xxh3_64(data).to_be_bytes()].concat())
    }

    fn sync_directory(&self) -> io::Result<()> {
        self.0.sync_directory()
    }

    fn acquire_lock(&self, lock: &Lock) -> Result<DirectoryLock, LockError> {
        self.0.acquire_lock(lock)
    }

    fn watch(&self, callback: WatchCallback) -> tantivy::Result<WatchHandle> {
        self.0.watch(callback)
    }
}
