//! The measurement: scenarios in, checked figures out.
//!
//! `scenario` → `plan` → `target` + `load` + `measure` → `model` → `export` (JSON) and `db` (SQLite) → `output`.

pub mod campaign;
pub mod claims;
pub mod cli;
pub mod compare;
pub mod db;
pub mod environment;
pub mod export;
pub mod floor;
pub mod gate;
pub mod load;
pub mod measure;
pub mod model;
pub mod output;
pub mod plan;
pub mod release;
pub mod scenario;
pub mod stats;
pub mod target;
