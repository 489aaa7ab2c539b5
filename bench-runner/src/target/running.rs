//! A target that answers: where it is, what the kernel says of it, and how it is ended.

use super::cgroup::{Cgroups, Limits, status_field};
use super::container::{CPUS, Container, MEMORY_BYTES, Request};
use super::cpu_time::{Source, descendants};
use super::digest::sha256_file;
use super::external::External;
use super::listener::listener;
use super::memory::rss_bytes;
use super::own_cgroup::Limit;
use super::process::{Launch, NativeProcess, free_port};
use super::ready::answers;
use super::workdir::{Documents, as_user, lay_out, owner};
use super::{Definition, Fill, Placed, Protocol, Setup, locate};
use crate::load::client::Address;
use crate::load::http::Page;
use crate::model::{Mode, ProcessFacts};
use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::time::{Duration, Instant};

/// No process has this id: what would be read of it is not there.
const NO_PROCESS: u32 = 0;

/// How long a target may take from its start to its first right answer.
const READY_WITHIN: Duration = Duration::from_secs(15);

/// A target that has answered.
#[derive(Debug)]
pub struct RunningTarget {
    /// Where it listens.
    pub address: Address,
    /// Its process.
    pub pid: u32,
    /// From the start of the process (or of the runtime's `run`) to the first right answer, ms.
    pub ready_ms: f64,
    /// Where its CPU time is read.
    pub cpu: Source,
    /// RSS after the first right answer, bytes.
    pub rss_bytes_start: u64,
    kind: Kind,
    /// Removed when its process is gone: dropped last.
    _folder: Option<tempfile::TempDir>,
}

#[derive(Debug)]
enum Kind {
    Native(NativeProcess),
    Container(Container),
    External(Reached),
}

/// A server that is not ours: left as it was found.
#[derive(Debug)]
struct Reached(External);

impl Drop for Reached {
    fn drop(&mut self) {
        if let Err(reason) = self.0.clean() {
            eprintln!("bench-runner: {reason}");
        }
    }
}

impl Kind {
    /// Why it cannot answer any more, if it has ended.
    fn ended(&mut self) -> Option<String> {
        match self {
            Self::Native(process) => {
                let status = process.exit()?;
                let words = process.last_words().unwrap_or_else(|| "it printed nothing".to_owned());
                Some(format!("{status}; {words}"))
            }
            Self::Container(container) => {
                let gone = !Path::new(&format!("/proc/{}", container.pid)).exists();
                gone.then(|| container.last_words())
            }
            Self::External(_) => None,
        }
    }

    fn pid(&self) -> u32 {
        match self {
            Self::Native(process) => process.pid(),
            Self::Container(container) => container.pid,
            Self::External(_) => NO_PROCESS,
        }
    }
}

/// One start of a target: which, where, and under what.
#[derive(Debug, Clone, Copy)]
pub struct Start<'a> {
    /// What the catalogue says of it.
    pub definition: &'a Definition,
    /// Another file for its program.
    pub binary_override: Option<&'a Path>,
    /// Where and with what targets are started.
    pub setup: &'a Setup,
    /// A process, a container …
    pub mode: Mode,
    /// CPUs.
    pub placed: Placed,
    /// Its own memory cap, bytes.
    pub cap_bytes: Option<u64>,
    /// Memory limit of its cgroup or container, bytes; 2 GiB where the mode limits and none is given.
    pub memory_limit_bytes: Option<u64>,
    /// The switch that is thrown: a key of its `variants`.
    pub variant: Option<&'a str>,
    /// The files to be served, for a target that serves files.
    pub documents: Option<Documents>,
}

impl<'a> Start<'a> {
    /// A native process on any CPU, as the catalogue says.
    #[must_use]
    pub fn native(definition: &'a Definition, binary_override: Option<&'a Path>, setup: &'a Setup) -> Self {
        Self {
            definition,
            binary_override,
            setup,
            mode: Mode::Native,
            placed: Placed { target: None, generator: None },
            cap_bytes: None,
            memory_limit_bytes: None,
            variant: None,
            documents: None,
        }
    }

    fn arguments(&self, fill: &Fill) -> Result<Vec<String>, String> {
        let definition = self.definition;
        let switched = self.variant.map(|key| definition.variant(key)).transpose()?;
        let extra = switched.map_or(&[][..], |variant| &variant.args);
        Ok(definition.arguments(fill, extra))
    }

    fn environment(&self) -> Result<Vec<(String, String)>, String> {
        let switched = self.variant.map(|key| self.definition.variant(key)).transpose()?;
        let all =
            self.definition.environment.iter().chain(switched.into_iter().flat_map(|it| &it.environment));
        Ok(all.map(|(name, value)| (name.clone(), value.clone())).collect())
    }

    /// What a mode that limits holds the target to.
    fn limit(&self) -> Limit {
        Limit { cpus: Some(CPUS), memory_bytes: self.memory_limit_bytes.unwrap_or(MEMORY_BYTES) }
    }
}

/// Starts a target and waits until it has answered.
///
/// # Errors
/// It is not there, does not start, ends, or does not answer in time: one line with its own last words.
pub fn start(wanted: &Start<'_>) -> Result<RunningTarget, String> {
    let mut last = String::new();
    // Between choosing a port and the target's bind somebody else may take it.
    for _ in 0..3 {
        match start_once(wanted) {
            Err(reason) if reason.to_ascii_lowercase().contains("address already in use") => last = reason,
            other => return other,
        }
    }
    Err(last)
}

fn start_once(wanted: &Start<'_>) -> Result<RunningTarget, String> {
    let Start { definition, setup, mode, placed, .. } = *wanted;
    let key = &definition.key;
    if mode == Mode::External {
        return reach(definition);
    }
    let port = free_port()?;
    let mut password = None;
    let mut environment = wanted.environment()?;
    let begin;
    let mut fill =
        Fill { host: "127.0.0.1".to_owned(), port, cap_bytes: wanted.cap_bytes, ..Fill::default() };
    let mut folder = None;
    let mut kind = match mode {
        Mode::Native | Mode::NativeLimited => {
            let program = locate(definition, wanted.binary_override, setup)?;
            let real = program.canonicalize().unwrap_or_else(|_| program.clone());
            fill.bin_dir = real.parent().map(Path::to_owned).unwrap_or_default();
            folder = lay_out(definition, &setup.root, &setup.work_dir, &mut fill, wanted.documents)?;
            let mut words = vec![program.display().to_string()];
            words.extend(wanted.arguments(&fill)?);
            as_user(owner(definition)?.as_ref(), &mut words)?;
            let launch = Launch {
                program: words.remove(0).into(),
                arguments: words,
                environment,
                directory: folder.as_ref().map(|folder| folder.path().to_owned()),
                cpu: placed.target,
                limit: (mode == Mode::NativeLimited).then(|| wanted.limit()),
            };
            begin = Instant::now();
            Kind::Native(NativeProcess::spawn(&launch)?)
        }
        Mode::ContainerHost | Mode::ContainerPublished | Mode::ContainerNoIoUring => {
            let runtime = setup.runtime.as_ref().map_err(Clone::clone)?;
            let published = mode != Mode::ContainerHost;
            let (image, inner) = match (&definition.image, &definition.container) {
                (Some(image), _) => (image.as_str(), definition.image_port),
                (None, None) => return Err(format!("{key} has no container image")),
                (None, Some(container)) => {
                    if published {
                        let secret = format!("{:016x}{:016x}", fastrand::u64(..), fastrand::u64(..));
                        environment.push((container.password_env.clone(), secret.clone()));
                        password = Some(secret);
                    }
                    (setup.image.as_ref().map_err(Clone::clone)?.reference.as_str(), definition.image_port)
                }
            };
            if published {
                (fill.host, fill.port) = ("0.0.0.0".to_owned(), inner);
            }
            let request = Request {
                image,
                cpu: placed.target,
                published: published.then_some((port, inner)),
                io_uring: mode != Mode::ContainerNoIoUring,
                memory_bytes: wanted.limit().memory_bytes,
                environment,
                arguments: wanted.arguments(&fill)?,
            };
            begin = Instant::now();
            let started =
                runtime.start(&request).map_err(|reason| format!("{key} did not start: {reason}"))?;
            Kind::Container(started)
        }
        Mode::External => return Err(format!("{key} is not ours to start")),
    };
    let address = Address::tcp(SocketAddr::from((Ipv4Addr::LOCALHOST, port))).with_password(password);
    wait_until_ready(definition, &mut kind, &address, begin)?;
    let ready_ms = begin.elapsed().as_secs_f64() * 1e3;
    let pid = kind.pid();
    if matches!(kind, Kind::Native(_)) {
        belongs_to(pid, &address).map_err(|reason| format!("{key}: {reason}"))?;
    }
    if mode == Mode::NativeLimited {
        held_to(wanted.limit(), &Cgroups::new().limits(pid)).map_err(|reason| format!("{key}: {reason}"))?;
    }
    let (cpu, rss_bytes_start) = (Source::of(pid), rss_bytes(pid));
    Ok(RunningTarget { address, pid, ready_ms, cpu, rss_bytes_start, kind, _folder: folder })
}

/// Connects to a server that is already running.
fn reach(definition: &Definition) -> Result<RunningTarget, String> {
    let key = &definition.key;
    let external = definition.external.clone().ok_or_else(|| format!("{key} has no address"))?;
    let begin = Instant::now();
    let address = external.address.clone();
    let patience = Duration::from_secs(10);
    let answered = match &external.page {
        Some(page) => page.look(&address, patience).map(drop),
        None if external.is_memcached => answers(Protocol::Memcached, &address, patience),
        None => answers(definition.protocol, &address, patience),
    };
    answered.map_err(|reason| format!("{}: {reason}", external.shown))?;
    let ready_ms = begin.elapsed().as_secs_f64() * 1e3;
    let pid = listener(&address);
    let cpu = match (pid, &external.page) {
        (Some(pid), _) => Source::of(pid),
        (None, page) if page.is_some() || external.is_memcached => Source::Unknown,
        (None, _) => Source::of_info(&address),
    };
    Ok(RunningTarget {
        cpu,
        address,
        pid: pid.unwrap_or(NO_PROCESS),
        ready_ms,
        rss_bytes_start: pid.map_or(0, rss_bytes),
        kind: Kind::External(Reached(external)),
        _folder: None,
    })
}

/// Whether the limits that were read back are the ones a cell is labelled with.
pub(super) fn held_to(wanted: Limit, found: &Limits) -> Result<(), String> {
    let cpus = wanted.cpus.map(f64::from);
    let same = (cpus.is_none() || found.cpu == cpus)
        && found.memory_bytes.is_some_and(|bytes| bytes.abs_diff(wanted.memory_bytes) < 65_536);
    if same {
        return Ok(());
    }
    let any = |cpus: Option<f64>| cpus.map_or_else(|| "any".to_owned(), |cpus| cpus.to_string());
    let (cpus, cpu) = (any(cpus), any(found.cpu));
    let memory = found.memory_bytes.map_or_else(|| "any".to_owned(), |bytes| bytes.to_string());
    Err(format!(
        "meant to be held to {cpus} CPU and {} bytes of memory, but its cgroups say {cpu} CPU and {memory} bytes: \
         a tighter limit may lie above the runner's own cgroup",
        wanted.memory_bytes
    ))
}

/// Whether the process that was started is the one that answers. Another program, or another run, may have taken the port before
/// it: then that one would be measured, and would be sent what is meant for this one.
fn belongs_to(pid: u32, address: &Address) -> Result<(), String> {
    match listener(address) {
        Some(found) if !descendants(pid).contains(&found) => Err(format!(
            "address already in use: process {found} answers there, and not process {pid}, which was started"
        )),
        // Where it is not known, another user's process listens, or one that hands all on.
        _ => Ok(()),
    }
}

fn wait_until_ready(
    definition: &Definition,
    kind: &mut Kind,
    address: &Address,
    begin: Instant,
) -> Result<(), String> {
    let key = &definition.key;
    loop {
        let failure = match answers(definition.protocol, address, Duration::from_secs(2)) {
            Ok(()) => return Ok(()),
            Err(failure) => failure,
        };
        if let Some(reason) = kind.ended() {
            return Err(format!("{key} did not start: {reason}"));
        }
        if begin.elapsed() > READY_WITHIN {
            return Err(format!("{key} did not answer within {} s: {failure}", READY_WITHIN.as_secs()));
        }
        // Short enough not to round a start-up of milliseconds, long enough to leave it the CPU.
        let pause = if begin.elapsed() < Duration::from_millis(200) { 200 } else { 2_000 };
        std::thread::sleep(Duration::from_micros(pause));
    }
}

impl RunningTarget {
    /// Why it cannot answer any more, if it has ended.
    pub fn ended(&mut self) -> Option<String> {
        self.kind.ended()
    }

    /// What the kernel says of the process.
    #[must_use]
    pub fn facts(&self, generator_cpus: String) -> ProcessFacts {
        let container = match &self.kind {
            Kind::Container(container) => Some(container),
            Kind::Native(_) | Kind::External(_) => None,
        };
        ProcessFacts {
            runtime: container.map(|it| format!("{} {}", it.runtime().program, it.runtime().version)),
            oci_runtime: container.map(|it| it.runtime().oci.clone()),
            container_id: container.map(|it| it.id.clone()),
            image_digest: container.map(|it| it.image_digest.clone()),
            ..native_facts(self.pid, &self.cpu, self.rss_bytes_start, generator_cpus)
        }
    }

    /// Whether its process is known. Of a server that was already running it may not be.
    #[must_use]
    pub fn has_process(&self) -> bool {
        self.pid != NO_PROCESS
    }

    /// The page that is read of it, where it is an HTTP server that was already running.
    #[must_use]
    pub fn page(&self) -> Option<&Page> {
        match &self.kind {
            Kind::External(reached) => reached.0.page.as_ref(),
            Kind::Native(_) | Kind::Container(_) => None,
        }
    }

    /// Whether it was already running, and speaks memcached's protocol.
    #[must_use]
    pub fn is_memcached(&self) -> bool {
        matches!(&self.kind, Kind::External(reached) if reached.0.is_memcached)
    }

    /// Ends it; returns when its process is gone.
    pub fn stop(self) {
        drop(self);
    }
}

/// What the kernel says of a process that is in no container of its own.
pub(super) fn native_facts(
    pid: u32,
    cpu: &Source,
    rss_bytes_start: u64,
    generator_cpus: String,
) -> ProcessFacts {
    let cgroups = Cgroups::new();
    let limits = cgroups.limits(pid);
    ProcessFacts {
        pid,
        runtime: None,
        oci_runtime: None,
        container_id: None,
        image_digest: None,
        binary_sha256: sha256_file(Path::new(&format!("/proc/{pid}/exe"))).unwrap_or_default(),
        cgroup: followed(&cgroups.membership(pid), &limits, cpu),
        cpu_limit: limits.cpu,
        memory_limit_bytes: limits.memory_bytes,
        limit_files: limits.files,
        cpus_allowed: status_field(pid, "Cpus_allowed_list").unwrap_or_default(),
        generator_cpus,
        cpu_time_source: cpu.name().to_owned(),
        rss_bytes_start,
    }
}

/// The lines of `/proc/PID/cgroup` that limits and CPU time were read from.
fn followed(
    membership: &BTreeMap<String, String>,
    limits: &Limits,
    cpu: &Source,
) -> BTreeMap<String, String> {
    let mut wanted = match cpu {
        Source::Cpuacct(..) => vec!["cpuacct"],
        Source::CpuStat(_) => vec!["unified"],
        Source::Processes(_) | Source::Info(_) | Source::Unknown => Vec::new(),
    };
    for (there, controller) in [(limits.cpu.is_some(), "cpu"), (limits.memory_bytes.is_some(), "memory")] {
        if there {
            wanted.push(if membership.contains_key(controller) { controller } else { "unified" });
        }
    }
    let line = |name: &str| Some((name.to_owned(), membership.get(name)?.clone()));
    wanted.into_iter().filter_map(line).collect()
}
