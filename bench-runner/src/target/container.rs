//! How does a target run in a container, and when does a container runtime count as found?
//!
//! A client without a daemon, or a runtime that this machine's limits do not let start anything, is no runtime:
//! one counts when a container of an image of our own has run and answered. No image is ever pulled.

use super::command::{Finished, run, write_executable};
use super::digest::{is_static, sha256_file};
use super::probe_program::{PROBE_TEXT, says_its_text};
use super::seccomp::Profiles;
use crate::model::Image;
use anyhow::{Context, bail};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A container runtime that has run a container.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Runtime {
    /// `podman` or `docker`.
    pub program: String,
    /// `4.3.1`.
    pub version: String,
    /// `runc 1.1.5`.
    pub oci: String,
    /// Arguments before the sub-command that this machine needs.
    global: Vec<String>,
    /// Arguments of `run` that this machine needs.
    extra: Vec<String>,
    work_dir: PathBuf,
    profiles: Profiles,
}

/// One container to start.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Request<'a> {
    pub(crate) image: &'a str,
    /// CPU it is pinned to.
    pub(crate) cpu: Option<u32>,
    /// Port on 127.0.0.1, and the image's port that is published as it; none: the host's network.
    pub(crate) published: Option<(u16, u16)>,
    /// Whether its system-call filter allows io_uring.
    pub(crate) io_uring: bool,
    /// Memory it may use, bytes.
    pub(crate) memory_bytes: u64,
    /// Environment variables.
    pub(crate) environment: Vec<(String, String)>,
    pub(crate) arguments: Vec<String>,
}

/// A container of our own; removed when dropped.
#[derive(Debug)]
pub(crate) struct Container {
    runtime: Runtime,
    name: String,
    /// Full id.
    pub(crate) id: String,
    /// Its first process, in the runner's namespace.
    pub(crate) pid: u32,
    /// `sha256:…` of the image it runs.
    pub(crate) image_digest: String,
}

const SHORT: Duration = Duration::from_secs(30);
const LONG: Duration = Duration::from_secs(120);
const LABEL: &str = "plumbkv-bench";

/// CPUs' worth of time a container gets.
pub const CPUS: u32 = 1;
/// Memory a container gets unless its cell says otherwise, bytes.
pub const MEMORY_BYTES: u64 = 2 << 30;

/// Finds a runtime: podman, then docker.
///
/// # Errors
/// None has run a container; the reason names each and what it said.
pub fn detect(work_dir: &Path) -> Result<Runtime, String> {
    let mut reasons = Vec::new();
    for program in ["podman", "docker"] {
        match try_program(program, work_dir) {
            Ok(runtime) => {
                runtime.remove_left_behind();
                return Ok(runtime);
            }
            Err(reason) => reasons.push(format!("{program}: {reason}")),
        }
    }
    Err(format!("no container ran ({})", reasons.join("; ")))
}

fn try_program(program: &str, work_dir: &Path) -> Result<Runtime, String> {
    let version = run(program, &["--version"], SHORT)?;
    let version =
        version.stdout.split_whitespace().find(|word| word.starts_with(|c: char| c.is_ascii_digit()));
    let version = version.unwrap_or("unknown").trim_end_matches(',').to_owned();
    let plain = Runtime {
        program: program.to_owned(),
        version,
        oci: String::new(),
        global: Vec::new(),
        extra: Vec::new(),
        work_dir: work_dir.to_owned(),
        profiles: Profiles::write(work_dir, program == "podman")?,
    };
    let first = plain.run_probe();
    let mut working = match (first, plain.with_own_limits()) {
        (Ok(()), _) => plain,
        (Err(_), Some(limited)) => limited.run_probe().map(|()| limited)?,
        (Err(reason), None) => return Err(reason),
    };
    working.oci = working.oci_runtime();
    Ok(working)
}

/// Builds the subject's image from a static binary, and reads that binary's digest back out of it.
///
/// # Errors
/// The binary or the Dockerfile is missing, the build fails, the image holds another file, or its container
/// does not run.
pub fn prepare_image(
    runtime: &Runtime,
    binary: &Path,
    dockerfile: &Path,
    reference: &str,
) -> anyhow::Result<Image> {
    let bytes = std::fs::read(binary)
        .with_context(|| format!("no server binary for the image at {}", binary.display()))?;
    if !is_static(&bytes) {
        bail!("{} is not static, as an image FROM scratch needs; `make image-binary`", binary.display());
    }
    let sha256 = sha256_file(binary).with_context(|| format!("cannot read {}", binary.display()))?;
    if !dockerfile.is_file() {
        bail!("no {}", dockerfile.display());
    }
    let context = tempfile::tempdir_in(&runtime.work_dir).context("no folder for the image's context")?;
    std::fs::copy(binary, context.path().join("plumbkv")).context("cannot copy the server binary")?;
    let dockerfile = dockerfile.display().to_string();
    let folder = context.path().display().to_string();
    runtime
        .build(&["--target", "prebuilt", "-f", &dockerfile, "-t", reference, &folder])
        .map_err(anyhow::Error::msg)?;
    let inside = context.path().join("from-image");
    runtime.copy_out(reference, "/plumbkv", &inside).map_err(anyhow::Error::msg)?;
    let inside = sha256_file(&inside).context("the image holds no /plumbkv")?;
    if inside != sha256 {
        bail!("the image's /plumbkv has sha256 {inside}, the file it was built from {sha256}");
    }
    let says = runtime.run_once(reference, &["--version"]).map_err(anyhow::Error::msg)?;
    if !says.success {
        bail!("a container of {reference} did not run: {}", says.last_line());
    }
    let image = runtime.describe_image(reference).map_err(anyhow::Error::msg)?;
    if !image.digest.starts_with("sha256:") {
        bail!("{} names no digest of {reference}: '{}'", runtime.program, image.digest);
    }
    Ok(Image { binary_sha256: inside, ..image })
}

impl Runtime {
    /// `podman 4.3.1 (runc 1.1.5)`.
    #[must_use]
    pub fn describe(&self) -> String {
        format!("{} {} ({})", self.program, self.version, self.oci)
    }

    fn is_podman(&self) -> bool {
        self.program == "podman"
    }

    /// As root with a low hard limit of open files a runtime cannot raise it to its own default, and crun
    /// refuses a machine that has both versions of cgroups: runc and the limits we have.
    fn with_own_limits(&self) -> Option<Self> {
        let files = rustix::process::getrlimit(rustix::process::Resource::Nofile).maximum?;
        let global =
            if self.is_podman() { vec!["--runtime".to_owned(), "runc".to_owned()] } else { Vec::new() };
        let extra = ["--ulimit", &format!("nofile={files}:{files}"), "--ulimit", "nproc=1024:1024"];
        Some(Self { global, extra: extra.map(str::to_owned).to_vec(), ..self.clone() })
    }

    fn call(&self, arguments: &[&str], limit: Duration) -> Result<Finished, String> {
        let all: Vec<&str> =
            self.global.iter().map(String::as_str).chain(arguments.iter().copied()).collect();
        run(&self.program, &all, limit)
    }

    fn build(&self, arguments: &[&str]) -> Result<(), String> {
        // There is nothing to take from the cache, and podman's search of it fails where another build's image is removed meanwhile.
        let command: &[&str] = &["build", "--no-cache"];
        // podman drops HEALTHCHECK from its own format, and a fixed time makes equal bytes an equal digest.
        let flavour: &[&str] = if self.is_podman() {
            &["--format", "docker", "--timestamp", "0", "--pull=never", "--network", "host"]
        } else {
            &["--pull=false"]
        };
        let done = self.call(&[command, flavour, arguments].concat(), LONG)?;
        if done.success { Ok(()) } else { Err(format!("the image was not built: {}", done.last_line())) }
    }

    fn copy_out(&self, reference: &str, from: &str, to: &Path) -> Result<(), String> {
        let label = format!("{LABEL}={}", std::process::id());
        let created = self.call(&["create", "--pull=never", "--label", &label, reference], SHORT)?;
        let id = created.stdout.trim().to_owned();
        if !created.success || id.is_empty() {
            return Err(format!("no container of {reference}: {}", created.last_line()));
        }
        let copied = self.call(&["cp", &format!("{id}:{from}"), &to.display().to_string()], SHORT);
        let removed = self.call(&["rm", "-f", &id], SHORT);
        let copied = copied?;
        removed?;
        if copied.success {
            Ok(())
        } else {
            Err(format!("{from} is not in {reference}: {}", copied.last_line()))
        }
    }

    /// What is known of an image that is on this machine already.
    pub(crate) fn describe_image(&self, reference: &str) -> Result<Image, String> {
        let fields = if self.is_podman() { "{{.Digest}} {{.Size}}" } else { "{{.Id}} {{.Size}}" };
        let inspected = self.call(&["image", "inspect", "--format", fields, reference], SHORT)?;
        if !inspected.success {
            return Err(format!(
                "the image {reference} is not on this machine; where a registry can be reached, \
                 `{} pull {reference}` brings it (the runner pulls nothing)",
                self.program
            ));
        }
        let mut words = inspected.stdout.split_whitespace();
        Ok(Image {
            reference: reference.to_owned(),
            digest: words.next().unwrap_or_default().to_owned(),
            bytes: words.next().and_then(|size| size.parse().ok()).unwrap_or(0),
            binary_sha256: String::new(),
            runtime: self.describe(),
        })
    }

    pub(crate) fn run_once(&self, reference: &str, arguments: &[&str]) -> Result<Finished, String> {
        let label = format!("{LABEL}={}", std::process::id());
        let mut all =
            vec!["run", "--rm", "--pull=never", "--no-healthcheck", "--network", "none", "--label", &label];
        all.extend(self.extra.iter().map(String::as_str));
        all.push(reference);
        all.extend(arguments);
        self.call(&all, LONG)
    }

    /// Builds and runs an image of a program of a few instructions, under the limits of the measured ones.
    fn run_probe(&self) -> Result<(), String> {
        let program = says_its_text().ok_or("no probe program for this architecture")?;
        let told = |error: std::io::Error| format!("no folder for the probe image: {error}");
        let context = tempfile::tempdir_in(&self.work_dir).map_err(told)?;
        write_executable(&context.path().join("probe"), &program).map_err(told)?;
        let dockerfile = context.path().join("Dockerfile");
        std::fs::write(&dockerfile, "FROM scratch\nCOPY probe /probe\nENTRYPOINT [\"/probe\"]\n")
            .map_err(told)?;
        // The folder's name is this call's own, so that another call does not take this one's image away. A tag may not begin with its dot.
        let call = context.path().file_name().unwrap_or_default().to_string_lossy();
        let reference = format!("localhost/plumbkv-bench-probe:{}{call}", std::process::id());
        let (file, folder) = (dockerfile.display().to_string(), context.path().display().to_string());
        self.build(&["-f", &file, "-t", &reference, &folder])?;
        let done = self.run_once(&reference, &[]);
        let _ = self.call(&["rmi", "-f", &reference], SHORT);
        let done = done?;
        if done.success && done.stdout == PROBE_TEXT {
            Ok(())
        } else {
            Err(format!("its container did not answer: {}", done.last_line()))
        }
    }

    fn oci_runtime(&self) -> String {
        let told =
            |arguments: &[&str]| self.call(arguments, SHORT).map(|done| done.stdout).unwrap_or_default();
        if self.is_podman() {
            let text = told(&["info", "--format", "{{.Host.OCIRuntime.Version}}"]);
            let mut words = text.split_whitespace();
            let name = words.next().unwrap_or("unknown");
            let version = words.find(|word| word.starts_with(|c: char| c.is_ascii_digit())).unwrap_or("");
            format!("{name} {}", version.split('+').next().unwrap_or("")).trim().to_owned()
        } else {
            told(&["info", "--format", "{{.DefaultRuntime}}"]).trim().to_owned()
        }
    }

    /// Removes containers of runners that were killed before they could do it.
    fn remove_left_behind(&self) {
        let fields = format!("{{{{.ID}}}} {{{{.Label \"{LABEL}\"}}}}");
        let list = ["ps", "-a", "--no-trunc", "--filter", &format!("label={LABEL}"), "--format", &fields];
        let Ok(listed) = self.call(&list, SHORT) else { return };
        for line in listed.stdout.lines() {
            let Some((id, runner)) = line.split_once(' ') else { continue };
            if runner.parse::<u32>().is_ok_and(|pid| !Path::new(&format!("/proc/{pid}")).exists()) {
                let _ = self.call(&["rm", "-f", id], SHORT);
            }
        }
    }

    /// Starts a container and returns when its process is there.
    pub(crate) fn start(&self, request: &Request<'_>) -> Result<Container, String> {
        let name = format!("plumbkv-bench-{}-{}", std::process::id(), super::process::next_number());
        let arguments = self.start_arguments(&name, request);
        let borrowed: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let started = self.call(&borrowed, LONG)?;
        // From here on there may be a container, whatever else goes wrong.
        let mut container = Container {
            runtime: self.clone(),
            id: started.stdout.trim().to_owned(),
            name,
            pid: 0,
            image_digest: String::new(),
        };
        if !started.success {
            return Err(format!("{} run: {}", self.program, started.last_line()));
        }
        let fields =
            if self.is_podman() { "{{.State.Pid}} {{.ImageDigest}}" } else { "{{.State.Pid}} {{.Image}}" };
        let inspected = self.call(&["inspect", "--format", fields, &container.id], SHORT)?;
        let mut words = inspected.stdout.split_whitespace();
        container.pid = words.next().and_then(|pid| pid.parse().ok()).unwrap_or(0);
        container.image_digest = words.next().unwrap_or_default().to_owned();
        if container.pid == 0 {
            return Err(format!("the container ended at once: {}", container.last_words()));
        }
        Ok(container)
    }

    fn start_arguments(&self, name: &str, request: &Request<'_>) -> Vec<String> {
        let label = format!("{LABEL}={}", std::process::id());
        // A health check would run in the container's own cgroup, every ten seconds of a measurement.
        let mut all: Vec<String> =
            ["run", "-d", "--pull=never", "--no-healthcheck", "--name", name, "--label", &label]
                .map(str::to_owned)
                .to_vec();
        all.extend(["--cpus".to_owned(), CPUS.to_string()]);
        all.extend(["--memory".to_owned(), request.memory_bytes.to_string()]);
        // As for a native process under limits: what does not fit is not swapped out, but refused or killed.
        all.extend(["--memory-swap".to_owned(), request.memory_bytes.to_string()]);
        let profile =
            if request.io_uring { &self.profiles.with_io_uring } else { &self.profiles.without_io_uring };
        if let Some(profile) = profile {
            all.extend(["--security-opt".to_owned(), format!("seccomp={}", profile.display())]);
        }
        all.extend(self.extra.iter().cloned());
        if let Some(cpu) = request.cpu {
            all.extend(["--cpuset-cpus".to_owned(), cpu.to_string()]);
        }
        match request.published {
            Some((port, inner)) => {
                all.extend(["-p".to_owned(), format!("127.0.0.1:{port}:{inner}")]);
            }
            None => all.extend(["--network", "host"].map(str::to_owned)),
        }
        for (variable, value) in &request.environment {
            all.extend(["--env".to_owned(), format!("{variable}={value}")]);
        }
        all.push(request.image.to_owned());
        all.extend(request.arguments.iter().cloned());
        all
    }
}

impl Container {
    /// The last line its process printed.
    pub(crate) fn last_words(&self) -> String {
        match self.runtime.call(&["logs", "--tail", "5", &self.name], SHORT) {
            Ok(logs) => logs.last_line(),
            Err(reason) => reason,
        }
    }

    /// Name and version of the runtime.
    pub(crate) fn runtime(&self) -> &Runtime {
        &self.runtime
    }
}

impl Drop for Container {
    fn drop(&mut self) {
        // By name: there may be a container although its start has failed.
        let patience: &[&str] = if self.runtime.is_podman() { &["-t", "5"] } else { &[] };
        if !self.runtime.is_podman() {
            let _ = self.runtime.call(&["stop", "-t", "5", &self.name], SHORT);
        }
        let _ = self.runtime.call(&[&["rm", "-f"], patience, &[&self.name]].concat(), SHORT);
    }
}

#[cfg(test)]
#[path = "container_test.rs"]
mod tests;
