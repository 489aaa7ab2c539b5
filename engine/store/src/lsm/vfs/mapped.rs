//! How do bytes get into the page cache without a call to the system? A piece of the file is mapped, and they are copied there. They outlive the process as written ones do.
//!
//! Only a piece that has been written before is mapped, and whose pages are in the cache: its blocks are taken and nothing has to be read, so nothing is left that could fail when it is
//! touched. That holds where the file system writes in place; on others a full disk would be a signal instead of an error, and nothing is mapped there.

use rustix::fd::AsFd;
use rustix::fs::{FsWord, fstat, fstatfs};
use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap, munmap};
use std::ptr::NonNull;

/// File systems that overwrite a block in place, by the numbers of statfs(2): ext2 to ext4, tmpfs. Not XFS:
/// where files share blocks (reflinks, its default), a page that is touched needs another block, and a
/// full disk would be a signal.
const IN_PLACE: [FsWord; 2] = [0xEF53, 0x0102_1994];

/// The size of a page that the question about the cache is answered for.
const PAGE: usize = 4 << 10;

/// A piece of a file.
pub(super) struct Mapped {
    base: NonNull<u8>,
    offset: u64,
    len: usize,
}

// SAFETY: the mapping belongs to no thread, and there is one owner.
unsafe impl Send for Mapped {}

impl Mapped {
    /// A piece that has been written, from a multiple of the size of a page on. `None` where not all of it is in the page cache, or the system does not let it be mapped.
    pub(super) fn new(file: impl AsFd, offset: u64, len: usize) -> Option<Self> {
        let kind = fstatfs(&file).ok()?.f_type;
        let held = u64::try_from(fstat(&file).ok()?.st_size).ok()?;
        if !IN_PLACE.contains(&kind) || held < offset + len as u64 {
            return None;
        }
        let protection = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a mapping at an address that the kernel chooses overlaps nothing.
        let raw =
            unsafe { mmap(std::ptr::null_mut(), len, protection, MapFlags::SHARED, &file, offset) }.ok()?;
        let mapped = Self { base: NonNull::new(raw.cast())?, offset, len };
        if !is_cached(&mapped) {
            return None;
        }
        // SAFETY: the mapping was made above. Its pages are made ready to be written, all at once; where one cannot be, this says so, and a store would have been a signal.
        unsafe { madvise(raw, len, Advice::LinuxPopulateWrite) }.ok()?;
        Some(mapped)
    }

    /// Puts bytes to where the file has this offset. False where not all of them would be within the piece.
    pub(super) fn put(&mut self, bytes: &[u8], offset: u64) -> bool {
        let Some(at) = offset.checked_sub(self.offset) else { return false };
        if at.saturating_add(bytes.len() as u64) > self.len as u64 {
            return false;
        }
        // SAFETY: the range lies within the mapping, as was seen above, which nobody else in this process has; `bytes` is no part of it, because no reference into it is given out.
        unsafe { self.base.as_ptr().add(at as usize).copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) };
        true
    }
}

/// Whether all pages of a piece are in the page cache; no, where they are larger than thought.
fn is_cached(piece: &Mapped) -> bool {
    let mut pages = vec![0_u8; piece.len.div_ceil(PAGE)];
    // SAFETY: the mapping is `piece.len` long, and a byte is there for each of its pages, which are not smaller.
    let done = unsafe { libc::mincore(piece.base.as_ptr().cast(), piece.len, pages.as_mut_ptr()) };
    done == 0 && pages.iter().all(|page| page & 1 == 1)
}

impl Drop for Mapped {
    fn drop(&mut self) {
        // SAFETY: the mapping was made in `new`, and no reference into it was ever given out.
        let _ = unsafe { munmap(self.base.as_ptr().cast(), self.len) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::FileExt;

    #[test]
    fn what_is_put_is_what_the_file_holds_and_outside_nothing_is() {
        let file = tempfile::tempfile().unwrap();
        file.write_all_at(&[7; 12_288], 0).unwrap();
        // Where the temporary files are on another file system there is nothing to be seen.
        let Some(mut mapped) = Mapped::new(&file, 4_096, 8_192) else { return };
        assert!(mapped.put(b"first", 4_096) && mapped.put(b"last", 12_284) && mapped.put(b"", 12_288));
        assert!(
            !mapped.put(b"before", 4_095) && !mapped.put(b"after", 12_284) && !mapped.put(b"x", u64::MAX)
        );
        let mut found = vec![0; 12_288];
        file.read_exact_at(&mut found, 0).unwrap();
        assert!(found.starts_with(&[7; 4_096]) && found[4_096..].starts_with(b"first\x07"));
        assert!(found.ends_with(b"\x07last"));
        assert!(Mapped::new(&file, 8_192, 8_192).is_none(), "the file ends before");
    }

    /// Where an overwritten block can need another one, a full disk ends the process by SIGBUS instead of an error.
    #[test]
    fn no_file_system_that_may_need_room_to_overwrite_is_mapped() {
        for (name, kind) in [
            ("XFS", 0x5846_5342),
            ("Btrfs", 0x9123_683E),
            ("bcachefs", 0xCA45_1A4E),
            ("F2FS", 0xF2F5_2010),
            ("ZFS", 0x2FC1_2FC1),
            ("overlayfs", 0x794C_7630),
            ("FUSE", 0x6573_5546),
            ("NFS", 0x6969),
            ("SMB", 0xFE53_4D42),
        ] {
            assert!(!IN_PLACE.contains(&kind), "{name}");
        }
    }
}
