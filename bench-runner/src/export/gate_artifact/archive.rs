//! What is in a zip archive that nobody vouches for? One entry is read, into memory; the others are only looked at.
//!
//! The central directory alone says what there is: this is the only reader of the archive, so there is no second one that
//! could see something else in it.

use super::{ArtifactError, ENTRIES_MAX, ENTRY, ENTRY_BYTES_MAX, quoted};
use std::io::{Cursor, Read as _};
use zip::ZipArchive;
use zip::read::{ArchiveOffset, Config, ZipFileEntry};
use zip::result::ZipError;

/// Type of a file in the upper half of an entry's attributes, as systems of the Unix kind write it.
const TYPE_MASK: u32 = 0o170_000;
const TYPE_PLAIN: u32 = 0o100_000;
const TYPE_FOLDER: u32 = 0o040_000;
const TYPE_LINK: u32 = 0o120_000;

/// The bytes of `gate.json`.
pub(super) fn entry(bytes: &[u8]) -> Result<Vec<u8>, ArtifactError> {
    // Nothing stands before an artifact's first entry: a file that is also something else is not searched for one.
    let config = Config { archive_offset: ArchiveOffset::Known(0) };
    let mut archive = ZipArchive::with_config(config, Cursor::new(bytes))?;
    if archive.has_duplicate_names() {
        return Err(ArtifactError::Twice);
    }
    if archive.len() > ENTRIES_MAX {
        return Err(ArtifactError::TooManyEntries { found: archive.len() });
    }
    for index in 0..archive.len() {
        harmless(&archive.by_index_data(index)?)?;
    }
    let index = archive.index_for_name_raw(ENTRY.as_bytes()).ok_or(ArtifactError::Missing)?;
    let mut content = Vec::new();
    // What the header says of the size was checked, and is not believed.
    archive
        .by_index(index)?
        .take(ENTRY_BYTES_MAX + 1)
        .read_to_end(&mut content)
        .map_err(|error| ArtifactError::Archive(ZipError::Io(error)))?;
    if content.len() as u64 > ENTRY_BYTES_MAX {
        return Err(ArtifactError::EntryTooLarge { name: quoted(ENTRY) });
    }
    Ok(content)
}

/// Whether an entry may stand beside `gate.json`.
fn harmless(entry: &ZipFileEntry<'_>) -> Result<(), ArtifactError> {
    let name = quoted(&String::from_utf8_lossy(entry.name_raw()));
    if let Some(why) = odd_name(entry.name_raw()) {
        return Err(ArtifactError::Name { name, why });
    }
    if entry.encrypted() {
        return Err(ArtifactError::Encrypted { name });
    }
    // Whatever system says it made the archive: a link's type there is a link's.
    match (entry.external_attributes() >> 16) & TYPE_MASK {
        0 | TYPE_PLAIN | TYPE_FOLDER => {}
        TYPE_LINK => return Err(ArtifactError::NotPlain { name, what: "a symbolic link" }),
        _ => return Err(ArtifactError::NotPlain { name, what: "a device or pipe" }),
    }
    if entry.size() > ENTRY_BYTES_MAX {
        return Err(ArtifactError::EntryTooLarge { name });
    }
    Ok(())
}

/// What is wrong with a name, if anything is. Nothing is unpacked, but a name like this is there for a reason.
fn odd_name(raw: &[u8]) -> Option<&'static str> {
    let Ok(name) = std::str::from_utf8(raw) else {
        return Some("has a name that is not UTF-8");
    };
    let drive = |name: &str| {
        name.as_bytes().first().is_some_and(u8::is_ascii_alphabetic) && name.as_bytes().get(1) == Some(&b':')
    };
    match name {
        "" => Some("has no name"),
        _ if name.starts_with('/') => Some("is an absolute path"),
        _ if name.contains('\\') => Some("holds a backslash"),
        _ if drive(name) => Some("begins with a drive"),
        _ if name.split('/').any(|part| part == "..") => Some("leads upwards by '..'"),
        _ if name.chars().any(char::is_control) => Some("holds a control character"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_plain_relative_names_are_let_pass() {
        for (name, fine) in [
            ("gate.json", true),
            ("raw/trials.json", true),
            ("raw/", true),
            ("a..b.json", true),
            ("..", false),
            ("../gate.json", false),
            ("raw/../../gate.json", false),
            ("raw/..", false),
            ("/gate.json", false),
            ("//host/gate.json", false),
            ("..\\gate.json", false),
            ("raw\\gate.json", false),
            ("C:gate.json", false),
            ("c:/gate.json", false),
            ("gate.json\0", false),
            ("gate\n.json", false),
            ("", false),
        ] {
            assert_eq!(odd_name(name.as_bytes()).is_none(), fine, "{name:?}");
        }
        assert!(odd_name(b"gate\xff.json").is_some());
    }
}
