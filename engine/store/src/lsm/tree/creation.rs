//! Creation of a store, and whose a directory is.
//!
//! A directory with a `CURRENT` is a store. Where there is none, a new store is made only if no file
//! has a name that a store gives: a log of another program or what is left of a store is refused, and
//! stays as it is.
//!
//! A creation that was interrupted leaves such files, too, and has to be told apart. So it begins with
//! a mark in `LOCK`, which lasts before another file is made, and makes only three files before
//! `CURRENT`: an empty log, a manifest, and `CURRENT.new`. Where the mark is, these are removed and
//! made anew.

use crate::error::{Error, Result};
use crate::lsm::file_name::FileName;
use crate::lsm::manifest::{CURRENT, CURRENT_NEW};
use crate::lsm::vfs::{Locked, Vfs, exists, read_exact_at, write_all_at};
use std::io::{self, ErrorKind};
use std::path::Path;

const LOCK: &str = "LOCK";

/// What `LOCK` holds in a directory in which a store was made or begun.
const MARK: &[u8] = b"PlumbKV\n";

/// The numbers of the first log and manifest.
const FIRST_LOG: FileName = FileName::Log(1);
const FIRST_MANIFEST: FileName = FileName::Manifest(2);

/// Takes a directory for this process alone.
pub(super) fn lock(vfs: &dyn Vfs, directory: &Path) -> Result<Box<dyn Locked>> {
    vfs.lock(directory).map_err(|error| match error.kind() {
        ErrorKind::WouldBlock => Error::InUse { path: directory.display().to_string() },
        _ => Error::io(&directory.join(LOCK), "lock", &error),
    })
}

/// Refuses a directory that is neither a store nor free to become one.
pub(super) fn check_new(vfs: &dyn Vfs, directory: &Path) -> Result<()> {
    if exists(vfs, &directory.join(CURRENT))? {
        return Ok(());
    }
    remains(vfs, directory).map(drop)
}

/// Says that there is no store to be read. Nothing is made there.
pub(super) fn check_there(vfs: &dyn Vfs, directory: &Path) -> Result<()> {
    let path = directory.join(CURRENT);
    vfs.open(&path).map(drop).map_err(|error| Error::io(&path, "open", &error))
}

/// Marks a directory as one in which a store is being made, and removes what an earlier attempt left.
pub(super) fn mark_new(vfs: &dyn Vfs, directory: &Path) -> Result<()> {
    let remains = remains(vfs, directory)?;
    let path = directory.join(LOCK);
    let mark = || {
        let mut file = vfs.reuse(&path)?;
        write_all_at(&mut *file, MARK, 0)?;
        file.sync()?;
        vfs.sync_dir(directory)
    };
    mark().map_err(|error| Error::io(&path, "mark", &error))?;
    for name in remains {
        let path = directory.join(name);
        vfs.remove(&path).map_err(|error| Error::io(&path, "remove", &error))?;
    }
    Ok(())
}

/// The files of an interrupted creation. An error where there are others of a store.
fn remains(vfs: &dyn Vfs, directory: &Path) -> Result<Vec<String>> {
    let names = vfs.list(directory).map_err(|error| Error::io(directory, "list", &error))?;
    let ours = names.into_iter().filter(|name| FileName::parse(name).is_some() || name == CURRENT_NEW);
    let mut ours: Vec<_> = ours.collect();
    ours.sort_unstable();
    if ours.is_empty() {
        return Ok(ours);
    }
    let path = directory.join(LOCK);
    let is_marked = is_marked(vfs, &path).map_err(|error| Error::io(&path, "read", &error))?;
    for name in &ours {
        let path = directory.join(name);
        let is_remains = match FileName::parse(name) {
            _ if !is_marked => false,
            None | Some(FIRST_MANIFEST) => true,
            Some(FIRST_LOG) => {
                let len = vfs.open(&path).and_then(|file| file.len());
                len.map_err(|error| Error::io(&path, "open", &error))? == 0
            }
            Some(_) => false,
        };
        if !is_remains {
            return Err(Error::NotAStore { path: directory.display().to_string(), file: name.clone() });
        }
    }
    Ok(ours)
}

fn is_marked(vfs: &dyn Vfs, lock: &Path) -> io::Result<bool> {
    let file = match vfs.open(lock) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(false),
        file => file?,
    };
    let mut found = [0; MARK.len()];
    Ok(file.len()? == MARK.len() as u64 && {
        read_exact_at(&*file, &mut found, 0)?;
        found == MARK
    })
}
