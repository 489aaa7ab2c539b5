//! How does a native target get cgroups of its own: to have its CPU time counted, or to be held to limits?
//!
//! Counting is best effort: where no cgroup can be made, CPU time is read from the processes themselves. Limits
//! are not: a cell that is meant to run under them runs under them, or is skipped with the reason. Version 1 has
//! a hierarchy per controller, so up to three folders are made; version 2 has one for all.

use super::cgroup::{Cgroups, Folder};
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

const PREFIX: &str = "plumbkv-bench-";
/// The kernel's default, µs; Docker and podman use it too.
const CPU_PERIOD_US: u64 = 100_000;

/// What a cgroup holds its processes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limit {
    /// Whole CPUs' worth of time; none: as much as there is.
    pub cpus: Option<u32>,
    /// Memory, page cache included, bytes. Nothing may be swapped out beyond it.
    pub memory_bytes: u64,
}

/// Cgroups of the runner's own making, for one native target; removed when dropped, once they are empty.
#[derive(Debug)]
pub struct OwnCgroup {
    folders: Vec<PathBuf>,
}

impl OwnCgroup {
    /// Makes an empty one below the runner's own, of `cpuacct` where that is a hierarchy of its own, else of
    /// version 2. Nothing where the system does not let us, as for an ordinary user.
    #[must_use]
    pub fn counting(number: u32) -> Option<Self> {
        let parent = parent("cpuacct").or_else(|| parent("cpu"))?;
        let mut own = Self { folders: Vec::new() };
        own.make(&parent, number).ok()?;
        Some(own)
    }

    /// Makes one that also limits memory and, where that is asked for, CPU time, and reads the limits back.
    ///
    /// # Errors
    /// The system does not let us make it, has no controller for it, or reads back another limit.
    pub fn limiting(number: u32, limit: Limit) -> Result<Self, String> {
        let mut own = Self { folders: Vec::new() };
        let mut parents = Vec::new();
        for controller in ["cpu", "memory", "cpuacct"] {
            match parent(controller) {
                Some(found) if parents.contains(&found) => {}
                Some(found) => parents.push(found),
                // Version 2 counts CPU time without a controller of that name.
                None if controller == "cpuacct" => {}
                None => return Err(format!("no cgroup hierarchy here has the {controller} controller")),
            }
        }
        for found in &parents {
            own.make(found, number)?;
        }
        let pages = limit.memory_bytes.div_ceil(rustix::param::page_size() as u64);
        let bytes = pages * rustix::param::page_size() as u64;
        let quota = limit.cpus.map(|cpus| u64::from(cpus) * CPU_PERIOD_US);
        if parents.iter().any(|parent| parent.unified) {
            if let Some(quota) = quota {
                own.set("cpu.max", &format!("{quota} {CPU_PERIOD_US}"))?;
            }
            own.set("memory.max", &bytes.to_string())?;
            // Not there without swap accounting, and then there is nothing to forbid.
            let _ = own.set("memory.swap.max", "0");
        } else {
            if let Some(quota) = quota {
                own.set("cpu.cfs_period_us", &CPU_PERIOD_US.to_string())?;
                own.set("cpu.cfs_quota_us", &quota.to_string())?;
            }
            own.set("memory.limit_in_bytes", &bytes.to_string())?;
            let _ = own.set("memory.memsw.limit_in_bytes", &bytes.to_string());
        }
        Ok(own)
    }

    fn make(&mut self, parent: &Folder, number: u32) -> Result<(), String> {
        let folder = parent.path.join(format!("{PREFIX}{}-{number}", std::process::id()));
        let told = |error: std::io::Error| format!("cannot make the cgroup {}: {error}", folder.display());
        if parent.unified {
            // Children have a controller's files only where their parent hands it down.
            let _ = fs::write(parent.path.join("cgroup.subtree_control"), "+cpu +memory");
        }
        fs::create_dir(&folder).map_err(told)?;
        self.folders.push(folder.clone());
        // A folder that cannot take a process is of no use: shown by opening its file for writing.
        fs::OpenOptions::new().write(true).open(folder.join("cgroup.procs")).map_err(told)?;
        Ok(())
    }

    /// Writes a limit where its file is, and looks whether the kernel took it.
    fn set(&self, file: &str, value: &str) -> Result<(), String> {
        let path = self.folders.iter().map(|folder| folder.join(file)).find(|path| path.is_file());
        let path = path.ok_or_else(|| {
            format!("a cgroup of our own has no {file}: its controller is not handed down to us here")
        })?;
        fs::write(&path, value).map_err(|error| format!("cannot write {}: {error}", path.display()))?;
        let read = fs::read_to_string(&path).unwrap_or_default();
        if read.trim() == value {
            Ok(())
        } else {
            Err(format!("{} says '{}' after '{value}' was written", path.display(), read.trim()))
        }
    }

    /// The files `cgroup.procs`, open for writing: what writes `0` into each moves in.
    #[must_use]
    pub fn procs(&self) -> Vec<fs::File> {
        let open =
            |folder: &PathBuf| fs::OpenOptions::new().write(true).open(folder.join("cgroup.procs")).ok();
        self.folders.iter().filter_map(open).collect()
    }

    /// Moves a process in.
    ///
    /// # Errors
    /// The system refuses, or the process is gone.
    pub fn take(&self, pid: u32) -> std::io::Result<()> {
        for mut file in self.procs() {
            write!(file, "{pid}")?;
        }
        Ok(())
    }

    /// Ends what the target has left behind: a helper that made itself independent of it.
    fn end_members(&self) {
        let texts =
            self.folders.iter().filter_map(|folder| fs::read_to_string(folder.join("cgroup.procs")).ok());
        for pid in texts
            .flat_map(|text| text.lines().filter_map(|line| line.trim().parse().ok()).collect::<Vec<_>>())
        {
            if let Some(pid) = rustix::process::Pid::from_raw(pid) {
                let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
            }
        }
    }

    /// Its folders.
    #[must_use]
    pub fn folders(&self) -> &[PathBuf] {
        &self.folders
    }
}

impl Drop for OwnCgroup {
    fn drop(&mut self) {
        self.end_members();
        for folder in &self.folders {
            // A process that has just ended may still count for a moment.
            for _ in 0..50 {
                match fs::remove_dir(folder) {
                    Err(error) if error.kind() == std::io::ErrorKind::ResourceBusy => {
                        std::thread::sleep(std::time::Duration::from_millis(2));
                    }
                    _ => break,
                }
            }
        }
    }
}

/// Whether this runner made the cgroup: what is in it was started by the target, or by what the target started.
pub(super) fn is_ours(folder: &Path) -> bool {
    let ours = format!("{PREFIX}{}-", std::process::id());
    folder.file_name().and_then(|name| name.to_str()).is_some_and(|name| name.starts_with(&ours))
}

/// The runner's own cgroup for a controller: ours are made below it, so that limits above it still hold.
fn parent(controller: &str) -> Option<Folder> {
    Cgroups::new().folder(std::process::id(), controller)
}

/// Removes the empty cgroups of runners that were killed before they could do it.
pub fn remove_left_behind() {
    let parents = ["cpuacct", "cpu", "memory"].into_iter().filter_map(parent);
    for entry in parents.filter_map(|parent| fs::read_dir(parent.path).ok()).flatten().flatten() {
        let name = entry.file_name();
        let runner = name.to_str().and_then(|name| name.strip_prefix(PREFIX)?.split('-').next());
        if runner.is_some_and(|pid| !pid.is_empty() && !Path::new("/proc").join(pid).exists()) {
            let _ = fs::remove_dir(entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::target::cpu_time::Source;
    use std::process::Command;

    const SMALL: Limit = Limit { cpus: Some(1), memory_bytes: 64 << 20 };

    #[test]
    fn a_cgroup_is_removed_with_its_process() {
        let Some(own) = OwnCgroup::counting(u32::MAX) else { return };
        let folders = own.folders.clone();
        let mut process = Command::new("sleep").arg("5").spawn().unwrap();
        own.take(process.id()).unwrap();
        assert!(Source::own_cgroup(process.id()).is_some());
        process.kill().unwrap();
        process.wait().unwrap();
        drop(own);
        assert!(folders.iter().all(|folder| !folder.exists()));
    }

    #[test]
    fn limits_are_those_the_process_is_held_to_and_are_gone_afterwards() {
        let own = match OwnCgroup::limiting(u32::MAX - 2, SMALL) {
            Ok(own) => own,
            Err(reason) => {
                assert!(!reason.is_empty());
                println!("skipped: {reason}");
                return;
            }
        };
        let folders = own.folders.clone();
        // A line of 256 MiB that `tail` must keep whole: more than the limit, so the kernel ends it.
        let mut process = Command::new("sh")
            .args(["-c", "read line; head -c 256M /dev/zero | tail"])
            .stdin(std::process::Stdio::piped())
            .stdout(std::process::Stdio::null())
            .spawn()
            .unwrap();
        own.take(process.id()).unwrap();
        let limits = Cgroups::new().limits(process.id());
        assert_eq!((limits.cpu, limits.memory_bytes), (Some(1.0), Some(64 << 20)), "{limits:?}");
        assert!(Source::own_cgroup(process.id()).is_some(), "its CPU time is still counted alone");
        process.stdin.take().unwrap().write_all(b"\n").unwrap();
        let end = std::time::Instant::now() + std::time::Duration::from_secs(60);
        let status = loop {
            if let Some(status) = process.try_wait().unwrap() {
                break Some(status);
            }
            if std::time::Instant::now() > end {
                break None;
            }
            std::thread::sleep(std::time::Duration::from_millis(20));
        };
        let _ = process.kill();
        let _ = process.wait();
        drop(own);
        assert!(folders.iter().all(|folder| !folder.exists()), "{folders:?}");
        // The shell's word for a pipe that ended by SIGKILL.
        assert_eq!(status.and_then(|status| status.code()), Some(137), "it was not held to 64 MiB");
    }

    #[test]
    fn a_cgroup_of_a_runner_that_is_gone_is_removed_and_that_of_a_living_one_is_not() {
        let Some(living) = OwnCgroup::counting(u32::MAX - 1) else { return };
        let parent = living.folders[0].parent().unwrap();
        // No process id is as large: the kernel's largest is 2^22.
        let orphan = parent.join("plumbkv-bench-99999999-0");
        fs::create_dir(&orphan).unwrap();
        remove_left_behind();
        assert!(!orphan.exists() && living.folders[0].exists());
    }
}
