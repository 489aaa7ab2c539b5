//! What people see: progress on stderr, tables and documents on stdout.

pub mod escape;
pub mod gate;
pub mod progress;
pub mod spark;
pub mod summary;
pub mod table;
