//! How a run gets into `results/`: all of it or nothing, whatever fails in between.
//!
//! The files are written and synced in a folder beside the final one, the folder is renamed, its parent synced,
//! and only then the index is replaced by a rename of its own. A kill at any point leaves either no trace that
//! a reader follows (a folder `.writing-…`, removed by the next attempt at the same run) or a whole run that
//! the index does not name yet; a full disk is reported and leaves nothing at all.

use super::read::read_index;
use super::{canonical, packed, side_file};
use crate::model::{
    HistogramFile, INDEX_SCHEMA, Index, IndexFile, IndexMachine, IndexRun, IndexVersion, Run, SCHEMA_VERSION,
    ScenarioEntry, ScenarioRecord, Status, Tool, version_key,
};
use anyhow::{Context as _, bail, ensure};
use std::fs::File;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

/// The version under which a machine's own runs stand; ignored by git.
pub(super) const LOCAL: &str = "local";

/// The version of records from which on scenarios are compressed and histograms in a file of their own.
const COMPRESSED_SINCE: u32 = 3;

/// Where the bytes go; a test puts a full disk in its place.
pub(super) trait Disk {
    /// Writes a whole new file and waits until the disk has it.
    fn write(&self, path: &Path, bytes: &[u8]) -> io::Result<()>;
}

pub(super) struct RealDisk;

impl Disk for RealDisk {
    fn write(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        let mut file = File::create(path)?;
        file.write_all(bytes)?;
        file.sync_all()
    }
}

/// The folder that holds the index of a version: `<results>` for published ones, `<results>/local` for `local`.
#[must_use]
pub fn index_dir(results: &Path, version: &str) -> PathBuf {
    if version == LOCAL { results.join(LOCAL) } else { results.to_path_buf() }
}

/// Writes a run and its scenarios into `<results>/<version>/<machine>/<run-id>/` and enters it in the index.
/// Fills in [`Run::scenarios`]. Returns the run's folder.
///
/// # Errors
/// When the run exists already, a name is no plain file name, the index cannot be read, or the disk refuses;
/// nothing of the run is left behind then.
pub fn write_run(results: &Path, run: Run, scenarios: Vec<ScenarioRecord>) -> anyhow::Result<PathBuf> {
    write_run_on(&RealDisk, results, run, &scenarios)
}

pub(super) fn write_run_on(
    disk: &dyn Disk,
    results: &Path,
    mut run: Run,
    scenarios: &[ScenarioRecord],
) -> anyhow::Result<PathBuf> {
    for name in [&run.version, &run.machine_key, &run.id] {
        ensure_plain(name)?;
    }
    let machine = results.join(&run.version).join(&run.machine_key);
    let folder = machine.join(&run.id);
    let base = index_dir(results, &run.version);
    let files = spell(&mut run, scenarios)?;
    let made = missing_ancestors(&machine);
    let writing = machine.join(format!(".writing-{}", run.id));
    let done = (|| {
        std::fs::create_dir_all(&machine).with_context(|| format!("creating {}", machine.display()))?;
        let _lock = lock(&base)?;
        let index_path = base.join("index.json");
        let mut index = if index_path.exists() { read_index(&index_path)? } else { empty_index(&run.tool) };
        ensure!(
            !is_listed(&index, &run),
            "{} is stored already; a stored run is never overwritten. Give the new run an id of its own",
            folder.display()
        );
        // A folder that the index does not list is what a kill between the two renames left: no reader saw it.
        remove_leftover(&folder)?;
        put_files(disk, &writing, &files)?;
        std::fs::rename(&writing, &folder).with_context(|| format!("renaming {}", writing.display()))?;
        sync_folder(&machine)?;
        enter(&mut index, &run, &folder, &base, &files);
        replace(disk, &index_path, canonical::to_text(&index)?.as_bytes()).inspect_err(|_| {
            // The index does not know the run: without it the folder would be a half-published one.
            let _ = std::fs::remove_dir_all(&folder);
        })
    })();
    if done.is_err() {
        let _ = std::fs::remove_dir_all(&writing);
        // Only folders that this call made, and only while they are empty.
        for empty in &made {
            let _ = std::fs::remove_dir(empty);
        }
    }
    done.map(|()| folder)
}

/// The files of a run as they are stored: name and bytes, `run.json` first. Fills in what [`Run`] says of them.
pub(super) fn spell(run: &mut Run, scenarios: &[ScenarioRecord]) -> anyhow::Result<Vec<(String, Vec<u8>)>> {
    let files = contents(run, scenarios)?.into_iter();
    files
        .map(|(name, content)| {
            let stored = packed::stored(&name, content).with_context(|| format!("compressing {name}"))?;
            Ok((name, stored))
        })
        .collect()
}

/// The files of a run before compression: name and content, `run.json` first, the histograms last. Fills in what
/// [`Run`] says of them.
///
/// `run.json` has digests of contents, so that the same run has the same `run.json` whichever zstd compressed the
/// others. A run of a version before 3 is spelled as it was then: plain files, histograms in the scenarios' JSON.
pub(crate) fn contents(
    run: &mut Run,
    scenarios: &[ScenarioRecord],
) -> anyhow::Result<Vec<(String, Vec<u8>)>> {
    let compressed = run.schema_version >= COMPRESSED_SINCE;
    let mut files = Vec::with_capacity(scenarios.len() + 2);
    let mut side = Vec::new();
    (run.scenarios, run.histograms) = (Vec::new(), None);
    for record in scenarios {
        ensure_plain(&record.scenario.key)?;
        let mut file = format!("{}.json", record.scenario.key);
        ensure!(file != "run.json", "a scenario cannot be called 'run': its file would take the run's place");
        let text = if compressed {
            file.push_str(packed::ENDING);
            canonical::to_text(&side_file::take_out(record, &mut side))?
        } else {
            canonical::to_text(record)?
        };
        run.scenarios.push(entry(record, &file, text.as_bytes()));
        files.push((file, text.into_bytes()));
    }
    if !side.is_empty() {
        run.histograms = Some(HistogramFile {
            file: side_file::NAME.to_owned(),
            sha256: canonical::sha256_hex(&side),
            bytes: side.len() as u64,
        });
        files.push((side_file::NAME.to_owned(), side));
    }
    files.insert(0, ("run.json".to_owned(), canonical::to_text(run)?.into_bytes()));
    Ok(files)
}

fn entry(record: &ScenarioRecord, file: &str, text: &[u8]) -> ScenarioEntry {
    let count = |wanted: fn(Status) -> bool| {
        u32::try_from(record.cells.iter().filter(|cell| wanted(cell.status)).count()).unwrap_or(u32::MAX)
    };
    ScenarioEntry {
        key: record.scenario.key.clone(),
        title: record.scenario.title.clone(),
        file: file.to_owned(),
        sha256: canonical::sha256_hex(text),
        cells_ok: count(|status| status == Status::Ok),
        cells_failed: count(|status| matches!(status, Status::Failed | Status::Invalid | Status::Timeout)),
        cells_skipped: count(|status| status == Status::Skipped),
    }
}

fn put_files(disk: &dyn Disk, folder: &Path, files: &[(String, Vec<u8>)]) -> anyhow::Result<()> {
    remove_leftover(folder)?;
    std::fs::create_dir(folder).with_context(|| format!("creating {}", folder.display()))?;
    for (name, bytes) in files {
        let path = folder.join(name);
        disk.write(&path, bytes).with_context(|| refused(&path, bytes.len()))?;
    }
    sync_folder(folder)
}

fn remove_leftover(folder: &Path) -> anyhow::Result<()> {
    match std::fs::remove_dir_all(folder) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error)
            .with_context(|| format!("removing what an earlier attempt left in {}", folder.display())),
        _ => Ok(()),
    }
}

fn is_listed(index: &Index, run: &Run) -> bool {
    index.versions.iter().filter(|one| one.version == run.version).flat_map(|one| &one.machines).any(
        |machine| machine.key == run.machine_key && machine.runs.iter().any(|listed| listed.id == run.id),
    )
}

fn refused(path: &Path, bytes: usize) -> String {
    format!("writing {} ({bytes} bytes); nothing of this run was stored", path.display())
}

/// Replaces an index by a whole new one.
fn replace(disk: &dyn Disk, path: &Path, bytes: &[u8]) -> anyhow::Result<()> {
    put_in_place(disk, path, bytes).with_context(|| refused(path, bytes.len()))?;
    path.parent().map_or(Ok(()), sync_folder)
}

fn put_in_place(disk: &dyn Disk, path: &Path, bytes: &[u8]) -> io::Result<()> {
    let beside = path.with_extension(format!("json.writing-{}", std::process::id()));
    let done = disk.write(&beside, bytes).and_then(|()| std::fs::rename(&beside, path));
    if done.is_err() {
        let _ = std::fs::remove_file(&beside);
    }
    done
}

/// Replaces a JSON file by a whole new one; what it held stays where that fails.
///
/// # Errors
/// The disk refuses.
pub fn replace_file(path: &Path, bytes: &[u8]) -> anyhow::Result<()> {
    put_in_place(&RealDisk, path, bytes)?;
    path.parent().map_or(Ok(()), sync_folder)
}

/// Replaces an index by a whole new one.
pub(super) fn save_index(path: &Path, index: &Index) -> anyhow::Result<()> {
    replace(&RealDisk, path, canonical::to_text(index)?.as_bytes())
}

fn enter(index: &mut Index, run: &Run, folder: &Path, base: &Path, files: &[(String, Vec<u8>)]) {
    let prefix = folder.strip_prefix(base).unwrap_or(folder);
    let listed = IndexRun {
        id: run.id.clone(),
        started_at: run.started_at.clone(),
        profile: run.profile,
        state: run.state,
        files: files
            .iter()
            .map(|(name, bytes)| IndexFile {
                path: prefix.join(name).display().to_string(),
                sha256: canonical::sha256_hex(bytes),
                bytes: bytes.len() as u64,
            })
            .collect(),
    };
    index.schema_version = SCHEMA_VERSION;
    index.tool = run.tool.clone();
    let place = match index.versions.iter().position(|one| one.version == run.version) {
        Some(place) => place,
        None => {
            index.versions.push(IndexVersion { version: run.version.clone(), machines: Vec::new() });
            index.versions.len() - 1
        }
    };
    let machines = &mut index.versions[place].machines;
    match machines.iter_mut().find(|one| one.key == run.machine_key) {
        Some(known) => {
            known.runs.push(listed);
            known
                .runs
                .sort_by(|left, right| (&left.started_at, &left.id).cmp(&(&right.started_at, &right.id)));
            if known.runs.last().is_some_and(|newest| newest.id == run.id) {
                known.machine = run.machine.clone();
            }
        }
        None => machines.push(IndexMachine {
            key: run.machine_key.clone(),
            machine: run.machine.clone(),
            runs: vec![listed],
        }),
    }
    machines.sort_by(|left, right| left.key.cmp(&right.key));
    index.versions.sort_by_cached_key(|one| version_key(&one.version));
}

fn empty_index(tool: &Tool) -> Index {
    Index {
        schema: INDEX_SCHEMA.to_owned(),
        schema_version: SCHEMA_VERSION,
        tool: tool.clone(),
        versions: Vec::new(),
    }
}

/// Names become files and folders: nothing that could lead out of `results/`.
pub(crate) fn ensure_plain(name: &str) -> anyhow::Result<()> {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_');
    if name.is_empty() || name.starts_with('.') || !name.bytes().all(plain) {
        bail!(
            "invalid name '{name}' for a folder of results: expected letters, digits, '.', '-' and '_', not starting with a dot"
        );
    }
    Ok(())
}

/// The folders of a path that do not exist yet, innermost first.
fn missing_ancestors(path: &Path) -> Vec<PathBuf> {
    path.ancestors()
        .take_while(|one| !one.as_os_str().is_empty() && !one.exists())
        .map(Path::to_path_buf)
        .collect()
}

/// Holds off another runner that wants to change the same folder; let go when dropped, or by the system when the
/// program is killed. Not to be taken twice by one thread.
pub(crate) fn lock(folder: &Path) -> anyhow::Result<File> {
    std::fs::create_dir_all(folder).with_context(|| format!("creating {}", folder.display()))?;
    let handle = File::open(folder).with_context(|| format!("opening {}", folder.display()))?;
    handle.lock().with_context(|| format!("locking {}", folder.display()))?;
    Ok(handle)
}

fn sync_folder(folder: &Path) -> anyhow::Result<()> {
    File::open(folder)
        .and_then(|handle| handle.sync_all())
        .with_context(|| format!("syncing {}", folder.display()))
}

#[cfg(test)]
#[path = "write_test.rs"]
mod tests;
