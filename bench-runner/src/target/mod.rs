//! Targets: which servers there are, how one is started and ended, and what the kernel says of it.
//!
//! The runner knows a target as an address, a process and an image; nothing of the engine.

mod catalogue;
pub mod cgroup;
mod command;
pub mod container;
pub mod cpu_time;
mod definition;
mod digest;
pub(crate) use digest::sha256_file;
mod driver;
pub mod external;
mod external_memcached;
mod listener;
pub mod memory;
pub mod own_cgroup;
pub(crate) mod page_cache;
mod placed;
mod probe;
mod probe_program;
mod process;
mod ready;
mod running;
mod seccomp;
mod workdir;

pub use catalogue::Catalogue;
pub(crate) use command::{run as run_program, write_executable};
pub use definition::*;
pub(crate) use driver::{DriverStart, RunningDriver, Silence};
pub use placed::Placed;
pub use probe::{locate, locate_client, probe};
pub(crate) use ready::verify_foreign;
pub use running::{RunningTarget, Start, start};
pub use workdir::Documents;
pub(crate) use workdir::write_documents;

use crate::model::Image;
use std::path::PathBuf;

/// What starting targets needs to know of this machine.
#[derive(Debug, Clone)]
pub struct Setup {
    /// Root of the checkout.
    pub root: PathBuf,
    /// A temporary folder of the run's own.
    pub work_dir: PathBuf,
    /// CPU of the target and CPU of the generator; none where there is only one, or pinning is refused.
    pub cpus: Option<(u32, u32)>,
    /// Threads of the load generator.
    pub generator_threads: usize,
    /// The container runtime, or why there is none.
    pub runtime: Result<container::Runtime, String>,
    /// The image of the subject, or why there is none.
    pub image: Result<Image, String>,
    /// Whether a native process can be held to limits, or why not.
    pub limits: Result<(), String>,
    /// `{server_binary}` in the catalogue.
    pub server_binary: PathBuf,
    /// `{runner_binary}` in the catalogue.
    pub runner_binary: PathBuf,
}

impl Setup {
    /// A setup without containers: the CPUs are chosen from those the runner may use, the runner's own program
    /// serves as null server.
    #[must_use]
    pub fn new(root: PathBuf, work_dir: PathBuf, server_binary: PathBuf) -> Self {
        Self {
            root,
            work_dir,
            cpus: choose_cpus(),
            generator_threads: 1,
            runtime: Err("containers were not asked for".to_owned()),
            image: Err("containers were not asked for".to_owned()),
            limits: can_limit(),
            server_binary,
            runner_binary: std::env::current_exe().unwrap_or_else(|_| PathBuf::from("bench-runner")),
        }
    }

    /// Looks for a container runtime and makes the subject's image from `server_binary`.
    pub fn prepare_containers(&mut self, reference: &str) {
        self.runtime = container::detect(&self.work_dir);
        self.image = match &self.runtime {
            Err(reason) => Err(reason.clone()),
            Ok(runtime) => {
                let dockerfile = self.root.join("docker/server.Dockerfile");
                container::prepare_image(runtime, &self.server_binary, &dockerfile, reference)
                    .map_err(|error| format!("{error:#}"))
            }
        };
    }
}

/// Whether a cgroup with limits can be made here: shown by making one.
fn can_limit() -> Result<(), String> {
    let limit = own_cgroup::Limit { cpus: Some(container::CPUS), memory_bytes: container::MEMORY_BYTES };
    own_cgroup::OwnCgroup::limiting(process::next_number(), limit)
        .map(drop)
        .map_err(|reason| format!("no native process can be held to limits here: {reason}"))
}

/// How many CPUs the runner may use.
#[must_use]
pub fn cpus_usable() -> usize {
    rustix::thread::sched_getaffinity(None).map_or(1, |set| set.count() as usize)
}

/// The first two CPUs the runner may use; none where there is only one.
#[must_use]
pub fn choose_cpus() -> Option<(u32, u32)> {
    let set = rustix::thread::sched_getaffinity(None).ok()?;
    let mut usable = (0..rustix::thread::CpuSet::MAX_CPU).filter(|cpu| set.is_set(*cpu));
    let (server, generator) = (usable.next()?, usable.next()?);
    Some((u32::try_from(server).ok()?, u32::try_from(generator).ok()?))
}
