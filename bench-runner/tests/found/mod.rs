//! The record that a run of the runner has left below a folder.

#![allow(dead_code, reason = "each test uses a part of it")]

use std::path::{Path, PathBuf};

/// What a compressed record holds.
pub(crate) fn unpacked(path: &Path) -> serde_json::Value {
    let text = zstd::decode_all(std::fs::File::open(path).expect("a record")).expect("whole zstd");
    serde_json::from_slice(&text).expect("JSON")
}

/// The first file of this name below a folder.
pub(crate) fn file(folder: &Path, name: &str) -> Option<PathBuf> {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.file_name().is_some_and(|it| it == name) {
            return Some(path);
        }
        if let Some(found) = path.is_dir().then(|| file(&path, name)).flatten() {
            return Some(found);
        }
    }
    None
}
