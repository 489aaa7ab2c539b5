//! How does a batch get into the log? Into a buffer, from there to the system in one write for all that wait, and to the disk when it is synced.
//!
//! A log of writes is filled with zeros a step ahead of its records, and the step is mapped: then a record is copied into the page cache without a call to the system, and a sync has
//! neither blocks to take nor a length to write down. Zeros are no record, so to a reader the log ends before them.

use super::record::{LogRecord, padding, put_record, whole_header};
use crate::lsm::record::Sequence;
use crate::lsm::vfs::{SyncFile, WriteFile, write_all_at};
use std::io;
use std::sync::Arc;

/// Buffers above it are given back after use.
const KEPT: usize = 1 << 20;

/// By so much a log is filled ahead at first, and at last: in between, by what it holds. Short logs stay short. Tests with short logs see all of it.
const FIRST_STEP: u64 = 4 << 10;
const LAST_STEP: u64 = if cfg!(test) { 2 * FIRST_STEP } else { 512 << 10 };

/// Steps from here on are mapped. A write that is as long needs no step: to mark pages as written one by one takes longer than to hand all of them to the system, which has them in
/// large folios.
const MAPPED_STEP: u64 = LAST_STEP / 8;

const PAGE: u64 = 4 << 10;

static ZEROS: [u8; LAST_STEP as usize] = [0; LAST_STEP as usize];

/// Writes one log.
pub(crate) struct LogWriter {
    file: Box<dyn WriteFile>,
    tag: u64,
    /// Bytes handed to the system.
    written: u64,
    /// Bytes that last.
    synced: u64,
    /// Filled up to here. `None` in a log that is not filled ahead.
    filled: Option<u64>,
    /// The file held an earlier log.
    is_reused: bool,
    /// Steps may be mapped.
    may_be_mapped: bool,
    buffer: Vec<u8>,
    /// Something failed, and nobody knows what the file holds.
    broken: bool,
}

/// A sync that was begun.
pub(crate) struct PendingSync {
    file: Arc<dyn SyncFile>,
    tag: u64,
    written: u64,
}

impl PendingSync {
    pub(crate) fn sync(&self) -> io::Result<()> {
        self.file.sync()
    }
}

/// A file that could not be made, or may not be.
struct NoFile;

impl WriteFile for NoFile {
    fn write_at(&mut self, _: &[u8], _: u64) -> io::Result<usize> {
        Err(io::ErrorKind::NotFound.into())
    }

    fn sync(&mut self) -> io::Result<()> {
        Err(io::ErrorKind::NotFound.into())
    }

    fn map(&mut self, _: u64, _: usize) -> bool {
        false
    }

    fn syncer(&self) -> io::Result<Arc<dyn SyncFile>> {
        Err(io::ErrorKind::NotFound.into())
    }
}

impl LogWriter {
    /// A log with this tag, from the beginning of a file that is new or used again.
    pub(crate) fn new(file: Box<dyn WriteFile>, tag: u64) -> Self {
        Self {
            file,
            tag,
            written: 0,
            synced: 0,
            filled: None,
            is_reused: false,
            may_be_mapped: true,
            buffer: Vec::new(),
            broken: false,
        }
    }

    /// No log: there is no file yet, and every call is refused.
    pub(crate) fn absent() -> Self {
        Self { broken: true, ..Self::new(Box::new(NoFile), 0) }
    }

    /// The same for a log of many records, which is filled ahead.
    pub(crate) fn filled_ahead(file: Box<dyn WriteFile>, tag: u64) -> Self {
        Self { filled: Some(0), ..Self::new(file, tag) }
    }

    /// The same in a file that held an earlier log: as far as that is in the page cache, it takes the place of zeros.
    pub(crate) fn reused(file: Box<dyn WriteFile>, tag: u64) -> Self {
        Self { is_reused: true, ..Self::filled_ahead(file, tag) }
    }

    /// The same log, written by calls where each record `is_synced` before the next: a sync marks the pages of a mapping as
    /// clean, so each record would take a fault, and each sync interrupt the other CPUs.
    pub(crate) fn synced_each_time(self, is_synced: bool) -> Self {
        let may_be_mapped = !is_synced;
        Self { may_be_mapped, is_reused: self.is_reused && may_be_mapped, ..self }
    }

    /// Gives the records that are added from now on another tag.
    pub(crate) fn retag(&mut self, tag: u64) {
        self.tag = tag;
    }

    /// Appends a batch to what the next [`write`](Self::write) hands over.
    pub(crate) fn add(&mut self, sequence: Sequence, payload: &[u8]) {
        let after_sync = self.is_all_synced();
        put_record(&mut self.buffer, self.tag, &LogRecord { sequence, after_sync, payload });
    }

    /// Whether all before the next record lasts.
    fn is_all_synced(&self) -> bool {
        self.buffer.is_empty() && self.synced == self.written
    }

    /// Hands what was added to the system: then it survives the process.
    pub(crate) fn write(&mut self) -> io::Result<()> {
        self.write_with(&[])
    }

    /// Hands a batch to the system after what was added before. It is not copied.
    pub(crate) fn write_long(&mut self, sequence: Sequence, payload: &[u8]) -> io::Result<()> {
        self.look()?;
        let record = LogRecord { sequence, after_sync: self.is_all_synced(), payload };
        self.buffer.extend_from_slice(&whole_header(self.tag, &record));
        self.write_with(payload)
    }

    /// Writes the buffer, and the payload that belongs behind it.
    fn write_with(&mut self, payload: &[u8]) -> io::Result<()> {
        self.look()?;
        let payload_at = self.written + self.buffer.len() as u64;
        let padding = padding(payload.len());
        let padding_at = payload_at + payload.len() as u64;
        let end = padding_at + padding.len() as u64;
        let is_filled = self.filled.is_none_or(|filled| end <= filled);
        let done = if is_filled { Ok(()) } else { self.fill(end) }
            .and_then(|()| write_all_at(&mut *self.file, &self.buffer, self.written))
            .and_then(|()| write_all_at(&mut *self.file, payload, payload_at))
            .and_then(|()| write_all_at(&mut *self.file, padding, padding_at));
        self.broken = done.is_err();
        self.written = end;
        if self.buffer.capacity() > KEPT {
            self.buffer = Vec::new();
        }
        self.buffer.clear();
        done
    }

    /// Fills the log up to a step behind what is to be written, or leaves that to a write that is long.
    #[cold]
    fn fill(&mut self, end: u64) -> io::Result<()> {
        let filled = self.filled.unwrap_or(0);
        if end - self.written >= MAPPED_STEP {
            self.filled = Some(end);
            return Ok(());
        }
        let begin = self.written / PAGE * PAGE;
        if self.is_reused {
            let upto = (end + LAST_STEP).next_multiple_of(PAGE);
            // Where one piece is not in the page cache the others will hardly be.
            self.is_reused = self.file.map(begin, (upto - begin) as usize);
            if self.is_reused {
                self.filled = Some(upto);
                return Ok(());
            }
        }
        let step = self.written.next_power_of_two().clamp(FIRST_STEP, LAST_STEP);
        let upto = (end + step).next_multiple_of(PAGE);
        let mut at = filled;
        while at < upto {
            let count = (upto - at).min(LAST_STEP);
            write_all_at(&mut *self.file, &ZEROS[..count as usize], at)?;
            at += count;
        }
        if step >= MAPPED_STEP && self.may_be_mapped {
            self.file.map(begin, (upto - begin) as usize);
        }
        self.filled = Some(upto);
        Ok(())
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
        Ok(Some(PendingSync { file: self.file.syncer()?, tag: self.tag, written: self.written }))
    }

    /// Takes notice of a sync that was done meanwhile, perhaps of an earlier log.
    pub(crate) fn end_sync(&mut self, done: &PendingSync) {
        if done.tag == self.tag {
            self.synced = self.synced.max(done.written);
        }
    }

    /// Adds a mark that all writes before this one last, in whichever log they are: without it, what is missing looks like what was never written.
    pub(crate) fn mark(&mut self, next: Sequence) {
        put_record(&mut self.buffer, self.tag, &LogRecord { sequence: next, after_sync: true, payload: &[] });
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

    /// Whether a write or a sync failed.
    pub(crate) fn is_broken(&self) -> bool {
        self.broken
    }

    fn look(&self) -> io::Result<()> {
        if self.broken {
            return Err(io::Error::other("an earlier write to this log failed"));
        }
        Ok(())
    }
}
