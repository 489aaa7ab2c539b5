//! What brings back the memtable? A log: every batch is in it before it is acknowledged, so that no process that ends, however it ends, takes one along.

mod reader;
mod record;
mod tag;
#[cfg(test)]
mod wal_test;
mod writer;

pub(crate) use reader::{Ended, read, read_retagged};
pub(crate) use record::{LogRecord, MAX_PAYLOAD, Write, put_write, writes};
pub(crate) use tag::tag;
pub(crate) use writer::{LogWriter, PendingSync};

#[cfg(test)]
pub(crate) use record::put_record;

#[cfg(feature = "parts")]
pub(crate) use record::parse;
