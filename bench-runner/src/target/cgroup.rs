//! Which limits does the kernel hold a process to, and which files say so?
//!
//! Limits are read back from the files of the cgroup that `/proc/PID/cgroup` names, never from what a container
//! runtime was asked for. Version 1 gives every controller a hierarchy of its own, version 2 has one for all; a
//! machine may have both mounted. A limit may sit on any ancestor, so the tightest one up to the mount counts.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Reads `/proc` and `/sys`, or a tree that looks like them.
#[derive(Debug, Clone)]
pub struct Cgroups {
    root: PathBuf,
    mounts: Vec<Mount>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Mount {
    /// Empty for version 2.
    controllers: Vec<String>,
    /// The part of the hierarchy that is mounted.
    root: String,
    point: String,
}

/// A version of the interface, with a controller's folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Folder {
    /// The cgroup's folder.
    pub path: PathBuf,
    /// Whether it is of version 2.
    pub unified: bool,
    /// Where its hierarchy is mounted: the last ancestor.
    pub mount: PathBuf,
}

/// What a process is held to.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Limits {
    /// CPUs' worth of time.
    pub cpu: Option<f64>,
    /// Bytes.
    pub memory_bytes: Option<u64>,
    /// The files the limits were read from.
    pub files: Vec<String>,
}

/// From this many bytes on, version 1 means "unlimited": the largest page-aligned 63-bit number and its like.
const UNLIMITED_V1: u64 = 1 << 60;

impl Cgroups {
    /// Of this machine.
    #[must_use]
    pub fn new() -> Self {
        Self::at(Path::new("/"))
    }

    /// Of a tree whose `proc/` and `sys/` lie below `root`.
    #[must_use]
    pub fn at(root: &Path) -> Self {
        let text = fs::read_to_string(root.join("proc/self/mountinfo")).unwrap_or_default();
        Self { root: root.to_owned(), mounts: text.lines().filter_map(parse_mount).collect() }
    }

    /// The lines of `/proc/PID/cgroup`, by controller; version 2 under the name `unified`.
    #[must_use]
    pub fn membership(&self, pid: u32) -> BTreeMap<String, String> {
        let file = self.root.join(format!("proc/{pid}/cgroup"));
        let mut by_controller = BTreeMap::new();
        for line in fs::read_to_string(file).unwrap_or_default().lines() {
            let mut parts = line.splitn(3, ':');
            let (Some(_), Some(controllers), Some(path)) = (parts.next(), parts.next(), parts.next()) else {
                continue;
            };
            if controllers.is_empty() {
                by_controller.insert("unified".to_owned(), path.to_owned());
            }
            for controller in controllers.split(',').filter(|name| !name.is_empty()) {
                by_controller.insert(controller.to_owned(), path.to_owned());
            }
        }
        by_controller
    }

    /// The folder of a process's cgroup for `controller`: of version 1 where that controller has a hierarchy
    /// of its own, of version 2 otherwise.
    #[must_use]
    pub fn folder(&self, pid: u32, controller: &str) -> Option<Folder> {
        let membership = self.membership(pid);
        let own = self.mounts.iter().find(|mount| mount.controllers.iter().any(|name| name == controller));
        match (own, membership.get(controller)) {
            (Some(mount), Some(path)) => self.locate(mount, path, false),
            _ => {
                let mount = self.mounts.iter().find(|mount| mount.controllers.is_empty())?;
                self.locate(mount, membership.get("unified")?, true)
            }
        }
    }

    fn locate(&self, mount: &Mount, path: &str, unified: bool) -> Option<Folder> {
        // In a container the mount shows a part of the hierarchy: what lies above it is not ours to see.
        let relative =
            if mount.root == "/" { path } else { path.strip_prefix(mount.root.as_str()).unwrap_or("") };
        let point = self.root.join(mount.point.trim_start_matches('/'));
        let folder = point.join(relative.trim_start_matches('/'));
        folder.is_dir().then_some(Folder { path: folder, unified, mount: point })
    }

    /// The tightest CPU and memory limits on the way from the process's cgroup up to the mount.
    #[must_use]
    pub fn limits(&self, pid: u32) -> Limits {
        let mut limits = Limits::default();
        for folder in self.folder(pid, "cpu").iter().flat_map(Folder::ancestors) {
            let found = if folder.unified {
                read(&folder.path.join("cpu.max"), &mut limits.files, parse_cpu_max)
            } else {
                let period = read_u64(&folder.path.join("cpu.cfs_period_us"));
                let quota = folder.path.join("cpu.cfs_quota_us");
                let found = read(&quota, &mut limits.files, |text| {
                    let quota: f64 = text.trim().parse().ok().filter(|quota| *quota > 0.0)?;
                    Some(quota / period.filter(|period| *period > 0)? as f64)
                });
                if found.is_some() {
                    limits.files.push(folder.path.join("cpu.cfs_period_us").display().to_string());
                }
                found
            };
            limits.cpu = tighter(limits.cpu, found);
        }
        for folder in self.folder(pid, "memory").iter().flat_map(Folder::ancestors) {
            let name = if folder.unified { "memory.max" } else { "memory.limit_in_bytes" };
            let found = read(&folder.path.join(name), &mut limits.files, |text| {
                text.trim().parse().ok().filter(|bytes: &u64| *bytes < UNLIMITED_V1)
            });
            limits.memory_bytes = tighter(limits.memory_bytes, found);
        }
        limits
    }
}

impl Default for Cgroups {
    fn default() -> Self {
        Self::new()
    }
}

impl Folder {
    /// The folder itself, its parent, … down to the mount.
    fn ancestors(&self) -> Vec<Self> {
        let mut all = Vec::new();
        for path in self.path.ancestors() {
            all.push(Self { path: path.to_owned(), ..self.clone() });
            if path == self.mount {
                break;
            }
        }
        all
    }
}

/// `0` or `0-1,4`: a line of `/proc/PID/status`, or nothing where it cannot be read.
#[must_use]
pub fn status_field(pid: u32, field: &str) -> Option<String> {
    let text = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    text.lines().find_map(|line| Some(line.strip_prefix(field)?.strip_prefix(':')?.trim().to_owned()))
}

/// The number in a file that holds nothing else.
#[must_use]
pub fn read_u64(path: &Path) -> Option<u64> {
    fs::read_to_string(path).ok()?.trim().parse().ok()
}

fn tighter<T: PartialOrd>(one: Option<T>, other: Option<T>) -> Option<T> {
    match (one, other) {
        (Some(one), Some(other)) => Some(if other < one { other } else { one }),
        (one, other) => one.or(other),
    }
}

fn read<T>(path: &Path, files: &mut Vec<String>, parse: impl FnOnce(&str) -> Option<T>) -> Option<T> {
    let found = parse(&fs::read_to_string(path).ok()?)?;
    files.push(path.display().to_string());
    Some(found)
}

/// `150000 100000` or `max 100000`.
fn parse_cpu_max(text: &str) -> Option<f64> {
    let mut words = text.split_whitespace();
    let quota: f64 = words.next()?.parse().ok()?;
    let period: f64 = words.next()?.parse().ok()?;
    (period > 0.0).then_some(quota / period)
}

/// `36 35 0:30 / /sys/fs/cgroup/cpu rw,relatime shared:9 - cgroup cgroup rw,cpu`
fn parse_mount(line: &str) -> Option<Mount> {
    let (before, after) = line.split_once(" - ")?;
    let mut fields = before.split(' ');
    let (root, point) = (fields.nth(3)?, fields.next()?);
    let mut after = after.split(' ');
    let controllers = match after.next()? {
        "cgroup2" => Vec::new(),
        "cgroup" => after.nth(1)?.split(',').map(str::to_owned).collect(),
        _ => return None,
    };
    Some(Mount { controllers, root: root.to_owned(), point: point.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(files: &[(&str, &str)]) -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let path = dir.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        dir
    }

    const V2_MOUNT: &str = "31 23 0:27 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n";
    const V1_MOUNTS: &str = "\
        40 32 0:34 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n\
        41 32 0:35 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n\
        42 32 0:36 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n";

    #[test]
    fn version_2_limits_are_read_and_the_tightest_ancestor_counts() {
        let dir = tree(&[
            ("proc/self/mountinfo", V2_MOUNT),
            ("proc/42/cgroup", "0::/machine.slice/libpod-abc.scope/container\n"),
            ("sys/fs/cgroup/machine.slice/libpod-abc.scope/container/cpu.max", "max 100000\n"),
            ("sys/fs/cgroup/machine.slice/libpod-abc.scope/container/memory.max", "max\n"),
            ("sys/fs/cgroup/machine.slice/libpod-abc.scope/cpu.max", "150000 100000\n"),
            ("sys/fs/cgroup/machine.slice/libpod-abc.scope/memory.max", "2147483648\n"),
            ("sys/fs/cgroup/machine.slice/cpu.max", "400000 100000\n"),
            ("sys/fs/cgroup/machine.slice/memory.max", "1073741824\n"),
        ]);
        let limits = Cgroups::at(dir.path()).limits(42);
        assert_eq!((limits.cpu, limits.memory_bytes), (Some(1.5), Some(1 << 30)));
        assert!(limits.files.iter().any(|file| file.ends_with("libpod-abc.scope/cpu.max")), "{limits:?}");
        assert!(limits.files.iter().any(|file| file.ends_with("machine.slice/memory.max")), "{limits:?}");
        assert!(!limits.files.iter().any(|file| file.ends_with("container/cpu.max")), "{limits:?}");
    }

    #[test]
    fn version_2_without_controllers_has_no_limits() {
        let dir = tree(&[
            ("proc/self/mountinfo", V2_MOUNT),
            ("proc/42/cgroup", "0::/user.slice\n"),
            ("sys/fs/cgroup/user.slice/cgroup.procs", ""),
        ]);
        assert_eq!(Cgroups::at(dir.path()).limits(42), Limits::default());
    }

    #[test]
    fn version_1_limits_are_read_from_each_controllers_own_hierarchy() {
        let dir = tree(&[
            ("proc/self/mountinfo", V1_MOUNTS),
            ("proc/42/cgroup", "4:memory:/docker/abc\n1:cpu,cpuacct:/docker/abc\n0::/\n"),
            ("sys/fs/cgroup/cpu,cpuacct/docker/abc/cpu.cfs_quota_us", "100000\n"),
            ("sys/fs/cgroup/cpu,cpuacct/docker/abc/cpu.cfs_period_us", "100000\n"),
            ("sys/fs/cgroup/cpu,cpuacct/docker/cpu.cfs_quota_us", "-1\n"),
            ("sys/fs/cgroup/cpu,cpuacct/docker/cpu.cfs_period_us", "100000\n"),
            ("sys/fs/cgroup/memory/docker/abc/memory.limit_in_bytes", "2147483648\n"),
            ("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n"),
        ]);
        let limits = Cgroups::at(dir.path()).limits(42);
        assert_eq!((limits.cpu, limits.memory_bytes), (Some(1.0), Some(2 << 30)));
        assert_eq!(limits.files.len(), 3, "{limits:?}");
    }

    #[test]
    fn a_mount_of_a_part_of_the_hierarchy_is_followed_from_that_part() {
        let dir = tree(&[
            ("proc/self/mountinfo", "31 23 0:27 /docker/abc /sys/fs/cgroup ro - cgroup2 cgroup2 rw\n"),
            ("proc/42/cgroup", "0::/docker/abc/inner\n"),
            ("sys/fs/cgroup/inner/memory.max", "1048576\n"),
        ]);
        assert_eq!(Cgroups::at(dir.path()).limits(42).memory_bytes, Some(1 << 20));
    }

    #[test]
    fn a_process_that_is_not_there_has_no_limits() {
        assert_eq!(Cgroups::new().limits(u32::MAX), Limits::default());
    }
}
