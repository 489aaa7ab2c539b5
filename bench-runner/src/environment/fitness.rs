//! Is a machine fit to have its results kept? Each thing that moves figures: what it is here, and what to change and why.
//!
//! [`Facts::read`] looks, [`judge`] decides; [`super::advice()`] remarks on a run that is made anyway.

use super::Reader;
use super::system::{chosen, load_average, smt, swap_bytes, turbo};
use serde::Serialize;

/// Server and generator have one each.
const CPUS_MIN: usize = 2;
/// One-minute load average, in running processes.
const LOAD_MAX: f64 = 0.5;
/// Stack, heap, libraries and program itself are placed at random.
const ASLR_FULL: &str = "2";

/// What of a machine moves figures, as it is now.
#[derive(Debug, Clone, PartialEq)]
pub struct Facts {
    /// The frequency governors of all CPUs, each named once; none where the machine shows none.
    pub governors: Vec<String>,
    /// `on`, `off`, `unknown`.
    pub turbo: String,
    /// Whether turbo is Intel's driver's to switch; else it is the kernel's `boost`.
    pub turbo_is_pstate: bool,
    /// `on`, `off`, `unknown`.
    pub smt: String,
    /// Transparent huge pages: `always`, `madvise`, `never`, `unknown`.
    pub transparent_hugepage: String,
    /// `kernel.randomize_va_space`, or `unknown`.
    pub aslr: String,
    /// Swap, bytes.
    pub swap_bytes: u64,
    /// CPUs that the runner may use.
    pub cpus: usize,
    /// One-minute load average; none where it cannot be read.
    pub load_average: Option<f64>,
}

/// What is said of one of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Fitness {
    /// As it should be.
    Fit,
    /// To be changed first.
    Unfit,
    /// Not visible from here, as in most virtual machines; it keeps nobody out.
    Unseen,
}

impl Fitness {
    /// As it is printed.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::Fit => "fit",
            Self::Unfit => "change",
            Self::Unseen => "cannot be seen",
        }
    }
}

/// One thing that moves figures, and what is said of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// `governor`, `turbo`, …
    pub what: &'static str,
    /// What it is here.
    pub found: String,
    /// Whether it is as it should be.
    pub fitness: Fitness,
    /// What it should be, and why.
    pub why: &'static str,
    /// The command that changes it, or that shows what to change; none where nothing is to be done.
    pub command: Option<String>,
}

impl Facts {
    /// Looks; `cpus` are those that the runner may use.
    #[must_use]
    pub fn read(reader: &Reader, cpus: usize) -> Self {
        let mut governors: Vec<String> = reader
            .names("sys/devices/system/cpu")
            .iter()
            .filter_map(|cpu| reader.text(&format!("sys/devices/system/cpu/{cpu}/cpufreq/scaling_governor")))
            .collect();
        governors.sort();
        governors.dedup();
        Self {
            governors,
            turbo: turbo(reader),
            turbo_is_pstate: reader.has("sys/devices/system/cpu/intel_pstate/no_turbo"),
            smt: smt(reader),
            transparent_hugepage: chosen(
                &reader.text("sys/kernel/mm/transparent_hugepage/enabled").unwrap_or_default(),
            ),
            aslr: reader.text_or_unknown("proc/sys/kernel/randomize_va_space"),
            swap_bytes: swap_bytes(&reader.text("proc/meminfo").unwrap_or_default()),
            cpus,
            load_average: load_average(reader),
        }
    }
}

/// What is said of each, in the order in which it is best changed.
#[must_use]
pub fn judge(facts: &Facts) -> Vec<Finding> {
    vec![
        cpus(facts),
        governor(facts),
        turbo_off(facts),
        smt_off(facts),
        hugepages(facts),
        aslr(facts),
        swap(facts),
        load(facts),
    ]
}

/// Whether nothing has to be changed.
#[must_use]
pub fn is_fit(findings: &[Finding]) -> bool {
    findings.iter().all(|finding| finding.fitness != Fitness::Unfit)
}

fn finding(what: &'static str, found: String, fitness: Fitness, why: &'static str, command: &str) -> Finding {
    let command = (fitness == Fitness::Unfit).then(|| command.to_owned());
    Finding { what, found, fitness, why, command }
}

/// A switch that shows nothing is unseen; else it is fit where `fit` says so.
fn switch(found: &str, fit: bool) -> Fitness {
    match (found, fit) {
        ("unknown", _) => Fitness::Unseen,
        (_, true) => Fitness::Fit,
        (_, false) => Fitness::Unfit,
    }
}

fn either(fit: bool) -> Fitness {
    if fit { Fitness::Fit } else { Fitness::Unfit }
}

fn cpus(facts: &Facts) -> Finding {
    finding(
        "CPUs",
        facts.cpus.to_string(),
        either(facts.cpus >= CPUS_MIN),
        "at least 2: with one, throughput is what the generator leaves over.",
        "taskset -pc $$",
    )
}

fn governor(facts: &Facts) -> Finding {
    let fitness = match facts.governors.as_slice() {
        [] => Fitness::Unseen,
        [one] if one == "performance" => Fitness::Fit,
        _ => Fitness::Unfit,
    };
    let found = if facts.governors.is_empty() { "none".to_owned() } else { facts.governors.join(", ") };
    finding(
        "governor",
        found,
        fitness,
        "performance on every CPU: the others slow an idle CPU down, and the first requests after a pause pay for it.",
        "echo performance | tee /sys/devices/system/cpu/cpu*/cpufreq/scaling_governor",
    )
}

fn turbo_off(facts: &Facts) -> Finding {
    let command = if facts.turbo_is_pstate {
        "echo 1 > /sys/devices/system/cpu/intel_pstate/no_turbo"
    } else {
        "echo 0 > /sys/devices/system/cpu/cpufreq/boost"
    };
    finding(
        "turbo",
        facts.turbo.clone(),
        switch(&facts.turbo, facts.turbo == "off"),
        "off: above its base clock a CPU is as fast as it is cool, so the second of two trials is the slower one.",
        command,
    )
}

fn smt_off(facts: &Facts) -> Finding {
    finding(
        "SMT",
        facts.smt.clone(),
        switch(&facts.smt, facts.smt == "off"),
        "off: two threads of one core share its units, so the generator's work slows the server down.",
        "echo off > /sys/devices/system/cpu/smt/control",
    )
}

fn hugepages(facts: &Facts) -> Finding {
    finding(
        "THP",
        facts.transparent_hugepage.clone(),
        switch(&facts.transparent_hugepage, facts.transparent_hugepage != "always"),
        "madvise or never: with always, memory grows in steps of 2 MiB, and the kernel merges pages while it is measured.",
        "echo madvise > /sys/kernel/mm/transparent_hugepage/enabled",
    )
}

fn aslr(facts: &Facts) -> Finding {
    finding(
        "ASLR",
        facts.aslr.clone(),
        switch(&facts.aslr, facts.aslr == ASLR_FULL),
        "2: every trial is a fresh process and draws addresses of its own; without that, all trials share one accident of \
         placement, and its effect looks like a property of the program.",
        "sysctl -w kernel.randomize_va_space=2",
    )
}

fn swap(facts: &Facts) -> Finding {
    finding(
        "swap",
        format!("{} MiB", facts.swap_bytes.div_ceil(1 << 20)),
        either(facts.swap_bytes == 0),
        "none: a store that is pushed out of memory answers from the disk.",
        "swapoff -a",
    )
}

fn load(facts: &Facts) -> Finding {
    let (found, fitness) = match facts.load_average {
        Some(load) => (format!("{load:.2}"), either(load <= LOAD_MAX)),
        None => ("unknown".to_owned(), Fitness::Unseen),
    };
    finding(
        "load",
        found,
        fitness,
        "at most 0.50: something else is running, and takes the CPU from what is measured. End it, then wait a minute: it is \
         a mean over the last one.",
        "ps -eo pcpu,pid,args --sort=-pcpu | head",
    )
}
