//! How is a gate read that somebody else measured? As data: a few bytes of a known shape, or a refusal that says which limit
//! was passed.
//!
//! The artifact of a pull request is written by code of that pull request, and read by a job that may write comments. So
//! nothing in it is run, unpacked to disk or believed about its own size: one entry of one name is read into memory, up to
//! a limit, and everything else in it only has to be harmless.

mod archive;
mod check;
mod open;

pub use check::{VERDICTS_MAX, check, parse};

use crate::model::Gate;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// Size of an archive at most.
pub const ARCHIVE_BYTES_MAX: u64 = 8 * 1024 * 1024;
/// Uncompressed size of an entry, or of a file, at most.
pub const ENTRY_BYTES_MAX: u64 = 4 * 1024 * 1024;
/// Entries of an archive or folder at most.
pub const ENTRIES_MAX: usize = 16;
/// The one entry that is read.
pub const ENTRY: &str = "gate.json";

/// Why an artifact is refused. Names in it are others': they are quoted with their control characters spelled out.
#[derive(Debug, Error)]
pub enum ArtifactError {
    /// It cannot be opened or read.
    #[error("{path}: {source}")]
    File {
        /// The file or folder.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// A link, device, pipe or folder where a file should be.
    #[error("{name} is {what}; only plain files are read")]
    NotPlain {
        /// Quoted.
        name: String,
        /// What it is.
        what: &'static str,
    },
    /// The archive is too large.
    #[error("{name} is larger than {ARCHIVE_BYTES_MAX} bytes, the most that is read of an artifact")]
    ArchiveTooLarge {
        /// Quoted.
        name: String,
    },
    /// An entry is too large, or becomes so when it is read.
    #[error("{name} is larger than {ENTRY_BYTES_MAX} bytes uncompressed, the most that an entry may have")]
    EntryTooLarge {
        /// Quoted.
        name: String,
    },
    /// There are too many entries.
    #[error("{found} entries, and no more than {ENTRIES_MAX} are allowed")]
    TooManyEntries {
        /// How many there are.
        found: usize,
    },
    /// A name that leads elsewhere.
    #[error("the entry {name} {why}; names are plain paths below the archive")]
    Name {
        /// Quoted.
        name: String,
        /// What is wrong with it.
        why: &'static str,
    },
    /// Two entries have the same name.
    #[error("two entries have the same name, so it is not known which one is meant")]
    Twice,
    /// An entry is encrypted.
    #[error("the entry {name} is encrypted; nothing in an artifact is")]
    Encrypted {
        /// Quoted.
        name: String,
    },
    /// The archive is damaged, or uses what is not supported.
    #[error("no zip archive that can be read: {0}")]
    Archive(#[from] zip::result::ZipError),
    /// There is nothing to read.
    #[error("there is no {ENTRY} in it; it is looked for under exactly this name, in no folder")]
    Missing,
    /// The text is not JSON, or not of a gate's shape.
    #[error("{ENTRY}: {0}")]
    Shape(#[from] serde_json::Error),
    /// Another kind of record.
    #[error("{ENTRY} is a {found}, not a '{wanted}'", wanted = crate::model::GATE_SCHEMA)]
    Kind {
        /// Quoted.
        found: String,
    },
    /// Written by a newer program.
    #[error(
        "{ENTRY} was written by a newer bench-runner: schema_version {found}, and this one knows {known}; take the \
         bench-runner of the default branch",
        known = crate::model::GATE_SCHEMA_VERSION
    )]
    Newer {
        /// Its version.
        found: u32,
    },
    /// No version that ever was.
    #[error("{ENTRY} has schema_version {found}, which no bench-runner ever wrote")]
    Unknown {
        /// Its version.
        found: u32,
    },
    /// A number that is none.
    #[error("{ENTRY}: {field} is no finite number")]
    NotFinite {
        /// Which.
        field: String,
    },
    /// There are too many verdicts.
    #[error("{ENTRY} has {found} verdicts, and no more than {VERDICTS_MAX} are allowed")]
    TooManyVerdicts {
        /// How many there are.
        found: usize,
    },
    /// It speaks of another commit than the one asked for.
    #[error("{ENTRY} is of head commit {found}, and was asked for as that of {wanted}")]
    OtherHead {
        /// Quoted.
        found: String,
        /// As it was asked for.
        wanted: String,
    },
}

/// Reads the gate in an artifact: an archive, a folder that holds `gate.json`, or that file. With a commit, the gate must
/// be of that head.
///
/// # Errors
/// See [`ArtifactError`].
pub fn read_gate(path: &Path, head_commit: Option<&str>) -> Result<Gate, ArtifactError> {
    let gate = parse(&open::entry(path)?)?;
    check(&gate)?;
    match head_commit {
        Some(wanted) if gate.head.commit != wanted => {
            Err(ArtifactError::OtherHead { found: quoted(&gate.head.commit), wanted: wanted.to_owned() })
        }
        _ => Ok(gate),
    }
}

/// A name of others inside a sentence of ours.
fn quoted(name: &str) -> String {
    const LONGEST: usize = 80;
    let short: String = name.chars().take(LONGEST).collect();
    if short.len() < name.len() { format!("{short:?}…") } else { format!("{short:?}") }
}

#[cfg(test)]
#[path = "artifact_test.rs"]
mod tests;
