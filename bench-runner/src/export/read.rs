//! Records read back: the right kind, a known version, the bytes the index promises, or an error that says
//! which file, where in it, and what to do.

use super::canonical::sha256_hex;
use super::side_file::Side;
use super::write::{LOCAL, ensure_plain};
use super::{migrate, packed};
use crate::model::{
    INDEX_SCHEMA, Index, IndexRun, RUN_SCHEMA, Run, SCENARIO_SCHEMA, SCHEMA_VERSION, ScenarioRecord,
};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// Why a record could not be read.
#[derive(Debug, Error)]
pub enum ReadError {
    /// The file cannot be opened or read.
    #[error("{path}: {source}")]
    File {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// The text is not JSON, or not of the record's shape.
    #[error(
        "{path}: line {line}, column {column}: {message}; restore the file from its commit, or remove the run"
    )]
    Shape {
        /// The file.
        path: PathBuf,
        /// From 1.
        line: usize,
        /// From 1.
        column: usize,
        /// What was wrong there.
        message: String,
    },
    /// Another kind of record.
    #[error("{path}: is a '{found}', not a '{wanted}'")]
    Kind {
        /// The file.
        path: PathBuf,
        /// Its `schema`.
        found: String,
        /// The `schema` that was asked for.
        wanted: &'static str,
    },
    /// Written by a newer program.
    #[error(
        "{path}: schema_version {found} is newer than {known}, the newest this bench-runner reads; update it"
    )]
    Newer {
        /// The file.
        path: PathBuf,
        /// Its version.
        found: u32,
        /// The newest known here.
        known: u32,
    },
    /// No version of a record that ever was.
    #[error("{path}: schema_version {found} was never written by any bench-runner")]
    Unknown {
        /// The file.
        path: PathBuf,
        /// Its version.
        found: u32,
    },
    /// The bytes are not those that were stored.
    #[error("{path}: sha256 is {found}, {promised_by} says {promised}; restore the file from its commit")]
    Digest {
        /// The file.
        path: PathBuf,
        /// Its digest.
        found: String,
        /// The digest it should have.
        promised: String,
        /// The file that says so.
        promised_by: &'static str,
    },
    /// A compressed file that zstd does not decompress.
    #[error("{path}: not a whole zstd file ({source}); restore the file from its commit")]
    Compressed {
        /// The file.
        path: PathBuf,
        /// What zstd said.
        source: std::io::Error,
    },
    /// A compressed file that decompresses to more than any record has.
    #[error("{path}: decompresses to more than {} MiB, which no record does; restore the file from its commit", limit >> 20)]
    TooLarge {
        /// The file.
        path: PathBuf,
        /// The most bytes that are read.
        limit: u64,
    },
    /// A histogram that is not where the record says.
    #[error("{path}: {message}; restore the run's files from their commit")]
    Histogram {
        /// The scenario's file.
        path: PathBuf,
        /// Which one, and what is wrong with its place.
        message: String,
    },
    /// A file name that could lead out of the run's folder.
    #[error("{path}: names the file '{name}', which is no plain file name; restore the file from its commit")]
    Name {
        /// `run.json`.
        path: PathBuf,
        /// The name.
        name: String,
    },
    /// A scenario file of another run lies in the folder.
    #[error("{path}: belongs to run '{found}', not to '{wanted}'")]
    Stranger {
        /// The file.
        path: PathBuf,
        /// Its run.
        found: String,
        /// The run of the folder.
        wanted: String,
    },
}

#[derive(Deserialize)]
struct Head {
    schema: String,
    schema_version: u32,
}

/// Reads `index.json`.
///
/// # Errors
/// See [`ReadError`].
pub fn read_index(path: &Path) -> Result<Index, ReadError> {
    parse(path, &bytes_of(path)?, INDEX_SCHEMA)
}

/// Reads a run's folder: `run.json` and the files it names, the content of each checked against its digest.
/// Records of every version come out as those of today, with each histogram in its trial.
///
/// # Errors
/// See [`ReadError`].
pub fn read_run(folder: &Path) -> Result<(Run, Vec<ScenarioRecord>), ReadError> {
    let path = folder.join("run.json");
    let run: Run = parse(&path, &bytes_of(&path)?, RUN_SCHEMA)?;
    let named = |name: &str| match ensure_plain(name) {
        Ok(()) => Ok(folder.join(name)),
        Err(_) => Err(ReadError::Name { path: path.clone(), name: name.to_owned() }),
    };
    let mut side = Side::new(match &run.histograms {
        Some(file) => checked_content(&named(&file.file)?, &file.sha256)?,
        None => Vec::new(),
    });
    let mut scenarios = Vec::with_capacity(run.scenarios.len());
    for entry in &run.scenarios {
        let path = named(&entry.file)?;
        let mut record: ScenarioRecord =
            parse(&path, &checked_content(&path, &entry.sha256)?, SCENARIO_SCHEMA)?;
        if record.run_id != run.id {
            return Err(ReadError::Stranger { path, found: record.run_id, wanted: run.id });
        }
        side.put_back(&mut record).map_err(|message| ReadError::Histogram { path, message })?;
        scenarios.push(record);
    }
    Ok((run, scenarios))
}

/// The content of a file that `run.json` names.
fn checked_content(path: &Path, promised: &str) -> Result<Vec<u8>, ReadError> {
    let content = packed::content(path, bytes_of(path)?)?;
    check_digest(path, &content, promised, "run.json")?;
    Ok(content)
}

/// Reads a run that an index lists, every file checked against the index's digest; `base` is the index's folder.
///
/// # Errors
/// See [`ReadError`].
pub fn read_indexed_run(base: &Path, listed: &IndexRun) -> Result<(Run, Vec<ScenarioRecord>), ReadError> {
    for file in &listed.files {
        let path = base.join(&file.path);
        check_digest(&path, &bytes_of(&path)?, &file.sha256, "index.json")?;
    }
    let first = listed.files.first().map(|file| base.join(&file.path));
    let folder = first.as_deref().and_then(Path::parent).unwrap_or(base);
    read_run(folder)
}

/// The version that a listed run's files have; [`read_indexed_run`] gives every run as one of today's.
///
/// # Errors
/// When `run.json` cannot be read.
pub(crate) fn written_version(base: &Path, listed: &IndexRun) -> Result<u32, ReadError> {
    let path = listed.files.first().map_or_else(|| base.to_path_buf(), |file| base.join(&file.path));
    let head: Head = serde_json::from_slice(&bytes_of(&path)?).map_err(|error| misshapen(&path, &error))?;
    Ok(head.schema_version)
}

/// Every run under `results/`, published and local, with the folder of its index; oldest first.
///
/// # Errors
/// When an index cannot be read.
pub(crate) fn listed_runs(results: &Path) -> Result<Vec<Listed>, ReadError> {
    let mut all = Vec::new();
    for base in [results.to_path_buf(), results.join(LOCAL)] {
        let path = base.join("index.json");
        if !path.exists() {
            continue;
        }
        for version in read_index(&path)?.versions {
            for machine in version.machines {
                for run in machine.runs {
                    let (version, machine_key) = (version.version.clone(), machine.key.clone());
                    all.push(Listed { base: base.clone(), version, machine_key, run });
                }
            }
        }
    }
    all.sort_by(|left, right| left.order().cmp(&right.order()));
    Ok(all)
}

/// A run as an index lists it.
#[derive(Debug, Clone)]
pub(crate) struct Listed {
    /// Folder of the index.
    pub(crate) base: PathBuf,
    /// Version the run stands under.
    pub(crate) version: String,
    /// Machine key.
    pub(crate) machine_key: String,
    /// The entry.
    pub(crate) run: IndexRun,
}

impl Listed {
    /// Folder of its files.
    pub(crate) fn folder(&self) -> PathBuf {
        let below = if self.version == LOCAL { self.base.clone() } else { self.base.join(&self.version) };
        below.join(&self.machine_key).join(&self.run.id)
    }

    fn order(&self) -> (&str, &str, &str) {
        (&self.run.started_at, &self.run.id, &self.version)
    }
}

fn bytes_of(path: &Path) -> Result<Vec<u8>, ReadError> {
    std::fs::read(path).map_err(|source| ReadError::File { path: path.to_path_buf(), source })
}

fn check_digest(
    path: &Path,
    bytes: &[u8],
    promised: &str,
    promised_by: &'static str,
) -> Result<(), ReadError> {
    let found = sha256_hex(bytes);
    if found == promised {
        return Ok(());
    }
    Err(ReadError::Digest { path: path.to_path_buf(), found, promised: promised.to_owned(), promised_by })
}

/// Kind and version first: a newer record is refused as such, not as one with unknown fields.
fn parse<T: DeserializeOwned>(path: &Path, bytes: &[u8], wanted: &'static str) -> Result<T, ReadError> {
    let shape = |error: serde_json::Error| misshapen(path, &error);
    let head: Head = serde_json::from_slice(bytes).map_err(shape)?;
    if head.schema != wanted {
        return Err(ReadError::Kind { path: path.to_path_buf(), found: head.schema, wanted });
    }
    match head.schema_version {
        SCHEMA_VERSION => serde_json::from_slice(bytes).map_err(shape),
        newer if newer > SCHEMA_VERSION => {
            Err(ReadError::Newer { path: path.to_path_buf(), found: newer, known: SCHEMA_VERSION })
        }
        older if migrate::is_known(older) => {
            let mut record: serde_json::Value = serde_json::from_slice(bytes).map_err(shape)?;
            migrate::to_current(older, &mut record);
            // The places of an error are those of the text in between: the file is asked, if it is wrong there too.
            of_value(&record)
                .map_err(|error| shape(serde_json::from_slice::<T>(bytes).err().unwrap_or(error)))
        }
        never => Err(ReadError::Unknown { path: path.to_path_buf(), found: never }),
    }
}

/// The record that a value says. By way of its text: records have one deserializer in the program, and not two.
pub(crate) fn of_value<T: DeserializeOwned>(value: &serde_json::Value) -> Result<T, serde_json::Error> {
    serde_json::from_slice(&serde_json::to_vec(value)?)
}

fn misshapen(path: &Path, error: &serde_json::Error) -> ReadError {
    let full = error.to_string();
    let place = format!(" at line {} column {}", error.line(), error.column());
    ReadError::Shape {
        path: path.to_path_buf(),
        line: error.line(),
        column: error.column(),
        message: full.strip_suffix(&place).unwrap_or(&full).to_owned(),
    }
}

#[cfg(test)]
#[path = "read_test.rs"]
mod tests;
