//! The machine and everything else that can move a figure.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use ts_rs::TS;

/// What tells one kind of machine from another. No host name, no clock.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(deny_unknown_fields)]
pub struct Machine {
    /// SHA-256 of the fields below, first 12 hexadecimal digits.
    pub fingerprint: String,
    /// Name for people, from `results/machines.toml`; empty on an unknown machine.
    pub title: String,
    /// `stored` or `hosted`, from `results/machines.toml`; `unknown` elsewhere.
    pub class: String,
    /// Model name with family, model, stepping: `Intel(R) Xeon(R) Processor (6/207/2)`.
    pub cpu_model: String,
    /// `x86_64`, `aarch64`.
    pub architecture: String,
    /// Physical cores.
    pub cores: u32,
    /// Hardware threads.
    pub threads: u32,
    /// Memory, rounded to GiB.
    pub memory_gib: u32,
    /// `kvm`, `none`, `unknown`.
    pub virtualisation: String,
}

/// What else was in force during the run. `unknown` where it could not be read.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(deny_unknown_fields)]
pub struct Environment {
    /// `Debian GNU/Linux 12 (bookworm)`.
    pub os: String,
    /// `uname -r`.
    pub kernel: String,
    /// Frequency governor, or `none` where the guest has no control.
    pub governor: String,
    /// `on`, `off`, `unknown`.
    pub turbo: String,
    /// `on`, `off`, `unknown`.
    pub smt: String,
    /// Transparent huge pages: `always`, `madvise`, `never`.
    pub transparent_hugepage: String,
    /// `kernel.randomize_va_space`.
    pub aslr: String,
    /// Swap, bytes.
    #[ts(type = "number")]
    pub swap_bytes: u64,
    /// CPU vulnerabilities' state, one line each: `spectre_v2: Mitigation …`.
    pub mitigations: Vec<String>,
    /// `v1`, `v2`, `mixed`, `none`.
    pub cgroup_version: String,
    /// Controllers the runner can use.
    pub cgroup_controllers: Vec<String>,
    /// Container runtime that ran a container, with version; absent: none did.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub container_runtime: Option<String>,
    /// Why no container ran, where none did.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub container_reason: Option<String>,
    /// Hard limit on open files.
    #[ts(type = "number")]
    pub open_files_limit: u64,
    /// `net.core.somaxconn`.
    pub somaxconn: u32,
    /// One-minute load average when the run began.
    pub load_average_start: f64,
    /// CPUs the targets were pinned to; empty when not pinned.
    pub server_cpus: String,
    /// CPUs the generator was pinned to; empty when not pinned.
    pub generator_cpus: String,
    /// File system that embedded engines had their files on: `ext4`. Absent: none was measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub disk_filesystem: Option<String>,
    /// Appends of 128 bytes, each followed by `fdatasync`, that the disk did per second when the run began.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub disk_syncs_per_second: Option<f64>,
    /// Median time of such an append with its `fdatasync`, ns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub disk_sync_ns_p50: Option<f64>,
    /// Versions of the tools used: `rustc 1.95.0`, `podman 4.3.1`.
    pub tools: Vec<String>,
}
