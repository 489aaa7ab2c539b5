//! How much memory may the server use when nobody says? 80 % of the cgroup's limit, else of the machine's memory.
//!
//! Reads `/proc` and `/sys/fs/cgroup` below a root, so that tests can give it trees of other machines. A process sees
//! its cgroup's path in `/proc/self/cgroup` and where the hierarchies are mounted in `/proc/self/mountinfo`; a limit
//! counts at every level from there up to the mount, since a parent's limit binds its children.

use std::fs;
use std::path::{Path, PathBuf};

use crate::units::show_bytes;

/// A default cap and the reason for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DefaultCap {
    pub(crate) bytes: u64,
    /// For the start-up line: `80 % of the cgroup's limit of 2 GiB (/sys/fs/cgroup/memory.max)`.
    pub(crate) origin: String,
}

impl DefaultCap {
    /// The cap on clients alone, where a store has a budget of its own: what that leaves; but clients are not shut out where it leaves nothing.
    pub(crate) fn beside_store(self, budget: u64) -> Self {
        let bytes = self.bytes.saturating_sub(budget).max(self.bytes / LEAST_PART);
        let origin = format!("what the store's {} leave of {}", show_bytes(budget), self.origin);
        Self { bytes, origin }
    }
}

/// The part of the cap that clients have in any case.
const LEAST_PART: u64 = 8;

/// Share of what there is, in percent: the rest is for connections, tables in growth and the allocator's slack.
const SHARE_PERCENT: u64 = 80;

/// cgroup v1 says "no limit" with the largest multiple of a page that fits; anything near it is none.
const V1_UNLIMITED: u64 = 1 << 62;

/// The default cap of this process; `None` where neither cgroup nor machine says anything.
pub(crate) fn default_cap(root: &Path) -> Option<DefaultCap> {
    let physical = physical_bytes(root);
    let limit = cgroup_limit(root).filter(|(limit, _)| physical.is_none_or(|physical| *limit < physical));
    let (total, what) = match (limit, physical) {
        (Some((limit, file)), _) => {
            (limit, format!("the cgroup's limit of {} ({})", show_bytes(limit), file.display()))
        }
        (None, Some(physical)) => (physical, format!("the machine's memory of {}", show_bytes(physical))),
        (None, None) => return None,
    };
    let bytes = total / 100 * SHARE_PERCENT;
    Some(DefaultCap { bytes, origin: format!("{SHARE_PERCENT} % of {what}") })
}

/// Memory of the machine in bytes.
pub(crate) fn physical_bytes(root: &Path) -> Option<u64> {
    let text = fs::read_to_string(root.join("proc/meminfo")).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}

/// The tightest limit of this process's cgroup and its parents, with the file that says so.
fn cgroup_limit(root: &Path) -> Option<(u64, PathBuf)> {
    let groups = fs::read_to_string(root.join("proc/self/cgroup")).ok()?;
    let mounts = fs::read_to_string(root.join("proc/self/mountinfo")).ok()?;
    let mounts: Vec<Mount<'_>> = mounts.lines().filter_map(Mount::parse).collect();
    groups.lines().filter_map(|line| tightest(root, &mounts, line)).min_by_key(|(limit, _)| *limit)
}

/// The tightest limit on the path of one line of `/proc/self/cgroup`, such as `0::/user.slice` (v2) or
/// `4:memory:/docker/abc` (v1).
fn tightest(root: &Path, mounts: &[Mount<'_>], line: &str) -> Option<(u64, PathBuf)> {
    let mut fields = line.splitn(3, ':');
    let (number, controllers, path) = (fields.next()?, fields.next()?, fields.next()?);
    let v2 = number == "0" && controllers.is_empty();
    if !v2 && !controllers.split(',').any(|controller| controller == "memory") {
        return None;
    }
    let mount = mounts.iter().find(|mount| if v2 { mount.is_v2() } else { mount.is_v1_memory() })?;
    // Without a cgroup namespace a container sees the host's path, and its mount shows only the part below `root`.
    let below = path.strip_prefix(mount.root).unwrap_or("").trim_start_matches('/');
    let top = root.join(mount.point.trim_start_matches('/'));
    let file = if v2 { "memory.max" } else { "memory.limit_in_bytes" };
    let mut tightest: Option<(u64, PathBuf)> = None;
    let mut directory = top.join(below);
    loop {
        let path = directory.join(file);
        if let Some(limit) = read_limit(&path)
            && tightest.as_ref().is_none_or(|(least, _)| limit < *least)
        {
            tightest = Some((limit, path));
        }
        if directory == top || !directory.pop() {
            return tightest;
        }
    }
}

fn read_limit(path: &Path) -> Option<u64> {
    // `max`, v2's word for none, is no number.
    fs::read_to_string(path).ok()?.trim().parse().ok().filter(|&limit| limit < V1_UNLIMITED)
}

/// One line of `/proc/self/mountinfo`.
struct Mount<'a> {
    /// Which part of the file system is mounted.
    root: &'a str,
    point: &'a str,
    kind: &'a str,
    options: &'a str,
}

impl<'a> Mount<'a> {
    fn parse(line: &'a str) -> Option<Self> {
        // `31 23 0:28 /root /point rw,relatime shared:1 - cgroup cgroup rw,memory`; the optional fields end at ` - `.
        let (left, right) = line.split_once(" - ")?;
        let mut left = left.split(' ').skip(3);
        let mut right = right.split(' ');
        Some(Self {
            root: left.next()?,
            point: left.next()?,
            kind: right.next()?,
            options: right.nth(1).unwrap_or_default(),
        })
    }

    fn is_v2(&self) -> bool {
        self.kind == "cgroup2"
    }

    fn is_v1_memory(&self) -> bool {
        self.kind == "cgroup" && self.options.split(',').any(|option| option == "memory")
    }
}

#[cfg(test)]
#[path = "limits_test.rs"]
mod tests;
