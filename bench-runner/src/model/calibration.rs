//! How often the gate errs on a machine: gates of which the truth was known.

use super::{GateClass, GateOutcome, Machine, Tool};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use ts_rs::TS;

/// `schema` of `results/calibration/<machine>.json`.
pub const CALIBRATION_SCHEMA: &str = "plumbkv.calibration";
/// Version of it written by this build; earlier ones are read. 2: it names the rule.
pub const CALIBRATION_SCHEMA_VERSION: u32 = 2;
/// The rule by which the gate of this build judges. What is known of another says nothing of this one.
pub const GATE_RULE: &str = "wager-5";

/// `results/calibration/<machine>.json`: what is known of the gate on one machine.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(deny_unknown_fields)]
pub struct Calibration {
    /// Always [`CALIBRATION_SCHEMA`].
    pub schema: String,
    /// [`CALIBRATION_SCHEMA_VERSION`].
    pub schema_version: u32,
    /// Program that wrote it last.
    pub tool: Tool,
    /// Name of the machine.
    pub machine_key: String,
    /// The machine.
    pub machine: Machine,
    /// SHA-256 of the gate's file: another file is another calibration.
    pub gate_sha256: String,
    /// [`GATE_RULE`] of the gates. Absent in version 1: screen, confirmation, sign test and bootstrap.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub rule: Option<String>,
    /// Budget of each gate, s: a gate that may measure longer errs otherwise. Absent in version 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub budget_s: Option<f64>,
    /// How blocks scatter where nothing was changed.
    pub noise: Vec<CalibrationNoise>,
    /// Gates carried out, in order of time.
    pub gates: Vec<CalibrationGate>,
    /// What came of them, by what was injected.
    pub rates: Vec<CalibrationRate>,
}

/// How the blocks of one series scatter where base and head are the same.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(deny_unknown_fields)]
pub struct CalibrationNoise {
    /// Key of the cell.
    pub scenario: String,
    /// For people.
    pub label: String,
    /// The metric.
    pub metric: String,
    /// Standard deviation of a block's log ratio.
    pub block_sd: f64,
    /// Blocks that it was taken from, apart from those of any gate below.
    pub blocks: u32,
    /// The smallest change found four times in five, as a ratio above one. Absent: none is.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub detectable: Option<f64>,
    /// What a verdict on it is good for.
    pub class: GateClass,
}

/// What was put in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "snake_case")]
pub enum InjectedAs {
    /// Work: CPU time.
    Spin,
    /// Waiting: no CPU time.
    Sleep,
    /// Replies that leave 5 ms later, those of so many percent of the requests: a few requests are slow.
    Tail,
}

impl InjectedAs {
    /// The word in the variable that slows a server.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Spin => "spin",
            Self::Sleep => "sleep",
            Self::Tail => "tail",
        }
    }
}

/// How head came to have other bytes than base, beside what was injected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "snake_case")]
pub enum HeadKind {
    /// The same commit with other names of its symbols, and so functions in another order.
    Symbols,
    /// Comments in front of each Rust file: other line numbers.
    Comments,
    /// It has the same bytes: a gate of a change that makes no difference, in layouts of its own for each side.
    Identical,
}

impl HeadKind {
    /// As people read it.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::Symbols => "other symbols",
            Self::Comments => "comments",
            Self::Identical => "identical build",
        }
    }
}

/// What was compared with what, by which runner.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(deny_unknown_fields)]
pub struct CalibrationSides {
    /// The commit that both were built from: base's, where two were compared.
    pub commit: String,
    /// SHA-256 of base's program without symbols and notes.
    pub base_stripped_sha256: String,
    /// Of head's.
    pub head_stripped_sha256: String,
    /// How they differ.
    pub head_kind: HeadKind,
    /// What head's servers were told to be slowed by, for example `spin:5`; empty: nothing.
    pub injected: String,
    /// Version of the runner.
    pub runner: String,
}

/// One gate of which the truth was known.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(deny_unknown_fields)]
pub struct CalibrationGate {
    /// Its id.
    pub id: String,
    /// RFC 3339, UTC.
    pub started_at: String,
    /// Seed.
    #[ts(type = "number")]
    pub seed: u64,
    /// How much slower head was made, percent of its CPU time or, as a tail, of its requests; 0: base and head did the same.
    pub injected_percent: f64,
    /// As what. Absent: nothing was injected.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub injected_as: Option<InjectedAs>,
    /// What the gate said.
    pub outcome: GateOutcome,
    /// Why.
    pub reason: String,
    /// How long it measured, s.
    pub measured_s: f64,
    /// It was not measured, or its time was up before its series were: it is in no count. Absent: it was.
    #[serde(default, skip_serializing_if = "is_false")]
    #[ts(optional, as = "Option<bool>")]
    pub unfinished: bool,
    /// What was compared. Absent in version 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub sides: Option<CalibrationSides>,
    /// What it said of each series.
    pub series: Vec<CalibrationSeries>,
}

/// What a gate said of one series.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(deny_unknown_fields)]
pub struct CalibrationSeries {
    /// Key of the cell.
    pub scenario: String,
    /// The metric.
    pub metric: String,
    /// What was said.
    pub outcome: GateOutcome,
    /// Whether it was judged: in version 1, whether it got as far as the confirmation.
    pub confirmed: bool,
    /// head / base. Absent: no figure.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub ratio: Option<f64>,
}

/// How often gates said what, where the same was injected.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(deny_unknown_fields)]
pub struct CalibrationRate {
    /// As in [`CalibrationGate::injected_percent`].
    pub injected_percent: f64,
    /// As in [`CalibrationGate::injected_as`].
    #[serde(skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub injected_as: Option<InjectedAs>,
    /// Gates that ended by themselves.
    pub gates: u32,
    /// Of them, those that said regression.
    pub regression: u32,
    /// Improvement.
    pub improvement: u32,
    /// Inconclusive; in version 1, or not measured.
    pub undecided: u32,
    /// Gates beside them that were not measured, or whose time was up.
    #[serde(default, skip_serializing_if = "is_zero")]
    #[ts(optional, as = "Option<u32>")]
    pub unfinished: u32,
    /// Lower end of the exact 95 % interval of the share that said regression.
    pub rate_low: f64,
    /// Its upper end.
    pub rate_high: f64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
pub(super) fn is_false(it_is: &bool) -> bool {
    !*it_is
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
fn is_zero(count: &u32) -> bool {
    *count == 0
}
