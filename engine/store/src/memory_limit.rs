//! How much memory may this process use? What its cgroup is limited to, else what the machine has.
//!
//! Reads `/proc` and `/sys/fs/cgroup` below a root, so that tests can give it trees of other machines. A process sees
//! its cgroup's path in `/proc/self/cgroup` and where the hierarchies are mounted in `/proc/self/mountinfo`; a limit
//! counts at every level from there up to the mount, since a parent's limit binds its children.

use std::fs;
use std::path::{Path, PathBuf};

/// How much memory a process may use, its part of the page cache among it.
///
/// ```
/// use plumbkv::MemoryLimit;
///
/// if let Some(limit) = MemoryLimit::of_this_process() {
///     let said_by = limit.file.map_or("the machine".into(), |file| file.display().to_string());
///     println!("{} bytes, says {said_by}", limit.bytes);
/// }
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemoryLimit {
    /// Bytes.
    pub bytes: u64,
    /// The cgroup's file that says so; `None` where it is all the memory of the machine.
    pub file: Option<PathBuf>,
}

/// cgroup v1 says "no limit" with the largest multiple of a page that fits; anything near it is none.
const V1_UNLIMITED: u64 = 1 << 62;

impl MemoryLimit {
    /// The tightest limit of this process's cgroup and its parents, or the machine's memory where that is less; `None` where neither says anything, as on systems
    /// other than Linux.
    #[must_use]
    pub fn of_this_process() -> Option<Self> {
        Self::below(Path::new("/"))
    }

    /// The same with `/proc` and `/sys` below another root.
    ///
    /// ```
    /// use plumbkv::MemoryLimit;
    ///
    /// assert_eq!(MemoryLimit::below("/no/such/root".as_ref()), None);
    /// ```
    #[must_use]
    pub fn below(root: &Path) -> Option<Self> {
        let machine = Self::of_machine(root);
        let group =
            of_cgroup(root).filter(|group| machine.as_ref().is_none_or(|all| group.bytes < all.bytes));
        group.or(machine)
    }

    /// All the memory of the machine.
    ///
    /// ```
    /// use plumbkv::MemoryLimit;
    ///
    /// if let (Some(may), Some(all)) = (MemoryLimit::of_this_process(), MemoryLimit::of_machine("/".as_ref())) {
    ///     assert!(may.bytes <= all.bytes);
    /// }
    /// ```
    #[must_use]
    pub fn of_machine(root: &Path) -> Option<Self> {
        let text = fs::read_to_string(root.join("proc/meminfo")).ok()?;
        let line = text.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
        let bytes = line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)?;
        Some(Self { bytes, file: None })
    }
}

fn of_cgroup(root: &Path) -> Option<MemoryLimit> {
    let groups = fs::read_to_string(root.join("proc/self/cgroup")).ok()?;
    let mounts = fs::read_to_string(root.join("proc/self/mountinfo")).ok()?;
    let mounts: Vec<Mount<'_>> = mounts.lines().filter_map(Mount::parse).collect();
    groups.lines().filter_map(|line| tightest(root, &mounts, line)).min_by_key(|limit| limit.bytes)
}

/// The tightest limit on the path of one line of `/proc/self/cgroup`, such as `0::/user.slice` (v2) or
/// `4:memory:/docker/abc` (v1).
fn tightest(root: &Path, mounts: &[Mount<'_>], line: &str) -> Option<MemoryLimit> {
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
    let mut tightest: Option<MemoryLimit> = None;
    let mut directory = top.join(below);
    loop {
        let path = directory.join(file);
        if let Some(bytes) = read_limit(&path)
            && tightest.as_ref().is_none_or(|least| bytes < least.bytes)
        {
            tightest = Some(MemoryLimit { bytes, file: Some(path) });
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
