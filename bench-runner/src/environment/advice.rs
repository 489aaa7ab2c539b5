//! What here will make figures less steady, and what can be done about it? Pure: judges the record of an environment.

use crate::model::Environment;

/// Load of others, in running processes, above which a run should wait.
const LOAD_MAX: f64 = 0.5;
/// Files for a thousand connections on both sides, and what else a process holds open.
const FILES_MIN: u64 = 4_096;

/// Remarks, each a sentence on what is so and one on the way out. `cpus`: those that the runner may use.
#[must_use]
pub fn advice(environment: &Environment, cpus: usize) -> Vec<String> {
    let mut remarks = Vec::new();
    let mut remark = |applies: bool, text: String| {
        if applies {
            remarks.push(text);
        }
    };
    remark(
        cpus < 2,
        "Server and generator share one CPU: throughput is what is left by the generator. Use a machine, or a CPU set, \
         with two CPUs; compare CPU time per operation, not throughput."
            .to_owned(),
    );
    remark(
        environment.turbo == "on",
        "The CPU's turbo is on, so its clock depends on its temperature. As root: `echo 1 > \
         /sys/devices/system/cpu/intel_pstate/no_turbo`, or `echo 0 > /sys/devices/system/cpu/cpufreq/boost`."
            .to_owned(),
    );
    remark(
        environment.turbo == "unknown",
        "Whether the CPU's turbo is on cannot be seen here, as in most virtual machines: compare only within one run."
            .to_owned(),
    );
    remark(
        !["performance", "none", "unknown"].contains(&environment.governor.as_str()),
        format!(
            "The frequency governor is '{}', which slows an idle CPU down. As root: `cpupower frequency-set -g \
             performance`.",
            environment.governor
        ),
    );
    remark(
        environment.transparent_hugepage == "always",
        "Transparent huge pages are always on: memory grows in steps of 2 MiB and stores may stall while pages are \
         merged. As root: `echo madvise > /sys/kernel/mm/transparent_hugepage/enabled`."
            .to_owned(),
    );
    remark(
        environment.swap_bytes > 0,
        "Swap is on: a store that is pushed out of memory answers from the disk. As root: `swapoff -a`."
            .to_owned(),
    );
    remark(
        environment.load_average_start > LOAD_MAX,
        format!(
            "The load average before the start was {:.2}: something else is running. Wait until it is below {LOAD_MAX}; \
             what was disturbed is measured again, which takes longer.",
            environment.load_average_start
        ),
    );
    remark(
        environment.open_files_limit < FILES_MIN,
        format!(
            "At most {} files may be open, too few for a thousand connections. Raise the hard limit with `ulimit -Hn \
             {FILES_MIN}` as root, or in /etc/security/limits.conf.",
            environment.open_files_limit
        ),
    );
    remarks
}

#[cfg(test)]
mod tests {
    use super::*;

    fn quiet() -> Environment {
        Environment {
            os: String::new(),
            kernel: String::new(),
            governor: "performance".to_owned(),
            turbo: "off".to_owned(),
            smt: "off".to_owned(),
            transparent_hugepage: "madvise".to_owned(),
            aslr: "2".to_owned(),
            swap_bytes: 0,
            mitigations: Vec::new(),
            cgroup_version: "v2".to_owned(),
            cgroup_controllers: Vec::new(),
            container_runtime: None,
            container_reason: None,
            open_files_limit: 1 << 20,
            somaxconn: 4_096,
            load_average_start: 0.1,
            server_cpus: String::new(),
            generator_cpus: String::new(),
            disk_filesystem: None,
            disk_syncs_per_second: None,
            disk_sync_ns_p50: None,
            tools: Vec::new(),
        }
    }

    #[test]
    fn a_quiet_machine_needs_no_advice() {
        assert_eq!(advice(&quiet(), 2), Vec::<String>::new());
    }

    #[test]
    fn each_remark_says_what_is_so_and_what_to_do() {
        for (environment, cpus, part) in [
            (quiet(), 1, "share one CPU"),
            (Environment { turbo: "on".to_owned(), ..quiet() }, 2, "no_turbo"),
            (Environment { turbo: "unknown".to_owned(), ..quiet() }, 2, "within one run"),
            (Environment { governor: "powersave".to_owned(), ..quiet() }, 2, "'powersave'"),
            (Environment { transparent_hugepage: "always".to_owned(), ..quiet() }, 2, "madvise"),
            (Environment { swap_bytes: 1, ..quiet() }, 2, "swapoff"),
            (Environment { load_average_start: 3.0, ..quiet() }, 2, "3.00"),
            (Environment { open_files_limit: 1_024, ..quiet() }, 2, "ulimit"),
        ] {
            let told = advice(&environment, cpus);
            assert_eq!(told.len(), 1, "{told:?}");
            assert!(told[0].contains(part), "{told:?}");
        }
    }
}
