//! The record that a run of the runner has left below a folder.

use std::path::{Path, PathBuf};

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
