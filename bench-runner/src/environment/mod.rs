//! The machine and everything else that can move a figure, read from /proc and /sys.
//!
//! [`Reader`] reads below a root folder, so that tests hand it a tree of fixture files.

mod advice;
mod disk;
mod fitness;
mod machine;
mod reader;
mod registry;
mod source;
mod system;

pub use advice::advice;
pub use disk::{DiskSync, disk_sync, filesystem};
pub use fitness::{Facts, Finding, Fitness, is_fit, judge};
pub use machine::{hypervisor_vendor, machine};
pub use reader::Reader;
pub use registry::{Known, Registry};
pub use source::{engine_tree, source};
pub use system::system;

#[cfg(test)]
mod fitness_test;
#[cfg(test)]
mod fixture_test;
