//! What may stand in a `[[cap]]`? Something written against a memory cap: one cell.

use super::definition::PerProfile;
use crate::model::{Mode, Profile};
use serde::{Deserialize, Serialize};

/// Something written against a memory cap: one cell.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cap {
    /// The cap given to the target, bytes.
    pub cap_bytes: u64,
    /// Memory limit of the target's cgroup or container, bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory_limit_bytes: Option<u64>,
    /// Exactly one of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fill: Option<Fill>,
    /// Exactly one of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub overwrite: Option<Overwrite>,
    /// Exactly one of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ttl_churn: Option<TtlChurn>,
    /// Exactly one of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trace: Option<Trace>,
    /// Exactly one of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hostile: Option<Hostile>,
    /// Exactly one of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub idle: Option<Idle>,
    /// Switches of the target, one cell each, as `policy=volatile-ttl`; absent: one cell without.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub variant: Vec<String>,
    /// Fewer trials than the scenario has; nought: none in that profile.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trials: Option<PerProfile<u32>>,
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
    /// What reads did not find.
    Trace(&'a Trace),
    /// Everything that makes memory grow, at once.
    Hostile(&'a Hostile),
    /// Nothing: connections that are open.
    Idle(&'a Idle),
}

impl Cap {
    /// What it writes; none unless exactly one is given.
    #[must_use]
    pub fn written(&self) -> Option<Written<'_>> {
        let all = [
            self.fill.as_ref().map(Written::Fill),
            self.overwrite.as_ref().map(Written::Overwrite),
            self.ttl_churn.as_ref().map(Written::TtlChurn),
            self.trace.as_ref().map(Written::Trace),
            self.hostile.as_ref().map(Written::Hostile),
            self.idle.as_ref().map(Written::Idle),
        ];
        let mut given = all.into_iter().flatten();
        given.next().filter(|_| given.next().is_none())
    }
}

/// Growing overwrites, lifetimes, deletes, appends and batches from a few connections; some that ask for large replies
/// and never read them; all others idle.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Hostile {
    /// Connections.
    pub clients: u32,
    /// Key space.
    pub keys: u64,
    /// How long.
    pub seconds: PerProfile<f64>,
}

/// Connections that do nothing.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Idle {
    /// Connections.
    pub clients: u32,
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

/// A cache in front of something slow: a key is read, and written when it was not there.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Trace {
    /// Key space, drawn by Zipf's law with exponent 0.99.
    pub keys: u64,
    /// Smallest and largest size, bytes; the size of a key's value never changes.
    pub value_bytes: [u32; 2],
    /// Reads.
    pub requests: PerProfile<u64>,
}
