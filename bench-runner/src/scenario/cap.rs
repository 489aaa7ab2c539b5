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
    /// Exactly one of the four.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fill: Option<Fill>,
    /// Exactly one of the four.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub overwrite: Option<Overwrite>,
    /// Exactly one of the four.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ttl_churn: Option<TtlChurn>,
    /// Exactly one of the four.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trace: Option<Trace>,
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
}

impl Cap {
    /// What it writes; none unless exactly one of the four is given.
    #[must_use]
    pub fn written(&self) -> Option<Written<'_>> {
        match (&self.fill, &self.overwrite, &self.ttl_churn, &self.trace) {
            (Some(fill), None, None, None) => Some(Written::Fill(fill)),
            (None, Some(overwrite), None, None) => Some(Written::Overwrite(overwrite)),
            (None, None, Some(churn), None) => Some(Written::TtlChurn(churn)),
            (None, None, None, Some(trace)) => Some(Written::Trace(trace)),
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
