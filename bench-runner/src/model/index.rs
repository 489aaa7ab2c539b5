//! `index.json`: what `results/` holds, so that a reader need not list folders.

use super::{Machine, Profile, RunState, Tool};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use ts_rs::TS;

/// `results/index.json` (committed versions) and `results/local/index.json` (this machine's own).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(deny_unknown_fields)]
pub struct Index {
    /// Always `plumbkv.index`.
    pub schema: String,
    /// Version of this record's shape.
    pub schema_version: u32,
    /// The program that wrote it.
    pub tool: Tool,
    /// Newest version last; `local` stands alone in its own index.
    pub versions: Vec<IndexVersion>,
}

/// One published version.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(deny_unknown_fields)]
pub struct IndexVersion {
    /// `0.1.0`, or `local`.
    pub version: String,
    /// Machines with a run of it.
    pub machines: Vec<IndexMachine>,
}

/// One machine's runs of a version.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(deny_unknown_fields)]
pub struct IndexMachine {
    /// Key in `results/machines.toml`, or `unknown-<fingerprint>`.
    pub key: String,
    /// The machine as its newest run read it.
    pub machine: Machine,
    /// Oldest first.
    pub runs: Vec<IndexRun>,
}

/// One run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(deny_unknown_fields)]
pub struct IndexRun {
    /// The run's id, and its folder.
    pub id: String,
    /// RFC 3339, UTC.
    pub started_at: String,
    /// Profile of the run.
    pub profile: Profile,
    /// Whether the plan was gone through.
    pub state: RunState,
    /// `run.json` first, then one per scenario, then the histograms; paths from the index's own folder.
    pub files: Vec<IndexFile>,
}

/// A file of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(deny_unknown_fields)]
pub struct IndexFile {
    /// `0.1.0/<machine>/<run-id>/wire-single.json.zst`.
    pub path: String,
    /// SHA-256, hexadecimal.
    pub sha256: String,
    /// Size, bytes.
    #[ts(type = "number")]
    pub bytes: u64,
}
