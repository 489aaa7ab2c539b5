//! What does the disk promise, and how fast? The kind of file system, and appends that are each forced to the device.

use anyhow::Context as _;
use std::fs::File;
use std::io::Write as _;
use std::path::Path;
use std::time::{Duration, Instant};

/// Bytes of an append: about what a record of a log takes.
const APPEND_BYTES: usize = 128;
/// Appends that are not counted: the file gets its first blocks.
const FIRST: usize = 50;
/// The measurement ends after so long …
const LASTS: Duration = Duration::from_secs(1);
/// … or so many appends.
const APPENDS_MAX: usize = 20_000;

/// Appends that were each forced to the device.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DiskSync {
    /// Of them, per second.
    pub per_second: f64,
    /// Median time of one, ns.
    pub ns_p50: f64,
}

/// Measures the disk that `folder` lies on, for about a second.
///
/// # Errors
/// A file cannot be written there.
pub fn disk_sync(folder: &Path) -> anyhow::Result<DiskSync> {
    let told = || format!("cannot measure the disk of {}", folder.display());
    let mut file: File = tempfile::tempfile_in(folder).with_context(told)?;
    let record = [0x5a; APPEND_BYTES];
    let mut times = Vec::new();
    let mut begin = Instant::now();
    for number in 0..FIRST + APPENDS_MAX {
        let start = Instant::now();
        if number == FIRST {
            begin = start;
        }
        if number >= FIRST && begin.elapsed() >= LASTS {
            break;
        }
        file.write_all(&record).and_then(|()| file.sync_data()).with_context(told)?;
        if number >= FIRST {
            times.push(start.elapsed().as_nanos() as f64);
        }
    }
    let per_second = times.len() as f64 / begin.elapsed().as_secs_f64().max(1e-9);
    Ok(DiskSync { per_second, ns_p50: crate::stats::median(&times).unwrap_or_default() })
}

/// The kind of file system a folder lies on, by the number the kernel gives it (statfs(2)).
#[must_use]
pub fn filesystem(path: &Path) -> String {
    match rustix::fs::statfs(path).map(|about| about.f_type as u64) {
        Ok(0xEF53) => "ext4".to_owned(),
        Ok(0x0102_1994) => "tmpfs".to_owned(),
        Ok(0x794c_7630) => "overlay".to_owned(),
        Ok(0x5846_5342) => "xfs".to_owned(),
        Ok(0x9123_683E) => "btrfs".to_owned(),
        Ok(other) => format!("{other:#x}"),
        Err(_) => "unknown".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn appends_are_counted_and_agree_with_their_median() {
        let folder = tempfile::tempdir().unwrap();
        let told = disk_sync(folder.path()).unwrap();
        assert!(told.per_second > 1.0 && told.ns_p50 > 0.0, "{told:?}");
        // One after the other: a median cannot be below half of what is left for each on average, nor far above it.
        assert!(told.ns_p50 < 2.5e9 / told.per_second, "{told:?}");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
        assert!(disk_sync(&folder.path().join("nowhere")).is_err());
    }
}
