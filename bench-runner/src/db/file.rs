//! The database as a file: opened by one writer at a time, made whole or not at all, never replaced under a reader.
//!
//! Writers take a lock on the folder first (let go by the system when the program is killed), so that two that
//! find no database do not both make one; then SQLite's own locks and its write-ahead log keep readers going.

use super::schema::{self, USER_VERSION};
use crate::export;
use anyhow::{Context as _, bail, ensure};
use rusqlite::backup::Backup;
use rusqlite::{Connection, ErrorCode, OpenFlags, TransactionBehavior};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How long to wait for another program that is writing.
const BUSY: Duration = Duration::from_secs(30);
/// Pages copied at a time when a database is replaced.
const COPIED_PAGES: i32 = 1024;

/// Holds off the other writers of a database.
pub(super) struct Writing {
    _lock: File,
}

impl Writing {
    pub(super) fn begin(path: &Path) -> anyhow::Result<Self> {
        Ok(Self { _lock: export::lock(folder_of(path))? })
    }
}

/// Opens the database for writing, and takes it to today's shape; makes it where there is none.
pub(super) fn open(path: &Path, _writing: &Writing) -> anyhow::Result<Connection> {
    if !path.exists() {
        create(path, |_| Ok(()))?;
    }
    let mut connection = Connection::open(path).with_context(|| format!("opening {}", path.display()))?;
    connection.busy_timeout(BUSY)?;
    let version = known_version(&connection, path)?;
    // Readers go on with what was there while a run is entered.
    connection
        .query_row("PRAGMA journal_mode = WAL", [], |_| Ok(()))
        .with_context(|| format!("opening {}", path.display()))?;
    if version < USER_VERSION {
        migrate(&mut connection, version).with_context(|| {
            format!(
                "taking {} from user_version {version} to {USER_VERSION}; it is as it was",
                path.display()
            )
        })?;
    }
    connection.pragma_update(None, "foreign_keys", true)?;
    Ok(connection)
}

/// Opens it so that nothing can be changed.
pub(super) fn open_to_read(path: &Path) -> anyhow::Result<Connection> {
    ensure!(
        path.exists(),
        "no database at {}: create it with 'bench-runner run' or 'bench-runner db rebuild'",
        path.display()
    );
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection =
        Connection::open_with_flags(path, flags).with_context(|| format!("opening {}", path.display()))?;
    connection.busy_timeout(BUSY)?;
    let found = known_version(&connection, path)?;
    ensure!(
        found == USER_VERSION,
        "{} has user_version {found}, older than {USER_VERSION}; 'bench-runner db migrate' takes it there",
        path.display()
    );
    connection.pragma_update(None, "query_only", true)?;
    Ok(connection)
}

/// Makes a database beside its place, and puts it there when `fill` is through. One that is open elsewhere is
/// overwritten page by page in a transaction, so that its readers see the old one or the new.
pub(super) fn create(
    path: &Path,
    fill: impl FnOnce(&mut Connection) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let mut beside = path.as_os_str().to_owned();
    beside.push(format!(".writing-{}", std::process::id()));
    let beside = PathBuf::from(beside);
    let done = (|| {
        remove(&beside)?;
        let mut connection =
            Connection::open(&beside).with_context(|| format!("creating {}", beside.display()))?;
        migrate(&mut connection, 0).with_context(|| format!("creating the tables of {}", path.display()))?;
        connection.pragma_update(None, "foreign_keys", true)?;
        fill(&mut connection)?;
        match existing(path) {
            Some(mut found) => {
                Backup::new(&connection, &mut found)
                    .and_then(|backup| {
                        backup.run_to_completion(COPIED_PAGES, Duration::from_millis(50), None)
                    })
                    .with_context(|| format!("replacing {}", path.display()))?;
                remove(&beside)
            }
            None => {
                connection
                    .close()
                    .map_err(|(_, error)| error)
                    .with_context(|| format!("closing {}", beside.display()))?;
                // What was there is no database: its logs must not meet the new one.
                remove(path)?;
                std::fs::rename(&beside, path).with_context(|| format!("renaming {}", beside.display()))?;
                let folder = folder_of(path);
                File::open(folder)
                    .and_then(|handle| handle.sync_all())
                    .with_context(|| format!("syncing {}", folder.display()))
            }
        }
    })();
    if done.is_err() {
        let _ = remove(&beside);
    }
    done
}

/// The database that is there; none where there is no file, or one that SQLite cannot read.
fn existing(path: &Path) -> Option<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let found = Connection::open_with_flags(path, flags).ok()?;
    found.busy_timeout(BUSY).ok()?;
    let sound = found.query_row("PRAGMA schema_version", [], |row| row.get::<_, i64>(0));
    sound.is_ok().then_some(found)
}

fn migrate(connection: &mut Connection, from: i32) -> anyhow::Result<()> {
    // Tables are replaced by others of the same name; the references are checked as a whole at the end.
    connection.pragma_update(None, "foreign_keys", false)?;
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    schema::migrate(&transaction, from)?;
    let broken: i64 =
        transaction.query_row("SELECT count(*) FROM pragma_foreign_key_check", [], |row| row.get(0))?;
    ensure!(broken == 0, "{broken} rows refer to nothing");
    transaction.commit()?;
    Ok(())
}

fn known_version(connection: &Connection, path: &Path) -> anyhow::Result<i32> {
    let found = match schema::version(connection) {
        Err(error) if error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy) => {
            return Err(error).with_context(|| format!("{} is being written", path.display()));
        }
        found => found.with_context(|| {
            format!("{} is not a database: remove it and run 'bench-runner db rebuild'", path.display())
        })?,
    };
    if !(1..=USER_VERSION).contains(&found) {
        bail!(
            "{} has user_version {found}, this bench-runner writes {USER_VERSION}; 'bench-runner db rebuild' makes \
             it again from the JSON records",
            path.display()
        );
    }
    Ok(found)
}

fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Removes a database with its logs.
pub(super) fn remove(path: &Path) -> anyhow::Result<()> {
    for suffix in ["", "-journal", "-wal", "-shm"] {
        let mut file = path.as_os_str().to_owned();
        file.push(suffix);
        match std::fs::remove_file(&file) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(error).with_context(|| format!("removing {}", Path::new(&file).display()));
            }
            _ => {}
        }
    }
    Ok(())
}
