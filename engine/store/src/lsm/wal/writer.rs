//! How does a batch get into the log? Into a buffer, from there to the system in one write for all that wait, and to the disk when it is synced.

use super::record::{LogRecord, put_record};
use crate::lsm::record::Sequence;
use crate::lsm::vfs::{SyncFile, WriteFile, write_all_at};
use std::io;
use std::sync::Arc;

/// Buffers above it are given back after use.
const KEPT: usize = 1 << 20;

/// Writes one log.
pub(crate) struct LogWriter {
    file: Box<dyn WriteFile>,
    log: u64,
    /// Bytes handed to the system.
    written: u64,
    /// Bytes that last.
    synced: u64,
    buffer: Vec<u8>,
    /// Something failed, and nobody knows what the file holds.
    broken: bool,
}

/// A sync that was begun.
pub(crate) struct PendingSync {
    file: Arc<dyn SyncFile>,
    log: u64,
    written: u64,
}

impl PendingSync {
    pub(crate) fn sync(&self) -> io::Result<()> {
        self.file.sync()
    }
}

impl LogWriter {
    /// A log with this number, from the beginning of a file that is new or used again.
    pub(crate) fn new(file: Box<dyn WriteFile>, log: u64) -> Self {
        Self { file, log, written: 0, synced: 0, buffer: Vec::new(), broken: false }
    }

    /// Appends a batch to what the next [`write`](Self::write) hands over.
    pub(crate) fn add(&mut self, sequence: Sequence, payload: &[u8]) {
        let after_sync = self.buffer.is_empty() && self.synced == self.written;
        put_record(&mut self.buffer, self.log, &LogRecord { sequence, after_sync, payload });
    }

    /// Hands what was added to the system: then it survives the process.
    pub(crate) fn write(&mut self) -> io::Result<()> {
        self.look()?;
        let done = write_all_at(&mut *self.file, &self.buffer, self.written);
        self.broken = done.is_err();
        self.written += self.buffer.len() as u64;
        if self.buffer.capacity() > KEPT {
            self.buffer = Vec::new();
        }
        self.buffer.clear();
        done
    }

    /// Makes what was written last. After a failure nothing does: what the system still had may be gone.
    pub(crate) fn sync(&mut self) -> io::Result<()> {
        self.look()?;
        if self.synced == self.written {
            return Ok(());
        }
        let done = self.file.sync();
        self.broken = done.is_err();
        if done.is_ok() {
            self.synced = self.written;
        }
        done
    }

    /// What is to be synced, while writing goes on. `None`, where nothing is.
    pub(crate) fn begin_sync(&self) -> io::Result<Option<PendingSync>> {
        self.look()?;
        if self.synced == self.written {
            return Ok(None);
        }
        Ok(Some(PendingSync { file: self.file.syncer()?, log: self.log, written: self.written }))
    }

    /// Takes notice of a sync that was done meanwhile, perhaps of an earlier log.
    pub(crate) fn end_sync(&mut self, done: &PendingSync) {
        if done.log == self.log {
            self.synced = self.synced.max(done.written);
        }
    }

    /// Adds a mark that all writes before this one last, in whichever log they are: without it, what is missing looks like what was never written.
    pub(crate) fn mark(&mut self, next: Sequence) {
        put_record(&mut self.buffer, self.log, &LogRecord { sequence: next, after_sync: true, payload: &[] });
    }

    /// Syncs, and leaves a mark that all of it was. Earlier logs have been synced.
    pub(crate) fn end(&mut self, next: Sequence) -> io::Result<()> {
        self.sync()?;
        self.mark(next);
        self.write()?;
        self.sync()
    }

    /// Bytes in the log.
    pub(crate) fn len(&self) -> u64 {
        self.written + self.buffer.len() as u64
    }

    fn look(&self) -> io::Result<()> {
        if self.broken {
            return Err(io::Error::other("an earlier write to this log failed"));
        }
        Ok(())
    }
}
