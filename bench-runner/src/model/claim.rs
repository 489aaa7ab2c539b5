//! `results/claims.json`: what this project says of its speed, and whether the stored runs bear it out.

use super::{Mode, Placement, Profile, Spread, Tool};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use ts_rs::TS;

/// `schema` of `claims.json`.
pub const CLAIMS_SCHEMA: &str = "plumbkv.claims";

/// `results/claims.json`: every claim of `results/claims.toml` with its verdict.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(deny_unknown_fields)]
pub struct Claims {
    /// Always `plumbkv.claims`.
    pub schema: String,
    /// Version of this record's shape.
    pub schema_version: u32,
    /// The program that wrote it.
    pub tool: Tool,
    /// In the order of `claims.toml`.
    pub claims: Vec<Claim>,
}

/// What the stored runs say of a claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "snake_case")]
pub enum ClaimVerdict {
    /// The median meets the bound, and the far end of its interval misses it by no more than the slack.
    Holds,
    /// It does not.
    Fails,
    /// No stored run can tell: the reason says why, and the claim how to measure it.
    NotMeasured,
}

/// Which side of its bound a claim puts the figure on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
pub enum Comparison {
    /// The figure is at most the bound.
    #[serde(rename = "<=")]
    AtMost,
    /// The figure is at least the bound.
    #[serde(rename = ">=")]
    AtLeast,
}

/// One claim and its verdict.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(deny_unknown_fields)]
pub struct Claim {
    /// Name of the claim, and of its anchor on the page: `pipeline-cpu-against-redis`.
    pub key: String,
    /// What is claimed, one plain sentence.
    pub statement: String,
    /// Scenario whose record decides.
    pub scenario: String,
    /// Metric of the figure, or of its numerator.
    pub metric: String,
    /// Set in a mix: the operation the metric is of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub operation: Option<String>,
    /// CPUs of target and generator. Absent: whichever both sides share.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub placement: Option<Placement>,
    /// Cells above the line; without a denominator, the cells whose figure is bounded.
    pub numerator: ClaimSide,
    /// Cells below the line. Absent: the figure itself is bounded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub denominator: Option<ClaimSide>,
    /// Taken from the figure, round by round: the bound is on a difference.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub minus: Option<ClaimMinus>,
    /// Another line and bound that a cell may meet in place of the first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub or: Option<ClaimOr>,
    /// The worst trial must meet the bound, not the median. Absent: the median.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    #[ts(optional, as = "Option<bool>")]
    pub every_trial: bool,
    /// Side of the bound.
    pub comparison: Comparison,
    /// The bound, a ratio where there is a denominator, else in the metric's unit.
    pub bound: f64,
    /// How far beyond the bound the far end of the interval may lie, percent of the bound.
    pub slack_percent: f64,
    /// Files, from the root of the repository, in which it is said.
    pub said_in: Vec<String>,
    /// First version whose runs are judged by it.
    pub since: String,
    /// The command whose run decides it.
    pub measure: String,
    /// What is known of why it fails, and the next step. Absent: it does not fail, or nothing is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub remark: Option<String>,
    /// `fails` where it fails on any machine, else `holds` where it holds on one, else `not_measured`.
    pub verdict: ClaimVerdict,
    /// One sentence: why.
    pub reason: String,
    /// Newest version among the runs that give the verdict. Absent where it is not measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub version: Option<String>,
    /// One per machine with a stored run, in the order of their keys.
    pub machines: Vec<ClaimOnMachine>,
    /// What an earlier version came to, where the newest version of every machine has no verdict.
    /// Absent where there is one, or none ever was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub earlier: Option<ClaimEarlier>,
}

/// A claim judged by the newest of the earlier versions that has a verdict.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(deny_unknown_fields)]
pub struct ClaimEarlier {
    /// The version.
    pub version: String,
    /// `fails` where it failed on one of its machines, else `holds`.
    pub verdict: ClaimVerdict,
    /// One sentence: why.
    pub reason: String,
    /// The machines that have a verdict of it, in the order of their keys.
    pub machines: Vec<ClaimOnMachine>,
}

/// What is taken from the figure of a claim.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(deny_unknown_fields)]
pub struct ClaimMinus {
    /// Cells above the line.
    pub numerator: ClaimSide,
    /// Cells below it. Absent: the figure itself is taken.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub denominator: Option<ClaimSide>,
}

/// What a cell may meet in place of a claim's bound.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(deny_unknown_fields)]
pub struct ClaimOr {
    /// Cells below the line.
    pub denominator: ClaimSide,
    /// The bound.
    pub bound: f64,
}

/// Which cells stand on one side of the line.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(deny_unknown_fields)]
pub struct ClaimSide {
    /// Key of a target, or the targets of `better_of` in words.
    pub target: String,
    /// Keys of targets, of which the one counts whose median is better at that point.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[ts(optional, as = "Option<Vec<String>>")]
    pub better_of: Vec<String>,
    /// Where it ran.
    pub mode: Mode,
    /// The side's metric, where not the claim's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub metric: Option<String>,
    /// Axes that must have these values, or one of a list of them; every other axis must be equal on both sides.
    #[ts(type = "Record<string, unknown>")]
    pub axes: BTreeMap<String, serde_json::Value>,
}

/// A claim judged by the runs of one machine.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(deny_unknown_fields)]
pub struct ClaimOnMachine {
    /// Machine key.
    pub machine_key: String,
    /// The machine in words.
    pub machine_title: String,
    /// The verdict here.
    pub verdict: ClaimVerdict,
    /// One sentence: why.
    pub reason: String,
    /// The run that was judged. Absent where none holds the scenario.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub run: Option<ClaimRun>,
    /// One per pair of cells, or per cell where there is no denominator.
    pub evidence: Vec<Evidence>,
}

/// The run that a claim was judged by.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(deny_unknown_fields)]
pub struct ClaimRun {
    /// Its id.
    pub id: String,
    /// Version it stands under.
    pub version: String,
    /// Its profile.
    pub profile: Profile,
    /// RFC 3339, UTC.
    pub started_at: String,
    /// The scenario's file, from the folder of results.
    pub file: String,
    /// Targets of the claim as they were in the run, with version and allocator: `Redis 7.0.15 (jemalloc-5.2.1)`.
    pub targets: Vec<String>,
}

/// What one pair of cells says.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(deny_unknown_fields)]
pub struct Evidence {
    /// Key of the cell above the line.
    pub numerator: String,
    /// Key of the cell below the line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub denominator: Option<String>,
    /// Label of the point for people.
    pub label: String,
    /// What this pair says.
    pub verdict: ClaimVerdict,
    /// One clause: why.
    pub reason: String,
    /// The figure. Absent where a cell has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub figure: Option<Figure>,
}

/// A median with what lies around it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(deny_unknown_fields)]
pub struct Figure {
    /// Median over trials, or over ratios of trials of the same round.
    pub median: f64,
    /// Lower end of the spread.
    pub low: f64,
    /// Upper end of the spread.
    pub high: f64,
    /// What the spread is.
    pub spread: Spread,
    /// Trials or pairs.
    pub n: u32,
}
