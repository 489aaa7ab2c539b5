//! Events of a durable store: flushes, merges, write stalls and failures, for the log and the metrics of
//! the program.

use crate::error::Error;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// A function of the program that gets every event.
pub(crate) type OnEvent = Arc<dyn Fn(&Event) + Send + Sync>;

/// What a durable store has done or met; [`Options::on_event`](crate::Options::on_event) says who gets it.
/// Its `Display` is one line for a log.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Event {
    /// When the store was opened, its logs had writes that were in no table.
    #[non_exhaustive]
    LogRecovered {
        /// Writes that came back; they are in tables now, or in memory where there was no room.
        writes: u64,
        /// Writes behind a gap, where a power cut took an earlier write that had not been synced. They were
        /// dropped, because what comes back is a prefix of what was written.
        dropped_writes: u64,
    },
    /// A full memtable is being written to a table.
    #[non_exhaustive]
    FlushBegun {
        /// Bytes of the memtable.
        bytes: u64,
    },
    /// The flush is over.
    #[non_exhaustive]
    FlushEnded {
        /// Bytes of the tables that were written.
        bytes: u64,
        /// How many tables those are.
        tables: usize,
        /// How long it took.
        duration: Duration,
        /// Why it failed, if it did; it is tried again when there was no room.
        error: Option<Error>,
    },
    /// Tables of one level are being merged into another. A table that moves to another level unread is no
    /// merge.
    #[non_exhaustive]
    MergeBegun {
        /// The level that the tables come from, 0 for the newest.
        level: usize,
        /// The level that the result goes to.
        target: usize,
        /// Tables that are merged, those of the target included.
        tables: usize,
        /// Their bytes.
        bytes: u64,
    },
    /// The merge is over.
    #[non_exhaustive]
    MergeEnded {
        /// The level that the tables came from.
        level: usize,
        /// The level that the result went to.
        target: usize,
        /// Bytes of the tables that were merged.
        bytes_read: u64,
        /// Bytes of the tables that were written.
        bytes_written: u64,
        /// How long it took.
        duration: Duration,
        /// Why it failed, if it did: [`Closed`](Error::Closed) where the program ended it, or closed the store.
        error: Option<Error>,
    },
    /// Writes wait.
    #[non_exhaustive]
    StallBegun {
        /// For what.
        reason: StallReason,
    },
    /// Writes go on, or are refused.
    #[non_exhaustive]
    StallEnded {
        /// What they waited for.
        reason: StallReason,
        /// How long they did.
        duration: Duration,
    },
    /// There is no room on the disk: writes are refused until there is.
    #[non_exhaustive]
    NoRoom {
        /// The error that they get.
        error: Error,
    },
    /// There is room again: writes are taken.
    Resumed,
    /// A failure that stays: writes are refused until the store is opened again.
    #[non_exhaustive]
    Failed {
        /// The error that they get.
        error: Error,
    },
}

/// What writes wait for in a stall.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum StallReason {
    /// A flush: the memtables take all the memory that they may have.
    Memtables,
    /// A merge: level 0 has as many tables as it may have.
    Level0,
}

impl fmt::Display for StallReason {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::Memtables => "a flush",
            Self::Level0 => "a merge of level 0",
        })
    }
}

/// " failed: reason", where it did.
struct Failure<'a>(&'a Option<Error>);

impl fmt::Display for Failure<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.as_ref().map_or(Ok(()), |error| write!(out, ", and failed: {error}"))
    }
}

impl fmt::Display for Event {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::LogRecovered { writes, dropped_writes } => {
                write!(out, "the logs had {writes} writes, and {dropped_writes} behind a lost one")
            }
            Self::FlushBegun { bytes } => write!(out, "flush of {bytes} bytes"),
            Self::FlushEnded { bytes, tables, duration, error } => {
                let ms = duration.as_millis();
                write!(out, "flush took {ms} ms: {tables} tables, {bytes} bytes{}", Failure(error))
            }
            Self::MergeBegun { level, target, tables, bytes } => {
                write!(out, "merge of {tables} tables, {bytes} bytes, from level {level} to {target}")
            }
            Self::MergeEnded { level, target, bytes_read, bytes_written, duration, error } => {
                let ms = duration.as_millis();
                write!(out, "merge from level {level} to {target} took {ms} ms: {bytes_read} bytes read, ")?;
                write!(out, "{bytes_written} written{}", Failure(error))
            }
            Self::StallBegun { reason } => write!(out, "writes wait for {reason}"),
            Self::StallEnded { reason, duration } => {
                write!(out, "writes have waited {} ms for {reason}", duration.as_millis())
            }
            Self::NoRoom { error } => write!(out, "writes are refused until there is room: {error}"),
            Self::Resumed => out.write_str("there is room again, and writes are taken"),
            Self::Failed { error } => {
                write!(out, "writes are refused until the store is opened again: {error}")
            }
        }
    }
}
