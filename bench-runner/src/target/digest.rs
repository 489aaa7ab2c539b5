//! Which file is it, and how is it linked?

use sha2::{Digest, Sha256};
use std::collections::HashMap;
use std::fs::File;
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::{LazyLock, Mutex};

/// Device, inode, size, seconds and nanoseconds of the last change.
type Identity = (u64, u64, u64, i64, i64);

/// Every start of a target reads its digest back; the file is the same hundreds of times.
static KNOWN: LazyLock<Mutex<HashMap<Identity, String>>> = LazyLock::new(Mutex::default);

/// SHA-256 of a file, hexadecimal.
pub(crate) fn sha256_file(path: &Path) -> std::io::Result<String> {
    let mut file = File::open(path)?;
    let meta = file.metadata()?;
    let identity = (meta.dev(), meta.ino(), meta.size(), meta.mtime(), meta.mtime_nsec());
    if let Some(known) = KNOWN.lock().ok().and_then(|known| known.get(&identity).cloned()) {
        return Ok(known);
    }
    let mut hasher = Sha256::new();
    let mut piece = vec![0; 256 * 1024];
    loop {
        match file.read(&mut piece)? {
            0 => break,
            count => hasher.update(&piece[..count]),
        }
    }
    let digest: String = hasher.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
    if let Ok(mut known) = KNOWN.lock() {
        known.insert(identity, digest.clone());
    }
    Ok(digest)
}

/// Whether an ELF file names no dynamic loader. False for anything that is no 64-bit little-endian ELF.
pub(crate) fn is_static(bytes: &[u8]) -> bool {
    const PT_INTERP: u32 = 3;
    if bytes.get(..6) != Some(b"\x7fELF\x02\x01") {
        return false;
    }
    let number = |at: usize, length: usize| -> Option<usize> {
        let slice = bytes.get(at..at.checked_add(length)?)?;
        Some(slice.iter().rev().fold(0usize, |all, byte| (all << 8) | usize::from(*byte)))
    };
    let header = || Some((number(32, 8)?, number(54, 2)?, number(56, 2)?));
    let Some((offset, size, count)) = header() else { return false };
    !(0..count).any(|index| {
        let at = index.checked_mul(size).and_then(|skip| offset.checked_add(skip));
        at.and_then(|at| number(at, 4)) == Some(PT_INTERP as usize)
    })
}

/// The compiler's own note in a Rust program: `rustc 1.95.0 (…)`; empty where there is none.
pub(crate) fn rustc_of(bytes: &[u8]) -> String {
    const NOTE: &[u8] = b"rustc version ";
    let Some(at) = bytes.windows(NOTE.len()).position(|window| window == NOTE) else { return String::new() };
    let rest = &bytes[at + NOTE.len()..];
    let end = rest.iter().take(80).position(|byte| *byte == 0).unwrap_or(0);
    match std::str::from_utf8(&rest[..end]) {
        Ok(version) if !version.is_empty() => format!("rustc {version}"),
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_digest_is_the_files_own() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x");
        std::fs::write(&path, "abc").unwrap();
        let digest = sha256_file(&path).unwrap();
        assert_eq!(digest, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
        assert_eq!(sha256_file(&path).unwrap(), digest);
    }

    #[test]
    fn this_test_is_linked_dynamically_and_knows_its_compiler() {
        let bytes = std::fs::read("/proc/self/exe").unwrap();
        assert!(!is_static(&bytes));
        assert!(rustc_of(&bytes).starts_with("rustc 1."), "{}", rustc_of(&bytes));
        assert!(!is_static(b"#!/bin/sh\n"));
    }
}
