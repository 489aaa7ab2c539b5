//! What is said of a store that was repaired?

use super::Durable;
use crate::error::{Error, Result};
use crate::lsm::{Disk, repair};
use std::path::Path;
use std::sync::Arc;

/// A file that [`Database::repair`](crate::Database::repair) has laid aside.
///
/// ```
/// # let directory = tempfile::tempdir().unwrap();
/// # let path = directory.path().join("store");
/// # let db = plumbkv::Database::open(plumbkv::Options::durable(&path))?;
/// db.set(b"a", b"1")?;
/// db.flush()?;
/// db.close()?;
/// for entry in std::fs::read_dir(&path).unwrap() {
///     let file = entry.unwrap().path();
///     if file.extension().is_some_and(|extension| extension == "table") {
///         std::fs::write(file, "not a table").unwrap();
///     }
/// }
/// let laid = plumbkv::Database::repair(&path, directory.path().join("aside"), |_, _| ())?;
/// assert!(laid.len() == 1 && laid[0].file.ends_with(".table"));
/// println!("{}: {}", laid[0].file, laid[0].reason);
/// # Ok::<(), plumbkv::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct LaidAside {
    /// Its name in the store's directory.
    pub file: String,
    /// Versions of keys in it; `None` for a log, of which what stood before the damage is kept.
    pub versions: Option<u64>,
    /// What is wrong with it.
    pub reason: Error,
}

impl Durable {
    pub(crate) fn repair(
        directory: &Path,
        aside: &Path,
        progress: impl FnMut(usize, usize),
    ) -> Result<Vec<LaidAside>> {
        let laid = repair(Arc::new(Disk), directory, aside, progress)?;
        let name = |path: &Path| path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        Ok(laid
            .into_iter()
            .map(|aside| LaidAside {
                file: name(&aside.path),
                versions: aside.versions,
                reason: aside.reason,
            })
            .collect())
    }
}
