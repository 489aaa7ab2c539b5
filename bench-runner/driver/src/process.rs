//! What does the kernel say of this process: memory, CPU time, bytes read and written, the size of a folder?

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

/// What was handed to read and write calls so far.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Io {
    pub(crate) read_bytes: u64,
    pub(crate) written_bytes: u64,
    /// `read_bytes`: what the page cache did not have, by mapped pages too.
    pub(crate) device_read_bytes: u64,
}

impl Io {
    /// `rchar` and `wchar`: the page cache answers most reads of a data set that fits, and those are reads all the same.
    pub(crate) fn now() -> Option<Self> {
        let text = fs::read_to_string("/proc/self/io").ok()?;
        let field = |name: &str| text.lines().find_map(|line| line.strip_prefix(name)?.trim().parse().ok());
        Some(Self {
            read_bytes: field("rchar:")?,
            written_bytes: field("wchar:")?,
            device_read_bytes: field("read_bytes:")?,
        })
    }
}

/// Resident memory, bytes.
pub(crate) fn rss_bytes() -> u64 {
    status_kib("VmRSS:") * 1024
}

/// Largest resident memory since [`forget_rss_peak`], bytes.
pub(crate) fn rss_bytes_peak() -> u64 {
    status_kib("VmHWM:") * 1024
}

/// Resident memory that no file stands behind, bytes.
pub(crate) fn rss_anonymous_bytes() -> u64 {
    status_kib("RssAnon:") * 1024
}

/// Makes the peak begin anew, where the system lets us.
pub(crate) fn forget_rss_peak() {
    let _ = fs::write("/proc/self/clear_refs", "5");
}

fn status_kib(field: &str) -> u64 {
    let text = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix(field));
    line.and_then(|rest| rest.split_whitespace().next()?.parse().ok()).unwrap_or(0)
}

/// CPU time of all threads of this process, those that have ended too, ns.
pub(crate) fn cpu_ns() -> u64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    u64::try_from(time.tv_sec).unwrap_or(0) * 1_000_000_000 + u64::try_from(time.tv_nsec).unwrap_or(0)
}

/// Bytes that the files below a folder take on their device. What was reserved but never written takes none, whichever
/// way it was reserved: a hole has no blocks, and blocks past the end of a file hold nothing. RocksDB reserves 4 MiB for
/// its manifest and 35 for its log that way, which would stand for more than many a store here. None where it is no folder.
pub(crate) fn folder_bytes(path: &Path) -> Option<u64> {
    let mut bytes = 0;
    for entry in fs::read_dir(path).ok()?.flatten() {
        let Ok(about) = entry.metadata() else { continue };
        bytes += if about.is_dir() { folder_bytes(&entry.path()).unwrap_or(0) } else { taken(&about) };
    }
    Some(bytes)
}

/// Blocks are counted in 512 bytes, whatever the file system's own size.
fn taken(about: &fs::Metadata) -> u64 {
    const BLOCK: u64 = 4096;
    (about.blocks() * 512).min(about.len().next_multiple_of(BLOCK))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::fs::{FallocateFlags, fallocate};

    #[test]
    fn what_was_reserved_but_never_written_takes_nothing() {
        // Not on a file system in memory, which may refuse to reserve.
        let folder = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        fs::write(folder.path().join("written"), [1; 5_000]).unwrap();
        let log = fs::File::create(folder.path().join("log")).unwrap();
        if fallocate(&log, FallocateFlags::KEEP_SIZE, 0, 1 << 20).is_err() {
            println!("skipped: nothing can be reserved here");
        }
        fs::File::create(folder.path().join("holes")).unwrap().set_len(1 << 30).unwrap();
        assert_eq!(folder_bytes(folder.path()), Some(8_192));
        assert_eq!(folder_bytes(&folder.path().join("nowhere")), None);
    }
}
