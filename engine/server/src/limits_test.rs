//! Fixture trees: what machines of other kinds show below `/proc` and `/sys/fs/cgroup`.

use std::fs;

use super::*;

const GIB: u64 = 1 << 30;
const V2_MOUNT: &str = "30 23 0:26 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw,nsdelegate";

struct Tree(tempfile::TempDir);

impl Tree {
    fn new(files: &[(&str, &str)]) -> Self {
        let directory = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = directory.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        Self(directory)
    }

    fn cap(&self) -> Option<DefaultCap> {
        default_cap(self.0.path())
    }
}

fn meminfo(gib: u64) -> String {
    format!("MemTotal:       {} kB\nMemFree:  1 kB\n", gib * GIB / 1024)
}

#[test]
fn a_container_with_its_own_namespace_on_v2() {
    let tree = Tree::new(&[
        ("proc/meminfo", &meminfo(16)),
        ("proc/self/cgroup", "0::/\n"),
        ("proc/self/mountinfo", V2_MOUNT),
        ("sys/fs/cgroup/memory.max", "2147483648\n"),
    ]);
    let cap = tree.cap().unwrap();
    assert_eq!(cap.bytes, 2 * GIB / 100 * 80);
    assert!(cap.origin.starts_with("80 % of the cgroup's limit of 2 GiB ("), "{}", cap.origin);
    assert!(cap.origin.ends_with("/sys/fs/cgroup/memory.max)"), "{}", cap.origin);
}

#[test]
fn a_parents_limit_binds_on_v2() {
    let tree = Tree::new(&[
        ("proc/meminfo", &meminfo(16)),
        ("proc/self/cgroup", "0::/system.slice/plumbkv.service\n"),
        ("proc/self/mountinfo", V2_MOUNT),
        ("sys/fs/cgroup/system.slice/memory.max", "1073741824\n"),
        ("sys/fs/cgroup/system.slice/plumbkv.service/memory.max", "max\n"),
    ]);
    assert_eq!(tree.cap().unwrap().bytes, GIB / 100 * 80);
}

#[test]
fn no_limit_on_v2_means_the_machines_memory() {
    let tree = Tree::new(&[
        ("proc/meminfo", &meminfo(16)),
        ("proc/self/cgroup", "0::/user.slice\n"),
        ("proc/self/mountinfo", V2_MOUNT),
        ("sys/fs/cgroup/user.slice/memory.max", "max\n"),
    ]);
    let cap = tree.cap().unwrap();
    assert_eq!(
        cap,
        DefaultCap {
            bytes: 16 * GIB / 100 * 80,
            origin: "80 % of the machine's memory of 16 GiB".to_owned()
        }
    );
}

#[test]
fn v1_with_a_limit_beside_an_empty_v2_hierarchy() {
    let mounts = "35 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n\
                  41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n";
    let tree = Tree::new(&[
        ("proc/meminfo", &meminfo(16)),
        ("proc/self/cgroup", "9:name=systemd:/\n4:memory:/job/7\n0::/\n"),
        ("proc/self/mountinfo", mounts),
        ("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n"),
        ("sys/fs/cgroup/memory/job/memory.limit_in_bytes", "3221225472\n"),
        ("sys/fs/cgroup/memory/job/7/memory.limit_in_bytes", "4294967296\n"),
    ]);
    let cap = tree.cap().unwrap();
    assert_eq!(cap.bytes, 3 * GIB / 100 * 80);
    assert!(cap.origin.contains("memory/job/memory.limit_in_bytes"), "{}", cap.origin);
}

#[test]
fn a_v1_container_without_a_namespace_sees_the_hosts_path() {
    let mounts = "35 31 0:32 /docker/abc /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n";
    let tree = Tree::new(&[
        ("proc/meminfo", &meminfo(16)),
        ("proc/self/cgroup", "4:cpu,memory:/docker/abc\n"),
        ("proc/self/mountinfo", mounts),
        ("sys/fs/cgroup/memory/memory.limit_in_bytes", "536870912\n"),
    ]);
    assert_eq!(tree.cap().unwrap().bytes, (GIB / 2) / 100 * 80);
}

#[test]
fn a_limit_above_the_machines_memory_does_not_count() {
    let tree = Tree::new(&[
        ("proc/meminfo", &meminfo(4)),
        ("proc/self/cgroup", "0::/\n"),
        ("proc/self/mountinfo", V2_MOUNT),
        ("sys/fs/cgroup/memory.max", "68719476736\n"),
    ]);
    assert!(tree.cap().unwrap().origin.contains("machine's memory of 4 GiB"));
}

#[test]
fn nothing_known_gives_no_default() {
    assert_eq!(Tree::new(&[("proc/self/cgroup", "rubbish\n")]).cap(), None);
}

#[test]
fn this_machine_has_a_default() {
    assert!(default_cap(Path::new("/")).unwrap().bytes > 1 << 20);
}

#[test]
fn clients_have_what_a_store_leaves_and_are_not_shut_out() {
    let of = |bytes| DefaultCap { bytes, origin: "80 % of the machine's memory of 2 GiB".to_owned() };
    let cap = of(GIB).beside_store(256 << 20);
    assert_eq!(cap.bytes, GIB - (256 << 20));
    assert_eq!(cap.origin, "what the store's 256 MiB leave of 80 % of the machine's memory of 2 GiB");
    assert_eq!(of(GIB).beside_store(GIB).bytes, GIB / 8);
    assert_eq!(of(GIB).beside_store(u64::MAX).bytes, GIB / 8);
}
