//! What may stand in a `[[load]]`? Every combination of its lists is a cell.

use super::definition::PerProfile;
use super::words::{Arrival, ClientProgram, Connections, Distribution, Protocol, Seek, Transport};
use crate::model::{Mode, Profile};
use serde::{Deserialize, Serialize};

/// A load over sockets: closed loop unless it has an `arrival`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Load {
    /// What is asked.
    pub operation: LoadOperation,
    /// Instead of measuring a given load: look for the peak, or for the knee.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seek: Option<Seek>,
    /// Value sizes, bytes. None for GET over HTTP: the page that `bench-runner run --target http://…` names.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub value_bytes: Vec<u32>,
    /// Sizes that are mixed in one cell, instead of `value_bytes`: pairs of bytes and weight.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub value_mix: Vec<[u32; 2]>,
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
    /// How keys are drawn; absent: uniformly.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub distribution: Vec<Distribution>,
    /// Open loop: how intended starts are spaced.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub arrival: Option<Arrival>,
    /// Open loop: rates in percent of the peak that the same process showed before.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rate_percent: Vec<u32>,
    /// Open loop: rates in requests per second, the same for every target.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rate_per_second: Vec<u64>,
    /// Open loop: rates in percent of what the slowest server reached in a closed loop at the same point, in the
    /// same round: the same rate for every server.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rate_percent_of_slowest: Vec<u32>,
    /// Lifetime of what is written, ms.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ttl_ms: Option<u64>,
    /// Protocol, where not the target's usual one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub protocol: Option<Protocol>,
    /// What carries the bytes, where not TCP.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub transport: Option<Transport>,
    /// What becomes of connections, where they are not kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub connections: Option<Connections>,
    /// The one switch that differs from the same cell without it: `allocator=mimalloc`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub variant: Option<String>,
    /// Somebody else's load generator, in place of this one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_program: Option<ClientProgram>,
    /// Memory limit of the target's cgroup or container, bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory_limit_bytes: Option<u64>,
    /// How long a cell is measured at least, instead of the profile's time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seconds: Option<PerProfile<f64>>,
    /// Fewer trials than the scenario has; nought: none in that profile.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trials: Option<PerProfile<u32>>,
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
    /// Both on all CPUs, as the scheduler likes.
    Unpinned,
}

impl Load {
    /// Whether it reads the one page of an HTTP server that is already running, whatever its size.
    #[must_use]
    pub fn is_of_a_page(&self) -> bool {
        self.protocol == Some(Protocol::Http)
            && self.operation == LoadOperation::Get
            && self.value_bytes.is_empty()
            && self.value_mix.is_empty()
    }
}

fn one_in_flight() -> Vec<u32> {
    vec![1]
}

fn apart() -> Vec<PlacementChoice> {
    vec![PlacementChoice::Apart]
}
