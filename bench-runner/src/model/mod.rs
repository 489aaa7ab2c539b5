//! What travels and is stored: the types of a run's JSON record, of its SQLite rows and of the pages.
//!
//! JSON Schema and the site's TypeScript types are generated from here (`bench-runner contracts`), so a
//! field is spelled once. Names carry their unit. Raw things (histograms, windows, values per trial) are
//! stored; a [`Measurement`] is derived from them and can be recomputed.

mod bless;
mod calibration;
mod cell;
mod claim;
mod disturbance;
mod environment;
mod gate;
mod index;
pub mod metric;
mod run;
mod source;
mod trial;
mod unfinished;
mod version;

pub use bless::*;
pub use calibration::*;
pub use cell::*;
pub use claim::*;
pub use disturbance::{DISTURBED_CORES, WAITING};
pub use environment::*;
pub use gate::*;
pub use index::*;
pub use run::*;
pub use source::*;
pub use trial::*;
pub use unfinished::*;
pub use version::version_key;

/// Version of the JSON records written by this build; older ones are migrated on reading.
pub const SCHEMA_VERSION: u32 = 3;
/// `schema` of `run.json`.
pub const RUN_SCHEMA: &str = "plumbkv.run";
/// `schema` of a scenario's file.
pub const SCENARIO_SCHEMA: &str = "plumbkv.scenario";
/// `schema` of `index.json`.
pub const INDEX_SCHEMA: &str = "plumbkv.index";
