//! How does a damaged store open again? Without what is damaged, which is laid aside: it gets a second name in another directory before it loses the first, so that
//! nothing is ever gone.
//!
//! A table is damaged as a whole. Without it older tables say what its keys hold, or nobody does. Of a damaged log the records before the damage stay; what lies
//! behind it, in later logs too, was written later than something that is lost, and what survives is a prefix.

use super::admin::verify_table;
use super::creation::lock;
use super::freeze::log_path;
use super::open::Merged;
use super::work::listed;
use crate::error::{Error, Result};
use crate::lsm::compaction::table_path;
use crate::lsm::file_name::FileName;
use crate::lsm::manifest::{CURRENT, Edit, Manifest, TableFacts};
use crate::lsm::record::Sequence;
use crate::lsm::table::Table;
use crate::lsm::vfs::{Vfs, absolute, create_dirs, exists, read_exact_at, write_all_at};
use crate::lsm::wal::{Ended, LogRecord, read, tag, writes};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A file that is laid aside.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Aside {
    pub(crate) path: PathBuf,
    /// Versions of keys in it; of a log nobody knows.
    pub(crate) versions: Option<u64>,
    pub(crate) reason: Error,
}

/// Writes are missing before a record that says that they were synced.
struct Lost;

/// What is damaged.
#[derive(Default)]
struct Damage {
    aside: Vec<Aside>,
    /// The log that is to be cut, where, and those behind it.
    cut: Option<(PathBuf, u64)>,
    later_logs: Vec<PathBuf>,
}

/// Looks over the store in a directory and lays aside what is damaged, in another directory of the same file system, which is made where that is needed. `progress`
/// hears how many of how many tables were read. What was laid aside.
pub(crate) fn repair(
    vfs: Arc<dyn Vfs>,
    directory: &Path,
    aside: &Path,
    mut progress: impl FnMut(usize, usize),
) -> Result<Vec<Aside>> {
    let (directory, aside) = (&*absolute(directory)?, &*absolute(aside)?);
    let current = directory.join(CURRENT);
    let missing = || Error::corrupt(&current, 0, "it is missing, and tables alone are no store");
    // Before anything is made in a directory of another program.
    if !exists(&*vfs, &current)? {
        return Err(missing());
    }
    let _lock = lock(&*vfs, directory)?;
    let recovered = Manifest::recover(&*vfs, directory)?.ok_or_else(missing)?;
    let Merged { facts, first_log, next_file, last_sequence, closed, ranges, salt, time_ms } =
        Merged::of(&recovered).map_err(|reason| Error::corrupt(&current, 0, reason))?;
    let mut damage = Damage::default();
    let (mut kept, count) = (Vec::new(), facts.len());
    for (done, ((level, number), facts)) in facts.into_iter().enumerate() {
        let path = table_path(directory, number);
        match look(&vfs, &path, &facts) {
            Ok(()) => kept.push((level, facts)),
            Err(reason) if is_damage(&reason) => {
                damage.aside.push(Aside { path, versions: Some(facts.versions), reason });
            }
            Err(error) => return Err(error),
        }
        progress(done + 1, count);
    }
    let names = vfs.list(directory).map_err(|error| Error::io(directory, "list", &error))?;
    damage.look_at_logs(&*vfs, directory, &names, (first_log, salt), (last_sequence, closed))?;
    if damage.aside.is_empty() {
        return Ok(Vec::new());
    }
    // What the manifest said is worth keeping, too.
    let manifest = directory.join(FileName::Manifest(recovered.number).to_string());
    damage.link(&*vfs, directory, aside, manifest)?;
    let numbers = names.iter().filter_map(|name| FileName::parse(name)).map(FileName::number);
    let number = numbers.max().unwrap_or(0).max(next_file) + 1;
    let everything = Edit {
        added: kept,
        removed: Vec::new(),
        first_log: Some(first_log),
        next_file: Some(number + 1),
        last_sequence: Some(last_sequence),
        closed: None,
        ranges: listed(&ranges),
        // The logs stay as they are.
        salt,
        time_ms,
    };
    Manifest::create(&*vfs, directory, number, &everything)?;
    damage.take_away(&*vfs, directory)?;
    Ok(damage.aside)
}

fn look(vfs: &Arc<dyn Vfs>, path: &Path, facts: &TableFacts) -> Result<()> {
    let table = Arc::new(Table::open(vfs, path, facts.number, None)?);
    verify_table(path, &table, facts).map(drop)
}

/// Whether the file is to blame. What else the system refuses may go well another time.
fn is_damage(error: &Error) -> bool {
    matches!(
        error,
        Error::Corrupt { .. } | Error::Io { kind: ErrorKind::NotFound | ErrorKind::UnexpectedEof, .. }
    )
}

impl Damage {
    /// Finds what an opening would refuse: a damaged record, a log that ends too early, as a later one or a
    /// mark of the manifest tells, and a missing log.
    fn look_at_logs(
        &mut self,
        vfs: &dyn Vfs,
        directory: &Path,
        names: &[String],
        (first, salt): (u64, Option<u64>),
        (in_manifest, closed): (Sequence, Sequence),
    ) -> Result<()> {
        let logs = names.iter().filter_map(|name| match FileName::parse(name) {
            Some(FileName::Log(number)) if number >= first => Some(number),
            _ => None,
        });
        let mut logs: Vec<u64> = logs.collect();
        logs.sort_unstable();
        if !logs.contains(&first) {
            let reason = "it is missing, and the manifest says that writes may be in it";
            self.cut_log(log_path(directory, first), 0, reason);
            self.lay_later_aside(directory, &logs);
            return Ok(());
        }
        let (mut last, mut is_over, mut end) = (in_manifest, false, None);
        for (place, number) in logs.iter().enumerate() {
            let path = log_path(directory, *number);
            let file = vfs.open(&path).map_err(|error| Error::io(&path, "open", &error))?;
            // As a replay takes them.
            let take = |record: LogRecord| {
                let count = writes(record.payload).count() as u64;
                if record.sequence + count <= in_manifest + 1 {
                    return Ok(());
                }
                if record.after_sync && record.sequence > last + 1 {
                    return Err(Lost);
                }
                is_over |= count > 0 && record.sequence != last + 1;
                if count > 0 && !is_over {
                    last = record.sequence + count - 1;
                }
                Ok(())
            };
            match read(&*file, tag(salt, *number), take).map_err(|error| Error::io(&path, "read", &error))? {
                Ok(Ended::Here(at)) if !is_over => end = Some((place, path, at)),
                Ok(Ended::Here(_)) => {}
                Ok(Ended::Damaged(at)) => {
                    self.cut_log(path, at, "a record that had been synced is damaged");
                    self.lay_later_aside(directory, &logs[place + 1..]);
                    return Ok(());
                }
                Err(Lost) => {
                    let (place, path, at) = end.unwrap_or((place, path, 0));
                    self.cut_log(path, at, "writes are missing that had been synced before later ones");
                    self.lay_later_aside(directory, &logs[place + 1..]);
                    return Ok(());
                }
            }
        }
        if let Some((place, path, at)) = end.filter(|_| last < closed) {
            self.cut_log(path, at, "the log ends here, and the store was closed with more in it");
            self.lay_later_aside(directory, &logs[place + 1..]);
        }
        Ok(())
    }

    fn cut_log(&mut self, path: PathBuf, at: u64, reason: &'static str) {
        let reason = Error::corrupt(&path, at, reason);
        self.aside.push(Aside { path: path.clone(), versions: None, reason });
        self.cut = Some((path, at));
    }

    /// Logs behind the one that is cut.
    fn lay_later_aside(&mut self, directory: &Path, logs: &[u64]) {
        let Some((damaged, at)) = &self.cut else { return };
        for number in logs {
            let path = log_path(directory, *number);
            let reason =
                Error::corrupt(damaged, *at, "writes of this log are lost, so later ones cannot be used");
            self.aside.push(Aside { path: path.clone(), versions: None, reason });
            self.later_logs.push(path);
        }
    }

    /// Gives everything that is laid aside its second name.
    fn link(&self, vfs: &dyn Vfs, directory: &Path, aside: &Path, manifest: PathBuf) -> Result<()> {
        create_dirs(vfs, aside).map_err(|error| Error::io(aside, "create", &error))?;
        for from in self.aside.iter().map(|aside| &aside.path).chain([&manifest]) {
            let to = aside.join(from.file_name().unwrap_or_default());
            match vfs.link(from, &to) {
                // What is missing cannot be kept.
                Err(error) if error.kind() == ErrorKind::NotFound => {}
                done => done.map_err(|error| Error::io(&to, "link", &error))?,
            }
        }
        for directory in [aside, directory] {
            vfs.sync_dir(directory).map_err(|error| Error::io(directory, "sync", &error))?;
        }
        Ok(())
    }

    /// Takes the first names away, the last log first: until the damaged one is cut, the store does not open and nothing is taken for whole.
    fn take_away(&self, vfs: &dyn Vfs, directory: &Path) -> Result<()> {
        let tables = self.aside.iter().filter(|aside| aside.versions.is_some()).map(|aside| &aside.path);
        for path in self.later_logs.iter().rev().chain(tables) {
            match vfs.remove(path) {
                Err(error) if error.kind() == ErrorKind::NotFound => {}
                done => done.map_err(|error| Error::io(path, "remove", &error))?,
            }
        }
        if let Some((path, at)) = &self.cut {
            let new = directory.join("REPAIR.new");
            // One of a repair that did not end.
            let _ = vfs.remove(&new);
            let step = |call, done: std::io::Result<()>| done.map_err(|error| Error::io(path, call, &error));
            let mut bytes = vec![0; *at as usize];
            // One of which nothing stays may be missing.
            if *at > 0 {
                let old = vfs.open(path).map_err(|error| Error::io(path, "open", &error))?;
                step("read", read_exact_at(&*old, &mut bytes, 0))?;
            }
            let mut file = vfs.create(&new).map_err(|error| Error::io(&new, "create", &error))?;
            step("copy", write_all_at(&mut *file, &bytes, 0))?;
            step("sync the copy of", file.sync())?;
            step("replace", vfs.rename(&new, path))?;
        }
        vfs.sync_dir(directory).map_err(|error| Error::io(directory, "sync", &error))
    }
}
