//! Losses that were accepted, each with its reason and until when.

use super::Tool;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use ts_rs::TS;

/// `schema` of `results/blessings.json`.
pub const BLESSINGS_SCHEMA: &str = "plumbkv.blessings";
/// Version of it written by this build.
pub const BLESSINGS_SCHEMA_VERSION: u32 = 1;

/// `results/blessings.json`: every loss that was accepted, oldest first. None is ever taken out: an expired one stays as history.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(deny_unknown_fields)]
pub struct Blessings {
    /// Always [`BLESSINGS_SCHEMA`].
    pub schema: String,
    /// [`BLESSINGS_SCHEMA_VERSION`].
    pub schema_version: u32,
    /// Program that wrote it last.
    pub tool: Tool,
    /// In order of their dates.
    pub blessings: Vec<Blessing>,
}

/// One loss of one metric of one load.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(deny_unknown_fields)]
pub struct Blessing {
    /// Key of the cell.
    pub scenario: String,
    /// For people.
    pub label: String,
    /// As in [`super::Measurement::metric`].
    pub metric: String,
    /// head / base, as the gate found it.
    pub ratio: f64,
    /// The gate that found it.
    pub gate: String,
    /// Name of the machine it was found on.
    pub machine_key: String,
    /// The commit that brought it; empty where programs were compared.
    pub commit: String,
    /// Number of its pull request. Absent: there was none.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub pull: Option<u32>,
    /// What is gained for the loss.
    pub reason: String,
    /// Day, UTC, as 2026-11-30.
    pub blessed_on: String,
    /// From this day on it excuses nothing.
    pub expires_on: String,
}

impl Blessing {
    /// Whether it still excuses a loss on a day, written as its own dates are.
    #[must_use]
    pub fn holds_on(&self, day: &str) -> bool {
        self.blessed_on.as_str() <= day && day < self.expires_on.as_str()
    }
}
