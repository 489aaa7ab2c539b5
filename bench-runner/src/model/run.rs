//! `run.json` and `<scenario>.json.zst`: one sitting on one machine, and one scenario of it.

use super::{Cell, Component, Environment, Machine, Ratio, Source, TargetRecord, Tool};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use ts_rs::TS;

/// How long and how often each cell was measured, shortest first.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema, TS,
)]
#[serde(rename_all = "snake_case")]
pub enum Profile {
    /// One trial of 0.1 s: shows that everything runs. Never published.
    Smoke,
    /// Three trials of 1 s: a range, no interval; passes no verdict on a rival.
    Quick,
    /// Nine trials where a claim is judged, three or five elsewhere, each as short as its spread
    /// allows: the profile of a release. Absent before 0.5.1.
    Release,
    /// Nine trials of 3 s: medians with exact intervals.
    Full,
}

impl Profile {
    /// Whether its trials are long enough that one of them can meet a bound for every trial.
    #[must_use]
    pub fn is_whole(self) -> bool {
        matches!(self, Self::Release | Self::Full)
    }
}

/// Whether a run went through its whole plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "snake_case")]
pub enum RunState {
    /// Every step was tried; failed and skipped cells are recorded with their reason.
    Complete,
    /// Some steps were never tried.
    Interrupted,
}

/// `run.json`: everything a run has apart from its cells.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(deny_unknown_fields)]
pub struct Run {
    /// Always `plumbkv.run`.
    pub schema: String,
    /// Version of this record's shape.
    pub schema_version: u32,
    /// The program that wrote it.
    pub tool: Tool,
    /// `<date>T<time>Z-<profile>-<4 hex>`; names the folder too.
    pub id: String,
    /// Version of PlumbKV the run is published under (`0.1.0`), or `local`.
    pub version: String,
    /// Key of the machine in `results/machines.toml`, or `unknown-<fingerprint>`.
    pub machine_key: String,
    /// Profile that set trials and durations.
    pub profile: Profile,
    /// Why it was made: `release`, `local`, `ci`.
    pub purpose: String,
    /// RFC 3339, UTC.
    pub started_at: String,
    /// RFC 3339, UTC.
    pub finished_at: String,
    /// Seconds from start to end.
    pub elapsed_s: f64,
    /// Seed of the order of steps and of every key sequence; below 2^53.
    #[ts(type = "number")]
    pub seed: u64,
    /// Whether the plan was gone through.
    pub state: RunState,
    /// The command that was given.
    pub command: String,
    /// Commands that make the run again, one a line.
    pub reproduce: Vec<String>,
    /// Source of the system under test.
    pub source: Source,
    /// The machine it ran on.
    pub machine: Machine,
    /// What else could influence the figures.
    pub environment: Environment,
    /// Everything that was measured, ours and the others.
    pub targets: Vec<TargetRecord>,
    /// The scenarios in catalogue order, each with its file.
    pub scenarios: Vec<ScenarioEntry>,
    /// The file of all histograms, from version 3 on. Absent: none, or a run of an older version, whose scenario
    /// files hold them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub histograms: Option<HistogramFile>,
    /// Imported criterion estimates.
    pub components: Vec<Component>,
    /// Warnings and remarks that belong beside the figures.
    pub notes: Vec<String>,
}

/// A scenario of a run: its file, and how many of its cells came to a figure.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(deny_unknown_fields)]
pub struct ScenarioEntry {
    /// `wire-single`.
    pub key: String,
    /// Title for people.
    pub title: String,
    /// File name beside `run.json`: `wire-single.json.zst`, before version 3 `wire-single.json`.
    pub file: String,
    /// SHA-256 of its JSON text, decompressed, hexadecimal: the same whichever zstd compressed it.
    pub sha256: String,
    /// Cells with a figure.
    pub cells_ok: u32,
    /// Cells that failed, were invalid or timed out.
    pub cells_failed: u32,
    /// Cells that were skipped, with a reason.
    pub cells_skipped: u32,
}

/// All histograms of a run, one after the other: HDR V2 without deflate, zstd over the whole.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(deny_unknown_fields)]
pub struct HistogramFile {
    /// File name beside `run.json`: `histograms.hdr.zst`.
    pub file: String,
    /// SHA-256 of its content, decompressed, hexadecimal.
    pub sha256: String,
    /// Bytes of its content, decompressed.
    #[ts(type = "number")]
    pub bytes: u64,
}

/// `<scenario>.json.zst`: the cells of one scenario of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(deny_unknown_fields)]
pub struct ScenarioRecord {
    /// Always `plumbkv.scenario`.
    pub schema: String,
    /// Version of this record's shape.
    pub schema_version: u32,
    /// The program that wrote it.
    pub tool: Tool,
    /// The run it belongs to.
    pub run_id: String,
    /// Version the run is published under.
    pub version: String,
    /// Machine key of the run.
    pub machine_key: String,
    /// Profile of the run.
    pub profile: Profile,
    /// What was measured, and why it matters.
    pub scenario: ScenarioInfo,
    /// One per target × mode × axes.
    pub cells: Vec<Cell>,
    /// Derived: ours against native, and against each rival, per block in log space.
    pub ratios: Vec<Ratio>,
}

/// The definition a scenario was run from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(deny_unknown_fields)]
pub struct ScenarioInfo {
    /// `wire-single`.
    pub key: String,
    /// Title for people.
    pub title: String,
    /// `wire`, `memory_cap` or `startup`: which page template and which checks apply.
    pub kind: String,
    /// Raised whenever the definition changes in meaning: starts a new series.
    pub revision: u32,
    /// Where this load occurs in life and what it stresses. Plain paragraphs.
    pub analysis: String,
    /// What makes a cell valid.
    pub validity: String,
    /// What the figures do not say.
    pub not_measured: String,
    /// The checked parameters, as resolved for the run's profile.
    #[ts(type = "unknown")]
    pub params: serde_json::Value,
    /// SHA-256 of `params` in canonical JSON.
    pub params_sha256: String,
}
