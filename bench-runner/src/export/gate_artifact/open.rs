//! Which bytes are the gate's? From an archive, a folder or a file, up to a limit, and never through a link.

use super::{ARCHIVE_BYTES_MAX, ArtifactError, ENTRIES_MAX, ENTRY, ENTRY_BYTES_MAX, archive, quoted};
use std::fs::{File, Metadata, OpenOptions};
use std::io::Read;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

/// How every archive begins, one without entries too; JSON never does.
const ARCHIVE_MAGIC: &[u8] = b"PK";

/// The bytes of `gate.json`.
pub(super) fn entry(path: &Path) -> Result<Vec<u8>, ArtifactError> {
    let failed = |source| ArtifactError::File { path: path.to_path_buf(), source };
    let about = std::fs::symlink_metadata(path).map_err(failed)?;
    if about.is_dir() {
        return in_folder(path);
    }
    let is_named_archive = path.extension().is_some_and(|one| one.eq_ignore_ascii_case("zip"));
    let bytes = plain(path, ARCHIVE_BYTES_MAX)?
        .ok_or_else(|| ArtifactError::ArchiveTooLarge { name: name_of(path) })?;
    if is_named_archive || bytes.starts_with(ARCHIVE_MAGIC) {
        return archive::entry(&bytes);
    }
    match bytes.len() as u64 {
        ..=ENTRY_BYTES_MAX => Ok(bytes),
        _ => Err(ArtifactError::EntryTooLarge { name: name_of(path) }),
    }
}

fn in_folder(folder: &Path) -> Result<Vec<u8>, ArtifactError> {
    let failed = |source| ArtifactError::File { path: folder.to_path_buf(), source };
    let mut found = 0;
    for entry in std::fs::read_dir(folder).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        found += 1;
        if found > ENTRIES_MAX {
            // Counted no further: a folder may hold millions.
            return Err(ArtifactError::TooManyEntries { found });
        }
        // Of the link itself, not of what it leads to.
        if entry.file_type().map_err(failed)?.is_symlink() {
            return Err(ArtifactError::NotPlain { name: name_of(&entry.path()), what: "a symbolic link" });
        }
    }
    let path = folder.join(ENTRY);
    match plain(&path, ENTRY_BYTES_MAX) {
        Err(ArtifactError::File { source, .. }) if source.kind() == std::io::ErrorKind::NotFound => {
            Err(ArtifactError::Missing)
        }
        bytes => bytes?.ok_or_else(|| ArtifactError::EntryTooLarge { name: name_of(&path) }),
    }
}

/// A plain file's bytes; none when there are more than `most`.
fn plain(path: &Path, most: u64) -> Result<Option<Vec<u8>>, ArtifactError> {
    let failed = |source| ArtifactError::File { path: path.to_path_buf(), source };
    let refused = |what| ArtifactError::NotPlain { name: name_of(path), what };
    // What was looked at and what is opened could be two files; so it is opened first, without following a link and
    // without waiting for the other end of a pipe, and then looked at.
    let file = OpenOptions::new().read(true).custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK).open(path);
    let file = match file {
        Err(error) if error.raw_os_error() == Some(libc::ELOOP) => return Err(refused("a symbolic link")),
        other => other.map_err(failed)?,
    };
    if let Some(what) = odd(&file.metadata().map_err(failed)?) {
        return Err(refused(what));
    }
    up_to(file, most).map_err(failed)
}

fn odd(about: &Metadata) -> Option<&'static str> {
    match (about.is_file(), about.is_dir()) {
        (true, _) => None,
        (_, true) => Some("a folder"),
        _ => Some("a device or pipe"),
    }
}

fn up_to(file: File, most: u64) -> std::io::Result<Option<Vec<u8>>> {
    let mut bytes = Vec::new();
    // One more than allowed tells the two cases apart, whatever size the file said it has.
    file.take(most + 1).read_to_end(&mut bytes)?;
    Ok((bytes.len() as u64 <= most).then_some(bytes))
}

fn name_of(path: &Path) -> String {
    quoted(&path.file_name().unwrap_or(path.as_os_str()).to_string_lossy())
}
