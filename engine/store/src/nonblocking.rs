//! May a thread wait? One that serves many must not: while it waits for a disk, all of them do.

use std::cell::Cell;
use std::marker::PhantomData;

use crate::error::{Error, Result};

// Under shuttle all threads are one thread of the system.
#[cfg(shuttle)]
use crate::lsm::sync::thread_local;

thread_local! {
    static DEPTH: Cell<u32> = const { Cell::new(0) };
}

/// As long as it lives, calls of this thread on a durable database wait for no disk: where one would have to, it changes nothing and returns
/// [`Error::WouldBlock`], to be made again on a thread that may wait.
///
/// What is not waited for: a block that is neither in the block cache nor in the system's page cache, a sync (so no write succeeds under
/// [`SyncMode::Always`](crate::SyncMode::Always)), a memtable that is full, a key or a log that somebody has who waits. What does happen on this thread is one
/// write call for each write. Calls that are about the database as a whole, such as [`clear`](crate::Database::clear), always say that they would block. Calls on
/// a memory database never wait for a disk, and are not changed.
///
/// ```
/// # fn main() -> plumbkv::Result<()> {
/// # let directory = std::env::temp_dir().join(format!("plumbkv-doc-nonblocking-{}", std::process::id()));
/// use plumbkv::{Database, Error, NonBlocking, Options, SyncMode};
///
/// let db = Database::open(Options::durable(&directory).sync_mode(SyncMode::Always))?;
/// db.set(b"key", b"value")?;
/// let thread_serves_others = NonBlocking::begin();
/// assert_eq!(db.get(b"key")?, Some(b"value".to_vec()), "it is in memory");
/// assert_eq!(db.set(b"key", b"other"), Err(Error::WouldBlock), "it would be synced");
/// drop(thread_serves_others);
/// db.set(b"key", b"other")?;
/// # drop(db);
/// # let _ = std::fs::remove_dir_all(&directory);
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct NonBlocking(PhantomData<*const ()>);

impl NonBlocking {
    /// From now on this thread does not wait.
    #[must_use]
    pub fn begin() -> Self {
        DEPTH.with(|depth| depth.set(depth.get() + 1));
        Self(PhantomData)
    }

    /// Whether this thread does not wait now.
    #[must_use]
    pub fn is_on() -> bool {
        DEPTH.with(Cell::get) > 0
    }

    /// An error where this thread does not wait: for what always waits.
    pub(crate) fn refuse() -> Result<()> {
        if Self::is_on() { Err(Error::WouldBlock) } else { Ok(()) }
    }
}

impl Drop for NonBlocking {
    fn drop(&mut self) {
        DEPTH.with(|depth| depth.set(depth.get() - 1));
    }
}
