//! What a gate found: base against head, as it travels from the machine that measured to the pull request.

use super::{Direction, Environment, Machine, Tool};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use ts_rs::TS;

/// `schema` of `gate.json`.
pub const GATE_SCHEMA: &str = "plumbkv.gate";
/// Version of `gate.json` written by this build; earlier ones are read. 2: verdicts rest on sequential evidence.
pub const GATE_SCHEMA_VERSION: u32 = 2;

/// What is said of a change. There are five words, and silence is none of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "snake_case")]
pub enum GateOutcome {
    /// No change of the size that the gate finds.
    Pass,
    /// Better, proven.
    Improvement,
    /// Worse, proven.
    Regression,
    /// Neither is proven.
    Inconclusive,
    /// There is nothing to judge.
    NotMeasured,
}

impl GateOutcome {
    /// As people read it.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Improvement => "improvement",
            Self::Regression => "regression",
            Self::Inconclusive => "inconclusive",
            Self::NotMeasured => "not measured",
        }
    }
}

/// What a series' verdict is good for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
pub enum GateClass {
    /// It finds 5 %.
    #[serde(rename = "gated")]
    Gated,
    /// It finds 8 %.
    #[serde(rename = "gated@8%")]
    GatedAt8,
    /// It is shown, and holds nothing up where neither a change nor its absence is proven.
    #[serde(rename = "advisory")]
    Advisory,
}

impl GateClass {
    /// As it is printed.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Gated => "gated",
            Self::GatedAt8 => "gated@8%",
            Self::Advisory => "advisory",
        }
    }
}

/// What a verdict rests on. The first three were written by versions before 0.5.3.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "snake_case")]
pub enum GateStage {
    /// Two layouts of base against each other moved too far: nothing can be said of head.
    NullControl,
    /// A few blocks, which only route.
    Screen,
    /// Fresh blocks, which are judged.
    Confirm,
    /// Blocks until the evidence sufficed.
    Sequential,
    /// Instructions, which are the same every time: counted once.
    Counted,
}

/// `gate.json`: one gate.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(deny_unknown_fields)]
pub struct Gate {
    /// Always [`GATE_SCHEMA`].
    pub schema: String,
    /// [`GATE_SCHEMA_VERSION`].
    pub schema_version: u32,
    /// Program that wrote it.
    pub tool: Tool,
    /// `<date>T<time>Z-gate-<4 hex>`.
    pub id: String,
    /// RFC 3339, UTC.
    pub started_at: String,
    /// What is said of the whole change.
    pub outcome: GateOutcome,
    /// Why, in a sentence.
    pub reason: String,
    /// What the change is compared with.
    pub base: GateSide,
    /// The change.
    pub head: GateSide,
    /// Name of the machine.
    pub machine_key: String,
    /// Where it was measured.
    pub machine: Machine,
    /// What else was in force.
    pub environment: Environment,
    /// Seed of order, keys and intervals; below 2^53.
    #[ts(type = "number")]
    pub seed: u64,
    /// Time that measuring was allowed to take, s.
    pub budget_s: f64,
    /// Time spent building, s; not in the budget.
    pub build_s: f64,
    /// Time spent measuring, s.
    pub measured_s: f64,
    /// One verdict per scenario and metric, in the order of the gate's file; behind them what was counted.
    pub verdicts: Vec<GateVerdict>,
    /// Of the loads that are slower: which functions take more instructions. Absent where nothing is slower, or where nothing
    /// could be counted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[ts(optional, as = "Option<Vec<GateProfile>>")]
    pub profiles: Vec<GateProfile>,
    /// Scenarios that the budget had no room for, and why.
    pub left_out: Vec<String>,
    /// Base and head are the same program, and were measured all the same, each in layouts of its own: what is said counts as
    /// a false alarm or as none. Absent: they are not, or were not measured.
    #[serde(default, skip_serializing_if = "super::calibration::is_false")]
    #[ts(optional, as = "Option<bool>")]
    pub identical: bool,
    /// The command that was given.
    pub command: String,
    /// Remarks that belong beside the figures.
    pub notes: Vec<String>,
}

/// One side of the comparison.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(deny_unknown_fields)]
pub struct GateSide {
    /// As it was given: a commit, a branch, or the name of a file.
    pub given: String,
    /// Full commit id; empty where a file was given.
    pub commit: String,
    /// SHA-256 of the program as it was built; versions before 0.5.3 wrote two layouts.
    pub sha256: Vec<String>,
    /// SHA-256 of the first without symbols and notes.
    pub stripped_sha256: String,
}

/// Where the requests of a load spend more.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(deny_unknown_fields)]
pub struct GateProfile {
    /// What was asked.
    pub label: String,
    /// The functions that differ, those first that take the most more. None: it is not the instructions.
    pub functions: Vec<GateFunction>,
}

/// A function, without those that it calls.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(deny_unknown_fields)]
pub struct GateFunction {
    /// Its path.
    pub name: String,
    /// Instructions per request under base.
    pub base: f64,
    /// Under head.
    pub head: f64,
}

/// How many times their stake three bets have become: at most 1/α with probability α where what they are on is not so, at
/// whatever number of blocks.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(deny_unknown_fields)]
pub struct GateEvidence {
    /// On "head is worse".
    pub worse: f64,
    /// On "head is better".
    pub better: f64,
    /// On "head is worse by less than what a pass excludes".
    pub within: f64,
    /// How blocks go with those before them, from -1 to 1: about 0 where they are independent. Absent: too few.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub lag_1: Option<f64>,
    /// Blocks that were planned at most.
    pub blocks_max: u32,
    /// The blocks scatter so much that all that were planned would say nothing: no more were measured. Absent: they do not.
    #[serde(default, skip_serializing_if = "super::calibration::is_false")]
    #[ts(optional, as = "Option<bool>")]
    pub given_up: bool,
}

impl GateEvidence {
    /// Whether so many blocks are all that were wanted.
    #[must_use]
    pub fn is_finished(&self, blocks: usize) -> bool {
        self.given_up || blocks >= self.blocks_max as usize
    }
}

/// The judgement of one metric of one scenario.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(deny_unknown_fields)]
pub struct GateVerdict {
    /// Key of the cell.
    pub scenario: String,
    /// For people.
    pub label: String,
    /// As in [`super::Measurement::metric`].
    pub metric: String,
    /// Its unit.
    pub unit: String,
    /// Which way is better.
    pub direction: Direction,
    /// What is said.
    pub outcome: GateOutcome,
    /// Why nothing is, or what limits what is.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub reason: Option<String>,
    /// How far it was taken.
    pub stage: GateStage,
    /// What the verdict is good for.
    pub class: GateClass,
    /// Median over the blocks of head / base. Absent: no block has a figure.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub ratio: Option<f64>,
    /// Ends of its 95 % interval, valid whenever the gate ended. Absent where there are too few blocks.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub interval: Option<[f64; 2]>,
    /// One-sided sign test in the direction of the median, in versions before 0.5.3.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub p: Option<f64>,
    /// The same by Holm over all that were confirmed.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub p_adjusted: Option<f64>,
    /// How strong the evidence is. Absent where instructions were counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub evidence: Option<GateEvidence>,
    /// The least change that is called, as a ratio above one.
    pub limit: f64,
    /// The smallest change found four times in five, as a ratio above one. Absent: none is.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub detectable: Option<f64>,
    /// Standard deviation of a block's log ratio.
    pub block_sd: f64,
    /// Whether that deviation was measured before, by a calibration, as versions before 0.5.3 did; else it is of this gate's
    /// own blocks.
    pub block_sd_is_stored: bool,
    /// Median of base's trials, in the unit. Absent where there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub base: Option<f64>,
    /// Median of head's trials, in the unit.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub head: Option<f64>,
    /// Log ratios of the blocks that were judged, head over base.
    pub blocks: Vec<f64>,
    /// Blocks left out because others used the machine meanwhile.
    pub disturbed: u32,
}
