//! A campaign that has not ended, or not well.

use serde::{Deserialize, Serialize};

/// `state.json` of a journal, and a row of `unfinished_campaign`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Unfinished {
    /// Always `plumbkv.unfinished`.
    pub schema: String,
    /// Id of the run.
    pub run_id: String,
    /// Version it was to stand under.
    pub version: String,
    /// Its profile.
    pub profile: super::Profile,
    /// RFC 3339, UTC.
    pub started_at: String,
    /// How far it came.
    pub state: UnfinishedState,
    /// In a sentence.
    pub reason: String,
    /// When that was written, RFC 3339, UTC.
    pub told_at: String,
    /// Steps that are kept.
    pub steps_done: u32,
    /// Steps to be done in all.
    pub steps_total: u32,
}

/// How a campaign that is not finished stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum UnfinishedState {
    /// Broken off by an error or by a kill. Stands from the first moment on: a killed runner cannot write.
    Failed,
    /// Stopped by a signal, in order.
    Interrupted,
}

/// `schema` of a journal's `state.json`.
pub const UNFINISHED_SCHEMA: &str = "plumbkv.unfinished";
