//! How does a directory come into the page cache, and out of it? And how is it copied?
//!
//! What was loaded long ago may be in the page cache or not, and its pages are charged to whoever read them first. Before
//! a directory is opened it is therefore read through, so that no read waits for the device; or, where the opener has
//! a memory limit, put out, so that every page it reads is charged to it.
//!
//! It is read through twice. Linux keeps pages that were read once and pages that were read again in lists of their own,
//! and whoever reads a page for the second time moves it, thirty and one at a time: of the random reads after a single reading
//! one or two in a hundred took 7 µs longer for that, where others had not read the same pages before.

use rustix::fs::{Advice, fadvise};
use std::fs::{self, File};
use std::io::{self, Read, Seek};
use std::path::Path;

/// Bytes that are read or copied at a time.
const PIECE: usize = 1 << 20;

/// Reads every file below a folder, twice.
///
/// # Errors
/// A file cannot be read.
pub(crate) fn read_through(folder: &Path) -> io::Result<()> {
    let mut piece = vec![0; PIECE];
    each_file(folder, &mut |path| {
        let mut file = File::open(path)?;
        for _ in 0..2 {
            file.rewind()?;
            while file.read(&mut piece)? > 0 {}
        }
        Ok(())
    })
}

/// Forces every file below a folder to the device and asks the kernel to forget its pages. It needs no privilege; pages
/// that are dirty or mapped by somebody stay, which is why they are forced first.
///
/// # Errors
/// A file cannot be opened or synced.
pub(crate) fn put_out(folder: &Path) -> io::Result<()> {
    each_file(folder, &mut |path| {
        let file = File::open(path)?;
        file.sync_all()?;
        Ok(fadvise(&file, 0, None, Advice::DontNeed)?)
    })
}

/// Forces every file below a folder, and the folder itself, to the device.
///
/// # Errors
/// A file cannot be opened or synced.
pub(crate) fn sync(folder: &Path) -> io::Result<()> {
    each_file(folder, &mut |path| File::open(path)?.sync_all())?;
    File::open(folder)?.sync_all()
}

/// Copies everything below a folder into another that is there, and forces it to the device: writing it out beside what
/// is measured would be charged to that.
///
/// # Errors
/// The disk is full, or a file cannot be read or written.
pub(crate) fn copy(from: &Path, to: &Path) -> io::Result<()> {
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let there = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            fs::create_dir(&there)?;
            copy(&entry.path(), &there)?;
        } else {
            fs::copy(entry.path(), &there)?;
            File::open(&there)?.sync_all()?;
        }
    }
    File::open(to)?.sync_all()
}

/// Bytes that are free for us on the file system that a folder lies on.
pub(crate) fn free_bytes(folder: &Path) -> Option<u64> {
    let about = rustix::fs::statvfs(folder).ok()?;
    Some(about.f_bavail.saturating_mul(about.f_frsize))
}

fn each_file(folder: &Path, act: &mut dyn FnMut(&Path) -> io::Result<()>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            each_file(&entry.path(), act)?;
        } else {
            act(&entry.path())?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Pages of a file that are in the page cache, of how many; none where the system does not tell.
    fn resident(path: &Path) -> Option<(u64, u64)> {
        let told = std::process::Command::new("fincore")
            .args(["-b", "-n", "-o", "RES,SIZE"])
            .arg(path)
            .output()
            .ok()?;
        let text = String::from_utf8_lossy(&told.stdout).into_owned();
        let mut numbers = text.split_whitespace().filter_map(|word| word.parse().ok());
        Some((numbers.next()?, numbers.next()?))
    }

    fn store() -> tempfile::TempDir {
        // Not on a file system in memory, which has no page cache to be put out of.
        let dir = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        fs::create_dir(dir.path().join("tables")).unwrap();
        fs::write(dir.path().join("log"), vec![1; 3 * PIECE + 5]).unwrap();
        fs::write(dir.path().join("tables/1"), vec![2; PIECE]).unwrap();
        dir
    }

    #[test]
    fn a_copy_holds_the_same_files() {
        let (from, to) = (store(), tempfile::tempdir().unwrap());
        copy(from.path(), to.path()).unwrap();
        for name in ["log", "tables/1"] {
            assert_eq!(fs::read(from.path().join(name)).unwrap(), fs::read(to.path().join(name)).unwrap());
        }
        assert!(free_bytes(to.path()).unwrap() > 0);
    }

    #[test]
    fn what_is_put_out_is_in_no_page_cache_and_what_is_read_through_is() {
        let dir = store();
        let log = dir.path().join("log");
        if resident(&log).is_none() {
            println!("skipped: no fincore here");
            return;
        }
        put_out(dir.path()).unwrap();
        let (out, size) = resident(&log).unwrap();
        read_through(dir.path()).unwrap();
        let (within, _) = resident(&log).unwrap();
        assert!(out < size / 10 && within >= size, "{out} bytes after, {within} of {size} read through");
        sync(dir.path()).unwrap();
    }
}
