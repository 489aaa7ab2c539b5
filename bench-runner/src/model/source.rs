//! Where the measured things came from: source, builds, targets, components.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use ts_rs::TS;

/// The program that wrote a record.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(deny_unknown_fields)]
pub struct Tool {
    /// `bench-runner`.
    pub name: String,
    /// Its version.
    pub version: String,
}

impl Tool {
    /// This build.
    #[must_use]
    pub fn this() -> Self {
        Self { name: "bench-runner".to_owned(), version: env!("CARGO_PKG_VERSION").to_owned() }
    }
}

/// The commit of the system under test.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(deny_unknown_fields)]
pub struct Source {
    /// Full commit id, or empty outside a git checkout.
    pub commit: String,
    /// Whether tracked files differed from it.
    pub dirty: bool,
    /// Version in the workspace's Cargo.toml.
    pub version: String,
    /// Git's hash of the folder `engine/` in that commit: runs of one version are published only where
    /// they agree in it. Absent before 0.5.1, and outside a git checkout.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub engine_tree: Option<String>,
}

/// What a target is to us.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// The system under test.
    Subject,
    /// Somebody else's server.
    Rival,
    /// A server that does nothing: shows the generator's ceiling.
    Ceiling,
    /// A server that reads each request whole and answers a constant: the floor of the machine, below which
    /// no server of that shape can be.
    Floor,
}

impl Role {
    /// Whether such a target keeps nothing of what it is sent, so that replies are judged by shape alone.
    #[must_use]
    pub fn keeps_nothing(self) -> bool {
        matches!(self, Self::Ceiling | Self::Floor)
    }
}

/// A server that was measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(deny_unknown_fields)]
pub struct TargetRecord {
    /// `plumbkv`, `redis-server`, `null`.
    pub key: String,
    /// Name for people: `Redis 7.0.15 (Debian, jemalloc 5.2.1)`.
    pub title: String,
    /// What it is to us.
    pub role: Role,
    /// Whether it was found here.
    pub available: bool,
    /// Why not, and what to install.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub reason: Option<String>,
    /// As the program says it.
    pub version: String,
    /// Memory allocator: `jemalloc-5.2.1`, `glibc`.
    pub allocator: String,
    /// `socket` or `in_process`. Classes never share a table.
    pub transport: String,
    /// `volatile` or `durable`.
    pub durability: String,
    /// The command line, with `{port}` and the like not yet filled in.
    pub command: Vec<String>,
    /// Settings that differ from its defaults, each with its reason.
    pub settings: Vec<Setting>,
    /// The file that ran in native mode.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub build: Option<Build>,
    /// The image that ran in the container modes.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub image: Option<Image>,
}

/// A setting that differs from the target's default.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(deny_unknown_fields)]
pub struct Setting {
    /// As the target spells it.
    pub key: String,
    /// The value given.
    pub value: String,
    /// Why.
    pub reason: String,
}

/// An executable file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(deny_unknown_fields)]
pub struct Build {
    /// File name, without its folder.
    pub file: String,
    /// SHA-256 of the file that ran (the same in native and container mode).
    pub sha256: String,
    /// Size, bytes.
    #[ts(type = "number")]
    pub bytes: u64,
    /// Cargo profile; empty for other people's programs.
    pub profile: String,
    /// `rustc --version`; empty for other people's programs.
    pub rustc: String,
    /// Target triple; empty where not known.
    pub target: String,
    /// `-C` flags; empty where none.
    pub rustflags: String,
    /// Statically linked.
    pub is_static: bool,
}

/// A container image.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(deny_unknown_fields)]
pub struct Image {
    /// `localhost/plumbkv:0.1.0`.
    pub reference: String,
    /// `sha256:…`.
    pub digest: String,
    /// Size, bytes.
    #[ts(type = "number")]
    pub bytes: u64,
    /// SHA-256 of the server binary in it.
    pub binary_sha256: String,
    /// Runtime that built and ran it: `podman 4.3.1 (runc 1.1.5)`.
    pub runtime: String,
}

/// One imported criterion benchmark.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(deny_unknown_fields)]
pub struct Component {
    /// `memory/get/64`.
    pub key: String,
    /// Criterion's group: `memory`.
    pub group: String,
    /// The rest of the name.
    pub name: String,
    /// Nanoseconds per iteration: criterion's slope, or mean where there is no slope.
    pub ns_per_op: f64,
    /// Lower end of criterion's 95 % interval.
    pub ns_per_op_low: f64,
    /// Upper end of criterion's 95 % interval.
    pub ns_per_op_high: f64,
    /// Which of criterion's estimates it is: `slope` or `mean`.
    pub estimate: String,
    /// Bytes handled per iteration, where the benchmark says so.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[ts(optional, type = "number")]
    pub bytes_per_op: Option<u64>,
    /// Samples that the interval is of. Absent before 0.5.0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub samples: Option<u32>,
    /// Calls of the allocator per iteration, where the benchmark counts them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub allocations_per_op: Option<f64>,
    /// Whose part it is, where not ours: `crossbeam-skiplist 0.1.3`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub library: Option<String>,
    /// Key of the part of ours that it stands beside.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub counterpart: Option<String>,
}
