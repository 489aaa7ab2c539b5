//! Write groups of the server: the writes of a transaction, committed together.

use std::marker::PhantomData;

use super::Database;
use crate::error::Result;

/// All writes of this thread to a durable database from its start to [`commit`](Self::commit): they count
/// together, after one sync, and the thread's own reads see them before. Dropped without a commit, it
/// leaves nothing. A call that looks at the database as a whole, such as a scan, commits the writes so far.
/// In memory mode every write counts at once.
///
/// For the server, which lets no other thread write meanwhile: that is not checked, and no lock is taken.
pub struct WriteGroup<'a> {
    database: &'a Database,
    /// It belongs to the thread.
    of_thread: PhantomData<*const ()>,
}

impl Database {
    /// Begins a group on this thread; an unfinished one of it is forgotten.
    #[doc(hidden)]
    pub fn begin_group(&self) -> WriteGroup<'_> {
        if let Some(durable) = &self.durable {
            durable.begin_group();
        }
        WriteGroup { database: self, of_thread: PhantomData }
    }
}

impl WriteGroup<'_> {
    /// Makes the writes count.
    ///
    /// # Errors
    /// [`BatchTooLong`](crate::Error::BatchTooLong) and the
    /// [errors of a durable write](Database#errors-of-a-durable-write): then none of them counts.
    pub fn commit(self) -> Result<()> {
        match &self.database.durable {
            None => Ok(()),
            Some(durable) => durable.commit_group(),
        }
    }
}

impl std::fmt::Debug for WriteGroup<'_> {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str("WriteGroup")
    }
}

impl Drop for WriteGroup<'_> {
    fn drop(&mut self) {
        if let Some(durable) = &self.database.durable {
            durable.discard_group();
        }
    }
}
