//! What people see: progress on stderr, tables on stdout.

pub mod progress;
pub mod summary;
pub mod table;
