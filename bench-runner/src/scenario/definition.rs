//! What may stand in a scenario file? The text shape, exactly as TOML gives it, before any check.

use super::embedded::Embedded;
use crate::model::{Mode, Profile};
use serde::{Deserialize, Serialize};

/// A scenario file.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Definition {
    /// Name of the file without `.toml`, of its pages and of its record: `wire-single`.
    pub key: String,
    /// Title for people.
    pub title: String,
    /// Which of the sections below it has.
    pub kind: Kind,
    /// Raised whenever the definition changes in meaning: starts a new series.
    pub revision: u32,
    /// Place in the catalogue, in lists and on pages.
    pub place: u32,
    /// One line: what it stresses. Shown by `bench-runner list`.
    pub stresses: String,
    /// Where this load occurs in life and what it stresses.
    pub analysis: String,
    /// What makes a cell valid.
    pub validity: String,
    /// What the figures do not say.
    pub not_measured: String,
    /// Who takes part, and where.
    pub targets: Vec<TargetUse>,
    /// Kind `wire`: the loads.
    #[serde(default)]
    pub load: Vec<Load>,
    /// Kind `memory_cap`: what is written against which cap.
    #[serde(default)]
    pub cap: Vec<Cap>,
    /// Kind `startup`: how many starts.
    #[serde(default)]
    pub start: Vec<Start>,
    /// Kind `embedded`, and besides loads kind `wire`: work of a driver program.
    #[serde(default)]
    pub embedded: Vec<Embedded>,
}

/// Which of the runner's ways of measuring a scenario takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// Closed-loop load over sockets.
    Wire,
    /// A store filled past its cap.
    MemoryCap,
    /// Time to the first right answer.
    Startup,
    /// Engines linked into a driver program.
    Embedded,
}

impl Kind {
    /// As it is spelled in files and records.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Wire => "wire",
            Self::MemoryCap => "memory_cap",
            Self::Startup => "startup",
            Self::Embedded => "embedded",
        }
    }
}

/// A target and the modes it is measured in.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TargetUse {
    /// Key in `targets.toml`.
    pub key: String,
    /// Where it runs.
    pub modes: Vec<Mode>,
    /// Only in these profiles; absent: in all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub profiles: Option<Vec<Profile>>,
}

/// To whom a section applies; absent: to all.
#[derive(Debug, Clone, Copy)]
pub struct Only<'a> {
    /// Only in these profiles.
    pub profiles: Option<&'a [Profile]>,
    /// Only for these targets.
    pub targets: Option<&'a [String]>,
    /// Only in these modes.
    pub modes: Option<&'a [Mode]>,
}

impl Only<'_> {
    /// Whether the section applies to one target in one mode under one profile.
    #[must_use]
    pub fn admits(&self, profile: Profile, target: &str, mode: Mode) -> bool {
        self.profiles.is_none_or(|list| list.contains(&profile))
            && self.targets.is_none_or(|list| list.iter().any(|key| key == target))
            && self.modes.is_none_or(|list| list.contains(&mode))
    }
}

macro_rules! has_only {
    ($($section:ty),*) => {$(
        impl $section {
            /// To whom it applies.
            #[must_use]
            pub fn only(&self) -> Only<'_> {
                Only {
                    profiles: self.profiles.as_deref(),
                    targets: self.targets.as_deref(),
                    modes: self.modes.as_deref(),
                }
            }
        }
    )*};
}
has_only!(Load, Cap, Start, Embedded);

/// A closed-loop load: every combination of its lists is a cell.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Load {
    /// What is asked.
    pub operation: LoadOperation,
    /// Value sizes, bytes.
    pub value_bytes: Vec<u32>,
    /// Connections.
    pub clients: Vec<u32>,
    /// Requests in flight per connection; absent: one.
    #[serde(default = "one_in_flight")]
    pub pipeline: Vec<u32>,
    /// SETs of 100 operations, in a mix.
    #[serde(default)]
    pub set_percent: Vec<u32>,
    /// Exact numbers of requests; absent: by time.
    #[serde(default)]
    pub requests: Vec<u64>,
    /// Size of the key space.
    pub keys: u64,
    /// CPUs of target and generator; absent: apart.
    #[serde(default = "apart")]
    pub placement: Vec<PlacementChoice>,
    /// Only in these profiles; absent: in all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub profiles: Option<Vec<Profile>>,
    /// Only for these targets; absent: for all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub targets: Option<Vec<String>>,
    /// Only in these modes; absent: in all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub modes: Option<Vec<Mode>>,
}

/// What a load asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LoadOperation {
    /// Only SET.
    Set,
    /// Only GET, of keys that are there.
    Get,
    /// Only DEL, of keys that are there.
    Del,
    /// SET and GET by `set_percent`.
    Mixed,
}

/// A placement that can be asked for; the third, unpinned, is what is left where pinning is not possible.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PlacementChoice {
    /// Target on one CPU, generator on another.
    Apart,
    /// Both on the same CPU.
    Together,
}

/// Something written against a memory cap: one cell.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cap {
    /// The cap given to the target, bytes.
    pub cap_bytes: u64,
    /// Exactly one of the three.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fill: Option<Fill>,
    /// Exactly one of the three.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub overwrite: Option<Overwrite>,
    /// Exactly one of the three.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ttl_churn: Option<TtlChurn>,
    /// Only in these profiles; absent: in all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub profiles: Option<Vec<Profile>>,
    /// Only for these targets; absent: for all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub targets: Option<Vec<String>>,
    /// Only in these modes; absent: in all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub modes: Option<Vec<Mode>>,
}

/// What a [`Cap`] writes.
#[derive(Debug, Clone, Copy)]
pub enum Written<'a> {
    /// Each key once.
    Fill(&'a Fill),
    /// Growing values.
    Overwrite(&'a Overwrite),
    /// Values that expire soon.
    TtlChurn(&'a TtlChurn),
}

impl Cap {
    /// What it writes; none unless exactly one of the three is given.
    #[must_use]
    pub fn written(&self) -> Option<Written<'_>> {
        match (&self.fill, &self.overwrite, &self.ttl_churn) {
            (Some(fill), None, None) => Some(Written::Fill(fill)),
            (None, Some(overwrite), None) => Some(Written::Overwrite(overwrite)),
            (None, None, Some(churn)) => Some(Written::TtlChurn(churn)),
            _ => None,
        }
    }
}

/// `key 1 … key n` once each, then a look at every key, then one value that cannot fit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fill {
    /// Keys written.
    pub keys: u64,
    /// Value size, bytes.
    pub value_bytes: u32,
    /// Size of the value that must be refused, bytes.
    pub oversize_bytes: u32,
}

/// Overwrites with growing values.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Overwrite {
    /// Connections.
    pub clients: u32,
    /// Key space.
    pub keys: u64,
    /// Smallest and largest size, bytes.
    pub value_bytes: [u32; 2],
    /// How long.
    pub seconds: PerProfile<f64>,
}

/// Writes that expire soon.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TtlChurn {
    /// Connections.
    pub clients: u32,
    /// Key space.
    pub keys: u64,
    /// Value size, bytes.
    pub value_bytes: u32,
    /// Lifetime, ms.
    pub ttl_ms: u64,
    /// How long.
    pub seconds: PerProfile<f64>,
}

/// Starts of a process: one cell.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Start {
    /// Starts in a trial.
    pub starts: PerProfile<u32>,
    /// Only in these profiles; absent: in all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub profiles: Option<Vec<Profile>>,
    /// Only for these targets; absent: for all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub targets: Option<Vec<String>>,
    /// Only in these modes; absent: in all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub modes: Option<Vec<Mode>>,
}

/// A value that follows the profile.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PerProfile<T> {
    /// In `smoke`.
    pub smoke: T,
    /// In `quick`.
    pub quick: T,
    /// In `full`.
    pub full: T,
}

impl<T: Copy> PerProfile<T> {
    /// The value for one profile.
    #[must_use]
    pub fn of(&self, profile: Profile) -> T {
        match profile {
            Profile::Smoke => self.smoke,
            Profile::Quick => self.quick,
            Profile::Full => self.full,
        }
    }
}

fn one_in_flight() -> Vec<u32> {
    vec![1]
}

fn apart() -> Vec<PlacementChoice> {
    vec![PlacementChoice::Apart]
}
