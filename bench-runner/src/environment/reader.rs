//! How are the kernel's small text files read? One trimmed text each, or nothing; never an error.

use std::path::{Path, PathBuf};

/// Reads files below a root: `/` on a machine, a folder of fixtures in a test.
#[derive(Debug, Clone)]
pub struct Reader {
    root: PathBuf,
}

impl Reader {
    /// The machine itself.
    #[must_use]
    pub fn machine() -> Self {
        Self::below(Path::new("/"))
    }

    /// A tree of fixture files.
    #[must_use]
    pub fn below(root: &Path) -> Self {
        Self { root: root.to_owned() }
    }

    /// The file's text without the white space around it; none where it cannot be read or is empty.
    #[must_use]
    pub fn text(&self, path: &str) -> Option<String> {
        let text = std::fs::read(self.path(path)).ok()?;
        let text = String::from_utf8_lossy(&text).trim().to_owned();
        (!text.is_empty()).then_some(text)
    }

    /// The same, or `unknown`.
    #[must_use]
    pub fn text_or_unknown(&self, path: &str) -> String {
        self.text(path).unwrap_or_else(|| "unknown".to_owned())
    }

    /// The whole file as a number.
    #[must_use]
    pub fn number(&self, path: &str) -> Option<u64> {
        self.text(path)?.parse().ok()
    }

    /// The names in a folder, sorted.
    #[must_use]
    pub fn names(&self, path: &str) -> Vec<String> {
        let Ok(entries) = std::fs::read_dir(self.path(path)) else { return Vec::new() };
        let mut names: Vec<String> =
            entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }

    /// Whether there is such a file or folder.
    #[must_use]
    pub fn has(&self, path: &str) -> bool {
        self.path(path).exists()
    }

    fn path(&self, path: &str) -> PathBuf {
        self.root.join(path.trim_start_matches('/'))
    }
}
