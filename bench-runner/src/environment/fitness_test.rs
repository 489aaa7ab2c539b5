//! Machines as they show themselves, in fixture trees, and what is said of them.

use super::{Facts, Fitness, Reader, is_fit, judge};

const GOVERNOR: &str = "cpufreq/scaling_governor";

fn read(files: &[(&str, &str)], cpus: usize) -> Facts {
    let folder = tempfile::tempdir().unwrap();
    for (path, text) in files {
        let path = folder.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    Facts::read(&Reader::below(folder.path()), cpus)
}

/// Bare metal after all that is to be done has been done.
fn enrolled() -> Facts {
    Facts {
        governors: vec!["performance".to_owned()],
        turbo: "off".to_owned(),
        turbo_is_pstate: true,
        smt: "off".to_owned(),
        transparent_hugepage: "madvise".to_owned(),
        aslr: "2".to_owned(),
        swap_bytes: 0,
        cpus: 2,
        load_average: Some(0.5),
    }
}

fn unfit(facts: &Facts) -> Vec<(&'static str, String)> {
    let findings = judge(facts);
    assert_eq!(findings.len(), 8, "every one is told of, whatever it is");
    assert_eq!(is_fit(&findings), findings.iter().all(|finding| finding.command.is_none()));
    findings.into_iter().filter_map(|finding| Some((finding.what, finding.command?))).collect()
}

#[test]
fn a_machine_that_was_prepared_is_fit() {
    assert!(unfit(&enrolled()).is_empty());
}

#[test]
fn each_thing_alone_keeps_a_machine_out_and_names_its_command() {
    let word = str::to_owned;
    for (facts, what, command) in [
        (Facts { cpus: 1, ..enrolled() }, "CPUs", "taskset"),
        (Facts { governors: vec![word("powersave")], ..enrolled() }, "governor", "scaling_governor"),
        (Facts { governors: vec![word("performance"), word("powersave")], ..enrolled() }, "governor", "cpu*"),
        (Facts { turbo: word("on"), ..enrolled() }, "turbo", "echo 1 > /sys/devices/system/cpu/intel_pstate"),
        (
            Facts { turbo: word("on"), turbo_is_pstate: false, ..enrolled() },
            "turbo",
            "echo 0 > /sys/devices/system/cpu/cpufreq/boost",
        ),
        (Facts { smt: word("on"), ..enrolled() }, "SMT", "smt/control"),
        (Facts { transparent_hugepage: word("always"), ..enrolled() }, "THP", "madvise"),
        (Facts { aslr: word("0"), ..enrolled() }, "ASLR", "randomize_va_space=2"),
        (Facts { swap_bytes: 1, ..enrolled() }, "swap", "swapoff"),
        (Facts { load_average: Some(0.51), ..enrolled() }, "load", "ps "),
    ] {
        let told = unfit(&facts);
        assert_eq!(told.len(), 1, "{told:?}");
        assert_eq!(told[0].0, what);
        assert!(told[0].1.contains(command), "{told:?}");
    }
}

#[test]
fn a_guest_that_shows_no_power_management_is_not_kept_out_by_it() {
    let facts = read(
        &[
            ("proc/sys/kernel/randomize_va_space", "2\n"),
            ("sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n"),
            ("proc/meminfo", "MemTotal: 1 kB\nSwapTotal: 0 kB\n"),
            ("proc/loadavg", "0.04 0.1 0.1 1/98 7\n"),
        ],
        2,
    );
    let findings = judge(&facts);
    assert!(is_fit(&findings), "{findings:?}");
    let unseen: Vec<&str> = findings
        .iter()
        .filter(|finding| finding.fitness == Fitness::Unseen)
        .map(|finding| finding.what)
        .collect();
    assert_eq!(unseen, ["governor", "turbo", "SMT"]);
}

#[test]
fn a_workstation_as_it_is_delivered_needs_six_changes() {
    let first = format!("sys/devices/system/cpu/cpu0/{GOVERNOR}");
    let second = format!("sys/devices/system/cpu/cpu1/{GOVERNOR}");
    let facts = read(
        &[
            (&first, "powersave\n"),
            (&second, "performance\n"),
            ("sys/devices/system/cpu/intel_pstate/no_turbo", "0\n"),
            ("sys/devices/system/cpu/smt/active", "1\n"),
            ("sys/kernel/mm/transparent_hugepage/enabled", "[always] madvise never\n"),
            ("proc/sys/kernel/randomize_va_space", "2\n"),
            ("proc/meminfo", "MemTotal: 1 kB\nSwapTotal: 2097152 kB\n"),
            ("proc/loadavg", "1.25 0.5 0.1 1/98 7\n"),
        ],
        8,
    );
    assert_eq!(facts.governors, ["performance", "powersave"]);
    let told: Vec<&str> = unfit(&facts).into_iter().map(|(what, _)| what).collect();
    assert_eq!(told, ["governor", "turbo", "SMT", "THP", "swap", "load"]);
}

#[test]
fn what_is_found_is_told_with_its_unit() {
    let facts = Facts { swap_bytes: 2 << 30, load_average: None, ..enrolled() };
    let findings = judge(&facts);
    let of = |what: &str| findings.iter().find(|finding| finding.what == what).unwrap();
    assert_eq!(of("swap").found, "2048 MiB");
    assert_eq!(of("load").fitness, Fitness::Unseen);
}
