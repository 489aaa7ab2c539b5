//! What does the kernel say about this process? Memory, processor time, the system's name; from `/proc`.

use std::fs;
use std::time::{SystemTime, UNIX_EPOCH};

/// Memory of this process that is in RAM (RSS), in bytes.
pub(crate) fn resident_bytes() -> Option<u64> {
    let statm = fs::read_to_string("/proc/self/statm").ok()?;
    let pages: u64 = statm.split_ascii_whitespace().nth(1)?.parse().ok()?;
    Some(pages * rustix::param::page_size() as u64)
}

/// Processor time used so far in user and in kernel mode, in seconds; the kernel counts in hundredths.
pub(crate) fn cpu_seconds() -> Option<(f64, f64)> {
    cpu_seconds_of("/proc/self/stat")
}

/// The same of the first thread alone, which serves connections.
pub(crate) fn main_thread_cpu_seconds() -> Option<(f64, f64)> {
    cpu_seconds_of(&format!("/proc/self/task/{}/stat", std::process::id()))
}

fn cpu_seconds_of(path: &str) -> Option<(f64, f64)> {
    let stat = fs::read_to_string(path).ok()?;
    // The second field is the program's name in parentheses and may hold anything; the last one closes it.
    let mut fields = stat.rsplit_once(')')?.1.split_ascii_whitespace().skip(11);
    let ticks_per_second = rustix::param::clock_ticks_per_second() as f64;
    let mut seconds = || Some(fields.next()?.parse::<u64>().ok()? as f64 / ticks_per_second);
    Some((seconds()?, seconds()?))
}

/// CPUs that the system has, whether or not this process may use them.
pub(crate) fn online_cpus() -> usize {
    let list = fs::read_to_string("/sys/devices/system/cpu/online").ok();
    let listed = list.and_then(|list| count(list.trim()));
    listed.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, std::num::NonZero::get))
}

/// How many numbers a list as `0-3,6` names.
fn count(list: &str) -> Option<usize> {
    let range = |range: &str| {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let (first, last) = (first.parse::<usize>().ok()?, last.parse::<usize>().ok()?);
        Some(last.checked_sub(first)? + 1)
    };
    list.split(',').map(range).sum()
}

/// Seconds since 1970.
pub(crate) fn unix_time_s() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}

/// Microseconds since the Unix epoch.
pub(crate) fn unix_time_us() -> u128 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_micros()
}

/// Kernel name, release and machine.
pub(crate) fn system() -> String {
    let name = rustix::system::uname();
    format!(
        "{} {} {}",
        name.sysname().to_string_lossy(),
        name.release().to_string_lossy(),
        name.machine().to_string_lossy()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernel_answers() {
        assert!(resident_bytes().unwrap() > 100_000);
        let (user, kernel) = cpu_seconds().unwrap();
        assert!(user >= 0.0 && kernel >= 0.0);
        assert!(system().starts_with("Linux "));
        assert!(online_cpus() > 0);
    }

    #[test]
    fn lists_of_cpus_are_counted() {
        assert_eq!(count("0-1"), Some(2));
        assert_eq!(count("0"), Some(1));
        assert_eq!(count("0-3,6,8-9"), Some(7));
        assert_eq!(count("3-1"), None);
        assert_eq!(count("all"), None);
    }
}
