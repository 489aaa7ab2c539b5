//! Which tables and logs are the store? The manifest says so: a log of edits, each synced before anything depends on it.

mod edit;
mod log;
#[cfg(test)]
mod manifest_test;
mod version;

pub(crate) use edit::{Edit, TableFacts};
pub(crate) use log::{CURRENT, CURRENT_NEW, Manifest, Recovered};
pub(crate) use version::{LEVELS, TableHandle, Version};
