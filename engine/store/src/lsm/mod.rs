//! The durable store: a log, a memtable, and tables in levels.

mod checksum;
mod coding;
mod compaction;
mod iter;
mod manifest;
mod memtable;
mod record;
mod table;
mod tree;
mod vfs;
mod wal;
