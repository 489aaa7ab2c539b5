//! What may stand in a `[[per_key]]`, an `[[expiry]]` and a `[[tail]]`? Loads whose point is what a key costs while it lives and after.

use super::definition::PerProfile;
use crate::model::{Mode, Profile};
use serde::{Deserialize, Serialize};

/// Many small keys, written once, and the memory they take: one cell.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PerKey {
    /// Keys of 16 bytes.
    pub keys: u64,
    /// Value size, bytes.
    pub value_bytes: u32,
    /// Memory the target may account for; enough for all keys, bytes.
    pub cap_bytes: u64,
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

/// Many keys that run out within a while, under reads of keys that stay: one cell.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Expiry {
    /// Connections that read meanwhile.
    pub clients: u32,
    /// Keys that stay, and are read.
    pub kept_keys: u64,
    /// Keys that run out.
    pub keys: u64,
    /// Value size of both, bytes.
    pub value_bytes: u32,
    /// The lifetimes are spread evenly over this time, ms.
    pub within_ms: u64,
    /// Memory the target may account for; enough for all keys, bytes.
    pub cap_bytes: u64,
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

/// Requests at a given rate while the store grows, then while keys run out, then while it is emptied: three cells on
/// one process.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tail {
    /// Connections of the requests.
    pub clients: u32,
    /// Requests per second.
    pub per_second: u64,
    /// Keys that are asked for, there before anything else.
    pub kept_keys: u64,
    /// Keys that the store grows to, and that are flushed at the end.
    pub keys: u64,
    /// Keys that run out.
    pub expiring_keys: u64,
    /// Their lifetimes end within this time, ms.
    pub within_ms: u64,
    /// Value size of all, bytes.
    pub value_bytes: u32,
    /// Memory the target may account for; enough for all keys, bytes.
    pub cap_bytes: u64,
    /// Switches of the target, as `io=epoll`, three cells each; absent: three cells without.
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
