//! Which kind of machine is this? Only what stays the same from boot to boot: no host name, no clock rate.

use super::Reader;
use crate::model::Machine;
use sha2::{Digest, Sha256};
use std::collections::HashSet;

/// Reads the machine; `hypervisor` is what [`hypervisor_vendor`] says. Title and class are left to the
/// registry.
#[must_use]
pub fn machine(reader: &Reader, hypervisor: Option<&str>) -> Machine {
    let cpuinfo = reader.text("proc/cpuinfo").unwrap_or_default();
    let cpus = cpus(&cpuinfo);
    let mut machine = Machine {
        fingerprint: String::new(),
        title: String::new(),
        class: "unknown".to_owned(),
        cpu_model: cpu_model(&cpuinfo),
        architecture: std::env::consts::ARCH.to_owned(),
        cores: cpus.cores,
        threads: cpus.threads,
        memory_gib: memory_gib(&reader.text("proc/meminfo").unwrap_or_default()),
        virtualisation: virtualisation(&cpuinfo, hypervisor),
    };
    machine.fingerprint = fingerprint(&machine);
    machine
}

/// SHA-256 of what tells machines apart, first 12 hexadecimal digits.
fn fingerprint(machine: &Machine) -> String {
    let facts = format!(
        "{}\n{}\n{}\n{}\n{}\n{}\n",
        machine.cpu_model,
        machine.architecture,
        machine.cores,
        machine.threads,
        machine.memory_gib,
        machine.virtualisation
    );
    Sha256::digest(facts.as_bytes()).iter().take(6).map(|byte| format!("{byte:02x}")).collect()
}

struct Cpus {
    cores: u32,
    threads: u32,
}

/// `key : value` lines of /proc/cpuinfo; the first value of a key.
fn first<'a>(cpuinfo: &'a str, key: &str) -> Option<&'a str> {
    cpuinfo.lines().find_map(|line| value(line, key))
}

fn value<'a>(line: &'a str, key: &str) -> Option<&'a str> {
    let (name, value) = line.split_once(':')?;
    (name.trim() == key).then(|| value.trim())
}

fn cpus(cpuinfo: &str) -> Cpus {
    let mut cores = HashSet::new();
    let mut threads = 0;
    for block in cpuinfo.split("\n\n") {
        if !block.lines().any(|line| value(line, "processor").is_some()) {
            continue;
        }
        threads += 1;
        // Arm says nothing of cores: there each processor is one.
        let core = match (first(block, "physical id"), first(block, "core id")) {
            (Some(package), Some(core)) => format!("{package}/{core}"),
            _ => format!("processor {threads}"),
        };
        cores.insert(core);
    }
    Cpus { cores: u32::try_from(cores.len()).unwrap_or(u32::MAX), threads }
}

fn cpu_model(cpuinfo: &str) -> String {
    let numbers = |keys: [&str; 3]| {
        let found: Vec<&str> = keys.iter().filter_map(|key| first(cpuinfo, key)).collect();
        (found.len() == keys.len()).then(|| found.join("/"))
    };
    if let (Some(name), Some(numbers)) =
        (first(cpuinfo, "model name"), numbers(["cpu family", "model", "stepping"]))
    {
        return format!("{name} ({numbers})");
    }
    match numbers(["CPU implementer", "CPU part", "CPU revision"]) {
        Some(numbers) => format!("Arm ({numbers})"),
        None => "unknown".to_owned(),
    }
}

/// Rounded up: the kernel keeps a part of the last GiB for itself, how much differs between kernels.
fn memory_gib(meminfo: &str) -> u32 {
    let kib = first(meminfo, "MemTotal").and_then(|text| text.split_whitespace().next()?.parse::<u64>().ok());
    u32::try_from(kib.unwrap_or(0).div_ceil(1 << 20)).unwrap_or(u32::MAX)
}

fn virtualisation(cpuinfo: &str, hypervisor: Option<&str>) -> String {
    let guest = first(cpuinfo, "flags").map(|flags| flags.split(' ').any(|flag| flag == "hypervisor"));
    match (guest, hypervisor) {
        (Some(false), _) => "none".to_owned(),
        (_, Some(name)) => name.to_owned(),
        _ => "unknown".to_owned(),
    }
}

/// Who runs this guest, as the processor (leaf 0x4000_0000) says it; none where it does not say.
#[must_use]
pub fn hypervisor_vendor() -> Option<&'static str> {
    #[cfg(target_arch = "x86_64")]
    {
        let leaf = std::arch::x86_64::__cpuid(0x4000_0000);
        let signature: Vec<u8> =
            [leaf.ebx, leaf.ecx, leaf.edx].iter().flat_map(|r| r.to_le_bytes()).collect();
        match signature.as_slice() {
            b"KVMKVMKVM\0\0\0" => Some("kvm"),
            b"Microsoft Hv" => Some("hyper-v"),
            b"VMwareVMware" => Some("vmware"),
            b"XenVMMXenVMM" => Some("xen"),
            _ => None,
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    None
}
