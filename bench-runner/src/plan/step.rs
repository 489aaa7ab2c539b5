//! A step: one fresh target process and the cells that are measured on it, in order.
//!
//! The plan builds steps (pure), [`crate::measure`] carries them out. A step whose target breaks still
//! yields one trial per cell, with a status and a reason: there is never a gap.

use super::driven::{EmbeddedWork, Stock};
use crate::model::{Axes, Mode, Placement, Trial};
use crate::scenario::{Arrival, ClientProgram, Distribution, Protocol, Transport};
use serde::{Deserialize, Serialize};

/// One fresh target process (or container), and what is measured on it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Step {
    /// Place in the whole run's order, from 0; names the step in the journal of a resumable run.
    pub position: u32,
    /// Key of the scenario.
    pub scenario: String,
    /// Key of the target in `targets.toml`.
    pub target: String,
    /// Where it runs.
    pub mode: Mode,
    /// CPUs of target and generator.
    pub placement: Placement,
    /// Trial number of this step's cells, from 0.
    pub trial: u32,
    /// Seed of the key sequences of this step.
    pub seed: u64,
    /// Memory cap given to the target (`{memory_limit}` in its arguments), bytes. None: its default.
    pub cap_bytes: Option<u64>,
    /// Memory limit of the cgroup or container the target runs in, bytes. None: 2 GiB where the mode limits.
    #[serde(default)]
    pub memory_limit_bytes: Option<u64>,
    /// The one switch that differs from the target as it stands in the catalogue: a key of its `variants`.
    #[serde(default)]
    pub variant: Option<String>,
    /// What is done.
    pub work: Work,
}

/// What is done with a running target.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Work {
    /// Load over a socket, one cell after the other on the same process.
    Wire {
        /// The cells, in the order of this trial.
        phases: Vec<WirePhase>,
    },
    /// A store filled past its cap, then looked into.
    MemoryCap {
        /// The one cell of this step.
        phase: CapPhase,
    },
    /// From the start of the process to its first right answer, several times over.
    Startup {
        /// The one cell of this step.
        cell: CellKey,
        /// Starts in this trial; each is a process of its own.
        starts: u32,
    },
    /// A driver program: an embedded engine, or the client of a server with a protocol of its own.
    Embedded {
        /// Its store and its cells.
        work: Box<EmbeddedWork>,
    },
    /// A directory is loaded once, for steps that come after.
    Stock {
        /// What is loaded.
        stock: Box<Stock>,
    },
    /// Many small keys, written once, and the memory they take.
    MemoryPerKey {
        /// The one cell of this step.
        phase: KeysPhase,
    },
    /// Keys that run out under reads of keys that stay.
    Expiry {
        /// The one cell of this step.
        phase: ExpiryPhase,
    },
    /// Requests at a given rate while a store grows, while keys run out, and while it is emptied.
    Tail {
        /// The three cells of this step, on one process.
        phase: Box<TailPhase>,
    },
}

impl Work {
    /// The cells that are measured, in order.
    #[must_use]
    pub fn cells(&self) -> Vec<&CellKey> {
        match self {
            Self::Wire { phases } => phases.iter().map(|phase| &phase.cell).collect(),
            Self::MemoryCap { phase } => vec![&phase.cell],
            Self::Startup { cell, .. } => vec![cell],
            Self::Embedded { work } => work.parts.iter().map(|part| &part.cell).collect(),
            Self::Stock { stock } => vec![&stock.cell],
            Self::MemoryPerKey { phase } => vec![&phase.cell],
            Self::Expiry { phase } => vec![&phase.cell],
            Self::Tail { phase } => vec![&phase.grow, &phase.expire, &phase.flush],
        }
    }
}

/// A cell's key, label and axes: see [`crate::model::Cell`].
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct CellKey {
    /// Unique within the scenario.
    pub key: String,
    /// For people.
    pub label: String,
    /// The point of the axes.
    pub axes: Axes,
}

impl WirePhase {
    /// Whether it reads the one page of an HTTP server that is already running.
    #[must_use]
    pub fn is_of_a_page(&self) -> bool {
        self.protocol == Some(Protocol::Http)
            && self.cell.axes.value_bytes.is_none()
            && self.value_mix.is_empty()
    }

    /// Why it cannot be measured on a server of which one page is read, or on one of which none is.
    #[must_use]
    pub fn unsuited(&self, page: bool) -> Option<&'static str> {
        match (page, self.is_of_a_page()) {
            (true, false) => {
                Some("it needs keys and writes, and of an HTTP server one page is read, by GET alone")
            }
            (false, true) => {
                Some("it reads one page of an HTTP server: name it with --target http://HOST:PORT/PATH")
            }
            _ => None,
        }
    }
}

/// One cell of load over sockets.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct WirePhase {
    /// Which cell it is.
    pub cell: CellKey,
    /// Connections.
    pub clients: u32,
    /// Requests in flight per connection.
    pub pipeline: u32,
    /// Weights of the operations; one entry for a pure load.
    pub mix: Vec<(Operation, u32)>,
    /// Value size, bytes; values are incompressible. With a `value_mix`, the largest of it.
    pub value_bytes: u32,
    /// Sizes mixed in this cell, each with its weight; empty: all are `value_bytes` long.
    #[serde(default)]
    pub value_mix: Vec<(u32, u32)>,
    /// Size of the key space; every key of it is loaded before reads and deletes. Keys are `key:%012d`,
    /// 16 bytes; a `del` draws without repetition and puts back what ran out.
    pub keys: u64,
    /// How keys are drawn; none: uniformly.
    #[serde(default)]
    pub distribution: Option<Distribution>,
    /// When requests start.
    #[serde(default)]
    pub offer: Offer,
    /// Lifetime of what is set, ms.
    #[serde(default)]
    pub ttl_ms: Option<u64>,
    /// Protocol, where not the target's usual one.
    #[serde(default)]
    pub protocol: Option<Protocol>,
    /// What carries the bytes, where not TCP.
    #[serde(default)]
    pub transport: Option<Transport>,
    /// Every request on a connection of its own.
    #[serde(default)]
    pub new_connections: bool,
    /// The load generator, where it is somebody else's.
    #[serde(default)]
    pub client_program: Option<ClientProgram>,
    /// Seconds not counted, before.
    pub warmup_s: f64,
    /// The cell runs at least this long …
    pub min_seconds: f64,
    /// … and at least this many operations.
    pub min_operations: u64,
    /// It stops at exactly this many operations where the count is an axis.
    pub exact_operations: Option<u64>,
    /// It is a `timeout` after this many seconds.
    pub timeout_s: f64,
    /// Fewer trials than its scenario has.
    #[serde(default)]
    pub trials: Option<u32>,
}

/// When do the requests of a cell start?
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Offer {
    /// Closed loop: when the one before was answered.
    #[default]
    Replies,
    /// Closed loop, whose throughput is the peak that later cells of the same process refer to.
    Peak,
    /// Open loop at a share of that peak.
    PercentOfPeak {
        /// Percent.
        percent: u32,
        /// How starts are spaced.
        arrival: Arrival,
    },
    /// Open loop at a given rate.
    PerSecond {
        /// Requests per second.
        per_second: u64,
        /// How starts are spaced.
        arrival: Arrival,
    },
    /// Open loop at a share of what the slowest server reached in a closed loop at the same point, in the same round:
    /// see [`super::slowest`].
    PercentOfSlowest {
        /// Percent.
        percent: u32,
        /// How starts are spaced.
        arrival: Arrival,
        /// The rate, once the closed loops of the round are over; nought: none of them came to a figure.
        #[serde(default)]
        per_second: f64,
    },
    /// Open loop at one rate after the other, until the highest is found that is still answered in time:
    /// see [`super::knee`].
    Knee {
        /// How starts are spaced.
        arrival: Arrival,
    },
}

impl Offer {
    /// How starts are spaced; none for a closed loop.
    #[must_use]
    pub fn arrival(self) -> Option<Arrival> {
        match self {
            Self::Replies | Self::Peak => None,
            Self::PercentOfPeak { arrival, .. }
            | Self::PerSecond { arrival, .. }
            | Self::PercentOfSlowest { arrival, .. }
            | Self::Knee { arrival } => Some(arrival),
        }
    }
}

/// A request of the load.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Operation {
    /// `SET key value`, answered `+OK`.
    Set,
    /// `GET key`, answered by the value the key was loaded with (or last set to).
    Get,
    /// `DEL key`, answered `:1`.
    Del,
}

impl Operation {
    /// The spelling in cell keys and metrics.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Set => "set",
            Self::Get => "get",
            Self::Del => "del",
        }
    }
}

/// One cell of the `memory-cap` scenario.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CapPhase {
    /// Which cell it is.
    pub cell: CellKey,
    /// The cap the target was given, bytes.
    pub cap_bytes: u64,
    /// What is written.
    pub load: CapLoad,
}

/// What is written against a cap.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum CapLoad {
    /// `key 1 … key n` once each on one connection, then a look at every key by insertion age, then one
    /// value that cannot fit.
    Fill {
        /// Keys written.
        keys: u64,
        /// Value size, bytes.
        value_bytes: u32,
        /// Size of the value that must be refused without evicting anything, bytes.
        oversize_bytes: u32,
    },
    /// Growing overwrites of a small key space from many connections.
    Overwrite {
        /// Connections.
        clients: u32,
        /// Key space.
        keys: u64,
        /// Sizes, smallest to largest, bytes.
        value_bytes: (u32, u32),
        /// Seconds.
        seconds: f64,
    },
    /// SET with a short PX from many connections.
    TtlChurn {
        /// Connections.
        clients: u32,
        /// Key space.
        keys: u64,
        /// Value size, bytes.
        value_bytes: u32,
        /// Lifetime, ms.
        ttl_ms: u64,
        /// Seconds.
        seconds: f64,
    },
    /// Everything that makes memory grow at once, from connections that write, that do nothing and that never read.
    Hostile {
        /// Connections.
        clients: u32,
        /// Key space.
        keys: u64,
        /// Seconds.
        seconds: f64,
    },
    /// Connections that do nothing.
    Idle {
        /// Connections.
        clients: u32,
    },
    /// GET of keys drawn by Zipf's law on one connection, and a SET of each that was not there.
    Trace {
        /// Key space.
        keys: u64,
        /// Sizes, smallest to largest, bytes; each key has one for good.
        value_bytes: (u32, u32),
        /// GETs.
        requests: u64,
    },
}

/// One cell of the `memory-per-key` scenario.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct KeysPhase {
    /// Which cell it is.
    pub cell: CellKey,
    /// Keys written, 16 bytes each.
    pub keys: u64,
    /// Value size, bytes.
    pub value_bytes: u32,
}

/// One cell of the `expiry` scenario.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ExpiryPhase {
    /// Which cell it is.
    pub cell: CellKey,
    /// Connections that read meanwhile.
    pub clients: u32,
    /// Keys that stay, and are read.
    pub kept_keys: u64,
    /// Keys that run out.
    pub keys: u64,
    /// Value size of both, bytes.
    pub value_bytes: u32,
    /// Lifetimes are spread evenly over this time, ms.
    pub within_ms: u64,
}

/// The cells of a `tail` scenario, in order.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TailPhase {
    /// While the store grows.
    pub grow: CellKey,
    /// While keys run out.
    pub expire: CellKey,
    /// While it is emptied.
    pub flush: CellKey,
    /// Connections of the open loop.
    pub clients: u32,
    /// Requests per second of the open loop.
    pub per_second: u64,
    /// Keys that the open loop uses, there before anything else.
    pub kept_keys: u64,
    /// Keys that the store grows to.
    pub keys: u64,
    /// Keys that run out.
    pub expiring_keys: u64,
    /// Their lifetimes end within this time, ms.
    pub within_ms: u64,
    /// Value size of all, bytes.
    pub value_bytes: u32,
}

/// What came of a step.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StepOutcome {
    /// `position` of the step.
    pub position: u32,
    /// One trial per cell of the step, in the order measured.
    pub trials: Vec<(String, Trial)>,
}
