//! Environments as other machines show them: fixture trees instead of /proc and /sys.

use super::{Reader, Registry, machine, system};
use std::path::Path;

const XEON: &str = "processor\t: 0\nvendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: 207\n\
    model name\t: Intel(R) Xeon(R) Processor\nstepping\t: 2\nphysical id\t: 0\ncore id\t\t: 0\n\
    flags\t\t: fpu vme hypervisor lahf_lm\n\nprocessor\t: 1\nmodel name\t: Intel(R) Xeon(R) Processor\n\
    physical id\t: 0\ncore id\t\t: 1\nflags\t\t: fpu vme hypervisor lahf_lm\n";

fn tree(files: &[(&str, &str)]) -> (tempfile::TempDir, Reader) {
    let folder = tempfile::tempdir().unwrap();
    for (path, text) in files {
        let path = folder.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    let reader = Reader::below(folder.path());
    (folder, reader)
}

#[test]
fn a_virtual_xeon_is_described() {
    let (_folder, reader) =
        tree(&[("proc/cpuinfo", XEON), ("proc/meminfo", "MemTotal:       24684092 kB\nSwapTotal: 0 kB\n")]);
    let machine = machine(&reader, Some("kvm"));
    assert_eq!(machine.cpu_model, "Intel(R) Xeon(R) Processor (6/207/2)");
    assert_eq!((machine.cores, machine.threads, machine.memory_gib), (2, 2, 24));
    assert_eq!(machine.virtualisation, "kvm");
    assert_eq!(machine.fingerprint.len(), 12);
}

#[test]
fn the_fingerprint_moves_with_what_matters_and_with_nothing_else() {
    let memory = |kib: &str| format!("MemTotal: {kib} kB\n");
    let read = |cpuinfo: &str, kib: &str| {
        let (_folder, reader) = tree(&[("proc/cpuinfo", cpuinfo), ("proc/meminfo", &memory(kib))]);
        machine(&reader, Some("kvm")).fingerprint
    };
    let base = read(XEON, "24684092");
    assert_eq!(base, read(XEON, "24600000"), "a kernel that keeps a little more");
    assert_eq!(base, read(&format!("{XEON}cpu MHz\t: 3100\n"), "24684092"), "a clock rate");
    assert_ne!(base, read(XEON, "16000000"), "less memory");
    assert_ne!(base, read(&XEON.replace("207", "143"), "24684092"), "an older model");
}

#[test]
fn hardware_threads_of_one_core_are_counted_once_as_a_core() {
    let smt = XEON.replace("core id\t\t: 1", "core id\t\t: 0").replace(" hypervisor", "");
    let (_folder, reader) = tree(&[("proc/cpuinfo", &smt)]);
    let machine = machine(&reader, None);
    assert_eq!((machine.cores, machine.threads), (1, 2));
    assert_eq!(machine.virtualisation, "none");
}

#[test]
fn an_arm_machine_is_told_by_its_numbers() {
    let arm =
        "processor\t: 0\nCPU implementer\t: 0x41\nCPU part\t: 0xd0c\nCPU revision\t: 1\n\nprocessor\t: 1\n";
    let (_folder, reader) = tree(&[("proc/cpuinfo", arm)]);
    let machine = machine(&reader, None);
    assert_eq!(machine.cpu_model, "Arm (0x41/0xd0c/1)");
    assert_eq!((machine.cores, machine.threads), (2, 2));
    assert_eq!(machine.virtualisation, "unknown");
}

#[test]
fn a_machine_that_shows_nothing_is_unknown_rather_than_an_error() {
    let (_folder, reader) = tree(&[]);
    assert_eq!(machine(&reader, None).cpu_model, "unknown");
    let environment = system(&reader);
    assert_eq!(environment.governor, "none");
    assert_eq!((environment.turbo.as_str(), environment.smt.as_str()), ("unknown", "unknown"));
    assert_eq!(environment.cgroup_version, "none");
}

#[test]
fn cgroup_versions_are_told_apart() {
    let version = |files: &[(&str, &str)]| {
        let (_folder, reader) = tree(files);
        let environment = system(&reader);
        (environment.cgroup_version, environment.cgroup_controllers)
    };
    assert_eq!(
        version(&[("sys/fs/cgroup/cgroup.controllers", "cpuset cpu io memory pids\n")]),
        ("v2".to_owned(), ["cpuset", "cpu", "io", "memory", "pids"].map(str::to_owned).to_vec())
    );
    let v1 = [("sys/fs/cgroup/cpuacct/tasks", "1\n"), ("sys/fs/cgroup/memory/tasks", "1\n")];
    assert_eq!(version(&v1), ("v1".to_owned(), vec!["cpuacct".to_owned(), "memory".to_owned()]));
    let mixed =
        [v1[0], ("sys/fs/cgroup/unified/cgroup.controllers", "\n"), ("sys/fs/cgroup/systemd/tasks", "1\n")];
    assert_eq!(version(&mixed), ("mixed".to_owned(), vec!["cpuacct".to_owned()]));
}

#[test]
fn a_workstation_shows_its_power_management() {
    let (_folder, reader) = tree(&[
        ("sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "powersave\n"),
        ("sys/devices/system/cpu/intel_pstate/no_turbo", "0\n"),
        ("sys/devices/system/cpu/smt/active", "1\n"),
        ("sys/devices/system/cpu/vulnerabilities/spectre_v2", "Mitigation; Retpolines\n"),
        ("proc/meminfo", "MemTotal: 1 kB\nSwapTotal:     1024 kB\n"),
        ("proc/loadavg", "1.25 0.5 0.1 1/98 7\n"),
    ]);
    let environment = system(&reader);
    assert_eq!(environment.governor, "powersave");
    assert_eq!((environment.turbo.as_str(), environment.smt.as_str()), ("on", "on"));
    assert_eq!(environment.mitigations, ["spectre_v2: Mitigation; Retpolines"]);
    assert_eq!(environment.swap_bytes, 1 << 20);
    assert!((environment.load_average_start - 1.25).abs() < 1e-9);
}

#[test]
fn a_listed_machine_gets_its_name_and_another_never_does() {
    let (_folder, reader) = tree(&[("proc/cpuinfo", XEON)]);
    let machine = machine(&reader, Some("kvm"));
    let text = format!(
        "[[machine]]\nid = \"here\"\ntitle = \"Here\"\nclass = \"stored\"\ndescription = \"A test.\"\n\
         fingerprints = [\"{}\"]\n",
        machine.fingerprint
    );
    let registry = Registry::parse("machines.toml", &text).unwrap();
    let (key, named) = registry.identify(machine.clone());
    assert_eq!((key.as_str(), named.title.as_str(), named.class.as_str()), ("here", "Here", "stored"));
    let (key, other) = Registry::default().identify(machine.clone());
    assert_eq!(key, format!("unknown-{}", machine.fingerprint));
    assert_eq!(other.class, "unknown");
}

#[test]
fn a_misspelt_key_in_the_registry_is_named() {
    let text = "[[machine]]\nid = \"a\"\ntitel = \"b\"\n";
    let error = Registry::parse("machines.toml", text).unwrap_err().to_string();
    assert!(error.contains("unknown key `titel`; did you mean `title`?"), "{error}");
}

#[test]
fn the_committed_registry_is_in_order() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../results/machines.toml");
    let registry = Registry::parse("results/machines.toml", &std::fs::read_to_string(file).unwrap()).unwrap();
    assert!(!registry.machine.is_empty());
    for known in &registry.machine {
        assert!(!known.fingerprints.is_empty(), "{} can never be recognised", known.id);
        assert!(known.fingerprints.iter().all(|print| print.len() == 12), "{}", known.id);
    }
}
