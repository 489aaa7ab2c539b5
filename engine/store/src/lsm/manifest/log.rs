//! How is the manifest kept? As a log of its own, `MANIFEST-n`, whose records are edits; `CURRENT` names the one that counts.
//!
//! A store that is opened begins a new manifest with one edit that says everything, and renames `CURRENT` to it once that is synced. So no manifest grows for ever, and
//! whichever of the two a power cut leaves is whole.

use super::edit::Edit;
use crate::error::{Error, Result};
use crate::lsm::file_name::FileName;
use crate::lsm::vfs::{Vfs, read_exact_at, write_all_at};
use crate::lsm::wal::{Ended, LogWriter, read_retagged, tag};
use std::path::{Path, PathBuf};

pub(crate) const CURRENT: &str = "CURRENT";
pub(crate) const CURRENT_NEW: &str = "CURRENT.new";

/// The manifest that is being written.
pub(crate) struct Manifest {
    path: PathBuf,
    log: LogWriter,
    edits: u64,
    /// Bytes of the edit that says everything.
    whole: u64,
}

/// What an earlier manifest says.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Recovered {
    /// Its number.
    pub(crate) number: u64,
    /// Its edits, in order.
    pub(crate) edits: Vec<Edit>,
}

fn name(number: u64) -> String {
    FileName::Manifest(number).to_string()
}

impl Manifest {
    /// The edits of the manifest that counts in a directory; `None`, where there is none: no store.
    pub(crate) fn recover(vfs: &dyn Vfs, directory: &Path) -> Result<Option<Recovered>> {
        let current = directory.join(CURRENT);
        let file = match vfs.open(&current) {
            Ok(file) => file,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(Error::io(&current, "open", &error)),
        };
        let failed = |error| Error::io(&current, "read", &error);
        let mut bytes = vec![0; file.len().map_err(failed)?.min(100) as usize];
        read_exact_at(&*file, &mut bytes, 0).map_err(failed)?;
        let named = std::str::from_utf8(&bytes).ok().and_then(|text| text.strip_suffix('\n'));
        let Some(FileName::Manifest(number)) = named.and_then(FileName::parse) else {
            return Err(Error::corrupt(&current, 0, "it names no manifest"));
        };
        let path = directory.join(name(number));
        let failed = |error| Error::io(&path, "read", &error);
        let file = vfs.open(&path).map_err(failed)?;
        let mut edits = Vec::new();
        let mut salt = None;
        let ended = read_retagged(&*file, number, |record| {
            let at = edits.len() as u64 + 1;
            if record.sequence != at {
                return Err(Error::corrupt(&path, 0, "edits of the manifest are missing"));
            }
            let edit = Edit::parse(record.payload).map_err(|reason| Error::corrupt(&path, 0, reason))?;
            salt = salt.or(edit.salt);
            edits.push(edit);
            Ok(tag(salt, number))
        });
        match ended.map_err(failed)?? {
            Ended::Damaged(at) => Err(Error::corrupt(&path, at, "an edit of the manifest is damaged")),
            // The first edit was synced before CURRENT came to name this file.
            Ended::Here(at) if edits.is_empty() => Err(Error::corrupt(&path, at, "the manifest has no edit")),
            Ended::Here(_) => Ok(Some(Recovered { number, edits })),
        }
    }

    /// A manifest that takes no edits: another one has to be begun, after which this one is removed.
    pub(crate) fn absent(directory: &Path, number: u64) -> Self {
        Self { path: directory.join(name(number)), log: LogWriter::absent(), edits: 0, whole: 0 }
    }

    /// Begins a manifest with an edit that says everything, and lets it count.
    pub(crate) fn create(vfs: &dyn Vfs, directory: &Path, number: u64, everything: &Edit) -> Result<Self> {
        let path = directory.join(name(number));
        let (current, new) = (directory.join(CURRENT), directory.join(CURRENT_NEW));
        let manifest = Self::write(vfs, directory, path.clone(), (number, everything)).inspect_err(|_| {
            // `CURRENT` does not name it yet. On a full disk each attempt would leave another one.
            let _ = vfs.remove(&new);
            let _ = vfs.remove(&path);
        })?;
        vfs.rename(&new, &current).map_err(|error| Error::io(&current, "rename", &error))?;
        vfs.sync_dir(directory).map_err(|error| Error::io(directory, "sync", &error))?;
        Ok(manifest)
    }

    /// Writes a manifest, and a `CURRENT.new` that names it.
    fn write(
        vfs: &dyn Vfs,
        directory: &Path,
        path: PathBuf,
        (number, everything): (u64, &Edit),
    ) -> Result<Self> {
        let file = vfs.create(&path).map_err(|error| Error::io(&path, "create", &error))?;
        let mut manifest = Self { path, log: LogWriter::new(file, number), edits: 0, whole: 0 };
        // Without a salt, so that an earlier version reads that a later one wrote it.
        manifest.append(everything)?;
        manifest.log.retag(tag(everything.salt, number));
        manifest.whole = manifest.len();
        let new = directory.join(CURRENT_NEW);
        let step = |path: &Path, call, done: std::io::Result<()>| {
            done.map_err(|error| Error::io(path, call, &error))
        };
        match vfs.remove(&new) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(Error::io(&new, "remove", &error));
            }
            _ => {}
        }
        let mut file = vfs.create(&new).map_err(|error| Error::io(&new, "create", &error))?;
        step(&new, "write", write_all_at(&mut *file, format!("{}\n", name(number)).as_bytes(), 0))?;
        step(&new, "sync", file.sync())?;
        // The manifest's own name has to last before CURRENT's does.
        step(directory, "sync", vfs.sync_dir(directory))?;
        Ok(manifest)
    }

    /// Appends an edit; it lasts when this returns.
    pub(crate) fn append(&mut self, edit: &Edit) -> Result<()> {
        let mut payload = Vec::new();
        edit.put(&mut payload);
        self.edits += 1;
        self.log.add(self.edits, &payload);
        self.log.write().and_then(|()| self.log.sync()).map_err(|error| Error::append(&self.path, &error))
    }

    /// Whether an edit could not be appended: it may be there, or in part, and none can follow.
    pub(crate) fn is_broken(&self) -> bool {
        self.log.is_broken()
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Whether another manifest is to follow: it has reached a length, and has grown by as much as it
    /// began with. Without the second condition a store whose bounds of tables alone are longer than
    /// the limit (keys may have 64 KiB) would write all of them anew with each edit.
    pub(crate) fn is_full(&self, limit: u64) -> bool {
        self.len() >= limit.max(2 * self.whole)
    }

    /// Bytes in it.
    pub(crate) fn len(&self) -> u64 {
        self.log.len()
    }
}
